"""What a host draws: watts in each of its states, and which states it sleeps in.

Written as SimGrid and Batsim have it, in properties of hosts: `wattage_per_state` with `idle:epsilon:full` or
`idle:full` for each state, `wattage_off`, and `sleep_pstates` with `sleep:off:on` for each state that is a sleep, where
`off` and `on` are the states in which the host is while it falls asleep and while it wakes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from unspool.errors import InputError, shown
from unspool.model.network import Host

__all__ = ["HostPower", "Watts", "power_of"]

_WATTS = "wattage_per_state"
_OFF = "wattage_off"
_SLEEPS = "sleep_pstates"


@dataclass(frozen=True)
class Watts:
    """What a host draws in one state: with no load, with next to none, and with all that it can do."""

    idle: float
    least: float
    full: float

    def at(self, load: float) -> float:
        """At a load from 0 to 1.

        >>> Watts(100, 120, 200).at(0.0), Watts(100, 120, 200).at(0.25)
        (100, 140.0)
        """
        return self.idle if load <= 0.0 else self.least + (self.full - self.least) * load


@dataclass(frozen=True)
class HostPower:
    """What a host draws in each of its states, and the states to fall asleep and to wake by that of the sleep."""

    states: tuple[Watts, ...]
    sleeps: Mapping[int, tuple[int, int]]

    @property
    def switches(self) -> frozenset[int]:
        """States in which a host only is on the way to another."""
        return frozenset(state for pair in self.sleeps.values() for state in pair)

    @property
    def computes(self) -> tuple[int, ...]:
        """States in which jobs can run."""
        return tuple(at for at in range(len(self.states)) if at not in self.sleeps and at not in self.switches)


def power_of(host: Host) -> HostPower:
    """What the properties of a host say.

    >>> host = Host("h", (1e9, 1.0, 0.5, 0.1), properties={
    ...     "wattage_per_state": "95:110:190, 10:10:10, 50:50:50, 120:120:120", "sleep_pstates": "1:2:3"})
    >>> power_of(host).states[0], power_of(host).sleeps
    (Watts(idle=95.0, least=110.0, full=190.0), {1: (2, 3)})
    """
    given = host.properties.get(_WATTS)
    if given is None:
        raise InputError(
            f"host '{shown(host.name)}' has no property {_WATTS}, so that nobody knows what it draws; give it one, "
            "such as 100:200 (idle and full watts)"
        )
    states = tuple(_watts(part, host) for part in given.split(","))
    if len(states) != len(host.speeds):
        raise InputError(
            f"host '{shown(host.name)}': {_WATTS} has {len(states)} states and speed has {len(host.speeds)}; expected "
            "as many"
        )
    off = host.properties.get(_OFF)
    if off is not None:
        _number(off, off, host, _OFF)
    power = HostPower(states, _sleeps(host))
    _check_speeds(host, power)
    return power


def _watts(text: str, host: Host) -> Watts:
    numbers = [_number(part, text, host, _WATTS) for part in text.split(":")]
    if len(numbers) not in (2, 3):
        raise InputError(
            f"host '{shown(host.name)}': {_WATTS} has the state '{shown(text.strip())}'; expected idle:full or "
            "idle:epsilon:full, as in 95:110:190"
        )
    return Watts(numbers[0], numbers[-2], numbers[-1])


def _number(part: str, text: str, host: Host, name: str) -> float:
    try:
        number = float(part)
    except ValueError:
        number = math.nan
    if not 0.0 <= number < math.inf:
        raise InputError(
            f"host '{shown(host.name)}': {name} has '{shown(text.strip())}'; expected watts, numbers from 0 on"
        )
    return number


def _sleeps(host: Host) -> dict[int, tuple[int, int]]:
    """The states of sleep; no state may be named twice."""
    given = host.properties.get(_SLEEPS, "").strip()
    sleeps: dict[int, tuple[int, int]] = {}
    for part in given.split(",") if given else ():
        numbers = [piece.strip() for piece in part.split(":")]
        if len(numbers) != 3 or not all(number.isdecimal() for number in numbers):
            raise InputError(
                f"host '{shown(host.name)}': {_SLEEPS} has '{shown(part.strip())}'; expected three states as "
                "sleep:off:on, as in 13:14:15"
            )
        sleep, off, on = map(int, numbers)
        sleeps[sleep] = off, on
    named = sorted(state for sleep, pair in sleeps.items() for state in (sleep, *pair))
    twice = [one for one, other in pairwise(named) if one == other]
    if twice or (named and named[-1] >= len(host.speeds)):
        wrong = f"state {twice[0]} twice" if twice else f"state {named[-1]}, and there are {len(host.speeds)}"
        raise InputError(f"host '{shown(host.name)}': {_SLEEPS} names {wrong}; expected each state once, from 0 on")
    return sleeps


def _check_speeds(host: Host, power: HostPower) -> None:
    """Jobs need a speed; and switching takes the time of one flop."""
    needed = power.switches if host.role == "storage" else {*power.switches, *power.computes}
    for state in sorted(needed):
        if not host.speeds[state] > 0.0:
            raise InputError(f"host '{shown(host.name)}': its speed in state {state} is 0; expected more than 0")
