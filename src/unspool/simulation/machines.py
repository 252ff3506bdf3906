"""The loop over machines with cores, memory, GPUs, consumables and licences."""

from __future__ import annotations

from unspool.engine.compiled import compiled
from unspool.engine.state import DECIDE, State
from unspool.policies.base import CONSERVATIVE, EASY, FCFS, OUTSIDE
from unspool.policies.schedulers.conservative import conservative
from unspool.policies.schedulers.easy import easy_on_machines
from unspool.policies.schedulers.fcfs import fcfs_on_machines
from unspool.simulation.count import decide_by_count
from unspool.simulation.instants import to_next_decision

__all__ = ["run_machines"]


@compiled
def run_machines(state: State, policy: int) -> int:
    """Run until the end (`DONE`), or until Python is needed."""
    while True:
        status = to_next_decision(state, policy == CONSERVATIVE)
        if status != DECIDE or policy == OUTSIDE:
            return status
        if state.core.clock[0]["countable"] != 0:
            decide_by_count(state, policy)
        elif policy == FCFS:
            fcfs_on_machines(state.core, state.place)
        elif policy == EASY:
            easy_on_machines(state.core, state.place)
        elif policy == CONSERVATIVE:
            conservative(state.core, state.place, state.plan)
