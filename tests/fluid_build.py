"""Workloads with profiles and platforms with networks, from a few numbers, and what a result says of them."""

import polars as pl

from unspool.model.network import Host, Link, Network
from unspool.model.platform import MachineGroup, MachineType, Platform
from unspool.model.profile import Delay, Sequence
from unspool.model.workload import Workload
from unspool.results.run import run


def cluster(count=4, *, speeds=(), cores=1, bandwidth=1e8, latency=0.0, storages=(), backbone=None):
    """Hosts of 1 Gflop/s with a link each way, then storages with one link for both ways, each of its bandwidth."""
    links, leaving, arriving = [], [], []
    for host in range(count):
        links += [Link(f"up{host}", bandwidth, latency), Link(f"down{host}", bandwidth, latency)]
        leaving.append((2 * host,))
        arriving.append((2 * host + 1,))
    for at, theirs in enumerate(storages):
        leaving.append((len(links),))
        arriving.append((len(links),))
        links.append(Link(f"of{at}", theirs, latency))
    middle = ()
    if backbone is not None:
        middle = (len(links),)
        links.append(Link("backbone", backbone, 0.0))
    hosts = [Host(f"h{at}", (speed,), cores=cores) for at, speed in enumerate(speeds or (1e9,) * count)]
    hosts += [Host(f"s{at}", (1e9,), role="storage") for at in range(len(storages))]
    ways = zip(leaving, arriving, strict=True)
    return platform(
        Network(
            tuple(hosts), tuple(links), (0,) * len(hosts), tuple(leaving), tuple(arriving),
            tuple((*out, *middle, *(() if out == home else home)) for out, home in ways), {(0, 0): middle},
        )
    )  # fmt: skip


def platform(network):
    """Each host that jobs run on is a machine, given whole."""
    return Platform((MachineGroup(MachineType("host", 1), network.compute_count),), name="small", network=network)


def seconds(profiles, name):
    """How long delays take, and sequences of them; None for all others."""
    profile = profiles[name]
    if isinstance(profile, Delay):
        return profile.seconds
    if not isinstance(profile, Sequence):
        return None
    total = 0.0
    for member in profile.members * profile.repeat:
        span = seconds(profiles, member)
        if span is None:
            return None
        total += span
        if returned(profiles, member):
            break
    return total


def returned(profiles, name):
    profile = profiles[name]
    for member in profile.members if isinstance(profile, Sequence) else ():
        if returned(profiles, member):
            return returned(profiles, member)
    return profile.code


def fluid_jobs(rows, profiles, **columns):
    """Jobs 'a', 'b', ... of (submit, machines, walltime, profile) rows; more columns by name."""
    submit, machines, walltime, names = zip(*rows, strict=True)
    table = {
        "job_id": [chr(ord("a") + at) if at < 26 else str(at) for at in range(len(rows))],
        "submit_time": submit,
        "run_time": [seconds(profiles, name) or 0.0 for name in names],
        "cores": machines,
        "machines": machines,
        "walltime": walltime,
        "profile": names,
        **columns,
    }
    types = {"submit_time": pl.Float64, "run_time": pl.Float64, "walltime": pl.Float64}
    return Workload.of(pl.DataFrame(table, schema_overrides=types), profiles=profiles)


def outcome(result):
    """(start, finish, state, return code) of each job, in the order of submission."""
    return result.jobs.select("start_time", "finish_time", "state", "return_code").rows()


def alone(profile, machines=1, where=None, walltime=None, *, others=None, policy="fcfs", **options):
    """(finish, state, return code) of one job that starts at 0."""
    profiles = {"p": profile, **(others or {})}
    jobs = fluid_jobs([(0, machines, walltime, "p")], profiles)
    return outcome(run(jobs, where or cluster(), policy, kill_at_walltime=True, **options))[0][1:]
