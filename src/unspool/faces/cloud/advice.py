"""Which set-up of the cloud is the cheapest for how long jobs may wait: a search over the keys of the configuration.

From the configuration that is given, one key after another is changed to the value that is best for a weight of waits
against money, until no single change helps: first for money alone, then for waits alone, then for the exchange rate
between the two ends; and changes that make no difference are taken back. Of all that was tried, those are told than
which none is both cheaper and quicker.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unspool.faces.cloud.config import CostConfig
from unspool.metrics.cost.allocation import HOUR_S
from unspool.model.cloud import SpotRule

__all__ = ["Advice", "Trial", "advise", "apart", "knobs", "pareto"]

Changes = Mapping[str, Any]

_MINUTES_OF_SPOT = (0, 15, 60, 240, 1440)
_IDLE_S = (0, 60, 300, 900, 3600)
_FREQUENCIES_S = (0, 120)
_PLACEMENTS = ("cheapest-fit", "largest-size", "least-added-cost")
_SMALL = r".*[.](medium|large|xlarge)$"
_GREAT = r".*[.](24|32|48|96)xlarge$"
_BURSTS = ("cheapest", {"after": 600}, {"after": 3600}, "never")
_SHARES = (0.0, 0.5, 1.5, 2.0)
_GIB = 2**30
_NEAR_USD, _NEAR_S = 0.01, 0.05  # shares by which two trials are hardly different


@dataclass(frozen=True)
class Trial:
    """A set-up that was run: what is changed in the configuration, dollars, waits, and jobs that could not run."""

    changes: Changes
    cost_usd: float
    mean_wait_s: float
    p95_wait_s: float
    jobs: int
    rejected: int


@dataclass(frozen=True)
class Advice:
    """What was found: the configuration as it is, the best trials from cheap to quick, and how many were made."""

    configured: Trial
    best: tuple[Trial, ...]
    tried: int
    left_out: int  # set-ups that cannot be, or that leave jobs out that run as configured


@dataclass
class _Search:
    evaluate: Callable[[Changes], Trial | None]
    budget: int
    progress: Callable[[int, int], None] | None = None
    seen: dict[str, Trial | None] = field(default_factory=dict)
    configured: Trial | None = None

    @property
    def trials(self) -> list[Trial]:
        return [trial for trial in self.seen.values() if trial is not None]

    def trial(self, changes: Changes) -> Trial | None:
        """A set-up that was tried, now or before; None where it cannot be, or the budget is spent."""
        key = repr(sorted(changes.items()))
        if key not in self.seen:
            if len(self.seen) >= self.budget:
                return None
            found = self.evaluate(changes)
            if found is not None and self.configured is not None and found.rejected > self.configured.rejected:
                found = None
            self.seen[key] = found
            if self.progress is not None:
                self.progress(len(self.seen), self.budget)
        return self.seen[key]

    def descend(self, start: Trial, keys: Mapping[str, Sequence[Any]], usd_per_hour: float, until: int) -> Trial:
        """Change one key after another as long as that is better, and no more than so many set-ups were tried."""
        best, is_better = start, True
        while is_better and len(self.seen) < until:
            is_better = False
            for key, values in keys.items():
                for value in values:
                    found = self.trial({**best.changes, key: value}) if len(self.seen) < until else None
                    if found is not None and _loss(found, usd_per_hour) < _loss(best, usd_per_hour):
                        best, is_better = found, True
        return best

    def simplify(self, trial: Trial) -> None:
        """Try a set-up without each of its changes, in turn; those that make no difference are left out."""
        for key in trial.changes:
            found = self.trial({name: value for name, value in trial.changes.items() if name != key})
            if found is not None and (found.cost_usd, found.mean_wait_s) <= (trial.cost_usd, trial.mean_wait_s):
                trial = found


def _loss(trial: Trial, usd_per_hour: float) -> tuple[float, float]:
    """Money, with an hour that a job waits at so much; where that is infinite waits, then money."""
    wait_h = trial.mean_wait_s * trial.jobs / HOUR_S
    if math.isinf(usd_per_hour):
        return wait_h, trial.cost_usd
    return trial.cost_usd + usd_per_hour * wait_h, wait_h


def advise(
    evaluate: Callable[[Changes], Trial | None],
    keys: Mapping[str, Sequence[Any]],
    budget: int,
    progress: Callable[[int, int], None] | None = None,
) -> Advice:
    """Search with so many runs at most; `evaluate` runs a set-up, and gives None where it cannot be."""
    search = _Search(evaluate, budget, progress)
    configured = search.trial({})
    assert configured is not None
    search.configured = configured
    cheap = search.descend(configured, keys, 0.0, 1 + (budget - 1) // 2)
    half_of_the_rest = (budget + len(search.seen)) // 2
    quick = search.descend(_best(search.trials, math.inf), keys, math.inf, half_of_the_rest)
    hours = (cheap.mean_wait_s - quick.mean_wait_s) * configured.jobs / HOUR_S
    if hours > 0.0:
        rate = max(quick.cost_usd - cheap.cost_usd, 0.0) / hours
        search.descend(_best(search.trials, rate), keys, rate, budget)
    for trial in pareto(search.trials):
        search.simplify(trial)
    trials = search.trials
    return Advice(configured, tuple(apart(pareto(trials))), len(search.seen), len(search.seen) - len(trials))


def _best(trials: Iterable[Trial], usd_per_hour: float) -> Trial:
    return min(trials, key=lambda trial: (_loss(trial, usd_per_hour), len(trial.changes)))


def pareto(trials: Iterable[Trial]) -> list[Trial]:
    """Trials than which no other is as cheap and as quick and better in one; of equals that with the fewest changes.

    >>> made = [Trial({}, usd, wait_s, 0.0, 1, 0) for usd, wait_s in ((2, 60), (1, 90), (2, 50), (3, 70), (1, 90))]
    >>> [(trial.cost_usd, trial.mean_wait_s) for trial in pareto(made)]
    [(1, 90), (2, 50)]
    """
    found: list[Trial] = []
    for trial in sorted(trials, key=lambda one: (one.cost_usd, one.mean_wait_s, len(one.changes), repr(one.changes))):
        if not found or trial.mean_wait_s < found[-1].mean_wait_s:
            found.append(trial)
    return found


def apart(best: Sequence[Trial]) -> list[Trial]:
    """The best from cheap to quick, without those that are hardly dearer and hardly quicker than the one before.

    The cheapest and the quickest are always there.

    >>> made = [Trial({}, usd, wait_s, 0.0, 1, 0) for usd, wait_s in ((100, 90), (100.5, 89), (101, 60), (101.2, 59))]
    >>> [(trial.cost_usd, trial.mean_wait_s) for trial in apart(made)]
    [(100, 90), (101, 60), (101.2, 59)]
    """
    found = list(best[:1])
    for trial in best[1:]:
        is_dearer = trial.cost_usd > found[-1].cost_usd * (1.0 + _NEAR_USD)
        if is_dearer or trial.mean_wait_s < found[-1].mean_wait_s * (1.0 - _NEAR_S) or trial is best[-1]:
            found.append(trial)
    return found


def knobs(config: CostConfig) -> dict[str, list[Any]]:
    """The keys that are tried and their values, those that matter most first; the value that a key has is left out."""
    cluster, prefixes = "ComputeClusterModel.", config.rules.prefixes
    found: dict[str, list[Any]] = {
        f"{cluster}Placement": [name for name in _PLACEMENTS if name != config.placement],
        f"{cluster}ShareInstances": [not config.shares],
    }
    minutes = [rule.max_minutes for rule in config.spot_rules]
    if len(minutes) < 2 and all(SpotRule(rule.max_minutes) == rule for rule in config.spot_rules):
        found["consumption_model_mapping.maximum_minutes_for_spot"] = [
            most for most in _MINUTES_OF_SPOT if [most] != (minutes or [0])
        ]
    found |= {
        f"{cluster}IdleTime": [seconds for seconds in _IDLE_S if seconds != config.idle_s],
        f"{cluster}SchedulingFrequency": [seconds for seconds in _FREQUENCIES_S if seconds != config.frequency_s],
        "instance_mapping.instance_prefix_list": [[prefix] for prefix in prefixes if len(prefixes) > 1],
        f"{cluster}InstanceTypes": [_without(config, sizes) for sizes in (_SMALL, _GREAT)],
    }
    if config.on_premises or config.reserved:
        found[f"{cluster}Burst"] = [burst for burst in _BURSTS if _burst_s(burst) != config.burst_after_s]
    if config.on_premises:
        found[f"{cluster}OnPremises"] = [_servers(config, share) for share in _SHARES]
    return {key: values for key, values in found.items() if values}


def _without(config: CostConfig, sizes: str) -> dict[str, list[str]]:
    return {"include": list(config.rules.include), "exclude": [*config.rules.exclude, sizes]}


def _burst_s(burst: Any) -> float:
    return float(burst["after"]) if isinstance(burst, dict) else {"cheapest": 0.0, "never": math.inf}[burst]


def _servers(config: CostConfig, share: float) -> list[dict[str, Any]]:
    """The machines on premises, so many times as many of each, rounded up."""
    return [
        {
            "Name": server.name,
            "Count": math.ceil(server.count * share),
            "Cores": server.cores,
            "MemoryGiB": server.memory_bytes / _GIB,
            "GPUs": server.gpus,
            "HourlyCost": server.usd_per_hour,
            "Billing": server.billing,
        }
        for server in config.on_premises
    ]
