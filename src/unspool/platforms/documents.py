"""Files of settings: YAML, TOML or JSON, held against the keys that they may have."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
from ruamel.yaml import YAML

from unspool.confinement.roots import readable
from unspool.errors import InputError, UnknownName, shown
from unspool.limits import exceeded, refuse_beyond

__all__ = [
    "converted",
    "parse_toml",
    "parse_value",
    "parse_yaml",
    "read_document",
    "read_json",
    "read_settings",
    "read_toml",
]

S = TypeVar("S", bound=msgspec.Struct)

_UNKNOWN_KEY = re.compile(r"Object contains unknown field `(.*?)`(?: - at `(.*)`)?", re.DOTALL)
_PLACED = re.compile(r"(.*) - at `\$\.?(.*)`", re.DOTALL)
_NO_CHOICE = re.compile(r"Invalid enum value '?(.*?)'?", re.DOTALL)
_STEP = re.compile(r"\[[^\]]*\]|[^.\[]+")  # of a path such as $.partitions[0].machines
_QUOTED = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_POINT = re.compile(r"[ \t]*\.[ \t]*")
_BETWEEN_KEYS = re.compile(r"[\s=,\[\]{}]+")
_OPENING, _CLOSING = np.frombuffer(b"[{", np.uint8), np.frombuffer(b"]}", np.uint8)
_INSIDE = 0  # the size of a value whose inside is being counted
_WITH_PARTS = (
    msgspec.inspect.StructType,
    msgspec.inspect.VarTupleType,
    msgspec.inspect.ListType,
    msgspec.inspect.DictType,
    msgspec.inspect.LiteralType,
)


def read_document(path: str | os.PathLike[str], what: str, forms: str) -> Any:
    """The content of a file; its ending tells the format. `what` it should be and its `forms` are for complaints."""
    known = _PARSERS.get(Path(path).suffix.lower())
    if known is None:
        raise InputError(f"'{shown(str(path))}' is no {what}; {forms}")
    return _parsed(read_settings(path, known.limit, forms), known.parse, str(path), Path(path).suffix[1:].upper())


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The tables of a TOML file."""
    return parse_toml(read_settings(path, "toml_bytes", "expected TOML"), str(path))


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """The tables of TOML; `where` names it in complaints.

    >>> parse_toml("seed = 3", "run.toml")
    {'seed': 3}
    """
    found: dict[str, Any] = _parsed(text, _parse_toml, where, "TOML")
    return found


def read_json(path: str | os.PathLike[str]) -> Any:
    """The content of a JSON file, such as those that we write beside tables."""
    return _parsed(read_settings(path, "text_bytes", "expected JSON"), json.loads, str(path), "JSON")


def read_settings(path: str | os.PathLike[str], most: str, forms: str) -> str:
    """The text of a file that is not larger than a limit; `forms` says for complaints what is expected."""
    try:
        with open(readable(path), "rb") as file:
            refuse_beyond(os.fstat(file.fileno()).st_size, most, str(path))
            return file.read().decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file; {forms}") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as text ({error}); {forms}") from error


def _parsed(text: str, parse: Callable[[str], Any], where: str, format: str) -> Any:
    try:
        return parse(text)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    # The parsers raise whatever they stumble over: their own errors, ValueError, RecursionError, KeyError.
    except Exception as error:
        mark = getattr(error, "problem_mark", None)
        text = f"line {mark.line + 1}: {getattr(error, 'problem', '')}" if mark else str(error)
        reason = shown(" ".join(text.split()), 200)
        raise InputError(f"{where}: not valid {format}: {reason}") from error


def parse_value(text: str) -> Any:
    """A value that stands alone, written as in YAML; ValueError where it is not.

    >>> parse_value("[a, 2, 2:00]"), parse_value("true")
    (['a', 2, '2:00'], True)
    """
    try:
        return parse_yaml(text)
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


def parse_yaml(text: str) -> Any:
    """The content of YAML; raises whatever the parser stumbles over."""
    _refuse_brackets(text)
    # YAML 1.2: 2:00 is a text and no number of base 60, yes and no are texts.
    found = YAML(typ="safe", pure=True).load(text)
    _refuse_repeats(found)
    return found


def _parse_toml(text: str) -> dict[str, Any]:
    _refuse_brackets(text)
    keys = _POINT.sub(".", _QUOTED.sub("q", text))
    deepest = max((key.count(".") for key in _BETWEEN_KEYS.split(keys)), default=0)
    refuse_beyond(deepest, "nesting", "a key")
    return tomllib.loads(text)


def _refuse_brackets(text: str) -> None:
    """Complain of brackets that nest beyond the limit, before a parser takes hours over them."""
    marks = np.frombuffer(text.encode(errors="replace"), np.uint8)
    steps = np.isin(marks, _OPENING).astype(np.int8) - np.isin(marks, _CLOSING).astype(np.int8)
    refuse_beyond(int(np.cumsum(steps, dtype=np.int64).max(initial=0)), "nesting", "brackets")


def _refuse_repeats(content: Any) -> None:
    """Complain of aliases that make few lines many values, or a value that is inside itself."""
    sizes: dict[int, int] = {}  # of each table and list, _INSIDE until all that it holds is counted
    open_now: list[tuple[Any, bool]] = [(content, False)]
    while open_now:
        value, is_counted = open_now.pop()
        if not isinstance(value, dict | list):
            continue
        inside = list(value.values()) if isinstance(value, dict) else value
        if is_counted:
            sizes[id(value)] = 1 + sum(sizes.get(id(each), 1) for each in inside)
            refuse_beyond(sizes[id(value)], "yaml_values", "values")
        elif id(value) not in sizes:
            sizes[id(value)] = _INSIDE
            open_now += [(value, True), *((each, False) for each in inside)]
        elif sizes[id(value)] == _INSIDE:
            raise exceeded("an alias of what it is inside", "nesting")


class _Parser(NamedTuple):
    """How a format is parsed, and the limit of how long a file may be."""

    parse: Callable[[str], Any]
    limit: str


_PARSERS: Mapping[str, _Parser] = {
    ".yaml": _Parser(parse_yaml, "yaml_bytes"),
    ".yml": _Parser(parse_yaml, "yaml_bytes"),
    ".toml": _Parser(_parse_toml, "toml_bytes"),
    ".json": _Parser(json.loads, "text_bytes"),
}
