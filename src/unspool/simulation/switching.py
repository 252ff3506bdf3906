"""States of machines that have several: speeds, sleep, and what it takes to switch; who sleeps takes no jobs.

Rules: `spec/batsim.md` B4.10. From a state that computes to another takes no time, also while jobs run; to fall asleep
and to wake take the time of one flop in the state that stands for it, at the full power of that state.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unspool.engine.energy import Course, Gauge, Switch
from unspool.engine.kernel.state import Array
from unspool.engine.network.activities import set_speed
from unspool.engine.place.machines import give_machine
from unspool.engine.programs.host_load import meter_on
from unspool.engine.programs.records import LOAD
from unspool.errors import DecisionError, InputError
from unspool.model.power import power_of
from unspool.policies.base import Decision, SetPstate

if TYPE_CHECKING:
    from unspool.simulation.engine import Engine

__all__ = ["Switchboard", "Switched"]


@dataclass(frozen=True)
class Switched(Decision):
    """Some machines of an order have arrived in the state that they were to go to."""

    order: int
    machines: tuple[int, ...]
    pstate: int


class Switchboard:
    """Knows the state of each machine, switches them, and keeps what was ordered; `orders` counts."""

    def __init__(self, engine: Engine) -> None:
        platform, place = engine.platform, engine.place
        if platform.network is None or place is None:
            raise InputError(
                f"{platform.name}: energy needs machines with watts; give SimGrid's XML with wattage_per_state, or "
                "YAML with power"
            )
        self.hosts = tuple(host for host in platform.network.hosts if host.role != "master")
        self.powers = tuple(power_of(host) for host in self.hosts)
        self.first = tuple(host.state for host in self.hosts)
        self.pstates = list(self.first)
        self.switches: list[Switch] = []
        self.orders = 0
        self.arrived: list[tuple[float, tuple[int, ...], int]] = []  # whole orders that are done: when, who, where
        self.capacity = place.free.copy(order="K")
        self._under_way: dict[int, set[int]] = {}  # machines that still switch, by order,
        self._moving: set[int] = set()  # and all of them
        self._machines_of: dict[int, tuple[int, ...]] = {}
        self._asleep: set[int] = set()
        self._gauge: Gauge | None = None
        self._computes: Array | None = None
        if engine.state.fluid is not None:  # else what jobs compute is known from when they ran
            engine.state = engine.state._replace(meter=meter_on(len(self.hosts)))
        for machine in range(len(place.machines)):
            if self.pstates[machine] in self.powers[machine].switches:
                raise InputError(f"host '{self.hosts[machine].name}' begins in a state that only stands for switching")
            if self.pstates[machine] in self.powers[machine].sleeps:
                self._asleep.add(machine)
                self._close(engine, machine)
        engine.core.course[0]["dirty"] = 0  # nothing has happened yet

    def fork(self) -> Switchboard:
        """One that goes its own way from here."""
        twin = copy.copy(self)
        twin.pstates, twin.switches, twin.arrived = list(self.pstates), list(self.switches), list(self.arrived)
        twin._under_way = {order: set(machines) for order, machines in self._under_way.items()}
        twin._moving, twin._asleep = set(self._moving), set(self._asleep)
        twin._machines_of = dict(self._machines_of)
        twin._gauge = None
        return twin

    def is_asleep(self, machine: int) -> bool:
        """Whether a machine is in a state of sleep."""
        return machine in self._asleep

    def is_switching(self, machine: int) -> bool:
        """Whether a machine is on the way to another state."""
        return machine in self._moving

    def machines(self, engine: Engine, activity: str) -> list[int]:
        """Machines that are asleep or switching, or idle: awake, not down, and without jobs."""
        if activity != "idle":
            return sorted(self._asleep if activity == "asleep" else self._moving)
        assert engine.place is not None
        empty = np.flatnonzero((engine.place.free >= self.capacity).all(axis=1)).tolist()
        return [at for at in empty if at not in self._moving and at not in self._asleep]

    def course(self, engine: Engine) -> Course:
        """All that decides what machines drew so far."""
        meter, place = engine.state.meter, engine.place
        assert place is not None
        loads = np.zeros(0, LOAD) if meter is None else meter.loads[: int(meter.rule[0]["rows"])]
        if self._computes is None or len(self._computes) != len(engine.used):  # jobs may join
            self._computes = _who_computes(engine)
        return Course(
            self.hosts, self.powers, self.first, self.switches, loads,
            engine.attempts, place.rows, np.where(self._computes, place.shapes["cores"][engine.core.jobs["shape"]], 0),
            self.capacity[:, 0],
        )  # fmt: skip

    def energy(self, engine: Engine) -> float:
        """Joules of all machines from 0 until now."""
        if self._gauge is None:
            self._gauge = Gauge(self.course(engine))
        return self._gauge.read(self.course(engine), engine.now)

    # Orders.

    def order(self, engine: Engine, decision: SetPstate) -> None:
        """Carry out what a policy wants of some machines; all of it is checked first."""
        machines = tuple(dict.fromkeys(_listed(decision)))
        busy = _busy(engine)
        for machine in machines:
            self._check(busy, machine, decision, engine.now)
        self.orders += 1
        self._moving |= set(machines)
        arriving: dict[float, list[int]] = {}
        self._machines_of[self.orders] = machines
        self._under_way[self.orders] = set(machines)
        for machine in machines:
            arriving.setdefault(engine.now + self._begin(engine, machine, decision.pstate), []).append(machine)
        for time, group in sorted(arriving.items()):
            done = Switched(self.orders, tuple(group), decision.pstate)
            if time <= engine.now:
                self.arrive(engine, done)
            else:
                engine.defer(time, [done])

    def _begin(self, engine: Engine, machine: int, pstate: int) -> float:
        """A machine leaves its state; returns how long it takes to arrive in another."""
        was, power = self.pstates[machine], self.powers[machine]
        via = pstate
        if pstate in power.sleeps and was not in power.sleeps:
            via = power.sleeps[pstate][0]
            self._close(engine, machine)
        elif was in power.sleeps:
            via = power.sleeps[was][1]
        takes = 0.0 if via == pstate else 1.0 / self.hosts[machine].speeds[via]
        self.pstates[machine] = via
        self._asleep.discard(machine)
        now, started = engine.now, len(engine.attempts)
        self.switches.append(Switch(self.orders, machine, now, now + takes, was, via, pstate, started))
        return takes

    def arrive(self, engine: Engine, done: Switched) -> None:
        """Machines are in their new state; those that woke take jobs again."""
        waiting = self._under_way[done.order]
        for machine in done.machines:
            power = self.powers[machine]
            was_awake = self.pstates[machine] in power.computes
            self.pstates[machine] = done.pstate
            if done.pstate in power.sleeps:
                self._asleep.add(machine)
            waiting.discard(machine)
            self._moving.discard(machine)
            if done.pstate not in power.sleeps:
                if engine.state.fluid is not None:
                    set_speed(engine.state.fluid.sharing, machine, self.hosts[machine].speeds[done.pstate])
                if not was_awake:
                    self._open(engine, machine)
        engine.core.course[0]["dirty"] = 1
        if not waiting:
            del self._under_way[done.order]
            self.arrived.append((engine.now, self._machines_of.pop(done.order), done.pstate))

    def _check(self, busy: Array, machine: int, decision: SetPstate, now: float) -> None:
        told = f"SetPstate({machine}, {decision.pstate}) at {now:g} s"
        if not 0 <= machine < len(busy):
            raise DecisionError(f"{told}: there is no machine {machine}")
        power, target = self.powers[machine], decision.pstate
        if not isinstance(target, int) or not 0 <= target < len(power.states):
            raise DecisionError(f"{told}: the machine has the states 0 to {len(power.states) - 1}")
        if target in power.switches:
            raise DecisionError(f"{told}: that state only stands for switching; name a state to compute or sleep in")
        if self.is_switching(machine):
            raise DecisionError(f"{told}: the machine is switching already")
        if target in power.sleeps:
            if self.is_asleep(machine):
                raise DecisionError(f"{told}: the machine sleeps already")
            if busy[machine]:
                raise DecisionError(f"{told}: jobs run on the machine, and it cannot fall asleep")

    # Room for jobs. A machine may also be down, which counts in the same way.

    def _close(self, engine: Engine, machine: int) -> None:
        outage, place = engine.state.outage, engine.place
        assert place is not None
        if outage is not None:
            outage.down[machine] += 1
            if outage.down[machine] > 1:
                return
        give_machine(engine.core, place, self.capacity, machine, 0.0)

    def _open(self, engine: Engine, machine: int) -> None:
        outage, place = engine.state.outage, engine.place
        assert place is not None
        if outage is not None:
            outage.down[machine] -= 1
            if outage.down[machine] > 0:
                return
        give_machine(engine.core, place, self.capacity, machine, 1.0)


def _listed(decision: SetPstate) -> Iterable[int]:
    return (decision.machines,) if isinstance(decision.machines, int) else decision.machines


def _busy(engine: Engine) -> Array:
    """Which machines have jobs."""
    place, core = engine.place, engine.core
    assert place is not None
    busy = np.zeros(len(place.machines), bool)
    for job in core.running["job"][: int(core.course[0]["running"])].tolist():
        attempt = core.attempts[int(core.fate[job]["attempt"])]
        first = int(attempt["first_row"])
        for row in place.rows[first : first + int(attempt["row_count"])]:
            busy[int(row["first"]) : int(row["last"]) + 1] = True
    return busy


def _who_computes(engine: Engine) -> Array:
    """Jobs that keep their cores busy all the time that they run: those of logs, and not those with profiles.

    What profiles compute is written down while they run; a delay computes nothing.
    """
    profiles = engine.workload.profiles
    if not profiles:
        return np.ones(len(engine.used), bool)
    has_profile = engine.workload.column("profile").is_not_null().to_numpy()[engine.used]
    return ~np.asarray(has_profile, bool)
