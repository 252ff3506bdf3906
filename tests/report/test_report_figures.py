import re

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.build import one_core_machines, two_core_machines, workload
from tests.fluid_build import cluster, fluid_jobs

import unspool
from unspool.errors import UnknownName
from unspool.model.network import Contention
from unspool.model.platform import Platform
from unspool.model.profile import Task
from unspool.model.workload import Workload
from unspool.plugins import BUILT_IN
from unspool.report.figures.bins import busy_over, capacity_over, held_over, most_waiting, waiting_over
from unspool.report.figures.packing import lanes
from unspool.report.figures.style import MOST_MARKS, clock_of, plain
from unspool.report.run import run_page
from unspool.results.result import Result
from unspool.results.run import run

FIGURES = list(BUILT_IN["figures"])
# a on both cores from 0 to 10, b and c wait for it, and share the cores from 10 on.
THREE = [(0, 10, 2, 10), (1, 20, 1, 20), (2, 5, 1, 5)]


def marks_of(figure):
    """How many points, bars or cells a figure has."""
    return sum(np.size(trace.z) if trace.type == "heatmap" else np.size(trace.x) for trace in figure.data)


def caption(figure):
    return figure.layout.meta["caption"]


def three(platform=2, policy="fcfs", **columns):
    return run(
        workload(THREE, **columns), platform if isinstance(platform, Platform) else Platform.pool(platform), policy
    )


def many_jobs(count, seed=0):
    rng = np.random.default_rng(seed)
    rows = zip(
        np.sort(rng.uniform(0, 40.0 * count, count)), rng.lognormal(5, 1.5, count).round() + 1,
        rng.integers(1, 9, count), np.full(count, 1e6), strict=True,
    )  # fmt: skip
    users = [f"u{at}" for at in rng.integers(0, 30, count)]
    return workload([(*map(float, row[:2]), int(row[2]), float(row[3])) for row in rows], user=users)


@pytest.fixture(scope="module")
def large():
    return run(many_jobs(4000), Platform.pool(32), "easy")


@pytest.fixture(scope="module")
def large_on_machines():
    return run(many_jobs(4000), two_core_machines(200), "easy")


# Those that need machines, profiles, another result or costs have tests of their own.
OF_ANY_RESULT = [
    name
    for name in FIGURES
    if name
    not in (
        "busy_machines",
        "contention",
        "slowed_pair",
        "link_use",
        "power",
        "busy_difference",
        "cost_against_wait",
    )
]


@pytest.mark.parametrize("name", OF_ANY_RESULT)
def test_every_figure_of_few_and_of_many_jobs_has_marks_but_not_too_many(name, large, large_on_machines):
    for result in (three(), three(one_core_machines(2)), large, large_on_machines):
        figure = getattr(result.plot, name)()
        assert 0 < marks_of(figure) <= MOST_MARKS
        assert figure.layout.meta["heading"]
        assert caption(figure)


def test_busy_machines_have_marks_where_there_are_machines(large_on_machines):
    assert marks_of(three(one_core_machines(2)).plot.busy_machines()) == 2 * 100
    figure = large_on_machines.plot.busy_machines()
    assert 0 < marks_of(figure) <= MOST_MARKS
    assert caption(figure).startswith("A row is 3 neighbouring machines of 100, ")
    assert "no numbers" in caption(three().plot.busy_machines())


@pytest.mark.parametrize("name", FIGURES)
def test_a_run_without_jobs_has_figures_that_say_so(name):
    empty = run(workload([(0, 1, 9, 1)]), Platform.pool(2), "fcfs")
    figure = getattr(empty.plot, name)(*([empty] if name == "busy_difference" else []))
    assert figure.layout.meta["heading"]


@pytest.mark.parametrize(
    "name", ["utilisation", "queue_length", "queued_work", "wait_classes", "wait_ecdf", "slowdown_ecdf"]
)
def test_several_policies_are_laid_over_each_other(name):
    figure = getattr(three().plot, name)(three(policy="easy"), three(policy="conservative"))
    named = [entry[0] for entry in figure.layout.meta["key"]]
    assert named[:3] == ["fcfs", "easy", "conservative"]
    assert marks_of(figure) <= MOST_MARKS


def test_an_unknown_figure_is_an_attribute_error_that_names_them():
    result = three()
    with pytest.raises(AttributeError, match="no figure is called 'gant'; there are busy_difference, busy_machines, "):
        result.plot.gant  # noqa: B018
    assert dir(result.plot) == sorted(FIGURES)


def test_a_figure_is_a_figure_of_plotly_with_a_title():
    from plotly.graph_objects import Figure

    figure = three().plot.gantt()
    assert isinstance(figure, Figure)
    assert figure.layout.title.text == "What runs where under fcfs"


def test_the_gantt_chart_on_paper():
    figure = three(one_core_machines(2), user=["x", "y", "y"]).plot.gantt()
    (bars,) = figure.data
    # Two machines in a row for a; b on the first and c on the second, each centred on the number of its machine.
    assert bars.base.tolist() == [0.0, 10.0, 10.0]
    assert bars.x.tolist() == [10.0, 20.0, 5.0]
    assert bars.y.tolist() == [-0.5, -0.5, 0.5]
    assert bars.width.tolist() == [2.0, 1.0, 1.0]
    assert caption(figure) == "A bar is a job on what it held: 3 jobs. No job is left out."
    assert [choice["name"] for choice in figure.layout.meta["choices"]] == ["user", "state", "job"]
    assert [entry[0] for entry in figure.layout.meta["choices"][0]["key"]] == ["y", "x"]


def test_a_job_with_a_part_of_a_machine_has_a_part_of_its_row():
    result = run(workload([(0, 10, 1, 10), (0, 10, 1, 10), (0, 5, 2, 5)]), two_core_machines(4), "fcfs")
    (bars,) = result.plot.gantt().data
    assert sorted(zip(bars.y.tolist(), bars.width.tolist(), strict=True)) == [(-0.5, 0.5), (0.0, 0.5), (0.5, 1.0)]


def test_the_gantt_chart_of_many_jobs_says_which_are_left_out(large):
    figure = large.plot.gantt()
    told = re.match(
        r"A bar is a job on what it held: ([\d,]+) of 4,000 jobs, .*; ([\d,]+) are left out here", caption(figure)
    )
    shown, left = (int(text.replace(",", "")) for text in told.groups())
    assert shown + left == 4000
    assert 100 < shown <= 1500
    asked = large.plot.gantt(begin=0.0, end=4000.0)
    assert "queue is longest" in caption(figure)
    assert "queue is longest" not in caption(asked)


def test_jobs_that_ran_for_no_time_are_left_out_of_the_gantt_chart():
    result = run(workload([(0, 10, 1, 10), (0, 0, 1, 10)]), Platform.pool(2), "fcfs")
    assert "1 job. Left out: 1 job that ran for no time. A pool" in caption(result.plot.gantt())


def test_colours_tell_apart_only_by_what_there_is():
    with pytest.raises(UnknownName, match="unknown column of jobs to tell apart by 'usr'; did you mean 'user'"):
        three(user=["x", "y", "y"]).plot.gantt(by="usr")


def test_captions_on_paper():
    result = three()
    assert (
        caption(result.plot.wait_ecdf())
        == "Jobs that wait less than a second stand at the left edge (1). No job is left out."
    )
    assert caption(result.plot.queue_length()).endswith("The most jobs at any time: 2. No job is left out.")
    # b will run for 20 and c for 5 core-seconds: 25 / 3600 core-hours.
    assert caption(result.plot.queued_work()).endswith("The most core-hours at any time: 0.00694. No job is left out.")
    rejected = run(workload([*THREE, (3, 1, 9, 1)]), Platform.pool(2), "fcfs")
    assert caption(rejected.plot.wait_classes()).endswith("Left out: 1 job that never ran.")
    assert "Used of what was there: 75.0%." in caption(result.plot.utilisation())


def test_mean_waits_by_size_and_run_time_on_paper():
    (cells,) = three().plot.wait_by_size().data
    assert list(cells.y) == ["1 core", "2 cores"]
    assert [row[0] for row in cells.text] == ["8.5 s", "0 s"]  # b waits 9 s and c 8 s, both on one core
    assert cells.customdata.tolist() == [[2] + [0] * 6, [1] + [0] * 6]


def test_the_shares_of_waits_on_paper():
    figure = three().plot.wait_ecdf()
    (line,) = figure.data
    at = dict(zip(line.x.tolist(), line.y.tolist(), strict=True))
    assert at[1.0] == pytest.approx(1 / 3, abs=1e-4)
    assert at[10.0] == 1.0


def test_occupancy_adds_up_to_the_work():
    figure = three(user=["x", "y", None]).plot.occupancy()
    *held, there = figure.data
    width = np.diff(held[0].x)
    work = {line.name: float((line.y[:-1] * width).sum()) for line in held}
    assert work == pytest.approx({"x": 20.0, "y": 20.0, "(not said)": 5.0}, abs=1e-2)
    assert set(there.y) == {2.0}


def test_names_are_no_markup_for_plotly():
    assert plain('<a href="javascript:x">%{y}</a>') == '&lt;a href="javascript:x"&gt;%{y}&lt;/a&gt;'
    assert plain("a\u202eb\nc") == "a?b?c"
    assert len(plain("x" * 10_000)) == 40
    figure = three(user=["<b>", "y", "y"]).plot.gantt()
    assert "user: &lt;b&gt;" in figure.data[0].hovertext[0]


def test_times_are_dates_where_the_log_has_them():
    assert not clock_of([three()]).is_calendar
    dated = Workload.of(workload(THREE).table, origin_unix_s=1.7e9)
    clock = clock_of([run(dated, Platform.pool(2), "fcfs")])
    assert clock.is_calendar
    assert clock.of([0.0]).tolist() == [1.7e12]
    assert clock.text(0.0) == "14 Nov 2023 22:13 UTC"


def test_times_that_no_calendar_holds_are_told_from_the_origin():
    far = Workload.of(workload(THREE).table, origin_unix_s=999_999_999_999.0)
    clock = clock_of([run(far, Platform.pool(2), "fcfs")])
    assert not clock.is_calendar
    assert clock.text(10.0) == "10 s"


@given(
    st.lists(
        st.tuples(st.integers(0, 50), st.integers(0, 20), st.integers(1, 4), st.just(100)), min_size=1, max_size=12
    ),
    st.integers(1, 30),
)
def test_means_in_bins_are_those_of_the_series(rows, bins):
    result = run(workload(sorted(rows)), Platform.pool(4), "fcfs")
    table = result.series(bins)
    if not len(table):
        return
    edges = np.append(table["time"].to_numpy(), table["until"][-1])
    assert busy_over(result, edges) == pytest.approx(table["busy_cores"].to_numpy(), abs=1e-6)
    for column, work in (("queue_length", False), ("queued_work", True)):
        assert waiting_over(result, edges, work=work) == pytest.approx(table[column].to_numpy(), abs=1e-6)
        assert most_waiting(result, work=work) == pytest.approx(table[f"{column}_max"].max(), abs=1e-6)


@given(
    st.lists(st.tuples(st.floats(-1, 11), st.floats(0, 5), st.integers(1, 5), st.integers(0, 2)), max_size=10),
    st.integers(1, 20),
)
def test_intervals_keep_their_area_in_bins(intervals, bins):
    begin, length, weight, row = (
        (np.array(one, np.float64) for one in zip(*intervals, strict=True)) if intervals else [np.zeros(0)] * 4
    )
    held = held_over(begin, begin + length, weight, row.astype(np.int64), np.linspace(0, 10, bins + 1), 3)
    inside = np.clip(begin + length, 0, 10) - np.clip(begin, 0, 10)
    for at in range(3):
        assert held[at].sum() * 10 / bins == pytest.approx((inside * weight)[row == at].sum(), abs=1e-6)


def test_machines_that_are_down_are_no_capacity():
    outages = pl.DataFrame({"machine": [0, 0], "down_time": [5.0, 6.0], "up_time": [10.0, 8.0]})
    base = unspool.run(workload([(0, 20, 1, 20)]), one_core_machines(2), "fcfs")
    result = Result(**{name: getattr(base, name) for name in Result.__dataclass_fields__} | {"outages": outages})
    assert capacity_over(result, np.linspace(0, 20, 5)).tolist() == [2.0, 1.0, 2.0, 2.0]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5), st.integers(1, 4)), max_size=12), st.integers(1, 12))
def test_no_two_jobs_are_drawn_over_each_other(jobs, limit):
    rows = sorted((float(start), float(start + length), count) for start, length, count in jobs)
    given_lanes = lanes(rows, limit)
    for instant in range(15):
        running = [at for at, (start, end, _) in enumerate(rows) if start <= instant < end]
        held = [lane for at in running for first, last in given_lanes[at] for lane in range(first, last + 1)]
        assert len(held) == len(set(held)) == sum(rows[at][2] for at in running)


def test_contention_compares_runs_with_the_fastest_of_their_profile():
    base = three()
    table = base.jobs.with_columns(profile=pl.Series(["p", "q", "q"]))
    result = Result(**{name: getattr(base, name) for name in Result.__dataclass_fields__} | {"jobs": table})
    (points,) = result.plot.contention().data
    # q ran for 20 s and for 5 s on one core: 12.5 s on the mean, 2.5 times the fastest, 4 times at most.
    assert dict(zip(points.x.tolist(), points.y.tolist(), strict=True)) == {5.0: 2.5, 10.0: 1.0}
    assert points.error_y.array.tolist() == [1.5, 0.0]


def sharing():
    """Two jobs over a backbone of 1e8 B/s: 2e8 bytes until 4, 6e8 until 8."""
    profiles = {"short": Task((), (0.0, 2e8, 0.0, 0.0)), "long": Task((), (0.0, 6e8, 0.0, 0.0))}
    jobs = fluid_jobs([(0, 2, None, "short"), (0, 2, None, "long")], profiles)
    return run(jobs, cluster(4, backbone=1e8), "fcfs", contention=Contention("clean", records_use=True))


def test_the_use_of_links_is_drawn_for_the_busiest_first():
    result = sharing()
    (heat,) = result.plot.link_use().data
    assert heat.y[0] == "backbone"
    assert set(heat.y) == {"backbone", "up0", "down1", "up2", "down3"}
    step = heat.x[1] - heat.x[0]
    # The integral of each row is what it carried, over its bandwidth.
    assert (heat.z.sum(axis=1) * step).tolist() == pytest.approx([8.0, 6.0, 6.0, 2.0, 2.0], rel=1e-3)
    assert heat.z[0][:-1] == pytest.approx(np.ones(len(heat.x) - 1), abs=1e-3)
    text = caption(result.plot.link_use())
    assert "800 MB in all" in text
    assert marks_of(result.plot.link_use()) <= MOST_MARKS
    assert three().plot.link_use().layout.meta["caption"] == "No use of links was written down."
    assert result.plot.link_use("host").layout.meta["caption"] == "No use of hosts was written down."
    with pytest.raises(UnknownName, match="kind of resource"):
        result.plot.link_use("switch")


def test_the_page_of_a_run_with_links_has_a_table_of_them():
    page = run_page([sharing()])
    section = next(one for one in page.sections if one.heading == "How busy the network is")
    assert list(section.figures) == ["link_use"]
    (table,) = section.tables
    assert [cell.text for cell in table.rows[0]][3:] == ["800 MB", "100 MB/s"]
    assert len(table.rows) == 5


def paired(rows, profiles):
    """A run of jobs that each have their cores at once, with these profiles."""
    base = run(workload(rows), Platform.pool(9), "fcfs")
    table = base.jobs.with_columns(profile=pl.Series(profiles))
    return Result(**{name: getattr(base, name) for name in Result.__dataclass_fields__} | {"jobs": table})


def test_two_jobs_that_slow_each_other_down_are_those_that_lost_most_beside_each_other():
    # The fastest runs are 3 s (q) and 5 s (p): c lost 1 s, d 15 s and e 10 s. d ran beside c for 4 s, beside e for 15.
    rows = [(0, 3, 2, 9), (0, 5, 1, 9), (25, 4, 2, 9), (25, 20, 1, 9), (30, 15, 1, 9)]
    result = paired(rows, ["q", "p", "q", "p", "p"])
    figure = result.plot.slowed_pair()
    fastest, longer = figure.data
    assert list(fastest.y) == ["job d", "job e"]
    assert (list(fastest.x), list(longer.x)) == ([5.0, 5.0], [15.0, 10.0])
    assert (figure.layout.shapes[0].x0, figure.layout.shapes[0].x1) == (30.0, 45.0)
    assert "Job d (p, 1 core) took 20 s, 4 times the fastest run of its profile here" in caption(figure)
    chosen = result.plot.slowed_pair("c", "d")
    assert list(chosen.data[0].y) == ["job c", "job d"]
    with pytest.raises(unspool.UnspoolError, match="no job 'z' with a profile completed"):
        result.plot.slowed_pair("c", "z")


def test_jobs_that_do_not_slow_each_other_down_have_no_such_figure():
    assert "No two jobs" in str(paired([(0, 5, 1, 9), (0, 5, 1, 9)], ["p", "p"]).plot.slowed_pair().layout.meta)
