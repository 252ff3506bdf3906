"""Schedulers of pybatsim, unmodified, on the inputs of recorded runs: what they did under Batsim they do under us."""

import json
import os
import shutil
from pathlib import Path

import pytest

pytest.importorskip("zmq", reason="pyzmq is not installed: pip install 'unspool[protocol]'")

from unspool.conform.protocol import compare_runs, read_run, run_with

CASES = Path(os.environ.get("UNSPOOL_CASES", "../shared/cases")) / "batsim"
PYBATSIM = os.environ.get("UNSPOOL_PYBATSIM") or shutil.which("pybatsim")

pytestmark = [
    pytest.mark.skipif(PYBATSIM is None, reason="pybatsim is not installed (UNSPOOL_PYBATSIM says where it is)"),
    pytest.mark.skipif(not CASES.is_dir(), reason="recorded runs of Batsim are not here (UNSPOOL_CASES says where)"),
]

DELAYS = "upstream-v4.2.1/workloads/test_delays.json"


def recorded():
    if not CASES.is_dir():
        return []
    found = []
    for file in sorted(CASES.glob("golden/*/case.json")):
        written = json.loads(file.read_text())
        if (written["scheduler"] or [""])[0] == "pybatsim":
            found.append(file.parent.name)
    return found


@pytest.mark.parametrize("name", recorded())
def test_a_recorded_pybatsim_run_is_repeated(name):
    case = read_run(CASES / "golden" / name / "case.json")
    if case.skipped is not None:
        pytest.skip(case.skipped)
    assert compare_runs(run_with(case, case.command(PYBATSIM)), case) == ()
