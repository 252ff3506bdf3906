"""One JOB_FINISH record of LSF's accounting log, taken apart: fields by position, lists with their length before them.

The layout is that of IBM's reference of lsb.acct for LSF 10.1, with the variants that are met in logs.
"""

from __future__ import annotations

import math
import re
from functools import cache
from typing import NamedTuple

from unspool.errors import shown
from unspool.units import counted

__all__ = ["Finish", "RecordError", "kind_of_record", "parse_finish", "split_record"]

_FIELD = re.compile(r'(?:^| )("[^"]*(?:""[^"]*)*"|[^ "]*)(?= |$)')
_TYPE = re.compile(r'"([A-Z][A-Z_0-9]*)" "')
_REPEATED = re.compile(r"([0-9]+)\*(.+)")  # 4*hostA, in logs with SHORT_EVENTFILE
_MAJOR = 10
_LEFT_OVER = 3  # fields at the end that versions from 10.11 on may have and nobody describes

# Names of fields between the lists; `:s` is text in quotes, all others are numbers.
_TO_HOSTS = (
    "type:s Version:s EventTime jobId userId options numProcessors submitTime beginTime termTime startTime userName:s "
    "queue:s resReq:s dependCond:s preExecCmd:s fromHost:s cwd:s inFile:s outFile:s errFile:s jobFile:s"
)
_TO_EXTENSIONS = (
    "jStatus hostFactor jobName:s command:s utime stime maxrss ixrss ismrss idrss isrss minflt majflt nswap inblock "
    "oublock ioch msgsnd msgrcv nsignals nvcsw nivcsw exutime mailUser:s projectName:s exitStatus maxNumProcessors "
    "loginShell:s timeEvent:s idx maxRMem maxRSwap inFileSpool:s commandSpool:s rsvId:s sla:s exceptMask "
    "additionalInfo:s exitInfo warningAction:s warningTimePeriod chargedSAAP:s licenseProject:s app:s postExecCmd:s "
    "runtimeEstimation jobGroupName:s requeueEvalues:s options2 resizeNotifyCmd:s lastResizeTime rsvId2:s "
    "jobDescription:s"
)
_TO_NETWORK = (
    "options3 runLimit avgMem effectiveResReq:s srcCluster:s srcJobId dstCluster:s dstJobId forwardTime flow_id "
    "acJobWaitTime totalProvisionTime outdir:s runTime subcwd:s"
)
_TO_SLOTS = "affinity:s serial_job_energy cpi gips gbs gflops"
_LAST = "ineligiblePendTime"
_MOST_DIGITS = 16  # of a count
_LARGEST = 1e15  # a number beyond it, in seconds, slots or KB, is none of a cluster's

# s: text in quotes, e: "" which is also a number that is not known, n: number, x: nothing between two blanks, w: else.
_EMPTY_TEXT, _NOTHING = "\1", "\2"
_OF_FIRST = {ord('"'): "s", 1: "e", 2: "x", **dict.fromkeys(b"0123456789-+.", "n")}
_KINDS = "".join(_OF_FIRST.get(first, "w") for first in range(256)).encode()
_TEXT, _NUMBER = "sex", "nex"


class RecordError(ValueError):
    """A record that does not have the layout; the text says where it leaves it."""


class Finish(NamedTuple):
    """What a JOB_FINISH record says: its fields, where each part of them begins, and its execution hosts, each once."""

    tokens: list[str]
    starts: dict[str, int]
    hosts: tuple[str, ...]

    def text(self, name: str) -> str | None:
        """The text of a field, or None where it is empty."""
        part, offset = _places()[name]
        return _plain(self.tokens[self.starts[part] + offset]) or None

    def number(self, name: str) -> float | None:
        """The number of a field, or None where it is not known, which LSF writes as -1 or leaves empty."""
        text = self.text(name) or "-1"
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not value < _LARGEST:
            raise RecordError(f"{name} is '{shown(text, 40)}'; expected a number below {_LARGEST:g}")
        return value if value >= 0 else None


def kind_of_record(line: str) -> str | None:
    """The type of the record that begins with this line, or None if none begins.

    >>> kind_of_record('"JOB_FINISH" "10.1" 1527327585 7610'), kind_of_record("sleep 5")
    ('JOB_FINISH', None)
    """
    match = _TYPE.match(line)
    return match[1] if match else None


def split_record(text: str) -> list[str]:
    """The fields of a record, texts with their quotes.

    >>> split_record('"say ""hi""!" 5 -1')
    ['"say ""hi""!"', '5', '-1']
    """
    fields = _FIELD.findall(text)
    if sum(map(len, fields)) + len(fields) - 1 != len(text):
        raise RecordError('quotes that do not close, or stand inside a field; expected "text" and numbers')
    return fields


def parse_finish(text: str) -> Finish:
    """A JOB_FINISH record; raises `RecordError` where it does not have the layout."""
    walk = _Walk(split_record(text))
    walk.take(_TO_HOSTS)
    version = _version(_plain(walk.tokens[1]))
    walk.groups("numAskedHosts", 1)
    hosts = walk.groups("numExHosts", 1) if walk.has_execution_hosts() else []
    walk.take(_TO_EXTENSIONS)
    walk.groups("submitExt", 2)
    used = walk.host_usage()
    walk.take(_TO_NETWORK)
    walk.groups("network", 2)
    walk.take(_TO_SLOTS)
    slots = walk.groups("allocSlots", 1)
    walk.take(_LAST)
    walk.take_rest()
    if walk.left and not (walk.left == _LEFT_OVER and version >= (10, 11)):
        left = counted(walk.left, "field is", "fields are")
        raise RecordError(f"{left} left over at the end; expected none in this version")
    hosts = hosts or slots or used
    return Finish(walk.tokens, walk.starts, tuple(dict.fromkeys(map(_host, dict.fromkeys(hosts)))))


class _Walk:
    """The fields of a record from the first to the last; `kinds` has a letter for each (text, number, empty, word)."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        firsts = [_EMPTY_TEXT if token == '""' else token[:1] or _NOTHING for token in tokens]
        self._kinds = "".join(firsts).encode("ascii", "replace").translate(_KINDS).decode()
        self._at = 0
        self.starts: dict[str, int] = {}

    @property
    def left(self) -> int:
        """How many fields have not been taken."""
        return len(self.tokens) - self._at

    def take(self, layout: str) -> None:
        """Take the fields of a layout, each of its kind."""
        width, pattern = _layout(layout)
        if not pattern.match(self._kinds, self._at):
            self._refuse(layout)
        self.starts[layout] = self._at
        self._at += width

    def groups(self, name: str, width: int) -> list[str]:
        """Take a number and so many groups of fields; returns what stands in them."""
        count = self._count(name)
        if not count:
            return []
        end = self._at + count * width
        if end > len(self.tokens):
            raise RecordError(f"the record ends within {name}, of which there are {count}; it is cut off")
        held = self.tokens[self._at : end]
        self._at = end
        return held

    def has_execution_hosts(self) -> bool:
        """Whether the number of execution hosts is there: so many texts follow, then status, host factor and name."""
        count = _whole(self.tokens[self._at]) if self.left else None
        if count is None or count > len(self.tokens):
            return False
        follow = self._kinds[self._at + 1 : self._at + 1 + count + 3]
        return re.fullmatch(f"s{{{count}}}nn[se]", follow) is not None

    def host_usage(self) -> list[str]:
        """Take the use of each host: name and four numbers, or five; returns the names."""
        hosts = []
        count = self._count("hostRusage")
        for i in range(count):
            self.take("host:s mem swap utime stime")
            hosts.append(self.tokens[self._at - 5])
            # A fifth number stands before the next host or, after the last one, before three numbers and a text.
            ahead = 1 if i + 1 < count else 4
            if re.match("n" * ahead + "[se]", self._kinds[self._at :]):
                self._at += 1
        return hosts

    def take_rest(self) -> None:
        """Take what may follow the last field that every record has, as far as it goes."""
        if self.left:
            self.groups("indexRange", 3)
        if self.left:
            self.take("requeueTime")
        for _ in range(self._count("gpuRusage") if self.left else 0):
            self.take("host:s")
            self.groups("gpuKeys", 2)
        for name, width in (("storageInfo", 1), ("finishKVP", 2)):
            if self.left:
                self.groups(name, width)

    def _count(self, name: str) -> int:
        text = self.tokens[self._at] if self.left else ""
        if text == "0":
            self._at += 1
            return 0
        self.take(name)
        if text in ("", '""', "-1"):
            return 0
        count = _whole(text)
        if count is None:
            raise RecordError(f"{name} is {shown(text, 40)}; expected how many follow")
        return count

    def _refuse(self, layout: str) -> None:
        for name, at in zip(layout.split(), range(self._at, len(self.tokens) + 1), strict=False):
            is_text = name.endswith(":s")
            name = name.removesuffix(":s")
            if at == len(self.tokens):
                raise RecordError(f"the record ends before {name}; it is cut off, or of another version")
            if self._kinds[at] not in (_TEXT if is_text else _NUMBER):
                given = shown(self.tokens[at], 40)
                expected = "text in quotes" if is_text else "a number"
                raise RecordError(f"field {at + 1} ({name}) is {given}; expected {expected}")


@cache
def _layout(text: str) -> tuple[int, re.Pattern[str]]:
    """How many fields a layout has, and the kinds that they must have."""
    names = text.split()
    kinds = "".join(f"[{_TEXT if name.endswith(':s') else _NUMBER}]" for name in names)
    return len(names), re.compile(kinds)


@cache
def _places() -> dict[str, tuple[str, int]]:
    """For each field the part that it stands in, and where."""
    parts = (_TO_HOSTS, _TO_EXTENSIONS, _TO_NETWORK, _TO_SLOTS, _LAST)
    return {name.removesuffix(":s"): (part, at) for part in parts for at, name in enumerate(part.split())}


def _version(text: str) -> tuple[int, ...]:
    parts = text.split(".")
    numbers = tuple(number for part in parts if (number := _whole(part)) is not None)
    if len(numbers) < len(parts) or numbers[0] != _MAJOR:
        raise RecordError(f"version '{shown(text, 20)}'; expected {_MAJOR}, as in 10.1")
    return numbers


def _whole(text: str) -> int | None:
    """How many something says there are; None where it is no such number."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < _MOST_DIGITS else None


def _host(field: str) -> str:
    name = _plain(field)
    repeated = _REPEATED.fullmatch(name) if "*" in name else None
    return repeated[2] if repeated else name


def _plain(field: str) -> str:
    return field[1:-1].replace('""', '"') if field[:1] == '"' else field
