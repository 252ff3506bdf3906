"""FCFS and EASY on a pool of processors as a SimPy model: one process a job, one for the scheduler's decisions.

Written without a look at the twin, and it imports nothing of unspool.
"""

import simpy

# After all ends and arrivals of the instant: SimPy's own priorities are 0 (urgent) and 1 (normal).
AFTER_EVERYTHING = 2


def simulate(jobs, cores, policy):
    """(start, finish) of each job; `jobs` are (submit, run_time, size, estimate) in queue order."""
    model = Model(simpy.Environment(), jobs, cores, policy)
    model.env.run()
    return model.schedule


class Model:
    def __init__(self, env, jobs, cores, policy):
        self.env = env
        self.jobs = jobs
        self.backfills = {"fcfs": False, "easy": True}[policy]
        self.pool = simpy.Container(env, capacity=cores, init=cores)
        self.schedule = [None] * len(jobs)
        self.go = {}  # the waiting jobs in queue order, each with the event that starts it
        self.expected_end = {}  # of the running jobs
        self.decision = None
        for job in range(len(jobs)):
            env.process(self.live(job))

    def live(self, job):
        submit, run_time, size, _ = self.jobs[job]
        yield self.env.timeout(submit)
        self.go[job] = self.env.event()
        self.ask_for_decision()
        yield self.go[job]
        yield self.env.timeout(run_time)
        self.pool.put(size)
        del self.expected_end[job]
        self.schedule[job] = (self.schedule[job], self.env.now)
        self.ask_for_decision()

    def ask_for_decision(self):
        if self.decision is None:
            self.decision = simpy.Event(self.env)
            self.decision._ok, self.decision._value = True, None
            self.decision.callbacks.append(self.decide)
            self.env.schedule(self.decision, priority=AFTER_EVERYTHING)

    def decide(self, _):
        self.decision = None
        now = self.env.now
        for job, end in self.expected_end.items():
            if end <= now:
                self.expected_end[job] = now + max(60, self.jobs[job][3], (now - self.schedule[job]) / 1000)
        waiting = list(self.go)
        while waiting and self.fits(waiting[0]):
            self.launch(waiting.pop(0))
        if not waiting or not self.backfills:
            return
        head, *others = waiting
        shadow = min(end for end in self.expected_end.values() if self.level_at(end) >= self.jobs[head][2])
        spare = self.level_at(shadow) - self.jobs[head][2]
        for job in others:
            _, _, size, estimate = self.jobs[job]
            if not self.fits(job):
                continue
            if now + estimate <= shadow:
                self.launch(job)
            elif size <= spare:
                spare -= size
                self.launch(job)

    def fits(self, job):
        return self.jobs[job][2] <= self.pool.level

    def level_at(self, time):
        """What is free at `time` if every running job ends when it is expected to."""
        return self.pool.level + sum(self.jobs[job][2] for job, end in self.expected_end.items() if end <= time)

    def launch(self, job):
        self.pool.get(self.jobs[job][2])
        self.expected_end[job] = self.env.now + self.jobs[job][3]
        self.schedule[job] = self.env.now
        self.go.pop(job).succeed()
