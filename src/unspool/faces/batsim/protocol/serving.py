"""A policy of ours as a scheduler that Batsim, or anybody who speaks its protocol, can call."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from unspool.errors import InputError, RunError, shown
from unspool.faces.batsim.protocol.driver import FIRST_S
from unspool.faces.batsim.protocol.messages import (
    Event,
    Message,
    MessageError,
    event_text,
    message_text,
    read_message,
)  # fmt: skip
from unspool.faces.batsim.protocol.mirror import Mirror
from unspool.faces.batsim.protocol.numbers import json_text, quoted
from unspool.faces.batsim.protocol.wire import Answering
from unspool.simulation.admission import NewJob
from unspool.simulation.engine import Policy
from unspool.workloads.batsim_jobs import FREE_FIELDS, meaning_of
from unspool.workloads.intervals import parse_intervals

__all__ = ["Served", "serve", "warm_up"]

_MOST_FAULTS = 100  # in messages of one simulation, then it is no simulator that speaks
_MOST_MACHINES = 1_000_000
_OTHERS = ("user", "queue", "priority")
_READ = ("id", "subtime", "res", "walltime", "profile")


class Served:
    """Answers messages; `is_over` says that the last one was answered.

    An event that lacks what it needs is left out, and the others are heard; `faults` are the complaints.
    """

    def __init__(self, make: Callable[[], Policy], seed: int = 0) -> None:
        self._make, self._seed = make, seed
        self._mirror: Mirror | None = None
        self._asked = -1.0
        self._refused: list[str] = []
        self._machines = 0
        self._now = FIRST_S
        self.faults: list[MessageError] = []
        self.is_over = False

    def answer(self, content: bytes) -> str:
        """What the policy decides at a message, as a message."""
        message = read_message(content, "the simulator")
        self._now = message.now
        now = 0.0 if message.now == FIRST_S else message.now
        if self._mirror is not None:
            self._mirror.reach(now)
        for event in message.events:
            try:
                self._hear(event)
            except MessageError as error:
                if self._mirror is None:
                    raise
                self.faults.append(error)
        if self._mirror is None:
            raise MessageError("the simulator did not begin with SIMULATION_BEGINS; is it Batsim 4?")
        self._mirror.reach(now)
        return message_text(message.now, [] if self.is_over else list(self._decided(message)))

    def nothing(self) -> str:
        """The answer to what is no message: that nothing is done."""
        return message_text(max(self._now, 0.0), [])

    def _hear(self, event: Event) -> None:
        data = event.data
        try:
            if event.type == "SIMULATION_BEGINS":
                self._machines = int(data["nb_compute_resources"])
                if not 0 < self._machines <= _MOST_MACHINES:
                    raise ValueError(f"{self._machines} machines; expected 1 to {_MOST_MACHINES:,}")
                self._mirror = Mirror(
                    self._make(), self._machines,
                    shares_machines=bool(data.get("allow_compute_sharing")), seed=self._seed,
                )  # fmt: skip
            elif event.type == "SIMULATION_ENDS":
                self.is_over = True
            elif self._mirror is None:
                return
            elif event.type == "JOB_SUBMITTED":
                self._submit(data)
            elif event.type == "JOB_COMPLETED":
                self._mirror.end(data["job_id"])
            elif event.type == "NOTIFY" and str(data.get("type")).startswith("event_machine_"):
                is_lost = data["type"] == "event_machine_unavailable"
                machines = parse_intervals(data["resources"])
                if machines and not machines[-1] < self._machines:
                    raise ValueError(f"machine {machines[-1]} of {self._machines}")
                self._mirror.change(machines, is_lost=is_lost)
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError, InputError) as error:
            raise MessageError(f"the simulator sent {shown(event.type)} without what it needs: {error!r}") from error

    def _submit(self, data: Mapping[str, Any]) -> None:
        assert self._mirror is not None
        job = data["job"]
        walltime = job.get("walltime")
        others = {FREE_FIELDS[name]: meaning_of(name, job[name]) for name in _OTHERS if name in job}
        free = {name: value for name, value in job.items() if name not in _READ}
        if free:
            others["details"] = msgspec.json.encode(free).decode()
        new = NewJob(
            data["job_id"], float(job["subtime"]), int(job["res"]),
            float(walltime) if walltime is not None and walltime > 0 else None, others=others,
        )  # fmt: skip
        if new.machines < 1 or not self._mirror.submit(new):
            self._refused.append(new.job_id)

    def _decided(self, message: Message) -> Iterator[str]:
        """The events of an answer: who is killed makes room for who starts."""
        mirror = self._mirror
        assert mirror is not None
        mirror.decide()
        now = message.now
        for job in (*self._refused, *mirror.rejected()):
            yield event_text(now, "REJECT_JOB", f'{{"job_id":{quoted(job)}}}')
        self._refused.clear()
        if killed := list(mirror.killed()):
            yield event_text(now, "KILL_JOB", json_text({"job_ids": killed}))
        for job, machines in mirror.started():
            yield event_text(now, "EXECUTE_JOB", f'{{"job_id":{quoted(job)},"alloc":"{machines}"}}')
        if killed := list(mirror.killed()):  # when they had just been started
            yield event_text(now, "KILL_JOB", json_text({"job_ids": killed}))
        for job, texts in mirror.notes().items():
            yield event_text(now, "SET_JOB_METADATA", json_text({"job_id": job, "metadata": "; ".join(texts)}))
        due = mirror.next_call()
        if due < math.inf and due > now and due != self._asked:
            self._asked = due
            yield event_text(now, "CALL_ME_LATER", json_text({"timestamp": due}))


def serve(
    make: Callable[[], Policy], endpoint: str, *, seed: int = 0, timeout_s: float | None = None,
    ready: Callable[[], None] | None = None, note: Callable[[str], None] = lambda text: None,
) -> int:  # fmt: skip
    """Be the scheduler of one simulation, from its first message to its last; returns how many there were.

    What is malformed is told to `note` and left out, whoever sent it; a whole message that is gets an empty answer.
    """
    served, count, faults = Served(make, seed), 0, 0
    with Answering(endpoint) as line:
        if ready is not None:
            ready()
        while not served.is_over:
            content = line.hear(timeout_s)
            if content is None:
                raise RunError(f"the simulator at {endpoint} has said nothing for {timeout_s:g} s; is it still there?")
            try:
                answer = served.answer(content)
            except MessageError as error:
                answer = served.nothing()
                served.faults.append(error)
            for fault in served.faults:
                note(f"left out: {fault}")
            line.answer(answer)
            count += 1
            faults += len(served.faults)
            if faults > _MOST_FAULTS:
                raise served.faults[-1]
            served.faults.clear()
    return count


def warm_up(make: Callable[[], Policy]) -> None:
    """Compile what deciding needs on a tiny run, before a simulator waits for it."""
    mirror = Mirror(make(), 2)
    mirror.reach(0.0)
    for name in ("a", "b"):
        mirror.submit(NewJob(name, 0.0, 2, 10.0))
    mirror.decide()
    for name, _ in list(mirror.started()):
        mirror.end(name)
    mirror.reach(1.0)
    mirror.decide()
