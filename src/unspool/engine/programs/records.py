"""What jobs do, as rows of arrays: programs, frames of those that run, messages, and what hosts compute."""

from __future__ import annotations

import numpy as np

__all__ = ["FLUID", "FRAME", "LETTER", "LOAD", "METER", "MOVE", "NOTED", "PROGRAM", "SAID", "SEAT"]

# What jobs do once they run.
FLUID = np.dtype(
    [
        ("launched", "i8"),  # attempts whose jobs have begun to do what they do
        ("steps", "i8"),  # of jobs
        ("strict", "i8"),  # 1: a delay that ends with the walltime is cut by it, as in Batsim
        ("slots", "i8"),  # of frames that were ever in use,
        ("spare", "i8"),  # and the first of those given back, -1 for none
        ("todo", "i8"),  # moves that are to be made
        ("leaves", "i8"),  # the most activities that one job can have at once,
        ("nodes", "i8"),  # frames that it can need,
        ("elements", "i8"),  # and elements of a task
        ("said", "i8"),  # messages of jobs,
        ("letters", "i8"),  # and messages to them
        ("seated", "i8"),  # executors that were mapped
        ("stuck", "i8"),  # a job whose task has no way between two of its hosts; -1: none has
    ],
    align=True,
)
PROGRAM = np.dtype(
    [
        ("kind", "i8"),
        ("code", "i8"),
        ("first", "i8"),  # member, or amount: cpu, then com,
        ("count", "i8"),  # and how many members, or executors
        ("repeat", "i8"),
        ("spread", "i8"),
        ("seconds", "f8"),
        ("cpu", "f8"),
        ("com", "f8"),
        ("storage", "i8"),  # host,
        ("other", "i8"),  # and the one that data are moved to
        ("bit", "i8"),  # of those that wait for a message: its place in the masks of messages
        ("follows", "i8", (3,)),  # and what then follows: match, no match, no message; -1: nothing does
    ],
    align=True,
)
FRAME = np.dtype(
    [
        ("program", "i8"),
        ("job", "i8"),
        ("parent", "i8"),
        ("member", "i8"),  # that runs now, counted over repetitions
        ("open", "i8"),  # members that still run
        ("code", "i8"),
        ("activity", "i8"),  # -1: none
        ("since", "f8"),
        ("next", "i8"),  # frame of the same job
        ("before", "i8"),
    ],
    align=True,
)
MOVE = np.dtype([("frame", "i8"), ("program", "i8"), ("code", "i8")], align=True)  # begin a program, or end a frame
SEAT = np.dtype(
    [
        ("first", "i8"),
        ("count", "i8"),
        ("spare", "i8"),  # cores that the job asked for and was not given
    ],
    align=True,
)
SAID = np.dtype([("time", "f8"), ("job", "i8"), ("program", "i8")], align=True)
LETTER = np.dtype([("mask", "i8"), ("next", "i8")], align=True)
# What machines compute, for their power.
METER = np.dtype([("rows", "i8"), ("notes", "i8"), ("hosts", "i8")], align=True)
NOTED = np.dtype([("flops", "f8"), ("mix", "f8")], align=True)  # in all, and summed with weights that tell jobs apart
LOAD = np.dtype(
    [
        ("note", "i8"),  # rows of one note say all that its host computes from then on
        ("time", "f8"),
        ("host", "i8"),
        ("job", "i8"),  # -1: nobody's
        ("flops", "f8"),
    ],
    align=True,
)
