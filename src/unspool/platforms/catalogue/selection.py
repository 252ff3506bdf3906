"""Which types of a region may be started: by prefix, regular expression, architecture, clock and GPU (spec A4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from unspool.errors import InputError
from unspool.platforms.catalogue.types import Catalogue, CatalogueType
from unspool.units import format_number

__all__ = ["Selection", "TypeRules", "select"]

_HYPERVISOR = "nitro"

_Rule = tuple[str, Callable[[CatalogueType], bool]]


@dataclass(frozen=True)
class TypeRules:
    """What a type must be. An empty prefix is that of all names; regular expressions match from the start.

    `gpu` True takes types with GPUs, False those without, a name those with GPUs of that name.
    """

    prefixes: tuple[str, ...] = ("",)
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    architecture: str | None = None
    min_ghz: float = 0.0
    gpu: bool | str | None = None


@dataclass(frozen=True)
class Selection:
    """The types that are left, by name, and what was noticed."""

    region: str
    types: tuple[CatalogueType, ...]
    notes: tuple[str, ...] = ()


def select(catalogue: Catalogue, region: str | None, rules: TypeRules) -> Selection:
    """The types of a region that meet all rules, by name; one that leaves none is an error that says so.

    >>> from unspool.platforms.catalogue import read_catalogue
    >>> chosen = select(read_catalogue(), "us-east-1", TypeRules(("c7i.", "hpc"), exclude=(".*[.][2-9]",)))
    >>> [each.name for each in chosen.types][:3]
    ['c7i.12xlarge', 'c7i.16xlarge', 'c7i.large']
    """
    region = catalogue.region(region)
    left = list(catalogue.types_of(region).values())
    notes = list(_unmatched(left, rules))
    for told, holds in _rules(rules):
        kept = [each for each in left if holds(each)]
        if not kept:
            raise InputError(
                f"no instance type is left to choose from: {told} leaves none of {len(left)} in {region} of "
                f"{catalogue.name}; {catalogue.hint(region)}"
            )
        out = len(left) - len(kept)
        if out and told in _NOTED:
            notes.append(f"{out} of {len(left)} types left out: {_NOTED[told]}")
        left = kept
    return Selection(region, tuple(sorted(left, key=lambda each: each.name)), tuple(notes))


_PRICED = "having a price on demand or on spot"
_CLOCKED = "a clock that the catalogue says, for a minimum of GHz,"
_NOTED = {_PRICED: "the catalogue has no price of them", _CLOCKED: "the catalogue does not say their clock"}


def _rules(rules: TypeRules) -> Iterator[_Rule]:
    """The rules that apply, in the order in which they are tried, and how each reads."""
    prefixes = tuple(prefix.lower().replace(" ", "_") for prefix in rules.prefixes)
    yield f"instance_prefix_list [{', '.join(rules.prefixes)}]", lambda each: each.name.startswith(prefixes)
    if rules.include:
        yield f"InstanceTypes.include [{', '.join(rules.include)}]", lambda each: _matches(rules.include, each)
    if rules.exclude:
        yield f"InstanceTypes.exclude [{', '.join(rules.exclude)}]", lambda each: not _matches(rules.exclude, each)
    # As the AWS tool has it: no bare metal and nothing on Xen (spec B2, instance_prefix_list).
    yield f"the hypervisor {_HYPERVISOR}", lambda each: each.provider != "aws" or each.hypervisor in (None, _HYPERVISOR)
    yield _PRICED, lambda each: each.can_be_started
    if rules.architecture is not None:
        yield f"Architecture {rules.architecture}", lambda each: each.architecture == rules.architecture
    if rules.min_ghz > 0.0:
        yield _CLOCKED, lambda each: each.ghz is not None
        yield f"a minimum of {format_number(rules.min_ghz)} GHz", lambda each: (each.ghz or 0.0) >= rules.min_ghz
    if rules.gpu is not None:
        yield f"Gpu {str(rules.gpu).lower() if isinstance(rules.gpu, bool) else rules.gpu}", _has_gpu(rules.gpu)


def _has_gpu(wanted: bool | str) -> Callable[[CatalogueType], bool]:
    if isinstance(wanted, bool):
        return lambda each: (each.gpus > 0) == wanted
    return lambda each: each.gpus > 0 and each.gpu.lower() == wanted.lower()


def _matches(patterns: Iterable[str], each: CatalogueType) -> bool:
    return any(re.match(pattern, each.name, re.IGNORECASE) for pattern in patterns)


def _unmatched(types: list[CatalogueType], rules: TypeRules) -> Iterator[str]:
    """A regular expression that means nothing here is most likely mistyped."""
    for key, patterns in (("include", rules.include), ("exclude", rules.exclude)):
        for pattern in patterns:
            if not any(_matches((pattern,), each) for each in types):
                yield f"InstanceTypes.{key}: '{pattern}' matches no type from the start of its name"
