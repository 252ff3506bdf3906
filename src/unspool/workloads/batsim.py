"""Batsim's workloads: JSON with jobs, and profiles that say what they do; versions 4 and 5, and names before 3."""

from __future__ import annotations

import gc
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
import polars as pl

from unspool.errors import InputError, shown
from unspool.model.workload import MOST_CORES, Workload, rejected_table
from unspool.units import counted
from unspool.workloads.batsim_checks import Known, check_profiles, check_sizes
from unspool.workloads.batsim_fields import told
from unspool.workloads.batsim_jobs import FREE_FIELDS, Jobs, meaning_of, plain_jobs, read_jobs
from unspool.workloads.batsim_positions import Places, Problems, has_repeats
from unspool.workloads.batsim_profiles import VERSION_5, read_profiles
from unspool.workloads.files import AnyPath, read_json_text
from unspool.workloads.references import reached

__all__ = ["read_batsim", "recognises"]

Parts = Mapping[str, msgspec.Raw]
"""The members of the whole, not yet decoded."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"(\s*:)?|[{}\[\]]', re.DOTALL)
_OURS = (b'"jobs"', b'"profiles"', b'"nb_res"')
# What files say of themselves; Batsim does not look at it either.
_ABOUT = ("version", "command", "date", "description", "comments")
_TYPES = {
    **dict.fromkeys(("submit_time", "walltime"), pl.Float64),
    **dict.fromkeys(("cores", "machines"), pl.Int64),
    **dict.fromkeys(("job_id", "profile"), pl.String),
}
_NEEDED = ("job_id", "submit_time", "run_time", "cores", "machines", "profile", "line")
_NO_MACHINE = "res is 0; expected a machine or more, for a job that has none cannot be placed"


def recognises(start: bytes) -> bool:
    """Whether a file that begins so is an object with jobs, profiles or nb_res, whatever stands before them.

    >>> recognises(b'{"description": {"jobs": 1}, "nb_res": 4'), recognises(b'{"machines": []}')
    (True, False)
    """
    text = start.removeprefix(_BYTE_ORDER_MARK).lstrip()
    if not text.startswith(b"{"):
        return False
    depth = 0
    for token in _TOKEN.finditer(text):
        first = token[0][:1]
        if first == b'"':
            if depth == 1 and token[1] is not None and token[0].startswith(_OURS):
                return True
        else:
            depth += 1 if first in b"{[" else -1
    return False


def read_batsim(path: AnyPath, *, workload: str = "w0") -> Workload:
    """The jobs of a Batsim workload file, and its profiles.

    Jobs come in the order of (subtime, id as text), as Batsim submits them. An id may be complete, as `w0!7`, where
    `workload` is the name before the mark. All that is wrong with a file is told at once.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "tiny.json")
    ...     _ = file.write_text(
    ...         '{"nb_res": 4, "profiles": {"nap": {"type": "delay", "delay": 5}},'
    ...         ' "jobs": [{"id": 1, "subtime": 0, "res": 2, "profile": "nap"}]}'
    ...     )
    ...     tiny = read_batsim(file)
    >>> tiny.table.select("job_id", "run_time", "machines").rows(), tiny.profiles["nap"].seconds
    ([('1', 5.0, 2)], 5.0)
    """
    text = read_json_text(path)
    _refuse_other_encodings(text, path)
    parts = _parts(text, path)
    try:
        with _uncollected():
            return _read(text, parts, path, workload)
    # Half of a letter, or a number of thousands of digits, is JSON, but not to all that it goes through.
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read ({shown(str(error), 120)}); write it again") from error


def _refuse_other_encodings(text: bytes, path: AnyPath) -> None:
    try:
        text.isascii() or text.decode()
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}, line {line}: is not UTF-8 from here on; write it again as UTF-8") from error


def _read(text: bytes, parts: Parts, path: AnyPath, workload: str) -> Workload:
    problems = Problems()
    given = _profiles(parts, problems)
    known = Known(read_profiles(given, os.path.dirname(os.fspath(path)), problems), given)
    jobs = _jobs(parts, known, workload, problems)
    facts = {"max_machines": _machines(parts, problems), "notes": _unused(parts)}
    check_profiles(known, problems)
    check_sizes(known, jobs.ids, jobs.res, jobs.profiles, problems)
    problems.add_repeats(text, _may_repeat(text, parts, given, jobs))
    problems.refuse(path, text)
    return _workload(jobs, known, text, path, workload, facts)


@contextmanager
def _uncollected() -> Iterator[None]:
    """No search for garbage in circles, which doubles the time to make a million small objects and finds none."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _parts(text: bytes, path: AnyPath) -> Parts:
    try:
        return msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except msgspec.ValidationError as error:
        expected = "expected an object with nb_res, profiles and jobs, as Batsim reads it"
        raise InputError(f"{path}: is no JSON object; {expected}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path}{_where_it_breaks(text, error)}") from error


def _where_it_breaks(text: bytes, error: Exception) -> str:
    """The line and column at which a text is no JSON."""
    try:
        json.loads(text)
    except json.JSONDecodeError as found:
        return f", line {found.lineno}, column {found.colno}: is not JSON from here on ({found.msg}); write it again"
    except (ValueError, RecursionError):
        pass
    return f": is cut off, or is not JSON ({shown(str(error), 120)}); write it again"


def _machines(parts: Parts, problems: Problems) -> int | None:
    expected = "a whole number of machines, 1 or more"
    found = _decoded(parts, "nb_res")
    if type(found) is int and 0 < found <= MOST_CORES:
        return found
    what = f"nb_res is {told(found)}" if "nb_res" in parts else "no nb_res"
    problems.of_file("nb_res", f"{what}; expected {expected}")
    return None


def _profiles(parts: Parts, problems: Problems) -> dict[str, Any]:
    found = _decoded(parts, "profiles")
    if isinstance(found, dict):
        return found
    what = f"profiles is {told(found)}" if "profiles" in parts else "no profiles"
    problems.of_file("profiles", f"{what}; expected an object, with each profile under its name")
    return {}


def _jobs(parts: Parts, known: Known, workload: str, problems: Problems) -> Jobs:
    kinds = {str(fields.get("type")) for fields in known.names.values() if isinstance(fields, dict)}
    is_version_5 = bool(kinds) and kinds <= VERSION_5.keys()
    jobs = plain_jobs(parts["jobs"], known, is_version_5=is_version_5) if "jobs" in parts else None
    if jobs is not None:
        return jobs
    found = _decoded(parts, "jobs")
    if isinstance(found, list):
        return read_jobs(found, known, workload, problems, is_version_5=is_version_5)
    what = f"jobs is {told(found)}" if "jobs" in parts else "no jobs"
    problems.of_file("jobs", f"{what}; expected an array of objects, one a job")
    return Jobs([], [], [], [], [], [], {})


def _decoded(parts: Parts, field: str) -> Any:
    if field not in parts:
        return None
    # A number beyond float64 makes msgspec complain; here it becomes infinite, and is then told with its place.
    try:
        return msgspec.json.decode(parts[field])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return json.loads(bytes(parts[field]).decode(errors="replace"), strict=False)


def _may_repeat(text: bytes, parts: Parts, profiles: Mapping[str, Any], jobs: Jobs) -> bool:
    """Whether a name may stand twice where it counts; then the text is scanned, which takes longer."""
    fields = Counter(name for each in profiles.values() if isinstance(each, dict) for name in each)
    # Each member of an object has a colon of its own: no more of them than members, and none stands twice.
    if text.count(b":") == len(parts) + len(profiles) + fields.total() + sum(jobs.counts.values()):
        return False
    top = {name: 1 for name in ("nb_res", "profiles", "jobs") if name in parts}
    return (
        has_repeats(text, top)
        or ("profiles" in parts and has_repeats(bytes(parts["profiles"]), fields))
        or ("jobs" in parts and has_repeats(bytes(parts["jobs"]), jobs.counts))
    )


def _unused(parts: Parts) -> tuple[str, ...]:
    unused = [shown(name) for name in parts if name not in ("nb_res", "profiles", "jobs", *_ABOUT)]
    return (f"fields that are not used: {', '.join(unused[:40])}",) if unused else ()


def _workload(jobs: Jobs, known: Known, text: bytes, path: AnyPath, workload: str, facts: dict[str, Any]) -> Workload:
    table = pl.DataFrame(
        {
            "job_id": jobs.ids,
            "submit_time": jobs.subtimes,
            "cores": jobs.res,
            "machines": jobs.res,
            "walltime": jobs.walltimes,
            "profile": jobs.profiles,
        },
        schema_overrides=_TYPES,
    )
    seconds = table["profile"].replace_strict(known.seconds, default=0.0, return_dtype=pl.Float64)
    table = table.insert_column(2, seconds.alias("run_time")).with_row_index("place")
    notes = list(facts["notes"])
    table = table.with_columns(_free_columns(jobs, workload, notes))
    table = table.sort("submit_time", "job_id").with_columns(line=pl.int_range(1, len(table) + 1, dtype=pl.Int64))
    early = int((table["submit_time"] < 0).sum())
    if early:
        notes.append(f"{counted(early, 'job has', 'jobs have')} a subtime below 0: submitted at once, at 0")
    used = set(table["profile"].unique())
    idle = len(known.profiles) - len(reached(known.profiles, used) if known.others else used)
    if idle:
        named = counted(len(known.profiles), "profile is named", "profiles are named")
        notes.append(f"{idle} of {named} by no job and no other profile that is used")
    table = table.with_columns(pl.col("submit_time").clip(lower_bound=0.0))
    is_used = table["cores"] > 0
    kept, rejected = table, rejected_table()
    if not is_used.all():
        kept, rejected = table.filter(is_used), _rejected(table.filter(~is_used), text)
    kept = kept.drop("place")
    kept = kept.select(column for column in kept.columns if column in _NEEDED or kept[column].count())
    facts |= {"notes": tuple(notes), "rejected": rejected, "profiles": MappingProxyType(dict(known.profiles))}
    # All is checked and sorted; `Workload.of` would refuse times that Batsim takes.
    return Workload(kept, name=Path(path).name, **facts)


def _free_columns(jobs: Jobs, workload: str, notes: list[str]) -> list[pl.Series]:
    """The column of all free fields, and those of the free fields that have a meaning."""
    if not any(jobs.free):
        return []
    free = [each or {} for each in jobs.free]
    details = [msgspec.json.encode(each).decode() if each else None for each in free]
    columns = [pl.Series("details", details, dtype=pl.String)]
    for field, column in FREE_FIELDS.items():
        has_it = sum(field in each for each in free)
        if not has_it:
            continue
        values = [meaning_of(field, each[field], workload) if field in each else None for each in free]
        lost = has_it - sum(value is not None for value in values)
        if lost:
            have = counted(lost, "job has", "jobs have")
            notes.append(f"{have} {field} in a form that has no meaning here: kept, but not used")
        columns.append(pl.Series(column, values, dtype=pl.Float64 if field == "priority" else pl.String))
    return columns


def _rejected(table: pl.DataFrame, text: bytes) -> pl.DataFrame:
    """The jobs that cannot be used, with their lines."""
    places = Places(text)
    rows = [(places.line_of_job(place), job_id, _NO_MACHINE) for place, job_id in table["place", "job_id"].rows()]
    return rejected_table(sorted(rows, key=lambda row: row[0] or 0))
