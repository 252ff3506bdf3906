"""Jobs with profiles in plain Python, on the twin of the sharing model: event by event, on machines given whole.

A program is a generator. It yields what it waits for (a time, a task, or parts that run at the same time), and returns
its code. Every event solves all tasks anew.
"""

import math
from typing import NamedTuple

from tests.oracles.contention import Running, rates

from unspool.model import profile as kinds
from unspool.simulation.tasks import FluidTask

SAME = 1e-12  # of the time on the clock: ends that are closer are one instant
CLOSE = 1e-9  # closer than this and not one instant: rounding may decide what happens first


class Rules(NamedTuple):
    """How jobs share, and where labels of storages point."""

    sharing: str = "simgrid"
    gamma: float = 4194304.0
    strict: bool = False
    storage: dict = {}  # label: host  # noqa: RUF012


class Job:
    """A job: what it asks for, and what became of it."""

    def __init__(self, submit, machines, walltime, profile):
        self.submit, self.size, self.profile = submit, machines, profile
        self.walltime = math.inf if walltime is None else walltime
        self.hosts, self.start, self.finish, self.state, self.code = (), None, None, "waiting", None


class Thread:
    """A program in the course of its run; what it waits for is a time, a task, or other threads."""

    def __init__(self, job, program, parent=None):
        self.job, self.program, self.parent = job, program, parent
        self.time, self.task, self.parts, self.failed = None, None, 0, 0


class Twin:
    """One run."""

    def __init__(self, network, jobs, profiles, rules, policy="fcfs"):
        self.network, self.jobs, self.profiles, self.rules, self.policy = network, jobs, profiles, rules, policy
        self.speeds = [host.speed for host in network.hosts]
        self.free = list(range(network.compute_count))
        self.ahead = sorted(jobs, key=lambda job: job.submit)
        self.queue, self.threads = [], []
        self.now = 0.0
        self.is_delicate = False

    def run(self):
        while self.ahead or self.queue or self.threads:
            self.step()
            self.finish_programs()
            for job in {thread.job for thread in self.threads}:
                if job.start + job.walltime <= self.now * (1 + SAME):
                    self.over(job, "walltime", -1)
            while self.ahead and self.ahead[0].submit <= self.now:
                self.queue.append(self.ahead.pop(0))
            self.decide()
        return [(job.start, job.finish, job.state, job.code) for job in self.jobs]

    def step(self):
        """To the next time at which anything happens."""
        flows = {at: thread.task for at, thread in enumerate(self.threads) if thread.task and thread.task.latency == 0}
        rate = rates(self.network, self.speeds, flows, self.rules.sharing)
        times = [job.submit for job in self.ahead[:1]]
        times += [thread.job.start + thread.job.walltime for thread in self.threads]
        times += [thread.time for thread in self.threads if thread.time is not None]
        times += [self.now + thread.task.latency for thread in self.threads if thread.task and thread.task.latency > 0]
        ends = {at: self.now + task.left / rate[at] if rate[at] > 0 else math.inf for at, task in flows.items()}
        times += ends.values()
        then = min(times)
        assert then < math.inf, "nothing moves and nothing is to come"
        self.is_delicate |= any(0 < time - then < CLOSE * max(then, 1.0) for time in times)
        span = then - self.now
        for at, thread in enumerate(self.threads):
            if at in flows:
                is_over = ends[at] <= then * (1 + SAME)
                thread.task.left = 0.0 if is_over else max(thread.task.left - rate[at] * span, 0.0)
            elif thread.task is not None:
                left = thread.task.latency - span
                thread.task.latency = 0.0 if left <= then * SAME else left
        self.now = then

    def finish_programs(self):
        """Go on with all that is over by now, again and again, as what follows may be over at once."""
        while True:
            due = [thread for thread in self.threads if self.is_due(thread)]
            if not due:
                return
            for thread in due:
                if thread in self.threads:
                    thread.time = thread.task = None
                    self.go_on(thread, 0)

    def is_due(self, thread):
        if thread.time is not None:
            return thread.time <= self.now * (1 + SAME)
        return thread.task is not None and thread.task.left == 0 and thread.task.latency == 0

    def go_on(self, thread, sent):
        """Let a program say what it waits for next."""
        try:
            wanted = thread.program.send(sent)
        except StopIteration as end:
            self.threads.remove(thread)
            self.end(thread, end.value)
            return
        match wanted:
            case FluidTask():
                thread.task = Running(self.network, wanted, self.rules.gamma)
            case list():
                thread.parts = len(wanted)
                parts = [Thread(thread.job, program, thread) for program in wanted]
                self.threads += parts
                for part in parts:
                    self.go_on(part, None)
            case time:
                thread.time = time

    def end(self, thread, code):
        """A program is over: with it perhaps the one that it is part of, or the job."""
        parent = thread.parent
        if parent is None:
            self.over(thread.job, "failed" if code else "completed", code)
            return
        parent.parts -= 1
        parent.failed = parent.failed or code
        if parent.parts == 0:
            self.go_on(parent, parent.failed)

    def over(self, job, state, code):
        job.finish, job.state, job.code = self.now, state, code
        self.threads = [thread for thread in self.threads if thread.job is not job]
        self.free = sorted([*self.free, *job.hosts])

    def decide(self):
        """Start jobs in their order; under "filler" those that fit overtake."""
        again = True
        while again:
            again = False
            for job in list(self.queue):
                if job.size <= len(self.free):
                    self.queue.remove(job)
                    self.begin(job)
                    again = True
                elif self.policy == "fcfs":
                    break
            self.finish_programs()

    def begin(self, job):
        job.hosts, self.free = tuple(self.free[: job.size]), self.free[job.size :]
        job.start = self.now
        thread = Thread(job, self.program(job, job.profile))
        self.threads.append(thread)
        self.go_on(thread, None)

    # Programs.

    def program(self, job, name):
        profile = self.profiles[name]
        match profile:
            case kinds.Delay(seconds):
                yield self.after(job, seconds)
            case kinds.Send(pause_s=seconds):
                yield self.after(job, seconds)
            case kinds.Receive(timeout=follows):
                code = yield from self.program(job, follows)
                return code or profile.code
            case kinds.Sequence(members, repeat):
                for member in members * repeat:
                    code = yield from self.program(job, member)
                    if code:
                        return code
            case kinds.ForkJoin(members):
                code = yield [self.program(job, member) for member in members]
                return code or profile.code
            case _:
                yield self.task(job, profile)
        return profile.code

    def after(self, job, seconds):
        """When a delay is over; where rules are strict, never if the walltime comes first, or with it."""
        end = self.now + seconds
        return end if not self.rules.strict or end < job.start + job.walltime else math.inf

    def task(self, job, profile):
        """Hosts, flops and bytes of all that a task is merged of."""
        match profile:
            case kinds.Staging(moved, source, target):
                stores = tuple(self.rules.storage[label] for label in (source, target))
                return FluidTask("", 0.0, stores, (0.0, 0.0), (0.0, moved, 0.0, 0.0))
            case kinds.Merge(members):
                parts = [self.profiles[member] for member in members]
            case _:
                parts = [profile]
        size = job.size
        stores = [self.rules.storage[part.storage] for part in parts if isinstance(part, kinds.StorageTask)]
        hosts = (*job.hosts, *stores[:1])
        cpu, com = [0.0] * len(hosts), {(p, q): 0.0 for p in range(len(hosts)) for q in range(len(hosts))}
        for part in parts:
            match part:
                case kinds.HomogeneousTask(flops, amount, spread):
                    pairs = {"each": 1, "total": max(size * (size - 1), 1), "total-v4": size}[spread]
                    for p in range(size):
                        cpu[p] += flops / (1 if spread == "each" else size)
                        for q in range(size):
                            com[p, q] += amount / pairs if p != q else 0.0
                case kinds.Task(flops_of, amounts):
                    for p in range(size):
                        cpu[p] += flops_of[p]
                        for q in range(size):
                            com[p, q] += amounts[p * size + q] if amounts else 0.0
                case kinds.StorageTask(read, written, _, spread):
                    for p in range(size):
                        com[size, p] += read / (size if spread else 1)
                        com[p, size] += written / (size if spread else 1)
        return FluidTask("", 0.0, hosts, tuple(cpu), tuple(com.values()))


def replay(network, rows, profiles, rules, policy="fcfs"):
    """(start, finish, state, code) of each (submit, machines, walltime, profile) row, and whether it was delicate."""
    twin = Twin(network, [Job(*row) for row in rows], profiles, rules, policy)
    return twin.run(), twin.is_delicate
