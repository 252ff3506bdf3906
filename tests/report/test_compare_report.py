import json
import re
from dataclasses import replace
from html import unescape

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.build import one_core_machines, workload
from tests.golden.test_cloud import SMALL, WIDE, cloud
from tests.golden.test_cloud import jobs as cloud_jobs

from unspool.analysis.compare import compare
from unspool.errors import InputError
from unspool.model.platform import Platform
from unspool.report import compare_report, write_compare_report
from unspool.report.compare import answer, compare_page, question
from unspool.report.figures.difference import (
    busy_difference,
    cost_against_wait,
    group_differences,
    paired_differences,
    signed,
)
from unspool.report.figures.style import MOST_MARKS
from unspool.results.run import run
from unspool.workloads.generators import lublin

# On four cores b waits for a, and c, which is short and small, may go before it.
ROWS = [(0, 100, 3, 100), (10, 100, 4, 100), (20, 50, 1, 50)]
HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def three():
    """Under fcfs b waits 90 s and c 180 s; under easy c does not wait."""
    return {policy: run(workload(ROWS), 4, policy) for policy in ("fcfs", "easy")}


@pytest.fixture(scope="module")
def month():
    log = lublin(3000, 64, 0.6, seed=3)
    return {policy: run(log, 64, policy) for policy in ("easy", "fcfs")}


def figures_of(html):
    return json.loads(re.search(r'id="figures">(.*?)</script>', html, re.DOTALL)[1])


def assert_few_marks(page):
    for name, figure in page.figures.items():
        marks = sum(np.size(trace.z) if trace.type == "heatmap" else len(trace.y) for trace in figure.data)
        assert 0 < marks <= MOST_MARKS, name


def test_three_jobs_are_too_few_for_an_interval_and_the_answer_says_so(three):
    found = compare(three)
    assert question(found) == "Where do 3 jobs of workload on 4 cores wait less: under fcfs or easy?"
    assert (
        answer(found)
        == "Jobs wait less under easy: 1 min less on average than under fcfs; too few jobs for an interval"
    )
    against_easy = compare(three, "easy")
    assert answer(against_easy) == answer(found), "who wins does not depend on the baseline"
    assert compare_page(three, found).tiles[0].value == "-1 min"
    assert compare_page(three, against_easy).tiles[0].value == "+1 min"
    assert compare_page(three, found).tiles[2].value == "33.3%"


def test_an_interval_without_zero_is_told_with_the_answer(month):
    found = compare(month)
    row = found.differences.row(0, named=True)
    assert row["difference_low"] > 0
    mean, low, high = (
        signed(row[name], "wait_time")[1:] for name in ("difference", "difference_low", "difference_high")
    )
    less = f"{mean} less on average than under fcfs (95% interval: {low} to {high})"
    assert answer(found) == f"Jobs wait less under easy: {less}"


@pytest.mark.parametrize(
    ("difference", "low", "high", "less", "more"),
    [(-60.0, -120.0, 30.0, "fcfs", "easy"), (60.0, -30.0, 120.0, "easy", "fcfs")],
)
def test_an_interval_with_zero_in_it_is_no_clear_difference(month, difference, low, high, less, more):
    found = compare(month)
    ends = {"difference": difference, "difference_low": low, "difference_high": high}
    table = found.differences.with_columns(**{name: pl.lit(end) for name, end in ends.items()})
    assert answer(replace(found, differences=table)) == (
        f"No clear difference: under {less} jobs wait 1 min less on average than under {more}, "
        "but the 95% interval goes from 2 min less to 30 s more"
    )


def test_results_that_are_the_same_have_no_difference():
    same = {name: run(workload(ROWS), 4, "fcfs") for name in ("one", "other")}
    assert answer(compare(same)) == "No difference: every job waits as long under each"


def test_differences_are_drawn_in_percent_of_the_mean_of_the_baseline(month):
    found = compare(month)
    (trace,) = paired_differences(found).data
    for at, row in enumerate(found.differences.iter_rows(named=True)):
        base = row["baseline_mean"]
        assert trace.x[at] == pytest.approx(100 * row["difference"] / base, abs=1e-3)
        assert trace.x[at] + trace.error_x.array[at] == pytest.approx(100 * row["difference_high"] / base, abs=1e-3)
        assert trace.x[at] - trace.error_x.arrayminus[at] == pytest.approx(100 * row["difference_low"] / base, abs=1e-3)
    assert [round(line) for line in trace.y] == [0, 1, 2]


def test_of_many_groups_the_largest_are_drawn_and_the_others_counted(month):
    figure = group_differences(compare(month, by="user"))
    users = month["easy"].jobs["user"].n_unique()
    assert len(figure.data[0].x) <= 20
    assert f"{users - 20:,} smaller groups left out." in figure.layout.meta["caption"]


def test_where_nobody_waits_there_are_no_percentages():
    both = [run(workload(ROWS), size, "fcfs") for size in (8, 4)]
    figure = paired_differences(compare({"large": both[0], "small": both[1]}))
    assert figure.layout.meta["caption"].startswith("Left of the dashed line")
    (trace,) = figure.data
    assert [round(line) for line in trace.y] == [1, 2], "the wait is 0 under the baseline"
    assert "Left out: what is 0 under the baseline." in figure.layout.meta["caption"]


def test_the_difference_of_busy_cores_is_by_size_in_a_pool(three):
    (heat,) = busy_difference(three["fcfs"], three["easy"]).data
    # From 0 to 250 s in steps of 2.5 s. The job of one core runs from 200 s under fcfs, from 20 s under easy.
    assert list(heat.y) == ["1 core", "2 cores", "3 to 4 cores"]
    expected = np.zeros(100)
    expected[8:28], expected[80:100] = 1.0, -1.0
    assert heat.z[0].tolist() == expected.tolist()
    assert not heat.z[1:].any()


def test_the_difference_of_busy_shares_is_by_machine_where_there_are_machines():
    both = [run(workload(ROWS), one_core_machines(4), policy) for policy in ("fcfs", "easy")]
    (heat,) = busy_difference(*both).data
    expected = np.zeros((4, 100))
    expected[3, 8:28] = 1.0  # the others have a
    free = both[0].allocations.filter(pl.col("attempt") == 2)["first_machine"].item()
    expected[free, 80:100] = -1.0
    assert heat.z.tolist() == expected.tolist()


JOBS = st.tuples(st.integers(0, 50), st.integers(1, 30), st.integers(1, 4), st.just(100))


@given(st.lists(JOBS, min_size=1, max_size=12), st.sampled_from([Platform.pool, one_core_machines]))
@settings(max_examples=25)
def test_what_is_busy_earlier_is_not_busy_later(rows, platform):
    both = [run(workload(sorted(rows)), platform(4), policy) for policy in ("fcfs", "sjf")]
    (heat,) = busy_difference(*both).data
    assert heat.z.sum() == pytest.approx(0.0, abs=0.05), "all jobs run as long under both"


def test_cost_against_wait_joins_those_that_no_other_beats():
    log = cloud_jobs((0, 600, 1, 4), (0, 600, 1, 4))
    cheap, dear = run(log, cloud(SMALL), "cheapest-fit"), run(log, cloud(WIDE), "cheapest-fit")
    worse = replace(dear, policy="worse")
    worse.summary.update(total_cost_usd=dear.summary["total_cost_usd"] + 1.0)
    faster = replace(dear, policy="faster")
    faster.summary.update(mean_wait_s=cheap.summary["mean_wait_s"] - 60.0)
    local = run(workload(ROWS), 4, "easy")
    figure = cost_against_wait(cheap, worse, faster, local)
    line, *dots = figure.data
    assert [dot.name for dot in dots] == ["cheapest-fit", "worse", "faster"]
    assert list(line.y) == [faster.summary["total_cost_usd"], cheap.summary["total_cost_usd"]]
    caption = figure.layout.meta["caption"]
    assert "than: cheapest-fit, faster, joined by the dashed line. Left out: 1 result whose cost" in caption
    html = compare_report({"small": cheap, "wide": dear})
    assert "cost" in figures_of(html)
    assert "cost under wide" in html


def test_the_page_is_whole_and_every_figure_has_its_place(month, tmp_path):
    found = compare(month, by="user", warm_up="2d")
    write_compare_report(month, tmp_path / "compare.html", found, command="unspool compare out")
    html = (tmp_path / "compare.html").read_text()
    assert not re.search(r"(?:src|href)\s*=|@import|url\(", html[: html.index('id="plotly"')])
    page = compare_page(month, found)
    assert list(page.figures) == ["wait_ecdf", "paired", "groups", "slowdown_ecdf", "busy_difference-0", "utilisation",
                                  "queue_length"]  # fmt: skip
    assert set(re.findall(r'class="figure" id="([\w-]+)"', html)) == set(figures_of(html)) == set(page.figures)
    assert_few_marks(page)
    assert f"{found.results['warm_up_jobs'][0]:,} of warm-up, 0 of cool-down" in html
    assert "<code>unspool compare out</code>" in html
    assert 'data-name="settings"' in html


def test_many_results_stay_within_the_marks_of_a_figure(three):
    many = {f"r{at}": three["easy" if at % 2 else "fcfs"] for at in range(30)}
    page = compare_page(many)
    assert_few_marks(page)
    assert sum(name.startswith("busy_difference") for name in page.figures) == 3
    assert "26 more results have no figure of their own here." in [section.note for section in page.sections]


def test_names_are_text_and_never_markup():
    log = workload(ROWS, user=[HOSTILE, "x" * 10_000, "\u202eevil"])
    both = {HOSTILE: run(log, 4, "fcfs"), "\"'" * 5000: run(log, 4, "easy")}
    html = compare_report(both, compare(both, by="user"))
    assert "<img" not in html
    assert "&lt;img" in html
    assert max(len(unescape(text)) for text in re.findall(r"<bdi>(.*?)</bdi>", html)) <= 400, "but for downloads"
    assert "<" not in figures_of(html)["wait_ecdf"]["data"][0]["name"]


def test_a_comparison_of_other_results_is_refused(three):
    with pytest.raises(InputError, match="the comparison is of other results than those given"):
        compare_report({"a": three["fcfs"], "b": three["easy"]}, compare(three))
