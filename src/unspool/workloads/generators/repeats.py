"""How often users repeat themselves: fitted to a log, and drawn for another.

A user's next job has the request of the last one, or its size with another request of the user's of that size, or is
drawn afresh from all that the user asks for. None of the three changes how often each request is seen in the long run.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from unspool.workloads.generators.fitted import Fitted, Repeats
from unspool.workloads.generators.streams import Floats, Ints

__all__ = ["Drawn", "drawn_levels", "drawn_requests", "fit_repeats", "folded"]

_FRESH, _SAME_SIZE, _SAME_REQUEST = range(3)
_STEPS, _GRID = 41, 64


def fit_repeats(jobs: pl.DataFrame, repertoires: pl.DataFrame, cores: pl.Series) -> Repeats:
    """From jobs by user and submission; chance repeats, which fresh draws give as well, are taken off."""
    place = (pl.col("request").rank("average") - 0.5) / pl.len()
    known = jobs.with_columns(place=place.over("user", "cores"))
    pairs = known.select(
        "user",
        is_inside=pl.col("session") == pl.col("session").shift(),
        same_request=(pl.col("request") == pl.col("request").shift()).cast(pl.Float64),
        same_size=(pl.col("cores") == pl.col("cores").shift()).cast(pl.Float64),
        run_apart=pl.col("level").diff().abs(),
        request_apart=pl.col("place").diff().abs(),
        is_pair=pl.col("user") == pl.col("user").shift(),
    ).filter("is_pair")
    pairs = pairs.join(_by_chance(repertoires, cores), on="user", how="left", maintain_order="left")
    inside, between = (_shares(pairs.filter(pl.col("is_inside") == flag)) for flag in (True, False))
    count = [float((pairs["is_inside"] == flag).sum()) for flag in (True, False)]
    requests, sizes = (inside[kind] * count[0] + between[kind] * count[1] for kind in (0, 1))
    same = pairs.filter(pl.col("same_request") == 1.0)
    only_size = pairs.filter(pl.col("same_request") < 1.0, pl.col("same_size") == 1.0)
    return Repeats(
        *inside,
        *between,
        run_spread=_spread_of(same["run_apart"], requests),
        size_run_spread=_spread_of(only_size["run_apart"], sizes),
        size_request_spread=_spread_of(only_size["request_apart"], sizes),
    )


def _by_chance(repertoires: pl.DataFrame, cores: pl.Series) -> pl.DataFrame:
    """For each user, how often two fresh draws have one request, one size, and one request given their size."""
    known = repertoires.with_columns(cores=cores[repertoires["request"]]).with_columns(
        share=pl.col("count") / pl.col("count").sum().over("user")
    )
    # In their order, so that the sums are the same to the last digit in every run.
    by_size = known.group_by("user", "cores", maintain_order=True).agg(
        pl.col("share").sum(), (pl.col("share") ** 2).sum().alias("squares")
    )
    return by_size.group_by("user", maintain_order=True).agg(
        chance_request=pl.col("squares").sum(),
        chance_size=(pl.col("share") ** 2).sum(),
        chance_inside_size=(pl.col("squares") / pl.col("share")).sum(),
    )


def _shares(pairs: pl.DataFrame) -> tuple[float, float]:
    """How often the request, and how often only the size, is repeated, so that both are seen as often as in the log."""
    if not len(pairs):
        return 0.0, 0.0
    mean = pairs.select(pl.col("^(same|chance)_.*$").mean()).row(0, named=True)
    room = 1.0 - mean["chance_size"]
    fresh = min(1.0, (1.0 - mean["same_size"]) / room) if room > 1e-9 else 1.0
    room = 1.0 - mean["chance_inside_size"]
    surplus = mean["same_request"] - (1.0 - fresh) * mean["chance_inside_size"] - fresh * mean["chance_request"]
    request = min(1.0 - fresh, max(0.0, surplus / room)) if room > 1e-9 else 1.0 - fresh
    return request, 1.0 - fresh - request


def _spread_of(apart: pl.Series, meant: float) -> float:
    """The spread with which two levels of one run of repeats lie so far apart on average.

    Of the pairs, so many are meant as repeats; the others are so by chance, and lie apart as any two do, by 1/3.
    """
    if not len(apart) or meant < 1.0:
        return 1.0
    share = min(1.0, meant / len(apart))
    mean_apart = (float(apart.mean()) - (1.0 - share) / 3.0) / share  # type: ignore[arg-type]
    spreads = np.linspace(0.0, 1.0, _STEPS)
    return float(np.interp(mean_apart, np.maximum.accumulate([_mean_apart(each) for each in spreads]), spreads))


def _mean_apart(spread: float) -> float:
    """How far two levels of a run with a spread lie apart on average, by midpoints of a grid."""
    grid = (np.arange(_GRID) + 0.5) / _GRID
    near = np.sort(folded(grid[:, None] + spread * (2.0 * grid[None, :] - 1.0)), axis=1)
    # In the sum over all pairs of n sorted values, the k-th counts 2k - n + 1 times.
    return float((near * (2.0 * np.arange(_GRID) - _GRID + 1.0)).sum(axis=1).mean() * 2.0 / _GRID**2)


def folded(levels: Floats) -> Floats:
    """Levels reflected into 0 to 1, which keeps uniform ones uniform.

    >>> folded(np.array([-0.25, 0.5, 1.25])).tolist()
    [0.25, 0.5, 0.75]
    """
    return 1.0 - np.abs(1.0 - np.mod(levels, 2.0))


class Drawn(NamedTuple):
    """The request of each job, and for each job the first of the run of repeated requests, and sizes, that it is in."""

    request: Ints
    first_of_request: Ints
    first_of_size: Ints


def drawn_requests(model: Fitted, stream: np.random.Generator, user: Ints, gap: Floats) -> Drawn:
    """What each job asks for; the jobs stand by user and submission, and the gap of a user's first job is infinite."""
    kind = _kinds(model, stream, gap)
    rows = model.repertoires.with_columns(cores=model.requests["cores"][model.repertoires["request"]])
    begins = np.concatenate(([0], np.cumsum(rows["count"].to_numpy())))
    owner, size = rows["user"].to_numpy(), rows["cores"].to_numpy()
    # Rows of one user and one size are a block: requests are numbered by size first.
    block = np.concatenate(([0], np.cumsum((np.diff(owner) != 0) | (np.diff(size) != 0))))
    low, high = (begins[np.searchsorted(owner, user, side)] for side in ("left", "right"))
    place = low + stream.random(len(user)) * (high - low)
    row = np.searchsorted(begins, place, "right") - 1
    first_of_size = _last(kind == _FRESH)
    low, high = (begins[np.searchsorted(block, block[row[first_of_size]], side)] for side in ("left", "right"))
    step = model.repeats.size_request_spread * stream.uniform(-1.0, 1.0, len(user))
    near = low + folded((place[first_of_size] - low) / (high - low) + step) * (high - low)
    same_size = np.searchsorted(begins, np.minimum(near, np.nextafter(high, low)), "right") - 1
    row = np.where(kind == _SAME_SIZE, same_size, row)
    first_of_request = _last(kind != _SAME_REQUEST)
    return Drawn(rows["request"].to_numpy()[row[first_of_request]], first_of_request, first_of_size)


def drawn_levels(model: Fitted, stream: np.random.Generator, drawn: Drawn) -> Floats:
    """Where the run time of each job lies among those of its like; those of a run of repeats lie near each other."""
    jobs = len(drawn.request)
    of_size, of_request, own = stream.random(jobs), stream.uniform(-1.0, 1.0, jobs), stream.uniform(-1.0, 1.0, jobs)
    near_size = folded(of_size[drawn.first_of_size] + model.repeats.size_run_spread * of_request)
    return folded(near_size[drawn.first_of_request] + model.repeats.run_spread * own)


def _kinds(model: Fitted, stream: np.random.Generator, gap: Floats) -> Ints:
    """Whether each job is fresh, or repeats the size or the request of the one before."""
    repeats = model.repeats
    is_inside = gap <= model.session_gap_s
    request_share = np.where(is_inside, repeats.request_in_session, repeats.request_between)
    size_share = np.where(is_inside, repeats.size_in_session, repeats.size_between)
    luck = stream.random(len(gap))
    kind = np.where(luck < request_share + size_share, _SAME_SIZE, _FRESH)
    kind = np.where(luck < request_share, _SAME_REQUEST, kind)
    return np.where(np.isinf(gap), _FRESH, kind)


def _last(marks: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Ints:
    """For each place the last marked one up to it."""
    return np.maximum.accumulate(np.where(marks, np.arange(len(marks)), 0))
