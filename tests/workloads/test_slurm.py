"""What sacct prints, read: logs small enough to check on paper."""

import gzip
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspool.errors import InputError, UnspoolError
from unspool.workloads import read_workload, write_workload
from unspool.workloads.slurm import POSITIONAL, read_sacct, recognises
from unspool.workloads.slurm_records import STATES

GIB = 1 << 30
JOB = {
    "State": "COMPLETED", "JobID": "100", "ReqCPUS": "4", "ReqMem": "2Gc", "ReqNodes": "1", "Constraints": "",
    "Submit": "2024-05-01T08:00:00", "Eligible": "2024-05-01T08:01:00", "Start": "2024-05-01T08:05:00",
    "Elapsed": "00:10:00", "Suspended": "00:00:00", "End": "2024-05-01T08:15:00", "ExitCode": "0:0",
    "DerivedExitCode": "0:0", "AllocNodes": "2", "NCPUS": "8", "MaxDiskRead": "", "MaxDiskWrite": "", "MaxPages": "",
    "MaxRSS": "", "MaxVMSize": "", "CPUTime": "01:20:00", "UserCPU": "01:07.402", "SystemCPU": "01:03.182",
    "TotalCPU": "02:10.584", "Partition": "long",
}  # fmt: skip
UTC = "dates have no time zone: taken as UTC"


def line(fields=POSITIONAL, **changes):
    """A record of the fields, those of JOB with some changed."""
    return "|".join({**JOB, **changes}.get(name, "") for name in fields)


def log(tmp_path, *lines, name="sacct.txt"):
    path = tmp_path / name
    path.write_bytes("".join(f"{text}\n" for text in lines).encode())
    return path


def read(tmp_path, *lines):
    return read_sacct(log(tmp_path, *lines))


def named(tmp_path, *jobs, **more):
    """The jobs of a log with a header of the positional fields and those that are given."""
    fields = [*POSITIONAL, *dict.fromkeys(name for job in jobs for name in job if name not in POSITIONAL)]
    return read(tmp_path, "|".join(fields), *(line(fields, **job) for job in jobs), **more)


def column(workload, name):
    return dict(workload.table.select("job_id", name).rows()) if name in workload.table.columns else {}


def test_every_field_has_its_column(tmp_path):
    more = {
        "User": "ann", "Group": "chem", "Account": "proj", "QOS": "high", "Timelimit": "1-00:00:00", "JobName": "a.sh",
        "Priority": "4294", "Licenses": "matlab:2", "AllocTRES": "billing=8,cpu=8,gres/gpu=2,mem=20G,node=2",
    }  # fmt: skip
    workload = named(tmp_path, more, {"JobID": "100.batch", "MaxRSS": "800K"})
    assert workload.table.rows(named=True) == [
        {
            "job_id": "100",
            "submit_time": 60.0,
            "ineligible_time": 60.0,
            "run_time": 600.0,
            "cores": 8,
            "machines": 2,
            "memory_bytes": 20 * GIB,
            "gpus": 2,
            "walltime": 86400.0,
            "licences": "matlab:2",
            "user": "ann",
            "group": "chem",
            "project": "proj",
            "queue": "long",
            "application": "a.sh",
            "priority": 4294.0,
            "qos": "high",
            "logged_wait": 240.0,
            "logged_cores": 8,
            "requested_cores": 4,
            "cpu_time": 130.584 / 8,
            "used_memory_bytes": 800 * 1024 // 8,
            "status": 1,
            "line": 2,
        }
    ]
    assert workload.origin_unix_s == 1714550400.0  # 2024-05-01T08:00:00Z
    assert workload.name == "sacct.txt"
    unused = [name for name in POSITIONAL if name in {"ReqNodes", "Constraints", "Suspended", "CPUTime"}]
    assert workload.notes[0] == UTC
    assert all(name in workload.notes[1] for name in unused)


def test_without_a_header_the_fields_are_told_by_their_place(tmp_path):
    with_partition = read(tmp_path, "# a comment", "", line())
    assert with_partition.table["queue"].to_list() == ["long"]
    assert with_partition.table["line"].to_list() == [3]
    without = read(tmp_path, line(POSITIONAL[:-1]))
    assert "queue" not in without.table.columns
    assert with_partition.notes == without.notes == (UTC,)


@pytest.mark.parametrize("fields", [POSITIONAL, POSITIONAL[:-1]])
@pytest.mark.parametrize("has_header", [True, False])
def test_a_bar_at_the_end_of_each_line_changes_nothing(tmp_path, fields, has_header):
    lines = [*(["|".join(fields)] if has_header else []), line(fields), line(fields, JobID="101")]
    plain = read(tmp_path, *lines)
    assert read(tmp_path, *(f"{text}|" for text in lines)).table.rows() == plain.table.rows()
    assert len(plain) == 2


def test_steps_are_merged_into_their_jobs_and_the_largest_memory_counts(tmp_path):
    workload = read(
        tmp_path,
        line(JobID="100.0", MaxRSS="914944K"),
        line(JobID="100"),
        line(JobID="846_0", NCPUS="1"),
        line(JobID="846_1", NCPUS="1"),
        line(JobID="900+1", NCPUS="1"),
        line(JobID="100.batch", MaxRSS="114944K"),
        line(JobID="846_0.batch", MaxRSS="1M"),
        line(JobID="846_0.0", MaxRSS="2M"),
        line(JobID="846_0.extern", MaxRSS=""),
        line(JobID="900+1.batch", MaxRSS="4096"),
    )
    assert column(workload, "used_memory_bytes") == {
        "100": 914944 * 1024 // 8, "846_0": 2 << 20, "846_1": None, "900+1": 4096,
    }  # fmt: skip


def test_steps_without_their_job_are_counted(tmp_path):
    workload = read(tmp_path, line(), line(JobID="7.batch"), line(JobID="7.0"), line(JobID="8.0", State="RUNNING"))
    assert workload.table["job_id"].to_list() == ["100"]
    assert workload.notes == (UTC, "3 steps of 2 jobs not in the log: left out")


@pytest.mark.parametrize(
    ("text", "size"),
    [("2Gc", 16 * GIB), ("4Gn", 8 * GIB), ("100M", 100 << 20), ("1.5T", 3 * GIB * 512), ("0", 0), ("0n", 0)],
)
def test_requested_memory_is_that_of_all_cores_or_machines(tmp_path, text, size):
    workload = read(tmp_path, line(ReqMem=text))
    assert (workload.table["memory_bytes"].to_list(), workload.notes) == ([size], (UTC,))


def test_memory_without_a_unit_is_bytes_and_that_is_said(tmp_path):
    workload = read(tmp_path, line(ReqMem="4096"), line(JobID="101", ReqMem=""))
    assert workload.table["memory_bytes"].to_list() == [4096, None]
    assert workload.notes == (UTC, "1 job has a ReqMem without a unit: read as bytes")


def test_what_was_allocated_goes_before_what_was_asked_for(tmp_path):
    workload = named(
        tmp_path,
        {"JobID": "1", "AllocTRES": "cpu=8,mem=40G,node=1,gres/gpu=3,gres/gpu:a100=3", "ReqTRES": "mem=9G,gres/gpu=1"},
        {"JobID": "2", "AllocTRES": "", "ReqTRES": "cpu=8,mem=9000M,gres/gpu=1"},
        {"JobID": "3", "AllocTRES": "cpu=8,gres/gpu:a100=1,gres/gpu:v100=2", "ReqTRES": "cpu=8"},
    )
    assert column(workload, "memory_bytes") == {"1": 40 * GIB, "2": 9000 << 20, "3": 16 * GIB}
    assert column(workload, "gpus") == {"1": 3, "2": 1, "3": 3}


def test_jobs_that_did_not_run_to_an_end_are_counted_not_listed(tmp_path):
    workload = read(
        tmp_path,
        line(JobID="1", State="CANCELLED by 55", Start="None"),
        line(JobID="2", State="CANCELLED by 66", Start="Unknown", NCPUS="0"),
        line(JobID="3", State="CANCELLED", NCPUS="0", AllocNodes="0"),
        line(JobID="4", State="CANCELLED by 55"),
        line(JobID="5_[1-9%2]", State="PENDING", Start="Unknown", End="Unknown"),
        line(JobID="6", State="RUNNING", End="Unknown"),
        line(JobID="7", State="NODE_FAIL"),
        line(JobID="8", State="SUSPENDED", End="Unknown"),
        line(JobID="9", State="RESIZING"),
        line(JobID="10", State="DEADLINE", Start="None"),
    )
    assert column(workload, "status") == {"4": 5, "9": None}
    assert len(workload.rejected) == 0
    assert workload.notes == (
        UTC,
        "left out, as they did not run to an end: 3 CANCELLED before they started, 1 DEADLINE before they started, "
        "1 NODE_FAIL, 1 PENDING, 1 RUNNING, 1 SUSPENDED",
    )


def test_parts_of_heterogeneous_jobs_are_counted(tmp_path):
    ids = ("100+0", "100+1", "200+0", "200+1", "200+2", "300+0", "400", "500_1")
    note = "5 jobs are parts of 2 heterogeneous jobs (ids such as 100+0); each part starts on its own"
    assert read(tmp_path, *(line(JobID=job) for job in ids)).notes == (UTC, note)


def test_states_are_numbered_as_in_swf(tmp_path):
    workload = read(tmp_path, *(line(JobID=str(i), State=state) for i, state in enumerate(STATES)))
    found = {list(STATES)[int(job)]: status for job, status in column(workload, "status").items()}
    assert found == {
        "COMPLETED": 1, "FAILED": 0, "TIMEOUT": 0, "OUT_OF_MEMORY": 0, "DEADLINE": 0, "CANCELLED": 5,
        "SUSPENDED": None, "RESIZING": None,
    }  # fmt: skip
    assert len(workload.rejected) == 0


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"State": "INVALIDX"}, "State is 'INVALIDX'; expected one of Slurm's, such as COMPLETED"),
        ({"State": ""}, "State is empty; expected one of Slurm's, such as COMPLETED"),
        ({"JobID": ""}, "JobID is empty; expected the number of a job"),
        ({"Submit": "soon"}, "Submit is 'soon'; expected a date with a time such as 2024-05-01T12:30:00"),
        ({"Eligible": "Unknown"}, "Eligible is 'Unknown'; expected a date with a time such as 2024-05-01T12:30:00"),
        ({"Start": "None"}, "Start is 'None'; expected a date with a time such as 2024-05-01T12:30:00"),
        ({"End": "2024-02-30T00:00:00"}, "End is '2024-02-30T00:00:00'; expected a date with a time such as "
         "2024-05-01T12:30:00"),
        ({"Elapsed": "long", "End": "2024-05-01T08:00:00"}, "Elapsed is 'long'; expected a date after Start"),
        ({"NCPUS": "0"}, "NCPUS is '0'; expected a whole number of cores, 1 or more"),
        ({"NCPUS": "1.5"}, "NCPUS is '1.5'; expected a whole number of cores, 1 or more"),
        ({"AllocNodes": "two"}, "AllocNodes is 'two'; expected a whole number of machines"),
        ({"ReqMem": "lots"}, "ReqMem is 'lots'; expected a size such as 4G, 2Gc or 4Gn"),
        ({"NCPUS": "9" * 15}, "cores, machines or GPUs are beyond any cluster's"),
        ({"ReqMem": "9999999P"}, "the memory is beyond any machine's"),
        ({"Elapsed": "999999999:00:00"}, "a duration is beyond any log's"),
    ],
)  # fmt: skip
def test_records_that_cannot_be_used_are_told_with_line_and_reason(tmp_path, changes, reason):
    workload = read(tmp_path, line(), line(**{"JobID": "7", **changes}), line(JobID="8"))
    assert workload.table["job_id"].to_list() == ["100", "8"]
    assert workload.rejected.rows() == [(2, changes.get("JobID", "7") or None, reason)]


def test_lines_of_another_width_are_rejected(tmp_path):
    workload = read(tmp_path, line(), line(JobID="7") + "|x|y", line(JobID="8")[:40], line(JobID="9"))
    assert workload.table["job_id"].to_list() == ["100", "9"]
    assert workload.rejected.rows() == [
        (2, "7", "28 fields; expected 26, as in the other lines"),
        (3, "8", "7 fields; expected 26, as in the other lines"),
    ]


HEADER = "|".join(POSITIONAL)


def test_records_that_end_before_the_partition_are_read_without_it(tmp_path):
    short = [line(JobID=str(job)).rpartition("|")[0] for job in range(3)]
    workload = read(tmp_path, HEADER, short[0], line(), *short[1:])
    assert column(workload, "queue") == {"0": None, "100": "long", "1": None, "2": None}
    assert workload.table["line"].to_list() == [2, 3, 4, 5]
    assert len(workload.rejected) == 0
    assert "3 records have fewer fields than the header; the missing last fields are empty" in workload.notes


def test_a_record_may_lack_up_to_three_fields_that_no_job_needs(tmp_path):
    lines = [line(JobID=str(lost)).rsplit("|", lost)[0] for lost in range(5)]
    workload = read(tmp_path, *lines)
    assert workload.table["job_id"].to_list() == ["0", "1", "2", "3"]
    assert workload.rejected.rows() == [(5, "4", "22 fields; expected 26, as in the other lines")]
    assert "3 records have fewer fields than the other records; the missing last fields are empty" in workload.notes


def test_a_record_without_a_field_that_every_job_needs_is_rejected(tmp_path):
    fields = ("JobID", "State", "Submit", "Start", "NCPUS", "Elapsed")
    workload = read(tmp_path, "|".join(fields), line(fields), line(fields, JobID="7").rpartition("|")[0])
    assert workload.rejected.rows() == [(3, "7", "5 fields; expected 6, as in the header")]


@pytest.mark.parametrize("name", ["sacct.txt", "sacct.txt.gz"])
def test_a_last_line_that_is_cut_off_is_rejected_unless_others_are_as_short(tmp_path, name):
    def jobs(*lines):
        text = "\n".join(lines).encode()
        path = tmp_path / name
        path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
        return read_sacct(path)

    cut = line(JobID="7")[: -len("84|long")]  # in the middle of TotalCPU
    workload = jobs(HEADER, line(), cut)
    assert workload.table["job_id"].to_list() == ["100"]
    assert workload.rejected.rows() == [(3, "7", "25 fields; expected 26, as in the header")]
    short = line(JobID="8").rpartition("|")[0]
    assert jobs(HEADER, short, cut).table["job_id"].to_list() == ["8", "7"]
    assert jobs(HEADER, line(), short, "").table["job_id"].to_list() == ["100", "8"]


def test_what_follows_a_shorter_header_is_not_read_under_the_first(tmp_path):
    fields = POSITIONAL[:-2] + POSITIONAL[-1:]
    workload = read(tmp_path, HEADER, line(), line(JobID="7").rpartition("|")[0], "|".join(fields), line(fields))
    assert workload.table["job_id"].to_list() == ["100", "7"]
    assert workload.rejected["line"].to_list() == [4, 5]


def test_names_with_bars_are_rejected_as_before_beside_short_records(tmp_path):
    fields = (*POSITIONAL[:-1], "JobName", "Partition")
    whole = {"JobName": "a.sh"}
    lines = [line(fields, **whole), line(fields, JobID="7", JobName="a|b"), line(fields, JobID="8").rpartition("|")[0]]
    workload = read(tmp_path, "|".join(fields), *lines)
    assert workload.table["job_id"].to_list() == ["100", "8"]
    assert workload.rejected.rows() == [(3, "7", "28 fields; expected 27, as in the header")]


def test_blocks_do_not_change_which_records_are_short(tmp_path, monkeypatch):
    short = [line(JobID=str(job)).rpartition("|")[0] for job in range(8)]
    path = log(tmp_path, HEADER, line(), *short)
    monkeypatch.setattr("unspool.workloads.files.read_blocks.__defaults__", (300,))
    assert len(read_sacct(path)) == 9


def test_of_a_job_that_ran_again_the_last_run_counts(tmp_path):
    later = {"Start": "2024-05-01T09:00:00", "End": "2024-05-01T10:00:00", "Elapsed": "01:00:00"}
    first = line(State="FAILED")
    for lines in ([line(**later), first], [first, line(**later)], [line(State="PREEMPTED"), first, line(**later)]):
        workload = read(tmp_path, *lines)
        assert workload.table["run_time"].to_list() == [3600.0]
        assert "1 earlier run of a job that ran again (requeued): left out, the last run counts" in workload.notes


def test_with_a_header_few_columns_will_do(tmp_path):
    fields = ["End", "AllocCPUS", "JobIDRaw", "Submit", "Start"]
    text = line(fields, AllocCPUS="4", JobIDRaw="7")
    workload = read(tmp_path, "|".join(fields), text, "|".join(fields), text.replace("|7|", "|8|"))
    jobs = workload.table.select("job_id", "submit_time", "run_time", "cores", "logged_wait", "line")
    assert jobs.rows() == [("7", 0.0, 600.0, 4, 300.0, 2), ("8", 0.0, 600.0, 4, 300.0, 4)]
    assert workload.notes == (UTC, "no column State: every record is taken for a job that ran to its end")


def test_raw_fields_are_seconds_and_minutes(tmp_path):
    fields = ["JobID", "State", "Submit", "Start", "ElapsedRaw", "TimelimitRaw", "NCPUS"]
    text = line(fields, ElapsedRaw="600", TimelimitRaw="60")
    assert read(tmp_path, "|".join(fields), text).table.select("run_time", "walltime").rows() == [(600.0, 3600.0)]


def test_dates_may_say_their_zone_or_be_seconds_since_1970(tmp_path):
    dates = {"Eligible": "1714550460", "Submit": "2024-05-01T10:00:00+02:00", "Start": "2024-05-01T08:05:00Z"}
    workload = read(tmp_path, line(**dates))
    assert workload.table.select("submit_time", "ineligible_time", "logged_wait").rows() == [(60.0, 60.0, 240.0)]
    assert (workload.origin_unix_s, workload.notes) == (1714550400.0, ())


def test_odd_values_are_mended_and_counted(tmp_path):
    workload = named(
        tmp_path,
        {"JobID": "1", "Start": "2024-05-01T08:00:30", "Timelimit": "UNLIMITED", "AllocNodes": "0"},
        {"JobID": "2", "Eligible": "2024-05-01T07:59:00", "Timelimit": "a while", "Elapsed": "INVALID"},
        {"JobID": "2.0", "MaxRSS": "much"},
    )
    assert column(workload, "logged_wait") == {"1": 0.0, "2": 360.0}
    assert column(workload, "submit_time") == {"1": 120.0, "2": 0.0}
    assert column(workload, "ineligible_time") == {"1": 60.0, "2": 0.0}
    assert column(workload, "machines") == {"1": 1, "2": 2}
    assert column(workload, "walltime") == {}
    assert column(workload, "run_time") == {"1": 600.0, "2": 600.0}
    assert {
        "1 job started before it was eligible: its logged wait is 0",
        "1 job was eligible before it was submitted: taken as submitted then",
        "1 value of Elapsed is no duration: End - Start is taken",
        "1 value of Timelimit or TotalCPU is no duration: ignored",
        "1 value of MaxRSS is no size: ignored",
    } < set(workload.notes)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "the file is empty; expected one job a line"),
        (b"\0\1\2", "binary data; expected lines of text"),
        (b"# nothing\n\n", "only comments or blank lines; expected lines of sacct --parsable2"),
        (b"JobID|State|Submit|Start|End|NCPUS\n", "no jobs, only the names of columns"),
        (b"JobID|State|Start|End|NCPUS\n1|x|x|x|1\n", "no column Submit or Eligible; the file has JobID, State, Start"),
        (b"JobID|Submit|State|End|NCPUS\n", "no column Elapsed, nor Start beside End"),
        (b"  JobID  State\n------ -----\n", "no bars between the fields of its first line"),
        (b"COMPLETED|1|4\n", "3 fields in its first line and no names; expected the 26 from State to Partition"),
        (line(State="X").encode(), "none of its records can be used: 1 is rejected (first, line 1: State is 'X'"),
        (line(State="PENDING").encode(), "none of its jobs ran to an end (1 PENDING)"),
        (line(JobID="1.0").encode(), "only steps of 1 job, and not the job"),
    ],
)
def test_files_that_cannot_be_used_are_refused_in_one_sentence(tmp_path, content, sentence):
    path = tmp_path / "sacct.txt"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_workload(path, "slurm")
    assert sentence in str(error.value)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["sacct.txt", "log", "sacct.csv", "sacct.log"])
@pytest.mark.parametrize(
    "lines", [[line()], ["JobID|Submit|Start|End|NCPUS", line(["JobID", "Submit", "Start", "End", "NCPUS"])]]
)
def test_the_content_tells_the_format_whatever_the_name(tmp_path, name, lines):
    path = log(tmp_path, *lines, name=name)
    assert read_workload(path).table["job_id"].to_list() == ["100"]
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read_workload(packed).table["job_id"].to_list() == ["100"]


def test_other_files_are_not_taken_for_it():
    assert recognises(line(State="ODD").encode())
    assert recognises(f"{line()[:60]}\n{line()}\n".encode())
    for other in (b"", b"a|b", b"JobID,State,Submit", b"JobID State", b"; comment", b"\0|" * 30):
        assert not recognises(other)


def test_it_can_only_be_read(tmp_path):
    with pytest.raises(InputError, match="slurm is only read, not written; choose one of swf, "):
        write_workload(read(tmp_path, line()), tmp_path / "out", "slurm")


JOBS = st.lists(
    st.fixed_dictionaries(
        {
            "State": st.sampled_from(["COMPLETED", "FAILED", "RUNNING", "CANCELLED by 5"]),
            "NCPUS": st.integers(1, 64).map(str),
            "Elapsed": st.sampled_from(["00:00:01", "1-02:03:04", "10:00"]),
            "ReqMem": st.sampled_from(["", "1Gc", "2Gn", "3G"]),
            "steps": st.lists(st.sampled_from(["", "1K", "2M", "10G", "512"]), max_size=4),
        }
    ),
    min_size=1,
    max_size=6,
)  # fmt: skip


def records(jobs):
    for at, job in enumerate(jobs):
        job_id = f"{at}_{at}" if at % 2 else f"{at}"
        yield {**job, "JobID": job_id, "Eligible": f"2024-05-01T08:{at + 1:02}:00"}
        yield from ({"JobID": f"{job_id}.{n}", "MaxRSS": rss} for n, rss in enumerate(job["steps"]))


@settings(max_examples=50)
@given(jobs=JOBS, order=st.randoms(use_true_random=False), block=st.sampled_from([300, 1 << 23]))
def test_neither_the_order_of_lines_nor_that_of_columns_matters(tmp_path_factory, jobs, order, block):
    folder = tmp_path_factory.mktemp("slurm")
    lines = list(
        records([{"State": "COMPLETED", "steps": [], "NCPUS": "1", "Elapsed": "00:00:01", "ReqMem": ""}, *jobs])
    )
    fields = list(POSITIONAL)
    plain = read_sacct(log(folder, *(line(**each) for each in lines)))
    order.shuffle(lines)
    order.shuffle(fields)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("unspool.workloads.files.read_blocks.__defaults__", (block,))
        shuffled = read_sacct(log(folder, "|".join(fields), *(line(fields, **each) for each in lines)))
    assert shuffled.table.drop("line").rows() == plain.table.drop("line").rows()
    assert shuffled.table.drop("line").columns == plain.table.drop("line").columns


@settings(max_examples=100)
@given(
    text=st.lists(
        st.sampled_from([*JOB.values(), *POSITIONAL, "|", "\n", "#", "x", "None", "é", "9" * 30, "1-1:1:1"]),
        max_size=60,
    ),
    has_header=st.booleans(),
)
def test_whatever_a_file_holds_only_our_own_errors_are_raised(tmp_path_factory, text, has_header):
    head = "|".join(POSITIONAL) + "\n" if has_header else ""
    path = tmp_path_factory.mktemp("slurm") / "sacct.txt"
    path.write_text(head + "|".join(text) + "\n" + line() + "\n")
    with suppress(UnspoolError):
        read_sacct(path)
