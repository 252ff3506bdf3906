"""What Batsim writes of energy: the joules so far at each event, and the states of machines."""

from __future__ import annotations

import numpy as np
import polars as pl

from unspool.faces.batsim.states import job_events, switch_events
from unspool.metrics.energy import total_power
from unspool.model.network import Host
from unspool.model.power import HostPower, power_of
from unspool.results.result import Result
from unspool.workloads.intervals import format_intervals

__all__ = ["ENERGY_COLUMNS", "consumed_energy", "consumed_joules", "joules_at", "pstate_changes"]

ENERGY_COLUMNS: tuple[str, ...] = ("time", "energy", "event_type", "wattmin", "epower")
"""The columns of the file of energy, in their order."""

_TO_COMPUTE, _TO_SLEEP = -1, -2  # what stands for a state that is not reached yet

_Floats = np.ndarray[tuple[int], np.dtype[np.float64]]


def joules_at(power: pl.DataFrame, times: _Floats) -> _Floats:
    """Joules of all machines from the beginning to each time."""
    total = total_power(power)
    if not len(total):
        return np.zeros(len(times))
    since, watts = total["time"].to_numpy(), total["watts"].to_numpy()
    upto = np.concatenate([[0.0], np.cumsum(watts[:-1] * np.diff(since))])
    at = np.clip(np.searchsorted(since, times, "right") - 1, 0, len(since) - 1)
    # Behind the last step sums of many numbers may leave a trace of what they should be, which is nothing.
    ahead = np.where(at == len(since) - 1, 0.0, watts[at])
    return np.asarray(upto[at] + ahead * np.maximum(times - since[at], 0.0))


def consumed_joules(power: pl.DataFrame, rows: pl.DataFrame) -> float:
    """Joules from the first submission to the end of the last job."""
    ends = rows["finish_time"].drop_nulls()
    if not len(ends):
        return 0.0
    since, until = float(rows["submission_time"].min()), float(ends.max())  # type: ignore[arg-type]
    before, after = joules_at(power, np.array([since, until]))
    return float(after - before)


def consumed_energy(result: Result) -> pl.DataFrame:
    """One row for each start and end of a job, and each order to switch machines and its end.

    Columns as in `ENERGY_COLUMNS`; `wattmin` is what machines would draw with next to no load, before an order and
    after it is done; `epower` is the mean power since the row before, null where no time has passed.
    """
    assert result.power is not None
    events = pl.concat([_of_jobs(result), _of_switches(result)]).sort("time", "rank", maintain_order=True)
    times = events["time"].to_numpy()
    joules = joules_at(result.power, times)
    least = sum(power.states[host.state].least for power, host in _powers(result))
    took, used = np.diff(times, prepend=0.0), np.diff(joules, prepend=0.0)
    mean = np.divide(used, took, out=np.full(len(took), np.nan), where=took > 0.0)
    changes = events["more"].to_numpy()
    # An order changes what comes after it.
    wattmin = least + np.cumsum(changes) - np.where(events["before"].to_numpy(), changes, 0.0)
    return pl.DataFrame(
        {
            "time": times,
            "energy": joules,
            "event_type": events["event_type"],
            "wattmin": wattmin,
            "epower": pl.Series(mean).fill_nan(None),
        }
    ).select(ENERGY_COLUMNS)


def _of_jobs(result: Result) -> pl.DataFrame:
    kind = pl.when(pl.col("starts")).then(pl.lit("s")).otherwise(pl.lit("e"))
    return job_events(result).select("time", "rank", event_type=kind, more=pl.lit(0.0), before=pl.lit(False))


def _of_switches(result: Result) -> pl.DataFrame:
    """Orders and their ends, with the watts that machines have more of from then on."""
    powers = [power for power, _ in _powers(result)]
    events = switch_events(result)
    assert result.switches is not None
    more: dict[tuple[int, bool], float] = {}
    for order, machine, was, via, state in result.switches.select("order", "machine", "was", "via", "pstate").rows():
        states = powers[machine].states
        more[order, False] = more.get((order, False), 0.0) + states[via].least - states[was].least
        more[order, True] = more.get((order, True), 0.0) + states[state].least - states[via].least
    changes = [more[key] for key in events.select("order", "done").iter_rows()]
    return events.select(
        "time", "rank", event_type=pl.lit("p"), more=pl.Series(changes, dtype=pl.Float64), before=~pl.col("done")
    )


def pstate_changes(result: Result) -> pl.DataFrame:
    """The states of machines at the beginning, of all that have the same one together, and each order and its end.

    A state that is ordered stands as -1 (to compute) or -2 (to sleep) until it is reached.
    """
    rows: list[tuple[float, str, int]] = []
    powers = _powers(result)[: result.platform.machine_count]
    by_state: dict[int, list[int]] = {}
    for machine, (_, host) in enumerate(powers):
        by_state.setdefault(host.state, []).append(machine)
    for state in sorted(by_state):
        rows.append((0.0, format_intervals(by_state[state]), state))
    events = switch_events(result).sort("time", "rank", maintain_order=True)
    for time, machines, state, done in events.select("time", "machines", "pstate", "done").iter_rows():
        falls = state in powers[machines[0]][0].sleeps
        rows.append((time, format_intervals(machines), state if done else _TO_SLEEP if falls else _TO_COMPUTE))
    schema = {"time": pl.Float64, "machine_id": pl.String, "new_pstate": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _powers(result: Result) -> list[tuple[HostPower, Host]]:
    """What each host draws, machines first, then storage."""
    network = result.platform.network
    assert network is not None
    return [(power_of(host), host) for host in network.hosts if host.role != "master"]
