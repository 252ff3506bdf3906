"""What a compiled policy needs of the state: slots in its order, and room for what its predictor learns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from unspool.engine.jobs.estimates import ELSEWHERE, EXACT
from unspool.engine.jobs.order import fixed_keys
from unspool.engine.jobs.queue import empty_slots, fill_slot
from unspool.engine.jobs.records import GUESS, RULE, USAGE
from unspool.engine.kernel.state import Array, Core, Guess, Order, State
from unspool.engine.setup import no_later, no_plan, no_shadow
from unspool.errors import InputError
from unspool.policies.base import CONSERVATIVE, EASY, FCFS, BindingScheduler, CompiledScheduler, OrderedScheduler
from unspool.policies.orders import Multifactor, QueueOrder

if TYPE_CHECKING:
    from unspool.simulation.engine import Engine

__all__ = ["adopt", "deal_fixed_slots", "fill_queue", "keys_of"]


def adopt(engine: Engine, policy: CompiledScheduler) -> State:
    """The state with what a policy needs, its queue in the policy's order; what others remembered is gone."""
    state = engine.state
    course = state.core.course[0]
    shadow = no_shadow() if policy.code == EASY else None
    plan = no_plan(len(state.core.jobs)) if policy.code == CONSERVATIVE else None
    course["in_queue_order"] = isinstance(policy, OrderedScheduler) and policy.order is not None
    if isinstance(policy, BindingScheduler) and state.elastic is None:
        raise InputError(f"{policy.title} starts machines: it needs a platform with a cloud")
    if state.elastic is not None and state.place is not None:
        state.elastic.rule["binds"] = isinstance(policy, BindingScheduler)
        if isinstance(policy, BindingScheduler):
            state.elastic.rule["placement"] = policy.placement
            for name, weight in policy.weights.items():
                state.elastic.rule[name] = weight
        state.elastic.rule["guesses"] = policy.predictor is not None
        state = state._replace(later=None if isinstance(policy, BindingScheduler) else no_later(state.place))
    guess = _guess(engine, policy)
    changing = state.order
    if (policy.queue_order, guess is None) != engine.ordered_by:
        changing = _deal_slots(engine, policy.queue_order, guess)
        engine.ordered_by = policy.queue_order, guess is None
    _keep_minima(engine, policy.code not in (FCFS, CONSERVATIVE) or (changing is not None and plan is None))
    return state._replace(shadow=shadow, plan=plan, order=changing, guess=guess)


def _keep_minima(engine: Engine, are_needed: bool) -> None:
    """Have the queue know the least sizes and estimates, which costs every arrival and start, where somebody asks."""
    core = engine.core
    course = core.course[0]
    had_them, course["has_minima"] = bool(course["has_minima"]), are_needed
    if are_needed and not had_them and course["queued"] > 0:
        waiting = engine.waiting_jobs()
        empty_slots(core, int(course["first"]), len(core.waiting) - 1)
        for job in waiting:
            fill_slot(core, job)


def _deal_slots(engine: Engine, order: QueueOrder, guess: Guess | None) -> Order | None:
    """Deal slots to all jobs by an order that never changes, or to those that wait where it does."""
    core = engine.core
    course = core.course[0]
    waiting = engine.waiting_jobs()
    if waiting:
        empty_slots(core, int(course["first"]), len(core.waiting) - 1)
    rule, fixed = keys_of(engine, order)
    changing = None
    if order.changes_with_time or (order.uses_estimate and guess is not None):
        core.fate["slot"][waiting] = np.arange(len(waiting))
        course["next_slot"] = len(waiting)
        changing = _changing(engine, rule, fixed, order)
    else:
        deal_fixed_slots(core, rule, fixed)
        course["next_slot"] = -1
    fill_queue(core, waiting)
    return changing


def deal_fixed_slots(core: Core, rule: Array, fixed: Array) -> None:
    """Deal all jobs the slots that they keep, by an order that never changes."""
    fixed_keys(core, rule, fixed)
    core.fate["slot"][np.argsort(fixed, kind="stable")] = np.arange(len(fixed))


def fill_queue(core: Core, waiting: list[int]) -> None:
    """Write the waiting jobs into an empty queue, each into the slot that it was dealt."""
    for job in waiting:
        fill_slot(core, job)
    course = core.course[0]
    course["first"] = course["fresh"] = core.fate["slot"][waiting].min() if waiting else len(core.waiting)


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
    usage["as_of"] = -1.0
    course = engine.core.course[0]
    usage["since"] = max(float(course["now"]), 0.0)
    if isinstance(order, Multifactor):
        running = engine.core.running["job"][: int(course["running"])]
        usage["cores"][:-1] = np.bincount(user[running], engine.core.jobs["size"][running], users)
        usage["cores"][-1] = usage["cores"][:-1].sum()
    course["noted"] = course["attempts"]
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
    if engine.state.fluid is not None and rule[0]["kind"] == EXACT:
        raise InputError(
            "predictor exact: jobs share processors or a network here, and nobody knows beforehand how long they take"
        )
    user, users = _users(engine)
    return Guess(rule, user, np.zeros((users, 2)), np.zeros(users, np.int64), np.zeros(len(engine.used), np.int64))


def _users(engine: Engine) -> tuple[Array, int]:
    """A number for the user of each job, and how many there are; jobs without one have one in common."""
    names = engine.workload.column("user").fill_null("").gather(pl.Series(engine.used))
    numbers = names.rank("dense").cast(pl.Int64).to_numpy() - 1
    return np.ascontiguousarray(numbers), int(numbers.max(initial=0)) + 1
