"""Batsim's event files: one JSON object a line, of machines that come and go, and of what only a scheduler knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from unspool.errors import InputError, InputErrors, UnknownName, shown
from unspool.workloads.batsim_fields import is_number, told
from unspool.workloads.files import AnyPath, read_text
from unspool.workloads.intervals import parse_intervals

__all__ = ["MACHINE_EVENTS", "ExternalEvent", "read_events"]

MACHINE_EVENTS = ("machine_available", "machine_unavailable")
"""The events that concern machines, in the order in which those of one instant happen."""


@dataclass(frozen=True)
class ExternalEvent:
    """Something that happens whatever the scheduler decides: its time, its kind, its machines, and all its fields."""

    time: float
    kind: str
    machines: tuple[int, ...]
    fields: dict[str, Any]

    @property
    def is_of_machines(self) -> bool:
        """Whether machines come or go; else the scheduler is only told of it."""
        return self.kind in MACHINE_EVENTS


def read_events(*paths: AnyPath, forward_unknown: bool = False) -> list[ExternalEvent]:
    """The events of several files by (time, kind), those of one time and kind as they stand in the files.

    A type other than those of machines is refused, unless `forward_unknown`: then the scheduler is told of it.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "events.txt")
    ...     _ = file.write_text('{"type": "machine_unavailable", "resources": "0-1 3", "timestamp": 20}')
    ...     read_events(file)[0].machines
    (0, 1, 3)
    """
    events: list[ExternalEvent] = []
    for path in paths:
        events += _of_file(path, forward_unknown)
    return sorted(events, key=lambda event: (event.time, event.kind))


def _of_file(path: AnyPath, forward_unknown: bool) -> list[ExternalEvent]:
    try:
        lines = read_text(path).decode().splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: binary data; expected one JSON object a line") from error
    events: list[ExternalEvent] = []
    problems: list[str] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            found = _event(line, forward_unknown)
            if isinstance(found, str):
                problems.append(f"line {number}: {found}")
            else:
                events.append(found)
    if len(problems) == 1:
        raise InputError(f"{path}, {problems[0]}")
    if problems:
        raise InputErrors(f"{path}: {len(problems):,} problems", problems)
    return events


def _event(line: str, forward_unknown: bool) -> ExternalEvent | str:
    """The event of a line, or what is wrong with it."""
    try:
        fields = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        return f"is not JSON ({shown(str(error), 120)}); expected one object a line"
    if not isinstance(fields, dict):
        return f"is {told(fields)}; expected an object"
    kind, time = fields.get("type"), fields.get("timestamp")
    if not isinstance(kind, str):
        what = f"type is {told(kind)}" if "type" in fields else "no type"
        return f"{what}; expected a text such as machine_unavailable"
    if not is_number(time) or not 0 <= time <= 1e300:
        what = f"timestamp is {told(time)}" if "timestamp" in fields else "no timestamp"
        return f"{what}; expected seconds, 0 or more"
    if kind not in MACHINE_EVENTS:
        if forward_unknown:
            return ExternalEvent(float(time), kind, (), fields)
        return f"{UnknownName('type of event', kind, MACHINE_EVENTS)}; or let others pass with --forward-unknown-events"
    resources = fields.get("resources")
    if not isinstance(resources, str):
        what = f"resources is {told(resources)}" if "resources" in fields else "no resources"
        return f"{what}; expected ids of machines such as 0-3 7"
    try:
        machines = parse_intervals(resources)
    except InputError as error:
        return f"resources: {error}"
    if not machines:
        return "resources is empty; expected ids of machines such as 0-3 7"
    return ExternalEvent(float(time), kind, machines, fields)
