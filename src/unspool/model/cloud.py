"""A cluster that grows and shrinks in the cloud: what can be started, at what price, and by which rules. Data only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from unspool.errors import InputError

__all__ = [
    "BILLINGS", "MONTH_HOURS", "PLANS", "RECLAIM_PER_MINUTE", "Cloud", "Disk", "InstanceType", "Licence", "Limits",
    "SpotRule",
]  # fmt: skip

PLANS: tuple[str, ...] = ("on-premises", "reserved", "on-demand", "spot")
"""How a machine is paid, in the order of their codes in the engine (`engine/cloud/instances.py`)."""

BILLINGS: tuple[str, ...] = ("always", "used")
"""When a machine on premises is paid: every hour, or while a job runs on it."""

RECLAIM_PER_MINUTE = -math.expm1(math.log(0.95) / 300.0)
"""The chance that a spot instance is reclaimed within a minute that makes 5 % in five hours."""

MONTH_HOURS = 730.0
"""Hours of a month for prices by the month: a twelfth of 365 days."""


@dataclass(frozen=True)
class InstanceType:
    """A type of instance that can be started; `cores` are what jobs get, and a price of None means not sold so."""

    name: str
    family: str
    cores: int
    vcpus: int
    memory_bytes: int
    gpus: int = 0
    architecture: str = ""
    ghz: float = 0.0
    on_demand_usd_per_hour: float | None = None
    spot_usd_per_hour: float | None = None
    reserved_usd_per_hour: float | None = None

    def __post_init__(self) -> None:
        if self.cores < 1 or self.memory_bytes < 1:
            raise InputError(
                f"{self.name}: {self.cores} cores and {self.memory_bytes} bytes; expected 1 or more of each"
            )
        prices = (self.on_demand_usd_per_hour, self.spot_usd_per_hour, self.reserved_usd_per_hour)
        if any(price is not None and not (math.isfinite(price) and price >= 0.0) for price in prices):
            raise InputError(f"{self.name}: a price of {prices}; expected dollars an hour, 0 or more")


@dataclass(frozen=True)
class SpotRule:
    """Jobs that run on spot: all that is said must hold. Queue and project are regular expressions, from the start."""

    max_minutes: float = math.inf  # run time below this
    queue: str | None = None
    project: str | None = None
    max_cores: int | None = None


@dataclass(frozen=True)
class Limits:
    """The most instances, or vCPUs, that may be live at once: in all, and by family of types."""

    in_all: int | None = None
    of_family: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True)
class Disk:
    """A disk that each instance has while it is paid; `types` is a regular expression, from the start of the name."""

    usd_per_gib_month: float
    gib: float = 0.0
    gib_per_core: float = 0.0
    types: str = ""


@dataclass(frozen=True)
class Licence:
    """What a licence costs: on instances whose type matches, while paid; and each that a running job holds."""

    name: str
    usd_per_hour: float = 0.0
    usd_per_core_hour: float = 0.0
    usd_per_held_hour: float = 0.0
    types: str = ""


@dataclass(frozen=True)
class Cloud:
    """What a provisioner may start, and the rules of its life.

    `frequency_s` 0 places a job at once; else jobs that find no room wait for the next whole multiple of it since the
    Unix epoch. `burst_after_s` is how long a job waits for machines that are there before instances are started for
    it; infinite: for ever. `providers` names the provider of each type, where types of several may be started.
    `physical_cores` has those of each type on which jobs get hardware threads in their place: core-hours count them.
    """

    types: tuple[InstanceType, ...]
    boot_s: float = 120.0
    idle_s: float = 300.0
    frequency_s: float = 0.0
    shares: bool = False
    spot_rules: tuple[SpotRule, ...] = ()
    reclaim_per_minute: float = RECLAIM_PER_MINUTE
    max_spot_retries: int = 3
    checkpoint_s: float | None = None
    minimum_billed_s: float = 60.0
    burst_after_s: float = 0.0
    max_instances: Limits = Limits()
    max_vcpus: Limits = Limits()
    region: str = ""
    price_date: str = ""
    disks: tuple[Disk, ...] = ()
    licences: tuple[Licence, ...] = ()
    providers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    physical_cores: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        for name in ("boot_s", "idle_s", "frequency_s", "minimum_billed_s", "burst_after_s"):
            if not getattr(self, name) >= 0.0:
                raise InputError(f"cloud: {name} is {getattr(self, name)}; expected 0 or more")
        if not 0.0 <= self.reclaim_per_minute < 1.0:
            raise InputError(f"cloud: a chance of {self.reclaim_per_minute} a minute; expected 0 or more and below 1")
        if self.checkpoint_s is not None and not self.checkpoint_s > 0.0:
            raise InputError(f"cloud: checkpoints {self.checkpoint_s} s apart; expected more than 0")
