"""When so much of a log is rejected that its result must say so first, on logs of a few jobs."""

import pytest
from tests.build import workload

from unspool.model.workload import Workload, rejected_table
from unspool.report.run import answer
from unspool.results.rejection import LARGE_SHARE, warning_of, warnings_of
from unspool.results.run import run
from unspool.results.store import load, save
from unspool.workloads.transform import filter


def log(jobs, records, large=0):
    """So many jobs of an hour on one core, the last ones `large` of 99 cores, and so many records that are no jobs."""
    rows = [(at, 3600, 99 if at >= jobs - large else 1, 3600) for at in range(jobs)]
    rejected = rejected_table([(at, None, "what is this") for at in range(records)])
    return Workload.of(workload(rows).table, rejected=rejected)


@pytest.mark.parametrize(
    ("jobs", "records", "share", "warning"),
    [
        (20, 0, 0.0, None),
        (19, 1, 0.05, None),
        (18, 1, 1 / 19, "1 record was rejected: 5.3% of the log."),
        (1, 9, 0.9, "9 records were rejected: 90% of the log."),
    ],
)
def test_a_large_share_of_records_is_warned_of(jobs, records, share, warning):
    summary = run(log(jobs, records), "8", "fcfs").summary
    assert summary["rejected_share"] == pytest.approx(share)
    assert summary.get("warning") == warning
    assert LARGE_SHARE == 0.05


def test_jobs_that_can_never_run_count_with_their_core_hours():
    # 1 of 100 jobs, with 99 of 198 core-hours.
    summary = run(log(100, 0, large=1), "8", "fcfs").summary
    assert (summary["rejected_share"], summary["rejected_work_share"]) == (pytest.approx(0.01), 0.5)
    assert summary["warning"] == "1 job was rejected: 1% of the log, with 50% of its core-hours."


def test_records_and_jobs_count_together():
    summary = run(log(4, 4, large=2), "8", "fcfs").summary
    assert summary["rejected_share"] == 0.75
    assert summary["warning"].startswith("4 records and 2 jobs were rejected: 75% of the log, with 99% of")


def test_jobs_that_were_chosen_do_not_make_the_rejected_share_larger():
    chosen = filter(log(100, 1), "submit_time < 2")
    summary = run(chosen, "8", "fcfs").summary
    assert (summary["jobs"], summary["rejected_share"]) == (2, pytest.approx(1 / 101))
    assert "warning" not in summary


def test_almost_all_does_not_read_as_all():
    told = {"rejected": 9999, "rejected_records": 9999, "rejected_jobs": 0, "rejected_share": 0.9999}
    assert warning_of(told) == "9,999 records were rejected: over 99.9% of the log."


def test_the_answer_of_the_page_begins_with_the_warning():
    assert answer([run(log(1, 9), "8", "fcfs")]).startswith("9 records were rejected: 90% of the log. None would wait")
    assert answer([run(log(20, 0), "8", "fcfs")]).startswith("They would wait")


def test_a_stored_result_still_warns(tmp_path):
    result = run(log(1, 9), "8", "fcfs")
    assert load(save(result, tmp_path / "out")).summary["warning"] == result.summary["warning"]


def test_results_that_differ_are_named():
    many = run(log(1, 9), "8", "fcfs").summary
    few = run(log(20, 0), "8", "fcfs").summary
    assert warnings_of({"a": many, "b": many}) == "9 records were rejected: 90% of the log."
    assert warnings_of({"a": few, "b": many}) == "b: 9 records were rejected: 90% of the log."
    assert warnings_of({"a": few}) is None
