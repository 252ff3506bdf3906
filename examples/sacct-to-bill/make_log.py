"""Print a week of a small cluster as `sacct --parsable2` would: six machines of 32 cores and 128 GiB, nine users.

The jobs are invented, from a fixed seed. They start in the order of a queue in which whoever fits may pass.

Run: python examples/sacct-to-bill/make_log.py > sacct.txt
"""

import math
import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

HEADER = "JobID|State|Submit|Eligible|Start|End|Elapsed|Timelimit|NCPUS|AllocNodes|ReqMem|MaxRSS|User|Account|Partition"
MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
WEEK_S = 7 * 86400
MACHINES, CORES, GIB = 6, 32, 128
# kind of work: user, account, partition, how many times a week, tasks of an array, machines, cores of each,
# memory of each as asked for, minutes (median, spread as a factor), hours asked for
KINDS = (
    ("ada", "climate", "batch", 22, 1, 2, 32, "100Gn", 260, 1.7, 24),
    ("ada", "climate", "short", 24, 1, 1, 8, "2Gc", 9, 2.0, 1),
    ("boris", "climate", "batch", 10, 1, 4, 32, "64Gn", 190, 1.5, 12),
    ("chen", "genomics", "batch", 9, 10, 1, 4, "24G", 50, 2.2, 6),
    ("dalia", "genomics", "long", 6, 1, 1, 16, "120G", 1300, 1.4, 72),
    ("dalia", "genomics", "short", 30, 1, 1, 1, "4000M", 6, 2.5, 1),
    ("emre", "materials", "batch", 58, 1, 1, 16, "1800Mc", 150, 2.0, 12),
    ("fern", "materials", "batch", 18, 1, 1, 32, "60G", 330, 1.6, 24),
    ("gita", "teaching", "short", 48, 1, 1, 2, "4Gn", 12, 2.4, 1),
    ("hugo", "teaching", "short", 3, 16, 1, 1, "1Gc", 14, 1.5, 1),
    ("ines", "materials", "long", 8, 1, 1, 8, "3Gc", 1500, 1.3, 72),
)


@dataclass
class Job:
    name: str
    user: str
    account: str
    partition: str
    submit: int
    eligible: int
    machines: int
    cores: int
    asked: str
    run_s: int
    limit_s: int
    state: str = "COMPLETED"
    start: int = -1

    @property
    def gib(self) -> float:
        """Memory on each of its machines."""
        amount = float(self.asked.rstrip("cn")[:-1]) / (1024 if "M" in self.asked else 1)
        return amount * self.cores if self.asked.endswith("c") else amount


def main() -> None:
    draw = random.Random(20260302)
    jobs = sorted(invented(draw), key=lambda job: job.eligible)
    replay(jobs)
    print(HEADER)
    for job in sorted(jobs, key=lambda job: job.submit):
        for line in lines_of(job, draw):
            print("|".join(line))


def invented(draw: random.Random) -> list[Job]:
    """Every job of the week, by its kind of work; the numbers are those of their submissions."""
    bags = sorted((submit_time(draw), kind) for kind in KINDS for _ in range(kind[3]))
    jobs = []
    for number, (submit, kind) in enumerate(bags, start=41_207):
        user, account, partition, _, tasks, machines, cores, asked, minutes, spread, hours = kind
        held = draw.choice((600, 3600, 7200)) if draw.random() < 0.06 else 0
        for task in range(tasks):
            run_s = round(60 * minutes * spread ** draw.gauss(0, 1))
            name = f"{number}_{task}" if tasks > 1 else str(number)
            job = Job(
                name, user, account, partition, submit, submit + held, machines, cores, asked, run_s, 3600 * hours
            )
            jobs.append(with_fate(job, draw))
    return jobs


def submit_time(draw: random.Random) -> int:
    """A second of the week: mostly by day, less at the weekend."""
    while True:
        second = int(draw.random() * WEEK_S)
        day, hour = second // 86400, second % 86400 / 3600
        if draw.random() < (0.25 if day > 4 else 1.0) * (0.12 + 0.88 * math.exp(-(((hour - 14) / 4) ** 2))):
            return second


def with_fate(job: Job, draw: random.Random) -> Job:
    """Some jobs fail early, some are cancelled, some run out of memory; none runs beyond its limit."""
    chance = draw.random()
    if chance < 0.05:
        job.state, job.run_s = "FAILED", max(job.run_s // 20, 3)
    elif chance < 0.08:
        job.state, job.run_s = f"CANCELLED by {draw.randint(1001, 1009)}", max(job.run_s // 3, 20)
    elif chance < 0.09:
        job.state, job.run_s = "OUT_OF_MEMORY", max(job.run_s // 2, 30)
    elif chance < 0.105:
        job.state, job.run_s = "CANCELLED by 1001", -1
    if job.run_s > job.limit_s:
        job.state, job.run_s = "TIMEOUT", job.limit_s + 12
    return job


def replay(jobs: list[Job]) -> None:
    """Start every job as soon as there is room, those that were eligible first first."""
    room = [[CORES, float(GIB)] for _ in range(MACHINES)]
    waiting: list[Job] = []
    running: list[tuple[int, Job, list[int]]] = []
    arrivals = [job for job in jobs if job.run_s >= 0]
    while arrivals or waiting:
        instants = [end for end, _, _ in running] + [job.eligible for job in arrivals[:1]]
        now = min(instants)
        for entry in [entry for entry in running if entry[0] == now]:
            running.remove(entry)
            give(room, entry[1], entry[2], 1)
        while arrivals and arrivals[0].eligible == now:
            waiting.append(arrivals.pop(0))
        for job in list(waiting):
            fitting = [at for at, (cores, gib) in enumerate(room) if cores >= job.cores and gib >= job.gib]
            if len(fitting) >= job.machines:
                waiting.remove(job)
                job.start = now + 1  # Slurm takes a moment
                give(room, job, fitting[: job.machines], -1)
                running.append((job.start + job.run_s, job, fitting[: job.machines]))


def give(room: list[list[float]], job: Job, machines: list[int], sign: int) -> None:
    for at in machines:
        room[at][0] += sign * job.cores
        room[at][1] += sign * job.gib


def lines_of(job: Job, draw: random.Random) -> list[list[str]]:
    """The line of a job, and those of its steps if it started; what ends after the week still runs."""
    owner = [job.user, job.account, job.partition]
    cores, machines, limit = str(job.machines * job.cores), str(job.machines), elapsed(job.limit_s)
    submit, eligible = clock(job.submit), clock(job.eligible)
    if job.start < 0 or job.start >= WEEK_S:
        state = "PENDING" if job.start >= 0 else job.state
        end = "Unknown" if job.start >= 0 else clock(job.eligible + 300)
        waiting = [submit, eligible, "Unknown" if job.start >= 0 else "None", end, "00:00:00"]
        return [[job.name, state, *waiting, limit, cores, "0", job.asked, "", *owner]]
    runs_on = job.start + job.run_s >= WEEK_S
    state = "RUNNING" if runs_on else job.state
    ran = elapsed(WEEK_S - job.start if runs_on else job.run_s)
    end = "Unknown" if runs_on else clock(job.start + job.run_s)
    times = [clock(job.start), end, ran]
    whole = [job.name, state, submit, eligible, *times, limit, cores, machines, job.asked, "", *owner]
    steps = ["batch"] if job.machines == 1 else ["batch", "0"]
    lines = [whole]
    for step in steps:
        held = job.machines if step == "0" else 1
        used = "" if runs_on else f"{round(job.gib * 1024 * 1024 * draw.uniform(0.15, 0.8))}K"
        ended = "CANCELLED" if state.startswith(("CANCELLED", "TIMEOUT")) else state
        begun = [clock(job.start)] * 2
        size = [str(held * job.cores), str(held)]
        lines.append([f"{job.name}.{step}", ended, *begun, *times, "", *size, "", used, "", job.account, ""])
    return lines


def clock(second: int) -> str:
    return (MONDAY + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%S")


def elapsed(seconds: int) -> str:
    days, rest = divmod(seconds, 86400)
    text = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}-{text}" if days else text


if __name__ == "__main__":
    main()
