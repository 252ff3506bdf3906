"""What a policy is: the decisions it can make, the methods it must have, and the codes of the compiled ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from unspool.errors import InputError
from unspool.plugins import build
from unspool.policies.orders import Fcfs as FcfsOrder
from unspool.policies.orders import QueueOrder

if TYPE_CHECKING:
    from unspool.policies.view import Job, View

__all__ = [
    "CHEAPEST_FIT", "CONSERVATIVE", "EASY", "FCFS", "FILLER", "OUTSIDE", "Annotate", "BindingScheduler",
    "CompiledScheduler", "Decision", "Kill", "OrderedScheduler", "Predictor", "Reject", "Scheduler", "SetPstate",
    "Start", "Tell", "WakeAt",
]  # fmt: skip

# Who decides in a compiled loop. Inside a family policies are integers: function objects would defeat Numba's cache.
OUTSIDE, FCFS, EASY, CONSERVATIVE, FILLER, CHEAPEST_FIT = 0, 1, 2, 3, 4, 5


@dataclass(frozen=True)
class Decision:
    """Something that a policy wants done at a time (default: now)."""

    at: float | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Start(Decision):
    """Start a waiting job, on these machines (ids, or id: units), or where the platform's own selection puts it.

    With a `mapping`, executor i of a job that shares a network works on the machine at place `mapping[i]` of these,
    which may be fewer or more than the job asks for.
    """

    job: Job | str
    machines: Mapping[int, int] | Iterable[int] | None = None
    mapping: Sequence[int] | None = None


@dataclass(frozen=True)
class Reject(Decision):
    """Turn a waiting job away for good, with the reason that the result lists."""

    job: Job | str
    reason: str = "rejected by the policy"


@dataclass(frozen=True)
class Kill(Decision):
    """End a running job."""

    job: Job | str


@dataclass(frozen=True)
class WakeAt(Decision):
    """Ask to be called at a time, whether or not anything happens then."""

    time: float


@dataclass(frozen=True)
class SetPstate(Decision):
    """Switch machines to another of their states: to compute in (slower or faster), or to sleep in; needs energy.

    A machine with jobs cannot fall asleep, and one that sleeps or switches takes none. `View.switched` tells of the
    end.
    """

    machines: Iterable[int] | int
    pstate: int


@dataclass(frozen=True)
class Tell(Decision):
    """Send a message to a running job, whose profile may wait for one."""

    job: Job | str
    text: str


@dataclass(frozen=True)
class Annotate(Decision):
    """Write a note beside a job; the result keeps it."""

    job: Job | str
    text: str


@runtime_checkable
class Scheduler(Protocol):
    """Orders and starts jobs. A plain function `view -> decisions` will do as well."""

    def decide(self, view: View) -> Iterable[Decision]:
        """What to do now; called once at each instant at which something happened."""


class Predictor(Protocol):
    """Guesses how long a job will run, when it joins the queue, and learns from those that have ended."""

    def predict_one(self, job: Job) -> float:
        """How long a job will run, in seconds; `job.estimate` is what would else be used."""

    def learn_one(self, job: Job, run_time_s: float) -> None:
        """A job ended after so many seconds; told before the next prediction."""


@dataclass(frozen=True)
class CompiledScheduler:
    """A scheduler that decides inside the compiled loop; its version rises when its results change.

    `predictor` makes the estimates in place of the requested walltimes: a name such as `last-two`, or an object with
    `predict_one` and `learn_one`, of which each run takes a copy.
    """

    code: ClassVar[int]
    version: ClassVar[int] = 2

    predictor: Predictor | str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if isinstance(self.predictor, str):
            object.__setattr__(self, "predictor", build("predictors", self.predictor))
        if self.predictor is not None and not hasattr(self.predictor, "predict_one"):
            raise InputError(f"predictor is {self.predictor!r}; expected predict_one(job), learn_one(job, run_time_s)")

    @property
    def queue_order(self) -> QueueOrder:
        """How the queue is ordered."""
        return FcfsOrder()

    def decide(self, view: View) -> Iterable[Decision]:
        """Carry out one round at once, so that a policy of your own can leave an instant to this one."""
        view.let_decide(self)
        return ()


@dataclass(frozen=True)
class BindingScheduler(CompiledScheduler):
    """A scheduler that starts machines and binds jobs to them when they are placed, also to those that still boot."""

    code: ClassVar[int] = CHEAPEST_FIT
    title: ClassVar[str]
    placement: ClassVar[int]

    @property
    def weights(self) -> dict[str, float]:
        """What its choices weigh, by the names of `ELASTIC`: nothing, unless it says so."""
        return dict.fromkeys(("room_share", "wait_usd", "idle_usd"), 0.0)


@dataclass(frozen=True)
class OrderedScheduler(CompiledScheduler):
    """A compiled scheduler that takes any order of the queue: a name such as `sjf`, or a `QueueOrder`."""

    order: QueueOrder | str | None = "fcfs"

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.order, str):
            object.__setattr__(self, "order", build("orders", self.order))
        if self.order is not None and not isinstance(self.order, QueueOrder):
            raise InputError(f"order is {self.order!r}; expected a name such as sjf, or a QueueOrder")

    @property
    def queue_order(self) -> QueueOrder:
        """How the queue is ordered."""
        return self.order if isinstance(self.order, QueueOrder) else FcfsOrder()
