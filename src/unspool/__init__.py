"""Replay any job log, on any platform, under any policy, at any price, and see what would have happened.

Importing this loads neither Numba nor Polars; a name is loaded when it is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as `typing` has it, without importing it: the command line is to hear interrupts soon
if TYPE_CHECKING:
    from typing import Any

    from unspool.analysis.check import check_schedule
    from unspool.analysis.compare import compare
    from unspool.analysis.conformity import check_policy
    from unspool.analysis.diff import diff
    from unspool.analysis.forecast import forecast
    from unspool.analysis.why import why
    from unspool.api import batsim, cost, dispatch, generate, save, sweep
    from unspool.errors import DecisionError, InputError, RunError, UnspoolError
    from unspool.model.network import Contention
    from unspool.model.platform import MachineGroup, MachineType, Partition, Platform
    from unspool.model.workload import Workload
    from unspool.platforms import read_platform
    from unspool.policies.base import Annotate, Kill, Reject, Scheduler, SetPstate, Start, Tell, WakeAt
    from unspool.policies.view import Job, View
    from unspool.results.overview import comparison
    from unspool.results.result import Result
    from unspool.results.run import run
    from unspool.results.store import load, load_all
    from unspool.simulation.engine import Engine
    from unspool.workloads import read_workload, write_workload

_HOME = {
    "unspool.api": ("batsim", "cost", "dispatch", "generate", "save", "sweep"),
    "unspool.errors": ("DecisionError", "InputError", "RunError", "UnspoolError"),
    "unspool.model.network": ("Contention",),
    "unspool.model.platform": ("MachineGroup", "MachineType", "Partition", "Platform"),
    "unspool.model.workload": ("Workload",),
    "unspool.platforms": ("read_platform",),
    "unspool.policies.base": ("Annotate", "Kill", "Reject", "Scheduler", "SetPstate", "Start", "Tell", "WakeAt"),
    "unspool.policies.view": ("Job", "View"),
    "unspool.analysis.check": ("check_schedule",),
    "unspool.analysis.compare": ("compare",),
    "unspool.analysis.conformity": ("check_policy",),
    "unspool.analysis.diff": ("diff",),
    "unspool.analysis.forecast": ("forecast",),
    "unspool.results.overview": ("comparison",),
    "unspool.results.result": ("Result",),
    "unspool.results.run": ("run",),
    "unspool.results.store": ("load", "load_all"),
    "unspool.analysis.why": ("why",),
    "unspool.simulation.engine": ("Engine",),
    "unspool.workloads": ("read_workload", "write_workload"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Annotate", "Contention", "DecisionError", "Engine", "InputError", "Job", "Kill", "MachineGroup", "MachineType",
    "Partition", "Platform", "Reject", "Result", "RunError", "Scheduler", "SetPstate", "Start", "Tell", "UnspoolError",
    "View", "WakeAt", "Workload", "batsim", "check_policy", "check_schedule", "compare", "comparison", "cost", "diff",
    "dispatch", "forecast", "generate", "load", "load_all", "read_platform", "read_workload", "run", "save", "sweep",
    "why", "write_workload",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'unspool' has no attribute '{name}'")
    from importlib import import_module

    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
