"""The machines of a configuration: those that are there, and what may be started at the prices of a catalogue."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING

from unspool.errors import InputError, UnknownName, shown
from unspool.model.cloud import Cloud, InstanceType, Limits
from unspool.model.platform import MachineGroup, MachineType, Platform
from unspool.model.prices import Price
from unspool.platforms.catalogue import Catalogue, CatalogueType
from unspool.platforms.catalogue.selection import Selection, select
from unspool.units import format_number

if TYPE_CHECKING:
    from unspool.faces.cloud.config import CostConfig

__all__ = ["fleet_notes", "fleet_of", "instance_type"]

_FIXED = "give OnPremises or ReservedInstances, or let Burst be cheapest"


def fleet_of(config: CostConfig, catalogue: Catalogue) -> Platform:
    """Machines on premises and reserved instances as groups, the rest as a cloud."""
    catalogue, selection = _offered(config, catalogue)
    if config.burst_after_s == float("inf") and not (config.on_premises or config.reserved):
        raise InputError(f"{config.where}: Burst is never, and there is no machine to run jobs on; {_FIXED}")
    groups = (*_on_premises(config), *_reserved(config, catalogue, selection.region))
    names = [group.machine.name for group in groups]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{config.where}: '{shown(name)}' is both on premises and reserved; rename the servers")
    families = {each.family for each in catalogue.types_of(selection.region).values()}
    for key, limits in (("MaxInstances", config.max_instances), ("MaxVcpus", config.max_vcpus)):
        _refuse_families(limits, families, f"{config.where}: key ComputeClusterModel.{key}")
    cloud = Cloud(
        types=tuple(instance_type(config, each) for each in selection.types),
        boot_s=config.boot_s,
        idle_s=config.idle_s,
        frequency_s=config.frequency_s,
        shares=config.shares,
        spot_rules=config.spot_rules,
        reclaim_per_minute=config.reclaim_per_minute,
        max_spot_retries=config.max_spot_retries,
        checkpoint_s=config.checkpoint_s,
        minimum_billed_s=config.minimum_billed_s,
        burst_after_s=config.burst_after_s,
        max_instances=config.max_instances,
        max_vcpus=config.max_vcpus,
        region=selection.region,
        price_date=catalogue.dates(selection.region),
        disks=config.disks,
        licences=config.licences,
        providers={each.name: each.provider for each in catalogue.types} if config.providers else {},
        physical_cores=_threaded(config, catalogue, selection),
    )
    return Platform(groups, name="cloud", cloud=cloud)


def _offered(config: CostConfig, catalogue: Catalogue) -> tuple[Catalogue, Selection]:
    """The catalogue and what is chosen from it; of several providers, one region each, and something of each."""
    if not config.providers:
        return catalogue, select(catalogue, config.region, config.rules)
    place = f"{config.where}: key ComputeClusterModel.Providers"
    try:
        offered = catalogue.of_providers(config.providers)
    except InputError as error:
        raise InputError(f"{place}: {error}") from error
    selection = select(offered, None, config.rules)
    for provider in config.providers:
        if all(each.provider != provider for each in selection.types):
            raise InputError(
                f"{place}: no type of {provider} is left to choose from; loosen the rules on types (a type whose clock "
                "the catalogue does not say needs minimum_cpu_speed: 0), or leave it out"
            )
    return offered, selection


def fleet_notes(config: CostConfig, catalogue: Catalogue) -> tuple[str, ...]:
    """What was noticed in choosing types, which price each reserved type has, and which machines have none."""
    catalogue, selection = _offered(config, catalogue)
    types = _reserved_types(config, catalogue, selection.region)
    priced = ((each.name, *reserved_price(config, each)) for each, _ in types)
    free = (shown(server.name) for server in config.on_premises if not server.usd_per_hour)
    return (
        *selection.notes,
        *(f"reserved {name}: ${format_number(price)} an hour, {how}" for name, price, how in priced),
        *(f"on premises: HourlyCost of {name} is 0, so its use is free of charge" for name in free),
    )


def instance_type(config: CostConfig, each: CatalogueType) -> InstanceType:
    """A type of the catalogue as the model has it: with the cores that jobs get, and the spot price that is meant."""
    reserved = _cheapest_or_named(config, each)
    return InstanceType(
        name=each.name,
        family=each.family,
        cores=_cores(config, each),
        vcpus=each.vcpus,
        memory_bytes=each.memory_bytes,
        gpus=each.gpus,
        architecture=each.architecture,
        ghz=each.ghz or 0.0,
        on_demand_usd_per_hour=each.on_demand,
        spot_usd_per_hour=each.spot.get(config.spot_price),
        reserved_usd_per_hour=reserved[0] if reserved else None,
    )


def reserved_price(config: CostConfig, each: CatalogueType) -> tuple[float, str]:
    """Dollars an hour of a reserved instance, and where they come from (spec A1, rule 7)."""
    place = f"{config.where}: key ComputeClusterModel"
    found = _cheapest_or_named(config, each)
    if found is not None:
        return found
    if config.reserved_term is not None and each.reserved:
        known = UnknownName(f"term for {each.name}", config.reserved_term, each.reserved)
        raise InputError(f"{place}.ReservedTerm: {known}")
    if each.on_demand is None:
        raise InputError(f"{place}.ReservedInstances: {each.name} has no price in the catalogue, reserved or on demand")
    if config.reserved_discount is not None:
        price = each.on_demand * (1.0 - config.reserved_discount)
        return price, f"on demand less {format_number(config.reserved_discount, 4)}"
    return each.on_demand, "the price on demand, since the catalogue has none for reserved ones"


def _cheapest_or_named(config: CostConfig, each: CatalogueType) -> tuple[float, str] | None:
    """The catalogue's price of the term that is said, or of the least expensive one."""
    if config.reserved_term is not None:
        price = each.reserved.get(config.reserved_term)
        return None if price is None else (price, config.reserved_term)
    return min(((price, term) for term, price in each.reserved.items()), default=None)


def _cores(config: CostConfig, each: CatalogueType) -> int:
    return each.vcpus if config.hyperthreading else each.cores


def _threaded(config: CostConfig, catalogue: Catalogue, selection: Selection) -> dict[str, int]:
    """Physical cores of the types on which jobs get more vCPUs than those, started or reserved."""
    if not config.hyperthreading:
        return {}
    reserved = (each for each, _ in _reserved_types(config, catalogue, selection.region))
    return {each.name: each.cores for each in (*selection.types, *reserved) if each.vcpus != each.cores}


def _on_premises(config: CostConfig) -> Iterator[MachineGroup]:
    for server in config.on_premises:
        prices = (Price(server.usd_per_hour, "on-premises"),)
        machine = MachineType(
            server.name, server.cores, server.memory_bytes, server.gpus, prices=prices, billing=server.billing
        )
        yield MachineGroup(machine, server.count)


def _reserved(config: CostConfig, catalogue: Catalogue, region: str) -> Iterator[MachineGroup]:
    for each, count in _reserved_types(config, catalogue, region):
        price, _ = reserved_price(config, each)
        machine = MachineType(
            each.name,
            _cores(config, each),
            each.memory_bytes,
            each.gpus,
            prices=(Price(price, "reserved"),),
            plan="reserved",
        )
        yield MachineGroup(machine, count)


def _reserved_types(config: CostConfig, catalogue: Catalogue, region: str) -> Iterator[tuple[CatalogueType, int]]:
    types = catalogue.types_of(region)
    for name, count in config.reserved.items():
        if name not in types:
            place = f"{config.where}: key ComputeClusterModel.ReservedInstances"
            raise InputError(f"{place}: {catalogue.unknown_type(name, region)}")
        yield types[name], count


def _refuse_families(limits: Limits, families: set[str], place: str) -> None:
    for family in limits.of_family:
        if family not in families:
            near = get_close_matches(family, sorted(families), n=1, cutoff=0.5)
            hint = f"; did you mean '{near[0]}'?" if near else "; expected one such as c7i, or all"
            raise InputError(f"{place}: the catalogue has no family '{shown(family)}'{hint}")
