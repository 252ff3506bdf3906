"""The loop over engine and policies: the only one. What a run does not need is None in its state and not compiled.

It comes back to Python about once a second, but one round of a policy over a long queue may take minutes. So other
threads go on meanwhile, and one of them hears interrupts (`cli.interrupts`).
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from numba import int64, typeof

from unspool.engine.jobs.order import rank
from unspool.engine.kernel.compiled import inlined, unlocked
from unspool.engine.kernel.state import DECIDE, PAUSE, State
from unspool.engine.kernel.turns import wall_clock
from unspool.policies.base import CHEAPEST_FIT, CONSERVATIVE, EASY, FCFS, FILLER, OUTSIDE
from unspool.policies.provisioners.demand import provide
from unspool.policies.schedulers.cheapestfit import cheapest_fit
from unspool.policies.schedulers.conservative import conservative
from unspool.policies.schedulers.easy import easy
from unspool.policies.schedulers.fcfs import fcfs
from unspool.policies.schedulers.filler import filler
from unspool.simulation.instants import to_next_decision

__all__ = ["compile_for", "decide_once", "provide_once", "run_binding", "run_on"]


_ROUNDS = 63  # between two looks at the clock, and one more: a look takes nanoseconds, as a round does mostly
_MANY = 10_000  # jobs that wait: a round may take long


@inlined
def _decide(state: State, policy: int) -> None:
    rank(state.core, state.order, state.shadow, state.plan)
    if policy == FCFS:
        fcfs(state.core, state.place, state.later)
    elif policy == EASY:
        easy(state.core, state.place, state.later, state.shadow)
    elif policy == CONSERVATIVE:
        conservative(state.core, state.place, state.later, state.plan)
    elif policy == FILLER:
        filler(state.core, state.place, state.later)
    provide(state.core, state.place, state.elastic)


@unlocked
def decide_once(state: State, policy: int) -> None:
    """One round of a policy at the present instant."""
    _decide(state, policy)


@unlocked
def run_on(state: State, policy: int) -> int:
    """Run until the end (`DONE`), or until Python is needed."""
    course = state.core.course
    rounds, began = 0, wall_clock()
    while True:
        status = to_next_decision(state)
        if status != DECIDE or policy == OUTSIDE:
            return status
        _decide(state, policy)
        rounds += 1
        if course[0]["attempts"] >= course[0]["pause_at"]:
            return PAUSE
        if (rounds & _ROUNDS == 0 or course[0]["queued"] > _MANY) and wall_clock() != began:
            return PAUSE


@unlocked
def provide_once(state: State) -> None:
    """Start machines for jobs that wait at the present instant, after somebody else decided on those that are there."""
    provide(state.core, state.place, state.elastic)


@unlocked
def run_binding(state: State) -> int:
    """The same under the one policy that places jobs on machines that it starts; others need not be compiled for it."""
    course = state.core.course
    rounds, began = 0, wall_clock()
    while True:
        status = to_next_decision(state)
        if status != DECIDE:
            return status
        cheapest_fit(state.core, state.place, state.elastic)
        rounds += 1
        if course[0]["attempts"] >= course[0]["pause_at"]:
            return PAUSE
        if (rounds & _ROUNDS == 0 or course[0]["queued"] > _MANY) and wall_clock() != began:
            return PAUSE


def compile_for(state: State, policy: int) -> None:
    """Compile the loop for the parts that a state has, or load it from disk, without running it."""
    if not hasattr(run_on, "compile"):  # a plain function under NUMBA_DISABLE_JIT
        return
    with _without_collecting():
        if policy == CHEAPEST_FIT:
            run_binding.compile((typeof(state),))  # type: ignore[attr-defined, no-untyped-call]
        else:
            run_on.compile((typeof(state), int64))  # type: ignore[no-untyped-call]


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Let Python's collector of circles rest: compiling makes millions of objects, and it would look at them over and
    over, for a sixth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
