"""Altair Accelerator (NetworkComputer): what `vovsql_query` prints of its jobs, ten values a line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import polars as pl

from unspool.errors import InputError, shown
from unspool.limits import refuse_beyond
from unspool.model.workload import Workload, rejected_table
from unspool.units import counted
from unspool.workloads.accounting import RECORD, workload_of_records
from unspool.workloads.encoding import as_utf8, latin_notes
from unspool.workloads.files import AnyPath, read_blocks
from unspool.workloads.jobcells import GIB

__all__ = ["read_accelerator", "recognises"]

_FIELDS = (
    *("id", "submittime", "starttime", "endtime", "resources", "exitstatus"),
    *("maxram", "maxvm", "cputime", "susptime"),
)
_MIB = 1 << 20
_HEADROOM = 1.1  # what a job asks for if it does not say: so many times what it used
_FIELD = re.compile(r"\{((?:[^{}]|\{[^{}]*\})*)\}(?=\s|$)|([^\s{}]+)")
_CORES = re.compile(r"(?<![A-Za-z0-9_])CORES/([0-9]{1,15})")
_RAM = re.compile(r"(?<![A-Za-z0-9_])RAM/([0-9]{1,15}(?:\.[0-9]+)?)")
_LATEST_S = 1e11
_BEYOND_BYTES = 1.5 * 2.0**62  # more than a record may ask for, and still an int64
_SCHEMA = {**RECORD, "status": pl.Int64(), "cpu_time": pl.Float64(), "used_memory_bytes": pl.Int64()}
# Notes of one job and of several.
_NEVER_RAN = ("job never ran (neither start nor end): left out", "jobs never ran (neither start nor end): left out")
_MEMORY_USED = (
    "job asks for no memory (no RAM/): 1.1 times what it used is taken",
    "jobs ask for no memory (no RAM/): 1.1 times what they used is taken",
)


def recognises(start: bytes) -> bool:
    """Whether a file that begins so is such an output: ten values a line, text with blanks in braces.

    >>> recognises(b"7 1646000000 1646000060 1646000120 {CORES/2 RAM/512} 0 100 120 55.5 0\\n")
    True
    """
    if b"\0" in start:
        return False
    for line in start.decode(errors="replace").splitlines():
        if line.strip() and not line.startswith("#"):
            values = _split(line)
            return len(values) == len(_FIELDS) and all(
                _number(value) is not None for at, value in enumerate(values) if _FIELDS[at] != "resources"
            )
    return False


def read_accelerator(path: AnyPath, *, default_memory_gib: float = 0.0) -> Workload:
    """The jobs of a query of Accelerator's database (docs/reference/accelerator.md has its text).

    Cores are those after `CORES/`, else 1; memory is that after `RAM/` in MB, else 1.1 times what was used, at least
    `default_memory_gib`.
    """
    if (
        isinstance(default_memory_gib, bool)
        or not isinstance(default_memory_gib, int | float)
        or default_memory_gib < 0
    ):
        raise InputError(f"default_memory_gib is {default_memory_gib}; expected GiB, 0 or more")
    rows: list[tuple[object, ...]] = []
    bad: list[tuple[int | None, str | None, str]] = []
    counts: Counter[tuple[str, str]] = Counter()
    latin: list[int] = []
    for line, text in _lines(path, latin):
        values = _split(text)
        reason = _misfit(text, values)
        if reason:
            bad.append((line, shown(values[0]) if values else None, reason))
            refuse_beyond(len(bad), "rejected", str(path))
        elif float(values[2]) <= 0 and float(values[3]) <= 0:
            counts[_NEVER_RAN] += 1
        else:
            rows.append(_row(line, values, default_memory_gib, counts))
    notes = [*latin_notes(sum(latin)), *(counted(count, *what) for what, count in counts.items())]
    if not rows and not bad:
        told = f" ({counted(counts[_NEVER_RAN], *_NEVER_RAN)})" if counts else ""
        raise InputError(f"{path}: no job{told}; expected lines of {len(_FIELDS)} values")
    return workload_of_records(pl.DataFrame(rows, _SCHEMA, orient="row"), path, rejected_table(bad), notes)


def _lines(path: AnyPath, latin: list[int]) -> Iterator[tuple[int, str]]:
    """The lines with their numbers, but for blank ones and comments; adds to `latin` how many were no UTF-8."""
    number = 0
    for block in read_blocks(path):
        text, count = as_utf8(block)
        latin.append(count)
        for line in text.decode().removesuffix("\n").split("\n"):
            number += 1
            if line.strip() and not line.startswith("#"):
                yield number, line


def _split(line: str) -> list[str]:
    return [braced or plain for braced, plain in _FIELD.findall(line)]


def _misfit(line: str, values: list[str]) -> str | None:
    """Why a line makes no record, if it does not."""
    if line.count("{") != line.count("}"):
        return "a brace that does not close; expected text with blanks in { }"
    if len(values) != len(_FIELDS):
        return f"{counted(len(values), 'value')}; expected {len(_FIELDS)}: {', '.join(_FIELDS)}"
    for name, value in zip(_FIELDS, values, strict=True):
        if name not in ("id", "resources") and _number(value) is None:
            return f"{name} is '{shown(value, 40)}'; expected a number"
    return None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < _LATEST_S else None


def _row(
    line: int, values: list[str], default_memory_gib: float, counts: Counter[tuple[str, str]]
) -> tuple[object, ...]:
    """The values in the columns of `_SCHEMA`."""
    submit, start, end = (round(max(float(value), 0.0) * 1e6) or None for value in values[1:4])
    exit_status, ram_mib, _, cpu_s, _ = map(float, values[5:])
    cores, ram = _CORES.search(values[4]), _RAM.search(values[4])
    slots = int(cores[1]) if cores else 1
    if ram is None:
        counts[_MEMORY_USED] += 1
        gib = max(default_memory_gib, round(_HEADROOM * max(ram_mib, 0.0) / 1024, 3))
    else:
        gib = float(ram[1]) / 1024
    return (
        *(line, values[0], slots, 1, round(min(gib * GIB, _BEYOND_BYTES)) or None),
        *(submit, None, start, end, None, None, None),
        int(exit_status == 0),
        cpu_s / slots if cpu_s >= 0 and slots else None,
        round(ram_mib * _MIB / slots) if ram_mib > 0 and slots else None,
    )
