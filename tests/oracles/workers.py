"""The slow twin of workers that take jobs when they are free: lists and scans."""

import math


def late(spawn, duration, estimate, workers, policy, ageing=0.0):
    """[(worker, start)] of each job, and the jobs in the order of their ends; policy: fifo or shortest."""
    found, ended, central = [None] * len(spawn), [], []
    busy = [None] * workers
    arrived = 0

    def run(job, worker, now):
        busy[worker] = (now + duration[job], job)
        found[job] = (worker, now)

    while arrived < len(spawn) or any(busy):
        finish, worker = min(((entry[0], at) for at, entry in enumerate(busy) if entry), default=(math.inf, 0))
        if finish <= (spawn[arrived] if arrived < len(spawn) else math.inf):
            ended.append(busy[worker][1])
            busy[worker] = None
            if central:
                key = (lambda job: estimate[job] + ageing * spawn[job]) if policy == "shortest" else (lambda job: job)
                job = min(central, key=lambda job: (key(job), job))
                central.remove(job)
                run(job, worker, finish)
            continue
        job, now = arrived, spawn[arrived]
        arrived += 1
        idle = [at for at in range(workers) if not busy[at]]
        if idle:
            run(job, idle[0], now)
        else:
            central.append(job)
    return found, ended
