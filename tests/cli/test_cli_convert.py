import gzip

from unspool.workloads import read_workload

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
        0, "", f"rejected: line 4, job c: {reason}\nlog.parquet: 2 jobs written, 1 record rejected\n"
    )  # fmt: skip
    assert unspool("convert", log, "strict.parquet", "--strict").code == 2


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
        "Known: csv, parquet, swf, tsv",
        ("nowhere/log.swf",): "nowhere/log.swf: cannot be written (No such file or directory)",
        (".", "--to", "csv"): ".: is a folder; give the name of a file",
        (): 'Command "convert" parameter TARGET requires an argument. Try: unspool convert --help',
    }
    for arguments, sentence in told.items():
        assert unspool("convert", log, *arguments) == (2, "", f"unspool: {sentence}\n")
