import json
import re

import pytest
from tests.platforms.simgrid_files import read as read_xml
from tests.platforms.simgrid_files import route

from unspool.errors import InputError
from unspool.model.network import Host, Link
from unspool.platforms import read_platform
from unspool.platforms.cluster import describe

STAR = """\
machines:
  - {type: thin, count: 3, cores: 16, speed: 1Gf}
  - {type: fat, cores: 64, speed: [2Gf, 1Gf]}
network:
  bandwidth: 1GBps
  latency: 4us
  backbone: {bandwidth: 3GBps, latency: 2us}
storage:
  - {name: disk, bandwidth: 200MBps}
"""


def read(folder, text, name="star.yaml"):
    path = folder / name
    path.write_text(text)
    return read_platform(path)


def test_machines_with_speeds_are_hosts_of_a_star_with_storage_behind_them(tmp_path):
    platform = read(tmp_path, STAR)
    network = platform.network
    assert (platform.machine_count, platform.cores, network.compute_count) == (4, 112, 4)
    assert network.hosts[:1] == (Host("thin-0", (1e9,), cores=16),)
    assert network.hosts[3:] == (Host("fat-0", (2e9, 1e9), cores=64), Host("disk", (0.0,), role="storage"))
    assert route(platform, "thin-0", "fat-0") == ["thin-0_UP", "backbone", "fat-0_DOWN"]
    assert route(platform, "thin-1", "thin-1") == ["thin-1_UP", "backbone", "thin-1_DOWN"]
    assert route(platform, "disk", "thin-2") == ["disk_UP", "backbone", "thin-2_DOWN"]
    links = {link.name: link for link in network.links}
    assert links["disk_UP"] == Link("disk_UP", 2e8, 4e-6)
    assert links["backbone"] == Link("backbone", 3e9, 2e-6)
    assert len(network.between) == 1


def test_star_is_as_a_cluster_of_simgrid(tmp_path):
    ours = read(
        tmp_path,
        "{machines: [{type: n, count: 4, cores: 1, speed: 1Gf}], network: {bandwidth: 125MBps, latency: 50us, "
        "backbone: {bandwidth: 2.25GBps, latency: 500us}, loopback: {bandwidth: 1GBps}}}",
    ).network
    theirs = read_xml(
        tmp_path,
        '<cluster id="c" prefix="n-" suffix="" radical="0-3" speed="1Gf" bw="125MBps" lat="50us" bb_bw="2.25GBps" '
        'bb_lat="500us" loopback_bw="1GBps"/>',
    ).network
    assert [host.name for host in ours.hosts] == [host.name for host in theirs.hosts]

    def figures(network, source, target):
        links = (network.links[number] for number in network.route(source, target))
        return [(link.bandwidth, link.latency, link.is_fat) for link in links]

    for source in range(4):
        for target in range(4):
            assert figures(ours, source, target) == figures(theirs, source, target)


@pytest.mark.parametrize(("sharing", "is_fat"), [("shared", False), ("fat", True)])
def test_links_that_are_not_split_serve_both_ways(tmp_path, sharing, is_fat):
    text = f"{{machines: [{{type: n, count: 2, cores: 1, speed: 1e9}}], network: {{bandwidth: 5, sharing: {sharing}}}}}"
    platform = read(tmp_path, text)
    assert route(platform, "n-0", "n-1") == ["n-0_link", "n-1_link"]
    assert route(platform, "n-0", "n-0") == ["n-0_link"]
    assert {link.is_fat for link in platform.network.links} == {is_fat}


def test_speed_without_a_network_means_messages_that_take_no_time(tmp_path):
    platform = read(tmp_path, "machines: [{type: n, count: 2, cores: 4, speed: 1Gf}]")
    assert (platform.network.links, route(platform, "n-0", "n-1"), route(platform, "n-0", "n-0")) == ((), [], [])


def test_no_speed_and_no_network_is_a_platform_without_one(tmp_path):
    assert read(tmp_path, "machines: [{cores: 4}]").network is None


@pytest.mark.parametrize(
    "text",
    [
        STAR,
        "machines: [{type: n, count: 2, cores: 4, speed: 1Gf}]",
        STAR.replace("  backbone", "  loopback: {bandwidth: 1GBps}\n  sharing: fat\n  backbone"),
    ],
)
def test_described_platform_is_read_as_the_same(tmp_path, text):
    platform = read(tmp_path, text)
    again = read(tmp_path, json.dumps(describe(platform), allow_nan=False), "again.json")
    assert again == platform


def test_described_platform_of_simgrid_is_read_as_the_same(tmp_path):
    platform = read_xml(
        tmp_path,
        '<zone id="z" routing="Full"><prop id="site" value="s"/><cluster id="c" prefix="n" suffix="" radical="0-3" '
        'speed="1Gf,2Gf" core="3" bw="1" lat="2"/><zone id="y" routing="Full"><host id="master_host" speed="1"/>'
        '<host id="d" speed="0"><prop id="role" value="storage"/></host></zone><link id="l" bandwidth="1"/>'
        '<zoneRoute src="c" dst="y" gw_src="nc_router" gw_dst="d"><link_ctn id="l"/></zoneRoute></zone>',
    )
    again = read(tmp_path, json.dumps(describe(platform), allow_nan=False), "again.json")
    assert again == platform


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{machines: [{cores: 4}], network: {bandwidth: 1}}", "machines[0] has no speed; give one to all machines"),
        ("machines: [{cores: 4, speed: 1Gf}, {cores: 4}]", "machines[1] has no speed; give one to all machines"),
        ("machines: [{cores: 4, speed: 1GHz}]", "'1GHz' is not a speed such as 1Gf"),
        ("machines: [{cores: 4, speed: 0}]", "a speed of 0; expected more, such as 1Gf"),
        ("machines: [{cores: 4, speed: []}]", "a speed of 0; expected more, such as 1Gf"),
        ("{machines: [{cores: 4, speed: 1}], storage: [{name: d}]}", "storage is reached over a network; give the key"),
        ("{machines: [{cores: 4, speed: 1}], network: {}}", "key network: object missing required field `bandwidth`"),
        (
            "{machines: [{cores: 4, speed: 1}], network: {bandwith: 1}}",
            "unknown key 'bandwith'; did you mean 'bandwidth'",
        ),
        (
            "{machines: [{cores: 4, speed: 1}], network: {bandwidth: 0}}",
            "has bandwidth 0; expected more, such as 1GBps",
        ),
        ("{machines: [{cores: 4, speed: 1}], network: {bandwidth: fast}}", "'fast' is not a rate such as 10MBps"),
        ("{machines: [{cores: 4, speed: 1}], network: {bandwidth: 1, sharing: some}}", "unknown value 'some'"),
        (
            "{machines: [{cores: 4, speed: 1}], network: {bandwidth: 1}, storage: [{name: d}, {name: d}]}",
            "host 'd' stands twice",
        ),
        ("{pool: 4, network: {bandwidth: 1}}", "a pool has no network; list machines instead"),
        (
            "{pool: 4, wired: {kinds: [], links: [], hosts: [], between: []}}",
            "a pool has no wired; list machines instead",
        ),
        (
            "{machines: [{cores: 1}], wired: {kinds: [], links: [], hosts: [], between: []}}",
            "0 hosts for jobs and 1 machines; expected as many",
        ),
        (
            "{machines: [{cores: 1}], wired: {kinds: [], links: [], hosts: [[a, 0, 0, [], [], []]], between: []}}",
            "host 'a' names a kind, group or link that is not there",
        ),
        (
            "{machines: [{cores: 1}], wired: {kinds: [{speeds: [1.0]}], links: [], hosts: [[a, 0, 0, [], [], []]], "
            "between: [[0, 0, [7]]]}}",
            "between names a link that is not there",
        ),
        (
            "{machines: [{cores: 1, speed: 1}], wired: {kinds: [], links: [], hosts: [], between: []}}",
            "wired says all of a network; leave out network, storage and speed",
        ),
        (
            "{machines: [{cores: 1, speed: 1}], cloud: {types: [{name: a, cores: 1, memory_bytes: 1}]}}",
            "machines of a cloud have no place in a network",
        ),
    ],
)
def test_network_that_cannot_be_is_refused_with_the_file(tmp_path, text, message):
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(str(tmp_path / "star.yaml"))
