import os
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspool.errors import InputError, UnknownName, UnspoolError
from unspool.model.workload import Workload
from unspool.workloads import read_workload, write_workload
from unspool.workloads.jobcells import JOBS_COLUMNS
from unspool.workloads.jobscsv import read_jobs_csv, write_jobs_csv

CASES = Path(os.environ.get("UNSPOOL_CASES", Path(__file__).parents[3] / "shared" / "cases"))
GIB = 1 << 30
NOON = 1714564800  # 2024-05-01T12:00:00
BASE = {
    "job_id": "7",
    "num_cores": "4",
    "max_mem_gb": "2",
    "num_hosts": "1",
    "submit_time": "2024-05-01T12:00:00",
    "start_time": "2024-05-01T12:01:00",
    "finish_time": "2024-05-01T12:03:00",
}


def jobs_csv(tmp_path, *rows, name="jobs.csv"):
    """A file with a row for each dict, BASE but for what it says; the columns are those that any of them has."""
    whole = [{**BASE, "job_id": str(at), **row} for at, row in enumerate(rows, 7)]
    names = list(dict.fromkeys(key for row in whole for key in row))
    cells = [[str(row.get(key, "")) for key in names] for row in whole]
    quoted = [",".join(f'"{c}"' if "," in c else c for c in line) for line in [names, *cells]]
    path = tmp_path / name
    path.write_text("\n".join(quoted) + "\n")
    return path


def test_the_seven_columns_that_are_needed_make_a_job(tmp_path):
    workload = read_workload(jobs_csv(tmp_path, {}))
    assert workload.table.to_dicts() == [
        {
            "job_id": "7",
            "submit_time": 0.0,
            "run_time": 120.0,
            "cores": 4,
            "machines": 1,
            "memory_bytes": 2 * GIB,
            "logged_wait": 60.0,
            "line": 2,
        }
    ]
    assert (workload.origin_unix_s, workload.notes, len(workload.rejected)) == (NOON, (), 0)


def test_every_column_that_is_used_has_its_place(tmp_path):
    row = {
        "ineligible_pend_time": "0:00:30",
        "eligible_time": "2024-05-01T12:00:30",
        "run_time": "1-0:00:01.500000",
        "queue": "long",
        "project": "physics",
        "licenses": "solver:2,viewer",
        "exit_status": "256",
        "ru_maxrss": "4096",
        "ru_stime": "0:00:04",
        "ru_utime": "36",
        "user": "ann",
        "gpus": "2",
        "walltime": "2:00:00",
        "resource_request": "rusage[mem=4,swp=2]",
    }
    workload = read_jobs_csv(jobs_csv(tmp_path, row), maxrss_unit="kb")
    job = workload.table.row(0, named=True)
    assert job == {
        "job_id": "7",
        "submit_time": 30.0,
        "ineligible_time": 30.0,
        "run_time": 86401.5,
        "cores": 4,
        "machines": 1,
        "memory_bytes": 2 * GIB,
        "gpus": 2,
        "walltime": 7200.0,
        "licences": "solver:2,viewer",
        "user": "ann",
        "project": "physics",
        "queue": "long",
        "logged_wait": 30.0,
        "cpu_time": 10.0,
        "used_memory_bytes": 1 << 20,
        "status": 0,
        "line": 2,
    }
    assert workload.notes == ()


@pytest.mark.parametrize(
    ("row", "column", "value"),
    [
        ({"submit_time": str(NOON)}, "logged_wait", 60.0),
        ({"submit_time": f"{NOON}.0", "start_time": NOON + 90}, "logged_wait", 90.0),
        ({"start_time": ""}, "run_time", 180.0),
        ({"start_time": "-1"}, "run_time", 180.0),
        ({"start_time": "0"}, "run_time", 180.0),
        ({"start_time": "2024-05-01T11:00:00"}, "logged_wait", 0.0),
        ({"ineligible_pend_time": "20"}, "logged_wait", 40.0),
        ({"ineligible_pend_time": "None"}, "logged_wait", 60.0),
        ({"ineligible_pend_time": "20", "eligible_time": "2024-05-01T12:00:50"}, "logged_wait", 10.0),
        ({"eligible_time": "2024-05-01T12:02:00"}, "logged_wait", -60.0),
        ({"wait_time": "9:00:00"}, "logged_wait", 60.0),
        ({"run_time": "1:30"}, "run_time", 90.0),
        ({"run_time": "0.25"}, "run_time", 0.25),
        ({"run_time": "-1"}, "run_time", 120.0),
        ({"max_mem_gb": "0.09765625"}, "memory_bytes", 104857600),
        ({"job_id": "846_0"}, "job_id", "846_0"),
        ({"job_id": "900+1"}, "job_id", "900+1"),
        ({"exit_status": "0"}, "status", 1),
    ],
)
def test_values_are_read_by_their_rules(tmp_path, row, column, value):
    assert read_jobs_csv(jobs_csv(tmp_path, row)).table[column].to_list() == [value]


@pytest.mark.parametrize(
    ("row", "note"),
    [
        ({"start_time": ""}, "1 job has no start time, or one before it was submitted: taken as started then"),
        (
            {"eligible_time": "2024-05-01T11:00:00"},
            "1 job was eligible before it was submitted: taken as submitted when eligible",
        ),
        (
            {"eligible_time": "2024-05-01T12:02:00"},
            "1 job started before it was eligible: its logged wait is negative",
        ),
        (
            {"eligible_time": "2024-05-01T12:00:10", "ineligible_pend_time": "5"},
            "1 job was not eligible at submit time + ineligible time: the eligible time counts",
        ),
        ({"max_mem_gb": ""}, "1 job asks for no memory"),
        (
            {"ru_maxrss": "512"},
            "ru_maxrss is not used: its unit is not known; say it as in --format jobs-csv:maxrss_unit=KB",
        ),
        ({"colour": "red"}, "columns that are not used: colour"),
    ],
)
def test_what_is_taken_otherwise_than_it_stands_is_noted(tmp_path, row, note):
    workload = read_jobs_csv(jobs_csv(tmp_path, row))
    assert (len(workload), workload.notes) == (1, (note,))


def test_no_memory_limit_is_no_memory_asked_for(tmp_path):
    workload = read_jobs_csv(jobs_csv(tmp_path, {"max_mem_gb": "0"}, {"max_mem_gb": ""}, {}))
    assert workload.table["memory_bytes"].to_list() == [None, None, 2 * GIB]
    assert workload.notes == ("1 job asks for no memory",)


def test_ids_that_stand_twice_are_marked(tmp_path):
    workload = read_jobs_csv(jobs_csv(tmp_path, *({"job_id": name} for name in ("5", "5", "6", "5#2"))))
    assert workload.table["job_id"].to_list() == ["5", "5#2", "6", "5#2#2"]
    assert workload.notes == ("1 job has the id of an earlier one: marked #2, #3 and so on",)


MOMENT = "a date such as 2024-05-01T12:30:00, or seconds since 1970"


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"submit_time": ""}, f"submit_time is empty; expected {MOMENT}"),
        ({"submit_time": "-1"}, f"submit_time is empty; expected {MOMENT}"),
        ({"submit_time": "0"}, f"submit_time is empty; expected {MOMENT}"),
        ({"submit_time": "yesterday"}, f"submit_time is 'yesterday'; expected {MOMENT}"),
        ({"submit_time": f"{NOON}000"}, f"submit_time is '{NOON}000'; expected {MOMENT}"),
        ({"finish_time": ""}, f"finish_time is empty; expected {MOMENT}"),
        ({"finish_time": "2024-05-01T12:00:59"}, "it finished before it started"),
        ({"run_time": "soon"}, "run_time is 'soon'; expected a duration such as 1:30:00, or seconds"),
        ({"run_time": "1:75"}, "run_time is '1:75'; expected a duration such as 1:30:00, or seconds"),
        ({"run_time": "-5"}, "a negative run time"),
        ({"num_cores": "0"}, "less than one core"),
        ({"num_cores": "2.5"}, "num_cores is '2.5'; expected a whole number"),
        ({"num_hosts": "0"}, "less than one host"),
        ({"num_hosts": ""}, "num_hosts is empty; expected a whole number"),
        ({"max_mem_gb": "-2"}, "max_mem_gb is '-2'; expected GiB, 0 or more"),
        ({"max_mem_gb": "4 gallons"}, "max_mem_gb is '4 gallons'; expected GiB, 0 or more"),
        ({"job_id": ""}, "job_id is empty; expected text"),
        ({"exit_status": "bad"}, "exit_status is 'bad'; expected a whole number"),
    ],
)
def test_a_bad_row_is_rejected_and_the_others_are_kept(tmp_path, row, reason):
    workload = read_jobs_csv(jobs_csv(tmp_path, {}, {"job_id": "x", **row}, {}))
    assert workload.table["line"].to_list() == [2, 4]
    assert workload.rejected.rows() == [(3, row.get("job_id", "x") or None, reason)]


def test_the_old_form_of_24_columns_is_read_by_name(tmp_path):
    old = [name for name in JOBS_COLUMNS if name not in ("queue", "project", "licenses", "resource_request")]
    names = [*old[:7], "resource_request", *old[7:]]
    assert len(names) == 24
    path = tmp_path / "old.csv"
    path.write_text(",".join(names) + "\n" + ",".join(BASE.get(name, "") for name in names) + "\n")
    assert read_workload(path).table["run_time"].to_list() == [120.0]


def test_a_file_under_other_names_is_read_with_a_map(tmp_path):
    path = tmp_path / "mine.csv"
    names = ["ncpus" if name == "num_cores" else name for name in BASE]
    path.write_text(",".join(names) + "\n" + ",".join(BASE.values()) + "\n")
    assert read_workload(path, "jobs-csv", {"num_cores": "ncpus"}).table["cores"].to_list() == [4]
    with pytest.raises(InputError, match=r"mine\.csv: no column num_cores; the file has job_id, ncpus, .*num_cores=TH"):
        read_workload(path, "jobs-csv")
    with pytest.raises(UnknownName, match=r"unknown column 'num_core'; did you mean 'num_cores'\?"):
        read_workload(path, "jobs-csv", {"num_core": "ncpus"})
    with pytest.raises(InputError, match=r"no column 'cpus' for num_cores"):
        read_workload(path, "jobs-csv", {"num_cores": "cpus"})


def test_files_without_a_job_are_refused_in_a_sentence(tmp_path):
    path = tmp_path / "jobs.csv"
    head = ",".join(BASE) + "\n"
    for content, told in {
        b"": "the file is empty",
        head.encode(): "no jobs, only the names of columns",
        head.encode() + b"1,2,3\n": "none of its 1 record can be used .first, line 2: 3 cells; expected 7",
        head.encode() + b"\0\0": "binary data",
    }.items():
        path.write_bytes(content)
        with pytest.raises(InputError, match=told):
            read_jobs_csv(path)
    with pytest.raises(UnknownName, match="unknown unit of ru_maxrss 'stone'"):
        read_jobs_csv(jobs_csv(tmp_path, {}), maxrss_unit="stone")


def test_options_stand_after_the_name_of_the_format(tmp_path):
    path = jobs_csv(tmp_path, {"ru_maxrss": "4096"})
    assert read_workload(path, "jobs-csv:maxrss_unit=KB").table["used_memory_bytes"].to_list() == [1 << 20]
    with pytest.raises(UnknownName, match=r"unknown option of the format jobs-csv 'unit'"):
        read_workload(path, "jobs-csv:unit=KB")
    with pytest.raises(UnknownName, match=r"unknown option of the format tsv 'unit'"):
        read_workload(path, "tsv:unit=KB")
    with pytest.raises(InputError, match=r"'jobs-csv:KB': 'KB' does not read as key=value"):
        read_workload(path, "jobs-csv:KB")


def test_27_columns_are_written_in_their_order_and_syntax(tmp_path):
    jobs = {
        "job_id": ["a,b"],
        "submit_time": [30.0],
        "ineligible_time": [30.0],
        "run_time": [90061.5],
        "cores": [4],
        "machines": [2],
        "memory_bytes": [3 * GIB // 2],
        "licences": ["solver:2,viewer:1"],
        "project": ["physics"],
        "queue": ["long"],
        "logged_wait": [60.0],
        "cpu_time": [2.5],
        "used_memory_bytes": [256],
        "status": [0],
        "gpus": [1],
    }
    path = tmp_path / "jobs.csv"
    notes = write_workload(Workload.of(pl.DataFrame(jobs), origin_unix_s=NOON), path, "jobs-csv")
    assert (
        path.read_bytes()
        == (
            ",".join(JOBS_COLUMNS)
            + '\n"a,b",4,1.5,2,2024-05-01T12:00:00,2024-05-01T12:01:30,2024-05-02T13:02:32,0:00:30,'
            '2024-05-01T12:00:30,,0:01:00,1-1:01:01.500000,long,physics,"solver:2,viewer:1",1,,,1024,,,,,,,0:00:10,\n'
        ).encode()
    )
    assert notes == ("the jobs CSV has no column for gpus: left out",)


def test_what_the_format_cannot_hold_is_noted(tmp_path):
    jobs = pl.DataFrame({"job_id": ["a"], "submit_time": [0.5], "run_time": [60], "cores": [4], "status": [5]})
    assert write_jobs_csv(Workload.of(jobs), tmp_path / "jobs.csv") == (
        "the origin of the log is not known: dates are written as if it were 1970-01-08",
        "1 job does not say on how many machines: written as one host",
        "1 job has no logged wait: written as started when eligible",
        "1 job has times with parts of a second, which are rounded; run times are not",
        "1 job ended otherwise than well or badly: written with exit status 1",
    )


def maybe(values):
    return st.none() | values


name = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1, max_size=8).filter(
    lambda text: text == text.strip() and text != "None"
)
job = st.fixed_dictionaries(
    {
        "submit_time": st.integers(0, 10**6),
        "ineligible_time": st.integers(0, 10**5),
        "run_time": st.integers(0, 10**12).map(lambda micro: micro / 1e6),
        "cores": st.integers(1, 1000),
        "machines": st.integers(1, 50),
        "memory_bytes": maybe(st.integers(1, 1 << 50)),
        "licences": maybe(name),
        "project": maybe(name),
        "queue": maybe(name),
        "logged_wait": st.integers(-1000, 10**6),
        "cpu_time": maybe(st.integers(0, 10**6)),
        "used_memory_bytes": maybe(st.integers(1, 1 << 40)),
        "status": maybe(st.sampled_from([0, 1])),
    }
)


@given(st.lists(job, min_size=1, max_size=8), st.sampled_from(["jobs.csv", "jobs.csv.gz"]))
@settings(max_examples=150)
def test_jobs_that_are_written_and_read_are_the_same(jobs, file):
    # A job that started before it was submitted is read as started then: that is the rule, not a round trip.
    for each in jobs:
        each["logged_wait"] = max(each["logged_wait"], -each["ineligible_time"])
    table = pl.DataFrame(jobs, infer_schema_length=None).with_columns(
        pl.int_range(pl.len()).cast(pl.String).alias("job_id")
    )
    before = Workload.of(table, origin_unix_s=NOON)
    with TemporaryDirectory() as folder:
        write_jobs_csv(before, Path(folder, file))
        after = read_jobs_csv(Path(folder, file), maxrss_unit="B")
    names = ["job_id", *(name for name in jobs[0] if name != "submit_time")]
    expected = pl.DataFrame([before.column(name) for name in names]).sort("job_id")
    found = pl.DataFrame([after.column(name) for name in names]).with_columns(pl.col("ineligible_time").fill_null(0.0))
    assert found.sort("job_id").to_dicts() == [
        {key: pytest.approx(value, rel=1e-12) if isinstance(value, float) else value for key, value in row.items()}
        for row in expected.to_dicts()
    ]
    moved = before.origin_unix_s - after.origin_unix_s
    times = zip(before.table.sort("job_id")["submit_time"], after.table.sort("job_id")["submit_time"], strict=True)
    assert all(there == here + moved for here, there in times)
    assert not len(after.rejected)


@given(
    st.lists(st.sampled_from(["1", "0", "-1", "", "2024-05-01T12:00:00", "nan", "1e400", "x", '"', "9" * 20, "1:2"]))
)
@settings(max_examples=200)
def test_any_cells_make_jobs_or_our_own_errors(cells):
    with TemporaryDirectory() as folder:
        path = Path(folder, "jobs.csv")
        rows = [",".join((*cells[at : at + 12], *[""] * 12)[:12]) for at in range(0, len(cells), 12)]
        path.write_text(",".join(JOBS_COLUMNS[:12]) + "\n" + "\n".join(rows))
        with suppress(UnspoolError):
            assert len(read_jobs_csv(path)) > 0


def test_the_tie_free_trace_is_read_whole_and_written_as_it_was(tmp_path):
    path = CASES / "cloud" / "tie-free" / "jobs.csv"
    if not path.exists():
        pytest.skip("the cases are not here: no cloud/tie-free/jobs.csv under UNSPOOL_CASES")
    workload = read_workload(path)
    assert (len(workload), len(workload.rejected), workload.notes) == (2000, 0, ())
    given_ = pl.read_csv(path, infer_schema=False)
    assert workload.table["run_time"].to_list() == given_["run_time"].cast(pl.Float64).to_list()
    assert workload.table["logged_wait"].to_list() == given_["wait_time"].cast(pl.Float64).to_list()
    assert write_jobs_csv(workload, tmp_path / "jobs.csv") == ()
    written = pl.read_csv(tmp_path / "jobs.csv", infer_schema=False)
    same = [name for name in JOBS_COLUMNS if name not in ("max_mem_gb", "wait_time", "run_time")]
    assert written.select(same).equals(given_.select(same))
    assert (written["max_mem_gb"].cast(pl.Float64) == given_["max_mem_gb"].cast(pl.Float64)).all()
