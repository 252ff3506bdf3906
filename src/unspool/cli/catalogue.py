"""`unspool catalogue`: the types of instances that can be started, and their prices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from unspool.cli.options import Flag
from unspool.cli.output import counted, note, print_json, print_table, print_text
from unspool.errors import InputError
from unspool.platforms.catalogue import Catalogue, CatalogueType, read_catalogue
from unspool.platforms.catalogue.names import clean_name

__all__ = ["catalogue"]

catalogue = App(
    name="catalogue",
    help="Say which types of instances there are, and what they cost.",
    help_epilogue="unspool catalogue list --region us-east-1 --prefix c7i\nunspool catalogue show c7i.48xlarge\n"
    "unspool catalogue update --region eu-west-1 -o ec2.csv",
    help_format="plaintext",
)

Given = Parameter(name="--catalogue", show_default=False, negative=())


@catalogue.command(name="list")
def list_types(
    *,
    file: Annotated[list[Path] | None, Given] = None,
    region: str | None = None,
    prefix: Annotated[list[str] | None, Parameter(negative=())] = None,
    json: Annotated[bool, Flag] = False,
) -> int:
    """List types of instances with their sizes and prices.

    Example: unspool catalogue list --region us-east-1 --prefix c7i --prefix hpc

    Parameters
    ----------
    file
        A catalogue of your own, CSV or instance_type_info.json, instead of the one that ships.
    region
        Only this region.
    prefix
        Only types whose name begins with this; once for each.
    json
        Print JSON, with all that is known of each type.
    """
    found = read_catalogue(*file or ())
    wanted = None if region is None else found.region(region)
    prefixes = tuple(clean_name(text) for text in prefix or ("",))
    types = [each for each in found.types if wanted in (None, each.region) and each.name.startswith(prefixes)]
    if not types:
        where = wanted or "any region"
        raise InputError(f"{found.name}: no type in {where} begins with {' or '.join(prefixes)}; leave --prefix out")
    if json:
        print_json([_facts(each) for each in types])
        return 0
    header = ("type", "region", "cores", "vCPUs", "memory", "GHz", "arch", "GPUs", "on demand", "spot max", "median")
    print_table((*header, "min"), [_row(each) for each in types])
    print_text(f"\n{_told(found, types)}")
    return 0


@catalogue.command
def show(
    type: str,
    /,
    *,
    file: Annotated[list[Path] | None, Given] = None,
    region: str | None = None,
    json: Annotated[bool, Flag] = False,
) -> int:
    """Show all that is known of a type of instance, in every region.

    Example: unspool catalogue show c7i.48xlarge --region eu-west-1

    Parameters
    ----------
    type
        Name of the type, such as c7i.48xlarge.
    file
        A catalogue of your own, CSV or instance_type_info.json, instead of the one that ships.
    region
        Only this region.
    json
        Print JSON.
    """
    found = read_catalogue(*file or ())
    wanted = None if region is None else found.region(region)
    types = [each for each in found.types if wanted in (None, each.region) and each.name == clean_name(type)]
    if not types:
        raise found.unknown_type(type, wanted)
    if json:
        print_json([_facts(each) for each in types])
        return 0
    columns = [_facts(each) for each in types]
    rows = []
    for name in columns[0]:
        if name in _TERMS:
            terms = dict.fromkeys(term for each in columns for term in each[name])
            rows += [(term, *(_dollars(each[name].get(term)) for each in columns)) for term in terms]
        elif name not in ("type", "region"):
            rows.append((name, *(_shown(name, each[name]) for each in columns)))
    print_table((types[0].name, *(each.region for each in types)), rows)
    return 0


@catalogue.command
def update(
    *,
    region: str,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    no_plans: Annotated[bool, Parameter(name="--no-plans", negative=(), show_default=False)] = False,
    json: Annotated[bool, Flag] = False,
) -> int:
    """Fetch the types of a region of EC2 with today's prices, and write them as a catalogue.

    Example: unspool catalogue update --region eu-west-1 -o ec2.csv

    Needs the extra aws (boto3), credentials as boto3 finds them, and the network; no other command does.

    Parameters
    ----------
    region
        Region of AWS, such as eu-west-1.
    out
        The file. One that is there keeps its other regions and providers. Without it, ec2-REGION.csv.
    no_plans
        Do not ask for savings plans.
    json
        Print what was written as JSON.
    """
    from unspool.platforms.catalogue.aws import fetch_types
    from unspool.platforms.catalogue.write import update_catalogue

    path = out or Path(f"ec2-{region}.csv")
    fetched = fetch_types(region, plans=not no_plans, told=lambda what: note(f"fetching {what} …"))
    for text in fetched.notes:
        note(text)
    if not fetched.types:
        raise InputError(f"AWS has no type of instance in {region}; nothing was written")
    kept = update_catalogue(fetched.types, path)
    counts = {
        "types": len(fetched.types),
        "on_demand": sum(each.on_demand is not None for each in fetched.types),
        "spot": sum(bool(each.spot) for each in fetched.types),
        "reserved": sum(bool(each.reserved) for each in fetched.types),
        "savings_plans": sum(bool(each.ec2_savings_plan or each.compute_savings_plan) for each in fetched.types),
    }
    if json:
        dated = {"region": region, "price_date": fetched.types[0].price_date}
        print_json({"file": str(path), **dated, **counts, "kept": kept})
        return 0
    print_table(("prices", "types"), [(name.replace("_", " "), f"{count:,}") for name, count in counts.items()])
    others = f", beside {counted(kept, 'type')} of other regions that were there" if kept else ""
    note(f"catalogue: {path}{others}; use it with --catalogue {path}")
    return 0


_TERMS = ("reserved_usd_per_hour", "ec2_savings_plan_usd_per_hour", "compute_savings_plan_usd_per_hour")


def _facts(each: CatalogueType) -> dict[str, Any]:
    """All that is known of a type; null is not known or not sold."""
    return {
        "type": each.name,
        "region": each.region,
        "provider": each.provider,
        "family": each.family,
        "cores": each.cores,
        "vcpus": each.vcpus,
        "threads_per_core": each.threads,
        "memory_bytes": each.memory_bytes,
        "architecture": each.architecture,
        "ghz": each.ghz,
        "hypervisor": each.hypervisor,
        "gpus": each.gpus,
        "gpu": each.gpu or None,
        "on_demand_usd_per_hour": each.on_demand,
        **{f"spot_{which}_usd_per_hour": each.spot.get(which) for which in ("max", "median", "min")},
        "reserved_usd_per_hour": dict(each.reserved),
        "ec2_savings_plan_usd_per_hour": dict(each.ec2_savings_plan),
        "compute_savings_plan_usd_per_hour": dict(each.compute_savings_plan),
        "price_date": each.price_date,
    }


def _row(each: CatalogueType) -> tuple[str, ...]:
    spot = (_dollars(each.spot.get(which)) for which in ("max", "median", "min"))
    sizes = (str(each.cores), str(each.vcpus), _gib(each.memory_bytes))
    ghz = "" if each.ghz is None else f"{each.ghz:g}"
    gpus = f"{each.gpus} {each.gpu}".strip() if each.gpus else ""
    return (each.name, each.region, *sizes, ghz, each.architecture, gpus, _dollars(each.on_demand), *spot)


def _told(found: Catalogue, types: list[CatalogueType]) -> str:
    """A line below the table: how many, what is not sold, and of what date the prices are."""
    dates = sorted({each.price_date or "a date not known" for each in types})
    unpriced = sum(not each.can_be_started for each in types)
    without = f", {unpriced} without a price, which no run starts" if unpriced else ""
    return f"{counted(len(types), 'type')}{without}; US dollars an hour, prices of {', '.join(dates)}; {found.name}"


def _gib(size: int) -> str:
    return f"{size / 2**30:g} GiB"


def _dollars(price: float | None) -> str:
    return "" if price is None else f"{price:.6g}"


def _shown(name: str, value: Any) -> str:
    if value is None:
        return "not known" if name in ("price_date", "ghz", "hypervisor") else ""
    if name == "memory_bytes":
        return _gib(value)
    if name == "hypervisor" and not value:
        return "none: bare metal"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
