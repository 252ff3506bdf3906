"""How much a file may ask for before it is refused: one table for all readers, and how its limits are raised.

Files come from anywhere. A few bytes of a packed or damaged one can ask for more memory or time than a machine has; a
file that is right and needs more says so by `--raise-limit NAME=VALUE`, or by the environment variable UNSPOOL_LIMITS.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import NamedTuple

from unspool.errors import InputError, UnitError, UnknownName
from unspool.units import format_bytes, parse_bytes

__all__ = ["LIMITS", "VARIABLE", "Limit", "exceeded", "limit", "raised", "refuse_beyond", "refuse_ratio"]

VARIABLE = "UNSPOOL_LIMITS"
"""The environment variable: `NAME=VALUE`, several between commas."""

_GIB, _MIB = 1 << 30, 1 << 20
_ALWAYS_UNPACKED = 64 * _MIB  # files that unpack to no more may be packed as tightly as they like


class Limit(NamedTuple):
    """A limit: its value unless it is raised, whether that is a number of bytes, and what it is a limit of."""

    default: int
    is_bytes: bool
    meaning: str


LIMITS = {
    "unpacked_ratio": Limit(200, False, "bytes that each byte of a packed file becomes, of files beyond 64 MiB"),
    "line_bytes": Limit(16 * _MIB, True, "a line of a log, or a record over several lines"),
    "blank_lines": Limit(10_000_000, False, "blank lines of a file"),
    "rejected": Limit(2_000_000, False, "records of a log that cannot be used"),
    "columns": Limit(10_000, False, "columns of a table"),
    "text_bytes": Limit(_GIB, True, "a file that is read as a whole: JSON, XML, and tables beside logs"),
    "json_values": Limit(50_000_000, False, "values of a JSON file, by its commas"),
    "elements": Limit(5_000_000, False, "elements of an XML file"),
    "toml_bytes": Limit(16 * _MIB, True, "a TOML file"),
    "yaml_bytes": Limit(4 * _MIB, True, "a YAML file"),
    "nesting": Limit(100, False, "levels of tables, lists or elements inside each other"),
    "yaml_values": Limit(1_000_000, False, "values of a YAML file, counting what its aliases repeat"),
    "set_ids": Limit(10_000_000, False, "machines in one interval, as in 0-3"),
    "page_bytes": Limit(64 * _MIB, True, "a page of a Parquet file, unpacked, if it is packed tighter than the ratio"),
}
"""The limits by name."""


def limit(name: str) -> int:
    """A limit, as it is or as it was raised.

    >>> limit("nesting")
    100
    """
    return _given(os.environ.get(VARIABLE, "")).get(name, LIMITS[name].default)


def exceeded(where: str, name: str) -> InputError:
    """A complaint about what is beyond a limit; `where` names the file.

    >>> print(exceeded("log.csv, line 7", "line_bytes"))
    log.csv, line 7: over 16 MiB, the limit for a line of a log, or a record over several lines; if the file is right, \
say --raise-limit line_bytes=MORE
    """
    most = format_bytes(limit(name)) if LIMITS[name].is_bytes else f"{limit(name):,}"
    return InputError(
        f"{where}: over {most}, the limit for {LIMITS[name].meaning}; "
        f"if the file is right, say --raise-limit {name}=MORE"
    )


def refuse_beyond(found: int, name: str, where: str) -> None:
    """Complain if so many, or so much, is beyond a limit."""
    if found > limit(name):
        raise exceeded(where, name)


def refuse_ratio(unpacked: int, packed: int, where: str) -> None:
    """Complain of a file that unpacks to far more than files do."""
    if unpacked > _ALWAYS_UNPACKED and unpacked > packed * limit("unpacked_ratio"):
        raise exceeded(where, "unpacked_ratio")


@contextmanager
def raised(texts: Sequence[str]) -> Iterator[None]:
    """While this is entered, the limits are as texts such as `line_bytes=1GiB` say; also for processes begun then."""
    before = os.environ.get(VARIABLE)
    together = ",".join([*([before] if before else []), *texts])
    _given(together)
    try:
        if texts:
            os.environ[VARIABLE] = together
        yield
    finally:
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before


@lru_cache(maxsize=8)
def _given(text: str) -> dict[str, int]:
    found = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        if name not in LIMITS:
            raise UnknownName("limit", name, LIMITS)
        try:
            found[name] = parse_bytes(value) if LIMITS[name].is_bytes else int(value)
        except (UnitError, ValueError):
            found[name] = 0
        if not equals or found[name] < 1:
            expected = "a size such as 4GiB" if LIMITS[name].is_bytes else "a whole number, 1 or more"
            raise InputError(f"--raise-limit {name}={value}: expected {expected}")
    return found
