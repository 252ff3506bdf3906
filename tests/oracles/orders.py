"""Orders of the queue and predictors in plain Python, from their formulas; nothing of unspool is imported.

An order has `key(job, submit, size, estimate, now)`, the lowest first and ties by number of the job, and is told of
starts and ends. A predictor has `predict(job, estimate)` and is told of ends.
"""

from collections import defaultdict
from math import exp, expm1, inf, log, log2, log10, sqrt

CHANGING = ("wfp3", "unicef", "multifactor")


def _wfp3(size, wait, estimate):
    ratio = wait / estimate
    return -(ratio * ratio * ratio * size)


def _unicef(size, wait, estimate):
    return -wait / (log2(size) * estimate) if size > 1 else -inf


# Of (size, estimate, wait, arrival), where arrival is log10 of the seconds since the first job, 1 at least.
_FORMULAS = {
    "fcfs": lambda size, estimate, wait, arrival: 0,
    "sjf": lambda size, estimate, wait, arrival: estimate,
    "ljf": lambda size, estimate, wait, arrival: -estimate,
    "saf": lambda size, estimate, wait, arrival: size * estimate,
    "f1": lambda size, estimate, wait, arrival: log10(estimate) * size + 8.70e2 * arrival,
    "f2": lambda size, estimate, wait, arrival: sqrt(estimate) * size + 2.56e4 * arrival,
    "f3": lambda size, estimate, wait, arrival: estimate * size + 6.86e6 * arrival,
    "f4": lambda size, estimate, wait, arrival: estimate * sqrt(size) + 5.30e5 * arrival,
    "wfp3": lambda size, estimate, wait, arrival: _wfp3(size, wait, estimate),
    "unicef": lambda size, estimate, wait, arrival: _unicef(size, wait, estimate),
}
NAMES = (*_FORMULAS, "priority", "random", "multifactor")


def make(name, first_submit=0, cores=1, users=(), priority=(), seed=0, **weights):
    """The order of a name, for a log that begins at a time; `users` and `priority` are of each job."""
    if name == "priority":
        return Given([-(urgency or 0) for urgency in priority])
    if name == "random":
        return Given(Lots(seed))
    if name == "multifactor":
        return Multifactor(cores, users, **weights)
    return Formula(_FORMULAS[name], first_submit)


class Formula:
    def __init__(self, formula, first_submit):
        self.formula = formula
        self.first_submit = first_submit

    def key(self, job, submit, size, estimate, now):
        arrival = log10(max(submit - self.first_submit, 1))
        return self.formula(size, estimate, now - submit, arrival)

    def began(self, job, size, now):
        pass

    def ended(self, job, size, now):
        pass


class Given(Formula):
    """By a number for each job."""

    def __init__(self, numbers):
        self.numbers = numbers

    def key(self, job, submit, size, estimate, now):
        return self.numbers[job]


class Lots:
    """One draw a job: SplitMix64 over the seed, the purpose 1, the place in the log and the first draw."""

    def __init__(self, seed):
        self.seed = seed

    def __getitem__(self, job):
        mixed = self.seed
        for part in (1, job, 0):
            mixed = self.mix(mixed ^ self.mix(part + 0x9E3779B97F4A7C15))
        return (mixed >> 11) / 2**53

    def mix(self, value):
        value = (value + 0x9E3779B97F4A7C15) % 2**64
        value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        value = (value ^ (value >> 27)) * 0x94D049BB133111EB % 2**64
        return value ^ (value >> 31)


class Multifactor(Formula):
    """Slurm's priority of age, size and classic fair share; users have equal shares."""

    def __init__(
        self, cores, users, age=1000, fair_share=10000, size=1000, longest_age_s=604800, half_life_s=604800, **_
    ):
        self.cores = cores
        self.users = users
        self.share = 1 / max(len(set(users)), 1)
        self.weights = age, fair_share, size
        self.longest_age_s = longest_age_s
        self.used = defaultdict(lambda: Usage(half_life_s))
        self.used_in_all = Usage(half_life_s)

    def key(self, job, submit, size, estimate, now):
        age, fair_share, by_size = self.weights
        used = self.used[self.users[job]].until(now)
        in_all = self.used_in_all.until(now)
        fairness = exp(-log(2) * (used / in_all if in_all else 0.0) / self.share)
        patience = min((now - submit) / self.longest_age_s, 1)
        return -by_size * (size / self.cores) - age * patience - fair_share * fairness

    def began(self, job, size, now):
        for usage in (self.used[self.users[job]], self.used_in_all):
            usage.change(now, size)

    def ended(self, job, size, now):
        self.began(job, -size, now)


class Usage:
    """Core seconds of one user, each counting half as much after every half-life."""

    def __init__(self, half_life_s):
        self.half_life_s = half_life_s
        self.amount = 0.0
        self.since = 0.0
        self.cores = 0

    def until(self, now):
        passed = -log(2) * (now - self.since) / self.half_life_s
        return self.amount * exp(passed) + self.cores * (-expm1(passed) * self.half_life_s / log(2))

    def change(self, now, cores):
        self.amount = self.until(now)
        self.since = now
        self.cores += cores


class LastTwo:
    """The mean of the last two run times of the same user, at most what was asked for."""

    def __init__(self, users):
        self.users = users
        self.ended = defaultdict(list)

    def predict(self, job, estimate):
        last = self.ended[self.users[job]][-2:]
        return max(min(estimate, sum(last) / len(last)), 1) if last else max(estimate, 1)

    def learn(self, job, run_time):
        self.ended[self.users[job]].append(run_time)


class Exact:
    """The run times themselves."""

    def __init__(self, run_times):
        self.run_times = run_times

    def predict(self, job, estimate):
        return max(self.run_times[job], 1)

    def learn(self, job, run_time):
        pass
