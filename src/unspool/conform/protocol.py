"""Recorded runs of Batsim once more, with the scheduler itself as another program, and not with an equivalent of it.

Then more must be the same than the order of starts: states, machines and execution times of all jobs, and when they
started.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from unspool.conform.batsim import EXACT_S, SHIFT_PART, SHIFT_S, arguments_of, read_jobs
from unspool.conform.checks import decoded, few
from unspool.faces.batsim.protocol.begins import Terms
from unspool.faces.batsim.protocol.outside import Outside
from unspool.faces.batsim.running import Settings, Simulated, run_batsim

__all__ = ["Run", "compare_runs", "read_run", "run_with", "settings_of"]

_TERMS = {
    "--forward-profiles-on-submission": "forward_profiles_on_submission",
    "--enable-dynamic-jobs": "enable_dynamic_jobs",
    "--acknowledge-dynamic-jobs": "acknowledge_dynamic_jobs",
    "--enable-profile-reuse": "enable_profile_reuse",
}
_ABSENT = {"--no-sched": "no scheduler"}
_KEY = ("workload_name", "job_id")


class _Written(msgspec.Struct):
    platform: str
    workload: str
    workload_flag: str = "-w"
    batsim_args: list[str] = []
    scheduler: list[str] | None = None
    batsim_exit_code: int = 0


@dataclass(frozen=True)
class Run:
    """A recorded run: its inputs, its scheduler as it was called, and what was written of it."""

    name: str
    root: Path
    settings: Settings
    terms: Terms
    scheduler: tuple[str, ...]
    folder: Path
    is_clean: bool
    skipped: str | None = None

    def command(self, program: str) -> str:
        """The command that starts its scheduler, if the program lies here; its files are those beside the cases."""
        words = [str(self.root / word) if word.startswith("schedulers/") else word for word in self.scheduler[1:]]
        return shlex.join([program, *words])


def read_run(path: Path) -> Run:
    """A `case.json`; the paths in it begin two folders above its own."""
    written = decoded(path, _Written)
    root = path.resolve().parents[2]
    words = [str(root / word[1:]) if word.startswith("@") else word for word in written.batsim_args]
    flags: dict[str, Any] = {_TERMS[word]: True for word in words if word in _TERMS}
    terms = Terms(**flags)
    skipped = next((f"it needs {_ABSENT[word]}" for word in words if word in _ABSENT), None)
    if written.workload_flag not in ("-w", "--workload"):
        skipped = "workflows are not run with a scheduler that is another program"
    elif written.batsim_exit_code != 0:
        skipped = f"the recorded run failed, with exit code {written.batsim_exit_code}"
    rest = tuple(word for word in words if word not in _TERMS and word not in _ABSENT)
    settings = Settings(
        platform=str(root / written.platform), workloads=[str(root / written.workload)], host_order="text",
        **arguments_of(rest),
    )  # fmt: skip
    return Run(
        path.parent.name, root, settings, terms, tuple(written.scheduler or ()), path.parent,
        written.platform.startswith("own/platforms/clean"), skipped,
    )  # fmt: skip


def settings_of(run: Run, outside: Any) -> Settings:
    """The settings of a run with a scheduler that is elsewhere."""
    return replace(run.settings, outside=outside)


def run_with(run: Run, command: str, timeout_s: float = 60.0) -> Simulated:
    """The run, decided by a scheduler that a command starts."""
    return run_batsim(settings_of(run, Outside(command=command, timeout_s=timeout_s, terms=run.terms)), states=False)


def compare_runs(found: Simulated, run: Run) -> tuple[str, ...]:
    """Where our jobs differ from those that Batsim wrote."""
    if found.fault is not None:
        return (f"it broke off: {found.fault}",)
    return compare_all(found.outputs.jobs, read_jobs(run.folder / "out_jobs.csv"), is_clean=run.is_clean)


def compare_all(found: pl.DataFrame, recorded: pl.DataFrame, *, is_clean: bool) -> tuple[str, ...]:
    """The same jobs, states, machines and execution times; starts as near as the platform allows."""
    ours, theirs = _by_key(found), _by_key(recorded)
    told = [f"job {'!'.join(key)} is not among ours" for key in theirs if key not in ours]
    told += [f"job {'!'.join(key)} was not recorded" for key in ours if key not in theirs]
    for key in theirs:
        if key not in ours:
            continue
        mine, other = ours[key], theirs[key]
        for name in ("final_state", "allocated_resources"):
            if (mine[name] or "") != (other[name] or ""):
                told.append(f"job {'!'.join(key)}: {name} {mine[name]}, recorded {other[name]}")
        if mine["starting_time"] is None or other["starting_time"] is None:
            continue
        far = EXACT_S if is_clean else SHIFT_S + SHIFT_PART * abs(other["starting_time"])
        for name, limit in (("starting_time", far), ("execution_time", far if not is_clean else EXACT_S)):
            if not abs(mine[name] - other[name]) <= limit:
                told.append(f"job {'!'.join(key)}: {name} {mine[name]:.6f}, recorded {other[name]:.6f}")
    return few(told)


def _by_key(jobs: pl.DataFrame) -> dict[tuple[str, ...], dict[str, Any]]:
    return {tuple(str(row[name]) for name in _KEY): row for row in jobs.iter_rows(named=True)}
