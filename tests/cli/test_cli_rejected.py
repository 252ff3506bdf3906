"""Logs of which much cannot be used, and logs that look odd, through the verbs."""

import json

import pytest

HEAD = "job_id,submit_time,run_time,cores\n"
WARNING = "3 records were rejected: 60% of the log."


@pytest.fixture
def log(write):
    """Two jobs and three records that are none."""
    return write("log.csv", HEAD + "a,0,60,1\nb,1,60,1\nc,2,soon,1\nd,3,soon,1\ne,4,soon,1\n")


def heading_of(page):
    return page.read_text(encoding="utf-8").partition("<h1><bdi>")[2].partition("</bdi>")[0]


def test_the_table_the_summary_and_the_page_of_a_run_begin_with_the_rejected_share(unspool, log, tmp_path):
    said = unspool("run", log, "-p", 4, "-o", "out")
    assert said.code == 0
    assert said.out.splitlines()[:2] == [WARNING, "log.csv on 4 (4 cores): 2 jobs, 3 rejected"]
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (summary["warning"], summary["rejected_share"], summary["rejected_work_share"]) == (WARNING, 0.6, 0.0)
    assert (
        heading_of(tmp_path / "out" / "report.html")
        == f"{WARNING} None would wait, with 49.2% of the cores&#39; time used"
    )
    assert unspool("run", log, "-p", 4, "--strict").code == 2


def test_a_bill_of_few_jobs_begins_with_the_rejected_share(unspool, log, tmp_path):
    said = unspool("cost", log, "-o", "bill")
    assert said.out.splitlines()[0] == WARNING
    summary = json.loads((tmp_path / "bill" / "summary.json").read_text())
    assert (summary["warning"], summary["rejected"], summary["rejected_records"]) == (WARNING, 3, 3)
    assert heading_of(tmp_path / "bill" / "report.html").startswith(f"{WARNING} These 2 jobs would have cost $")
    assert unspool("report", "bill", "-o", "again.html").code == 0
    assert heading_of(tmp_path / "again.html").startswith(WARNING)
    assert unspool("cost", log, "--strict").code == 2


def test_comparisons_begin_with_the_rejected_share(unspool, log, write, tmp_path):
    unspool("run", log, "-p", 4, "--policy", "fcfs", "--policy", "easy", "-o", "both")
    said = unspool("compare", "both", "-o", "page.html")
    assert said.out.splitlines()[0] == WARNING
    assert heading_of(tmp_path / "page.html").startswith(WARNING)
    unspool("cost", "--init", "c.yml")
    said = unspool("cost", "compare", log, "-c", "c.yml", "-o", "set-ups")
    assert said.out.splitlines()[0] == WARNING
    assert heading_of(tmp_path / "set-ups" / "report.html").startswith(WARNING)
    assert json.loads(unspool("cost", "compare", log, "-c", "c.yml", "--json").out)["warning"] == WARNING


def test_a_sweep_begins_with_the_rejected_share(unspool, log, write, tmp_path):
    write("good.csv", HEAD + "a,0,60,1\nb,1,60,1\n")
    grid = '[grid]\nplatform = ["4"]\npolicy = ["fcfs", "easy"]\nworkload = '
    said = unspool("sweep", write("one.toml", f'{grid}["{log}"]\n'), "-o", "one", "-j", 1)
    assert said.out.splitlines()[0] == WARNING
    assert heading_of(tmp_path / "one" / "sweep.html").startswith(f"{WARNING} ")
    assert unspool("sweep", "best", "one").out.splitlines()[0] == WARNING
    said = unspool("sweep", write("two.toml", f'{grid}["{log}", "good.csv"]\n'), "-o", "two", "-j", 1, "--json")
    assert json.loads(said.out)["warning"] == f"In 2 of 4 runs, a large share was rejected, in the worst: {WARNING}"
    unspool("sweep", write("fine.toml", f'{grid}["good.csv"]\n'), "-o", "fine", "-j", 1)
    assert json.loads(unspool("sweep", "fine.toml", "-o", "fine", "--resume", "--json").out)["warning"] is None


def test_jobs_that_can_never_run_count_too(unspool, write):
    log = write("log.csv", HEAD + "a,0,60,1\nb,1,60,9\n")
    said = unspool("run", log, "-p", 4)
    assert said.out.splitlines()[0] == "1 job was rejected: 50% of the log, with 90% of its core-hours."


def test_a_small_share_is_no_headline(unspool, write):
    rows = "".join(f"{at},{at},60,1\n" for at in range(19))
    said = unspool("run", write("log.csv", f"{HEAD}{rows}z,0,soon,1\n"), "-p", 20)
    assert said.out.splitlines()[0] == "log.csv on 20 (20 cores): 19 jobs, 1 rejected"


def test_the_size_of_swf_jobs_is_chosen_in_every_verb(unspool, write, tmp_path):
    rows = "".join(f"{at} {at * 9} -1 60 8 -1 -1 4 90 -1 1 3 -1 -1 -1 -1 -1 -1\n" for at in range(5))
    log = write("log.swf", f"; MaxProcs: 16\n{rows}")
    note = "log.swf: Fields 5 and 8 differ for 5 of 5 jobs; using the requested cores (field 8)."
    for verb in (("run",), ("cost",), ("convert",)):
        target = ("out.parquet", "--force") if verb == ("convert",) else ()
        said = unspool(*verb, log, *target)
        assert (said.code, note.partition(": ")[2] in said.err) == (0, True)
        assert "Fields 5 and 8" not in unspool(*verb, log, *target, "--format", "swf:size=allocated").err
    sizes = ["mean_cores", "notes"]
    told = json.loads(unspool("inspect", log, "--format", "swf:size=allocated", "--json").out)
    assert [told[name] for name in sizes] == [8.0, []]
    assert json.loads(unspool("inspect", log, "--format", "swf:size=requested", "--json").out)["mean_cores"] == 4.0


def test_what_is_hard_to_believe_is_noted_by_every_verb(unspool, write, tmp_path):
    rows = "".join(f"{at},{at * 100},60,1,10\n" for at in range(5))
    log = write("log.csv", HEAD.replace("\n", ",walltime\n") + rows)
    note = "5 of 5 jobs ran longer than their walltimes. Check the unit of walltimes and run times."
    assert f"log.csv: {note}\n" in unspool("run", log, "-p", 4, "-o", "out").err
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["notes"] == [note]
    assert note in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert note in unspool("cost", log).err
    assert note in unspool("convert", log, "log.parquet").err
    assert note in json.loads(unspool("inspect", log, "--json").out)["notes"]
