"""The slow twin on machines: FCFS, filler, EASY and conservative backfilling with cores, memory and GPUs, by first fit.

Written from the rules; it imports nothing of unspool. Orders are those of `orders.py`. A job is a dict with `submit`,
`run`, `estimate`, `units`, `need` (cores, memory, GPUs of one unit) and `distinct` (at most one unit on a machine). One
that is `local` has all its units in one of the `zones`, which are lists of machines.
"""

LEAST_RENEWAL_S = 60


def simulate(jobs, machines, policy, order=None, zones=()):
    """(start, finish, {machine: units}) of each job; `machines` are tuples of capacities, jobs in order of arrival.

    Every job fits on the empty machines and has an estimate of more than zero.
    """
    for job in jobs:
        assert job["estimate"] > 0
    kind = {"fcfs": Fcfs, "filler": Filler, "easy": Easy, "conservative": Conservative}[policy]
    cluster = kind(jobs, machines, order, zones)
    assert all(cluster.fit(cluster.free, job) is not None for job in jobs)
    return cluster.run()


def size_of(job):
    """Cores in all."""
    return job["units"] * job["need"][0]


def first_fit(free, job):
    """Machines in order of id, each taking one unit (distinct) or all that fit; None if some units are left over."""
    left = job["units"]
    placement = {}
    for machine, amounts in enumerate(free):
        units = min(left, 1 if job["distinct"] else left)
        for amount, need in zip(amounts, job["need"], strict=True):
            if need > 0:
                units = min(units, amount // need)
        if units > 0:
            placement[machine] = int(units)
            left -= int(units)
        if left == 0:
            return placement
    return None


def room_in(free, job, zone):
    """How many units of a job fit into a zone, each machine counted up to what the job has."""
    parts = [{**job, "units": units} for units in range(1, job["units"] + 1)]
    return sum(first_fit([free[machine]], part) is not None for machine in zone for part in parts)


def change(free, job, placement, sign):
    for machine, units in placement.items():
        for r, need in enumerate(job["need"]):
            free[machine][r] += sign * units * need


class Cluster:
    """The clock, the running jobs and the order of events at one instant: ends, arrivals, then one decision."""

    def __init__(self, jobs, machines, order=None, zones=()):
        self.jobs = jobs
        self.machines = machines
        self.zones = zones
        self.order = order
        self.free = [list(machine) for machine in machines]
        self.result = [None] * len(jobs)
        self.running = {}  # job: estimated end

    def run(self):
        arrived = 0
        while True:
            instants = self.instants() + [self.result[job][1] for job in self.running]
            if arrived < len(self.jobs):
                instants.append(self.jobs[arrived]["submit"])
            if not instants:
                return self.result
            now = min(instants)
            for job in [job for job in self.running if self.result[job][1] == now]:
                self.end(job, now)
            while arrived < len(self.jobs) and self.jobs[arrived]["submit"] == now:
                self.arrive(arrived)
                arrived += 1
            overdue = [job for job, estimated_end in self.running.items() if estimated_end <= now]
            for job in overdue:
                self.running[job] = now + max(LEAST_RENEWAL_S, self.jobs[job]["estimate"])
            self.decide(now, bool(overdue))

    def instants(self):
        """Instants at which the policy wants to decide besides ends and arrivals."""
        return []

    def ranked(self, waiting, now):
        """Waiting jobs in the order of the queue as of now."""
        if self.order is None:
            return sorted(waiting)
        return sorted(waiting, key=lambda number: (self.key(self.jobs[number], number, now), number))

    def key(self, job, number, now):
        return self.order.key(number, job["submit"], size_of(job), job["estimate"], now)

    def fit(self, free, job):
        """First fit; a local job goes into the zone with the least room that is enough.

        Of those the one with the fewest units of running jobs that are in several zones, then the first.
        """
        if not job.get("local"):
            return first_fit(free, job)
        held = [self.result[number][2] for number in self.running]
        across = [placement for placement in held if not any(placement.keys() <= set(zone) for zone in self.zones)]
        found = []
        for at, zone in enumerate(self.zones):
            room = room_in(free, job, zone)
            load = sum(units for placement in across for machine, units in placement.items() if machine in zone)
            if room >= job["units"]:
                found.append((room, load, at))
        if not found:
            return None
        zone, nothing = self.zones[min(found)[2]], [0, 0, 0]
        return first_fit([amounts if machine in zone else nothing for machine, amounts in enumerate(free)], job)

    def begin(self, number, placement, now):
        job = self.jobs[number]
        if self.order:
            self.order.began(number, size_of(job), now)
        change(self.free, job, placement, -1)
        assert min(min(amounts) for amounts in self.free) >= 0, "more in use than there is"
        self.result[number] = (now, now + job["run"], placement)
        self.running[number] = now + job["estimate"]

    def end(self, number, now):
        del self.running[number]
        if self.order:
            self.order.ended(number, size_of(self.jobs[number]), now)
        change(self.free, self.jobs[number], self.result[number][2], +1)


class Fcfs(Cluster):
    def __init__(self, *problem):
        super().__init__(*problem)
        self.queue = []

    def arrive(self, number):
        self.queue.append(number)

    def start_heads(self, now):
        self.queue = self.ranked(self.queue, now)
        while self.queue:
            placement = self.fit(self.free, self.jobs[self.queue[0]])
            if placement is None:
                return
            self.begin(self.queue.pop(0), placement, now)

    def decide(self, now, renewed):
        self.start_heads(now)


class Filler(Fcfs):
    def decide(self, now, renewed):
        for number in self.ranked(self.queue, now):
            placement = self.fit(self.free, self.jobs[number])
            if placement is not None:
                self.begin(number, placement, now)
        self.queue = [number for number in self.queue if self.result[number] is None]


class Easy(Fcfs):
    def decide(self, now, renewed):
        self.start_heads(now)
        if not self.queue:
            return
        head = self.jobs[self.queue[0]]
        shadow, then = self.shadow(head)
        for number in self.queue[1:]:
            job = self.jobs[number]
            placement = self.fit(self.free, job)
            if placement is None:
                continue
            if now + job["estimate"] <= shadow:
                self.begin(number, placement, now)
                continue
            change(then, job, placement, -1)
            if self.fit(then, head) is not None:
                self.begin(number, placement, now)
            else:
                change(then, job, placement, +1)
        self.queue = [number for number in self.queue if self.result[number] is None]

    def shadow(self, head):
        """When the head would fit, and what is free on each machine then; all ends at that time are counted."""
        for time in sorted(set(self.running.values())):
            free = [list(amounts) for amounts in self.free]
            for number, estimated_end in self.running.items():
                if estimated_end <= time:
                    change(free, self.jobs[number], self.result[number][2], +1)
            if self.fit(free, head) is not None:
                return time, free
        raise AssertionError("the head fits on the empty machines")


class Conservative(Cluster):
    def __init__(self, *problem):
        super().__init__(*problem)
        self.plans = {}  # job: (planned start, placement)
        self.arrivals = []
        self.ended_early = False

    def instants(self):
        return [start for start, _ in self.plans.values()]

    def arrive(self, number):
        self.arrivals.append(number)

    def end(self, number, now):
        self.ended_early = self.ended_early or now < self.running[number]
        super().end(number, now)

    def decide(self, now, renewed):
        in_queue = self.ranked([*self.plans, *self.arrivals], now)
        by_start = sorted(self.plans, key=lambda job: (self.plans[job][0], in_queue.index(job)))
        if renewed:
            self.plans = {}
            for number in by_start:
                self.place(number, now)
        elif self.ended_early:
            for number in by_start if self.order is None else [job for job in in_queue if job in self.plans]:
                before = self.plans.pop(number)
                self.place(number, now)
                assert self.plans[number][0] <= before[0], "a job was moved back"
                if self.plans[number][0] == before[0]:
                    self.plans[number] = before  # no earlier start: it keeps its machines
        self.ended_early = False
        for number in [job for job in in_queue if job in self.arrivals]:
            self.place(number, now)
        self.arrivals = []
        for number in list(self.plans):
            if self.plans[number][0] <= now:
                _, placement = self.plans.pop(number)
                self.begin(number, placement, now)

    def place(self, number, now):
        job = self.jobs[number]
        held = self.held(now)
        for start in sorted({now} | {end for _, end, _, _ in held}):
            placement = self.fit(self.free_during(held, start, start + job["estimate"]), job)
            if placement is not None:
                self.plans[number] = (start, placement)
                return

    def held(self, now):
        """(from, to, job, placement) of every running and every planned job, by its estimate."""
        running = [(now, end, self.jobs[number], self.result[number][2]) for number, end in self.running.items()]
        planned = [
            (start, start + self.jobs[number]["estimate"], self.jobs[number], placement)
            for number, (start, placement) in self.plans.items()
        ]
        return running + planned

    def free_during(self, held, start, end):
        """The least that is free of each resource on each machine from `start` to `end`."""
        least = [list(machine) for machine in self.machines]
        changes = {start} | {begin for begin, _, _, _ in held if start < begin < end}
        for time in changes:
            free = [list(machine) for machine in self.machines]
            for begin, until, job, placement in held:
                if begin <= time < until:
                    change(free, job, placement, -1)
            least = [[min(a, b) for a, b in zip(x, y, strict=True)] for x, y in zip(least, free, strict=True)]
        return least
