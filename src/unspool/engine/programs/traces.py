"""From SMPI's traces to the arrays that replays run on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unspool.engine.kernel.compiled import compiled
from unspool.engine.kernel.state import Array, Mpi, longer
from unspool.engine.programs.messages import chain
from unspool.engine.programs.mpi import (
    ACTION,
    CODE_OF,
    DEADLOCK,
    IRECV,
    ISEND,
    MPI,
    NOWHERE,
    RANK,
    RECV,
    REPLAY,
    REQUEST,
    SCRIPT,
    SEND,
    TEST,
    TRACE,
    WAIT,
)
from unspool.workloads.smpi_actions import ACTIONS
from unspool.workloads.smpi_traces import SmpiTrace

__all__ = ["TraceFiles", "deadlocks_of", "grow_mpi", "mpi_of", "with_places"]

_BLOCKS = 48
_REQUESTS = 1024
_TAGGED = (SEND, ISEND, RECV, IRECV, WAIT, TEST)
_COLLECTIVES = -(1 << 40)  # tags from here down are those of collectives, one a kind
_MOST_DEADLOCKS = 64  # that are told by name
_NAMES = {code: name for name, code in CODE_OF.items()}


@dataclass(frozen=True)
class TraceFiles:
    """Where the actions of a trace stand, for sentences about them."""

    files: tuple[str, ...]
    script_of: Array

    def of(self, rank: int) -> str:
        """The file of a rank."""
        return self.files[int(self.script_of[rank]) if len(self.files) > 1 else 0]


def mpi_of(traces: Sequence[SmpiTrace], *, smpirun: bool, at_once: int = 1) -> Mpi:
    """Traces of which none is replayed yet; a job may begin so many replays at one instant."""
    codes = np.array([CODE_OF[name] for name in ACTIONS], np.int32)
    of_trace = np.zeros(len(traces), TRACE)
    actions = np.zeros(sum(len(trace.kind) for trace in traces), ACTION)
    scripts = np.zeros(sum(trace.ranks for trace in traces), SCRIPT)
    lists: list[Array] = []
    first_action = first_script = first_list = 0
    for at, trace in enumerate(traces):
        part = actions[first_action : first_action + len(trace.kind)]
        part["kind"] = codes[trace.kind]
        part["peer"], part["other"], part["line"] = trace.peer, trace.other, trace.line
        has_tag = np.isin(part["kind"], _TAGGED)
        part["tag"] = np.where(has_tag, trace.tag, _COLLECTIVES - part["kind"])
        part["bytes"], part["work"] = trace.amount, trace.work
        part["first"] = np.where(trace.first >= 0, trace.first + first_list, NOWHERE)
        of_trace[at] = (first_script, trace.ranks)
        own = scripts[first_script : first_script + trace.ranks]
        own["first"] = trace.starts[trace.script_of] + first_action
        own["last"] = trace.starts[trace.script_of + 1] + first_action
        lists.append(trace.lists)
        first_action += len(trace.kind)
        first_script += trace.ranks
        first_list += len(trace.lists)
    rule = np.zeros(1, MPI)
    rule["smpirun"] = smpirun
    rule["most"] = at_once * max((_power(trace.ranks) for trace in traces), default=1)
    rule["spare_replay"] = rule["spare_request"] = NOWHERE
    room = int(rule[0]["most"])
    return Mpi(
        rule, of_trace, scripts, actions, np.concatenate([np.zeros(0), *lists]), np.zeros((0, 2), np.int64),
        np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(room, REPLAY), np.zeros(room, RANK),
        np.full(_BLOCKS, NOWHERE, np.int64), np.zeros(_REQUESTS, REQUEST), np.full((_REQUESTS, 2), NOWHERE, np.int64),
        np.zeros(room, np.int64), np.zeros(_MOST_DEADLOCKS, DEADLOCK),
    )  # fmt: skip


def _power(count: int) -> int:
    """The least power of two that is not below a number."""
    return 1 << max(count - 1, 0).bit_length()


def grow_mpi(mpi: Mpi) -> Mpi:
    """Room for what one more job can begin, and one more rank do."""
    rule = mpi.rule[0]
    ranks = longer(mpi.ranks, int(rule["ranks"] + rule["most"]))
    mpi = mpi._replace(
        replays=longer(mpi.replays, int(rule["replays"] + rule["most"])),
        ranks=ranks,
        ready=longer(mpi.ready, len(ranks)),
    )
    if int(rule["requests"]) + 2 <= len(mpi.requests):
        return mpi
    older = mpi.buckets
    requests = longer(mpi.requests, int(rule["requests"]) + 2)
    mpi = mpi._replace(requests=requests, buckets=np.full((_power(len(requests)), 2), NOWHERE, np.int64))
    _deal_anew(requests, mpi.buckets, older)
    return mpi


@compiled
def _deal_anew(requests: Array, buckets: Array, older: Array) -> None:
    """Put all that waits into the new buckets, in its order."""
    for at in range(len(older)):
        request = older[at, 0]
        while request >= 0:
            after = requests[request]["next"]
            chain(requests, buckets, request)
            request = after


def with_places(mpi: Mpi, places: Mapping[int, Sequence[int]], jobs: int) -> Mpi:
    """The same with the places that some jobs say for their ranks."""
    of_job = np.zeros((jobs, 2), np.int64)
    every: list[int] = []
    for job, given in places.items():
        of_job[job] = (len(every), len(given))
        every.extend(given)
    return mpi._replace(mapped=of_job, places=np.array(every, np.int64))


def deadlocks_of(mpi: Mpi, files: Sequence[TraceFiles]) -> Iterator[tuple[int, str]]:
    """The jobs whose ranks wait for one another for ever, and a sentence of each, as far as they are kept."""
    for row in mpi.deadlocks[: int(mpi.rule[0]["deadlocks"])]:
        rank, trace = int(row["rank"]), files[int(row["trace"])]
        at = int(row["action"])
        first = int(mpi.traces[row["trace"]]["first"]) + rank
        where = "at its end, for what it has not waited for"
        if at < int(mpi.scripts[first]["last"]):
            where = f"in {_NAMES[int(mpi.actions[at]['kind'])]} (line {int(mpi.actions[at]['line'])})"
        since, count = float(row["time"]), int(row["count"])
        yield (
            int(row["job"]),
            (
                f"deadlock from {since:.6f} s on: {count} of its ranks wait for messages that never come; "
                f"rank {rank} ({trace.of(rank)}) {where}"
            ),
        )
