"""Watts of machines: the properties of hosts, and the key `power` of our own files."""

import pytest
from tests.power_build import logged

from unspool.errors import InputError
from unspool.model.network import Host
from unspool.model.power import power_of
from unspool.platforms import read_platform
from unspool.results.run import run


def host(speeds=(1e9,), role="compute", **properties):
    return Host("h", speeds, role=role, properties=properties)


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (host(), "has no property wattage_per_state"),
        (host(wattage_per_state="100"), "expected idle:full or idle:epsilon:full"),
        (host(wattage_per_state="1:2:3:4"), "expected idle:full or idle:epsilon:full"),
        (host(wattage_per_state="a:b"), "expected watts"),
        (host(wattage_per_state="-1:2"), "expected watts"),
        (host(wattage_per_state="1:2, 1:2"), "has 2 states and speed has 1"),
        (host(wattage_per_state="1:2", wattage_off="much"), "wattage_off has 'much'"),
        (host((1.0, 1.0), wattage_per_state="1:2,1:2", sleep_pstates="1"), "expected three states as sleep:off:on"),
        (host((1.0, 1.0), wattage_per_state="1:2,1:2", sleep_pstates="1:1:0"), "names state 1 twice"),
        (host((1.0, 1.0), wattage_per_state="1:2,1:2", sleep_pstates="0:1:2"), "names state 2, and there are 2"),
        (host((0.0,), wattage_per_state="1:2"), "its speed in state 0 is 0"),
    ],
)
def test_properties_that_make_no_sense_are_told(made, says):
    with pytest.raises(InputError, match=says):
        power_of(made)


def test_a_storage_needs_no_speed():
    assert power_of(host((0.0,), "storage", wattage_per_state="5:5")).computes == (0,)


YAML = """
machines:
  - {type: node, count: 2, cores: 4, power: {idle_w: 100, full_w: 200, sleep_w: 10, falling_s: 5, waking_s: 20}}
"""


def test_a_log_on_machines_of_our_own_file_has_energy(tmp_path):
    (tmp_path / "c.yaml").write_text(YAML)
    there = read_platform(tmp_path / "c.yaml")
    jobs = logged([(0, 10, 2), (100, 10, 4)])
    awake = run(jobs, there, "easy", energy=True)
    assert awake.summary["energy_j"] == 2 * 110 * 100 + 10 * 50 + 10 * 100
    asleep = run(jobs, there, "easy:sleep_after=10")
    # Machine 0 sleeps from 25 to 100 and wakes, by default at 200 W; machine 1 sleeps from 15 on.
    of_first = 10 * 150 + 10 * 100 + 5 * 100 + 75 * 10 + 20 * 200 + 10 * 200
    of_second = 10 * 100 + 5 * 100 + 115 * 10
    assert asleep.jobs["wait_time"].to_list() == [0.0, 20.0]
    assert asleep.summary["energy_j"] == pytest.approx(of_first + of_second, rel=1e-12)


@pytest.mark.parametrize(
    ("power", "says"),
    [
        ("{idle_w: 1}", "full_w"),
        ("{idle_w: 1, full_w: 2, sleep_w: 1}", "give falling_s and waking_s too"),
        ("{idle_w: 1, full_w: 2, waking_s: 1}", "power has waking_s and no sleep_w"),
        ("{idle_w: [1, 2], full_w: 2}", "power has 2 idle_w for 1 speeds"),
        ("{idle_w: 1, full_w: 2, watts: 3}", "watts"),
    ],
)
def test_a_power_that_is_not_whole_is_told(tmp_path, power, says):
    (tmp_path / "c.yaml").write_text(f"machines: [{{count: 2, cores: 4, power: {power}}}]")
    with pytest.raises(InputError, match=says):
        read_platform(tmp_path / "c.yaml")
