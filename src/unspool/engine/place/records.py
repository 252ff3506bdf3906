"""What machines are, as rows of arrays: machines, parts of the network, shapes of jobs, and rows of machines."""

from __future__ import annotations

import numpy as np

__all__ = ["DOMAIN", "MACHINE", "ROW", "SHAPE"]

MACHINE = np.dtype(
    [
        ("group", "i8"),
        ("mark", "i8"),  # 1: this machine stands in the list of touched ones
        ("touched", "i8"),  # that list: row k holds the k-th touched machine
        ("now", "i8"),  # units of the watched shape that fit now,
        ("later", "i8"),  # and for EASY at the shadow time, where the machine is touched
        ("fit", "i8"),  # selection: units that fit, units given,
        ("given", "i8"),
        ("order", "i8"),  # and the k-th machine to try
        ("domain", "i8"),  # which part of the network it is in
    ],
    align=True,
)
DOMAIN = np.dtype(
    [
        ("room", "i8"),  # selection: units that fit in this part of the network,
        ("taken", "i8"),  # and how many of them a job takes
        ("load", "i8"),  # units here of running jobs that are elsewhere too: they use what leads out of it
    ],
    align=True,
)
SHAPE = np.dtype(
    [
        ("units", "i8"),
        ("distinct", "i8"),  # 1: each unit on a machine of its own
        ("cores", "i8"),  # a unit's
        ("partition", "i8"),
        ("plain", "i8"),  # 1: asks for cores only and no licence
        ("failed", "i8"),  # value of `releases` at which it last found no room
        ("refused", "i8"),  # value of `releases` + `attempts` at which it would last have delayed the head
        ("parts", "i8"),  # of the network that it may be in at the most
        ("local", "i8"),  # 1: that is one, however machines are chosen
    ],
    align=True,
)
ROW = np.dtype([("first", "i4"), ("last", "i4"), ("units", "i4")])
