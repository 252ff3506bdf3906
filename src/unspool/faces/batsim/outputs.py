"""The files that Batsim writes, written beside and renamed when whole."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs

from unspool.errors import InputError
from unspool.faces.batsim.energy import consumed_energy, pstate_changes
from unspool.faces.batsim.figures import corrected_figures, schedule_figures, schedule_figures_v5
from unspool.faces.batsim.states import machine_states, machine_times
from unspool.faces.batsim.tables import job_rows
from unspool.model.workload import Workload
from unspool.results.paje import state_count, write_paje
from unspool.results.result import Result
from unspool.storage import blame, make_folder, try_folder
from unspool.workloads.files import replaced

__all__ = [
    "MOST_TRACED", "Outputs", "check_prefix", "general_texts", "outputs_of", "prefixed_path", "write_outputs",
    "write_schedule_trace",
]  # fmt: skip

MOST_TRACED = 200_000
"""Changes of machines in a Pajé trace that is written without being asked for; it would else take longest of all."""

_DECIMALS = 6
_NEAR_TIE = 1e-4
_NEEDS_QUOTES = r'[,"\r\n]'


@dataclass(frozen=True)
class Outputs:
    """What the files of a run hold."""

    jobs: pl.DataFrame
    machine_states: pl.DataFrame
    schedule: Mapping[str, Any]
    schedule_v5: Mapping[str, Any]
    corrected: Mapping[str, Any]
    consumed_energy: pl.DataFrame | None = None
    pstate_changes: pl.DataFrame | None = None


def outputs_of(workload: Workload, result: Result, *, states: bool = True) -> Outputs:
    """Everything that the files say of a run of a workload; with `states` off, machine states are left out."""
    # NumPy and Polars let other threads run: of a million jobs this takes half as long.
    with ThreadPoolExecutor(1) as beside:
        counting = beside.submit(machine_states, result) if states else None
        timing = beside.submit(machine_times, result)
        rows = job_rows(workload, result)
        times = timing.result()
    figures = schedule_figures(rows, result, times)
    has_energy = result.power is not None
    return Outputs(
        jobs=rows,
        machine_states=pl.DataFrame() if counting is None else counting.result(),
        schedule=figures,
        schedule_v5=schedule_figures_v5(figures, rows),
        corrected=corrected_figures(rows, result, times),
        consumed_energy=consumed_energy(result) if has_energy else None,
        pstate_changes=pstate_changes(result) if has_energy else None,
    )


def prefixed_path(prefix: str, name: str) -> Path:
    """`PREFIX_name` as Batsim 4 has it; after a folder, which ends with a slash, the name alone, as Batsim 5 does.

    >>> prefixed_path("out", "jobs.csv").as_posix(), prefixed_path("out/", "jobs.csv").as_posix()
    ('out_jobs.csv', 'out/jobs.csv')
    """
    is_folder = prefix.endswith(("/", os.sep))
    return Path(prefix, name) if is_folder else Path(f"{prefix}_{name}")


def check_prefix(prefix: str) -> None:
    """Refuse a prefix that files cannot be written to, before any work is done."""
    if not prefix:
        raise InputError("-e: the prefix of the files is empty; name one, such as out, or a folder as out/")
    folder = prefixed_path(prefix, "jobs.csv").parent
    above = next(place for place in (folder, *folder.absolute().parents) if os.path.lexists(place))
    try:
        # Only a try tells: permissions say nothing of /proc, of a disk that is full or mounted to be read.
        try_folder(above)
    except OSError as error:
        raise blame(error)(
            f"-e {prefix}: {above} is no folder that files can be written to ({error.strerror}); name another prefix"
        ) from error
    for name in (*_CONTENTS, *_WITH_ENERGY, _TRACE):
        if prefixed_path(prefix, name).is_dir():
            raise InputError(f"-e {prefix}: {prefixed_path(prefix, name)} is a folder; name another prefix")


def write_outputs(outputs: Outputs, prefix: str, *, states: bool = True) -> list[Path]:
    """Write the files, those that are there replaced, and say which."""
    folder = prefixed_path(prefix, "jobs.csv").parent
    try:
        make_folder(folder)
    except OSError as error:
        raise blame(error)(f"-e {prefix}: {folder} cannot be made: {error.strerror}") from error
    makers = {name: make for name, make in _CONTENTS.items() if states or name != _STATES}
    if outputs.consumed_energy is not None:
        makers |= _WITH_ENERGY
    paths = [prefixed_path(prefix, name) for name in makers]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda path, make: _write(path, make(outputs)), paths, makers.values()))
    return paths


def write_schedule_trace(result: Result, prefix: str) -> Path | None:
    """Write the Pajé trace, in which jobs have their full names; None, and no file, where it would be too large."""
    if state_count(result) > MOST_TRACED:
        return None
    path = prefixed_path(prefix, _TRACE)
    with replaced(path, force=True) as file:
        write_paje(result, file, named=lambda job: job if "!" in job else f"w0!{job}")
    return path


def _write(path: Path, content: pl.DataFrame | str) -> None:
    with replaced(path, force=True) as file:
        if isinstance(content, str):
            file.write(content.encode())
        else:
            _in_decimals(content).write_csv(
                file, float_precision=_DECIMALS, float_scientific=False, quote_style="never", null_value=""
            )


def _in_decimals(table: pl.DataFrame) -> pl.DataFrame:
    """The same with columns of decimals, which are written in a third of the time, wherever their text is the same."""
    names = table.select(cs.float()).columns
    is_same = table.select(_is_decimal(pl.col(name)).alias(name) for name in names).row(0, named=True) if names else {}
    return table.with_columns(pl.col(name).cast(pl.Decimal(38, _DECIMALS)) for name in names if is_same[name])


def _is_decimal(number: pl.Expr) -> pl.Expr:
    """Whether no product with a power of ten can be on the wrong side of a tie, and nothing is written as -0."""
    scaled = number * 10.0**_DECIMALS
    whole = scaled.round()
    off = (scaled - whole).abs() + scaled.abs() * np.finfo(np.float64).eps
    return ((off < 0.5) & ((whole != 0.0) | (1.0 / number > 0.0))).all()


def _jobs_text(outputs: Outputs) -> pl.DataFrame:
    """Metadata are always in quotes; other texts where they need them, which Batsim's own reader would not survive."""
    rows = outputs.jobs
    return rows.with_columns(
        *(_quoted_where_needed(rows[name]) for name in ("job_id", "workload_name", "profile")),
        metadata='"' + pl.col("metadata").str.replace_all('"', '""', literal=True) + '"',
    )


def _quoted_where_needed(texts: pl.Series) -> pl.Series:
    if not texts.str.contains(_NEEDS_QUOTES).any():
        return texts
    return pl.Series(
        texts.name,
        ['"' + text.replace('"', '""') + '"' if re.search(_NEEDS_QUOTES, text) else text for text in texts.to_list()],
    )


def _states_text(outputs: Outputs) -> pl.DataFrame:
    table = outputs.machine_states
    return table.with_columns(general_texts(table["time"]))


def _energy_text(outputs: Outputs) -> pl.DataFrame:
    """No power where no time passed."""
    table = outputs.consumed_energy
    assert table is not None
    watts = ["NA" if value is None else f"{value:.{_DECIMALS}f}" for value in table["epower"].to_list()]
    return table.with_columns(epower=pl.Series(watts, dtype=pl.String))


def _pstates_text(outputs: Outputs) -> pl.DataFrame:
    table = outputs.pstate_changes
    assert table is not None
    return table.with_columns(general_texts(table["time"]))


def general_texts(values: pl.Series) -> pl.Series:
    """Six significant digits, as C's `%g` has it; neighbours that are the same in so many are written once."""
    numbers = values.to_numpy()
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scale = 10.0 ** (5.0 - np.floor(np.log10(numbers)))
        digits = numbers * scale
        rounded = np.rint(digits)
        # Close to a tie the product may lie on the wrong side of it, and the number speaks for itself.
        is_clear = np.abs(digits - np.floor(digits) - 0.5) > _NEAR_TIE
    is_new = np.ones(len(numbers), bool)
    is_same = (rounded[1:] == rounded[:-1]) & (scale[1:] == scale[:-1]) & is_clear[1:] & is_clear[:-1]
    is_new[1:] = ~is_same & (numbers[1:] != numbers[:-1])
    texts = pl.Series(values.name, list(map("%g".__mod__, numbers[is_new].tolist())), dtype=pl.String)
    return texts.gather(pl.Series(np.cumsum(is_new) - 1))


def _row_text(figures: Mapping[str, Any]) -> str:
    """A header and one row."""
    return f"{','.join(figures)}\n{','.join(map(_cell, figures.values()))}\n"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "-nan" if math.isnan(value) else f"{value:.{_DECIMALS}f}"
    return str(value)


_STATES, _TRACE = "machine_states.csv", "schedule.trace"
_CONTENTS: Mapping[str, Callable[[Outputs], pl.DataFrame | str]] = {
    "jobs.csv": _jobs_text,
    "schedule.csv": lambda outputs: _row_text(outputs.schedule),
    "schedule.json": lambda outputs: json.dumps(outputs.schedule_v5, indent=2, allow_nan=False) + "\n",
    _STATES: _states_text,
}
_WITH_ENERGY: Mapping[str, Callable[[Outputs], pl.DataFrame | str]] = {
    "consumed_energy.csv": _energy_text,
    "pstate_changes.csv": _pstates_text,
}
