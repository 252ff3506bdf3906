"""The log that comes with unspool: what is replayed where none is given."""

from __future__ import annotations

from importlib.resources import as_file, files

from unspool.model.workload import Workload
from unspool.workloads.swf import read_swf

__all__ = ["SAMPLE", "read_sample"]

SAMPLE = "campus.swf.gz"


def read_sample() -> Workload:
    """The bundled sample.

    >>> len(read_sample())
    10000
    """
    with as_file(files("unspool") / "samples" / SAMPLE) as sample:
        return read_swf(sample)
