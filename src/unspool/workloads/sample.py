"""The logs that come with unspool: what is replayed where none is given, and one of a code examiner with its refs."""

from __future__ import annotations

from importlib.resources import as_file, files

from unspool.model.workload import Workload
from unspool.workloads.recodex import JobLog, RefLog, read_jobs, read_refs
from unspool.workloads.swf import read_swf

__all__ = ["RECODEX_REFS", "RECODEX_SAMPLE", "SAMPLE", "read_recodex_sample", "read_sample"]

SAMPLE = "campus.swf.gz"
RECODEX_SAMPLE = "recodex.csv.gz"
RECODEX_REFS = "recodex-refs.csv.gz"


def read_sample() -> Workload:
    """The bundled sample.

    >>> len(read_sample())
    10000
    """
    with as_file(files("unspool") / "samples" / SAMPLE) as sample:
        return read_swf(sample)


def read_recodex_sample() -> tuple[JobLog, RefLog]:
    """The bundled log of a code examiner, generated, and its reference runs; ids are numbered file by file.

    >>> jobs, refs = read_recodex_sample()
    >>> len(jobs), len(refs)
    (1900, 110)
    """
    folder = files("unspool") / "samples"
    with as_file(folder / RECODEX_SAMPLE) as sample, as_file(folder / RECODEX_REFS) as runs:
        return read_jobs(sample), read_refs(runs)
