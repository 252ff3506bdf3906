"""A copy of a state: input is shared, what happened is copied, and of arrays with room to grow only what is used."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from unspool.engine.jobs.queue import list_waiting
from unspool.engine.kernel.state import (
    Array,
    Core,
    Elastic,
    Fluid,
    Guess,
    Later,
    Links,
    Meter,
    Mpi,
    Order,
    Outage,
    Place,
    Plan,
    Routes,
    Sharing,
    State,
)

__all__ = ["copied"]

T = TypeVar("T", Core, Later, Plan, Place, Links, Order, Guess, Outage, Elastic, Sharing, Routes, Mpi, Meter)

_INPUT = {
    Core: ("jobs",),
    Place: ("least", "need", "allowed", "licence_need"),
    Later: (),
    Plan: (),
    Links: ("links", "dependents"),
    Order: ("rule", "fixed", "user"),
    Guess: ("rule", "user"),
    Outage: ("rule", "changes", "capacity"),
    Elastic: ("by_price", "room", "packed"),
    Fluid: ("programs", "members", "amounts", "program_of"),
    Sharing: (),
    Mpi: ("traces", "scripts", "actions", "lists", "mapped", "places", "trace_of"),
    Routes: ("group", "leaving", "arriving", "itself", "between", "links"),
    Meter: (),
}
# Arrays that are filled from the front, by the field of the course that counts what is in them.
_FILLED = ("attempts", "rows")
_SPARE = 1 << 12  # records of room in a copy; `grow` makes more where a run needs it


def copied(state: State) -> State:
    """A state that goes its own way from here. Where machines are lost, checkpoints change the run times of jobs."""
    return State(
        _part(state.core, state),
        None if state.place is None else _part(state.place, state),
        None if state.later is None else _part(state.later, state),
        None if state.shadow is None else state.shadow.copy(),
        None if state.plan is None else _part(state.plan, state),
        None if state.links is None else _part(state.links, state),
        None if state.order is None else _part(state.order, state),
        None if state.guess is None else _part(state.guess, state),
        None if state.outage is None else _part(state.outage, state),
        None if state.elastic is None else _part(state.elastic, state),
        None if state.fluid is None else _fluid(state.fluid, state),
        None if state.meter is None else _part(state.meter, state),
    )


def _fluid(fluid: Fluid, state: State) -> Fluid:
    own = [name for name in fluid._fields if name not in ("sharing", "routes", "mpi", *_INPUT[Fluid])]
    fluid = fluid._replace(**{name: getattr(fluid, name).copy() for name in own})
    mpi = None if fluid.mpi is None else _part(fluid.mpi, state)
    return fluid._replace(sharing=_part(fluid.sharing, state), routes=_part(fluid.routes, state), mpi=mpi)


def _part(part: T, state: State) -> T:
    course = state.core.course[0]
    may_shorten = state.outage is not None or state.elastic is not None  # run times, by what checkpoints keep
    fields = {}
    for name in part._fields:
        array = getattr(part, name)
        if array is None or (name in _INPUT[type(part)] and not (name == "jobs" and may_shorten)):
            fields[name] = array
        elif isinstance(part, Core | Place) and name in _FILLED:
            fields[name] = _front(array, int(course[name]))
        elif name == "waiting":
            fields[name] = _used_slots(state.core)
        else:
            fields[name] = array.copy(order="K")
    return part._replace(**fields)


def _front(array: Array, used: int) -> Array:
    """What is used, and some room. As bytes, because NumPy copies records field by field."""
    front = np.empty(min(used + _SPARE + used // 8, len(array)), array.dtype)
    _as_bytes(front, 0, used)[:] = _as_bytes(array, 0, used)
    return front


def _used_slots(core: Core) -> Array:
    """The slots of the queue from the first to the last that is in use; what is in others is never read."""
    slots = np.zeros_like(core.waiting)
    count = int(core.course[0]["queued"])
    if count:
        jobs = np.empty(count, np.int64)
        first = int(core.course[0]["first"])
        list_waiting(core, first, jobs)
        last = int(core.fate["slot"][jobs[-1]])
        _as_bytes(slots, first, last + 1)[:] = _as_bytes(core.waiting, first, last + 1)
    return slots


def _as_bytes(array: Array, first: int, end: int) -> Array:
    return array.view(np.uint8)[first * array.itemsize : end * array.itemsize]
