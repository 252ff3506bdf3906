"""Carrying out what a policy decided: each kind is checked when it is applied, and a violation names the decision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any

from unspool.engine.jobs.journal import reject_waiting, release_dependents
from unspool.engine.jobs.starts import start_by_count, start_on_picked
from unspool.engine.kernel.state import KILLED, QUEUED, RUNNING, Place
from unspool.engine.leave import make_leave
from unspool.engine.place.selection import pick
from unspool.errors import DecisionError
from unspool.policies.base import Annotate, Decision, Kill, Reject, SetPstate, Start, Tell, WakeAt
from unspool.policies.view import Job
from unspool.simulation.executors import may_differ, seat_executors, tell
from unspool.simulation.switching import Switched
from unspool.units import counted

if TYPE_CHECKING:
    from unspool.simulation.engine import Engine

__all__ = ["carry_out"]


def carry_out(engine: Engine, decision: Decision) -> None:
    """Do at once what a decision says."""
    if isinstance(decision, Switched):  # which the engine puts off for itself
        _switched(engine, decision)
        return
    by_kind = _BY_KIND.get(type(decision))
    if by_kind is None:
        raise DecisionError(
            f"{decision!r} is not a decision; expected Start, Reject, Kill, WakeAt, SetPstate, Tell or Annotate"
        )
    by_kind(engine, decision)


def _start(engine: Engine, decision: Start) -> None:
    job = _job(engine, decision, QUEUED, "is not waiting")
    engine.make_room()
    core, place = engine.core, engine.place
    if place is None:
        if decision.machines is not None:
            raise DecisionError(f"{_name(decision)}: a pool has no machines to choose from")
        size, free = int(core.jobs[job]["size"]), int(core.course[0]["free"])
        if size > free:
            raise DecisionError(f"{_name(decision)} {_when(engine)}: it needs {counted(size, 'core')}, {free} are free")
        start_by_count(core, place, job)
        return
    if decision.machines is not None:
        _pick_named(engine, place, job, decision)
    elif not pick(core, place, job):
        raise DecisionError(f"{_name(decision)} {_when(engine)}: no machines have room for it")
    seat_executors(engine, job, decision)
    start_on_picked(core, place, job)


def _pick_named(engine: Engine, place: Place, job: int, decision: Start) -> None:
    """Check the machines that a policy named, and write them into `picked`."""
    shape = int(engine.core.jobs[job]["shape"])
    units = int(place.shapes[shape]["units"])
    named = _named(decision)
    for machine in named:
        if not 0 <= machine < len(place.machines):
            raise DecisionError(f"{_name(decision)}: there is no machine {machine}")
    if isinstance(named, Mapping):
        units_on = dict(named)
    else:
        units_on, left = {}, len(named) if may_differ(engine, job, decision) else units
        for machine in named:
            units_on[machine] = min(left, _fit(place, machine, shape))
            left -= units_on[machine]
    for machine, given in units_on.items():
        fit = _fit(place, machine, shape)
        if not 1 <= given <= fit:
            raise DecisionError(f"{_name(decision)} {_when(engine)}: {given} units on machine {machine}: {fit} fit")
    if sum(units_on.values()) != units and not may_differ(engine, job, decision):
        raise DecisionError(f"{_name(decision)}: {sum(units_on.values())} units placed; the job has {units}")
    parts = {int(place.machines[machine]["domain"]) for machine in units_on}
    if place.shapes[shape]["local"] and len(parts) > 1:
        raise DecisionError(
            f"{_name(decision)}: its machines are in {len(parts)} parts of the network; its partition allows one"
        )
    licences = place.licence_need[shape] > place.licence
    if licences.any():
        raise DecisionError(f"{_name(decision)} {_when(engine)}: the licences that it takes are not free")
    rows: list[tuple[int, int, int]] = []
    for machine, given in sorted(units_on.items()):
        if rows and rows[-1][1:] == (machine - 1, given):
            rows[-1] = (rows[-1][0], machine, given)
        else:
            rows.append((machine, machine, given))
    place.picked[: len(rows)] = rows
    engine.core.course[0]["picked"] = len(rows)


def _named(decision: Start) -> Mapping[int, int] | list[int]:
    """The machines of a decision, which are numbers, none of them twice; or their units, which are numbers too."""
    given: Any = decision.machines
    named = given if isinstance(given, Mapping) else list(given) if isinstance(given, Iterable) else [given]
    numbers = [*named, *named.values()] if isinstance(named, Mapping) else named
    for number in numbers:
        if not isinstance(number, Integral):
            raise DecisionError(f"{_name(decision)}: {number!r} is no machine or unit; expected whole numbers")
    if len(set(named)) < len(named):
        twice = next(machine for at, machine in enumerate(named) if machine in list(named)[:at])
        raise DecisionError(
            f"{_name(decision)}: machine {twice} is named twice; to put several units on it, give {{machine: units}}"
        )
    return named


def _fit(place: Place, machine: int, shape: int) -> int:
    """How many units of a shape fit on a machine now."""
    if not place.allowed[place.shapes[shape]["partition"], place.machines[machine]["group"]]:
        return 0
    need, free = place.need[shape].tolist(), place.free[machine].tolist()
    most = int(min(have // amount for have, amount in zip(free, need, strict=True) if amount > 0.0))
    return min(most, 1) if place.shapes[shape]["distinct"] else most


def _reject(engine: Engine, decision: Reject) -> None:
    job = _job(engine, decision, QUEUED, "is not waiting")
    reject_waiting(engine.core, job)
    engine.turn_away(job, decision.reason)
    release_dependents(engine.core, engine.state.links, job)


def _kill(engine: Engine, decision: Kill) -> None:
    job = _job(engine, decision, RUNNING, "is not running")
    make_leave(engine.state, job, KILLED)


def _tell(engine: Engine, decision: Tell) -> None:
    tell(engine, _job(engine, decision, RUNNING, "is not running"), decision.text)


def _wake(engine: Engine, decision: WakeAt) -> None:
    if not decision.time > engine.now:
        raise DecisionError(f"WakeAt({decision.time:g}) {_when(engine)}: the time must be later than now")
    engine.wake_at(decision.time)


def _annotate(engine: Engine, decision: Annotate) -> None:
    job = engine.index_of(decision.job, _name(decision))
    engine.annotations.setdefault(engine.id_of(job), []).append(decision.text)


def _set_pstate(engine: Engine, decision: SetPstate) -> None:
    if engine.power is None:
        raise DecisionError(f"{decision!r}: machines have states only where energy is asked for (--energy)")
    engine.power.order(engine, decision)


def _switched(engine: Engine, decision: Switched) -> None:
    assert engine.power is not None
    engine.power.arrive(engine, decision)


def _job(engine: Engine, decision: Start | Reject | Kill | Tell, state: int, otherwise: str) -> int:
    job = engine.index_of(decision.job, _name(decision))
    if engine.core.fate[job]["state"] != state:
        raise DecisionError(f"{_name(decision)} {_when(engine)}: the job {otherwise}")
    return job


def _when(engine: Engine) -> str:
    return f"at {engine.now:g} s" if engine.now > float("-inf") else "before the first advance()"


def _name(decision: Any) -> str:
    job = decision.job
    return f"{type(decision).__name__}({job.id if isinstance(job, Job) else job!r})"


_BY_KIND: dict[type[Decision], Callable[[Engine, Any], None]] = {
    Start: _start,
    Reject: _reject,
    Kill: _kill,
    Tell: _tell,
    WakeAt: _wake,
    SetPstate: _set_pstate,
    Annotate: _annotate,
}
