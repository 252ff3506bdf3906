"""`unspool conform`: what is printed, in which order, and how it exits."""

import json
import shutil

import pytest

from unspool.conform import own_cases


@pytest.fixture
def cloud(tmp_path):
    """The cloud case that ships, with another cost in its second hour."""
    folder = shutil.copytree(own_cases("cloud"), tmp_path / "cloud")
    file = folder / "on-paper" / "hourly_stats.csv"
    file.write_text(file.read_text().replace("0.052,0.0", "0.06,0.0"))
    return folder


@pytest.mark.parametrize(("kind", "count"), [("contention", 14), ("dispatch", 12), ("cloud", 3)])
def test_without_a_path_the_cases_that_ship_are_run(unspool, kind, count):
    said = unspool("conform", kind)
    assert (said.code, said.out) == (0, f"{count} of {count} agree\n")


def test_what_differs_is_printed_and_last_how_many_agree(unspool, cloud):
    said = unspool("conform", "cloud", cloud, own_cases("cloud"))
    assert said.code == 1
    assert said.out.splitlines() == [
        "on-paper: hour 1: differs",
        "  Total OnDemand Costs 0.052, recorded 0.06",
        "5 of 6 agree",
    ]


def test_json_has_every_case(unspool, cloud):
    said = unspool("conform", "cloud", cloud, "--json")
    assert said.code == 1
    found = json.loads(said.out)
    assert {name: found[name] for name in ("kind", "agree", "of", "skipped", "reported")} == {
        "kind": "cloud", "agree": 2, "of": 3, "skipped": 0, "reported": 0,
    }  # fmt: skip
    assert found["cases"][1] == {
        "case": "on-paper: hour 1",
        "verdict": "differs",
        "differences": ["Total OnDemand Costs 0.052, recorded 0.06"],
        "reason": None,
    }


def test_what_cannot_be_run_is_skipped_with_its_reason_and_not_counted(unspool, write, tmp_path):
    folder = tmp_path / "golden" / "mine"
    folder.mkdir(parents=True)
    write("w.json", json.dumps({"jobs": [{"id": 1, "profile": "p"}], "profiles": {"p": {"type": "delay"}}}))
    case = {"platform": "p.xml", "workload": "w.json", "scheduler": ["batsched", "-v", "random"]}
    (folder / "case.json").write_text(json.dumps(case))
    said = unspool("conform", "batsim", folder)
    assert said.code == 1
    assert said.out.splitlines() == ["mine: skipped: batsched's random has no equivalent here", "0 of 0 agree"]
    assert said.err.splitlines() == [
        "1 case skipped, and not counted", "no case was compared, so nothing is shown to agree",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "no kind given; name one of contention, smpi, batsim, dispatch, cloud"),
        (("clouds",), "unknown kind of cases 'clouds'; did you mean 'cloud'?"),
        (("smpi", "broken.json"), "broken.json: JSON is malformed"),
        (("contention", "nowhere.json"), "nowhere.json: there is no such file or folder"),
        (("contention", "broken.json"), "broken.json: JSON is malformed"),
        (("batsim", "broken.json"), "broken.json: JSON is malformed"),
        (("dispatch", "broken.json"), "broken.json: no recorded output; their names end in .trace.csv"),
        (("cloud", "broken.json"), "broken.json: there is no such folder"),
    ],
)
def test_what_cannot_be_read_exits_with_2(unspool, write, arguments, told):
    write("broken.json", "{]")
    said = unspool("conform", *arguments)
    assert said.code == 2
    assert told in said.err
    assert said.out == ""
