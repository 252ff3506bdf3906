"""Forms from the structures that configuration files are read into, and settings back from what a form holds."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from inspect import getdoc, signature
from typing import Any, get_type_hints

import msgspec
from msgspec import inspect

from unspool.errors import InputError, shown
from unspool.platforms.documents import parse_value

__all__ = ["Field", "comments_of", "fields_of", "parameters_help", "settings_from", "struct_of_verb", "text_of"]

LONGEST = 4000  # characters of one field
_COMMENTED = re.compile(r"\s*(?:# )?(\w+):(?: |$)")
_NOTHING = (None, msgspec.NODEFAULT, msgspec.UNSET)


@dataclass(frozen=True)
class Field:
    """A field of a form: `name` is the key behind its sections, `kind` is text, number, flag, choice, lines or value.

    `lines` holds a text a line, `value` whatever YAML writes on a line. `default` is what an empty field means.
    """

    name: str
    kind: str
    default: str = ""
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    is_whole: bool = False
    help: str = ""

    @property
    def key(self) -> str:
        """The key without its sections."""
        return self.name.rpartition(".")[2]

    @property
    def section(self) -> str:
        """The section that it stands in, or nothing."""
        return self.name.rpartition(".")[0]


def fields_of(struct: type[msgspec.Struct], help: Mapping[str, str] = {}, section: str = "") -> list[Field]:
    """The fields for every key of a structure, those inside others behind the name of their section.

    >>> class Small(msgspec.Struct):
    ...     seed: int = 0
    ...     names: list[str] = []
    >>> [(field.name, field.kind, field.default) for field in fields_of(Small)]
    [('seed', 'number', '0'), ('names', 'lines', '')]
    """
    return list(_fields(inspect.type_info(struct), help, section, msgspec.NODEFAULT))


def _fields(info: inspect.Type, help: Mapping[str, str], section: str, at: Any) -> Iterator[Field]:
    assert isinstance(info, inspect.StructType)
    for field in info.fields:
        name = f"{section}.{field.encode_name}" if section else field.encode_name
        default = getattr(at, field.name) if at is not msgspec.NODEFAULT else _default(field)
        if isinstance(field.type, inspect.StructType):
            yield from _fields(field.type, help, name, default)
        else:
            yield _field(name, field.type, default, help.get(field.encode_name, ""))


def _default(field: inspect.Field) -> Any:
    return field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()


def _field(name: str, kind: inspect.Type, default: Any, help: str) -> Field:
    """The field for one key; a type that takes several forms is asked for as YAML, or as text where that is one."""
    offered = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    types = [each for each in offered if not isinstance(each, inspect.NoneType)]
    first, told = types[0], text_of(default)
    if len(types) == 1:
        if isinstance(first, inspect.BoolType):
            return Field(name, "flag", "true" if default is True else "", help=help)
        if isinstance(first, inspect.LiteralType):
            return Field(name, "choice", told, tuple(map(str, first.values)), help=help)
        if isinstance(first, inspect.IntType | inspect.FloatType):
            whole = isinstance(first, inspect.IntType)
            return Field(name, "number", told, least=first.ge, most=first.le, is_whole=whole, help=help)
        if isinstance(first, inspect.ListType | inspect.VarTupleType) and isinstance(first.item_type, inspect.StrType):
            return Field(name, "lines", "\n".join(default or ()), help=help)
    has_parts = any(not isinstance(each, inspect.StrType | inspect.IntType | inspect.FloatType) for each in types)
    return Field(name, "value" if has_parts else "text", told, help=help)


def text_of(value: Any) -> str:
    """A value as it stands in a field.

    >>> text_of((1, 2)), text_of(None), text_of("2:00"), text_of(True)
    ('[1, 2]', '', '2:00', 'true')
    """
    if value in _NOTHING or (isinstance(value, dict | list | tuple) and not value):
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return msgspec.json.encode(value).decode().replace(",", ", ") if isinstance(value, tuple | list) else _json(value)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def settings_from(fields: list[Field], form: Mapping[str, str]) -> dict[str, Any]:
    """What a form says, as a file would: keys inside their sections, and only those that differ from their default.

    >>> fields = [Field("a.seed", "number", "0", is_whole=True), Field("a.names", "lines"), Field("flag", "flag")]
    >>> settings_from(fields, {"a.seed": "7", "a.names": "x\\n\\ny", "flag": "true"})
    {'a': {'seed': 7, 'names': ['x', 'y']}, 'flag': True}
    """
    settings: dict[str, Any] = {}
    for field in fields:
        text = form.get(field.name, "").replace("\r\n", "\n").strip()
        if len(text) > LONGEST:
            raise InputError(f"{field.key}: {len(text):,} characters; at most {LONGEST:,} are taken here")
        if text == field.default or (not text and field.kind != "flag"):
            continue
        into = settings
        for part in filter(None, field.section.split(".")):
            into = into.setdefault(part, {})
        into[field.key] = _read(field, text)
    return settings


def _read(field: Field, text: str) -> Any:
    if field.kind == "flag":
        return text == "true"
    if field.kind == "lines":
        return [line.strip() for line in text.split("\n") if line.strip()]
    if field.kind == "choice":
        if text not in field.choices:
            raise InputError(f"{field.key}: '{shown(text)}' is none of {', '.join(field.choices)}")
        return int(text) if text.isdigit() else text
    if field.kind == "number":
        return _number(field, text)
    if field.kind == "value":
        try:
            return _bounded(parse_value(text))
        except ValueError as error:
            raise InputError(f"{field.key}: '{shown(text)}' does not read as a value of YAML: {error}") from error
    return text


def _bounded(value: Any) -> Any:
    """The value, unless it has very many parts, as a short text of YAML can say with references to itself."""
    parts, left = 0, [value]
    while left:
        each = left.pop()
        parts += 1
        if parts > LONGEST:
            raise ValueError(f"it has more than {LONGEST:,} parts; leave some out, or use the command line")
        left += each if isinstance(each, list) else [*each, *each.values()] if isinstance(each, dict) else ()
    return value


def _number(field: Field, text: str) -> int | float:
    try:
        value = int(text) if field.is_whole else float(text)
        if not math.isfinite(value):
            raise ValueError
    except (ValueError, OverflowError):
        what = "a whole number" if field.is_whole else "a number"
        raise InputError(f"{field.key}: '{shown(text)}' is not {what}") from None
    least, most = field.least, field.most
    if (least is not None and value < least) or (most is not None and value > most):
        limits = [f">= {least}"] * (least is not None) + [f"<= {most}"] * (most is not None)
        raise InputError(f"{field.key}: is {shown(text)}; expected {' and '.join(limits)}")
    return value


def struct_of_verb(verb: Callable[..., Any], names: tuple[str, ...]) -> type[msgspec.Struct]:
    """A structure of some options of a verb, with their types and defaults."""
    hints, parameters = get_type_hints(verb), signature(verb).parameters
    fields = [(name, hints[name], parameters[name].default) for name in names]
    return msgspec.defstruct(f"{verb.__name__.title()}Options", fields, forbid_unknown_fields=True)


def parameters_help(verb: Callable[..., Any]) -> dict[str, str]:
    """What the help of a verb says of each parameter.

    >>> from unspool.cli.report import report
    >>> parameters_help(report)["open"]
    'Show it in the browser.'
    """
    _, _, text = (getdoc(verb) or "").partition("Parameters\n----------\n")
    found: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if line and not line.startswith(" "):
            name = line.strip()
        elif line.strip():
            found.setdefault(name, []).append(line.strip())
    return {name.rstrip("_"): " ".join(lines) for name, lines in found.items()}


def comments_of(document: str, keys: Collection[str]) -> dict[str, str]:
    """The comment above each of these keys in a commented YAML file; keys that are commented out count too.

    >>> comments_of("# What it is.\\nkey: 1\\n# Other:\\n# two lines.\\n# off: 2\\n", ["key", "off"])
    {'key': 'What it is.', 'off': 'Other: two lines.'}
    """
    found: dict[str, str] = {}
    comments: list[str] = []
    for line in document.splitlines():
        key = _COMMENTED.match(line)
        if key is not None and key[1] in keys:
            found.setdefault(key[1], " ".join(comments))
            comments = []
        elif line.lstrip().startswith("#"):
            comments.append(line.strip(" #"))
        elif not line.strip():
            comments = []
    return found
