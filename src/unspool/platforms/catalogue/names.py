"""Names of instance types as providers write them: which provider it is, and the family."""

from __future__ import annotations

import re

__all__ = ["PROVIDERS", "clean_name", "family_of", "provider_of"]

PROVIDERS: tuple[str, ...] = ("aws", "azure", "gcp")
"""Providers whose names of types are told apart; a catalogue may name others."""

_AZURE = re.compile(r"(?:standard|basic)_([a-z]+)\d+(?:-\d+)?([a-z]*)((?:_[a-z0-9]+)*)")
_GCP = re.compile(r"[a-z]+\d+[a-z]*(?:-[a-z0-9]+)+")


def clean_name(name: str) -> str:
    """A name in small letters; blanks are underscores, so that a list of names has blanks between them only.

    >>> clean_name(" Standard D8s v5 "), clean_name("C7i.Large")
    ('standard_d8s_v5', 'c7i.large')
    """
    return "_".join(name.lower().split())


def provider_of(name: str) -> str:
    """The provider that writes names so.

    >>> [provider_of(name) for name in ("c7i.large", "standard_d8s_v5", "n2-standard-8", "small.one")]
    ['aws', 'azure', 'gcp', 'aws']
    """
    if name.startswith(("standard_", "basic_")):
        return "azure"
    return "gcp" if _GCP.fullmatch(name) else "aws"


def family_of(name: str) -> str:
    """The name without the size.

    EC2: before the dot. Azure: without `Standard_` and the number of vCPUs, with what is said of it and the version.
    Google: before the size.

    >>> [family_of(name) for name in ("c7i.48xlarge", "standard_d8s_v5", "standard_nc24ads_a100_v4", "n2-highmem-8")]
    ['c7i', 'ds_v5', 'ncads_a100_v4', 'n2-highmem']
    >>> [family_of(name) for name in ("a2-highgpu-1g", "e2-medium", "c4-standard-8-lssd", "standard_e8-4s_v5", "odd")]
    ['a2-highgpu', 'e2', 'c4-standard-lssd', 'es_v5', 'odd']
    """
    if found := _AZURE.fullmatch(name):
        return "".join(found.groups())
    if provider_of(name) == "gcp":
        series, *parts = name.split("-")
        at = next((at for at, part in enumerate(parts) if part[0].isdigit()), None)
        # A size without a number, such as e2-medium, is all that stands behind the series.
        return series if at is None else "-".join((series, *parts[:at], *_words(parts[at + 1 :])))
    return name.partition(".")[0]


def _words(parts: list[str]) -> list[str]:
    """What stands behind the size and is no size itself: `n2-custom-4-16384` has two numbers."""
    return [part for part in parts if not part[0].isdigit()]
