"""The cases of Simdex: where they are, and an experiment of theirs run with everything that happened."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

from unspool.faces.dispatch.experiment import read_experiment
from unspool.faces.dispatch.running import Dispatched, run_experiment
from unspool.workloads.recodex import read_jobs, read_refs

CASES = Path(os.environ.get("UNSPOOL_CASES", Path(__file__).parents[3] / "shared" / "cases")) / "dispatch"
_RELEASE = "data/release01-ref-solutions.csv"
DATA = {
    "sample": ("data/release01-data-sample.csv", _RELEASE),
    "dense200": ("data/derived-sample-dense200.csv", _RELEASE),
    "load1": ("synthetic/synthetic-100k-load1.csv.gz", "synthetic/synthetic-refs.csv"),
    "edge": ("edge/tiny-jobs.csv", "edge/tiny-refs.csv"),
}


def files(pattern: str) -> list[str]:
    return sorted(str(path.relative_to(CASES)) for path in CASES.glob(pattern))


def need_cases() -> None:
    if not CASES.is_dir():
        pytest.skip("the cases are not here: no dispatch folder under UNSPOOL_CASES")


def split(file: str) -> tuple[str, str, str]:
    """The dataset, the experiment file and the kind of tool of a recorded output."""
    folder, name = file.split("/")
    if folder == "edge":
        stem = ".".join(name.split(".")[:2])
        return "edge", f"edge/{stem}.yaml", "fork" if stem.endswith("fork") else "original"
    dataset, _, experiment = name.partition("--")
    kind = folder.removeprefix("oracle_")
    return dataset, f"configs_{kind}/{experiment.split('.')[0]}.yaml", kind


@cache
def logs(dataset: str):
    jobs, refs = DATA[dataset]
    return read_jobs(CASES / jobs), read_refs(CASES / refs)


@cache
def ran(file: str, compiled: bool = True) -> Dispatched:
    dataset, experiment, kind = split(file)
    return run_experiment(read_experiment(CASES / experiment, compat=kind), *logs(dataset), compiled=compiled)
