"""The money of spec/cloud-cost.md A2 once more: slow, in plain Python, hour by hour and change by change."""

from collections import defaultdict
from itertools import pairwise
from math import ceil

HOUR = 3600.0


def plain_bill(machines, attempts, allocations, jobs, begin, hours, minimum_s):
    """Dollars by machine and kind, by hour, by job and to nobody; core-hours by plan and hour."""
    close = begin + HOUR * hours
    memory = {row["job_id"]: row["memory_bytes"] or 0 for row in jobs.iter_rows(named=True)}
    tries = {row["attempt"]: row for row in attempts.iter_rows(named=True)}
    hosts = defaultdict(list)
    for attempt, first, *_ in allocations.iter_rows():
        hosts[attempt].append(first)
    by_machine = defaultdict(lambda: [0.0, 0.0, 0.0])
    by_hour = [0.0] * hours
    by_job = defaultdict(float)
    core_hours = defaultdict(float)
    for machine in machines.iter_rows(named=True):
        on_it = [
            (row, ceil(row["cores"] / len(hosts[at])), ceil(memory[row["job_id"]] / len(hosts[at])))
            for at, row in tries.items()
            if machine["machine"] in hosts[at] and row["start_time"] < row["finish_time"]
        ]
        for since, until, kind in stretches(machine, on_it, begin, close):
            usd = (until - since) * machine["usd_per_hour"] / HOUR
            by_machine[machine["machine"]][kind] += usd
            by_hour[int((since - begin) // HOUR)] += usd
            core_hours[machine["plan"], int((since - begin) // HOUR)] += (until - since) * machine["cores"] / HOUR
            for job, share in payers(machine, on_it, kind, since):
                by_job[job] += usd * share
        usd = filling(machine, minimum_s) * machine["usd_per_hour"] / HOUR
        hour = max(ceil(((machine["stop_time"] or 0.0) - begin) / HOUR) - 1, 0)
        if usd and machine["stop_time"] >= begin and hour < hours:
            by_machine[machine["machine"]][2] += usd
            by_hour[hour] += usd
            by_job[None] += usd
    return by_machine, by_hour, by_job, core_hours


def stretches(machine, on_it, begin, close):
    """(since, until, kind) between any two instants at which something changes, or an hour ends."""
    is_fixed = machine["billing"] != "life"
    start, stop = (begin, close) if is_fixed else (machine["start_time"], machine["stop_time"])
    up = begin if is_fixed else min(machine["up_time"], stop)
    instants = {start, up, stop, begin, close}
    instants |= {row[name] for row, *_ in on_it for name in ("start_time", "finish_time")}
    instants |= {begin + HOUR * hour for hour in range(round((close - begin) / HOUR) + 1)}
    kept = sorted(instant for instant in instants if max(start, begin) <= instant <= min(stop, close))
    for since, until in pairwise(kept):
        runs = any(row["start_time"] <= since < row["finish_time"] for row, *_ in on_it)
        kind = 0 if since < up else 1 if runs else 2
        if not (kind == 2 and machine["billing"] == "used"):
            yield since, until, kind


def payers(machine, on_it, kind, since):
    """(job, share) of a stretch; nobody is None."""
    if kind != 1:
        return [(machine["started_for"] if kind == 0 else None, 1.0)]
    here = [
        (row["job_id"], cores, size) for row, cores, size in on_it if row["start_time"] <= since < row["finish_time"]
    ]
    cores, size = (sum(part) for part in list(zip(*here, strict=True))[1:])
    if machine["memory_bytes"] and size * machine["cores"] > cores * machine["memory_bytes"]:
        return [(job, own / size) for job, _, own in here]
    return [(job, own / cores) for job, own, _ in here]


def filling(machine, minimum_s):
    """Seconds that an instance's life lacks to the least that is billed."""
    return max(minimum_s - (machine["stop_time"] - machine["start_time"]), 0.0) if machine["billing"] == "life" else 0.0
