import gzip
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspool.errors import InputError, UnknownName, UnspoolError
from unspool.workloads import read_workload, write_workload
from unspool.workloads.lsf import read_lsf, recognises

MIB = 1 << 20
SUBMIT = 1714564800


def quoted(text):
    return '"' + text.replace('"', '""') + '"'


def listed(*items):
    return [str(len(items)), *items]


def record(job=7, rest=(), **changes):
    """A JOB_FINISH record: 4 slots on two hosts, submitted at 0, started at 60, finished at 360, 300 s of run time.

    `rest` are the fields after the last one that every record has.
    """
    says = {
        "type": "JOB_FINISH",
        "version": "10.1",
        "finish": SUBMIT + 360,
        "submit": SUBMIT,
        "start": SUBMIT + 60,
        "asked_slots": 4,
        "user": "ann",
        "queue": "normal",
        "command": "sleep 300",
        "hosts": listed(*map(quoted, ("h1", "h1", "h2", "h2"))),
        "status": 64,
        "usage": ["100.0", "20.0"],
        "project": "physics",
        "slots": 4,
        "index": 0,
        "used_kb": 2048,
        "app": "",
        "host_usage": ["0"],
        "request": "select[type == any] rusage[mem=4096.00:swp=1]",
        "run_time": 300,
        "alloc": listed(*map(quoted, ("h1", "h1", "h2", "h2"))),
        "ineligible": 20,
        **changes,
    }
    s = quoted
    fields = [
        *(s(says["type"]), s(says["version"]), says["finish"], job, 1000, 33554438, says["asked_slots"]),
        *(says["submit"], 0, 0, says["start"], s(says["user"]), s(says["queue"])),
        *(s(""), s(""), s(""), s("login"), s("/home/ann"), s(""), s(""), s(""), s("7.job")),
        *(*listed(s("h1")), *says["hosts"], says["status"], "60.0", s("name"), s(says["command"])),
        *(*says["usage"], *["-1"] * 17, s(""), s(says["project"]), 0, says["slots"], s(""), s("")),
        *(says["index"], says["used_kb"], 0, s(""), s(""), s(""), s(""), 0, s(""), 0, s(""), -1),
        *(s("/ann"), s(""), s(says["app"]), s(""), -1, s(""), s(""), 5136, s(""), SUBMIT + 60, s(""), s("")),
        *(2, 1032, s("0"), 1033, s("0"), *says["host_usage"], 0, 0, 2048, s(says["request"])),
        *(s(""), -1, s(""), -1, 0, s(""), 0, 0, s(""), says["run_time"], s(""), 0, s("")),
        *("0.0", "0.00", "0.00", "0.00", "0.00", *says["alloc"], says["ineligible"], *rest),
    ]
    return " ".join(map(str, fields)) + "\n"


def log(tmp_path, *records, name="lsb.acct"):
    path = tmp_path / name
    path.write_text("".join(records))
    return path


def test_a_record_becomes_a_job(tmp_path):
    workload = read_workload(log(tmp_path, record()))
    assert workload.table.to_dicts() == [
        {
            "job_id": "7",
            "submit_time": 20.0,
            "ineligible_time": 20.0,
            "run_time": 300.0,
            "cores": 4,
            "machines": 2,
            "memory_bytes": 4 * MIB,
            "user": "ann",
            "project": "physics",
            "queue": "normal",
            "logged_wait": 40.0,
            "cpu_time": 30.0,
            "used_memory_bytes": MIB // 2,
            "status": 1,
            "line": 1,
        }
    ]
    assert (workload.origin_unix_s, workload.notes, len(workload.rejected)) == (SUBMIT, (), 0)


def test_a_line_that_is_not_utf_8_is_read_as_latin_1(tmp_path):
    path = tmp_path / "lsb.acct"
    path.write_bytes(record(7, user="Jürgen").encode("latin-1") + record(8, user="Zoë").encode())
    workload = read_lsf(path)
    assert workload.table["user"].to_list() == ["Jürgen", "Zoë"]
    assert workload.notes == ("1 line is not UTF-8: read as Latin-1",)


@pytest.mark.parametrize(
    ("changes", "column", "value"),
    [
        ({"index": 3}, "job_id", "7[3]"),
        ({"command": 'echo "a b" "" c'}, "job_id", "7"),
        ({"command": "first\nsecond\n"}, "job_id", "7"),
        ({"status": 32}, "status", 0),
        ({"app": "matlab"}, "application", "matlab"),
        ({"run_time": 250}, "run_time", 250.0),
        ({"run_time": -1}, "run_time", 300.0),
        ({"ineligible": -1}, "logged_wait", 60.0),
        ({"hosts": ["0"], "alloc": ["0"], "host_usage": [*listed('"h3"'), "1", "2", "3", "4"]}, "machines", 1),
        ({"hosts": listed('"2*h1"', '"h2"', '"h3"')}, "machines", 3),
        ({"hosts": [], "alloc": listed('"h1"', '"h2"', '"h3"')}, "machines", 3),
        ({"host_usage": ["2", '"h1"', *"1234", '"h2"', *"1234"]}, "run_time", 300.0),
        ({"host_usage": ["2", '"h1"', *"12345", '"h2"', *"12345"]}, "run_time", 300.0),
        ({"host_usage": ["1", '"h1"', *"12345"]}, "memory_bytes", 4 * MIB),
        ({"slots": 0}, "cores", 4),
        ({"slots": '""', "asked_slots": 3}, "cores", 3),
        ({"request": "rusage[mem=2GB] rusage[mem=1]"}, "memory_bytes", 2048 * MIB),
        ({"request": "rusage[ngpus=1,mem=512M]"}, "memory_bytes", 512 * MIB),
        ({"request": "select[maxmem>4] rusage[tmpmem=9]"}, "memory_bytes", 2 * MIB),
        ({"rest": ["0"]}, "run_time", 300.0),
        ({"rest": [*listed("1 5 1"), "0"]}, "run_time", 300.0),
        ({"rest": ["0", "0", "1", '"h1"', "2", '"k" "v"', '"k" "v"', "0", "1", '"k"', '"v"']}, "run_time", 300.0),
        ({"version": "10.11", "rest": ["0", "0", "0", "0", "0", "5", '"x"', "7"]}, "run_time", 300.0),
    ],
)
def test_every_variant_of_a_record_is_read(tmp_path, changes, column, value):
    workload = read_lsf(log(tmp_path, record(**changes), record(8)))
    assert workload.rejected.rows() == []
    assert workload.table[column].to_list()[0] == value
    assert len(workload) == 2


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"version": "7.06"}, "version '7.06'; expected 10, as in 10.1"),
        ({"user": "ann", "submit": "soon"}, "field 8 (submitTime) is soon; expected a number"),
        ({"submit": 0}, "no submit time"),
        ({"slots": "1e400"}, "maxNumProcessors is '1e400'; expected a number below 1e+15"),
        ({"slots": "-x"}, "maxNumProcessors is '-x'; expected a number below 1e+15"),
        ({"slots": 10**13}, "more cores or hosts than any machine has"),
        ({"request": f"rusage[mem={'9' * 400}]"}, "more memory than any machine has"),
        ({"finish": SUBMIT + 30, "run_time": -1}, "it finished before it started"),
        ({"slots": 0, "asked_slots": 0}, "less than one core"),
        ({"rest": ["0", "0", "0", "0", "0", "5"]}, "1 field is left over at the end; expected none in this version"),
        (
            {"rest": ["0", "0", "0", "0", "0", "5", "6", "7"]},
            "3 fields are left over at the end; expected none in this version",
        ),
        (
            {"version": "10.11", "rest": ["0", "0", "0", "0", "0", "5"]},
            "1 field is left over at the end; expected none in this version",
        ),
        ({"rest": ["2", "1", "5", "1"]}, "the record ends within indexRange, of which there are 2; it is cut off"),
    ],
)
def test_a_bad_record_is_rejected_and_the_others_are_kept(tmp_path, changes, reason):
    workload = read_lsf(log(tmp_path, record(8), record(9, **changes), record(10)))
    assert workload.table["line"].to_list() == [1, 3]
    assert workload.rejected.rows() == [(2, "9", reason)]


def test_records_that_are_cut_off_do_not_take_others_along(tmp_path):
    cut = record(8, command="said nothing")
    path = log(tmp_path, record(7), cut[: cut.index("nothing")] + "\n", record(9), record(10)[:-40])
    workload = read_lsf(path)
    assert workload.table["job_id"].to_list() == ["7", "9"]
    assert workload.rejected["line"].to_list() == [2, 4]
    assert workload.rejected["reason"].to_list() == [
        'quotes that do not close, or stand inside a field; expected "text" and numbers',
        "the record ends before gips; it is cut off, or of another version",
    ]


def test_what_is_no_job_is_counted_in_notes(tmp_path):
    other = '"EVENT_ADRSV_FINISH" "10.1" 1714564800 "x"\n'
    path = log(
        tmp_path,
        *("#80\n", "\n", other, other, '"JOB_RESIZE" "10.1" 1714564800 7\n'),
        record(7, start=0, run_time=0),
        record(8, request="", hosts=["0"], alloc=["0"]),
    )
    workload = read_lsf(path)
    assert workload.table.select("job_id", "line", "machines", "memory_bytes").rows() == [("8", 7, 1, 2 * MIB)]
    assert workload.notes == (
        "1 job never ran: left out",
        "1 job names no execution host: taken as one",
        "1 job asks for no memory (no mem= in rusage[]): what it used is taken",
        "records of other types are skipped: 2 EVENT_ADRSV_FINISH, 1 JOB_RESIZE",
    )


def test_a_folder_is_read_in_the_order_of_its_numbers(tmp_path):
    log(tmp_path, record(10), record(11, submit=0), name="lsb.acct.10")
    log(tmp_path, record(2), name="lsb.acct.2")
    log(tmp_path, record(1), name="lsb.acct")
    log(tmp_path, name="lsb.acct.3")
    log(tmp_path, "no log\n", name="lsb.events")
    workload = read_workload(tmp_path)
    assert workload.table.select("job_id", "line").rows() == [("1", 1), ("2", 2), ("10", 3)]
    assert workload.rejected.rows() == [(2, "11", "lsb.acct.10: no submit time")]
    assert workload.notes == ("1 file is empty",)


def test_an_id_that_comes_again_is_another_job(tmp_path):
    workload = read_lsf(log(tmp_path, record(7), record(7, submit=SUBMIT + 30)))
    assert workload.table["job_id"].to_list() == ["7", "7#2"]
    assert workload.notes == ("1 job has the id of an earlier one: marked #2, #3 and so on",)


@pytest.mark.parametrize(
    ("format", "size"),
    [
        ("lsf", 4 * MIB),
        ("lsf:memory_per_slot=true", 16 * MIB),
        ("lsf:unit=MB", 4096 * MIB),
        ("lsf:memory_per_slot=true,unit=mb", 4 * 4096 * MIB),
    ],
)
def test_memory_per_slot_and_its_unit_are_options(tmp_path, format, size):
    assert read_workload(log(tmp_path, record()), format).table["memory_bytes"].to_list() == [size]


def test_a_job_that_asks_for_no_memory_gets_the_default_at_least(tmp_path):
    path = log(tmp_path, record(7, request=""), record(8, request="", used_kb=-1), record(9))
    assert read_lsf(path).table["memory_bytes"].to_list() == [2 * MIB, None, 4 * MIB]
    assert read_lsf(path, default_memory_gib=0.5).table["memory_bytes"].to_list() == [512 * MIB, 512 * MIB, 4 * MIB]


def test_wrong_options_and_files_are_told_in_one_sentence(tmp_path):
    path = log(tmp_path, record())
    for format, told in {
        "lsf:unit=stone": "unknown unit of LSF memory 'stone'",
        "lsf:units=MB": "unknown option of the format lsf 'units'; did you mean 'unit'?",
        "lsf:memory_per_slot=4": "memory_per_slot is 4; expected true or false",
        "lsf:default_memory_gib=-1": "default_memory_gib is -1; expected GiB, 0 or more",
    }.items():
        with pytest.raises(InputError) as refused:
            read_workload(path, format)
        assert str(refused.value).startswith(told)
    with pytest.raises(UnknownName):
        read_workload(path, "lsv")
    with pytest.raises(InputError, match=r"out\.txt: lsf is only read, not written; choose one of swf, "):
        write_workload(read_lsf(path), tmp_path / "out.txt", "lsf")


def test_files_without_a_job_are_refused_in_one_sentence(tmp_path):
    empty = tmp_path / "folder"
    empty.mkdir()
    with pytest.raises(InputError, match=r"is a folder without records in an lsb\.acct"):
        read_lsf(empty)
    for records, told in {
        (): "the file is empty",
        ("\0",): "binary data",
        ("# nothing\n",): "no job that ran; expected JOB_FINISH records",
        (record(start=0, run_time=0),): r"no job that ran \(found: 1 job never ran: left out\)",
        ('"JOB_NEW" "10.1" 1\n',): r"no job that ran \(found: 1 JOB_NEW\)",
        ("nonsense\n",): "none of its 1 record can be used .first, line 1: field 1 .type. is nonsense",
    }.items():
        with pytest.raises(InputError, match=told):
            read_lsf(log(tmp_path, *records))


def test_it_is_told_by_its_content_packed_or_not(tmp_path):
    packed = tmp_path / "old.gz"
    packed.write_bytes(gzip.compress(record().encode()))
    assert read_workload(packed).table["job_id"].to_list() == ["7"]
    assert recognises(b'"EVENT_ADRSV_FINISH" "10.1" 1 "x"\n')
    assert not any(map(recognises, (b"", b'"a","b"\n', b'{"a": 1}', b"; SWF")))


@given(st.data())
@settings(max_examples=150)
def test_any_damage_makes_jobs_or_our_own_errors(data):
    fields = record(rest=["0", "0", "0"]).split(" ")
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(fields) - 1))
        fields[at : at + data.draw(st.integers(0, 2))] = data.draw(
            st.lists(
                st.sampled_from(["0", "-1", "999999", '"', '""', "x", '"a b"', "1e400", "nan", "\n", ""]), max_size=2
            )
        )
    with TemporaryDirectory() as folder, suppress(UnspoolError):
        assert len(read_lsf(log(Path(folder), record(8), " ".join(fields), "\n", record(9)))) >= 1
