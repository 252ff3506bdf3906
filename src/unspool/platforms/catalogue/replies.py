"""Replies of EC2, the price list and savings plans, in the shapes that AWS documents, as types of a catalogue."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from unspool.errors import InputError, shown
from unspool.platforms.catalogue.fields import spot_prices
from unspool.platforms.catalogue.names import clean_name
from unspool.platforms.catalogue.types import CatalogueType

__all__ = ["Prices", "plan_rates", "prices_of", "type_of", "zone_prices"]

_MIB = 2**20
_YEAR_HOURS = 8760.0
_YEAR_S = 31_536_000
_PLANS = {"EC2Instance": "EC2 SP", "Compute": "Compute SP"}
_ARCHITECTURES = ("x86_64", "arm64")
# us-east-1a and use1-az4 are zones of the region; us-east-1-bos-1a, us-east-1-wl1-bos-wlz-1 and use1-atl2-az1 are not.
_ELSEWHERE = re.compile(r"[a-z-]+-\d+-.+|[a-z]+\d+-[a-z]+\d*-.+")


@dataclass
class Prices:
    """Dollars an hour of a type: on demand, and by term with what is paid upfront spread over it."""

    on_demand: float | None = None
    reserved: dict[str, float] = field(default_factory=dict)
    plans: dict[str, float] = field(default_factory=dict)


def type_of(
    info: Mapping[str, Any], region: str, prices: Prices, zones: Mapping[str, float], price_date: str
) -> CatalogueType:
    """A type from an entry of `InstanceTypes` of DescribeInstanceTypes, with its prices."""
    processor, cpus = info.get("ProcessorInfo", {}), info["VCpuInfo"]
    cores, vcpus = int(cpus.get("DefaultCores") or cpus["DefaultVCpus"]), int(cpus["DefaultVCpus"])
    gpus = info.get("GpuInfo", {}).get("Gpus", [])
    known = processor.get("SupportedArchitectures", [])
    return CatalogueType(
        region=region,
        name=clean_name(info["InstanceType"]),
        vcpus=vcpus,
        cores=cores,
        threads=int(cpus.get("DefaultThreadsPerCore") or max(1, vcpus // cores)),
        memory_bytes=int(info["MemoryInfo"]["SizeInMiB"]) * _MIB,
        architecture=next((name for name in _ARCHITECTURES if name in known), known[0] if known else ""),
        ghz=processor.get("SustainedClockSpeedInGhz"),
        hypervisor=info.get("Hypervisor", ""),
        gpus=sum(int(gpu.get("Count", 0)) for gpu in gpus),
        gpu=gpus[0].get("Name", "") if gpus else "",
        on_demand=prices.on_demand,
        spot=spot_prices(list(zones.values())),
        reserved=prices.reserved,
        ec2_savings_plan={term: usd for term, usd in prices.plans.items() if term.startswith("EC2 SP ")},
        compute_savings_plan={term: usd for term, usd in prices.plans.items() if term.startswith("Compute SP ")},
        price_date=price_date,
        provider="aws",
    )


def prices_of(products: Iterable[str]) -> dict[str, Prices]:
    """Prices by type from entries of `PriceList` of GetProducts, each a text of JSON.

    Prices that are not in US dollars are left out. Of several prices on demand of a type the highest counts.
    """
    found: dict[str, Prices] = {}
    for text in products:
        try:
            product = json.loads(text)
            name = clean_name(product["product"]["attributes"]["instanceType"])
            terms = product.get("terms", {})
            hourly = [_usd(offer)[0] for offer in terms.get("OnDemand", {}).values()]
            reserved = dict(_reserved(offer) for offer in terms.get("Reserved", {}).values())
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            told = f"{type(error).__name__} {shown(str(error), 80)}"
            raise InputError(f"the price list of AWS has an entry of another shape than documented: {told}") from error
        prices = found.setdefault(name, Prices())
        known = [usd for usd in (prices.on_demand, *hourly) if usd is not None]
        prices.on_demand = max(known, default=None)
        prices.reserved |= {term: usd for term, usd in reserved.items() if usd is not None}
    return found


def _reserved(offer: Mapping[str, Any]) -> tuple[str, float | None]:
    """The name of a term and its dollars an hour, with what is paid upfront spread over all its hours."""
    told = offer["termAttributes"]
    lease = str(told["LeaseContractLength"])
    hourly, upfront = _usd(offer)
    name = f"RI {lease} {told['OfferingClass']} {told['PurchaseOption']}"
    if hourly is None and upfront is None:
        return name, None
    return name, (hourly or 0.0) + (upfront or 0.0) / (_YEAR_HOURS * int(lease.removesuffix("yr")))


def _usd(offer: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Dollars an hour, and dollars upfront."""
    found: dict[str, float] = {}
    for dimension in offer["priceDimensions"].values():
        price = dimension["pricePerUnit"].get("USD")
        if price is not None and math.isfinite(float(price)):
            found[dimension["unit"]] = float(price)
    return found.get("Hrs"), found.get("Quantity")


def zone_prices(history: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Spot prices by type and zone from entries of `SpotPriceHistory`; of several the latest counts.

    Local Zones and Wavelength Zones are left out: they are other places, with prices of their own.
    """
    latest: dict[str, dict[str, tuple[Any, float]]] = {}
    for entry in history:
        zone = str(entry.get("AvailabilityZone") or entry.get("AvailabilityZoneId"))
        if _ELSEWHERE.fullmatch(zone):
            continue
        zones = latest.setdefault(clean_name(entry["InstanceType"]), {})
        if zone not in zones or zones[zone][0] < entry["Timestamp"]:
            zones[zone] = (entry["Timestamp"], float(entry["SpotPrice"]))
    return {name: {zone: usd for zone, (_, usd) in zones.items()} for name, zones in latest.items()}


def plan_rates(rates: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Dollars an hour by type and term from entries of `searchResults` of DescribeSavingsPlansOfferingRates.

    Only the use of instances counts: neither unused reservations nor dedicated hosts, which have rates too.
    """
    found: dict[str, dict[str, float]] = {}
    for entry in rates:
        offering = entry["savingsPlanOffering"]
        told = {each["name"]: each["value"] for each in entry.get("properties", [])}
        years, rest = divmod(int(offering["durationSeconds"]), _YEAR_S)
        is_use = "BoxUsage" in entry.get("usageType", "BoxUsage") and entry.get("unit", "Hrs") == "Hrs"
        if not is_use or rest or offering["planType"] not in _PLANS or offering.get("currency", "USD") != "USD":
            continue
        if "instanceType" in told:
            term = f"{_PLANS[offering['planType']]} {years}yr {offering['paymentOption']}"
            found.setdefault(clean_name(told["instanceType"]), {})[term] = float(entry["rate"])
    return found
