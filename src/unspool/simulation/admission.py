"""Jobs that join a run while it goes on, which nobody knew of when it was set up.

They stand behind all others. While the walk over known submissions goes on, it must not come to them: their submit
times are infinite until then, and `settle` writes the true ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from unspool.engine.jobs.journal import arrive
from unspool.engine.jobs.records import WAITING, WORD
from unspool.engine.kernel.bitset import word_count
from unspool.engine.kernel.state import Array, Fluid, State
from unspool.engine.place.records import SHAPE
from unspool.engine.place.shapes import shapes_of
from unspool.engine.programs.host_load import meter_on
from unspool.engine.programs.program_build import Programs, no_programs, with_program
from unspool.engine.setup import grow
from unspool.model.network import Contention
from unspool.model.profile import Profile
from unspool.model.workload import Workload
from unspool.policies.orders import Fcfs
from unspool.simulation.policy_state import deal_fixed_slots, fill_queue, keys_of
from unspool.workloads.references import reached, spans_of

if TYPE_CHECKING:
    from unspool.simulation.engine import Engine

__all__ = ["Admission", "NewJob", "open_table"]

_SPARE = 64
_MOST_CHUNKS = 128
_OPTIONAL = ("machines", "walltime", "profile")


@dataclass(frozen=True)
class NewJob:
    """A job that joins a run. Without a profile it runs until somebody ends it."""

    job_id: str
    submit_time: float
    machines: int
    walltime: float | None = None
    profile: str | None = None
    others: Mapping[str, Any] = field(default_factory=dict)  # of columns that the workload has besides


def open_table(workload: Workload) -> Workload:
    """The workload with every column that a job may have which joins later."""
    types = {"machines": pl.Int64, "walltime": pl.Float64, "profile": pl.String}
    missing = [pl.lit(None, types[name]).alias(name) for name in _OPTIONAL if name not in workload.table.columns]
    return replace(workload, table=workload.table.with_columns(missing))


class Admission:
    """Lets jobs into a run; the workload of the run grows with it, and must have been opened for that."""

    def __init__(self, engine: Engine, contention: Contention | None = None) -> None:
        self._engine = engine
        self._contention = contention or Contention()
        self.count = len(engine.core.jobs)
        self._submits: list[float] = []
        self._known = self.count
        self._shape_of: dict[int, int] = {}
        self._programs: dict[tuple[Any, ...], tuple[Profile, int]] = {}
        self._limits = [float(each) for each in engine.workload.column("walltime").drop_nulls() if each > 0.0]

    def prepare_for_work(self) -> None:
        """Get ready for jobs that compute or communicate, before anything is compiled for a run without them."""
        engine = self._engine
        network = engine.platform.network
        if engine.state.fluid is None and network is not None:
            fluid = no_programs(len(engine.core.jobs), network, self._contention)
            hosts = 0 if engine.power is None else len(engine.power.hosts)
            engine.state = engine.state._replace(fluid=fluid, meter=meter_on(hosts))
            engine._problem = replace(engine._problem, programs=Programs(("",) * len(fluid.programs)))

    def admit(self, job: NewJob) -> int:
        """A job is submitted now, and waits; its position in the run."""
        engine = self._engine
        if self.count == len(engine.core.jobs):
            self._make_room()
        at = self.count
        self.count += 1
        self._submits.append(job.submit_time)
        self._write_row(job)
        shape = self.shape_of(job.machines)
        core = engine.core
        row = core.jobs[at]
        row["submit"], row["size"], row["shape"] = self._submit(job), job.machines, shape
        row["run_time"] = np.inf
        row["walltime"] = job.walltime if job.walltime and job.profile is not None else np.inf
        core.fate[at]["estimate"] = self._estimate(job)
        if job.profile is not None:
            self._give_work(at, job)
        self._give_slots()
        arrive(engine.core, at)
        return at

    def _submit(self, job: NewJob) -> float:
        """The submit time, once the walk over known submissions is over."""
        core = self._engine.core
        if core.course[0]["next_arrival"] < self._known:
            return float("inf")
        core.course[0]["next_arrival"] = len(core.jobs)
        return job.submit_time

    def shape_of(self, machines: int) -> int:
        """The shape of jobs of so many machines, made where there is none yet."""
        if machines not in self._shape_of:
            self._shape_of[machines] = self._add_shape(machines)
        return self._shape_of[machines]

    def program_of(self, name: str, machines: int, contention: Contention) -> int:
        """The program of a profile for so many machines, under rules of its own, written where there is none yet."""
        key = (name, machines, tuple(sorted(contention.storage.items())))
        profile = self._engine.workload.profiles[name]
        found = self._programs.get(key)
        if found is None or found[0] is not profile:  # the name may mean another one by now
            found = self._programs[key] = profile, self._add_program(name, machines, contention)
        return found[1]

    def settle(self) -> None:
        """The run is over: what is kept of it has no spare places, and the true submit times."""
        engine, count = self._engine, self.count
        core = engine.core
        jobs = core.jobs[:count].copy()
        jobs["submit"][self._known :] = self._submits
        engine.state = _cut(engine.state._replace(core=core._replace(jobs=jobs)), count)
        engine._problem = replace(engine._problem, used=engine.used[:count])
        engine.workload = replace(engine.workload, table=engine.workload.table.rechunk())

    def _estimate(self, job: NewJob) -> float:
        """The walltime; else the largest that was seen so far, else an hour."""
        if job.walltime is not None and job.walltime > 0.0:
            self._limits.append(job.walltime)
            return job.walltime
        return max(self._limits, default=3600.0)

    def _write_row(self, job: NewJob) -> None:
        engine = self._engine
        table = engine.workload.table
        values: dict[str, Any] = {
            "job_id": job.job_id, "submit_time": job.submit_time, "run_time": 0.0, "cores": job.machines,
            "machines": job.machines, "walltime": job.walltime, "profile": job.profile, "line": len(table) + 1,
            **job.others,
        }  # fmt: skip
        row = pl.DataFrame({name: [values.get(name)] for name in table.columns}, schema=table.schema)
        table = table.vstack(row)
        if table.n_chunks() > _MOST_CHUNKS:
            table = table.rechunk()
        engine.workload = replace(engine.workload, table=table)
        engine.used[self.count - 1] = len(table) - 1
        engine._index_of_id = None

    def _make_room(self) -> None:
        """Twice the places; where the order of the queue is not that of arrival, one more."""
        engine = self._engine
        order = engine.ordered_by[0]
        more = max(self.count, _SPARE) if isinstance(order, Fcfs) and engine.state.order is None else 1
        waiting = engine.waiting_jobs()
        total = self.count + more
        used = np.concatenate((engine.used, np.zeros(more, engine.used.dtype)))
        engine._problem = replace(engine._problem, used=used)
        engine.state = _longer(engine.state, self.count, total)
        fill_queue(engine.core, waiting)

    def _give_slots(self) -> None:
        """The places in the queue where it is ordered by something else than arrival."""
        engine = self._engine
        order = engine.ordered_by[0]
        if isinstance(order, Fcfs):
            return
        waiting = engine.waiting_jobs()
        core = engine.core
        fixed_submit = core.jobs["submit"].copy()
        core.jobs["submit"][self._known : self.count] = self._submits
        rule, fixed = keys_of(engine, order)
        if engine.state.order is not None:
            engine.state = engine.state._replace(order=engine.state.order._replace(fixed=fixed))
        else:
            core.waiting[:], core.words[:] = 0, 0
            deal_fixed_slots(core, rule, fixed)
            fill_queue(core, waiting)
            _move_plans(engine.state)
        core.jobs["submit"][:] = fixed_submit

    def _add_shape(self, machines: int) -> int:
        engine = self._engine
        place = engine.place
        assert place is not None
        one = pl.DataFrame(
            {"line": [1], "cores": [machines], "machines": [machines]},
            schema=dict.fromkeys(("line", "cores", "machines"), pl.Int64),
        )
        asked = shapes_of(Workload(one), engine.platform)
        row = np.zeros(1, SHAPE)
        row["units"], row["distinct"], row["cores"] = machines, asked.distinct[0], asked.need[0, 0]
        row["plain"], row["failed"], row["refused"] = 1, -1, -1
        least = np.minimum(place.least, asked.need[0]) if len(place.shapes) else asked.need[0]
        place = place._replace(
            shapes=np.concatenate((place.shapes, row)), need=np.concatenate((place.need, asked.need)), least=least,
            licence_need=np.concatenate((place.licence_need, asked.licence_need)),
        )  # fmt: skip
        engine.state = engine.state._replace(place=place)
        return len(place.shapes) - 1

    def _give_work(self, at: int, job: NewJob) -> None:
        """What a job does once it runs."""
        engine = self._engine
        name = str(job.profile)
        part = {each: engine.workload.profiles[each] for each in reached(engine.workload.profiles, [name])}
        span = spans_of(part).get(name)
        if span is None:
            program = self.program_of(name, job.machines, self._contention)
            assert engine.state.fluid is not None
            engine.state.fluid.program_of[at] = program
            return
        limit = float(engine.core.jobs[at]["walltime"])
        is_cut = self._contention.strict and span.seconds >= limit
        engine.core.jobs[at]["run_time"] = np.inf if is_cut else span.seconds

    def _add_program(self, name: str, machines: int, contention: Contention) -> int:
        engine = self._engine
        network = engine.platform.network
        fluid = engine.state.fluid
        assert network is not None
        assert fluid is not None
        fluid, program, names = with_program(fluid, engine.workload.profiles, name, machines, network, contention)
        engine.state = grow(engine.state._replace(fluid=fluid))
        known = engine._problem.programs
        engine._problem = replace(engine._problem, programs=replace(known, names=(*known.names, *names)))
        return program


def _blank(array: Array, count: int, total: int, **values: float) -> Array:
    """An array with so many records in front, and blank ones behind."""
    longer = np.zeros((total, *array.shape[1:]), array.dtype)
    longer[:count] = array[:count]
    for name, value in values.items():
        longer[name][count:] = value
    return longer


def _longer(state: State, count: int, total: int) -> State:
    """Everything that has a record for each job, with blank ones behind."""
    core = state.core
    fate = _blank(core.fate, count, total, attempt=-1)
    fate["slot"][count:] = np.arange(count, total)
    core = core._replace(
        jobs=_blank(core.jobs, count, total, submit=np.inf, run_time=np.inf, walltime=np.inf), fate=fate,
        waiting=np.zeros(total, WAITING), words=np.zeros(word_count(total), WORD),
    )  # fmt: skip
    order, plan, guess, outage = state.order, state.plan, state.guess, state.outage
    if order is not None:
        user = order.user if len(order.user) < count else _blank(order.user, count, total)
        order = order._replace(
            fixed=_blank(order.fixed, count, total), user=user, ranked=np.zeros(total, np.int64),
            keys=np.zeros(total), other_ranked=np.zeros(total, np.int64), other_keys=np.zeros(total),
        )  # fmt: skip
    return state._replace(
        core=core, order=order,
        plan=None if plan is None else plan._replace(held=_blank(plan.held, count, total)),
        guess=None if guess is None
        else guess._replace(user=_blank(guess.user, count, total), known=_blank(guess.known, count, total)),
        outage=None if outage is None else outage._replace(losses=_blank(outage.losses, count, total)),
        fluid=None if state.fluid is None else _longer_fluid(state.fluid, count, total),
    )  # fmt: skip


def _longer_fluid(fluid: Fluid, count: int, total: int) -> Fluid:
    program_of, top, mail = (
        _blank(array, count, total) for array in (fluid.program_of, fluid.top, fluid.mail)
    )  # fmt: skip
    program_of[count:], top[count:], mail[count:] = -1, -1, -1
    mpi = fluid.mpi
    if mpi is not None:
        mpi = mpi._replace(mapped=_blank(mpi.mapped, count, total))
    return fluid._replace(
        program_of=program_of, top=top, mail=mail, codes=_blank(fluid.codes, count, total),
        seats=_blank(fluid.seats, count, total, first=-1), mpi=mpi,
    )  # fmt: skip


def _cut(state: State, count: int) -> State:
    """Without the records behind the last job."""
    core, fluid = state.core, state.fluid
    if fluid is not None:
        fluid = fluid._replace(
            program_of=fluid.program_of[:count], top=fluid.top[:count], mail=fluid.mail[:count],
            codes=fluid.codes[:count], seats=fluid.seats[:count],
        )  # fmt: skip
    return state._replace(core=core._replace(jobs=core.jobs[:count], fate=core.fate[:count]), fluid=fluid)


def _move_plans(state: State) -> None:
    """Plans have the slots that their jobs have now, those of one start by slot."""
    if state.plan is None:
        return
    used = state.plan.plans[: int(state.core.course[0]["plans"])]
    used["slot"] = state.core.fate["slot"][used["job"]]
    used[:] = used[np.lexsort((used["slot"], used["start"]))]
