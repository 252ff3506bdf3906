"""Routes through nested zones by groups, against every pair found by itself, slowly, from the same drawing."""

from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.platforms.simgrid_files import read, route

LINKS = [f"l{n}" for n in range(5)]
some_links = st.lists(st.sampled_from(LINKS), min_size=1, max_size=2)


@st.composite
def stars(draw, name):
    return {
        "name": name,
        "kind": "star",
        "hosts": [f"{name}h{n}" for n in range(draw(st.integers(1, 4)))],
        "router": f"{name}h{name}_router",
        "backbone": draw(st.booleans()),
        "split": draw(st.booleans()),
        "limiter": draw(st.booleans()),
        "loopback": draw(st.booleans()),
    }


@st.composite
def meshes(draw, name):
    hosts = [f"{name}h{n}" for n in range(draw(st.integers(1, 3)))]
    points = [*hosts, f"{name}r"]
    pairs = draw(st.lists(st.sampled_from(list(product(points, points))), unique=True, max_size=6))
    routes = {pair: draw(some_links) for pair in pairs}
    kind = draw(st.sampled_from(["full", "full", "none"]))
    return {
        "name": name,
        "kind": kind,
        "hosts": hosts,
        "router": f"{name}r",
        "routes": routes if kind == "full" else {},
    }


@st.composite
def nested(draw, name, depth):
    if depth == 0 or not draw(st.booleans()):
        return draw(st.one_of(stars(name), meshes(name)))
    inner = [draw(nested(f"{name}{letter}", depth - 1)) for letter in "xyz"[: draw(st.integers(2, 3))]]
    pairs = [(one, other) for one in range(len(inner)) for other in range(len(inner)) if one != other]
    routes = {}
    for one, other in draw(st.lists(st.sampled_from(pairs), unique=True)):
        gateways = [draw(st.sampled_from(points_of(inner[at]))) for at in (one, other)]
        routes[inner[one]["name"], inner[other]["name"]] = (gateways[0], draw(some_links), gateways[1])
    return {"name": name, "kind": "outer", "inner": inner, "routes": routes}


def points_of(zone):
    if zone["kind"] == "outer":
        return [point for inner in zone["inner"] for point in points_of(inner)]
    return [*zone["hosts"], zone["router"]]


def hosts_of(zone):
    return [h for inner in zone["inner"] for h in hosts_of(inner)] if zone["kind"] == "outer" else zone["hosts"]


def as_xml(zone):
    name, kind = zone["name"], zone["kind"]
    if kind == "star":
        more = 'bb_bw="1GBps" ' * zone["backbone"] + 'loopback_bw="1GBps" ' * zone["loopback"]
        more += 'limiter_link="1GBps" ' * zone["limiter"] + 'sharing_policy="SHARED"' * (not zone["split"])
        return (
            f'<cluster id="{name}" prefix="{name}h" suffix="" radical="0-{len(zone["hosts"]) - 1}" speed="1Gf" '
            f'bw="1GBps" lat="0" {more}/>'
        )
    if kind == "outer":
        held = "".join(map(as_xml, zone["inner"]))
        for (source, target), (leave, links, enter) in zone["routes"].items():
            held += f'<zoneRoute src="{source}" dst="{target}" gw_src="{leave}" gw_dst="{enter}" symmetrical="NO">'
            held += "".join(f'<link_ctn id="{link}"/>' for link in links) + "</zoneRoute>"
    else:
        held = (
            "".join(f'<host id="{host}" speed="1Gf"/>' for host in zone["hosts"]) + f'<router id="{zone["router"]}"/>'
        )
        for (source, target), links in zone["routes"].items():
            held += f'<route src="{source}" dst="{target}" symmetrical="NO">'
            held += "".join(f'<link_ctn id="{link}"/>' for link in links) + "</route>"
    return f'<zone id="{name}" routing="{"None" if kind == "none" else "Full"}">{held}</zone>'


def plain_way(zone, source, target, missing=None):
    """From a point of a zone to another one of it: the links by name, or what is there instead."""
    if zone["kind"] == "star":
        return plain_star(zone, source, target)
    if zone["kind"] != "outer":
        return zone["routes"].get((source, target), missing)
    first = next(inner for inner in zone["inner"] if source in points_of(inner))
    second = next(inner for inner in zone["inner"] if target in points_of(inner))
    if first is second:
        return plain_way(first, source, target, missing)
    if (first["name"], second["name"]) not in zone["routes"]:
        return missing
    leave, links, enter = zone["routes"][first["name"], second["name"]]
    before = [] if source == leave else plain_way(first, source, leave, missing)
    after = [] if target == enter else plain_way(second, enter, target, missing)
    return None if before is None or after is None else [*before, *links, *after]


def plain_star(zone, source, target):
    def own(point, direction):
        if point == zone["router"]:
            return []
        link = f"{zone['name']}_link_{zone['hosts'].index(point)}"
        limiter = [f"{link}_limiter"] * zone["limiter"]
        links = [*limiter, link + f"_{direction}" * zone["split"], *[f"{zone['name']}_backbone"] * zone["backbone"]]
        return links if direction == "UP" else links[::-1]

    way = []
    for link in own(source, "UP") + own(target, "DOWN"):
        if link not in way:
            way.append(link)
    return way


def plain_itself(zone, host):
    if zone["kind"] == "outer":
        return next(plain_itself(inner, host) for inner in zone["inner"] if host in points_of(inner))
    if zone["kind"] == "none":
        return []
    if zone["kind"] == "star":
        loop = [f"{zone['name']}_link_{zone['hosts'].index(host)}_loopback"]
        return loop if zone["loopback"] else plain_star(zone, host, host)
    return zone["routes"].get((host, host), ["__loopback__"])


@settings(max_examples=150)
@given(nested("a", 2))
def test_routes_by_groups_are_those_of_every_pair_by_itself(zone):
    links = "".join(f'<link id="{link}" bandwidth="1"/>' for link in LINKS)
    body = f'<zone id="top" routing="Full">{links}{as_xml(zone)}</zone>'
    for missing_routes, missing in (("refuse", None), ("free", [])):
        with TemporaryDirectory() as folder:
            platform = read(Path(folder), body, missing_routes=missing_routes)
        hosts = hosts_of(zone)
        assert sorted(host.name for host in platform.network.hosts) == sorted(hosts)
        for source, target in product(hosts, hosts):
            expected = plain_itself(zone, source) if source == target else plain_way(zone, source, target, missing)
            assert route(platform, source, target) == expected, (source, target)


@settings(max_examples=100)
@given(
    st.integers(1, 6).flatmap(
        lambda count: st.dictionaries(st.tuples(*[st.integers(0, count - 1)] * 2), some_links, max_size=10).map(
            lambda routes: (count, routes)
        )
    ),
    st.sampled_from(["Floyd", "Dijkstra"]),
)
def test_chained_routes_are_as_short_as_any(drawn, routing):
    count, routes = drawn
    body = "".join(f'<host id="h{n}" speed="1"/>' for n in range(count))
    body += "".join(f'<link id="{link}" bandwidth="1"/>' for link in LINKS)
    for (source, target), links in routes.items():
        held = "".join(f'<link_ctn id="{link}"/>' for link in links)
        body += f'<route src="h{source}" dst="h{target}" symmetrical="NO">{held}</route>'
    with TemporaryDirectory() as folder:
        platform = read(Path(folder), f'<zone id="z" routing="{routing}">{body}</zone>')
    shortest = {(n, n): 0 for n in range(count)}
    for _ in range(count):  # a way has fewer routes than there are hosts
        for ((source, middle), links), last in product(routes.items(), range(count)):
            onwards = shortest.get((middle, last))
            if onwards is not None:
                shortest[source, last] = min(shortest.get((source, last), 99), len(links) + onwards)
    for source, target in product(range(count), repeat=2):
        if source != target:
            found = route(platform, f"h{source}", f"h{target}")
            assert (None if found is None else len(found)) == shortest.get((source, target))


def test_a_star_that_is_cut_off_from_the_master_alone_is_still_one_group(tmp_path):
    body = '<cluster id="c" prefix="n" suffix="" radical="0-1999" speed="1Gf" bw="1GBps" lat="1us" bb_bw="1GBps"/>'
    body = f'<zone id="top" routing="Full">{body}<host id="master_host" speed="1"/></zone>'
    network = read(tmp_path, body, missing_routes="free").network
    assert (len(network.hosts), len(network.between)) == (2001, 1)


def test_star_of_many_hosts_has_one_route_for_all_of_them(tmp_path):
    body = '<cluster id="c" prefix="n" suffix="" radical="0-1999" speed="1Gf" bw="1GBps" lat="1us" bb_bw="1GBps"/>'
    network = read(tmp_path, body).network
    assert (len(network.hosts), len(network.links), len(network.between)) == (2000, 4001, 1)
    assert sum(map(len, network.leaving)) + sum(map(len, network.arriving)) == 4000
