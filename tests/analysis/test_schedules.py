"""Schedules of four kinds are told by their content, and bad ones are refused in one sentence."""

import gzip

import polars as pl
import pytest
from tests.build import workload

from unspool.analysis.audit.schedule import read_schedule
from unspool.analysis.check import check_schedule
from unspool.errors import InputError
from unspool.model.platform import Platform
from unspool.results.run import run
from unspool.results.store import save

LOG = [(0, 10, 3, 10), (1, 10, 4, 10), (2, 8, 1, 8)]
BATSIM = """\
job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,success,final_state,\
starting_time,execution_time,finish_time,waiting_time,turnaround_time,stretch,allocated_resources,consumed_energy,metadata
a,w0,p,0.0,3,10.0,1,COMPLETED_SUCCESSFULLY,0.000000,10.0,10.000000,0,10,1,0-1 3,-1.0,""
b,w0,p,1.0,4,10.0,1,COMPLETED_SUCCESSFULLY,10.000000,10.0,20.000000,9,19,1.9,0-3,-1.0,""
c,w0,p,2.0,1,8.0,0,REJECTED,,,,,,,,,""
"""


def times(schedule):
    return schedule.rows.select("job_id", "start_time", "finish_time").rows()


def test_a_folder_of_results(tmp_path):
    save(run(workload(LOG), "4x1", "easy"), tmp_path / "out")
    read = read_schedule(tmp_path / "out")
    assert read.kind == "result"
    assert times(read) == [("a", 0.0, 10.0), ("c", 2.0, 10.0), ("b", 10.0, 20.0)]
    assert read.policy == "easy"
    report = check_schedule(tmp_path / "out", workload(LOG))
    assert report.ok
    assert [(v.law, v.checked) for v in report.verdicts] == [
        ("once", 3), ("submission", 3), ("run time", 3), ("capacity", 3), ("machines", 3),
        ("promise", 1), ("greedy", 5), ("backfill", 1),
    ]  # fmt: skip


def test_swf_starts_after_its_wait(tmp_path):
    path = tmp_path / "other.txt"
    path.write_text(
        "\ufeff; MaxProcs: 4\n1 5 7 10 3 -1 -1 3 10 -1 1 1 -1 -1 -1 -1 -1 -1\n2 6 -1 9 1 -1 -1 1 9 -1 1" + " -1" * 7
    )
    assert times(read_schedule(path)) == [("1", 12.0, 22.0)], "a job without a wait did not start"


def test_submit_times_that_are_not_those_of_the_log_are_told(tmp_path):
    path = tmp_path / "other.swf"
    path.write_text("1 100 0 10 3 -1 -1 3 10 -1 1 1" + " -1" * 6 + "\n")
    jobs = workload([(0, 10, 3, 10)])
    log = type(jobs).of(jobs.table.with_columns(job_id=pl.lit("1")))
    note = "1 submit times of the schedule are not those of the log: is its clock another one?"
    assert check_schedule(path, log, 4).notes == (note,)


def test_plain_csv_packed_or_not_with_columns_in_any_order(tmp_path):
    (tmp_path / "plain.csv").write_text("start,id\n0,a\n10.5,b\n,c\n")
    assert times(read_schedule(tmp_path / "plain.csv")) == [("a", 0.0, None), ("b", 10.5, None)]
    (tmp_path / "jobs.csv.gz").write_bytes(gzip.compress(b"job_id,start_time,finish_time\na,0,10\n"))
    assert times(read_schedule(tmp_path / "jobs.csv.gz")) == [("a", 0.0, 10.0)]


def test_batsim_jobs_with_their_machines(tmp_path):
    (tmp_path / "out_jobs.csv").write_text(BATSIM)
    read = read_schedule(tmp_path / "out_jobs.csv")
    assert (read.kind, read.turned_away) == ("batsim", {"c"})
    assert times(read) == [("a", 0.0, 10.0), ("b", 10.0, 20.0)]
    assert read.held.rows() == [(0, 0, 1, None), (0, 3, 3, None), (1, 0, 3, None)]
    report = check_schedule(read, workload(LOG), 4, "easy")
    assert report.ok
    assert report["machines"].checked == 2


def test_batsim_jobs_are_found_by_the_name_of_their_workload_too(tmp_path):
    (tmp_path / "out_jobs.csv").write_text(BATSIM)
    jobs = workload(LOG)
    full = jobs.table.with_columns(job_id="w0!" + jobs.table["job_id"])
    report = check_schedule(tmp_path / "out_jobs.csv", type(jobs).of(full), Platform.pool(4))
    assert report.ok
    assert report["submission"].checked == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,start\na,soon\n", "line 2: start is 'soon'; expected seconds"),
        ("id,start\na,0\nb\n", "line 3: 1 cell; expected 2, as in the first line; mend this line"),
        ("id,when\na,0\n", "no column start or start_time or starting_time; the file has id, when; expected a folder"),
        ("nonsense\n", "is no schedule that can be read; expected a folder of results, SWF, the jobs file of Batsim"),
        (BATSIM.replace("0-1 3", "x"), "line 2: allocated_resources is 'x'; expected machine numbers such as 0-3 5"),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(text, message, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(InputError) as refusal:
        read_schedule(path)
    assert message in str(refusal.value)


def test_a_machine_that_the_platform_does_not_have_is_told(tmp_path):
    (tmp_path / "out_jobs.csv").write_text(BATSIM)
    report = check_schedule(tmp_path / "out_jobs.csv", workload(LOG), "3x1")
    assert report["machines"].reasons == ("the schedule names machine 3; the platform has 3, numbered from 0",)
    assert report["capacity"].violations == 1
