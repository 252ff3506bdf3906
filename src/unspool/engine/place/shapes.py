"""What jobs ask of machines, as a few distinct shapes: so many units, each with so much of every resource.

A job that asks for machines has one unit a machine; shares are rounded up to whole cores, bytes and GPUs. A job that
asks for a total has one unit a GPU, or else one a core, and its units may share machines. They ask for no more memory
than the job, so that it may have all of a machine's; nor for more cores, if a machine has room for an equal part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from unspool.engine.kernel.state import Place
from unspool.errors import InputError, UnknownName
from unspool.model.platform import MachineType, Platform
from unspool.model.workload import Workload
from unspool.units import counted, format_bytes

__all__ = [
    "CORES", "GPUS", "MEMORY", "Asked", "capacity_of", "consumable_names", "distinct_shapes", "needs_of", "shapes_of",
]  # fmt: skip

CORES, MEMORY, GPUS = 0, 1, 2
_NO_LIMIT = float(1 << 52)  # bytes; whole numbers up to here are exact in a float
_KEY = ("units", "distinct", "cores", "memory", "gpus", "licences", "partition")


@dataclass(frozen=True)
class Asked:
    """The distinct shapes of a workload on a platform, and the shape of each job."""

    shape_of_job: np.ndarray[tuple[int], np.dtype[np.int64]]
    units: np.ndarray[tuple[int], np.dtype[np.int64]]
    distinct: np.ndarray[tuple[int], np.dtype[np.bool_]]
    need: np.ndarray[tuple[int, int], np.dtype[np.float64]]  # [shape, resource], of one unit
    licence_need: np.ndarray[tuple[int, int], np.dtype[np.float64]]  # [shape, licence], of the job
    partition: np.ndarray[tuple[int], np.dtype[np.int64]]
    allowed: np.ndarray[tuple[int, int], np.dtype[np.int64]]  # [partition, group]
    unusable: tuple[str | None, ...]  # for each shape, why it can never run here
    notes: tuple[str, ...]


def consumable_names(platform: Platform) -> tuple[str, ...]:
    """The consumables of machines, in the order of their resource columns after GPUs."""
    return tuple(sorted({name for group in platform.groups for name in group.machine.consumables}))


def capacity_of(machine: MachineType, consumables: Sequence[str]) -> list[float]:
    """What an empty machine of a type has of each resource."""
    memory = float(machine.memory_bytes) if machine.memory_bytes else _NO_LIMIT
    return [
        float(machine.cores),
        memory,
        float(machine.gpus),
        *(float(machine.consumables.get(c, 0)) for c in consumables),
    ]


def shapes_of(workload: Workload, platform: Platform) -> Asked:
    """Find the distinct shapes, and say of each that can never run here why not."""
    return _with_reasons(distinct_shapes(workload, platform), platform)


def distinct_shapes(workload: Workload, platform: Platform) -> Asked:
    """Find the distinct shapes; of those that ask for what is not known here, `unusable` says so."""
    jobs = pl.DataFrame(
        {name: workload.column(name) for name in ("cores", "machines", "memory_bytes", "gpus", "licences", "partition")}
    )
    notes: list[str] = []
    knows_gpus = any(group.machine.gpus for group in platform.groups)
    knows_licences = bool(platform.licences) or bool(consumable_names(platform))
    if platform.is_pool and not knows_gpus:
        jobs = _leave_out(jobs, "gpus", pl.col("gpus") > 0, "GPUs", notes)
    if not knows_licences:
        jobs = _leave_out(jobs, "licences", pl.col("licences").is_not_null(), "licences", notes)
    if not platform.partitions:
        jobs = jobs.with_columns(partition=pl.lit(None, pl.String))
    machines = pl.col("machines").fill_null(0) if not platform.is_pool else pl.lit(0)
    gpus, memory = pl.col("gpus").fill_null(0), pl.col("memory_bytes").fill_null(0)
    jobs = jobs.with_columns(parts=_parts_with_gpus(jobs, platform))
    units = pl.when(machines > 0).then(machines).when(gpus > 0).then("parts").otherwise("cores")
    keyed = jobs.select(
        units=units,
        distinct=machines > 0,
        cores=_share(pl.col("cores"), units),
        memory=pl.when(machines > 0).then(_share(memory, units)).otherwise(memory // units),
        gpus=_share(gpus, units),
        licences=pl.col("licences"),
        partition=pl.col("partition"),
    )
    # Most jobs differ in one or two of these, and a column less is a faster join.
    differs = keyed.select(pl.col(_KEY).ne_missing(pl.col(_KEY).first()).any()).row(0, named=True)
    key = [name for name in _KEY if differs[name]] or ["units"]
    shapes = keyed.unique(key, keep="first", maintain_order=True).with_row_index("shape")
    shape_of_job = keyed.select(key).join(
        shapes.select("shape", *key), on=key, how="left", nulls_equal=True, maintain_order="left"
    )["shape"]
    return _resolve(shapes, shape_of_job.cast(pl.Int64).to_numpy(), platform, tuple(notes))


def _parts_with_gpus(jobs: pl.DataFrame, platform: Platform) -> pl.Series:
    """How many units a total with GPUs makes: one a GPU, where that divides the cores.

    Else as many as divide both, if there is a machine for one of them: 104 cores and 6 GPUs are twice 52 and 3.
    """
    parts = jobs["gpus"].fill_null(0)
    uneven = ((parts > 0) & (jobs["cores"] % parts != 0)).fill_null(False).arg_true()
    if not len(uneven):
        return parts
    names = jobs["partition"].gather(uneven).to_list()
    amounts = jobs[uneven].select(pl.col("cores", "memory_bytes", "gpus").fill_null(0)).to_numpy()
    equal = np.gcd(amounts[:, CORES], amounts[:, GPUS])
    a_part = amounts // equal[:, None]
    firsts = platform.first_ids()
    for name in {None, *(known.name for known in platform.partitions)}.intersection(names):
        has = [capacity_of(platform.groups[firsts.index(first)].machine, ()) for first, _ in platform.ranges(name)]
        fits = [(a_part <= machine).all(axis=1) for machine in has]
        chosen = np.any(fits, axis=0) & np.array([of_job == name for of_job in names])
        parts = parts.scatter(uneven.filter(chosen), equal[chosen])
    return parts


def _share(total: pl.Expr, units: pl.Expr) -> pl.Expr:
    return (total + units - 1) // units


def _leave_out(jobs: pl.DataFrame, column: str, asks: pl.Expr, what: str, notes: list[str]) -> pl.DataFrame:
    if jobs[column].null_count() == len(jobs):
        return jobs
    count = len(jobs.filter(asks))
    if count:
        ask = "asks" if count == 1 else "ask"
        notes.append(f"{counted(count)} {ask} for {what}, which this platform does not model: not looked at")
    return jobs.with_columns(pl.lit(None, jobs.schema[column]).alias(column))


def _resolve(
    shapes: pl.DataFrame,
    shape_of_job: np.ndarray[tuple[int], np.dtype[np.int64]],
    platform: Platform,
    notes: tuple[str, ...],
) -> Asked:
    consumables = consumable_names(platform)
    licences = tuple(platform.licences)
    count = len(shapes)
    need = np.zeros((count, 3 + len(consumables)))
    need[:, :3] = shapes.select("cores", "memory", "gpus").to_numpy()
    if not any(group.machine.memory_bytes for group in platform.groups):
        need[:, MEMORY] = 0.0
    units = shapes["units"].to_numpy()
    licence_need = np.zeros((count, len(licences)))
    unusable: list[str | None] = [None] * count
    for shape in shapes["licences"].is_not_null().arg_true().to_list():
        try:
            for name, amount in _amounts(shapes["licences"][shape]).items():
                if name in licences:
                    licence_need[shape, licences.index(name)] = amount
                elif name in consumables:
                    need[shape, 3 + consumables.index(name)] = -(-amount // int(units[shape]))
                else:
                    raise UnknownName("licence", name, (*licences, *consumables))
        except InputError as reason:
            unusable[shape] = str(reason)
    names = [None, *(p.name for p in platform.partitions)]
    allowed = np.zeros((len(names), len(platform.groups)), np.int64)
    firsts = platform.first_ids()
    for row, named in enumerate(names):
        for first, _ in platform.ranges(named):
            allowed[row, firsts.index(first)] = 1
    partition = np.zeros(count, np.int64)
    for shape in shapes["partition"].is_not_null().arg_true().to_list():
        name = shapes["partition"][shape]
        if name in names:
            partition[shape] = names.index(name)
        else:
            unusable[shape] = str(UnknownName("partition", name, (p.name for p in platform.partitions)))
    return Asked(
        shape_of_job, units, shapes["distinct"].to_numpy(), need, licence_need, partition, allowed, tuple(unusable),
        notes,
    )  # fmt: skip


def _amounts(text: str) -> Mapping[str, int]:
    amounts: dict[str, int] = {}
    for part in text.split(","):
        name, _, amount = part.strip().partition(":")
        if not name or not (amount or "1").isdigit():
            raise InputError(f"licences '{text}' do not read as name:amount,name:amount")
        amounts[name] = amounts.get(name, 0) + int(amount or 1)
    return amounts


def _with_reasons(asked: Asked, platform: Platform) -> Asked:
    """Find the shapes that do not fit even on the empty platform."""
    unusable = list(asked.unusable)
    room = np.zeros(len(asked.units), np.int64)
    longest = np.zeros(len(asked.units), np.int64)
    row = np.zeros(len(asked.units), np.int64)
    consumables = consumable_names(platform)
    for at, group in enumerate(platform.groups):
        have = np.array(capacity_of(group.machine, consumables))
        with np.errstate(divide="ignore", invalid="ignore"):
            fit = np.where(asked.need > 0, have // asked.need, np.inf).min(axis=1)
        fit = np.where(asked.distinct, np.minimum(fit, 1), fit) * asked.allowed[asked.partition, at]
        total = fit.astype(np.int64) * group.count
        room += total
        row = np.where(fit > 0, row + total, 0)
        longest = np.maximum(longest, row)
    if platform.selection == "contiguous":
        room = longest
    for shape in np.flatnonzero(room < asked.units).tolist():
        if unusable[shape] is None:
            unusable[shape] = _why_too_large(asked, shape, int(room[shape]), platform)
    limits = np.array([float(n) for n in platform.licences.values()])
    for shape in np.flatnonzero((asked.licence_need > limits).any(axis=1)).tolist():
        unusable[shape] = "asks for more licences than the platform has"
    return replace(asked, unusable=tuple(unusable))


def _why_too_large(asked: Asked, shape: int, room: int, platform: Platform) -> str:
    units, need = int(asked.units[shape]), asked.need[shape]
    if need[CORES] == 1 and not asked.distinct[shape] and units > platform.cores:
        return f"asks for {counted(units, 'core')}; the platform has {platform.cores:,}"
    of = counted(int(need[CORES]), "core")
    if need[MEMORY]:
        of += f" with {need[MEMORY] / (1 << 30):g} GiB"
    if need[GPUS]:
        of += f" and {counted(int(need[GPUS]), 'GPU')}"
    of += "".join(
        f" and {amount:g} {name}" for name, amount in zip(consumable_names(platform), need[3:], strict=True) if amount
    )
    what = counted(units, "machine" if asked.distinct[shape] else "unit")
    return f"asks for {what} of {of}; the empty platform has room for {room:,}"


def needs_of(cores: int, shape: int, place: Place | None, platform: Platform) -> str:
    """All that a job of a shape asks for, in words."""
    total = counted(cores, "core")
    if place is None:
        return total
    units = int(place.shapes[shape]["units"])
    _, memory, gpus, *others = (int(amount) * units for amount in place.need[shape])
    held = zip(platform.licences, place.licence_need[shape], strict=True)
    needs = (
        f"{total} in {units:,} parts" if units > 1 else total,
        f"{format_bytes(memory)} of memory" if memory else "",
        counted(gpus, "GPU") if gpus else "",
        *(f"{amount:,} of {name}" for name, amount in zip(consumable_names(platform), others, strict=True) if amount),
        *(f"{counted(int(amount), 'licence')} {name}" for name, amount in held if amount),
    )
    return ", ".join(filter(None, needs))
