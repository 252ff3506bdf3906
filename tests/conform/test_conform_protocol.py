"""Recorded runs: pybatsim, unmodified, does under us what it did under Batsim, and so do batsched's decisions."""

import importlib.util
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from unspool.conform.protocol import compare_runs, read_run, run_with
from unspool.conform.transcripts import replayed

CASES = Path(os.environ.get("UNSPOOL_CASES", "../shared/cases")) / "batsim"
HAS_ZMQ = importlib.util.find_spec("zmq") is not None
PYBATSIM = (os.environ.get("UNSPOOL_PYBATSIM") or shutil.which("pybatsim")) if HAS_ZMQ else None

pytestmark = pytest.mark.skipif(
    not CASES.is_dir(), reason="recorded runs of Batsim are not here (UNSPOOL_CASES says where)"
)


def recorded(program):
    if not CASES.is_dir():
        return []
    found = []
    for file in sorted(CASES.glob("golden/*/case.json")):
        written = json.loads(file.read_text())
        if (written["scheduler"] or [""])[0] == program:
            found.append(file.parent.name)
    return found


# It goes over a set of Python, in an order that changes from run to run.
WITHOUT_ORDER = ("events_generic_forward",)


@pytest.mark.skipif(PYBATSIM is None, reason="pybatsim or pyzmq is not here (UNSPOOL_PYBATSIM says where)")
@pytest.mark.parametrize("name", recorded("pybatsim"))
def test_a_recorded_pybatsim_run_is_repeated_with_pybatsim(name):
    case = read_run(CASES / "golden" / name / "case.json")
    if case.skipped is not None:
        pytest.skip(case.skipped)
    found = run_with(case, case.command(PYBATSIM))
    told = compare_runs(found, case)
    if name in WITHOUT_ORDER:
        told = [text for text in told if "starting_time" not in text and "allocated" not in text and "more" not in text]
    assert not told


@pytest.mark.skipif(PYBATSIM is None, reason="pybatsim or pyzmq is not here (UNSPOOL_PYBATSIM says where)")
@pytest.mark.parametrize(
    ("scheduler", "options"),
    [
        ("fillerSched", {}),
        ("fillerSchedWithEvents", {}),
        ("schedFiller", {}),
        ("schedSendRecv", {}),
        ("randomSched", {"shares_machines": True}),
    ],
)
def test_other_schedulers_of_pybatsim_do_what_every_scheduler_does_with_these_jobs(scheduler, options):
    case = read_run(CASES / "golden" / "delays_small_filler" / "case.json")
    case = replace(case, settings=replace(case.settings, **options))
    found = run_with(case, f"{PYBATSIM} {scheduler}")
    assert found.fault is None
    assert found.outputs.jobs["success"].to_list() == [1] * 10
    if scheduler != "randomSched":
        assert compare_runs(found, case) == ()


@pytest.mark.skipif(PYBATSIM is None, reason="pybatsim or pyzmq is not here (UNSPOOL_PYBATSIM says where)")
def test_a_scheduler_of_pybatsim_whose_orders_are_lost_goes_on_without_them():
    """fcfsSchedSleep orders a state that here only stands for switching, and takes the machines to fall asleep."""
    case = read_run(CASES / "golden" / "delays_small_filler" / "case.json")
    platform = str(CASES / "upstream-v4.2.1" / "platforms" / "energy_platform_homogeneous.xml")
    case = replace(case, settings=replace(case.settings, platform=platform, energy=True))
    found = run_with(case, f"{PYBATSIM} fcfsSchedSleep")
    assert found.fault is None
    assert found.outputs.jobs["starting_time"].to_list() == [10.0 * number for number in range(10)]
    assert set(found.outputs.jobs["allocated_resources"]) == {"0"}
    assert any("4 orders of SET_RESOURCE_STATE came to nothing" in note for note in found.result.notes)


@pytest.mark.parametrize("name", recorded("batsched"))
def test_recorded_decisions_of_batsched_lead_to_what_was_recorded(name):
    case = read_run(CASES / "golden" / name / "case.json")
    if case.skipped is not None or not (case.folder / "messages.jsonl").is_file():
        pytest.skip(case.skipped or "its messages were not recorded")
    assert replayed(case) == ()
