"""Every built-in scheduler as a user would write it: plain Python, against a view, one class for each way to overtake.

`machines` is how many machines the policy places jobs on, by first fit; 0 means that only cores in all count, as they
do on a pool. `order` is one of `orders.py`; without it the queue is by arrival. An object remembers what it started:
make a new one for each run.
"""

from functools import partial

from tests.oracles import orders
from tests.oracles.machines import LEAST_RENEWAL_S, change, first_fit

from unspool.policies.base import Start, WakeAt


class Fcfs:
    def __init__(self, machines=0, order=None):
        self.machines = machines
        self.order = order

    def decide(self, view):
        free = self.free(view)
        return self.start_heads(self.ranked(view.queue, view), free, view)

    def ranked(self, jobs, view):
        """Jobs in the order of the queue as of now."""
        if self.order is None:
            return sorted(jobs, key=lambda job: job.index)
        for job in view.ended:
            self.order.ended(job.index, job.cores, view.now)
        return sorted(jobs, key=lambda job: (self.key(job, view.now), job.index))

    def key(self, job, now):
        return self.order.key(job.index, job.submit_time, job.cores, job.estimate, now)

    def start_heads(self, queue, free, view):
        """Start jobs from the head on while they fit; takes them off the queue and their share off what is free."""
        starts = []
        while queue and (placement := first_fit(free, self.asked(queue[0]))) is not None:
            starts.append(self.start(queue.pop(0), placement, free, view))
        return starts

    def free(self, view):
        if self.machines:
            return [list(view.free(machine)[:3]) for machine in range(self.machines)]
        return [[view.free_cores]]

    def asked(self, job):
        if not self.machines:
            return {"units": job.cores, "need": (1,), "distinct": False}
        memory = -(job["memory_bytes"] or 0) if job["machines"] else job["memory_bytes"] or 0  # rounded up, or down
        need = (-(-job.cores // job.units), abs(memory // job.units), -(-(job["gpus"] or 0) // job.units))
        return {"units": job.units, "need": need, "distinct": bool(job["machines"])}

    def start(self, job, placement, free, view):
        if self.order is not None:
            self.order.began(job.index, job.cores, view.now)
        change(free, self.asked(job), placement, -1)
        return Start(job, placement if self.machines else None)


class Filler(Fcfs):
    def decide(self, view):
        free = self.free(view)
        placed = ((job, first_fit(free, self.asked(job))) for job in self.ranked(view.queue, view))
        return [self.start(job, placement, free, view) for job, placement in placed if placement is not None]


class Backfilling(Fcfs):
    """Knows when running jobs are expected to end, and where they run."""

    def __init__(self, machines=0, order=None):
        super().__init__(machines, order)
        self.ends = {}
        self.placed = {}

    def start(self, job, placement, free, view):
        self.placed[job] = placement
        return super().start(job, placement, free, view)

    def renew_overdue(self, view):
        """Put off the ends of jobs past their estimate, to now + max(60 s, estimate, run time so far / 1000)."""
        before = {job: self.ends.get(job, job.expected_end) for job in view.running}
        self.ends = {
            job: view.now + max(LEAST_RENEWAL_S, job.estimate, (view.now - job.start_time) / 1000)
            if end <= view.now
            else end
            for job, end in before.items()
        }
        return self.ends != before


class Easy(Backfilling):
    def decide(self, view):
        self.renew_overdue(view)
        free = self.free(view)
        queue = self.ranked(view.queue, view)
        starts = self.start_heads(queue, free, view)
        self.ends |= {decision.job: view.now + decision.job.estimate for decision in starts}
        if not queue:
            return starts
        head = self.asked(queue[0])
        shadow, then = self.shadow(free, head)
        for job in queue[1:]:
            placement = first_fit(free, self.asked(job))
            if placement is None:
                continue
            if view.now + job.estimate > shadow:
                change(then, self.asked(job), placement, -1)
                if first_fit(then, head) is None:
                    change(then, self.asked(job), placement, +1)
                    continue
            starts.append(self.start(job, placement, free, view))
        return starts

    def shadow(self, free, head):
        """When the head fits, and what is free then."""
        then = [list(amounts) for amounts in free]
        for time in sorted(set(self.ends.values())):
            for job in [job for job, end in self.ends.items() if end == time]:
                change(then, self.asked(job), self.placed[job], +1)
            if first_fit(then, head) is not None:
                return time, then
        raise AssertionError("the head fits on the empty platform")


class Conservative(Backfilling):
    def __init__(self, machines=0, order=None):
        super().__init__(machines, order)
        self.plans = {}  # job: (start, placement), in the order of planning

    def decide(self, view):
        ended_early = any(view.now < self.ends.get(job, job.expected_end) for job in view.ended)
        if not (view.arrived or view.ended or any(start <= view.now for start, _ in self.plans.values())):
            return []  # woken for a plan that has moved since
        renewed = self.renew_overdue(view)
        free = self.free(view)
        in_queue = self.ranked({*self.plans, *view.arrived}, view)
        by_start = sorted(filter(self.plans.get, in_queue), key=lambda job: self.plans[job][0])
        if renewed:
            self.plans = {}
            for job in by_start:
                self.plans[job] = self.earliest(job, view.now, free)
        elif ended_early:
            for job in by_start if self.order is None else filter(self.plans.get, in_queue):
                before = self.plans.pop(job)
                after = self.earliest(job, view.now, free)
                self.plans[job] = after if after[0] < before[0] else before
        for job in in_queue:
            if job not in self.plans:
                self.plans[job] = self.earliest(job, view.now, free)
        due = sorted((job for job in in_queue if self.plans[job][0] <= view.now), key=lambda job: self.plans[job][0])
        starts = [self.start(job, self.plans.pop(job)[1], free, view) for job in due]
        return [*starts, *(WakeAt(start) for start in sorted({start for start, _ in self.plans.values()})[:1])]

    def earliest(self, job, now, free):
        """The earliest start of a job beside running jobs and plans, and where."""
        times = {now, *self.ends.values(), *(start + other.estimate for other, (start, _) in self.plans.items())}
        for start in sorted(times):
            placement = first_fit(self.least_free(free, start, start + job.estimate), self.asked(job))
            if placement is not None:
                return start, placement
        raise AssertionError("a job fits on the empty platform")

    def least_free(self, free, start, end):
        """The least that is free of each resource on each machine from `start` to `end`."""
        begins = [begin for begin, _ in self.plans.values() if start < begin < end]
        levels = [self.free_at(free, time) for time in (start, *begins)]
        return [[min(amounts) for amounts in zip(*rows, strict=True)] for rows in zip(*levels, strict=True)]

    def free_at(self, free, time):
        level = [list(amounts) for amounts in free]
        for job, end in self.ends.items():
            if end <= time:
                change(level, self.asked(job), self.placed[job], +1)
        for job, (start, placement) in self.plans.items():
            if start <= time < start + job.estimate:
                change(level, self.asked(job), placement, -1)
        return level


def by(name, machines=0, **facts):
    """FCFS in another order, of which `orders.make` wants to know some facts of the log."""
    return Fcfs(machines, orders.make(name, **facts))


PLAIN = {"fcfs": Fcfs, "easy": Easy, "conservative": Conservative, "filler": Filler} | {
    name: partial(by, name) for name in orders.NAMES if name != "fcfs"
}
