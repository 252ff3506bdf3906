"""How long logs take to read and to write: SWF, and what sacct prints."""

import tempfile
import time
from pathlib import Path

import polars as pl

from unspool.workloads import read_workload, write_workload
from unspool.workloads.generators import lublin

_SACCT = "JobID|User|Account|Partition|QOS|State|Submit|Eligible|Start|End|Elapsed|Timelimit|NCPUS|AllocNodes|ReqMem"
_STEPS = ("", ".batch", ".extern", ".0")


def measure(jobs):
    """(seconds to read, seconds to write) a log of so many jobs."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.swf"
        workload = lublin(jobs, 480, 0.9, 1, max_cores=128)
        began = time.perf_counter()
        write_workload(workload, path)
        written = time.perf_counter() - began
        return _best_of_reading(path, jobs), written


def measure_sacct(lines, steps=3):
    """Seconds to read so many lines of sacct, of which so many a job are its steps."""
    jobs = lines // (1 + steps)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sacct.txt"
        write_sacct(lublin(jobs, 480, 0.9, 1, max_cores=128), path, steps)
        with path.open("rb") as file:
            assert sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 24), b"")) == 1 + jobs * (1 + steps)
        return _best_of_reading(path, jobs)


def write_sacct(workload, path, steps):
    """A log in the form of `sacct --parsable2`, with the steps of each job after it."""
    origin = pl.datetime(2024, 1, 1)
    second = pl.duration(seconds=1)
    submit = origin + pl.col("submit_time").cast(pl.Int64) * second
    start = submit + 60 * second
    end = start + pl.col("run_time").cast(pl.Int64) * second
    jobs = workload.table.select(
        job=pl.col("job_id"),
        user=pl.format("user{}", pl.int_range(pl.len()) % 300),
        project=pl.format("project{}", pl.int_range(pl.len()) % 40),
        queue=pl.lit("long"),
        qos=pl.lit("normal"),
        state=pl.when(pl.int_range(pl.len()) % 20 == 0).then(pl.lit("TIMEOUT")).otherwise(pl.lit("COMPLETED")),
        submit=submit.dt.to_string("%Y-%m-%dT%H:%M:%S"),
        eligible=submit.dt.to_string("%Y-%m-%dT%H:%M:%S"),
        start=start.dt.to_string("%Y-%m-%dT%H:%M:%S"),
        end=end.dt.to_string("%Y-%m-%dT%H:%M:%S"),
        elapsed=_clock(pl.col("run_time").cast(pl.Int64)),
        limit=pl.lit("2-00:00:00"),
        cores=pl.col("cores"),
        nodes=(pl.col("cores") + 63) // 64,
        memory=pl.lit("2Gc"),
        at=pl.int_range(pl.len()),
    )
    given = pl.format("billing={},cpu={},mem={}G,node={}", "cores", "cores", pl.col("cores") * 2, "nodes")
    rss = pl.format("{}K", 100_000 + pl.col("at") % 9973)
    records = [jobs.with_columns(rank=pl.lit(0), rss=pl.lit(""), given=given)]
    for rank, step in enumerate(_STEPS[1 : steps + 1], 1):
        blank = {name: pl.lit("") for name in ("user", "queue", "qos", "limit", "memory")}
        records.append(jobs.with_columns(job=pl.col("job") + step, rank=pl.lit(rank), rss=rss, given=given, **blank))
    table = pl.concat(records).sort("at", "rank").drop("at", "rank")
    with path.open("wb") as file:
        file.write(f"{_SACCT}|MaxRSS|AllocTRES\n".encode())
        table.write_csv(file, separator="|", include_header=False, quote_style="never")


def _clock(seconds):
    hours = pl.format("{}:{}:{}", *(part.cast(pl.String).str.zfill(2) for part in _parts(seconds)))
    return pl.when(seconds >= 86400).then(pl.format("{}-{}", seconds // 86400, hours)).otherwise(hours)


def _parts(seconds):
    return seconds % 86400 // 3600, seconds % 3600 // 60, seconds % 60


def _best_of_reading(path, jobs):
    best = float("inf")
    for _ in range(3):
        began = time.perf_counter()
        assert len(read_workload(path)) == jobs
        best = min(best, time.perf_counter() - began)
    return best
