"""Any scheduler on machines that sleep when nobody needs them, or that together never draw more than a limit.

Written behind the name of any scheduler: `easy:sleep_after=300`, `fcfs:sleep_after=5min,power_cap=20000`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from unspool.errors import InputError
from unspool.policies.base import Decision, Reject, SetPstate, Start, WakeAt
from unspool.units import parse_duration

if TYPE_CHECKING:
    from unspool.model.power import HostPower
    from unspool.policies.view import View

__all__ = ["Sleeping"]

_SOON_S = 1.0  # after a start by somebody else it is looked again who is idle
_ROUNDING = 1e-9


class Sleeping:
    """Another scheduler decides who starts; this one who sleeps.

    With `sleep_after` (seconds, or a text such as 5min), a machine that has idled for so long while no job waits is put
    to sleep. While jobs wait, as many wake as they ask for. With `power_cap`, in watts, machines are kept asleep so
    that all together never draw more, whatever jobs do; where none can sleep, they are slowed down instead.
    """

    needs_energy = True

    def __init__(self, scheduler: Any, sleep_after: float | str | None = None, power_cap: float | None = None) -> None:
        seconds = parse_duration(sleep_after) if isinstance(sleep_after, str) else sleep_after
        if seconds is not None and not 0.0 <= seconds < math.inf:
            raise InputError(f"sleep_after is {sleep_after}; expected seconds, 0 or more")
        if power_cap is not None and (isinstance(power_cap, str) or not 0.0 < power_cap < math.inf):
            raise InputError(f"power_cap is {power_cap}; expected watts, more than 0")
        self.scheduler = scheduler
        self.sleep_after_s = seconds
        self.power_cap_w = power_cap
        self._is_new = True
        self._timer = -math.inf
        self._idle_since = np.zeros(0)
        self._fleet: _Fleet | None = None

    def copy(self) -> Sleeping:
        """One that goes its own way from here; a scheduler that is compiled stays the same."""
        twin = copy.copy(self)
        if hasattr(self.scheduler, "copy") or not hasattr(self.scheduler, "code"):
            twin.scheduler = self.scheduler.copy() if hasattr(self.scheduler, "copy") else copy.deepcopy(self.scheduler)
        twin._idle_since = self._idle_since.copy()
        return twin

    def decide(self, view: View) -> Iterator[Decision]:
        """Let the other decide, then wake machines or put them to sleep."""
        if self._is_new:
            self._is_new = False
            self._fleet = _Fleet(view, self.sleep_after_s is not None, self.power_cap_w)
            self._idle_since = np.full(view.machine_count, math.nan)
            first = list(self._fleet.first_orders(view))
            yield from first
            yield from self._refuse(view)
            if first:  # it is called again at this same instant, when that is done
                return
        else:
            yield from self._refuse(view)
        asked = getattr(self.scheduler, "decide", self.scheduler)(view)
        decided: list[Decision] = list(asked or ())
        yield from decided
        starts = any(isinstance(each, Start) for each in decided)
        yield from self._switch(view, starts=starts)

    def _refuse(self, view: View) -> Iterator[Decision]:
        """Jobs that need more machines than may ever be awake at once are turned away."""
        assert self._fleet is not None
        if self.power_cap_w is None:
            return
        for job in view.arrived:
            if job.cores > self._fleet.most_cores:
                yield Reject(
                    job,
                    f"asks for {job.cores} cores; a power cap of {self.power_cap_w:g} W leaves "
                    f"{self._fleet.most_cores:g} at the most",
                )

    def _switch(self, view: View, *, starts: bool) -> Iterator[Decision]:
        fleet = self._fleet
        assert fleet is not None
        if len(view.queue):
            self._idle_since[:] = math.nan
            wake = fleet.to_wake(view)
            yield from _orders(wake, fleet.compute_state)
            return
        if self.sleep_after_s is None:
            return
        if starts:
            yield from self._look_again(view, view.now + _SOON_S)
            return
        idle = np.zeros(len(self._idle_since), bool)
        idle[view.machines_that_are("idle")] = True
        self._idle_since[~idle] = math.nan
        self._idle_since[idle & np.isnan(self._idle_since)] = view.now
        due = self._idle_since + self.sleep_after_s
        asleep = np.flatnonzero(due <= view.now + _ROUNDING * max(1.0, abs(view.now))).tolist()
        yield from _orders([machine for machine in asleep if fleet.sleep_state[machine] >= 0], fleet.sleep_state)
        self._idle_since[asleep] = math.nan
        later = due[due > view.now + _ROUNDING * max(1.0, abs(view.now))]
        if len(later):
            yield from self._look_again(view, float(later.min()))

    def _look_again(self, view: View, time: float) -> Iterator[Decision]:
        """Ask to be called, unless that is due before anyway."""
        if not view.now < self._timer <= time:
            self._timer = time
            yield WakeAt(time)


class _Fleet:
    """The machines: the states that each computes and sleeps in, and what they draw at the most."""

    def __init__(self, view: View, sleeps: bool, cap_w: float | None) -> None:
        powers = view.powers
        self.count = view.machine_count
        machines = powers[: self.count]
        self.cap_w = math.inf if cap_w is None else cap_w
        self.sleep_state = [_deepest(power) for power in machines]
        if sleeps and max(self.sleep_state, default=-1) < 0:
            raise InputError("sleep_after: no machine has a state to sleep in; give hosts the property sleep_pstates")
        self.compute_state = [
            view.pstate(machine) if view.pstate(machine) in power.computes else power.computes[0]
            for machine, power in enumerate(machines)
        ]
        self.beside_w = sum(power.states[0].idle for power in powers[self.count :])
        self.full_w = [power.states[state].full for power, state in zip(machines, self.compute_state, strict=True)]
        self.waking_w, self.falling_w, self.asleep_w = (
            [_watts(power, state, kind) for power, state in zip(machines, self.sleep_state, strict=True)]
            for kind in ("waking", "falling", "asleep")
        )
        self.falls = [{off for off, _ in power.sleeps.values()} for power in machines]
        self.cores = [max(1.0, view.free(machine)[0]) for machine in range(self.count)]
        self.most_cores = self._most_cores()

    def _most_cores(self) -> float:
        """How many cores may be awake at once."""
        if max(self.sleep_state, default=-1) < 0:
            return math.inf
        draws = self.beside_w + sum(
            asleep if state >= 0 else full
            for asleep, full, state in zip(self.asleep_w, self.full_w, self.sleep_state, strict=True)
        )
        cores = 0.0
        for machine in range(self.count):
            more = max(self.full_w[machine], self.waking_w[machine]) - self.asleep_w[machine]
            if self.sleep_state[machine] < 0:
                cores += self.cores[machine]
            elif draws + more <= self.cap_w:
                cores += self.cores[machine]
                draws += more
        return cores

    def first_orders(self, view: View) -> Iterator[Decision]:
        """Keep as many machines awake as the limit allows while the others fall asleep; or slow all down."""
        if self.cap_w == math.inf:
            return
        if max(self.sleep_state, default=-1) < 0:
            yield from self._slower(view)
            return
        left = self.cap_w - self.beside_w
        most = [max(full, waking) for full, waking in zip(self.full_w, self.waking_w, strict=True)]
        asleep = []
        down = sum(max(falling, sleep) for falling, sleep in zip(self.falling_w, self.asleep_w, strict=True))
        for machine in range(self.count):
            other = max(self.falling_w[machine], self.asleep_w[machine])
            if self.sleep_state[machine] < 0 or down + most[machine] - other <= left:
                down += most[machine] - other
            elif view.activity(machine) == "awake":
                asleep.append(machine)
        if down > left:
            raise InputError(
                f"power_cap is {self.cap_w:g} W, and the machines draw up to {down + self.beside_w:g} W while they "
                "fall asleep; allow as much"
            )
        yield from _orders(asleep, self.sleep_state)

    def _slower(self, view: View) -> Iterator[Decision]:
        """All machines in the fastest of their states in which they cannot draw too much."""
        machines = view.powers[: self.count]
        shared = sorted(set.intersection(*(set(power.computes) for power in machines)))
        draws = {state: self.beside_w + sum(power.states[state].full for power in machines) for state in shared}
        fitting = [state for state in shared if draws[state] <= self.cap_w]
        if not fitting:
            least = min(draws.values(), default=math.inf)
            raise InputError(
                f"power_cap is {self.cap_w:g} W; no machine can sleep, and all together draw up to {least:g} W: allow "
                "as much, or give hosts states to sleep in (sleep_pstates) or to compute in more slowly"
            )
        best = max(fitting, key=lambda state: draws[state])
        self.compute_state = [best] * self.count
        wrong = [machine for machine in range(self.count) if view.pstate(machine) != best]
        yield from _orders(wrong, self.compute_state)

    def to_wake(self, view: View) -> list[int]:
        """Sleeping machines that wake now: as many as jobs that wait ask for, as far as the limit allows."""
        asleep = view.machines_that_are("asleep")
        if not asleep:
            return []
        switching = view.machines_that_are("switching")
        waking = [machine for machine in switching if view.pstate(machine) not in self.falls[machine]]
        there = view.free_cores + sum(self.cores[machine] for machine in waking)
        room = there + sum(self.cores[machine] for machine in asleep)
        asked = 0.0
        for job in view.queue:
            asked += job.cores
            if asked >= room:
                break
        lacks = asked - there
        if lacks <= 0.0 and not waking and not view.fits(view.queue[0]):
            lacks = 1.0  # what is free is not where it is needed
        chosen: list[int] = []
        draws = self._most_now(asleep, waking, set(switching))
        for machine in asleep:
            more = max(self.full_w[machine], self.waking_w[machine]) - self.asleep_w[machine]
            if lacks > 0.0 and draws + more <= self.cap_w:
                chosen.append(machine)
                lacks -= self.cores[machine]
                draws += more
        return chosen

    def _most_now(self, asleep: list[int], waking: list[int], switching: set[int]) -> float:
        """What machines can draw at the most, as they are."""
        if self.cap_w == math.inf:
            return 0.0
        draws = self.beside_w + sum(self.full_w)
        draws += sum(self.asleep_w[machine] - self.full_w[machine] for machine in asleep)
        draws += sum(max(self.waking_w[machine] - self.full_w[machine], 0.0) for machine in waking)
        falling = switching.difference(waking)
        return draws + sum(
            max(self.falling_w[machine], self.asleep_w[machine]) - self.full_w[machine] for machine in falling
        )


def _deepest(power: HostPower) -> int:
    """The state of sleep that draws least; -1 where there is none."""
    return min(power.sleeps, key=lambda state: power.states[state].idle, default=-1)


def _watts(power: HostPower, sleep: int, kind: str) -> float:
    if sleep < 0:
        return 0.0
    off, on = power.sleeps[sleep]
    return {"asleep": power.states[sleep].idle, "falling": power.states[off].full, "waking": power.states[on].full}[
        kind
    ]


def _orders(machines: Iterable[int], states: list[int]) -> Iterator[Decision]:
    """One order for all machines that go to the same state."""
    by_state: dict[int, list[int]] = {}
    for machine in machines:
        by_state.setdefault(states[machine], []).append(machine)
    for state, group in sorted(by_state.items()):
        yield SetPstate(group, state)
