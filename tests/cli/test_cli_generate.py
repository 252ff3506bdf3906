import json
from pathlib import Path

import pytest

import unspool as package
from unspool.workloads import read_workload
from unspool.workloads.generators import lublin, poisson, recodex
from unspool.workloads.recodex import read_jobs, read_refs

SAMPLE = Path(package.__file__).parent / "samples" / "campus.swf.gz"


def test_lublin_writes_the_log_that_python_gives(unspool, tmp_path):
    said = unspool("generate", "lublin", "log.parquet", "--cores", 64, "--jobs", 500, "--load", 0.7, "--seed", 3)
    assert (said.code, said.out) == (0, "")
    assert said.err.endswith("offered load 0.7\n")
    expected = lublin(500, cores=64, load=0.7, seed=3)
    written = read_workload(tmp_path / "log.parquet")
    assert written.table.equals(expected.table)
    assert written.max_cores == 64


def test_lublin_may_have_weekends_and_a_date_to_begin_with(unspool, tmp_path):
    options = ["--cores", 64, "--jobs", 50, "--weekend", 0.5, "--start", "2024-01-01", "--no-daily-cycle"]
    assert unspool("generate", "lublin", "log.parquet", *options).code == 0
    written = read_workload(tmp_path / "log.parquet")
    assert written.origin_unix_s == 1704067200.0
    expected = lublin(50, 64, 0.8, daily_cycle=False, weekend_weight=0.5, origin_unix_s=1704067200.0)
    assert written.table.equals(expected.table)


def test_poisson_takes_a_duration_with_a_unit(unspool, tmp_path):
    said = unspool("generate", "poisson", "log.csv", "--rate", 0.1, "--mean-run-time", "5min", "--jobs", 50)
    assert said.code == 0
    assert read_workload(tmp_path / "log.csv").table["run_time"].to_list() == pytest.approx(
        poisson(50, 0.1, 300.0).table["run_time"].to_list()
    )


def test_fitted_prints_how_like_the_log_is(unspool, tmp_path):
    said = unspool("generate", "fitted", "log.swf", "--from", SAMPLE, "--seed", 1, "--strict")
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[0].split() == ["aspect", "original", "generated", "distance", "limit", "verdict"]
    assert len(lines) == 2 + 13
    assert all(line.endswith(" alike") for line in lines[2:])
    assert len(read_workload(tmp_path / "log.swf")) == 10_000


def test_json_holds_the_figures_and_the_likeness(unspool):
    said = unspool("generate", "fitted", "log.swf", "--from", SAMPLE, "--duration", "30d", "--json")
    facts = json.loads(said.out)
    assert list(facts) == ["file", "name", "jobs", "span_s", "core_hours", "offered_load", "likeness"]
    assert facts["jobs"] == round(10_000 * 30 * 86_400 / 3_999_150)
    assert facts["likeness"][0]["aspect"] == "sizes"
    plain = json.loads(unspool("generate", "poisson", "p.csv", "--rate", 1, "--mean-run-time", 1, "--json").out)
    assert (plain["likeness"], plain["offered_load"]) == (None, None)


def test_a_saved_model_gives_the_same_log(unspool, tmp_path):
    unspool("generate", "fitted", "one.csv", "--from", SAMPLE, "--jobs", 300, "--save-model", "model.json")
    said = unspool("generate", "fitted", "two.csv", "--model", "model.json", "--jobs", 300)
    assert (said.code, said.out) == (0, "")
    assert (tmp_path / "one.csv").read_text() == (tmp_path / "two.csv").read_text()


def test_a_log_that_is_not_alike_is_told_and_exits_with_2_when_strict(unspool):
    said = unspool("generate", "fitted", "few.csv", "--from", SAMPLE, "--jobs", 20, "--strict")
    assert said.code == 2
    assert " DIFFERENT" in said.out
    assert unspool("generate", "fitted", "again.csv", "--from", SAMPLE, "--jobs", 20).code == 0


def test_an_existing_file_is_replaced_with_force_only(unspool, write, tmp_path):
    write("old.csv", "precious")
    write("old.json", "precious")
    sentence = "exists and is not overwritten; choose another name, or say --force to replace it"
    for target, arguments in {
        "old.csv": ("poisson", "old.csv", "--rate", 1, "--mean-run-time", 1),
        "old.json": ("fitted", "new.csv", "--from", SAMPLE, "--save-model", "old.json"),
    }.items():
        assert unspool("generate", *arguments) == (2, "", f"unspool: {target}: {sentence}\n")
        assert (tmp_path / target).read_text() == "precious"
        assert unspool("generate", *arguments, "--force").code == 0
        assert (tmp_path / target).read_text() != "precious"


def test_wrong_usage_is_told_in_one_sentence(unspool):
    told = {
        ("lublin", "log.swf"): 'Command "generate lublin" parameter --cores requires an argument. '
        "Try: unspool generate lublin --help",
        ("lublin", "log.swf", "--cores", 0): "--cores is 0; expected 1 to 1000000000000",
        ("lublin", "log.xyz", "--cores", 9): "unknown suffix of a workload '.xyz'. Known: "
        ".csv, .csv.gz, .parquet, .swf, .swf.gz, .tsv, .tsv.gz",
        ("lublin", "log.swf", "--cores", 9, "--start", "soon"): "'soon' is not a date such as 2022-03-01 "
        "or 2022-03-01T12:00",
        ("poisson", "p.csv", "--rate", 0, "--mean-run-time", 1): "--rate is 0.0; expected more than 0, up to 1e+09",
        ("poisson", "p.csv", "--rate", "1e308", "--mean-run-time", 1): "--rate is 1e+308; expected more "
        "than 0, up to 1e+09",
        ("poisson", "p.csv", "--rate", "1e-308", "--mean-run-time", 1): "--rate is 1e-308; expected so "
        "many that 10000 arrive within 1e+12 s",
        ("poisson", "p.csv", "--rate", 1, "--mean-run-time", "1e300"): "--mean-run-time is 1e+300; expected "
        "so few seconds that no run is longer than 1e+12",
        ("poisson", "p.csv", "--rate", 1, "--mean-run-time", 1, "--cores", 2**63): "--cores is "
        "9223372036854775808; expected 1 to 1000000000000",
        ("fitted", "log.swf"): "generate fitted: give a log with --from, or a saved model with --model, and not both",
        ("fitted", "log.swf", "--from", "none.swf"): "none.swf: there is no such file; check the path",
    }
    for arguments, sentence in told.items():
        said = unspool("generate", *arguments)
        assert (said.code, said.err) == (2, f"unspool: {sentence}\n")


def test_recodex_writes_jobs_and_reference_runs(unspool, tmp_path):
    said = unspool("generate", "recodex", "data.csv.gz", "--jobs", 300, "--refs", "refs.csv", "--seed", 2, "--json")
    facts = json.loads(said.out)
    assert (said.code, facts["jobs"], facts["refs_file"]) == (0, 300, "refs.csv")
    assert f"refs.csv: {facts['refs']} reference runs written" in said.err
    assert read_jobs(tmp_path / "data.csv.gz").duration.tolist() == recodex(300, 2).jobs["duration"].to_list()
    assert len(read_refs(tmp_path / "refs.csv")) == facts["refs"]
    said = unspool("run", "data.csv.gz", "-p", 4, "--policy", "sjf", "--json")
    assert (said.code, json.loads(said.out)["jobs"]) == (0, 300)


def test_recodex_begins_on_a_date(unspool, tmp_path):
    assert unspool("generate", "recodex", "data.csv", "--jobs", 50, "--start", "2024-01-01").code == 0
    assert read_jobs(tmp_path / "data.csv").spawn[0] >= 1704067200


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("data.swf",), "data.swf: a log of ReCodEx is CSV; give it a name that ends in .csv or .csv.gz"),
        (("a.csv", "--refs", "refs"), "refs: a log of ReCodEx is CSV; give it a name that ends in .csv or .csv.gz"),
        (("a.csv", "--refs", "./a.csv"), "a.csv: jobs and reference runs cannot be one file; give --refs another name"),
        (("a.csv", "--jobs", "1"), "--jobs is 1; expected at least 10"),
    ],
)
def test_recodex_refuses_what_it_cannot_write(unspool, tmp_path, arguments, says):
    said = unspool("generate", "recodex", *arguments)
    assert (said.code, said.err) == (2, f"unspool: {says}\n")
    assert list(tmp_path.iterdir()) == []
