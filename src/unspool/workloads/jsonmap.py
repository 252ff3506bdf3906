"""JSON: a top-level array of objects, one a job, under our names, those of the jobs CSV, or any that a map gives."""

from __future__ import annotations

import re
from collections.abc import Mapping
from os import PathLike
from typing import Any, NamedTuple

import msgspec
import polars as pl

from unspool.errors import InputError, UnknownName, shown
from unspool.model.workload import COLUMNS, Workload, rejected_table
from unspool.workloads.cells import to_number
from unspool.workloads.delimited import Cells
from unspool.workloads.files import AnyPath, read_json_text
from unspool.workloads.jobcells import GIB, JOBS_COLUMNS, NEEDED, OUR_COLUMNS, SIZES, workload_of_jobs
from unspool.workloads.table import workload_of_cells

__all__ = ["read_json", "recognises"]

Sources = Mapping[str, str | Mapping[str, Mapping[str, str]]]
"""A column, ours or of the jobs CSV, and the field that it is read from, or {field: {"units": …}}."""

_OURS = tuple(column.name for column in COLUMNS if column.name != "line")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_TO_GIB = {unit.lower(): size / GIB for unit, size in SIZES.items()}
_TO_BYTES = {unit.lower(): float(size) for unit, size in SIZES.items()}
_TIMES = (
    *("submit_time", "start_time", "finish_time", "eligible_time", "ineligible_pend_time", "run_time", "walltime"),
    *("ru_stime", "ru_utime", "ineligible_time", "think_time", "logged_wait", "cpu_time"),
)
_UNITS = {
    "max_mem_gb": _TO_GIB,
    **dict.fromkeys(("ru_maxrss", "memory_bytes", "used_memory_bytes"), _TO_BYTES),
    **dict.fromkeys(_TIMES, _SECONDS),
}
_WHOLE = ("memory_bytes", "used_memory_bytes")
_NEEDED = ("submit_time", "run_time", "cores")


class _Source(NamedTuple):
    """The field of an object that a column is read from, and what its values are multiplied by."""

    field: str
    factor: float | None = None


def recognises(start: bytes) -> bool:
    """Whether a file that begins so is an array of objects.

    >>> recognises(b' [ {"job_id": 7}'), recognises(b'{"machines": []}')
    (True, False)
    """
    return re.match(rb"(?:\xef\xbb\xbf)?\s*\[\s*[\]{]", start) is not None


def read_json(path: AnyPath, columns: Sources | None = None, *, map: AnyPath | None = None) -> Workload:
    """The jobs of a JSON array; the line of a job is the number of its object, from 1.

    `columns` maps a column to the field it is read from, and `map` is a file that holds such a map; beside it only
    the columns that every job needs are read under their own names. A field with a point in its name that no object
    has is looked for inside: `used.mem` is `{"used": {"mem": …}}`.
    """
    if columns is not None and map is not None:
        raise InputError(f"{path}: both columns and a map ({map}) are given; put the columns into the map")
    given = _read_map(map) if map is not None else columns or {}
    objects = _objects(path)
    if not objects:
        raise InputError(f"{path}: the array is empty; expected one object a job")
    names = _names(objects)
    is_ours = _is_ours(given, names, path)
    known = _OURS if is_ours else (*JOBS_COLUMNS, *OUR_COLUMNS)
    sources = {name: _source(name, source, known) for name, source in given.items()}
    unmapped = known if not given else ("job_id", *_NEEDED) if is_ours else (*NEEDED, "run_time")
    sources |= {name: _Source(name) for name in unmapped if name in names and name not in sources}
    cells = _cells(objects, sources, names, path)
    if is_ours:
        return workload_of_cells(cells, path, {}, {})
    has_unit = "ru_maxrss" in sources and sources["ru_maxrss"].factor is not None
    return workload_of_jobs(cells, path, {}, maxrss_bytes=1 if has_unit else None, finish_needed=False)


def _objects(path: AnyPath) -> list[msgspec.Raw]:
    text = read_json_text(path)
    if not text.lstrip().startswith(b"["):
        raise InputError(f"{path}: does not begin with [; expected a top-level array of objects, one a job")
    try:
        return msgspec.json.decode(text, type=list[msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path}: is cut off, or is not JSON ({shown(str(error), 120)}); write it again") from error


def _names(objects: list[msgspec.Raw]) -> dict[str, None]:
    """The names of the fields of all objects, in the order in which they appear."""
    names: dict[str, None] = {}
    for raw in objects:
        found = _decoded(raw)
        if isinstance(found, dict) and not found.keys() <= names.keys():
            names |= dict.fromkeys(found)
    return names


def _decoded(raw: msgspec.Raw) -> Any:
    # Numbers beyond float64 make msgspec complain of an array that it has already found whole.
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _is_ours(given: Mapping[str, Any], names: Mapping[str, None], path: AnyPath) -> bool:
    """Whether the columns are ours: `cores`, where the jobs CSV says `num_cores`; a map tells, else the objects."""
    for told in (given, names):
        if "cores" in told and "num_cores" in told:
            raise InputError(f"{path}: both cores (our name) and num_cores (the jobs CSV's) are there; map one of them")
        if "cores" in told or "num_cores" in told:
            return "cores" in told
    return False


def _source(name: str, source: Any, known: tuple[str, ...]) -> _Source:
    if name not in known:
        raise UnknownName("column", name, known)
    if isinstance(source, str) and source:
        return _Source(source)
    if not isinstance(source, Mapping) or len(source) != 1:
        raise InputError(
            f'column {name} is mapped to {shown(str(source))}; expected a field, or {{field: {{"units": "mb"}}}}'
        )
    ((field, options),) = source.items()
    if not isinstance(options, Mapping):
        raise InputError(f'column {name}: {field} has {shown(str(options))}; expected {{"units": "mb"}}')
    for option in options:
        if option != "units":
            raise UnknownName(f"option of {name}", str(option), ["units"])
    if "units" not in options:
        return _Source(field)
    if name not in _UNITS:
        raise InputError(f"column {name} has no units; map it to the field alone")
    unit = str(options["units"])
    if unit.lower() not in _UNITS[name]:
        raise UnknownName(f"unit of {name}", unit, _UNITS[name])
    return _Source(field, _UNITS[name][unit.lower()])


def _cells(objects: list[msgspec.Raw], sources: dict[str, _Source], names: dict[str, None], path: AnyPath) -> Cells:
    """The fields of the sources as columns of text, as from a CSV; what is no object is set apart."""
    columns: list[list[str | None]] = [[] for _ in sources]
    fields = [source.field for source in sources.values()]
    lines, rejected = [], []
    for line, raw in enumerate(objects, 1):
        found = _decoded(raw)
        if not isinstance(found, dict):
            what = shown(bytes(raw).decode(errors="replace"), 40)
            rejected.append((line, None, f'{what} is no object; expected {{"field": value}}'))
            continue
        lines.append(line)
        for column, field in zip(columns, fields, strict=True):
            column.append(_text(_value(found, field)))
    series = [pl.Series(values, dtype=pl.String) for values in columns]
    for (name, source), values in zip(sources.items(), series, strict=True):
        if values.count() == 0 and source.field not in names:
            there = ", ".join(shown(field) for field in list(names)[:40])
            raise InputError(f"{path}: no object has '{shown(source.field)}' for {name}; the fields are {there}")
    series = [_scaled(values, source, name) for values, (name, source) in zip(series, sources.items(), strict=True)]
    unused = [name for name in names if name not in fields and not any(f.startswith(f"{name}.") for f in fields)]
    # Columns that are not used are named in a note, which goes by the header.
    blank = [pl.Series([None], dtype=pl.String).new_from_index(0, len(lines)) for _ in unused]
    header = (*sources, *unused)
    return Cells(header, [*series, *blank], pl.Series(lines, dtype=pl.Int64), rejected_table(rejected))


def _value(found: dict[str, Any], field: str) -> Any:
    if field in found or "." not in field:
        return found.get(field)
    first, _, rest = field.partition(".")
    inside = found.get(first)
    return _value(inside, rest) if isinstance(inside, dict) else None


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, dict | list | bool):
        return msgspec.json.encode(value).decode()
    return str(value)


def _scaled(cells: pl.Series, source: _Source, name: str) -> pl.Series:
    """The cells times the unit's factor; what is no number stays, and -1 too, which means that there is none."""
    if source.factor is None:
        return cells
    numbers = to_number(cells)
    scaled = numbers.set(numbers == -1, None) * source.factor
    texts = (scaled.round().cast(pl.Int64, strict=False) if name in _WHOLE else scaled).cast(pl.String)
    return texts.zip_with(texts.is_not_null(), cells)


def _read_map(path: AnyPath) -> dict[str, Any]:
    if not isinstance(path, str | PathLike):
        raise InputError(f"map={path}: expected the name of a JSON file")
    text = read_json_text(path)
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path}: is not JSON ({shown(str(error), 120)})") from error
    if not isinstance(found, dict) or not found:
        raise InputError(
            f'{path}: expected a map such as {{"num_cores": "ncpus", "max_mem_gb": {{"mem": {{"units": "mb"}}}}}}'
        )
    return found
