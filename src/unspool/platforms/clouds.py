"""A cloud in the keys of a platform's file: what can be started, and by which rules. Infinite times are left out."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Annotated, Any

import msgspec

from unspool.model.cloud import RECLAIM_PER_MINUTE, Cloud, Disk, InstanceType, Licence, Limits, SpotRule
from unspool.platforms.catalogue.names import family_of

__all__ = ["CloudKeys", "cloud_of", "describe_cloud"]

_Count = Annotated[int, msgspec.Meta(ge=1, le=10**15)]
_Amount = Annotated[int, msgspec.Meta(ge=0, le=10**15)]
_Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
_Dollars = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class _Type(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """An entry of `types`."""

    name: str
    cores: _Count
    memory_bytes: _Count
    family: str = ""
    vcpus: _Amount = 0
    gpus: _Amount = 0
    architecture: str = ""
    ghz: float = 0.0
    on_demand_usd_per_hour: _Dollars | None = None
    spot_usd_per_hour: _Dollars | None = None
    reserved_usd_per_hour: _Dollars | None = None


class _Rule(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """An entry of `spot_rules`."""

    max_minutes: _Seconds | None = None
    queue: str | None = None
    project: str | None = None
    max_cores: _Amount | None = None


class _Limits(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """`max_instances` and `max_vcpus`."""

    in_all: _Amount | None = None
    of_family: dict[str, _Amount] = {}


class _Disk(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """An entry of `disks`."""

    usd_per_gib_month: _Dollars
    gib: _Dollars = 0.0
    gib_per_core: _Dollars = 0.0
    types: str = ""


class _Licence(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """An entry of `licences`."""

    name: str
    usd_per_hour: _Dollars = 0.0
    usd_per_core_hour: _Dollars = 0.0
    usd_per_held_hour: _Dollars = 0.0
    types: str = ""


class CloudKeys(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The key `cloud` of a platform's file."""

    types: list[_Type]
    boot_s: _Seconds = 120.0
    idle_s: _Seconds = 300.0
    frequency_s: _Seconds = 0.0
    shares: bool = False
    spot_rules: list[_Rule] = []
    reclaim_per_minute: Annotated[float, msgspec.Meta(ge=0, lt=1)] = RECLAIM_PER_MINUTE
    max_spot_retries: _Amount = 3
    checkpoint_s: Annotated[float, msgspec.Meta(gt=0, le=1e12)] | None = None
    minimum_billed_s: _Seconds = 60.0
    burst_after_s: _Seconds = 0.0
    never_bursts: bool = False
    max_instances: _Limits = _Limits()
    max_vcpus: _Limits = _Limits()
    region: str = ""
    price_date: str = ""
    disks: list[_Disk] = []
    licences: list[_Licence] = []
    providers: dict[str, str] = {}
    physical_cores: dict[str, _Count] = {}


_EXTRAS = ("disks", "licences", "providers", "physical_cores")
_SAME = tuple(
    name
    for name in CloudKeys.__struct_fields__
    if name not in ("types", "spot_rules", "burst_after_s", "never_bursts", "max_instances", "max_vcpus", *_EXTRAS)
)


def cloud_of(keys: CloudKeys) -> Cloud:
    """The cloud that a file describes; a type's family is told from its name unless it is given."""
    types = []
    for one in keys.types:
        given = msgspec.structs.asdict(one)
        given["family"] = one.family or family_of(one.name)
        given["vcpus"] = one.vcpus or one.cores
        types.append(InstanceType(**given))
    rules = [
        SpotRule(math.inf if one.max_minutes is None else one.max_minutes, one.queue, one.project, one.max_cores)
        for one in keys.spot_rules
    ]
    return Cloud(
        types=tuple(types),
        spot_rules=tuple(rules),
        burst_after_s=math.inf if keys.never_bursts else keys.burst_after_s,
        max_instances=Limits(keys.max_instances.in_all, keys.max_instances.of_family),
        max_vcpus=Limits(keys.max_vcpus.in_all, keys.max_vcpus.of_family),
        disks=tuple(Disk(**msgspec.structs.asdict(one)) for one in keys.disks),
        licences=tuple(Licence(**msgspec.structs.asdict(one)) for one in keys.licences),
        providers=keys.providers,
        physical_cores=keys.physical_cores,
        **{name: getattr(keys, name) for name in _SAME},
    )


def describe_cloud(cloud: Cloud) -> CloudKeys:
    """The same cloud in keys."""
    never = math.isinf(cloud.burst_after_s)
    kinds: list[dict[str, Any]] = [
        {name: getattr(kind, name) for name in _Type.__struct_fields__} for kind in cloud.types
    ]
    return CloudKeys(
        types=[_Type(**kind) for kind in kinds],
        spot_rules=[
            _Rule(None if math.isinf(one.max_minutes) else one.max_minutes, one.queue, one.project, one.max_cores)
            for one in cloud.spot_rules
        ],
        burst_after_s=0.0 if never else cloud.burst_after_s,
        never_bursts=never,
        max_instances=_Limits(cloud.max_instances.in_all, dict(cloud.max_instances.of_family)),
        max_vcpus=_Limits(cloud.max_vcpus.in_all, dict(cloud.max_vcpus.of_family)),
        disks=[_Disk(**asdict(one)) for one in cloud.disks],
        licences=[_Licence(**asdict(one)) for one in cloud.licences],
        providers=dict(cloud.providers),
        physical_cores=dict(cloud.physical_cores),
        **{name: getattr(cloud, name) for name in _SAME},
    )
