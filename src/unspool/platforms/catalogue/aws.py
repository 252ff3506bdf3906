"""Types and prices of a region of EC2 as AWS has them now, through boto3 (extra `aws`; spec B5.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from unspool.errors import InputError, UnknownName, shown
from unspool.platforms.catalogue.names import clean_name
from unspool.platforms.catalogue.replies import Prices, plan_rates, prices_of, type_of, zone_prices
from unspool.platforms.catalogue.types import CatalogueType

__all__ = ["Fetched", "fetch_types"]

# The price list and savings plans are served from here for all regions.
_HOME = "us-east-1"
_TRIES = 8
_RIGHTS = "ec2:DescribeInstanceTypes, ec2:DescribeSpotPriceHistory, pricing:GetProducts and savingsplans:Describe*"
_SOLD_AS = {
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
    "operation": "RunInstances",
    "marketoption": "OnDemand",
}
_DENIED = ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "NotAuthorized")
_THROTTLED = ("Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequestsException")


@dataclass(frozen=True)
class Fetched:
    """The types of a region, by name, and what should be said of them."""

    types: tuple[CatalogueType, ...]
    notes: tuple[str, ...] = ()


def fetch_types(
    region: str, *, plans: bool = True, price_date: str | None = None, told: Callable[[str], None] | None = None
) -> Fetched:
    """All types that a region of EC2 has, with prices on demand, on spot, reserved and under savings plans.

    Credentials are those that boto3 finds. `told` is called with what is fetched next. Requests that AWS throttles are
    made again, more and more slowly.
    """
    boto3, config = _library()
    said = told or (lambda _: None)
    with _complaints("types"):
        session = boto3.Session(region_name=region)
        known = session.get_available_regions("ec2")
        if region not in known:
            raise InputError(f"{UnknownName('region of EC2', region, known)}; a newer boto3 may know more")
        client = {name: session.client(name, region_name=at, config=config) for name, at in _places(region)}
        said(f"types of {region}")
        infos = list(_pages(client["ec2"], "describe_instance_types", "InstanceTypes"))
    with _complaints("prices on demand"):
        said(f"prices of {region}")
        filters = [{"Type": "TERM_MATCH", "Field": name, "Value": value} for name, value in _SOLD_AS.items()]
        filters.append({"Type": "TERM_MATCH", "Field": "regionCode", "Value": region})
        prices = prices_of(
            _pages(
                client["pricing"], "get_products", "PriceList",
                ServiceCode="AmazonEC2", FormatVersion="aws_v1", Filters=filters,
            )
        )  # fmt: skip
    with _complaints("spot prices"):
        said(f"spot prices of {region}")
        zones = zone_prices(
            _pages(
                client["ec2"], "describe_spot_price_history", "SpotPriceHistory",
                StartTime=datetime.now(UTC), ProductDescriptions=["Linux/UNIX"],
            )
        )  # fmt: skip
    notes = _with_plans(client["savingsplans"], region, prices, said) if plans else ()
    day = price_date or datetime.now(UTC).date().isoformat()
    types = [
        type_of(info, region, prices.get(name, Prices()), zones.get(name, {}), day)
        for info in infos
        for name in (clean_name(info["InstanceType"]),)
    ]
    return Fetched(tuple(sorted(types, key=lambda each: each.name)), notes)


def _places(region: str) -> tuple[tuple[str, str], ...]:
    return (("ec2", region), ("pricing", _HOME), ("savingsplans", _HOME))


def _library() -> tuple[Any, Any]:
    """boto3, and how its clients try again."""
    try:
        import boto3
        from botocore.config import Config
    except ImportError as error:
        raise InputError("live prices need boto3, which is not installed; install unspool[aws]") from error
    return boto3, Config(
        retries={"mode": "standard", "total_max_attempts": _TRIES}, connect_timeout=10, read_timeout=60
    )


def _pages(client: Any, operation: str, key: str, **arguments: Any) -> Iterator[Any]:
    """What stands under a key on all pages of an answer."""
    for page in client.get_paginator(operation).paginate(**arguments):
        yield from page[key]


def _with_plans(client: Any, region: str, prices: dict[str, Prices], said: Callable[[str], None]) -> tuple[str, ...]:
    """Fill in what savings plans cost; an account that may not ask is told so, and goes without."""
    said(f"savings plans of {region}")
    try:
        with _complaints("savings plans"):
            rates = plan_rates(_offering_rates(client, region))
    except _DeniedError as error:
        return (f"no savings plans: {error}",)
    for name, terms in rates.items():
        prices.setdefault(name, Prices()).plans |= terms
    return ()


def _offering_rates(client: Any, region: str) -> Iterator[Any]:
    """boto3 has no paginator for these: page by page, by hand."""
    told = {"region": region, "productDescription": "Linux/UNIX", "tenancy": "shared"}
    arguments: dict[str, Any] = {
        "savingsPlanTypes": ["EC2Instance", "Compute"],
        "products": ["EC2"],
        "serviceCodes": ["AmazonEC2"],
        "operations": ["RunInstances"],
        "filters": [{"name": name, "values": [value]} for name, value in told.items()],
        "maxResults": 1000,
    }
    while True:
        page = client.describe_savings_plans_offering_rates(**arguments)
        yield from page["searchResults"]
        if not page.get("nextToken"):
            return
        arguments["nextToken"] = page["nextToken"]


class _DeniedError(InputError):
    """The credentials are good, and do not allow this."""


@contextmanager
def _complaints(what: str) -> Iterator[None]:
    """What boto3 raises as one sentence."""
    from botocore import exceptions

    try:
        yield
    except (exceptions.NoCredentialsError, exceptions.PartialCredentialsError) as error:
        raise InputError(
            "no credentials of AWS were found; give them as boto3 takes them, such as AWS_PROFILE=NAME, or "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        ) from error
    except exceptions.ClientError as error:
        code, told = str(error.response["Error"].get("Code")), shown(str(error), 200)
        if code in _DENIED:
            raise _DeniedError(f"the credentials may not read {what} ({code}); {_RIGHTS} are needed") from error
        if code in _THROTTLED:
            raise InputError(
                f"AWS throttled the request for {what} {_TRIES} times ({code}); try again later"
            ) from error
        raise InputError(f"AWS gave no {what}: {told}; check credentials and region") from error
    except exceptions.BotoCoreError as error:
        told = shown(" ".join(str(error).split()), 200)
        raise InputError(f"AWS gave no {what}: {told}; check network, credentials and region") from error
