"""`unspool.run`: from a log, a platform and a policy to a result."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from os import PathLike, fspath
from time import perf_counter
from typing import Any

from unspool.errors import InputError
from unspool.model.network import Contention
from unspool.model.outages import OnLoss, Outages
from unspool.model.platform import Platform
from unspool.model.workload import Workload, is_frame
from unspool.platforms import pool_of_log, read_platform
from unspool.platforms.outages import read_outages
from unspool.plugins import build
from unspool.results.rejection import rejected_shares
from unspool.results.result import Result
from unspool.results.tables import (
    allocations_of,
    attempts_of,
    energy_of,
    instances_of,
    jobs_of,
    machines_of,
    network_use_of,
    outages_of,
)
from unspool.simulation.engine import Engine, Policy
from unspool.workloads import Log, as_workload
from unspool.workloads.plausibility import on_load

__all__ = ["run"]


def run(
    workload: Log,
    platform: Platform | str | int | PathLike[str] | None = None,
    policy: str | Policy = "easy",
    *,
    seed: int = 0,
    kill_at_walltime: bool = False,
    outages: Outages | str | PathLike[str] | None = None,
    on_loss: OnLoss | str = "requeue",
    contention: Contention | None = None,
    message_delay_s: float = 0.0,
    energy: bool = False,
    keeps_all: bool = False,
    progress: Callable[[int, int], None] | None = None,
    compiling: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Result:
    """Replay a workload on a platform under a policy.

    The workload is a file, a `Workload`, or a DataFrame of Polars or pandas with our columns. The platform is a text
    such as `480` or `128x16:64GiB`, a file or a `Platform`; by default as many cores as the log says that its machine
    had. The policy is a name, a function of a view, or an object with `decide(view)`. Jobs run as long as the log says,
    also beyond the walltime that they asked for, unless `kill_at_walltime`; those whose profile computes or
    communicates, as long as that takes on a platform with a network.

    `outages` says when machines are down: a file, a text such as `mtbf=30d,repair=4h`, or `Outages`; `on_loss` what
    becomes of the jobs on them: `requeue`, `kill`, `resume:1h` with the time between checkpoints, or `keep`.

    `contention` has the rules by which jobs with profiles share the platform's network. `message_delay_s` passes from
    whatever happens until the policy hears of it and decides. With `keeps_all` the policy is also shown jobs that can
    never run here, and must say what becomes of them.

    `energy` asks what machines and jobs draw: machines need watts (`wattage_per_state` in SimGrid's XML, `power` in
    YAML), and policies may then put them to sleep. Some
    policies, such as `easy:sleep_after=300`, ask for it themselves.

    `progress` is called now and then with how many of how many jobs have started; `compiling()` is entered while the
    loop is compiled or loaded from disk.
    """
    name = policy if isinstance(policy, str) else name_of(policy)
    scheduler: Any = build("schedulers", policy) if isinstance(policy, str) else policy
    if not callable(scheduler) and not any(hasattr(scheduler, drives) for drives in ("decide", "drive")):
        raise InputError(
            f"policy is {scheduler!r}; expected a name, a function of a view, or an object with decide(view)"
        )
    energy = energy or bool(getattr(scheduler, "needs_energy", False))
    began = perf_counter()
    log, workload = workload, as_workload(workload)
    if platform is None:
        platform = pool_of_log(workload)
    given = {"workload": text_of(workload if is_frame(log) else log), "platform": text_of(platform)}
    if not isinstance(platform, Platform):
        platform = read_platform(text_of(platform))
    down = read_outages(outages, platform) if isinstance(outages, str | PathLike) else outages
    after = OnLoss.parse(on_loss) if isinstance(on_loss, str) else on_loss
    read_s = perf_counter() - began
    began = perf_counter()
    engine = Engine(
        workload, platform, seed=seed, kill_at_walltime=kill_at_walltime, outages=down, on_loss=after,
        contention=contention, message_delay_s=message_delay_s, energy=energy, keeps_all=keeps_all,
    )  # fmt: skip
    posed_s = perf_counter() - began
    began = perf_counter()
    with compiling():
        engine.compile(scheduler)
    compile_s = perf_counter() - began
    began = perf_counter()
    engine.run(scheduler, progress)
    simulate_s = perf_counter() - began + posed_s
    began = perf_counter()
    rejected = engine.rejected
    jobs = jobs_of(engine)
    attempts = attempts_of(engine)
    happened = outages_of(engine)
    machines = machines_of(platform, jobs) if platform.cloud is None else instances_of(engine, platform.cloud)
    return Result(
        workload=workload.name,
        platform=platform,
        policy=name,
        **energy_of(engine, jobs, attempts, machines),
        allocations=allocations_of(engine),
        outages=happened,
        rejected=workload.rejected.vstack(rejected),
        config={
            **given,
            "policy": name,
            "seed": seed,
            "kill_at_walltime": kill_at_walltime,
            "selection": platform.selection,
            **({} if down is None else {"outages": down.name, "on_loss": _text_of_loss(after)}),
            **({} if contention is None else {"contention": contention.tell()}),
            **({"message_delay_s": message_delay_s} if message_delay_s else {}),
            **({"energy": True} if energy else {}),
        },
        counts={
            "jobs": len(jobs),
            "rejected": len(workload.rejected) + len(rejected),
            "rejected_records": len(workload.rejected),
            "rejected_jobs": len(rejected),
            "jobs_without_estimate": engine.without_estimate,
            "outages": len(happened),
            "lost_attempts": int((attempts["how"] == "lost").sum()),
            "lost_jobs": int((jobs["state"] == "lost").sum()),
        },
        shares=rejected_shares(workload, rejected),
        notes=(*workload.notes, *engine.notes, *_on_load(workload, platform)),
        timing={
            "read_s": read_s,
            "compile_s": compile_s,
            "simulate_s": simulate_s,
            "tables_s": perf_counter() - began,
            "write_s": 0.0,
        },
        origin_unix_s=workload.origin_unix_s,
        workload_digest=workload.digest,
        network_use=network_use_of(engine),
        policy_version=getattr(scheduler, "version", None),
    )


def _on_load(workload: Workload, platform: Platform) -> tuple[str, ...]:
    """A note on a load that is hard to believe here; reading the log has told what its own machine would bear."""
    if platform.cloud is not None or not platform.cores or platform.cores == workload.max_cores:
        return ()
    return on_load(workload, platform.cores, "of the platform")


def text_of(given: Workload | Platform | str | int | PathLike[str]) -> str:
    if isinstance(given, Workload | Platform):
        return given.name
    return fspath(given) if isinstance(given, PathLike) else str(given)


def _text_of_loss(on_loss: OnLoss) -> str:
    return f"{on_loss.fate}:{on_loss.checkpoint_s:g}" if on_loss.fate == "resume" else on_loss.fate


def name_of(policy: Policy) -> str:
    return getattr(policy, "name", None) or getattr(policy, "__name__", None) or type(policy).__name__
