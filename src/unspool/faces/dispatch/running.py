"""An experiment on a log: from files to what became of each job."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from unspool.errors import RunError
from unspool.faces.dispatch.blame import asked, blamed, definition
from unspool.faces.dispatch.compiled import ids_needed, is_compiled, run_compiled
from unspool.faces.dispatch.drive import Outcome, Simulation, simulation_of
from unspool.faces.dispatch.experiment import Experiment
from unspool.faces.dispatch.modules import files_beside
from unspool.faces.dispatch.simdex import hash_converters, jobs_of, refs_of
from unspool.units import counted
from unspool.workloads.recodex import JobFile, JobLog, RefLog

__all__ = ["Dispatched", "run_experiment", "values_of"]


@dataclass(frozen=True)
class Dispatched:
    """A run that is over: the experiment, the jobs, what became of them, and the simulation with its metrics.

    Where the log is a file that was never read as a whole, `outcome` says how many jobs have finished, not of each how.
    """

    experiment: Experiment
    log: JobLog | JobFile
    simulation: Simulation
    outcome: Outcome

    @property
    def jobs(self) -> int:
        """How many there were; of those that the compiled loop reads from a file all finish."""
        return len(self.log) if isinstance(self.log, JobLog) else self.outcome.finished

    @property
    def summary(self) -> dict[str, Any]:
        """The figures of the metrics, as summary.json has them."""
        from unspool.faces.dispatch.outputs import summary_of

        return summary_of(self)

    @property
    def table(self) -> pl.DataFrame:
        """One row a job, as jobs.csv has them."""
        from unspool.faces.dispatch.outputs import jobs_table

        return jobs_table(self)

    @property
    def undispatched(self) -> list[int]:
        """Rows of the jobs that the dispatcher never enqueued; the compiled loop, which may keep none, enqueues all."""
        order = np.asarray(self.outcome.order)
        return np.flatnonzero((order < 0) | (np.asarray(self.outcome.worker) < 0)).tolist() if len(order) else []


def run_experiment(
    experiment: Experiment,
    jobs: JobLog | JobFile,
    refs: RefLog | None = None,
    *,
    seed: int = 42,
    progress: Callable[[int, int], None] | None = None,
    compiled: bool = True,
    compiling: Callable[[], AbstractContextManager[None]] = nullcontext,
    allow_undispatched: bool = False,
) -> Dispatched:
    """Replay the jobs of a log under an experiment, in the compiled loop where all of its parts are known there.

    Ids of jobs and of reference runs are one numbering, but with `compat: original`, which numbers each file by itself
    and so takes the reference runs for other exercises than they are of. `compiling()` is entered while the compiled
    loop is made ready. Of a log that was read without some ids they are read when they are needed after all.

    Jobs in a file are read while they are replayed, in memory that does not grow with their number, if all parts of the
    experiment are known to the compiled loop; else the file is read first. `progress` is then told as the total what
    was read so far.

    Jobs that the dispatcher has not enqueued when the run is over are an error, unless `allow_undispatched` is set.
    """
    # The reference runs come first, so that their own numbers stay as they are.
    first = None if experiment.compat == "original" else refs
    log = jobs if compiled and _has_enough(jobs, experiment) else jobs.whole()
    log = log if first is None else log.after(first)
    known = None if refs is None else refs_of(refs)
    # Users' components may import more of their files while they run.
    with files_beside(experiment.path.resolve().parent), _seeded(seed):
        simulation = simulation_of(
            experiment.parts(known, {} if isinstance(log, JobFile) else hash_converters(log)),
            experiment.workers,
            period=experiment.period_s,
            compat=experiment.compat,
            seed=seed,
            configuration=experiment.content,
        )
        try:
            outcome = _run_compiled(simulation, log, refs, progress, compiling) if compiled else None
            if outcome is None:
                whole = log.whole()
                log = whole if whole is log or first is None else whole.after(first)
                outcome = simulation.run(jobs_of(log), len(log), known or (), log=log, progress=progress)
        except (Exception, SystemExit) as error:
            fault = blamed(error, experiment.path.parent, simulation.parts, simulation.ts)
            if fault is None:
                raise
            raise fault from error
    run = Dispatched(experiment, log, simulation, outcome)
    if not allow_undispatched:
        _refuse_undispatched(run)
    return run


def _refuse_undispatched(run: Dispatched) -> None:
    """Complain of jobs that were never enqueued, with the line of the dispatcher's method."""
    never = run.undispatched
    if not never:
        return
    dispatcher, log = run.simulation.dispatcher, run.log.whole()
    why = "" if _has_active(run.simulation) else "; no worker is active that could take them"
    told = "was never enqueued:" if len(never) == 1 else "were never enqueued, the first is"
    raise RunError(
        f"{definition(dispatcher.dispatch)}: {len(never):,} of {counted(run.jobs, 'job')} {told} "
        f"job {never[0] + 1} (line {log.line[never[0]]} of {log.name}){why}; enqueue every job, "
        "or allow it with --allow-undispatched"
    )


def _has_active(simulation: Simulation) -> bool:
    return any(worker.attributes.get("active") for worker in simulation.workers)


def _has_enough(jobs: JobLog | JobFile, experiment: Experiment) -> bool:
    """Whether a log can be run as it is: with the ids that are needed, or from its file."""
    if isinstance(jobs, JobFile):
        return is_compiled(experiment)
    return jobs.ids.keys() >= set(ids_needed(experiment))


def _run_compiled(
    simulation: Simulation,
    jobs: JobLog | JobFile,
    refs: RefLog | None,
    progress: Callable[[int, int], None] | None,
    compiling: Callable[[], AbstractContextManager[None]],
) -> Outcome | None:
    """What the compiled loop found; it is made ready when it tells of progress for the first time."""
    with ExitStack() as stack:
        stack.enter_context(compiling())

        def told(done: int, total: int) -> None:
            stack.close()
            if progress is not None:
                progress(done, total)

        return run_compiled(simulation, jobs, refs, told)


def values_of(metric: Any) -> dict[str, Any]:
    """The figures of a metric; one of a user's has none, unless it says `values`."""
    told = getattr(metric, "values", None)
    found = asked(told, failing=f"{type(metric).__name__}.values: ") if callable(told) else {}
    return found if isinstance(found, dict) else {}


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Python's and NumPy's own generators begin with the seed, as in the fork; afterwards they go on as before.

    Ours draw otherwise: this is for users' components that call `random.random()`.
    """
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
