"""Workflows as Batsim submits them, on paper: when tasks become jobs, what they are called, limits, and jobs beside."""

import polars as pl
import pytest
from tests.faces.batsim_build import CASES, need_cases

from unspool.conform import own_cases
from unspool.faces.batsim.running import Settings, run_batsim
from unspool.faces.batsim.workflows import Flow, Rules, submissions
from unspool.workloads.dax import read_dax

OWN = own_cases("batsim") / "own"
PLATFORM = str(OWN / "platforms" / "clean4.xml")
COLUMNS = ("workload_name", "job_id", "profile", "submission_time", "starting_time", "finish_time")


def dax(tmp_path, tasks, name="flow.dax"):
    """Tasks of (id, run time, processors, parents)."""
    jobs = "".join(f'<job id="{id}" runtime="{time}" num_procs="{size}"/>' for id, time, size, _ in tasks)
    waits = "".join(
        f'<child ref="{id}">{"".join(f"<parent ref={parent!r}/>" for parent in parents)}</child>'
        for id, _, _, parents in tasks
        if parents
    )
    path = tmp_path / name
    path.write_text(f"<adag>{jobs}{waits}</adag>")
    return str(path)


def ran(settings, *columns):
    rows = run_batsim(settings, states=False).outputs.jobs
    return rows.sort("workload_name", pl.col("job_id").cast(pl.Int64, strict=False)).select(columns or COLUMNS).rows()


def flow_of(tmp_path, *tasks, start=0.0):
    return Flow("wf0", read_dax(dax(tmp_path, tasks)), start)


def test_tasks_are_numbered_as_they_are_submitted_and_have_ten_seconds_of_grace(tmp_path):
    # b is second in the file and first by its id; both children follow c, which ends last of the two.
    flow = dax(tmp_path, [("c", 5, 1, ()), ("b", 2, 1, ()), ("z", 1, 1, "bc"), ("y", 1, 2, "c")])
    settings = Settings(PLATFORM, workflows=((flow, None),))
    assert ran(settings) == [
        ("wf0", "0", "wf0_b", 0.0, 0.0, 2.0),
        ("wf0", "1", "wf0_c", 0.0, 0.0, 5.0),
        ("wf0", "2", "wf0_y", 5.0, 5.0, 6.0),
        ("wf0", "3", "wf0_z", 5.0, 5.0, 6.0),
    ]
    assert ran(settings, "requested_time", "requested_number_of_resources") == [(12, 1), (15, 1), (11, 2), (11, 1)]


def test_a_task_that_becomes_ready_waits_behind_jobs_that_came_before_it(tmp_path):
    # At 4 task b becomes ready; the job of 4 machines has waited since 1 and is served first.
    flow = dax(tmp_path, [("a", 4, 1, ()), ("b", 1, 4, "a")])
    (tmp_path / "w.json").write_text(
        '{"nb_res": 4, "profiles": {"d": {"type": "delay", "delay": 10}},'
        ' "jobs": [{"id": 7, "subtime": 1, "res": 4, "profile": "d"}]}'
    )
    settings = Settings(PLATFORM, [str(tmp_path / "w.json")], workflows=((flow, None),))
    assert ran(settings) == [
        ("w0", "7", "d", 1.0, 4.0, 14.0),
        ("wf0", "0", "wf0_a", 0.0, 0.0, 4.0),
        ("wf0", "1", "wf0_b", 4.0, 14.0, 15.0),
    ]


def test_workflows_with_a_time_are_called_wfc_and_begin_then(tmp_path):
    flow = dax(tmp_path, [("a", 4, 1, ())])
    settings = Settings(PLATFORM, workflows=((flow, None), (flow, None), (flow, 3.0)))
    assert ran(settings, "workload_name", "submission_time") == [("wf0", 0.0), ("wf1", 0.0), ("wfc0", 3.0)]


def test_no_more_tasks_are_submitted_than_the_limit_allows(tmp_path):
    flow = dax(tmp_path, [("a", 4, 1, ()), ("b", 1, 1, ()), ("c", 1, 1, ()), ("d", 1, 1, "b")])
    settings = Settings(PLATFORM, workflows=((flow, None),), workflow_rules=Rules(limit=2))
    # a and b at 0; c, ready since then, at 1 when b ends, for its id is before d's; d at 2.
    assert ran(settings, "profile", "submission_time") == [("wf0_a", 0), ("wf0_b", 0), ("wf0_c", 1), ("wf0_d", 2)]


def test_jobs_after_the_end_of_the_last_workflow_can_be_left_out(tmp_path):
    flow = dax(tmp_path, [("a", 4, 1, ())])
    (tmp_path / "w.json").write_text(
        '{"nb_res": 4, "profiles": {"d": {"type": "delay", "delay": 10}}, "jobs": ['
        + ",".join(f'{{"id": {at}, "subtime": {at}, "res": 1, "profile": "d"}}' for at in (3, 4, 5))
        + "]}"
    )
    settings = Settings(PLATFORM, [str(tmp_path / "w.json")], workflows=((flow, None),))
    left_out = Settings(
        PLATFORM, settings.workloads, workflows=settings.workflows, workflow_rules=Rules(ignore_beyond=True)
    )
    assert [job for _, job in ran(settings, "workload_name", "job_id")] == ["3", "4", "5", "0"]
    assert [job for _, job in ran(left_out, "workload_name", "job_id")] == ["3", "4", "0"]


def test_a_task_that_can_never_run_holds_up_nobody(tmp_path):
    flow = dax(tmp_path, [("a", 4, 9, ()), ("b", 1, 1, "a")])
    settings = Settings(PLATFORM, workflows=((flow, None),))
    assert ran(settings, "profile", "final_state", "submission_time") == [
        ("wf0_a", "REJECTED", 0.0),
        ("wf0_b", "COMPLETED_SUCCESSFULLY", 0.0),
    ]


def test_submissions_follow_ends_and_ends_at_one_time_follow_starts(tmp_path):
    flow = flow_of(tmp_path, ("a", 1, 1, ()), ("b", 1, 1, ()), ("x", 1, 1, "b"), ("y", 1, 1, "a"), start=2.0)
    ranks = {"a": 1, "b": 0, "x": 2, "y": 3}
    order, end = submissions(flow, lambda task, at: (at + 1.0, ranks[task]))
    assert ([tuple(one) for one in order], end) == ([("a", 2.0), ("b", 2.0), ("x", 3.0), ("y", 3.0)], 4.0)


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_a_recorded_workflow_keeps_its_order_on_few_machines(limit):
    need_cases()
    flow = str(next((CASES / "upstream-v4.2.1" / "workloads").glob("GENOME*.dax")))
    found = run_batsim(Settings(PLATFORM, workflows=((flow, None),), workflow_rules=Rules(limit)), states=False)
    rows = found.outputs.jobs
    assert (len(rows), rows["success"].sum()) == (36, 36)
    ends = dict(rows.select("job_id", "finish_time").rows())
    submitted = dict(rows.select("job_id", "submission_time").rows())
    waits = found.workload.table.select(pl.col("job_id", "depends_on").str.replace_all("wf0!", "", literal=True))
    for job, parents in waits.drop_nulls().rows():
        last = max(ends[parent] for parent in parents.split(","))
        assert submitted[job] == last if limit == 0 else submitted[job] >= last
    if limit:
        for time in submitted.values():
            assert sum(submitted[job] <= time < ends[job] for job in ends) <= limit
