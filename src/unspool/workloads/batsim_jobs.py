"""The jobs of a Batsim workload: five fields that Batsim reads, and free ones, some of which have a meaning for us."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import polars as pl

from unspool.errors import shown
from unspool.model.workload import MOST_CORES
from unspool.workloads.batsim_checks import Known, near
from unspool.workloads.batsim_fields import MOST_TIME, is_number, is_whole, told
from unspool.workloads.batsim_positions import Problems

__all__ = ["FREE_FIELDS", "MAPPING", "Jobs", "meaning_of", "plain_jobs", "read_jobs"]

FREE_FIELDS: Mapping[str, str] = {
    "user": "user", "queue": "queue", "priority": "priority", "licenses": "licences", "dependencies": "depends_on",
}  # fmt: skip
"""The free fields of a job that have a meaning, and our columns for them."""

MAPPING = "smpi_ranks_to_hosts_mapping"
_READ = ("id", "subtime", "res", "walltime", "profile")


class Jobs(NamedTuple):
    """The jobs of a file, as columns, in the order of the file; `free` is empty where none has any free fields.

    `counts` says how many jobs have each of the fields that Batsim reads.
    """

    ids: list[str] | pl.Series
    subtimes: list[float] | pl.Series
    res: list[int] | pl.Series
    walltimes: list[float | None] | pl.Series
    profiles: list[str] | pl.Series
    free: list[dict[str, Any] | None]
    counts: Mapping[str, int]


class _Job(msgspec.Struct, gc=False):
    id: str | int
    subtime: float
    res: int
    profile: str
    walltime: float | msgspec.UnsetType = msgspec.UNSET


class _BareJob(_Job, forbid_unknown_fields=True, gc=False):
    pass


def plain_jobs(raw: msgspec.Raw, known: Known, *, is_version_5: bool) -> Jobs | None:
    """The jobs of a file in which nothing is wrong or unusual; else None.

    It only says yes or no: `read_jobs` says what is wrong, or takes what is unusual, and is slower.
    """
    found: Sequence[_Job]
    free: list[dict[str, Any] | None] | None = None
    try:
        found = msgspec.json.decode(raw, type=list[_BareJob])
    except msgspec.ValidationError:
        try:
            found, free = msgspec.json.decode(raw, type=list[_Job]), _free_fields(raw)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        if any(each and not each.keys().isdisjoint((MAPPING, "dependencies")) for each in free):
            return None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    res = [job.res for job in found]
    subtimes = [job.subtime for job in found]
    ids = pl.Series([str(job.id) for job in found], dtype=pl.String)
    profiles = pl.Series([job.profile for job in found], dtype=pl.String)
    limits = pl.Series([None if job.walltime is msgspec.UNSET else job.walltime for job in found], dtype=pl.Float64)
    is_none = (limits == -1.0) & (not is_version_5)
    is_fine = (
        ((limits > 0.0) & (limits <= MOST_TIME) | is_none).all()
        and 0 <= min(res, default=0) <= max(res, default=0) <= MOST_CORES
        and -MOST_TIME <= min(subtimes, default=0.0) <= max(subtimes, default=0.0) <= MOST_TIME
        and ids.n_unique() == len(ids)
        and not ids.str.contains("!", literal=True).any()
        and known.names.keys() >= set(profiles.unique())
    )
    if not is_fine:
        return None
    counts = {**dict.fromkeys(_READ, len(found)), "walltime": limits.count()}
    return Jobs(ids, pl.Series(subtimes), pl.Series(res), limits.set(is_none, None), profiles, free or [], counts)


def _free_fields(raw: msgspec.Raw) -> list[dict[str, Any] | None]:
    found = msgspec.json.decode(raw, type=list[dict[str, Any]])
    for job in found:
        for name in _READ:
            job.pop(name, None)
    return [job or None for job in found]


def read_jobs(given: Sequence[Any], known: Known, workload: str, problems: Problems, *, is_version_5: bool) -> Jobs:
    """The jobs one by one; what is wrong goes to `problems`, and whatever stands for it is in the columns."""
    rows: list[tuple[str, float, int, float | None, str, dict[str, Any] | None]] = []
    seen: dict[str, int] = {}
    for place, job in enumerate(given):
        if not isinstance(job, dict):
            problems.of_job(place, None, None, f"is {told(job)}; expected an object")
            rows.append(("", 0.0, 0, None, "", None))
            continue
        job_id = _id(job, place, workload, problems)
        if job_id is not None and seen.setdefault(job_id, place) != place:
            what = f'the id is that of job number {seen[job_id] + 1} too; expected unique ids (7 and "7" are one)'
            problems.of_job(place, job_id, "id", what)
        free = {name: value for name, value in job.items() if name not in _READ}
        res = _res(job, place, job_id, problems)
        row = (
            job_id if job_id is not None else f"number {place + 1}",
            _subtime(job, place, job_id, problems),
            res,
            _walltime(job, place, job_id, problems, is_version_5),
            _profile(job, place, job_id, known, problems),
            free or None,
        )
        rows.append(row)
        if MAPPING in free:
            _check_mapping(free[MAPPING], res, place, job_id, problems)
        if "dependencies" in free:
            _check_dependencies(free["dependencies"], place, job_id, problems)
    counts = {name: sum(isinstance(job, dict) and name in job for job in given) for name in _READ}
    return Jobs(
        [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows],
        [row[3] for row in rows], [row[4] for row in rows], [row[5] for row in rows], counts,
    )  # fmt: skip


def meaning_of(field: str, value: Any, workload: str | None = None) -> str | float | None:
    """The value of our column for a free field, or None where it does not have the form that has a meaning.

    >>> meaning_of("dependencies", ["a", 7]), meaning_of("licenses", {"matlab": 2}), meaning_of("priority", "high")
    ('a,7', 'matlab:2', None)
    """
    if field == "priority":
        return float(value) if is_number(value) and abs(value) < 1e300 else None
    if field == "dependencies":
        return _dependencies(value, workload)
    if field == "licenses":
        return _licences(value)
    return (value if isinstance(value, str) else str(value) if is_whole(value) else None) or None


def _dependencies(value: Any, workload: str | None) -> str | None:
    if not isinstance(value, list) or not all(isinstance(each, str) or is_whole(each) for each in value):
        return None
    names = [str(each) for each in value]
    return ",".join(name.removeprefix(f"{workload}!") if workload else name for name in names) or None


def _licences(value: Any) -> str | None:
    """`name:amount,…` of such a text, of names and amounts, or of a list of names, one of each."""
    if isinstance(value, str):
        return value or None
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        value = {name: value.count(name) for name in value}
    if not isinstance(value, dict) or not all(is_whole(count) and count > 0 for count in value.values()):
        return None
    return ",".join(f"{name}:{count}" for name, count in value.items()) or None


def _id(job: dict[str, Any], place: int, workload: str, problems: Problems) -> str | None:
    if "id" not in job:
        problems.of_job(place, None, None, "no id; expected a text or a whole number")
        return None
    given = job["id"]
    if is_whole(given):
        return str(given)
    if not isinstance(given, str):
        problems.of_job(place, None, "id", f"id is {told(given)}; expected a text or a whole number")
        return None
    job_id = given.removeprefix(f"{workload}!")
    if "!" in job_id:
        expected = f"a name without !, or {workload}! and such a name"
        problems.of_job(place, given, "id", f"id is {told(given)}; expected {expected}")
    return job_id


def _subtime(job: dict[str, Any], place: int, job_id: str | None, problems: Problems) -> float:
    given = job.get("subtime")
    if is_number(given) and abs(given) <= MOST_TIME:
        return float(given)
    _refuse(job, "subtime", f"seconds, up to {MOST_TIME:g}", place, job_id, problems)
    return 0.0


def _res(job: dict[str, Any], place: int, job_id: str | None, problems: Problems) -> int:
    given = job.get("res")
    if is_whole(given) and 0 <= given <= MOST_CORES:
        return int(given)
    limit = f", and not above {MOST_CORES:,}" if is_whole(given) and given > 0 else ""
    _refuse(job, "res", f"a whole number of machines, 0 or more{limit}", place, job_id, problems)
    return 0


def _walltime(
    job: dict[str, Any], place: int, job_id: str | None, problems: Problems, is_version_5: bool
) -> float | None:
    if "walltime" not in job:
        return None
    given = job["walltime"]
    if is_number(given) and (0 < given <= MOST_TIME or (given == -1 and not is_version_5)):
        return None if given == -1 else float(given)
    none = "no walltime at all where there is no limit (version 5 does not take -1)" if is_version_5 else "-1 for none"
    _refuse(job, "walltime", f"seconds, more than 0 and up to {MOST_TIME:g}, or {none}", place, job_id, problems)
    return None


def _profile(job: dict[str, Any], place: int, job_id: str | None, known: Known, problems: Problems) -> str:
    given = job.get("profile")
    if not isinstance(given, str):
        _refuse(job, "profile", "the name of a profile", place, job_id, problems)
        return ""
    if given not in known.names:
        what = f"profile '{shown(given)}' does not exist{near(given, known.names)}"
        problems.of_job(place, job_id, "profile", what)
    return given


def _refuse(job: dict[str, Any], field: str, expected: str, place: int, job_id: str | None, problems: Problems) -> None:
    what = f"{field} is {told(job[field])}" if field in job else f"no {field}"
    problems.of_job(place, job_id, field, f"{what}; expected {expected}")


def _check_mapping(given: Any, res: int, place: int, job_id: str | None, problems: Problems) -> None:
    if not isinstance(given, list) or not all(is_whole(each) and 0 <= each < res for each in given):
        expected = f"an array of whole numbers from 0 to {res - 1}, each the place of a rank's machine"
        problems.of_job(place, job_id, MAPPING, f"{MAPPING} is {told(given)}; expected {expected}")


def _check_dependencies(given: Any, place: int, job_id: str | None, problems: Problems) -> None:
    names = given if isinstance(given, list) else []
    bad = next((name for name in names if isinstance(name, str) and ("," in name or name.strip() != name)), None)
    if bad is not None:
        expected = "names without commas, and without blanks at their ends"
        problems.of_job(place, job_id, "dependencies", f"dependencies names {told(bad)}; expected {expected}")
