import errno
import gzip
import os

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspool.errors import InputError, RunError, UnknownName, UnspoolError
from unspool.model.workload import Workload
from unspool.workloads import read_workload
from unspool.workloads import swf as swf_module
from unspool.workloads.files import replaced
from unspool.workloads.swf import read_swf, write_swf

HEADER = """\
; Version: 2.2
; Computer: IBM SP2
;
; UnixStartTime: 835466400
; TimeZoneString: US/Pacific
; MaxNodes: 128 (of two kinds)
; MaxProcs: 1024
"""
JOB = "1 10 5 60 4 55.5 2048 8 90 1024 1 3 2 7 1 6 -1 -1"


def log(tmp_path, text, name="log.swf"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def fields(**changes):
    """JOB with some fields changed: f2="-1" sets field 2."""
    values = JOB.split()
    for name, value in changes.items():
        values[int(name[1:]) - 1] = value
    return " ".join(values)


def test_all_18_fields_have_their_column(tmp_path):
    workload = read_swf(log(tmp_path, HEADER + JOB + "\n2 20 5 60 4 55.5 2048 8 90 1024 1 3 2 7 1 6 1 30\n"))
    assert workload.table.rows(named=True)[1] == {
        "job_id": "2",
        "submit_time": 20.0,
        "run_time": 60.0,
        "cores": 8,
        "memory_bytes": 1024 * 1024 * 8,
        "walltime": 90.0,
        "user": "3",
        "group": "2",
        "queue": "1",
        "partition": "6",
        "application": "7",
        "depends_on": "1",
        "think_time": 30.0,
        "logged_wait": 5.0,
        "logged_cores": 4,
        "requested_cores": 8,
        "cpu_time": 55.5,
        "used_memory_bytes": 2048 * 1024,
        "status": 1,
        "line": 9,
    }


def test_the_header_tells_size_origin_and_time_zone(tmp_path):
    workload = read_swf(log(tmp_path, HEADER + JOB))
    assert (workload.max_cores, workload.max_machines) == (1024, 128)
    assert (workload.origin_unix_s, workload.time_zone) == (835466400.0, "US/Pacific")
    assert (workload.name, workload.notes, len(workload.rejected)) == ("log.swf", (), 0)


def test_a_header_in_latin_1_is_read(tmp_path):
    assert (
        read_swf(log(tmp_path, "; Note: Universität\n; MaxProcs: 8\n".encode("latin-1") + JOB.encode())).max_cores == 8
    )


def test_a_header_number_that_is_none_is_noted(tmp_path):
    workload = read_swf(log(tmp_path, f"; MaxProcs: many\n{JOB}"))
    assert workload.max_cores is None
    assert workload.notes == ("header MaxProcs is 'many', no number: ignored",)


@pytest.mark.parametrize(
    ("text", "cores"),
    [
        ("128 (64 x 2)", 128),
        ("100;", 100),
        ("100.", 100),
        ("100, of which 4 are for login", 100),
        ("128-way", 128),
        ("128.0", 128),
        ("1e3", 1000),
        ("2.5E+2 (about)", 250),
    ],
)
def test_a_header_number_may_have_words_behind_it(tmp_path, text, cores):
    workload = read_swf(log(tmp_path, f"; MaxProcs: {text}\n{JOB}"))
    assert (workload.max_cores, workload.notes) == (cores, ())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1,024", "no number"),
        ("1 024", "no number"),
        ("1'024", "no number"),
        ("12.345.678", "no number"),
        ("1k", "no number"),
        ("16x8", "no number"),
        ("16 x 8", "no number"),
        ("1e", "no number"),
        ("1.024", "no whole number"),
        ("1e-2", "no whole number"),
        ("1e13", "beyond any machine's"),
        ("1" * 20, "beyond any machine's"),
    ],
)
def test_a_header_number_is_not_taken_for_its_first_digits(tmp_path, text, why):
    workload = read_swf(log(tmp_path, f"; MaxProcs: {text}\n{JOB}"))
    assert workload.max_cores is None
    assert workload.notes == (f"header MaxProcs is '{text}', {why}: ignored",)


@pytest.mark.parametrize("text", ["0", "-1"])
def test_a_header_number_that_is_unknown_is_left_out(tmp_path, text):
    workload = read_swf(log(tmp_path, f"; MaxProcs: {text}\n; UnixStartTime: {text}\n{JOB}"))
    assert (workload.max_cores, workload.origin_unix_s, workload.notes) == (None, 0.0, ())


def test_a_log_may_begin_before_1970(tmp_path):
    workload = read_swf(log(tmp_path, f"; UnixStartTime: -100\n{JOB}"))
    assert (workload.origin_unix_s, workload.notes) == (-100.0, ())
    write_swf(workload, tmp_path / "back.swf")
    assert read_swf(tmp_path / "back.swf").origin_unix_s == -100.0


def test_a_start_time_that_is_a_date_is_noted(tmp_path):
    workload = read_swf(log(tmp_path, f"; UnixStartTime: 1996-06-22\n{JOB}"))
    assert workload.notes == ("header UnixStartTime is '1996-06-22', no number: ignored",)


def test_a_byte_order_mark_takes_no_line_away(tmp_path):
    mark = b"\xef\xbb\xbf"
    assert read_swf(log(tmp_path, mark + JOB.encode())).table["line"].to_list() == [1]
    assert read_swf(log(tmp_path, mark + f"; MaxProcs: 8\n{JOB}".encode())).max_cores == 8


def test_columns_unknown_throughout_are_absent(tmp_path):
    table = read_swf(log(tmp_path, "1 0 -1 60 4 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1")).table
    assert table.to_dicts() == [
        {"job_id": "1", "submit_time": 0.0, "run_time": 60.0, "cores": 4, "logged_cores": 4, "line": 1}
    ]


def test_cores_are_those_requested_else_those_given(tmp_path):
    text = "\n".join([fields(f1="1"), fields(f1="2", f8="-1"), fields(f1="3", f8="0"), fields(f1="4", f8="0", f5="-1")])
    workload = read_swf(log(tmp_path, text))
    assert workload.table["cores"].to_list() == [8, 4, 4]
    assert workload.rejected.rows() == [(4, "4", "no number of processors: neither field 8 nor field 5 is positive")]


@pytest.mark.parametrize("walltime", ["0", "-1"])
def test_a_walltime_that_is_not_positive_is_unknown(tmp_path, walltime):
    text = f"{fields(f1='1')}\n{fields(f1='2', f9=walltime)}"
    assert read_swf(log(tmp_path, text)).table["walltime"].to_list() == [90.0, None]


@pytest.mark.parametrize(
    ("line", "job_id", "reason"),
    [
        (fields(f1="-1"), None, "the job number is unknown (field 1 is -1)"),
        (fields(f1="-7"), "-7", "the job number is negative (field 1)"),
        (fields(f2="-1"), "1", "the submit time is unknown (field 2 is -1)"),
        (fields(f4="0"), "1", "the run time is unknown or not positive (field 4)"),
        (fields(f4="-1"), "1", "the run time is unknown or not positive (field 4)"),
        (fields(f4="1h"), "1", "field 4 (run_time) is '1h'; expected a number"),
        (fields(f4="nan"), "1", "field 4 (run_time) is 'nan'; expected a number"),
        (fields(f12="alice"), "1", "field 12 (user) is 'alice'; expected a number"),
        (fields(f8="2.5"), "1", "processors or status (fields 5, 8, 11) are no whole number"),
        (fields(f10="1e300"), "1", "the memory (fields 7 and 10) is beyond any machine's"),
        ("7 0 60", "7", "3 fields; expected the 18 of SWF, separated by blanks"),
        (JOB + " 1", "1", "19 fields; expected the 18 of SWF, separated by blanks"),
        (JOB + " ; late", "1", "20 fields; expected the 18 of SWF, separated by blanks"),
    ],
)
def test_a_record_that_cannot_be_used_is_rejected_with_line_and_reason(tmp_path, line, job_id, reason):
    workload = read_swf(log(tmp_path, f"; a comment\n\n{fields(f1='5')}\n{line}\n{fields(f1='6')}\n"))
    assert workload.table["job_id"].to_list() == ["5", "6"]
    assert workload.table["line"].to_list() == [3, 5]
    assert workload.rejected.rows() == [(4, job_id, reason)]


def test_values_below_minus_one_are_unknown_and_noted(tmp_path):
    workload = read_swf(log(tmp_path, f"{JOB}\n{fields(f1='2', f3='-5', f6='-2')}"))
    assert workload.table["logged_wait"].to_list() == [5.0, None]
    assert workload.notes == ("2 values below -1 are read as unknown: in cpu_time, logged_wait",)


def test_names_and_walltimes_below_minus_one_are_unknown_and_noted_too(tmp_path):
    below = fields(f1="2", f9="-2", f12="-2", f13="-3", f14="-4.5", f15="-5", f16="-6", f17="-7")
    workload = read_swf(log(tmp_path, f"{fields(f17='9')}\n{below}\n{fields(f1='3', f17='-7')}\n"))
    names = ("walltime", "user", "group", "application", "queue", "partition", "depends_on")
    assert workload.table.select(names).rows() == [
        (90.0, "3", "2", "7", "1", "6", "9"),
        (None,) * 7,
        (90.0, "3", "2", "7", "1", "6", None),
    ]
    assert workload.notes == (
        "8 values below -1 are read as unknown: in application, depends_on, group, partition, queue, user, walltime",
    )


def test_negative_names_are_numbered_when_written(tmp_path):
    jobs = pl.DataFrame({"job_id": ["-5", "3"], "submit_time": [0, 1], "run_time": [1, 1], "cores": [1, 1]})
    notes = write_swf(Workload.of(jobs), tmp_path / "out.swf")
    assert notes == ("job_id holds names: numbered from 1 in order of appearance",)
    assert read_swf(tmp_path / "out.swf").table["job_id"].to_list() == ["1", "2"]


def test_a_submit_time_below_minus_one_stops_the_reading(tmp_path):
    path = log(tmp_path, f"{JOB}\n{fields(f1='2', f2='-20')}")
    with pytest.raises(InputError, match=r"log\.swf, line 2: submit time is -20; expected 0 or more"):
        read_swf(path)


def test_two_jobs_with_one_number_stop_the_reading(tmp_path):
    with pytest.raises(InputError, match=r"job id '1' stands twice, in lines 1 and 2"):
        read_swf(log(tmp_path, f"{JOB}\n{JOB}"))


def test_a_job_may_depend_on_one_that_is_not_in_the_log(tmp_path):
    assert read_swf(log(tmp_path, fields(f17="99"))).table["depends_on"].to_list() == ["99"]


SIZES_NOTE = (
    "Fields 5 and 8 differ for 2 of 100 jobs; using the requested cores (field 8). "
    "Pass --format swf:size=allocated to use field 5."
)


def of_two_sizes(tmp_path, differing):
    """A hundred jobs that ask for 4 cores, of which the first ones were given 8."""
    return log(tmp_path, "\n".join(fields(f1=str(i), f5="8" if i < differing else "4", f8="4") for i in range(100)))


def test_a_note_says_which_size_is_used_where_more_than_a_hundredth_differ(tmp_path):
    assert read_workload(of_two_sizes(tmp_path, 1)).notes == ()
    workload = read_workload(of_two_sizes(tmp_path, 2))
    assert workload.notes == (SIZES_NOTE,)
    assert workload.table["cores"].to_list() == [4] * 100


@pytest.mark.parametrize(("size", "cores"), [("requested", 4), ("allocated", 8)])
def test_the_size_of_jobs_can_be_chosen(tmp_path, size, cores):
    workload = read_workload(of_two_sizes(tmp_path, 50), f"swf:size={size}")
    assert workload.table["cores"].to_list() == [cores] * 50 + [4] * 50
    assert workload.notes == ()
    assert workload.table["requested_cores"].to_list() == [4] * 100


def test_a_job_without_the_size_that_was_chosen_has_the_other(tmp_path):
    path = log(tmp_path, f"{fields(f1='1', f5='-1', f8='4')}\n{fields(f1='2', f5='8', f8='-1')}")
    for size in ("requested", "allocated"):
        assert read_workload(path, f"swf:size={size}").table["cores"].to_list() == [4, 8]


def test_another_size_is_refused(tmp_path):
    with pytest.raises(UnknownName, match="'largest'"):
        read_workload(log(tmp_path, JOB), "swf:size=largest")


def test_an_unsorted_log_is_sorted_with_a_note(tmp_path):
    workload = read_swf(log(tmp_path, f"{fields(f1='1', f2='9')}\n{fields(f1='2', f2='0')}"))
    assert workload.table["job_id"].to_list() == ["2", "1"]
    assert workload.notes == ("1 of 2 jobs stood before a job submitted earlier: sorted by submit time",)


@pytest.mark.parametrize("gap", [" ", "   ", "\t", " \t "])
@pytest.mark.parametrize("end", ["\n", "\r\n", "  \n", "\t\r\n"])
def test_any_blanks_separate_fields(tmp_path, gap, end):
    text = "".join(f"{start}{fields(f1=str(i))}{end}" for i, start in enumerate(["", "  ", "\t"], 1)).replace(" ", gap)
    plain = "".join(f"{fields(f1=str(i))}\n" for i in (1, 2, 3))
    given = read_swf(log(tmp_path, text)).table
    assert given.equals(read_swf(log(tmp_path, plain, "plain.swf")).table)


def test_lines_are_counted_across_blocks(tmp_path, monkeypatch):
    blocks = swf_module.read_blocks
    monkeypatch.setattr(swf_module, "read_blocks", lambda path: blocks(path, 100))
    lines = [fields(f1=str(i), f2=str(i), f16="-1" if i < 40 else "2") for i in range(50)]
    lines[20] = "; a comment in the midst"
    lines[30] = "broken"
    workload = read_swf(log(tmp_path, "\n".join(lines)))
    assert len(workload) == 48
    assert (
        workload.table["line"].cast(pl.String) == (workload.table["job_id"].cast(pl.Int64) + 1).cast(pl.String)
    ).all()
    assert workload.table["partition"].null_count() == 38
    assert workload.rejected["line"].to_list() == [31]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"log\.swf: the file is empty; expected one job a line"),
        (b"\n\n; only words\n", r"log\.swf: no records, only comments or blank lines"),
        (b"PK\x03\x04\0\0", r"log\.swf: binary data; expected lines of text"),
        (b"\x1f\x8b\x08\0broken", r"log\.swf: the gzip file is cut off or damaged"),
        (gzip.compress(JOB.encode() * 50, mtime=0)[:-9], r"log\.swf: the gzip file is cut off or damaged"),
        (JOB.replace(" ", ",").encode(), r"none of its 1 record .*line 1: 1 field; .*if it is CSV, name it \.csv"),
        (b"1 0 -1 0 1 -1 -1 1 1 -1 1 1 1 1 1 -1 -1 -1", r"none of its 1 record .*line 1: the run time is unknown"),
        (b"\xff\xfe\xfd what is this", r"none of its 1 record can be used .*check that it is an SWF log"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_one_sentence(tmp_path, content, message):
    with pytest.raises(InputError, match=message) as caught:
        read_swf(log(tmp_path, content))
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        read_swf(tmp_path / "absent.swf")
    with pytest.raises(InputError, match="is a folder"):
        read_swf(tmp_path)
    with pytest.raises(InputError, match="not a gzip file although it is named"):
        read_swf(log(tmp_path, JOB, "log.swf.gz"))


def test_writing_gives_18_numbers_and_the_header(tmp_path):
    jobs = pl.DataFrame(
        {"job_id": ["7"], "submit_time": [1.5], "run_time": [60.0], "cores": [4], "memory_bytes": [8192]}
    )
    notes = write_swf(
        Workload.of(jobs, origin_unix_s=86400.0, time_zone="UTC", max_cores=8, max_machines=2), tmp_path / "out.swf"
    )
    assert notes == ()
    assert (tmp_path / "out.swf").read_text().splitlines() == [
        "; Version: 2.2",
        "; MaxJobs: 1",
        "; MaxRecords: 1",
        "; UnixStartTime: 86400",
        "; TimeZoneString: UTC",
        "; MaxNodes: 2",
        "; MaxProcs: 8",
        "7 1.5 -1 60 -1 -1 -1 4 -1 2 -1 -1 -1 -1 -1 -1 -1 -1",
    ]


@pytest.mark.parametrize("requested", ["0", "-1"])
def test_a_request_that_was_not_there_is_not_written(tmp_path, requested):
    job = fields(f5="3", f8=requested)
    write_swf(read_swf(log(tmp_path, job)), tmp_path / "back.swf")
    assert (tmp_path / "back.swf").read_text().splitlines()[-1].split()[7] == requested


def test_names_are_numbered_and_what_swf_cannot_hold_is_noted(tmp_path):
    jobs = pl.DataFrame(
        {
            "job_id": ["a", "b", "c"],
            "submit_time": [0, 1, 2],
            "run_time": [1, 0, 1],
            "cores": [1, 1, 1],
            "gpus": [1, None, None],
            "user": ["zoe", "adam", "zoe"],
            "depends_on": [None, "a", "b,a"],
        }
    )
    notes = write_swf(Workload.of(jobs), tmp_path / "out.swf")
    assert notes == (
        "SWF has no field for gpus: left out",
        "1 job has run time 0, which SWF readers take for unknown",
        "1 job depends on several jobs, of which SWF holds one: the first is written",
        "job_id holds names: numbered from 1 in order of appearance",
        "user holds names: numbered from 1 in order of appearance",
    )
    assert [line.split()[k] for line in (tmp_path / "out.swf").read_text().splitlines()[-3:] for k in (0, 11, 16)] == [
        *("1", "1", "-1"),
        *("2", "2", "1"),
        *("3", "1", "2"),
    ]


def test_a_dependency_that_has_no_number_is_left_out_with_a_note(tmp_path):
    jobs = pl.DataFrame({"job_id": ["1"], "submit_time": [0], "run_time": [1], "cores": [1], "depends_on": ["setup"]})
    notes = write_swf(Workload.of(jobs), tmp_path / "out.swf")
    assert notes == ("1 job depends on a job that is not in the log: written without",)
    assert "depends_on" not in read_swf(tmp_path / "out.swf").table.columns


def test_an_existing_file_is_replaced_only_by_force(tmp_path):
    workload = read_swf(log(tmp_path, JOB))
    with pytest.raises(InputError, match="exists and is not overwritten"):
        write_swf(workload, tmp_path / "log.swf")
    write_swf(workload, tmp_path / "log.swf", force=True)
    assert (tmp_path / "log.swf").read_text().startswith("; Version: 2.2")
    assert [path.name for path in tmp_path.iterdir()] == ["log.swf"]


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path):
    workload = read_swf(log(tmp_path, JOB))
    (tmp_path / "link.swf").symlink_to("log.swf")
    write_swf(workload, tmp_path / "link.swf", force=True)
    assert (tmp_path / "link.swf").is_symlink()
    assert (tmp_path / "log.swf").read_text().startswith("; Version: 2.2")


def test_a_pipe_is_not_replaced_even_by_force(tmp_path):
    workload = read_swf(log(tmp_path, JOB))
    os.mkfifo(tmp_path / "pipe.swf")
    with pytest.raises(InputError, match="is a device, a pipe or a socket"):
        write_swf(workload, tmp_path / "pipe.swf", force=True)
    assert (tmp_path / "pipe.swf").is_fifo()


def test_a_disk_that_is_full_is_no_wrong_input(tmp_path):
    with (
        pytest.raises(RunError, match=r"cannot be written \(No space left on device\)"),
        replaced(tmp_path / "out.swf", force=False),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert not list(tmp_path.iterdir())


def test_writing_where_there_is_no_folder_is_refused(tmp_path):
    workload = read_swf(log(tmp_path, JOB))
    with pytest.raises(InputError, match="cannot be written"):
        write_swf(workload, tmp_path / "absent" / "log.swf")


def test_a_packed_log_reads_as_the_plain_one_and_is_the_same_bytes_each_time(tmp_path):
    workload = read_swf(log(tmp_path, HEADER + JOB))
    write_swf(workload, tmp_path / "a.swf.gz")
    write_swf(workload, tmp_path / "b.swf.gz")
    assert (tmp_path / "a.swf.gz").read_bytes() == (tmp_path / "b.swf.gz").read_bytes()
    assert read_swf(tmp_path / "a.swf.gz").table.equals(workload.table.with_columns(line=pl.lit(8, pl.Int64)))


seconds = st.integers(0, 10**7).map(float) | st.floats(0, 1e12)
counts = st.integers(0, 10**6)
sizes = st.integers(0, 2**50)
names = st.integers(0, 10**9).map(str)


@st.composite
def workloads(draw):
    def maybe(values):
        return draw(st.none() | values)

    rows = []
    for number in range(1, draw(st.integers(1, 8)) + 1):
        requested = maybe(st.integers(1, 10**6))
        given_cores = draw(st.integers(1, 10**6)) if requested is None else maybe(counts)
        rows.append(
            {
                "job_id": str(number * 7),
                "submit_time": draw(seconds),
                "run_time": draw(st.floats(1e-6, 1e9)),
                "cores": requested or given_cores,
                "memory_bytes": maybe(sizes),
                "walltime": maybe(st.floats(1e-3, 1e9)),
                "user": maybe(names),
                "group": maybe(names),
                "queue": maybe(names),
                "partition": maybe(names),
                "application": maybe(names),
                "depends_on": maybe(names),
                "think_time": maybe(seconds),
                "logged_wait": maybe(seconds),
                "logged_cores": given_cores,
                "requested_cores": requested,
                "cpu_time": maybe(seconds),
                "used_memory_bytes": maybe(sizes),
                "status": maybe(st.integers(0, 5)),
            }
        )
    table = pl.DataFrame(rows, infer_schema_length=None)
    origin = draw(st.integers(-(10**9), 2 * 10**9).filter(lambda seconds: seconds != -1))
    return Workload.of(table, origin_unix_s=float(origin), max_cores=maybe(st.integers(1, 10**9)))


@settings(max_examples=60)
@given(workloads())
def test_a_workload_written_and_read_is_the_same(tmp_path_factory, workload):
    path = tmp_path_factory.mktemp("swf") / "log.swf"
    assert write_swf(workload, path) == ()
    back = read_swf(path)
    known = [name for name in workload.table.columns if workload.table[name].count() and name != "line"]
    assert back.table.drop("line").to_dicts() == workload.table.select(known).to_dicts()
    assert (back.origin_unix_s, back.max_cores) == (workload.origin_unix_s, workload.max_cores)
    write_swf(back, path, force=True)
    assert read_swf(path).table.equals(back.table)


VALID = (HEADER + "\n".join(fields(f1=str(i), f2=str(i)) for i in range(1, 6))).encode()


@st.composite
def mutated(draw):
    data = bytearray(VALID)
    for _ in range(draw(st.integers(1, 8))):
        at = draw(st.integers(0, len(data)))
        data[at : at + draw(st.integers(0, 3))] = draw(
            st.binary(max_size=3) | st.sampled_from([b"\n", b" ", b"-", b"e9"])
        )
    return bytes(data)


@settings(max_examples=150)
@given(st.binary(max_size=300) | mutated() | st.text(alphabet="0123456789 .-+e\n;\t", max_size=300).map(str.encode))
def test_whatever_a_file_holds_it_is_read_or_refused(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("fuzz") / "log.swf"
    path.write_bytes(data)
    try:
        workload = read_swf(path)
    except UnspoolError:
        return
    lines = [line for line in data.split(b"\n") if line.strip(b" \t\r\v\f")]
    records = [line for line in lines if not line.lstrip(b" \t\r\v\f").startswith(b";")]
    assert len(workload) + len(workload.rejected) == len(records)


def test_quotes_mean_nothing_in_a_log(tmp_path):
    workload = read_swf(log(tmp_path, f'{JOB}\n2 " 3\n{fields(f1="3")}\n'))
    assert workload.table["job_id"].to_list() == ["1", "3"]
    assert workload.rejected["line"].to_list() == [2]
