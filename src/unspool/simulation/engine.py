"""The engine as Python sees it: `advance()` to the next instant at which somebody must decide, `apply()` the decisions.

Built-in policies decide inside the compiled loop, on the same state and with the same rules: `run()` with one of them
returns to Python only to grow an array or to report progress.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isfinite, isnan
from time import perf_counter
from typing import Any, Protocol

import numpy as np
import polars as pl

from unspool.engine.copying import copied
from unspool.engine.jobs.events import DEFERRED, KIND_SHIFT, RECLAIM, STOP, UP, WAKE, push_event
from unspool.engine.jobs.queue import list_fresh, list_waiting
from unspool.engine.kernel.state import (
    DECIDE,
    DEFER,
    DONE,
    OUTAGES,
    PREDICT,
    ROOM,
    RUNNING,
    STALLED,
    UNTIL,
    Array,
    Core,
    Place,
    State,
)
from unspool.engine.network.network_build import refuse_endless
from unspool.engine.place.selection import pick
from unspool.engine.place.shapes import needs_of
from unspool.engine.programs.traces import deadlocks_of
from unspool.engine.setup import Problem, grow, pose
from unspool.errors import DecisionError, InputError, RunError
from unspool.model.network import Contention
from unspool.model.outages import OnLoss, Outage, Outages
from unspool.model.platform import Platform
from unspool.model.power import HostPower
from unspool.model.workload import Workload, rejected_table
from unspool.policies.base import CHEAPEST_FIT, OUTSIDE, BindingScheduler, CompiledScheduler, Decision, Scheduler
from unspool.policies.orders import Fcfs as FcfsOrder
from unspool.policies.orders import QueueOrder
from unspool.policies.view import Job, View
from unspool.simulation.decisions import carry_out
from unspool.simulation.futures import Future, give_future
from unspool.simulation.instants import MOST_ROUNDS
from unspool.simulation.loop import compile_for, decide_once, provide_once, run_binding, run_on
from unspool.simulation.outage_schedule import Weather
from unspool.simulation.policy_state import adopt
from unspool.simulation.prediction import Tutor
from unspool.simulation.switching import Switchboard
from unspool.units import counted

__all__ = ["Driver", "Engine", "Policy"]


class Driver(Protocol):
    """Somebody who drives a run, instead of being asked at each instant: a program that is talked to elsewhere."""

    def prepare(self, engine: Engine) -> None:
        """Compile what the run needs."""

    def drive(self, engine: Engine, progress: Callable[[int, int], None] | None) -> None:
        """Take the run to its end; who waits or runs then is the driver's business."""


Policy = Scheduler | Callable[[View], Iterable[Decision] | None] | Driver

_SHOWN = 5  # ids that an error names
_PAUSE_S = 0.25  # how often a compiled run comes up for air
_NO_PAUSE = 1 << 62
_MOST_IDLE_ROUNDS = 1000  # in which machines come and go, and the policy starts nobody
_NOTHING = np.empty(0, np.int64)


class Engine:
    """One run of a workload on a platform.

    >>> import polars as pl
    >>> from unspool.model.platform import Platform
    >>> from unspool.model.workload import Workload
    >>> from unspool.policies.base import Start
    >>> jobs = pl.DataFrame({"job_id": ["a", "b"], "submit_time": [0, 1], "run_time": [9, 5], "cores": [3, 2]})
    >>> engine = Engine(Workload.of(jobs), Platform.pool(4))
    >>> while view := engine.advance():
    ...     engine.apply([Start(job) for job in view.queue if view.fits(job)])
    >>> engine.attempts["start"].tolist()
    [0.0, 9.0]
    """

    def __init__(
        self,
        workload: Workload,
        platform: Platform,
        *,
        seed: int = 0,
        kill_at_walltime: bool = False,
        outages: Outages | None = None,
        on_loss: OnLoss | None = None,
        contention: Contention | None = None,
        message_delay_s: float = 0.0,
        energy: bool = False,
        keeps_all: bool = False,
    ) -> None:
        self.workload = workload
        self.platform = platform
        self.seed = seed
        self.clairvoyant = False
        self.annotations: dict[str, list[str]] = {}
        self._problem: Problem = pose(
            workload, platform, seed=seed, kill_at_walltime=kill_at_walltime, contention=contention,
            keeps_all=keeps_all,
        )  # fmt: skip
        self.state: State = self._problem.state
        self._turned_away: list[tuple[int | None, str | None, str]] = []
        self._pending: dict[int, list[Decision]] = {}
        self._ready_at = float("-inf")
        self._message_delay_s = message_delay_s
        self._is_told = message_delay_s == 0.0  # whether word of what happened has reached the policy
        self._missed = False  # something happened before the policy was ready, and it is to be called when it is
        self.ordered_by: tuple[QueueOrder, bool] = (FcfsOrder(), True)  # how slots were dealt; True: by known estimates
        self._weather = Weather(self, outages, on_loss or OnLoss())
        self.power = Switchboard(self) if energy else None
        self._last_policy: CompiledScheduler | None = None  # who decided last; what a built-in remembers is its own
        self._predictor = Tutor()
        self._left_to_built_in = False
        self._reserved_events = len(self.core.events)
        self._seen_attempts = self._seen_said = self._seen_switched = 0
        self._seen_running: Array = _NOTHING
        self._index_of_id: dict[str, int] | None = None

    # What a run is made of.

    @property
    def core(self) -> Core:
        """Clock, jobs, queue, running jobs and attempts."""
        return self.state.core

    @property
    def place(self) -> Place | None:
        """Machines and what is free on them; None on a pool."""
        return self.state.place

    @property
    def used(self) -> Array:
        """For each job of the run its position in the workload."""
        return self._problem.used

    @property
    def now(self) -> float:
        """The clock, in seconds."""
        return float(self.core.course[0]["now"])

    @property
    def attempts(self) -> Array:
        """What was started so far, in order."""
        return self.core.attempts[: int(self.core.course[0]["attempts"])]

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done to the workload so that it could run here, and what is odd about the traces that it replays."""
        odd = [f"job {self.id_of(job)}: {text}" for job, text in self._deadlocks()]
        fluid = self.state.fluid
        if fluid is not None and fluid.mpi is not None and fluid.mpi.rule[0]["unread"] > 0:
            odd.append(f"{int(fluid.mpi.rule[0]['unread']):,} messages of SMPI traces were sent and never received")
        return (*self._problem.notes, *odd)

    @property
    def without_estimate(self) -> int:
        """How many jobs had no walltime and were given an estimate."""
        return self._problem.without_estimate

    @property
    def outages(self) -> list[Outage]:
        """The outages that are known so far, by time; some may be still to come."""
        return self._weather.outages

    @property
    def rejected(self) -> pl.DataFrame:
        """Jobs that could not run or were turned away, with the reason."""
        return pl.concat([self._problem.rejected, rejected_table([*self._turned_away, *self._never_eligible()])])

    # The two calls.

    def advance(self) -> View | None:
        """Run to the next instant at which somebody must decide; None when nothing is left to happen."""
        while True:
            status = self._run_on(OUTSIDE)
            if status in (DONE, UNTIL):
                return None
            if status != DECIDE:
                self._serve(status)
            elif self.now >= self._ready_at and self._is_told:
                self._is_told = self._message_delay_s == 0.0
                return View(self)
            elif self.now >= self._ready_at:
                self._is_told = self._missed = True
                self._ready_at = self.now + self._message_delay_s
                self.wake_at(self._ready_at)
            elif not self._missed:
                self._missed = True
                self.wake_at(self._ready_at)

    def apply(self, decisions: Iterable[Decision] | None, ready_at: float | None = None) -> None:
        """Carry decisions out in their order. One with a later `at` waits for it, and those after it wait with it.

        `advance()` does not return before `ready_at`; what happens meanwhile stands in the next view, which comes at
        `ready_at` if anything did.
        """
        try:
            listed = list(decisions or ())  # a generator looks at its view only now
        except TypeError as error:
            raise DecisionError(f"{decisions!r} is no list of decisions") from error
        self._take_note_of_seen()
        if listed or not self._left_to_built_in:
            self._last_policy = None
        self._left_to_built_in = False
        self._carry_out(listed)
        if self.state.elastic is not None:
            provide_once(self.state)
        if ready_at is not None and not isfinite(ready_at):
            raise DecisionError(f"ready_at is {ready_at}; expected a time in seconds")
        if ready_at is not None and ready_at > self.now:
            self._ready_at = ready_at
            self._missed = False

    def decide(self, policy: CompiledScheduler) -> None:
        """Let a built-in policy decide the present instant."""
        if isinstance(policy, BindingScheduler):
            raise RunError(f"{policy.title} binds jobs to machines from their start on: it decides whole runs only")
        self._adopt(policy)
        self._left_to_built_in = True
        self.grow()
        decide_once(self.state, policy.code)

    def compile(self, policy: Policy) -> None:
        """Compile, or load from disk, what a run under this policy needs; `run` does so too, on its way."""
        code = OUTSIDE
        if prepare := getattr(policy, "prepare", None):
            prepare(self)
            return
        if isinstance(policy, CompiledScheduler):
            self._adopt(policy)
            code = policy.code
        compile_for(self.state, code)

    def run(
        self, policy: Policy, progress: Callable[[int, int], None] | None = None, until: float = float("inf")
    ) -> None:
        """Run under a policy to the end, or until all is done that happens up to a time; another `run` goes on.

        `progress` is called now and then with (jobs started, jobs in all).
        """
        if drive := getattr(policy, "drive", None):
            drive(self, progress)
            return
        course = self.core.course[0]
        course["until"] = until
        if isinstance(policy, CompiledScheduler) and self._message_delay_s == 0.0:
            self._run_compiled(policy, progress)
        else:
            self._run_outside(policy, progress)
        course["until"] = float("inf")
        left = int(course["queued"])
        if left and until == float("inf"):
            shown = ", ".join(self.id_of(job) for job in self.waiting_jobs(0, _SHOWN)) + (
                ", …" if left > _SHOWN else ""
            )
            raise RunError(f"nothing is left to happen, but the policy let {counted(left)} wait for ever: {shown}")
        if until == float("inf"):
            self._refuse_stuck()

    def _refuse_stuck(self) -> None:
        """Complain of jobs that began something that cannot end."""
        fluid = self.state.fluid
        if fluid is None:
            return
        for job, text in self._deadlocks():
            self.annotations.setdefault(self.id_of(job), []).append(text)
        if fluid.rule[0]["stuck"] >= 0:
            raise InputError(self._told_of_no_route(int(fluid.rule[0]["stuck"])))
        running = np.flatnonzero(self.attempts["how"] == RUNNING)
        if len(running):
            shown = ", ".join(self.id_of(int(job)) for job in self.attempts["job"][running[:_SHOWN]])
            more = ", …" if len(running) > _SHOWN else ""
            run = "runs" if len(running) == 1 else "run"
            raise RunError(f"nothing is left to happen, but {counted(len(running))} {run} for ever: {shown}{more}")

    def _why_stalled(self) -> str:
        """What the first job in the queue waits for, where decisions at one instant change nothing without end."""
        told = f"No progress at {self.now:g} s: {MOST_ROUNDS:,} rounds of decisions at this instant started no job."
        waiting = self.waiting_jobs(0, 1)
        if not waiting:
            return f"{told} No job waits."
        job = self.core.jobs[waiting[0]]
        needs = needs_of(int(job["size"]), int(job["shape"]), self.place, self.platform)
        told += f" Job '{self.id_of(waiting[0])}', the first in the queue, waits for {needs}"
        if self.state.elastic is None:
            return f"{told}."
        own = int(self.state.elastic.lots[waiting[0]]["own"])
        return f"{told}; {counted(own, 'instance')} started for it {'is' if own == 1 else 'are'} there."

    def _deadlocks(self) -> Iterator[tuple[int, str]]:
        """Jobs whose ranks wait for one another for ever, and a sentence of each."""
        fluid = self.state.fluid
        if fluid is None or fluid.mpi is None:
            return iter(())
        return deadlocks_of(fluid.mpi, self._problem.programs.traces)

    def _told_of_no_route(self, job: int) -> str:
        network, place = self.platform.network, self.place
        assert network is not None
        assert place is not None
        attempt = self.core.attempts[int(self.core.fate[job]["attempt"])]
        rows = place.rows[int(attempt["first_row"]) : int(attempt["first_row"]) + int(attempt["row_count"])]
        used = [machine for row in rows for machine in range(int(row["first"]), int(row["last"]) + 1)]
        used += [at for at, host in enumerate(network.hosts) if host.role == "storage"]
        pair = next(((one, other) for one in used for other in used if network.route(one, other) is None), None)
        which = "between two of the hosts that it uses"
        if pair is not None:
            which = f"from '{network.hosts[pair[0]].name}' to '{network.hosts[pair[1]].name}'"
        return (
            f"job {self.id_of(job)}: {self.platform.name} has no route {which}; give it one, or let bytes without a "
            "route take no time (--missing-routes free)"
        )

    # Other futures.

    def fork(self) -> Engine:
        """A run of its own that begins where this one is; what happened so far is copied, the jobs are shared."""
        twin = copy.copy(self)
        twin.state = copied(self.state)
        twin.annotations = {job: list(texts) for job, texts in self.annotations.items()}
        twin._turned_away = list(self._turned_away)
        twin._pending = {token: list(decisions) for token, decisions in self._pending.items()}
        twin._seen_running = self._seen_running.copy()
        twin._predictor = self._predictor.fork()
        twin._weather = copy.copy(self._weather)
        twin.power = None if self.power is None else self.power.fork()
        return twin

    def fork_with(self, policy: Policy) -> tuple[Engine, Policy]:
        """A fork, and a copy of the policy for it: by its `copy()` where it has one, else a deep copy.

        Jobs that a deep copy holds are those of the fork.
        """
        twin = self.fork()
        own_copy = getattr(policy, "copy", None)
        return twin, own_copy() if callable(own_copy) else copy.deepcopy(policy, {id(self): twin})

    def with_future(self, policy: Policy, future: Future) -> tuple[Engine, Policy]:
        """A fork, and a copy of the policy for it, for which another future was drawn: run times, and who arrives."""
        # What a built-in remembers is in the state, and it is known again by being the same.
        twin, own_copy = (self.fork(), policy) if isinstance(policy, CompiledScheduler) else self.fork_with(policy)
        give_future(twin, self.ordered_by[0], future)
        return twin, own_copy

    def snapshot(self) -> Engine:
        """What `restore` goes back to; it is a fork, and can be restored as often as wanted."""
        return self.fork()

    def restore(self, snapshot: Engine) -> None:
        """Go back to a snapshot of this run."""
        if snapshot._problem is not self._problem:
            raise RunError("a snapshot can be restored only in the run that it was taken of, or in a fork of it")
        self.__dict__.update(snapshot.fork().__dict__)

    # What a view asks.

    def waiting_jobs(self, first: int = 0, most: int | None = None) -> list[int]:
        """Waiting jobs in queue order, from a slot on, all of them or so many at the most."""
        queued = int(self.core.course[0]["queued"])
        found = np.empty(queued if most is None else min(queued, most), np.int64)
        count = list_waiting(self.core, max(first, int(self.core.course[0]["first"])), found) if len(found) else 0
        jobs: list[int] = found[:count].tolist()
        return jobs

    def running_jobs(self) -> list[int]:
        """Running jobs, by the time at which they are taken to end."""
        count = int(self.core.course[0]["running"])
        jobs: list[int] = self.core.running["job"][:count][::-1].tolist()
        return jobs

    def arrived_jobs(self) -> list[int]:
        """Jobs that joined the queue since decisions were last applied."""
        found = np.empty(int(self.core.course[0]["queued"]), np.int64)
        jobs: list[int] = found[: list_fresh(self.core, found, False)].tolist()
        return jobs

    def ended_jobs(self) -> list[int]:
        """Jobs that ended since decisions were last applied."""
        candidates = sorted(self._seen_running.tolist(), key=lambda job: int(self.core.fate[job]["attempt"]))
        candidates += self.attempts["job"][self._seen_attempts :].tolist()
        return [job for job in candidates if self.core.fate[job]["state"] > RUNNING]

    def messages(self) -> list[tuple[float, int, Mapping[str, Any]]]:
        """What jobs said since decisions were last applied: when, who, what."""
        fluid = self.state.fluid
        if fluid is None:
            return []
        said = fluid.said[self._seen_said : int(fluid.rule[0]["said"])]
        return [(float(row["time"]), int(row["job"]), self.profile_of(row["program"]).message) for row in said]

    def switched(self) -> list[tuple[float, tuple[int, ...], int]]:
        """Orders to switch machines that were done since decisions were last applied: when, which machines, where."""
        return [] if self.power is None else self.power.arrived[self._seen_switched :]

    def pstate(self, machine: int) -> tuple[int, str]:
        """The state of a machine, and whether it is awake, asleep or switching."""
        if self.power is None:
            raise DecisionError("machines have states only where energy is asked for (--energy)")
        how = (
            "switching" if self.power.is_switching(machine) else "asleep" if self.power.is_asleep(machine) else "awake"
        )
        return self.power.pstates[machine], how

    def machines_that_are(self, activity: str) -> list[int]:
        """Machines that are idle (awake and without jobs), asleep or switching."""
        if self.power is None:
            raise DecisionError("machines have states only where energy is asked for (--energy)")
        return self.power.machines(self, activity)

    def host_powers(self) -> Sequence[HostPower]:
        """What each machine draws in each of its states."""
        if self.power is None:
            raise DecisionError("machines have watts only where energy is asked for (--energy)")
        return self.power.powers

    def energy(self) -> float:
        """Joules of all machines from 0 until now."""
        if self.power is None:
            raise DecisionError("energy is known only where it is asked for (--energy)")
        return self.power.energy(self)

    def profile_of(self, program: int) -> Any:
        """The profile that a program was made of."""
        return self.workload.profiles[self.name_of_program(program)]

    def name_of_program(self, program: int) -> str:
        """The name of that profile."""
        return self._problem.programs.names[program]

    def room_for(self, job: int) -> dict[int, int] | None:
        """Machines and units that the platform's selection gives a job now, or None where there is no room."""
        if self.place is None:
            return {} if self.core.jobs[job]["size"] <= self.core.course[0]["free"] else None
        if not pick(self.core, self.place, job):
            return None
        rows = self.place.picked[: int(self.core.course[0]["picked"])]
        return {m: int(row["units"]) for row in rows for m in range(int(row["first"]), int(row["last"]) + 1)}

    # The two drives.

    def _run_compiled(self, policy: CompiledScheduler, progress: Callable[[int, int], None] | None) -> None:
        self._adopt(policy)
        course = self.core.course[0]
        total = len(self.core.jobs)
        step = 1000
        while True:
            before, began = int(course["attempts"]), perf_counter()
            course["pause_at"] = before + step
            status = self._run_on(policy.code)
            if status in (DONE, UNTIL):
                break
            self._serve(status)
            if status in (PREDICT, OUTAGES):
                continue
            done = int(course["attempts"])
            if progress is not None:
                progress(done, total)
            rate = max(done - before, 1) / max(perf_counter() - began, 1e-6)
            step = max(100, int(rate * _PAUSE_S))
        course["pause_at"] = _NO_PAUSE
        if progress is not None:
            progress(int(course["attempts"]), total)

    def _run_on(self, policy: int) -> int:
        if self.state.elastic is None:
            return run_on(self.state, policy)
        with np.errstate(over="ignore"):  # draws of reclaims wrap around, which NumPy tells where nothing is compiled
            return run_binding(self.state) if policy == CHEAPEST_FIT else run_on(self.state, policy)

    def _adopt(self, policy: CompiledScheduler) -> None:
        """Make the state ready for a policy, unless it was the last one to decide."""
        if policy != self._last_policy:
            self._forget_rounds()
            self.state = adopt(self, policy)
            self._predictor.follow(self, policy)
            self._last_policy = policy

    def _serve(self, status: int) -> None:
        """Do what compiled code came back for."""
        if status == ROOM:
            self.grow()
        elif status == DEFER:
            self._carry_out_deferred()
        elif status == OUTAGES:
            self._weather.look_ahead(self)
        elif status == STALLED:
            if self.state.fluid is not None:
                refuse_endless(self.state.fluid.sharing)
            raise RunError(self._why_stalled())
        elif status == PREDICT:
            self._predictor.predict(self, int(self.core.course[0]["deferred"]))

    def _run_outside(self, policy: Policy, progress: Callable[[int, int], None] | None) -> None:
        decide: Any = policy.decide if isinstance(policy, Scheduler) else policy
        self.clairvoyant = bool(getattr(policy, "clairvoyant", False))
        total = len(self.core.jobs)
        told = perf_counter()
        idle_rounds = 0
        while view := self.advance():
            self.apply(decide(view))
            idle_rounds = idle_rounds + 1 if self._only_machines_come_and_go() else 0
            if idle_rounds == _MOST_IDLE_ROUNDS:
                break
            if progress is not None and perf_counter() - told > _PAUSE_S:
                told = perf_counter()
                progress(int(self.core.course[0]["attempts"]), total)

    def _only_machines_come_and_go(self) -> bool:
        """Whether jobs wait and nothing is to happen but to machines that start for them, and stop unused."""
        course = self.core.course[0]
        is_over = course["running"] == 0 and course["next_arrival"] == len(self.core.jobs) and course["queued"] > 0
        if self.state.elastic is None or not is_over:
            return False
        kinds = self.core.events["order"][: int(course["events"])] >> KIND_SHIFT
        return bool(np.isin(kinds, (UP, STOP, RECLAIM)).all())

    # Carrying decisions out.

    def _carry_out_deferred(self) -> None:
        token = int(self.core.course[0]["deferred"])
        self.grow()
        self._carry_out(self._pending.pop(token))

    def _carry_out(self, decisions: list[Decision]) -> None:
        for at, decision in enumerate(decisions):
            later = getattr(decision, "at", None)
            if later is not None and (not isinstance(later, int | float) or isnan(later)):
                raise DecisionError(f"{decision!r}: `at` is a time in seconds")
            if later is not None and later > self.now:
                self.defer(later, decisions[at:])
                return
            carry_out(self, decision)

    def defer(self, time: float, decisions: list[Decision]) -> None:
        """Carry decisions out at a later time."""
        token = max(self._pending, default=0) + 1
        self._pending[token] = decisions
        self.push(time, DEFERRED, token)

    def grow(self) -> None:
        """Make room in every array that a step may fill up."""
        self.state = grow(self.state)

    def wake_at(self, time: float) -> None:
        """Have whoever decides asked at a time, whatever happens."""
        self.push(time, WAKE, 0)

    def push(self, time: float, kind: int, subject: int) -> None:
        """Put an event on the heap, and leave the room that compiled code counts on."""
        least = int(self.core.course[0]["events"]) + 1 + self._reserved_events
        if least > len(self.core.events):
            events = np.zeros(2 * least, self.core.events.dtype)
            events[: len(self.core.events)] = self.core.events
            self.state = self.state._replace(core=self.core._replace(events=events))
        push_event(self.core.course, self.core.events, time, kind, subject)

    def turn_away(self, job: int, reason: str) -> None:
        """Remember why a job was rejected."""
        self._turned_away.append((self._line(job), self.id_of(job), reason))

    # Who is who.

    def index_of(self, named: Job | str, decision: str) -> int:
        """The position in this run of a job that a decision names."""
        if isinstance(named, Job):
            return named.index
        if self._index_of_id is None:
            ids = self.workload.table["job_id"].gather(pl.Series(self.used))
            self._index_of_id = {job_id: at for at, job_id in enumerate(ids)}
        if named not in self._index_of_id:
            raise DecisionError(f"{decision}: no such job takes part in this run")
        return self._index_of_id[named]

    def id_of(self, job: int) -> str:
        """The name of a job in the log."""
        return str(self.workload.table["job_id"][int(self.used[job])])

    def _line(self, job: int) -> int:
        return int(self.workload.table["line"][int(self.used[job])])

    def _take_note_of_seen(self) -> None:
        count = int(self.core.course[0]["running"])
        self._seen_running = self.core.running["job"][:count].copy()
        self._seen_attempts = int(self.core.course[0]["attempts"])
        self._seen_switched = 0 if self.power is None else len(self.power.arrived)
        self._seen_said = 0 if self.state.fluid is None else int(self.state.fluid.rule[0]["said"])
        list_fresh(self.core, _NOTHING, True)

    def make_room(self) -> None:
        """Make room for one more start."""
        core, place = self.state.core, self.state.place
        course = core.course[0]
        if (
            course["attempts"] == len(core.attempts)
            or course["events"] == len(core.events)
            or course["running"] == len(core.running)
            or (place is not None and course["rows"] + len(place.picked) > len(place.rows))
        ):
            self.grow()

    def _forget_rounds(self) -> None:
        """Somebody else decided in between: what a policy remembers of earlier rounds no longer holds."""
        course = self.core.course[0]
        course["planning"] = course["plans"] = course["plan_ends"] = 0
        course["freed_until"] = 0.0
        course["fresh"] = course["first"]
        self.core.fate["planned_end"][self.waiting_jobs()] = 0.0

    def _never_eligible(self) -> list[tuple[int | None, str | None, str]]:
        links = self.state.links
        if links is None or self.core.course[0]["events"] or self.core.course[0]["queued"]:
            return []
        if self.core.course[0]["next_arrival"] < len(self.core.jobs):
            return []
        stuck = np.flatnonzero(links.open > 0)
        reason = "depends on jobs that wait for one another or for themselves"
        return [(self._line(job), self.id_of(job), reason) for job in stuck.tolist()]
