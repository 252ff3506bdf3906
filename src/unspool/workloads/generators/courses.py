"""The school behind a generated log of ReCodEx: courses, groups, students, and exercises with their run times."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import polars as pl

from unspool.workloads.generators.streams import EXERCISES, USERS, Floats, Ints, stream

__all__ = ["School", "hex_ids", "school_of"]

JOBS_PER_USER = 25
ROOT_JOBS_PER_COURSE = 15.0  # a log of n jobs has about sqrt(n) over this courses, so that both grow with it
MOST_COURSES = 100
GROUPS_PER_COURSE = 3
EXERCISES_PER_COURSE = 12
RUNTIMES = 12
SECOND_RUNTIME_SHARE = 0.3  # of exercises that may be solved in a second language
# ln of seconds: what a usual solution of an exercise takes, and how far solutions of one exercise lie apart.
MEDIAN_LN = (0.7, 1.7)
SPREAD_LN = (0.25, 0.7)
RUNTIME_LN = 0.5  # slow and fast languages
USER_LN = 0.25
TESTS = (4, 25)
# Teachers leave room above what they expect, seldom knowing what the worst solution takes, and round it.
LIMIT_LN = (1.5, 1.3)
TEST_LIMITS_S = (0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0)
NO_LIMIT_SHARE = 0.01
CPU_TIME_SHARE = 0.6
LONG_S = 30.0  # a usual solution that takes longer goes to the workers for long jobs
SPECIAL_SHARE = 0.1  # of courses that have workers of their own
COMPILE_LN = (-1.0, 1.0)


@dataclass(frozen=True)
class School:
    """What jobs are drawn from; entries of an array belong to one course, user, exercise or runtime."""

    group_of_user: Ints
    user_ln: Floats
    course_of_exercise: Ints
    runtimes: Ints  # exercise x 2: its usual language and the other one, which may be the same
    median_ln: Floats
    spread_ln: Floats
    tests: Ints
    limits: Floats
    is_cpu_time: Ints
    worker_group: list[str]
    runtime_ln: Floats
    compile_ln: Floats

    @property
    def course_of_user(self) -> Ints:
        """The course that a user attends."""
        return self.group_of_user // GROUPS_PER_COURSE


def school_of(jobs: int, seed: int) -> School:
    """The school that hands in so many jobs.

    >>> school = school_of(2000, seed=1)
    >>> len(school.user_ln), len(school.limits), int(school.course_of_user.max())
    (80, 36, 2)
    """
    users = max(4, jobs // JOBS_PER_USER)
    courses = int(np.clip(round(jobs**0.5 / ROOT_JOBS_PER_COURSE), 2, MOST_COURSES))
    exercises = courses * EXERCISES_PER_COURSE
    of_users, drawn = stream(seed, USERS), stream(seed, EXERCISES)
    runtime_ln, compile_ln = drawn.normal(0.0, RUNTIME_LN, RUNTIMES), drawn.normal(*COMPILE_LN, RUNTIMES)
    course = np.repeat(np.arange(courses), EXERCISES_PER_COURSE)
    # A course has one language; some exercises may be solved in another one too.
    usual = drawn.integers(RUNTIMES, size=courses)[course]
    other = np.where(drawn.random(exercises) < SECOND_RUNTIME_SHARE, drawn.integers(RUNTIMES, size=exercises), usual)
    median_ln = drawn.normal(*MEDIAN_LN, exercises)
    tests = drawn.integers(*TESTS, size=exercises)
    special = np.where(drawn.random(courses) < SPECIAL_SHARE, drawn.integers(1, 7, courses), 0)[course]
    is_long = np.exp(median_ln + runtime_ln[usual]) > LONG_S
    return School(
        group_of_user=of_users.integers(courses * GROUPS_PER_COURSE, size=users),
        user_ln=of_users.normal(0.0, USER_LN, users),
        course_of_exercise=course,
        runtimes=np.stack((usual, other), axis=1),
        median_ln=median_ln,
        spread_ln=drawn.uniform(*SPREAD_LN, exercises),
        tests=tests,
        limits=_limits(drawn, np.exp(median_ln + runtime_ln[usual]), tests),
        is_cpu_time=(drawn.random(exercises) < CPU_TIME_SHARE).astype(np.int64),
        worker_group=[
            f"special{at}" if at else "long" if long else "default" for at, long in zip(special, is_long, strict=True)
        ],
        runtime_ln=runtime_ln,
        compile_ln=compile_ln,
    )


def hex_ids(seed: int, kind: str, numbers: Ints) -> pl.Series:
    """Numbers as texts of 40 hexadecimal digits; the same for the same seed, kind and number.

    >>> hex_ids(1, "user", np.array([0]))[0]
    'f38fe60cbf5985ba50a60106cac567e9fb9d2cdf'
    """
    distinct, places = np.unique(numbers, return_inverse=True)
    names = (f"{seed} {kind} {number}".encode() for number in distinct.tolist())
    texts = [hashlib.sha1(name, usedforsecurity=False).hexdigest() for name in names]
    return pl.Series(kind, texts, pl.String).gather(places)


def _limits(drawn: np.random.Generator, usual_s: Floats, tests: Ints) -> Floats:
    """The sum of the limits of all tests: a round limit for each."""
    wanted = usual_s / tests * np.exp(drawn.normal(*LIMIT_LN, len(tests)))
    round_values = np.array(TEST_LIMITS_S)
    each = round_values[np.minimum(np.searchsorted(round_values, wanted), len(round_values) - 1)]
    return np.where(drawn.random(len(tests)) < NO_LIMIT_SHARE, 0.0, np.round(each * tests, 1))
