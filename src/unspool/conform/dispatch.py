"""Recorded runs of Simdex: what it printed, where each job went, in which order all happened, and its results.

A folder holds `oracle_original`, `oracle_fork` or `edge`, and the data and experiment files that their names tell.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

from unspool.conform.checks import Check, Outcome, few, text_differences
from unspool.errors import InputError
from unspool.faces.dispatch.drive import simulation_of
from unspool.faces.dispatch.experiment import Experiment, read_experiment
from unspool.faces.dispatch.outputs import metrics_text, results_yaml
from unspool.faces.dispatch.running import Dispatched, run_experiment
from unspool.faces.dispatch.simdex import hash_converters, jobs_of, refs_of
from unspool.workloads.recodex import JobLog, RefLog, read_jobs, read_refs, shared_ids

__all__ = ["DATA", "DispatchCases", "checks"]

_RELEASE = "data/release01-ref-solutions.csv"
DATA = {
    "sample": ("data/release01-data-sample.csv", _RELEASE),
    "dense200": ("data/derived-sample-dense200.csv", _RELEASE),
    "load1": ("synthetic/synthetic-100k-load1.csv.gz", "synthetic/synthetic-refs.csv"),
    "edge": ("edge/tiny-jobs.csv", "edge/tiny-refs.csv"),
}
"""The jobs and the reference runs of each dataset that a recorded output can be of."""

_FOLDERS = ("oracle_original", "oracle_fork", "edge")
_TEXT, _TRACE, _EVENTS, _RESULTS = ".txt", ".trace.csv", ".events.csv", ".results.yaml"
_EDGE_TEXT = ".out.txt"
_TRACED = ("row", "worker", "spawn_ts", "start_ts", "finish_ts", "finish_order")


def checks(path: Path) -> list[Check]:
    """The recorded outputs of a folder of cases, of one of its folders, or a single one of them."""
    if path.is_file():
        cases, found = DispatchCases(path.parent.parent), [f"{path.parent.name}/{path.name}"]
    elif path.name in _FOLDERS:
        cases = DispatchCases(path.parent)
        found = cases.recorded(path.name)
    else:
        cases = DispatchCases(path)
        found = [file for folder in _FOLDERS for file in cases.recorded(folder)]
    if not found:
        raise InputError(f"{path}: no recorded outputs of Simdex are here; expected {', '.join(_FOLDERS)} in it")
    return [Check(file, partial(_outcome, cases, file)) for file in found]


def _outcome(cases: DispatchCases, file: str) -> Outcome:
    return Outcome(cases.differences(file))


class DispatchCases:
    """The cases below a folder; logs and runs are kept, because several outputs are of one run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._logs: dict[str, tuple[JobLog, RefLog]] = {}
        self._ran: dict[tuple[str, str, bool], Dispatched] = {}

    def files(self, pattern: str) -> list[str]:
        """Recorded files that match, from the folder on."""
        return sorted(path.relative_to(self.root).as_posix() for path in self.root.glob(pattern))

    def recorded(self, folder: str) -> list[str]:
        """All recorded outputs of one folder, those of one run beside each other."""
        text = _EDGE_TEXT if folder == "edge" else _TEXT
        return sorted(file for kind in (text, _TRACE, _EVENTS, _RESULTS) for file in self.files(f"{folder}/*{kind}"))

    def split(self, file: str) -> tuple[str, str, str]:
        """The dataset, the experiment file and the kind of tool of a recorded output."""
        folder, name = file.split("/")
        if folder == "edge":
            stem = ".".join(name.split(".")[:2])
            return "edge", f"edge/{stem}.yaml", "fork" if stem.endswith("fork") else "original"
        dataset, _, experiment = name.partition("--")
        kind = folder.removeprefix("oracle_")
        if dataset not in DATA:
            raise InputError(
                f"{self.root / file}: '{dataset}' is no dataset that is known; names are DATASET--EXPERIMENT, "
                f"and the datasets are {', '.join(DATA)}"
            )
        return dataset, f"configs_{kind}/{experiment.split('.')[0]}.yaml", kind

    def logs(self, dataset: str) -> tuple[JobLog, RefLog]:
        """Jobs and reference runs."""
        if dataset not in self._logs:
            jobs, refs = DATA[dataset]
            self._logs[dataset] = read_jobs(self.root / jobs), read_refs(self.root / refs)
        return self._logs[dataset]

    def ran(self, file: str, compiled: bool = True) -> Dispatched:
        """The run that a recorded output is of, in the compiled loop where that knows it, or in Python."""
        dataset, experiment, kind = self.split(file)
        key = dataset, experiment, compiled
        if key not in self._ran:
            settings = _trusted(read_experiment(self.root / experiment, compat=kind))
            self._ran[key] = run_experiment(settings, *self.logs(dataset), compiled=compiled)
        return self._ran[key]

    def differences(self, file: str, compiled: bool = True) -> tuple[str, ...]:
        """Where ours is not what was recorded, digit for digit."""
        for suffix, compare in _COMPARED.items():
            if file.endswith(suffix):
                return compare(self, file, compiled)
        raise InputError(f"{self.root / file}: no recorded output; their names end in {', '.join(_COMPARED)}")

    def text(self, file: str) -> str:
        """A recorded file."""
        try:
            return (self.root / file).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise InputError(f"{self.root / file}: is no text in UTF-8; give the file as it was recorded") from None

    def rows(self, file: str) -> list[list[str]]:
        """The cells of a recorded table, its header first."""
        rows = list(csv.reader(StringIO(self.text(file), newline="")))
        odd = next((at for at, row in enumerate(rows, 1) if len(row) != len(rows[0])), None)
        if not rows or odd is not None:
            what = "it is empty" if odd is None else f"line {odd} has {len(rows[odd - 1])} cells, not {len(rows[0])}"
            raise InputError(f"{self.root / file}: {what}; give the table as it was recorded")
        return rows


def _trusted(experiment: Experiment) -> Experiment:
    """A recorded experiment, which has components of Simdex only."""
    for where, name, found in experiment.foreign():
        raise InputError(f"{where}: '{name}' names {found}; recorded cases use built-in names only")
    return experiment


def _of_text(cases: DispatchCases, file: str, compiled: bool) -> tuple[str, ...]:
    return text_differences(metrics_text(cases.ran(file, compiled)), cases.text(file))


def _of_results(cases: DispatchCases, file: str, compiled: bool) -> tuple[str, ...]:
    return text_differences(results_yaml(cases.ran(file, compiled)), cases.text(file))


def _of_trace(cases: DispatchCases, file: str, compiled: bool) -> tuple[str, ...]:
    """Of every job: its worker, its times and its place in the order of finishes; of the fork its estimate too."""
    run = cases.ran(file, compiled)
    outcome, log = run.outcome, run.log.whole()
    header, *rows = cases.rows(file)
    if len(rows) != len(log):
        return (f"{len(log)} jobs, recorded {len(rows)}",)
    if absent := [name for name in _TRACED if name not in header]:
        raise InputError(f"{cases.root / file}: there is no column '{absent[0]}'; expected {', '.join(_TRACED)}")
    found = []
    for line, cells in enumerate(rows, 2):
        row = dict(zip(header, cells, strict=True))
        if not row["row"].isdecimal() or int(row["row"]) >= len(log):
            raise InputError(f"{cases.root / file}, line {line}: '{row['row']}' is no row of the {len(log)} jobs")
        at = int(row["row"])
        ours = {
            "worker": str(outcome.worker[at]),
            "finish_order": str(outcome.order[at]),
            "spawn_ts": repr(float(log.spawn[at])),
            "start_ts": repr(outcome.start[at]),
            "finish_ts": repr(outcome.finish[at]),
        }
        if "estimate" in row:
            ours["estimate"] = repr(outcome.estimate[at])
            row["estimate"] = _as_float(row["estimate"])
        found += [
            f"job {at}: {name} {value}, recorded {row[name]}" for name, value in ours.items() if value != row[name]
        ]
    return few(found)


def _as_float(text: str) -> str:
    """As Python writes it: a whole estimate was recorded without its point."""
    try:
        return repr(float(text))
    except ValueError:
        return text


def _of_events(cases: DispatchCases, file: str, _compiled: bool) -> tuple[str, ...]:
    """Every event in its order; only the drive in Python tells them."""
    dataset, config, kind = cases.split(file)
    experiment = _trusted(read_experiment(cases.root / config, compat=kind))
    jobs, refs = cases.logs(dataset)
    if kind == "fork":
        refs, jobs = shared_ids(refs, jobs)
    known = refs_of(refs)
    parts = experiment.parts(known, hash_converters(jobs))
    recorder = parts.dispatcher = _Recorder(parts.dispatcher, kind)
    parts.metrics = [recorder, *parts.metrics]
    simulation = simulation_of(parts, experiment.workers, period=experiment.period_s, compat=kind)
    recorder.simulation = simulation
    simulation.run(jobs_of(jobs), len(jobs), known)
    return text_differences(_lines(recorder.events), _lines(cases.rows(file)[1:]))


def _lines(rows: list[list[str]]) -> str:
    return "\n".join(",".join(cells) for cells in rows)


_COMPARED: dict[str, Callable[[DispatchCases, str, bool], tuple[str, ...]]] = {
    _TRACE: _of_trace,
    _EVENTS: _of_events,
    _RESULTS: _of_results,
    _TEXT: _of_text,
}


class _Recorder:
    """Writes down what happens, as a metric and around a dispatcher."""

    def __init__(self, dispatcher: Any, kind: str) -> None:
        self.inner = dispatcher
        self.events: list[list[str]] = []
        self.simulation: Any = None
        self.add_ref_job = getattr(dispatcher, "add_ref_job", None)
        self.dispatch = self._dispatch_in_fork if kind == "fork" else self._dispatch_in_original

    def _note(self, event: str, row: object = "", detail: object = "") -> None:
        self.events.append([str(len(self.events)), event, repr(self.simulation.ts), str(row), str(detail)])

    def _dispatch_in_fork(self, job: Any, workers: list[Any], simulation: Any) -> None:
        self.inner.dispatch(job, workers, simulation)
        self._dispatched(job, workers)

    def _dispatch_in_original(self, job: Any, workers: list[Any]) -> None:
        self.inner.dispatch(job, workers)
        self._dispatched(job, workers)

    def _dispatched(self, job: Any, workers: list[Any]) -> None:
        self._note("dispatched", job.row, next(at for at, each in enumerate(workers) if job in each.jobs))

    def snapshot(self, ts: float, workers: list[Any]) -> None:
        """A tick: jobs on each worker, and which are active."""
        counts = " ".join(str(worker.jobs_count()) for worker in workers)
        active = " ".join(str(int(bool(worker.get_attribute("active")))) for worker in workers)
        self._note("snapshot", detail=f"{counts}|{active}")

    def job_finished(self, job: Any) -> None:
        """A job is seen to have finished."""
        self._note("finished", job.row)
