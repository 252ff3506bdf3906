"""Files that ask for more than they hold: each reader refuses them with a sentence, before it allocates."""

import gzip
import json

import pytest

from unspool.analysis.audit.schedule import read_schedule
from unspool.errors import InputError
from unspool.limits import raised
from unspool.platforms import read_platform
from unspool.workloads import FORMATS, read_workload
from unspool.workloads.files import read_blocks, read_text
from unspool.workloads.intervals import parse_intervals
from unspool.workloads.smpi_traces import read_smpi_trace
from unspool.workloads.usage_trace import read_usage_trace

CSV = "submit_time,run_time,cores\n0,1,1\n"
TEXT = [name for name in FORMATS if name != "parquet"]
HUGE = ("1e44", "-1e44", "1e999", "9" * 35, "9" * 400, "9" * 4400, "1e12", "1000000000001", "nan", "-inf")


def saved(tmp_path, content, name="log"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def flooded(tmp_path, byte, start=b""):
    """A file that unpacks to 160 MiB of one byte."""
    member = gzip.compress(byte * (1 << 24), 1)
    return saved(tmp_path, gzip.compress(start) + member * 10, "flood.gz")


@pytest.mark.parametrize("name", TEXT)
def test_a_packed_flood_is_refused_by_its_ratio(name, tmp_path):
    with pytest.raises(InputError, match=r"unpacked_ratio|line_bytes|blank_lines"):
        read_workload(flooded(tmp_path, b"a"), name)


def test_a_packed_flood_is_read_if_the_ratio_is_raised(tmp_path):
    path = flooded(tmp_path, b" ", CSV.encode())
    with raised(["unpacked_ratio=100000", "line_bytes=1GiB"]):
        assert sum(map(len, read_blocks(path))) > 160 << 20


@pytest.mark.parametrize("name", TEXT)
def test_a_line_without_an_end_is_refused(name, tmp_path):
    with raised(["line_bytes=1MiB", "text_bytes=1MiB"]), pytest.raises(InputError, match=r"line_bytes|text_bytes"):
        read_workload(saved(tmp_path, "a" * (10 << 20)), name)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("name", TEXT)
def test_blank_lines_are_counted(name, end, tmp_path):
    with raised(["blank_lines=1000"]), pytest.raises(InputError, match="blank_lines"):
        read_workload(saved(tmp_path, end * 10_000), name)


@pytest.mark.parametrize(
    ("name", "line"), [("csv", "x"), ("swf", "1 2"), ("slurm", "a|b"), ("lsf", "x y"), ("accelerator", "x")]
)
def test_records_that_cannot_be_used_are_counted(name, line, tmp_path):
    heads = {"csv": CSV, "slurm": "JobID|Submit|Start|End|NCPUS|State|Elapsed\n"}
    with raised(["rejected=100"]), pytest.raises(InputError, match="over 100, the limit for records of a log that"):
        read_workload(saved(tmp_path, heads.get(name, "") + f"{line}\n" * 200), name)


@pytest.mark.parametrize(("name", "mark"), [("csv", ","), ("tsv", "\t"), ("slurm", "|"), ("recodex", ";")])
def test_columns_are_counted(name, mark, tmp_path):
    header = mark.join(["JobID", *(f"c{at}" for at in range(11_000))])
    with pytest.raises(InputError, match="limit for columns"):
        read_workload(saved(tmp_path, header + "\n"), name)


def test_columns_of_quoted_tables_are_counted(tmp_path):
    with raised(["columns=3"]), pytest.raises(InputError, match="limit for columns"):
        read_workload(saved(tmp_path, 'a,"b\nc",d,e\n'), "csv")


@pytest.mark.parametrize("name", ["batsim", "wfcommons", "json"])
@pytest.mark.parametrize("opener", ["[", '{"a":', '[{"jobs":', '{"jobs":[', '{"workflow":{"tasks":['])
def test_nested_json_is_refused(name, opener, tmp_path):
    with pytest.raises(InputError):
        read_workload(saved(tmp_path, opener * 100_000), name)


def test_values_of_json_are_counted(tmp_path):
    with raised(["json_values=10"]), pytest.raises(InputError, match="limit for values of a JSON file"):
        read_workload(saved(tmp_path, "[" + "1," * 20 + "1]"), "json")


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        ("toml", "a = " + "[" * 5000),
        ("toml", "a = " + "{a=" * 5000),
        ("toml", "a." * 20_000 + "a = 1"),
        ("toml", "[" + "a . " * 20_000 + "a]"),
        ("toml", "".join('"a b".' for _ in range(5000)) + "a = 1"),
        ("yaml", "[" * 20_000),
        ("yaml", "{a: " * 20_000),
        ("yaml", "- " * 20_000),
        ("yaml", "a: &a [*a, *a]"),
        ("json", "[" * 100_000),
        ("json", '{"a":' * 100_000),
        ("xml", "<platform>" + "<zone>" * 200),
        ("toml", "a = " + "9" * 4400),
        ("yaml", "a: " + "9" * 4400),
        ("json", '{"a": ' + "9" * 4400 + "}"),
    ],
)
def test_nested_settings_and_long_numbers_are_refused(suffix, text, tmp_path):
    with pytest.raises(InputError):
        read_platform(saved(tmp_path, text, f"p.{suffix}"))


def test_aliases_that_repeat_each_other_are_counted(tmp_path):
    lines = ["a0: &a0 [x, x]", *(f"a{at}: &a{at} [*a{at - 1}, *a{at - 1}]" for at in range(1, 40))]
    with pytest.raises(InputError, match="limit for values of a YAML file"):
        read_platform(saved(tmp_path, "\n".join(lines), "p.yaml"))


def test_an_alias_of_what_it_is_inside_is_refused(tmp_path):
    with pytest.raises(InputError, match="an alias of what it is inside"):
        read_platform(saved(tmp_path, "machines: &a [*a]", "p.yaml"))


def test_sizes_of_settings_are_limited(tmp_path):
    for suffix, name in (("toml", "toml_bytes"), ("yaml", "yaml_bytes"), ("json", "text_bytes"), ("xml", "text_bytes")):
        with raised([f"{name}=10"]), pytest.raises(InputError, match="over 10 B, the limit for"):
            read_platform(saved(tmp_path, "# a long comment", f"p.{suffix}"))


@pytest.mark.parametrize("count", ["999999999", "99999999999999999999", "9" * 5000, "²"])
def test_lsf_counts_beyond_the_record_make_it_no_job(count, tmp_path):
    from tests.workloads.test_lsf import record

    good = record()
    assert ' 4 "h1"' in good
    log = read_workload(saved(tmp_path, good + "\n" + good.replace(' 4 "h1"', f' {count} "h1"', 1) + "\n"), "lsf")
    assert (len(log), len(log.rejected)) == (1, 1)


def test_an_lsf_record_whose_quotes_never_close_is_refused(tmp_path):
    with raised(["line_bytes=100KiB"]), pytest.raises(InputError, match="line 1: over 100 KiB, the limit for a line"):
        read_workload(saved(tmp_path, '"JOB_FINISH" "10.1" 1 "' + "x\n" * 100_000), "lsf")


@pytest.mark.parametrize("value", HUGE)
def test_times_and_counts_beyond_any_log_are_refused_or_rejected_in_every_format(value, tmp_path):
    """Whether it is a time or a count: an error of ours, or a record that is rejected, or a time up to 1e13 s."""
    tables = {
        "csv": "job_id,submit_time,run_time,cores,walltime,memory_bytes\na,0,1,1,1,1\nb,{},{},1,{},1\nc,0,1,{},1,{}\n",
        "jobs-csv": "job_id,num_cores,max_mem_gb,num_hosts,submit_time,start_time,finish_time,run_time,eligible_time,"
        "ineligible_pend_time\na,1,1,1,1,2,3,1,1,0\nb,{},{},{},{},{},{},{},{},{}\nc,1,1,1,1,{},{},{},1,{}\n",
        "swf": "1 0 0 1 1 1 1 1 1 1 1 1 1 1 1 1 -1 -1\n2 {} {} {} 1 1 1 1 {} 1 1 1 1 1 1 1 1 {}\n"
        "3 0 0 1 {} 1 {} {} 1 {} 1 1 1 1 1 1 -1 -1\n",
        "slurm": "JobID|State|Submit|Eligible|Start|End|Elapsed|Timelimit|NCPUS|AllocNodes|ReqMem\n"
        "1|COMPLETED|2024-05-01T08:00:00|2024-05-01T08:00:00|2024-05-01T08:00:00|2024-05-01T09:00:00|1:00:00|2:00:00|"
        "4|1|4G\n2|COMPLETED|{}|{}|{}|{}|{}|{}|{}|{}|{}G\n"
        "3|COMPLETED|2024-05-01T08:00:00|2024-05-01T08:00:00|{}|{}|{}|{}|{}|{}|{}\n",
        "accelerator": "7 1714564800 1714564860 1714565160 {{CORES/4 RAM/512}} 0 256 300 120.5 0\n"
        "8 {} {} {} {{CORES/{} RAM/{}}} 0 {} {} {} 0\n9 1 2 3 {{CORES/{} RAM/{}}} 0 {} {} {} 0\n",
        "json": '[{{"job_id":"a","submit_time":0,"run_time":1,"cores":1}},'
        '{{"job_id":"b","submit_time":{},"run_time":{},"cores":{}}}]',
        "batsim": '{{"nb_res":4,"profiles":{{"p":{{"type":"delay","delay":{}}}}},"jobs":'
        '[{{"id":1,"subtime":{},"res":{},"walltime":{},"profile":"p"}}]}}',
        "wfcommons": '{{"schemaVersion":"1.4","workflow":{{"tasks":[{{"name":"a","runtimeInSeconds":{},"cores":{},'
        '"memoryInBytes":{},"priority":{}}}]}}}}',
        "dax": '<adag><job id="a" runtime="{}" num_procs="{}"/></adag>',
    }
    for name, text in tables.items():
        path = saved(tmp_path, text.format(*[value] * 30))
        try:
            log = read_workload(path, name)
        except InputError:
            continue
        assert log.table["submit_time"].is_between(0, 1e13).all(), name
        assert log.table["run_time"].is_between(0, 1e12).all(), name
        assert log.table["cores"].is_between(1, 10**12).all(), name


@pytest.mark.parametrize("value", [*HUGE, "1e300"])
def test_schedules_with_long_numbers_are_read_or_refused(value, tmp_path):
    batsim = (
        "job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,success,final_state,"
        "starting_time,execution_time,finish_time,waiting_time,turnaround_time,stretch,allocated_resources,metadata\n"
        "1,w0,p,{0},1,10,1,COMPLETED_SUCCESSFULLY,{0},{0},{0},0,0,1,{0}-{0},\n"
    )
    swf = "1 {0} {0} {0} 1 1 1 1 {0} 1 1 1 1 1 1 1 -1 -1\n"
    for text in (batsim, swf, "id,start,finish\na,{0},{0}\n"):
        try:
            made = read_schedule(saved(tmp_path, text.format(value)))
        except InputError:
            continue
        assert made.rows["start_time"].is_between(-2e12, 2e12).all()  # of SWF, submit time and wait


def test_an_interval_is_limited():
    with pytest.raises(InputError, match="the limit for machines in one interval"):
        parse_intervals("0-99999999")


def test_a_nul_in_a_usage_trace_is_refused(tmp_path):
    with pytest.raises(InputError, match="binary data"):
        read_usage_trace(str(saved(tmp_path, "a\0b\n")))
    saved(tmp_path, "0 m_usage 1 \0\n", "r")
    with pytest.raises(InputError, match="binary data"):
        read_usage_trace(str(saved(tmp_path, "r\n", "t")))


def test_a_rank_beyond_any_trace_is_refused(tmp_path):
    saved(tmp_path, "999999999 m_usage 1 1\n", "r")
    with pytest.raises(InputError, match="set_ids"):
        read_usage_trace(str(saved(tmp_path, "r\n", "t")))


def test_a_shared_file_of_many_ranks_is_read_once(tmp_path):
    saved(tmp_path, "".join(f"{rank} sleep {rank}\n" for rank in range(3000)) + "7 sleep 1\n", "all")
    trace = read_smpi_trace(saved(tmp_path, "all\n", "t"))
    assert trace.ranks == 3000
    assert (trace.starts[7], trace.starts[8]) == (7, 9)


def test_a_text_that_is_read_whole_is_limited(tmp_path):
    with raised(["text_bytes=10"]), pytest.raises(InputError, match="over 10 B, the limit for a file"):
        read_text(saved(tmp_path, json.dumps(list(range(20)))))


@pytest.mark.parametrize("value", ["1e44", "9" * 35, "9e15", "-1e44"])
def test_an_ineligible_time_beyond_any_log_is_rejected_in_a_jobs_csv(value, tmp_path):
    text = (
        "job_id,num_cores,max_mem_gb,num_hosts,submit_time,start_time,finish_time,ineligible_pend_time\n"
        f"a,1,1,1,1714564800,1714564920,1714565000,0\nb,1,1,1,1714564800,1714564920,1714565000,{value}\n"
    )
    log = read_workload(saved(tmp_path, text), "jobs-csv")
    assert log.table["job_id"].to_list() == ["a"]
    assert log.rejected["reason"].to_list() == ["a time beyond any log's"]
