"""All benchmarks, one run, as Markdown: `make bench`, or `python -m benchmarks [--quick]`.

Rates are jobs per CPU second, the best of three. Ratios compare what was measured in this same run.
"""

import gc
import platform as machine
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import accasim_peer, bare, cloud, contention, engine, policies, reading, start
from tests.oracles import twin

from unspool.platforms import read_platform
from unspool.workloads import write_workload

CORES = 480
LOADS = (0.7, 0.9, 1.05)
POLICIES = ("fcfs", "easy", "conservative")
# Where the plain-Python twin, or our own conservative planning in deep overload, would take minutes.
LARGEST_TWIN = {"fcfs": 100_000, "easy": 100_000, "conservative": 100_000}
LEFT_OUT = {("conservative", 1.05, 1_000_000)}
TWIN_LEFT_OUT = {("conservative", 1.05, 100_000)}


def table(header, rows):
    print("\n| " + " | ".join(header) + " |")
    print("|" + " --- |" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(flush=True)


def times(ratio):
    return f"{ratio:,.0f}×" if ratio >= 10 else f"{ratio:.2f}×"


def twin_rate(workload, policy):
    jobs = list(workload.table.select("submit_time", "run_time", "cores", "walltime").iter_rows())
    gc.collect()  # or what was left before is collected within the time
    began = time.process_time()
    done = twin.simulate(jobs, CORES, policy)
    assert len(done) == len(workload)
    return len(done) / (time.process_time() - began)


def bare_rate(workload):
    arrays = bare.columns(workload)
    bare.easy_waits(*(array[:10] for array in arrays), CORES)
    best = float("inf")
    for _ in range(3 if len(workload) <= 100_000 else 2):
        began = time.process_time()
        waits = bare.easy_waits(*arrays, CORES)
        best = min(best, time.process_time() - began)
    return len(workload) / best, float(waits.mean())


def on_a_pool(sizes):
    pool = read_platform(str(CORES))
    rows = []
    for load in LOADS:
        for size in sizes:
            workload = engine.log(size, CORES, load)
            limit, limit_wait = bare_rate(workload)
            for policy in POLICIES:
                if (policy, load, size) in LEFT_OUT:
                    rows.append((policy, f"{load}", f"{size:,}", "not run", "", ""))
                    continue
                is_slow = policy == "conservative" and (load > 1.0 or size > 100_000)
                rate, wait = engine.measure(workload, pool, policy, 1 if is_slow else 3)
                against_twin = against_bare = ""
                if size <= LARGEST_TWIN[policy] and (policy, load, size) not in TWIN_LEFT_OUT:
                    against_twin = times(rate / twin_rate(workload, policy))
                if policy == "easy":
                    assert wait == limit_wait, "the bare loop and the engine must agree"
                    against_bare = f"{times(limit / rate)} ({limit:,.0f})"
                rows.append((policy, f"{load}", f"{size:,}", f"{rate:,.0f}", against_twin, against_bare))
    table(("policy", "load", "jobs", "jobs/s", "faster than the twin", "bare loop faster by (jobs/s)"), rows)


def on_machines(size):
    cases = [
        ("480x1", "machine ids", {"cores": 480, "largest": 128}),
        ("120x4:16GiB", "cores and memory", {"cores": 480, "largest": 128, "gib_per_core": (1, 2, 4)}),
        ("120x4:16GiB", "memory is scarce", {"cores": 480, "largest": 128, "gib_per_core": (1, 2, 4, 6)}),
        ("4360x4:16GiB", "cores and memory", {"cores": 17440, "largest": 1024, "gib_per_core": (1, 2, 4)}),
    ]
    rows = []
    for text, what, arguments in cases:
        for load in (0.7, 0.9):
            workload = engine.log(size if text == "480x1" else min(size, 100_000), load=load, **arguments)
            rate, _ = engine.measure(workload, read_platform(text), "easy")
            against = ""
            if text == "480x1":
                against = times(bare_rate(workload)[0] / rate)
            rows.append((text, what, f"{load}", f"{len(workload):,}", f"{rate:,.0f}", against))
    table(("platform", "what", "load", "jobs", "EASY, jobs/s", "bare loop faster by"), rows)


def peers(size):
    workload = engine.log(size, CORES, 0.9)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.swf"
        write_workload(workload, path)
        for layout, cores_per_node in (("480", 1), ("480x1", 1), ("120x4", 4), ("480", CORES)):
            ours, _ = engine.measure(workload, read_platform(layout), "easy")
            done, why = accasim_peer.run_accasim(path, CORES, "easy", size, cores_per_node)
            theirs = f"{done.jobs_per_cpu_s:,.0f}" if done else why
            ratio = times(ours / done.jobs_per_cpu_s) if done else ""
            rows.append((f"AccaSim, EASY, {CORES // cores_per_node} nodes", f"{ours:,.0f} on {layout}", theirs, ratio))
    table((f"peer ({size:,} jobs)", "unspool, jobs/s", "peer, jobs/s", "ratio"), rows)


def in_a_cloud(size):
    rows = []
    for live in (100, 1_000, 10_000, 25_000):
        jobs = min(size, 100_000) if live <= 1_000 else size
        a_job, mean, most, _ = cloud.measure(jobs, live)
        against = times(cloud.measure_twin(1_000, 10) / a_job) if live == 100 else ""
        at_once = f"{mean:,.0f}, at most {most:,}"
        rows.append((f"{jobs:,}", at_once, f"{1 / a_job:,.0f}", f"{jobs * a_job:.1f}", against))
    table(("jobs", "live instances", "jobs/s", "CPU seconds", "faster than the twin (1,000 jobs)"), rows)


def before_the_run(size):
    read_s, write_s = reading.measure(size)
    table(
        ("what", "measured"),
        [
            ("`unspool --help`", f"{start.seconds(['--help']):.2f} s"),
            ("warm `unspool run` of the sample", f"{start.seconds(['run']):.2f} s"),
            ("first run with `--policy easy`, nothing compiled", f"{start.first_compile_s('256', 'easy'):.1f} s"),
            ("the same on machines (`64x4`)", f"{start.first_compile_s('64x4', 'easy'):.1f} s"),
            ("the same with memory (`64x4:16GiB`)", f"{start.first_compile_s('64x4:16GiB', 'easy'):.1f} s"),
            (f"reading {size:,} SWF lines", f"{read_s:.2f} s"),
            (f"writing {size:,} SWF lines", f"{write_s:.2f} s"),
            (f"reading {size:,} lines of sacct, 3 steps a job", f"{reading.measure_sacct(size):.2f} s"),
            (f"reading {size:,} lines of sacct, jobs only", f"{reading.measure_sacct(size, steps=0):.2f} s"),
            ("peak memory beyond the input, pool", f"{start.bytes_per_job(size, '480'):,.0f} bytes a job"),
            ("peak memory beyond the input, 480x1", f"{start.bytes_per_job(size, '480x1'):,.0f} bytes a job"),
        ],
    )


def main():
    quick = "--quick" in sys.argv
    sizes = (10_000, 100_000) if quick else (10_000, 100_000, 1_000_000)
    print(f"{machine.machine()}, {machine.system()}, Python {machine.python_version()}")
    before_the_run(sizes[-1])
    on_machines(sizes[-1])
    in_a_cloud(sizes[-1])
    table(contention.HEADER, contention.rows(quick))
    table(contention.RUN_HEADER, contention.whole_runs(quick))
    peers(2_000)
    on_a_pool(sizes)
    table(policies.HEADER, policies.rows())


if __name__ == "__main__":
    main()
