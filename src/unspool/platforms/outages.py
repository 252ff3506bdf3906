"""Outages from a file, or from a text that says how they are drawn."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator

from unspool.errors import InputError, UnitError, shown
from unspool.model.outages import Failures, Outage, Outages
from unspool.model.platform import Platform
from unspool.units import parse_duration
from unspool.workloads.files import read_text

__all__ = ["read_outages"]

_MOST_DIGITS = 18  # of the id of a machine; Python refuses to read thousands
_NEEDED = ("machine", "down_time", "up_time")


def read_outages(given: str | os.PathLike[str], platform: Platform) -> Outages:
    """Outages as `mtbf=30d,repair=4h,shape=0.7`, or from a CSV file with `machine,down_time,up_time[,cause]`.

    A machine is an id, a range of ids (`0-15`), a type of the platform, or `all`. Times are seconds since the log's
    origin, or durations (`2d 4h`).
    """
    if platform.is_pool:
        raise InputError("a pool has no machines that could be lost; describe them, as in -p 480x1")
    text = os.fspath(given)
    if "=" in text and not os.path.exists(text):
        return Outages(failures=Failures.parse(text), name=text)
    try:
        return Outages(listed=tuple(_rows(text, platform)), name=os.path.basename(text))
    except csv.Error as error:
        raise InputError(f"{text}: not valid CSV: {error}") from error


def _rows(path: str, platform: Platform) -> Iterator[Outage]:
    try:
        lines = read_text(path, None).decode().splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: binary data; expected CSV with {', '.join(_NEEDED)}") from error
    reader = csv.DictReader(lines, skipinitialspace=True)
    missing = [name for name in _NEEDED if name not in (reader.fieldnames or ())]
    if missing:
        raise InputError(f"{path}, line 1: no column {missing[0]}; expected {', '.join(_NEEDED)} and perhaps cause")
    for row in reader:
        where = f"{path}, line {reader.line_num}"
        try:
            down, up = parse_duration(row["down_time"] or ""), parse_duration(row["up_time"] or "")
        except UnitError as error:
            raise InputError(f"{where}: {error}") from error
        if not up > down:
            raise InputError(f"{where}: up at {up:g} s, down at {down:g} s; expected up after down")
        for machine in _machines(row["machine"] or "", platform, where):
            yield Outage(machine, down, up, (row.get("cause") or "").strip() or "outage")


def _machines(text: str, platform: Platform, where: str) -> range:
    first = platform.first_ids()
    for at, group in enumerate(platform.groups):
        if group.machine.name == text:
            return range(first[at], first[at + 1])
    if text == "all":
        return range(platform.machine_count)
    low, dash, high = text.partition("-")
    if not low.isdecimal() or (dash and not high.isdecimal()):
        raise InputError(f"{where}: machine is '{shown(text)}'; expected an id, a range such as 0-15, a type, or all")
    is_far = max(len(low), len(high)) > _MOST_DIGITS
    machines = range(0) if is_far else range(int(low), int(high if dash else low) + 1)
    if not machines or machines[-1] >= platform.machine_count:
        raise InputError(f"{where}: machine {shown(text)}: the platform has machines 0 to {platform.machine_count - 1}")
    return machines
