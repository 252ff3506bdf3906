"""Platforms that ship with Batsim, held against what stands in them and against what Batsim said of them."""

import json
import os
from pathlib import Path

import pytest
from tests.platforms.simgrid_files import latency, route

from unspool.platforms import read_platform
from unspool.platforms.simgrid_xml import read_simgrid

CASES = Path(os.environ.get("UNSPOOL_CASES", Path(__file__).parents[3] / "shared" / "cases")) / "batsim"
V4, V5 = "upstream-v4.2.1/platforms", "upstream-v5.0.0-rc2/platforms"
SHIPPED = {
    # file: hosts for jobs, hosts in all, links, groups of hosts in the network
    f"{V4}/small_platform.xml": (4, 5, 11, 5),
    f"{V4}/small_platform_pfs0.xml": (5, 6, 11, 6),
    f"{V4}/small_platform_usage_replay.xml": (4, 5, 11, 5),
    f"{V4}/cluster512.xml": (512, 513, 2 * 513 + 3, 2),
    f"{V4}/cluster512_pfs.xml": (512, 514, 2 * 514 + 4, 3),
    f"{V4}/cluster_energy_128.xml": (128, 129, 2 * 129 + 3, 2),
    f"{V4}/cluster_locality_8x16.xml": (129, 129, 2 * 129 + 1, 1),
    f"{V4}/energy_platform.xml": (4, 5, 11, 5),
    f"{V4}/energy_platform_homogeneous.xml": (4, 5, 11, 5),
    f"{V4}/energy_platform_homogeneous_no_net.xml": (7, 8, 0, 1),
    f"{V4}/energy_platform_homogeneous_no_net_1.xml": (1, 2, 0, 1),
    f"{V4}/properties_example.xml": (7, 8, 2 * 5 + 1 + 3 + 1, 4),
    f"{V5}/cluster512.xml": (512, 513, 2 * 513 + 3, 2),
    f"{V5}/small_platform.xml": (4, 5, 11, 5),
    f"{V5}/small_platform_dvfs.xml": (4, 5, 11, 5),
    f"{V5}/small_platform_replay_usage.xml": (4, 5, 11, 5),
    "own/platforms/clean4.xml": (4, 7, 5 + 1, 7),
    "own/platforms/clean_energy2.xml": (2, 3, 2, 3),
    "own/platforms/clean_multicore.xml": (2, 3, 2, 3),
}
RECORDED = sorted(path.parent.name for path in CASES.glob("golden/*/case.json"))


def shipped(name, **options):
    path = CASES / name
    if not path.exists():
        pytest.skip(f"the cases are not here: no batsim/{name} under UNSPOOL_CASES")
    return read_simgrid(path, **options)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_platform_has_the_hosts_and_links_that_stand_in_it(name):
    platform = shipped(name)
    network = platform.network
    figures = (network.compute_count, len(network.hosts), len(network.links), len(set(network.group)))
    assert figures == SHIPPED[name]
    assert platform.machine_count == platform.cores == network.compute_count


def test_no_shipped_platform_is_forgotten():
    names = {str(path.relative_to(CASES)) for path in CASES.glob("*/platforms/*.xml")}
    if not names:
        pytest.skip("the cases are not here: no batsim platforms under UNSPOOL_CASES")
    assert names == set(SHIPPED)


def test_small_platform_has_its_routes_and_two_speeds():
    platform = shipped(f"{V4}/small_platform.xml", needs_master=True)
    assert {host.speed for host in platform.network.hosts[:4]} == {76.296e6, 48.492e6}
    assert platform.network.hosts[4].name == "master_host"
    assert route(platform, "master_host", "Bourassa") == route(platform, "Bourassa", "master_host")[::-1]
    assert route(platform, "Jupiter", "Jupiter") == ["loopback"]


def test_route_in_cluster512_has_the_latency_of_up_backbone_and_down():
    platform = shipped(f"{V4}/cluster512.xml", needs_master=True)
    assert latency(platform, "a0", "a511") == pytest.approx(600e-6, rel=1e-12)
    assert latency(platform, "a7", "a7") == pytest.approx(600e-6, rel=1e-12)
    assert route(platform, "a3", "master_host0") == [
        "my_cluster_1_link_3_UP",
        "my_cluster_1_backbone",
        "backbone",
        "my_cluster_2_backbone",
        "my_cluster_2_link_0_DOWN",
    ]
    assert latency(platform, "a3", "master_host0") == pytest.approx((50 + 500 + 500 + 500 + 50) * 1e-6, rel=1e-12)
    assert latency(shipped(f"{V5}/cluster512.xml"), "a0", "a1") == pytest.approx(13e-6, rel=1e-12)


def test_storage_of_cluster512_pfs_is_behind_its_own_slow_link():
    platform = shipped(f"{V4}/cluster512_pfs.xml", needs_master=True)
    assert [(host.name, host.role) for host in platform.network.hosts[512:]] == [
        ("pfs0", "storage"),
        ("master_host0", "master"),
    ]
    links = {link.name: link for link in platform.network.links}
    assert links[route(platform, "a0", "pfs0")[-1]].bandwidth == 15e6


def test_cabinets_share_one_backbone_and_the_master_is_named():
    platform = shipped(f"{V4}/cluster_locality_8x16.xml", master="master_host0", needs_master=True)
    assert platform.network.compute_count == 128
    assert route(platform, "algol10", "haxe25") == ["link_algol10_UP", "backbone1", "link_haxe25_DOWN"]
    assert latency(platform, "algol10", "haxe25") == pytest.approx(502e-6, rel=1e-12)


def test_zones_of_properties_example_are_joined_by_gateways():
    platform = shipped(f"{V4}/properties_example.xml", needs_master=True)
    assert route(platform, "master_host", "node-2.simgrid.org") == ["master_link", "acme_backbone", "acme_link_2_DOWN"]
    assert route(platform, "host1", "host2") == ["l1"]
    # Nothing leads from host1 to the router of its zone, so nothing leads out of the zone either.
    assert route(platform, "host1", "node-0.simgrid.org") is None


def test_energy_states_are_read():
    host = shipped(f"{V4}/cluster_energy_128.xml").network.hosts[0]
    assert len(host.speeds) == 16
    assert (host.speeds[13], 1 / host.speeds[14], 1 / host.speeds[15]) == pytest.approx((1e-3, 6.1, 151.52))
    assert host.properties["sleep_pstates"] == "13:14:15"


@pytest.mark.parametrize("name", RECORDED or ["none"])
def test_batsim_numbered_the_same_hosts_with_the_same_properties(name):
    case = CASES / "golden" / name
    if not case.is_dir():
        pytest.skip("the cases are not here: no batsim/golden under UNSPOOL_CASES")
    began = None
    messages = case / "messages.jsonl"
    for line in messages.read_text().splitlines() if messages.exists() else ():
        events = json.loads(line)["msg"].get("events", ()) if "SIMULATION_BEGINS" in line else ()
        began = next((event["data"] for event in events if event["type"] == "SIMULATION_BEGINS"), began)
    if began is None:
        pytest.skip(f"golden/{name} has no SIMULATION_BEGINS")
    settings = json.loads((case / "case.json").read_text())
    arguments = settings["batsim_args"]
    given = [arguments[at + 1] for at, text in enumerate(arguments) if text in ("-r", "--add-role-to-hosts")]
    roles = {host: role for text in given for host in text.split(":")[0].split(",") for role in [text.split(":")[1]]}
    limit = next((int(arguments[at + 1]) for at, text in enumerate(arguments) if text == "--mmax"), None)
    platform = shipped(settings["platform"], roles=roles, host_order="text", limit=limit, needs_master=True)
    for role in ("compute", "storage"):
        hosts = [host for host in platform.network.hosts if host.role == role]
        told = began[f"{role}_resources"]
        assert [(host.name, dict(host.zone_properties)) for host in hosts] == [
            (one["name"], one["zone_properties"]) for one in told
        ]
        assert [{**host.properties, "role": ""} for host in hosts] == [
            {**one["properties"], "role": ""} for one in told
        ]


def test_platform_of_the_replay_cases_is_a_cluster_by_itself():
    path = CASES.parent / "contention" / "smpi" / "cluster8.xml"
    if not path.exists():
        pytest.skip("the cases are not here: no contention/smpi under UNSPOOL_CASES")
    assert read_platform(path).machine_count == 8
