"""The state of replays: ranks that go through their actions, and the messages between them.

A replay is a trace in the course of its run; its ranks stand in one block. A message is posted by its sender and by its
receiver; the first of the two waits in a chain of the other's bucket, and when both are there it is carried over.
"""

from __future__ import annotations

import numpy as np

__all__ = [
    "ACTION", "ALLGATHER", "ALLREDUCE", "ALLTOALL", "ALLTOALLV", "BARRIER", "BCAST", "CODE_OF", "COMPUTE", "DEADLOCK",
    "GATHER", "IRECV", "ISEND", "MPI", "NOWHERE", "RANK", "RECV", "REDUCE", "REDUCESCATTER", "REPLAY", "REQUEST",
    "SCAN", "SCATTER", "SCATTERV", "SCRIPT", "SEND", "SENDRECV", "SLEEP", "TEST", "TRACE", "WAIT", "WAITALL",
]  # fmt: skip

NOWHERE = -1

COMPUTE, SLEEP, SEND, ISEND, RECV, IRECV, SENDRECV, WAIT, TEST, WAITALL = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
BARRIER, BCAST, REDUCE, ALLREDUCE, ALLTOALL, ALLTOALLV = 10, 11, 12, 13, 14, 15
GATHER, SCATTER, SCATTERV, ALLGATHER, REDUCESCATTER, SCAN = 16, 17, 18, 19, 20, 21

CODE_OF = {
    "compute": COMPUTE, "sleep": SLEEP, "send": SEND, "isend": ISEND, "recv": RECV, "irecv": IRECV,
    "sendrecv": SENDRECV, "wait": WAIT, "test": TEST, "waitall": WAITALL, "barrier": BARRIER, "bcast": BCAST,
    "reduce": REDUCE, "allreduce": ALLREDUCE, "alltoall": ALLTOALL, "alltoallv": ALLTOALLV, "gather": GATHER,
    "scatter": SCATTER, "scatterv": SCATTERV, "allgather": ALLGATHER, "reducescatter": REDUCESCATTER, "scan": SCAN,
}  # fmt: skip
"""The number of each action; readers know them by name, for what is compiled must depend on this folder alone."""

ACTION = np.dtype(
    [
        ("kind", "i8"),
        ("peer", "i8"),  # destination, source, root; of a wait the source,
        ("other", "i8"),  # and of it the destination; of an exchange the source
        ("line", "i8"),
        ("tag", "i8"),  # of a collective one that no message of a rank's own has
        ("bytes", "f8"),  # below 0: only the sender knows
        ("work", "f8"),  # flops, or seconds
        ("first", "i8"),  # of its list of bytes, one or two for each rank; -1: it has none
    ],
    align=True,
)
TRACE = np.dtype([("first", "i8"), ("ranks", "i8")], align=True)  # where the scripts of its ranks begin, and how many
SCRIPT = np.dtype([("first", "i8"), ("last", "i8")], align=True)  # of a rank: actions, from one to before another
MPI = np.dtype(
    [
        ("smpirun", "i8"),  # 1: messages have smpirun's factors, and share by its rules
        ("most", "i8"),  # slots of ranks that one job can need at an instant
        ("replays", "i8"),  # slots that were ever in use,
        ("spare_replay", "i8"),  # and the first of those given back, -1 for none
        ("ranks", "i8"),
        ("requests", "i8"),
        ("spare_request", "i8"),
        ("ready", "i8"),  # ranks that can go on now
        ("deadlocks", "i8"),  # replays whose ranks wait for one another for ever
        ("unread", "i8"),  # messages that nobody received
    ],
    align=True,
)
REPLAY = np.dtype(
    [
        ("owner", "i8"),
        ("trace", "i8"),
        ("first", "i8"),  # its ranks
        ("ranks", "i8"),
        ("unfinished", "i8"),
        ("busy", "i8"),  # ranks that can go on, and activities; 0 with some unfinished: they wait for one another
        ("live", "i8"),  # requests that are not given back
        ("next", "i8"),
    ],
    align=True,
)
RANK = np.dtype(
    [
        ("replay", "i8"),
        ("number", "i8"),
        ("host", "i8"),
        ("action", "i8"),  # that it is at,
        ("last", "i8"),  # the one behind its last,
        ("step", "i8"),  # and how far it is with it
        ("state", "i8"),
        ("open", "i8"),  # requests of this action that are not over
        ("pending", "i8"),  # requests of its own that are not over,
        ("held", "i8"),  # the first of all that it has not waited for yet, -1 for none,
        ("last_held", "i8"),
        ("awaited", "i8"),  # and the one that it waits for
        ("tries", "i8"),  # tests in a row that found nothing, and one
        ("activity", "i8"),  # what it computes, or how long it sleeps; -1: nothing
        ("since", "f8"),
        ("end", "f8"),
        ("next", "i8"),
    ],
    align=True,
)
REQUEST = np.dtype(
    [
        ("replay", "i8"),
        ("rank", "i8"),  # whose it is
        ("receiver", "i8"),  # slot of the rank that receives
        ("source", "i8"),
        ("target", "i8"),
        ("tag", "i8"),
        ("bytes", "f8"),
        ("is_send", "i1"),
        ("is_waited_for", "i1"),  # 0: the sender has forgotten it
        ("is_held", "i1"),  # 1: the rank made it by an action of its own, and may wait for it
        ("state", "i1"),
        ("partner", "i8"),  # the sender's, where the message is under way and it is waited for; -1: none is
        ("activity", "i8"),
        ("next", "i8"),  # in its chain,
        ("before", "i8"),
        ("later", "i8"),  # and among those that its rank holds
        ("earlier", "i8"),
    ],
    align=True,
)
DEADLOCK = np.dtype(
    [
        ("owner", "i8"),
        ("job", "i8"),
        ("trace", "i8"),
        ("rank", "i8"),
        ("action", "i8"),
        ("count", "i8"),
        ("time", "f8"),
    ],
    align=True,
)
