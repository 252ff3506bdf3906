"""What a scheduler orders, carried out: each event is checked when its time has come, and a violation names it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from unspool.engine.journal import begin_attempt, end_attempt
from unspool.engine.starts import start_on_each
from unspool.engine.state import COMPLETED, FAILED, KILLED, LOST, QUEUED, REJECTED, RUNNING, TIMED_OUT
from unspool.errors import DecisionError, InputError, shown
from unspool.faces.batsim.protocol.book import Entry, split_id
from unspool.faces.batsim.protocol.messages import Event
from unspool.faces.batsim.protocol.numbers import json_text
from unspool.faces.batsim.protocol.registering import Registering
from unspool.faces.batsim.protocol.storing import Storing
from unspool.model.network import Contention
from unspool.model.profile import Profile, Receive, Send
from unspool.model.profile import Sequence as Composed
from unspool.policies.base import Kill, Reject, Start, Tell
from unspool.policies.view import Job
from unspool.simulation.decisions import carry_out
from unspool.simulation.executors import may_differ, progress_of
from unspool.workloads.intervals import format_intervals, parse_intervals

if TYPE_CHECKING:
    from unspool.faces.batsim.protocol.driver import _Turn

__all__ = ["Orders", "Power"]

_STATES = {
    QUEUED: "waits", RUNNING: "runs", COMPLETED: "has ended", TIMED_OUT: "has reached its walltime",
    KILLED: "has been killed", FAILED: "has failed", REJECTED: "has been rejected", LOST: "has been lost",
}  # fmt: skip
_ENDINGS = {
    "COMPLETED_SUCCESSFULLY": COMPLETED,
    "COMPLETED_FAILED": FAILED,
    "COMPLETED_WALLTIME_REACHED": TIMED_OUT,
    "COMPLETED_KILLED": KILLED,
}
_REASON = "rejected by the scheduler"
_NO_ENERGY = "the energy of machines is not modelled in this run (-E); expected no orders and questions about it"


class Power(Protocol):
    """The pstates of machines and the energy that they use, as far as a scheduler has to do with them."""

    def switch(self, machines: Sequence[int], pstate: int) -> float | None:
        """Begin to switch machines, and say when all of them are done; None where the order is lost."""

    def refusal(self, machine: int) -> str | None:
        """Why a machine takes no job now, as in `sleeps`; None where it does."""

    def consumed_j(self) -> float:
        """The joules of all machines, from the beginning until now."""


class Orders:
    """Carries out events, one after the other."""

    def __init__(self, turn: _Turn, contention: Contention, storages: Sequence[str]) -> None:
        self.turn, self.engine, self.book = turn, turn.engine, turn.book
        self.registering = Registering(turn)
        self.storing = Storing(turn, contention, storages)
        self.power = None if turn.given.power is None else turn.given.power(turn.engine)
        self.allocated: dict[int, str] = {}
        self.by_hand: set[int] = set()  # jobs that the scheduler itself says the states of
        self.killed: set[str] = set()
        self.is_registration_over = False

    def carry_out(self, event: Event) -> None:
        """Do what an event says; it is the present instant's."""
        order = _ORDERS.get(event.type)
        if order is None:
            raise DecisionError(
                f"{shown(event.type)} is no event of a scheduler; expected one of {', '.join(sorted(_ORDERS))}"
            )
        try:
            order(self, event.data)
        except (InputError, DecisionError) as error:
            text = str(error)
            at = f"{event.type} at {max(self.engine.now, 0.0):g} s"
            raise DecisionError(text if text.startswith(event.type) else f"{at}: {text}") from error

    # Jobs.

    def execute(self, data: Mapping[str, Any]) -> None:
        """Start a job on machines."""
        entry = self._job(data, QUEUED)
        text = data.get("alloc")
        machines = _machines(text) if isinstance(text, str) else ()
        if not machines:
            raise DecisionError(f"job {entry.full}: alloc is {_told(data, 'alloc')}; expected machines such as 0-3 7")
        self._refuse_machines(entry, machines)
        for machine in machines if self.power is not None else ():
            if (why := self.power.refusal(machine)) is not None:  # type: ignore[union-attr]
                raise DecisionError(f"job {entry.full}: machine {machine} {why}")
        mapping = None if data.get("mapping") is None else _mapping(data["mapping"], len(machines))
        self.storing.resolve(entry, data.get("storage_mapping"))
        if data.get("additional_io_job") is not None:
            raise DecisionError(
                f"job {entry.full}: additional_io_job is not supported; let the job's own profile read and write"
            )
        mapping = self._fitted(entry, machines, mapping)
        self._start(entry, machines, mapping)
        self.allocated[entry.at] = str(machines[0]) if len(machines) == 1 else format_intervals(machines)
        self.turn.running.append(entry.at)

    def _start(self, entry: Entry, machines: Sequence[int], mapping: list[int] | None) -> None:
        engine = self.engine
        if mapping is None and engine.place is not None:
            engine.make_room()
            if start_on_each(engine.core, engine.place, entry.at, np.array(machines)):
                return
        try:
            carry_out(engine, Start(Job(engine, entry.at), machines, mapping))
        except DecisionError as error:
            raise DecisionError(self._why_not(entry, machines) or str(error)) from error

    def _refuse_machines(self, entry: Entry, machines: Sequence[int]) -> None:
        count = self.engine.platform.machine_count
        if machines[-1] >= count:
            what = f"machine {machines[-1]} runs no jobs" if self.storing.is_storage(machines[-1]) else (
                f"there is no machine {machines[-1]}"
            )  # fmt: skip
            raise DecisionError(f"job {entry.full}: {what}; those that do are 0 to {count - 1}")

    def _fitted(self, entry: Entry, machines: Sequence[int], mapping: list[int] | None) -> list[int] | None:
        """The mapping, unless the job does nothing that has executors; sizes must be what the job asks for."""
        engine, job = self.engine, entry.at
        assert engine.place is not None
        asked = int(engine.place.shapes[engine.core.jobs[job]["shape"]]["units"])
        fluid = engine.state.fluid
        if may_differ(engine, job, Start(Job(engine, job), machines)):
            return mapping
        given = len(machines) if mapping is None else len(mapping)
        if given != asked:
            what = "machines are given" if mapping is None else "executors are mapped"
            raise DecisionError(f"job {entry.full}: {given} {what}, and it asks for {asked}")
        if fluid is not None and fluid.program_of[job] >= 0:
            return mapping
        if len(machines) != asked:  # what only waits takes no longer on fewer machines
            shape = self.turn.admission.shape_of(len(machines))
            engine.core.jobs[job]["shape"], engine.core.jobs[job]["size"] = shape, len(machines)
        return None

    def _why_not(self, entry: Entry, machines: Sequence[int]) -> str | None:
        """Which of the machines is not to be had, and whose it is."""
        assert self.engine.place is not None
        outage = self.engine.state.outage
        for machine in machines:
            if outage is not None and outage.down[machine] > 0:
                return f"job {entry.full}: machine {machine} is unavailable"
            on_it = [
                self.book.entries[job].full
                for job in self.turn.running
                if job in self.allocated and machine in parse_intervals(self.allocated[job])
            ]
            if on_it and not self.turn.terms.shares_machines:
                return f"job {entry.full}: machine {machine} is busy with {', '.join(on_it)}"
        return None

    def reject(self, data: Mapping[str, Any]) -> None:
        """Turn a job away."""
        entry = self._job(data, QUEUED)
        carry_out(self.engine, Reject(Job(self.engine, entry.at), _REASON))

    def kill(self, data: Mapping[str, Any]) -> None:
        """End jobs, and say how far they were."""
        ids = data.get("job_ids")
        if not isinstance(ids, list) or not ids:
            raise DecisionError(f"job_ids is {_told(data, 'job_ids')}; expected a list of jobs")
        if all(full in self.killed for full in ids):
            return
        progress: dict[str, Any] = {}
        for full in ids:
            entry = self.book.find(full, "job_ids")
            state = int(self.engine.core.fate[entry.at]["state"])
            if state <= QUEUED:
                raise DecisionError(f"job {entry.full} cannot be killed: it has not been started")
            if state == RUNNING and entry.at not in self.by_hand:
                far = progress_of(self.engine, entry.at) or _at_start(self.engine.workload.profiles, entry.profile)
                if far is not None and not self._is_talking(far):
                    progress[entry.full] = self._named(far)
                carry_out(self.engine, Kill(Job(self.engine, entry.at)))
                self.turn.running.remove(entry.at)
                self.turn.tell_completed(entry.at)
                self.killed.add(entry.full)
        self.turn.tell("JOB_KILLED", json_text({"job_ids": ids, "job_progress": progress}))

    def _is_talking(self, far: dict[str, Any]) -> bool:
        """Whether a job was cut in a message, of which nobody says how far it is."""
        while "current_task" in far:
            far = far["current_task"]
        return isinstance(self.engine.workload.profiles[far["profile_name"]], Send | Receive)

    def _named(self, far: dict[str, Any]) -> dict[str, Any]:
        """Progress with the names that profiles have in their workload."""
        inner = far.get("current_task")
        named = {**far, "profile_name": far["profile_name"].rpartition("!")[2]}
        return {**named, "current_task": self._named(inner)} if inner is not None else named

    def change_state(self, data: Mapping[str, Any]) -> None:
        """The scheduler says of a job what becomes of it; no machine has to do with it."""
        state = data.get("job_state")
        core = self.engine.core
        if state == "REJECTED":
            self.reject(data)
        elif state == "RUNNING":
            entry = self._job(data, QUEUED)
            self.engine.make_room()
            core = self.engine.core
            core.jobs[entry.at]["run_time"] = core.jobs[entry.at]["walltime"] = float("inf")
            if self.engine.state.fluid is not None:
                self.engine.state.fluid.program_of[entry.at] = -1
            core.clock[0]["free"] -= core.jobs[entry.at]["size"]
            begin_attempt(core, entry.at, int(core.clock[0]["rows"]), 0)
            self.by_hand.add(entry.at)
        elif state in _ENDINGS:
            entry = self._job(data, RUNNING)
            if entry.at not in self.by_hand:
                raise DecisionError(f"job {entry.full} runs on machines, and ends by itself; kill it with KILL_JOB")
            self.by_hand.discard(entry.at)
            end_attempt(core, entry.at, _ENDINGS[state])
        else:
            known = ", ".join(("RUNNING", "REJECTED", *_ENDINGS))
            raise DecisionError(f"job_state is {_told(data, 'job_state')}; expected one of {known}")

    def set_metadata(self, data: Mapping[str, Any]) -> None:
        """A text for the jobs file."""
        entry = self.book.find(data.get("job_id"), "job_id")
        if not isinstance(data.get("metadata"), str):
            raise DecisionError(f"metadata is {_told(data, 'metadata')}; expected a text")
        self.engine.annotations[self.engine.id_of(entry.at)] = [data["metadata"]]

    def tell_job(self, data: Mapping[str, Any]) -> None:
        """A message for a job."""
        entry = self._job(data, RUNNING)
        if not isinstance(data.get("msg"), str):
            raise DecisionError(f"msg is {_told(data, 'msg')}; expected a text")
        if self.engine.state.fluid is not None:
            carry_out(self.engine, Tell(Job(self.engine, entry.at), data["msg"]))

    # Others.

    def call_later(self, data: Mapping[str, Any]) -> None:
        """To be called at a time."""
        time = data.get("timestamp")
        if not isinstance(time, int | float) or isinstance(time, bool):
            raise DecisionError(f"timestamp is {_told(data, 'timestamp')}; expected a time in seconds")
        if not time > max(self.engine.now, 0.0):
            raise DecisionError(f"it asks to be called at {time:g} s, which is not later than now")
        self.turn.call_at(float(time))

    def notify(self, data: Mapping[str, Any]) -> None:
        """Whether more jobs will be registered."""
        kind = data.get("type")
        if kind not in ("registration_finished", "continue_registration"):
            expected = "registration_finished or continue_registration"
            raise DecisionError(f"type is {_told(data, 'type')}; expected {expected}")
        self.registering.refuse_unless_enabled()
        self.is_registration_over = kind == "registration_finished"

    def set_resource_state(self, data: Mapping[str, Any]) -> None:
        """Another pstate for machines."""
        power = self._power()
        machines, state = data.get("resources"), data.get("state")
        named = parse_intervals(machines) if isinstance(machines, str) else ()
        if not named or named[-1] >= self.engine.platform.machine_count:
            raise DecisionError(f"resources is {_told(data, 'resources')}; expected machines such as 0-3 7")
        if not isinstance(state, str | int) or isinstance(state, bool) or not str(state).isdecimal():
            raise DecisionError(f"state is {_told(data, 'state')}; expected the number of a pstate")
        done_at = power.switch(named, int(state))
        if done_at is not None:
            self.turn.tell_switched_at(done_at, format_intervals(named), int(state))

    def query(self, data: Mapping[str, Any]) -> None:
        """A question: only the energy can be asked for."""
        requests = data.get("requests")
        if not isinstance(requests, dict) or list(requests) != ["consumed_energy"]:
            raise DecisionError(f"requests is {_told(data, 'requests')}; expected consumed_energy")
        self.turn.tell("ANSWER", json_text({"consumed_energy": float(self._power().consumed_j())}))

    def answer(self, data: Mapping[str, Any]) -> None:
        """An answer to a question that is never asked."""
        if list(data) != ["estimate_waiting_time"]:
            raise DecisionError(f"it answers {shown(', '.join(data))}; expected estimate_waiting_time")

    def register_profile(self, data: Mapping[str, Any]) -> None:
        """A profile of its own."""
        self.registering.profile(data)

    def register_job(self, data: Mapping[str, Any]) -> None:
        """A job of its own."""
        if self.is_registration_over:
            raise DecisionError("it has said registration_finished, and registers a job")
        self.registering.job(data)

    # Who is who.

    def _power(self) -> Power:
        if self.power is None:
            raise DecisionError(_NO_ENERGY)
        return self.power

    def _has_arrived(self, entry: Entry) -> bool:
        return int(self.engine.core.fate[entry.at]["state"]) >= QUEUED

    def _job(self, data: Mapping[str, Any], state: int) -> Entry:
        full = data.get("job_id")
        if isinstance(full, str):
            split_id(full)
        entry = self.book.find(full, "job_id")
        if not self._has_arrived(entry):
            raise DecisionError(f"job {entry.full} has not been submitted yet")
        found = int(self.engine.core.fate[entry.at]["state"])
        if found != state:
            expected = "waits" if state == QUEUED else "runs"
            raise DecisionError(f"job {entry.full} {_STATES[found]} already; expected one that {expected}")
        return entry


def _machines(text: str) -> tuple[int, ...]:
    """The machines of an interval set, of which most have one."""
    return (int(text),) if text.isdecimal() and len(text) < 10 else parse_intervals(text)


def _told(data: Mapping[str, Any], name: str) -> str:
    return shown(json_text(data[name])) if name in data else "missing"


def _at_start(profiles: Mapping[str, Profile], name: str) -> dict[str, Any]:
    """How far a job is that was killed when it had just been started."""
    profile = profiles[name]
    if isinstance(profile, Composed):
        below = _at_start(profiles, profile.members[0])
        return {"profile_name": name, "current_task_index": 0, "current_task": below}
    return {"profile_name": name, "progress": 0.0}


def _mapping(given: Any, machines: int) -> list[int]:
    """Where each executor works, of an object such as {"0": "0", "1": 0}."""
    try:
        places = {int(executor): int(place) for executor, place in given.items()}
    except (AttributeError, TypeError, ValueError):
        places = {}
    if not places or sorted(places) != list(range(len(places))):
        raise DecisionError(
            f"mapping is {shown(str(given))}; expected the place of each executor from 0 on, as in {{'0': 0}}"
        )
    if not all(0 <= place < machines for place in places.values()):
        raise DecisionError(f"mapping names a place outside of the {machines} machines of alloc")
    return [places[executor] for executor in range(len(places))]


_ORDERS: dict[str, Callable[[Orders, Mapping[str, Any]], None]] = {
    "ANSWER": Orders.answer,
    "CALL_ME_LATER": Orders.call_later,
    "CHANGE_JOB_STATE": Orders.change_state,
    "EXECUTE_JOB": Orders.execute,
    "KILL_JOB": Orders.kill,
    "NOTIFY": Orders.notify,
    "QUERY": Orders.query,
    "REGISTER_JOB": Orders.register_job,
    "REGISTER_PROFILE": Orders.register_profile,
    "REJECT_JOB": Orders.reject,
    "SET_JOB_METADATA": Orders.set_metadata,
    "SET_RESOURCE_STATE": Orders.set_resource_state,
    "TO_JOB_MSG": Orders.tell_job,
}
