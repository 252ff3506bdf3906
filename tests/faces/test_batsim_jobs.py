from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.faces.batsim_build import jobs, machines, networked

from unspool.errors import InputError
from unspool.faces.batsim.constraints import constrained, with_reasons
from unspool.faces.batsim.intervals import interval_texts
from unspool.faces.batsim.jobs import machine_limit, put_together
from unspool.faces.batsim.onebyone import one_by_one
from unspool.faces.batsim.settings import parse_counts, parse_roles, parse_simgrid, parse_storages
from unspool.model.platform import MachineGroup, MachineType, Partition, Platform
from unspool.model.profile import Delay
from unspool.model.workload import Workload
from unspool.results.run import run
from unspool.workloads.intervals import format_intervals


def named(prefix, submits, **facts):
    table = jobs([(at, 5, 1, 9) for at in submits]).table
    table = table.with_columns(job_id=prefix + pl.col("job_id"), profile=prefix + pl.col("profile"))
    return Workload.of(table, **facts)


def machines_of(result):
    texts = interval_texts(result.allocations, len(result.attempts))
    return dict(zip(result.attempts["job_id"], texts, strict=True))


def asking(rows, *details):
    return jobs(rows, details=list(details))


def placed(given, platform, policy="fcfs"):
    """Machines by job, and reasons by rejected job."""
    found = constrained(given, platform)
    result = with_reasons(run(found.workload, found.platform, policy), found.reasons)
    return machines_of(result), dict(result.rejected.select("job_id", "reason").iter_rows())


def test_jobs_of_several_workloads_come_by_time_and_then_by_the_number_of_the_workload():
    first = named("w0!", [0, 3, 3], name="x.json", max_machines=4, profiles={"w0!p1": Delay(5.0)})
    second = named("w1!", [0, 3], name="y.json", max_machines=9, profiles={"w1!p1": Delay(5.0)})
    both = put_together([first, second])
    assert both.table["job_id"].to_list() == ["w0!a", "w1!a", "w0!b", "w0!c", "w1!b"]
    assert both.table["line"].to_list() == [1, 2, 3, 4, 5]
    assert (both.name, both.max_machines, sorted(both.profiles)) == ("x.json+y.json", 9, ["w0!p1", "w1!p1"])
    assert put_together([first]) is first
    with pytest.raises(InputError, match="no workload"):
        put_together([])


def test_how_many_machines_are_used_is_the_smaller_of_what_is_asked_for():
    several = [named("w0!", [0], max_machines=3), named("w1!", [0], max_machines=8)]
    assert machine_limit(0, False, several) is None
    assert machine_limit(5, False, several) == 5
    assert machine_limit(0, True, several) == 8
    assert machine_limit(5, True, several) == 5
    with pytest.raises(InputError, match="--mmax -1: expected"):
        machine_limit(-1, False, several)


def test_without_a_scheduler_jobs_run_one_by_one():
    given = jobs([(0, 4, 1, 9), (0, 3, 1, 9), (9, 1, 1, 9)])
    assert run(given, machines(4), one_by_one).jobs["start_time"].to_list() == [0.0, 4.0, 9.0]


@given(st.lists(st.sets(st.integers(0, 130)), max_size=6))
def test_texts_of_many_sets_are_those_of_each(sets):
    rows = [(at, machine, machine, 1) for at, members in enumerate(sets) for machine in members]
    schema = ["attempt", "first_machine", "last_machine", "units"]
    table = pl.DataFrame(rows, schema=dict.fromkeys(schema, pl.Int32), orient="row")
    assert interval_texts(table, len(sets)).to_list() == [format_intervals(members) for members in sets]


def test_a_job_runs_on_the_machines_that_it_lists_by_set_id_or_name():
    given = asking(
        [(0, 9, 1, 9)] * 5,
        '{"machines": "2-3"}', None, '{"machines": [3]}', '{"machines": ["h1"]}', '{"machines": 7, "x": 1}',
    )  # fmt: skip
    platform = networked({"z": [{}] * 4})
    where, reasons = placed(given, platform, "filler")
    assert where == {"a": "2", "b": "0", "c": "3", "d": "1"}
    assert reasons == {"e": "asks for 1 machines of 7; the platform has 0 such"}


def test_a_job_waits_for_the_machines_that_it_lists():
    given = asking([(0, 9, 1, 9), (0, 4, 2, 9)], None, '{"machines": "0 2"}')
    found = constrained(given, machines(3))
    assert run(found.workload, found.platform, "fcfs").jobs["start_time"].to_list() == [0.0, 9.0]


def test_hosts_must_have_the_properties_that_a_job_asks_for():
    platform = networked({"z": [{"gpu": "yes"}, {"gpu": "no"}, {"gpu": "yes", "slots": "2"}]})
    given = asking(
        [(0, 9, 2, 9), (10, 1, 1, 9), (20, 1, 1, 9), (30, 1, 3, 9)],
        '{"properties": {"gpu": "yes"}}', '{"properties": {"slots": 2}}', '{"machine_property": "gpu=no"}',
        '{"properties": {"gpu": "yes"}}',
    )  # fmt: skip
    where, reasons = placed(given, platform)
    assert where == {"a": "0 2", "b": "2", "c": "1"}
    assert reasons == {"d": "asks for 3 machines with gpu=yes; the platform has 2 such"}


def test_properties_of_zones_are_those_of_their_hosts():
    platform = networked({"z": [{}, {"rack": "own"}]})
    hosts = tuple(type(host)(**{**vars(host), "zone_properties": {"rack": "outer"}}) for host in platform.network.hosts)
    network = type(platform.network)(**{**vars(platform.network), "hosts": hosts})
    platform = Platform(platform.groups, network=network)
    where, _ = placed(asking([(0, 1, 1, 9)], '{"properties": {"rack": "outer"}}'), platform)
    assert where == {"a": "0"}


def test_local_jobs_are_in_the_zone_that_has_room_when_they_start():
    platform = networked({"x": [{}, {}], "y": [{}, {}, {}], "z": [{}]})
    local = '{"must_be_local": true}'
    # a is in x, where two fit best, and b in y. At 10 all is free again: c is in x, at 20 d in z, at 30 e in x.
    given = asking(
        [(0, 5, 2, 10), (0, 5, 2, 9), (10, 5, 2, 9), (20, 5, 1, 9), (30, 5, 2, 9), (40, 5, 4, 9)], *[local] * 6
    )
    where, reasons = placed(given, platform)
    assert where == {"a": "0-1", "b": "2-3", "c": "0-1", "d": "5", "e": "0-1"}
    assert reasons == {"f": "asks for 4 machines in one zone; the platform has at most 3 in a zone"}


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "filler"])
def test_the_head_of_the_queue_does_not_wait_beside_an_idle_zone(policy):
    given = asking([(0, 9, 1, 9), (0, 9, 2, 9), (0, 9, 2, 9)], None, '{"must_be_local": true}', None)
    where, _ = placed(given, networked({"x": [{}, {}], "y": [{}, {}]}), policy)
    assert where == {"a": "0", "b": "2-3", "c": "0-1"}


def test_a_local_job_counts_only_machines_that_it_may_use():
    platform = networked({"x": [{"gpu": "yes"}, {}], "y": [{"gpu": "yes"}, {"gpu": "yes"}]})
    asks = '{"must_be_local": true, "properties": {"gpu": "yes"}}'
    where, reasons = placed(asking([(0, 9, 1, 9), (0, 9, 2, 9), (0, 9, 3, 9)], asks, asks, asks), platform)
    assert where == {"a": "0", "b": "2-3"}
    assert reasons == {"c": "asks for 3 machines with gpu=yes in one zone; the platform has at most 2 in a zone"}


def test_on_machines_that_are_shared_local_jobs_go_to_the_zone_that_is_used_least():
    platform = networked({"x": [{}, {}], "y": [{}, {}]})
    groups = tuple(MachineGroup(MachineType("host", 9), group.count) for group in platform.groups)
    shared = replace(platform, groups=groups, selection="worst")
    where, _ = placed(asking([(0, 9, 2, 9)] * 3, *['{"must_be_local": true}'] * 3), shared)
    assert where == {"a": "0-1", "b": "2-3", "c": "0-1"}


def test_constraints_go_together_and_with_a_partition_of_the_platform():
    groups = tuple(MachineGroup(MachineType(name, 1), 3) for name in ("thin", "fat"))
    platform = Platform(groups, (Partition("all", ("thin", "fat"), default=True), Partition("fat", ("fat",))))
    given = jobs([(0, 1, 1, 9), (9, 1, 2, 9)], details=['{"machines": "1-4"}'] * 2, partition=["fat", "fat"])
    found = constrained(given, platform)
    assert [group.count for group in found.platform.groups] == [3, 2, 1]
    assert machines_of(run(found.workload, found.platform, "fcfs")) == {"a": "3", "b": "3-4"}
    assert found.platform.ranges("fat") == ((3, 4), (5, 5))


def test_a_workload_that_asks_for_nothing_stays_as_it_is():
    given, platform = asking([(0, 1, 1, 9)], '{"extra": {"machines": [1]}, "note": "machines"}'), machines(2)
    found = constrained(given, platform)
    assert found.workload.table["job_id"].to_list() == ["a"]
    assert run(found.workload, found.platform, "fcfs").counts["rejected"] == 0
    assert constrained(jobs([(0, 1, 1, 9)]), platform).platform is platform


@pytest.mark.parametrize(
    ("details", "told"),
    [
        ('{"machines": "a-b"}', "'a-b' in 'a-b' is no interval"),
        ('{"machines": ["nix"]}', 'machines has "nix", which is no machine here'),
        ('{"machines": [true]}', "machines has true"),
        ('{"must_be_local": "yes"}', 'must_be_local is "yes"; expected true or false'),
        ('{"properties": ["gpu"]}', "properties is .* expected an object"),
    ],
)
def test_a_constraint_that_cannot_be_read_names_job_and_field(details, told):
    with pytest.raises(InputError, match=f"job 'a': {told}"):
        constrained(asking([(0, 1, 1, 9)], details), machines(2))


def test_all_problems_are_told_up_to_a_few():
    given = asking([(0, 1, 1, 9)] * 7, *['{"must_be_local": 1}'] * 7)
    with pytest.raises(InputError, match=r"job 'a'.*job 'e'.*; and 2 more$"):
        constrained(given, machines(2))


def test_texts_of_options():
    assert parse_roles(["a,b:storage", "c:compute_node"]) == {"a": "storage", "b": "storage", "c": "compute_node"}
    assert parse_counts("x:2, y:0") == {"x": 2, "y": 0}
    assert parse_storages("pfs=nas") == {"pfs": "nas"}
    assert parse_simgrid([]).gamma == 4194304.0
    assert parse_simgrid(["network/TCP-gamma:10", "host/solver:fairbottleneck"]).gamma == 10.0


@pytest.mark.parametrize(
    ("parse", "text", "told"),
    [
        (parse_roles, ["h1:foo"], "unknown role 'foo'"),
        (parse_roles, ["h1:storage:x"], "one colon"),
        (parse_roles, ["h1"], "one colon"),
        (parse_roles, [":master"], "one colon"),
        (parse_counts, "x", "as in matlab:4"),
        (parse_counts, "x:1,x:2", "each name once"),
        (parse_counts, "x:-1", "as in matlab:4"),
        (parse_storages, "pfs", "as in pfs=nas1"),
        (parse_simgrid, ["network/TCP-gamma:0"], "bytes above 0"),
        (parse_simgrid, ["network/TCP-gamma:much"], "bytes above 0"),
        (parse_simgrid, ["host/solver:maxmin"], "SimGrid is not used here"),
        (parse_simgrid, ["smpi/cpu-threshold:1"], "SimGrid is not used here"),
    ],
)
def test_texts_that_do_not_read_are_refused(parse, text, told):
    with pytest.raises(InputError, match=told):
        parse(text)
