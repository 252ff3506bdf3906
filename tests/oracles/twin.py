"""The slow twin: FCFS, filler, EASY and conservative backfilling on a pool of processors, in plain Python.

Written from the rules, without a thought for speed beyond sorted lists. It imports nothing of unspool and is what
the compiled engine is held against. Orders and predictors are those of `orders.py`.
"""

from bisect import bisect_left, bisect_right, insort
from heapq import heappop, heappush

LEAST_RENEWAL_S = 60


def simulate(jobs, cores, policy, kill_at_walltime=False, order=None, predictor=None):
    """Start and finish of each job.

    `jobs` are (submit, run_time, size, estimate) by submit time, ties by line of the log, which is the order of the
    queue unless one is given. An estimate is more than zero and a size is at most `cores`.
    """
    assert all(run_time >= 0 and 1 <= size <= cores and estimate > 0 for _, run_time, size, estimate in jobs)
    if kill_at_walltime:
        jobs = [(submit, min(run_time, estimate), size, estimate) for submit, run_time, size, estimate in jobs]
    kind = {"fcfs": Fcfs, "filler": Filler, "easy": Easy, "conservative": Conservative}[policy]
    return kind(jobs, cores, order, predictor).run()


class Pool:
    """The clock, the running jobs and the order of events at one instant: ends, arrivals, then one decision."""

    def __init__(self, jobs, cores, order=None, predictor=None):
        self.jobs = list(jobs)
        self.cores = cores
        self.order = order
        self.predictor = predictor
        self.free = cores
        self.start = [None] * len(jobs)
        self.finish = [None] * len(jobs)
        self.ends = []  # heap of (finish, job)
        self.estimated_end = {}  # of each running job
        self.running = []  # sorted (estimated end, job)

    def run(self):
        arrived = 0
        while True:
            instants = self.instants()
            if self.ends:
                instants.append(self.ends[0][0])
            if arrived < len(self.jobs):
                instants.append(self.jobs[arrived][0])
            if not instants:
                return list(zip(self.start, self.finish, strict=True))
            now = min(instants)
            while self.ends and self.ends[0][0] == now:
                self.end(heappop(self.ends)[1], now)
            while arrived < len(self.jobs) and self.jobs[arrived][0] == now:
                self.predict(arrived)
                self.arrive(arrived)
                arrived += 1
            renewed = self.renew_overdue(now)
            self.decide(now, renewed)

    def instants(self):
        """Instants at which the policy wants to decide besides ends and arrivals."""
        return []

    def predict(self, job):
        """Where there is a predictor, its guess stands for what was asked for."""
        if self.predictor:
            submit, run_time, size, estimate = self.jobs[job]
            self.jobs[job] = submit, run_time, size, self.predictor.predict(job, estimate)

    def ranked(self, waiting, now):
        """Waiting jobs in the order of the queue as of now."""
        if self.order is None:
            return sorted(waiting)
        return sorted(waiting, key=lambda job: (self.key(job, now), job))

    def key(self, job, now):
        submit, _, size, estimate = self.jobs[job]
        return self.order.key(job, submit, size, estimate, now)

    def begin(self, job, now):
        _, run_time, size, estimate = self.jobs[job]
        if self.order:
            self.order.began(job, size, now)
        self.free -= size
        assert self.free >= 0, "more cores in use than there are"
        self.start[job] = now
        self.finish[job] = now + run_time
        self.estimated_end[job] = now + estimate
        insort(self.running, (now + estimate, job))
        heappush(self.ends, (now + run_time, job))

    def end(self, job, now):
        entry = (self.estimated_end.pop(job), job)
        del self.running[bisect_left(self.running, entry)]
        self.free += self.jobs[job][2]
        if self.order:
            self.order.ended(job, self.jobs[job][2], now)
        if self.predictor:
            self.predictor.learn(job, now - self.start[job])

    def renew_overdue(self, now):
        """A running job past its estimate is taken to end at now + max(60 s, estimate, run time so far / 1000)."""
        renewed = False
        while self.running and self.running[0][0] <= now:
            _, job = self.running.pop(0)
            self.estimated_end[job] = now + max(LEAST_RENEWAL_S, self.jobs[job][3], (now - self.start[job]) / 1000)
            insort(self.running, (self.estimated_end[job], job))
            renewed = True
        return renewed


class Fcfs(Pool):
    def __init__(self, *problem):
        super().__init__(*problem)
        self.queue = []  # waiting jobs in queue order

    def arrive(self, job):
        self.queue.append(job)

    def start_heads(self, now):
        if self.order is not None:
            self.queue = self.ranked(self.queue, now)
        started = 0
        for job in self.queue:
            if self.jobs[job][2] > self.free:
                break
            self.begin(job, now)
            started += 1
        del self.queue[:started]

    def decide(self, now, renewed):
        self.start_heads(now)


class Filler(Fcfs):
    def decide(self, now, renewed):
        for job in self.ranked(self.queue, now):
            if self.jobs[job][2] <= self.free:
                self.begin(job, now)
        self.queue = [job for job in self.queue if self.start[job] is None]


class Easy(Fcfs):
    def decide(self, now, renewed):
        self.start_heads(now)
        if len(self.queue) < 2 or self.free == 0:
            return
        shadow, extra = self.shadow(self.jobs[self.queue[0]][2])
        for job in self.queue[1:]:
            _, _, size, estimate = self.jobs[job]
            if size > self.free:
                continue
            ends_in_time = now + estimate <= shadow
            if ends_in_time or size <= extra:
                if not ends_in_time:
                    extra -= size
                self.begin(job, now)
        self.queue = [job for job in self.queue if self.start[job] is None]

    def shadow(self, need):
        """When the head would fit, and what is free then beyond its need; all ends at that time are counted."""
        free = self.free
        shadow = None
        for estimated_end, job in self.running:
            if shadow is not None and estimated_end > shadow:
                break
            free += self.jobs[job][2]
            if shadow is None and free >= need:
                shadow = estimated_end
        return shadow, free - need


class Conservative(Pool):
    """Plans move forward by their start, then queue order; where an order is given, by that alone."""

    def __init__(self, *problem):
        super().__init__(*problem)
        self.plans = []  # sorted (planned start, place in the queue, job) of the waiting jobs
        self.place_in_queue = range(len(self.jobs))
        self.arrivals = []  # arrived since the last decision
        self.ended_early = False
        self.profile = Profile(self.cores, 0)

    def instants(self):
        return [self.plans[0][0]] if self.plans else []

    def arrive(self, job):
        self.arrivals.append(job)

    def end(self, job, now):
        estimated_end = self.estimated_end[job]
        super().end(job, now)
        if now < estimated_end:
            self.ended_early = True
            self.profile.change(now, estimated_end, self.jobs[job][2])

    def decide(self, now, renewed):
        self.profile.forget_before(now)
        if self.order is not None:
            waiting = self.ranked([*(job for *_, job in self.plans), *self.arrivals], now)
            self.place_in_queue = {job: at for at, job in enumerate(waiting)}
        if renewed:
            self.profile = Profile(self.cores, now)
            for estimated_end, job in self.running:
                self.profile.change(now, estimated_end, -self.jobs[job][2])
            for _, _, job in self.unplan_all():
                self.place(job)
        elif self.ended_early:
            plans = self.unplan_all()
            for planned, _, job in plans if self.order is None else sorted(plans, key=lambda plan: plan[1]):
                _, _, size, estimate = self.jobs[job]
                self.profile.change(planned, planned + estimate, size)
                assert self.place(job) <= planned, "a job was moved back"
        self.ended_early = False
        for job in sorted(self.arrivals, key=lambda job: self.place_in_queue[job]):
            self.place(job)
        self.arrivals = []
        while self.plans and self.plans[0][0] <= now:
            _, _, job = self.plans.pop(0)
            self.begin(job, now)

    def unplan_all(self):
        """(planned start, place in the queue, job) of the waiting jobs, sorted; none has a plan any more."""
        waiting, self.plans = self.plans, []
        return sorted((start, self.place_in_queue[job], job) for start, _, job in waiting)

    def place(self, job):
        _, _, size, estimate = self.jobs[job]
        start = self.profile.earliest_fit(size, estimate)
        self.profile.change(start, start + estimate, -size)
        insort(self.plans, (start, self.place_in_queue[job], job))
        return start


class Profile:
    """Free cores over time: `free[i]` from `times[i]` to `times[i + 1]`, the last one for ever."""

    def __init__(self, cores, now):
        self.times = [now]
        self.free = [cores]

    def forget_before(self, now):
        first = bisect_right(self.times, now) - 1
        del self.times[:first], self.free[:first]
        self.times[0] = now

    def change(self, start, end, amount):
        """Add `amount` to what is free from `start` to `end`."""
        first = self.breakpoint(start)
        last = self.breakpoint(end)
        for i in range(first, last):
            self.free[i] += amount
        self.join(last)
        self.join(first)

    def breakpoint(self, time):
        """The index of the breakpoint at `time`, made if there is none."""
        i = bisect_left(self.times, time)
        if i == len(self.times) or self.times[i] != time:
            self.times.insert(i, time)
            self.free.insert(i, self.free[i - 1])
        return i

    def join(self, i):
        """Drop the breakpoint if nothing changes there."""
        if i > 0 and self.free[i] == self.free[i - 1]:
            del self.times[i], self.free[i]

    def earliest_fit(self, size, estimate):
        """The earliest start from the first breakpoint on with `size` cores free for `estimate` seconds."""
        start = self.times[0]
        for i, free in enumerate(self.free):
            if self.times[i] >= start + estimate:
                return start
            if free < size:
                start = self.times[i + 1]
        return start
