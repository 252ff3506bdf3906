"""Sweeps: many runs of one grid, on this machine or on a cluster, in one dataset."""

from unspool.sweeps.grid import Grid, grid_of, read_grid
from unspool.sweeps.places import Place, cores_here, dask_place, local_place
from unspool.sweeps.ranking import pareto_front, ranking, sensitivity
from unspool.sweeps.session import run_sweep
from unspool.sweeps.store import read_runs

__all__ = [
    "Grid", "Place", "cores_here", "dask_place", "grid_of", "local_place", "pareto_front", "ranking", "read_grid",
    "read_runs", "run_sweep", "sensitivity",
]  # fmt: skip
