import polars as pl
import pytest
from tests.build import workload

from unspool.model.platform import MachineGroup, MachineType, Partition, Platform
from unspool.model.prices import Price
from unspool.policies.base import Annotate, Kill, Reject, Start
from unspool.results.overview import comparison
from unspool.results.run import run
from unspool.results.tables import machines_of

# On 4 cores: a runs 0-10, b needs 4 and waits until 10, c asks for more than there is.
JOBS = [(0, 10, 2, 8), (1, 5, 4, 5), (2, 1, 9, 1)]


def test_jobs_have_one_row_each_with_what_follows_from_their_times():
    jobs = run(workload(JOBS, user=["ann", None, "eve"]), 4, "easy").jobs
    assert jobs.rows(named=True) == [
        {"job_id": "a", "user": "ann", "submit_time": 0.0, "walltime": 8.0, "cores": 2, "start_time": 0.0,
         "finish_time": 10.0, "state": "completed", "attempts": 1, "wait_time": 0.0, "run_time": 10.0,
         "response_time": 10.0, "slowdown": 1.0, "bounded_slowdown": 1.0},
        {"job_id": "b", "user": None, "submit_time": 1.0, "walltime": 5.0, "cores": 4, "start_time": 10.0,
         "finish_time": 15.0, "state": "completed", "attempts": 1, "wait_time": 9.0, "run_time": 5.0,
         "response_time": 14.0, "slowdown": 2.8, "bounded_slowdown": 1.4},
    ]  # fmt: skip


def test_attempts_are_in_the_order_of_their_starts():
    attempts = run(workload(JOBS), 4, "easy").attempts
    assert attempts.columns == ["job_id", "attempt", "submit_time", "start_time", "finish_time", "cores", "how"]
    assert attempts.rows() == [("a", 0, 0.0, 0.0, 10.0, 2, "completed"), ("b", 1, 1.0, 10.0, 15.0, 4, "completed")]


def test_a_job_killed_at_its_walltime_says_so():
    jobs = run(workload(JOBS), 4, "easy", kill_at_walltime=True).jobs
    assert jobs.select("job_id", "finish_time", "run_time", "state").rows() == [
        ("a", 8.0, 8.0, "walltime"),
        ("b", 13.0, 5.0, "completed"),
    ]


def test_rejected_jobs_have_line_and_reason():
    assert run(workload(JOBS), 4, "easy").rejected.rows() == [(3, "c", "asks for 9 cores; the platform has 4")]


def test_what_a_policy_rejects_kills_and_notes_stands_in_the_tables():
    def decide(view):
        decisions = [Kill(job) for job in view.running]
        for job in view.queue:
            if job.cores == 4:
                decisions += [Reject(job, "no large jobs")]
            else:
                decisions += [Start(job), Annotate(job, "small"), Annotate(job, "first")]
        return decisions

    result = run(workload(JOBS), 4, decide)
    assert result.policy == "decide"
    assert result.jobs.select("job_id", "finish_time", "state", "notes").rows() == [
        ("a", 1.0, "killed", "small; first")
    ]
    assert sorted(result.rejected.rows()) == [
        (2, "b", "no large jobs"),
        (3, "c", "asks for 9 cores; the platform has 4"),
    ]


def test_allocations_are_runs_of_neighbouring_machines():
    result = run(workload([(0, 10, 5, 10), (0, 10, 1, 10)]), "4x2", "fcfs")
    assert result.allocations.rows() == [(0, 0, 1, 2), (0, 2, 2, 1), (1, 2, 2, 1)]


def test_a_pool_has_no_allocations():
    assert run(workload(JOBS), 4, "easy").allocations.rows() == []


def test_machines_have_one_row_each():
    fat = MachineType("fat", 4, 1 << 30, 2, prices=(Price(2.5, "reserved"),))
    groups = (MachineGroup(MachineType("thin", 2), 2), MachineGroup(fat, 1))
    platform = Platform(groups, (Partition("all", ("thin", "fat")), Partition("long", ("fat",))))
    machines = machines_of(platform, pl.DataFrame({"submit_time": [5.0, 7.0], "finish_time": [15.0, 9.0]}))
    assert machines.columns == [
        "machine", "type", "partitions", "cores", "memory_bytes", "gpus", "up_time", "stop_time", "plan", "usd_per_hour"
    ]  # fmt: skip
    assert machines.rows() == [
        (0, "thin", "all", 2, 0, 0, 5.0, 15.0, None, None),
        (1, "thin", "all", 2, 0, 0, 5.0, 15.0, None, None),
        (2, "fat", "all,long", 4, 1 << 30, 2, 5.0, 15.0, "reserved", 2.5),
    ]


def test_an_empty_run_has_tables_of_the_same_columns():
    full, empty = run(workload(JOBS), 4, "easy"), run(workload(JOBS[2:]), 4, "easy")
    for name in ("jobs", "attempts", "allocations", "machines", "rejected"):
        assert getattr(empty, name).schema == getattr(full, name).schema
    assert (len(empty.jobs), len(empty.rejected), empty.summary["makespan_s"]) == (0, 1, 0.0)


def test_a_comparison_has_one_row_a_result():
    results = [run(workload(JOBS), 4, policy) for policy in ("fcfs", "easy")]
    table = comparison(results)
    assert table.columns == [
        "policy", "jobs", "rejected", "mean_wait_s", "p95_wait_s", "max_wait_s", "mean_bounded_slowdown",
        "utilisation", "makespan_s",
    ]  # fmt: skip
    assert table.select("policy", "jobs", "rejected", "max_wait_s").rows() == [("fcfs", 2, 1, 9.0), ("easy", 2, 1, 9.0)]


def test_a_result_shows_itself_in_a_notebook():
    result = run(workload(JOBS), 4, "easy")
    assert "<b>workload</b> on 4" in result._repr_html_()
    assert "mean_wait_s" in result._repr_html_()


def test_files_and_texts_will_do_for_workload_and_platform(tmp_path):
    (tmp_path / "log.csv").write_text("submit_time,run_time,cores\n0,10,2\n")
    (tmp_path / "small.yaml").write_text("pool: 4\n")
    result = run(tmp_path / "log.csv", tmp_path / "small.yaml", "fcfs")
    assert result.config == {
        "workload": str(tmp_path / "log.csv"), "platform": str(tmp_path / "small.yaml"), "policy": "fcfs", "seed": 0,
        "kill_at_walltime": False, "selection": "first",
    }  # fmt: skip
    assert result.jobs.equals(run(str(tmp_path / "log.csv"), 4, "fcfs").jobs)


def test_progress_ends_with_all_jobs_and_compiling_is_entered_once():
    seen, entered = [], []

    class Compiling:
        def __enter__(self):
            entered.append(len(seen))

        def __exit__(self, *_):
            pass

    run(workload(JOBS), 4, "easy", progress=lambda done, total: seen.append((done, total)), compiling=Compiling)
    assert seen[-1] == (2, 2)
    assert entered == [0]


@pytest.mark.parametrize("name", ["read_s", "compile_s", "simulate_s", "tables_s", "write_s"])
def test_timing_is_part_of_the_summary(name):
    assert run(workload(JOBS), 4, "easy").summary["timing"][name] >= 0.0


def test_ids_keep_their_type_in_every_table():
    result = run(workload(JOBS), 4, "easy")
    assert {getattr(result, name)["job_id"].dtype for name in ("jobs", "attempts", "rejected")} == {pl.String()}
