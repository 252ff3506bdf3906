"""The dataset of a sweep: a folder of Parquet files, each written beside and renamed; a key counts once."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any

import polars as pl

from unspool.confinement.roots import readable_folder
from unspool.errors import InputError, RunError
from unspool.platforms.documents import read_json
from unspool.results.result import COUNTS
from unspool.storage import blame, make_folder, remove, remove_empty, remove_folder, replacing, take_lock
from unspool.sweeps.work import ELAPSED, ERROR, HOST, KEY
from unspool.workloads.parquet import read_table

__all__ = ["INPUTS", "PASSING", "RUNS", "Store", "read_runs"]

RUNS, INPUTS = "runs", "inputs"
"""The folders of the parts of the dataset, and of the files that runs need."""

PASSING = (ELAPSED, HOST)
"""The columns that differ from one time to another; all others are the same wherever a run is made."""

_PART = re.compile(r"part-(\d{8})\.parquet")
_PLAN, _FACTS, _LOCK = "plan.parquet", "sweep.json", ".lock"
_LEFT = re.compile(rf"\.{re.escape(_FACTS)}\.[0-9a-f]{{8}}\.part")
_INPUT = re.compile(r"log-[0-9a-f]{32}\.(arrow|json)|[0-9a-f]{16}-.+|\..+\.part")
_INTEGERS = {*COUNTS, "seed", "instances", "retries", "reclaimed", "peak_live_instances"}
_FLUSH_S, _FLUSH_ROWS = 2.0, 20_000


class Store:
    """Rows in, rows out. One process writes at a time; what it was given and has not yet written is at most 2 s old."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._rows: list[Mapping[str, Any]] = []
        self._due = monotonic() + _FLUSH_S
        self._next = 0

    @property
    def is_there(self) -> bool:
        """Whether the folder holds a sweep."""
        return (self.folder / _FACTS).is_file()

    def check_free(self, *, resume: bool) -> None:
        """Refuse a folder that holds something else, or a sweep that is not to be resumed."""
        if resume and not self.is_there:
            raise InputError(f"{self.folder}: there is no sweep to resume; leave --resume out to begin one")
        if self.is_there and not resume:
            raise InputError(f"{self.folder} holds a sweep; say --resume to go on with it, or name another folder: -o")
        if not self.is_there and self.folder.exists() and not self._is_free():
            raise InputError(f"{self.folder} exists and holds no sweep; name another folder: -o")

    def _is_free(self) -> bool:
        """Whether the folder is empty, or has only what a sweep leaves that was killed before it began."""
        if not self.folder.is_dir():
            return False
        inputs = self.folder / INPUTS
        known = (RUNS, INPUTS, _LOCK)
        others = [each for each in self.folder.iterdir() if each.name not in known and not _LEFT.fullmatch(each.name)]
        others += [each for each in inputs.glob("*") if not _INPUT.fullmatch(each.name)]
        return not others and not any((self.folder / RUNS).glob("*"))

    @contextmanager
    def opened(self) -> Iterator[Store]:
        """For as long as rows are added: nobody else may, and what was left half written is removed.

        A sweep that ends before it has written what it is about leaves nothing, so that it can be begun again.
        """
        was_there = self.folder.exists()
        with ExitStack() as ending:
            try:
                make_folder(self.folder / RUNS)
                is_ours = ending.enter_context(take_lock(self.folder / _LOCK))
            except OSError as error:
                raise blame(error)(f"cannot write results to {self.folder}: {error.strerror}") from error
            if not is_ours:
                raise InputError(
                    f"{self.folder}: another sweep is writing there; wait for it, or name another folder: -o"
                )
            ending.callback(self._clear, was_there=was_there)
            for left in (self.folder / RUNS).glob(".*.part"):
                remove(left)
            self._next = 1 + max((int(_PART.fullmatch(part.name)[1]) for part in self.parts()), default=-1)  # type: ignore[index]
            yield self

    def _clear(self, *, was_there: bool) -> None:
        """Remove what was written of a sweep that did not begin."""
        if self.is_there or self.parts():
            return
        remove_folder(self.folder / INPUTS)
        with suppress(OSError):
            remove(self.folder / _LOCK)
            remove_empty(self.folder / RUNS)
            if not was_there:
                remove_empty(self.folder)

    def parts(self) -> list[Path]:
        """The files of the dataset, in the order in which they were written."""
        return sorted(
            each for each in readable_folder(self.folder / RUNS).glob("part-*.parquet") if _PART.fullmatch(each.name)
        )

    def keys(self, *, failed: bool = True) -> set[str]:
        """The keys of the runs that are there; without `failed`, of those that have no error."""
        found: set[str] = set()
        for part in self.parts():
            rows = _read(part, [KEY, ERROR])
            found.difference_update(rows[KEY])  # the last of a key counts
            found.update(rows[KEY] if failed else rows.filter(pl.col(ERROR).is_null())[KEY])
        return found

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Take rows, and write them if it is time."""
        self._rows += rows
        if len(self._rows) >= _FLUSH_ROWS or monotonic() >= self._due:
            self.flush()

    def flush(self) -> None:
        """Write what was taken as one file, whole or not at all."""
        if self._rows:
            self._write(table_of(self._rows), self.folder / RUNS / f"part-{self._next:08}.parquet")
            self._next += 1
            self._rows = []
        self._due = monotonic() + _FLUSH_S

    def compact(self) -> None:
        """Make one file of many. Killed in between, rows stand twice, and count once."""
        old = self.parts()
        if len(old) < 2:
            return
        self._write(_joined(old), self.folder / RUNS / f"part-{self._next:08}.parquet")
        self._next += 1
        for part in old:
            remove(part)

    def write_plan(self, keys: Sequence[str]) -> None:
        """Which runs the sweep is made of, in order; rows of an earlier grid or of other versions are not."""
        self._write(pl.DataFrame({KEY: keys}, schema={KEY: pl.String}), self.folder / _PLAN)

    def write_facts(self, facts: Mapping[str, Any]) -> None:
        """What the sweep is about, for those who read the dataset."""
        try:
            with replacing(self.folder / _FACTS) as file:
                file.write(f"{json.dumps(facts, indent=2)}\n".encode())
        except OSError as error:
            raise _unwritten(self.folder, error) from error

    def facts(self) -> dict[str, Any]:
        """What the sweep is about."""
        expected = f"{self.folder}: is not the folder of a sweep; expected {_FACTS} in it"
        try:
            found = read_json(readable_folder(self.folder) / _FACTS)
        except InputError as error:
            raise InputError(expected) from error
        if not isinstance(found, dict):
            raise InputError(expected)
        return found

    def frame(self) -> pl.DataFrame:
        """One row a run, in the order of the plan."""
        parts = self.parts()
        rows = _joined(parts) if parts else pl.DataFrame(schema={KEY: pl.String, ERROR: pl.String})
        plan = readable_folder(self.folder) / _PLAN
        if not plan.is_file():
            return rows.sort(KEY)
        order = read_table(plan).with_row_index("place")
        return order.join(rows, on=KEY, how="inner", maintain_order="left").sort("place").drop("place")

    def _write(self, table: pl.DataFrame, path: Path) -> None:
        try:
            with replacing(path, lasting=True) as file:
                table.write_parquet(file)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise _unwritten(self.folder, error) from error


def read_runs(folder: str | os.PathLike[str]) -> pl.DataFrame:
    """The dataset of a sweep, one row a run: settings, figures, and the error of what failed."""
    store = Store(folder)
    store.facts()
    return store.frame()


def table_of(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Rows as a table whose types do not depend on which rows they are: settings and keys first, figures after."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns = []
    for name in names:
        values = [row.get(name) for row in rows]
        known = [value for value in values if value is not None]
        columns.append(_column(name, values, known))
    first = [KEY, ERROR]
    table = pl.DataFrame(columns)
    return table.select(*first, *(name for name in names if name not in first))


def _column(name: str, values: list[Any], known: list[Any]) -> pl.Series:
    if name == ERROR or (known and any(isinstance(value, str) for value in known)):
        texts = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
        return pl.Series(name, texts, dtype=pl.String)
    if known and all(isinstance(value, bool) for value in known):
        return pl.Series(name, values, dtype=pl.Boolean)
    if name in _INTEGERS:
        return pl.Series(name, values, dtype=pl.Int64)
    if not known:
        return pl.Series(name, values, dtype=pl.Null)
    return pl.Series(name, [None if value is None else float(value) for value in values], dtype=pl.Float64)


def _joined(parts: Sequence[Path]) -> pl.DataFrame:
    tables = [_read(part) for part in parts]
    rows = pl.concat(tables, how="diagonal_relaxed")
    return rows.unique(KEY, keep="last", maintain_order=True)


def _read(part: Path, columns: list[str] | None = None) -> pl.DataFrame:
    try:
        return read_table(part, columns=columns)
    except InputError as error:
        raise InputError(
            f"{part}: is damaged ({error}); remove it and say --resume: its runs are made again"
        ) from error


def _unwritten(folder: Path, error: Exception) -> RunError:
    reason = getattr(error, "strerror", None) or error
    return RunError(f"cannot write results to {folder}: {reason}; what is there is whole: make room, then say --resume")
