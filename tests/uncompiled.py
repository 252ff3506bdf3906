"""The same source run without being compiled, in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from unspool.simulation.loop import run_on

ROOT = Path(__file__).parents[1]

needs_compiling = pytest.mark.skipif(not hasattr(run_on, "py_func"), reason="nothing is compiled here")
"""For tests of compiling itself: where Numba is switched off, there is none."""


def uncompiled_and_compiled(module, journals):
    """What the journals of a test module are where nothing is compiled, and what they are here."""
    told = subprocess.run(
        [sys.executable, "-m", module], cwd=ROOT, env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True, text=True, timeout=300, check=True,
    ).stdout  # fmt: skip
    uncompiled = json.loads(told)
    assert not uncompiled["compiled"]
    assert hasattr(run_on, "py_func"), "this process is to compile"
    return uncompiled["journals"], json.loads(json.dumps(journals()))


def tell(journals):
    """Write the journals for the process that asked."""
    sys.stdout.write(json.dumps({"compiled": hasattr(run_on, "py_func"), "journals": journals()}))
