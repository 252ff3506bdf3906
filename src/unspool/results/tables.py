"""The journal of a finished run as tables."""

from __future__ import annotations

import numpy as np
import polars as pl

from unspool.arrays import Array
from unspool.engine.cloud.instances import ON_DEMAND
from unspool.engine.energy import STEP_COLUMNS, power_steps
from unspool.engine.kernel.simd import LANES
from unspool.metrics.energy import attempt_joules, machine_joules
from unspool.metrics.waiting import job_times
from unspool.model.cloud import PLANS, Cloud
from unspool.model.platform import MachineType, Platform
from unspool.model.workload import Workload
from unspool.results.result import NETWORK_USE
from unspool.simulation.codes import COMPLETED, FAILED, KILLED, LOST, RUNNING, TIMED_OUT
from unspool.simulation.engine import Engine
from unspool.workloads.references import spans_of

__all__ = [
    "allocations_of", "attempts_of", "energy_of", "instances_of", "jobs_of", "machines_of", "network_use_of",
    "outages_of",
]  # fmt: skip

# Where machines are brought up and down, a job is on whole hosts, and what it had of them says what it pays.
_KEPT_IN_CLOUD = ("memory_bytes", "gpus", "logged_wait")
_KEPT = (
    "job_id", "user", "group", "project", "queue", "partition", "application", "profile", "submit_time", "walltime",
)  # fmt: skip
_HOW = {RUNNING: "running", COMPLETED: "completed", TIMED_OUT: "walltime", KILLED: "killed", LOST: "lost",
        FAILED: "failed"}  # fmt: skip
_HOW_SERIES = pl.Series(list(_HOW.values()), dtype=pl.Enum(list(_HOW.values())))
_PLACE_OF_HOW = np.full(max(_HOW) + 1, len(_HOW), np.uint32)  # in that, by code
_PLACE_OF_HOW[list(_HOW)] = np.arange(len(_HOW))


def attempts_of(engine: Engine) -> pl.DataFrame:
    """One row for each time that a job was started: when, until when, and how it ended."""
    attempts = engine.attempts
    return pl.DataFrame(
        {
            "job_id": _of_jobs(engine, "job_id", attempts["job"]),
            "attempt": pl.Series(np.arange(len(attempts), dtype=np.int64)),
            "submit_time": engine.core.jobs["submit"][attempts["job"]],
            "start_time": np.ascontiguousarray(attempts["start"]),
            "finish_time": np.ascontiguousarray(attempts["finish"]),
            "cores": engine.core.jobs["size"][attempts["job"]],
            "how": _how(_endings(engine, _codes(engine))),
        }
    )


def jobs_of(engine: Engine) -> pl.DataFrame:
    """One row for each job that ran, in the order of submission, with its last attempt."""
    last = engine.core.fate["attempt"]
    ran = np.flatnonzero(last >= 0)
    last = last[ran]
    attempts = engine.core.attempts
    codes = _codes(engine)
    how = _endings(engine, codes)[last]
    table = engine.workload.table
    names = (*_KEPT, *_KEPT_IN_CLOUD) if engine.platform.cloud is not None else _KEPT
    kept = table.select(name for name in names if name in table.columns)
    if len(ran) < len(table):
        kept = kept[engine.used[ran]]
    jobs = kept.with_columns(
        cores=engine.core.jobs["size"][ran],
        start_time=attempts["start"][last],
        finish_time=attempts["finish"][last],
        state=_how(how),
        attempts=np.bincount(engine.attempts["job"], minlength=len(engine.core.jobs))[ran],
    ).with_columns(job_times())
    if codes is not None:
        jobs = jobs.with_columns(return_code=_return_codes(engine, codes, ran, how))
    if engine.platform.cloud is not None and engine.place is not None:
        jobs = jobs.with_columns(machines=engine.place.shapes["units"][engine.core.jobs["shape"][ran]])
    if engine.annotations:
        notes = pl.DataFrame(
            {"job_id": list(engine.annotations), "notes": ["; ".join(texts) for texts in engine.annotations.values()]}
        )
        jobs = jobs.join(notes, on="job_id", how="left", maintain_order="left")
    return jobs


def _codes(engine: Engine) -> Array | None:
    """The code that each job of the run returns when nobody stops it; None where no job has a profile."""
    if "profile" not in engine.workload.table.columns:
        return None
    fluid = engine.state.fluid
    codes = np.zeros(len(engine.used), np.int64) if fluid is None else fluid.codes
    timed = {name: span.code for name, span in spans_of(engine.workload.profiles).items() if span.code}
    if not timed:
        return codes
    names = engine.workload.table["profile"].gather(pl.Series(engine.used))
    told = names.replace_strict(timed, default=None, return_dtype=pl.Int64)
    return pl.select(pl.coalesce(told, pl.Series(codes))).to_series().to_numpy()


def _endings(engine: Engine, codes: Array | None) -> Array:
    """How each attempt ended; a delay that returns a code other than 0 has failed too."""
    how = engine.attempts["how"].copy()  # of a single attempt even a contiguous array would be the journal itself
    if codes is not None:
        how[(how == COMPLETED) & (codes[engine.attempts["job"]] != 0)] = FAILED
    return how


def _return_codes(engine: Engine, codes: Array, ran: Array, how: Array) -> Array:
    """What jobs returned: -1 where the walltime was over or a delay was killed, -2 where work was."""
    fluid = engine.state.fluid
    works = np.zeros(len(ran), bool) if fluid is None else fluid.program_of[ran] >= 0
    is_cut = (how == KILLED) | (how == LOST)
    return np.where(how == TIMED_OUT, -1, np.where(is_cut, np.where(works, -2, -1), codes[ran]))


def outages_of(engine: Engine) -> pl.DataFrame:
    """One row for each time that a machine was down in the course of the run."""
    schema = {"machine": pl.Int64, "down_time": pl.Float64, "up_time": pl.Float64, "cause": pl.String}
    rows = [
        (outage.machine, outage.down_time, outage.up_time, outage.cause)
        for outage in engine.outages
        if outage.down_time <= engine.now
    ]
    return pl.DataFrame(rows, schema=schema, orient="row")


def network_use_of(engine: Engine) -> pl.DataFrame:
    """Flops of hosts and bytes of links in equal bins of time, without bins in which there are none.

    Of links that give each user all of their bandwidth it is not known: of a task only its largest message counts.
    """
    fluid, network = engine.state.fluid, engine.platform.network
    if fluid is None or network is None or not fluid.sharing.used.size:
        return pl.DataFrame(schema=NETWORK_USE)
    sharing = fluid.sharing
    resources = sharing.resources
    used = sharing.used[LANES * resources["bundle"] + resources["lane"]]
    resource, bin_ = np.nonzero((used > 0.0) & (resources["is_fat"] == 0)[:, None])
    names = pl.Series([*(host.name for host in network.hosts), *(link.name for link in network.links)])
    begin, width = float(sharing.rule[0]["use_from"]), float(sharing.rule[0]["bin_s"])
    return pl.DataFrame(
        {
            "resource": names.gather(resource),
            "kind": np.where(resource < len(network.hosts), "host", "link"),
            "capacity": sharing.capacity[resources["bundle"], resources["lane"]][resource],
            "begin_time": begin + bin_ * width,
            "end_time": begin + (bin_ + 1) * width,
            "amount": used[resource, bin_],
        },
        schema=NETWORK_USE,
    )


_SWITCHES = {
    "order": pl.Int64, "machine": pl.Int64, "time": pl.Float64, "until": pl.Float64, "was": pl.Int64, "via": pl.Int64,
    "pstate": pl.Int64, "started": pl.Int64,
}  # fmt: skip


def energy_of(
    engine: Engine, jobs: pl.DataFrame, attempts: pl.DataFrame, machines: pl.DataFrame
) -> dict[str, pl.DataFrame]:
    """The tables with what everybody used, and those of power and switches; the same tables without energy."""
    board = engine.power
    if board is None:
        return {"jobs": jobs, "attempts": attempts, "machines": machines}
    until = max(
        float(engine.attempts["finish"].max(initial=0.0)), max((each.until for each in board.switches), default=0.0)
    )
    since = min(0.0, float(engine.core.jobs["submit"].min(initial=0.0)))
    course = board.course(engine)
    steps = power_steps(course, since, until) if until > since else _no_steps()
    share, whole = attempt_joules(course, steps)
    attempts = attempts.with_columns(energy_j=share, machines_energy_j=whole)
    used = attempts.group_by("job_id").agg(pl.sum("energy_j"))
    joules = machine_joules(steps, since, until)
    return {
        "jobs": jobs.join(used, on="job_id", how="left", maintain_order="left"),
        "attempts": attempts,
        "machines": machines.join(joules, on="machine", how="left", maintain_order="left").with_columns(
            pl.col("energy_j").fill_null(0.0)
        ),
        "power": steps,
        "switches": pl.DataFrame(board.switches, schema=_SWITCHES, orient="row"),
    }


def _no_steps() -> pl.DataFrame:
    kinds = (pl.Int64, pl.Float64, pl.Float64, pl.Int64, pl.Float64, pl.Float64)
    return pl.DataFrame(schema=dict(zip(STEP_COLUMNS, kinds, strict=True)))


def allocations_of(engine: Engine) -> pl.DataFrame:
    """One row for each run of neighbouring machines that an attempt held; empty on a pool."""
    schema = {"attempt": pl.Int32, "first_machine": pl.Int32, "last_machine": pl.Int32, "units": pl.Int32}
    if engine.place is None:
        return pl.DataFrame(schema=schema)
    rows = engine.place.rows[: int(engine.core.course[0]["rows"])]
    attempt = np.repeat(np.arange(len(engine.attempts), dtype=np.int32), engine.attempts["row_count"])
    return pl.DataFrame(
        {
            "attempt": attempt,
            "first_machine": np.ascontiguousarray(rows["first"]),
            "last_machine": np.ascontiguousarray(rows["last"]),
            "units": np.ascontiguousarray(rows["units"]),
        },
        schema=schema,
    )


def machines_of(platform: Platform, jobs: pl.DataFrame) -> pl.DataFrame:
    """One row a machine: what it has, and from when to when it was there."""
    types = pl.DataFrame(
        [_machine_row(group.machine, platform) for group in platform.groups],
        schema={"type": pl.String, "partitions": pl.String, "cores": pl.Int64, "memory_bytes": pl.Int64,
                "gpus": pl.Int64, "plan": pl.String, "usd_per_hour": pl.Float64},
        orient="row",
    )  # fmt: skip
    machines = types[np.repeat(np.arange(len(types)), [group.count for group in platform.groups])]
    return machines.select(
        pl.int_range(pl.len(), dtype=pl.Int64).alias("machine"),
        *types.columns[:5],
        pl.lit(jobs["submit_time"].min(), pl.Float64).alias("up_time"),
        pl.lit(jobs["finish_time"].max(), pl.Float64).alias("stop_time"),
        *types.columns[5:],
    )


_INSTANCES = {
    "type": pl.String, "family": pl.String, "cores": pl.Int64, "vcpus": pl.Int64, "memory_bytes": pl.Int64,
    "gpus": pl.Int64, "billing": pl.String,
}  # fmt: skip


def instances_of(engine: Engine, cloud: Cloud) -> pl.DataFrame:
    """The same where machines were brought up and down; those of the platform were there all the time."""
    elastic = engine.state.elastic
    assert elastic is not None
    instances = elastic.instances[: int(elastic.rule[0]["machines"])]
    fixed = int(elastic.rule[0]["fixed"])
    vcpus = {kind.name: kind.vcpus for kind in cloud.types}
    rows: list[tuple[str | int, ...]] = [
        (m.name, m.name.partition(".")[0], m.cores, vcpus.get(m.name, m.cores), m.memory_bytes, m.gpus, m.billing)
        for m in (group.machine for group in engine.platform.groups)
    ]
    rows += [(k.name, k.family, k.cores, k.vcpus, k.memory_bytes, k.gpus, "life") for k in cloud.types]
    group = np.repeat(np.arange(len(engine.platform.groups)), [g.count for g in engine.platform.groups])
    started = instances[fixed:]
    of_kind = np.concatenate([group, len(engine.platform.groups) + started["kind"]])
    fixed_prices = [g.machine.prices[0].usd_per_hour if g.machine.prices else 0.0 for g in engine.platform.groups]
    prices = np.array([(k.on_demand_usd_per_hour or 0.0, k.spot_usd_per_hour or 0.0) for k in cloud.types]).reshape(
        -1, 2
    )
    usd = np.concatenate(
        [np.array(fixed_prices, np.float64)[group], prices[started["kind"], started["plan"] - ON_DEMAND]]
    )
    is_fixed = pl.Series(np.arange(len(instances)) < fixed)
    jobs = _of_jobs(engine, "job_id", np.maximum(instances["job"], 0)) if len(engine.used) else pl.lit(None, pl.String)
    stopped = pl.Series(np.where(instances["stop"] >= 0.0, instances["stop"], np.nan)).fill_nan(None)
    was_up = pl.Series((instances["stop"] < 0.0) | (instances["up"] <= instances["stop"]))
    plans = pl.Series([PLANS[0]] if not len(instances) else np.array(PLANS)[instances["plan"]], dtype=pl.String)
    table = pl.DataFrame(rows, schema=_INSTANCES, orient="row")[of_kind].with_columns(
        pl.int_range(pl.len(), dtype=pl.Int64).alias("machine"),
        plan=plans.head(len(instances)),
        usd_per_hour=usd,
        start_time=pl.when(~is_fixed).then(pl.Series(instances["start"].copy())),
        up_time=pl.when(~is_fixed & was_up).then(pl.Series(instances["up"].copy())),
        stop_time=stopped,
        cause=pl.when(~is_fixed & stopped.is_not_null()).then(
            pl.when(pl.Series(instances["reclaimed"] != 0)).then(pl.lit("reclaimed")).otherwise(pl.lit("idle"))
        ),
        started_for=pl.when(~is_fixed).then(jobs),
    )
    return table.select("machine", *(name for name in table.columns if name != "machine"))


def _machine_row(machine: MachineType, platform: Platform) -> tuple[str | int | float | None, ...]:
    partitions = ",".join(partition.name for partition in platform.partitions if machine.name in partition.groups)
    price = machine.prices[0] if machine.prices else None
    plan, usd_per_hour = (price.plan, price.usd_per_hour) if price else (None, None)
    return machine.name, partitions, machine.cores, machine.memory_bytes, machine.gpus, plan, usd_per_hour


def _of_jobs(engine: Engine, column: str, jobs: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pl.Series:
    workload: Workload = engine.workload
    return workload.table[column].gather(pl.Series(engine.used[jobs]))


def _how(codes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pl.Series:
    return _HOW_SERIES.gather(_PLACE_OF_HOW[codes])
