"""Instance catalogues: the one that ships, and those that people bring as CSV or JSON."""

from __future__ import annotations

import os
from importlib.resources import files

from unspool.errors import InputError
from unspool.platforms.catalogue.tables import types_of_csv
from unspool.platforms.catalogue.typeinfo import types_of_json
from unspool.platforms.catalogue.types import SPOT_PRICES, Catalogue, CatalogueType
from unspool.workloads.files import opened

__all__ = ["SPOT_PRICES", "Catalogue", "CatalogueType", "read_catalogue"]

_SHIPPED = "the catalogue that ships"


def read_catalogue(path: str | os.PathLike[str] | None = None) -> Catalogue:
    """The catalogue that ships, or one from a file: CSV, or an `instance_type_info.json`; packed (`.gz`) or not.

    What the file holds tells its format. A type that stands twice in a region is an error.

    >>> catalogue = read_catalogue()
    >>> catalogue.regions
    ('ap-northeast-1', 'eu-central-1', 'eu-west-1', 'us-east-1', 'us-east-2', 'us-west-2')
    >>> catalogue.dates("us-east-1")
    '2026-08-22'
    """
    if path is None:
        text, name = (files("unspool.platforms.catalogue") / "ec2.csv").read_text("utf-8"), _SHIPPED
    else:
        text, name = _text(path), str(path)
    is_json = text.lstrip()[:1] in ("{", "[")
    types = tuple((types_of_json if is_json else types_of_csv)(text, name))
    if not types:
        raise InputError(f"{name}: no type of instance in it; expected one a line, below the names of the columns")
    seen: set[tuple[str, str]] = set()
    for each in types:
        if (each.region, each.name) in seen:
            raise InputError(f"{name}: {each.name} stands twice in {each.region}; keep one")
        seen.add((each.region, each.name))
    return Catalogue(types, name, None if path is None else str(path))


def _text(path: str | os.PathLike[str]) -> str:
    with opened(path) as file:
        content = file.read()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: binary data; expected a catalogue as CSV or JSON") from error
