"""Each job where it adds least to the bill: on a machine that lives a little longer for it, or on a new one.

A job that fits into what is left of a machine until the end of those that run there adds nothing; one that outlives
them adds the price of the time by which the machine lives longer. A new machine adds its boot, the run and the idle
time after it, less what the room that it leaves to others is worth; and the job waits for it. Idle machines are kept
the longer, the less they cost: until keeping one has cost as much as keeping another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unspool.engine.cloud.fill_order import first_with_room, next_with_room
from unspool.engine.cloud.instances import LEAST_ADDED, ON_DEMAND, idle_of, is_allowed, kind_fits, next_tick, tree_of
from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.state import NEVER, Core, Elastic, Place
from unspool.errors import InputError
from unspool.policies.base import BindingScheduler
from unspool.policies.schedulers.picking import append_machine, expected_run_s, start_machines

__all__ = ["LeastAddedCost", "pick_and_start"]

_HOUR_S = 3600.0


@dataclass(frozen=True)
class LeastAddedCost(BindingScheduler):
    """Every job where it adds least to the bill, an hour of its waiting counted in dollars.

    `wait_usd` is what an hour of a job's waiting counts, `room_share` how much of the least price of a core the cores
    count that a new instance has left over for others, and `idle_usd` the price of an instance, in dollars an hour,
    that is kept for the idle time that is configured: others are kept for longer or shorter, in proportion, at most 48
    times as long. With 0 all are kept for the same time.
    """

    title: ClassVar[str] = "least-added-cost"
    placement: ClassVar[int] = LEAST_ADDED

    wait_usd: float = 100.0
    room_share: float = 0.8
    idle_usd: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in self.weights.items():
            if not 0.0 <= value < NEVER:
                raise InputError(f"least-added-cost: {name} is {value}; expected a number, 0 or more")

    @property
    def weights(self) -> dict[str, float]:
        """What its choices weigh."""
        return {"room_share": self.room_share, "wait_usd": self.wait_usd, "idle_usd": self.idle_usd}


@compiled
def pick_and_start(core: Core, place: Place, elastic: Elastic, job: int, plan: int, may_start: bool) -> None:
    """Pick the machines to which the hosts that have none yet add least, and start those that would add less.

    Where it may not start any now but would rather do so at the next tick, too few are picked, and the job waits.
    """
    course, rule, weights = core.course, elastic.rule, elastic.weights
    shape = core.jobs[job]["shape"]
    hosts, first = place.shapes[shape]["units"], course[0]["picked"]
    if first == hosts:
        return
    run_s = expected_run_s(core, elastic, job)
    _pick_there(core, place, elastic, shape, plan, run_s)
    picked = course[0]["picked"]
    missing = hosts - picked
    kind = _best_kind(place, elastic, shape, plan, max(missing, 1), run_s)
    if kind < 0:
        return
    wait_s = rule[0]["boot"]
    if not may_start:
        wait_s += next_tick(rule, course[0]["now"]) - course[0]["now"]
    new_usd = _usd_of_new(place, elastic, shape, kind, plan, run_s) + rule[0]["wait_usd"] * wait_s / _HOUR_S
    kept = picked
    while kept > first and weights[kept - 1, 0] > new_usd:
        kept -= 1
    while kept < picked and not is_allowed(elastic, kind, hosts - kept):
        kept += 1
    course[0]["picked"] = kept
    if kept < hosts and may_start:
        start_machines(core, place, elastic, kind, plan, job, hosts - kept)


@compiled
def _pick_there(core: Core, place: Place, elastic: Elastic, shape: int, plan: int, run_s: float) -> None:
    """Of the machines of a plan that have room, pick those to which a host adds least, the least first.

    Of those to which it adds the same, the ones that go on for the shortest time after it; then as `cheapest-fit`.
    """
    course, weights, picked, nodes, free = core.course, elastic.weights, place.picked, elastic.nodes, place.free
    cores, memory, gpus = place.shapes[shape]["cores"], place.need[shape, 1], place.need[shape, 2]
    hosts, first = place.shapes[shape]["units"], course[0]["picked"]
    machine = first_with_room(nodes, free, elastic.roots[tree_of(plan)], cores, memory, gpus)
    while machine >= 0:
        after_s = _goes_on_after(core, elastic, machine, run_s)
        added_usd = max(-after_s, 0.0) * elastic.instances[machine]["usd"] / _HOUR_S
        at = course[0]["picked"]
        if at < hosts:
            append_machine(core, place, machine)
        elif _is_less(added_usd, after_s, weights[at - 1, 0], weights[at - 1, 1]):
            at -= 1
        else:
            at = -1
        if at >= 0:
            while at > first and _is_less(added_usd, after_s, weights[at - 1, 0], weights[at - 1, 1]):
                weights[at, 0], weights[at, 1] = weights[at - 1, 0], weights[at - 1, 1]
                picked[at]["first"] = picked[at]["last"] = picked[at - 1]["first"]
                at -= 1
            weights[at, 0], weights[at, 1] = added_usd, after_s
            picked[at]["first"] = picked[at]["last"] = machine
        machine = next_with_room(nodes, free, machine, cores, memory, gpus)


@inlined
def _is_less(added_usd: float, after_s: float, other_usd: float, other_after_s: float) -> bool:
    return added_usd < other_usd or (added_usd == other_usd and after_s < other_after_s)


@inlined
def _goes_on_after(core: Core, elastic: Elastic, machine: int, run_s: float) -> float:
    """For how long those that hold a machine go on after a job that is placed now; negative: it goes on after them.

    A machine without a job would be stopped so long after it became empty as it will be after this job.
    """
    it, now = elastic.instances[machine], core.course[0]["now"]
    until = it["empty_since"]
    if it["hold"] >= 0:
        until = max(it["ends"], now)
    return until - (max(it["up"], now) + run_s)  # type: ignore[no-any-return]


@compiled
def _best_kind(place: Place, elastic: Elastic, shape: int, plan: int, count: int, run_s: float) -> int:
    """The type that fits, is allowed so often and adds least; of two, the less expensive, then by name. -1 if none."""
    found, least_usd = -1, NEVER
    for at in range(elastic.by_price.shape[1]):
        kind = elastic.by_price[plan - ON_DEMAND, at]
        if kind < 0:
            break
        if kind_fits(place, elastic, shape, kind) and is_allowed(elastic, kind, count):
            usd = _usd_of_new(place, elastic, shape, kind, plan, run_s)
            if usd < least_usd:
                found, least_usd = kind, usd
    return found


@compiled
def _usd_of_new(place: Place, elastic: Elastic, shape: int, kind: int, plan: int, run_s: float) -> float:
    """What a new machine adds to the bill, less what the room is worth that it leaves to others while the job runs."""
    rule, room = elastic.rule, elastic.room
    usd = elastic.kinds[kind]["usd"][plan - ON_DEMAND]
    paid = usd * (rule[0]["boot"] + run_s + idle_of(elastic, kind, plan)) / _HOUR_S
    if rule[0]["shares"] == 0:
        return paid  # type: ignore[no-any-return]
    fullness = max(place.need[shape, 0] / room[kind, 0], place.need[shape, 1] / room[kind, 1])
    left = (1.0 - fullness) * room[kind, 0] * run_s / _HOUR_S
    return paid - rule[0]["room_share"] * rule[0]["core_usd"][plan - ON_DEMAND] * left  # type: ignore[no-any-return]
