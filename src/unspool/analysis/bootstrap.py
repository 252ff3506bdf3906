"""Confidence intervals for means over jobs whose waits are alike because they met in one queue.

The jobs, in the order of submission, are put together into at most `UNITS` units of neighbours. Blocks of
neighbouring units are drawn with replacement until there are as many units as in the log, and the figure is computed
again; the interval holds most of these figures. A block keeps neighbours together, so what they have in common
widens the interval as it should. The ring is closed: a block that runs over the end goes on at the beginning.

Sources: D. N. Politis, J. P. Romano: "A circular block-resampling procedure for stationary data", in: Exploring the
Limits of Bootstrap, 1992 (the draw); D. N. Politis, H. White: "Automatic block-length selection for the dependent
bootstrap", Econometric Reviews 23(1), 2004, with the correction by A. Patton, D. N. Politis, H. White, Econometric
Reviews 28(4), 2009 (the length of blocks); T. C. Hesterberg: "What teachers should know about the bootstrap", The
American Statistician 69(4), 2015 (the expanded percentile interval); R. S. Woodruff: "Confidence intervals for
medians and other position measures", Journal of the American Statistical Association 47, 1952 (medians).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

__all__ = ["LEAST_BLOCKS", "REPLICATES", "UNITS", "Draws", "block_length", "draw", "totals", "units_of"]

UNITS = 1000
"""Most units: more would cost time, and blocks of one unit are small enough where nothing is alike."""

REPLICATES = 2000
"""How often blocks are drawn."""

LEAST_BLOCKS = 10
"""With fewer blocks there is no interval: too little is known of how blocks differ."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def units_of(jobs: int) -> Ints:
    """The unit of each of so many jobs in a row: all as large as the others, give or take a job."""
    return np.arange(jobs, dtype=np.int64) * min(jobs, UNITS) // max(jobs, 1)


def totals(units: Ints, groups: Ints, shape: tuple[int, int], values: Floats | None = None) -> Floats:
    """The sum of values, or the number of jobs, of each unit (row) and each group (column)."""
    return np.bincount(units * shape[1] + groups, values, shape[0] * shape[1]).reshape(shape).astype(np.float64)


def block_length(series: Floats) -> tuple[int, bool]:
    """How many units a block should have for the mean of a series, and whether it should have more than it may.

    It grows with the autocorrelation of the series, up to the lag from which on that is not told from none. The most
    that is allowed, 3 √n and n / 3, is that of Politis and White.
    """
    n = len(series)
    most = max(1, math.ceil(min(3.0 * math.sqrt(n), n / 3.0)))
    run = max(5, math.ceil(math.sqrt(math.log10(max(n, 2)))))  # so many lags in a row must show nothing
    lags = math.ceil(math.sqrt(n)) + run
    covariance = _autocovariance(series, 2 * lags)
    if len(covariance) <= run or covariance[0] <= 0.0:
        return 1, False
    shows = np.abs(covariance[1:] / covariance[0]) >= 2.0 * math.sqrt(math.log10(n) / n)
    quiet = (at for at in range(min(lags, len(shows) - run + 1)) if not shows[at : at + run].any())
    last = max(1, next(quiet, lags))
    width = min(2 * last, len(covariance) - 1)
    lag = np.arange(1, width + 1)
    window = np.minimum(1.0, 2.0 * (1.0 - lag / width))  # flat up to half of its width, then down to 0
    variance = covariance[0] + 2.0 * float(np.sum(window * covariance[1 : width + 1]))
    slope = 2.0 * float(np.sum(window * lag * covariance[1 : width + 1]))
    if variance <= 0.0:
        return 1, False
    best = (1.5 * (slope / variance) ** 2 * n) ** (1.0 / 3.0)
    return max(1, min(most, math.ceil(best))), bool(best > most)


def _autocovariance(series: Floats, lags: int) -> Floats:
    """Autocovariances at lags 0, 1, ... up to so many, by Fourier transform; a mean that is all there is leaves 0."""
    n = len(series)
    centred = series - series.mean()
    if np.abs(centred).max() <= 1e-12 * np.abs(series).max():
        return np.zeros(1)
    power = np.abs(np.fft.rfft(centred, 2 * n)) ** 2
    covariances: Floats = np.fft.irfft(power, 2 * n)[: min(lags, n - 1) + 1] / n
    return covariances


@dataclass(frozen=True)
class Draws:
    """How often each unit (column) is in each replicate (row), and how long the blocks were that were drawn."""

    weights: Floats
    block: int

    @property
    def blocks(self) -> float:
        """Blocks that the units make up."""
        return float(self.weights.shape[1]) / self.block

    def blocks_with(self, counts: Floats) -> Floats:
        """In how many blocks of the log each group (column of the jobs a unit) has any job."""
        starts = np.arange(0, len(counts), self.block)
        held: Floats = np.minimum((np.add.reduceat(counts, starts, axis=0) > 0).sum(axis=0), self.blocks)
        return held

    def interval(self, sums: Floats, counts: Floats, blocks: Floats, confidence: float) -> tuple[Floats, Floats]:
        """Both ends of the interval of sums / counts, for each group; `blocks` is how many hold its jobs."""
        replicates = np.sort(self._replicates(sums, counts), axis=0)
        # Less than (1 - confidence) / 2 is cut off at each end, since few blocks vary less than many.
        tail = np.array([NormalDist().cdf(-width) for width in _widths(blocks, confidence)])
        return _at(replicates, tail), _at(replicates, 1.0 - tail)

    def margin(self, sums: Floats, counts: Floats, blocks: Floats, confidence: float) -> Floats:
        """Half the width of an interval of sums / counts that is taken for symmetric, for each group."""
        spread: Floats = self._replicates(sums, counts).std(axis=0)
        return _widths(blocks, confidence) * spread

    def _replicates(self, sums: Floats, counts: Floats) -> Floats:
        drawn = self.weights @ counts
        # A group in ten blocks is missing from one replicate in 20,000: there the figure is taken to be that of all.
        overall = sums.sum(axis=0) / counts.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(drawn > 0, (self.weights @ sums) / drawn, overall)


def draw(units: int, block: int, seed: int, replicates: int = REPLICATES) -> Draws:
    """Draw blocks of neighbouring units, as many as fill the log, in a ring."""
    blocks = math.ceil(units / block)
    starts = np.random.default_rng(seed).integers(0, units, (replicates, blocks))
    rows = 2 * units * np.arange(replicates)[:, None]
    changes = np.bincount((rows + starts).ravel(), minlength=2 * units * replicates)
    changes -= np.bincount((rows + starts + block).ravel(), minlength=2 * units * replicates)
    within = np.cumsum(changes.reshape(replicates, 2 * units), axis=1)
    return Draws((within[:, :units] + within[:, units:]).astype(np.float64), block)


def _at(ordered: Floats, share: Floats) -> Floats:
    """The quantile of each column, interpolated between neighbours."""
    at = share * (len(ordered) - 1)
    below = np.floor(at).astype(np.int64)
    above = np.minimum(below + 1, len(ordered) - 1)
    column = np.arange(ordered.shape[1])
    low: Floats = ordered[below, column]
    return low + (at - below) * (ordered[above, column] - low)


def _widths(blocks: Floats, confidence: float) -> Floats:
    """Standard deviations of the replicates in half an interval: 1.96 at 95 % and many blocks, more for few."""
    known, which = np.unique(blocks, return_inverse=True)
    width = [math.sqrt(n / (n - 1.0)) * _student((1.0 + confidence) / 2.0, n - 1.0) for n in known.tolist()]
    return np.array(width)[which]


def _student(share: float, freedom: float) -> float:
    """The quantile of Student's t distribution, for shares above one half: t = √f tan θ, with density ∝ cos^(f-1) θ."""
    theta = np.linspace(0.0, math.pi / 2.0, 20001)
    density = np.cos(theta) ** (freedom - 1.0)
    area = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    return math.sqrt(freedom) * math.tan(float(np.interp(2.0 * share - 1.0, area / area[-1], theta)))
