"""The actions of SMPI's traces, one reader each: from the words of a line to bytes, flops and ranks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from unspool.errors import InputError, shown

__all__ = ["ACTIONS", "DATATYPES", "READERS", "Arguments", "Found"]

ACTIONS: tuple[str, ...] = (
    "compute", "sleep", "send", "isend", "recv", "irecv", "sendrecv", "wait", "test", "waitall", "barrier", "bcast",
    "reduce", "allreduce", "alltoall", "alltoallv", "gather", "scatter", "scatterv", "allgather", "reducescatter",
    "scan",
)  # fmt: skip
"""What a rank can do. Others are one of these: what a rank receives is what somebody sends it."""

DATATYPES: Mapping[int, float] = {
    **dict.fromkeys((2, 6, 8, 9, 16, 17, 21, 57), 1.0),
    **dict.fromkeys((3, 10, 18, 22), 2.0),
    **dict.fromkeys((1, 5, 11, 15, 19, 23, 38, 39), 4.0),
    **dict.fromkeys((0, 4, 7, 12, 13, 20, 24, 25, 28, 29, 40), 8.0),
    **dict.fromkeys((14, 26), 16.0),
    27: 32.0,
}
"""Bytes of a datatype by its number."""

_MOST_TAG = 2**31 - 1
_MOST = 1e300  # of an amount: sums of a few thousand are finite still


class Found(NamedTuple):
    """An action as it is kept; see `SmpiTrace`."""

    kind: int
    peer: int = 0
    other: int = 0
    tag: int = 0
    amount: float = 0.0
    work: float = 0.0
    amounts: Sequence[float] = ()


class Arguments:
    """The words behind the name of an action, in a trace of so many ranks; `size` is of the usual datatype."""

    def __init__(self, words: list[str], ranks: int, size: float) -> None:
        self.words = words
        self.ranks = ranks
        self.size = size

    def count(self, least: int, most: int, expected: str) -> None:
        """Complain of too few words, or too many."""
        if not least <= len(self.words) <= most:
            raise InputError(f"{len(self.words)} arguments; expected {expected}")

    def number(self, at: int, what: str, *, may_be_unknown: bool = False) -> float:
        """A finite number, 0 or more; one below 0 may say that it is unknown."""
        try:
            value = float(self.words[at])
        except ValueError:
            value = math.nan
        if may_be_unknown and -_MOST <= value < 0.0:
            return -1.0
        if not 0.0 <= value <= _MOST:
            raise InputError(f"{what} is '{shown(self.words[at])}'; expected a number, 0 or more")
        return value

    def whole(self, at: int, what: str) -> int:
        """A whole number, which may be written as 1e3."""
        try:
            value = float(self.words[at])
        except ValueError:
            value = math.nan
        if not abs(value) <= _MOST_TAG or value != int(value):
            raise InputError(f"{what} is '{shown(self.words[at])}'; expected a whole number")
        return int(value)

    def rank(self, at: int, what: str) -> int:
        """A rank of the trace."""
        rank = self.whole(at, what)
        if not 0 <= rank < self.ranks:
            raise InputError(f"{what} is rank {rank}; the trace has the ranks 0 to {self.ranks - 1}")
        return rank

    def root(self, at: int) -> int:
        """The root of a collective, which is rank 0 unless it is said."""
        return self.rank(at, "the root") if at < len(self.words) else 0

    def datatype(self, at: int) -> float:
        """Bytes of a datatype; the usual one where none is given."""
        if at >= len(self.words):
            return self.size
        number = self.whole(at, "the datatype")
        if number not in DATATYPES:
            known = ", ".join(map(str, sorted(DATATYPES)))
            raise InputError(f"the datatype is {number}, which has no size here; known: {known}")
        return DATATYPES[number]

    def bytes(self, at: int, datatype_at: int, what: str = "the count", *, may_be_unknown: bool = False) -> float:
        """A count times the size of its datatype; -1 where it is unknown."""
        count = self.number(at, what, may_be_unknown=may_be_unknown)
        size = self.datatype(datatype_at)
        return -1.0 if count < 0.0 else count * size

    def many(self, first: int, datatype_at: int, what: str) -> list[float]:
        """So many counts as there are ranks, as bytes."""
        size = self.datatype(datatype_at)
        return [self.number(first + rank, what) * size for rank in range(self.ranks)]


def _of(name: str) -> int:
    return ACTIONS.index(name)


def _compute(given: Arguments) -> Found:
    given.count(1, 1, "FLOPS")
    return Found(_of("compute"), work=given.number(0, "the number of flops"))


def _sleep(given: Arguments) -> Found:
    given.count(1, 1, "SECONDS")
    return Found(_of("sleep"), work=given.number(0, "the number of seconds"))


def _message(given: Arguments, *, name: str) -> Found:
    given.count(3, 4, "RANK TAG COUNT [DATATYPE]")
    is_receive = name in ("recv", "irecv")
    peer = given.rank(0, "the source" if is_receive else "the destination")
    amount = given.bytes(2, 3, may_be_unknown=is_receive)
    return Found(_of(name), peer, tag=given.whole(1, "the tag"), amount=amount)


def _send_receive(given: Arguments) -> Found:
    given.count(4, 6, "SENDCOUNT DESTINATION RECVCOUNT SOURCE [DATATYPE DATATYPE]")
    given.bytes(2, 5, "the count received", may_be_unknown=True)
    amount = given.bytes(0, 4, "the count sent")
    return Found(_of("sendrecv"), given.rank(1, "the destination"), given.rank(3, "the source"), amount=amount)


def _request(given: Arguments, *, name: str) -> Found:
    given.count(3, 3, "SOURCE DESTINATION TAG")
    source, target = given.rank(0, "the source"), given.rank(1, "the destination")
    return Found(_of(name), source, target, given.whole(2, "the tag"))


def _alone(given: Arguments, *, name: str) -> Found:
    return Found(_of(name))


def _bcast(given: Arguments) -> Found:
    given.count(1, 3, "COUNT [ROOT [DATATYPE]]")
    return Found(_of("bcast"), given.root(1), amount=given.bytes(0, 2))


def _reduce(given: Arguments) -> Found:
    given.count(2, 4, "COUNT FLOPS [ROOT [DATATYPE]]")
    flops = given.number(1, "the number of flops")
    return Found(_of("reduce"), given.root(2), amount=given.bytes(0, 3), work=flops)


def _with_flops(given: Arguments, *, name: str) -> Found:
    given.count(2, 3, "COUNT FLOPS [DATATYPE]")
    return Found(_of(name), amount=given.bytes(0, 2), work=given.number(1, "the number of flops"))


def _exclusive_scan(given: Arguments) -> Found:
    return _with_flops(given, name="scan")


def _to_all(given: Arguments, *, name: str) -> Found:
    given.count(2, 4, "SENDCOUNT RECVCOUNT [DATATYPE DATATYPE]")
    given.bytes(1, 3, "the count received")
    return Found(_of(name), amount=given.bytes(0, 2, "the count sent"))


def _to_root(given: Arguments, *, name: str) -> Found:
    given.count(2, 5, "SENDCOUNT RECVCOUNT [ROOT [DATATYPE DATATYPE]]")
    given.bytes(1, 4, "the count received")
    return Found(_of(name), given.root(2), amount=given.bytes(0, 3, "the count sent"))


def _alltoallv(given: Arguments) -> Found:
    ranks = given.ranks
    given.count(2 * ranks + 2, 2 * ranks + 4, f"SIZE {ranks} SENDCOUNTS SIZE {ranks} RECVCOUNTS [DATATYPE DATATYPE]")
    for at in (0, ranks + 1):
        given.number(at, "the size of the buffer")
    sent = given.many(1, 2 * ranks + 2, "a count sent")
    received = given.many(ranks + 2, 2 * ranks + 3, "a count received")
    return Found(_of("alltoallv"), amounts=[*sent, *received])


def _gatherv(given: Arguments) -> Found:
    ranks = given.ranks
    given.count(ranks + 1, ranks + 4, f"SENDCOUNT {ranks} RECVCOUNTS [ROOT [DATATYPE DATATYPE]]")
    given.many(1, ranks + 3, "a count received")
    return Found(_of("gather"), given.root(ranks + 1), amount=given.bytes(0, ranks + 2, "the count sent"))


def _allgatherv(given: Arguments) -> Found:
    """Displacements, one a rank, may follow the counts, or one datatype or two; or a datatype and displacements."""
    ranks = given.ranks
    given.count(ranks + 1, 2 * ranks + 3, f"SENDCOUNT {ranks} RECVCOUNTS [DATATYPES] [{ranks} DISPLACEMENTS]")
    more = len(given.words) - ranks - 1
    has_datatype = 0 < more <= 2 or more > ranks
    at = ranks + 1 if has_datatype else len(given.words)
    given.many(1, len(given.words), "a count received")
    return Found(_of("allgather"), amount=given.bytes(0, at, "the count sent"))


def _scatterv(given: Arguments) -> Found:
    ranks = given.ranks
    given.count(ranks + 1, ranks + 4, f"{ranks} SENDCOUNTS RECVCOUNT [ROOT [DATATYPE DATATYPE]]")
    given.bytes(ranks, ranks + 3, "the count received")
    return Found(_of("scatterv"), given.root(ranks + 1), amounts=given.many(0, ranks + 2, "a count sent"))


def _reducescatter(given: Arguments) -> Found:
    ranks = given.ranks
    given.count(ranks + 1, ranks + 2, f"{ranks} RECVCOUNTS FLOPS [DATATYPE]")
    amounts = given.many(0, ranks + 1, "a count received")
    flops = given.number(ranks, "the number of flops")
    return Found(_of("reducescatter"), amount=sum(amounts), work=flops, amounts=amounts)


READERS: Mapping[str, Callable[[Arguments], Found]] = {
    "compute": _compute,
    "sleep": _sleep,
    **{name: partial(_message, name=name) for name in ("send", "isend", "recv", "irecv")},
    "sendrecv": _send_receive,
    "wait": partial(_request, name="wait"),
    "test": partial(_request, name="test"),
    "waitall": partial(_alone, name="waitall"),
    "barrier": partial(_alone, name="barrier"),
    "bcast": _bcast,
    "reduce": _reduce,
    "allreduce": partial(_with_flops, name="allreduce"),
    "alltoall": partial(_to_all, name="alltoall"),
    "alltoallv": _alltoallv,
    "gather": partial(_to_root, name="gather"),
    "scatter": partial(_to_root, name="scatter"),
    "allgather": partial(_to_all, name="allgather"),
    "gatherv": _gatherv,
    "allgatherv": _allgatherv,
    "scatterv": _scatterv,
    "reducescatter": _reducescatter,
    "scan": partial(_with_flops, name="scan"),
    "exscan": _exclusive_scan,
}
"""The reader of each action, by its name in lower case."""
