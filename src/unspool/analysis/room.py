"""What a waiting job lacks at an instant: cores, memory, GPUs, licences, machines of its partition, neighbours."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unspool.arrays import Array
from unspool.engine.kernel.state import Place
from unspool.engine.place.shapes import CORES, GPUS, MEMORY, consumable_names
from unspool.model.platform import Platform
from unspool.simulation.engine import Engine
from unspool.units import format_bytes

__all__ = ["Amount", "Shortage", "shortage_of"]

_COUNTABLE = ("cores", "GPUs", "machines", "shares")


@dataclass(frozen=True)
class Amount:
    """How much of something a job needs, and how much of it was free: the least and the most while it lacked it.

    Free is counted over the machines that the job may use; where that would be enough in all, in whole shares of the
    job. With `each` above 0 the amounts are machines, of which each must have so much free.
    """

    of: str
    needed: int
    free_least: int
    free_most: int
    each: int = 0

    def joined(self, other: Amount) -> Amount:
        """The same over both times."""
        least, most = min(self.free_least, other.free_least), max(self.free_most, other.free_most)
        return replace(self, free_least=least, free_most=most)

    @property
    def needed_text(self) -> str:
        """What is needed, with its name."""
        return _counted(self.needed, "machines" if self.each else self.of)

    @property
    def free_text(self) -> str:
        """What was free: a number, or a range."""
        ends = dict.fromkeys((self.free_least, self.free_most))
        return " to ".join(format_bytes(end) if self.of == "memory" and not self.each else f"{end:,}" for end in ends)

    def __str__(self) -> str:
        if self.each:
            return f"{self.needed_text} with {_counted(self.each, self.of)} free, there are {self.free_text}"
        return f"{self.needed_text}, {self.free_text} free"


def _counted(amount: int, of: str) -> str:
    if of == "memory":
        return f"{format_bytes(amount)} of memory"
    if of in _COUNTABLE:
        return f"{amount:,} {of.removesuffix('s') if amount == 1 else of}"
    return f"{amount:,} of {of}"


@dataclass(frozen=True)
class Shortage:
    """Why a job has no room: `reason` is a key of `REASONS`, `what` says of what there is too little."""

    reason: str
    what: str
    amounts: tuple[Amount, ...] = ()
    holders: tuple[int, ...] = ()  # running jobs that hold what it lacks, where these are few enough to matter


def shortage_of(engine: Engine, job: int) -> Shortage | None:
    """What a job lacks now, or None where it has room."""
    if engine.room_for(job) is not None:
        return None
    place = engine.place
    if place is None:
        needed, free = int(engine.core.jobs[job]["size"]), int(engine.core.course[0]["free"])
        return _with_lost(engine, Shortage("no room", "cores", (Amount("cores", needed, free, free),)))
    shape = int(engine.core.jobs[job]["shape"])
    return _of_licences(engine, place, shape) or _with_lost(engine, _of_machines(engine.platform, place, shape))


def _with_lost(engine: Engine, found: Shortage) -> Shortage:
    """The same, laid to machines that are down where the job would have cores enough with them."""
    course = engine.core.course[0]
    held = int(engine.core.running["size"][: int(course["running"])].sum())
    lost = engine.platform.cores - int(course["free"]) - held
    if lost <= 0 or not found.amounts or found.amounts[0].of != "cores":
        return found
    cores = found.amounts[0]
    lacking = (cores.needed - cores.free_least) * max(cores.each, 1)
    return replace(found, reason="machines down", what="") if lacking <= lost else found


def _of_licences(engine: Engine, place: Place, shape: int) -> Shortage | None:
    for kind, name in enumerate(engine.platform.licences):
        needed, free = int(place.licence_need[shape, kind]), int(place.licence[kind])
        if needed > free:
            shapes = engine.core.jobs["shape"]
            holders = [job for job in engine.running_jobs() if place.licence_need[shapes[job], kind] > 0]
            return Shortage("licence", name, (Amount(f"licence {name}", needed, free, free),), tuple(holders))
    return None


def _of_machines(platform: Platform, place: Place, shape: int) -> Shortage:
    """The resources of which there is too little by themselves, or else that they are not free in one place."""
    names = ("cores", "memory", "GPUs", *consumable_names(platform))
    asked = [resource for resource in (CORES, MEMORY, GPUS, *range(3, len(names))) if place.need[shape, resource] > 0]
    partition = int(place.shapes[shape]["partition"])
    may_use = place.allowed[partition, place.machines["group"]] != 0
    units = int(place.shapes[shape]["units"])
    short = [resource for resource in asked if _units(place, shape, [resource], may_use) < units]
    elsewhere = np.ones_like(may_use)
    if not short:
        room = _units(place, shape, asked, may_use)
        amount = Amount("machines" if place.shapes[shape]["distinct"] else "shares", units, room, room)
        if room < units:
            what = "all on one machine"
            if _units(place, shape, asked, elsewhere) >= units:
                what = _partition(platform, partition)
            return Shortage("no room", what, (amount,))
        return Shortage(
            "no room", "one part of the network" if place.shapes[shape]["local"] else "neighbouring machines"
        )
    amounts = tuple(_amount(place, shape, resource, names[resource], may_use) for resource in short)
    if all(_units(place, shape, [resource], elsewhere) >= units for resource in short):
        return Shortage("no room", _partition(platform, partition), amounts)
    return Shortage("no room", " and ".join(names[resource] for resource in short), amounts)


def _units(place: Place, shape: int, resources: list[int], may_use: Array) -> int:
    """How many units of a shape some machines have room for, looking at some resources only."""
    fit = np.full(len(place.free), float(place.shapes[shape]["units"]))
    for resource in resources:
        fit = np.minimum(fit, place.free[:, resource] // place.need[shape, resource])
    if place.shapes[shape]["distinct"]:
        fit = np.minimum(fit, 1.0)
    return int(fit[may_use].clip(0).sum())


def _amount(place: Place, shape: int, resource: int, name: str, may_use: Array) -> Amount:
    units, room = int(place.shapes[shape]["units"]), _units(place, shape, [resource], may_use)
    each = int(place.need[shape, resource])
    if place.shapes[shape]["distinct"]:
        return Amount(name, units, room, room, each)
    in_all = int(place.free[may_use, resource].sum())
    free = in_all if in_all < units * each else room * each
    return Amount(name, units * each, free, free)


def _partition(platform: Platform, partition: int) -> str:
    """The name of a partition by its number in the engine, where 0 is what a job gets that names none."""
    name = platform.partitions[partition - 1].name if partition else None
    name = name or next((one.name for one in platform.partitions if one.default), None)
    return f"partition {name}" if name else "partition"
