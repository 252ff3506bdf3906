"""`unspool.check_schedule`: any finished schedule against the laws of a policy."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike, fspath

import numpy as np

from unspool.analysis.audit.conservative import follow_conservative
from unspool.analysis.audit.easy import follow_easy
from unspool.analysis.audit.fcfs import follow_fcfs
from unspool.analysis.audit.laws import LAWS, POLICY_LAWS, Report, Tally, Verdict
from unspool.analysis.audit.matching import Match, match
from unspool.analysis.audit.occupancy import (
    check_capacity,
    check_machines,
    check_once,
    check_run_time,
    check_submission,
)
from unspool.analysis.audit.replay import Progress
from unspool.analysis.audit.schedule import Schedule, read_schedule, schedule_of
from unspool.engine.place.domains import local_shapes
from unspool.errors import InputError, UnknownName
from unspool.model.platform import Platform
from unspool.model.workload import Workload
from unspool.platforms import pool_of_log, read_platform
from unspool.results.result import Result
from unspool.workloads import read_workload

__all__ = ["check_schedule", "policy_of"]

_FOLLOW: dict[str, Callable[[Match, int, float, Progress], dict[str, Tally]]] = {
    "fcfs": follow_fcfs,
    "easy": follow_easy,
    "conservative": follow_conservative,
}
# What is counted, and in what the worst case is measured.
_COUNTED = {
    "once": ("jobs", ""),
    "submission": ("starts", "s"),
    "run time": ("runs", "s"),
    "capacity": ("starts", "cores"),
    "machines": ("starts", "cores"),
    "order": ("starts", "s"),
    "greedy": ("instants", "s"),
    "promise": ("heads", "s"),
    "backfill": ("overtakings", "s"),
    "first plan": ("jobs", "s"),
    "plan": ("starts", "s"),
}
_ONLY_TOLD = {
    "backfill": "it tells why a promise broke, and may do no harm",
    "plan": "a start before the first plan is as good",
}
_COUNT_CORES = frozenset({"greedy", "promise", "backfill", "first plan", "plan"})


def check_schedule(
    schedule: Schedule | Result | str | PathLike[str],
    workload: Workload | str | PathLike[str],
    platform: Platform | str | int | PathLike[str] | None = None,
    policy: str | None = None,
    *,
    tolerance: float = 1e-6,
    progress: Progress | None = None,
) -> Report:
    """Hold a finished schedule, ours or another tool's, against the laws of `fcfs`, `easy`, `conservative` or `none`.

    The schedule is a `Result`, its folder, SWF, Batsim's jobs file or CSV with `id,start`. It is followed event by
    event from its own starts and ends; the engine takes no part. Platform and policy are those of the result if left
    out. Times that differ by the tolerance, in seconds, are the same.

    >>> import polars as pl
    >>> from unspool import Workload, run
    >>> jobs = {"job_id": ["a", "b"], "submit_time": [0, 1], "run_time": [9, 5], "cores": [3, 2], "walltime": [9, 5]}
    >>> log = Workload.of(pl.DataFrame(jobs))
    >>> report = check_schedule(run(log, 4, "easy"), log)
    >>> report.ok, report["promise"].checked
    (True, 1)
    """
    if not tolerance >= 0.0:
        raise InputError(f"the tolerance is {tolerance:g} s; expected 0 or more")
    if isinstance(schedule, Result):
        schedule = schedule_of(schedule)
    elif not isinstance(schedule, Schedule):
        schedule = read_schedule(schedule)
    if not isinstance(workload, Workload):
        workload = read_workload(workload)
    platform = _platform(platform, schedule, workload)
    platform.refuse_cloud("a check of schedules")
    name, parameters = policy_of(policy or (schedule.policy if _is_known(schedule.policy) else None) or "none")
    found = match(schedule, workload, platform)
    tallies, why = _of_every_schedule(schedule, found, platform, tolerance)
    if name != "none":
        tallies |= _FOLLOW[name](found, platform.cores, tolerance, progress or (lambda done, total: None))
    reasons = _reasons(schedule, found, parameters, tolerance)
    verdicts = [
        _verdict(law, tally, _why_not(law, tally, why, reasons, found, platform)) for law, tally in tallies.items()
    ]
    subject = f"{schedule.name} ({schedule.kind}), {workload.name} on {platform.name}, laws of {policy or name}"
    return Report(subject, tuple(verdicts), _notes(schedule, found, tolerance))


def policy_of(text: str) -> tuple[str, str]:
    """Name and parameters of a policy whose laws are known."""
    name, _, parameters = text.partition(":")
    if name not in POLICY_LAWS:
        raise UnknownName("policy with laws", name, POLICY_LAWS)
    return name, parameters


def _is_known(policy: str | None) -> bool:
    return policy is not None and policy.partition(":")[0] in POLICY_LAWS


def _platform(
    platform: Platform | str | int | PathLike[str] | None, schedule: Schedule, workload: Workload
) -> Platform:
    if isinstance(platform, Platform):
        return platform
    if platform is not None:
        return read_platform(fspath(platform) if isinstance(platform, PathLike) else str(platform))
    return schedule.platform or pool_of_log(workload)


def _of_every_schedule(
    schedule: Schedule, found: Match, platform: Platform, tolerance: float
) -> tuple[dict[str, Tally], str]:
    """The laws of every schedule, and why machines were not looked at; where there are none, they are not asked for."""
    tallies = {
        "once": check_once(schedule, found),
        "submission": check_submission(found, tolerance),
        "run time": check_run_time(schedule, found, tolerance),
        "capacity": check_capacity(found, platform, tolerance),
    }
    if platform.is_pool and schedule.held is None:
        return tallies, ""
    tallies["machines"], why = check_machines(schedule, found, platform, tolerance)
    return tallies, why


def _reasons(schedule: Schedule, found: Match, parameters: str, tolerance: float) -> list[str]:
    """Why the laws of a policy do not bind for a schedule."""
    reasons = []
    if parameters:
        reasons.append(f"the laws are those of FCFS order, the policy has {parameters}")
    jobs = found.ran
    ran = found.finish[jobs] - found.start[jobs]
    rounding = np.spacing(np.abs(found.finish[jobs]) + np.abs(found.start[jobs]))
    too_long = int((ran > found.estimate[jobs] + tolerance + rounding).sum())
    if too_long:
        reasons.append(f"jobs that ran longer than their estimates: {too_long:,}")
    again = len(found.job_of_row) - len(jobs) - int((found.job_of_row < 0).sum())
    if again:
        reasons.append(f"starts of jobs that had started before: {again:,}")
    return reasons


def _why_not(
    law: str, tally: Tally, machines: str, reasons: list[str], found: Match, platform: Platform
) -> tuple[str, ...]:
    """Why a law does not bind here; nothing where it does."""
    if law == "machines":
        return (machines,) if machines else ()
    if law == "run time" and not tally.checked:
        return ("the schedule does not say when jobs end",)
    if law not in set().union(*POLICY_LAWS.values()):
        return ()
    told = [_ONLY_TOLD[law]] if law in _ONLY_TOLD else []
    if law in _COUNT_CORES and not _any_cores_do(found, platform):
        told.append("machines decide here, and the law counts cores")
    return (*told, *reasons)


def _any_cores_do(found: Match, platform: Platform) -> bool:
    """Whether any free cores will do for any job, so that fitting is a question of their number alone."""
    asked = found.asked
    one_core = all(group.machine.cores == 1 for group in platform.groups)
    counts_only = not asked.need[:, 1:].any() and not asked.licence_need.any() and bool(asked.allowed.all())
    if platform.is_pool:
        return counts_only
    return (
        counts_only
        and bool((asked.need[:, 0] == 1.0).all())
        and (one_core or not asked.distinct.any())
        and platform.selection not in ("contiguous", "local")
        and not local_shapes(asked, platform).any()
    )


def _verdict(law: str, tally: Tally, reasons: tuple[str, ...]) -> Verdict:
    of, unit = _COUNTED[law]
    return Verdict(
        law, LAWS[law], tally.checked, of, tally.violations, float(tally.worst), unit, tally.example, reasons
    )


def _notes(schedule: Schedule, found: Match, tolerance: float) -> tuple[str, ...]:
    notes = list(found.asked.notes)
    if schedule.submit_times is not None:
        known = found.job_of_row >= 0
        off = schedule.submit_times.to_numpy()[known] - found.submit[found.job_of_row[known]]
        others = int((np.abs(off) > tolerance).sum())
        if others:
            notes.append(f"{others:,} submit times of the schedule are not those of the log: is its clock another one?")
    least = float(np.nanmax(np.spacing(found.row_finish), initial=0.0))
    if least > tolerance > 0.0:
        notes.append(f"times are so large that they are only known to {least:.1g} s; give a tolerance above that")
    return tuple(notes)
