"""A workload: the jobs of a log as columns, sorted by submission.

`COLUMNS` is the one list of what a job can say. Readers fill these columns and nothing else; the engine, the
metrics and the writers read them and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from html import escape
from types import MappingProxyType
from typing import Any

import polars as pl

from unspool.errors import InputError, shown
from unspool.model.dependencies import ids_between_commas
from unspool.model.profile import Profile

__all__ = [
    "COLUMNS",
    "MOST_CORES",
    "MOST_MOMENT",
    "MOST_SECONDS",
    "REJECTED_SCHEMA",
    "Column",
    "Workload",
    "is_frame",
    "rejected_table",
]


@dataclass(frozen=True)
class Column:
    """One column of a workload: its type, its unit and what an empty cell means."""

    name: str
    dtype: Any
    unit: str
    meaning: str
    empty: str = "not allowed"

    @property
    def required(self) -> bool:
        """Whether every job must say it."""
        return self.empty == "not allowed"


COLUMNS: tuple[Column, ...] = (
    Column("job_id", pl.String, "", "name of the job, unique in the workload"),
    Column(
        "submit_time",
        pl.Float64,
        "s since the origin",
        "when the job was handed to the scheduler and eligible to start",
    ),
    Column("ineligible_time", pl.Float64, "s", "how long before that it was known, but not yet eligible to start", "0"),
    Column("run_time", pl.Float64, "s", "how long the job runs once started"),
    Column("cores", pl.Int64, "cores", "cores in all, over all machines"),
    Column("machines", pl.Int64, "machines", "number of distinct machines asked for", "the scheduler may split"),
    Column("memory_bytes", pl.Int64, "B", "memory in all, over all machines", "none asked for"),
    Column("gpus", pl.Int64, "GPUs", "GPUs in all, over all machines", "none asked for"),
    Column("walltime", pl.Float64, "s", "the run time that the user asked for", "none asked for"),
    Column("licences", pl.String, "", "consumables, as `name:amount,name:amount`", "none asked for"),
    Column("user", pl.String, "", "who submitted it", "unknown"),
    Column("group", pl.String, "", "the user's group", "unknown"),
    Column("project", pl.String, "", "the project or account that pays", "unknown"),
    Column("queue", pl.String, "", "queue it was submitted to", "unknown"),
    Column("partition", pl.String, "", "partition of the platform that it must run on", "any machine"),
    Column("application", pl.String, "", "what it runs", "unknown"),
    Column("profile", pl.String, "", "name of the profile that says what it does", "it takes its run time"),
    Column("details", pl.String, "", "what else the log says of it, as a JSON object", "nothing"),
    Column("priority", pl.Float64, "", "how urgent it is, the higher the sooner", "0"),
    Column("qos", pl.String, "", "quality of service that it was submitted with", "none"),
    Column("depends_on", pl.String, "", "ids of jobs that must have ended, between commas, blanks or colons", "none"),
    Column("think_time", pl.Float64, "s", "pause after the end of the last of these jobs", "0"),
    Column("logged_wait", pl.Float64, "s", "how long it waited in the log", "unknown"),
    Column("logged_cores", pl.Int64, "cores", "cores that it was given in the log", "unknown"),
    Column("requested_cores", pl.Int64, "cores", "cores that it asked for in the log", "unknown"),
    Column("cpu_time", pl.Float64, "s", "processor time used, mean over its cores", "unknown"),
    Column("used_memory_bytes", pl.Int64, "B", "memory used, mean over its cores", "unknown"),
    Column("status", pl.Int64, "", "how it ended in the log, as SWF numbers it", "unknown"),
    Column("line", pl.Int64, "", "line of the log; decides ties between equal submit times"),
)

_BY_NAME = {column.name: column for column in COLUMNS}
_REQUIRED = tuple(column.name for column in COLUMNS if column.required)

MOST_SECONDS = 1e12
"""No length of time is larger: this is 31,000 years."""

MOST_MOMENT = 1e13
"""No submit time is larger. Milliseconds since 1970 are smaller: who takes them for seconds gets a note."""

MOST_CORES = 10**12
"""No job asks for more cores, machines or GPUs."""

_AMOUNTS: dict[str, tuple[float, float, str]] = {
    "submit_time": (0, MOST_MOMENT, " seconds"),
    **dict.fromkeys(("run_time", "walltime", "think_time"), (0, MOST_SECONDS, " seconds")),
    "cores": (1, MOST_CORES, ""),
    **dict.fromkeys(("machines", "gpus"), (0, MOST_CORES, "")),
    "memory_bytes": (0, 1 << 62, " bytes"),
}

REJECTED_SCHEMA = {"line": pl.Int64, "job_id": pl.String, "reason": pl.String}


def rejected_table(rows: Sequence[tuple[int | None, str | None, str]] = ()) -> pl.DataFrame:
    """The records or jobs that were not used: line of the log, id where there is one, and why."""
    return pl.DataFrame(rows, schema=REJECTED_SCHEMA, orient="row")


@dataclass(frozen=True)
class Workload:
    """Jobs in the order of their submission, with what the log says of itself.

    Make one with `Workload.of(table)`, which checks and sorts; the constructor takes what is already so. A job whose
    profile is more than a delay has the run time 0 here: how long it takes is known when it has run.
    """

    table: pl.DataFrame
    name: str = "workload"
    origin_unix_s: float = 0.0
    time_zone: str | None = None
    max_cores: int | None = None
    max_machines: int | None = None
    rejected: pl.DataFrame = field(default_factory=rejected_table)
    notes: tuple[str, ...] = ()
    profiles: Mapping[str, Profile] = field(default_factory=lambda: MappingProxyType({}))
    jobs_read: int | None = None  # that the log gave, of which some may have been chosen since

    def __post_init__(self) -> None:
        if not isinstance(self.table, pl.DataFrame) or "line" not in self.table.columns:
            raise InputError(f"{self.name}: the table was not checked; use Workload.of(table), which does that")
        if self.jobs_read is None:
            object.__setattr__(self, "jobs_read", len(self.table))

    @classmethod
    def of(cls, table: Any, **facts: Any) -> Workload:
        """Check the columns, cast them, sort by (submit time, line) and say in `notes` if that moved anything.

        The table is a DataFrame of Polars or pandas.

        >>> jobs = pl.DataFrame({"job_id": ["b", "a"], "submit_time": [5, 0], "run_time": [1, 2], "cores": [1, 1]})
        >>> workload = Workload.of(jobs)
        >>> workload.table["job_id"].to_list(), workload.notes
        (['a', 'b'], ('1 of 2 jobs stood before a job submitted earlier: sorted by submit time',))
        """
        name = str(facts.get("name", "workload"))
        table = table if isinstance(table, pl.DataFrame) else _from_pandas(table, name)
        if "line" not in table.columns:
            table = table.with_row_index("line", offset=1)
        missing = [column for column in _REQUIRED if column not in table.columns]
        if missing:
            raise InputError(f"{name}: no column {', '.join(missing)}; every job needs {', '.join(_REQUIRED[:4])}")
        known = [column for column in COLUMNS if column.name in table.columns]
        table = pl.DataFrame([_cast(table[column.name], column, name) for column in known])
        _refuse_unusable(table, name)
        if "depends_on" in table.columns:
            table = ids_between_commas(table)
        out_of_order = int((table["submit_time"].diff() < 0).sum())
        if out_of_order:
            table = table.sort("submit_time", "line")
            note = f"{out_of_order} of {len(table)} jobs stood before a job submitted earlier: sorted by submit time"
            facts["notes"] = (*facts.get("notes", ()), note)
        return cls(table, **facts)

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, part: slice) -> Workload:
        """The jobs of a slice, by position in submission order."""
        return replace(self, table=self.table[part])

    def column(self, name: str) -> pl.Series:
        """A column, or nulls where the log does not have it."""
        if name in self.table.columns:
            return self.table[name]
        return pl.Series(name, [None], dtype=_BY_NAME[name].dtype).new_from_index(0, len(self.table))

    @cached_property
    def digest(self) -> str:
        """A fingerprint of the jobs: the same for the same jobs, whatever kind of file they were read from.

        Names of columns and their values count, and profiles; empty columns, line numbers and what the log says of
        itself do not.
        """
        mark = blake2b(digest_size=16)
        for name in sorted(self.table.columns):
            values = self.table[name]
            if name != "line" and values.null_count() < len(values):
                mark.update(f"{name}:{len(values)}:".encode())
                for part in _parts_of(values):
                    mark.update(part)
        for name in sorted(self.profiles):
            mark.update(f"{name}={self.profiles[name]!r};".encode())
        return mark.hexdigest()

    def _repr_html_(self) -> str:
        head = f"<p><b>{escape(self.name)}</b>: {len(self)} jobs, {len(self.rejected)} records rejected</p>"
        return head + self.table.head(10)._repr_html_()


def _parts_of(values: pl.Series) -> Iterator[memoryview | bytes]:
    """The values of a column as bytes that do not depend on the machine or on how Polars keeps them."""
    if values.dtype == pl.String:
        lengths = values.str.len_bytes().cast(pl.Int64).fill_null(-1).to_numpy()
        yield lengths.astype("<i8", copy=False).data
        yield str(values.str.join("")[0]).encode()
        return
    kind = "<f8" if values.dtype == pl.Float64 else "<i8"
    yield values.fill_null(0).to_numpy().astype(kind, copy=False).data
    if values.null_count():
        yield values.is_null().to_numpy().tobytes()


def is_frame(given: object) -> bool:
    """Whether this is a DataFrame, of Polars or of pandas.

    >>> is_frame(pl.DataFrame()), is_frame("log.swf")
    (True, False)
    """
    return isinstance(given, pl.DataFrame) or (hasattr(given, "columns") and hasattr(given, "to_numpy"))


def _from_pandas(frame: Any, name: str) -> pl.DataFrame:
    """The known columns of a frame of pandas, which need not be installed for it."""
    if not is_frame(frame):
        raise InputError(
            f"{name}: {shown(repr(frame))} is not a table of jobs; expected a DataFrame of Polars or pandas"
        )
    found = {}
    for column in (column.name for column in COLUMNS if column.name in frame.columns):
        values = frame[column].to_numpy()
        texts = [value if isinstance(value, str) else None for value in values] if values.dtype == object else None
        found[column] = pl.Series(column, values if texts is None else texts, nan_to_null=True)
    return pl.DataFrame(found)


def _cast(values: pl.Series, column: Column, name: str) -> pl.Series:
    try:
        cast = values.cast(column.dtype)
    except pl.exceptions.PolarsError as error:
        reason = shown(str(error).partition("\n")[0], 120)
        raise InputError(f"{name}: column {column.name} does not hold {column.dtype}: {reason}") from error
    if column.dtype == pl.Int64 and values.dtype.is_float() and (cast != values).any():
        raise InputError(f"{name}: {column.name} is {values.filter(cast != values)[0]}; expected whole numbers")
    return cast


def _refuse_unusable(table: pl.DataFrame, name: str) -> None:
    """Complain of the first job that cannot be; whether there is one is asked of all columns at once."""
    amounts = {column: limits for column, limits in _AMOUNTS.items() if column in table.columns}
    is_wrong = [
        *(pl.col(column).is_null().any() for column in _REQUIRED),
        *(~pl.col(column).is_between(least, most).all() for column, (least, most, _) in amounts.items()),
        pl.col("job_id").is_duplicated().any(),
    ]
    if not table.select(pl.any_horizontal(is_wrong).alias("")).item():
        return
    for column in _REQUIRED:
        holes = table.filter(pl.col(column).is_null())
        if len(holes):
            raise InputError(f"{name}, line {holes['line'][0]}: no {column}; every job needs one")
    for column, (least, most, unit) in amounts.items():
        bad = table.filter(~pl.col(column).is_between(least, most))
        if len(bad):
            line, value = bad["line"][0], bad[column][0]
            expected = f"{least} or more" if value < least else f"a number up to {most:g}{unit}"
            raise InputError(f"{name}, line {line}: {column} is {value:.15g}; expected {expected}")
    twice = table.filter(pl.col("job_id").is_duplicated())
    if len(twice):
        job_id = twice["job_id"][0]
        lines = twice.filter(pl.col("job_id") == job_id)["line"].head(2).to_list()
        raise InputError(
            f"{name}: job id '{shown(job_id)}' stands twice, in lines {lines[0]} and {lines[1]}; ids must be unique"
        )
