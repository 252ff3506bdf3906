"""Instance catalogues: the one that ships, and those that people bring as CSV or JSON."""

from __future__ import annotations

from importlib.resources import files

from unspool.errors import InputError
from unspool.platforms.catalogue.tables import types_of_csv
from unspool.platforms.catalogue.typeinfo import types_of_json
from unspool.platforms.catalogue.types import SPOT_PRICES, Catalogue, CatalogueType
from unspool.workloads.files import AnyPath, read_text

__all__ = ["BUILT_IN", "SPOT_PRICES", "Catalogue", "CatalogueType", "read_catalogue"]

BUILT_IN = "built-in"
"""Stands for the catalogue that ships where files are named."""

_SHIPPED = "the catalogue that ships"


def read_catalogue(path: AnyPath | None = None, *more: AnyPath) -> Catalogue:
    """The catalogue that ships, or one from a file: CSV, or an `instance_type_info.json`; packed (`.gz`) or not.

    What the file holds tells its format. Several are one; `built-in` is the one that ships. A type that stands twice in
    a region is an error.

    >>> catalogue = read_catalogue()
    >>> catalogue.regions
    ('ap-northeast-1', 'eu-central-1', 'eu-west-1', 'us-east-1', 'us-east-2', 'us-west-2')
    >>> catalogue.dates("us-east-1")
    '2026-08-22'
    """
    paths = [path, *more]
    found = [_read(None if str(each) == BUILT_IN else each) for each in paths]
    types = tuple(one for each in found for one in each.types)
    name = " and ".join(each.name for each in found)
    seen: set[tuple[str, str, str]] = set()
    for one in types:
        if (key := (one.provider, one.region, one.name)) in seen:
            raise InputError(f"{name}: {one.name} stands twice in {one.region}; keep one")
        seen.add(key)
    return Catalogue(types, name, None if path is None else " --catalogue ".join(str(each) for each in paths))


def _read(path: AnyPath | None) -> Catalogue:
    if path is None:
        text, name = (files("unspool.platforms.catalogue") / "ec2.csv").read_text("utf-8"), _SHIPPED
    else:
        text, name = _text(path), str(path)
    is_json = text.lstrip()[:1] in ("{", "[")
    types = tuple((types_of_json if is_json else types_of_csv)(text, name))
    if not types:
        raise InputError(f"{name}: no type of instance in it; expected one a line, below the names of the columns")
    return Catalogue(types, name)


def _text(path: AnyPath) -> str:
    try:
        return read_text(path, None).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: binary data; expected a catalogue as CSV or JSON") from error
