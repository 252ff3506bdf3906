"""`config.yml`: the AWS tool's, as it is, with more keys; and the cluster that it describes."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import msgspec

from unspool.errors import InputError, UnitError, UnknownName, shown
from unspool.faces.cloud.changes import changed
from unspool.faces.cloud.extras import disks_of, licences_of
from unspool.faces.cloud.fleet import fleet_notes, fleet_of
from unspool.faces.cloud.keys import BurstAfter, ClusterKeys, FileKeys, InstanceKeys, OnPremisesKeys
from unspool.faces.cloud.patterns import refuse_patterns
from unspool.model.cloud import RECLAIM_PER_MINUTE, Disk, Licence, Limits, SpotRule
from unspool.model.platform import Platform
from unspool.platforms.catalogue import Catalogue
from unspool.platforms.catalogue.names import clean_name
from unspool.platforms.catalogue.plans import USUAL_TERM, PlanTerm
from unspool.platforms.catalogue.selection import TypeRules
from unspool.platforms.documents import converted, read_document
from unspool.units import parse_duration

__all__ = ["CostConfig", "PlanTerm", "Server", "fixed_only", "read_config"]

_FORMS = "expected a .yml file such as `unspool cost --init` writes"
_SHIPPED_PREFIXES = ("c7a", "c7i", "hpc", "m7a", "m7i", "r7a", "r7i", "z1d", "x2i", "u")
_SHIPPED_RULES = TypeRules(_SHIPPED_PREFIXES, min_ghz=2.0)
_NO_LIMITS = Limits()
_UNCHANGED: Mapping[str, Any] = MappingProxyType({})
_BURSTS = {"never": math.inf, "cheapest": 0.0}
_GIB = 2**30
_LONGEST_S = 1e9
_CLUSTER = "ComputeClusterModel"
_NODE = "{Name: node, Count: 100, Cores: 64, MemoryGiB: 256, HourlyCost: 0.9}"


@dataclass(frozen=True)
class Server:
    """Machines on premises, all alike. Memory 0 means that any amount fits."""

    name: str
    count: int
    cores: int
    memory_bytes: int = 0
    gpus: int = 0
    usd_per_hour: float = 0.0
    billing: str = "always"


@dataclass(frozen=True)
class CostConfig:
    """What a `config.yml` says, in our words and units; made by `read_config`.

    A region of None is the usual one, or the only one, of the catalogue. `reserved` has how many of each type.
    """

    where: str = "configuration"
    region: str | None = None
    rules: TypeRules = _SHIPPED_RULES
    hyperthreading: bool = False
    bin_ends: tuple[float, float] = (0.0, 1e6)
    memory_bins_gib: tuple[float, ...] = InstanceKeys().ram_ranges_GB
    run_time_bins_min: tuple[float, ...] = InstanceKeys().runtime_ranges_minutes
    ec2_plan: PlanTerm = USUAL_TERM
    compute_plan: PlanTerm = USUAL_TERM
    queues: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    boot_s: float = 120.0
    idle_s: float = 300.0
    frequency_s: float = 120.0
    shares: bool = False
    max_instances: Limits = _NO_LIMITS
    max_vcpus: Limits = _NO_LIMITS
    spot_price: str = "max"
    spot_rules: tuple[SpotRule, ...] = (SpotRule(60.0),)
    reclaim_per_minute: float = RECLAIM_PER_MINUTE
    max_spot_retries: int = 3
    checkpoint_s: float | None = None
    minimum_billed_s: float = 60.0
    reserved: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    reserved_term: str | None = None
    reserved_discount: float | None = None
    on_premises: tuple[Server, ...] = ()
    burst_after_s: float = 0.0
    disks: tuple[Disk, ...] = ()
    licences: tuple[Licence, ...] = ()
    providers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    placement: str = "cheapest-fit"
    seed: int = 0

    def platform(self, catalogue: Catalogue) -> Platform:
        """The machines that are there, and what may be started beside them at the prices of a catalogue."""
        return fleet_of(self, catalogue)

    def notes(self, catalogue: Catalogue) -> tuple[str, ...]:
        """What should be said of that: types left out for want of a price, and how reserved instances are priced."""
        return fleet_notes(self, catalogue)


def read_config(path: str | os.PathLike[str] | None = None, changes: Mapping[str, Any] = _UNCHANGED) -> CostConfig:
    """The configuration in a file, or the defaults. A key that is left out, or left empty, has its default.

    `changes` are keys behind their sections, such as `ComputeClusterModel.IdleTime`, with what they are instead.

    >>> read_config().boot_s, read_config().spot_rules[0].max_minutes
    (120.0, 60.0)
    """
    where = "configuration" if path is None else str(path)
    content = {} if path is None else read_document(path, "configuration", _FORMS)
    keys = converted(_without_empty(changed({} if content is None else content, changes)), FileKeys, where)
    _refuse_bins(keys.instance_mapping, where)
    cluster, consumption = keys.ComputeClusterModel, keys.consumption_model_mapping
    for name in ("QueueRegExps", "ProjectRegExps"):
        refuse_patterns((text.removeprefix("-") for text in getattr(keys.Jobs, name)), f"{where}: key Jobs.{name}")
    place = f"{where}: key {_CLUSTER}"
    return CostConfig(
        where=where,
        region=keys.instance_mapping.region_name,
        rules=_rules(keys, place),
        hyperthreading=keys.instance_mapping.hyperthreading,
        bin_ends=(keys.instance_mapping.range_minimum, keys.instance_mapping.range_maximum),
        memory_bins_gib=keys.instance_mapping.ram_ranges_GB,
        run_time_bins_min=keys.instance_mapping.runtime_ranges_minutes,
        ec2_plan=PlanTerm(consumption.ec2_savings_plan_duration, consumption.ec2_savings_plan_payment_option),
        compute_plan=PlanTerm(
            consumption.compute_savings_plan_duration, consumption.compute_savings_plan_payment_option
        ),
        queues=keys.Jobs.QueueRegExps,
        projects=keys.Jobs.ProjectRegExps,
        boot_s=_seconds(cluster.BootTime, f"{place}.BootTime"),
        idle_s=_seconds(cluster.IdleTime, f"{place}.IdleTime"),
        frequency_s=_seconds(cluster.SchedulingFrequency, f"{place}.SchedulingFrequency"),
        shares=cluster.ShareInstances,
        max_instances=_limits(cluster.MaxInstances),
        max_vcpus=_limits(cluster.MaxVcpus),
        spot_price=cluster.SpotPrice,
        spot_rules=_spot_rules(cluster, consumption.maximum_minutes_for_spot, place),
        reclaim_per_minute=cluster.SpotTerminationProbabilityPerMinute,
        max_spot_retries=cluster.MaxSpotRetries,
        checkpoint_s=_checkpoint(cluster, place),
        minimum_billed_s=cluster.MinimumBilledSeconds,
        reserved=_reserved(cluster, place),
        reserved_term=cluster.ReservedTerm,
        reserved_discount=cluster.ReservedDiscount,
        on_premises=_servers(cluster, place),
        burst_after_s=_burst(cluster, place),
        disks=disks_of(cluster, place),
        licences=licences_of(cluster, place),
        providers=MappingProxyType({clean_name(name): region for name, region in cluster.Providers.items()}),
        placement=cluster.Placement,
        seed=cluster.Seed,
    )


def fixed_only(config: CostConfig) -> CostConfig:
    """The same with nothing started in the cloud: machines on premises and reserved instances only."""
    return replace(config, burst_after_s=math.inf)


def _without_empty(content: Any) -> Any:
    """The content without known keys that have no value, in the file and in its parts."""
    if not isinstance(content, dict):
        return content
    kinds = {each.encode_name: each.type for each in _fields(FileKeys)}
    kept = {key: value for key, value in content.items() if value is not None or key not in kinds}
    for key, value in kept.items():
        kind = kinds.get(key)
        if isinstance(value, dict) and isinstance(kind, msgspec.inspect.StructType):
            known = kind.cls.__struct_fields__
            kept[key] = {name: one for name, one in value.items() if one is not None or name not in known}
    return kept


def _fields(struct: type[msgspec.Struct]) -> tuple[msgspec.inspect.Field, ...]:
    info = msgspec.inspect.type_info(struct)
    assert isinstance(info, msgspec.inspect.StructType)
    return info.fields


def _rules(keys: FileKeys, place: str) -> TypeRules:
    """Which types: without a list of prefixes, those that the AWS tool ships, unless types or providers are named."""
    cluster = keys.ComputeClusterModel
    types = cluster.InstanceTypes
    prefixes = keys.instance_mapping.instance_prefix_list
    if prefixes is not None and not prefixes:
        where = place.removesuffix(_CLUSTER)
        raise InputError(f"{where}instance_mapping.instance_prefix_list: is empty; expected prefixes, '' for all types")
    for name in ("include", "exclude"):
        refuse_patterns(getattr(types, name), f"{place}.InstanceTypes.{name}")
    return TypeRules(
        prefixes=prefixes or (("",) if types.include or cluster.Providers else _SHIPPED_PREFIXES),
        include=types.include,
        exclude=types.exclude,
        architecture=cluster.Architecture,
        min_ghz=max(keys.consumption_model_mapping.minimum_cpu_speed, cluster.MinGhz or 0.0),
        gpu=cluster.Gpu,
    )


def _spot_rules(cluster: ClusterKeys, max_minutes: float, place: str) -> tuple[SpotRule, ...]:
    if not cluster.SpotRules:
        return (SpotRule(max_minutes),) if max_minutes > 0.0 else ()
    for at, rule in enumerate(cluster.SpotRules):
        for name in ("queue", "project"):
            refuse_patterns(filter(None, (getattr(rule, name),)), f"{place}.SpotRules[{at}].{name}")
    return tuple(
        SpotRule(math.inf if rule.max_minutes is None else rule.max_minutes, rule.queue, rule.project, rule.max_cores)
        for rule in cluster.SpotRules
    )


def _limits(given: int | dict[str, int] | None) -> Limits:
    """In all, or by family; in a map, `all` is in all."""
    if not isinstance(given, dict):
        return Limits(given)
    of_family = {family: most for family, most in given.items() if family != "all"}
    return Limits(given.get("all"), MappingProxyType(of_family))


def _reserved(cluster: ClusterKeys, place: str) -> Mapping[str, int]:
    """How many of each type: from a list of mappings, or from one mapping."""
    counts: dict[str, int] = {}
    given = cluster.ReservedInstances
    entries = {"": given} if isinstance(given, dict) else {f"[{at}]": entry for at, entry in enumerate(given)}
    for at, entry in entries.items():
        for name, count in entry.items():
            if (kind := clean_name(name)) in counts:
                raise InputError(f"{place}.ReservedInstances{at}: {shown(name)} stands twice; give one number")
            counts[kind] = count
    return MappingProxyType({name: count for name, count in counts.items() if count})


def _servers(cluster: ClusterKeys, place: str) -> tuple[Server, ...]:
    servers: dict[str, Server] = {}
    for at, entry in enumerate(cluster.OnPremises):
        name = entry.Name or ("on-premises" if not at else f"on-premises-{at + 1}")
        if name in servers:
            raise InputError(f"{place}.OnPremises[{at}].Name: '{shown(name)}' stands twice; give each its own")
        servers[name] = _server(entry, name, cluster.Billing, f"{place}.OnPremises[{at}]")
    return tuple(server for server in servers.values() if server.count)


def _server(entry: OnPremisesKeys, name: str, billing: str, place: str) -> Server:
    if entry.HourlyCost is None:
        raise InputError(
            f"{place}.HourlyCost: is missing; give US dollars an hour of each machine, as in {_NODE}, "
            "or 0 if they cost nothing"
        )
    memory = round(entry.MemoryGiB * _GIB)
    return Server(name, entry.Count, entry.Cores, memory, entry.GPUs, entry.HourlyCost, entry.Billing or billing)


def _burst(cluster: ClusterKeys, place: str) -> float:
    if isinstance(cluster.Burst, BurstAfter):
        return _seconds(cluster.Burst.after, f"{place}.Burst.after")
    if cluster.Burst not in _BURSTS:
        known = UnknownName("way to burst", cluster.Burst, _BURSTS, "or {after: '10:00'}")
        raise InputError(f"{place}.Burst: {known}")
    return _BURSTS[cluster.Burst]


def _checkpoint(cluster: ClusterKeys, place: str) -> float | None:
    if cluster.CheckpointInterval is None:
        return None
    seconds = _seconds(cluster.CheckpointInterval, f"{place}.CheckpointInterval")
    if seconds == 0.0:
        raise InputError(f"{place}.CheckpointInterval: is 0; expected a duration, or leave it out for no checkpoints")
    return seconds


def _seconds(given: str | float, place: str) -> float:
    try:
        seconds = parse_duration(given)
    except UnitError as error:
        raise InputError(f"{place}: {error}") from error
    if seconds > _LONGEST_S:
        raise InputError(f"{place}: is too long; expected at most {_LONGEST_S:,.0f} seconds, which is 31 years")
    return seconds


def _refuse_bins(keys: InstanceKeys, where: str) -> None:
    for name in ("ram_ranges_GB", "runtime_ranges_minutes"):
        bounds = getattr(keys, name)
        if not bounds or any(low >= high for low, high in pairwise(bounds)):
            raise InputError(f"{where}: key instance_mapping.{name}: expected upper bounds, each above the one before")
    if keys.range_minimum >= keys.range_maximum:
        raise InputError(
            f"{where}: key instance_mapping.range_maximum: is {keys.range_maximum}; "
            f"expected more than range_minimum, {keys.range_minimum}"
        )
