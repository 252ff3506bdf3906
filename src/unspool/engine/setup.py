"""From a workload and a platform to the arrays that a run works on."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from unspool.engine.cloud.elastic import on_whole_machines, room_for_instances, shapes_in_cloud, with_cloud
from unspool.engine.jobs.free_cores import steps_to_plan
from unspool.engine.jobs.plans import rows_to_plan
from unspool.engine.jobs.records import (
    ATTEMPT,
    ENDING,
    EVENT,
    FATE,
    HELD,
    JOB,
    LINK,
    PLAN,
    PLAN_ROW,
    SHADOW,
    WAITING,
    WORD,
)
from unspool.engine.kernel.bitset import add, empty_bitset, word_count
from unspool.engine.kernel.state import COURSE, Array, Core, Fluid, Later, Links, Place, Plan, State, longer
from unspool.engine.place.domains import domains_of, fewest_parts, local_shapes, within_parts
from unspool.engine.place.records import DOMAIN, MACHINE, ROW, SHAPE
from unspool.engine.place.shapes import Asked, capacity_of, consumable_names, shapes_of
from unspool.engine.programs.host_load import grow_meter, meter_on
from unspool.engine.programs.program_build import Programs, fluid_of, grow_fluid
from unspool.model.dependencies import waits_of
from unspool.model.network import Contention
from unspool.model.platform import SELECTIONS, Platform
from unspool.model.workload import Workload, rejected_table
from unspool.units import counted
from unspool.workloads.references import spans_of

__all__ = ["Problem", "estimates_of", "grow", "no_later", "no_plan", "no_shadow", "pose"]

_HOUR_S = 3600.0
_SPARE = 64
_ROWS_PER_JOB = 8  # room to begin with, so that most runs never copy it; memory that is not written to costs nothing


@dataclass(frozen=True)
class Problem:
    """What is to be simulated: the state at the beginning, and what of the workload takes part."""

    state: State
    used: Array  # position in the workload of each job of the state
    rejected: pl.DataFrame
    without_estimate: int
    notes: tuple[str, ...]
    programs: Programs = field(default_factory=Programs)


def estimates_of(workload: Workload) -> tuple[Array, int]:
    """The estimate of each job, and how many had to be made up.

    The walltime, else the largest walltime of the workload, else its longest run time rounded up to a whole hour.
    """
    walltime = workload.column("walltime").to_numpy(allow_copy=True).astype(np.float64)
    unknown = np.isnan(walltime) | (walltime <= 0.0)
    if unknown.all():
        longest = float(workload.table["run_time"].max() or 0.0)  # type: ignore[arg-type]
        fallback = max(1.0, math.ceil(longest / _HOUR_S)) * _HOUR_S
    else:
        fallback = float(walltime[~unknown].max())
    return np.where(unknown, fallback, walltime), int(unknown.sum())


def pose(
    workload: Workload,
    platform: Platform,
    *,
    seed: int = 0,
    kill_at_walltime: bool = False,
    contention: Contention | None = None,
    keeps_all: bool = False,
) -> Problem:
    """Set a run up. Jobs that can never run here are rejected with the reason; the rest takes part.

    With `keeps_all` those take part too: somebody else is to say what becomes of them.
    """
    contention = contention or Contention()
    if platform.cloud is not None:
        workload = on_whole_machines(workload)
    asked = shapes_of(workload, platform) if platform.cloud is None else shapes_in_cloud(workload, platform)
    asked = within_parts(asked, platform)
    if keeps_all:
        asked = replace(asked, unusable=(None,) * len(asked.unusable))
    reasons = np.array([reason is not None for reason in asked.unusable], bool)[asked.shape_of_job]
    used = np.flatnonzero(~reasons)
    estimate, without_estimate = estimates_of(workload)
    jobs = _jobs(workload, asked, used, estimate, kill_at_walltime)
    fluid, programs = fluid_of(workload, used, platform.network, contention)
    _set_run_times(jobs, workload, used, fluid, contention)
    links, linked, notes = _links(workload, used)
    place = None if platform.is_pool and not platform.licences else _place(asked, platform, len(used))
    state = State(_core(jobs, estimate[used], platform, linked), place, links=links, fluid=fluid)
    if fluid is not None:  # with no hosts until energy is asked for, so that nothing is compiled twice
        state = state._replace(meter=meter_on(0))
    if place is not None and not _is_countable(asked, platform):
        state = state._replace(later=no_later(place))
    if place is not None and platform.cloud is not None:
        state = with_cloud(state, place, asked, used, workload, platform, seed)
        return Problem(state, used, _rejected(workload, asked), without_estimate, (*asked.notes, *notes))
    state.core.course["one_core"] = asked.allowed.all() and all(group.machine.cores == 1 for group in platform.groups)
    return Problem(state, used, _rejected(workload, asked), without_estimate, (*asked.notes, *notes), programs)


def _rejected(workload: Workload, asked: Asked) -> pl.DataFrame:
    """The jobs whose shape can never run, with the reason."""
    if not any(asked.unusable):
        return rejected_table()
    reasons = pl.Series("reason", asked.unusable, dtype=pl.String).gather(pl.Series(asked.shape_of_job))
    return workload.table.select("line", "job_id").with_columns(reasons).filter(pl.col("reason").is_not_null())


def _is_countable(asked: Asked, platform: Platform) -> bool:
    """Whether any free cores will do for any job, so that fitting is a question of their number alone."""
    cores_only = (asked.need[:, 1:] == 0.0).all() and (asked.need[:, 0] == 1.0).all() and not asked.licence_need.any()
    may_share = not asked.distinct.any() or all(group.machine.cores == 1 for group in platform.groups)
    anywhere = platform.selection not in ("contiguous", "local") and not local_shapes(asked, platform).any()
    return bool(cores_only and may_share and asked.allowed.all() and anywhere)


def _jobs(workload: Workload, asked: Asked, used: Array, estimate: Array, kill_at_walltime: bool) -> Array:
    table = workload.table
    jobs = np.zeros(len(used), JOB)
    jobs["submit"] = table["submit_time"].to_numpy()[used]
    jobs["run_time"] = table["run_time"].to_numpy()[used]
    jobs["walltime"] = math.inf
    if kill_at_walltime:
        walltime = workload.column("walltime").to_numpy(allow_copy=True).astype(np.float64)[used]
        jobs["walltime"] = np.where(walltime > 0.0, walltime, math.inf)
    shape = asked.shape_of_job[used]
    jobs["shape"] = shape
    jobs["size"] = (asked.units * asked.need[:, 0].astype(np.int64))[shape]
    return jobs


def _set_run_times(jobs: Array, workload: Workload, used: Array, fluid: Fluid | None, contention: Contention) -> None:
    """Delays take their time. Jobs that share a network end when they have run; strictly, delays cut by it never do."""
    is_unsaid = jobs["run_time"] == 0.0
    if workload.profiles and is_unsaid.any():
        spans = {name: span.seconds for name, span in spans_of(workload.profiles).items()}
        names = workload.column("profile").gather(pl.Series(used[is_unsaid]))
        jobs["run_time"][is_unsaid] = names.replace_strict(spans, default=0.0, return_dtype=pl.Float64).fill_null(0.0)
    if fluid is not None:
        jobs["run_time"][fluid.program_of >= 0] = math.inf
    if contention.strict:
        jobs["run_time"][jobs["run_time"] >= jobs["walltime"]] = math.inf


def _core(jobs: Array, estimate: Array, platform: Platform, linked: int) -> Core:
    count = len(jobs)
    at_once = min(count, platform.cores) + linked + _SPARE
    course = np.zeros(1, COURSE)
    course["now"] = -math.inf
    course["free"] = platform.cores
    course["first"] = course["fresh"] = count
    course["selection"] = SELECTIONS.index(platform.selection)
    course["spare_plan_row"] = course["watched"] = course["next_slot"] = -1
    course["until"] = math.inf
    course["pause_at"] = 1 << 62
    fate = np.zeros(count, FATE)
    fate["estimate"] = estimate
    fate["attempt"] = -1
    fate["slot"] = np.arange(count)
    return Core(
        course, jobs, fate, np.zeros(count, ATTEMPT), np.zeros(at_once, EVENT), np.zeros(at_once, ENDING),
        np.zeros(count, WAITING), np.zeros(word_count(count), WORD),
    )  # fmt: skip


def _place(asked: Asked, platform: Platform, jobs: int) -> Place:
    consumables = consumable_names(platform)
    machines = np.zeros(platform.machine_count, MACHINE)
    machines["group"] = np.repeat(np.arange(len(platform.groups)), [group.count for group in platform.groups])
    capacity = np.array([capacity_of(group.machine, consumables) for group in platform.groups])
    capacity = capacity.reshape(len(platform.groups), asked.need.shape[1])
    free = np.ascontiguousarray(capacity[machines["group"]])
    least = asked.need.min(axis=0, initial=np.inf) if len(asked.need) else np.zeros(free.shape[1])
    bits = empty_bitset(len(machines))
    for machine in np.flatnonzero((free >= least).all(axis=1)).tolist():
        add(bits, len(machines), machine)
    shapes = np.zeros(len(asked.units), SHAPE)
    shapes["units"] = asked.units
    shapes["distinct"] = asked.distinct
    shapes["cores"] = asked.need[:, 0]
    shapes["partition"] = asked.partition
    shapes["plain"] = (asked.need[:, 1:] == 0.0).all(axis=1)
    shapes["failed"] = shapes["refused"] = -1
    licence = np.array([float(count) for count in platform.licences.values()])
    tally = None
    domains = None
    local = local_shapes(asked, platform)
    if platform.selection in ("nearby", "local") or local.any():
        machines["domain"] = domains_of(platform)
        domains = np.zeros(int(machines["domain"].max(initial=0)) + 1, DOMAIN)
        at_most = platform.selection == "local" and platform.cloud is None  # what is started in a cloud is in one part
        shapes["parts"] = fewest_parts(asked, platform) if at_most else len(domains)
        shapes["parts"][local] = 1
        shapes["local"] = local
    if platform.selection not in ("first", "contiguous", "nearby", "local"):
        started = [] if platform.cloud is None else [kind.cores for kind in platform.cloud.types]
        tally = np.zeros(max([*started, *(group.machine.cores for group in platform.groups)]) + 1, np.int64)
    return Place(
        machines, bits, least, free, free.sum(axis=0), shapes, asked.need, asked.allowed, licence, asked.licence_need,
        np.zeros(platform.cores + _ROWS_PER_JOB * jobs, ROW), np.zeros(len(machines), ROW), tally,
        domains,
    )  # fmt: skip


def no_later(place: Place) -> Later:
    """What machines have free later, with nothing found yet."""
    return Later(
        np.zeros_like(place.free),
        np.zeros_like(place.free),
        np.zeros_like(place.licence),
        np.zeros_like(place.licence),
        np.zeros_like(place.total),
    )


def no_shadow() -> Array:
    """What EASY remembers, with nothing found yet."""
    shadow = np.zeros(1, SHADOW)
    shadow["head"] = shadow["releases"] = shadow["time"] = -1
    return shadow


def no_plan(jobs: int) -> Plan:
    """What conservative backfilling needs, with nothing planned yet."""
    return Plan(
        np.zeros(_SPARE), np.zeros(_SPARE, np.int64), np.zeros(_SPARE, PLAN), np.zeros(_SPARE, ENDING),
        np.zeros(_SPARE, PLAN_ROW), np.zeros(jobs, HELD),
    )  # fmt: skip


def _links(workload: Workload, used: Array) -> tuple[Links | None, int, tuple[str, ...]]:
    """Who waits for whom; ids that are not in the run count as ended, and are counted."""
    if "depends_on" not in workload.table.columns:
        return None, 0, ()
    ids = workload.table["job_id"].gather(pl.Series(used))
    places = pl.DataFrame({"job": used, "dependent": np.arange(len(used))})
    wanted = waits_of(workload.table).join(places, on="job", how="inner", maintain_order="left").drop("job")
    position = pl.DataFrame({"on": ids, "job": np.arange(len(used))})
    found = wanted.join(position, on="on", how="inner").sort("job", "dependent")
    missing = len(wanted) - len(found)
    notes = (
        (f"{counted(missing, 'dependency', 'dependencies')} on jobs that do not take part: taken as ended",)
        if missing
        else ()
    )
    if not len(found):
        return None, 0, notes
    links = np.zeros(len(used), LINK)
    think = workload.column("think_time").fill_null(0.0).to_numpy()[used]
    links["think_time"] = think
    counts = np.bincount(found["job"].to_numpy(), minlength=len(used))
    links["count"] = counts
    links["first"] = np.cumsum(counts) - counts
    still_open = np.bincount(found["dependent"].to_numpy(), minlength=len(used)).astype(np.int64)
    return Links(links, still_open, found["dependent"].to_numpy().astype(np.int64)), len(found), notes


def grow(state: State) -> State:
    """Twice the room in every array that a step may fill up."""
    core, place, plan = state.core, state.place, state.plan
    course = core.course[0]
    starts = int(min(course["queued"], course["free"]))
    core = core._replace(
        attempts=longer(core.attempts, int(course["attempts"]) + starts),
        events=longer(core.events, int(course["events"]) + starts),
        running=longer(core.running, int(course["running"]) + starts),
    )
    if plan is not None:
        queued = int(course["queued"])
        plan = plan._replace(
            times=longer(plan.times, steps_to_plan(core.course)),
            gains=longer(plan.gains, steps_to_plan(core.course)),
            plans=longer(plan.plans, queued),
            ends=longer(plan.ends, queued),
            rows=longer(plan.rows, rows_to_plan(core, place)),
        )
    fluid = None if state.fluid is None else grow_fluid(state.fluid)
    state = state._replace(core=core, place=place, plan=plan, fluid=fluid, meter=grow_meter(fluid, state.meter))
    if place is None:
        return state
    if state.elastic is not None:
        return room_for_instances(state)
    return state._replace(place=place._replace(rows=longer(place.rows, int(course["rows"] + course["free"]))))
