"""The limit: EASY backfilling on a pool of processors in one bare Numba loop that does nothing else.

No machine ids, no journal, no events beyond ends and arrivals, no index on the queue: the backfill scan walks the
whole queue, an array, until nothing is free. What the engine costs more than this is the price of being an engine.

    python -m benchmarks.bare [JOBS]        jobs/s at loads 0.7, 0.9 and 1.05 on 480 cores
"""

import sys
import time

import numpy as np
from numba import njit

CORES = 480
LARGEST_JOB = 128
LOADS = (0.7, 0.9, 1.05)
LEAST_RENEWAL_S = 60.0
STARTED = 1 << 60  # the need of a queue slot whose job has started: it never fits


@njit(cache=True)
def easy_waits(submit, run_time, size, estimate, cores):
    """Wait of each job, in seconds; the jobs are sorted by submit time, none is larger than `cores`."""
    jobs = len(submit)
    waits = np.empty(jobs)
    end_time = np.empty(cores)  # heap of real ends
    end_job = np.empty(cores, np.int64)
    running_until = np.empty(cores)  # running jobs, sorted by estimated end
    running_job = np.empty(cores, np.int64)
    estimated_end = np.empty(jobs)
    queue_job = np.empty(jobs, np.int64)  # the queue is [head, tail), in order, with holes where a job started
    queue_need = np.empty(jobs, np.int64)
    head = 0
    tail = 0
    holes = 0
    running = 0
    arrived = 0
    free = cores
    while arrived < jobs or running > 0:
        now = submit[arrived] if arrived < jobs else np.inf
        if running > 0 and end_time[0] < now:
            now = end_time[0]
        while running > 0 and end_time[0] == now:
            job = end_job[0]
            free += size[job]
            _drop_first_end(end_time, end_job, running)
            _drop_running(running_until, running_job, running, estimated_end[job], job)
            running -= 1
        while arrived < jobs and submit[arrived] == now:
            queue_job[tail] = arrived
            queue_need[tail] = size[arrived]
            tail += 1
            arrived += 1
        while running > 0 and running_until[0] <= now:
            job = running_job[0]
            _drop_running(running_until, running_job, running, estimated_end[job], job)
            estimated_end[job] = now + max(LEAST_RENEWAL_S, estimate[job])
            _add_running(running_until, running_job, running - 1, estimated_end[job], job)

        while head < tail and (queue_need[head] <= free or queue_need[head] == STARTED):
            if queue_need[head] == STARTED:
                holes -= 1
            else:
                job = queue_job[head]
                free -= size[job]
                waits[job] = now - submit[job]
                estimated_end[job] = now + estimate[job]
                _add_end(end_time, end_job, running, now + run_time[job], job)
                _add_running(running_until, running_job, running, estimated_end[job], job)
                running += 1
            head += 1
        if free == 0 or tail - head < 2:
            continue
        if 2 * holes > tail - head:
            tail = _compact(queue_job, queue_need, head, tail)
            holes = 0

        extra = free - queue_need[head]
        k = 0
        while extra < 0:
            extra += size[running_job[k]]
            k += 1
        shadow = running_until[k - 1]
        while k < running and running_until[k] == shadow:
            extra += size[running_job[k]]
            k += 1

        for slot in range(head + 1, tail):
            need = queue_need[slot]
            if need > free:
                continue
            job = queue_job[slot]
            if need <= extra or now + estimate[job] <= shadow:
                estimated_end[job] = now + estimate[job]
                if estimated_end[job] > shadow:
                    extra -= need
                free -= need
                waits[job] = now - submit[job]
                _add_end(end_time, end_job, running, now + run_time[job], job)
                _add_running(running_until, running_job, running, estimated_end[job], job)
                running += 1
                queue_need[slot] = STARTED
                holes += 1
                if free == 0:
                    break
    return waits


@njit(cache=True)
def _compact(queue_job, queue_need, head, tail):
    last = head
    for slot in range(head, tail):
        if queue_need[slot] != STARTED:
            queue_job[last] = queue_job[slot]
            queue_need[last] = queue_need[slot]
            last += 1
    return last


@njit(cache=True)
def _add_end(end_time, end_job, count, time, job):
    child = count
    while child > 0:
        parent = (child - 1) >> 1
        if end_time[parent] <= time:
            break
        end_time[child] = end_time[parent]
        end_job[child] = end_job[parent]
        child = parent
    end_time[child] = time
    end_job[child] = job


@njit(cache=True)
def _drop_first_end(end_time, end_job, count):
    last = count - 1
    time = end_time[last]
    job = end_job[last]
    parent = 0
    while True:
        child = 2 * parent + 1
        if child >= last:
            break
        if child + 1 < last and end_time[child + 1] < end_time[child]:
            child += 1
        if end_time[child] >= time:
            break
        end_time[parent] = end_time[child]
        end_job[parent] = end_job[child]
        parent = child
    end_time[parent] = time
    end_job[parent] = job


@njit(cache=True)
def _add_running(until, jobs, count, time, job):
    i = count
    while i > 0 and until[i - 1] > time:
        until[i] = until[i - 1]
        jobs[i] = jobs[i - 1]
        i -= 1
    until[i] = time
    jobs[i] = job


@njit(cache=True)
def _drop_running(until, jobs, count, time, job):
    low = 0
    high = count
    while low < high:
        middle = (low + high) >> 1
        if until[middle] < time:
            low = middle + 1
        else:
            high = middle
    while jobs[low] != job:
        low += 1
    for i in range(low, count - 1):
        until[i] = until[i + 1]
        jobs[i] = jobs[i + 1]


def columns(workload):
    """Submit times, run times, sizes and estimates of a workload whose jobs all have a walltime."""
    table = workload.table
    times = [table[name].to_numpy().astype(np.float64) for name in ("submit_time", "run_time", "walltime")]
    return times[0], times[1], table["cores"].to_numpy().astype(np.int64), times[2]


def measure(jobs, load, seed=1, repeats=3):
    """Jobs per CPU second, the best of some repeats, and the mean wait."""
    from unspool.workloads.generators import lublin

    arrays = columns(lublin(jobs, cores=CORES, load=load, seed=seed, max_cores=LARGEST_JOB))
    easy_waits(*(array[:10] for array in arrays), CORES)
    best = float("inf")
    for _ in range(repeats):
        began = time.process_time()
        waits = easy_waits(*arrays, CORES)
        best = min(best, time.process_time() - began)
        assert len(waits) == jobs
    return jobs / best, float(waits.mean())


def main():
    jobs = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    for load in LOADS:
        rate, mean_wait = measure(jobs, load, repeats=3 if load < 1 else 1)
        print(f"{jobs:>9,} jobs  load {load:<4}  {rate:>12,.0f} jobs/s  mean wait {mean_wait:,.0f} s")


if __name__ == "__main__":
    # Numba's cache remembers the module's name: it must be the same in every process.
    from benchmarks import bare

    bare.main()
