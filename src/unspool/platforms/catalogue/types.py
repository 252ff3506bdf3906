"""What a catalogue holds: types of instances with their sizes and prices, by region, and the date of the prices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from types import MappingProxyType

from unspool.errors import InputError, UnknownName, shown
from unspool.platforms.catalogue.names import family_of, provider_of

__all__ = ["SPOT_PRICES", "USUAL_REGION", "Catalogue", "CatalogueType"]

USUAL_REGION = "eu-west-1"
"""The region where none is given and the catalogue has it: the one that the AWS tool ships with (spec B2)."""

SPOT_PRICES: tuple[str, ...] = ("max", "median", "min")
"""Which spot price is taken: over the zones of the region."""

_NONE: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True)
class CatalogueType:
    """A type of instance in a region. Prices are US dollars an hour; None and what is left out are not known.

    A family or provider that is not given is told from the name.

    `hypervisor` is None where the catalogue does not say, and empty for bare metal. `spot` has the prices of
    `SPOT_PRICES`; `reserved` and the two plans have theirs by term, such as `RI 1yr standard No Upfront`.
    """

    region: str
    name: str
    vcpus: int
    cores: int
    threads: int
    memory_bytes: int
    architecture: str = ""
    ghz: float | None = None
    hypervisor: str | None = None
    gpus: int = 0
    gpu: str = ""
    on_demand: float | None = None
    spot: Mapping[str, float] = field(default_factory=lambda: _NONE)
    reserved: Mapping[str, float] = field(default_factory=lambda: _NONE)
    ec2_savings_plan: Mapping[str, float] = field(default_factory=lambda: _NONE)
    compute_savings_plan: Mapping[str, float] = field(default_factory=lambda: _NONE)
    price_date: str | None = None
    provider: str = ""
    family: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "provider", self.provider or provider_of(self.name))
        object.__setattr__(self, "family", self.family or family_of(self.name))

    @property
    def can_be_started(self) -> bool:
        """Whether it is sold on demand or on spot."""
        return self.on_demand is not None or bool(self.spot)


@dataclass(frozen=True)
class Catalogue:
    """Types of instances, by region and name.

    >>> from unspool.platforms.catalogue import read_catalogue
    >>> read_catalogue().types_of("us-east-1")["c7i.large"].on_demand
    0.08925
    """

    types: tuple[CatalogueType, ...]
    name: str = "catalogue"
    path: str | None = None

    @property
    def regions(self) -> tuple[str, ...]:
        """The regions, sorted."""
        return tuple(sorted({each.region for each in self.types}))

    def region(self, wanted: str | None) -> str:
        """A region that is there: the one wanted; if none is, the usual one, or the only one."""
        regions = self.regions
        if wanted is None and (USUAL_REGION in regions or len(regions) == 1):
            return USUAL_REGION if USUAL_REGION in regions else regions[0]
        if wanted is None:
            raise InputError(f"{self.name} has the regions {', '.join(regions)}; say which, as region_name")
        if wanted not in regions:
            raise InputError(
                f"{UnknownName('region', wanted, regions)}. These are the regions of {self.name}; "
                "give another file with --catalogue for prices of others"
            )
        return wanted

    @property
    def providers(self) -> tuple[str, ...]:
        """The providers, sorted."""
        return tuple(sorted({each.provider for each in self.types}))

    def of_providers(self, regions: Mapping[str, str]) -> Catalogue:
        """The types of a region of each provider, as if they were one region, named after all of them."""
        for provider, region in regions.items():
            if provider not in self.providers:
                known = UnknownName("provider", provider, self.providers)
                raise InputError(f"{known}. These are the providers of {self.name}; add a file with --catalogue")
            there = sorted({each.region for each in self.types if each.provider == provider})
            if region not in there:
                raise InputError(f"{UnknownName(f'region of {provider}', region, there)}, in {self.name}")
        joint = ", ".join(f"{provider} {region}" for provider, region in regions.items())
        types = [replace(each, region=joint) for each in self.types if regions.get(each.provider) == each.region]
        names = [each.name for each in types]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"{self.name}: {twice} stands for types of two providers; rename one")
        return Catalogue(tuple(types), self.name, self.path)

    def types_of(self, region: str) -> dict[str, CatalogueType]:
        """The types of a region by name, in the order of the file."""
        return {each.name: each for each in self.types if each.region == region}

    def dates(self, region: str) -> str:
        """The date of the prices of a region, as `2026-08-22` or `2026-08-01 to 2026-08-22`; empty if not known."""
        dates = sorted({each.price_date for each in self.types if each.region == region and each.price_date})
        return " to ".join(dates if len(dates) < 3 else (dates[0], dates[-1]))

    def unknown_type(self, name: str, region: str | None = None) -> InputError:
        """The complaint about a type that is not there, with the nearest one that is."""
        names = sorted({each.name for each in self.types if region in (None, each.region)})
        near = get_close_matches(name, names, n=1, cutoff=0.5)
        hint = f"did you mean '{near[0]}'? " if near else ""
        place = f" in {region}" if region else ""
        return InputError(f"{self.name} has no type '{shown(name)}'{place}; {hint}{self.hint(region)}")

    def hint(self, region: str | None = None) -> str:
        """How to see what there is."""
        which = (f" --catalogue {self.path}" if self.path else "") + (f" --region {region}" if region else "")
        return f"`unspool catalogue list{which}` lists what there is"
