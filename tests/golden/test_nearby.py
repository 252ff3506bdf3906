"""Machines chosen by the parts of a network, on paper."""

from dataclasses import replace

import pytest
from tests.build import placements, workload
from tests.faces.batsim_build import networked

from unspool.engine.place.domains import domains_of
from unspool.errors import InputError
from unspool.model.platform import Platform
from unspool.model.profile import HomogeneousTask
from unspool.platforms import read_platform
from unspool.results.run import run

TREE = """\
machines: [{{type: node, count: {count}, cores: 1, speed: 1Gf}}]
network: {{bandwidth: 100MBps, switches: {{machines: 4, bandwidth: 50MBps, uplinks: {uplinks}}}}}
"""


def zones(selection, *sizes):
    """Zones of so many machines each."""
    return replace(networked({f"z{at}": [{}] * size for at, size in enumerate(sizes)}), selection=selection)


def placed(rows, platform, policy="fcfs"):
    result = run(workload(rows, machines=[row[2] for row in rows]), platform, policy)
    return {job: sorted(machines) for job, machines in placements(result).items()}


def test_a_job_goes_into_the_smallest_part_that_holds_it():
    # Parts of 4, 3 and 5 machines: 3 fit best into the second, then 4 into the first.
    assert placed([(0, 9, 3, 9), (0, 9, 4, 9)], zones("nearby", 4, 3, 5)) == {"a": [4, 5, 6], "b": [0, 1, 2, 3]}


def test_a_job_that_no_part_holds_takes_the_largest_first_and_then_the_best_fit_for_the_rest():
    # 7 of 4 + 3 + 5 machines: all 5 of the third, and for 2 more the part of 3.
    assert placed([(0, 9, 7, 9)], zones("nearby", 4, 3, 5)) == {"a": [4, 5, 7, 8, 9, 10, 11]}


def test_of_parts_with_as_much_room_the_one_with_fewer_units_of_scattered_jobs_is_taken():
    # Parts of 3, 3 and 2: a has the third until 5; b all of the first and one machine of the second, until 20.
    # At 6 two are free in the second and in the third, where no unit of b is.
    rows = [(0, 5, 2, 5), (0, 20, 4, 20), (6, 1, 2, 1)]
    assert placed(rows, zones("nearby", 3, 3, 2)) == {"a": [6, 7], "b": [0, 1, 2, 3], "c": [6, 7]}


def test_load_is_taken_off_when_a_scattered_job_ends():
    # a is on both parts until 5 (loads 2 and 1). At 6 both are empty and equal again: the first is taken.
    rows = [(0, 5, 3, 5), (6, 1, 2, 1)]
    assert placed(rows, zones("nearby", 2, 2)) == {"a": [0, 1, 2], "b": [0, 1]}


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative"])
def test_local_waits_for_a_part_that_holds_the_job_and_nearby_does_not(policy):
    # Two parts of 2, one machine of each is taken, until 5 and until 8.
    rows = [(0, 5, 1, 5), (0, 8, 2, 8), (1, 3, 2, 3)]
    for selection, start in (("nearby", 5.0), ("local", 5.0)):
        result = run(workload(rows, machines=[1, 2, 2]), zones(selection, 2, 2), policy)
        assert result.jobs["start_time"].to_list() == [0.0, 0.0, start]
    rows = [(0, 5, 1, 5), (0, 8, 1, 8), (0, 8, 1, 8), (1, 3, 2, 3)]
    # Parts of 2, 2 and 1: a on the last; b and c share the first; d has the second at once.
    assert placed(rows, zones("local", 2, 2, 1), policy)["d"] == [2, 3]
    rows = [(0, 5, 2, 5), (0, 8, 1, 8), (1, 3, 3, 3)]
    # Parts of 3 and 2: a has the second; b one of the first; for c two are free there now, all three at 8.
    starts = {
        selection: run(workload(rows, machines=[2, 1, 3]), zones(selection, 3, 2), policy).jobs["start_time"].to_list()
        for selection in ("nearby", "local")
    }
    assert starts == {"nearby": [0.0, 0.0, 5.0], "local": [0.0, 0.0, 8.0]}


def test_a_job_too_large_for_a_part_is_local_in_as_few_as_it_ever_could_be():
    # 4 machines need two parts of 3 at least: with one taken in each, they still fit into two.
    rows = [(0, 9, 1, 9), (0, 9, 4, 9)]
    assert placed(rows, zones("local", 3, 3)) == {"a": [0], "b": [1, 3, 4, 5]}


@pytest.mark.parametrize("selection", ["nearby", "local"])
def test_without_parts_machines_are_taken_by_number(selection):
    rows = [(0, 9, 1, 9), (0, 9, 2, 9)]
    plain = replace(networked({"z": [{}] * 4}), network=None, selection=selection)
    assert placed(rows, plain) == {"a": [0], "b": [1, 2]}
    assert placed(rows, zones(selection, 4)) == {"a": [0], "b": [1, 2]}


def test_parts_are_zones_or_what_leaves_by_the_same_links(tmp_path):
    (tmp_path / "t.yaml").write_text(TREE.format(count=10, uplinks=2))
    platform = read_platform(tmp_path / "t.yaml")
    assert domains_of(platform).tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]
    assert platform.network.hosts[9].zone == "switch-2"
    assert domains_of(Platform.pool(3)).tolist() == [0]


def test_routes_of_a_fat_tree_go_by_the_number_of_the_receiver(tmp_path):
    (tmp_path / "t.yaml").write_text(TREE.format(count=10, uplinks=2) + "storage: [{name: disk}, {name: tape}]\n")
    network = read_platform(tmp_path / "t.yaml").network

    def names(source, target):
        return [network.links[link].name for link in network.route(source, target)]

    assert names(0, 3) == ["node-0_UP", "node-3_DOWN"]
    assert names(0, 4) == ["node-0_UP", "switch-0_0_UP", "switch-1_0_DOWN", "node-4_DOWN"]
    assert names(8, 1) == ["node-8_UP", "switch-2_1_UP", "switch-0_1_DOWN", "node-1_DOWN"]
    assert names(0, 11) == ["node-0_UP", "switch-0_1_UP", "tape_DOWN"]
    assert names(10, 5) == ["disk_UP", "switch-1_1_DOWN", "node-5_DOWN"]
    assert names(10, 11) == ["disk_UP", "tape_DOWN"]
    assert names(2, 2) == ["node-2_UP", "node-2_DOWN"]


def test_too_many_uplinks_are_refused(tmp_path):
    (tmp_path / "t.yaml").write_text(TREE.format(count=4004, uplinks=2))
    with pytest.raises(InputError, match="1001 switches with 2 uplinks each; expected no more than 2000"):
        read_platform(tmp_path / "t.yaml")


@pytest.mark.parametrize(("selection", "seconds"), [("first", 60.0), ("nearby", 30.0), ("local", 30.0)])
def test_a_job_on_one_switch_does_not_wait_for_the_link_between(tmp_path, selection, seconds):
    # Machine 0 is taken. 4 machines send 1 GB to each other: 3 GB at 100 MB/s, or 3 GB over the link at 50 MB/s.
    (tmp_path / "t.yaml").write_text(TREE.format(count=8, uplinks=1))
    platform = replace(read_platform(tmp_path / "t.yaml"), selection=selection)
    jobs = workload([(0, 200, 1, 200), (1, 0, 4, 200)], machines=[1, 4], profile=[None, "talk"])
    result = run(replace(jobs, profiles={"talk": HomogeneousTask(1e9, 1e9)}), platform, "fcfs")
    assert result.jobs["run_time"].to_list() == pytest.approx([200.0, seconds])
