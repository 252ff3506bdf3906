"""The keys of `config.yml`, as the AWS tool spells them, and ours beside them (spec A4 and B2).

The order of the keys, their defaults and their names are those of the file; `config.py` turns them into our words.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from unspool.model.cloud import RECLAIM_PER_MINUTE

__all__ = [
    "BurstAfter", "ClusterKeys", "ConsumptionKeys", "DiskKeys", "FileKeys", "InstanceKeys", "JobKeys", "LicenceKeys",
    "OnPremisesKeys", "SpotRuleKeys", "TypeKeys",
]  # fmt: skip

_Count = Annotated[int, msgspec.Meta(ge=0, le=10**12)]
_Some = Annotated[int, msgspec.Meta(ge=1, le=10**12)]
_Number = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
_Machines = Annotated[int, msgspec.Meta(ge=0, le=10**6)]
_Cores = Annotated[int, msgspec.Meta(ge=1, le=10**6)]
_GiB = Annotated[float, msgspec.Meta(ge=0, le=1e6)]
_Duration = str | int | float
_Payment = Literal["All Upfront", "Partial Upfront", "No Upfront"]
_Years = Literal[1, 3]
_Limit = _Count | dict[str, _Count]
_Billing = Literal["always", "used"]


class InstanceKeys(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`instance_mapping`: where, and which types."""

    hyperthreading: bool = False
    region_name: str | None = None
    range_minimum: _Count = 0
    range_maximum: _Count = 1_000_000
    ram_ranges_GB: tuple[_Number, ...] = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)  # noqa: N815
    runtime_ranges_minutes: tuple[_Number, ...] = (1, 5, 20, 60, 240, 1440)
    instance_prefix_list: tuple[str, ...] | None = None


class ConsumptionKeys(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`consumption_model_mapping`: how instances are bought."""

    minimum_cpu_speed: _Number = 2.0
    maximum_minutes_for_spot: _Number = 60.0
    ec2_savings_plan_duration: _Years = 3
    ec2_savings_plan_payment_option: _Payment = "All Upfront"
    compute_savings_plan_duration: _Years = 3
    compute_savings_plan_payment_option: _Payment = "All Upfront"
    job_file_batch_size: _Some = 1000


class JobKeys(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`Jobs`: which jobs count."""

    QueueRegExps: tuple[str, ...] = ()
    ProjectRegExps: tuple[str, ...] = ()


class SpotRuleKeys(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """An entry of `SpotRules`."""

    max_minutes: _Number | None = None
    queue: str | None = None
    project: str | None = None
    max_cores: _Count | None = None


class OnPremisesKeys(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """An entry of `OnPremises`."""

    Cores: _Cores
    Name: str | None = None
    Count: _Machines = 1
    MemoryGiB: _GiB = 0.0
    HourlyCost: _Number | None = None  # without one it is refused, with an example
    GPUs: _Count = 0
    Billing: _Billing | None = None


class DiskKeys(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """An entry of `Disks`."""

    UsdPerGiBMonth: _Number
    GiB: _GiB = 0.0
    GiBPerCore: _GiB = 0.0
    types: str = ""


class LicenceKeys(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """An entry of `Licences`."""

    Name: str
    UsdPerHour: _Number = 0.0
    UsdPerCoreHour: _Number = 0.0
    UsdPerHeldHour: _Number = 0.0
    types: str = ""


class BurstAfter(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`Burst` with a time."""

    after: _Duration


class TypeKeys(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`InstanceTypes`: regular expressions."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


class ClusterKeys(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`ComputeClusterModel`: the rules of the cluster."""

    BootTime: _Duration = "2:00"
    IdleTime: _Duration = "5:00"
    SchedulingFrequency: _Duration = "2:00"
    ShareInstances: bool = False
    InstanceTypes: TypeKeys = TypeKeys()
    Architecture: str | None = None
    MinGhz: _Number | None = None
    Gpu: bool | str | None = None
    MaxInstances: _Limit | None = None
    MaxVcpus: _Limit | None = None
    SpotPrice: Literal["max", "median", "min"] = "max"
    SpotRules: tuple[SpotRuleKeys, ...] = ()
    SpotTerminationProbabilityPerMinute: Annotated[float, msgspec.Meta(ge=0, lt=1)] = RECLAIM_PER_MINUTE
    MaxSpotRetries: _Count = 3
    CheckpointInterval: _Duration | None = None
    MinimumBilledSeconds: _Number = 60.0
    ReservedInstances: tuple[dict[str, _Machines], ...] | dict[str, _Machines] = ()
    ReservedTerm: str | None = None
    ReservedDiscount: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    OnPremises: tuple[OnPremisesKeys, ...] = ()
    Billing: _Billing = "always"
    Burst: str | BurstAfter = "cheapest"
    Disks: tuple[DiskKeys, ...] = ()
    Licences: tuple[LicenceKeys, ...] = ()
    Providers: dict[str, str] = {}
    Placement: Literal["cheapest-fit", "largest-size", "least-added-cost"] = "cheapest-fit"
    Seed: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] = 0


class FileKeys(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The whole file."""

    version: int = 1
    instance_mapping: InstanceKeys = InstanceKeys()
    consumption_model_mapping: ConsumptionKeys = ConsumptionKeys()
    Jobs: JobKeys = JobKeys()
    ComputeClusterModel: ClusterKeys = ClusterKeys()
