"""Catalogues in the layout of the AWS tool's `instance_type_info.json`, of 2022 and since (spec B5.1)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from unspool.errors import InputError, shown
from unspool.platforms.catalogue.fields import Fields, spot_prices
from unspool.platforms.catalogue.names import clean_name
from unspool.platforms.catalogue.types import CatalogueType

__all__ = ["types_of_json"]

_MIB = 2**20
_SHAPE = "{region: {instance_types: {name: {…}}}}"


def types_of_json(text: str, path: str) -> Iterator[CatalogueType]:
    """The types of a JSON file, in its order."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not valid JSON: {error}") from error
    for region, entry in _mapping(content, path).items():
        types = _mapping(entry, f"{path}, {shown(region)}").get("instance_types")
        for name, values in _mapping(types, f"{path}, {shown(region)}, instance_types").items():
            where = f"{path}, {shown(region)}, {shown(name)}"
            yield _type(region, name, Fields(_mapping(values, where), where))


def _mapping(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        found = "nothing" if value is None else type(value).__name__
        raise InputError(f"{where}: {found} in place of an object; expected {_SHAPE}, as in instance_type_info.json")
    return value


def _type(region: str, name: str, fields: Fields) -> CatalogueType:
    cores = fields.count(_either(fields, "DefaultCores", "CoreCount"))
    threads = fields.count(_either(fields, "DefaultThreadsPerCore", "ThreadsPerCore"))
    pricing = _prices(fields, "pricing")
    return CatalogueType(
        region=region,
        name=clean_name(name),
        provider="aws",
        vcpus=fields.count("DefaultVCpus") if "DefaultVCpus" in fields else cores * threads,
        cores=cores,
        threads=threads,
        memory_bytes=fields.memory("MemoryInMiB", _MIB),
        architecture=fields.text("architecture"),
        ghz=fields.amount("SustainedClockSpeedInGhz", "gigahertz, or nothing"),
        hypervisor=fields.text("Hypervisor") if "Hypervisor" in fields else None,
        gpus=fields.count("GpuCount", 0) if "GpuCount" in fields else 0,
        gpu=fields.text("GpuName"),
        on_demand=pricing.price("OnDemand"),
        spot=_spot(_prices(pricing, "spot")),
        reserved=_all(_prices(pricing, "Reserved")),
        ec2_savings_plan=_all(_prices(pricing, "EC2SavingsPlan")),
        compute_savings_plan=_all(_prices(pricing, "ComputeSavingsPlan")),
    )


def _either(fields: Fields, now: str, before: str) -> str:
    return before if before in fields and now not in fields else now


def _prices(fields: Fields, name: str) -> Fields:
    """The object under a name; what is not sold has none."""
    values = fields.get(name)
    where = f"{fields.where}, {name}"
    return Fields({} if values is None else _mapping(values, where), where)


def _all(fields: Fields) -> dict[str, float]:
    return {name: price for name in fields.names() if (price := fields.price(name)) is not None}


def _spot(fields: Fields) -> dict[str, float]:
    """Maximum, median and minimum over the zones; where a file has only the outer two, the median is their mean."""
    prices = _all(fields)
    told = {name: price for name, price in prices.items() if name in ("max", "min")}
    zones = [price for name, price in prices.items() if name not in told]
    return {**spot_prices(zones or list(told.values())), **told}
