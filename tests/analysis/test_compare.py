from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from tests import strategies
from tests.build import workload

import unspool
from unspool.analysis.compare import compare
from unspool.analysis.groups import size_class
from unspool.analysis.paired import DIFFERENCES
from unspool.errors import InputError
from unspool.metrics.waiting import job_times
from unspool.results.run import run

MINUTE = 60
# Waits in minutes on 8 cores, of jobs a to f: 0 119 118 177 221 220 under fcfs, 0 119 0 259 18 115 under easy.
TUTORIAL = [
    (0, 120, 6, 180), (1, 60, 4, 120), (2, 20, 2, 30), (3, 45, 7, 60), (4, 240, 2, 300), (5, 10, 1, 15),
    (7, 45, 16, 60),
]  # fmt: skip


def tutorial(policy, platform=8, **columns):
    rows = [(MINUTE * submit, MINUTE * length, cores, MINUTE * limit) for submit, length, cores, limit in TUTORIAL]
    return run(workload(rows, **columns), platform, policy)


def with_waits(waits, policy):
    """A result with a job every minute, each of which runs for a minute after the wait that is given."""
    result = run(workload([(MINUTE * at, MINUTE, 1, MINUTE) for at in range(len(waits))]), len(waits), "fcfs")
    start = pl.col("submit_time") + pl.Series(waits)
    times = result.jobs.with_columns(start_time=start, finish_time=start + MINUTE).with_columns(job_times())
    return replace(result, policy=policy, jobs=times)


def row(found, measure="wait_time", group=None, policy=None):
    rows = found.differences.filter(pl.col("measure") == measure, pl.col("group").eq_missing(pl.lit(group)))
    return (rows if policy is None else rows.filter(pl.col("policy") == policy)).row(0, named=True)


def test_differences_of_six_jobs_on_paper():
    found = compare([tutorial("fcfs"), tutorial("easy")])
    told = row(found)
    # 0, 0, -118, +82, -203, -105 minutes
    assert (told["jobs"], told["mean"], told["baseline_mean"]) == (6, 5110.0, 8550.0)
    assert told["difference"] == pytest.approx(-344 / 6 * MINUTE)
    assert told["median_difference"] == pytest.approx(-52.5 * MINUTE)
    assert (told["better"], told["equal"], told["worse"]) == pytest.approx((3 / 6, 2 / 6, 1 / 6))
    assert row(found, "response_time")["difference"] == pytest.approx(told["difference"])
    # run times 20, 45, 240 and 10 minutes
    assert row(found, "bounded_slowdown")["difference"] == pytest.approx(
        (-118 / 20 + 82 / 45 - 203 / 240 - 105 / 10) / 6
    )
    assert found.differences.schema == DIFFERENCES


def test_six_jobs_are_too_few_for_an_interval():
    found = compare([tutorial("fcfs"), tutorial("easy")])
    ends = [name for name in found.differences.columns if name.endswith(("_low", "_high"))]
    assert len(ends) == 10
    assert found.differences.select(ends).null_count().row(0) == (3,) * 10
    assert found.notes == (
        "easy: no intervals: 6 jobs make up 3 blocks of jobs that are alike, and 10 are needed; compare a longer log",
    )


def test_the_baseline_is_the_first_unless_named():
    results = [tutorial("fcfs"), tutorial("easy"), tutorial("conservative")]
    found = compare(results)
    assert (found.baseline, found.pairs["policy"].to_list()) == ("fcfs", ["easy", "conservative"])
    found = compare(results, "easy")
    assert (found.baseline, found.pairs["policy"].to_list()) == ("easy", ["fcfs", "conservative"])
    assert row(found, policy="fcfs")["difference"] == pytest.approx(344 / 6 * MINUTE)
    with pytest.raises(InputError, match="unknown baseline 'esay'; did you mean 'easy'"):
        compare(results, "esay")


def test_jobs_that_ran_in_one_result_only_are_counted_and_told():
    large = replace(tutorial("fcfs", 16), policy="large")
    found = compare([tutorial("fcfs"), large])
    assert found.notes[:2] == (
        "large is on another platform: 16 (16 cores), not 8 (8 cores)",
        "1 of 7 jobs that ran under large have no partner under fcfs (1 rejected there): they are in no difference",
    )
    pair = found.pairs.row(0, named=True)
    assert (pair["jobs"], pair["only_in_baseline"], pair["only_in_policy"]) == (6, 0, 1)
    assert found.results["jobs"].to_list() == [6, 7]
    assert found.results["rejected"].to_list() == [1, 0]


def test_what_differs_but_for_the_policy_is_told():
    base = tutorial("fcfs")
    other = replace(tutorial("easy"), workload="other.swf", config={**base.config, "seed": 7})
    other = replace(other, jobs=other.jobs.with_columns(submit_time=pl.col("submit_time") + 1, run_time=pl.lit(1.0)))
    assert compare([base, other]).notes[:4] == (
        "easy is of another log: other.swf, not workload",
        "easy has another seed: 7, not 0",
        "6 of 6 jobs have another submit time under easy than under fcfs",
        "6 of 6 jobs have another run time under easy than under fcfs",
    )


def test_results_without_a_common_job_cannot_be_compared():
    base = tutorial("fcfs")
    other = replace(tutorial("easy"), jobs=base.jobs.with_columns(job_id=pl.lit("x") + pl.col("job_id")))
    with pytest.raises(InputError, match=r"^fcfs \(6 jobs of workload\) and easy .* have no job in common; compare"):
        compare([base, other])


def test_one_result_is_nothing_to_compare():
    with pytest.raises(InputError, match="only one result, under fcfs; a comparison needs two or more"):
        compare([tutorial("fcfs")])


def test_results_of_one_policy_are_named_by_platform_or_by_you():
    small, large = tutorial("easy"), tutorial("easy", 16)
    assert compare([small, large]).baseline == "easy on 8"
    assert compare({"small": small, "large": large}).baseline == "small"
    with pytest.raises(InputError, match="give a dictionary of names and results"):
        compare([small, small])


@pytest.mark.parametrize(
    ("warm_up", "cool_down", "left", "warm", "cool"),
    [
        ("2min", 0, 4, 2, 0),  # jobs at minute 0 and 1 are before minute 2
        (0, "1min", 5, 0, 1),  # that of minute 5 is after minute 4
        ("40%", "20%", 3, 2, 1),  # of five minutes
        (90.0, "90", 2, 2, 2),
    ],
)
def test_jobs_of_warm_up_and_cool_down_are_left_out_and_counted(warm_up, cool_down, left, warm, cool):
    found = compare([tutorial("fcfs"), tutorial("easy")], warm_up=warm_up, cool_down=cool_down)
    told = found.results.row(0, named=True)
    assert (told["jobs"], told["warm_up_jobs"], told["cool_down_jobs"]) == (left, warm, cool)
    assert row(found)["jobs"] == left


def test_a_cut_that_leaves_nothing_is_refused():
    with pytest.raises(InputError, match="no job is left after a warm-up of 4:00 and a cool-down of 2:00: jobs were"):
        compare([tutorial("fcfs"), tutorial("easy")], warm_up="4min", cool_down="2min")
    with pytest.raises(InputError, match="'soon' is not a duration"):
        compare([tutorial("fcfs"), tutorial("easy")], warm_up="soon")


def test_groups_of_users_on_paper():
    users = {"user": ["ann", "ben", "cho", "cho", "ann", None, "ben"]}
    found = compare([tutorial("fcfs", **users), tutorial("easy", **users)], by="user")
    told = found.differences.filter(pl.col("measure") == "wait_time", pl.col("group").is_not_null())
    # ann has a and e, cho c and d, ben b (and h, which is rejected), nobody f
    assert told.select("group", "jobs", "difference").rows() == [
        ("ann", 2, -203 / 2 * MINUTE), ("cho", 2, (82 - 118) / 2 * MINUTE), ("(none)", 1, -105.0 * MINUTE),
        ("ben", 1, 0.0),
    ]  # fmt: skip
    # ann 1 and (221 + 240) / 240, ben (119 + 60) / 60, cho 6.9 and 222 / 45
    means = np.array([(1 + 461 / 240) / 2, 179 / 60, (6.9 + 222 / 45) / 2])
    assert found.results["jain_index_of_users"][0] == pytest.approx(means.sum() ** 2 / (3 * (means**2).sum()))


def test_classes_of_sizes_are_in_order():
    found = compare([tutorial("fcfs"), tutorial("easy")], by="size")
    told = found.differences.filter(pl.col("measure") == "wait_time", pl.col("group").is_not_null())
    assert told.select("group", "jobs").rows() == [("1", 1), ("2-8", 5)]
    assert [size_class(cores) for cores in (1, 2, 8, 9, 32, 33, 128, 129)] == [
        "1", "2-8", "2-8", "9-32", "9-32", "33-128", "33-128", "129-512"
    ]  # fmt: skip


def test_a_column_that_is_absent_or_empty_is_told():
    results = [tutorial("fcfs"), tutorial("easy")]
    with pytest.raises(InputError, match="by queue: the log has no such column; it has size"):
        compare(results, by="queue")
    with pytest.raises(InputError, match="unknown grouping 'usr'; did you mean 'user'"):
        compare(results, by="usr")
    empty = {"queue": pl.Series([None] * 7, dtype=pl.String)}
    with pytest.raises(InputError, match="by queue: the column is empty in all 6 jobs"):
        compare([tutorial("fcfs", **empty), tutorial("easy", **empty)], by="queue")


@pytest.mark.parametrize("confidence", [0.0, 0.95000001 + 0.05, 1.5])
def test_a_confidence_is_below_one(confidence):
    with pytest.raises(InputError, match=r"expected 0.5 to 0.999, such as 0.95"):
        compare([tutorial("fcfs"), tutorial("easy")], confidence=confidence)


def test_independent_differences_get_the_intervals_of_the_closed_formulas():
    change = np.random.default_rng(11).exponential(600.0, 900)
    told = row(compare([with_waits(np.full(900, 50.0), "one"), with_waits(50.0 + change, "two")]))
    margin = 1.96 * change.std(ddof=1) / 30
    assert told["difference"] == pytest.approx(change.mean())
    assert told["difference_low"] == pytest.approx(change.mean() - margin, abs=0.2 * margin)
    assert told["difference_high"] == pytest.approx(change.mean() + margin, abs=0.2 * margin)
    # the median: ranks 450 ± 1.96 √900 / 2, give or take four
    ordered, rank = np.sort(change), 1.96 * 30 / 2
    assert ordered[int(445 - rank)] <= told["median_difference_low"] <= ordered[int(454 - rank)]
    assert ordered[int(445 + rank)] <= told["median_difference_high"] <= ordered[int(454 + rank)]


def test_jobs_that_wait_together_get_a_wider_interval_than_jobs_that_do_not():
    rng = np.random.default_rng(4)
    periods = np.repeat(rng.exponential(600.0, 90), 10)  # ten jobs in a row wait as long
    flat = with_waits(np.zeros(900), "one")
    together = row(compare([flat, with_waits(periods, "two")]))
    apart = row(compare([flat, with_waits(rng.permutation(periods), "two")]))
    assert together["difference"] == pytest.approx(apart["difference"])
    widths = [told["difference_high"] - told["difference_low"] for told in (together, apart)]
    assert widths[0] > 2 * widths[1]  # √10 would be what the closed formula says
    assert (together["blocks"], apart["blocks"] > together["blocks"]) == (pytest.approx(30, abs=20), True)


def test_a_queue_that_only_grows_is_told_to_have_no_honest_interval():
    flat, growing = with_waits(np.zeros(900), "one"), with_waits(60.0 * np.arange(900), "two")
    notes = compare([flat, growing]).notes
    assert len(notes) == 1
    assert notes[0].startswith("two: neighbouring jobs are alike for longer than a block of 90 jobs: its intervals are")


def test_a_group_in_few_blocks_has_no_interval_and_the_others_do():
    users = ["often"] * 890 + ["seldom"] * 10
    change = np.random.default_rng(1).exponential(600.0, 900)
    one, two = (
        replace(result, jobs=result.jobs.with_columns(user=pl.Series(users)))
        for result in (with_waits(np.zeros(900), "one"), with_waits(np.repeat(change[:90], 10), "two"))
    )
    found = compare([one, two], by="user")
    assert row(found, group="often")["difference_low"] is not None
    assert row(found, group="seldom")["difference_low"] is None
    assert row(found, group="seldom")["blocks"] < 10


def test_the_other_way_round_all_signs_change_and_the_intervals_are_mirrored():
    rng = np.random.default_rng(6)
    one, two = with_waits(rng.exponential(99.0, 500), "one"), with_waits(rng.exponential(300.0, 500), "two")
    there, back = row(compare([one, two])), row(compare([two, one]))
    for name in ("difference", "median_difference"):
        assert there[name] == pytest.approx(-back[name])
        assert there[f"{name}_low"] == pytest.approx(-back[f"{name}_high"])
    assert (there["better"], there["better_low"]) == pytest.approx((back["worse"], back["worse_low"]))


def test_the_same_seed_gives_the_same_intervals():
    rng = np.random.default_rng(6)
    results = [with_waits(rng.exponential(99.0, 500), name) for name in ("one", "two")]
    assert compare(results, seed=3).to_dict() == compare(results, seed=3).to_dict()
    assert compare(results, seed=3).to_dict() != compare(results, seed=4).to_dict()


def test_a_result_compared_with_itself_differs_in_nothing():
    rng = np.random.default_rng(6)
    one = with_waits(rng.exponential(99.0, 300), "one")
    told = row(compare({"one": one, "same": one}))
    assert [told[f"difference{end}"] for end in ("", "_low", "_high")] == [0.0, 0.0, 0.0]
    assert [told[f"median_difference{end}"] for end in ("", "_low", "_high")] == [0.0, 0.0, 0.0]
    assert [told[f"equal{end}"] for end in ("", "_low", "_high")] == [1.0, 1.0, 1.0]


@settings(max_examples=40)
@given(strategies.rows(16))
def test_groups_add_up_to_all_jobs(log):
    found = compare([run(workload(log), 16, policy) for policy in ("fcfs", "easy")], by="size")
    for measure in ("wait_time", "response_time", "bounded_slowdown"):
        whole = row(found, measure)
        parts = found.differences.filter(pl.col("measure") == measure, pl.col("group").is_not_null())
        assert parts["jobs"].sum() == whole["jobs"] == len(log)
        for name in ("difference", "better", "equal", "worse", "mean"):
            assert (parts[name] * parts["jobs"]).sum() / len(log) == pytest.approx(whole[name], abs=1e-9)
        assert whole["better"] + whole["equal"] + whole["worse"] == pytest.approx(1.0)


def test_a_folder_of_several_policies_can_be_compared_from_python(tmp_path):
    unspool.save(tutorial("fcfs"), tmp_path / "one")
    with pytest.raises(InputError, match="only one result"):
        unspool.compare(tmp_path / "one")
    found = unspool.compare([unspool.load(tmp_path / "one"), tutorial("easy")])
    assert found.differences.equals(compare([tutorial("fcfs"), tutorial("easy")]).differences)
    assert "difference" in found._repr_html_()
