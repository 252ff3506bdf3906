"""Time-independent traces of SMPI: what each rank of a program computes and whom it talks to, as columns.

A main file names one file a rank, relative to itself. A line of such a file is `RANK ACTION arguments...`; empty lines
and those that begin with # say nothing. Where the main file names a single file in which several ranks have lines, it
is that of all of them (`spec/contention.md` 4.1).
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from unspool.errors import InputError, UnknownName, shown
from unspool.workloads.files import read_text
from unspool.workloads.smpi_actions import READERS, Arguments, Found

__all__ = ["SmpiTrace", "read_smpi_trace"]

Array = np.ndarray[Any, Any]

_WITHOUT_TIME = frozenset({"finalize", "comm_size", "comm_split", "comm_dup", "location"})
_BYTE, _DOUBLE = 1.0, 8.0
_Line = tuple[int, list[str]]  # its number, and its words


@dataclass(frozen=True)
class SmpiTrace:
    """The actions of all ranks, those of a script after one another; ranks may have a script in common.

    Of action k: `kind` is a position in `ACTIONS`, `peer` and `other` are ranks, `tag` the message's, `amount` bytes,
    `work` flops or seconds, `first` where its list of bytes begins in `lists` (-1: it has none), `line` where it
    stands in its file. `script_of[r]` is the script of rank r, of actions `starts[s]` up to `starts[s + 1]`.
    """

    path: str
    files: tuple[str, ...]
    script_of: Array
    starts: Array
    kind: Array
    peer: Array
    other: Array
    tag: Array
    amount: Array
    work: Array
    first: Array
    line: Array
    lists: Array

    @property
    def ranks(self) -> int:
        """How many there are."""
        return len(self.script_of)


class _Columns:
    """Actions as they are read, one array a column."""

    def __init__(self) -> None:
        self.kind, self.peer, self.other, self.line = array("b"), array("i"), array("i"), array("i")
        self.tag, self.first = array("q"), array("q")
        self.amount, self.work, self.lists = array("d"), array("d"), array("d")

    def add(self, found: Found, line: int) -> None:
        self.kind.append(found.kind)
        self.peer.append(found.peer)
        self.other.append(found.other)
        self.tag.append(found.tag)
        self.amount.append(found.amount)
        self.work.append(found.work)
        self.first.append(len(self.lists) if found.amounts else -1)
        self.lists.extend(found.amounts)
        self.line.append(line)


def read_smpi_trace(path: str | os.PathLike[str]) -> SmpiTrace:
    """Read a main file and all files that it names, each once."""
    path = os.fspath(path)
    names = [line.strip() for line in _lines(path) if line.strip() and not line.lstrip().startswith("#")]
    if not names:
        raise InputError(f"{path}: names no file; expected one a line, with the actions of a rank")
    files = [os.path.normpath(os.path.join(os.path.dirname(path), name)) for name in names]
    columns, starts = _Columns(), [0]
    if len(files) == 1 and (scripts := _scripts_of_shared(files[0])):
        for script in scripts:
            _read_script(columns, files[0], len(scripts), script)
            starts.append(len(columns.kind))
        return _trace(path, tuple(files), np.arange(len(scripts)), starts, columns)
    distinct = list(dict.fromkeys(files))
    for file in distinct:
        _read_script(columns, file, len(files), _worded(file))
        starts.append(len(columns.kind))
    place = {file: at for at, file in enumerate(distinct)}
    return _trace(path, tuple(distinct), np.array([place[file] for file in files]), starts, columns)


def _trace(path: str, files: tuple[str, ...], script_of: Array, starts: list[int], columns: _Columns) -> SmpiTrace:
    held: Mapping[str, Array] = {name: np.array(column) for name, column in vars(columns).items()}
    return SmpiTrace(path, files, script_of.astype(np.int64), np.array(starts, np.int64), **held)


def _scripts_of_shared(path: str) -> list[list[_Line]]:
    """The lines of each rank, where a file has those of several, numbered without a gap from 0 on."""
    found: dict[str, list[_Line]] = {}
    for line in _worded(path):
        found.setdefault(line[1][0], []).append(line)
    ranks = [str(rank) for rank in range(len(found))]
    return [found[rank] for rank in ranks] if len(ranks) > 1 and found.keys() == set(ranks) else []


def _read_script(columns: _Columns, path: str, ranks: int, lines: Iterable[_Line]) -> None:
    size = _BYTE
    for line, words in lines:
        if len(words) < 2:
            raise InputError(f"{path}: line {line}: '{shown(words[0])}' stands alone; expected RANK ACTION arguments")
        name = words[1].lower()
        if name == "init":
            size = _DOUBLE if len(words) > 2 else _BYTE
            continue
        if name in _WITHOUT_TIME:
            continue
        reader = READERS.get(name)
        try:
            if reader is None:
                raise UnknownName("action", words[1], [*READERS, "init", *_WITHOUT_TIME])
            found = reader(Arguments(words[2:], ranks, size))
        except (InputError, UnknownName) as error:
            raise InputError(f"{path}: line {line}: {error}") from None
        columns.add(found, line)


def _worded(path: str) -> Iterator[_Line]:
    """The words of each line that says something, and its number."""
    for line, text in enumerate(_lines(path), 1):
        words = text.split()
        if words and not words[0].startswith("#"):
            yield line, words


def _lines(path: str) -> Iterable[str]:
    """All lines of a file, the last one too where no end of line follows it."""
    data = read_text(path, None)
    try:
        return data.decode().replace("\r", "").split("\n")
    except UnicodeDecodeError:
        line = data[: data.rfind(b"\n", 0, _first_bad(data)) + 1].count(b"\n") + 1
        raise InputError(f"{path}: line {line} is no text; expected one action a line") from None


def _first_bad(data: bytes) -> int:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return len(data)
