"""What a job does once it has started: nothing for a while, work that shares processors and network, or parts of both.

Profiles are known by name inside a workload; those that are made of others name them. Data only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

__all__ = [
    "Delay", "ForkJoin", "HomogeneousTask", "Merge", "Profile", "Receive", "Send", "Sequence", "Staging",
    "StorageTask", "Task", "Trace",
]  # fmt: skip

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class Profile:
    """What all have: the code that a job returns when it ends by itself, and fields of the file that are not ours."""

    code: int = 0
    details: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)


@dataclass(frozen=True)
class Delay(Profile):
    """Nothing, for a time."""

    seconds: float


@dataclass(frozen=True)
class Task(Profile):
    """Flops for each executor and bytes for each pair of them, by rows, from the row's executor to the column's."""

    cpu: tuple[float, ...]
    com: tuple[float, ...]


@dataclass(frozen=True)
class HomogeneousTask(Profile):
    """The same flops for each executor, the same bytes for each ordered pair of two.

    `spread` says what the amounts are of n executors: `each` one's and each pair's; `total`, so that an executor has
    cpu/n and a pair com/(n(n-1)); or `total-v4`, cpu/n and com/n, as Batsim up to its version 4 has it.
    """

    cpu: float
    com: float
    spread: str = "each"


@dataclass(frozen=True)
class Sequence(Profile):
    """Others one after the other, all of that several times; the first that returns a code other than 0 ends it."""

    members: tuple[str, ...]
    repeat: int = 1


@dataclass(frozen=True)
class ForkJoin(Profile):
    """Others at the same time, on the same executors; it ends with the last, with the first code other than 0."""

    members: tuple[str, ...]


@dataclass(frozen=True)
class Merge(Profile):
    """Tasks as one: their flops and bytes are added, and all move at one pace."""

    members: tuple[str, ...]


@dataclass(frozen=True)
class StorageTask(Profile):
    """Each executor reads from a storage and writes to it; `spread`: the bytes are of all executors together."""

    bytes_read: float
    bytes_written: float
    storage: str = "pfs"
    spread: bool = False


@dataclass(frozen=True)
class Staging(Profile):
    """Bytes from one storage to another; the job's machines stand idle."""

    bytes_moved: float
    source: str
    target: str


@dataclass(frozen=True)
class Send(Profile):
    """A message to the scheduler, then a pause."""

    message: Mapping[str, Any]
    pause_s: float = 1e-7


@dataclass(frozen=True)
class Receive(Profile):
    """The oldest message from the scheduler: one of two profiles follows, by whether all of it matches a pattern.

    With no message there, `timeout` follows at once where it is named; else the job looks again every `poll_s`.
    """

    pattern: str = ".*"
    success: str | None = None
    failure: str | None = None
    timeout: str | None = None
    poll_s: float = 0.005


@dataclass(frozen=True)
class Trace(Profile):
    """Actions recorded of each rank of a program, in files; `kind` is `smpi` or `usage`."""

    kind: str
    path: str
