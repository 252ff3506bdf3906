"""Built-in policies keep their laws on random workloads, and an audit notices when a start is moved."""

import os
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.build import POLICIES
from tests.oracles import audit
from tests.strategies import as_jobs, as_workload, platforms, requests, rows

from unspool.analysis.audit.schedule import Schedule, schedule_of
from unspool.analysis.check import check_schedule
from unspool.model.platform import Platform
from unspool.results.run import run
from unspool.workloads import read_workload
from unspool.workloads.generators import lublin

CASES = Path(os.environ.get("UNSPOOL_CASES", Path(__file__).parents[3] / "shared" / "cases"))
CORES = 8
HELD = dict.fromkeys(("row", "first_machine", "last_machine", "units"), pl.Int64)

each_policy = pytest.mark.parametrize("policy", POLICIES)


def found(report):
    """(violations in all, also of laws that are information only; laws that bind)."""
    return sum(v.violations for v in report.verdicts), [v.law for v in report.verdicts if v.binds]


BINDING = {
    "fcfs": ["once", "submission", "run time", "capacity", "order", "greedy"],
    "easy": ["once", "submission", "run time", "capacity", "promise", "greedy"],
    "conservative": ["once", "submission", "run time", "capacity", "first plan"],
}


@pytest.mark.slow
@settings(max_examples=1000)
@given(log=rows(CORES, overruns=False))
def test_every_built_in_keeps_its_laws_on_a_thousand_random_workloads(log):
    jobs = as_workload(as_jobs(log))
    for policy in POLICIES:
        report = check_schedule(run(jobs, Platform.pool(CORES), policy), jobs, tolerance=0.0)
        assert found(report) == (0, BINDING[policy]), str(report)


@each_policy
@settings(max_examples=60)
@given(log=rows(CORES, overruns=False), data=st.data())
def test_a_start_that_is_moved_is_noticed(policy, log, data):
    jobs = as_workload(as_jobs(log))
    made = schedule_of(run(jobs, Platform.pool(CORES), policy))
    row = data.draw(st.integers(0, len(made.rows) - 1))
    later = data.draw(st.integers(1, 100))
    moved = pl.when(pl.int_range(pl.len()) == row).then(later).otherwise(0.0)
    other = replace(made, rows=made.rows.with_columns(pl.col("start_time", "finish_time") + moved))
    violations, _ = found(check_schedule(other, jobs, CORES, policy, tolerance=0.0))
    assert violations > 0


@settings(max_examples=150)
@given(log=rows(CORES, overruns=False), policy=st.sampled_from(POLICIES), data=st.data())
def test_violations_are_counted_as_the_definitions_do(log, policy, data):
    """Schedules that somebody made and somebody else disturbed, so that some laws hold here and there."""
    log = [(submit, max(run_time, 1), size, walltime) for submit, run_time, size, walltime in log]
    jobs = as_workload(as_jobs(log))
    made = schedule_of(run(jobs, Platform.pool(CORES), policy))
    delay = st.sampled_from([0.0, 0.0, 0.0, 1.0, 7.0, 40.0, 200.0])
    delays = data.draw(st.lists(delay, min_size=len(log), max_size=len(log)))
    other = replace(made, rows=made.rows.with_columns(pl.col("start_time", "finish_time") + pl.Series(delays)))
    starts = dict(other.rows.select("job_id", "start_time").rows())
    starts = [starts[str(number)] for number in range(len(log))]
    order, greedy = (check_schedule(other, jobs, CORES, "fcfs", tolerance=0.0)[law] for law in ("order", "greedy"))
    assert (order.violations, greedy.violations) == audit.fcfs(log, starts, CORES)
    promise, greedy = (check_schedule(other, jobs, CORES, "easy", tolerance=0.0)[law] for law in ("promise", "greedy"))
    assert (promise.checked, promise.violations, greedy.violations) == audit.easy(log, starts, CORES)


@each_policy
@settings(max_examples=60)
@given(log=rows(CORES), kill=st.booleans())
def test_laws_are_information_where_jobs_outlive_their_estimates(policy, log, kill):
    jobs = as_workload(as_jobs(log))
    report = check_schedule(run(jobs, CORES, policy, kill_at_walltime=kill), jobs)
    assert report.ok, str(report)
    outlives = any(run_time > walltime for _, run_time, _, walltime in log)
    first_law = BINDING[policy][4]
    assert report[first_law].binds == (kill or not outlives)


@each_policy
@settings(max_examples=30)
@given(jobs=requests(licences=True, partitions=True), platform=platforms())
def test_no_built_in_takes_more_of_a_machine_than_is_free(policy, jobs, platform):
    log = as_workload(jobs)
    report = check_schedule(run(log, platform, policy), log, tolerance=0.0)
    assert report.ok, str(report)


@each_policy
@settings(max_examples=60)
@given(log=rows(CORES, overruns=False, most=12), data=st.data())
def test_laws_hold_with_dependencies(policy, log, data):
    jobs = [{**job, "run": max(job["run"], 1)} for job in as_jobs(log)]
    for number, job in enumerate(jobs):
        on = data.draw(st.lists(st.integers(0, number - 1), max_size=2)) if number else []
        job["depends_on"] = ",".join(map(str, on)) or None
        job["think"] = data.draw(st.sampled_from([None, 0, 5, 300]))
        job["walltime"] = max(job["walltime"], job["run"])
    log = as_workload(jobs)
    report = check_schedule(run(log, Platform.pool(CORES), policy), log, tolerance=0.0)
    assert report.ok, str(report)


@settings(max_examples=80)
@given(
    log=rows(CORES + 1, most=10),
    starts=st.lists(
        st.tuples(
            st.integers(0, 11).map(str),
            st.floats(-9, 300) | st.integers(0, 30).map(lambda tens: 10.0 * tens),
            st.sampled_from([None, -3.0, 0.0, 1e-7, 50.0]),
        ),
        max_size=14,
    ),
    policy=st.sampled_from(POLICIES),
    platform=st.sampled_from([f"{CORES}", f"{CORES}x1", f"2x{CORES}"]),
    tolerance=st.sampled_from([0.0, 1e-6, 3.0]),
    machines=st.booleans(),
)
def test_any_nonsense_is_judged(log, starts, policy, platform, tolerance, machines):
    """Jobs too large, missing, unknown, several times, before their submission, ending before they start."""
    table = [(name, start, None if length is None else start + length, False) for name, start, length in starts]
    types = {"job_id": pl.String, "start_time": pl.Float64, "finish_time": pl.Float64, "killed": pl.Boolean}
    held = pl.DataFrame([(row, 0, 0, None) for row in range(len(table))], schema=HELD, orient="row")
    made = Schedule("any", "csv", pl.DataFrame(table, schema=types, orient="row"), held if machines else None)
    report = check_schedule(made, as_workload(as_jobs(log)), platform, policy, tolerance=tolerance)
    assert str(report)
    names = {name for name, _, _ in starts}
    unknown = [name for name in names if int(name) >= len(log)]
    missing = [number for number, job in enumerate(log) if job[2] <= CORES and str(number) not in names]
    assert report["once"].violations >= len(unknown) + len(missing)


@each_policy
@pytest.mark.parametrize(("name", "cores"), [("theta-2022", 4360), ("seth-like-50k", 480)])
def test_every_built_in_keeps_its_laws_on_the_reference_logs(policy, name, cores):
    path = CASES / "swf" / f"{name}.swf.gz"
    if not path.exists():
        pytest.skip(f"the reference logs are not here: no {path.name} under UNSPOOL_CASES")
    log = read_workload(path)
    report = check_schedule(run(log, cores, policy), log, tolerance=0.0)
    assert found(report) == (0, BINDING[policy]), str(report)


@pytest.mark.parametrize(
    ("case", "policy", "promise", "greedy"), [("fcfs_fast", "fcfs", None, 0), ("easy_bf_fast", "easy", 0, 2)]
)
def test_what_batsched_did_with_250_jobs_is_found_as_batsim_wrote_it(case, policy, promise, greedy):
    path = CASES / "batsim" / "golden" / f"hpc250s1_cluster512_{case}" / "out_jobs.csv"
    if not path.exists():
        pytest.skip("the recorded runs of Batsim are not here")
    columns = {"submit_time": "submission_time", "run_time": "execution_time", "walltime": "requested_time"}
    log = read_workload(path, columns={**columns, "cores": "requested_number_of_resources"})
    # Messages of Batsim take up to 2 ms of simulated time; the run used 128 of its 512 machines.
    report = check_schedule(path, log, 128, policy, tolerance=0.05)
    assert report["machines"].checked == report["once"].checked == 250
    assert sum(report[law].violations for law in ("once", "submission", "run time", "capacity", "machines")) == 0
    assert report["greedy"].violations == greedy
    assert promise is None or (report["promise"].checked, report["promise"].violations) == (25, promise)


def test_easy_keeps_its_laws_on_a_log_of_ten_thousand_jobs():
    log = lublin(10_000, cores=480, load=0.9, seed=1)
    report = check_schedule(run(log, 480, "easy"), log, tolerance=0.0)
    assert found(report) == (0, BINDING["easy"]), str(report)
    assert report["promise"].checked > 100
