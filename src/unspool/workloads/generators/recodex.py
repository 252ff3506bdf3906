"""A log of a code examiner's back end: students who try again and again, mostly just before the deadline.

The columns are those of `data.csv` and `ref-solutions.csv` of ReCodEx (docs/reference/recodex.md). Nothing is taken
from a real log; how it is drawn is in docs/reference/generators.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from unspool.model.workload import MOST_SECONDS
from unspool.workloads.files import AnyPath, replaced
from unspool.workloads.generators.busy import BusyClock
from unspool.workloads.generators.courses import School, hex_ids, school_of
from unspool.workloads.generators.streams import (
    ARRIVALS,
    OUTCOMES,
    REFERENCES,
    REPEATS,
    RUN_TIMES,
    SESSIONS,
    Ints,
    refuse_unless,
    stream,
)

__all__ = ["FIRST_DAY_UNIX_S", "Recodex", "recodex", "write_recodex"]

FIRST_DAY_UNIX_S = 1696204800.0
"""Monday, 2023-10-02: the first day of a term."""

SESSION_JOBS = 5.0  # mean tries of a student in a sitting
GAP_LN = (4.4, 0.9)  # ln of seconds between two tries: a minute and a half to think and type
LATE_SHARE = 0.7  # of sittings that have the deadline in view
LATE_PART = 0.04  # of the term by which these lie before it on average
EARLY_PART = 0.5  # of the term for which an exercise is open
NIGHT, EVENING = (0, 7), (18, 24)  # hours
NIGHT_WEIGHT, EVENING_WEIGHT, WEEKEND_WEIGHT = 0.1, 1.3, 0.6
COMPILE_FAILS, COMPILE_FAILS_LATER = 0.09, 0.03  # at the first try of a sitting and at later ones
RUNAWAY_SHARE = 0.06  # of solutions that run into the limits of some of their tests
LEAST_S = 0.015
AGAIN_SHARE = 0.08  # of jobs that are solutions evaluated again
AGAIN_BATCH = 25.0  # mean solutions evaluated again at once, after an exercise was changed
AGAIN_LN = 0.05
SPAN_ROUNDS, SPAN_NEAR, SHORTEST_TERM_S = 8, 0.002, 60.0
OVERHEAD_S = (1, 8)  # from the end of a job to the report, in the log's `end_ts`
REFS_PER_RUNTIME = (1, 5)
REF_LN = -0.25  # teachers' solutions are faster
REFS_FAIL = 0.04
REFS_BEFORE, REFS_BEFORE_S = 0.6, 30 * 86_400.0  # this share was run in the month before the log begins


class Recodex(NamedTuple):
    """A generated log of jobs and its reference runs, under the names of the columns of ReCodEx."""

    jobs: pl.DataFrame
    refs: pl.DataFrame


def recodex(jobs: int, seed: int = 0, load: float = 1.0, origin_unix_s: float = FIRST_DAY_UNIX_S) -> Recodex:
    """A log of a code examiner with its reference runs.

    `load` is how many workers the work of all jobs keeps busy from the first to the last arrival; it is met nearly, and
    not at all where a few sittings last longer than the log may. Arrivals are whole seconds, run times milliseconds.

    >>> log = recodex(1000, seed=1)
    >>> log.jobs.shape, log.refs.columns == [name for name in log.jobs.columns if name in log.refs.columns]
    ((1000, 15), True)
    """
    refuse_unless(jobs >= 10, "jobs", jobs, "at least 10")
    refuse_unless(load > 0, "load", load, "more than 0")
    refuse_unless(origin_unix_s >= 0, "origin_unix_s", origin_unix_s, "0 or more")
    school = school_of(jobs, seed)
    again = int(jobs * AGAIN_SHARE)
    tries = _tries(school, jobs - again, seed)
    tries = tries.with_columns(**_outcomes(school, tries, seed))
    span_s = float(tries["duration"].sum()) * jobs / (jobs - again) / load
    least = f"{span_s * load / MOST_SECONDS:.3g} or more with this many jobs"
    refuse_unless(span_s <= MOST_SECONDS, "load", load, least)
    arrivals = _arrivals_within(tries, len(school.limits), span_s, origin_unix_s, seed)
    every = tries.with_columns(spawn_ts=pl.Series(arrivals)).sort("spawn_ts", "try", maintain_order=True)
    every = pl.concat([every, _again(every, again, seed)]).sort("spawn_ts", maintain_order=True)
    return Recodex(_job_table(school, every, seed), _refs(school, span_s, origin_unix_s, seed))


def write_recodex(table: pl.DataFrame, path: AnyPath, *, force: bool = False) -> None:
    """Write jobs or reference runs as ReCodEx's files are, with semicolons; packed if the name ends in `.gz`."""
    with replaced(path, force=force) as file:
        table.write_csv(file, separator=";", quote_style="never")


def _tries(school: School, jobs: int, seed: int) -> pl.DataFrame:
    """Who tries what in which sitting, in any order."""
    drawn = stream(seed, SESSIONS)
    sizes = drawn.geometric(1.0 / SESSION_JOBS, jobs)
    session = np.repeat(np.arange(jobs), sizes)[:jobs]
    sittings = int(session[-1]) + 1
    users = drawn.permutation(len(school.user_ln))
    # Some students need many more tries than others: the n-th has a share proportional to 1 / sqrt(n).
    shares = 1.0 / np.sqrt(np.arange(1, len(users) + 1))
    user = users[drawn.choice(len(users), sittings, p=shares / shares.sum())]
    per_course = np.count_nonzero(school.course_of_exercise == 0)
    exercise = school.course_of_user[user] * per_course + drawn.integers(per_course, size=sittings)
    runtime = school.runtimes[exercise, (drawn.random(sittings) < 0.3).astype(np.int64)]
    number = np.arange(jobs) - np.searchsorted(session, session)
    return pl.DataFrame(
        {
            "try": np.arange(jobs),
            "session": session,
            "number": number,
            "user": user[session],
            "exercise": exercise[session],
            "runtime": runtime[session],
        }
    )


def _outcomes(school: School, tries: pl.DataFrame, seed: int) -> dict[str, pl.Series]:
    """What becomes of each try: whether it compiles, how many of its tests pass, and how long it runs."""
    count = len(tries)
    exercise, runtime, user, number = (tries[name].to_numpy() for name in ("exercise", "runtime", "user", "number"))
    outcome, times = stream(seed, OUTCOMES), stream(seed, RUN_TIMES)
    fails = outcome.random(count) < np.where(number == 0, COMPILE_FAILS, COMPILE_FAILS_LATER)
    tests = school.tests[exercise]
    skill = outcome.beta(0.7 + 0.4 * number, 1.1)
    passed = np.where(outcome.random(count) < 0.08 * (1 + number), tests, np.floor(skill * (tests + 1)))
    correctness = np.where(fails, 0.0, np.minimum(passed, tests) / tests)
    usual_ln = school.median_ln[exercise] + school.runtime_ln[runtime] + school.user_ln[user]
    run_s = np.exp(usual_ln + times.normal(0.0, 1.0, count) * school.spread_ln[exercise])
    caught = outcome.random(count) < RUNAWAY_SHARE
    run_s += np.where(caught, school.limits[exercise] * outcome.random(count), 0.0)
    compile_s = np.exp(school.compile_ln[runtime] + times.normal(0.0, 0.3, count))
    duration = np.maximum(np.where(fails, compile_s, run_s), LEAST_S)
    correctness = np.where(caught & (correctness == 1.0), 1.0 - 1.0 / tests, correctness)
    return {
        "compilation_ok": pl.Series((~fails).astype(np.int64)),
        "correctness": pl.Series(correctness),
        "duration": pl.Series(duration).round(3),
        "solution": pl.Series(np.arange(count)),
    }


def _arrivals_within(tries: pl.DataFrame, exercises: int, span_s: float, origin_unix_s: float, seed: int) -> Ints:
    """Arrivals that last so long from the first to the last: the term ends as much earlier as sittings run on."""
    term_s = span_s
    for _ in range(SPAN_ROUNDS):
        arrivals = _arrivals(tries, exercises, max(SHORTEST_TERM_S, term_s), origin_unix_s, seed)
        over_s = float(arrivals.max() - arrivals.min()) - span_s
        if abs(over_s) <= SPAN_NEAR * span_s:
            break
        term_s -= over_s
    return arrivals


def _arrivals(tries: pl.DataFrame, exercises: int, span_s: float, origin_unix_s: float, seed: int) -> Ints:
    """Whole Unix seconds of each try: a sitting begins on the busy clock, its tries follow on the wall's."""
    drawn = stream(seed, ARRIVALS)
    clock = BusyClock(span_s, origin_unix_s, "UTC", _week())
    deadline = drawn.uniform(0.1, 1.0, exercises)
    session = tries["session"].to_numpy()
    first = np.flatnonzero(tries["number"].to_numpy() == 0)
    due = deadline[tries["exercise"].to_numpy()[first]]
    late = due - drawn.exponential(LATE_PART, len(first))
    early = due - drawn.uniform(0.0, EARLY_PART, len(first))
    begun = np.where(drawn.random(len(first)) < LATE_SHARE, late, early)
    begun = np.where(begun < 0.0, drawn.uniform(0.0, due), begun)
    gaps = np.exp(drawn.normal(*GAP_LN, len(session)))
    gaps[first] = 0.0
    since = np.cumsum(gaps)
    at = clock.wall(begun * clock.busy_s)[session] + since - since[first][session]
    return np.asarray(np.floor(origin_unix_s + at), np.int64)


def _week() -> list[float]:
    """How busy each hour of a week is, from Monday midnight."""
    day = np.ones(24)
    day[slice(*NIGHT)], day[slice(*EVENING)] = NIGHT_WEIGHT, EVENING_WEIGHT
    return [*day.tolist() * 5, *(day * WEEKEND_WEIGHT).tolist() * 2]


def _again(tries: pl.DataFrame, count: int, seed: int) -> pl.DataFrame:
    """Solutions that are evaluated again, all of a batch within two seconds: the latest of one exercise before it."""
    drawn = stream(seed, REPEATS)
    spawn, exercise = tries["spawn_ts"].to_numpy(), tries["exercise"].to_numpy()
    places = [np.flatnonzero(exercise == each) for each in range(int(exercise.max()) + 1)]
    rows: list[Ints] = []
    moments: list[Ints] = []
    left = count
    while left:
        of = places[exercise[drawn.integers(len(exercise))]]
        last = int(drawn.integers(len(of)))
        chosen = of[: last + 1][-min(left, int(drawn.geometric(1.0 / AGAIN_BATCH))) :]
        rows.append(chosen)
        moments.append(spawn[of[last]] + 60 + np.sort(drawn.integers(0, 2, len(chosen))))
        left -= len(chosen)
    at = np.concatenate(rows) if rows else np.empty(0, np.int64)
    factor = np.exp(drawn.normal(0.0, AGAIN_LN, len(at)))
    return tries[at].with_columns(
        spawn_ts=pl.Series(np.concatenate(moments) if moments else np.empty(0, np.int64)),
        duration=(pl.col("duration") * pl.Series(factor)).clip(LEAST_S).round(3),
    )


def _job_table(school: School, every: pl.DataFrame, seed: int) -> pl.DataFrame:
    user, exercise = every["user"].to_numpy(), every["exercise"].to_numpy()
    overhead = stream(seed, OUTCOMES).integers(*OVERHEAD_S, size=len(every))
    return pl.DataFrame(
        {
            "submission_id": hex_ids(seed, "submission", np.arange(len(every))),
            "solution_id": hex_ids(seed, "solution", every["solution"].to_numpy()),
            "group_id": hex_ids(seed, "group", school.group_of_user[user]),
            "tlgroup_id": hex_ids(seed, "tlgroup", school.course_of_user[user]),
            "exercise_id": hex_ids(seed, "exercise", exercise),
            "runtime_id": hex_ids(seed, "runtime", every["runtime"].to_numpy()),
            "worker_group_id": pl.Series(school.worker_group).gather(exercise),
            "user_id": hex_ids(seed, "user", user),
            "spawn_ts": every["spawn_ts"],
            "end_ts": every["spawn_ts"] + every["duration"].ceil().cast(pl.Int64) + pl.Series(overhead),
            "limits": school.limits[exercise],
            "cpu_time": school.is_cpu_time[exercise],
            "correctness": every["correctness"],
            "compilation_ok": every["compilation_ok"],
            "duration": every["duration"],
        }
    )


def _refs(school: School, span_s: float, origin_unix_s: float, seed: int) -> pl.DataFrame:
    """Runs of teachers' solutions in every language of every exercise, some made before the log begins."""
    drawn = stream(seed, REFERENCES)
    pairs = sorted({(at, int(runtime)) for at, both in enumerate(school.runtimes) for runtime in both})
    exercise, runtime = np.repeat(np.array(pairs), drawn.integers(*REFS_PER_RUNTIME, size=len(pairs)), axis=0).T
    count = len(exercise)
    spawn = np.where(
        drawn.random(count) < 0.6, -drawn.uniform(0, REFS_BEFORE_S, count), drawn.uniform(0, span_s, count)
    )
    usual_ln = school.median_ln[exercise] + school.runtime_ln[runtime] + REF_LN
    run_s = np.exp(usual_ln + drawn.normal(0.0, 1.0, count) * school.spread_ln[exercise])
    is_ok = drawn.random(count) >= REFS_FAIL
    compile_s = np.exp(school.compile_ln[runtime] + drawn.normal(0.0, 0.3, count))
    table = pl.DataFrame(
        {
            "submission_id": hex_ids(seed, "reference run", np.arange(count)),
            "solution_id": hex_ids(seed, "reference", np.arange(count)),
            "exercise_id": hex_ids(seed, "exercise", exercise),
            "runtime_id": hex_ids(seed, "runtime", runtime),
            "worker_group_id": pl.Series(school.worker_group).gather(exercise),
            "spawn_ts": np.maximum(0.0, np.floor(origin_unix_s + spawn)).astype(np.int64),
            "correctness": is_ok.astype(np.int64),
            "compilation_ok": is_ok.astype(np.int64),
            "duration": np.round(np.maximum(np.where(is_ok, run_s, compile_s), LEAST_S), 3),
        }
    )
    return table.sort("spawn_ts", maintain_order=True)
