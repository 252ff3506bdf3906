"""What commitments cost: savings plans and reserved instances of each family, by term.

A catalogue may have the prices. Where it has none, they are ratios to the price on demand: those of a file, or those
that ship, which are facts of eu-west-1 in 2022. Prices on demand hardly change (spec B5.2), so ratios age well.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from statistics import median

from unspool.errors import InputError, shown
from unspool.platforms.catalogue.fields import Fields
from unspool.platforms.catalogue.types import Catalogue, CatalogueType
from unspool.workloads.files import read_text

__all__ = ["KINDS", "PAYMENTS", "USUAL_TERM", "YEARS", "FamilyRates", "PlanTerm", "Ratios", "rates_of", "read_ratios"]

YEARS = (1, 3)
PAYMENTS = ("No Upfront", "Partial Upfront", "All Upfront")
KINDS = ("ec2", "compute", "reserved_standard", "reserved_convertible")
_SHIPPED = "the ratios that ship, of eu-west-1 in 2022"
_RATIO = "a price over that on demand, above 0 and at most 10, or nothing"


@dataclass(frozen=True)
class PlanTerm:
    """For how many years a savings plan is bought, and how it is paid.

    >>> str(PlanTerm(1, "No Upfront"))
    '1yr No Upfront'
    """

    years: int = 3
    payment: str = "All Upfront"

    def __str__(self) -> str:
        return f"{self.years}yr {self.payment}"

    @property
    def hours(self) -> int:
        """Hours of the term; a year has 8,760."""
        return self.years * 8760

    @property
    def upfront_share(self) -> float:
        """How much of the whole is paid at once."""
        return {"All Upfront": 1.0, "Partial Upfront": 0.5}.get(self.payment, 0.0)


USUAL_TERM = PlanTerm()
"""The term where none is given: the one that the AWS tool ships with (spec B2)."""


@dataclass(frozen=True)
class Ratios:
    """Prices over that on demand, by (family, years, payment, kind); `name` says whose they are."""

    of: Mapping[tuple[str, int, str, str], float]
    name: str

    def ratio(self, family: str, term: PlanTerm, kind: str) -> tuple[float | None, str]:
        """The ratio of a family, or the median over those that are there; and where it is from."""
        found = self.of.get((family, term.years, term.payment, kind))
        if found is not None:
            return found, self.name
        alike = [value for (_, *rest), value in self.of.items() if rest == [term.years, term.payment, kind]]
        return (median(alike), f"the median of {self.name}") if alike else (None, "")


@dataclass(frozen=True)
class FamilyRates:
    """What a family costs under each commitment, as ratios to the price on demand; None is not sold so.

    `usd_per_core_hour` is that of the family's largest type on demand, as the AWS tool has it. `unit` is the type that
    would be reserved. `sources` say where the three ratios are from.
    """

    family: str
    ec2: float | None
    compute: float | None
    reserved: float | None
    usd_per_core_hour: float | None = None
    unit: str = ""
    unit_usd_per_hour: float = 0.0
    sources: tuple[str, ...] = ()


def read_ratios(path: str | os.PathLike[str] | None = None) -> Ratios:
    """The ratios that ship, or those of a CSV file with the columns family, years, payment and any of `KINDS`.

    >>> read_ratios().ratio("c5", PlanTerm(3, "All Upfront"), "ec2")
    (0.3759, 'the ratios that ship, of eu-west-1 in 2022')
    """
    if path is None:
        text, name = (files("unspool.platforms.catalogue") / "savings.csv").read_text("utf-8"), _SHIPPED
    else:
        name = str(path)
        text = read_text(path, None).decode("utf-8-sig", errors="replace")
    try:
        return Ratios(dict(_ratios(text, name)), name)
    except csv.Error as error:
        raise InputError(f"{name}: not valid CSV: {error}") from error


def _ratios(text: str, name: str) -> Iterator[tuple[tuple[str, int, str, str], float]]:
    reader = csv.DictReader(text.splitlines(), skipinitialspace=True)
    header = reader.fieldnames or []
    for needed in ("family", "years", "payment"):
        if needed not in header:
            raise InputError(f"{name}, line 1: no column {needed}; expected family, years, payment, {', '.join(KINDS)}")
    for row in reader:
        fields = Fields({key: value for key, value in row.items() if key}, f"{name}, line {reader.line_num}")
        years, payment = fields.count("years"), fields.text("payment")
        if years not in YEARS or payment not in PAYMENTS:
            told = f"{years} years, {shown(payment)}"
            raise InputError(f"{fields.where}: {told}; expected 1 or 3 years, and {', '.join(PAYMENTS)}")
        for kind in KINDS:
            value = fields.amount(kind, _RATIO)
            if value is not None and not 0.0 < value <= 10.0:
                raise fields.refusal(kind, value, _RATIO)
            if value is not None:
                yield (fields.text("family"), years, payment, kind), value


def rates_of(
    catalogue: Catalogue,
    region: str,
    families: Iterable[str],
    ec2: PlanTerm,
    compute: PlanTerm,
    *,
    ratios: Ratios | None = None,
    units: Mapping[str, tuple[str, int]] | None = None,
) -> tuple[FamilyRates, ...]:
    """The rates of families: the catalogue's where it has prices of the term, else by ratio.

    Of a family's types the largest is asked, as the AWS tool does. Reserved instances have the term of the EC2 plan
    and are standard ones; `units` has the type of each family that would be reserved (the largest if not said), and
    the cores of it by which core-hours are counted.

    >>> from unspool.platforms.catalogue import read_catalogue
    >>> rates_of(read_catalogue(), "us-east-1", ["c5"], PlanTerm(), PlanTerm())[0].compute
    0.5
    """
    shipped = ratios or read_ratios()
    types = catalogue.types_of(region)
    return tuple(
        _rates(family, _by_size(types.values(), family), ec2, compute, shipped, (units or {}).get(family, ("", 0)))
        for family in families
    )


def _by_size(types: Iterable[CatalogueType], family: str) -> list[CatalogueType]:
    """The types of a family that are sold on demand, the largest first; bare metal last."""
    sold = [each for each in types if each.family == family and each.on_demand]
    return sorted(sold, key=lambda each: (each.hypervisor == "", -each.cores, -each.memory_bytes, each.name))


def _rates(
    family: str, types: list[CatalogueType], ec2: PlanTerm, compute: PlanTerm, ratios: Ratios, unit: tuple[str, int]
) -> FamilyRates:
    plans = [("ec2_savings_plan", f"EC2 SP {ec2}"), ("compute_savings_plan", f"Compute SP {compute}")]
    asked = [(*plans[0], ec2, "ec2"), (*plans[1], compute, "compute")]
    asked.append(("reserved", f"RI {ec2.years}yr standard {ec2.payment}", ec2, "reserved_standard"))
    found = [_ratio(types, *one, ratios=ratios, family=family) for one in asked]
    largest = types[0] if types else None
    reserved = next((each for each in types if each.name == unit[0]), largest)
    threads = unit[1] / reserved.cores if reserved and unit[1] else 1.0
    return FamilyRates(
        family,
        ec2=found[0][0],
        compute=found[1][0],
        reserved=found[2][0],
        usd_per_core_hour=(largest.on_demand or 0.0) / (largest.cores * threads) if largest else None,
        unit=reserved.name if reserved else unit[0],
        unit_usd_per_hour=(reserved.on_demand or 0.0) if reserved else 0.0,
        sources=tuple(source for _, source in found),
    )


def _ratio(
    types: list[CatalogueType], column: str, term: str, plan: PlanTerm, kind: str, *, ratios: Ratios, family: str
) -> tuple[float | None, str]:
    for each in types:
        price = getattr(each, column).get(term)
        if price and each.on_demand:
            return price / each.on_demand, "the catalogue"
    return ratios.ratio(family, plan, kind)
