"""A run that a scheduler elsewhere decides: it is told what happens, and what it answers is carried out.

All that happens at one instant is told in one message. An answer may lie in the future: the run goes on until then, and
what happens meanwhile is told afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from heapq import heappop, heappush
from time import perf_counter
from typing import Any, Protocol

from unspool.errors import RunError
from unspool.faces.batsim.protocol.begins import Terms, begins_text
from unspool.faces.batsim.protocol.book import Book, Entry
from unspool.faces.batsim.protocol.messages import Message, event_text, message_text, read_message
from unspool.faces.batsim.protocol.numbers import json_text, quoted
from unspool.faces.batsim.protocol.orders import Orders
from unspool.faces.batsim.protocol.partial import forget_running
from unspool.faces.batsim.protocol.power import Power
from unspool.model.network import Contention
from unspool.model.workload import Workload
from unspool.policies.base import OUTSIDE, Kill, Start
from unspool.policies.view import Job
from unspool.simulation.admission import Admission
from unspool.simulation.codes import COMPLETED, FAILED, KILLED, RUNNING, TIMED_OUT
from unspool.simulation.decisions import carry_out
from unspool.simulation.engine import Engine
from unspool.simulation.executors import progress_of, start_plainly
from unspool.simulation.loop import compile_for
from unspool.workloads.batsim_events import ExternalEvent
from unspool.workloads.intervals import format_intervals
from unspool.workloads.references import spans_of

__all__ = ["FIRST_S", "Conversation", "Line"]

_SHOWN = 5  # jobs that an error names
_PAUSE_S = 0.25
_MANY = 40  # running jobs, from which on it is quicker to look at all of them at once
_STATES = {
    COMPLETED: "COMPLETED_SUCCESSFULLY",
    FAILED: "COMPLETED_FAILED",
    TIMED_OUT: "COMPLETED_WALLTIME_REACHED",
    KILLED: "COMPLETED_KILLED",
}


FIRST_S = 1e-6
"""What a scheduler is told the time to be at 0, once it has been greeted."""


class Line(Protocol):
    """Where the scheduler is reached."""

    name: str

    def ask(self, text: str) -> bytes:
        """Say something and wait for the answer."""


@dataclass
class Conversation:
    """Drives a run. `fault` says afterwards why it broke off, `workload` has all jobs that took part, and `notes` say
    what else is to be known."""

    open_line: Callable[[ExitStack], Line]
    terms: Terms
    paths: Sequence[str]
    contention: Contention
    storages: Sequence[str] = ()  # labels that were mapped beforehand
    events: Sequence[ExternalEvent] = ()
    message_delay_s: float = 0.0
    power: Callable[[Engine], Power] | None = None
    fault: RunError | None = None
    workload: Workload | None = None
    timing: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def prepare(self, engine: Engine) -> None:
        """Compile what starts and ends jobs, before anybody waits for us: schedulers wait for two seconds."""
        if self.terms.enable_dynamic_jobs:
            Admission(engine, self.contention).prepare_for_work()
        _warm_up(engine.fork())

    def drive(self, engine: Engine, progress: Callable[[int, int], None] | None) -> None:
        """Talk to the scheduler until the run is over, or it fails."""
        with ExitStack() as stack:
            turn = _Turn(self, engine, self.open_line(stack), progress)
            try:
                turn.run()
            except RunError as error:
                self.fault = type(error)(turn.blamed(error))
                stack.pop_all().__exit__(type(error), error, error.__traceback__)
        turn.admission.settle()
        if self.fault is not None:
            forget_running(engine)
        self.workload = engine.workload
        if lost := turn.orders.lost:
            said = f"{len(lost)} orders of SET_RESOURCE_STATE" if len(lost) > 1 else "an order of SET_RESOURCE_STATE"
            self.notes = (f"{said} came to nothing, for the state only stands for switching: {lost[0]}",)
        self.timing = {"messages": turn.messages, "scheduler_s": turn.waited_s}


class _Turn:
    """One conversation in its course."""

    def __init__(
        self, terms: Conversation, engine: Engine, line: Line, progress: Callable[[int, int], None] | None
    ) -> None:
        self.given, self.engine, self.line, self.progress = terms, engine, line, progress
        self.terms = terms.terms
        self.book = Book(terms.paths, engine.workload)
        self.admission = Admission(engine, terms.contention)
        self.out: list[str] = []
        self.running: list[int] = []
        self.calls: list[float] = []
        self.switching: list[tuple[float, str, int]] = []  # machines that change their pstate: when it is done
        self.now = engine.now  # read once after each step, for many look at it
        self.told_now = 0.0  # what the scheduler takes the time to be
        self.heard_now = 0.0  # and what it last said that it is
        self._last_event = 0.0  # when the last event happened that is told
        self.messages = 0
        self.waited_s = 0.0
        self._static = len(engine.core.jobs)
        self._arrived = self._said = self._external = 0
        self._static_over = not terms.paths
        self._codes = {name: span.code for name, span in spans_of(engine.workload.profiles).items() if span.code}
        self._shown = perf_counter()
        self.orders = Orders(self, terms.contention, terms.storages)

    def blamed(self, error: RunError) -> str:
        """The sentence of an error, which names the scheduler."""
        text = str(error)
        return text if text.startswith(self.line.name) else f"{self.line.name}: {text}"

    def run(self) -> None:
        """From SIMULATION_BEGINS to SIMULATION_ENDS."""
        begins = event_text(0.0, "SIMULATION_BEGINS", begins_text(self.terms, self.engine.platform, self.book))
        answer = self._ask(0.0, [begins])
        for event in self.given.events:
            self.engine.wake_at(event.time)
        self._reach(0.0)
        self._obey(answer)
        while True:
            while not self.out:
                if not self._go_on():
                    self._refuse_unfinished()
                    self._end()
                    return
            if self.given.message_delay_s:
                self._reach(self.now + self.given.message_delay_s)
            told, self.out = self.out, []
            self._obey(self._ask(self.now, told))

    # Talking.

    def _ask(self, now: float, events: list[str]) -> Message:
        # Schedulers of pybatsim refuse to start anything at 0, to which Batsim's own messages never come; those of
        # batsched abort where the time is less than what they, or we, said last.
        now = max(now, FIRST_S, self.told_now, self.heard_now) if self.messages else now
        self.told_now = now
        began = perf_counter()
        answer = self.line.ask(message_text(now, events))
        ended = perf_counter()
        self.waited_s += ended - began
        self.messages += 1
        if self.progress is not None and ended - self._shown > _PAUSE_S:
            self._shown = ended
            self.progress(len(self.engine.attempts), self.admission.count)
        return read_message(answer, self.line.name)

    def _obey(self, answer: Message) -> None:
        """Carry out an answer: each event when its time has come, in the order in which they stand."""
        for event in answer.events:
            if event.timestamp > answer.now:
                raise RunError(
                    f"{event.type} at {event.timestamp:g} s: its timestamp is later than now of its message, "
                    f"{answer.now:g} s"
                )
            self._reach(event.timestamp)
            self.orders.carry_out(event)
        self._reach(answer.now)
        self.heard_now = answer.now
        if self.out and answer.events:
            self._settle()

    def _end(self) -> None:
        now = max(self.now, 0.0)
        self._ask(now, [event_text(now, "SIMULATION_ENDS")])

    def _refuse_unfinished(self) -> None:
        """Nothing is left to happen: complain of whoever still waits for something."""
        engine = self.engine
        engine._refuse_stuck()
        if engine.core.course[0]["queued"]:
            waiting = engine.waiting_jobs()
            raise RunError(f"nothing is left to happen, but {len(waiting)} jobs wait for ever: {self._few(waiting)}")
        if self.orders.by_hand:
            left = sorted(self.orders.by_hand)
            raise RunError(
                f"nothing is left to happen, but {len(left)} jobs that it set to RUNNING never end: {self._few(left)}"
            )
        if self.terms.enable_dynamic_jobs and not self.orders.is_registration_over:
            raise RunError(
                "nothing is left to happen, but it may still register jobs; it must say NOTIFY registration_finished"
            )

    def _few(self, jobs: list[int]) -> str:
        return ", ".join(self.book.entries[job].full for job in jobs[:_SHOWN]) + (", …" if len(jobs) > _SHOWN else "")

    # Time.

    def _go_on(self) -> bool:
        """To the next instant at which something happens; False if nothing does any more."""
        view = self.engine.advance()
        if view is None:
            self.now = self.engine.now
            return False
        self.now = view.now
        self._collect()
        return True

    def _reach(self, time: float) -> None:
        """Let time pass; what the scheduler took for now is now."""
        if time <= self.told_now and self.now >= 0.0:
            return
        if time > self.now:
            self.engine.wake_at(time)
            while self.now < time:
                self._go_on()

    def _settle(self) -> None:
        """Let everything happen that happens now."""
        self.engine.wake_at(self.now)
        self._go_on()

    # What is told.

    def _collect(self) -> None:
        """Write down what has happened at this instant."""
        now = self.now
        if self.engine.state.fluid is not None:
            self._collect_said()
        if self.running:
            self._collect_ended()
        while self._external < len(self.given.events) and self.given.events[self._external].time <= now:
            self._tell_external(self.given.events[self._external])
            self._external += 1
            if self._external == len(self.given.events):
                self.tell("NOTIFY", '{"type":"no_more_external_event_to_occur"}')
        if not self._static_over:
            self._collect_submitted()
        while self.switching and self.switching[0][0] <= now:
            _, machines, state = heappop(self.switching)
            self.tell("RESOURCE_STATE_CHANGED", json_text({"resources": machines, "state": str(state)}))
        while self.calls and self.calls[0] <= now:
            heappop(self.calls)
            self.tell("REQUESTED_CALL", "{}")

    def _collect_submitted(self) -> None:
        arrived = min(self.engine.state.core.course["next_arrival"].item(), self._static)
        for at in range(self._arrived, arrived):
            self.tell_submitted(self.book.entries[at])
        self._arrived = arrived
        if arrived == self._static:
            self._static_over = True
            self.tell("NOTIFY", '{"type":"no_more_static_job_to_submit"}')

    def _collect_said(self) -> None:
        fluid = self.engine.state.fluid
        assert fluid is not None
        if fluid.rule["said"].item() == self._said:
            return
        said = fluid.said[self._said : int(fluid.rule[0]["said"])]
        self._said += len(said)
        for row in said:
            message = self.engine.profile_of(int(row["program"])).message
            full = self.book.entries[int(row["job"])].full
            data = f'{{"job_id":{quoted(full)},"msg":{json_text(message)}}}'
            self._tell_at(float(row["time"]), "FROM_JOB_MSG", data)

    def _collect_ended(self) -> None:
        running, state = self.running, self.engine.state.core.fate["state"]
        states = [*map(state.item, running)] if len(running) < _MANY else state[running].tolist()
        if max(states) == RUNNING:
            return
        self.running = [job for job, state in zip(running, states, strict=True) if state == RUNNING]
        for job, state in zip(running, states, strict=True):
            if state > RUNNING:
                self.tell_completed(job)

    def tell_completed(self, job: int, killed: int = -1) -> None:
        """A job is over: how, and what it returned, which of one that was killed is said."""
        entry, fluid, core = self.book.entries[job], self.engine.state.fluid, self.engine.state.core
        # By column first: a field of a record takes NumPy ten times as long.
        at = core.fate["attempt"].item(job)
        how = core.attempts["how"].item(at)
        works = fluid is not None and fluid.program_of[job] >= 0
        code = int(fluid.codes[job]) if works and fluid is not None else self._codes.get(entry.profile, 0)
        if how == COMPLETED and code:
            how = FAILED
        elif how == TIMED_OUT:
            code = -1
        elif how == KILLED:
            code = killed
        data = (
            f'{{"job_id":{quoted(entry.full)},"job_state":"{_STATES[how]}","return_code":{code},'
            f'"alloc":"{self.orders.executing.allocated.get(job, "")}"}}'
        )
        self._tell_at(core.attempts["finish"].item(at), "JOB_COMPLETED", data)

    def tell_submitted(self, entry: Entry) -> None:
        """A job has been submitted."""
        profile = f',"profile":{entry.profile_text}' if self.terms.forward_profiles_on_submission else ""
        self.tell("JOB_SUBMITTED", f'{{"job_id":{quoted(entry.full)},"job":{entry.text}{profile}}}')

    def _tell_external(self, event: ExternalEvent) -> None:
        if event.is_of_machines:
            data: Any = {"type": f"event_{event.kind}", "resources": format_intervals(event.machines)}
        else:
            data = event.fields
        self.tell("NOTIFY", json_text(data))

    def tell(self, kind: str, data: str) -> None:
        """Something happens now."""
        self._tell_at(self.now, kind, data)

    def _tell_at(self, time: float, kind: str, data: str) -> None:
        """Something happened at this instant, whose parts may lie a hair's breadth apart: times never decrease."""
        self._last_event = min(max(time, self._last_event), max(self.now, 0.0))
        self.out.append(event_text(self._last_event, kind, data))

    def call_at(self, time: float) -> None:
        """The scheduler wants to be called."""
        heappush(self.calls, time)
        self.engine.wake_at(time)

    def tell_switched_at(self, time: float, machines: str, state: int) -> None:
        """Machines will have changed their pstate at a time, which may be now."""
        heappush(self.switching, (time, machines, state))
        self.engine.wake_at(max(time, self.now))

    def note_profile(self, name: str) -> None:
        """A profile was registered; what jobs return that have it must be known."""
        span = spans_of(self.engine.workload.profiles).get(name)
        self._codes.pop(name, None)
        if span is not None and span.code:
            self._codes[name] = span.code


def _warm_up(twin: Engine) -> None:
    """Start and end a job in a copy of a run."""
    compile_for(twin.state, OUTSIDE)
    twin.wake_at(0.0)
    while twin.now < 0.0 or not twin.core.course[0]["queued"]:
        if twin.advance() is None:
            return
    job = Job(twin, twin.waiting_jobs(0, 1)[0])
    machines = twin.room_for(job.index)
    if machines and twin.place is not None:
        carry_out(twin, Start(job, list(machines)))
        start_plainly(twin, job.index, ())  # compiled, it says no
        progress_of(twin, job.index)
        carry_out(twin, Kill(job))
    twin.advance()
