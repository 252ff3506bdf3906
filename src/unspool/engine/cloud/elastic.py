"""From a platform with a cloud to the arrays of machines that are brought up and down."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from unspool.engine.cloud.instances import ON_DEMAND, SPOT, index_machine
from unspool.engine.cloud.records import ELASTIC, HOLD, INSTANCE, KIND, LOT, NODE, QUOTA
from unspool.engine.kernel.bitset import add, empty_bitset
from unspool.engine.kernel.state import NEVER, Array, Elastic, Place, State, longer
from unspool.engine.place.shapes import CORES, GPUS, MEMORY, Asked, capacity_of, consumable_names, distinct_shapes
from unspool.errors import InputError
from unspool.model.cloud import PLANS, Cloud, InstanceType
from unspool.model.platform import MachineGroup, MachineType, Platform
from unspool.model.workload import Workload
from unspool.units import counted

__all__ = ["on_whole_machines", "room_for_instances", "shapes_in_cloud", "with_cloud"]

_NO_LIMIT = 1 << 60
_SPARE = 64
_TREES = 3
_SECONDS_PER_MINUTE = 60.0


def on_whole_machines(workload: Workload) -> Workload:
    """The same jobs, each on one machine unless it asks for several."""
    machines = pl.max_horizontal(workload.column("machines").fill_null(1), pl.lit(1))
    return replace(workload, table=workload.table.with_columns(machines=machines))


def shapes_in_cloud(workload: Workload, platform: Platform) -> Asked:
    """What jobs ask for, judged by the machines of the platform and by those that can be started.

    Each shape stands twice: as it is asked for by jobs on demand, and by spot jobs.
    """
    cloud = _cloud_of(platform)
    kinds = [MachineGroup(_machine_type(kind), 1) for kind in cloud.types]
    asked = distinct_shapes(workload, replace(platform, groups=(*platform.groups, *kinds), cloud=None))
    asked = Asked(
        asked.shape_of_job * 2 + spot_jobs(cloud, workload), np.repeat(asked.units, 2), np.repeat(asked.distinct, 2),
        np.repeat(asked.need, 2, axis=0), np.repeat(asked.licence_need, 2, axis=0), np.repeat(asked.partition, 2),
        asked.allowed, tuple(reason for reason in asked.unusable for _ in range(2)), asked.notes,
    )  # fmt: skip
    there, on_demand, spot = _machines_at_most(asked, platform)
    is_spot = np.arange(len(asked.units)) % 2 != 0
    most = there + np.where(is_spot, np.maximum(on_demand, spot), on_demand)
    unusable = list(asked.unusable)
    for shape in np.flatnonzero(most < asked.units).tolist():
        unusable[shape] = unusable[shape] or _why_unplaceable(asked, shape, int(most[shape]), platform)
    return replace(asked, unusable=tuple(unusable))


def _machine_type(kind: InstanceType) -> MachineType:
    return MachineType(f"{kind.name} (started)", kind.cores, kind.memory_bytes, kind.gpus)


def _cloud_of(platform: Platform) -> Cloud:
    if platform.cloud is None:
        raise InputError(f"{platform.name}: no cloud in which machines could be started")
    return platform.cloud


def _machines_at_most(asked: Asked, platform: Platform) -> tuple[Array, Array, Array]:
    """For each shape, how many machines of the platform it could have, and instances on demand and on spot."""
    cloud = _cloud_of(platform)
    consumables = consumable_names(platform)
    there, nothing = np.zeros(len(asked.units), np.int64), np.zeros(len(asked.units), np.int64)
    for group in platform.groups:
        there += group.count * (asked.need <= capacity_of(group.machine, consumables)).all(axis=1)
    if math.isinf(cloud.burst_after_s):
        return there, nothing, nothing
    on_demand, spot = (_instances_at_most(asked.need, cloud, consumables, plan) for plan in (ON_DEMAND, SPOT))
    return there, on_demand, spot


def _instances_at_most(need: Array, cloud: Cloud, consumables: Sequence[str], plan: int) -> Array:
    """For each shape, the most instances of one type that fits, on a plan: types in the order of what limits allow."""
    found = np.zeros(len(need), np.int64)
    open_shapes = np.arange(len(need))
    sold = [(_allowed(cloud, kind), kind.cores, kind) for kind in cloud.types if _price(kind, plan) is not None]
    for allowed, _, kind in sorted(sold, key=lambda one: one[:2], reverse=True):
        fits = (need[open_shapes] <= capacity_of(_machine_type(kind), consumables)).all(axis=1)
        found[open_shapes[fits]] = allowed
        open_shapes = open_shapes[~fits]
    return found


def _allowed(cloud: Cloud, kind: InstanceType) -> int:
    """How many instances of a type the limits allow, where there is no other."""
    most = _NO_LIMIT
    for limits, size in ((cloud.max_instances, 1), (cloud.max_vcpus, kind.vcpus)):
        for limit in (limits.in_all, limits.of_family.get(kind.family)):
            if limit is not None:
                most = min(most, limit // size)
    return most


def _price(kind: InstanceType, plan: int) -> float | None:
    return kind.spot_usd_per_hour if plan == SPOT else kind.on_demand_usd_per_hour


def _why_unplaceable(asked: Asked, shape: int, most: int, platform: Platform) -> str:
    cloud = _cloud_of(platform)
    need = asked.need[shape]
    wanted = f"{counted(int(need[CORES]), 'core')}, {need[MEMORY] / (1 << 30):g} GiB"
    wanted += f", {counted(int(need[GPUS]), 'GPU')}" if need[GPUS] else ""
    if most:
        return f"asks for {asked.units[shape]} machines of {wanted}; servers and limits allow {most} at once"
    machines: list[InstanceType | MachineType] = [group.machine for group in platform.groups]
    if not math.isinf(cloud.burst_after_s):
        machines += [kind for kind in cloud.types if kind.on_demand_usd_per_hour is not None]
    if not machines:
        return f"asks for {wanted} on a machine; no machine can be started"
    if need[GPUS] and not any(machine.gpus for machine in machines):
        return f"asks for {wanted} on a machine; no machine that there is, or that can be started, has GPUs"
    large = [m for m in machines if m.cores >= need[CORES] and m.gpus >= need[GPUS]]
    if any((m.memory_bytes or _NO_LIMIT) >= need[MEMORY] for m in large):
        return f"asks for {wanted} on a machine; limits allow no instance of a type that has them"
    measures: list[Callable[[Any], Any]] = [
        lambda m: (m.cores, m.memory_bytes or _NO_LIMIT),
        lambda m: m.memory_bytes or _NO_LIMIT,
    ]
    if need[GPUS]:
        measures.append(lambda m: m.gpus)
    told = sorted({_told(max(machines, key=measure)) for measure in measures})
    return f"asks for {wanted} on a machine; the largest there is: {' and '.join(told)}"


def _told(machine: InstanceType | MachineType) -> str:
    memory = f"{machine.memory_bytes / (1 << 30):g} GiB" if machine.memory_bytes else "any memory"
    gpus = f", {counted(machine.gpus, 'GPU')}" if machine.gpus else ""
    return f"{machine.name} ({counted(machine.cores, 'core')}, {memory}{gpus})"


def with_cloud(
    state: State, place: Place, asked: Asked, used: Array, workload: Workload, platform: Platform, seed: int
) -> State:
    """The state with what machines that are brought up and down need."""
    cloud = _cloud_of(platform)
    fixed = platform.machine_count
    count = fixed + _SPARE
    consumables = consumable_names(platform)
    room = np.array([capacity_of(_machine_type(kind), consumables) for kind in cloud.types]).reshape(
        len(cloud.types), place.free.shape[1]
    )
    rows = int(asked.units[asked.shape_of_job[used]].sum()) + _SPARE
    elastic = Elastic(
        rule=_rule(cloud, fixed, workload, seed),
        kinds=_kinds(cloud, len(platform.groups)),
        by_price=_by_price(cloud),
        quotas=_quotas(cloud),
        room=room,
        instances=_instances(platform, cloud, count),
        capacity=longer(place.free.copy(), count),
        nodes=np.zeros(count, NODE),
        roots=np.full(_TREES, -1, np.int64),
        holds=np.zeros(rows, HOLD),
        lots=_lots(asked, used, workload, platform),
        packed=np.zeros(len(used), np.int64),
        ranked=np.zeros(len(used), np.int64),
        weights=np.zeros((count, 2)),
    )
    elastic.nodes["tree"] = -1
    _deal_packing(elastic, asked, used, workload, cloud)
    if cloud.checkpoint_s:  # what a checkpoint keeps is taken off the run time
        state = state._replace(core=state.core._replace(jobs=state.core.jobs.copy()))
    state = _with_machines(state, place._replace(rows=longer(place.rows[:0], rows)), elastic, count)
    assert state.place is not None
    for machine in range(fixed):
        index_machine(state.place, elastic, machine)
    return state


def _rule(cloud: Cloud, fixed: int, workload: Workload, seed: int) -> Array:
    rule = np.zeros(1, ELASTIC)
    rule["machines"] = rule["fixed"] = fixed
    rule["boot"], rule["idle"], rule["frequency"] = cloud.boot_s, cloud.idle_s, cloud.frequency_s
    rule["epoch"] = workload.origin_unix_s
    rule["tick"] = rule["ticked"] = -NEVER
    rule["shares"] = cloud.shares
    rule["reclaims"] = -math.log1p(-cloud.reclaim_per_minute)
    rule["retries"] = cloud.max_spot_retries
    rule["checkpoint"] = cloud.checkpoint_s or 0.0
    rule["seed"] = seed % (1 << 64)
    rule["looked"] = -1
    rule["may_start"] = not math.isinf(cloud.burst_after_s)
    for plan in (ON_DEMAND, SPOT):
        per_core = [price / kind.cores for kind in cloud.types if (price := _price(kind, plan)) is not None]
        rule["core_usd"][:, plan - ON_DEMAND] = min(per_core, default=0.0)
    return rule


def _weight(cloud: Cloud, price: float, cores: int) -> float:
    """By what machines are ordered: the price of a core where they are shared, else that of the machine."""
    return price / cores if cloud.shares else price


def _ranks(weights: Sequence[tuple[float, ...]]) -> list[int]:
    """The place of each among all, the same for equals."""
    places = {weight: at for at, weight in enumerate(sorted(set(weights)))}
    return [places[weight] for weight in weights]


def _families(cloud: Cloud) -> list[str]:
    return sorted({kind.family for kind in cloud.types})


def _kinds(cloud: Cloud, groups: int) -> Array:
    kinds = np.zeros(len(cloud.types), KIND)
    kinds["vcpus"] = [kind.vcpus for kind in cloud.types]
    families = _families(cloud)
    kinds["quota"] = [1 + families.index(kind.family) for kind in cloud.types]
    kinds["group"] = groups + np.arange(len(cloud.types))
    for plan in (ON_DEMAND, SPOT):
        prices = [(_price(kind, plan), kind.cores) for kind in cloud.types]
        kinds["usd"][:, plan - ON_DEMAND] = [math.inf if price is None else price for price, _ in prices]
        kinds["rank"][:, plan - ON_DEMAND] = _ranks(
            [(math.inf if price is None else _weight(cloud, price, cores),) for price, cores in prices]
        )
    return kinds


def _by_price(cloud: Cloud) -> Array:
    order = np.full((2, len(cloud.types)), -1, np.int64)
    for plan in (ON_DEMAND, SPOT):
        sold = [
            (price, kind.name, at) for at, kind in enumerate(cloud.types) if (price := _price(kind, plan)) is not None
        ]
        order[plan - ON_DEMAND, : len(sold)] = [at for _, _, at in sorted(sold)]
    return order


def _quotas(cloud: Cloud) -> Array:
    families = _families(cloud)
    quotas = np.zeros(1 + len(families), QUOTA)
    for name, limits in (("most_instances", cloud.max_instances), ("most_vcpus", cloud.max_vcpus)):
        quotas[name] = _NO_LIMIT
        if limits.in_all is not None:
            quotas[name][0] = limits.in_all
        for at, family in enumerate(families, 1):
            quotas[name][at] = limits.of_family.get(family, _NO_LIMIT)
    return quotas


def _instances(platform: Platform, cloud: Cloud, count: int) -> Array:
    """The machines of the platform come first. Those that are paid anyway are to be filled before others."""
    instances = np.zeros(count, INSTANCE)
    instances["kind"] = instances["job"] = instances["hold"] = instances["stop"] = -1
    groups = platform.groups
    weights = []
    for machine in (group.machine for group in groups):
        price = machine.prices[0].usd_per_hour if machine.prices else 0.0
        is_used = machine.billing != "always"
        weights.append((float(is_used), _weight(cloud, price, machine.cores) if is_used else price / machine.cores))
    counts = [group.count for group in groups]
    fixed = instances[: sum(counts)]
    fixed["plan"] = np.repeat([PLANS.index(group.machine.plan) for group in groups], counts) if groups else 0
    fixed["rank"] = np.repeat(_ranks(weights), counts) if groups else 0
    fixed["start"] = fixed["up"] = -NEVER
    return instances


def _lots(asked: Asked, used: Array, workload: Workload, platform: Platform) -> Array:
    cloud = _cloud_of(platform)
    lots = np.zeros(len(used), LOT)
    shape = asked.shape_of_job[used]
    there, *by_plan = _machines_at_most(asked, platform)
    on_demand, spot = ((most >= np.maximum(asked.units - there, 1))[shape] for most in by_plan)
    if cloud.max_spot_retries == 0 and cloud.reclaim_per_minute > 0.0:  # no reclaim at all is borne
        spot &= ~on_demand
    lots["plan"] = np.where(shape % 2 & spot, SPOT, ON_DEMAND)
    # Where a predictor says which are spot jobs, those that can run in one way only still do.
    lots["spot_below"] = np.where(on_demand, np.where(spot, _spot_below(cloud, workload)[used], 0.0), NEVER)
    lots["losses"] = np.where(on_demand, 0, -_NO_LIMIT)  # those that can only run on spot are tried there again
    lots["line"] = _lines(workload)[used]
    lots["burst_at"] = workload.table["submit_time"].to_numpy()[used] + cloud.burst_after_s
    return lots


def _lines(workload: Workload) -> Array:
    """What tells jobs apart also where others are left out: their lines in the log, or else their places."""
    lines = workload.column("line")
    if lines.null_count() or lines.n_unique() < len(lines):
        return np.arange(len(workload))
    return np.asarray(lines.to_numpy())


def spot_jobs(cloud: Cloud, workload: Workload) -> Array:
    """Which jobs are spot jobs, by their logged run times."""
    return workload.table["run_time"].to_numpy() < _spot_below(cloud, workload)


def _spot_below(cloud: Cloud, workload: Workload) -> Array:
    """The run time, in seconds, below which each job is a spot job; 0 where no rule is for it."""
    found = np.zeros(len(workload))
    for rule in cloud.spot_rules:
        matches = np.ones(len(workload), bool)
        if rule.max_cores is not None:
            matches &= workload.table["cores"].to_numpy() <= rule.max_cores
        for name in ("queue", "project"):
            pattern = getattr(rule, name)
            if pattern is not None:
                texts = workload.column(name).fill_null("")
                expression = re.compile(pattern)
                named = {text: expression.match(text) is not None for text in texts.unique()}
                matches &= texts.replace_strict(named, return_dtype=pl.Boolean).to_numpy()
        found = np.maximum(found, np.where(matches, rule.max_minutes * _SECONDS_PER_MINUTE, 0.0))
    return found


def _deal_packing(elastic: Elastic, asked: Asked, used: Array, workload: Workload, cloud: Cloud) -> None:
    """Each job's place in the order of packing: its share of the largest type, then its submission."""
    if not len(used) or not cloud.types:
        return
    largest = min(cloud.types, key=lambda kind: (-kind.cores, -kind.memory_bytes, kind.name))
    cores = workload.table["cores"].to_numpy()[used] / largest.cores
    memory = workload.column("memory_bytes").fill_null(0).to_numpy()[used] / largest.memory_bytes
    elastic.packed[:] = np.argsort(-np.maximum(cores, memory), kind="stable")
    elastic.lots["pack"][elastic.packed] = np.arange(len(used))


def room_for_instances(state: State) -> State:
    """Room for the job that found none, and for as much again."""
    core, place, elastic = state.core, state.place, state.elastic
    assert place is not None
    assert elastic is not None
    course, rule = core.course[0], elastic.rule[0]
    short = int(rule["short"])
    starts = int(min(course["queued"], course["free"]))
    core = core._replace(
        attempts=longer(core.attempts, int(course["attempts"]) + 1),
        events=longer(
            core.events, int(course["events"] + rule["live"] + course["queued"]) + starts + 2 * short + _SPARE
        ),
    )
    rows = int(course["rows"]) + max(short, int(course["free"]) if not rule["binds"] else 0)
    place = place._replace(rows=longer(place.rows, rows))
    elastic = elastic._replace(holds=longer(elastic.holds, rows))
    count = int(rule["machines"]) + short
    if count > len(elastic.instances):
        return _with_machines(state._replace(core=core), place, elastic, max(count, 2 * len(elastic.instances)))
    return state._replace(core=core, place=place, elastic=elastic)


def _with_machines(state: State, place: Place, elastic: Elastic, count: int) -> State:
    """The state with room for so many machines; those that have not been started have nothing."""
    bits = empty_bitset(count)
    for machine in np.flatnonzero((place.free >= place.least).all(axis=1) & (place.free[:, 0] > 0)).tolist():
        add(bits, count, machine)
    place = place._replace(
        machines=longer(place.machines, count), bits=bits, free=longer(place.free, count),
        picked=longer(place.picked, count),
    )  # fmt: skip
    elastic = elastic._replace(
        instances=longer(elastic.instances, count), capacity=longer(elastic.capacity, count),
        nodes=longer(elastic.nodes, count), weights=longer(elastic.weights, count),
    )  # fmt: skip
    later = state.later
    if later is not None:
        later = later._replace(gain=longer(later.gain, count), level=longer(later.level, count))
    return state._replace(place=place, elastic=elastic, later=later)
