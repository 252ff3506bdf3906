"""What every generator needs: a random stream for each purpose, names for numbers, and a refusal."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import polars as pl

from unspool.errors import InputError

__all__ = ["ARRIVALS", "ESTIMATES", "EXERCISES", "OUTCOMES", "REFERENCES", "REPEATS", "RUN_TIMES", "SESSIONS", "SIZES"]
__all__ += ["USERS", "Floats", "Ints", "names", "refuse_unless", "stream"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# One random stream for each purpose, so that changing one leaves the others as they were; a number never changes its
# meaning.
SIZES, RUN_TIMES, ARRIVALS, ESTIMATES, USERS, SESSIONS, REPEATS, EXERCISES, OUTCOMES, REFERENCES = range(10)


def stream(seed: int, purpose: int) -> np.random.Generator:
    """The random stream of one purpose.

    >>> stream(1, SIZES).random() == stream(1, SIZES).random() != stream(1, USERS).random()
    True
    """
    refuse_unless(seed >= 0, "seed", seed, "0 or more")
    return np.random.default_rng([seed, purpose])


def names(numbers: Ints, prefix: str = "") -> pl.Series:
    """Numbers as names.

    >>> names(np.array([1, 2]), "user").to_list()
    ['user1', 'user2']
    """
    return pl.select(pl.format(prefix + "{}", pl.lit(pl.Series(numbers)))).to_series()


def refuse_unless(holds: bool, name: str, value: float, expected: str) -> None:
    """Complain about a parameter; NaN and infinity never hold."""
    if not holds or not math.isfinite(value):
        raise InputError(f"generator: {name} is {value}; expected {expected}")
