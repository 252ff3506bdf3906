import json
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspool.errors import InputError, UnknownName, UnspoolError
from unspool.workloads import read_workload
from unspool.workloads.jsonmap import read_json, recognises

NOON = 1714564800
JOB = {"id": 7, "ncpus": 4, "mem": 13_843_545_600, "nodes": 1, "queued": NOON, "started": NOON + 60, "elapsed": 300}
MAP = {
    "job_id": "id",
    "num_cores": "ncpus",
    "max_mem_gb": {"mem": {"units": "b"}},
    "num_hosts": "nodes",
    "submit_time": "queued",
    "start_time": "started",
    "run_time": "elapsed",
}
NAMED = {
    "job_id": "846_0",
    "num_cores": 4,
    "max_mem_gb": 0.5,
    "num_hosts": 2,
    "submit_time": "2024-05-01T12:00:00",
    "start_time": NOON + 60,
    "finish_time": str(NOON + 360),
}


def saved(tmp_path, content, name="jobs.json"):
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_objects_under_a_map_become_jobs_with_exact_units(tmp_path):
    workload = read_json(saved(tmp_path, [JOB]), MAP)
    assert workload.table.to_dicts() == [
        {
            "job_id": "7",
            "submit_time": 0.0,
            "run_time": 300.0,
            "cores": 4,
            "machines": 1,
            "memory_bytes": 13_843_545_600,
            "logged_wait": 60.0,
            "line": 1,
        }
    ]
    assert (workload.origin_unix_s, workload.notes) == (NOON, ())


def test_the_map_may_be_a_file_named_as_an_option_of_the_format(tmp_path):
    path, map_file = saved(tmp_path, [JOB]), saved(tmp_path, MAP, "map.json")
    assert read_workload(path, f"json:map={map_file}").digest == read_json(path, MAP).digest
    with pytest.raises(InputError, match="both columns and a map"):
        read_workload(path, f"json:map={map_file}", {"job_id": "id"})


@pytest.mark.parametrize(
    ("unit", "size"), [("b", 3), ("kb", 3 << 10), ("MB", 3 << 20), ("gb", 3 << 30), ("tb", 3 << 40)]
)
def test_sizes_have_binary_units_and_are_not_rounded(tmp_path, unit, size):
    path = saved(tmp_path, [{**JOB, "mem": 3}, {**JOB, "id": 8, "mem": "1.5"}])
    table = read_json(path, {**MAP, "max_mem_gb": {"mem": {"units": unit}}}).table
    assert table["memory_bytes"].to_list() == [size, round(size / 2)]


def test_times_have_units_too_and_fields_may_be_nested(tmp_path):
    job = {**JOB, "queued": NOON * 1000, "started": -1, "used": {"time": 2.5, "mem": {"peak": 8}}}
    columns = {
        **MAP,
        "submit_time": {"queued": {"units": "ms"}},
        "start_time": {"started": {"units": "ms"}},
        "run_time": {"used.time": {"units": "h"}},
        "ru_maxrss": {"used.mem.peak": {"units": "kb"}},
        "user": "id",
    }
    workload = read_json(saved(tmp_path, [job]), columns)
    found = workload.table.select("submit_time", "run_time", "logged_wait", "used_memory_bytes", "user").row(0)
    assert found == (0.0, 9000.0, 0.0, 2048, "7")
    assert workload.notes == (
        "columns that are not used: elapsed",
        "1 job has no start time, or one before it was submitted: taken as started then",
    )


def test_the_names_of_the_jobs_csv_need_no_map(tmp_path):
    path = saved(tmp_path, [NAMED, {**NAMED, "job_id": "8", "queue": "long", "user": "ann"}])
    table = read_workload(path).table
    assert table.select("job_id", "run_time", "cores", "machines", "memory_bytes", "queue", "user").rows() == [
        ("846_0", 300.0, 4, 2, 1 << 29, None, None),
        ("8", 300.0, 4, 2, 1 << 29, "long", "ann"),
    ]


def test_our_own_names_need_no_map(tmp_path):
    jobs = [{"job_id": "a", "submit_time": 0, "run_time": "5 min", "cores": 4, "memory_bytes": "4GiB", "x": 1}]
    workload = read_workload(saved(tmp_path, jobs))
    assert workload.table.select("job_id", "submit_time", "run_time", "memory_bytes").rows() == [
        ("a", 0.0, 300.0, 4 << 30)
    ]
    assert workload.notes == ("columns that are not used: x",)


def test_a_map_may_have_our_own_names(tmp_path):
    columns = {
        "job_id": "id",
        "submit_time": "queued",
        "run_time": "elapsed",
        "cores": "ncpus",
        "memory_bytes": {"mem": {"units": "kb"}},
    }
    table = read_json(saved(tmp_path, [JOB]), columns).table
    assert table.select("submit_time", "cores", "memory_bytes").row(0) == (NOON, 4, 13_843_545_600 * 1024)
    plain = {name: field for name, field in columns.items() if name != "memory_bytes"}
    assert read_workload(saved(tmp_path, [JOB]), columns=plain).table["cores"].to_list() == [4]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (5, '5 is no object; expected {"field": value}'),
        ({**NAMED, "num_cores": [4]}, "num_cores is '[4]'; expected a whole number"),
        ({**NAMED, "num_cores": True}, "num_cores is 'true'; expected a whole number"),
        ({**NAMED, "num_cores": None}, "num_cores is empty; expected a whole number"),
        ({**NAMED, "max_mem_gb": "lots"}, "max_mem_gb is 'lots'; expected GiB, 0 or more"),
        ({**NAMED, "finish_time": NOON}, "it finished before it started"),
    ],
)
def test_a_bad_object_is_rejected_and_the_others_are_kept(tmp_path, bad, reason):
    workload = read_workload(saved(tmp_path, [NAMED, bad, {**NAMED, "job_id": "9"}]))
    assert workload.table["line"].to_list() == [1, 3]
    assert workload.rejected.select("line", "reason").rows() == [(2, reason)]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"num_core": "ncpus"}, "unknown column 'num_core'; did you mean 'num_cores'?"),
        ({"num_cores": "ncpu"}, "no object has 'ncpu' for num_cores; the fields are id, ncpus, mem"),
        ({"max_mem_gb": {"mem": {"unit": "b"}}}, "unknown option of max_mem_gb 'unit'; did you mean 'units'?"),
        ({"max_mem_gb": {"mem": {"units": "kib"}}}, "unknown unit of max_mem_gb 'kib'; did you mean 'kb'?"),
        ({"queue": {"id": {"units": "b"}}}, "column queue has no units; map it to the field alone"),
        ({"max_mem_gb": ["mem"]}, "column max_mem_gb is mapped to ['mem']; expected a field, or"),
        ({"max_mem_gb": {"mem": "b"}}, 'column max_mem_gb: mem has b; expected {"units": "mb"}'),
        ({"cores": "ncpus"}, "both cores (our name) and num_cores (the jobs CSV's) are there; map one of them"),
    ],
)
def test_a_wrong_map_is_told_in_one_sentence(tmp_path, change, told):
    with pytest.raises(InputError) as refused:
        read_json(saved(tmp_path, [JOB]), {**MAP, **change})
    assert told in str(refused.value)


def test_a_mistyped_column_is_an_unknown_name(tmp_path):
    with pytest.raises(UnknownName):
        read_json(saved(tmp_path, [JOB]), {**MAP, "que": "id"})


def test_files_that_are_no_array_of_jobs_are_refused_in_one_sentence(tmp_path):
    for content, told in {
        "": "the file is empty",
        "\0": "binary data",
        "{}": r"does not begin with \[; expected a top-level array of objects",
        "[]": "the array is empty",
        '[{"job_id": 1}, {"job': "is cut off, or is not JSON",
        "[1, 2]": "no column job_id, num_cores",
        json.dumps([JOB]): r"no column job_id, num_cores, .*the file has id, ncpus, .*--columns job_id=THEIRS",
        json.dumps([{**NAMED, "cores": 4}]): r"both cores \(our name\) and num_cores",
        json.dumps([{**NAMED, "num_cores": 0}]): "none of its 1 record can be used .first, line 1: less than one core",
    }.items():
        with pytest.raises(InputError, match=told):
            read_json(saved(tmp_path, content))


def test_a_map_file_that_is_none_is_refused(tmp_path):
    path = saved(tmp_path, [JOB])
    for content, told in {"[]": "expected a map such as", "{}": "expected a map such as", "{": "is not JSON"}.items():
        with pytest.raises(InputError, match=rf"map\.json: {told}"):
            read_json(path, map=saved(tmp_path, content, "map.json"))
    with pytest.raises(InputError, match="there is no such file"):
        read_json(path, map=tmp_path / "none.json")
    with pytest.raises(InputError, match=r"map=5: expected the name of a JSON file"):
        read_workload(path, "json:map=5")


def test_it_is_told_by_its_content():
    assert recognises(b"\xef\xbb\xbf\n[\n {")
    assert not any(map(recognises, (b"", b"{}", b"[1, 2]", b"[section]\n")))


values = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.lists(st.integers(), max_size=1)
)


@given(st.lists(st.dictionaries(st.sampled_from([*NAMED, "run_time", "cores"]), values) | values, max_size=4))
@settings(max_examples=150)
def test_any_objects_make_jobs_or_our_own_errors(objects):
    with TemporaryDirectory() as folder, suppress(UnspoolError):
        assert len(read_json(saved(Path(folder), json.dumps([NAMED, *objects])))) >= 1
