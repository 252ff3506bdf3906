from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspool.errors import InputError, UnspoolError
from unspool.workloads import read_workload
from unspool.workloads.accelerator import read_accelerator, recognises

MIB = 1 << 20
SUBMIT = 1714564800


def line(job=7, submit=SUBMIT, start=SUBMIT + 60, end=SUBMIT + 360, resources="{CORES/4 RAM/512 License:x}", rest=""):
    return f"{job} {submit} {start} {end} {resources} {rest or '0 256 300 120.5 0'}\n"


def log(tmp_path, *lines):
    path = tmp_path / "jobs.txt"
    path.write_text("".join(lines))
    return path


def test_a_line_becomes_a_job(tmp_path):
    workload = read_workload(log(tmp_path, "# id submittime\n", "\n", line()))
    assert workload.table.to_dicts() == [
        {
            "job_id": "7",
            "submit_time": 0.0,
            "run_time": 300.0,
            "cores": 4,
            "machines": 1,
            "memory_bytes": 512 * MIB,
            "logged_wait": 60.0,
            "cpu_time": 30.125,
            "used_memory_bytes": 64 * MIB,
            "status": 1,
            "line": 3,
        }
    ]
    assert (workload.origin_unix_s, workload.notes, len(workload.rejected)) == (SUBMIT, (), 0)


@pytest.mark.parametrize(
    ("resources", "cores", "memory"),
    [
        ("CORES/2", 2, round(0.275 * 1024 * MIB)),
        ("{RAM/100 CORES/8}", 8, 100 * MIB),
        ("{}", 1, round(0.275 * 1024 * MIB)),
        ("{SCORES/3 VRAM/7 {a b} RAM/1.5}", 1, 3 * MIB // 2),
    ],
)
def test_cores_and_memory_stand_in_the_resources(tmp_path, resources, cores, memory):
    table = read_accelerator(log(tmp_path, line(resources=resources))).table
    assert table.select("cores", "memory_bytes").row(0) == (cores, memory)


def test_memory_that_is_not_asked_for_is_what_was_used_and_a_tenth_at_least_the_default(tmp_path):
    path = log(tmp_path, line(7, resources="{}"), line(8, resources="{}", rest="1 0 0 0 0"))
    workload = read_accelerator(path)
    # 1.1 x 256 MB = 0.275 GiB
    assert workload.table["memory_bytes"].to_list() == [round(0.275 * 1024 * MIB), None]
    assert workload.table["status"].to_list() == [1, 0]
    assert workload.notes[0] == "2 jobs ask for no memory (no RAM/): 1.1 times what they used is taken"
    given_ = read_workload(path, "accelerator:default_memory_gib=0.5")
    assert given_.table["memory_bytes"].to_list() == [512 * MIB] * 2


def test_jobs_that_never_ran_are_counted_and_others_keep_the_rules_of_the_jobs_csv(tmp_path):
    workload = read_accelerator(log(tmp_path, line(7, start=0, end=0), line(8, start=0), line(9)))
    assert workload.table.select("job_id", "run_time", "logged_wait").rows() == [("8", 360.0, 0.0), ("9", 300.0, 60.0)]
    assert workload.notes == (
        "1 job never ran (neither start nor end): left out",
        "1 job has no start time, or one before it was submitted: taken as started then",
    )


@pytest.mark.parametrize(
    ("bad", "job_id", "reason"),
    [
        (line(8, start="soon"), "8", "starttime is 'soon'; expected a number"),
        (line(8, submit=0), "8", "no submit time"),
        (line(8, end=SUBMIT + 30), "8", "it finished before it started"),
        (line(8, resources="CORES/0"), "8", "less than one core"),
        (line(8, resources="CORES/" + "9" * 5000), "8", "more cores or hosts than any machine has"),
        (line(8, resources="RAM/" + "9" * 15), "8", "more memory than any machine has"),
        (line(8, resources="{CORES/1"), "8", "a brace that does not close; expected text with blanks in { }"),
        (
            "8 1 2\n",
            "8",
            "3 values; expected 10: id, submittime, starttime, endtime, resources, exitstatus, maxram, maxvm, cputime, "
            "susptime",
        ),
    ],
)
def test_a_bad_line_is_rejected_and_the_others_are_kept(tmp_path, bad, job_id, reason):
    workload = read_accelerator(log(tmp_path, line(7), bad, line(9)))
    assert workload.table["job_id"].to_list() == ["7", "9"]
    assert workload.rejected.rows() == [(2, job_id, reason)]


def test_files_without_a_job_are_refused_in_one_sentence(tmp_path):
    for lines, told in {
        (): "the file is empty",
        ("\0",): "binary data",
        ("# none\n",): "no job; expected lines of 10 values",
        (line(start=0, end=0),): r"no job \(1 job never ran .*\); expected",
        ("hello\n",): "none of its 1 record can be used .first, line 1: 1 value; expected 10",
    }.items():
        with pytest.raises(InputError, match=told):
            read_accelerator(log(tmp_path, *lines))
    with pytest.raises(InputError, match="default_memory_gib is lots; expected GiB"):
        read_workload(log(tmp_path, line()), "accelerator:default_memory_gib=lots")


def test_it_is_told_by_its_content():
    assert recognises(f"# query\n{line()}".encode())
    assert not any(map(recognises, (b"", b"1 2 3\n", b"1 0 -1 60" + b" -1" * 14, b"a,b\n", b"\0")))


@given(st.lists(st.sampled_from(["7", "{", "}", "{}", "x", "nan", "inf", "-1", "1e400", "1714564800", "\n", "{a b}"])))
@settings(max_examples=150)
def test_any_text_makes_jobs_or_our_own_errors(words):
    with TemporaryDirectory() as folder, suppress(UnspoolError):
        assert len(read_accelerator(log(Path(folder), line(), " ".join(words)))) >= 1
