"""Cases of dispatching and of the cloud: those that ship, recorded ones that were changed, folders without any."""

import os
import shutil
from pathlib import Path

import pytest

from unspool.conform import KINDS, collect, own_cases
from unspool.conform.checks import Outcome, text_differences
from unspool.conform.cloud import compare_jobs
from unspool.errors import InputError, UnknownName

CASES = Path(os.environ.get("UNSPOOL_CASES", Path(__file__).parents[3] / "shared" / "cases"))


@pytest.fixture
def copied(tmp_path):
    """A copy of the cases that ship, to change."""

    def copied(kind):
        return Path(shutil.copytree(own_cases(kind), tmp_path / kind))

    return copied


def verdicts(kind, *paths):
    return {check.name: check.run().verdict for check in collect(kind, paths)}


@pytest.mark.parametrize(("kind", "count"), [("dispatch", 12), ("cloud", 3)])
def test_the_cases_that_ship_agree(kind, count):
    assert list(verdicts(kind).values()) == ["agrees"] * count


def test_every_recorded_hour_of_the_aws_tool_agrees_and_its_jobs_do():
    if not (CASES / "cloud").is_dir():
        pytest.skip("the cases are not here: no cloud folder under UNSPOOL_CASES")
    found = verdicts("cloud", CASES / "cloud")
    assert len(found) >= 42
    assert set(found.values()) == {"agrees"}


def test_a_changed_line_of_a_text_is_told_with_its_number(copied):
    file = copied("dispatch") / "edge" / "simple3.orig.out.txt"
    lines = file.read_text().split("\n")
    file.write_text("\n".join(["Changed", *lines[1:]]))
    (check,) = collect("dispatch", [file])
    assert check.run().differences == (f"line 1: {lines[0]!r}, recorded 'Changed'",)


def test_a_job_that_went_elsewhere_is_told(copied):
    file = copied("dispatch") / "edge" / "simple3.orig.trace.csv"
    lines = file.read_text().splitlines()
    cells = lines[1].split(",")
    at = lines[0].split(",").index("worker")
    was, cells[at] = cells[at], "7"
    file.write_text("\n".join([lines[0], ",".join(cells), *lines[2:]]) + "\n")
    (check,) = collect("dispatch", [file])
    assert check.run().differences == (f"job {cells[0]}: worker {was}, recorded 7",)


def test_an_event_that_is_missing_is_told(copied):
    folder = copied("dispatch") / "edge"
    events = folder / "limits2.fork.events.csv"
    events.write_text("\n".join(events.read_text().splitlines()[:-1]) + "\n")
    found = verdicts("dispatch", folder)
    assert [name for name, verdict in found.items() if verdict == "differs"] == ["edge/limits2.fork.events.csv"]


def test_a_changed_hour_differs_and_one_that_is_missing_is_noticed(copied):
    file = copied("cloud") / "on-paper" / "hourly_stats.csv"
    first, second = file.read_text().splitlines()[1:]
    file.write_text(file.read_text().replace("0.052,0.0", "0.0521,0.0"))
    assert verdicts("cloud", file.parent) == {
        "on-paper: hour 0": "agrees", "on-paper: hour 1": "differs", "on-paper: hours": "agrees",
    }  # fmt: skip
    header = file.read_text().splitlines()[0]
    file.write_text(f"{header}\n{first}\n")
    assert verdicts("cloud", file.parent) == {"on-paper: hour 0": "agrees", "on-paper: hours": "differs"}
    file.write_text(f"{header}\n{first}\n{second}\n{second.replace('1,', '2,', 1)}\n")
    assert verdicts("cloud", file.parent)["on-paper: hour 2"] == "differs"


def test_jobs_that_only_one_has_are_told():
    assert compare_jobs({"a": {"cores": 1}, "b": {}}, {"a": {"cores": 2}, "c": {}}) == (
        "job c is not ours", "job b was not recorded", "job a: cores 1, recorded 2",
    )  # fmt: skip


def test_texts_of_different_length_differ():
    assert text_differences("a\nb", "a") == ("2 lines, recorded 1",)


def test_an_outcome_is_counted_only_where_it_was_compared():
    outcomes = [Outcome(), Outcome(("x",)), Outcome(skipped="why"), Outcome(reported="figures")]
    assert [outcome.verdict for outcome in outcomes] == ["agrees", "differs", "skipped", "reported"]


def test_kinds_that_are_not_there_are_refused(tmp_path):
    with pytest.raises(UnknownName, match="did you mean 'dispatch'"):
        collect("dispach")
    for kind in KINDS:
        with pytest.raises(InputError, match=r"expected|give"):
            collect(kind, [tmp_path])


def test_broken_tables_and_unknown_datasets_are_refused(copied, tmp_path):
    file = copied("cloud") / "on-paper" / "hourly_stats.csv"
    file.write_text("Relative Hour,Spot Costs\n0,much\n")
    with pytest.raises(InputError, match="line 2: expected a number in each column"):
        collect("cloud", [file.parent])
    trace = copied("dispatch") / "edge" / "simple3.orig.trace.csv"
    for text, told in (
        ("row,worker\n" + "0,1\n" * 10, "there is no column 'spawn_ts'"),
        ("row,worker\n0\n", "line 2 has 1 cells, not 2"),
        ("", "it is empty"),
    ):
        trace.write_text(text)
        (check,) = collect("dispatch", [trace])
        with pytest.raises(InputError, match=told):
            check.run()
    (tmp_path / "oracle_fork").mkdir()
    (tmp_path / "oracle_fork" / "mine--x.txt").write_text("")
    (check,) = collect("dispatch", [tmp_path])
    with pytest.raises(InputError, match="'mine' is no dataset that is known"):
        check.run()
