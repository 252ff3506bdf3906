"""Sweeps: many runs of one grid, on this machine or on a cluster, in one dataset."""

from unspool.sweep.grid import Grid, grid_of, read_grid
from unspool.sweep.places import Place, dask_place, local_place
from unspool.sweep.ranking import pareto_front, ranking, sensitivity
from unspool.sweep.session import run_sweep
from unspool.sweep.store import read_runs

__all__ = [
    "Grid", "Place", "dask_place", "grid_of", "local_place", "pareto_front", "ranking", "read_grid", "read_runs",
    "run_sweep", "sensitivity",
]  # fmt: skip
