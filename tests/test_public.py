import subprocess
import sys
from inspect import getdoc

import pytest

import unspool

PUBLIC = [
    "Annotate", "Contention", "DecisionError", "Engine", "InputError", "Job", "Kill", "MachineGroup", "MachineType",
    "Partition", "Platform", "Reject", "Result", "RunError", "Scheduler", "SetPstate", "Start", "Tell", "UnspoolError",
    "View", "WakeAt", "Workload", "batsim", "check_policy", "check_schedule", "compare", "comparison", "cost", "diff",
    "dispatch", "forecast", "generate", "load", "load_all", "read_platform", "read_workload", "run", "save", "sweep",
    "why", "write_workload",
]  # fmt: skip


def test_the_public_names_are_these():
    assert unspool.__all__ == PUBLIC
    assert dir(unspool) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_a_docstring_of_its_own(name):
    doc = getdoc(getattr(unspool, name))
    assert doc
    assert not doc.startswith(f"{name}("), "dataclasses write their signature where there is no docstring"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'unspool' has no attribute 'simulate'"):
        unspool.simulate  # noqa: B018


def test_names_are_loaded_when_they_are_used():
    code = """
import sys, unspool
heavy = lambda: [name for name in ("numba", "polars", "numpy") if name in sys.modules]
print(heavy())
unspool.InputError
print(heavy())
unspool.Workload
print(heavy())
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[:2] == ["[]", "[]"]
    assert "numba" not in done.stdout
