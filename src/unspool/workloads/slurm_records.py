"""Records of sacct turned into jobs, a block of lines at a time: what ran, what did not, what cannot be used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import polars as pl

from unspool.model.workload import MOST_CORES, MOST_SECONDS
from unspool.workloads.slurm_cells import (
    by_distinct,
    is_filled,
    to_clock,
    to_count,
    to_moments,
    to_size,
    tres_amount,
)

__all__ = ["STATES", "Part", "part_of"]

STATES: Mapping[str, int | None] = {
    "COMPLETED": 1,
    **dict.fromkeys(("FAILED", "TIMEOUT", "OUT_OF_MEMORY", "DEADLINE"), 0),
    "CANCELLED": 5,
    # These have ended only where the record has an end; SWF has no number for them.
    **dict.fromkeys(("SUSPENDED", "RESIZING"), -1),
    # The cluster cut these runs short, or another cluster took the job over.
    **dict.fromkeys(("BOOT_FAIL", "LAUNCH_FAILED", "NODE_FAIL", "PREEMPTED", "RECONFIG_FAIL", "REVOKED"), None),
    # These wait, run, or will run again.
    **dict.fromkeys(("PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "STAGE_OUT", "SIGNALING", "STOPPED"), None),
    **dict.fromkeys(("REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"), None),
    **dict.fromkeys(("EXPEDITING", "POWER_UP_NODE", "UPDATE_DB"), None),
}
"""Slurm's states: how SWF numbers the jobs that ended so, or None where no job ran to an end."""

_ENDED = tuple(state for state, status in STATES.items() if status is not None)
_MAY_NOT_START = ("CANCELLED", "DEADLINE")
_MAY_NOT_END = ("SUSPENDED", "RESIZING")
_DATES = ("submit", "eligible", "start", "end")
_TEXTS = ("user", "group", "project", "queue", "qos", "application", "licences")
_NO_LIMITS = ("UNLIMITED", "Partition_Limit")
_MEGABYTE = 1024.0**2
_LARGEST_BYTES = 2.0**62
_DATE = "a date with a time such as 2024-05-01T12:30:00"
# Notes of one and of several.
_EARLY_START = (
    "job started before it was eligible: its logged wait is 0",
    "jobs started before they were eligible: their logged wait is 0",
)
_EARLY_ELIGIBLE = (
    "job was eligible before it was submitted: taken as submitted then",
    "jobs were eligible before they were submitted: taken as submitted then",
)
_PLAIN_MEMORY = ("job has a ReqMem without a unit: read as bytes", "jobs have a ReqMem without a unit: read as bytes")
_NO_ELAPSED = (
    "value of Elapsed is no duration: End - Start is taken",
    "values of Elapsed are no duration: End - Start is taken",
)
_NO_DURATION = (
    "value of Timelimit or TotalCPU is no duration: ignored",
    "values of Timelimit or TotalCPU are no duration: ignored",
)
_NO_SIZE = ("value of MaxRSS is no size: ignored", "values of MaxRSS are no size: ignored")


class Part(NamedTuple):
    """What a block of lines holds: jobs, largest memory of the steps of each job, names of all jobs seen, the rest."""

    jobs: pl.DataFrame
    steps: pl.DataFrame
    seen: pl.Series
    rejected: pl.DataFrame
    left_out: Counter[str]
    repairs: Counter[tuple[str, str]]
    has_zoneless: bool


def part_of(records: pl.DataFrame, names: Mapping[str, str]) -> Part:
    """The jobs among records of text; `names` says what the columns that there are were called in the file."""
    is_step = records["job"].str.contains(".", literal=True).fill_null(False)
    repairs: Counter[tuple[str, str]] = Counter()
    steps = _steps(records.filter(is_step), repairs)
    jobs = records.filter(~is_step)
    seen = jobs["job"]
    word = by_distinct(jobs["state"], lambda texts: texts.str.extract(r"^([A-Za-z_]+)").str.to_uppercase())
    jobs = jobs.with_columns(word=word if "state" in names else pl.lit("COMPLETED"))
    jobs, left_out = _that_ran(jobs, names)
    jobs = _typed(jobs, names)
    jobs, rejected = _usable(jobs, names)
    _count_repairs(jobs, repairs)
    has_zoneless = bool((jobs["eligible"].str.len_bytes() == 19).any() or (jobs["submit"].str.len_bytes() == 19).any())
    return Part(_as_columns(jobs, names), steps, seen, rejected, left_out, repairs, has_zoneless)


def _steps(records: pl.DataFrame, repairs: Counter[tuple[str, str]]) -> pl.DataFrame:
    """The largest MaxRSS over the steps of each job (`846_0.batch`, `900+1.0`), and how many steps it has."""
    used = by_distinct(records["used_memory"], to_size)
    repairs[_NO_SIZE] += used.null_count() - records["used_memory"].null_count()
    job_id = records["job"].str.splitn(".", 2).struct.field("field_0")
    steps = pl.DataFrame({"job_id": job_id, "used": used})
    return steps.group_by("job_id").agg(pl.col("used").max(), pl.len().cast(pl.Int64).alias("count"))


def _that_ran(jobs: pl.DataFrame, names: Mapping[str, str]) -> tuple[pl.DataFrame, Counter[str]]:
    """The records of jobs that ran to an end or whose state nobody knows, and how many others of which state."""
    word = pl.col("word")
    has_ended = word.is_in(_ENDED) & ~(word.is_in(_MAY_NOT_END) & ~is_filled(jobs["end"]))
    never_started = pl.lit(False)
    if "start" in names:
        never_started |= ~is_filled(jobs["start"])
    if "cpus" in names:
        never_started |= (pl.col("cpus") == "0").fill_null(False)
    never_started &= word.is_in(_MAY_NOT_START)
    label = (
        pl.when(never_started)
        .then(pl.format("{} before they started", word))
        .when(word.is_in(list(STATES)) & ~has_ended)
        .then(word)
    )
    jobs = jobs.with_columns(label=label)
    if jobs["label"].null_count() == len(jobs):
        return jobs, Counter()
    counts = jobs["label"].drop_nulls().value_counts()
    return jobs.filter(pl.col("label").is_null()), Counter(dict(counts.rows()))


def _typed(jobs: pl.DataFrame, names: Mapping[str, str]) -> pl.DataFrame:
    """The records with their times and amounts as numbers beside the cells, null where a cell does not convert."""
    given, asked = jobs["given"], jobs["asked"]
    numbers = {
        **{f"{role}_us": to_moments(jobs[role]) for role in _DATES},
        "elapsed_s": _clock_or_number(jobs["elapsed"], 1.0),
        "limit_s": _clock_or_number(jobs["limit"], 60.0),
        "cpu_s": to_clock(jobs["cpu_time"]),
        "own_cpus": by_distinct(jobs["cpus"], to_count),
        "own_asked_cpus": by_distinct(jobs["asked_cpus"], to_count),
        "given_cpus": by_distinct(given, lambda cells: tres_amount(cells, "cpu").cast(pl.Int64, strict=False)),
        "own_nodes": by_distinct(jobs["nodes"], to_count),
        "given_nodes": by_distinct(given, lambda cells: tres_amount(cells, "node").cast(pl.Int64, strict=False)),
        "given_memory": by_distinct(given, lambda cells: tres_amount(cells, "mem", _MEGABYTE)),
        "asked_memory": by_distinct(asked, lambda cells: tres_amount(cells, "mem", _MEGABYTE)),
        "given_gpus": by_distinct(given, lambda cells: tres_amount(cells, "gres/gpu")),
        "asked_gpus": by_distinct(asked, lambda cells: tres_amount(cells, "gres/gpu")),
        "own_memory": by_distinct(
            jobs["memory"], lambda cells: to_size(cells.str.strip_suffix("c").str.strip_suffix("n"))
        ),
        "used_by_job": by_distinct(jobs["used_memory"], to_size),
    }
    jobs = jobs.with_columns(column.alias(name) for name, column in numbers.items())
    jobs = jobs.with_columns(
        known_us=pl.col("submit_us" if "submit" in names else "eligible_us"),
        eligible_us=pl.col("eligible_us" if "eligible" in names else "submit_us"),
        run_time=pl.coalesce("elapsed_s", (pl.col("end_us") - pl.col("start_us")) / 1e6),
        cores=pl.coalesce("own_cpus", "given_cpus", "own_asked_cpus"),
        machines=pl.coalesce("own_nodes", "given_nodes").clip(lower_bound=1),
        gpus=pl.coalesce("given_gpus", "asked_gpus"),
    )
    per = (
        pl.when(pl.col("memory").str.ends_with("c"))
        .then("cores")
        .when(pl.col("memory").str.ends_with("n"))
        .then(pl.col("machines").fill_null(1))
        .otherwise(1)
    )
    return jobs.with_columns(memory_bytes=pl.coalesce("given_memory", "asked_memory", pl.col("own_memory") * per))


def _clock_or_number(cells: pl.Series, unit_s: float) -> pl.Series:
    """Seconds of a clock, or of the bare numbers of Slurm's raw fields."""
    clocks = to_clock(cells)
    rest = cells.set(clocks.is_not_null(), None)
    if rest.null_count() == len(rest):
        return clocks
    numbers = rest.set(~rest.str.contains(r"^[0-9]{1,12}$"), None).cast(pl.Float64) * unit_s
    return clocks.zip_with(clocks.is_not_null(), numbers)


def _usable(jobs: pl.DataFrame, names: Mapping[str, str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The records that make jobs, and the others with the first reason against them."""

    def told(role: str, expected: str) -> pl.Expr:
        cell = pl.col(role).str.slice(0, 40).str.replace_all(r"\s+", " ")
        text = pl.format("{} is '{}'; expected {}", pl.lit(names.get(role, role)), cell, pl.lit(expected))
        return (
            pl.when(pl.col(role).is_null())
            .then(pl.lit(f"{names.get(role, role)} is empty; expected {expected}"))
            .otherwise(text)
        )

    dates = [role for role in _DATES if role in names]
    times = pl.max_horizontal("run_time", "limit_s", "cpu_s")
    most = pl.max_horizontal("cores", "machines", "gpus", "own_asked_cpus")
    run_time = "elapsed" if "elapsed" in names else "end"
    cores = next(role for role in ("cpus", "given", "asked_cpus") if role in names)
    reasons = [
        (pl.col("job").is_null(), told("job", "the number of a job")),
        (~pl.col("word").is_in(list(STATES)).fill_null(False), told("state", "one of Slurm's, such as COMPLETED")),
        *((pl.col(f"{role}_us").is_null(), told(role, _DATE)) for role in dates),
        (pl.col("run_time").is_null(), told(run_time, "a duration such as 1-02:30:00")),
        (pl.col("run_time") < 0, told(run_time, "a date after Start")),
        (
            _is_no_number(jobs, "cpus", "own_cpus") | (pl.col("cores").fill_null(0) < 1),
            told(cores, "a whole number of cores, 1 or more"),
        ),
        (_is_no_number(jobs, "nodes", "own_nodes"), told("nodes", "a whole number of machines")),
        (_is_no_number(jobs, "memory", "memory_bytes"), told("memory", "a size such as 4G, 2Gc or 4Gn")),
        (most > MOST_CORES, pl.lit("cores, machines or GPUs are beyond any cluster's")),
        (pl.col("memory_bytes") > _LARGEST_BYTES, pl.lit("the memory is beyond any machine's")),
        (times > MOST_SECONDS, pl.lit("a duration is beyond any log's")),
    ]
    is_bad = jobs.select(pl.any_horizontal(is_so.fill_null(False) for is_so, _ in reasons)).to_series()
    if not is_bad.any():
        return jobs, _as_rejected(jobs.clear(), pl.lit(""))
    reason = pl.coalesce(pl.when(is_so).then(text) for is_so, text in reasons)
    return jobs.filter(~is_bad), _as_rejected(jobs, reason).filter(is_bad)


def _is_no_number(jobs: pl.DataFrame, role: str, number: str) -> pl.Expr:
    return pl.col(number).is_null() & is_filled(jobs[role])


def _as_rejected(jobs: pl.DataFrame, reason: pl.Expr) -> pl.DataFrame:
    return jobs.select("line", job_id=pl.col("job").str.slice(0, 60), reason=reason)


def _count_repairs(jobs: pl.DataFrame, repairs: Counter[tuple[str, str]]) -> None:
    is_plain = pl.coalesce("given_memory", "asked_memory").is_null() & pl.col("memory").str.contains(
        r"^[0-9.]*[1-9][0-9.]*$"
    )
    has_other_limit = pl.col("limit_s").is_null() & ~pl.col("limit").is_in(_NO_LIMITS)
    has_other_cpu_time = pl.col("cpu_s").is_null() & pl.col("cpu_time").is_not_null()
    cases = {
        _EARLY_START: (pl.col("start_us") < pl.col("eligible_us")).sum(),
        _EARLY_ELIGIBLE: (pl.col("eligible_us") < pl.col("known_us")).sum(),
        _PLAIN_MEMORY: is_plain.sum(),
        _NO_SIZE: (pl.col("used_memory").is_not_null() & pl.col("used_by_job").is_null()).sum(),
        _NO_ELAPSED: (pl.col("elapsed_s").is_null() & pl.col("elapsed").is_not_null()).sum(),
        _NO_DURATION: has_other_limit.sum() + has_other_cpu_time.sum(),
    }
    counts = jobs.select(count.alias(several) for (_, several), count in cases.items()).row(0)
    repairs.update(dict(zip(cases, counts, strict=True)))


def _as_columns(jobs: pl.DataFrame, names: Mapping[str, str]) -> pl.DataFrame:
    """The jobs in the columns of a workload, and what is needed to put all parts together."""
    wait_us = pl.col("start_us") - pl.col("eligible_us")
    ineligible_us = pl.col("eligible_us") - pl.col("known_us")
    numbers = {state: number for state, number in STATES.items() if number in (0, 1, 5)}
    status = pl.col("word").replace_strict(list(numbers), list(numbers.values()), return_dtype=pl.Int64, default=None)
    licences = pl.when(pl.col("licences") != "(null)").then(pl.col("licences"))
    return jobs.select(
        pl.col("job").alias("job_id"),
        "known_us",
        "eligible_us",
        "start_us",
        "used_by_job",
        "run_time",
        "cores",
        "machines",
        "line",
        *(name for name in _TEXTS if name != "licences"),
        licences=licences,
        ineligible_time=ineligible_us.clip(lower_bound=0) / 1e6,
        memory_bytes=pl.col("memory_bytes").round().cast(pl.Int64),
        gpus=pl.col("gpus").cast(pl.Int64, strict=False),
        walltime=pl.when(pl.col("limit_s") > 0).then(pl.col("limit_s")),
        priority=pl.col("priority").cast(pl.Float64, strict=False),
        logged_wait=wait_us.clip(lower_bound=0) / 1e6,
        logged_cores=pl.coalesce("own_cpus", "given_cpus"),
        requested_cores="own_asked_cpus",
        cpu_time=pl.col("cpu_s") / pl.col("cores"),
        status=status if "state" in names else pl.lit(None, pl.Int64),
    )
