"""Networks and tasks for Hypothesis: few hosts, many ties, everything shared."""

from hypothesis import strategies as st

from unspool.model.network import Host, Link, Network
from unspool.simulation.tasks import FluidTask, SpeedChange

SPEEDS = (1e9, 2e9, 3.3e9)
BANDWIDTHS = (1e8, 1.25e8, 1.25e9)
LATENCIES = (0.0, 1e-4, 1e-3, 0.05)
FLOPS = (0.0, 1e8, 1e9, 2.5e9, 4e9)
BYTES = (0.0, 1e6, 5e7, 1e8, 3e8)
STARTS = (0.0, 0.5, 1.0, 2.25)
SHAPES = ("split", "half", "fat", "mesh")


def star(hosts, links, backbone, *, split):
    """A star of one group: hosts are (speed, cores), a host's links are (bandwidth, latency); one link each way if
    split, else one for both; `backbone` is (bandwidth, latency, is_fat)."""
    made, leaving, arriving = [], [], []
    for bandwidth, latency in links:
        up = len(made)
        made.append(Link(f"l{up}", bandwidth, latency))
        if split:
            made.append(Link(f"l{up + 1}", bandwidth, latency))
        leaving.append((up,))
        arriving.append((len(made) - 1,))
    middle = len(made)
    made.append(Link("backbone", *backbone))
    return Network(
        hosts=tuple(Host(f"h{at}", (speed,), cores=cores) for at, (speed, cores) in enumerate(hosts)),
        links=tuple(made),
        group=(0,) * len(hosts),
        leaving=tuple(leaving),
        arriving=tuple(arriving),
        itself=tuple(
            (*out, middle, *(() if out == home else home)) for out, home in zip(leaving, arriving, strict=True)
        ),
        between={(0, 0): (middle,)},
    )


def mesh(hosts, links, routes):
    """Hosts that are groups by themselves; `routes` gives links for each ordered pair, and to itself a host has the
    loopback of all, which is the last link."""
    count = len(hosts)
    made = [Link(f"l{at}", *link) for at, link in enumerate(links)]
    made.append(Link("loopback", 1e10, 0.0, is_fat=True))
    return Network(
        hosts=tuple(Host(f"h{at}", (speed,), cores=cores) for at, (speed, cores) in enumerate(hosts)),
        links=tuple(made),
        group=tuple(range(count)),
        leaving=((),) * count,
        arriving=((),) * count,
        itself=((len(links),),) * count,
        between=dict(routes),
    )


@st.composite
def networks(draw, most=5):
    """A star with a link each way, with one for both, with a fat backbone; or a mesh with routes over any links."""
    count = draw(st.integers(1, most))
    hosts = draw(st.lists(st.tuples(st.sampled_from(SPEEDS), st.sampled_from((1, 4))), min_size=count, max_size=count))
    link = st.tuples(st.sampled_from(BANDWIDTHS), st.sampled_from(LATENCIES))
    shape = draw(st.sampled_from(SHAPES))
    if shape == "mesh":
        any_link = st.tuples(st.sampled_from(BANDWIDTHS), st.sampled_from(LATENCIES), st.booleans())
        links = draw(st.lists(any_link, min_size=1, max_size=4))
        way = st.lists(st.integers(0, len(links) - 1), min_size=1, max_size=3, unique=True).map(tuple)
        return mesh(hosts, links, {(p, q): draw(way) for p in range(count) for q in range(count) if p != q})
    links = draw(st.lists(link, min_size=count, max_size=count))
    backbone = (*draw(link), shape == "fat")
    return star(hosts, links, backbone, split=shape != "half")


@st.composite
def tasks(draw, network, most=6):
    """Tasks on any hosts, one of them perhaps twice, with messages to any, themselves too; some do nothing."""
    made = []
    for at in range(draw(st.integers(1, most))):
        hosts = draw(st.lists(st.integers(0, len(network.hosts) - 1), min_size=1, max_size=4))
        size = len(hosts)
        cpu = draw(st.lists(st.sampled_from(FLOPS), min_size=size, max_size=size))
        com = draw(st.lists(st.sampled_from(BYTES), min_size=size * size, max_size=size * size))
        if draw(st.booleans()):
            com = []
        made.append(FluidTask(f"t{at}", draw(st.sampled_from(STARTS)), tuple(hosts), tuple(cpu), tuple(com)))
    return tuple(made)


def changes(network, most=3):
    """Changes of the hosts' speeds; none stands still."""
    change = st.builds(
        SpeedChange,
        st.sampled_from((0.25, 1.0, 1.5, 3.0)),
        st.integers(0, len(network.hosts) - 1),
        st.sampled_from((5e8, 1e9, 2e9)),
    )
    # Of several changes of one host at one time none is the last, so only one is kept.
    return st.lists(change, max_size=most, unique_by=lambda change: (change.time, change.host)).map(tuple)


@st.composite
def scenes(draw, most_hosts=5, most_tasks=6):
    """A network, tasks on it and changes of speed."""
    network = draw(networks(most_hosts))
    return network, draw(tasks(network, most_tasks)), draw(changes(network))
