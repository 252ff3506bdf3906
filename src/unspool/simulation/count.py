"""The loop over one pool of cores, where machines have no identity."""

from __future__ import annotations

from unspool.engine.compiled import compiled, inlined
from unspool.engine.state import DECIDE, State
from unspool.policies.base import CONSERVATIVE, EASY, FCFS, OUTSIDE
from unspool.policies.schedulers.conservative import conservative
from unspool.policies.schedulers.easy import easy_by_count
from unspool.policies.schedulers.fcfs import fcfs_by_count
from unspool.simulation.instants import to_next_decision

__all__ = ["decide_by_count", "run_count"]


@inlined
def decide_by_count(state: State, policy: int) -> None:
    """One round of a policy where a job fits if enough cores are free in all."""
    if policy == FCFS:
        fcfs_by_count(state.core, state.place)
    elif policy == EASY:
        easy_by_count(state.core, state.place)
    elif policy == CONSERVATIVE:
        conservative(state.core, state.place, state.plan)


@compiled
def run_count(state: State, policy: int) -> int:
    """Run until the end (`DONE`), or until Python is needed."""
    while True:
        status = to_next_decision(state, policy == CONSERVATIVE)
        if status != DECIDE or policy == OUTSIDE:
            return status
        decide_by_count(state, policy)
