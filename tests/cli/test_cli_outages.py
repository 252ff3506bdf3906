"""Machines that are lost, from the command line."""

import json
import tomllib

import pytest
from tests.build import workload

from unspool.model.outages import Outages
from unspool.results.run import run

# Two jobs of ten seconds, one on each of two machines.
JOBS = "job_id,submit_time,run_time,cores,walltime\na,0,10,1,10\nb,0,10,1,10\n"
# Machine 0 is down from 4 to 6.
DOWN = "machine,down_time,up_time,cause\n0,4,6,memory\n"


@pytest.fixture(scope="module", autouse=True)
def _compiled():
    """Compiles what these tests use, so that none meets the note that it takes a while."""
    for outages in (None, Outages()):
        for policy in ("fcfs", "easy"):
            run(workload([(0, 1, 1, 1)]), "2x1", policy, outages=outages)


@pytest.fixture
def attempts(unspool, write, tmp_path):
    """Replays the two jobs on two machines and gives what was started, from the folder that was written."""

    def attempts(*options):
        write("log.csv", JOBS)
        said = unspool("run", "log.csv", "-p", "2x1", "--policy", "fcfs", *options, "-o", "out", "--csv", "--force")
        assert (said.code, said.err) == (0, "results: out, for people out/report.html\n")
        rows = (tmp_path / "out" / "attempts.csv").read_text().splitlines()[1:]
        return [(cells[0], cells[3], cells[4], cells[6]) for cells in (row.split(",") for row in rows)]

    return attempts


def test_jobs_on_a_machine_of_the_file_are_requeued_unless_told_otherwise(attempts, write, tmp_path):
    write("down.csv", DOWN)
    again = [("a", "0.0", "4.0", "lost"), ("b", "0.0", "10.0", "completed"), ("a", "6.0", "16.0", "completed")]
    assert attempts("--outages", "down.csv") == again
    assert attempts("--outages", "down.csv", "--on-loss", "requeue") == again
    assert (tmp_path / "out" / "outages.csv").read_text() == "machine,down_time,up_time,cause\n0,4.0,6.0,memory\n"


def test_jobs_on_a_lost_machine_can_be_killed(attempts, write):
    write("down.csv", DOWN)
    assert attempts("--outages", "down.csv", "--on-loss", "kill") == [
        ("a", "0.0", "4.0", "lost"),
        ("b", "0.0", "10.0", "completed"),
    ]


def test_jobs_on_a_lost_machine_can_go_on_from_a_checkpoint(attempts, write):
    # The checkpoint after 3 s is kept; 7 s are left.
    write("down.csv", DOWN)
    assert attempts("--outages", "down.csv", "--on-loss", "resume:3s")[-1] == ("a", "6.0", "13.0", "completed")


@pytest.mark.parametrize(
    ("machine", "lost"), [("0", "a"), ("1", "b"), ("0-1", "ab"), ("1-1", "b"), ("1c", "ab"), ("all", "ab")]
)
def test_a_machine_is_an_id_a_range_a_type_or_all(attempts, write, machine, lost):
    write("down.csv", f"machine,down_time,up_time\n{machine},4,6\n")
    found = attempts("--outages", "down.csv")
    assert sorted(job for job, _, _, how in found if how == "lost") == list(lost)


def test_times_of_the_file_may_be_durations_and_a_cause_may_be_missing(attempts, write, tmp_path):
    write("down.csv", "up_time, machine, down_time\n0:06, 0, 4 s\n")
    assert attempts("--outages", "down.csv")[-1] == ("a", "6.0", "16.0", "completed")
    assert (tmp_path / "out" / "outages.csv").read_text().endswith("\n0,4.0,6.0,outage\n")


def test_failures_are_drawn_from_the_seed_and_are_the_same_for_every_policy(unspool, tmp_path):
    options = ("run", "-p", "256x1", "--outages", "mtbf=300d,repair=4h", "--csv")
    for out, seed in (("one", 1), ("two", 2)):
        assert unspool(*options, "--policy", "fcfs", "--policy", "easy", "--seed", seed, "-o", out).code == 0
    told = {at: (tmp_path / at / "outages.csv").read_text().splitlines() for at in ("one/fcfs", "one/easy", "two/easy")}
    both = min(len(told["one/fcfs"]), len(told["one/easy"]))
    assert both > 20
    assert told["one/fcfs"][:both] == told["one/easy"][:both]
    assert told["one/easy"][1] != told["two/easy"][1]
    assert {row.rsplit(",", 1)[1] for row in told["one/easy"][1:]} == {"failure"}


def test_json_counts_what_was_lost(unspool, write):
    write("log.csv", JOBS)
    write("down.csv", DOWN)
    options = ("log.csv", "-p", "2x1", "--outages", "down.csv", "--json")
    summary = json.loads(unspool("run", *options).out)
    assert (summary["outages"], summary["lost_attempts"], summary["lost_jobs"]) == (1, 1, 0)
    assert summary["lost_attempt_core_hours"] == pytest.approx(4 / 3600)
    assert json.loads(unspool("run", *options, "--on-loss", "kill").out)["lost_jobs"] == 1


def test_run_toml_repeats_a_run_with_outages_from_any_folder(unspool, attempts, write, tmp_path, monkeypatch):
    write("down.csv", DOWN)
    first = attempts("--outages", "down.csv", "--on-loss", "resume:3s")
    settings = tomllib.loads((tmp_path / "out" / "run.toml").read_text())
    assert (settings["outages"], settings["on_loss"]) == (str(tmp_path / "down.csv"), "resume:3s")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert unspool("run", "-c", "../out/run.toml", "-o", "again", "--csv").code == 0
    again = (tmp_path / "elsewhere" / "again" / "attempts.csv").read_text()
    assert again == (tmp_path / "out" / "attempts.csv").read_text()
    assert first[-1][2] == "13.0"


def test_settings_of_a_file_may_say_it_too(unspool, write):
    write("log.csv", JOBS)
    write("down.csv", DOWN)
    write("run.toml", "workload = 'log.csv'\nplatform = '2x1'\noutages = 'down.csv'\non_loss = 'kill'\n")
    assert json.loads(unspool("run", "-c", "run.toml", "--json").out)["lost_jobs"] == 1
    assert json.loads(unspool("run", "-c", "run.toml", "--set", "on_loss=requeue", "--json").out)["lost_jobs"] == 0


HEAD = "machine,down_time,up_time\n"
NEEDED = "expected machine, down_time, up_time and perhaps cause\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("machine,down_time\n0,4\n", f"line 1: no column up_time; {NEEDED}"),
        ("", f"line 1: no column machine; {NEEDED}"),
        (HEAD + "0,4,6\n2,4,6\n", "line 3: machine 2: the platform has machines 0 to 1"),
        (HEAD + "9" * 4400 + ",4,6\n", "line 2: machine 9999"),
        (HEAD + "0-2,4,6\n", "line 2: machine 0-2: the platform has machines 0 to 1"),
        (HEAD + "1-0,4,6\n", "line 2: machine 1-0: the platform has machines 0 to 1"),
        (HEAD + "fat,4,6\n", "line 2: machine is 'fat'; expected an id, a range such as 0-15, a type, or all"),
        (HEAD + ",4,6\n", "line 2: machine is ''; expected an id, a range such as 0-15, a type, or all"),
        (HEAD + "0,6,4\n", "line 2: up at 4 s, down at 6 s; expected up after down"),
        (HEAD + "0,4,4\n", "line 2: up at 4 s, down at 4 s; expected up after down"),
        (HEAD + "0,soon,6\n", "line 2: 'soon' is not a duration such as 90, 5 min"),
        (HEAD + "0,4\n", "line 2: '' is not a duration such as 90, 5 min"),
        (b"\xff\xfe\x00\n", ": binary data; expected lines of text"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_with_its_line(unspool, write, text, sentence):
    write("log.csv", JOBS)
    write("down.csv", text)
    said = unspool("run", "log.csv", "-p", "2x1", "--outages", "down.csv", "-o", "out")
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert said.err.startswith("unspool: down.csv" + ("" if sentence.startswith(":") else ", ") + sentence)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--outages", "none.csv"), "none.csv: there is no such file; check the path"),
        (("--outages", "mtbf=30d"), "repair is missing; expected a text such as mtbf=30d,repair=4h"),
        (("--outages", "mtbf=30d,repair=4h,colour=1"), "unknown key of failures 'colour'"),
        (("--outages", "mtbf=30d,repair=soon"), "failures: repair=soon cannot be read"),
        (("--outages", "mtbf=30d,repair=4h,shape=0"), "failures: shape is 0.0; expected more than 0"),
        (("--outages", "mtbf=1h,repair=1h", "--on-loss", "kil"), "did you mean 'kill'?"),
        (("--outages", "mtbf=1h,repair=1h", "--on-loss", "resume"), "on loss: resume needs the time between"),
        (("--outages", "mtbf=1h,repair=1h", "--on-loss", "kill:1h"), "on loss 'kill:1h': only resume takes a time"),
        (("--outages", "mtbf=1h,repair=1h", "--on-loss", "resume:soon"), "on loss 'resume:soon': "),
        (("--on-loss", "kil"), "did you mean 'kill'?"),
    ],
)
def test_wrong_options_are_told_in_one_sentence(unspool, write, options, sentence):
    write("log.csv", JOBS)
    said = unspool("run", "log.csv", "-p", "2x1", *options, "-o", "out")
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert sentence in said.err


@pytest.mark.parametrize("outages", ["mtbf=30d,repair=4h", "down.csv"])
def test_a_pool_has_no_machines_to_lose(unspool, write, outages):
    write("log.csv", JOBS)
    write("down.csv", DOWN)
    said = unspool("run", "log.csv", "-p", "2", "--outages", outages)
    assert (said.code, said.out) == (2, "")
    assert said.err == "unspool: a pool has no machines that could be lost; describe them, as in -p 480x1\n"
