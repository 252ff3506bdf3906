"""The figures of a whole run: as Batsim 4 and 5 define them, and as they should be."""

from __future__ import annotations

import math
from importlib.metadata import version
from typing import Any

import polars as pl

from unspool.faces.batsim.energy import consumed_joules
from unspool.faces.batsim.states import MachineTimes
from unspool.model.power import power_of
from unspool.results.result import Result

__all__ = ["corrected_figures", "schedule_figures", "schedule_figures_v5"]


def schedule_figures(rows: pl.DataFrame, result: Result, times: MachineTimes) -> dict[str, Any]:
    """The columns of Batsim 4's schedule file, in their order, by its definitions.

    Means are sums over jobs that ran, divided by all jobs; times of machines stop at each one's last change; machines
    are counted with storage. `corrected_figures` has them right.
    """
    ran = rows.filter(pl.col("final_state") != "REJECTED")
    count, success = len(rows), int(rows["success"].sum())
    network = result.platform.network
    storage = 0 if network is None else sum(host.role == "storage" for host in network.hosts)
    figures: dict[str, Any] = {
        "batsim_version": f"unspool-{version('unspool')}",
        "consumed_joules": 0.0 if result.power is None else consumed_joules(result.power, rows),
        "makespan": _most(ran["finish_time"]),
        **{f"max_{name}": _most(ran[column]) for name, column in _SPREADS.items()},
        **{f"mean_{name}": _mean(ran[column], count) for name, column in _SPREADS.items()},
        "nb_computing_machines": result.platform.machine_count + storage,
        "nb_grouped_switches": 0 if result.switches is None else result.switches["order"].n_unique(),
        "nb_jobs": count,
        "nb_jobs_finished": len(ran),
        "nb_jobs_killed": len(ran) - success,
        "nb_jobs_rejected": count - len(ran),
        "nb_jobs_success": success,
        "nb_machine_switches": 0 if result.switches is None else len(result.switches),
        "scheduling_time": 0.0,
        "simulation_time": float(result.timing.get("simulate_s", 0.0)),
        "success_rate": success / count if count else math.nan,
        "time_computing": times.computing,
        "time_idle": times.idle,
        "time_sleeping": times.sleeping,
        "time_switching_off": times.switching_off,
        "time_switching_on": times.switching_on,
        "time_unavailable": times.unavailable,
    }
    return dict(sorted(figures.items()))


_SPREADS = {"slowdown": "stretch", "turnaround_time": "turnaround_time", "waiting_time": "waiting_time"}


def schedule_figures_v5(figures: dict[str, Any], rows: pl.DataFrame) -> dict[str, Any]:
    """The same as in Batsim 5's `schedule.json`: its makespan begins with the first submission; no jobs, no means."""
    ran = rows.filter(pl.col("final_state") != "REJECTED")
    begin = float(rows["submission_time"].min() or 0.0) if len(ran) else 0.0  # type: ignore[arg-type]
    told = {**figures, "makespan": figures["makespan"] - begin}
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in told.items()}


def corrected_figures(rows: pl.DataFrame, result: Result, times: MachineTimes) -> dict[str, Any]:
    """The figures that Batsim 4 defines oddly, as one expects them.

    Means are of jobs that ran; machine-seconds go from 0 to the end of the last job and add up to machines times that;
    storage does not count as a machine that computes. None where there is nothing to take a mean of.
    """
    ran = rows.filter(pl.col("final_state") != "REJECTED")
    machines = result.platform.machine_count
    end = float(result.attempts["finish_time"].max() or 0.0)  # type: ignore[arg-type]
    unavailable = _down_until(result, end)
    computing = times.computing
    asleep = _not_awake(result, end)
    return {
        "machines": machines,
        "makespan": end,
        **{f"mean_{name}": ran[column].mean() for name, column in _SPREADS.items()},
        "success_rate": int(ran["success"].sum()) / len(ran) if len(ran) else None,
        "time_computing": computing,
        "time_idle": machines * end - computing - unavailable - sum(asleep.values()),
        **asleep,
        "time_unavailable": unavailable,
        "utilisation": computing / (machines * end) if end else None,
    }


def _down_until(result: Result, end: float) -> float:
    """Machine-seconds down up to a time."""
    outages = result.outages
    if not len(outages):
        return 0.0
    down = outages.select((pl.col("up_time").clip(upper_bound=end) - pl.col("down_time")).clip(lower_bound=0.0))
    return float(down.to_series().sum())


def _not_awake(result: Result, end: float) -> dict[str, float]:
    """Machine-seconds asleep and on the way there or back, up to a time; empty without energy."""
    network = result.platform.network
    if result.power is None or network is None:
        return {}
    powers = [power_of(host) for host in network.hosts[: result.platform.machine_count]]
    names = {"time_sleeping": 0.0, "time_switching_off": 0.0, "time_switching_on": 0.0}
    columns = ("machine", "pstate", "start_time", "finish_time")
    for machine, state, since, until in result.power.select(columns).iter_rows():
        if machine < len(powers) and state not in powers[machine].computes:
            offs = {off for off, _ in powers[machine].sleeps.values()}
            kind = (
                "sleeping" if state in powers[machine].sleeps else "switching_off" if state in offs else "switching_on"
            )
            names[f"time_{kind}"] += max(min(until, end) - since, 0.0)
    return names


def _most(values: pl.Series) -> float:
    return float(values.max() or 0.0)  # type: ignore[arg-type]


def _mean(values: pl.Series, count: int) -> float:
    return float(values.sum()) / count if count else math.nan
