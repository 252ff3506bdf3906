"""What a scheduler orders, carried out: each event is checked when its time has come, and a violation names it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unspool.engine.jobs.journal import begin_attempt
from unspool.engine.leave import make_leave
from unspool.errors import DecisionError, InputError, shown
from unspool.faces.batsim.protocol.adding import Adding
from unspool.faces.batsim.protocol.book import Entry, split_id
from unspool.faces.batsim.protocol.executing import Executing
from unspool.faces.batsim.protocol.messages import Event
from unspool.faces.batsim.protocol.numbers import json_text, told
from unspool.faces.batsim.protocol.power import Power
from unspool.faces.batsim.protocol.registering import Registering
from unspool.faces.batsim.protocol.storing import Storing
from unspool.model.network import Contention
from unspool.model.profile import HomogeneousTask, Merge, Profile, Receive, Send, Staging, StorageTask, Task, Trace
from unspool.model.profile import Sequence as Composed
from unspool.policies.base import Kill, Reject, Tell
from unspool.policies.view import Job
from unspool.simulation.codes import COMPLETED, FAILED, KILLED, LOST, QUEUED, REJECTED, RUNNING, TIMED_OUT
from unspool.simulation.decisions import carry_out
from unspool.simulation.executors import progress_of
from unspool.workloads.intervals import format_intervals, parse_intervals

if TYPE_CHECKING:
    from unspool.faces.batsim.protocol.driver import _Turn

__all__ = ["Orders"]

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
_TASKS = HomogeneousTask | Merge | Staging | StorageTask | Task
_CUT_TASK, _CUT = -2, -1  # what jobs return that were killed in a task, and in anything else
_REASON = "rejected by the scheduler"
_NO_ENERGY = "the energy of machines is not modelled in this run (-E); expected no orders and questions about it"


class Orders:
    """Carries out events, one after the other."""

    def __init__(self, turn: _Turn, contention: Contention, storages: Sequence[str]) -> None:
        self.turn, self.engine, self.book = turn, turn.engine, turn.book
        self.registering = Registering(turn)
        storing = Storing(turn, contention, storages)
        self.power = None if turn.given.power is None else turn.given.power(turn.engine)
        adding = Adding(turn, self.registering, storing, self.power)
        self.executing = Executing(turn, storing, adding, self.power)
        self.by_hand: set[int] = set()  # jobs that the scheduler itself says the states of
        self.killed: set[str] = set()
        self.lost: list[str] = []  # orders that came to nothing
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
        self.executing.execute(self._job(data, QUEUED), data)

    def reject(self, data: Mapping[str, Any]) -> None:
        """Turn a job away."""
        entry = self._job(data, QUEUED)
        carry_out(self.engine, Reject(Job(self.engine, entry.at), _REASON))

    def kill(self, data: Mapping[str, Any]) -> None:
        """End jobs, and say how far they were."""
        ids = data.get("job_ids")
        if not isinstance(ids, list) or not ids:
            raise DecisionError(f"job_ids is {told(data, 'job_ids')}; expected a list of jobs")
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
                cut = self._cut(far)
                if not isinstance(cut, Send | Receive | Trace):  # of those nobody says how far they are
                    progress[entry.full] = self._named(far)
                carry_out(self.engine, Kill(Job(self.engine, entry.at)))
                self.turn.running.remove(entry.at)
                self.turn.tell_completed(entry.at, killed=_CUT_TASK if isinstance(cut, _TASKS) else _CUT)
                self.killed.add(entry.full)
        self.turn.tell("JOB_KILLED", json_text({"job_ids": ids, "job_progress": progress}))

    def _cut(self, far: dict[str, Any]) -> Profile:
        """What a job was doing when it was killed."""
        while "current_task" in far:
            far = far["current_task"]
        return self.engine.workload.profiles[far["profile_name"]]

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
            core.course[0]["free"] -= core.jobs[entry.at]["size"]
            begin_attempt(core, entry.at, int(core.course[0]["rows"]), 0)
            self.by_hand.add(entry.at)
        elif state in _ENDINGS:
            entry = self._job(data, RUNNING)
            if entry.at not in self.by_hand:
                raise DecisionError(f"job {entry.full} runs on machines, and ends by itself; kill it with KILL_JOB")
            self.by_hand.discard(entry.at)
            make_leave(self.engine.state, entry.at, _ENDINGS[state])
        else:
            known = ", ".join(("RUNNING", "REJECTED", *_ENDINGS))
            raise DecisionError(f"job_state is {told(data, 'job_state')}; expected one of {known}")

    def set_metadata(self, data: Mapping[str, Any]) -> None:
        """A text for the jobs file."""
        entry = self.book.find(data.get("job_id"), "job_id")
        if not isinstance(data.get("metadata"), str):
            raise DecisionError(f"metadata is {told(data, 'metadata')}; expected a text")
        self.engine.annotations[self.engine.id_of(entry.at)] = [data["metadata"]]

    def tell_job(self, data: Mapping[str, Any]) -> None:
        """A message for a job."""
        entry = self._job(data, RUNNING)
        if not isinstance(data.get("msg"), str):
            raise DecisionError(f"msg is {told(data, 'msg')}; expected a text")
        if self.engine.state.fluid is not None:
            carry_out(self.engine, Tell(Job(self.engine, entry.at), data["msg"]))

    # Others.

    def call_later(self, data: Mapping[str, Any]) -> None:
        """To be called at a time."""
        time = data.get("timestamp")
        if not isinstance(time, int | float) or isinstance(time, bool):
            raise DecisionError(f"timestamp is {told(data, 'timestamp')}; expected a time in seconds")
        if not time > max(self.engine.now, 0.0):
            raise DecisionError(f"it asks to be called at {time:g} s, which is not later than now")
        self.turn.call_at(float(time))

    def notify(self, data: Mapping[str, Any]) -> None:
        """Whether more jobs will be registered."""
        kind = data.get("type")
        if kind not in ("registration_finished", "continue_registration"):
            expected = "registration_finished or continue_registration"
            raise DecisionError(f"type is {told(data, 'type')}; expected {expected}")
        self.registering.refuse_unless_enabled()
        self.is_registration_over = kind == "registration_finished"

    def set_resource_state(self, data: Mapping[str, Any]) -> None:
        """Another pstate for machines."""
        power = self._power()
        machines, state = data.get("resources"), data.get("state")
        named = parse_intervals(machines) if isinstance(machines, str) else ()
        if not named or named[-1] >= self.engine.platform.machine_count:
            raise DecisionError(f"resources is {told(data, 'resources')}; expected machines such as 0-3 7")
        if not isinstance(state, str | int) or isinstance(state, bool) or not str(state).isdecimal():
            raise DecisionError(f"state is {told(data, 'state')}; expected the number of a pstate")
        done_at = power.switch(named, int(state))
        if done_at is None:
            self.lost.append(f"machines {format_intervals(named)} to state {state} at {max(self.engine.now, 0.0):g} s")
        else:
            self.turn.tell_switched_at(done_at, format_intervals(named), int(state))

    def query(self, data: Mapping[str, Any]) -> None:
        """A question: only the energy can be asked for."""
        requests = data.get("requests")
        if not isinstance(requests, dict) or list(requests) != ["consumed_energy"]:
            raise DecisionError(f"requests is {told(data, 'requests')}; expected consumed_energy")
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

    def _job(self, data: Mapping[str, Any], state: int) -> Entry:
        """The job of an event, which must be in a state."""
        full = data.get("job_id")
        if isinstance(full, str) and full not in self.book.by_id:
            split_id(full)
        entry = self.book.find(full, "job_id")
        found = self.engine.state.core.fate["state"].item(entry.at)
        if found < QUEUED:
            raise DecisionError(f"job {entry.full} has not been submitted yet")
        if found != state:
            expected = "waits" if state == QUEUED else "runs"
            raise DecisionError(f"job {entry.full} {_STATES[found]} already; expected one that {expected}")
        return entry


def _at_start(profiles: Mapping[str, Profile], name: str) -> dict[str, Any]:
    """How far a job is that was killed when it had just been started."""
    profile = profiles[name]
    if isinstance(profile, Composed):
        below = _at_start(profiles, profile.members[0])
        return {"profile_name": name, "current_task_index": 0, "current_task": below}
    return {"profile_name": name, "progress": 0.0}


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
