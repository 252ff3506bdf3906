"""The slow twin of a cluster that grows and shrinks in the cloud (spec cloud-cost, A1): lists, floats and scans.

Written from the rules; of unspool it takes the data model and the random draws. The money is in `cloud_money.py`.
Methods of `Replay` from `end_jobs` on are the steps of an instant, in the order of `instant`.
"""

import math
import re

import numpy as np
from tests.oracles.cloud_parts import (
    Attempt,
    AttemptRow,
    Job,
    JobRow,
    Machine,
    TwinRun,
    fits,
    fixed_machines,
    jobs_of,
    price_of,
)

from unspool.engine.kernel.draws import uniform
from unspool.model.cloud import Cloud

RECLAIMS = 5  # purpose of the draws; a number never changes its meaning


def replay(workload, platform, seed=0, reclaim_after=None):
    """Run the workload on a platform with a cloud.

    `reclaim_after(line, ordinal)` is how many seconds after its start the ordinal-th spot instance that is started for
    the job on a line of the workload is reclaimed; without it, it is drawn.
    """
    return Replay(workload, platform, reclaim_after or drawn(platform.cloud, seed)).run()


def drawn(cloud: Cloud, seed):
    """Seconds to the reclaim: exponential, with the chance a minute that the cloud gives."""

    def reclaim_after(line, ordinal):
        if cloud.reclaim_per_minute == 0.0:
            return math.inf
        u = float(uniform(seed, RECLAIMS, np.array([line]), ordinal)[0])
        return -math.log1p(-u) / -math.log1p(-cloud.reclaim_per_minute) * 60

    return reclaim_after


class Replay:
    """The clock, the machines and the jobs."""

    def __init__(self, workload, platform, reclaim_after):
        self.cloud: Cloud = platform.cloud
        self.origin = workload.origin_unix_s
        self.reclaim_after = reclaim_after
        self.machines = fixed_machines(platform)
        self.attempts: list[Attempt] = []
        self.running: list[Attempt] = []
        self.waiting: list[Job] = []
        self.fresh: list[Job] = []  # waiting, and never looked at since they came (back)
        self.freed = False
        self.changes = 0
        self.jobs = jobs_of(workload)
        self.needs = {job.job_id: job.need for job in self.jobs}
        self.rejected = []
        self.arriving = [job for job in self.jobs if not self.turned_away(job)]

    def run(self):
        now = -math.inf
        while (now := self.next_time(now)) < math.inf:
            self.instant(now)
        assert not self.waiting, "a job waits for ever"
        return self.result()

    def turned_away(self, job):
        """Whether a job could not even start on an empty cluster; sets how it is paid."""
        there = self.there(job)
        if self.is_spot(job) and self.can_start(job, "spot") and not self.is_never_on_spot(job):
            job.plan = "spot"
        bursts = self.cloud.burst_after_s < math.inf
        if there >= job.hosts or (bursts and self.can_start(job, job.plan)):
            return False
        one_fits = there > 0 or (bursts and bool(self.sold(job, job.plan)))
        self.rejected.append((job.job_id, "hosts" if one_fits else "size"))
        return True

    def is_spot(self, job):
        return any(
            job.run_time < rule.max_minutes * 60
            and (rule.queue is None or re.match(rule.queue, job.queue))
            and (rule.project is None or re.match(rule.project, job.project))
            and (rule.max_cores is None or job.total[0] <= rule.max_cores)
            for rule in self.cloud.spot_rules
        )

    def is_never_on_spot(self, job):
        """Whether no reclaim is too many for the job, where there are reclaims and it can run on demand."""
        has_reclaims = self.cloud.reclaim_per_minute > 0.0
        return self.cloud.max_spot_retries == 0 and has_reclaims and self.can_start(job, "on-demand")

    def can_start(self, job, plan):
        """Whether on an empty cluster one type could give all hosts that fixed machines do not, and at least one."""
        count = max(1, job.hosts - self.there(job))
        return any(self.within_limits(kind, count, []) for kind in self.sold(job, plan))

    def there(self, job):
        """How many fixed machines could take a host of the job if they were empty."""
        fixed = [machine for machine in self.machines if not machine.is_instance]
        return sum(fits(job.need, machine.cores, machine.memory or None, machine.gpus) for machine in fixed)

    def sold(self, job, plan):
        """The types that have what a host needs and are sold under the plan, the least expensive first."""
        types = [
            kind
            for kind in self.cloud.types
            if price_of(kind, plan) is not None and fits(job.need, kind.cores, kind.memory_bytes, kind.gpus)
        ]
        return sorted(types, key=lambda kind: (price_of(kind, plan), kind.name))

    def within_limits(self, kind, count, live):
        """Whether so many more instances of the type leave all limits kept."""
        family = [machine for machine in live if machine.family == kind.family]
        for limits, size, more in (
            (self.cloud.max_instances, lambda _: 1, count),
            (self.cloud.max_vcpus, lambda machine: machine.vcpus, count * kind.vcpus),
        ):
            if limits.in_all is not None and sum(map(size, live)) + more > limits.in_all:
                return False
            most = limits.of_family.get(kind.family)
            if most is not None and sum(map(size, family)) + more > most:
                return False
        return True

    def live(self):
        """The instances that are started and not stopped."""
        return [machine for machine in self.machines if machine.is_instance and machine.stop is None]

    def next_time(self, now):
        """The next instant at which something happens, infinite if nothing does."""
        times = [job.submit for job in self.arriving[:1]] + [attempt.finish for attempt in self.running]
        for machine in self.live():
            times += [machine.reclaim_at, self.idle_stop(machine)]
            if not machine.is_up:
                times.append(machine.up_at)
        if self.cloud.frequency_s == 0.0:
            times += [self.burst_at(job) for job in self.waiting if self.burst_at(job) > now]
        elif self.waiting:
            times.append(self.tick_after(now))
        return min(times, default=math.inf)

    def idle_stop(self, machine):
        return math.inf if machine.empty_since is None else machine.empty_since + self.idle_of(machine.price)

    def idle_of(self, price):
        """For how long an instance of that price is kept without a job."""
        return self.cloud.idle_s

    def burst_at(self, job):
        return job.submit + self.cloud.burst_after_s

    def tick_after(self, now):
        every = self.cloud.frequency_s
        tick = math.floor((self.origin + now) / every) - 1
        while tick * every - self.origin <= now:
            tick += 1
        return tick * every - self.origin

    def is_tick(self, now):
        every = self.cloud.frequency_s
        return every > 0.0 and round((self.origin + now) / every) * every - self.origin == now

    def instant(self, now):
        """All that happens at one instant; what a round brings about at this instant makes another round."""
        ticks = self.is_tick(now)
        while True:
            self.end_jobs(now)
            self.reclaim_machines(now)
            self.bring_up(now)
            self.arrive(now)
            self.decide(now, ticks)
            ticks = False
            if any(attempt.finish <= now for attempt in self.running):
                continue  # those of no length end before machines are stopped
            self.stop_idle(now)
            looks_again = self.freed and bool(self.waiting) and self.cloud.frequency_s == 0.0
            if self.next_time(now) > now and not looks_again:
                return

    def end_jobs(self, now):
        """In the order in which they were placed; also those of no length whose last machine is up at this instant."""
        for attempt in self.attempts:
            if attempt.how == "waiting" and attempt.job.left == 0.0 and all(it.up_at <= now for it in attempt.hosts):
                self.run_from(attempt, now)
            if attempt.how == "running" and attempt.finish <= now:
                attempt.how = "completed"
                attempt.job.left = 0.0
                self.leave(attempt, now)

    def reclaim_machines(self, now):
        for machine in self.live():
            if machine.reclaim_at <= now:
                machine.stop, machine.cause = now, "reclaimed"
                self.freed = True
                for attempt in list(machine.placed):
                    self.lose(attempt, now)

    def lose(self, attempt, now):
        """End the attempt on all its hosts and queue its job again."""
        job = attempt.job
        attempt.how = "lost"
        if attempt.start is None:
            attempt.start = now
        attempt.finish = now
        if self.cloud.checkpoint_s is not None:
            ran = now - attempt.start
            job.left -= math.floor(ran / self.cloud.checkpoint_s) * self.cloud.checkpoint_s
        job.reclaimed += 1
        if job.reclaimed >= self.cloud.max_spot_retries and self.can_start(job, "on-demand"):
            job.plan = "on-demand"
        self.leave(attempt, now)
        self.waiting.append(job)
        self.fresh.append(job)

    def leave(self, attempt, now):
        if attempt in self.running:
            self.running.remove(attempt)
        for machine in attempt.hosts:
            machine.placed.remove(attempt)
            self.touch(machine)
            if not machine.placed:
                machine.empty_since = now
        self.freed = True

    def touch(self, machine):
        self.changes += 1
        machine.changed = self.changes

    def bring_up(self, now):
        for machine in self.live():
            if not machine.is_up and machine.up_at <= now:
                machine.up = now
                for attempt in machine.placed:
                    self.begin(attempt, now)

    def begin(self, attempt, now):
        """Start the job if all its hosts are up."""
        if all(machine.is_up for machine in attempt.hosts):
            self.run_from(attempt, now)

    def run_from(self, attempt, now):
        attempt.start, attempt.how = now, "running"
        attempt.finish = now + attempt.job.left
        self.running.append(attempt)

    def arrive(self, now):
        while self.arriving and self.arriving[0].submit <= now:
            job = self.arriving.pop(0)
            self.waiting.append(job)
            self.fresh.append(job)

    def decide(self, now, ticks):
        """Place who can be: at once, or first on what is there and then, at a tick, on what is started for them."""
        fresh, self.fresh = sorted(self.fresh, key=lambda job: job.turn), []
        if self.cloud.frequency_s > 0.0:
            for job in fresh:
                self.place(job, now, may_start=False)
            for job in sorted(self.waiting, key=self.packing) if ticks else ():
                self.place(job, now, may_start=True)
        else:
            looked_at = [job for job in self.waiting if self.freed or job in fresh or self.burst_at(job) == now]
            for job in sorted(looked_at, key=lambda job: job.turn):
                self.place(job, now, may_start=True)
        self.freed = False

    def packing(self, job):
        """By the share of the largest type, the largest first."""
        if not self.cloud.types:
            return (0.0, *job.turn)
        largest = min(self.cloud.types, key=lambda kind: (-kind.cores, -kind.memory_bytes, kind.name))
        return (-max(job.total[0] / largest.cores, job.total[1] / largest.memory_bytes), *job.turn)

    def place(self, job, now, may_start):
        """Hold all the hosts of a job, those that are there first, or none."""
        hosts, kind = self.choose(job, now, now >= self.burst_at(job), may_start)
        if len(hosts) < job.hosts:
            if kind is None:
                return
            hosts += [self.start_machine(kind, job, now) for _ in range(job.hosts - len(hosts))]
        attempt = Attempt(job, hosts)
        self.attempts.append(attempt)
        self.waiting.remove(job)
        for machine in hosts:
            machine.placed.append(attempt)
            machine.empty_since = None
            self.touch(machine)
        self.begin(attempt, now)

    def choose(self, job, now, bursts, may_start):
        """The machines that are there and are to be hosts, and the type of those to be started; None if none may be."""
        hosts = self.with_room(job, bursts)[: job.hosts]
        missing = job.hosts - len(hosts)
        return hosts, self.to_start(job, missing) if missing and may_start and bursts else None

    def with_room(self, job, bursts):
        """The machines that could take a host of the job, the best first."""
        found = []
        for machine in self.machines:
            is_open = (bursts and machine.plan == job.plan) if machine.is_instance else True
            if machine.stop is None and is_open and (self.cloud.shares or not machine.placed):
                cores, memory, gpus = machine.used()
                left = (machine.memory - memory) if machine.memory else None
                if fits(job.need, machine.cores - cores, left, machine.gpus - gpus):
                    found.append(machine)
        return sorted(found, key=self.rank)

    def rank(self, machine):
        """What is paid always, then what is paid when used, then the cloud; then by price, fullness and last change."""
        kind = 2 if machine.is_instance else int(machine.billing == "used")
        per_core = self.cloud.shares or kind == 0
        price = machine.price / machine.cores if per_core else machine.price
        fullness = machine.fullness() if self.cloud.shares else 0.0
        return kind, price, -fullness, machine.changed, machine.number

    def to_start(self, job, count):
        live = self.live()
        return next((kind for kind in self.sold(job, job.plan) if self.within_limits(kind, count, live)), None)

    def start_machine(self, kind, job, now):
        size = (kind.cores, kind.vcpus, kind.memory_bytes, kind.gpus)
        price = price_of(kind, job.plan)
        machine = Machine(len(self.machines), kind.name, kind.family, job.plan, "life", *size, price, start=now)
        machine.up_at = now + self.cloud.boot_s
        machine.up = now if machine.up_at <= now else None
        machine.started_for = job.job_id
        if job.plan == "spot":
            ordinal = sum(other.started_for == job.job_id and other.plan == "spot" for other in self.machines)
            machine.reclaim_at = now + self.reclaim_after(job.line, ordinal)
        self.machines.append(machine)
        return machine

    def stop_idle(self, now):
        for machine in self.live():
            if self.idle_stop(machine) <= now:
                machine.stop, machine.cause = now, "idle"
                self.freed = True

    def result(self):
        machines = [it.row() for it in self.machines]
        attempts = [
            AttemptRow(it.job.job_id, it.start, it.finish, it.how, tuple(machine.number for machine in it.hosts))
            for it in self.attempts
        ]
        jobs = []
        for job in self.jobs:
            own = [attempt for attempt in self.attempts if attempt.job is job]
            if own:
                last = own[-1]
                jobs.append(JobRow(job.job_id, job.submit, last.start, last.finish, last.start - job.submit, len(own)))
        return TwinRun(machines, attempts, jobs, self.rejected, self.needs)
