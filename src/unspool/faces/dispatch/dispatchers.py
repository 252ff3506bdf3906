"""Dispatchers that bind a job to a worker's queue on its arrival: those of Simdex and ours (spec dispatch B4.2, B4.3).

Each has `dispatch(job, workers, simulation)`. Of equally good workers the first one wins, unless `ties` says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

from unspool.errors import InputError, RunError
from unspool.faces.dispatch.blame import check_seconds, wrong_worker
from unspool.faces.dispatch.draws import CHOICE, TIES, uniform
from unspool.faces.dispatch.index import DurationIndex
from unspool.faces.dispatch.simdex import Job, RefJob, Worker

__all__ = [
    "DurationFilter", "GroupAware", "JobCategory", "LeastWork", "OracleJobCategory", "PowerOfChoices",
    "PredictedCategory", "RandomWorker", "RoundRobin", "Selector", "ShortestQueue", "active_workers", "admitting",
    "estimated",
]  # fmt: skip

_NONE_ACTIVE = "No active workers available, unable to dispatch job."
_PLAIN = frozenset((float, int))  # numbers, if they equal themselves; what is of another type is looked at closely
_TIES = ("lowest", "constrained", "random")
Workers = Sequence[Worker]


def active_workers(workers: Workers) -> list[Worker]:
    """Those with a true `active`; that there is none is an error."""
    active = [worker for worker in workers if worker.attributes.get("active")]
    if not active:
        raise RunError(_NONE_ACTIVE + " Workers need the attribute active: true")
    return active


def admitting(workers: list[Worker], estimate: float) -> list[Worker]:
    """Those without a `limit` or with one that is not below the estimate; all if there is none."""
    admitted = []
    for worker in workers:
        limit = worker.attributes.get("limit")
        if limit is None or limit >= estimate:
            admitted.append(worker)
    return admitted or workers


def estimated(job: Job, simulation: Any) -> float:
    """The estimate of the experiment's predictor, which is noted in the job; without a predictor half the limits."""
    predictor = simulation.duration_predictor
    estimate = job.limits / 2 if predictor is None else _told(predictor.predict_duration, job)
    job.estimated_duration = estimate
    return float(estimate)


def _told(predict: Callable[[Job], Any], job: Job) -> Any:
    """What a predictor says of a job, a number of some kind."""
    estimate = predict(job)
    if estimate.__class__ not in _PLAIN or estimate != estimate:
        check_seconds(estimate, predict, job)
    return estimate


def _fewest(workers: list[Worker]) -> Worker:
    best, least = workers[0], len(workers[0].jobs)
    for worker in workers:
        count = len(worker.jobs)
        if count < least:
            best, least = worker, count
    return best


class _Ties:
    """How a dispatcher chooses among equally long queues: lowest index, most constrained (least limit) or random."""

    def __init__(self, ties: str = "lowest") -> None:
        if ties not in _TIES:
            raise InputError(f"ties is '{ties}'; expected {', '.join(_TIES)}")
        self.ties = ties

    def shortest(self, workers: list[Worker], job: Job, simulation: Any) -> Worker:
        """The worker with the shortest queue."""
        first = _fewest(workers)
        if self.ties == "lowest":
            return first
        equal = [worker for worker in workers if len(worker.jobs) == len(first.jobs)]
        if self.ties == "constrained":
            return min(equal, key=_limit)
        return equal[int(uniform(simulation.seed, TIES, job.row) * len(equal))]


def _limit(worker: Worker) -> float:
    limit = worker.attributes.get("limit")
    return float("inf") if limit is None else limit


class ShortestQueue(_Ties):
    """The active worker with the fewest jobs."""

    def dispatch(self, job: Job, workers: Workers, simulation: Any = None) -> None:
        """Give the job to a worker."""
        self.shortest(active_workers(workers), job, simulation).enqueue(job)


class DurationFilter(_Ties):
    """The fewest jobs among active workers whose limit admits the predicted duration, among all active if none does.

    With `quantile` limits are held against that quantile of the predicted distribution: a low one refuses only what is
    surely long, a high one admits only what is surely short. What is noted in the job stays the prediction.
    """

    needs = ("duration_predictor",)

    def __init__(self, ties: str = "lowest", quantile: float | None = None) -> None:
        super().__init__(ties)
        if quantile is not None and (isinstance(quantile, bool | str) or not 0.0 < quantile < 1.0):
            raise InputError(f"quantile is {quantile}; expected a number between 0 and 1")
        self.needs_quantile = quantile
        self.quantiles: dict[int, float] = {}  # by rows of jobs, what limits were held against

    def dispatch(self, job: Job, workers: Workers, simulation: Any) -> None:
        """Give the job to a worker."""
        predictor = simulation.duration_predictor
        estimate = predictor.predict_duration(job)
        if estimate.__class__ not in _PLAIN or estimate != estimate:  # here, since a call costs more than the check
            check_seconds(estimate, predictor.predict_duration, job)
        job.estimated_duration = estimate
        if self.needs_quantile is not None:
            estimate = self.quantiles[job.row] = _told(predictor.predict_quantile, job)
        self.shortest(admitting(active_workers(workers), estimate), job, simulation).enqueue(job)


class JobCategory(_Ties):
    """The duration filter of the original, with statistics of its own that a strategy fills; until then limits / 2."""

    def __init__(self, ties: str = "lowest") -> None:
        super().__init__(ties)
        self.index = DurationIndex()

    def add_ref_job(self, job: Job | RefJob) -> None:
        """Learn the duration of a job or a reference run."""
        self.index.add(job)

    def dispatch(self, job: Job, workers: Workers, simulation: Any = None) -> None:
        """Give the job to a worker."""
        estimate = self.estimate(job)
        job.estimated_duration = estimate
        self.shortest(admitting(active_workers(workers), estimate), job, simulation).enqueue(job)

    def estimate(self, job: Job) -> float:
        """How long the job will run: the mean of its like, else half the limits."""
        known = self.index.estimate(job)
        return job.limits / 2 if known is None else known


class OracleJobCategory(JobCategory):
    """The duration filter of the original that knows the true durations."""

    def estimate(self, job: Job) -> float:
        """How long the job will run, exactly."""
        return job.duration


class PredictedCategory(JobCategory):
    """The duration filter of the original with a predictor that a strategy gives it; until then limits / 2."""

    def __init__(self, ties: str = "lowest") -> None:
        super().__init__(ties)
        self.predictor: Any = None

    def set_predictor(self, predictor: Any) -> None:
        """From now on ask a function of a job for its duration."""
        self.predictor = predictor

    def estimate(self, job: Job) -> float:
        """How long the job will run, as the predictor says."""
        return job.limits / 2 if self.predictor is None else float(_told(self.predictor, job))


class Selector:
    """The worker that the experiment's worker selector names."""

    needs = ("worker_selector",)

    def dispatch(self, job: Job, workers: Workers, simulation: Any) -> None:
        """Give the job to a worker."""
        if simulation.duration_predictor is not None:
            job.estimated_duration = _told(simulation.duration_predictor.predict_duration, job)
        select = simulation.worker_selector.select_worker
        chosen = select(simulation, job)
        try:
            at = index(chosen)
        except TypeError:
            at = -1
        if not 0 <= at < len(workers):
            wrong_worker(select, chosen, job, len(workers))
        workers[at].enqueue(job)


class LeastWork:
    """The active and admitting worker with the least sum of predicted durations in its queue."""

    def __init__(self) -> None:
        self._work: dict[int, float] = {}

    def dispatch(self, job: Job, workers: Workers, simulation: Any) -> None:
        """Give the job to a worker."""
        estimate = estimated(job, simulation)
        work = self._work
        best = min(admitting(active_workers(workers), estimate), key=lambda worker: work.get(worker.index, 0.0))
        work[best.index] = work.get(best.index, 0.0) + estimate
        job.least_work_index = best.index  # type: ignore[attr-defined]
        best.enqueue(job)

    def on_job_finished(self, simulation: Any, job: Job) -> None:
        """Take its estimate off its worker; of an empty worker nothing is left over by rounding."""
        index = job.least_work_index  # type: ignore[attr-defined]
        left = self._work[index] - job.estimated_duration
        self._work[index] = left if simulation.workers[index].jobs else 0.0


class RoundRobin:
    """The active workers in turn."""

    def __init__(self) -> None:
        self._last = -1

    def dispatch(self, job: Job, workers: Workers, simulation: Any = None) -> None:
        """Give the job to a worker."""
        active = active_workers(workers)
        chosen = next((worker for worker in active if worker.index > self._last), active[0])
        self._last = chosen.index
        chosen.enqueue(job)


class RandomWorker:
    """An active worker drawn for each job, the same one for a seed whatever happened before."""

    def dispatch(self, job: Job, workers: Workers, simulation: Any) -> None:
        """Give the job to a worker."""
        active = active_workers(workers)
        active[int(uniform(simulation.seed, CHOICE, job.row) * len(active))].enqueue(job)


class PowerOfChoices:
    """The shorter queue of two workers drawn for each job.

    M. Mitzenmacher: "The power of two choices in randomized load balancing", IEEE TPDS 12(10), 2001.
    """

    def __init__(self, choices: int = 2) -> None:
        if choices < 1:
            raise InputError(f"choices is {choices}; expected 1 or more")
        self.choices = choices

    def dispatch(self, job: Job, workers: Workers, simulation: Any) -> None:
        """Give the job to a worker."""
        left = list(active_workers(workers))
        drawn = []
        for ordinal in range(min(self.choices, len(left))):
            drawn.append(left.pop(int(uniform(simulation.seed, CHOICE, job.row, ordinal) * len(left))))
        _fewest(drawn).enqueue(job)


class GroupAware(_Ties):
    """The shortest queue among workers of the job's `worker_group_id`; a worker that names no group takes any."""

    def dispatch(self, job: Job, workers: Workers, simulation: Any) -> None:
        """Give the job to a worker."""
        active = active_workers(workers)
        able = [worker for worker in active if serves(worker, job)]
        if not able:
            raise RunError(
                f"job {job.row + 1} needs a worker of the group '{job.worker_group_id}' and no active one is; "
                "name the group in the attribute worker_group_id of a worker"
            )
        estimate = estimated(job, simulation)
        self.shortest(admitting(able, estimate), job, simulation).enqueue(job)


def serves(worker: Worker, job: Job) -> bool:
    """Whether a worker is of the group of a job, or of no group."""
    groups = worker.attributes.get("worker_group_id")
    if groups is None:
        return True
    return job.worker_group_id in (groups if isinstance(groups, list) else [groups])
