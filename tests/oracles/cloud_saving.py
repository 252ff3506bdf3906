"""The slow twin of the other placements: the rules of `docs/background/cloud-model.md`, by scans and sorting."""

from tests.oracles.cloud import Replay, drawn, price_of

HOUR = 3600.0


def replay_with(placement, workload, platform, seed=0):
    """Run the workload under `largest-size` or `least-added-cost`."""
    return PLACEMENTS[placement](workload, platform, drawn(platform.cloud, seed)).run()


class LargestSize(Replay):
    """What is started is the largest of the family of the least expensive type."""

    def to_start(self, job, count):
        cheapest = super().to_start(job, count)
        if cheapest is None:
            return None
        live = self.live()
        family = [
            kind
            for kind in self.sold(job, job.plan)
            if kind.family == cheapest.family and self.within_limits(kind, count, live)
        ]
        return min(family, key=lambda kind: (-kind.cores, -kind.memory_bytes, price_of(kind, job.plan), kind.name))


class LeastAddedCost(Replay):
    """Where a job adds least to the bill, with waits and room left over in dollars."""

    wait_usd, room_share, idle_usd = 100.0, 0.8, 1.0

    def idle_of(self, price):
        times = 48.0 if price * 48.0 <= self.idle_usd else self.idle_usd / price
        return self.cloud.idle_s * times

    def choose(self, job, now, bursts, may_start):
        there = self.with_room(job, bursts)
        hosts = [machine for machine in there if not machine.is_instance][: job.hosts]
        if len(hosts) == job.hosts or not bursts:
            return hosts, None
        fixed = len(hosts)
        live = sorted(
            (machine for machine in there if machine.is_instance),
            key=lambda machine: (self.added(machine, job, now), self.after(machine, job, now), *self.rank(machine)),
        )
        hosts += live[: job.hosts - fixed]
        kind = self.best(job, max(job.hosts - len(hosts), 1))
        if kind is None:
            return hosts, None
        wait = self.cloud.boot_s
        if not may_start:
            wait += (now if self.is_tick(now) else self.tick_after(now)) - now
        limit = self.of_new(kind, job) + self.wait_usd * wait / HOUR
        kept = fixed + sum(self.added(machine, job, now) <= limit for machine in hosts[fixed:])
        while kept < len(hosts) and not self.within_limits(kind, job.hosts - kept, self.live()):
            kept += 1
        return hosts[:kept], kind if may_start else None

    def after(self, machine, job, now):
        """How long the machine's jobs go on after this one would end."""
        until = machine.empty_since
        if machine.placed:
            until = max(now, *(self.end_of(attempt) for attempt in machine.placed))
        return until - (max(machine.up_at, now) + job.left)

    def end_of(self, attempt):
        if attempt.start is not None:
            return attempt.finish
        return max(machine.up_at for machine in attempt.hosts) + attempt.job.left

    def added(self, machine, job, now):
        return max(-self.after(machine, job, now), 0.0) * machine.price / HOUR

    def best(self, job, count):
        live = self.live()
        allowed = [kind for kind in self.sold(job, job.plan) if self.within_limits(kind, count, live)]
        return min(allowed, key=lambda kind: self.of_new(kind, job), default=None)  # the first of equals

    def of_new(self, kind, job):
        price = price_of(kind, job.plan)
        paid = price * (self.cloud.boot_s + job.left + self.idle_of(price)) / HOUR
        if not self.cloud.shares:
            return paid
        cores = [price_of(k, job.plan) / k.cores for k in self.cloud.types if price_of(k, job.plan) is not None]
        fullness = max(job.need[0] / kind.cores, job.need[1] / kind.memory_bytes)
        return paid - self.room_share * min(cores) * ((1.0 - fullness) * kind.cores * job.left / HOUR)


PLACEMENTS = {"largest-size": LargestSize, "least-added-cost": LeastAddedCost}
