"""Dispatching: from files to metrics beside a plain loop in Python, idle ticks, deep queues, memory, users' own."""

import csv
import io
import math
import subprocess
import sys
import tempfile
import textwrap
import time
from collections import deque
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np

from unspool.cli.app import run_command
from unspool.faces.dispatch.experiment import read_experiment
from unspool.faces.dispatch.running import run_experiment
from unspool.policies.dispatchers.queues import SHORTEST
from unspool.simulation.desk import Columns, WorkersRun
from unspool.workloads.recodex import JobFile, read_jobs, read_refs

EXPERIMENT = """\
workers: [{active: true, limit: 30}, {active: true}, {active: true}, {active: true}]
dispatcher: duration-filter
duration_predictor: index
metrics:
  - delay
  - {class: user-experience, args: {ref_jobs: '@@ref_jobs', thresholds: [1.5, 3.0]}}
"""
OWN = """\
class Mine:
    def init(self, sim):
        pass

    def dispatch(self, job, workers, sim):
        best = workers[0]
        for worker in workers:
            if worker.jobs_count() < best.jobs_count():
                best = worker
        best.enqueue(job)
"""


def generated(folder, jobs):
    """Names of a log of jobs and of one of reference runs."""
    data, refs = Path(folder, f"{jobs}.csv"), Path(folder, f"{jobs}-refs.csv")
    options = ["--jobs", str(jobs), "--refs", str(refs), "--load", "2", "--seed", "1", "--json"]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        code = run_command(["generate", "recodex", str(data), *options])
    assert code == 0
    return data, refs


def plain_loop(data, refs):
    """The same rules, fork's order, in plain Python with the csv module: (jobs, mean delay, on time)."""
    index, experience = {}, {}

    def learn(table, row, duration):
        for key in ((row["exercise_id"], row["runtime_id"]), row["exercise_id"]):
            entry = table.setdefault(key, [0.0, 0])
            entry[0] += duration
            entry[1] += 1

    def known(table, row):
        entry = table.get((row["exercise_id"], row["runtime_id"])) or table.get(row["exercise_id"])
        return entry[0] / entry[1] if entry else None

    with open(refs, newline="") as file:
        references = [row for row in csv.DictReader(file, delimiter=";") if row["compilation_ok"] == "1"]
    for row in references:
        learn(experience, row, float(row["duration"]))
    references.sort(key=lambda row: float(row["spawn_ts"]) + float(row["duration"]))
    workers = [(30.0, deque())] + [(math.inf, deque()) for _ in range(3)]
    count, delays, on_time, released = 0, 0.0, 0, 0

    def finish(until):
        nonlocal delays, on_time, count, released
        while True:
            queue = min((q for _, q in workers if q), key=lambda q: q[0][1], default=None)
            if queue is None or queue[0][1] > until:
                break
            start, _, row = queue.popleft()
            wait = start - float(row["spawn_ts"])
            ok = row["compilation_ok"] == "1"
            expected = known(experience, row) or (float(row["duration"]) if ok else float(row["limits"]))
            on_time += wait <= max(expected * 1.5, 10.0)
            delays += wait
            count += 1
            if ok:
                learn(experience, row, float(row["duration"]))
            learn(index, row, float(row["duration"]))
        while released < len(references):
            row = references[released]
            if float(row["spawn_ts"]) + float(row["duration"]) > until:
                break
            learn(index, row, float(row["duration"]))
            released += 1

    with open(data, newline="") as file:
        for row in csv.DictReader(file, delimiter=";"):
            spawn = float(row["spawn_ts"])
            finish(spawn)
            estimate = known(index, row)
            if estimate is None:
                estimate = float(row["limits"]) / 2
            open_to = [q for limit, q in workers if limit >= estimate] or [q for _, q in workers]
            queue = min(open_to, key=len)
            start = queue[-1][1] if queue else spawn
            queue.append((start, start + float(row["duration"]), row))
    finish(math.inf)
    return count, delays / count, on_time


def from_file(data, refs, experiment):
    """CPU seconds, and the run."""
    began = time.process_time()
    read = read_experiment(experiment)
    run = run_experiment(read, JobFile(data), read_refs(refs))
    return time.process_time() - began, run


def ratio(jobs):
    """(our CPU seconds, those of the plain loop) on one log, warm: each three times, and of each the best.

    Ours go first: what the loop leaves on the heap costs those that come after it a fifth.
    """
    with tempfile.TemporaryDirectory() as folder:
        experiment = Path(folder, "e.yaml")
        experiment.write_text(EXPERIMENT)
        from_file(*generated(folder, 1000), experiment)  # compiles
        data = generated(folder, jobs)
        ours_s = loop_s = math.inf
        for _ in range(3):
            taken, run = from_file(*data, experiment)
            ours_s = min(ours_s, taken)
        for _ in range(3):
            began = time.process_time()
            count, mean, on_time = plain_loop(*data)
            loop_s = min(loop_s, time.process_time() - began)
        delay, felt = run.simulation.metrics
        assert (delay.jobs, felt.counts[0]) == (count, on_time) == (jobs, on_time), "both do the same"
        assert math.isclose(delay.delay_sum / delay.jobs, mean, rel_tol=1e-9)
        return ours_s, loop_s


def columns(spawn, duration):
    count = len(spawn)
    ones = np.ones(count, np.int64)
    return Columns(spawn, duration, np.ones(count, bool), ones, ones, np.full(count, 10.0))


def ran(log, at_once=24_000):
    """The stretches of a run on one worker, of as many jobs at once as a block of a file has."""
    run = WorkersRun(None, [(True, math.inf)], dispatcher=SHORTEST)
    return [*(run.give(log[at : at + at_once]) for at in range(0, len(log), at_once)), run.end()]


def idle_ticks():
    """CPU seconds for 2.2 million ticks at which nothing happens."""
    log = columns(np.array([0.0, 2.2e6 * 60.0]), np.array([1.0, 1.0]))
    ran(log)
    began = time.process_time()
    assert ran(log)[-1].ticks >= 2_200_000
    return time.process_time() - began


def deep_queue(jobs=100_000):
    """How much longer a job takes that joins a queue of up to so many than one that joins a short one."""
    seconds = []
    for gap in (2.0, 0.0):
        log = columns(np.arange(jobs) * gap, np.ones(jobs))
        best = math.inf
        for _ in range(3):
            began = time.process_time()
            found = ran(log)
            best = min(best, time.process_time() - began)
        finish = max(stretch.finished["finish"].max(initial=0.0) for stretch in found)
        assert finish == (jobs if gap == 0.0 else (jobs - 1) * gap + 1)
        seconds.append(best)
    return seconds[1] / seconds[0]


def users_dispatcher(jobs=200_000):
    """Jobs per CPU second with a dispatcher in a user's own file."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "mine.py").write_text(OWN)
        Path(folder, "e.yaml").write_text("workers: 4\ndispatcher: mine.Mine\nmetrics: [delay]\n")
        data, refs = generated(folder, jobs)
        log, known, experiment = read_jobs(data), read_refs(refs), read_experiment(Path(folder, "e.yaml"))
        began = time.process_time()
        run = run_experiment(experiment, log, known)
        taken = time.process_time() - began
        assert run.simulation.metrics[0].jobs == jobs
        return jobs / taken


def peak_mb(jobs):
    """Megabytes of a process that reads and runs so many jobs."""
    code = textwrap.dedent("""
        import sys, tempfile
        from pathlib import Path
        from benchmarks.dispatch import EXPERIMENT, from_file, generated
        with tempfile.TemporaryDirectory() as folder:
            data, refs, experiment = sys.argv[1], sys.argv[2], Path(folder, "e.yaml")
            experiment.write_text(EXPERIMENT)
            from_file(data, refs, experiment)
        peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
        sys.stdout.write(str(int(peak.split()[1]) // 1024))
    """)
    with tempfile.TemporaryDirectory() as folder:
        data, refs = generated(folder, jobs)
        told = subprocess.run(
            [sys.executable, "-c", code, str(data), str(refs)], capture_output=True, text=True, check=True
        )
        return int(told.stdout)


if __name__ == "__main__":
    ours, loop = ratio(1_000_000)
    print(f"1,000,000 jobs from file to metrics: {ours:.2f} s, the plain loop {loop:.1f} s: {loop / ours:.1f} times")
    print(f"2.2 million idle ticks: {idle_ticks():.3f} s")
    print(f"a queue 100,000 deep: {deep_queue():.2f} times a short one, a job")
    print(f"a user's dispatcher: {users_dispatcher():,.0f} jobs/s")
    peaks = [f"{peak_mb(jobs)} MB for {jobs:,} jobs" for jobs in (100_000, 1_000_000, 3_000_000)]
    print(f"memory: {', '.join(peaks)}")
