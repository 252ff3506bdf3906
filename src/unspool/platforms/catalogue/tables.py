"""Catalogues as CSV: our own columns, or those of tables that others keep."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from unspool.errors import InputError, shown
from unspool.platforms.catalogue.fields import Fields, is_term
from unspool.platforms.catalogue.names import clean_name, provider_of
from unspool.platforms.catalogue.types import SPOT_PRICES, CatalogueType

__all__ = ["LAYOUTS", "Layout", "types_of_csv"]

_GIB = 2**30


@dataclass(frozen=True)
class Layout:
    """The names of the columns. The first six and the price on demand must be there."""

    region: str = "region"
    type: str = "type"
    cores: str = "cores"
    vcpus: str = "vcpus"
    memory: str = "memory_gib"
    architecture: str = "architecture"
    on_demand: str = "on_demand_usd_per_hour"
    ghz: str = "ghz"
    hypervisor: str = "hypervisor"
    gpus: str = "gpus"
    gpu: str = "gpu"
    spot: str = "spot_{}_usd_per_hour"
    price_date: str = "price_date"
    provider: str = "provider"
    family: str = "family"

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that a file must have."""
        return (self.region, self.type, self.cores, self.vcpus, self.memory, self.architecture, self.on_demand)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are read, but for those of terms."""
        rest = (self.ghz, self.hypervisor, self.gpus, self.gpu)
        return (
            *self.needed,
            *rest,
            *(self.spot.format(which) for which in SPOT_PRICES),
            self.price_date,
            self.provider,
            self.family,
        )


LAYOUTS = (
    Layout(),
    Layout(
        type="instance_type",
        architecture="arch",
        on_demand="on_demand_usd_h",
        ghz="sustained_ghz",
        gpus="gpu_count",
        gpu="gpu_name",
        spot="spot_{}_usd_h",
    ),
)
"""Our own layout, and that of tables with `instance_type` and `on_demand_usd_h`."""


def types_of_csv(text: str, path: str) -> Iterator[CatalogueType]:
    """The types of a CSV file, in its order."""
    reader = csv.reader(text.splitlines(), skipinitialspace=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        layout = _layout(header, path)
        for row in reader:
            if not any(row):
                continue
            where = f"{path}, line {reader.line_num}"
            if len(row) != len(header):
                raise InputError(f"{where}: {len(row)} values; expected {len(header)}, as in the first line")
            values = dict(zip(header, row, strict=True))
            name = values[layout.type].strip()
            if not name or not values[layout.region].strip():
                raise InputError(f"{where}: no {layout.type if not name else layout.region}; every type needs one")
            yield _type(Fields(values, f"{where}, {shown(name)}"), layout)
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: not valid CSV: {error}") from error


def _layout(header: list[str], path: str) -> Layout:
    layout = next((each for each in LAYOUTS if each.type in header), LAYOUTS[0])
    for needed in layout.needed:
        if needed not in header:
            has = [name for name in header if name]
            if not has:
                raise InputError(f"{path}, line 1: no names of columns; expected {', '.join(layout.columns)}")
            near = get_close_matches(needed, has, n=1, cutoff=0.8)
            meant = f" (is {shown(near[0])} meant?)" if near else ""
            raise InputError(
                f"{path}, line 1: no column {needed}{meant}; a catalogue has {', '.join(layout.needed)}, and this file "
                f"{shown(', '.join(has), 200)}"
            )
    return layout


def _type(fields: Fields, layout: Layout) -> CatalogueType:
    cores, vcpus = fields.count(layout.cores), fields.count(layout.vcpus)
    if vcpus < cores:
        raise fields.refusal(layout.vcpus, vcpus, f"as many as {layout.cores} ({cores}) or more")
    prices = {which: fields.price(layout.spot.format(which)) for which in SPOT_PRICES}
    spot = {which: price for which, price in prices.items() if price is not None}
    if spot and len(spot) < len(SPOT_PRICES):
        missing = next(which for which in SPOT_PRICES if which not in spot)
        raise fields.refusal(layout.spot.format(missing), None, "spot prices all three, or none")
    name = clean_name(fields.text(layout.type))
    provider = clean_name(fields.text(layout.provider)) or provider_of(name)
    # Only EC2 has types that are told as bare metal by an empty cell; other providers' rows in the same file have none.
    says_hypervisor = layout.hypervisor in fields and (provider == "aws" or fields.text(layout.hypervisor))
    terms = {name: price for name in fields.names() if is_term(name) and (price := fields.price(name)) is not None}
    return CatalogueType(
        region=fields.text(layout.region),
        name=name,
        vcpus=vcpus,
        cores=cores,
        threads=max(1, vcpus // cores),
        memory_bytes=fields.memory(layout.memory, _GIB),
        architecture=fields.text(layout.architecture),
        ghz=fields.amount(layout.ghz, "gigahertz, or nothing"),
        hypervisor=fields.text(layout.hypervisor) if says_hypervisor else None,
        gpus=fields.count(layout.gpus, 0) if fields.get(layout.gpus) is not None else 0,
        gpu=fields.text(layout.gpu),
        on_demand=fields.price(layout.on_demand),
        spot=spot,
        reserved={name: price for name, price in terms.items() if name.startswith("RI ")},
        ec2_savings_plan={name: price for name, price in terms.items() if name.startswith("EC2 SP ")},
        compute_savings_plan={name: price for name, price in terms.items() if name.startswith("Compute SP ")},
        price_date=fields.date(layout.price_date),
        provider=provider,
        family=clean_name(fields.text(layout.family)),
    )
