"""Walltimes as users ask for them: a few round values, mostly far too large."""

from __future__ import annotations

import numpy as np

from unspool.workloads.generators.streams import Floats

__all__ = ["MODAL_ESTIMATES_S", "estimates"]

# D. Tsafrir, Y. Etsion, D. G. Feitelson: "Modeling user runtime estimates", JSSPP 2005: a few round values make up
# nearly all estimates, the largest allowed one is among the most frequent, and the rest of the estimate is padding.
MINUTES = (1, 5, 10, 15, 20, 30, 45, 60, 90)
HOURS = (2, 3, 4, 5, 6, 8, 10, 12, 18, 24, 36, 48)
MODAL_ESTIMATES_S = tuple(60 * m for m in MINUTES) + tuple(3_600 * h for h in HOURS)
LARGEST_ESTIMATE_SHARE = 0.08
LEAST_ACCURACY = 0.05


def estimates(stream: np.random.Generator, run_time: Floats) -> Floats:
    """The next round value above run time over accuracy; some users always ask for the most.

    >>> from unspool.workloads.generators.streams import ESTIMATES, stream
    >>> estimates(stream(0, ESTIMATES), np.array([50.0, 4000.0])).tolist()
    [60.0, 5400.0]
    """
    modal = np.array(MODAL_ESTIMATES_S, dtype=np.float64)
    wanted = run_time / stream.uniform(LEAST_ACCURACY, 1.0, len(run_time))
    rounded = modal[np.minimum(np.searchsorted(modal, wanted), len(modal) - 1)]
    return np.where(stream.random(len(run_time)) < LARGEST_ESTIMATE_SHARE, modal[-1], rounded)
