"""Jobs with profiles of all kinds for Hypothesis: few hosts, many ties, everything shared."""

from dataclasses import replace

from hypothesis import strategies as st
from tests.strategies_fluid import BYTES, FLOPS, networks

from unspool.model.profile import (
    Delay,
    ForkJoin,
    HomogeneousTask,
    Merge,
    Receive,
    Send,
    Sequence,
    Staging,
    StorageTask,
    Task,
)

CODES = st.sampled_from((0, 0, 0, 0, 3))
SECONDS = st.sampled_from((0.0, 0.25, 1.0, 2.25))
LABELS = ("pfs", "nfs")


@st.composite
def networks_with_storage(draw, most=5):
    """A network whose last host or two may be storages, and the hosts that labels mean."""
    network = draw(networks(most))
    count = len(network.hosts)
    storages = draw(st.integers(0, min(2, count - 1)))
    hosts = [replace(host, role="storage") if at >= count - storages else host for at, host in enumerate(network.hosts)]
    labels = {label: draw(st.integers(count - storages, count - 1)) for label in LABELS} if storages else {}
    return replace(network, hosts=tuple(hosts)), labels


def tasks_of(size, labels):
    """Profiles of one activity on so many executors."""
    flops, amounts = st.sampled_from(FLOPS), st.sampled_from(BYTES)
    kinds = [
        st.builds(HomogeneousTask, flops, amounts, st.sampled_from(("each", "total", "total-v4")), code=CODES),
        st.builds(
            Task,
            st.lists(flops, min_size=size, max_size=size).map(tuple),
            st.one_of(st.just(()), st.lists(amounts, min_size=size**2, max_size=size**2).map(tuple)),
            code=CODES,
        ),
    ]
    if labels:
        kinds.append(st.builds(StorageTask, amounts, amounts, st.sampled_from(LABELS), st.booleans(), code=CODES))
    return st.one_of(kinds)


@st.composite
def profiles_of(draw, size, labels):
    """Names and profiles for jobs of a size: simple ones, and some that are made of those before them."""
    made = {f"{size}task{at}": draw(tasks_of(size, labels)) for at in range(draw(st.integers(1, 3)))}
    mergeable = [*made]
    stores = {profile.storage for profile in made.values() if isinstance(profile, StorageTask)}
    made[f"{size}delay"] = Delay(draw(SECONDS), code=draw(CODES))
    made[f"{size}send"] = Send({}, draw(SECONDS), code=draw(CODES))
    if labels:
        made[f"{size}staging"] = Staging(draw(st.sampled_from(BYTES)), *LABELS)
    for at in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from((Sequence, ForkJoin, Receive, Merge)))
        members = draw(st.lists(st.sampled_from([*made]), min_size=1, max_size=3).map(tuple))
        if kind is Sequence:
            made[f"{size}sequence{at}"] = Sequence(members, draw(st.integers(1, 3)), code=draw(CODES))
        elif kind is Receive:
            made[f"{size}receive{at}"] = Receive(timeout=members[0], code=draw(CODES))
        elif kind is ForkJoin:
            made[f"{size}fork{at}"] = ForkJoin(members, code=draw(CODES))
        elif len({*stores}) < 2:
            members = draw(st.lists(st.sampled_from(mergeable), min_size=1, max_size=3).map(tuple))
            made[f"{size}merge{at}"] = Merge(members, code=draw(CODES))
    return made


@st.composite
def fluid_scenes(draw, most_hosts=5, most_jobs=7):
    """A network, the hosts of its storages, (submit, machines, walltime, profile) rows and profiles."""
    network, labels = draw(networks_with_storage(most_hosts))
    sizes = draw(st.lists(st.integers(1, network.compute_count), min_size=1, max_size=most_jobs))
    profiles = {}
    by_size = {size: draw(profiles_of(size, labels)) for size in sorted(set(sizes))}
    for made in by_size.values():
        profiles |= made
    rows = [
        (
            draw(st.sampled_from((0.0, 0.0, 0.5, 1.0, 2.25, 6.0))),
            size,
            draw(st.sampled_from((None, None, 0.25, 1.0, 2.0, 2.5, 5.0, 10.0))),
            draw(st.sampled_from([*by_size[size]])),
        )
        for size in sizes
    ]
    return network, labels, sorted(rows, key=lambda row: row[0]), profiles
