"""Decisions a second: a bare loop of Gymnasium, one environment, and many in one compiled call; python -m benchmarks.rl

Each rate is the best of three (with --quick, of one), with the number of decisions asserted, by processor time and by
the wall clock. With several threads the processor time is that of the longest path: of the main thread, and of the
busiest of the others; that is what the wall clock would show where each had a core of its own. The agent takes the
first action that is allowed.
"""

import sys
import time
from collections import defaultdict
from threading import get_ident

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

from unspool.model.platform import Platform
from unspool.platforms import read_platform
from unspool.rl import JobEnv, JobVectorEnv, Windows
from unspool.workloads.generators import lublin

CORES = 256
WINDOW = 32
JOBS = 256


class Bare(gymnasium.Env):
    """Does nothing: what a step costs at the least."""

    def __init__(self):
        self.observation_space = Box(0.0, 1.0, (JobEnv(LOG, CORES, window=WINDOW).observation_space.shape[0],))
        self.action_space = Discrete(WINDOW + 1)
        self._seen = np.zeros(self.observation_space.shape, np.float32)
        self._mask = np.ones(WINDOW + 1, np.bool_)
        self._left = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._left = 300
        return self._seen.copy(), {"action_mask": self._mask.copy()}

    def step(self, action):
        self._left -= 1
        return self._seen.copy(), 0.0, self._left == 0, False, {"action_mask": self._mask.copy()}


LOG = lublin(10_000, CORES, 0.9, 1)


def one(env, decisions):
    done = 0
    _, info = env.reset(seed=1)
    began, clock = time.process_time(), time.perf_counter()
    while done < decisions:
        _, _, terminated, truncated, info = env.step(info["action_mask"].argmax())
        done += 1
        if terminated or truncated:
            _, info = env.reset()
    return done / (time.process_time() - began), done / (time.perf_counter() - clock)


def timed(batch):
    """Note the processor time that each other thread spends in the compiled call."""
    spent, step, main = defaultdict(float), batch.step, get_ident()

    def measured(*arguments):
        began = time.thread_time()
        step(*arguments)
        if get_ident() != main:
            spent[get_ident()] += time.thread_time() - began

    batch.step = measured
    return spent


def many(env, decisions):
    done = ended = 0
    _, info = env.reset(seed=1)
    spent = timed(env.episodes.batch)
    began, clock = time.thread_time(), time.perf_counter()
    while done < decisions:
        _, _, terminated, _, info = env.step(info["action_mask"].argmax(axis=1))
        done += env.num_envs
        ended += int(terminated.sum())
    busy, passed = time.thread_time() - began + max(spent.values(), default=0.0), time.perf_counter() - clock
    assert ended * JOBS <= done, "every job of an episode is a decision, at least"
    env.close()
    return done / busy, done / passed


def main():
    decisions, repeats = (10_000, 1) if "--quick" in sys.argv else (100_000, 3)
    pool, machines = Platform.pool(CORES), read_platform("32x8")
    rows = [("bare Gymnasium loop, no simulation", lambda: one(Bare(), decisions))]
    rows += [(f"JobEnv, {name}", lambda where=where: one(JobEnv(LOG, where, window=WINDOW), decisions))
             for name, where in (("pool", pool), ("32x8", machines))]  # fmt: skip
    for name, where in (("pool", pool), ("32x8", machines)):
        windows = Windows(LOG, where, jobs=JOBS)
        for threads in (1, 2):
            rows.append((
                f"JobVectorEnv(256), {name}, {threads} thread{'s'[: threads - 1]}",
                lambda windows=windows, threads=threads: many(
                    JobVectorEnv(256, windows, window=WINDOW, threads=threads), 10 * decisions
                ),
            ))  # fmt: skip
    print("| what | decisions per second of processor time | by the wall clock |\n| --- | --- | --- |")
    for name, measure in rows:
        measure()  # compiles
        busy, passed = (max(rates) for rates in zip(*(measure() for _ in range(repeats)), strict=True))
        print(f"| {name} | {busy:,.0f} | {passed:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
