"""Slurm's accounting as `sacct --parsable2` prints it: a line for each job and each step, fields between bars.

Fields, states and units follow https://slurm.schedmd.com/sacct.html.
"""

from __future__ import annotations

import re
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import polars as pl

from unspool.errors import InputError, shown
from unspool.limits import refuse_beyond
from unspool.model.workload import Workload, rejected_table
from unspool.units import counted
from unspool.workloads.delimited import plain_lines
from unspool.workloads.encoding import latin_notes
from unspool.workloads.files import AnyPath, unfinished_line
from unspool.workloads.lines import Lines, Ragged, first_record, padded, set_ragged_apart
from unspool.workloads.slurm_records import Part, part_of

__all__ = ["FIELDS", "POSITIONAL", "read_sacct", "recognises"]

POSITIONAL: tuple[str, ...] = (
    *("State", "JobID", "ReqCPUS", "ReqMem", "ReqNodes", "Constraints", "Submit", "Eligible", "Start", "Elapsed"),
    *("Suspended", "End", "ExitCode", "DerivedExitCode", "AllocNodes", "NCPUS", "MaxDiskRead", "MaxDiskWrite"),
    *("MaxPages", "MaxRSS", "MaxVMSize", "CPUTime", "UserCPU", "SystemCPU", "TotalCPU", "Partition"),
)
"""The fields of a file without a header, in this order; the last may be absent."""

FIELDS: dict[str, tuple[str, ...]] = {
    "job": ("JobID", "JobIDRaw"),
    "state": ("State",),
    "submit": ("Submit",),
    "eligible": ("Eligible",),
    "start": ("Start",),
    "end": ("End",),
    "elapsed": ("Elapsed", "ElapsedRaw"),
    "limit": ("Timelimit", "TimelimitRaw"),
    "cpus": ("NCPUS", "AllocCPUS"),
    "asked_cpus": ("ReqCPUS",),
    "nodes": ("AllocNodes", "NNodes", "ReqNodes"),
    "memory": ("ReqMem",),
    "given": ("AllocTRES",),
    "asked": ("ReqTRES",),
    "used_memory": ("MaxRSS",),
    "cpu_time": ("TotalCPU",),
    "user": ("User",),
    "group": ("Group",),
    "project": ("Account",),
    "queue": ("Partition",),
    "qos": ("QOS",),
    "application": ("JobName",),
    "licences": ("Licenses",),
    "priority": ("Priority",),
}
"""What is taken from a file, and the fields that tell it; of several in one file the first counts."""

_BLOCKS_AHEAD = 2
_WIDTHS = (len(POSITIONAL) - 1, len(POSITIONAL), len(POSITIONAL) + 1)  # --parsable ends each line with a bar
_MOST_MISSING = 3  # fields that a record may lack at its end
# A record without one of these is no job; where one is missing, its line was cut.
_NEVER_MISSING = ("job", "state", "submit", "eligible", "start", "end", "elapsed", "cpus", "given", "asked_cpus")
_NEEDS = (("job",), ("submit", "eligible"), ("elapsed", "end"), ("cpus", "given", "asked_cpus"))
_JOB_ID = re.compile(rb"[0-9]+([_+.\[]|$)")
_PART = r"^([0-9]+)\+[0-9]+$"
_ASK = "ask sacct for it with --format, as `unspool convert --help` shows"


class _Layout(NamedTuple):
    """How the lines of a file are cut: fields in a line, and which field each of `FIELDS` stands in."""

    width: int
    at: dict[str, int]
    names: dict[str, str]
    unused: tuple[str, ...]
    has_header: bool

    @property
    def least(self) -> int:
        """The fewest fields of a record that can be read, the others being empty."""
        needed = [at for role, at in self.at.items() if role in _NEVER_MISSING]
        return max(1 + max(needed), self.width - _MOST_MISSING)


@dataclass
class _Short:
    """Records that lack fields at their end: how many have how many fields, and the line from which none is read."""

    widths: Counter[int] = field(default_factory=Counter)
    until: int | None = None


def read_sacct(path: AnyPath) -> Workload:
    """The jobs of what `sacct --parsable2` or `--parsable` printed, packed or not, with a header or without.

    With a header the fields may stand in any order; without one they are those of `POSITIONAL`. Steps are merged into
    their jobs, wherever they stand. Jobs that did not run to an end are counted in the notes; records that cannot be
    used are in `rejected`. `submit_time` is when a job was eligible. Dates are UTC unless they say their zone.

    >>> from tempfile import TemporaryDirectory
    >>> day = "2024-05-01T"
    >>> with TemporaryDirectory() as folder:
    ...     log = Path(folder, "sacct.txt")
    ...     _ = log.write_text(
    ...         "JobID|State|Submit|Start|Elapsed|NCPUS|AllocNodes|ReqMem|MaxRSS\\n"
    ...         f"7|COMPLETED|{day}08:00:00|{day}08:05:00|1-00:00:00|4|1|2Gc|\\n"
    ...         f"7.batch|COMPLETED|{day}08:05:00|{day}08:05:00|1-00:00:00|4|1||800K\\n"
    ...     )
    ...     jobs = read_sacct(log).table
    >>> jobs.select("job_id", "run_time", "cores", "memory_bytes", "used_memory_bytes", "logged_wait").row(0)
    ('7', 86400.0, 4, 8589934592, 204800, 300.0)
    """
    layout: _Layout | None = None
    parts: list[Future[Part]] = []
    ragged = [rejected_table()]
    short = _Short()
    latin = 0
    # Polars leaves the second core to us: one block is cut into cells while the block before it becomes jobs.
    with ThreadPoolExecutor(1) as worker:
        for lines in plain_lines(path, b"#"):
            latin += lines.latin
            if not lines.text:
                continue
            layout = layout or _layout_of(lines.text, path)
            lines, misfits = _whole(lines, layout, short, path)
            ragged.append(_as_rejected(misfits, layout))
            if len(parts) >= _BLOCKS_AHEAD:
                parts[-_BLOCKS_AHEAD].result()
            parts.append(worker.submit(part_of, _frame(lines, layout), layout.names))
    if layout is None:
        raise InputError(f"{path}: only comments or blank lines; expected lines of sacct --parsable2")
    done = [part.result() for part in parts]
    rejected = pl.concat([*ragged, *(part.rejected for part in done)]).sort("line", maintain_order=True)
    return _workload_of(done, layout, rejected, path, [*latin_notes(latin), *_on_short(short, layout)])


def recognises(start: bytes) -> bool:
    """Whether a file that begins so is the output of sacct.

    >>> recognises(b"JobID|State|Submit"), recognises(b"a|b|c")
    (True, False)
    """
    first = first_record(start, b"#").split(b"|")
    if b"\0" in start or len(first) == 1:
        return False
    # The first line may be cut off; others tell as well.
    return _is_header(first) or any(len(cut) in _WIDTHS and _JOB_ID.match(cut[1]) for cut in _cut(start))


def _is_header(fields: list[bytes]) -> bool:
    return any(field.strip().lower() in (b"jobid", b"jobidraw") for field in fields)


def _layout_of(text: bytes, path: AnyPath) -> _Layout:
    first = text.partition(b"\n")[0].split(b"|")
    if _is_header(first) and len(first) > 1:
        return _layout_by_names([name.strip().decode() for name in first], path)
    if len(first) == 1:
        raise InputError(
            f"{path}: no bars between the fields of its first line; expected the output of sacct --parsable2"
        )
    width = next((len(cut) for cut in _cut(text) if len(cut) in _WIDTHS), None)
    if width is None:
        raise InputError(
            f"{path}: {counted(len(first), 'field')} in its first line and no names; expected the {len(POSITIONAL)} "
            "from State to Partition, so run sacct again without --noheader"
        )
    return _layout_by_names([*POSITIONAL, ""][:width], path, is_header=False)


def _cut(text: bytes) -> list[list[bytes]]:
    return [line.split(b"|") for line in text.split(b"\n", 1000)[:1000]]


def _layout_by_names(header: list[str], path: AnyPath, *, is_header: bool = True) -> _Layout:
    lower = [name.lower() for name in header]
    refuse_beyond(len(header), "columns", str(path))
    at: dict[str, int] = {}
    for role, fields in FIELDS.items():
        found = next((lower.index(name.lower()) for name in fields if name.lower() in lower), None)
        if found is not None:
            at[role] = found
    named = [name for name in header if name]
    for roles in _NEEDS:
        if not at.keys() & set(roles):
            missing = " or ".join(FIELDS[role][0] for role in roles)
            there = ", ".join(shown(name) for name in named[:40])
            raise InputError(f"{path}: no column {missing}; the file has {there}; {_ASK}")
    if "elapsed" not in at and "start" not in at:
        raise InputError(f"{path}: no column Elapsed, nor Start beside End, to tell how long jobs ran; {_ASK}")
    unused = tuple(name for i, name in enumerate(header) if name and i not in at.values())
    names = {role: header[i] for role, i in at.items()}
    return _Layout(len(header), at, names, unused if is_header else (), is_header)


def _whole(lines: Lines, layout: _Layout, short: _Short, path: AnyPath) -> tuple[Lines, list[Ragged]]:
    """The lines with all fields, empty ones in place of a few that are missing at the end, and the other lines."""
    whole, misfits = set_ragged_apart(lines, b"|", layout.width, where=str(path))
    few = [line for line in misfits if layout.least <= len(line.fields) < layout.width]
    headers = [line.number for line in few if _is_header(line.fields)]
    if headers or short.until is not None:  # what follows another header has other fields
        short.until = short.until or headers[0]
        few = [line for line in few if line.number < short.until]
    if few and few[-1].number == lines.numbers[-1] and _is_cut(few, short, path):
        few.pop()
    if not few:
        return whole, misfits
    short.widths.update(len(line.fields) for line in few)
    missing = {line.number: layout.width - len(line.fields) for line in few}
    return set_ragged_apart(padded(lines, b"|", missing), b"|", layout.width)


def _is_cut(few: list[Ragged], short: _Short, path: AnyPath) -> bool:
    """Whether the last of these lines may be cut within a cell: no newline ends it, and no other is as short."""
    width = len(few[-1].fields)
    is_usual = width in short.widths or any(len(line.fields) == width for line in few[:-1])
    return not is_usual and unfinished_line(path) == few[-1].number


def _on_short(short: _Short, layout: _Layout) -> list[str]:
    """How many records lack fields at their end."""
    count = short.widths.total()
    if not count:
        return []
    others = "header" if layout.has_header else "other records"
    told = counted(count, "record has", "records have")
    return [f"{told} fewer fields than the {others}; the missing last fields are empty"]


def _frame(lines: Lines, layout: _Layout) -> pl.DataFrame:
    """The cells that are taken, as text, empty ones as null; the header is left out wherever it stands."""
    schema = {str(i): pl.String() for i in range(layout.width)}
    cells = pl.read_csv(
        lines.text,
        has_header=False,
        separator="|",
        quote_char=None,
        schema=schema,
        columns=sorted(set(layout.at.values())),
    )
    frame = cells.select(
        *(pl.col(str(i)).alias(role) for role, i in layout.at.items()),
        *(pl.lit(None, pl.String).alias(role) for role in FIELDS if role not in layout.at),
        line=pl.Series(lines.numbers, dtype=pl.Int64),
    )
    is_header = frame["job"].str.to_lowercase() == layout.names["job"].lower()
    return frame.filter(~is_header.fill_null(False)) if is_header.any() else frame


def _as_rejected(misfits: list[Ragged], layout: _Layout) -> pl.DataFrame:
    reason = f"expected {layout.width}, as in the {'header' if layout.has_header else 'other lines'}"
    at = layout.at["job"]
    cells = [(line, fields[at].decode() if at < len(fields) else "", len(fields)) for line, fields in misfits]
    return rejected_table([(line, shown(job), f"{counted(count, 'field')}; {reason}") for line, job, count in cells])


def _workload_of(
    parts: list[Part], layout: _Layout, rejected: pl.DataFrame, path: AnyPath, notes: list[str]
) -> Workload:
    jobs = pl.concat([part.jobs for part in parts])
    left_out = sum((part.left_out for part in parts), Counter[str]())
    steps = (
        pl.concat([part.steps for part in parts]).group_by("job_id").agg(pl.col("used").max(), pl.col("count").sum())
    )
    if not len(jobs):
        raise _nothing_usable(path, rejected, left_out, len(steps))
    if any(part.has_zoneless for part in parts):
        notes.append("dates have no time zone: taken as UTC")
    if "state" not in layout.at:
        notes.append("no column State: every record is taken for a job that ran to its end")
    if left_out:
        notes.append(f"left out, as they did not run to an end: {_listed(left_out)}")
    jobs, again = _last_runs(jobs)
    if again:
        runs = counted(again, "earlier run of a job", "earlier runs of jobs")
        notes.append(f"{runs} that ran again (requeued): left out, the last run counts")
    orphans = steps.join(pl.DataFrame({"job_id": pl.concat([part.seen for part in parts])}), on="job_id", how="anti")
    if len(orphans):
        steps_of = f"{counted(int(orphans['count'].sum()), 'step')} of {counted(len(orphans))}"
        notes.append(f"{steps_of} not in the log: left out")
    notes += _on_parts(jobs["job_id"])
    notes += _repairs(sum((part.repairs for part in parts), Counter[tuple[str, str]]()))
    if layout.unused:
        notes.append(f"columns that are not used: {', '.join(shown(name) for name in layout.unused)}")
    jobs = jobs.join(steps, on="job_id", how="left", maintain_order="left")
    origin_us = jobs.select(pl.min_horizontal(pl.col("known_us").min(), pl.col("eligible_us").min())).item()
    origin_s = origin_us // 1_000_000
    used = pl.max_horizontal("used_by_job", "used") / pl.col("cores")
    table = jobs.with_columns(
        submit_time=(pl.col("eligible_us") - origin_s * 1_000_000) / 1e6,
        used_memory_bytes=used.round().cast(pl.Int64, strict=False),
    ).drop("known_us", "eligible_us", "start_us", "used_by_job", "used", "count")
    kept = [name for name in table.columns if table[name].null_count() < len(table)]
    facts = {"origin_unix_s": float(origin_s), "rejected": rejected, "notes": tuple(notes)}
    return Workload.of(table.select(kept), name=Path(path).name, **facts)


def _last_runs(jobs: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """One record a job, the one that started last, and how many were dropped: `sacct --duplicates` lists all."""
    if jobs["job_id"].n_unique() == len(jobs):
        return jobs, 0
    last = jobs.sort("start_us", "line", nulls_last=False).unique("job_id", keep="last", maintain_order=True)
    return last.sort("line"), len(jobs) - len(last)


def _on_parts(ids: pl.Series) -> list[str]:
    """How many jobs have parts, `100+0` and `100+1`: Slurm starts these together, and here nothing holds them so."""
    parts = ids.str.extract(_PART, 1).drop_nulls().value_counts(name="count").filter(pl.col("count") > 1)
    if not len(parts):
        return []
    whole = counted(len(parts), "heterogeneous job")
    return [f"{parts['count'].sum():,} jobs are parts of {whole} (ids such as 100+0); each part starts on its own"]


def _repairs(counts: Counter[tuple[str, str]]) -> list[str]:
    return [counted(counts[what], *what) for what in sorted(counts) if counts[what]]


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {label}" for label, count in sorted(counts.items()))


def _nothing_usable(path: AnyPath, rejected: pl.DataFrame, left_out: Counter[str], steps: int) -> InputError:
    if len(rejected):
        (line, _, reason), count = rejected.row(0), counted(len(rejected), "is rejected", "are rejected")
        return InputError(
            f"{path}: none of its records can be used: {count} (first, line {line}: {reason}); "
            "check that it is the output of sacct --parsable2"
        )
    if left_out:
        return InputError(
            f"{path}: none of its jobs ran to an end ({_listed(left_out)}); ask sacct for an earlier time"
        )
    if steps:
        jobs = counted(steps, "job, and not the job", "jobs, and not the jobs")
        return InputError(f"{path}: only steps of {jobs}; run sacct without a filter on JobID")
    return InputError(f"{path}: no jobs, only the names of columns; expected one job or step a line")
