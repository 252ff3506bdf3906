"""Machines that Batsim's event files make unavailable: running jobs go on there, and new ones do not start."""

from __future__ import annotations

import math
from collections.abc import Iterable

from unspool.errors import InputError
from unspool.model.outages import Outage, Outages
from unspool.workloads.batsim_events import ExternalEvent

__all__ = ["closures_of"]


def closures_of(events: Iterable[ExternalEvent], machines: int) -> Outages:
    """From when to when machines are closed to new jobs; to the end where no event opens them again.

    >>> closed, opened = "machine_unavailable", "machine_available"
    >>> events = [ExternalEvent(20.0, closed, (0,), {}), ExternalEvent(50.0, opened, (0,), {})]
    >>> [(each.machine, each.down_time, each.up_time) for each in closures_of(events, 4).listed]
    [(0, 20.0, 50.0)]
    """
    since: dict[int, float] = {}
    listed: list[Outage] = []
    for event in events:
        if not event.is_of_machines:
            continue
        for machine in event.machines:
            if machine >= machines:
                raise InputError(f"{_told(event, machine)}, but there are {machines} machines, from 0 on")
            if event.kind == "machine_unavailable":
                if machine in since:
                    raise InputError(f"{_told(event, machine)}, but it is unavailable already")
                since[machine] = event.time
            elif machine not in since:
                raise InputError(f"{_told(event, machine)}, but it is available already")
            else:
                listed.append(Outage(machine, since.pop(machine), event.time, "event"))
    listed += [Outage(machine, time, math.inf, "event") for machine, time in since.items()]
    return Outages(tuple(listed), name="events")


def _told(event: ExternalEvent, machine: int) -> str:
    return f"event at {event.time:g} s: {event.kind} of machine {machine}"
