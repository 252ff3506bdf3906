"""What jobs like it took: the mean, a quantile, or a mean that forgets, of those that ended."""

from __future__ import annotations

from bisect import insort
from typing import TYPE_CHECKING, Any

from unspool.engine.jobs.estimates import LEAST_S
from unspool.errors import InputError, UnknownName
from unspool.model.workload import COLUMNS

if TYPE_CHECKING:
    from unspool.policies.view import Job

__all__ = ["Statistics"]

_STATISTICS = ("mean", "median", "quantile", "decayed")


class Statistics:
    """The run times of jobs that ended and agree with the job in some columns, in one number.

    `by` joins columns with `+`; where no job that ended agrees in all of them, those that agree in all but the last
    count, and so on; where none does, the walltime is taken. With `capped` no estimate exceeds the walltime.
    `decayed` weighs a run time half as much as one that ended `half_life` jobs later.
    """

    def __init__(
        self,
        by: str = "user+application",
        statistic: str = "mean",
        quantile: float = 0.9,
        half_life: float = 10.0,
        capped: bool = True,
    ) -> None:
        if statistic not in _STATISTICS:
            raise UnknownName("statistic", statistic, _STATISTICS)
        if not 0.0 <= quantile <= 1.0:
            raise InputError(f"statistics: the quantile is {quantile}; expected 0 to 1")
        if not half_life > 0.0:
            raise InputError(f"statistics: the half-life is {half_life} jobs; expected more than 0")
        self._columns = tuple(by.split("+"))
        known = [column.name for column in COLUMNS]
        for column in self._columns:
            if column not in known:
                raise UnknownName("column", column, known)
        self._statistic = statistic
        self._quantile = 0.5 if statistic == "median" else quantile
        self._keep = 0.5 ** (1.0 / half_life)
        self._capped = capped
        self._groups: dict[tuple[Any, ...], _Group] = {}

    def predict_one(self, job: Job) -> float:
        """How long the job will run, in seconds."""
        key = tuple(job[column] for column in self._columns)
        for length in range(len(key), 0, -1):
            group = self._groups.get(key[:length])
            if group is not None:
                value = max(group.value(self._quantile), LEAST_S)
                return min(value, job.estimate) if self._capped else value
        return job.estimate

    def learn_one(self, job: Job, run_time_s: float) -> None:
        """A job ended after so many seconds."""
        key = tuple(job[column] for column in self._columns)
        make = _Sorted if self._statistic in ("median", "quantile") else _Mean
        keep = self._keep if self._statistic == "decayed" else 1.0
        for length in range(1, len(key) + 1):
            group = self._groups.setdefault(key[:length], make())
            group.add(run_time_s, keep)


class _Mean:
    """A mean, of which older values may count less."""

    __slots__ = ("total", "weight")

    def __init__(self) -> None:
        self.total = self.weight = 0.0

    def add(self, value: float, keep: float) -> None:
        self.total = self.total * keep + value
        self.weight = self.weight * keep + 1.0

    def value(self, quantile: float) -> float:
        return self.total / self.weight


class _Sorted:
    """All values, for quantiles by linear interpolation."""

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values: list[float] = []

    def add(self, value: float, keep: float) -> None:
        insort(self.values, value)

    def value(self, quantile: float) -> float:
        at = quantile * (len(self.values) - 1)
        low = int(at)
        high = min(low + 1, len(self.values) - 1)
        return self.values[low] + (at - low) * (self.values[high] - self.values[low])


_Group = _Mean | _Sorted
