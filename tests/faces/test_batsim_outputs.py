import json
import math
import os
import re
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.faces.batsim_build import GOLDEN, golden_rows, golden_schedule, jobs, machines, replayed

from unspool.errors import InputError
from unspool.faces.batsim.outputs import Outputs, check_prefix, general_texts, outputs_of, write_outputs
from unspool.model.platform import MachineGroup, MachineType, Platform
from unspool.model.profile import Delay
from unspool.policies.base import Annotate, Reject, Start
from unspool.results.run import run

CLEAN = ("own_edges", "own_share_net", "own_storage")  # of which every figure has its six decimals exactly
RECORDED = (
    "case1_small_fcfs", "delays_small_fcfs", "delays_small_easy_bf_fast",
    "hpc250s1_cluster512_fcfs_fast", "kill5_delays_small", "metadata_delays_filler", "mixed_small_fcfs",
    "rejecter_delays", "seqdelay_small_fcfs", "walltime_cluster512_fcfs",
)  # fmt: skip
WALL_CLOCK = {"batsim_version", "scheduling_time", "simulation_time"}


def text_of(outputs, tmp_path, name):
    write_outputs(outputs, str(tmp_path / "out"))
    return (tmp_path / f"out_{name}").read_text()


def test_a_run_checked_on_paper(tmp_path):
    given = jobs([(0, 10, 2, 20), (1, 10, 2, 5), (2, 4, 1, 4), (3, 1, 9, 1)])
    result = run(given, machines(3), "fcfs", kill_at_walltime=True)
    outputs = outputs_of(given, result)
    assert text_of(outputs, tmp_path, "jobs.csv").splitlines()[1:] == [
        'd,w0,d1,3.000000,9,1.000000,0,REJECTED,,,,,,,,,""',
        "a,w0,d10,0.000000,2,20.000000,1,COMPLETED_SUCCESSFULLY,0.000000,10.000000,10.000000,0.000000,10.000000,1.000000,"
        '0-1,-1.000000,""',
        'c,w0,d4,2.000000,1,4.000000,1,COMPLETED_SUCCESSFULLY,10.000000,4.000000,14.000000,8.000000,12.000000,3.000000,2,-1.000000,""',
        "b,w0,d10,1.000000,2,5.000000,0,COMPLETED_WALLTIME_REACHED,10.000000,5.000000,15.000000,9.000000,14.000000,"
        '2.800000,0-1,-1.000000,""',
    ]
    assert text_of(outputs, tmp_path, "machine_states.csv") == (
        "time,nb_sleeping,nb_switching_on,nb_switching_off,nb_idle,nb_computing\n"
        "0,0,0,0,1,2\n10,0,0,0,3,0\n10,0,0,0,1,2\n10,0,0,0,0,3\n14,0,0,0,1,2\n15,0,0,0,3,0\n"
    )
    header, row = (line.split(",") for line in text_of(outputs, tmp_path, "schedule.csv").splitlines())
    figures = dict(zip(header, row, strict=True))
    assert header == sorted(header)
    expected = {
        "makespan": "15.000000", "mean_waiting_time": "4.250000", "max_slowdown": "3.000000", "nb_jobs": "4",
        "nb_jobs_finished": "3", "nb_jobs_killed": "1", "nb_jobs_rejected": "1", "nb_jobs_success": "2",
        "success_rate": "0.500000", "time_computing": "34.000000", "time_idle": "10.000000",
        "nb_computing_machines": "3", "consumed_joules": "0.000000",
    }  # fmt: skip
    assert {name: figures[name] for name in expected} == expected
    assert outputs.corrected["mean_waiting_time"] == pytest.approx(17 / 3)
    assert outputs.corrected["time_idle"] == 3 * 15 - 34
    assert outputs.corrected["utilisation"] == pytest.approx(34 / 45)


def test_a_job_that_takes_no_time_is_said_to_take_a_hundred_thousandth_of_a_second():
    given = jobs([(5, 0, 2, 9)])
    outputs = outputs_of(given, run(given, machines(3), "fcfs"))
    assert outputs.jobs["execution_time", "finish_time", "stretch"].row(0) == (1e-5, 5.00001, pytest.approx(1.0))
    assert outputs.schedule["makespan"] == 5.00001
    assert outputs.machine_states["time", "nb_computing"].rows() == [(5.0, 2), (5.0, 0)]
    assert outputs.schedule_v5["makespan"] == pytest.approx(1e-5)


def test_jobs_of_no_time_that_follow_each_other_never_share_a_machine():
    given = jobs([(0, 0, 3, 9), (0, 0, 3, 9), (0, 2, 3, 9)])
    outputs = outputs_of(given, run(given, machines(3), "fcfs"))
    assert outputs.machine_states["nb_computing"].to_list() == [3, 0, 3, 0, 3, 0]
    assert outputs.jobs["job_id"].to_list() == ["a", "b", "c"]


def test_no_jobs_have_no_means(tmp_path):
    given = jobs([])
    outputs = outputs_of(given, run(given, machines(2), "fcfs"))
    row = text_of(outputs, tmp_path, "schedule.csv").splitlines()[1]
    assert row.count("-nan") == 4
    assert json.loads((tmp_path / "out_schedule.json").read_text())["mean_slowdown"] is None
    assert text_of(outputs, tmp_path, "machine_states.csv").count("\n") == 1
    assert outputs.corrected["utilisation"] is None


def test_what_a_policy_notes_is_the_metadata_and_is_always_quoted(tmp_path):
    def noting(view):
        for job in view.queue:
            yield Annotate(job, f'said "{job.id}"')
            yield Start(job) if job.id != "b" else Reject(job, "no")

    given = jobs([(0, 1, 1, 1), (0, 1, 1, 1)])
    lines = text_of(outputs_of(given, run(given, machines(2), noting)), tmp_path, "jobs.csv").splitlines()
    assert [line.rsplit(",", 1)[1] for line in lines[1:]] == ['""', '"said ""a"""']
    assert [line.split(",")[7] for line in lines[1:]] == ["REJECTED", "COMPLETED_SUCCESSFULLY"]


def test_ids_of_several_workloads_are_two_columns_and_profiles_lose_the_name(tmp_path):
    given = jobs([(0, 1, 1, 1), (0, 2, 1, 2)])
    table = given.table.with_columns(job_id=pl.Series(["w0!x", "w1!y"]), profile=pl.Series(["w0!p", "w1!w0!p"]))
    given = type(given).of(table, profiles={"w0!p": Delay(1.0), "w1!w0!p": Delay(2.0)})
    outputs = outputs_of(given, run(given, machines(2), "fcfs"))
    assert outputs.jobs["job_id", "workload_name", "profile"].rows() == [("x", "w0", "p"), ("y", "w1", "w0!p")]


@given(st.lists(st.floats(0, 1e12) | st.integers(0, 10**7).map(lambda at: at / 8 + 12345.5), max_size=30))
def test_times_of_machine_states_are_written_as_c_writes_them(times):
    written = general_texts(pl.Series("time", sorted(times), dtype=pl.Float64))
    assert written.to_list() == [f"{time:g}" for time in sorted(times)]


def test_ids_with_commas_are_quoted(tmp_path):
    given = jobs([(0, 1, 1, 1)])
    given = replace(given, table=given.table.with_columns(job_id=pl.Series(['x,"y"'])))
    outputs = outputs_of(given, run(given, machines(2), "fcfs"))
    text_of(outputs, tmp_path, "jobs.csv")
    assert pl.read_csv(tmp_path / "out_jobs.csv")["job_id"].to_list() == ['x,"y"']


def test_machines_that_are_down_are_in_no_column(tmp_path):
    (tmp_path / "down.csv").write_text("machine,down_time,up_time\n2,1,6\n")
    given = jobs([(0, 4, 1, 4), (2, 4, 2, 4)])
    result = run(given, machines(3), "fcfs", outages=tmp_path / "down.csv")
    outputs = outputs_of(given, result)
    assert result.jobs["start_time"].to_list() == [0.0, 4.0]
    assert outputs.machine_states.rows() == [
        (0.0, 0, 0, 0, 2, 1), (4.0, 0, 0, 0, 2, 0), (4.0, 0, 0, 0, 0, 2), (8.0, 0, 0, 0, 3, 0)
    ]  # fmt: skip
    assert outputs.schedule["time_unavailable"] == 5.0
    # Of machine 0 all 8 s count, of machine 1 the 4 s before its job, of machine 2 the first second.
    assert (outputs.schedule["time_computing"], outputs.schedule["time_idle"]) == (12.0, 5.0)
    assert outputs.corrected["time_idle"] == 3 * 8 - 12 - 5


def test_a_machine_with_two_jobs_computes_once():
    given = jobs([(0, 4, 1, 4), (1, 4, 1, 4)])
    result = run(given, Platform((MachineGroup(MachineType("double", 2), 2),)), "fcfs")
    outputs = outputs_of(given, result)
    assert outputs.machine_states["time", "nb_idle", "nb_computing"].rows() == [
        (0.0, 1, 1), (1.0, 1, 1), (4.0, 1, 1), (5.0, 2, 0)
    ]  # fmt: skip
    assert outputs.schedule["time_computing"] == 5.0


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5), st.integers(1, 4), st.integers(1, 9)), max_size=12),
    st.integers(1, 5),
)
def test_counting_by_jobs_and_by_machines_agrees_and_machine_seconds_add_up(rows, count):
    given = jobs(sorted(rows))
    result = run(given, machines(count), "filler", kill_at_walltime=True)
    outputs = outputs_of(given, result)
    # An outage after the end changes nothing, but has every machine followed by itself.
    later = pl.DataFrame({"machine": [0], "down_time": [1e6], "up_time": [math.inf], "cause": ["listed"]})
    followed = outputs_of(given, type(result)(**{**vars(result), "outages": later}))
    assert outputs.machine_states.equals(followed.machine_states)
    assert outputs.schedule["time_computing"] == pytest.approx(followed.schedule["time_computing"])
    states = outputs.machine_states
    assert (states["nb_idle"] + states["nb_computing"] == count).all()
    assert (states["nb_idle"] >= 0).all()
    right = outputs.corrected
    assert right["time_idle"] + right["time_computing"] == pytest.approx(count * right["makespan"])
    assert outputs.schedule["time_idle"] <= right["time_idle"] + 1e-9


@pytest.mark.parametrize("name", CLEAN)
def test_files_of_clean_runs_are_those_of_batsim_byte_by_byte(name, tmp_path):
    given, result = replayed(name, 4)
    outputs = outputs_of(given, result)
    golden = (GOLDEN / name / "out_jobs.csv").read_text()
    assert text_of(outputs, tmp_path, "jobs.csv") == golden
    # Batsim's clock begins a few femtoseconds after 0.
    states = re.sub(r"\d+e-15,", "0,", (GOLDEN / name / "out_machine_states.csv").read_text())
    assert sorted(text_of(outputs, tmp_path, "machine_states.csv").split()) == sorted(states.split())
    theirs = golden_schedule(name)
    ours = dict(zip(*(line.split(",") for line in text_of(outputs, tmp_path, "schedule.csv").split()), strict=True))
    assert list(ours) == list(theirs)
    skipped = WALL_CLOCK | {"nb_computing_machines"}  # there are two storages in these
    assert {key: ours[key] for key in ours if key not in skipped} == {
        key: theirs[key] for key in theirs if key not in skipped
    }


@pytest.mark.parametrize("name", RECORDED)
def test_figures_of_recorded_runs_are_those_of_batsim(name):
    rows = golden_rows(name)
    theirs = golden_schedule(name)
    given, result = replayed(name, int(theirs["nb_computing_machines"]))
    outputs = outputs_of(given, result)
    assert [row["job_id"] for row in rows] == outputs.jobs["job_id"].to_list()
    assert [row["allocated_resources"] for row in rows] == outputs.jobs["allocated_resources"].fill_null("").to_list()
    assert [row["metadata"] for row in rows] == outputs.jobs["metadata"].to_list()
    for key, value in outputs.schedule.items():
        if key not in WALL_CLOCK:
            # What they print is rounded to a millionth, and the figures here are computed from that.
            rel = 1e-3 if key.endswith("slowdown") else 1e-6
            assert value == pytest.approx(float(theirs[key]), rel=rel, abs=1e-5 * max(1, len(rows))), key
    theirs_states = pl.read_csv(GOLDEN / name / "out_machine_states.csv")
    assert len(outputs.machine_states) == len(theirs_states)
    assert sorted(outputs.machine_states["nb_computing"]) == sorted(theirs_states["nb_computing"])


def test_a_prefix_that_ends_with_a_slash_is_a_folder_as_in_version_5(tmp_path):
    given = jobs([(0, 1, 1, 1)])
    written = write_outputs(outputs_of(given, run(given, machines(1), "fcfs")), f"{tmp_path}/new/", states=False)
    assert sorted(path.name for path in written) == ["jobs.csv", "schedule.csv", "schedule.json"]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["jobs.csv", "schedule.csv", "schedule.json"]


def test_a_prefix_below_a_file_is_refused_before_the_run(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is no folder"):
        check_prefix(f"{tmp_path}/file/out")
    with pytest.raises(InputError, match="is empty"):
        check_prefix("")
    (tmp_path / "out_schedule.trace").mkdir()
    with pytest.raises(InputError, match=r"out_schedule\.trace is a folder; name another prefix"):
        check_prefix(f"{tmp_path}/out")


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="there is no /proc, which refuses files even of root")
def test_a_prefix_is_tried_before_the_run_and_not_only_asked_for_its_permissions():
    with pytest.raises(InputError, match=r"-e /proc/b/: /proc is no folder that files can be written to \(.+\); name"):
        check_prefix("/proc/b/")


@given(
    st.lists(
        st.none()
        | st.floats(allow_nan=False, allow_infinity=False, min_value=-1e15, max_value=1e15)
        | st.integers(-10, 10**9).map(lambda halves: halves / 2e6)
        | st.integers(0, 10**12).map(lambda cents: cents / 100),
        min_size=1,
        max_size=4,
    )
)
def test_times_have_six_decimals_of_their_exact_value(values):
    rows = pl.DataFrame({"job_id": "a", "workload_name": "w0", "profile": "p", "metadata": "", "stretch": values},
                        schema_overrides={"stretch": pl.Float64})  # fmt: skip
    with TemporaryDirectory() as folder:
        write_outputs(Outputs(rows, pl.DataFrame(), {}, {}, {}), f"{folder}/", states=False)
        written = Path(folder, "jobs.csv").read_text().splitlines()[1:]
    assert [line.rpartition(",")[2] for line in written] == ["" if v is None else f"{v:.6f}" for v in values]
