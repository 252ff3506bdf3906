"""The slow twin of the bill of a cloud run (spec cloud-cost, A2): every stretch between two changes, one at a time."""

import math
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise

PLANS = ("on-premises", "reserved", "on-demand", "spot")
PARTS = ("boot", "run", "idle")


@dataclass
class Hour:
    """A row of the hourly table; costs in dollars."""

    cost: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PLANS, 0.0))
    core_hours: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PLANS, 0.0))
    family_cost: dict[str, float] = field(default_factory=lambda: defaultdict(float))  # on demand only
    family_core_hours: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    part: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))


@dataclass
class TwinBill:
    """What a run costs, in dollars."""

    total: float
    paid: list[float]  # of each machine
    parts: list[dict[str, float]]  # boot, run and idle of each machine
    hours: dict[int, Hour]  # by relative hour, gaps included
    jobs: dict[str, float]
    unallocated: float


def bill(run, workload, platform, start=None):
    """The bill of a run; hour 0 is the UTC hour of `start`, in seconds since the origin, else of the first job."""
    origin = workload.origin_unix_s
    began = workload.table["submit_time"][0] if start is None else start
    ends = [machine.stop_time for machine in run.machines if machine.stop_time is not None]
    ends += [attempt.finish_time for attempt in run.attempts]
    first = math.floor((origin + began) / 3600)
    last = max(hour_of_end(origin + max(ends, default=began)), first)
    ledger = Ledger(run, first, last, origin)
    for machine in run.machines:
        ledger.pay(machine, platform.cloud.minimum_billed_s)
    return ledger.bill()


def hour_of_end(time):
    """What ends exactly on the hour ends in the hour before."""
    return math.ceil(time / 3600) - 1


class Ledger:
    """The sums, and the hours that they are entered under."""

    def __init__(self, run, first, last, origin):
        self.run = run
        self.first = first
        self.origin = origin
        self.hours = {hour: Hour() for hour in range(last - first + 1)}
        self.begins = first * 3600 - origin
        self.ends = (last + 1) * 3600 - origin
        self.paid = []
        self.parts = []
        self.jobs = {job.job_id: 0.0 for job in run.jobs}
        self.unallocated = 0.0

    def bill(self):
        return TwinBill(sum(self.paid), self.paid, self.parts, self.hours, self.jobs, self.unallocated)

    def pay(self, machine, minimum_s):
        """Enter all that is paid for one machine."""
        is_instance = machine.billing == "life"
        self.parts.append(dict.fromkeys(PARTS, 0.0))
        begin, end = (machine.start_time, machine.stop_time) if is_instance else (self.begins, self.ends)
        up = begin
        if is_instance:
            up = end if machine.up_time is None else machine.up_time
        here = [attempt for attempt in self.run.attempts if machine.machine in attempt.machines]
        times = {begin, up, end}
        times |= {min(max(time, begin), end) for attempt in here for time in (attempt.start_time, attempt.finish_time)}
        times = sorted(times)
        used_s = 0.0
        for since, until in pairwise(times):
            running = [it for it in here if it.start_time <= since and it.finish_time >= until]
            if until <= up:
                self.enter(machine, since, until, "boot", {machine.started_for: 1.0})
            elif running:
                self.enter(machine, since, until, "run", self.shares(machine, running))
                used_s += until - since
            elif machine.billing != "used":
                self.enter(machine, since, until, "idle", {})
        if is_instance:
            short = max(0.0, minimum_s - (end - begin))
            hour = hour_of_end(self.origin + end)
            if begin >= self.begins:  # also one that begins and ends at the instant at which the table begins
                hour = max(hour, self.first)
            self.add(machine, hour * 3600 - self.origin, short / 3600 * machine.usd_per_hour, 0.0, "idle", {})
            self.paid.append(max(end - begin, minimum_s) / 3600 * machine.usd_per_hour)
        else:
            paid_s = used_s if machine.billing == "used" else self.ends - self.begins
            self.paid.append(paid_s / 3600 * machine.usd_per_hour)

    def shares(self, machine, running):
        """What each job that runs pays of the machine: by its amount of the resource that is taken most."""
        needs = [self.run.needs[attempt.job_id] for attempt in running]
        cores, memory = sum(need[0] for need in needs), sum(need[1] for need in needs)
        memory_share = memory / machine.memory_bytes if machine.memory_bytes else 0.0
        limiting, whole = (1, memory) if memory_share > cores / machine.cores else (0, cores)
        return {it.job_id: need[limiting] / whole for it, need in zip(running, needs, strict=True)}

    def enter(self, machine, since, until, part, shares):
        """Enter a stretch without a change, hour by hour."""
        while since < until:
            hour_ends = (math.floor((self.origin + since) / 3600) + 1) * 3600 - self.origin
            here = min(until, hour_ends)
            hours = (here - since) / 3600
            self.add(machine, since, hours * machine.usd_per_hour, hours * machine.cores, part, shares)
            since = here

    def add(self, machine, time, cost, core_hours, part, shares):
        self.parts[-1][part] += cost
        for job_id, share in shares.items():
            self.jobs[job_id] += share * cost
        if not shares:
            self.unallocated += cost
        hour = self.hours.get(math.floor((self.origin + time) / 3600) - self.first)
        if hour is not None:
            hour.cost[machine.plan] += cost
            hour.core_hours[machine.plan] += core_hours
            hour.part[part] += cost
            if machine.plan == "on-demand":
                hour.family_cost[machine.family] += cost
                hour.family_core_hours[machine.family] += core_hours
