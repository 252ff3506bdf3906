"""Where in a Batsim workload file something stands, and what is wrong with it: all problems, with their lines.

Files are decoded without positions, which is fast. Only where something is wrong is the text scanned for lines.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from unspool.errors import InputError, InputErrors, shown
from unspool.workloads.files import AnyPath

__all__ = ["Places", "Problems", "has_repeats"]

_BLANK = re.compile(r"[ \t\n\r]*")
_value_at = json.JSONDecoder(strict=False).raw_decode
_TOP = ("nb_res", "profiles", "jobs")


class Where(NamedTuple):
    """A part of a file: a field of a job (by its place in the array), of a profile (by name) or of the whole."""

    kind: str
    key: int | str
    field: str | None


class Problems:
    """What is wrong with a file, collected."""

    def __init__(self) -> None:
        self.found: list[tuple[Where, str]] = []

    def of_file(self, field: str, text: str) -> None:
        """A problem with a field of the top level."""
        self.found.append((Where("file", "", field), text))

    def of_job(self, place: int, job_id: str | None, field: str | None, text: str) -> None:
        """A problem with a job; one whose id is not known is called by its place."""
        label = f"job {shown(job_id)}" if job_id is not None else f"job number {place + 1}"
        self.found.append((Where("job", place, field), f"{label}: {text}"))

    def of_profile(self, name: str, field: str | None, text: str) -> None:
        """A problem with a profile."""
        self.found.append((Where("profile", name, field), f"profile {shown(name)}: {text}"))

    def add_repeats(self, text: bytes, may_repeat: bool) -> None:
        """Look for what is named twice, if that may be."""
        if may_repeat:
            places = Places(text)
            places.find_repeated_fields()
            self.found += places.repeated

    def refuse(self, path: AnyPath, text: bytes) -> None:
        """Raise with all that was found, by line, if anything was."""
        if not self.found:
            return
        places = Places(text)
        told = sorted(((places.line(where), what) for where, what in self.found), key=lambda each: each[0] or 0)
        lines = [f"line {line}, {what}" if line else what for line, what in told]
        if len(lines) == 1:
            raise InputError(f"{path}, {lines[0]}" if told[0][0] else f"{path}: {lines[0]}")
        raise InputErrors(f"{path}: {len(lines):,} problems", lines)


class Places:
    """The lines of a file's jobs, profiles and fields, and what is named twice in it."""

    def __init__(self, text: bytes) -> None:
        self._text = text.decode(errors="replace")
        self._ends = [match.start() for match in re.finditer("\n", self._text)]
        self._top: dict[str, int] = {}
        self._values: dict[str, int] = {}
        self._jobs: list[int] = []
        self._profiles: dict[str, int] = {}
        self._profile_values: dict[str, int] = {}
        self.repeated: list[tuple[Where, str]] = []
        # What one of the two decoders takes and the other does not has no lines.
        try:
            self._scan()
        except (ValueError, IndexError, RecursionError):
            self.repeated = []

    def line(self, where: Where) -> int | None:
        """The line on which a part stands: of its field if it is there, else of the job or profile."""
        offset = self._offset(where)
        return None if offset is None else bisect_left(self._ends, offset) + 1

    def line_of_job(self, place: int) -> int | None:
        """The line on which a job begins."""
        return self.line(Where("job", place, None))

    def _offset(self, where: Where) -> int | None:
        if where.kind == "file":
            return self._top.get(where.field or "", 0 if self._top else None)
        if where.kind == "job":
            start = value = self._jobs[int(where.key)] if int(where.key) < len(self._jobs) else None
        else:
            name = str(where.key)
            start, value = self._profiles.get(name), self._profile_values.get(name)
        if start is None or value is None or where.field is None or self._text[value] != "{":
            return start
        return next((at for key, at, _ in _members(self._text, value) if key == where.field), start)

    def _scan(self) -> None:
        begin = _past_blank(self._text, 0)
        for key, at, value in _members(self._text, begin):
            if key in self._top and key in _TOP:
                self.repeated.append((Where("file", "", key), f"{key} stands twice; expected it once"))
            self._top[key], self._values[key] = at, value
        if self._text[(at := self._values.get("jobs", begin))] == "[":
            self._jobs = list(_elements(self._text, at))
        if "profiles" in self._values and self._text[self._values["profiles"]] == "{":
            for name, at, value in _members(self._text, self._values["profiles"]):
                if name in self._profiles:
                    told = f"profile {shown(name)}: the name stands twice; expected each profile once"
                    self.repeated.append((Where("profile", name, None), told))
                self._profiles[name], self._profile_values[name] = at, value

    def find_repeated_fields(self) -> None:
        """Look for fields that stand twice in one job or profile too."""
        for place, at in enumerate(self._jobs):
            for field in self._twice(at):
                told = f"job number {place + 1}: {shown(field)} stands twice; expected it once"
                self.repeated.append((Where("job", place, field), told))
        for name, at in self._profile_values.items():
            for field in self._twice(at):
                told = f"profile {shown(name)}: {shown(field)} stands twice; expected it once"
                self.repeated.append((Where("profile", name, field), told))

    def _twice(self, at: int) -> list[str]:
        if self._text[at] != "{":
            return []
        keys = [key for key, _, _ in _members(self._text, at)]
        return [] if len(set(keys)) == len(keys) else sorted({key for key in keys if keys.count(key) > 1})


def has_repeats(text: bytes, counts: Mapping[str, int]) -> bool:
    """Whether fields may stand in a text another number of times than they were decoded; `counts` says how often.

    Decoders take one of two fields of one name in silence; counting is much faster than decoding with pairs.

    >>> has_repeats(b'{"id": 1, "id": 2}', {"id": 1}), has_repeats(b'{"id": "id"}', {"id": 1})
    (True, False)
    """
    for name, count in counts.items():
        quoted = json.dumps(name, ensure_ascii=False).encode(errors="surrogatepass")
        if text.count(quoted) != count and len(re.findall(re.escape(quoted) + rb"\s*:", text)) != count:
            return True
    return False


def _past_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _members(text: str, at: int) -> Iterator[tuple[str, int, int]]:
    """Of the object that begins there: each key, where it stands, and where its value does."""
    at = _past_blank(text, at + 1)
    while text[at] != "}":
        key, end = _value_at(text, at)
        value = _past_blank(text, _past_blank(text, end) + 1)
        yield key, at, value
        at = _after(text, value, "}")


def _elements(text: str, at: int) -> Iterator[int]:
    """Where each element of the array that begins there stands."""
    at = _past_blank(text, at + 1)
    while text[at] != "]":
        yield at
        at = _after(text, at, "]")


def _after(text: str, value: int, close: str) -> int:
    """Where the next member stands, or the end, after the value that stands there."""
    at = _past_blank(text, _value_at(text, value)[1])
    return at if text[at] == close else _past_blank(text, at + 1)
