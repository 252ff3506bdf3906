"""Machines that draw power, from a few numbers, and their energy summed up step by step, without NumPy."""

from tests.build import workload
from tests.fluid_build import cluster, fluid_jobs

from unspool.model.network import Host
from unspool.model.platform import MachineGroup, MachineType, Platform

WATTS = "100:110:200, 80:85:120, 10:10:10, 50:50:50, 150:150:150"
SPEEDS = (1e9, 0.5e9, 1e-3, 0.5, 0.1)  # two states to compute in, sleep, 2 s to fall asleep, 10 s to wake


def powered(count=2, *, cores=1, slots=1, watts=WATTS, speeds=SPEEDS, sleeps="2:3:4", state=0):
    """Hosts with states of power; with more slots than one, that many jobs fit on a machine."""
    network = cluster(count, cores=cores).network
    properties = {"wattage_per_state": watts, **({"sleep_pstates": sleeps} if sleeps else {})}
    hosts = tuple(Host(host.name, speeds, state, cores, properties=properties) for host in network.hosts)
    network = type(network)(
        hosts, *(getattr(network, name) for name in network.__dataclass_fields__ if name != "hosts")
    )
    return Platform((MachineGroup(MachineType("host", slots), count),), name="powered", network=network)


def working(rows, profiles):
    """Jobs 'a', 'b', ... of (submit, profile, machines) rows, without walltimes."""
    return fluid_jobs([(submit, machines, None, name) for submit, name, machines in rows], profiles)


def logged(rows):
    """Jobs of a log, of (submit, run, cores) rows."""
    return workload([(submit, run, cores, None) for submit, run, cores in rows])
