"""What a compiled policy needs of the state: slots in its order, and room for what its predictor learns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from unspool.engine.guess import ELSEWHERE
from unspool.engine.order import fixed_keys
from unspool.engine.queue import empty_slots, fill_slot
from unspool.engine.setup import no_plan, no_shadow
from unspool.engine.state import GUESS, RULE, USAGE, Array, Guess, Order, State
from unspool.policies.base import CONSERVATIVE, EASY, CompiledScheduler, OrderedScheduler
from unspool.policies.orders import Multifactor, QueueOrder

if TYPE_CHECKING:
    from unspool.simulation.engine import Engine

__all__ = ["adopt", "keys_of"]


def adopt(engine: Engine, policy: CompiledScheduler) -> State:
    """The state with what a policy needs, its queue in the policy's order; what others remembered is gone."""
    state = engine.state
    clock = state.core.clock[0]
    shadow = no_shadow() if policy.code == EASY else None
    plan = no_plan() if policy.code == CONSERVATIVE else None
    clock["in_queue_order"] = isinstance(policy, OrderedScheduler) and policy.order is not None
    guess = _guess(engine, policy)
    order = policy.queue_order
    waiting = engine.waiting_jobs()
    if waiting:
        empty_slots(state.core, int(clock["first"]), len(state.core.waiting) - 1)
    rule, fixed = keys_of(engine, order)
    if order.changes_with_time or (order.uses_estimate and guess is not None):
        state.core.fate["slot"][waiting] = np.arange(len(waiting))
        clock["next_slot"] = len(waiting)
        changing = _changing(engine, rule, fixed, order)
    else:
        fixed_keys(state.core, rule, fixed)
        state.core.fate["slot"][np.argsort(fixed, kind="stable")] = np.arange(len(fixed))
        clock["next_slot"] = -1
        changing = None
    for job in waiting:
        fill_slot(state.core, job)
    slots = state.core.fate["slot"][waiting]
    clock["first"] = clock["fresh"] = slots.min() if waiting else len(state.core.waiting)
    return state._replace(shadow=shadow, plan=plan, order=changing, guess=guess)


def keys_of(engine: Engine, order: QueueOrder) -> tuple[Array, Array]:
    """The rule of an order, and the part of the jobs' keys that it fixes."""
    rule = np.zeros(1, RULE)
    rule["kind"] = order.kind
    rule["first_submit"] = engine.core.jobs["submit"].min(initial=np.inf)
    rule["half_life"] = rule["longest_age"] = 1.0
    if isinstance(order, Multifactor):
        rule["age"], rule["fair_share"] = order.age, order.fair_share
        rule["longest_age"], rule["half_life"] = order.longest_age_s, order.half_life_s
    fixed = order.fixed_part(engine.workload, engine.used, engine.platform, engine.seed)
    return rule, np.array(fixed, np.float64)


def _changing(engine: Engine, rule: Array, fixed: Array, order: QueueOrder) -> Order:
    user, users = _users(engine) if isinstance(order, Multifactor) else (np.zeros(1, np.int64), 1)
    usage = np.zeros(users + 1, USAGE)
    usage["share"] = 1.0 / users
    clock = engine.core.clock[0]
    usage["since"] = max(float(clock["now"]), 0.0)
    if isinstance(order, Multifactor):
        running = engine.core.running["job"][: int(clock["running"])]
        usage["cores"][:-1] = np.bincount(user[running], engine.core.jobs["size"][running], users)
        usage["cores"][-1] = usage["cores"][:-1].sum()
    clock["noted"] = clock["attempts"]
    jobs = len(fixed)
    return Order(
        rule, fixed, user, usage,
        np.zeros(jobs, np.int64), np.zeros(jobs), np.zeros(jobs, np.int64), np.zeros(jobs),
    )  # fmt: skip


def _guess(engine: Engine, policy: CompiledScheduler) -> Guess | None:
    if policy.predictor is None:
        return None
    rule = np.zeros(1, GUESS)
    rule["kind"] = getattr(policy.predictor, "kind", ELSEWHERE)
    user, users = _users(engine)
    return Guess(rule, user, np.zeros((users, 2)), np.zeros(users, np.int64), np.zeros(len(engine.used), np.int64))


def _users(engine: Engine) -> tuple[Array, int]:
    """A number for the user of each job, and how many there are; jobs without one have one in common."""
    names = engine.workload.column("user").fill_null("").gather(pl.Series(engine.used))
    numbers = names.rank("dense").cast(pl.Int64).to_numpy() - 1
    return np.ascontiguousarray(numbers), int(numbers.max(initial=0)) + 1
