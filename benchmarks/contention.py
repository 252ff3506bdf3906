"""Tasks that share hosts and links, a CPU second: `python -m benchmarks.contention [--quick]`.

Beside the engine, in the same run, a plain loop that solves all tasks anew at every event, as SimGrid does; compiled,
but without components. And SimGrid itself, from C++ on the same tasks, where it is installed (`simgrid_peer.py`); the
rates that were recorded of it once, on another machine, are here for their order of magnitude. Ends must agree.
"""

import sys
import time

import numba
import numpy as np
import polars as pl
from benchmarks.simgrid_peer import run_simgrid

from unspool.engine.kernel.compiled import compiled
from unspool.engine.network.activities import settle, take_due
from unspool.engine.network.activity_heap import next_due
from unspool.engine.network.network_build import grow_sharing, routes_of, sharing_on
from unspool.engine.network.tasks import begin_task, clear_task, send_to_all
from unspool.model.network import Contention, Host, Link, Network
from unspool.model.platform import MachineGroup, MachineType, Platform
from unspool.model.profile import HomogeneousTask
from unspool.model.workload import Workload
from unspool.results.run import run

SPEED, BANDWIDTH, LATENCY, GAMMA = 1e9, 1.25e8, 5e-5, 4194304.0
BACKBONE = 1.25e9
LARGEST = 64
# Each end depends on all before it: between any two of the three, what differs in the last digit has grown to 4e-10 of
# the time after 1,500 tasks, 20 at once, and to 1e-7 after 2,000.
ROUNDING = 1e-6
SIMGRID = {
    ("one host", 10): 303_000, ("one host", 100): 86_000, ("one host", 1000): 3_560, ("one host", 3000): 416,
    ("4-64 hosts", 20): 559, ("4-64 hosts", 40): 517, ("4-64 hosts", 60): 472, ("4-64 hosts", 120): 339,
    ("64 hosts", 40): 222,
}  # fmt: skip


def star(count, backbone=None):
    """Hosts with a link each way, of one group, and perhaps a backbone between them."""
    links = [Link(f"{way}{at}", BANDWIDTH, LATENCY) for at in range(count) for way in ("up", "down")]
    middle = ()
    if backbone is not None:
        middle = (len(links),)
        links.append(Link("backbone", backbone, LATENCY))
    leaving, arriving = (tuple((2 * at + way,) for at in range(count)) for way in (0, 1))
    itself = tuple((*out, *middle, *home) for out, home in zip(leaving, arriving, strict=True))
    hosts = tuple(Host(f"h{at}", (SPEED,)) for at in range(count))
    return Network(hosts, tuple(links), (0,) * count, leaving, arriving, itself, {(0, 0): middle})


def on_one_host(at_once, tasks):
    """(first, count, hosts, flops, bytes): a host has one task at a time, all of the same length, so that they take
    turns in a fixed order."""
    at = np.arange(tasks)
    return at, np.ones(tasks, np.int64), at % at_once, SPEED * (1 + (at % at_once) / at_once), np.zeros(tasks)


def all_to_all(least, most, tasks, hosts, seed=1):
    draw = np.random.default_rng(seed)
    count = draw.integers(least, most + 1, tasks)
    chosen = np.concatenate([draw.choice(hosts, each, replace=False) for each in count])
    first = np.concatenate([[0], np.cumsum(count)[:-1]])
    return first, count, chosen, draw.uniform(1e9, 1e10, tasks), draw.uniform(1e5, 1e7, tasks)


@compiled
def drive(sharing, routes, first, count, hosts, cpu, com, at_once, start, finish):
    """Keep so many tasks going, and write down when each started and ended."""
    following, running, now = 0, 0, 0.0
    while True:
        while running < at_once and following < len(first):
            clear_task(sharing, routes)
            for k in range(count[following]):
                routes.crew[k] = hosts[first[following] + k]
                routes.flops[k] = cpu[following]
            if com[following] > 0.0:
                send_to_all(sharing, routes, count[following], com[following])
            begin_task(sharing, routes, following, count[following], now)
            start[following] = now
            following += 1
            running += 1
        while not settle(sharing, now):
            pass
        if running == 0:
            return
        now = next_due(sharing.rule, sharing.heap)
        while True:
            over = take_due(sharing, now)
            if over < 0:
                break
            finish[over] = now
            running -= 1


@numba.njit
def solve_all(going, running, resource, weight, ends, bound, capacity, rate, left, share, users, grown, is_open):
    """The rounds of SimGrid's solver over all tasks that are not waiting for their latency."""
    left[:] = capacity
    still = 0
    for at in range(running):
        task = going[at]
        rate[task] = 0.0
        is_open[task] = ends[task, 2] == 0
        still += is_open[task]
    while still > 0:
        users[:] = 0
        for at in range(running):
            if is_open[going[at]]:
                for k in range(ends[going[at], 0], ends[going[at], 1]):
                    users[resource[k]] += 1
        share[:] = np.where(users > 0, left / np.maximum(users, 1), 0.0)
        for at in range(running):
            task = going[at]
            if is_open[task]:
                step = bound[task] - rate[task]
                for k in range(ends[task, 0], ends[task, 1]):
                    step = min(step, share[resource[k]] / weight[k])
                grown[task] = step
                rate[task] += step
        for at in range(running):
            task = going[at]
            if ends[task, 2] == 0:
                for k in range(ends[task, 0], ends[task, 1]):
                    if users[resource[k]] > 0:
                        left[resource[k]] -= weight[k] * grown[task]
                        if left[resource[k]] < 1e-5:
                            left[resource[k]] = 0.0
        for at in range(running):
            task = going[at]
            if is_open[task]:
                closes = rate[task] == bound[task]
                for k in range(ends[task, 0], ends[task, 1]):
                    closes = closes or left[resource[k]] == 0.0
                if closes:
                    is_open[task] = False
                    still -= 1


@numba.njit
def drive_plainly(first, count, hosts, cpu, com, at_once, capacity, host_count, has_backbone, start, finish):
    """The same tasks, all of them solved anew at every event."""
    tasks, room = len(first), 3 * LARGEST + 1
    resource, weight = np.zeros((at_once + 1) * room, np.int64), np.zeros((at_once + 1) * room)
    ends, bound, rate = np.zeros((at_once, 3), np.int64), np.zeros(at_once), np.zeros(at_once)
    todo, latency, name = np.zeros(at_once), np.zeros(at_once), np.zeros(at_once, np.int64)
    grown, is_open = np.zeros(at_once), np.zeros(at_once, np.bool_)
    left, share, users = np.zeros(len(capacity)), np.zeros(len(capacity)), np.zeros(len(capacity), np.int64)
    going, spare = np.zeros(at_once, np.int64), np.arange(at_once)
    following, running, now = 0, 0, 0.0
    while True:
        while running < at_once and following < tasks:
            slot = spare[at_once - running - 1]
            going[running] = slot
            k = slot * room
            ends[slot, 0] = k
            size = count[following]
            for at in range(size):
                host = hosts[first[following] + at]
                resource[k], weight[k] = host, cpu[following]
                k += 1
                if com[following] > 0.0:
                    for way in range(2):
                        resource[k], weight[k] = host_count + 2 * host + way, com[following] * (size - 1)
                        k += 1
            latency[slot], bound[slot] = 0.0, SPEED / cpu[following]
            if com[following] > 0.0:
                latency[slot] = (3 if has_backbone else 2) * LATENCY
                bound[slot] = min(bound[slot], GAMMA / (2 * latency[slot] * com[following]))
                if has_backbone:
                    resource[k], weight[k] = len(capacity) - 1, com[following] * size * (size - 1)
                    k += 1
            ends[slot, 1], ends[slot, 2] = k, latency[slot] > 0.0
            todo[slot], name[slot], start[following] = 1.0, following, now
            following += 1
            running += 1
        if running == 0:
            return
        solve_all(going, running, resource, weight, ends, bound, capacity, rate, left, share, users, grown, is_open)
        span = np.inf
        for at in range(running):
            task = going[at]
            span = min(span, latency[task] if ends[task, 2] else todo[task] / rate[task])
        now += span
        kept = 0
        for at in range(running):
            task = going[at]
            if ends[task, 2]:
                latency[task] -= span
                ends[task, 2] = latency[task] >= 1e-9
            else:
                todo[task] -= rate[task] * span
            if todo[task] < 1e-14:
                finish[name[task]] = now
                spare[at_once - running + at - kept] = task
            else:
                going[kept] = task
                kept += 1
        running = kept


def ours(network, tasks, at_once):
    """(CPU seconds, finish times) of the engine."""
    most = int(tasks[1].max())
    sharing = grow_sharing(sharing_on(network, Contention()), at_once + 2, 2 * (at_once + 2) * (3 * most + 1))
    routes = routes_of(network, most)
    start, finish = np.full(len(tasks[0]), -1.0), np.full(len(tasks[0]), -1.0)
    began = time.process_time()
    drive(sharing, routes, *tasks, at_once, start, finish)
    took = time.process_time() - began
    assert (start >= 0).all()
    assert (finish > start).all()
    return took, finish


def plain(network, tasks, at_once):
    """The same of the plain loop."""
    capacity = np.array([host.speed for host in network.hosts] + [link.bandwidth for link in network.links])
    start, finish = np.full(len(tasks[0]), -1.0), np.full(len(tasks[0]), -1.0)
    has_backbone = len(network.links) % 2 == 1
    began = time.process_time()
    drive_plainly(*tasks, at_once, capacity, len(network.hosts), has_backbone, start, finish)
    took = time.process_time() - began
    assert (finish > start).all()
    return took, finish


def row(what, network, at_once, tasks, few, recorded):
    """Cells: what, at once, our rate, and on the first tasks the plain loop's and SimGrid's with our ratios to them."""
    count = len(tasks[0])
    first = tuple(part if at == 2 else part[:few] for at, part in enumerate(tasks))
    ours(network, first, at_once)
    plain(network, tuple(part if at == 2 else part[:10] for at, part in enumerate(tasks)), at_once)
    rate = count / min(ours(network, tasks, at_once)[0] for _ in range(3))
    (our_s, found), (plain_s, expected) = ours(network, first, at_once), plain(network, first, at_once)
    np.testing.assert_allclose(found, expected, rtol=ROUNDING)
    theirs = run_simgrid(len(network.hosts), first, at_once) if recorded else None
    if theirs is not None:
        np.testing.assert_allclose(found, theirs[1], rtol=ROUNDING)
    their_rate = 0.0 if theirs is None else few / theirs[0]
    once = SIMGRID.get((recorded, at_once))
    return (
        what, f"{at_once:,}", f"{rate:,.0f}", f"{few / plain_s:,.0f}", f"{plain_s / max(our_s, 1e-9):,.1f}×",
        f"{their_rate:,.0f}" if their_rate else "", f"{rate / their_rate:,.0f}×" if their_rate else "",
        "" if once is None else f"{once:,}", "" if once is None else f"{rate / once:,.0f}×",
    )  # fmt: skip


HEADER = (
    "tasks", "at once", "tasks/s", "plain loop, tasks/s", "faster by", "SimGrid, tasks/s", "faster by",
    "SimGrid, recorded", "faster by",
)  # fmt: skip


def rows(quick=False):
    """The rows of the table, made one by one."""
    scale = 10 if quick else 1
    for at_once in (10, 100, 1000, 3000):
        tasks = on_one_host(at_once, 200_000 // scale + 20 * at_once)
        few = max(200_000 // at_once, 2 * at_once) // scale + at_once
        yield row("one host", star(at_once), at_once, tasks, few, "one host")
    for backbone in (None, BACKBONE):
        told = "" if backbone is None else ", backbone"
        network = star(256, backbone)
        for least, at_once in ((4, 20), (4, 40), (4, 60), (4, 120), (LARGEST, 40)):
            what = f"{least}-{LARGEST} hosts" if least < LARGEST else f"{LARGEST} hosts"
            tasks = all_to_all(least, LARGEST, 2_000 // scale + at_once, 256)
            yield row(what + told, network, at_once, tasks, len(tasks[0]), what if backbone is None else "")


def jobs_on_a_star(jobs, hosts=512, seed=3):
    """Jobs of 1 to 64 hosts that compute and send to one another, at a load of about 0.8."""
    draw = np.random.default_rng(seed)
    size = 2 ** draw.integers(0, 7, jobs)
    cpu, com = draw.uniform(1e10, 1e12, jobs), draw.uniform(1e5, 1e7, jobs)
    until = (size * cpu / SPEED).sum() / hosts / 0.8
    table = {
        "job_id": np.arange(jobs).astype(str), "submit_time": np.sort(draw.uniform(0, until, jobs)),
        "run_time": np.zeros(jobs), "cores": size, "machines": size, "walltime": 3 * cpu / SPEED + 100,
        "profile": [f"p{at}" for at in range(jobs)],
    }  # fmt: skip
    profiles = {f"p{at}": HomogeneousTask(float(cpu[at]), float(com[at])) for at in range(jobs)}
    return Workload.of(pl.DataFrame(table), profiles=profiles)


def delays(jobs, hosts=512, seed=3):
    """The same without flops and bytes."""
    draw = np.random.default_rng(seed)
    size, run_time = 2 ** draw.integers(0, 7, jobs), draw.uniform(10, 1000, jobs)
    until = (size * run_time).sum() / hosts / 0.8
    table = {
        "job_id": np.arange(jobs).astype(str), "submit_time": np.sort(draw.uniform(0, until, jobs)),
        "run_time": run_time, "cores": size, "machines": size, "walltime": 3 * run_time,
    }  # fmt: skip
    return Workload.of(pl.DataFrame(table))


def whole_runs(quick=False):
    """Cells: what, jobs, seconds of `unspool.run` without reading and compiling."""
    scale = 10 if quick else 1
    where = Platform((MachineGroup(MachineType("host", 1), 512),), network=star(512))
    for what, make, jobs in (("delays", delays, 1_000_000), ("each computes and sends", jobs_on_a_star, 100_000)):
        run(make(100), where, "easy", kill_at_walltime=True)
        result = run(make(jobs // scale), where, "easy", kill_at_walltime=True)
        assert len(result.jobs) == jobs // scale
        assert (result.jobs["finish_time"] > result.jobs["start_time"]).all()
        took = result.timing["simulate_s"] + result.timing["tables_s"]
        yield f"{what}, EASY on 512 hosts", f"{jobs // scale:,}", f"{took:.1f}", f"{jobs // scale / took:,.0f}"


RUN_HEADER = ("jobs", "how many", "seconds of the clock", "jobs/s")


def main():
    quick = "--quick" in sys.argv
    for header, cells in ((HEADER, rows(quick)), (RUN_HEADER, whole_runs(quick))):
        print("| " + " | ".join(header) + " |\n|" + " --- |" * len(header))
        for each in cells:
            print("| " + " | ".join(each) + " |", flush=True)
        print()


if __name__ == "__main__":
    main()
