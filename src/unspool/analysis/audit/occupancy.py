"""The laws of every schedule: each job once, not before its submission, for its run time, within what there is."""

from __future__ import annotations

import numpy as np

from unspool.analysis.audit.laws import Tally
from unspool.analysis.audit.matching import Array, Match
from unspool.analysis.audit.schedule import Schedule
from unspool.engine.place.shapes import capacity_of, consumable_names
from unspool.model.platform import Platform

__all__ = ["check_capacity", "check_machines", "check_once", "check_run_time", "check_submission"]


def check_once(schedule: Schedule, found: Match) -> Tally:
    """Jobs without a row, rows without a job, and jobs with several rows; jobs that can never run may be missing."""
    tally = Tally()
    tally.checked = len(found.ids)
    can_run = np.array([reason is None for reason in found.asked.unusable], bool)[found.asked.shape_of_job]
    missing = np.flatnonzero((found.row_of_job < 0) & can_run).tolist()
    rows = np.bincount(found.job_of_row[found.job_of_row >= 0], minlength=len(found.ids))
    several = [] if schedule.has_attempts else np.flatnonzero(rows > 1).tolist()
    names = {
        "of the log never runs": [found.ids[job] for job in missing if not _is_turned_away(schedule, found, job)],
        "has several rows": [found.ids[job] for job in several],
        "is not in the log": found.row_ids.gather(np.flatnonzero(found.job_of_row < 0)).to_list(),
    }
    tally.violations = sum(map(len, names.values()))
    tally.example = "; ".join(
        f"job {which[0]} {what}" + (f" (and {len(which) - 1:,} like it)" if len(which) > 1 else "")
        for what, which in names.items()
        if which
    )
    return tally


def _is_turned_away(schedule: Schedule, found: Match, job: int) -> bool:
    name = found.ids[job]
    return name in schedule.turned_away or name.rpartition("!")[2] in schedule.turned_away


def check_submission(found: Match, tolerance: float) -> Tally:
    """Starts before the job was submitted, or before those that it depends on had ended."""
    tally = Tally()
    rows = np.flatnonzero(found.job_of_row >= 0)
    tally.checked = len(rows)
    early = found.eligible[found.job_of_row[rows]] - found.row_start[rows]
    for row in rows[early > tolerance].tolist():
        job = found.job_of_row[row]
        could, start = found.eligible[job], found.row_start[row]
        tally.note(could - start, f"job {found.ids[job]} starts at {start:.10g} s, and could from {could:.10g} s on")
    return tally


def check_run_time(schedule: Schedule, found: Match, tolerance: float) -> Tally:
    """Rows that end neither after the log's run time nor at the walltime; those that a policy killed are left out."""
    tally = Tally()
    if not found.has_finish:
        return tally
    rows = np.flatnonzero((found.job_of_row >= 0) & ~schedule.rows["killed"].to_numpy())
    rows = rows[~np.isnan(found.run_time[found.job_of_row[rows]])]
    jobs = found.job_of_row[rows]
    tally.checked = len(rows)
    ran = found.row_finish[rows] - found.row_start[rows]
    cut = np.minimum(found.run_time[jobs], found.walltime[jobs])
    # Adding and subtracting a large start costs digits, which is nobody's fault.
    rounding = np.spacing(np.abs(found.row_finish[rows]) + np.abs(found.row_start[rows]))
    off = np.minimum(np.abs(ran - found.run_time[jobs]), np.abs(ran - cut))
    for at in np.flatnonzero(off > tolerance + rounding).tolist():
        job = jobs[at]
        tally.note(
            off[at], f"job {found.ids[job]} runs for {ran[at]:.10g} s; the log says {found.run_time[job]:.10g} s"
        )
    return tally


def check_capacity(found: Match, platform: Platform, tolerance: float) -> Tally:
    """Starts that found fewer free cores than they took; a job holds its cores until the tolerance before its end."""
    tally = Tally()
    rows, kinds = _events(found, tolerance)
    tally.checked = int((found.job_of_row >= 0).sum())
    sizes = found.size[found.job_of_row[rows]]
    used = np.cumsum(np.where(kinds == 1, sizes, -sizes))
    for at in np.flatnonzero((kinds == 1) & (used > platform.cores)).tolist():
        job, start = found.job_of_row[rows[at]], found.row_start[rows[at]]
        text = f"at {start:.10g} s job {found.ids[job]} makes it {used[at]:,} cores of {platform.cores:,}"
        tally.note(float(used[at] - platform.cores), text)
    return tally


def _events(found: Match, tolerance: float) -> tuple[Array, Array]:
    """Ends (0) and starts (1) of rows in order of time, ends first; what lasts no longer than the tolerance is out."""
    held = np.flatnonzero((found.job_of_row >= 0) & (found.row_finish - found.row_start > tolerance))
    times = np.concatenate((found.row_finish[held] - tolerance, found.row_start[held]))
    kinds = np.repeat((0, 1), len(held))
    order = np.lexsort((kinds, times))
    return np.concatenate((held, held))[order], kinds[order]


def check_machines(schedule: Schedule, found: Match, platform: Platform, tolerance: float) -> tuple[Tally, str]:
    """Starts on machines that have no room for them or that the job may not use, and why not all could be looked at.

    On a pool a machine number of another tool is taken for that of a core, which holds one job.
    """
    tally = Tally()
    if schedule.held is None:
        return tally, "the schedule does not say which machines a job holds"
    held, why = _units_by_machine(schedule, found, platform)
    if why:
        return tally, why
    has, need, allowed = _what_there_is(found, platform)
    used = np.zeros_like(has)
    licences = np.zeros(found.asked.licence_need.shape[1])
    limits = np.array([float(count) for count in platform.licences.values()])
    rows, kinds = _events(found, tolerance)
    tally.checked = int((found.job_of_row >= 0).sum())
    for row, kind in zip(rows.tolist(), kinds.tolist(), strict=True):
        shape = int(found.asked.shape_of_job[found.job_of_row[row]])
        sign = 1.0 if kind else -1.0
        licences += sign * found.asked.licence_need[shape]
        over, where = float((licences - limits).max(initial=0.0)), "licences"
        for first, last, units in held[row]:
            part = used[first : last + 1]
            part += sign * units * need[shape]
            if kind and allowed is not None and not allowed[shape, first : last + 1].all():
                over, where = max(over, 1.0), f"machines {first} to {last}, where it may not run"
            elif kind and (excess := float((part - has[first : last + 1])[:, 0].max())) > over:
                over, where = excess, f"machines {first} to {last}"
            elif kind and over == 0.0 and (part > has[first : last + 1]).any():
                over, where = 1.0, f"machines {first} to {last} (memory, GPUs or consumables)"
        wrong = _wrong_units(found, shape, held[row]) if kind else ""
        if kind and (over > 0.0 or wrong):
            name, start = found.ids[found.job_of_row[row]], found.row_start[row]
            tally.note(over, f"at {start:.10g} s job {name} {wrong or f'takes more than is free of {where}'}")
    return tally, ""


def _wrong_units(found: Match, shape: int, held: list[tuple[int, int, int]]) -> str:
    """What is wrong with how many units of a job are where, or nothing."""
    units = sum((last - first + 1) * each for first, last, each in held)
    if units != found.asked.units[shape]:
        return f"holds {units} units; it asks for {found.asked.units[shape]}"
    if found.asked.distinct[shape] and any(each > 1 for _, _, each in held):
        return "holds several units on one machine; it asks for one a machine"
    return ""


def _units_by_machine(
    schedule: Schedule, found: Match, platform: Platform
) -> tuple[dict[int, list[tuple[int, int, int]]], str]:
    """(first, last, units) of each row of the schedule, and why that cannot be told."""
    held: dict[int, list[tuple[int, int, int]]] = {row: [] for row in range(len(found.job_of_row))}
    count = platform.cores if platform.is_pool else platform.machine_count
    assert schedule.held is not None
    for row, first, last, units in schedule.held.iter_rows():
        if last >= count:
            return {}, f"the schedule names machine {last}; the platform has {count:,}, numbered from 0"
        held[row].append((first, last, 1 if units is None else units))
    if schedule.held["units"].null_count():
        for row, machines in held.items():
            job = found.job_of_row[row]
            given = sum(last - first + 1 for first, last, _ in machines)
            if job >= 0 and given != found.asked.units[found.asked.shape_of_job[job]]:
                return {}, f"job {found.ids[job]} holds {given} machines, and it is not said how many cores on each"
    return held, ""


def _what_there_is(found: Match, platform: Platform) -> tuple[Array, Array, Array | None]:
    """What each machine has, what a unit of each shape needs, and which machines a shape may use (None: all)."""
    asked = found.asked
    if platform.is_pool:
        return np.ones((platform.cores, 1)), asked.need[:, :1], None
    consumables = consumable_names(platform)
    counts = [group.count for group in platform.groups]
    has = np.repeat([capacity_of(group.machine, consumables) for group in platform.groups], counts, axis=0)
    if asked.allowed.all():
        return has, asked.need, None
    return has, asked.need, np.repeat(asked.allowed[asked.partition], counts, axis=1).astype(bool)
