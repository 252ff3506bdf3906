"""Changes of single keys of `config.yml`, as the command line has them: `IdleTime=60`, `Burst={after: 600}`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from unspool.errors import InputError, UnknownName, shown
from unspool.faces.cloud.keys import FileKeys
from unspool.platforms.documents import parse_value

__all__ = ["changed", "parse_changes", "shown_change", "with_sections"]


def parse_changes(texts: Iterable[str]) -> dict[str, Any]:
    """Keys with their sections, and values, of texts such as `IdleTime=60`; values are YAML, the last of a key counts.

    >>> parse_changes(["IdleTime=5:00", "instance_mapping.instance_prefix_list=[c7a, m7a]"])
    {'ComputeClusterModel.IdleTime': '5:00', 'instance_mapping.instance_prefix_list': ['c7a', 'm7a']}
    """
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"--set {shown(text)}: expected KEY=VALUE, as in IdleTime=60")
        try:
            found[_with_section(name.strip())] = parse_value(value)
        except ValueError as error:
            raise InputError(f"--set {shown(text)}: the value is no YAML: {error}") from error
    return found


def with_sections(changes: Mapping[str, Any]) -> dict[str, Any]:
    """The same for values that need not be read.

    >>> with_sections({"IdleTime": 60})
    {'ComputeClusterModel.IdleTime': 60}
    """
    return {_with_section(name): value for name, value in changes.items()}


def _with_section(name: str) -> str:
    """The key behind its section; a key that stands in one section only need not name it."""
    known = [f"{section}.{key}" for section, keys in _sections().items() for key in keys]
    if name in known:
        return name
    found = [path for path in known if path.partition(".")[2] == name]
    if len(found) != 1:
        raise InputError(f"--set: {UnknownName('key', name, [path.partition('.')[2] for path in known])}")
    return found[0]


def _sections() -> dict[str, tuple[str, ...]]:
    """The keys of each part of the file."""
    info = msgspec.inspect.type_info(FileKeys)
    assert isinstance(info, msgspec.inspect.StructType)
    parts = {each.encode_name: each.type for each in info.fields}
    return {
        name: kind.cls.__struct_fields__ for name, kind in parts.items() if isinstance(kind, msgspec.inspect.StructType)
    }


def changed(content: Any, changes: Mapping[str, Any]) -> Any:
    """The content of a file with these keys in place of its own."""
    if not changes or not isinstance(content, dict):
        return content
    made = dict(content)
    for path, value in changes.items():
        section, _, key = path.partition(".")
        part = made.get(section) or {}
        if isinstance(part, dict):  # else the file is wrong, which is said where it is read
            made[section] = {**part, key: value}
    return made


def shown_change(path: str, value: Any) -> str:
    """A change as `parse_changes` reads it.

    >>> shown_change("ComputeClusterModel.Burst", {"after": 600}), shown_change("ComputeClusterModel.Placement", "x")
    ('Burst={"after": 600}', 'Placement=x')
    """
    text = value if isinstance(value, str) and parse_value(value) == value else json.dumps(value)
    return f"{path.partition('.')[2]}={text}"
