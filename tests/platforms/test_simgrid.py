import re
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.platforms.simgrid_files import at, in_full_zone, latency, read, route, written

from unspool.errors import InputError, UnknownName, UnspoolError
from unspool.model.network import Link
from unspool.platforms import read_platform
from unspool.platforms.simgrid_xml import natural_key, read_simgrid

STAR = '<cluster id="c" prefix="n" suffix="" radical="0-3" speed="1Gf" bw="125MBps" lat="50us" {more}>{props}</cluster>'


def star(more='bb_bw="2.25GBps" bb_lat="500us"', props=""):
    return STAR.format(more=more, props=props)


def links_of(platform):
    return {link.name: link for link in platform.network.links}


def test_hosts_have_speeds_states_cores_and_properties(tmp_path):
    platform = in_full_zone(
        tmp_path,
        '<host id="a" speed="1Gf, 0.5Gf,1e-9Mf" pstate="1" core="4"><prop id="mem" value="4"/></host>'
        '<host id="b" speed="42"/><host id="c" speed="3e2Kf"/>',
    )
    a, b, c = platform.network.hosts
    assert (a.speeds, a.state, a.speed, a.cores, a.properties, a.zone) == (
        (1e9, 5e8, 1e-3),
        1,
        5e8,
        4,
        {"mem": "4"},
        "z",
    )
    assert (b.speeds, b.state, b.cores, c.speeds) == ((42.0,), 0, 1, (3e5,))


def test_every_host_for_jobs_is_a_machine_of_one_slot_and_equal_neighbours_are_one_group(tmp_path):
    hosts = "".join(
        f'<host id="h{n}" speed="{speed}" core="8"/>' for n, speed in enumerate(["1Gf", "1Gf", "2Gf", "1Gf"])
    )
    platform = in_full_zone(tmp_path, hosts)
    assert [(g.machine.name, g.machine.cores, g.count) for g in platform.groups] == [
        ("h0..h1", 1, 2),
        ("h2", 1, 1),
        ("h3", 1, 1),
    ]
    assert (platform.cores, platform.name, platform.is_pool) == (4, "small", False)


def test_links_are_shared_fat_or_split_in_two_and_have_units(tmp_path):
    platform = in_full_zone(
        tmp_path,
        '<host id="a" speed="1"/><link id="l" bandwidth="1Gbps" latency="1.5ms"/>'
        '<link id="f" bandwidth="10" sharing_policy="FATPIPE"/>'
        '<link id="s" bandwidth="1KiBps" latency="20ns" sharing_policy="SPLITDUPLEX"/>',
    )
    assert platform.network.links[:4] == (
        Link("l", 1.25e8, 0.0015),
        Link("f", 10.0, 0.0, is_fat=True),
        Link("s_UP", 1024.0, 2e-8),
        Link("s_DOWN", 1024.0, 2e-8),
    )


def test_route_is_given_back_in_reverse_with_the_other_direction_of_a_split_link(tmp_path):
    platform = in_full_zone(
        tmp_path,
        '<host id="a" speed="1"/><host id="b" speed="1"/><link id="l" bandwidth="1"/>'
        '<link id="s" bandwidth="1" sharing_policy="SPLITDUPLEX"/>'
        '<route src="a" dst="b"><link_ctn id="s" direction="UP"/><link_ctn id="l"/></route>',
    )
    assert route(platform, "a", "b") == ["s_UP", "l"]
    assert route(platform, "b", "a") == ["l", "s_DOWN"]


def test_route_that_is_not_symmetrical_leads_one_way(tmp_path):
    platform = in_full_zone(
        tmp_path,
        '<host id="a" speed="1"/><host id="b" speed="1"/><link id="l" bandwidth="1"/>'
        '<route src="a" dst="b" symmetrical="NO"><link_ctn id="l"/></route>',
    )
    assert (route(platform, "a", "b"), route(platform, "b", "a")) == (["l"], None)


def test_host_without_a_route_to_itself_takes_the_loopback_that_all_have_together(tmp_path):
    platform = in_full_zone(
        tmp_path,
        '<host id="a" speed="1"/><host id="b" speed="1"/><host id="c" speed="1"/><link id="l" bandwidth="1"/>'
        '<route src="a" dst="a"><link_ctn id="l"/></route>',
    )
    assert [route(platform, name, name) for name in "abc"] == [["l"], ["__loopback__"], ["__loopback__"]]
    assert platform.network.links == (Link("l", 1.0), Link("__loopback__", 1e10, 0.0, is_fat=True))


def test_route_in_a_cluster_leads_up_over_the_backbone_and_down_also_to_oneself(tmp_path):
    platform = read(tmp_path, star())
    assert route(platform, "n0", "n3") == ["c_link_0_UP", "c_backbone", "c_link_3_DOWN"]
    assert route(platform, "n1", "n1") == ["c_link_1_UP", "c_backbone", "c_link_1_DOWN"]
    assert latency(platform, "n0", "n3") == pytest.approx(600e-6)
    assert len(platform.network.between) == 1
    assert links_of(platform)["c_backbone"] == Link("c_backbone", 2.25e9, 5e-4)


def test_cluster_with_a_loopback_a_limiter_and_no_backbone(tmp_path):
    platform = read(tmp_path, star('loopback_bw="1GBps" loopback_lat="1us" limiter_link="200MBps" core="2"'))
    assert route(platform, "n0", "n1") == ["c_link_0_limiter", "c_link_0_UP", "c_link_1_DOWN", "c_link_1_limiter"]
    assert route(platform, "n2", "n2") == ["c_link_2_loopback"]
    assert links_of(platform)["c_link_2_loopback"] == Link("c_link_2_loopback", 1e9, 1e-6, is_fat=True)
    assert {host.cores for host in platform.network.hosts} == {2}


def test_cluster_of_shared_links_has_one_a_host_and_takes_it_once_to_itself(tmp_path):
    platform = read(tmp_path, star('sharing_policy="SHARED" bb_bw="1GBps" bb_sharing_policy="FATPIPE"'))
    assert route(platform, "n0", "n1") == ["c_link_0", "c_backbone", "c_link_1"]
    assert route(platform, "n0", "n0") == ["c_link_0", "c_backbone"]
    assert links_of(platform)["c_backbone"].is_fat


def test_radical_is_a_list_of_numbers_and_ranges(tmp_path):
    body = star().replace('"0-3"', '"0-2,7, 10-11"').replace('suffix=""', 'suffix=".org"')
    names = [host.name for host in read(tmp_path, body).network.hosts]
    assert names == ["n0.org", "n1.org", "n2.org", "n7.org", "n10.org", "n11.org"]


def test_clusters_are_joined_from_router_to_router(tmp_path):
    other = star(more='router_id="gate"').replace('id="c"', 'id="d"').replace('"n"', '"m"')
    platform = in_full_zone(
        tmp_path,
        star() + other + '<link id="wan" bandwidth="1"/>'
        '<zoneRoute src="c" dst="d" gw_src="nc_router" gw_dst="gate"><link_ctn id="wan"/></zoneRoute>',
    )
    assert route(platform, "n1", "m2") == ["c_link_1_UP", "c_backbone", "wan", "d_link_2_DOWN"]
    assert route(platform, "m2", "n1") == ["d_link_2_UP", "wan", "c_backbone", "c_link_1_DOWN"]
    assert len(platform.network.between) == 4


def test_host_of_a_cluster_may_be_its_gateway(tmp_path):
    platform = in_full_zone(
        tmp_path,
        star() + '<zone id="d" routing="Full"><host id="m" speed="1"/></zone><link id="wan" bandwidth="1"/>'
        '<zoneRoute src="c" dst="d" gw_src="n0" gw_dst="m"><link_ctn id="wan"/></zoneRoute>',
    )
    assert route(platform, "n0", "m") == ["wan"]
    assert route(platform, "n1", "m") == ["c_link_1_UP", "c_backbone", "c_link_0_DOWN", "wan"]
    assert route(platform, "m", "n1") == ["wan", "c_link_0_UP", "c_backbone", "c_link_1_DOWN"]
    assert route(platform, "n0", "n1") == ["c_link_0_UP", "c_backbone", "c_link_1_DOWN"]
    assert route(platform, "n1", "n2") == ["c_link_1_UP", "c_backbone", "c_link_2_DOWN"]


def test_zones_inside_zones_pass_on_through_their_gateways(tmp_path):
    inner = (
        '<zone id="{0}" routing="Full"><zone id="{0}in" routing="Full"><host id="{0}1" speed="1"/><router id="{0}r"/>'
        '<link id="{0}l" bandwidth="1"/><route src="{0}1" dst="{0}r"><link_ctn id="{0}l"/></route></zone></zone>'
    )
    platform = in_full_zone(
        tmp_path,
        inner.format("a") + inner.format("b") + '<link id="wan" bandwidth="1"/>'
        '<ASroute src="a" dst="b" gw_src="ar" gw_dst="br"><link_ctn id="wan"/></ASroute>',
    )
    assert route(platform, "a1", "b1") == ["al", "wan", "bl"]


def test_cabinets_of_a_cluster_zone_have_a_link_up_and_one_down_around_the_backbone(tmp_path):
    platform = read(
        tmp_path,
        '<AS id="z" routing="Cluster">'
        '<cabinet id="x" prefix="a" suffix="" radical="1-2" speed="1Gf" bw="1GBps" lat="1us"/>'
        '<cabinet id="x" prefix="b" suffix="" radical="1-2" speed="1Gf" bw="1GBps" lat="1us"/>'
        '<router id="r"/><backbone id="bb" bandwidth="2GBps" latency="5us"/></AS>',
    )
    assert route(platform, "a1", "b2") == ["link_a1_UP", "bb", "link_b2_DOWN"]
    assert route(platform, "a1", "a1") == ["link_a1_UP", "bb", "link_a1_DOWN"]
    assert len(platform.network.between) == 1


def test_hosts_of_a_cluster_zone_may_have_links_that_stand_by_themselves_and_even_one_together(tmp_path):
    platform = read(
        tmp_path,
        '<zone id="z" routing="Cluster">'
        + "".join(f'<host id="h{n}" speed="1"/>' for n in range(4))
        + '<link id="u" bandwidth="1"/><link id="d" bandwidth="1"/><link id="both" bandwidth="1"/>'
        '<link id="s" bandwidth="1" sharing_policy="SPLITDUPLEX"/>'
        '<host_link id="h0" up="u" down="d"/><host_link id="h1" up="both" down="both"/>'
        '<host_link id="h2" up="both" down="both"/><host_link id="h3" up="s_UP" down="s_DOWN"/>'
        '<backbone id="bb" bandwidth="1"/></zone>',
    )
    assert route(platform, "h0", "h1") == ["u", "bb", "both"]
    assert route(platform, "h1", "h2") == ["both", "bb"]
    assert route(platform, "h2", "h3") == ["both", "bb", "s_DOWN"]


@pytest.mark.parametrize("routing", ["Floyd", "Dijkstra", "DijkstraCache"])
def test_routes_are_chained_by_the_fewest_links(tmp_path, routing):
    def one(ends, *links):
        held = "".join(f'<link_ctn id="{link}"/>' for link in links)
        return f'<route src="{ends[0]}" dst="{ends[1]}">{held}</route>'

    platform = read(
        tmp_path,
        f'<zone id="z" routing="{routing}">'
        + "".join(f'<host id="{name}" speed="1"/>' for name in "abcde")
        + "".join(f'<link id="{n}" bandwidth="1"/>' for n in range(6))
        + one("ab", 0)
        + one("bc", 1)
        + one("cd", 2)
        + one("ad", 3, 4, 5, 0)
        + "</zone>",
    )
    assert route(platform, "a", "d") == ["0", "1", "2"]
    assert route(platform, "d", "b") == ["2", "1"]
    assert route(platform, "a", "e") is None
    assert route(platform, "a", "a") == ["__loopback__"]


@pytest.mark.parametrize("routing", ["Floyd", "Dijkstra"])
def test_chained_routes_between_zones_go_through_them_from_gateway_to_gateway(tmp_path, routing):
    middle = (
        '<zone id="m" routing="Full"><host id="m1" speed="1"/><host id="m2" speed="1"/><link id="ml" bandwidth="1"/>'
        '<route src="m1" dst="m2"><link_ctn id="ml"/></route></zone>'
    )
    ends = "".join(f'<zone id="{n}" routing="None"><host id="{n}1" speed="1"/></zone>' for n in "ab")
    platform = read(
        tmp_path,
        f'<zone id="z" routing="{routing}">{ends}{middle}<link id="0" bandwidth="1"/><link id="1" bandwidth="1"/>'
        '<zoneRoute src="a" dst="m" gw_src="a1" gw_dst="m1"><link_ctn id="0"/></zoneRoute>'
        '<zoneRoute src="m" dst="b" gw_src="m2" gw_dst="b1"><link_ctn id="1"/></zoneRoute></zone>',
    )
    assert route(platform, "a1", "b1") == ["0", "ml", "1"]
    assert route(platform, "b1", "m1") == ["1", "ml"]


def test_zone_without_routing_has_no_ways_and_a_zone_at_one_place_has_them_without_links(tmp_path):
    hosts = "".join(f'<host id="h{n}" speed="1" coordinates="1 2 0"/>' for n in range(3))
    nowhere = read(tmp_path, f'<zone id="z" routing="None">{hosts}</zone>'.replace(' coordinates="1 2 0"', ""))
    still = read(tmp_path, f'<zone id="z" routing="Vivaldi">{hosts}</zone>')
    assert (route(nowhere, "h0", "h1"), route(nowhere, "h0", "h0")) == (None, [])
    assert (route(still, "h0", "h1"), route(still, "h0", "h0")) == ([], [])


def test_properties_of_zones_are_inherited_and_the_inner_one_wins(tmp_path):
    platform = read(
        tmp_path,
        '<zone id="z" routing="Full"><prop id="site" value="outer"/><prop id="room" value="1"/>'
        '<zone id="y" routing="Full"><prop id="site" value="inner"/><host id="a" speed="1"/></zone>'
        + star(props='<prop id="rack" value="9"/>')
        + "</zone>",
    )
    by_name = {host.name: host for host in platform.network.hosts}
    assert by_name["a"].zone_properties == {"site": "inner", "room": "1"}
    assert by_name["n0"].zone_properties == {"site": "outer", "room": "1", "rack": "9"}
    assert by_name["n0"].properties == {"rack": "9"}


def test_hosts_for_jobs_come_first_then_storage_then_the_master(tmp_path):
    platform = in_full_zone(
        tmp_path,
        '<host id="master_host" speed="1"/><host id="disk" speed="0f"><prop id="role" value="storage"/></host>'
        '<host id="z9" speed="1"/><host id="b10" speed="1"/><host id="b9" speed="1"/>',
    )
    assert [(host.name, host.role) for host in platform.network.hosts] == [
        ("b9", "compute"),
        ("b10", "compute"),
        ("z9", "compute"),
        ("disk", "storage"),
        ("master_host", "master"),
    ]
    assert platform.machine_count == 3


def test_roles_may_be_given_and_they_win_over_those_of_the_file(tmp_path):
    body = (
        '<host id="a" speed="1"/><host id="b" speed="1"><prop id="role" value="master"/></host><host id="c" speed="1"/>'
    )
    platform = in_full_zone(tmp_path, body, roles={"b": "storage"}, master="c")
    assert {host.name: host.role for host in platform.network.hosts} == {"a": "compute", "b": "storage", "c": "master"}


def test_master_that_is_named_is_the_master_whatever_the_file_says_of_it(tmp_path):
    body = '<host id="a" speed="1"><prop id="role" value="compute_node"/></host><host id="master_host" speed="1"/>'
    platform = in_full_zone(tmp_path, body, master="a", needs_master=True)
    assert {host.name: host.role for host in platform.network.hosts} == {"a": "master", "master_host": "compute"}


def test_order_of_hosts_is_natural_or_as_texts(tmp_path):
    hosts = "".join(f'<host id="a{n}" speed="1"/>' for n in (0, 1, 2, 10, 100))
    natural = in_full_zone(tmp_path, hosts)
    text = in_full_zone(tmp_path, hosts, host_order="text")
    assert [host.name for host in natural.network.hosts] == ["a0", "a1", "a2", "a10", "a100"]
    assert [host.name for host in text.network.hosts] == ["a0", "a1", "a10", "a100", "a2"]
    assert sorted(["a01", "a1", "1", "a", "b0"], key=natural_key) == ["1", "a", "a01", "a1", "b0"]


def test_limit_leaves_the_first_hosts_for_jobs_and_routes_that_lead_through_others(tmp_path):
    body = (
        star().replace("0-3", "0-11")
        + '<zone id="d" routing="Full"><host id="master_host" speed="1"/></zone><link id="wan" bandwidth="1"/>'
        '<zoneRoute src="c" dst="d" gw_src="n11" gw_dst="master_host"><link_ctn id="wan"/></zoneRoute>'
    )
    platform = in_full_zone(tmp_path, body, limit=2)
    assert [host.name for host in platform.network.hosts] == ["n0", "n1", "master_host"]
    assert route(platform, "n1", "master_host") == ["c_link_1_UP", "c_backbone", "c_link_11_DOWN", "wan"]
    assert in_full_zone(tmp_path, body, limit=3, host_order="text").network.hosts[2].name == "n10"


def test_config_is_left_out_and_that_is_said(tmp_path):
    told = []
    body = '<config id="General"><prop id="network/model" value="CM02"/></config>' + star()
    platform = read_platform(written(tmp_path, body), note=told.append)
    assert platform.machine_count == 4
    assert told == [f"{tmp_path}/small.xml: <config> is for SimGrid and left out: network/model"]


def test_empty_lines_before_the_declaration_are_passed_over_and_counted(tmp_path):
    path = written(tmp_path, star().replace('"1Gf"', '"1Gx"'))
    path.write_text("\n\n" + path.read_text())
    with pytest.raises(InputError, match=re.escape("small.xml, line 5: <cluster id='c'>: speed: '1Gx' is not a speed")):
        read_simgrid(path)


def test_external_dtd_is_not_fetched_and_entities_are_refused(tmp_path):
    path = tmp_path / "p.xml"
    text = '<!DOCTYPE platform SYSTEM "file:///no/such/file.dtd"{}>\n<platform version="4">' + star() + "{}</platform>"
    path.write_text(text.format("", ""))
    assert read_simgrid(path).machine_count == 4
    path.write_text(text.format("", "&more;"))
    with pytest.raises(InputError, match="the entity &more; is not read; write out what it stands for"):
        read_simgrid(path)
    path.write_text(text.format(' [<!ENTITY more SYSTEM "file:///etc/hostname">]', "&more;"))
    with pytest.raises(InputError, match="declares an entity, which is not read"):
        read_simgrid(path)


ZONE = (
    '<zone id="z" routing="Full"><host id="a" speed="1"/><host id="b" speed="1"/><link id="l" bandwidth="1"/>{}</zone>'
)
TWO = ZONE.format(
    '<zone id="y" routing="Full"><host id="c" speed="1"/></zone>'
    '<zone id="x" routing="Full"><host id="d" speed="1"/></zone>{}'
)
ROUTE = '<route src="{}" dst="{}"><link_ctn id="{}"/></route>'
ZONE_ROUTE = '<zoneRoute src="{}" dst="{}" gw_src="{}" gw_dst="{}"><link_ctn id="l"/></zoneRoute>'


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            ZONE.format(ROUTE.format("a", "bb", "l")),
            "<route>: dst: unknown host or router in zone 'z' 'bb'; did you mean 'b'?",
        ),
        (ZONE.format(ROUTE.format("a", "b", "k")), "<link_ctn id='k'>: unknown link 'k'. Known: l"),
        (ZONE.format(ROUTE.format("a", "b", "l") * 2), "the route from 'a' to 'b' stands twice; a route is both ways"),
        (
            ZONE.format(ROUTE.format("a", "b", "l") + ROUTE.format("b", "a", "l")),
            "the route from 'b' to 'a' stands twice",
        ),
        (ZONE.format('<route src="a" dst="b"/>'), "<route>: has no links; expected at least one <link_ctn>"),
        (ZONE.format('<route dst="b"><link_ctn id="l"/></route>'), "<route>: has no attribute src; give it one"),
        (ZONE.format(ROUTE.format("a", "b", "l").replace("/>", ' direction="LEFT"/>')), "unknown direction 'LEFT'"),
        (
            ZONE.format(ROUTE.format("a", "b", "l").replace("<route", '<route symmetrical="MAYBE"')),
            "symmetrical 'MAYBE'",
        ),
        (ZONE.format('<host id="a" speed="1"/>'), "<host id='a'>: 'a' is the name of another host, router or zone"),
        (ZONE.format('<link id="l" bandwidth="1"/>'), "<link id='l'>: link 'l' stands twice"),
        (ZONE.format('<link id="l" bandwidth="1" sharing_policy="SPLITDUPLEX"/>'), "link 'l' stands twice"),
        (ZONE.format('<link id="k" bandwidth="1 lots"/>'), "<link id='k'>: bandwidth: '1 lots' is not a rate such as"),
        (ZONE.format('<link id="k" bandwidth="1" latency="1 year"/>'), "latency: '1 year' is not a latency such as"),
        (ZONE.format('<link id="k"/>'), "<link id='k'>: has no attribute bandwidth; give it one"),
        (ZONE.format('<link id="k" bandwidth="0"/>'), "link 'k' has bandwidth 0; expected more than 0"),
        (ZONE.format('<link id="k" bandwidth="1" sharing_policy="WIFI"/>'), "unknown sharing_policy 'WIFI'"),
        (ZONE.format('<link id="k" bandwith="1"/>'), "unknown attribute 'bandwith'; did you mean 'bandwidth'?"),
        (
            ZONE.format('<host id="h" speed="1" speed_file="s.txt"/>'),
            "speed_file: speeds that change by a file are not",
        ),
        (ZONE.format('<host id="h" speed="1" pstate="1"/>'), "pstate is 1; expected 0 to 0, as there are 1 speeds"),
        (ZONE.format('<host id="h" speed="1" core="0"/>'), "core is '0'; expected a whole number, 1 or more"),
        (ZONE.format('<host id="h" speed="0f"/>'), "host 'h' has speed 0 in pstate 0; expected more, or the property"),
        (ZONE.format('<host id="h" speed="1,0"><prop id="role" value=""/></host>'), "speed 0 in pstate 1"),
        (ZONE.format('<host id="h" speed="1,0"><prop id="sleep_pstates" value="1"/></host>'), "sleep_pstates has '1';"),
        (
            ZONE.format('<host id="h" speed="1"><prop id="role" value="boss"/></host>'),
            "role of host 'h': unknown role 'boss'",
        ),
        (ZONE.format('<peer id="p"/>'), "<peer id='p'>: is not read inside <zone>; it may hold prop, zone, cluster"),
        (ZONE.format('<bypassRoute src="a" dst="b"/>'), "<bypassRoute>: is not read inside <zone>"),
        (ZONE.format('<host id="h" speed="1"><disk id="d"/></host>'), "<disk id='d'>: is not read inside <host>"),
        (
            ZONE.format('<zone id="z" routing="Full"/>'),
            "<zone id='z'>: 'z' is the name of another host, router or zone",
        ),
        (ZONE.format('<zone id="y" routing="Ful"/>'), "unknown routing 'Ful'; did you mean 'Full'?"),
        (ZONE.format('<zone id="y"/>'), "unknown routing ''"),
        (ZONE.format('<cabinet id="x" radical="0" speed="1" bw="1" lat="0"/>'), "expected a zone of routing Cluster"),
        (ZONE.format(star().replace("0-3", "3-0")), "radical is '3-0'; expected numbers and ranges, as in 0-511"),
        (ZONE.format(star().replace("0-3", "0-x")), "radical is '0-x'"),
        (ZONE.format(star().replace("0-3", "0-3,2")), "link 'c_link_2' stands twice"),
        (ZONE.format(star().replace("0-3", "0-99999999")), "makes 100000000 hosts; expected 10000000 at most"),
        (ZONE.format(star('topology="TORUS" topo_parameters="2,2"')), "topology 'TORUS' is not read; expected FLAT"),
        (ZONE.format(star().replace(' lat="50us"', "")), "<cluster id='c'>: has no attribute lat; give it one"),
        (TWO.format(ZONE_ROUTE.format("y", "w", "c", "d")), "dst: unknown zone inside 'z' 'w'"),
        (TWO.format(ZONE_ROUTE.format("y", "x", "d", "d")), "gw_src is 'd'; expected a host or router in zone 'y'"),
        (
            TWO.format(ZONE_ROUTE.format("y", "x", "c", "nobody")),
            "gw_dst is 'nobody'; expected a host or router in zone",
        ),
        (TWO.format(ZONE_ROUTE.format("y", "y", "c", "c")), "leads from zone 'y' to itself; expected another zone"),
        ('<zone id="z" routing="None">' + ROUTE.format("a", "b", "l") + "</zone>", "zone 'z' has no routes of its own"),
        ('<zone id="z" routing="Cluster"><host id="a" speed="1"/></zone>', "has no <host_link>; give it one"),
        (
            '<zone id="z" routing="Cluster">' + star() + "</zone>",
            "stands in zone 'z', whose routing takes hosts and no",
        ),
        ('<zone id="z" routing="Vivaldi"><host id="a" speed="1" coordinates="0 0 1"/></zone>', "hosts at one place"),
        ('<zone id="z" routing="Vivaldi"><host id="a" speed="1" coordinates="0 0"/></zone>', "expected three numbers"),
        ("", "<platform>: holds 0 zones; expected one, with all others inside it"),
        (ZONE * 2, "<platform>: holds 2 zones; expected one"),
        (
            ZONE.format('<link id="s" bandwidth="1" sharing_policy="SPLITDUPLEX"/>' + ROUTE.format("a", "b", "s")),
            "say which",
        ),
        ('<zone id="z" routing="Full">' * 120 + "</zone>" * 120, "over 100, the limit for levels of"),
        ('<zone id="z" routing="Full">', "not valid XML: mismatched tag; expected a platform of SimGrid"),
    ],
)
def test_whatever_is_wrong_names_file_line_and_element(tmp_path, body, message):
    with pytest.raises(InputError) as caught:
        read(tmp_path, body)
    assert re.match(rf"{re.escape(str(tmp_path))}/small.xml, line [0-9]+: ", str(caught.value)), str(caught.value)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_line_is_that_of_the_element(tmp_path):
    with pytest.raises(InputError, match=re.escape("small.xml, line 6: <host id='h'>")):
        in_full_zone(tmp_path, '<host id="a" speed="1"/>\n\n<host id="h"/>')


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"needs_master": True}, "small.xml: no host is the master; name one 'master_host', give one the property"),
        ({"roles": {"a": "master", "b": "master"}}, "small.xml: 2 hosts are masters ('a', 'b'); expected one"),
        ({"roles": {"nobody": "storage"}}, "small.xml: unknown host 'nobody'"),
        ({"master": "nobody"}, "small.xml: unknown host 'nobody'"),
        ({"roles": {"a": "master", "b": "storage"}}, "small.xml: no host is there for jobs"),
        (
            {"limit": 3},
            "small.xml: the first 3 hosts are asked for (--mmax, or nb_res by --mmax-workload); expected 1 to 2",
        ),
        (
            {"limit": 0},
            "small.xml: the first 0 hosts are asked for (--mmax, or nb_res by --mmax-workload); expected 1 to 2",
        ),
    ],
)
def test_roles_and_limits_that_cannot_be_are_refused(tmp_path, options, message):
    with pytest.raises(InputError, match=re.escape(message)):
        read(tmp_path, ZONE.format(""), **options)
    with pytest.raises(UnknownName, match="unknown order of hosts 'alphabetical'"):
        read(tmp_path, ZONE.format(""), host_order="alphabetical")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: not valid XML: no element found"),
        ("<nothing/>", "line 1: <nothing>: expected <platform>: a platform of SimGrid, version 4 or 4.1"),
        ('<platform version="3"/>', "version is '3'; expected 4 or 4.1"),
        ("<platform/>", "<platform>: has no attribute version; give it one"),
        ('<?xml version="1.0" encoding="nonsense"?><platform/>', "not valid XML: unknown encoding"),
    ],
)
def test_file_that_is_no_platform_is_refused(tmp_path, text, message):
    (tmp_path / "p.xml").write_text(text)
    with pytest.raises(InputError, match=re.escape(message)):
        read_platform(tmp_path / "p.xml")


def test_absent_file_and_a_folder_are_refused(tmp_path):
    (tmp_path / "folder.xml").mkdir()
    for name, message in (("absent.xml", "there is no such file"), ("folder.xml", "is a folder; expected a file")):
        with pytest.raises(InputError, match=message):
            read_platform(tmp_path / name)


def test_sleeping_states_may_be_as_slow_as_they_like(tmp_path):
    platform = in_full_zone(
        tmp_path, '<host id="h" speed="1Gf,0,0.5f,0.1f"><prop id="sleep_pstates" value="1:2:3"/></host>'
    )
    assert platform.network.hosts[at(platform.network, "h")].speeds == (1e9, 0.0, 0.5, 0.1)


VALID = TWO.format(ZONE_ROUTE.format("y", "x", "c", "d") + ROUTE.format("a", "b", "l") + star())


@settings(max_examples=150)
@given(st.data())
def test_whatever_a_file_holds_it_is_read_or_refused(tmp_path_factory, data):
    text = f'<?xml version="1.0"?><platform version="4.1">{VALID}</platform>'
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        piece = data.draw(st.text(max_size=3) | st.sampled_from(["<", "/>", '"', "0", "&a;", "zone", "a", "-"]))
        text = text[:start] + piece + text[start + data.draw(st.integers(0, 3)) :]
    path = tmp_path_factory.mktemp("fuzz") / "p.xml"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    with suppress(UnspoolError):
        assert read_platform(path).machine_count > 0
