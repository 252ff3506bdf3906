"""What an agent is paid for: minus what waiting, idle cores, dollars and joules add up to between two decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from unspool.arrays import Array
from unspool.errors import InputError, UnknownName
from unspool.plugins import parameters_of
from unspool.simulation.choosing import LEDGER

__all__ = ["TERMS", "Reward"]

TERMS = ("bounded_slowdown", "wait", "utilisation", "cost", "energy", "log_slowdown")
"""What a reward can be made of, in the order in which the engine adds them up."""

_HOUR_S = 3600.0
_KWH_J = 3.6e6


@dataclass(frozen=True)
class Reward:
    """A mix: how much each term counts, and what cores cost and draw.

    Over an episode the terms add up to: the mean bounded slowdown beyond 1, the mean wait in hours, the hours that the
    machine would have stood idle if the idle cores were all of it, dollars, kilowatt-hours, and the mean of the
    logarithm of bounded slowdown, in which no single job drowns the others; each times its weight, and minus that is
    what the agent is paid.

    >>> Reward.parse("wait=1,cost=0.5,usd_per_core_hour=0.04").weights
    (0.0, 1.0, 0.0, 0.5, 0.0, 0.0)
    >>> Reward.parse("bounded_slowdown") == Reward(bounded_slowdown=1.0)
    True
    """

    bounded_slowdown: float = 0.0
    wait: float = 0.0
    utilisation: float = 0.0
    cost: float = 0.0
    energy: float = 0.0
    log_slowdown: float = 0.0
    bound_s: float = 10.0
    usd_per_core_hour: float = 0.0
    idle_w_per_core: float = 0.0
    busy_w_per_core: float = 0.0

    def __post_init__(self) -> None:
        for part in fields(self):
            value = getattr(self, part.name)
            if not isinstance(value, int | float) or not 0.0 <= value < float("inf"):
                raise InputError(f"reward: {part.name} is {value!r}; expected a number, 0 or more")
        if not any(self.weights):
            raise InputError(f"reward: nothing counts; give a weight to one of {', '.join(TERMS)}")
        if not self.bound_s > 0.0:
            raise InputError(f"reward: bound_s is {self.bound_s}; expected more than 0 seconds")

    @classmethod
    def parse(cls, given: Reward | str | Mapping[str, float]) -> Reward:
        """A reward from a term's name, from `wait=1,cost=0.5`, or from weights by name."""
        if isinstance(given, Reward):
            return given
        if isinstance(given, str):
            given = {given: 1.0} if "=" not in given else parameters_of(given, given)
        known = [part.name for part in fields(cls)]
        for name in given:
            if name not in known:
                raise UnknownName("part of a reward", name, known)
        return cls(**given)

    @property
    def weights(self) -> tuple[float, ...]:
        """How much each term counts."""
        return tuple(float(getattr(self, term)) for term in TERMS)

    def tariff(self, cores: float) -> Array:
        """What the engine needs to know to add up: dollars an hour for all cores, watts, and the bound of slowdown."""
        return np.array([self.usd_per_core_hour * cores, self.idle_w_per_core, self.busy_w_per_core, self.bound_s])

    def scales(self, cores: float) -> tuple[Array, Array]:
        """By what each sum is multiplied: those that are divided by the number of jobs, and the others."""
        weights = np.array(self.weights)
        by_job = weights * np.array([1.0, 1.0 / _HOUR_S, 0.0, 0.0, 0.0, 1.0])
        in_all = weights * np.array([0.0, 0.0, 1.0 / (_HOUR_S * cores), 1.0, 1.0 / _KWH_J, 0.0])
        return by_job, in_all

    def figures(self, ledger: Array, jobs: int, cores: float) -> dict[str, float]:
        """The sums of an episode by name, in the units that weights are for."""
        units = (1.0 / jobs, 1.0 / (_HOUR_S * jobs), 1.0 / (_HOUR_S * cores), 1.0, 1.0 / _KWH_J, 1.0 / jobs)
        return {term: float(ledger[at] * units[at]) for at, term in enumerate(TERMS[:LEDGER])}
