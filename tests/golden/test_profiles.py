"""What each profile does, alone and beside others, on paper: hosts of 1 Gflop/s, links of 100 MB/s each way."""

import math
from dataclasses import replace

import pytest
from tests.fluid_build import alone, cluster, fluid_jobs, outcome, platform
from tests.strategies_fluid import mesh

from unspool.errors import InputError, UnknownName
from unspool.model.network import Contention
from unspool.model.profile import (
    Delay,
    ForkJoin,
    HomogeneousTask,
    Merge,
    Sequence,
    Staging,
    StorageTask,
    Task,
    Trace,
)
from unspool.results.run import run

DONE = ("completed", 0)
CUT = ("walltime", -1)
STORES = cluster(storages=(2e8, 1e8))
ON_FIRST = Contention(storage={"pfs": "s0", "from": "s0", "to": "s1"})


def near(*times):
    return pytest.approx(times if len(times) > 1 else times[0], rel=1e-12)


@pytest.mark.parametrize(
    ("profile", "machines", "finish"),
    [
        (Delay(10.0), 3, 10.0),
        (HomogeneousTask(3e9, 0.0), 2, 3.0),
        (HomogeneousTask(0.0, 1e8), 3, 2.0),  # each sends 1e8 bytes to two others over its one link
        (HomogeneousTask(3e9, 1e8), 3, 3.0),  # flops and bytes move at one pace, that of the slower
        (HomogeneousTask(0.0, 1e8), 1, 0.0),  # nobody to send to
        (Task((1e9, 4e9), (0.0, 3e8, 0.0, 0.0)), 2, 4.0),
        (Task((1e9, 2e9), (0.0, 3e8, 3e8, 0.0)), 2, 3.0),  # each way has a link of its own
        (Task((1e9,), (1e12,)), 1, 1.0),  # a task of one executor sends nothing
        (Task((0.0, 0.0), (2e8, 0.0, 0.0, 0.0)), 2, 2.0),  # to itself: up its link and down again
        (Task((), (0.0, 3e8, 0.0, 0.0)), 2, 3.0),
        (Task((2e9, 1e9), ()), 2, 2.0),
        (HomogeneousTask(8e9, 1.2e9, "total"), 4, 3.0),  # 2e9 flops each, 1e8 bytes a pair of 12
        (HomogeneousTask(8e9, 1.2e9, "total"), 1, 8.0),
        (HomogeneousTask(8e9, 1.2e9, "total-v4"), 4, 9.0),  # 3e8 bytes a pair
        (HomogeneousTask(8e9, 4e8, "total-v4"), 2, 4.0),
        (HomogeneousTask(0.0, 0.0), 2, 0.0),
        (Task((0.0,), (0.0,)), 1, 0.0),
    ],
)
@pytest.mark.parametrize("sharing", ["simgrid", "clean"])
def test_a_profile_alone_takes_as_long_as_its_busiest_part(profile, machines, finish, sharing):
    assert alone(profile, machines, contention=Contention(sharing)) == (near(finish), *DONE)


def test_latency_comes_once_and_before_the_rest():
    assert alone(HomogeneousTask(3e9, 1e8), 3, cluster(latency=0.005)) == (near(3.01), *DONE)


@pytest.mark.parametrize(("far", "latency"), [((2,), 0.3), ((2, 0), 0.6), ((0, 2), 0.6), ((0, 1, 2), 0.6)])
def test_the_latency_of_equal_messages_is_that_of_the_farthest_two_hosts(far, latency):
    # Ways of 0.3 s out of far hosts and home to them, and none at all for the others.
    where = cluster(3)
    ways = [0.3 if at // 2 in far else 0.0 for at in range(6)]
    links = tuple(replace(link, latency=time) for link, time in zip(where.network.links, ways, strict=True))
    where = replace(where, network=replace(where.network, links=links))
    rules = Contention(tcp_gamma=1e12)
    assert alone(HomogeneousTask(0.0, 1e8), 3, where, contention=rules) == (near(2.0 + latency), *DONE)


def test_a_backbone_carries_what_all_pairs_send():
    assert alone(HomogeneousTask(0.0, 1e8), 4, cluster(backbone=2e8)) == (near(6.0), *DONE)  # 12 pairs


def test_the_window_of_tcp_bounds_a_task():
    # 2e7 bytes on the way of 0.2 s: no more than 4194304 / 0.4 of them in a second.
    finish = 0.2 + 2e7 * 0.4 / 4194304
    assert alone(HomogeneousTask(0.0, 2e7), 2, cluster(latency=0.1)) == (near(finish), *DONE)
    assert alone(HomogeneousTask(0.0, 2e7), 2, cluster(latency=0.1), contention=Contention(tcp_gamma=1e9)) == (
        near(0.4),
        *DONE,
    )


@pytest.mark.parametrize(
    ("profile", "machines", "finish"),
    [
        (StorageTask(1e9, 0.0), 2, 10.0),  # both read, over 2e8 B/s
        (StorageTask(1e9, 5e8), 2, 15.0),
        (StorageTask(0.0, 1e9), 1, 10.0),  # the executor's own link is the slower
        (StorageTask(2e9, 0.0, spread=True), 2, 10.0),
        (StorageTask(1e9, 1e9, spread=True), 4, 10.0),
        (StorageTask(0.0, 0.0), 2, 0.0),
        (Staging(1e9, "from", "to"), 3, 10.0),
        (Staging(0.0, "from", "to"), 1, 0.0),
    ],
)
def test_storage_is_read_and_written_over_its_link(profile, machines, finish):
    assert alone(profile, machines, STORES, contention=ON_FIRST) == (near(finish), *DONE)


def test_jobs_share_a_storage_equally():
    rows = [(0, 1, None, "read"), (0, 1, None, "write"), (0, 2, None, "stage")]
    profiles = {"read": StorageTask(5e8, 0.0), "write": StorageTask(0.0, 2e8), "stage": Staging(3e8, "from", "to")}
    result = run(fluid_jobs(rows, profiles), STORES, "fcfs", contention=ON_FIRST)
    # A third of 2e8 B/s each: "write" ends at 3 with "stage" at 2e8 of 3e8; 1e8 B/s for both that are left, 1 s;
    # then 2e8 bytes of "read" at the 1e8 B/s of its own link.
    assert outcome(result) == [(0, near(6.0), *DONE), (0, near(3.0), *DONE), (0, near(4.0), *DONE)]


def test_a_storage_is_found_by_its_name_or_as_the_only_one():
    assert alone(StorageTask(1e9, 0.0, "s1"), 1, STORES)[0] == near(10.0)
    assert alone(StorageTask(1e9, 0.0, "any"), 2, cluster(storages=(1e8,)))[0] == near(20.0)
    with pytest.raises(InputError, match="storage 'pfs' is mapped to no host, and the platform has 2 storages"):
        alone(StorageTask(1e9, 0.0), 1, STORES)
    with pytest.raises(InputError, match="host 'h1' is no storage"):
        alone(StorageTask(1e9, 0.0, "h1"), 1, STORES)
    with pytest.raises(UnknownName, match="s9"):
        alone(StorageTask(1e9, 0.0), 1, STORES, contention=Contention(storage={"pfs": "s9"}))


PARTS = {
    "d1": Delay(1.0),
    "d5": Delay(5.0),
    "t2": HomogeneousTask(2e9, 0.0),
    "t5": HomogeneousTask(5e9, 0.0),
    "bad3": HomogeneousTask(1e9, 0.0, code=3),
    "bad4": Delay(2.0, code=4),
    "inner": Sequence(("d1", "t2"), repeat=2),
    "inner7": Sequence(("t2",), code=7),
    "fails": Sequence(("d1", "bad3", "t5")),
    "nothing": HomogeneousTask(0.0, 0.0),
}


@pytest.mark.parametrize(
    ("profile", "finish", "state", "code"),
    [
        (Sequence(("d1", "t2"), repeat=3), 9.0, *DONE),
        (Sequence(("inner", "d1"), repeat=2), 14.0, *DONE),
        (Sequence(("d1", "bad3", "t5"), repeat=2), 2.0, "failed", 3),
        (Sequence(("t2", "fails", "d5")), 4.0, "failed", 3),
        (Sequence(("d1", "inner7", "d5")), 3.0, "failed", 7),
        (Sequence(("d1", "t2"), code=6), 3.0, "failed", 6),
        (Sequence(("d1", "bad4", "d5")), 3.0, "failed", 4),
        (Sequence(("nothing",), repeat=100), 0.0, *DONE),
        (HomogeneousTask(1e9, 0.0, code=2), 1.0, "failed", 2),
        (Delay(1.0, code=2), 1.0, "failed", 2),
        (ForkJoin(("t2", "d5")), 5.0, *DONE),
        (ForkJoin(("bad4", "bad3", "d5")), 5.0, "failed", 3),  # bad3 ends first
        (ForkJoin(("t2", "t2")), 4.0, *DONE),  # both on the same host
        (ForkJoin(("t2", "t5")), 7.0, *DONE),
        # From 1 on t2 and bad3 share the host; bad3 ends at 3, and with it "fails"; t2 ends at 4; then d1 and t2 alone.
        (ForkJoin(("inner", "fails")), 7.0, "failed", 3),
        (ForkJoin(("d1",), code=9), 1.0, "failed", 9),
        (Sequence(("fork", "d1")), 6.0, *DONE),
        (ForkJoin(("nothing", "d1")), 1.0, *DONE),
    ],
)
def test_profiles_made_of_others(profile, finish, state, code):
    others = {**PARTS, "fork": ForkJoin(("t2", "d5"))}
    assert alone(profile, others=others) == (near(finish), state, code)


@pytest.mark.parametrize(
    ("members", "machines", "finish"),
    [
        (("cpu", "com"), 2, 3.0),
        (("cpu", "cpu"), 2, 6.0),
        (("com", "com", "matrix"), 2, 8.0),  # 4e8 + 4e8 bytes from the first to the second
        (("cpu", "total"), 2, 5.0),
        (("cpu", "read"), 2, 10.0),  # 2e9 bytes over the storage's 2e8 B/s
        (("cpu", "read", "write"), 1, 20.0),  # up and down of an executor are apart, and the way up is the busier
        (("cpu", "read", "write"), 2, 30.0),  # the storage has one link for 6e9 bytes both ways
        (("read",), 3, 15.0),
    ],
)
def test_merged_tasks_are_one_task(members, machines, finish):
    others = {
        "cpu": HomogeneousTask(3e9, 0.0),
        "com": HomogeneousTask(0.0, 2e8),
        "matrix": Task((1e9, 1e9), (0.0, 4e8, 0.0, 0.0)),
        "total": HomogeneousTask(4e9, 0.0, "total"),
        "read": StorageTask(1e9, 0.0),
        "write": StorageTask(0.0, 2e9),
    }
    assert alone(Merge(members), machines, STORES, others=others, contention=ON_FIRST) == (near(finish), *DONE)


@pytest.mark.parametrize(("kind", "finish"), [(Merge, 4 / 3), (ForkJoin, 2.0)])
def test_merged_tasks_differ_from_tasks_at_the_same_time_by_their_one_pace(kind, finish):
    others = {"slow": HomogeneousTask(4e9, 0.0), "sends": HomogeneousTask(0.0, 1e8), "other": HomogeneousTask(0.0, 1e8)}
    rows = [(0, 2, None, "p"), (0, 2, None, "other")]
    jobs = fluid_jobs(rows, {**others, "p": kind(("slow", "sends"))})
    # Merged, 2e8 bytes take the 4 s of the flops, and leave 1.5e8 of the backbone's 2e8 B/s to the other's 2e8 bytes.
    # At the same time, bytes go as fast as they can, and each has half.
    result = run(jobs, cluster(backbone=2e8), "fcfs")
    assert outcome(result) == [(0, near(4.0), *DONE), (0, near(finish), *DONE)]


def test_tasks_on_one_host_share_it_and_go_on_faster_when_one_is_over():
    where = cluster(2, speeds=(1e9, 1e9))
    profiles = {"long": ForkJoin(("t5", "t2"))} | PARTS
    rows = [(0, 1, None, "long"), (1, 1, None, "t2"), (1, 1, None, "d1")]
    # t2 of the first is over at 4, t5 at 7. The second job has the other host at once; the third waits for it.
    assert outcome(run(fluid_jobs(rows, profiles), where, "fcfs")) == [
        (0, near(7.0), *DONE),
        (1, near(3.0), *DONE),
        (near(3.0), near(4.0), *DONE),
    ]


def test_jobs_on_machines_of_their_own_share_a_backbone():
    profiles = {"a": HomogeneousTask(0.0, 2e8), "b": HomogeneousTask(0.0, 1e8)}
    rows = [(0, 2, None, "a"), (2, 2, None, "b")]
    # "a" alone: 1e8 B/s a way, 4e8 bytes over the backbone's 1e8 B/s. At 2 it has 2e8 left, of which 5e7 B/s until "b"
    # is over at 6 with its 2e8.
    result = run(fluid_jobs(rows, profiles), cluster(backbone=1e8), "fcfs")
    assert outcome(result) == [(0, near(6.0), *DONE), (2, near(6.0), *DONE)]


EDGES = {**PARTS, "dd": Sequence(("d5", "d5")), "td": Sequence(("t5", "d5")), "dt": Sequence(("d5", "t5"))}


@pytest.mark.parametrize(
    ("name", "length", "strict_state"),
    [
        ("d5", 5.0, CUT),
        ("t5", 5.0, DONE),
        ("dd", 10.0, CUT),
        ("td", 10.0, CUT),
        ("dt", 10.0, DONE),
        ("fork", 5.0, CUT),
    ],
)
def test_what_ends_exactly_with_its_walltime_is_done_but_a_delay_under_strict_rules(name, length, strict_state):
    others = {**EDGES, "fork": ForkJoin(("d5", "t2"))}
    for walltime, strict, expected in [
        (length, False, DONE),
        (length, True, strict_state),
        (length + 1e-6, True, DONE),
        (length - 1e-6, False, CUT),
        (length - 1e-6, True, CUT),
    ]:
        rules = Contention(strict=strict)
        finish, *how = alone(others[name], 1, None, walltime, others=others, contention=rules)
        assert (finish, tuple(how)) == (near(min(length, walltime)), expected)


def test_the_walltime_counts_over_all_of_a_sequence_and_frees_what_it_shared():
    profiles = {**PARTS, "p": Sequence(("d1", "t5")), "q": HomogeneousTask(0.0, 4e8)}
    rows = [(0, 2, 3.5, "q"), (0, 2, None, "q")]
    where = cluster(backbone=2e8)
    # 8e8 bytes each at 1e8 B/s until 3.5; then the other has 2e8 B/s for the 4.5e8 that are left.
    result = run(fluid_jobs(rows, profiles), where, "fcfs", kill_at_walltime=True)
    assert outcome(result) == [(0, 3.5, *CUT), (0, near(5.75), *DONE)]
    assert alone(profiles["p"], 1, None, 3.5, others=profiles) == (3.5, *CUT)


def test_walltimes_do_not_count_where_they_are_not_enforced():
    assert outcome(run(fluid_jobs([(0, 1, 1, "t5")], PARTS), cluster(), "fcfs")) == [(0, near(5.0), *DONE)]


def test_bytes_without_a_route_take_no_time_where_missing_routes_are_free():
    network = replace(mesh([(1e9, 1)] * 2, [(1e8, 0.0)], {(0, 1): (0,)}), missing_is_free=True)
    # 2e8 bytes each way: 2 s over the link from the first to the second, and nothing back.
    assert alone(HomogeneousTask(0.0, 2e8), 2, platform(network))[0] == near(2.0)
    assert alone(Task((1e9, 0.0), (0.0, 0.0, 5e8, 0.0)), 2, platform(network))[0] == near(1.0)
    assert alone(Task((0.0, 0.0), (0.0, 0.0, 5e8, 0.0)), 2, platform(network))[0] == 0.0


def test_hosts_without_a_route_are_told_with_the_job():
    where = platform(mesh([(1e9, 1)] * 2, [(1e8, 0.0)], {(0, 1): (0,)}))
    sentence = "job a: small has no route from 'h1' to 'h0'; give it one, or .*--missing-routes free"
    with pytest.raises(InputError, match=sentence):
        alone(HomogeneousTask(0.0, 1e8), 2, where)
    assert alone(HomogeneousTask(1e9, 0.0), 2, where)[0] == near(1.0)
    assert alone(Task((0.0, 0.0), (0.0, 1e8, 0.0, 0.0)), 2, where)[0] == near(1.0)


@pytest.mark.parametrize(
    ("profile", "sentence"),
    [
        (Sequence(("t2", "x")), "unknown profile of profile 'p' 'x'"),
        (Sequence(("t2", "p")), "profile 'p' is part of itself: p > p"),
        (Sequence(("d1", "t2"), repeat=0), "profile 'p' is made of nothing"),
        (Sequence(()), "profile 'p' is made of nothing"),
        (ForkJoin(()), "profile 'p' is made of nothing"),
        (Task((1e9, 1e9, 1e9), (0.0,) * 9), "a job with 2 executors does it; expected 2 and 4"),
        (Task((1e9, 1e9), (0.0,) * 9), "a job with 2 executors does it; expected 2 and 4"),
        (Merge(("d1", "t2")), "profile 'd1' cannot be merged with others"),
        (Merge(("t2", "wide")), "a job with 2 executors does it"),
        (Sequence(("wide",)), "a job with 2 executors does it"),
        (Trace("smpi", "no/such"), "no/such: there is no such file"),
        (Trace("usage", "no/such"), "no/such: there is no such file"),
    ],
)
def test_profiles_that_cannot_be_run_are_told(profile, sentence):
    with pytest.raises(InputError, match=sentence):
        alone(profile, 2, others={**PARTS, "wide": Task((1e9,) * 3, ())})


def test_a_platform_without_a_network_is_told():
    with pytest.raises(InputError, match="give a platform with a network"):
        run(fluid_jobs([(0, 1, None, "t5")], PARTS), 4, "fcfs")


def test_a_job_that_asks_for_cores_only_has_as_many_executors():
    jobs = fluid_jobs([(0, 3, None, "p")], {"p": HomogeneousTask(1e9, 1e8)})
    columns = [name for name in jobs.table.columns if name not in ("machines", "line")]
    without = type(jobs).of(jobs.table.select(columns), profiles=jobs.profiles)
    assert outcome(run(without, cluster(), "fcfs")) == [(0, near(2.0), *DONE)]


def test_many_jobs_that_end_and_start_at_one_instant_keep_their_rates():
    # 40 hosts, three waves of equal tasks in pairs, so that components are made and unmade all at one instant.
    rows = [(0, 2, None, "p")] * 60
    result = run(fluid_jobs(rows, {"p": HomogeneousTask(1e9, 5e7)}), cluster(40), "fcfs")
    assert [row[1] for row in outcome(result)] == pytest.approx([math.ceil((at + 1) / 20) for at in range(60)])
