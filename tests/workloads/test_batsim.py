import json
import os
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspool.errors import InputError, InputErrors, UnspoolError
from unspool.model.profile import (
    Delay,
    ForkJoin,
    HomogeneousTask,
    Merge,
    Receive,
    Send,
    Sequence,
    Staging,
    StorageTask,
    Task,
    Trace,
)
from unspool.workloads import read_workload
from unspool.workloads.batsim import read_batsim, recognises

CASES = Path(os.environ.get("UNSPOOL_CASES", Path(__file__).parents[3] / "shared" / "cases")) / "batsim"
NAP = {"type": "delay", "delay": 5}
JOB = {"id": "1", "subtime": 0, "res": 1, "walltime": 10, "profile": "nap"}


def saved(tmp_path, content, name="w.json"):
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def file_of(*jobs, nb_res=4, **profiles):
    return {"nb_res": nb_res, "jobs": list(jobs), "profiles": profiles or {"nap": NAP}}


def problem(tmp_path, content, **options):
    with pytest.raises(InputError) as raised:
        read_batsim(saved(tmp_path, content), **options)
    return str(raised.value).removeprefix(f"{tmp_path}/")


def profile_problem(tmp_path, **fields):
    """What is said of a profile `p` with these fields."""
    said = problem(tmp_path, file_of(p=fields))
    assert said.startswith("w.json, line 1, profile p: ")
    return said.removeprefix("w.json, line 1, profile p: ")


def profile(tmp_path, **fields):
    return read_batsim(saved(tmp_path, file_of(nap=NAP, p=fields))).profiles["p"]


def test_jobs_come_by_subtime_and_then_by_id_as_text(tmp_path):
    jobs = [{**JOB, "id": 2}, {**JOB, "id": 10}, {**JOB, "id": "b", "subtime": -5}, {**JOB, "id": "a", "subtime": -3.5}]
    workload = read_batsim(saved(tmp_path, file_of(*jobs)))
    assert workload.table.select("job_id", "submit_time", "line").rows() == [
        ("b", 0.0, 1), ("a", 0.0, 2), ("10", 0.0, 3), ("2", 0.0, 4)
    ]  # fmt: skip
    assert workload.notes == ("2 jobs have a subtime below 0: submitted at once, at 0",)


def test_a_job_has_as_many_machines_and_cores_as_res(tmp_path):
    workload = read_batsim(saved(tmp_path, file_of({**JOB, "res": 3, "walltime": -1}, {**JOB, "id": 2})))
    assert workload.table.to_dicts() == [
        {"job_id": "1", "submit_time": 0.0, "run_time": 5.0, "cores": 3, "machines": 3, "walltime": None,
         "profile": "nap", "line": 1},
        {"job_id": "2", "submit_time": 0.0, "run_time": 5.0, "cores": 1, "machines": 1, "walltime": 10.0,
         "profile": "nap", "line": 2},
    ]  # fmt: skip
    assert (workload.name, workload.max_machines, workload.profiles) == ("w.json", 4, {"nap": Delay(5.0)})


def test_free_fields_are_kept_and_some_have_a_meaning(tmp_path):
    free = {"user": 7, "queue": "q", "priority": 3, "licenses": {"matlab": 2, "ansys": 1}, "dependencies": [1, "w0!b"],
            "must_be_local": True, "extra": {"id": 5, "x": [1, None]}, "extra_data": "{}"}  # fmt: skip
    jobs = [JOB, {**JOB, "id": "b"}, {**JOB, "id": "c", **free}, {**JOB, "id": "d", "priority": "high", "user": None}]
    workload = read_batsim(saved(tmp_path, file_of(*jobs)))
    row = workload.table.to_dicts()[2]
    assert json.loads(row.pop("details")) == free
    assert {name: row[name] for name in ("user", "queue", "priority", "licences", "depends_on")} == {
        "user": "7", "queue": "q", "priority": 3.0, "licences": "matlab:2,ansys:1", "depends_on": "1,b"
    }  # fmt: skip
    assert workload.table["details"].to_list()[3] == '{"priority":"high","user":null}'
    assert workload.notes == (
        "1 job has user in a form that has no meaning here: kept, but not used",
        "1 job has priority in a form that has no meaning here: kept, but not used",
    )


def test_free_fields_with_a_meaning_are_read_the_fast_way_too(tmp_path):
    jobs = [{**JOB, "user": "ann", "extra_data": {"a": 1}}, {**JOB, "id": "2"}]
    workload = read_batsim(saved(tmp_path, file_of(*jobs)))
    assert workload.table.select("user", "details").rows() == [
        ("ann", '{"user":"ann","extra_data":{"a":1}}'), (None, None)
    ]  # fmt: skip


def test_a_job_without_machines_is_rejected_with_its_line(tmp_path):
    text = json.dumps(file_of(JOB, {**JOB, "id": "none", "res": 0}), indent=1)
    workload = read_batsim(saved(tmp_path, text))
    line = next(number for number, each in enumerate(text.split("\n"), 1) if '"none"' in each)
    assert workload.table["job_id"].to_list() == ["1"]
    assert workload.rejected.rows() == [
        (line - 1, "none", "res is 0; expected a machine or more, for a job that has none cannot be placed")
    ]


def test_a_file_may_have_no_jobs(tmp_path):
    assert len(read_batsim(saved(tmp_path, file_of()))) == 0


def test_times_may_lie_as_far_ahead_as_batsim_takes_them(tmp_path):
    workload = read_batsim(saved(tmp_path, file_of({**JOB, "subtime": 1e17})))
    assert workload.table["submit_time"].to_list() == [1e17]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"type": "delay", "delay": 2.5, "ret": 3}, Delay(2.5, code=3)),
        ({"type": "delay", "delay": 1, "np": 4}, Delay(1.0, details={"np": 4})),
        ({"type": "DelayProfile", "delay": 1}, Delay(1.0)),
        ({"type": "parallel", "cpu": [1, 0], "com": [0, 2, 3, 0]}, Task((1.0, 0.0), (0.0, 2.0, 3.0, 0.0))),
        ({"type": "msg_par", "cpu": [1], "com": [0]}, Task((1.0,), (0.0,))),
        ({"type": "ParallelTaskProfile", "cpu": [1, 2]}, Task((1.0, 2.0), (0.0,) * 4)),
        ({"type": "ParallelTaskProfile", "com": [0, 1, 2, 3]}, Task((0.0, 0.0), (0.0, 1.0, 2.0, 3.0))),
        ({"type": "parallel_homogeneous", "cpu": 1e9, "com": 0}, HomogeneousTask(1e9, 0.0)),
        ({"type": "msg_par_hg", "cpu": 1, "com": 2}, HomogeneousTask(1.0, 2.0)),
        ({"type": "parallel_homogeneous_total", "cpu": 1, "com": 2}, HomogeneousTask(1.0, 2.0, "total-v4")),
        ({"type": "msg_par_hg_tot", "cpu": 1, "com": 2}, HomogeneousTask(1.0, 2.0, "total-v4")),
        ({"type": "ParallelTaskHomogeneousProfile", "cpu": 1, "com": 2}, HomogeneousTask(1.0, 2.0)),
        (
            {
                "type": "ParallelTaskHomogeneousProfile",
                "cpu": 1,
                "com": 2,
                "generation_strategy": "DefinedAmountsSpreadUniformly",
            },
            HomogeneousTask(1.0, 2.0, "total"),
        ),
        ({"type": "composed", "seq": ["nap", "nap"]}, Sequence(("nap", "nap"))),
        ({"type": "SequentialCompositionProfile", "seq": ["nap"], "repeat": 3}, Sequence(("nap",), 3)),
        ({"type": "ForkJoinCompositionProfile", "seq": ["nap", "nap"]}, ForkJoin(("nap", "nap"))),
        ({"type": "parallel_homogeneous_pfs", "bytes_to_read": 1}, StorageTask(1.0, 0.0)),
        ({"type": "msg_par_hg_pfs", "bytes_to_write": 1, "host": "disk"}, StorageTask(0.0, 1.0, "disk")),
        (
            {
                "type": "ParallelTaskOnStorageHomogeneousProfile",
                "bytes_to_read": 1,
                "bytes_to_write": 2,
                "storage": "s",
                "generation_strategy": "DefinedAmountsSpreadUniformly",
            },
            StorageTask(1.0, 2.0, "s", spread=True),
        ),
        ({"type": "data_staging", "nb_bytes": 9, "from": "a", "to": "b"}, Staging(9.0, "a", "b")),
        (
            {"type": "ParallelTaskDataStagingBetweenStoragesProfile", "nb_bytes": 9, "from": "a", "to": "b"},
            Staging(9.0, "a", "b"),
        ),
        ({"type": "send", "msg": {"k": [1]}}, Send({"k": [1]})),
        ({"type": "send", "msg": {}, "sleeptime": 2}, Send({}, 2.0)),
        ({"type": "recv"}, Receive()),
        (
            {"type": "recv", "regex": "ok|no", "success": "nap", "failure": "nap", "timeout": "nap", "polltime": 1},
            Receive("ok|no", "nap", "nap", "nap", 1.0),
        ),
    ],
)
def test_every_type_of_profile_is_read(tmp_path, fields, expected):
    assert profile(tmp_path, **fields) == expected


def test_traces_lie_beside_the_workload(tmp_path):
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "ranks.txt").touch()
    path = str(tmp_path / "t" / "ranks.txt")
    assert profile(tmp_path, type="smpi", trace="t/ranks.txt") == Trace("smpi", path)
    assert profile(tmp_path, type="usage_trace", trace="t/ranks.txt") == Trace("usage", path)
    new = {"type": "TraceReplayProfile", "filename": "t/ranks.txt"}
    assert profile(tmp_path, **new, trace_type="SMPI") == Trace("smpi", path)
    assert profile(tmp_path, **new, trace_type="FractionalComputation") == Trace("usage", path)
    assert "unknown trace_type 'smpi'" in profile_problem(tmp_path, **new, trace_type="smpi")
    assert f"but there is no file {tmp_path}/gone; check the path" in profile_problem(
        tmp_path, type="smpi", trace="gone"
    )


def test_merged_profiles_are_tasks(tmp_path):
    task = {"type": "parallel_homogeneous", "cpu": 1, "com": 1}
    merged = {"type": "ParallelTaskMergeCompositionProfile", "seq": ["t", "t"]}
    read = read_batsim(saved(tmp_path, file_of(t=task, m=merged)))
    assert read.profiles["m"] == Merge(("t", "t"))
    assert problem(tmp_path, file_of(t=NAP, m=merged)) == (
        "w.json, line 1, profile m: seq names 't', which is no task; expected parallel tasks, which can be added"
    )


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "no type; expected a type such as delay"),
        ({"type": 3}, "type is 3; expected a type such as delay"),
        ({"type": "delay"}, "no delay; expected seconds, more than 0 and up to 1e+18"),
        ({"type": "delay", "delay": 0}, "delay is 0; expected seconds, more than 0 and up to 1e+18"),
        ({"type": "delay", "delay": True}, "delay is true; expected seconds, more than 0 and up to 1e+18"),
        ({"type": "delay", "delay": 1, "ret": -1}, "ret is -1; expected a whole number, 0 or more"),
        ({"type": "delay", "delay": 1, "ret": "x"}, 'ret is "x"; expected a whole number, 0 or more'),
        ({"type": "delay", "delay": 1, "ret": 1.0}, "ret is 1.0; expected a whole number, 0 or more"),
        ({"type": "parallel", "cpu": [1]}, "no com; expected an array of one number or more, each 0 or more"),
        ({"type": "parallel", "cpu": [1, -1], "com": [0] * 4},
         "cpu is -1; expected an array of one number or more, each 0 or more"),
        ({"type": "parallel", "cpu": [1, None], "com": [0] * 4},
         "cpu is null; expected an array of one number or more, each 0 or more"),
        ({"type": "parallel", "cpu": [1, 1], "com": [0, 0]}, "com has 2 values; expected 4, for the 2 of cpu"),
        ({"type": "ParallelTaskProfile"}, "neither cpu nor com; expected one of them or both"),
        ({"type": "ParallelTaskProfile", "com": [1, 2]},
         "com has 2 values; expected a square number, one for each pair"),
        ({"type": "parallel_homogeneous", "cpu": [1], "com": 0}, "cpu is [1]; expected a number, 0 or more"),
        ({"type": "composed", "seq": []}, "seq is []; expected an array of one name of a profile or more"),
        ({"type": "composed", "seq": ["p2"]},
         "seq names 'p2', which does not exist; did you mean 'p'?"),
        ({"type": "composed", "seq": ["p"]}, "leads back to itself (p → p); expected no circle"),
        ({"type": "recv", "success": "p"}, "leads back to itself (p → p); expected no circle"),
        ({"type": "recv", "timeout": "zzz"},
         "timeout names 'zzz', which does not exist; expected the name of a profile of this file"),
        ({"type": "recv", "regex": "("}, 'regex is "(", which is no regular expression (missing ), unterminated '
         "subpattern at position 0)"),
        ({"type": "recv", "polltime": 0}, "polltime is 0; expected seconds, more than 0"),
        ({"type": "send", "msg": "hello"}, 'msg is "hello"; expected an object, which is the message'),
        ({"type": "parallel_homogeneous_pfs"},
         "neither bytes_to_read nor bytes_to_write; expected one of them or both"),
        ({"type": "parallel_homogeneous_pfs", "bytes_to_read": -1},
         "bytes_to_read is -1; expected a number, 0 or more"),
        ({"type": "data_staging", "nb_bytes": 1, "from": "a"}, "no to; expected the label of a storage"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_profile_is_told(tmp_path, fields, said):
    assert profile_problem(tmp_path, **fields) == said


def test_an_unknown_type_is_told_the_nearest(tmp_path):
    said = profile_problem(tmp_path, type="parallel_homogenous", cpu=1, com=1)
    assert said.startswith("unknown profile type 'parallel_homogenous'; did you mean 'parallel_homogeneous'? Known: ")


def test_a_circle_of_sequences_is_named(tmp_path):
    profiles = {name: {"type": "composed", "seq": ["nap", follows]} for name, follows in ("ab", "bc", "ca")}
    assert problem(tmp_path, file_of(nap=NAP, **profiles)) == (
        "w.json, line 1, profile a: leads back to itself (a → b → c → a); expected no circle"
    )


def test_sequences_may_nest_deeper_than_python_calls(tmp_path):
    chain = {f"s{depth}": {"type": "composed", "seq": [f"s{depth + 1}"]} for depth in range(3000)}
    workload = read_batsim(saved(tmp_path, file_of({**JOB, "profile": "s0"}, s3000=NAP, **chain)))
    assert workload.table["run_time"].to_list() == [5.0]


@pytest.mark.parametrize(
    ("fields", "run_time"),
    [
        ({"seq": ["nap", "nap"], "repeat": 3}, 30.0),
        ({"seq": ["nap", "bad", "nap"], "repeat": 3}, 7.0),
        ({"seq": ["nap", "task"]}, 0.0),
    ],
)
def test_the_run_time_of_delays_in_sequence_is_known(tmp_path, fields, run_time):
    profiles = {
        "nap": NAP,
        "bad": {"type": "delay", "delay": 2, "ret": 1},
        "task": {"type": "parallel_homogeneous", "cpu": 1, "com": 0},
        "p": {"type": "composed", **fields},
    }
    workload = read_batsim(saved(tmp_path, file_of({**JOB, "profile": "p"}, **profiles)))
    assert workload.table["run_time"].to_list() == [run_time]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"id": 1.5}, "job number 1: id is 1.5; expected a text or a whole number"),
        ({"id": "a!b"}, 'job a!b: id is "a!b"; expected a name without !, or w0! and such a name'),
        ({"id": "w0!a!b"}, 'job w0!a!b: id is "w0!a!b"; expected a name without !, or w0! and such a name'),
        ({"subtime": "0"}, 'job 1: subtime is "0"; expected seconds, up to 1e+18'),
        ({"res": 1.0}, "job 1: res is 1.0; expected a whole number of machines, 0 or more"),
        ({"res": -1}, "job 1: res is -1; expected a whole number of machines, 0 or more"),
        ({"walltime": 0}, "job 1: walltime is 0; expected seconds, more than 0 and up to 1e+18, or -1 for none"),
        ({"walltime": None}, "job 1: walltime is null; expected seconds, more than 0 and up to 1e+18, or -1 for none"),
        ({"profile": 1}, "job 1: profile is 1; expected the name of a profile"),
        ({"profile": "nop"}, "job 1: profile 'nop' does not exist; did you mean 'nap'?"),
        ({"smpi_ranks_to_hosts_mapping": [0, 1]},
         "job 1: smpi_ranks_to_hosts_mapping is [0,1]; expected an array of whole numbers from 0 to 0, "
         "each the place of a rank's machine"),
        ({"dependencies": ["a,b"]},
         'job 1: dependencies names "a,b"; expected names without commas, and without blanks at their ends'),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_job_is_told(tmp_path, changes, said):
    assert problem(tmp_path, file_of({**JOB, **changes})) == f"w.json, line 1, {said}"


@pytest.mark.parametrize("field", ["id", "subtime", "res", "profile"])
def test_a_job_needs_four_fields(tmp_path, field):
    said = problem(tmp_path, file_of({name: value for name, value in JOB.items() if name != field}))
    assert f": no {field}; expected " in said


def test_ids_are_parted_at_the_mark_and_nowhere_else(tmp_path):
    jobs = [{**JOB, "id": "new0"}, {**JOB, "id": "w0"}, {**JOB, "id": "w0!z"}]
    path = saved(tmp_path, file_of(*jobs))
    assert read_batsim(path).table["job_id"].to_list() == ["new0", "w0", "z"]
    assert 'id is "w0!z"; expected a name without !, or w1! and such a name' in problem(
        tmp_path, file_of(*jobs), workload="w1"
    )


def test_a_number_and_its_text_are_one_id(tmp_path):
    said = problem(tmp_path, file_of(JOB, {**JOB, "id": 1}))
    assert said.endswith('job 1: the id is that of job number 1 too; expected unique ids (7 and "7" are one)')


def test_a_task_for_other_machines_is_found_inside_of_sequences_too(tmp_path):
    profiles = {
        "two": {"type": "parallel", "cpu": [1, 1], "com": [0] * 4},
        "inner": {"type": "composed", "seq": ["two"]},
        "outer": {"type": "ForkJoinCompositionProfile", "seq": ["inner"]},
        "listen": {"type": "recv", "success": "two"},
    }
    jobs = [{**JOB, "id": name, "profile": name} for name in ("two", "outer", "listen")]
    with pytest.raises(InputErrors) as raised:
        read_batsim(saved(tmp_path, file_of(*jobs, **profiles)))
    assert raised.value.problems == (
        "line 1, job two: res is 1, but profile two is for 2 machines; expected the same number",
        "line 1, job outer: res is 1, but profile outer has two, which is for 2 machines; expected the same number",
        "line 1, job listen: res is 1, but profile listen has two, which is for 2 machines; expected the same number",
    )
    right = read_batsim(saved(tmp_path, file_of(*({**job, "res": 2} for job in jobs), **profiles)))
    assert len(right) == 3


def test_version_5_has_no_walltime_of_minus_one(tmp_path):
    new = {"type": "DelayProfile", "delay": 5}
    said = problem(tmp_path, file_of({**JOB, "walltime": -1}, nap=new))
    assert "walltime is -1; expected seconds" in said
    assert said.endswith("or no walltime at all where there is no limit (version 5 does not take -1)")
    mixed = read_batsim(saved(tmp_path, file_of({**JOB, "walltime": -1}, nap=new, old=NAP)))
    assert mixed.notes == ("1 of 2 profiles are named by no job and no other profile that is used",)


def test_profiles_that_only_a_receiver_names_are_used(tmp_path):
    workload = read_batsim(
        saved(tmp_path, file_of({**JOB, "profile": "r"}, nap=NAP, r={"type": "recv", "success": "nap"}))
    )
    assert workload.notes == ()


BAD = """{
 "nb_res": 4.0,
 "jobs": [
  {"id": "1", "subtime": 0, "res": 1, "profile": "nap"},
  {"id": "2", "subtime": 0, "res": 1, "profile": "nop"},
  {"id": "3", "subtime": 0,
   "res": "x",
   "walltime": 0,
   "profile": "nap"},
  3
 ],
 "profiles": {
  "nap": {"type": "delay", "delay": 5},
  "par": {
   "type": "parallel",
   "cpu": [1],
   "com": [0, 0]
  },
  "nap": {"type": "delay", "delay": 7},
  "two": {"type": "delay", "delay": 7, "delay": 8}
 }
}
"""


def test_all_problems_of_a_file_are_told_at_once_with_their_lines(tmp_path):
    assert problem(tmp_path, BAD) == (
        "w.json: 8 problems\n"
        "  line 2, nb_res is 4.0; expected a whole number of machines, 1 or more\n"
        "  line 5, job 2: profile 'nop' does not exist; did you mean 'nap'?\n"
        '  line 7, job 3: res is "x"; expected a whole number of machines, 0 or more\n'
        "  line 8, job 3: walltime is 0; expected seconds, more than 0 and up to 1e+18, or -1 for none\n"
        "  line 10, job number 4: is 3; expected an object\n"
        "  line 17, profile par: com has 2 values; expected 1, for the 1 of cpu\n"
        "  line 19, profile nap: the name stands twice; expected each profile once\n"
        "  line 20, profile two: delay stands twice; expected it once"
    )


@pytest.mark.parametrize("field", ["id", "res"])
def test_a_field_that_stands_twice_in_a_job_is_told(tmp_path, field):
    text = json.dumps(file_of(JOB)).replace('"subtime"', f'"{field}": 1, "subtime"')
    if field == "res":
        assert problem(tmp_path, text) == "w.json, line 1, job number 1: res stands twice; expected it once"
    else:
        assert problem(tmp_path, text) == "w.json, line 1, job number 1: id stands twice; expected it once"


def test_a_name_inside_of_a_free_field_is_no_repetition(tmp_path):
    text = json.dumps(file_of({**JOB, "extra": {"id": 5, "res": "res"}}, nap={**NAP, "note": {"type": 1, "delay": 2}}))
    assert len(read_batsim(saved(tmp_path, text))) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{nope", "w.json, line 1, column 2: is not JSON from here on (Expecting property name enclosed in double "
                  "quotes); write it again"),
        ("[]", "w.json: is no JSON object; expected an object with nb_res, profiles and jobs, as Batsim reads it"),
        ('{"nb_res": 4,\n "jobs": [}', "w.json, line 2, column 11: is not JSON from here on (Expecting value); "
                                       "write it again"),
        ("", "w.json: the file is empty; expected one job a line"),
        ('{"nb_res": 1, "jobs": {}, "profiles": {}}',
         "w.json, line 1, jobs is {}; expected an array of objects, one a job"),
        ('{"nb_res": 1, "jobs": [], "profiles": []}',
         "w.json, line 1, profiles is []; expected an object, with each profile under its name"),
        ('{"nb_res": 1, "jobs": [], "profiles": {}, "jobs": []}',
         "w.json, line 1, jobs stands twice; expected it once"),
        ('{"jobs": [], "profiles": {}}', "w.json, line 1, no nb_res; expected a whole number of machines, 1 or more"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_the_whole_is_told(tmp_path, text, said):
    assert problem(tmp_path, text) == said


def test_numbers_beyond_all_measure_are_told_like_others(tmp_path):
    text = json.dumps(file_of(JOB)).replace('"delay": 5', '"delay": 1e999').replace('"subtime": 0', '"subtime": 1e999')
    assert "2 problems" in problem(tmp_path, text)


@pytest.mark.parametrize("value", ['"\\ud800"', "1" * 5000, "[" * 5000 + "]" * 5000, "1e999", "NaN", '"\x00"'])
@pytest.mark.parametrize("field", ["id", "subtime", "res", "profile", "extra"])
def test_odd_values_raise_nothing_but_our_errors(tmp_path, field, value):
    text = json.dumps(file_of({**JOB, field: "HERE"})).replace('"HERE"', value)
    with suppress(UnspoolError):
        read_batsim(saved(tmp_path, text))


def test_fields_of_the_whole_that_are_not_used_are_noted(tmp_path):
    workload = read_batsim(saved(tmp_path, {**file_of(JOB), "description": "x", "platform": "y"}))
    assert workload.notes == ("fields that are not used: platform",)


def test_a_workload_is_told_from_other_json_by_its_content(tmp_path):
    assert recognises(b'\xef\xbb\xbf {"a": "\\"jobs\\":", "b": [{"jobs": 1}], "profiles"  : ')
    assert not recognises(b'[{"jobs": []}]')
    assert not recognises(b'{"a": {"jobs": []}, "b": "nb_res"}')
    assert not recognises(b"jobs")
    assert len(read_workload(saved(tmp_path, file_of(JOB)))) == 1
    assert len(read_workload(saved(tmp_path, file_of(JOB), "w.txt"))) == 1
    assert (
        read_workload(saved(tmp_path, file_of({**JOB, "id": "w3!1"})), "batsim:workload=w3").table["job_id"][0] == "1"
    )


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-2, 2) | st.floats() | st.sampled_from(["delay", "composed", "d", "!"]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["id", "subtime", "res", "profile", "type", "seq", "delay", "dependencies", "d"]),
                inner,
                max_size=5,
            )
        ),
        max_leaves=12,
    ),
    st.sampled_from(["jobs", "profiles", "job", "profile", "all"]),
)
@settings(max_examples=150)
def test_whatever_stands_in_a_file_only_our_errors_are_raised(value, place):
    whole = file_of(JOB)
    if place == "all":
        whole = value
    elif place == "job":
        whole["jobs"].append(value)
    elif place == "profile":
        whole["profiles"]["p"] = value
    else:
        whole[place] = value
    with TemporaryDirectory() as folder, suppress(UnspoolError):
        read_batsim(saved(Path(folder), json.dumps(whole)))


@given(st.binary(max_size=60))
def test_whatever_the_bytes_only_our_errors_are_raised(data):
    with TemporaryDirectory() as folder, suppress(UnspoolError):
        path = Path(folder, "w.json")
        path.write_bytes(b'{"nb_res": 1, "profiles": {}, "jobs": [' + data)
        read_batsim(path)


def cases():
    path = CASES / "invalid_inputs_v4.2.1.json"
    if not path.exists():
        return [pytest.param(None, marks=pytest.mark.skip("no batsim/invalid_inputs_v4.2.1.json under UNSPOOL_CASES"))]
    # Those with arguments are about the command line.
    return [pytest.param(case, id=case["case"]) for case in json.loads(path.read_text()) if not case["args"]]


@pytest.mark.parametrize("case", cases())
def test_what_batsim_refuses_is_refused_and_what_it_takes_is_read(tmp_path, case):
    path = saved(tmp_path, case["workload"])
    reads = case["exit_code"] == 0 and not case["message"] and case["case"] != "prof_ret_neg"
    if reads or case["case"] in ("prof_old_name", "job_id_has_workload_name"):
        read_batsim(path)
    else:
        with pytest.raises(InputError, match=r"expected|write it again|check the path|Known: "):
            read_batsim(path)


def known_files():
    found = sorted(CASES.glob("*/workloads/**/*.json"))
    if not found:
        return [pytest.param(None, marks=pytest.mark.skip("no batsim/*/workloads under UNSPOOL_CASES"))]
    return [pytest.param(path, id=str(path.relative_to(CASES))) for path in found]


@pytest.mark.parametrize("path", known_files())
def test_batsims_own_workloads_are_read_whole(path):
    workload, plain = read_batsim(path), json.loads(path.read_text())
    assert len(workload) == len(plain["jobs"])
    assert set(workload.profiles) == set(plain["profiles"])
    assert sorted(workload.table["job_id"]) == sorted(str(job["id"]) for job in plain["jobs"])


def test_amounts_and_sizes_that_are_too_large_are_told_the_limit(tmp_path):
    said = profile_problem(tmp_path, type="parallel_homogeneous", cpu=1e308, com=0)
    assert said == "cpu is 1e308; expected a number, 0 or more, and not above 1e+300"
    job = {"id": "a", "subtime": 0, "res": 10**13, "profile": "p"}
    told = problem(tmp_path, file_of(job, p={"type": "delay", "delay": 1}))
    assert (
        "res is 10000000000000; expected a whole number of machines, 0 or more, and not above 1,000,000,000,000" in told
    )
    overflown = json.dumps(file_of(p={"type": "delay", "delay": 1})).replace('"delay": 1', '"delay": 1e400')
    assert "delay is too large for a number; expected seconds" in problem(tmp_path, overflown)


def test_a_file_in_another_encoding_is_told_with_its_line(tmp_path):
    text = json.dumps(file_of(JOB | {"id": "é"}), ensure_ascii=False, indent=1)
    path = tmp_path / "w.json"
    path.write_bytes(text.encode("latin-1"))
    line = text[: text.index("é")].count("\n") + 1
    with pytest.raises(InputError, match=f"w.json, line {line}: is not UTF-8 from here on; write it again as UTF-8"):
        read_batsim(path)
    path.write_bytes(text.encode())
    assert read_batsim(path).table["job_id"].to_list() == ["é"]
