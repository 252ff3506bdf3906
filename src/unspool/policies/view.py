"""What a policy sees at an instant: the queue, what runs, what is free. Read-only, and never the future."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from unspool.engine.kernel.state import COMPLETED, FAILED, KILLED, LOST, TIMED_OUT, Array, Core, Place
from unspool.errors import DecisionError, UnknownName

if TYPE_CHECKING:
    from unspool.model.power import HostPower
    from unspool.model.workload import Workload
    from unspool.policies.base import CompiledScheduler

__all__ = ["Job", "Message", "Seen", "Switching", "View"]

_ENDED = (COMPLETED, FAILED, TIMED_OUT, KILLED, LOST)
_BLOCK = 64
_ACTIVITIES = ("idle", "asleep", "switching")


class Seen(Protocol):
    """What a view needs of the engine that made it."""

    clairvoyant: bool
    workload: Workload

    @property
    def core(self) -> Core:
        """Clock, jobs, queue, running jobs and attempts."""

    @property
    def place(self) -> Place | None:
        """Machines, or None on a pool."""

    @property
    def used(self) -> Array:
        """For each job of the run its position in the workload."""

    def waiting_jobs(self, first: int = 0, most: int | None = None) -> list[int]:
        """Waiting jobs in queue order, from a slot on."""

    def running_jobs(self) -> list[int]:
        """Running jobs, by the time at which they are taken to end."""

    def arrived_jobs(self) -> list[int]:
        """Jobs that joined the queue since the last view."""

    def ended_jobs(self) -> list[int]:
        """Jobs that ended since the last view."""

    def messages(self) -> list[tuple[float, int, Mapping[str, Any]]]:
        """What jobs said since the last view: when, who, what."""

    def switched(self) -> list[tuple[float, tuple[int, ...], int]]:
        """Orders to switch machines that were done since the last view: when, which machines, where."""

    def pstate(self, machine: int) -> tuple[int, str]:
        """The state of a machine, and whether it is awake, asleep or switching."""

    def machines_that_are(self, activity: str) -> list[int]:
        """Machines that are idle, asleep or switching."""

    def host_powers(self) -> Sequence[HostPower]:
        """What each machine draws in each of its states."""

    def energy(self) -> float:
        """Joules of all machines from 0 until now."""

    def room_for(self, job: int) -> dict[int, int] | None:
        """Where a job would be put now, or None."""

    def decide(self, policy: CompiledScheduler) -> None:
        """Let a built-in policy decide this instant."""


class Job:
    """One job as a policy may see it. `job["user"]` and the like give any other column of the workload."""

    __slots__ = ("_seen", "index")

    def __init__(self, seen: Seen, index: int) -> None:
        self._seen = seen
        self.index = index

    @property
    def id(self) -> str:
        """Its name in the log."""
        return str(self["job_id"])

    @property
    def submit_time(self) -> float:
        """When it was submitted, in seconds."""
        return float(self._seen.core.jobs[self.index]["submit"])

    @property
    def cores(self) -> int:
        """Cores in all."""
        return int(self._seen.core.jobs[self.index]["size"])

    @property
    def units(self) -> int:
        """How many units it is placed in: machines that it asks for, or else cores (or GPUs)."""
        if self._seen.place is None:
            return self.cores
        return int(self._seen.place.shapes[self._seen.core.jobs[self.index]["shape"]]["units"])

    @property
    def estimate(self) -> float:
        """How long it is expected to run, in seconds: its walltime where it has one."""
        return float(self._seen.core.fate[self.index]["estimate"])

    @property
    def start_time(self) -> float:
        """When it started; only of jobs that have."""
        attempt = int(self._seen.core.fate[self.index]["attempt"])
        if attempt < 0:
            raise DecisionError(f"job '{self.id}' has not started: it has no start time yet")
        return float(self._seen.core.attempts[attempt]["start"])

    @property
    def expected_end(self) -> float:
        """When a running job is taken to end."""
        return float(self._seen.core.fate[self.index]["planned_end"])

    @property
    def finish_time(self) -> float:
        """When it ended; only of jobs that have."""
        if self._seen.core.fate[self.index]["state"] not in _ENDED:
            raise DecisionError(f"job '{self.id}' has not ended: its finish time is the future")
        return float(self._seen.core.attempts[self._seen.core.fate[self.index]["attempt"]]["finish"])

    @property
    def run_time(self) -> float:
        """How long it ran; of a job that has not ended only for policies with `clairvoyant = True`."""
        if self._seen.clairvoyant:
            return float(self._seen.core.jobs[self.index]["run_time"])
        return self.finish_time - self.start_time

    def __getitem__(self, column: str) -> Any:
        if column in ("run_time", "status", "cpu_time", "used_memory_bytes", "logged_wait"):
            raise DecisionError(f"'{column}' is not known while a job waits or runs; a policy may not ask for it")
        return self._seen.workload.column(column)[int(self._seen.used[self.index])]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Job) and other.index == self.index

    def __hash__(self) -> int:
        return hash(self.index)

    def __repr__(self) -> str:
        return f"Job('{self.id}', cores={self.cores}, submit_time={self.submit_time:g}, estimate={self.estimate:g})"


class Message(NamedTuple):
    """Something that a running job says, by a profile that sends."""

    time: float
    job: Job
    content: Mapping[str, Any]


class Switching(NamedTuple):
    """Machines that were ordered to another state, and are all there."""

    time: float
    machines: tuple[int, ...]
    pstate: int


class _Jobs(Sequence[Job]):
    """Jobs made when they are looked at."""

    def __init__(self, seen: Seen, indices: list[int]) -> None:
        self._seen = seen
        self._indices = indices

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return _Jobs(self._seen, self._indices[at])
        return Job(self._seen, self._indices[at])

    def __iter__(self) -> Iterator[Job]:
        seen = self._seen
        return (Job(seen, index) for index in self._indices)

    def __repr__(self) -> str:
        return repr(list(self))


class _Queue(Sequence[Job]):
    """The waiting jobs, fetched in blocks: who looks at the head only does not pay for a long queue."""

    def __init__(self, seen: Seen) -> None:
        self._seen = seen

    def __len__(self) -> int:
        return int(self._seen.core.course[0]["queued"])

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, int) and 0 <= at < _BLOCK:
            return Job(self._seen, self._seen.waiting_jobs(0, at + 1)[at])
        return _Jobs(self._seen, self._seen.waiting_jobs())[at]

    def __iter__(self) -> Iterator[Job]:
        seen, slot = self._seen, 0
        while block := seen.waiting_jobs(slot, _BLOCK):
            for index in block:
                yield Job(seen, index)
            slot = int(seen.core.fate[block[-1]]["slot"]) + 1

    def __repr__(self) -> str:
        return repr(list(self))


class View:
    """An instant at which somebody must decide. It is valid until the decisions are applied."""

    __slots__ = ("_seen", "now")

    def __init__(self, seen: Seen) -> None:
        self._seen = seen
        self.now = float(seen.core.course[0]["now"])

    @property
    def queue(self) -> Sequence[Job]:
        """Waiting jobs, in queue order."""
        return _Queue(self._seen)

    @property
    def running(self) -> Sequence[Job]:
        """Running jobs, by the time at which they are taken to end."""
        return _Jobs(self._seen, self._seen.running_jobs())

    @property
    def arrived(self) -> Sequence[Job]:
        """Jobs that joined the queue since the last view, in queue order."""
        return _Jobs(self._seen, self._seen.arrived_jobs())

    @property
    def ended(self) -> Sequence[Job]:
        """Jobs that ended since the last view, in the order of their starts."""
        return _Jobs(self._seen, self._seen.ended_jobs())

    @property
    def messages(self) -> Sequence[Message]:
        """What running jobs said since the last view."""
        return [Message(time, Job(self._seen, job), content) for time, job, content in self._seen.messages()]

    @property
    def switched(self) -> Sequence[Switching]:
        """Orders to switch machines (`SetPstate`) that were done since the last view."""
        return [Switching(*order) for order in self._seen.switched()]

    def pstate(self, machine: int) -> int:
        """The state of a machine; while it switches, the one that stands for that. Needs energy."""
        return self._seen.pstate(machine)[0]

    def activity(self, machine: int) -> str:
        """Whether a machine is `awake`, `asleep` or `switching`. Needs energy."""
        return self._seen.pstate(machine)[1]

    def machines_that_are(self, activity: str) -> list[int]:
        """Machines that are `idle` (awake, and nothing runs on them), `asleep` or `switching`. Needs energy."""
        if activity not in _ACTIVITIES:
            raise UnknownName("activity of machines", activity, _ACTIVITIES)
        return self._seen.machines_that_are(activity)

    @property
    def powers(self) -> Sequence[HostPower]:
        """What each machine draws in each of its states; storage comes after the machines. Needs energy."""
        return self._seen.host_powers()

    def energy(self) -> float:
        """Joules of all machines from 0 until now. Needs energy."""
        return self._seen.energy()

    @property
    def free_cores(self) -> int:
        """Free cores, over all machines."""
        return int(self._seen.core.course[0]["free"])

    @property
    def machine_count(self) -> int:
        """Machines in all; 0 on a pool."""
        return 0 if self._seen.place is None else len(self._seen.place.machines)

    def free(self, machine: int) -> tuple[float, ...]:
        """What a machine has free: cores, bytes of memory, GPUs, then consumables by name."""
        if self._seen.place is None:
            raise DecisionError("a pool has no machines; ask for `free_cores`")
        return tuple(float(amount) for amount in self._seen.place.free[machine])

    def place(self, job: Job) -> dict[int, int] | None:
        """Where the platform's own selection would put a job now (machine: units), or None where it does not fit.

        On a pool, which has no machines, an empty map means that it fits.
        """
        return self._seen.room_for(job.index)

    def fits(self, job: Job) -> bool:
        """Whether a job could start now."""
        return self.place(job) is not None

    def let_decide(self, policy: CompiledScheduler) -> None:
        """Let a built-in policy decide this instant; what it decides is carried out at once."""
        self._seen.decide(policy)
