"""Files of settings: YAML, TOML or JSON, held against the keys that they may have."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from ruamel.yaml import YAML

from unspool.confinement.roots import readable
from unspool.errors import InputError, UnknownName, shown

__all__ = ["converted", "parse_value", "read_document"]

S = TypeVar("S", bound=msgspec.Struct)

_UNKNOWN_KEY = re.compile(r"Object contains unknown field `(.*?)`(?: - at `(.*)`)?", re.DOTALL)
_PLACED = re.compile(r"(.*) - at `\$\.?(.*)`", re.DOTALL)
_NO_CHOICE = re.compile(r"Invalid enum value '?(.*?)'?", re.DOTALL)
_STEP = re.compile(r"\[[^\]]*\]|[^.\[]+")  # of a path such as $.partitions[0].machines
_WITH_PARTS = (
    msgspec.inspect.StructType,
    msgspec.inspect.VarTupleType,
    msgspec.inspect.ListType,
    msgspec.inspect.DictType,
    msgspec.inspect.LiteralType,
)


def read_document(path: str | os.PathLike[str], what: str, forms: str) -> Any:
    """The content of a file; its ending tells the format. `what` it should be and its `forms` are for complaints."""
    parse = _PARSERS.get(Path(path).suffix.lower())
    try:
        text = readable(Path(path)).read_bytes().decode("utf-8-sig") if parse else ""
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file; {forms}") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as text ({error}); {forms}") from error
    if parse is None:
        raise InputError(f"'{shown(str(path))}' is no {what}; {forms}")
    try:
        return parse(text)
    # The parsers raise whatever they stumble over: their own errors, ValueError, RecursionError, KeyError.
    except Exception as error:
        mark = getattr(error, "problem_mark", None)
        text = f"line {mark.line + 1}: {getattr(error, 'problem', '')}" if mark else str(error)
        reason = shown(" ".join(text.split()), 200)
        raise InputError(f"{path}: not valid {Path(path).suffix[1:].upper()}: {reason}") from error


def parse_value(text: str) -> Any:
    """A value that stands alone, written as in YAML; ValueError where it is not.

    >>> parse_value("[a, 2, 2:00]"), parse_value("true")
    (['a', 2, '2:00'], True)
    """
    try:
        return _parse_yaml(text)
    except Exception as error:  # whatever the parser stumbles over
        raise ValueError(shown(" ".join(str(getattr(error, "problem", "") or error).split()), 200)) from error


def converted(content: Any, struct: type[S], where: str) -> S:
    """The content as a structure; whatever is wrong names the key, and an unknown key the nearest known one."""
    try:
        return msgspec.convert(content, struct)
    except msgspec.ValidationError as error:
        raise _key_error(str(error), struct, where) from error
    except RecursionError as error:
        raise InputError(f"{where}: nested too deeply; expected the keys {', '.join(_keys(struct))}") from error


def _key_error(message: str, struct: type[msgspec.Struct], where: str) -> InputError:
    """What msgspec found wrong, with the file, the key and, for an unknown key, the nearest known one."""
    unknown = _UNKNOWN_KEY.fullmatch(message)
    if unknown:
        place = (unknown[2] or "$").removeprefix("$").removeprefix(".")
        inside = f" in {place}" if place else ""
        known = _keys(_kind_at(struct, place).cls)
        return InputError(f"{where}{inside}: {UnknownName('key', shown(unknown[1]), known)}")
    placed = _PLACED.fullmatch(message)
    what, key = (placed[1], placed[2]) if placed else (message, "")
    choice = _NO_CHOICE.fullmatch(what)
    if choice:
        values = [str(value) for value in _kind_at(struct, key).values]
        return InputError(f"{where}: key {key}: {UnknownName('value', choice[1], values)}")
    if not key and what.endswith("got `null`"):
        return InputError(f"{where}: is empty; expected the keys {', '.join(_keys(struct))}")
    told = what.replace(" | null", "")
    if what.startswith("Expected `str") and not what.endswith(("`array`", "`object`", "`null`")):
        told += "; put it in quotes"
    return InputError(f"{where}: {f'key {key}: ' if key else ''}{told[:1].lower()}{told[1:]}")


def _kind_at(struct: type[msgspec.Struct], place: str) -> Any:
    """What may stand at a place below a structure, such as `partitions[0]`; of several kinds, the one with parts."""
    kind: Any = msgspec.inspect.type_info(struct)
    for step in _STEP.findall(place):
        if isinstance(kind, msgspec.inspect.StructType):
            kind = next(field.type for field in kind.fields if field.encode_name == step)
        else:
            kind = kind.value_type if isinstance(kind, msgspec.inspect.DictType) else kind.item_type
        if isinstance(kind, msgspec.inspect.UnionType):
            kind = next(one for one in kind.types if isinstance(one, _WITH_PARTS))
    return kind


def _keys(struct: type[msgspec.Struct]) -> tuple[str, ...]:
    return struct.__struct_fields__


def _parse_yaml(text: str) -> Any:
    # YAML 1.2: 2:00 is a text and no number of base 60, yes and no are texts.
    return YAML(typ="safe", pure=True).load(text)


_PARSERS: Mapping[str, Callable[[str], Any]] = {
    ".yaml": _parse_yaml,
    ".yml": _parse_yaml,
    ".toml": tomllib.loads,
    ".json": json.loads,
}
