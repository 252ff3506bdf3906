import csv
import gzip
import os
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspool.errors import InputError, UnspoolError
from unspool.workloads import files, lines, read_workload, recodexcells
from unspool.workloads.recodex import JOB_IDS, REF_COLUMNS, JobFile, read_jobs, read_recodex, read_refs, shared_ids

CASES = Path(os.environ.get("UNSPOOL_CASES", Path(__file__).parents[3] / "shared" / "cases")) / "dispatch"
JOB = {
    "submission_id": "j",
    "solution_id": "s",
    "group_id": "g",
    "tlgroup_id": "t",
    "exercise_id": "e",
    "runtime_id": "r",
    "worker_group_id": "default",
    "user_id": "u",
    "spawn_ts": "100",
    "end_ts": "110",
    "limits": "10",
    "cpu_time": "0",
    "correctness": "0.5",
    "compilation_ok": "1",
    "duration": "3",
}
REF = {name: JOB[name] for name in REF_COLUMNS}
LATE = ", before that of the line above; sort the rows by spawn_ts"
IDS = ("submission", "solution", "group", "tlgroup", "exercise", "runtime", "user")


def text_of(rows, base=JOB):
    """A file with a line for each dict: `base` but for what it says, in the order of `base`."""
    whole = [{**base, **row} for row in rows]
    names = list(dict.fromkeys(name for row in whole for name in row))
    return "".join(
        ";".join(cells) + "\n" for cells in [names, *([row.get(name, "") for name in names] for row in whole)]
    )


def log(tmp_path, *rows, base=JOB, name="data.csv"):
    path = tmp_path / name
    data = text_of(rows, base).encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def case(name):
    path = CASES / name
    if not path.exists():
        pytest.skip(f"the cases are not here: no dispatch/{name} under UNSPOOL_CASES")
    return path


def test_a_job_has_its_columns_under_our_names(tmp_path):
    workload = read_workload(log(tmp_path, {}, {"submission_id": "k", "limits": "0", "compilation_ok": "0"}))
    assert workload.table.to_dicts() == [
        {
            "job_id": "j",
            "submit_time": 0.0,
            "run_time": 3.0,
            "cores": 1,
            "walltime": 10.0,
            "user": "u",
            "group": "g",
            "project": "t",
            "queue": "default",
            "application": "e",
            "logged_wait": 7.0,
            "status": 1,
            "line": 2,
        },
        {
            "job_id": "k",
            "submit_time": 0.0,
            "run_time": 3.0,
            "cores": 1,
            "walltime": None,
            "user": "u",
            "group": "g",
            "project": "t",
            "queue": "default",
            "application": "e",
            "logged_wait": 7.0,
            "status": 0,
            "line": 3,
        },
    ]
    assert (workload.origin_unix_s, workload.notes) == (100.0, ())


def test_the_dispatchers_columns_are_numbers_by_first_appearance(tmp_path):
    rows = [
        {"submission_id": "j1", "exercise_id": "b", "spawn_ts": "5", "worker_group_id": "long"},
        {"submission_id": "j2", "exercise_id": "a", "spawn_ts": "5.25", "cpu_time": "1", "compilation_ok": "true"},
        {"submission_id": "j1", "exercise_id": "b", "spawn_ts": "1e1", "limits": "60.2", "compilation_ok": "1.0"},
    ]
    jobs = read_jobs(log(tmp_path, *rows))
    assert jobs.spawn.tolist() == [5.0, 5.25, 10.0]
    assert (jobs.submission.tolist(), jobs.exercise.tolist(), jobs.user.tolist()) == ([1, 2, 1], [1, 2, 1], [1, 1, 1])
    assert jobs.texts["exercise"].to_list() == ["b", "a"]
    assert (jobs.worker_group, jobs.line.tolist()) == (["long", "default", "default"], [2, 3, 4])
    assert (jobs.cpu_time.tolist(), jobs.compilation_ok.tolist()) == ([False, True, False], [True, False, False])
    assert (jobs.limits.tolist(), len(jobs)) == ([10.0, 10.0, 60.2], 3)


def test_shared_numbers_begin_with_those_of_the_reference_runs(tmp_path):
    refs = read_refs(log(tmp_path, {"exercise_id": "x"}, {"exercise_id": "y"}, base=REF, name="refs.csv"))
    jobs = read_jobs(log(tmp_path, {"exercise_id": "z"}, {"exercise_id": "y", "submission_id": "k"}))
    assert (refs.exercise.tolist(), jobs.exercise.tolist()) == ([1, 2], [1, 2])
    refs, jobs = shared_ids(refs, jobs)
    assert (refs.exercise.tolist(), jobs.exercise.tolist()) == ([1, 2], [3, 2])
    assert refs.texts["exercise"].to_list() == jobs.texts["exercise"].to_list() == ["x", "y", "z"]
    assert (refs.submission.tolist(), jobs.submission.tolist(), jobs.group.tolist()) == ([1, 1], [1, 2], [1, 1])


def test_columns_stand_in_any_order_and_others_are_named_in_a_note(tmp_path):
    base = {"colour": "red", **dict(reversed(JOB.items()))}
    workload = read_workload(log(tmp_path, {}, base=base, name="data.csv.gz"))
    assert workload.table["run_time"].to_list() == [3.0]
    assert workload.notes == ("columns that are not used: colour",)


def test_a_log_may_leave_out_when_jobs_ended(tmp_path):
    base = {name: cell for name, cell in JOB.items() if name != "end_ts"}
    path = log(tmp_path, {}, base=base)
    assert "logged_wait" not in read_workload(path).table.columns
    assert np.isnan(read_jobs(path).end).all()
    assert np.isnan(read_jobs(log(tmp_path, {"end_ts": ""})).end).all()


@pytest.mark.parametrize(("end", "wait"), [("110", 7.0), ("102", 0.0), ("99", None)])
def test_the_logged_wait_is_what_is_left_of_the_turnaround(tmp_path, end, wait):
    workload = read_recodex(log(tmp_path, {"end_ts": end}, {"submission_id": "k"}))
    assert workload.table["logged_wait"].to_list() == [wait, 7.0]


def test_repeated_ids_are_marked_in_a_workload_and_one_number_for_a_dispatcher(tmp_path):
    path = log(tmp_path, {}, {}, {"submission_id": "k"})
    assert read_recodex(path).table["job_id"].to_list() == ["j", "j#2", "k"]
    assert read_jobs(path).submission.tolist() == [1, 1, 2]


def test_no_more_rows_than_the_limit_are_read_or_checked(tmp_path):
    path = log(tmp_path, {}, {"spawn_ts": "101"}, {"spawn_ts": "50"}, {"limits": ""})
    path.write_text(path.read_text() + "short;row\n")
    assert read_jobs(path, limit=2).spawn.tolist() == [100.0, 101.0]
    with pytest.raises(InputError, match="line 4: spawn_ts is 50, before"):
        read_jobs(path, limit=3)
    with pytest.raises(InputError, match="a limit of 0 leaves no job; expected 1 or more"):
        read_jobs(path, limit=0)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([{}, {"limits": ""}], "line 3: limits is empty; expected a number, 0 or more"),
        ([{}, {"duration": "soon"}], "line 3: duration is 'soon'; expected a number, 0 or more"),
        ([{"duration": "-1"}], "line 2: duration is '-1'; expected a number, 0 or more"),
        ([{"duration": "nan"}], "line 2: duration is 'nan'; expected a number, 0 or more"),
        ([{"spawn_ts": "inf"}], "line 2: spawn_ts is 'inf'; expected seconds, 0 or more, with a point for decimals"),
        ([{"correctness": "1,5"}], "line 2: correctness is '1,5'; expected a number"),
        ([{"user_id": ""}], "line 2: user_id is empty; expected a text"),
        ([{"cpu_time": ""}], "line 2: cpu_time is empty; expected 1 for true, or another text"),
        ([{}, {"duration": ""}, {"limits": "x"}], "line 3: duration is empty; expected a number, 0 or more"),
        ([{}, {"spawn_ts": "99.5"}], f"line 3: spawn_ts is 99.5{LATE}"),
    ],
)  # fmt: skip
def test_a_wrong_cell_is_refused_with_its_line(tmp_path, rows, says):
    path = log(tmp_path, *rows)
    for read in (read_jobs, read_workload):
        with pytest.raises(InputError) as caught:
            read(path)
        assert str(caught.value) == f"{path}, {says}"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (";".join(JOB) + "\n", ": no jobs, only the names of columns; expected one job a line"),
        (text_of([{}]) + "\na;b\n", ", line 4: 2 cells; expected 15, as in the first line"),
        (text_of([{"duration": "3;4"}]), ", line 2: 16 cells; expected 15, as in the first line"),
        (
            text_of([{}]).replace("limits", "limit"),
            ", line 1: no column limits; expected it among the names, between semicolons",
        ),
        (text_of([{}]).replace("end_ts", "limits"), ", line 1: column limits stands twice; leave one out"),
        (
            text_of([{}]).replace(";", ","),
            ", line 1: no semicolons; expected the names of columns between semicolons",
        ),
        ("\n\n", ": only blank lines; expected the names of the columns, then one row a line"),
        ("", ": the file is empty; expected one job a line"),
        (text_of([{}, {"user_id": 'a"b'}]), ", line 3: a quote that neither begins nor ends a cell; remove it"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_a_sentence(tmp_path, text, says):
    path = tmp_path / "data.csv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_jobs(path)
    assert str(caught.value) == f"{path}{says}"


def test_rows_out_of_order_are_found_across_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(files.read_blocks, "__defaults__", (200,))
    path = log(tmp_path, *({"spawn_ts": str(at), "exercise_id": f"e{at % 3}"} for at in range(100, 140)))
    assert read_jobs(path).exercise.tolist() == [at % 3 + 1 for at in range(40)]
    path.write_text(path.read_text() + text_of([{"spawn_ts": "120"}]).splitlines()[1] + "\n")
    with pytest.raises(InputError, match="line 42: spawn_ts is 120, before"):
        read_jobs(path)


def test_reference_runs_may_stand_in_any_order(tmp_path):
    refs = read_refs(log(tmp_path, {"spawn_ts": "9"}, {"spawn_ts": "5", "compilation_ok": "0"}, base=REF))
    assert (refs.spawn.tolist(), refs.compilation_ok.tolist(), len(refs)) == ([9.0, 5.0], [True, False], 2)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("badfloat", ", line 2: limits is empty; expected a number, 0 or more"),
        ("empty", ": no jobs, only the names of columns; expected one job a line"),
        ("nocol", ", line 1: no column duration; expected it among the names, between semicolons"),
        ("shortrow", ", line 2: 13 cells; expected 15, as in the first line"),
        ("unsorted", ", line 3: spawn_ts is 50, before that of the line above; sort the rows by spawn_ts"),
    ],
)
def test_malformed_cases_are_refused(name, says):
    path = case(f"edge/{name}.csv")
    with pytest.raises(InputError) as caught:
        read_jobs(path)
    assert str(caught.value) == f"{path}{says}"


@pytest.mark.parametrize(("name", "spawn"), [("zero", [0, 0, 0, 5, 9]), ("tick", [100, 160, 220])])
def test_odd_cases_are_read(name, spawn):
    path = case(f"edge/{name}.csv")
    assert read_jobs(path).spawn.tolist() == spawn
    workload = read_workload(path)
    assert (workload.table["submit_time"] + workload.origin_unix_s).to_list() == spawn


@pytest.mark.parametrize(
    "name",
    [
        "data/release01-data-sample.csv", "data/derived-sample-dense200.csv", "data/release01-clustered_jobs.csv.gz",
        "synthetic/synthetic-100k-load1.csv.gz", "edge/tiny-jobs.csv",
    ],
)  # fmt: skip
def test_logs_are_read_as_plain_python_reads_them(name):
    path = case(name)
    with gzip.open(path, "rt") if path.name.endswith(".gz") else path.open() as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    jobs = read_jobs(path)
    for ours, theirs in (("spawn", "spawn_ts"), ("duration", "duration"), ("limits", "limits")):
        assert getattr(jobs, ours).tolist() == [float(row[theirs]) for row in rows]
    assert jobs.correctness.tolist() == [float(row["correctness"]) for row in rows]
    assert jobs.compilation_ok.tolist() == [row["compilation_ok"] == "1" for row in rows]
    for column in IDS:
        numbers = {}
        plain = [numbers.setdefault(row[f"{column}_id"], len(numbers) + 1) for row in rows]
        assert (getattr(jobs, column).tolist(), jobs.texts[column].to_list()) == (plain, list(numbers))
    workload = read_workload(path)
    assert (workload.table["submit_time"] + workload.origin_unix_s).to_list() == jobs.spawn.tolist()


SECONDS = st.floats(0, 4e9, allow_nan=False) | st.integers(0, 2_000_000_000).map(float)
WORD = st.text("abcdef0123456789 -_.é", min_size=1, max_size=6)


@given(st.lists(st.tuples(SECONDS, SECONDS, SECONDS, WORD, WORD, st.sampled_from("01")), min_size=1, max_size=12))
@settings(max_examples=60)
def test_what_is_written_is_read_to_the_last_bit(jobs):
    jobs.sort(key=lambda job: job[0])
    names = ("spawn_ts", "duration", "limits", "user_id", "exercise_id", "compilation_ok")
    rows = [
        dict(zip(names, (repr(cell) if isinstance(cell, float) else cell for cell in job), strict=True)) for job in jobs
    ]
    with TemporaryDirectory() as folder:
        path = log(Path(folder), *rows)
        found, workload = read_jobs(path), read_workload(path)
    assert [*zip(found.spawn.tolist(), found.duration.tolist(), found.limits.tolist(), strict=True)] == [
        job[:3] for job in jobs
    ]
    assert [found.texts["user"][number - 1] for number in found.user.tolist()] == [job[3] for job in jobs]
    assert [found.texts["exercise"][number - 1] for number in found.exercise.tolist()] == [job[4] for job in jobs]
    assert found.compilation_ok.tolist() == [job[5] == "1" for job in jobs]
    assert (workload.table["submit_time"] + workload.origin_unix_s).to_list() == [job[0] for job in jobs]


@given(st.binary(max_size=200), st.integers(0, 250))
@settings(max_examples=150)
def test_any_bytes_are_read_or_refused_with_our_own_error(noise, at):
    data = text_of([{}, {"submission_id": "k"}]).encode()
    with TemporaryDirectory() as folder:
        path = Path(folder, "data.csv")
        path.write_bytes(data[:at] + noise + data[at:])
        with suppress(UnspoolError):
            read_jobs(path)
        with suppress(UnspoolError):
            read_recodex(path)


CELL = st.sampled_from(
    ["", " ", "5", " 5", "5 ", "+5", "-1", "-0", ".5", "5.", "1e3", "1E3", "1e400", "0x5", "1_0", "1,5", "nan", "inf",
     "NaN", "Infinity", "true", "x", "é", "5;6", "00012", "0.1234567890123456789", "4e-320", "\t7", '"8"', "9\r", "\n"]
) | st.floats(0, 1e18).map(repr) | st.decimals(0, 10**9, places=20).map(str)  # fmt: skip


@given(
    st.lists(st.tuples(st.sampled_from([name for name in JOB if name != "spawn_ts"]), CELL), max_size=3),
    st.sampled_from([None, "colour", "end_ts", "user_id"]),
    st.sampled_from([None, 2]),
)
@settings(max_examples=300)
def test_a_block_read_in_one_go_is_as_if_it_was_cut_into_texts(wrong, last, limit):
    base = {name: cell for name, cell in JOB.items() if name != last}
    base |= {} if last is None else {last: JOB.get(last, "red")}
    rows = [{"spawn_ts": "7"}, *({name: cell} if name in base else {} for name, cell in wrong), {"spawn_ts": "1e4"}]

    def told(path, ids=IDS):
        try:
            found = read_jobs(path, limit, ids)
        except InputError as error:
            return str(error)
        numbers = [getattr(found, name).tolist() for name in ("spawn", "duration", "limits", "correctness")]
        flags = [found.cpu_time.tolist(), found.compilation_ok.tolist(), found.line.tolist(), found.notes]
        return [numbers, repr(found.end.tolist()), flags, found.exercise.tolist(), found.texts["exercise"].to_list()]

    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = log(Path(folder), *rows, base=base)
        in_one_go, few = told(path), told(path, ["exercise"])
        patch.setattr(recodexcells, "_even_cells", lambda *_: None)
        assert in_one_go == few == told(path)


def numbers_of(logs):
    """All columns of logs, one behind the other."""
    names = ("spawn", "duration", "limits", "correctness", "cpu_time", "compilation_ok", "line")
    found = [[value for log in logs for value in getattr(log, name).tolist()] for name in names]
    return found + [[number for log in logs for number in log.ids[name].tolist()] for name in JOB_IDS]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abcdef"), st.sampled_from(["u", "v", "é"])), min_size=1),
    st.lists(st.sampled_from("axc"), max_size=3),
    st.integers(150, 900),
    st.sampled_from([None, 1, 7]),
    st.sampled_from([("data.csv", "\n"), ("data.csv", "\r\n"), ("data.csv.gz", "\n")]),
    st.booleans(),
)
@settings(max_examples=100)
def test_the_pieces_of_a_file_make_up_the_whole(rows, known, block_bytes, limit, form, ends):
    (name, newline), now, given_rows = form, 0, []
    for at, (gap, exercise, user) in enumerate(rows):
        now += gap
        given_rows.append({"submission_id": f"j{at}", "spawn_ts": str(now), "exercise_id": exercise, "user_id": user})
    text = ("\ufeff" + text_of(given_rows).rstrip("\n") + "\n" * ends).replace("\n", newline)
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder, name)
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        whole, file = read_jobs(path, limit), JobFile(path, limit)
        if known:
            refs = read_refs(log(Path(folder), *({"exercise_id": of} for of in known), base=REF, name="refs.csv"))
            whole, file = whole.after(refs), file.after(refs)
        patch.setattr(files.read_blocks, "__defaults__", (block_bytes,))
        assert numbers_of(list(file.pieces())) == numbers_of([whole])


def test_ids_that_nobody_asked_for_are_not_there_but_are_looked_at(tmp_path):
    path = log(tmp_path, {}, {"spawn_ts": "200", "exercise_id": "f"})
    few = read_jobs(path, ids=["exercise"])
    assert (few.exercise.tolist(), list(few.texts)) == ([1, 2], ["exercise"])
    for name in ("user", "worker_group"):
        with pytest.raises(AttributeError, match=f"the column {name}_id of data.csv was not read"):
            getattr(few, name)
    whole = few.whole()
    assert (whole.user.tolist(), whole.worker_group, whole.whole() is whole) == ([1, 1], ["default"] * 2, True)
    with pytest.raises(InputError, match="line 2: user_id is empty; expected a text"):
        read_jobs(log(tmp_path, {"user_id": ""}), ids=["exercise"])


def test_a_log_that_has_changed_since_is_not_completed(tmp_path):
    few = read_jobs(log(tmp_path, {}), ids=["exercise"])
    log(tmp_path, {}, {})
    with pytest.raises(InputError, match="changed while it was in use"):
        few.whole()


@given(st.lists(st.sampled_from(["", "a", "bc;", ";", "d"]), max_size=30), st.integers(1, 9))
def test_marks_are_counted_as_bytes_are_whatever_is_taken_at_once(cells, at_once):
    text = "\n".join(cells).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_AT_ONCE", at_once)
        marks, newlines = lines.count_marks(text, b";"), lines.count_marks(text)
    assert (marks.separators, marks.newlines) == (text.count(b";"), text.count(b"\n"))
    assert marks.has_blank == (b"\n\n" in b"\n" + text)
    assert marks.has_empty == any(part in b"\n" + text for part in (b";;", b";\n", b"\n;", b"\n\n"))
    assert newlines == (marks.newlines, 0, marks.has_blank, marks.has_blank)
