"""Waiting jobs in the scheduler's order, indexed so that a backfill scan never reads a job that cannot start.

A job's slot is its place in the order of all jobs, fixed before the run; where the order changes while jobs wait,
`engine/jobs/order.py` deals slots anew. The slots in use are a bitset (`engine/kernel/bitset.py`). Each of its words,
on every level, also knows the least size below it and, for each class of sizes, the least estimate of a job of that
class or a narrower one. A question such as "the next job with size <= free and (size <= extra or now + estimate <=
shadow)" skips every word whose minima already say no; the class keeps a short
job that is too large from hiding behind a small one that is too long. `now + estimate <= shadow` is written so, never
`estimate <= shadow - now`: rounding is then monotone and skipping is exact. Policies that never ask so have no minima
kept for them (`has_minima` of the course).
"""

from __future__ import annotations

import numpy as np

from unspool.engine.jobs.records import CLASSES
from unspool.engine.kernel.bitset import WORD, lowest
from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.state import NEVER, QUEUED, Array, Core

__all__ = [
    "dequeue", "empty_slots", "enqueue", "fill_slot", "first_waiting", "least_size", "list_fresh", "list_waiting",
    "next_fitting", "next_waiting", "waits_at",
]  # fmt: skip

_SHIFT = 5
_MASK = WORD - 1
_FULL = 0xFFFFFFFF
_HUGE = 1 << 62
# What stands for the planned end of a waiting job that has no plan.
_NEW, _SEEN = 0.0, -1.0


@inlined
def _class_of(size: int) -> int:
    """The narrowest class of sizes that holds a size."""
    return int(size > 3) + int(size > 7) + int(size > 15) + int(size > 31) + int(size > 63)


@compiled
def enqueue(core: Core, job: int) -> None:
    """A job joins the queue, in its slot; where the order changes with time, behind the others until all are ranked."""
    course, fate = core.course, core.fate
    if course[0]["next_slot"] >= 0:
        if course[0]["next_slot"] == len(core.waiting):
            _close_gaps(core)
        fate[job]["slot"] = course[0]["next_slot"]
        course[0]["next_slot"] += 1
    fate[job]["state"] = QUEUED
    fate[job]["planned_end"] = _NEW
    course[0]["queued"] += 1
    slot = fate[job]["slot"]
    if slot < course[0]["first"]:
        course[0]["first"] = slot
    if slot < course[0]["fresh"]:
        course[0]["fresh"] = slot
    _fill(core, job)


@compiled
def _close_gaps(core: Core) -> None:
    """Slots have run out, because jobs joined the queue more than once: move all to the front, in their order."""
    course = core.course
    slot = next_waiting(core, 0)
    count = 0
    while slot >= 0:
        job = core.waiting[slot]["job"]
        _empty(core, slot)
        core.fate[job]["slot"] = count
        fill_slot(core, job)
        count += 1
        slot = next_waiting(core, slot + 1)
    course[0]["next_slot"] = count
    course[0]["first"] = 0 if count > 0 else len(core.waiting)
    course[0]["fresh"] = course[0]["first"]
    course[0]["releases"] += 1  # what was found out of slots no longer holds


@compiled
def fill_slot(core: Core, job: int) -> None:
    """Write a job into its slot, and the slot into the index."""
    _fill(core, job)


@inlined
def _fill(core: Core, job: int) -> None:
    """The same as a part of the caller: a call copies what it passes, and every job comes through here."""
    waiting, tree = core.waiting, core.words
    slot = core.fate[job]["slot"]
    size = core.jobs[job]["size"]
    estimate = core.fate[job]["estimate"]
    waiting[slot]["estimate"] = estimate
    waiting[slot]["size"] = size
    waiting[slot]["job"] = job
    narrowest = _class_of(size)
    words = len(waiting)
    base = 0
    at = slot
    while True:
        words = (words + _MASK) >> _SHIFT
        word = base + (at >> _SHIFT)
        before = tree[word]["bits"]
        tree[word]["bits"] = before | (1 << (at & _MASK))
        if core.course[0]["has_minima"] == 0:
            if before != 0:
                return  # every level above knows the word
        elif before == 0:
            tree[word]["size"] = size
            for kind in range(CLASSES):
                tree[word]["least"][kind] = estimate if kind >= narrowest else NEVER
        elif size >= tree[word]["size"] and estimate >= tree[word]["least"][narrowest]:
            return  # every level above knows the word and has minima as low
        else:
            tree[word]["size"] = min(tree[word]["size"], size)
            for kind in range(narrowest, CLASSES):
                tree[word]["least"][kind] = min(tree[word]["least"][kind], estimate)
        if words <= 1:
            return
        base += words
        at >>= _SHIFT


@inlined
def waits_at(core: Core, slot: int) -> bool:
    """Whether a slot is in use."""
    return bool((core.words[slot >> _SHIFT]["bits"] >> (slot & _MASK)) & 1)


@inlined
def dequeue(core: Core, job: int) -> None:
    """Take a job out of its slot."""
    course = core.course
    slot = core.fate[job]["slot"]
    course[0]["queued"] -= 1
    _empty(core, slot)
    if slot == course[0]["first"]:
        course[0]["first"] = len(core.waiting)
        if course[0]["queued"] > 0:
            course[0]["first"] = slot + 1 if waits_at(core, slot + 1) else next_waiting(core, slot + 1)


@compiled
def empty_slots(core: Core, first: int, last: int) -> None:
    """Take all slots from first to last out of the index; no other may be in use."""
    words = len(core.waiting)
    base = 0
    while True:
        words = (words + _MASK) >> _SHIFT
        first >>= _SHIFT
        last >>= _SHIFT
        for word in range(base + first, base + last + 1):
            core.words[word]["bits"] = 0
        if words <= 1:
            return
        base += words


@inlined
def _empty(core: Core, slot: int) -> None:
    """Take a slot out of the index."""
    if core.course[0]["has_minima"] == 0:
        _unmark(core.words, len(core.waiting), slot)
    else:
        _clear(core.waiting, core.words, slot)


@inlined
def _unmark(tree: Array, slots: int, at: int) -> None:
    """Take a slot out of an index without minima."""
    words = slots
    base = 0
    while True:
        words = (words + _MASK) >> _SHIFT
        word = base + (at >> _SHIFT)
        tree[word]["bits"] &= ~(1 << (at & _MASK))
        if tree[word]["bits"] != 0 or words <= 1:
            return
        base += words
        at >>= _SHIFT


@compiled
def _clear(waiting: Array, tree: Array, at: int) -> None:
    """Take a slot out of an index, and make the minima above it exact again."""
    size = waiting[at]["size"]
    estimate = waiting[at]["estimate"]
    narrowest = _class_of(size)
    words = len(waiting)
    base = 0
    below = 0
    level = 0
    gone = True  # the bit below is to be cleared, not only its minima renewed
    while True:
        words = (words + _MASK) >> _SHIFT
        word = base + (at >> _SHIFT)
        if gone:
            tree[word]["bits"] &= ~(1 << (at & _MASK))
        gone = tree[word]["bits"] == 0
        if not gone:
            if tree[word]["size"] < size and tree[word]["least"][narrowest] < estimate:
                return
            size_before, least_before = tree[word]["size"], tree[word]["least"][narrowest]
            if level == 0:
                _renew_leaf(waiting, tree, word)
            else:
                _renew_node(tree, word, below + ((at >> _SHIFT) << _SHIFT))
            if tree[word]["size"] == size_before and tree[word]["least"][narrowest] == least_before:
                return  # others have the same minima: nothing changes above
        if words <= 1:
            return
        below = base
        base += words
        at >>= _SHIFT
        level += 1


@inlined
def _renew_leaf(waiting: Array, tree: Array, word: int) -> None:
    """Make the minima of a word over slots exact."""
    for kind in range(CLASSES):
        tree[word]["least"][kind] = NEVER
    least_size = _HUGE
    left = tree[word]["bits"]
    while left != 0:
        slot = np.uint64((word << _SHIFT) + lowest(left))
        left &= left - 1
        least_size = min(least_size, waiting[slot]["size"])
        narrowest = np.uint64(_class_of(waiting[slot]["size"]))
        tree[word]["least"][narrowest] = min(tree[word]["least"][narrowest], waiting[slot]["estimate"])
    for kind in range(1, CLASSES):
        tree[word]["least"][kind] = min(tree[word]["least"][kind], tree[word]["least"][kind - 1])
    tree[word]["size"] = least_size


@inlined
def _renew_node(tree: Array, word: int, first: int) -> None:
    """Make the minima of a word over words exact; `first` is the first of those."""
    for kind in range(CLASSES):
        tree[word]["least"][kind] = NEVER
    least_size = _HUGE
    left = tree[word]["bits"]
    while left != 0:
        child = np.uint64(first + lowest(left))
        left &= left - 1
        least_size = min(least_size, tree[child]["size"])
        for kind in range(CLASSES):
            tree[word]["least"][kind] = min(tree[word]["least"][kind], tree[child]["least"][kind])
    tree[word]["size"] = least_size


@compiled
def first_waiting(core: Core) -> int:
    """The slot of the head of the queue, or -1."""
    return core.course[0]["first"] if core.course[0]["queued"] > 0 else -1


@inlined
def least_size(core: Core) -> int:
    """The least size of the jobs that wait; somebody must."""
    return core.words[len(core.words) - 1]["size"]  # type: ignore[no-any-return]


@compiled
def next_fitting(core: Core, slot: int, free: int, extra: int, shadow: float) -> int:
    """The next slot, from `slot` on, whose job has size <= free and (size <= extra or ends by the shadow), or -1."""
    waiting, tree = core.waiting, core.words
    now = core.course[0]["now"]
    widest = _class_of(free)
    members = len(waiting)
    level = 0
    base = 0  # where this level begins
    below = 0  # where the level below begins
    words = (members + _MASK) >> _SHIFT
    at = slot
    while True:
        word_index = at >> _SHIFT
        descended = False
        if word_index < words:
            left = tree[base + word_index]["bits"] & (_FULL << (at & _MASK)) & _FULL
            while left != 0:
                child = (word_index << _SHIFT) + lowest(left)
                left &= left - 1
                if level == 0:
                    size = waiting[np.uint64(child)]["size"]
                    if size <= free and (size <= extra or now + waiting[np.uint64(child)]["estimate"] <= shadow):
                        return child
                else:
                    node = np.uint64(below + child)
                    size = tree[node]["size"]
                    if size <= free and (size <= extra or now + tree[node]["least"][np.uint64(widest)] <= shadow):
                        level -= 1
                        base = below
                        words = members
                        below = 0
                        for step in range(level + 1):
                            words = (words + _MASK) >> _SHIFT
                            if step < level - 1:
                                below += words
                        at = child << _SHIFT
                        descended = True
                        break
        if descended:
            continue
        if words <= 1:
            return -1
        below = base
        base += words
        words = (words + _MASK) >> _SHIFT
        at = word_index + 1
        level += 1


@compiled
def next_waiting(core: Core, slot: int) -> int:
    """The next slot in use, from `slot` on, or -1; `slot` may lie behind the last one."""
    return next_fitting(core, slot, _HUGE, _HUGE, NEVER)


@compiled
def list_waiting(core: Core, slot: int, jobs: Array) -> int:
    """Write waiting jobs, from a slot on, into `jobs` until it is full; returns how many there were."""
    count = 0
    while count < len(jobs) and slot < len(core.waiting):
        slot = next_waiting(core, slot)
        if slot < 0:
            break
        jobs[count] = core.waiting[slot]["job"]
        count += 1
        slot += 1
    return count


@compiled
def list_fresh(core: Core, jobs: Array, forget: bool) -> int:
    """Write the jobs that joined the queue since they were last forgotten into `jobs`; returns how many there were."""
    count = 0
    slot = core.course[0]["fresh"]
    while slot < len(core.waiting):
        slot = next_waiting(core, slot)
        if slot < 0:
            break
        job = core.waiting[slot]["job"]
        if core.fate[job]["planned_end"] == _NEW:
            if count < len(jobs):
                jobs[count] = job
            count += 1
            if forget:
                core.fate[job]["planned_end"] = _SEEN
        slot += 1
    if forget:
        core.course[0]["fresh"] = len(core.waiting)
    return count
