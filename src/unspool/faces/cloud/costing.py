"""From a log and a configuration to what its jobs cost."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from unspool.analysis.costs import Costs, costs_of
from unspool.faces.cloud.config import CostConfig, fixed_only, read_config
from unspool.faces.cloud.jobs import refuse_options, selected, unix_time
from unspool.metrics.cost import bands
from unspool.model.platform import Platform
from unspool.model.workload import Workload
from unspool.platforms.catalogue import Catalogue, read_catalogue
from unspool.plugins import build
from unspool.policies.base import BindingScheduler
from unspool.results.run import run

__all__ = ["CostSetUp", "cost_set_up", "with_bands"]


@dataclass(frozen=True)
class CostSetUp:
    """A configuration with its prices: the platform that jobs run on, and what is to be noted of it."""

    settings: CostConfig
    catalogue: Catalogue
    platform: Platform
    notes: tuple[str, ...]
    starttime: str | float | None = None
    endtime: str | float | None = None

    def selected(
        self, log: Workload, queues: str | Sequence[str] | None = None, projects: str | Sequence[str] | None = None
    ) -> Workload:
        """The jobs of the window, of these queues and of these projects."""
        return selected(log, self.settings, self.starttime, self.endtime, queues, projects)

    def costs(
        self,
        log: Workload,
        *,
        replica: int = 0,
        progress: Callable[[int, int], None] | None = None,
        compiling: Callable[[], AbstractContextManager[None]] = nullcontext,
        billing: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> Costs:
        """Run the jobs, and bill them; each replica has a seed of its own. `billing()` is entered for the bill."""
        settings = self.settings
        result = run(
            log, self.platform, settings.placement, seed=settings.seed + replica, progress=progress,
            compiling=compiling,
        )  # fmt: skip
        with billing():
            return costs_of(
                result, log, memory_bins_gib=settings.memory_bins_gib, run_time_bins_min=settings.run_time_bins_min,
                notes=self.notes, starttime=_seconds(self.starttime, "--starttime"),
                endtime=_seconds(self.endtime, "--endtime"),
            )  # fmt: skip


def cost_set_up(
    config: str | os.PathLike[str] | None = None,
    *,
    changes: Mapping[str, Any] | None = None,
    catalogue: Sequence[str | os.PathLike[str]] = (),
    policy: str | None = None,
    on_premises: bool = False,
    seed: int | None = None,
    starttime: str | float | None = None,
    endtime: str | float | None = None,
    queues: str | None = None,
    projects: str | None = None,
) -> CostSetUp:
    """Read a configuration and the prices for it, and refuse what no log could make right.

    `changes` are other values for its keys, named with their sections.
    """
    refuse_options(starttime, endtime, queues, projects)
    settings = read_config(config, changes or {})
    settings = fixed_only(settings) if on_premises else settings
    settings = replace(settings, placement=policy or settings.placement, seed=settings.seed if seed is None else seed)
    types = read_catalogue(*catalogue)
    notes = (*settings.notes(types), *_on_sharing(settings))
    return CostSetUp(settings, types, settings.platform(types), notes, starttime, endtime)


def with_bands(costs: Costs, summaries: Sequence[Mapping[str, Any]]) -> Costs:
    """The costs of the first of several replicas, with the bands of all."""
    told = {name: band for name, band in bands(list(summaries)).items() if name != "seed"}
    return replace(costs, summary={**costs.summary, "replicas": len(summaries), "bands": told})


def _seconds(given: str | float | None, option: str) -> float | None:
    return None if given is None else unix_time(given, option)


def _on_sharing(settings: CostConfig) -> list[str]:
    """That a scheduler of another kind ignores what the configuration says of sharing."""
    if settings.shares or isinstance(build("schedulers", settings.placement), BindingScheduler):
        return []
    return [f"{settings.placement} lets jobs share instances: ShareInstances: false is for placements of the cloud"]
