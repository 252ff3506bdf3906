"""Tables of a run in the cloud, by hand: machines, attempts and the hosts of each."""

import polars as pl

GIB = 2**30

MACHINES = {
    "machine": pl.Int64, "type": pl.String, "family": pl.String, "plan": pl.String, "billing": pl.String,
    "cores": pl.Int64, "vcpus": pl.Int64, "memory_bytes": pl.Int64, "gpus": pl.Int64, "usd_per_hour": pl.Float64,
    "start_time": pl.Float64, "up_time": pl.Float64, "stop_time": pl.Float64, "cause": pl.String,
    "started_for": pl.String,
}  # fmt: skip
ATTEMPTS = {
    "attempt": pl.Int64, "job_id": pl.String, "submit_time": pl.Float64, "start_time": pl.Float64,
    "finish_time": pl.Float64, "cores": pl.Int64, "how": pl.String,
}  # fmt: skip


def instance(start, up, stop, *, usd=1.0, plan="on-demand", family="c5", cores=4, gib=16, cause="idle", job="a"):
    """An instance of the cloud."""
    kind = {"type": f"{family}.large", "family": family, "plan": plan, "billing": "life", "usd_per_hour": usd}
    amounts = {"cores": cores, "vcpus": 2 * cores, "memory_bytes": int(gib * GIB), "gpus": 0}
    return kind | amounts | {
        "start_time": start, "up_time": up, "stop_time": stop, "cause": cause, "started_for": job,
    }  # fmt: skip


def fixed(*, usd=1.0, plan="on-premises", billing="always", family="server", cores=4, gib=16):
    """A machine that is always there."""
    kept = instance(None, None, None, usd=usd, plan=plan, family=family, cores=cores, gib=gib, cause=None, job=None)
    return {**kept, "billing": billing}


def tables(machines, attempts, memory=None, **columns):
    """Machines, attempts, allocations, jobs: an attempt is (job, submit, start, finish, cores, machines, how)."""
    numbered = [{"machine": at, **machine} for at, machine in enumerate(machines)]
    rows = [
        dict(zip(ATTEMPTS, (at, *row[:5], row[6] if len(row) > 6 else "completed"), strict=True))
        for at, row in enumerate(attempts)
    ]
    hosts = [(at, machine, machine, 1) for at, row in enumerate(attempts) for machine in row[5]]
    names = ["attempt", "first_machine", "last_machine", "units"]
    allocations = pl.DataFrame(hosts, schema=dict.fromkeys(names, pl.Int64), orient="row")
    return (
        pl.DataFrame(numbered, schema=MACHINES),
        pl.DataFrame(rows, schema=ATTEMPTS),
        allocations,
        jobs_of(attempts, memory or {}, columns),
    )


def jobs_of(attempts, memory, columns):
    """The table of jobs: the last attempt of each, in the order of first attempts."""
    last = {row[0]: row for row in attempts}
    count = {job: sum(row[0] == job for row in attempts) for job in last}
    schema = {
        "job_id": pl.String, "submit_time": pl.Float64, "start_time": pl.Float64, "finish_time": pl.Float64,
        "cores": pl.Int64, "machines": pl.Int64, "memory_bytes": pl.Int64, "attempts": pl.Int64,
    }  # fmt: skip
    rows = [
        (job, row[1], row[2], row[3], row[4], len(row[5]), int(memory.get(job, 0) * GIB), count[job])
        for job, row in last.items()
    ]
    jobs = pl.DataFrame(rows, schema=schema, orient="row")
    times = {
        "wait_time": jobs["start_time"] - jobs["submit_time"],
        "run_time": jobs["finish_time"] - jobs["start_time"],
    }
    named = {name: [values.get(job) for job in last] for name, values in columns.items()}
    overrides = {name: pl.Float64 for name in named if name == "logged_wait"}
    return (
        jobs.with_columns(**times).hstack(pl.DataFrame(named, schema_overrides=overrides))
        if named
        else (jobs.with_columns(**times))
    )
