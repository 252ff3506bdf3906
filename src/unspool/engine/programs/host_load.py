"""What hosts compute over time: written down whenever rates change, so that their power is known afterwards."""

from __future__ import annotations

import numpy as np

from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.state import Array, Core, Fluid, Meter, Mpi, Sharing, longer
from unspool.engine.programs.messages import A_RANK
from unspool.engine.programs.records import LOAD, METER, NOTED
from unspool.engine.programs.replay import has_ready, is_of_replay

__all__ = ["grow_meter", "meter_on", "note_loads", "room_to_note"]


def meter_on(hosts: int) -> Meter:
    """Nothing is computed yet; with no hosts nothing is ever written down."""
    rule = np.zeros(1, METER)
    rule["hosts"] = hosts
    return Meter(rule, np.zeros(hosts, NOTED), np.zeros(max(256, 2 * hosts), LOAD))


def grow_meter(fluid: Fluid | None, meter: Meter | None) -> Meter | None:
    """Room for what one instant can add, and more."""
    if fluid is None or meter is None or meter.rule[0]["hosts"] == 0:
        return meter
    least = int(meter.rule[0]["rows"] + fluid.sharing.rule[0]["top"] + meter.rule[0]["hosts"])
    return meter._replace(loads=longer(meter.loads, least))


@compiled
def room_to_note(fluid: Fluid | None, meter: Meter | None) -> bool:
    """Whether there is room for what one instant can add: each element once, and each host that falls idle."""
    if fluid is None or meter is None or meter.rule[0]["hosts"] == 0:
        return True
    return bool(meter.rule[0]["rows"] + fluid.sharing.rule[0]["top"] + meter.rule[0]["hosts"] <= len(meter.loads))


@compiled
def note_loads(core: Core, fluid: Fluid | None, meter: Meter | None) -> None:
    """Write down what hosts compute that did something else before; rates are up to date unless some rank can go on."""
    if fluid is None or meter is None or fluid.sharing.rule[0]["top"] == 0 or has_ready(fluid.mpi):
        return
    sharing, frames, noted = fluid.sharing, fluid.frames, meter.noted
    for host in range(meter.rule[0]["hosts"]):
        flops = 0.0
        mix = 0.0
        k = _next_that_computes(sharing, sharing.bundles[host]["first"])
        while k >= 0:
            slot = sharing.beside[k]["activity"]
            rate = sharing.activities[slot]["rate"] * sharing.weights[k, 0]
            flops += rate
            mix += rate * (1 + _job_of(frames, fluid.mpi, sharing.activities[slot]["owner"]))
            k = _next_that_computes(sharing, sharing.beside[k]["next"])
        if flops != noted[host]["flops"] or mix != noted[host]["mix"]:
            noted[host]["flops"] = flops
            noted[host]["mix"] = mix
            _write(core, fluid, meter, host)


@inlined
def _next_that_computes(sharing: Sharing, element: int) -> int:
    """The first from an element on that takes something of the host itself and not of its links only; -1 for none."""
    while element >= 0 and not sharing.weights[element, 0] > 0.0:
        element = sharing.beside[element]["next"]
    return element


@compiled
def _job_of(frames: Array, mpi: Mpi | None, owner: int) -> int:
    """The job to which an activity of a host belongs: that of its frame, or of the rank that computes."""
    if mpi is None:
        return frames[owner]["job"]  # type: ignore[no-any-return]
    if is_of_replay(owner):
        owner = mpi.replays[mpi.ranks[owner - A_RANK]["replay"]]["owner"]
    return frames[owner]["job"]  # type: ignore[no-any-return]


@compiled
def _write(core: Core, fluid: Fluid, meter: Meter, host: int) -> None:
    """Write what a host computes now, job by job."""
    sharing, loads = fluid.sharing, meter.loads
    meter.rule[0]["notes"] += 1
    at = meter.rule[0]["rows"]
    k = _next_that_computes(sharing, sharing.bundles[host]["first"])
    if k < 0:
        loads[at]["note"] = meter.rule[0]["notes"]
        loads[at]["time"] = core.course[0]["now"]
        loads[at]["host"] = host
        loads[at]["job"] = -1
        loads[at]["flops"] = 0.0
        at += 1
    while k >= 0:
        slot = sharing.beside[k]["activity"]
        loads[at]["note"] = meter.rule[0]["notes"]
        loads[at]["time"] = core.course[0]["now"]
        loads[at]["host"] = host
        loads[at]["job"] = _job_of(fluid.frames, fluid.mpi, sharing.activities[slot]["owner"])
        loads[at]["flops"] = sharing.activities[slot]["rate"] * sharing.weights[k, 0]
        at += 1
        k = _next_that_computes(sharing, sharing.beside[k]["next"])
    meter.rule[0]["rows"] = at
