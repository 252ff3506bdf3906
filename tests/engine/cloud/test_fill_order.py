"""The index of machines against a sorted list."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from unspool.engine.cloud.fill_order import first_with_room, next_with_room, put_in, take_out
from unspool.engine.cloud.records import NODE

MACHINES = 24
TREE = 1
amounts = st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(0, 1))
keys = st.tuples(st.integers(0, 2), st.sampled_from([0.0, 0.25, 0.5]), st.integers(0, 3))
steps = st.tuples(st.integers(0, MACHINES - 1), st.booleans(), amounts, keys, amounts)


def all_with_room(nodes, roots, free, cores, memory, gpus):
    found = []
    machine = first_with_room(nodes, free, roots[TREE], cores, float(memory), float(gpus))
    while machine >= 0:
        found.append(machine)
        machine = next_with_room(nodes, free, machine, cores, float(memory), float(gpus))
    return found


@settings(max_examples=60)
@given(st.lists(steps, min_size=1, max_size=80))
def test_machines_with_room_come_in_their_order(changes):
    nodes = np.zeros(MACHINES, NODE)
    nodes["tree"] = -1
    roots, free, inside = np.full(3, -1, np.int64), np.zeros((MACHINES, 3)), set()
    for machine, goes_in, amount, (rank, fullness, changed), (cores, memory, gpus) in changes:
        take_out(nodes, roots, free, machine)
        inside.discard(machine)
        if goes_in:
            free[machine] = amount
            nodes[machine]["rank"], nodes[machine]["fullness"], nodes[machine]["changed"] = rank, fullness, changed
            put_in(nodes, roots, free, TREE, machine)
            inside.add(machine)
        order = sorted(inside, key=lambda m: (nodes[m]["rank"], -nodes[m]["fullness"], nodes[m]["changed"], m))
        wanted = [m for m in order if (free[m] >= (max(cores, 1), memory, gpus)).all()]
        assert all_with_room(nodes, roots, free, max(cores, 1), memory, gpus) == wanted


def test_search_skips_machines_that_lack_either_cores_or_memory():
    nodes = np.zeros(4, NODE)
    nodes["tree"] = -1
    roots, free = np.full(3, -1, np.int64), np.array([(8, 0, 0), (0, 64, 0), (4, 8, 0), (8, 64, 1)], float)
    for machine in range(4):
        nodes[machine]["changed"] = machine
        put_in(nodes, roots, free, TREE, machine)
    assert all_with_room(nodes, roots, free, 2, 4, 0) == [2, 3]
    assert all_with_room(nodes, roots, free, 1, 1, 1) == [3]
    take_out(nodes, roots, free, 3)
    assert all_with_room(nodes, roots, free, 8, 1, 0) == []
