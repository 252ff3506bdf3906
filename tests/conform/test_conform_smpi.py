"""Recorded ends of ranks: cases that ship, those that lie beside the project, and files that are wrong."""

import json
import os
import shutil
from pathlib import Path

import pytest

from unspool.conform import collect, own_cases
from unspool.errors import InputError

CASES = Path(os.environ.get("UNSPOOL_CASES", Path(__file__).parents[3] / "shared" / "cases"))


def test_the_cases_that_ship_agree_under_both_settings():
    checks = collect("smpi")
    assert len(checks) == 16
    assert [check.name for check in checks if check.run().verdict != "agrees"] == []


def test_all_recorded_ranks_end_when_simgrid_says():
    if not (CASES / "contention" / "smpi").exists():
        pytest.skip("the cases are not here: no contention/smpi under UNSPOOL_CASES")
    checks = collect("smpi", [CASES / "contention"])
    assert len(checks) == 42
    assert [check.name for check in checks if check.run().verdict != "agrees"] == []


def test_batsims_runs_with_smpi_agree():
    golden = CASES / "batsim" / "golden"
    if not golden.exists():
        pytest.skip("the cases are not here: no batsim/golden under UNSPOOL_CASES")
    checks = [check for path in sorted(golden.glob("*smpi*")) for check in collect("batsim", [path])]
    assert len(checks) == 11  # 7 runs, and the recorded decisions of 4
    assert [check.name for check in checks if check.run().verdict != "agrees"] == []


@pytest.fixture
def changed(tmp_path):
    """The shipped cases, with fields of the first one replaced."""

    def change(**fields):
        folder = shutil.copytree(own_cases("smpi"), tmp_path / "smpi", dirs_exist_ok=True)
        written = json.loads((folder / "smpi_cases.json").read_text())
        written["cases"][0] |= fields
        (folder / "smpi_cases.json").write_text(json.dumps(written))
        return folder

    return change


def test_an_end_that_differs_is_told(changed):
    checks = collect("smpi", [changed(finish={"batsim": [1.0, 2.0]})])
    assert checks[0].run().differences[0].endswith("recorded 1.0")


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"finish": {"smpi": [1.0, 2.0]}}, "finish is of 'smpi'; expected batsim or smpirun"),
        ({"finish": {"batsim": [1.0]}}, "has 2 hosts and 1 times; expected one for each rank"),
        ({"hosts": ["n0", "x"]}, "host 'x' is not on its platform"),
        ({"platform": "nowhere.xml"}, r"nowhere\.xml"),
    ],
)
def test_cases_that_cannot_be_run_are_refused(changed, fields, sentence):
    with pytest.raises(InputError, match=sentence):
        collect("smpi", [changed(**fields)])
