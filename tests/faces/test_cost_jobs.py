import polars as pl
import pytest

from unspool.errors import InputError
from unspool.faces.cloud.config import CostConfig
from unspool.faces.cloud.jobs import matches, selected
from unspool.model.workload import Workload

NOON = 1_704_110_400.0  # 2024-01-01T12:00:00 UTC


def log(**columns):
    """Four jobs: eligible at 10, 20, 30 and 40 minutes past noon, each waits 1 minute and runs 5."""
    table = {
        "job_id": ["a", "b", "c", "d"],
        "submit_time": [600.0, 1200.0, 1800.0, 2400.0],
        "run_time": [300.0] * 4,
        "cores": [1] * 4,
        "logged_wait": [60.0] * 4,
        **columns,
    }
    return Workload.of(pl.DataFrame(table), name="log", origin_unix_s=NOON)


def ids(workload):
    return "".join(workload.table["job_id"])


@pytest.mark.parametrize(
    ("start", "end", "left"),
    [
        (None, None, "abcd"),
        ("2024-01-01T12:26:00", None, "bcd"),  # b ends at 12:26:00 sharp
        ("2024-01-01T12:26:01", None, "cd"),
        (None, "2024-01-01T12:20:00", "ab"),  # b is submitted at 12:20:00 sharp
        (None, "2024-01-01T12:19:59", "a"),
        ("2024-01-01T12:21:00", "2024-01-01T12:31:00", "bc"),
        ("2024-01-01T13:26:00+01:00", NOON + 1800, "bc"),
        (str(NOON + 1561), None, "cd"),
    ],
)
def test_a_job_is_out_only_if_it_begins_and_ends_outside(start, end, left):
    assert ids(selected(log(), CostConfig(), start, end)) == left


def test_a_job_counts_from_its_real_submission():
    workload = log(ineligible_time=[None, None, 1700.0, None])
    assert ids(selected(workload, CostConfig(), None, "2024-01-01T12:05:00")) == "c"


@pytest.mark.parametrize(
    ("rules", "names"),
    [
        (["short"], ["short", "shorter"]),
        (["short$"], ["short"]),
        (["-shorter", "short"], ["short"]),
        (["short", "-shorter"], ["short", "shorter"]),
        (["-short", ".*"], ["long", ""]),
        (["-short"], []),
        (["hort"], []),
    ],
)
def test_the_first_rule_that_matches_decides(rules, names):
    assert [name for name in ("short", "shorter", "long", "") if matches(rules, name)] == names


def test_queues_and_projects_choose_jobs_and_what_was_kept_is_noted():
    workload = log(queue=["short", "long", None, "short"], project=["x", "x", "x", "y"])
    config = CostConfig(queues=("short", "long"), projects=("x",))
    chosen = selected(workload, config)
    assert ids(chosen) == "ab"
    assert chosen.notes == ("queues short, long: 3 of 4 jobs kept", "projects x: 2 of 3 jobs kept")
    assert ids(selected(workload, config, queues="-long, .*", projects=[])) == "acd"


def test_jobs_do_not_wait_for_jobs_that_are_left_out():
    workload = log(queue=["x", "y", "y", "y"], depends_on=[None, "a", "a,b", None])
    assert selected(workload, CostConfig(), queues="y").table["depends_on"].to_list() == [None, "b", None]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (
            {"starttime": "2025-01-01"},
            "log: the window from 2025-01-01 holds none of 4 jobs; they run from 2024-01-01T12:10:00 to "
            "2024-01-01T12:46:00",
        ),
        (
            {"starttime": NOON, "endtime": NOON},
            f"the window begins at {NOON} and ends at {NOON}; expected an end after the beginning",
        ),
        (
            {"endtime": "tomorrow"},
            "--endtime: 'tomorrow' is not a date such as 2022-03-01 or 2022-03-01T12:00, nor Unix seconds",
        ),
        ({"endtime": "nan"}, "--endtime: nan is no time; expected a date such as 2022-03-01T12:00, or Unix seconds"),
        ({"queues": "big"}, "log: queues big leaves none of 4 jobs; queues there are: none, short"),
        (
            {"queues": "-short,-"},
            "log: queues -short, - leaves none of 4 jobs; queues there are: none, short; all rules exclude, so add "
            "'.*' for the rest",
        ),
        ({"projects": "("}, "projects: '(' is no regular expression: missing ), unterminated subpattern at position 0"),
    ],
)
def test_a_window_or_rule_that_leaves_nothing_is_an_error(options, complaint):
    with pytest.raises(InputError) as raised:
        selected(log(queue=["short", None, None, None]), CostConfig(), **options)
    assert str(raised.value) == complaint


def test_a_date_means_nothing_in_a_log_without_an_origin():
    workload = Workload.of(log().table, name="log")
    assert ids(selected(workload, CostConfig(), 1561)) == "cd"
    with pytest.raises(
        InputError, match="--starttime: log does not say its origin; give seconds since that, not a date"
    ):
        selected(workload, CostConfig(), "2024-01-01")
