"""The loop of an experiment in plain Python, in which any component can take part (spec dispatch B2).

`Lagging` has the order of Simdex: what ended is told at the next arrival or tick, worker by worker. `Exact` tells it
at the instant at which it ends, in the order of time. Both give the same schedule where no component learns.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush, heapreplace
from itertools import islice
from typing import Any, NoReturn

import numpy as np

from unspool.faces.dispatch.blame import Misjudged, definition
from unspool.faces.dispatch.calls import does_something, hook, takes
from unspool.faces.dispatch.simdex import Job, RefJob, TimedWorker, Worker

__all__ = ["Exact", "Lagging", "Outcome", "Parts", "Simulation", "simulation_of"]

_TELL_EVERY = 20_000  # jobs between two reports of progress
_IDLE_TICKS = 1000  # after the last job, for a dispatcher that says that jobs still wait
Call = Callable[..., Any]


@dataclass
class Parts:
    """The components of an experiment, made and checked."""

    dispatcher: Any
    metrics: list[Any] = field(default_factory=list)
    strategy: Any = None
    predictor: Any = None
    selector: Any = None


class Outcome:
    """What became of each job, by its row: worker (-1: none), start, finish, estimate, place among the callbacks."""

    def __init__(self, count: int) -> None:
        self.worker = array("i", [-1]) * count
        self.start = array("d", [math.nan]) * count
        self.finish = array("d", [math.nan]) * count
        self.estimate = array("d", [math.nan]) * count
        self.order = array("i", [-1]) * count
        self.finished = 0


class Simulation:
    """The state that components see, and what both drives share.

    `ts` is the clock in seconds. `seed` is for components that draw.
    """

    def __init__(
        self,
        parts: Parts,
        workers: Sequence[Mapping[str, Any]],
        *,
        period: float = 60.0,
        compat: str = "none",
        seed: int = 42,
        configuration: Mapping[str, Any] | None = None,
    ) -> None:
        self.ts = 0.0
        self.period = float(period)
        self.compat = compat
        self.seed = seed
        self.configuration = dict(configuration or {})
        self.dispatcher = parts.dispatcher
        self.duration_predictor = parts.predictor
        self.worker_selector = parts.selector
        self.sa_strategy = None if compat == "fork" else parts.strategy
        self.metrics = list(parts.metrics)
        self.workers = self._make_workers(workers)
        self.log: Any = None
        self.refs: list[RefJob] = []
        self.outcome = Outcome(0)
        self._has_begun = False
        self._next_tick = math.inf
        self._refs_due = math.inf
        self._ref = 0
        self._ref_order: Sequence[RefJob] = ()

    def _make_workers(self, attributes: Sequence[Mapping[str, Any]]) -> list[Any]:
        return [Worker(index, given) for index, given in enumerate(attributes)]

    @property
    def parts(self) -> list[Any]:
        """All components."""
        others = (self.dispatcher, self.duration_predictor, self.worker_selector, self.sa_strategy)
        return [part for part in (*others, *self.metrics) if part is not None]

    def register_metrics(self, *metrics: Any) -> None:
        """Add metrics to those of the experiment."""
        self.metrics.extend(metrics)
        self._listen()

    def run(
        self,
        jobs: Iterable[Job],
        count: int,
        refs: Sequence[RefJob] = (),
        *,
        log: Any = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Outcome:
        """Replay the jobs, of which there are so many, and return what became of them."""
        self.outcome = Outcome(count)
        for worker in self.workers:
            worker.placed = self.outcome.worker
        self.log = log
        self.refs = list(refs)
        self._order_refs(refs)
        self._listen()
        self._replay(self._batched(jobs), count, progress)
        self._drain()
        for end in (self._end_dispatcher, self._end):
            end()
            if any(worker.jobs for worker in self.workers):  # those held back until now
                self._drain()
        self._check_estimates()
        return self.outcome

    def _batched(self, jobs: Iterable[Job]) -> Iterable[Job]:
        """The jobs, of which so many are shown to a batched predictor before the first of them is simulated (B2.7)."""
        size = self.configuration.get("inference_batch_size") or 1
        precompute = getattr(self.duration_predictor, "precompute_batch", None)
        if size == 1 or precompute is None:
            return jobs
        return _in_batches(iter(jobs), size, precompute)

    def queue_lengths(self) -> list[int]:
        """How many jobs each worker has, with those that a central queue keeps for it."""
        waiting = getattr(self.dispatcher, "waiting_for", None)
        kept = waiting(len(self.workers)) if waiting else [0] * len(self.workers)
        return [len(worker.jobs) + more for worker, more in zip(self.workers, kept, strict=True)]

    def _order_refs(self, refs: Sequence[RefJob]) -> None:
        raise NotImplementedError

    def _replay(self, jobs: Iterable[Job], count: int, progress: Callable[[int, int], None] | None) -> None:
        raise NotImplementedError

    def _drain(self) -> None:
        """All jobs have arrived: run what is enqueued to its end, and what is then enqueued."""
        raise NotImplementedError

    def _listen(self) -> None:
        """Who wants to hear of what; asked again when a metric is added."""
        monitors = [getattr(part, "system_monitor", None) for part in (self.duration_predictor, self.worker_selector)]
        ours = [part for part in (self.dispatcher, self.sa_strategy) if part is not None]
        self._on_finish = _hooks(self.metrics, "job_finished")
        self._on_finish_sim = [*_hooks(monitors, "job_finished"), *_hooks(ours, "on_job_finished")]
        self._on_dispatched = _hooks(monitors, "job_dispatched")
        self._on_ref = [*_hooks(monitors, "ref_job_finished"), *_hooks(ours, "on_ref_finished")]
        self._on_snapshot = _hooks(self.metrics, "snapshot")
        self._on_period = _hooks(monitors, "periodic_monitoring")
        self._adapt = hook(self.sa_strategy, "do_adapt")
        self._is_quiet = not (self._on_snapshot or self._on_period or self._adapt)

    def _start(self, ts: float) -> None:
        self.ts = ts
        for worker in self.workers:
            worker.begin()
        _init(self.dispatcher, (self,), (ts, self.workers))
        for part in (self.duration_predictor, self.worker_selector):
            _init(part, (self,), (ts, self.workers))
        _init(self.sa_strategy, (ts, self.dispatcher, self.workers), (self,))
        if not self._has_begun:
            for metric in self.metrics:
                if getattr(metric, "on_start", None):
                    metric.on_start(self)
        self._has_begun = True
        self._listen()
        for snapshot in self._on_snapshot:
            snapshot(ts, self.workers)
        self._next_tick = ts + self.period

    def _arrivals(self) -> Callable[[Job], None]:
        """What is done with a job that arrives now: adapt to it, dispatch it, tell who wants to know."""
        dispatch, workers = self.dispatcher.dispatch, self.workers
        with_simulation = takes(dispatch, 3)

        def arrived(job: Job) -> None:
            if self._adapt:
                self._adapt(job.spawn_ts, self.dispatcher, workers, job)
            if with_simulation:
                dispatch(job, workers, self)
            else:
                dispatch(job, workers)
            for tell in self._on_dispatched:
                tell(self, job)

        return arrived

    def _finished(self, job: Job, index: int) -> None:
        """Note what became of a job and tell everybody who wants to know."""
        outcome, row = self.outcome, job.row
        job.worker_index = index
        outcome.start[row] = job.start_ts
        outcome.finish[row] = job.finish_ts
        try:
            outcome.estimate[row] = job.estimated_duration
        except TypeError:
            self._refuse_estimate(row, job.estimated_duration)
        outcome.order[row] = outcome.finished
        outcome.finished += 1
        for tell in self._on_finish:
            tell(job)
        for tell in self._on_finish_sim:
            tell(self, job)

    def _hear_refs(self, order: Sequence[RefJob]) -> None:
        """Reference runs end one after the other in this order, of which only the first one left is looked at."""
        self._ref_order = order
        self._ref = 0
        self._next_ref()

    def _next_ref(self) -> None:
        if self._ref < len(self._ref_order):
            ref = self._ref_order[self._ref]
            self._refs_due = ref.spawn_ts + ref.duration
        else:
            self._refs_due = math.inf

    def _release(self) -> None:
        """The next reference run ended."""
        ref = self._ref_order[self._ref]
        self._ref += 1
        self._next_ref()
        if ref.compilation_ok:
            for tell in self._on_ref:
                tell(self, ref)

    def _tick(self) -> None:
        for snapshot in self._on_snapshot:
            snapshot(self.ts, self.workers)
        if self._adapt:
            self._adapt(self.ts, self.dispatcher, self.workers)
        for monitor in self._on_period:
            monitor(self)

    def _end_dispatcher(self) -> None:
        ended = hook(self.dispatcher, "end")
        if ended and takes(ended, 1):
            ended(self)

    def _end(self) -> None:
        for part in (self.duration_predictor, self.worker_selector):
            ended = hook(part, "end")
            if ended:
                ended(self)
        closed = hook(self.sa_strategy, "close")
        if closed:
            closed()

    def _check_estimates(self) -> None:
        """Refuse what was predicted for jobs and is no number, where a predictor is there to be asked."""
        if self.duration_predictor is None:
            return
        wrong = np.isnan(np.asarray(self.outcome.estimate)) & (np.asarray(self.outcome.order) >= 0)
        if wrong.any():
            self._refuse_estimate(int(wrong.argmax()), math.nan)

    def _refuse_estimate(self, row: int, estimate: Any) -> NoReturn:
        asked = self.duration_predictor
        blame = definition(self.dispatcher.dispatch if asked is None else asked.predict_duration)
        raise Misjudged(
            f"{blame}: the estimated_duration of job {row + 1} is {estimate!r}; expected seconds, as a number"
        )


class Lagging(Simulation):
    """The drive of Simdex, original and fork: callbacks come at the next arrival or tick, worker by worker."""

    def _order_refs(self, refs: Sequence[RefJob]) -> None:
        # In the original the strategies look at the reference runs themselves. In the order of the file a long one
        # holds back those after it (B2.3).
        self._hear_refs(refs if self.compat == "fork" else ())

    def _replay(self, jobs: Iterable[Job], count: int, progress: Callable[[int, int], None] | None) -> None:
        arrived = self._arrivals()
        for number, job in enumerate(jobs):
            ts = job.spawn_ts
            if self.ts == 0.0:  # the tool's test for "not started", which is true again for every arrival at 0 (B2.2)
                self._start(ts)
            if self._next_tick < ts:
                self._ticks(ts)
            self.ts = ts
            self._collect(ts)
            arrived(job)
            if progress and not number % _TELL_EVERY:
                progress(number, count)

    def _drain(self) -> None:
        """To one period after the last finish, as the tool does (B2.6); anew for what was enqueued meanwhile."""
        while True:
            last = max([self.ts, *(worker.get_finish_ts() or 0.0 for worker in self.workers)])
            self._ticks(last + self.period)
            self.ts = last + self.period
            self._collect(self.ts)
            if not any(worker.jobs for worker in self.workers):
                return

    def _ticks(self, until: float) -> None:
        """Every tick before a time; those at which nobody listens and nothing ended are passed over."""
        if self.compat == "original" and self.sa_strategy is None and not self.metrics:
            self._next_tick = math.inf
        while self._next_tick < until:
            if self._is_quiet:
                due = min([self._refs_due, *(worker.due for worker in self.workers)])
                self._next_tick = _tick_from(self._next_tick, self.period, min(due, until))
                if self._next_tick >= until:
                    return
            self.ts = self._next_tick
            self._collect(self.ts)
            self._tick()
            self._next_tick += self.period

    def _collect(self, ts: float) -> None:
        for worker in self.workers:
            while worker.due <= ts:
                self._finished(worker.next_job(), worker.index)
        while self._refs_due <= ts:
            self._release()


class Exact(Simulation):
    """Callbacks at the instant of the finish, in the order of time, of one instant in the order of workers.

    At one instant: jobs end, reference runs end, a central queue gives out work, arrivals, ticks.
    """

    def _make_workers(self, attributes: Sequence[Mapping[str, Any]]) -> list[Any]:
        self._heads: list[tuple[float, int]] = []  # when the first job of each busy worker ends
        heads = self._heads

        def began(finish_ts: float, index: int) -> None:
            heappush(heads, (finish_ts, index))

        return [TimedWorker(index, given, self, began) for index, given in enumerate(attributes)]

    def _order_refs(self, refs: Sequence[RefJob]) -> None:
        self._hear_refs(sorted(refs, key=lambda ref: ref.spawn_ts + ref.duration))

    def _replay(self, jobs: Iterable[Job], count: int, progress: Callable[[int, int], None] | None) -> None:
        heads = self._heads
        arrived = self._arrivals()
        self._give_out = hook(self.dispatcher, "give_out")
        is_started = False
        for number, job in enumerate(jobs):
            ts = job.spawn_ts
            if not is_started:
                is_started = True
                self._start(ts)
                if self._is_quiet:
                    self._next_tick = math.inf
            if (heads and heads[0][0] <= ts) or self._next_tick < ts or self._refs_due <= ts:
                self._advance(ts)
            self.ts = ts
            arrived(job)
            if progress and not number % _TELL_EVERY:
                progress(number, count)

    def _drain(self) -> None:
        """To the last finish, and on from tick to tick while jobs are held back that may yet be enqueued."""
        heads, idle = self._heads, 0
        while heads or self._may_yet_enqueue(idle):
            if heads:
                idle = 0
                self._advance(heads[0][0])
            else:
                idle += 1
                self._advance(self._next_tick)
                self._pass_tick()
        for snapshot in self._on_snapshot:
            snapshot(self.ts, self.workers)

    def _may_yet_enqueue(self, idle: int) -> bool:
        """Whether jobs are held back and somebody hears of the next tick, after so many that brought nothing."""
        if self._next_tick == math.inf or not (self._on_period or self._adapt):
            return False
        if getattr(self.dispatcher, "waiting", 0):
            return idle < _IDLE_TICKS
        return not idle and -1 in self.outcome.worker

    def _advance(self, until: float) -> None:
        """What happens up to and at a time, but ticks at that very time: arrivals come before those."""
        heads, workers, finished = self._heads, self.workers, self._finished
        while True:
            due = heads[0][0] if heads else math.inf
            if (self._refs_due < due or self._next_tick < due) and self._hear_or_tick(min(due, until)):
                continue
            if due > until:
                break
            self.ts = due
            index = heads[0][1]
            worker = workers[index]
            job = worker.next_job()
            if worker.jobs:
                heapreplace(heads, (worker.due, index))
            else:
                heappop(heads)
            finished(job, index)
            if self._give_out and not (heads and heads[0][0] <= due):
                self._give_out(self)
        self.ts = until

    def _hear_or_tick(self, until: float) -> bool:
        """The next reference run that ends by a time, or the next tick before it, if there is one."""
        if self._refs_due <= min(until, self._next_tick):
            self.ts = self._refs_due
            self._release()
        elif self._next_tick < until:
            self._pass_tick()
        else:
            return False
        return True

    def _pass_tick(self) -> None:
        self.ts = self._next_tick
        self._tick()
        if self._give_out:
            self._give_out(self)
        self._next_tick += self.period


def simulation_of(parts: Parts, workers: Sequence[Mapping[str, Any]], **settings: Any) -> Simulation:
    """The drive for a kind of compatibility: `compat` is original, fork or none."""
    return (Exact if settings.get("compat", "none") == "none" else Lagging)(parts, workers, **settings)


def _hooks(parts: Iterable[Any], name: str) -> list[Call]:
    return [found for found in (hook(part, name) for part in parts if part is not None) if found]


def _in_batches(jobs: Iterator[Job], size: int, precompute: Call) -> Iterator[Job]:
    while batch := list(islice(jobs, size)):
        precompute(batch)
        yield from batch


def _init(part: Any, *choices: tuple[Any, ...]) -> None:
    """Call `init` with the first of the lists of arguments that it takes, if there is one."""
    init = getattr(part, "init", None)
    if part is None or init is None or not does_something(init):
        return
    arguments = next((choice for choice in choices if takes(init, len(choice))), choices[0])
    init(*arguments)


def _tick_from(tick: float, period: float, until: float) -> float:
    """The first tick that is not before a time; ticks are made by adding, as the tool does."""
    if tick.is_integer() and period.is_integer() and until - tick > 2 * period and until < 2**52:
        tick += (math.ceil((until - tick) / period) - 1) * period
    while tick < until:
        tick += period
    return tick
