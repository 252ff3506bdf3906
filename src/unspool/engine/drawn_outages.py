"""From listed outages and drawn failures to the list of changes that the loop goes through."""

from __future__ import annotations

import math

import numpy as np

from unspool.engine.kernel.draws import FAILURES, REPAIRS, uniform
from unspool.engine.kernel.state import Array
from unspool.engine.outages import CHANGE
from unspool.model.outages import Failures, Outage, Outages

__all__ = ["changes_of", "outages_until"]


def outages_until(outages: Outages, machines: int, seed: int, origin: float, until: float) -> list[Outage]:
    """Every outage that begins up to a time; what is drawn depends on seed, machine and ordinal only."""
    found = [outage for outage in outages.listed if outage.down_time <= until]
    if outages.failures is not None:
        found += _drawn(outages.failures, machines, seed, origin, until)
    return sorted(found, key=lambda outage: (outage.down_time, outage.machine, outage.up_time))


def _drawn(failures: Failures, machines: int, seed: int, origin: float, until: float) -> list[Outage]:
    """Each machine is up, then down, and so on, from the origin."""
    found: list[Outage] = []
    ids = np.arange(machines)
    time = np.full(machines, origin)
    ordinal = 0
    while len(ids):
        up_for = _weibull(uniform(seed, FAILURES, ids, ordinal), failures.mean_time_between_s, failures.shape)
        down_for = _weibull(uniform(seed, REPAIRS, ids, ordinal), failures.mean_repair_s, failures.repair_shape)
        down = time + up_for
        time = down + down_for
        begun = down <= until
        found += [
            Outage(int(machine), float(at), float(back))
            for machine, at, back in zip(ids[begun], down[begun], time[begun], strict=True)
        ]
        ids, time = ids[begun], time[begun]
        ordinal += 1
    return found


def _weibull(draws: Array, mean: float, shape: float) -> Array:
    """Times with a mean, from draws in [0, 1); at least a microsecond, so that time goes on."""
    scale = mean / math.gamma(1.0 + 1.0 / shape)
    return np.maximum(scale * (-np.log1p(-draws)) ** (1.0 / shape), 1e-6)


def changes_of(outages: list[Outage]) -> Array:
    """The changes by time. At one time machines are lost before others come back, and then by id."""
    changes = np.zeros(2 * len(outages), CHANGE)
    for step, part in ((1, changes[: len(outages)]), (-1, changes[len(outages) :])):
        part["time"] = [outage.down_time if step > 0 else outage.up_time for outage in outages]
        part["machine"] = [outage.machine for outage in outages]
        part["step"] = step
    return changes[np.lexsort((changes["machine"], -changes["step"], changes["time"]))]
