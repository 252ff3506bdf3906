import gzip
import json

import polars as pl

from unspool.workloads import FORMATS, read_workload

LOG = "job_id,submit_time,run_time,cores,user\na,0,10,2,ann\nb,1,5,4,bob\n"


def test_a_log_is_written_in_the_format_of_its_name(unspool, write, tmp_path):
    assert unspool("convert", write("log.csv", LOG), "log.parquet") == (
        0, "", "log.parquet: 2 jobs written, 0 records rejected\n"
    )  # fmt: skip
    assert read_workload(tmp_path / "log.parquet").table["user"].to_list() == ["ann", "bob"]


def test_what_a_format_cannot_hold_is_told(unspool, write, tmp_path):
    said = unspool("convert", write("log.csv", LOG), "log.swf.gz")
    assert said == (0, "", "job_id holds names: numbered from 1 in order of appearance\n"
                    "user holds names: numbered from 1 in order of appearance\n"
                    "log.swf.gz: 2 jobs written, 0 records rejected\n")  # fmt: skip
    assert gzip.decompress((tmp_path / "log.swf.gz").read_bytes()).decode().splitlines()[-2:] == [
        "1 0 -1 10 -1 -1 -1 2 -1 -1 -1 1 -1 -1 -1 -1 -1 -1",
        "2 1 -1 5 -1 -1 -1 4 -1 -1 -1 2 -1 -1 -1 -1 -1 -1",
    ]


def test_rejected_records_are_told_and_exit_with_2_when_strict(unspool, write):
    log = write("log.csv", LOG + "c,2,soon,1,eve\n")
    said = unspool("convert", log, "log.parquet")
    reason = "run_time is 'soon'; expected seconds, or a duration such as 2:00 or 5 min"
    assert said == (
        0, "", f"rejected: 1 record of the log\n  line 4, job c: {reason}\n"
        "log.parquet: 2 jobs written, 1 record rejected\n"
    )  # fmt: skip
    assert unspool("convert", log, "strict.parquet", "--strict").code == 2


def test_of_many_rejected_records_the_others_are_counted(unspool, write):
    log = write("log.csv", LOG + "c,2,soon,1,eve\n" * 16 + "c,2\n")
    said = unspool("convert", log, "log.tsv").err.splitlines()
    assert said[0] == "rejected: 17 records of the log"
    assert said[3].startswith("  line 6, job c: run_time is 'soon'")
    assert said[4] == "  … and 14 more; `unspool inspect` counts them by reason"
    assert said[5] == "log.tsv: 2 jobs written, 17 records rejected"


def test_an_existing_target_is_replaced_with_force_only(unspool, write, tmp_path):
    log = write("log.csv", LOG)
    write("old.tsv", "precious")
    assert unspool("convert", log, "old.tsv") == (
        2, "", "unspool: old.tsv: exists and is not overwritten; choose another name, or say --force to replace it\n"
    )  # fmt: skip
    assert (tmp_path / "old.tsv").read_text() == "precious"
    assert unspool("convert", log, "old.tsv", "--force").code == 0
    assert (tmp_path / "old.tsv").read_text().startswith("job_id\tsubmit_time\t")


def test_formats_may_be_named(unspool, write, tmp_path):
    assert unspool("convert", write("log", LOG), "copy", "--format", "csv", "--to", "tsv").code == 0
    assert (tmp_path / "copy").read_text().splitlines()[1] == "a\t0.0\t10.0\t2\tann"


def test_columns_may_be_mapped(unspool, write, tmp_path):
    log = write("log.csv", "when,duration,cores\n0,10,2\n")
    said = unspool("convert", log, "log.swf", "--columns", "submit_time=when", "--columns", "run_time=duration")
    assert said.code == 0
    assert (tmp_path / "log.swf").read_text().splitlines()[-1] == "2 0 -1 10 -1 -1 -1 2 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1"


def test_wrong_targets_are_told_in_one_sentence(unspool, write):
    log = write("log.csv", LOG)
    suffixes = ".csv, .csv.gz, .parquet, .swf, .swf.gz, .tsv, .tsv.gz"
    told = {
        ("log.xyz",): f"unknown suffix of a workload '.xyz'. Known: {suffixes}",
        ("log.prq", "--to", "parqet"): "unknown workload format 'parqet'; did you mean 'parquet'? "
        "Known: batsim, csv, jobs-csv, parquet, swf, tsv",
        ("nowhere/log.swf",): "nowhere/log.swf: cannot be written (No such file or directory)",
        (".", "--to", "csv"): ".: is a folder; give the name of a file",
        (): "convert: expected a log or several, and last the file to write. Try: unspool convert --help",
    }
    for arguments, sentence in told.items():
        assert unspool("convert", log, *arguments) == (2, "", f"unspool: {sentence}\n")


FOUR = "job_id,submit_time,run_time,cores,user\na,0,10,2,ann\nb,3600,5,4,bob\nc,7200,20,8,ann\nd,90000,30,1,eve\n"


def test_jobs_are_changed_in_the_documented_order_whatever_the_order_given(unspool, write, tmp_path):
    log = write("log.csv", FOUR)
    options = ["--shift", "1h", "--scale-run-times", "2", "--where", "cores >= 4", "--window", "1h..1d"]
    assert unspool("convert", log, "out.csv", *options) == (
        0, "",
        "window from 3600.0 before 86400.0: 2 of 4 jobs kept\n"
        "filter cores >= 4: 2 of 2 jobs kept\n"
        "scale_run_times by 2: run_time\n"
        "shift by 3600 s\n"
        "out.csv: 2 jobs written, 0 records rejected\n",
    )  # fmt: skip
    assert (tmp_path / "out.csv").read_text().splitlines()[1:] == ["b,7200.0,10.0,4,bob", "c,10800.0,40.0,8,ann"]


def test_a_log_is_thinned_and_its_load_scaled_by_a_seed(unspool, write, tmp_path):
    log = write("log.csv", FOUR)
    for name in ("one.csv", "two.csv"):
        said = unspool("convert", log, name, "--thin", "0.5", "--scale-load", "3", "--seed", "7")
        assert said.code == 0
    assert (tmp_path / "one.csv").read_text() == (tmp_path / "two.csv").read_text()
    assert len((tmp_path / "one.csv").read_text().splitlines()) == 7


def test_jobs_may_be_moved_to_earlier_times(unspool, write, tmp_path):
    log = write("log.csv", FOUR)
    assert unspool("convert", log, "out.csv", "--window", "1h..", "--shift", "-1h").code == 0
    assert (tmp_path / "out.csv").read_text().splitlines()[1].startswith("b,0.0,")


def test_several_logs_are_merged(unspool, write, tmp_path):
    one, two = write("one.csv", FOUR), write("two.csv", "submit_time,run_time,cores\n60,1,1\n")
    assert unspool("convert", one, two, "both.csv") == (
        0, "", "merged: 4 jobs of one.csv, 1 job of two.csv\nboth.csv: 5 jobs written, 0 records rejected\n"
    )  # fmt: skip
    assert [line[0] for line in (tmp_path / "both.csv").read_text().splitlines()[1:]] == ["a", "2", "b", "c", "d"]


def test_wrong_changes_are_told_in_one_sentence_and_nothing_is_written(unspool, write, tmp_path):
    log = write("log.csv", FOUR)
    told = {
        ("--window", "3"): "--window 3: expected FROM..TO, as in 2022-03-01..2022-04-01 or 1d..2d",
        ("--window", "2022-03-01.."): "log.csv: its origin is not known, so '2022-03-01' cannot be placed; "
        "give seconds instead",
        ("--where", "cores > 99"): "filter cores > 99: 0 of 4 jobs kept: nothing is written; "
        "check the condition against `unspool inspect`",
        ("--where", "cores / 0 > 1"): "filter cores / 0 > 1: divides by 0 for 4 jobs, where no comparison holds; "
        "filter cores / 0 > 1: 0 of 4 jobs kept: nothing is written; check the condition against `unspool inspect`",
        ("--shift", "-1h"): "shift: by -3600 s the first job would be submitted before 0; expected 0 or more",
        ("--thin", "2"): "thin: the share is 2.0; expected more than 0, up to 1",
        ("--thin", "0.5", "--seed", "-1"): "--seed -1: expected a whole number from 0 to 9223372036854775807",
    }
    for arguments, sentence in told.items():
        assert unspool("convert", log, "out.csv", *arguments) == (2, "", f"unspool: {sentence}\n")
    assert not (tmp_path / "out.csv").exists()


def test_what_slurm_prints_is_converted_whatever_its_name(unspool, write, tmp_path):
    fields = "JobID|State|Submit|Start|Elapsed|NCPUS|MaxRSS\n"
    job = "{}|{}|2024-05-01T08:00:00|2024-05-01T08:05:00|00:10:00|4|{}\n"
    text = fields + job.format(7, "COMPLETED", "") + job.format("7.batch", "COMPLETED", "8K") + job.format(8, "ODD", "")
    said = unspool("convert", write("sacct.txt", text), "log.parquet")
    assert said == (
        0, "", "dates have no time zone: taken as UTC\n"
        "rejected: 1 record of the log\n"
        "  line 4, job 8: State is 'ODD'; expected one of Slurm's, such as COMPLETED\n"
        "log.parquet: 1 job written, 1 record rejected\n",
    )  # fmt: skip
    table = read_workload(tmp_path / "log.parquet").table
    assert table.select("job_id", "cores", "used_memory_bytes", "logged_wait").rows() == [("7", 4, 2048, 300.0)]
    assert unspool("convert", "sacct.txt", "log.out", "--to", "slurm") == (
        2, "", "unspool: log.out: slurm is only read, not written; choose one of "
        f"{', '.join(name for name, known in FORMATS.items() if known.write)}\n",
    )  # fmt: skip


def test_the_help_tells_how_the_log_comes_out_of_the_scheduler(unspool):
    said = unspool("convert", "--help").out
    for command in ("sacct --allusers --parsable2", "lsb.acct*", "nc cmd vovsql_query"):
        assert command in said
    for verb in ("run", "convert", "inspect", "validate", "check", "forecast"):
        assert "slurm" in unspool(verb, "--help").out


def test_results_become_a_trace_whose_spans_are_the_jobs(unspool, write, tmp_path):
    unspool("run", write("log.csv", FOUR), "-p", "4x2", "--policy", "fcfs", "-o", "out", "--json")
    said = unspool("convert", "out", "run.trace.json")
    assert said == (
        0, "", "run.trace.json: 4 starts of jobs written; open it in ui.perfetto.dev or chrome://tracing\n"
    )  # fmt: skip
    events = json.loads((tmp_path / "run.trace.json").read_text())["traceEvents"]
    jobs = pl.read_parquet(tmp_path / "out/jobs.parquet")
    told = {(one["name"], one["ts"], one["dur"], one["args"]["user"]) for one in events if one["ph"] == "X"}
    expected = jobs.select("job_id", "start_time", "run_time", "user").rows()
    assert told == {(name, start * 1e6, time * 1e6, user) for name, start, time, user in expected}
    assert unspool("convert", "out", "part.trace.json.gz", "--window", "1h..2h").err.startswith(
        "part.trace.json.gz: 1 start of jobs written"
    )
    assert json.loads(gzip.decompress((tmp_path / "part.trace.json.gz").read_bytes()))["traceEvents"]


def test_wrong_traces_are_told_in_one_sentence(unspool, write, tmp_path):
    log = write("log.csv", FOUR)
    unspool("run", log, "-p", "8", "--policy", "fcfs", "-o", "out", "--json")
    (tmp_path / "old.trace.json").write_text("precious")
    told = {
        (log, "x.trace.json"): "log.csv: is no folder of results; a trace is made of what `unspool run -o` writes",
        ("out", "x.trace.json", "--thin", "0.5"): "x.trace.json: a trace is made of one folder of results, and takes "
        "only --window and --force",
        ("out", "old.trace.json"): "old.trace.json: exists and is not overwritten; choose another name, or say --force "
        "to replace it",
        ("out", "x.trace.json", "--window", "2h..1h"): "--window 2h..1h: expected an end after the beginning",
        ("out", "x.trace.json", "--window", "2022-03-01.."): "--window: the origin of log.csv is not known; give times "
        "since it, as 1d..2d",
    }
    for arguments, sentence in told.items():
        assert unspool("convert", *arguments) == (2, "", f"unspool: {sentence}\n")
    assert (tmp_path / "old.trace.json").read_text() == "precious"
