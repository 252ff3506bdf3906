"""When machines are down: told in a list, or drawn; and what becomes of the jobs on a machine that is lost."""

from __future__ import annotations

import math
from dataclasses import dataclass

from unspool.errors import InputError, UnitError, UnknownName
from unspool.units import parse_duration

__all__ = ["FATES", "Failures", "OnLoss", "Outage", "Outages"]

FATES: tuple[str, ...] = ("requeue", "kill", "resume", "keep")
"""What can become of a job on a lost machine, in the order of their codes in the engine (`engine/outages.py`)."""


@dataclass(frozen=True)
class Outage:
    """A machine is down from a time to another, in seconds since the workload's origin."""

    machine: int
    down_time: float
    up_time: float
    cause: str = "failure"


@dataclass(frozen=True)
class Failures:
    """Failures that are drawn for each machine: Weibull times between them (exponential for shape 1), and to repair.

    A shape below 1 means that failures come in clusters.
    """

    mean_time_between_s: float
    mean_repair_s: float
    shape: float = 1.0
    repair_shape: float = 1.0

    def __post_init__(self) -> None:
        for name in ("mean_time_between_s", "mean_repair_s", "shape", "repair_shape"):
            value = getattr(self, name)
            if not (value > 0.0 and math.isfinite(value)):
                raise InputError(f"failures: {name} is {value}; expected more than 0")

    @classmethod
    def parse(cls, text: str) -> Failures:
        """From a text such as `mtbf=30d,repair=4h,shape=0.7`.

        >>> Failures.parse("mtbf=30d,repair=4h").mean_repair_s
        14400.0
        """
        names = {"mtbf": "mean_time_between_s", "repair": "mean_repair_s"}
        numbers = {"shape": "shape", "repair_shape": "repair_shape"}
        given: dict[str, float] = {}
        for part in filter(None, text.split(",")):
            key, _, value = (piece.strip() for piece in part.partition("="))
            if key not in {**names, **numbers}:
                raise UnknownName("key of failures", key, {**names, **numbers})
            try:
                given[{**names, **numbers}[key]] = parse_duration(value) if key in names else float(value)
            except (UnitError, ValueError) as error:
                raise InputError(f"failures: {key}={value} cannot be read: {error}") from error
        for key, name in names.items():
            if name not in given:
                raise InputError(f"failures '{text}': {key} is missing; expected a text such as mtbf=30d,repair=4h")
        return cls(**given)


@dataclass(frozen=True)
class Outages:
    """Everything that is known of when machines are down."""

    listed: tuple[Outage, ...] = ()
    failures: Failures | None = None
    name: str = ""


@dataclass(frozen=True)
class OnLoss:
    """What becomes of a job when one of its machines is lost.

    `requeue`: it waits again, in its old place in the queue, and starts from nothing. `kill`: it is over. `resume`: it
    waits again and goes on from its last checkpoint, one of which is made every `checkpoint_s` of its run time.
    `keep`: it goes on, and only new jobs find the machine gone. A job
    that lost `most_attempts` is over, for else one that is too long for the machines between failures never would be.
    """

    fate: str = "requeue"
    checkpoint_s: float = 0.0
    most_attempts: int = 100

    def __post_init__(self) -> None:
        if self.fate not in FATES:
            raise UnknownName("fate of jobs on lost machines", self.fate, FATES)
        if self.fate == "resume" and not self.checkpoint_s > 0.0:
            raise InputError("on loss: resume needs the time between checkpoints, as in resume:1h")

    @classmethod
    def parse(cls, text: str) -> OnLoss:
        """From `requeue`, `kill`, or `resume:1h` with the time between checkpoints.

        >>> OnLoss.parse("resume:30min").checkpoint_s
        1800.0
        """
        fate, colon, checkpoint = text.partition(":")
        if not colon:
            return cls(fate)
        if fate != "resume":
            raise InputError(f"on loss '{text}': only resume takes a time")
        try:
            return cls(fate, parse_duration(checkpoint))
        except UnitError as error:
            raise InputError(f"on loss '{text}': {error}") from error
