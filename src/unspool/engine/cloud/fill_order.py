"""Machines in the order in which they are to be filled: by rank of price, then the fullest, then the longest unchanged.

Each tree is a treap (Seidel and Aragon: "Randomized search trees", Algorithmica 1996) over the machines that have a
core free. A node also knows the most memory that is free below it on machines with 1, 2, 4, … free cores, so that the
first machine in order that has room for a request is found without a look at those that have none: the time grows with
the logarithm of the machines, whether they run out of cores or of memory.
"""

from __future__ import annotations

from unspool.engine.cloud.records import SIZES
from unspool.engine.kernel.compiled import compiled, inlined
from unspool.engine.kernel.state import Array

__all__ = ["first_with_room", "next_with_room", "put_in", "take_out"]

_NONE = -1


@compiled
def put_in(nodes: Array, roots: Array, free: Array, tree: int, machine: int) -> None:
    """Put a machine into a tree; its rank, fullness and time of change are set."""
    nodes[machine]["tree"] = tree
    nodes[machine]["left"] = nodes[machine]["right"] = _NONE
    nodes[machine]["priority"] = _mixed(machine)
    parent = _NONE
    at = roots[tree]
    is_left = False
    while at >= 0:
        parent = at
        is_left = _is_before(nodes, machine, at)
        at = nodes[at]["left"] if is_left else nodes[at]["right"]
    nodes[machine]["parent"] = parent
    if parent < 0:
        roots[tree] = machine
    elif is_left:
        nodes[parent]["left"] = machine
    else:
        nodes[parent]["right"] = machine
    _sum_up(nodes, free, machine)
    while nodes[machine]["parent"] >= 0:
        above = nodes[machine]["parent"]
        if nodes[above]["priority"] >= nodes[machine]["priority"]:
            break
        _rotate(nodes, roots, free, machine)
    _sum_up_above(nodes, free, machine)


@compiled
def take_out(nodes: Array, roots: Array, free: Array, machine: int) -> None:
    """Take a machine out of the tree that it is in, if it is in one."""
    if nodes[machine]["tree"] < 0:
        return
    while nodes[machine]["left"] >= 0 or nodes[machine]["right"] >= 0:
        left, right = nodes[machine]["left"], nodes[machine]["right"]
        child = left
        if left < 0 or (right >= 0 and nodes[right]["priority"] > nodes[left]["priority"]):
            child = right
        _rotate(nodes, roots, free, child)
    above = nodes[machine]["parent"]
    if above < 0:
        roots[nodes[machine]["tree"]] = _NONE
    elif nodes[above]["left"] == machine:
        nodes[above]["left"] = _NONE
    else:
        nodes[above]["right"] = _NONE
    nodes[machine]["tree"] = _NONE
    if above >= 0:
        _sum_up(nodes, free, above)
        _sum_up_above(nodes, free, above)


@compiled
def first_with_room(nodes: Array, free: Array, root: int, cores: int, memory: float, gpus: float) -> int:
    """The first machine of a tree, in its order, that has room, or -1."""
    if root < 0:
        return _NONE
    return _search(nodes, free, root, False, cores, memory, gpus)


@compiled
def next_with_room(nodes: Array, free: Array, machine: int, cores: int, memory: float, gpus: float) -> int:
    """The next one after a machine of the tree, or -1."""
    return _search(nodes, free, machine, True, cores, memory, gpus)


@compiled
def _search(nodes: Array, free: Array, at: int, is_done: bool, cores: int, memory: float, gpus: float) -> int:
    """Go through a tree in order from a node on, or from behind it, and past what has no room."""
    size = _class_of(cores)
    while True:
        if not is_done:
            left = nodes[at]["left"]
            while left >= 0 and nodes[left]["memory"][size] >= memory and nodes[left]["gpus"] >= gpus:
                at = left
                left = nodes[at]["left"]
        while True:
            if not is_done and free[at, 0] >= cores and free[at, 1] >= memory and free[at, 2] >= gpus:
                return at
            is_done = False
            right = nodes[at]["right"]
            if right >= 0 and nodes[right]["memory"][size] >= memory and nodes[right]["gpus"] >= gpus:
                at = right
                break
            above = nodes[at]["parent"]
            while above >= 0 and nodes[above]["right"] == at:
                at = above
                above = nodes[at]["parent"]
            if above < 0:
                return _NONE
            at = above


@inlined
def _class_of(cores: int) -> int:
    """The largest class of free cores that is not larger than a request."""
    size = 0
    while size < SIZES - 1 and (2 << size) <= cores:
        size += 1
    return size


@inlined
def _is_before(nodes: Array, one: int, other: int) -> bool:
    """Whether a machine is to be filled before another."""
    before = one < other
    if nodes[one]["rank"] != nodes[other]["rank"]:
        before = nodes[one]["rank"] < nodes[other]["rank"]
    elif nodes[one]["fullness"] != nodes[other]["fullness"]:
        before = nodes[one]["fullness"] > nodes[other]["fullness"]
    elif nodes[one]["changed"] != nodes[other]["changed"]:
        before = nodes[one]["changed"] < nodes[other]["changed"]
    return before


@compiled
def _rotate(nodes: Array, roots: Array, free: Array, child: int) -> None:
    """Bring a node above its parent."""
    parent = nodes[child]["parent"]
    above = nodes[parent]["parent"]
    if nodes[parent]["left"] == child:
        moved = nodes[child]["right"]
        nodes[parent]["left"] = moved
        nodes[child]["right"] = parent
    else:
        moved = nodes[child]["left"]
        nodes[parent]["right"] = moved
        nodes[child]["left"] = parent
    if moved >= 0:
        nodes[moved]["parent"] = parent
    nodes[parent]["parent"] = child
    nodes[child]["parent"] = above
    if above < 0:
        roots[nodes[child]["tree"]] = child
    elif nodes[above]["left"] == parent:
        nodes[above]["left"] = child
    else:
        nodes[above]["right"] = child
    _sum_up(nodes, free, parent)
    _sum_up(nodes, free, child)


@compiled
def _sum_up_above(nodes: Array, free: Array, at: int) -> None:
    """Make what the nodes above one know of it true again."""
    above = nodes[at]["parent"]
    while above >= 0 and _sum_up(nodes, free, above):
        above = nodes[above]["parent"]


@compiled
def _sum_up(nodes: Array, free: Array, at: int) -> bool:
    """Make what a node knows of itself and of those below it true; whether that changed anything."""
    left, right = nodes[at]["left"], nodes[at]["right"]
    is_new = False
    gpus = free[at, 2]
    if left >= 0:
        gpus = max(gpus, nodes[left]["gpus"])
    if right >= 0:
        gpus = max(gpus, nodes[right]["gpus"])
    if gpus != nodes[at]["gpus"]:
        nodes[at]["gpus"] = gpus
        is_new = True
    for size in range(SIZES):
        most = free[at, 1] if free[at, 0] >= (1 << size) else -1.0
        if left >= 0:
            most = max(most, nodes[left]["memory"][size])
        if right >= 0:
            most = max(most, nodes[right]["memory"][size])
        if most != nodes[at]["memory"][size]:
            nodes[at]["memory"][size] = most
            is_new = True
    return is_new


@inlined
def _mixed(machine: int) -> int:
    """A number that looks random, the same for the same machine. No step leaves 63 bits, so that none overflows."""
    mixed = (machine * 2654435761) & 0xFFFFFFFF
    mixed = ((mixed ^ (mixed >> 15)) * 1274126177) & 0xFFFFFFFF
    return mixed ^ (mixed >> 16)
