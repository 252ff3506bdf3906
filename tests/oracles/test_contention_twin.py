"""The slow twin of the sharing model: SimGrid's recorded times, cases on paper, and laws."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import fluid_laws as laws
from tests.oracles.contention import finish_times, replay
from tests.strategies_fluid import changes, mesh, networks, scenes, star, tasks

from unspool.conform.contention import read_cases
from unspool.simulation.tasks import FluidTask, SpeedChange

CASES = Path(os.environ.get("UNSPOOL_CASES", Path(__file__).parents[3] / "shared" / "cases")) / "contention"
BOTH = pytest.mark.parametrize("sharing", ["simgrid", "clean"])


@pytest.mark.parametrize("name", ["ptask_cases", "ptask_random_cases", "ptask_speed_change_cases"])
def test_every_task_ends_when_simgrid_says(name):
    path = CASES / f"{name}.json"
    if not path.exists():
        pytest.skip(f"the cases are not here: no contention/{name}.json under UNSPOOL_CASES")
    cases = read_cases(path)
    assert cases
    for case in cases:
        found = finish_times(case.network, case.tasks, case.changes, gamma=case.gamma)
        recorded = [case.finish[task.name] for task in case.tasks]
        assert found == pytest.approx(recorded, rel=1e-12, abs=0), case.name


def test_the_two_variants_agree_on_all_hand_made_cases_but_two():
    path = CASES / "ptask_cases.json"
    if not path.exists():
        pytest.skip("the cases are not here: no contention/ptask_cases.json under UNSPOOL_CASES")
    differ = []
    for case in read_cases(path):
        both = [
            finish_times(case.network, case.tasks, case.changes, gamma=case.gamma, sharing=sharing)
            for sharing in ("simgrid", "clean")
        ]
        if both[0] != pytest.approx(both[1], rel=1e-9):
            differ.append(case.name)
    assert differ == ["cpu_chain_stale_increment", "fatpipe_overshoot"]


def one_core(*flops, start=0.0):
    return [FluidTask(f"t{at}", start, (0,), (amount,), ()) for at, amount in enumerate(flops)]


@BOTH
def test_tasks_on_one_core_share_it_equally_and_not_by_their_size(sharing):
    network = mesh([(1e9, 1)], [], {})
    assert finish_times(network, one_core(1e9, 4e9, 9e9), sharing=sharing) == pytest.approx([3.0, 9.0, 14.0])


@BOTH
def test_an_entry_of_the_host_list_uses_one_core_at_the_most(sharing):
    network = mesh([(1e9, 4)], [], {})
    assert finish_times(network, one_core(2e9), sharing=sharing) == [2.0]
    # Six entries on four cores: each has two thirds of a core.
    assert finish_times(network, one_core(*[2e9] * 6), sharing=sharing) == pytest.approx([3.0] * 6)


@BOTH
def test_latency_is_paid_once_and_holds_up_the_flops_too(sharing):
    network = mesh([(1e9, 1), (1e9, 1)], [(1e8, 0.5)], {(0, 1): (0,), (1, 0): (0,)})
    task = FluidTask("t", 1.0, (0, 1), (2e9, 0.0), (0.0, 1e3, 1e3, 0.0))
    assert finish_times(network, [task], sharing=sharing) == [3.5]


@BOTH
def test_the_window_of_tcp_bounds_what_a_long_way_carries(sharing):
    network = mesh([(1e9, 1), (1e9, 1)], [(1.25e9, 0.05)], {(0, 1): (0,)})
    task = FluidTask("t", 0.0, (0, 1), (), (0.0, 1e9, 0.0, 0.0))
    assert finish_times(network, [task], sharing=sharing) == pytest.approx([0.05 + 1e9 * 2 * 0.05 / 4194304])
    assert finish_times(network, [task], gamma=65536.0, sharing=sharing) == pytest.approx([0.05 + 1e8 / 65536])


@BOTH
def test_all_to_all_on_a_star_is_held_up_by_its_busiest_link(sharing):
    hosts, links = [(1e9, 1)] * 4, [(1.25e8, 0.0)] * 4
    com = tuple(0.0 if p == q else 1e8 for p in range(4) for q in range(4))
    task = [FluidTask("t", 0.0, (0, 1, 2, 3), (), com)]
    assert finish_times(star(hosts, links, (1e10, 0.0), split=True), task, sharing=sharing) == pytest.approx([2.4])
    assert finish_times(star(hosts, links, (1e10, 0.0), split=False), task, sharing=sharing) == pytest.approx([4.8])
    assert finish_times(star(hosts, links, (2e8, 0.0), split=True), task, sharing=sharing) == pytest.approx([6.0])
    fat = star(hosts, links, (1e7, 0.0, True), split=True)
    assert finish_times(fat, task, sharing=sharing) == pytest.approx([10.0])


@BOTH
def test_a_task_without_work_ends_as_it_starts_and_one_host_has_no_matrix(sharing):
    network = mesh([(1e9, 1)], [], {})
    nothing = FluidTask("n", 2.0, (0, 0), (0.0, 0.0), (0.0,) * 4)
    matrix = FluidTask("m", 1.0, (0,), (1e9,), (1e12,))
    assert finish_times(network, [nothing, matrix], sharing=sharing) == [2.0, 2.0]


@BOTH
def test_a_host_that_slows_down_slows_its_tasks_from_then_on(sharing):
    network = mesh([(1e9, 1)], [], {})
    # 2e9 flop are done at 2 s, half speed until 4 s does 1e9, and 1e9 are left at 4e9 flop/s.
    turns = [SpeedChange(2.0, 0, 5e8), SpeedChange(4.0, 0, 4e9)]
    assert finish_times(network, one_core(4e9), turns, sharing=sharing) == pytest.approx([4.25])


def test_capacity_is_lost_to_tasks_that_closed_in_an_earlier_round_only_in_simgrids_variant():
    # Of host 0 two tasks are held to 1e8 and 2.6e8 flop/s by their other hosts; two have nothing else.
    network = mesh([(1e9, 1), (1e8, 1), (2.6e8, 1)], [], {})
    held = [FluidTask(f"h{at}", 0.0, (0, at), (1e9, 1e9), ()) for at in (1, 2)]
    free = [FluidTask(f"f{at}", 0.0, (0,), (1e9,), ()) for at in (1, 2)]
    # 6.4e8 are left for the free ones.
    assert finish_times(network, [*held, *free], sharing="clean")[2:] == pytest.approx([3.125, 3.125])
    # Round 1 gives 2.5e8 each and leaves 1.5e8; round 2 gives 5e7 each, and takes the first one's 1e8 once more.
    assert finish_times(network, [*held, *free], sharing="simgrid")[2:] == pytest.approx([10 / 3, 10 / 3])


def test_a_fat_link_gives_more_than_it_has_only_in_simgrids_variant():
    network = mesh([(1e9, 1), (1e7, 1)], [(1e8, 0.0, True)], {(0, 1): (0,), (1, 0): (0,)})
    fast = FluidTask("fast", 0.0, (0, 1), (), (0.0, 1e9, 0.0, 0.0))
    slow = FluidTask("slow", 0.0, (0, 1), (0.0, 1e9), (0.0, 1e8, 0.0, 0.0))
    assert finish_times(network, [fast, slow], sharing="clean") == pytest.approx([10.0, 100.0])
    assert finish_times(network, [fast, slow], sharing="simgrid")[0] < 10.0


@given(scene=scenes(), sharing=st.sampled_from(["simgrid", "clean"]))
def test_rates_are_never_negative_and_add_up_to_the_whole_task(scene, sharing):
    network, started, turns = scene
    _, steps = replay(network, started, turns, sharing=sharing)
    assert all(rate >= 0 for step in steps for rate in step.rates.values())
    for at, task in enumerate(started):
        done = sum(step.rates.get(at, 0.0) * (step.end - step.begin) for step in steps)
        assert done == pytest.approx(1.0 if laws.resources(network, task) else 0.0)


@given(scene=scenes())
def test_no_resource_gives_more_than_it_has_at_any_time_in_the_clean_variant(scene):
    network, started, turns = scene
    used = [laws.resources(network, task) for task in started]
    for step in replay(network, started, turns, sharing="clean")[1]:
        for resource in {resource for at in step.rates for resource in used[at]}:
            kind, number = resource
            has = network.hosts[number].cores * step.speeds[number] if kind == "host" else laws.most(network, resource)
            amounts = [used[at].get(resource, 0.0) * rate for at, rate in step.rates.items()]
            assert (max if laws.fat(network, resource) else sum)(amounts) <= has * (1 + 1e-9)


@given(data=st.data(), network=networks(), sharing=st.sampled_from(["simgrid", "clean"]))
def test_a_change_of_speed_to_the_same_speed_changes_nothing(data, network, sharing):
    started = data.draw(tasks(network))
    same = [SpeedChange(turn.time, turn.host, network.hosts[turn.host].speed) for turn in data.draw(changes(network))]
    found = finish_times(network, started, same, sharing=sharing)
    assert found == pytest.approx(finish_times(network, started, sharing=sharing), rel=1e-9, abs=1e-9)
