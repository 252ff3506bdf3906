"""Another future for a run that is under way: what is not known yet is replaced, what happened stays as it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from unspool.engine.jobs.events import END, KIND_SHIFT
from unspool.engine.jobs.records import FATE, HELD, LINK, WAITING, WORD
from unspool.engine.kernel.bitset import word_count
from unspool.engine.kernel.state import RUNNING, Array, Core, Guess, Links, Order, Plan
from unspool.engine.setup import estimates_of
from unspool.errors import RunError
from unspool.model.workload import Workload
from unspool.policies.orders import QueueOrder
from unspool.simulation.policy_state import deal_fixed_slots, fill_queue, keys_of

if TYPE_CHECKING:
    from unspool.simulation.engine import Engine

__all__ = ["Future", "give_future"]


@dataclass(frozen=True)
class Future:
    """What is drawn for the time to come. Jobs are named by their position in the run.

    `run_time` has a value for each job of the run; of those that have ended it is not read. Each arrival asks for what
    the job `like` asked for, and waits for no other job; arrivals stand in the order of their submission.
    """

    run_time: Array
    like: Array
    submit: Array
    arriving_run_time: Array


def give_future(engine: Engine, order: QueueOrder, future: Future) -> None:
    """Change what is to come in a run whose jobs have all been submitted, and whose queue is in this order.

    Estimates, promises and whatever else schedulers know of the jobs that are here stay as they are.
    """
    _check(engine, future)
    waiting = engine.waiting_jobs()
    state, count = engine.state, len(future.like)
    before = len(engine.workload)
    core = _longer_core(engine, future)
    rows = engine.used[future.like]
    engine.workload = _longer_workload(engine.workload, rows, future)
    engine._problem = replace(engine._problem, used=np.concatenate((engine.used, before + np.arange(count))))
    engine._index_of_id = None
    engine.state = state._replace(
        core=core,
        links=None if state.links is None else _longer_links(state.links, count),
        guess=None if state.guess is None else _longer_guess(state.guess, future.like),
    )
    rule, fixed = keys_of(engine, order)
    if state.order is not None:
        engine.state = engine.state._replace(order=_longer_order(state.order, fixed, future.like))
    else:
        deal_fixed_slots(core, rule, fixed)
    fill_queue(core, waiting)
    if state.plan is not None:
        engine.state = engine.state._replace(plan=_with_slots(state.plan, core))
    if state.outage is not None:
        losses = np.concatenate((state.outage.losses, np.zeros(count, np.int64)))
        engine.state = engine.state._replace(outage=state.outage._replace(losses=losses))


def _check(engine: Engine, future: Future) -> None:
    core = engine.core
    if core.course[0]["next_arrival"] < len(core.jobs):
        raise RunError("only a run whose jobs have all been submitted can be given another future")
    if len(future.submit) and (future.submit[0] <= engine.now or (np.diff(future.submit) < 0).any()):
        raise RunError("arrivals must come after now, in the order of their submission")
    running = engine.running_jobs()
    ends = core.attempts["start"][core.fate["attempt"][running]] + future.run_time[running]
    if (ends < engine.now).any():
        raise RunError("a running job would have ended before now")


def _longer_workload(workload: Workload, rows: Array, future: Future) -> Workload:
    """The jobs, and behind them those that arrive, under names of their own."""
    table = workload.table
    count = len(rows)
    changed = [
        pl.Series("job_id", [f"future {number}" for number in range(1, count + 1)], pl.String),
        pl.Series("submit_time", future.submit, pl.Float64),
        pl.Series("run_time", future.arriving_run_time, pl.Float64),
        pl.Series("line", len(table) + 1 + np.arange(count), pl.Int64),
    ]
    if "depends_on" in table.columns:
        changed.append(pl.Series("depends_on", [None] * count, pl.String))
    arriving = table[rows]
    for column in changed:
        arriving.replace_column(arriving.get_column_index(column.name), column)
    return replace(workload, table=table.vstack(arriving))


def _longer_core(engine: Engine, future: Future) -> Core:
    """Jobs with new run times, then those that arrive; running jobs end at their new times; nobody is queued yet."""
    core, like = engine.core, future.like
    arriving = core.jobs[like]
    arriving["submit"], arriving["run_time"] = future.submit, future.arriving_run_time
    jobs = np.concatenate((core.jobs, arriving))
    open_ended = np.flatnonzero(core.fate["state"] <= RUNNING)
    jobs["run_time"][open_ended] = future.run_time[open_ended]
    fate = np.zeros(len(jobs), FATE)
    fate[: len(core.fate)] = core.fate
    fate["estimate"][len(core.fate) :] = estimates_of(engine.workload)[0][engine.used[like]]
    fate["attempt"][len(core.fate) :] = -1
    events = core.events.copy()
    used = events[: int(core.course[0]["events"])]
    ends = used["order"] >> KIND_SHIFT == END
    ending = used["subject"][ends]
    lasts = np.minimum(jobs["run_time"][ending], jobs["walltime"][ending])
    used["time"][ends] = core.attempts["start"][fate["attempt"][ending]] + lasts
    used[:] = used[np.lexsort((used["order"], used["time"]))]  # what is sorted is a heap
    return core._replace(
        jobs=jobs, fate=fate, events=events,
        waiting=np.zeros(len(jobs), WAITING), words=np.zeros(word_count(len(jobs)), WORD),
    )  # fmt: skip


def _longer_links(links: Links, count: int) -> Links:
    return links._replace(
        links=np.concatenate((links.links, np.zeros(count, LINK))),
        open=np.concatenate((links.open, np.zeros(count, links.open.dtype))),
    )


def _longer_guess(guess: Guess, like: Array) -> Guess:
    return guess._replace(
        user=np.concatenate((guess.user, guess.user[like])),
        known=np.concatenate((guess.known, np.zeros(len(like), guess.known.dtype))),
    )


def _longer_order(order: Order, fixed: Array, like: Array) -> Order:
    user = order.user if len(order.user) < len(fixed) - len(like) else np.concatenate((order.user, order.user[like]))
    jobs = len(fixed)
    return order._replace(
        fixed=fixed, user=user, ranked=np.zeros(jobs, np.int64), keys=np.zeros(jobs),
        other_ranked=np.zeros(jobs, np.int64), other_keys=np.zeros(jobs),
    )  # fmt: skip


def _with_slots(plan: Plan, core: Core) -> Plan:
    """The plans with the slots that their jobs have now, those of one start by slot."""
    plans = plan.plans.copy()
    used = plans[: int(core.course[0]["plans"])]
    used["slot"] = core.fate["slot"][used["job"]]
    used[:] = used[np.lexsort((used["slot"], used["start"]))]
    held = np.zeros(len(core.jobs), HELD)
    held[: len(plan.held)] = plan.held
    return plan._replace(plans=plans, held=held)
