import json
import re

import numpy as np
import polars as pl
import pytest

from unspool.errors import InputError
from unspool.report.dispatch import DispatchTables, answer, dispatch_page, dispatch_report
from unspool.report.figures import MOST_MARKS
from unspool.report.figures.dispatching import delay_ecdf, predictions, verdict_shares, worker_queues
from unspool.report.page import filled

YEAR_2024 = 1_704_067_200.0


def jobs(*rows, felt=True):
    """Rows of (worker, spawn, start, finish, estimate, how it was felt)."""
    names = ("worker", "spawn_ts", "start_ts", "finish_ts", "estimate", "experience")
    schema = dict.fromkeys(names, pl.Float64) | {"worker": pl.Int64, "experience": pl.String}
    table = pl.DataFrame(rows, schema=schema, orient="row").with_columns(
        job=pl.int_range(len(rows)), exercise_id=pl.lit("<b>x</b>"), delay_s=pl.col("start_ts") - pl.col("spawn_ts"),
        duration=pl.col("finish_ts") - pl.col("start_ts"),
    )  # fmt: skip
    return table if felt else table.drop("experience")


# Worker 0 has the first two, one after the other, worker 1 the third; nobody gets the fourth.
FOUR = jobs(
    (0, 0, 0, 10, 5, "on time"), (0, 0, 10, 20, 10, "late"), (1, 10, 10, 40, None, "on time"),
    (None, 20, None, None, None, None),
)  # fmt: skip


def tables(frame=FOUR, workers=3, **settings):
    summary = {"experiment": "e<i>.yaml", "workload": "w.csv", "compat": "none", "seed": 1, "period_s": 60.0,
               "workers": workers, "jobs": len(frame), "jobs_never_dispatched": frame["worker"].null_count(),
               "delay_avg": 2.5, "jobs_delayed": 3, "jobs_late_percentage": 0.25}  # fmt: skip
    return DispatchTables(frame, summary, settings, "")


def test_queues_are_the_jobs_that_wait_and_run_at_each_worker():
    figure = worker_queues(FOUR, 3)
    assert [line.name for line in figure.data] == ["worker 0", "worker 1", "worker 2"]
    at = {line.name: dict(zip(np.round(line.x, 6), line.y, strict=True)) for line in figure.data}
    assert (at["worker 0"][5.0], at["worker 0"][15.0], at["worker 0"][25.0]) == (2.0, 1.0, 0.0)
    assert (at["worker 1"][5.0], at["worker 1"][35.0], at["worker 2"][35.0]) == (0.0, 1.0, 0.0)
    assert "Left out: 1 job that no worker got." in figure.layout.meta["caption"]


def test_jobs_that_are_bound_late_wait_at_no_worker():
    figure = worker_queues(FOUR, 3, is_late=True)
    at = {line.name: dict(zip(np.round(line.x, 6), line.y, strict=True)) for line in figure.data}
    assert (at["worker 0"][5.0], at["waiting to be taken"][5.0], at["waiting to be taken"][15.0]) == (1.0, 1.0, 0.0)


@pytest.mark.parametrize("workers", [7, 60, 61, 1000])
def test_many_workers_are_rows_of_a_heat_map_of_few_cells_that_keeps_the_time_of_all_jobs(workers):
    rng = np.random.default_rng(workers)
    begin = rng.uniform(YEAR_2024, YEAR_2024 + 9000.0, 500)
    rows = [(int(at), b, b, b + 100.0, 1.0, "late") for at, b in zip(rng.integers(0, workers, 500), begin, strict=True)]
    figure = worker_queues(jobs(*rows), workers)
    cells = np.array(figure.data[0].z)
    assert cells.size <= MOST_MARKS
    each = -(-workers // 60)
    sizes = np.minimum(each, workers - each * np.arange(len(cells)))
    step_s = (max(row[3] for row in rows) - begin.min()) / cells.shape[1]
    assert (cells * sizes[:, None]).sum() * step_s == pytest.approx(50_000.0, rel=0.02)  # cells have two decimals
    assert figure.layout.xaxis.type == "date"


def test_shares_are_by_when_jobs_came_and_add_up():
    figure = verdict_shares(FOUR)
    on_time, delayed, late = (np.array(bar.y, float) for bar in figure.data)
    assert (on_time[0], delayed[0], late[0]) == (0.5, 0.0, 0.5)
    assert on_time[-1] == 1.0
    assert int(np.isnan(on_time).sum()) == 118
    assert "In 118 of them no job came." in figure.layout.meta["caption"]
    total = (on_time + delayed + late)[~np.isnan(on_time)]
    assert total == pytest.approx(1.0)


def test_predictions_count_every_job_that_has_one():
    figure = predictions(FOUR)
    counts = np.array([[cell[0] for cell in row] for row in figure.data[0].customdata])
    assert counts.sum() == 2
    assert (
        figure.layout.meta["caption"] == "2 jobs, 100.0% of them predicted within a factor of two. "
        "1 job without a prediction left out. Left out: 1 job that no worker got."
    )


def test_predictions_of_nothing_and_of_no_time_at_all_can_be_drawn():
    none = jobs((0, 0, 0, 10, None, "late"))
    assert "Nothing was predicted" in predictions(none).layout.meta["caption"]
    zero = predictions(jobs((0, 0, 0, 0, 0.0, "on time"), (0, 0, 0, 1e6, 0.0, "late")))
    assert sum(cell[0] for row in zero.data[0].customdata for cell in row) == 2


def test_the_share_of_delays_rises_to_all():
    line = delay_ecdf(FOUR).data[0]
    assert line.y[0] == pytest.approx(2 / 3, abs=1e-5)
    assert (line.x[-1], line.y[-1]) == (10.0, 1.0)
    assert list(line.y) == sorted(line.y)


def test_the_answer_is_in_numbers():
    assert answer(tables()) == "3 jobs were delayed by 3.33 s on average, and 66.7% of them were on time"
    assert answer(tables(FOUR.drop("experience"))) == "3 jobs were delayed by 3.33 s on average"
    assert answer(tables(FOUR.tail(1))) == "No job was given to a worker"


def test_a_worker_without_jobs_is_a_row_too():
    by_worker = dispatch_page(tables()).sections[-2].tables[0]
    assert [[cell.text for cell in row][:4] for row in by_worker.rows] == [
        ["0", "2", "20 s", "5 s"], ["1", "1", "30 s", "0 s"], ["2", "0", "0 s", ""],
    ]  # fmt: skip


def test_figures_of_metrics_are_told_as_what_they_are():
    pairs = dispatch_page(tables()).sections[-1].pairs
    assert pairs == [("delay avg", "2.5 s"), ("jobs delayed", "3"), ("jobs late percentage", "25%")]


def test_names_are_text_and_never_markup():
    page = filled(dispatch_page(tables(experiment="</pre><script>alert(1)</script>", command="unspool <u>")))
    before = page[: page.index('id="figures"')]
    assert "<script>" not in before
    assert "<b>x" not in before
    assert "<i>.yaml" not in before
    assert "unspool &lt;u&gt;" in before
    assert not re.search(r"(?:src|href)\s*=|@import|url\(", before)


@pytest.mark.parametrize(
    "frame", [FOUR.drop("experience"), FOUR.tail(1), FOUR.head(0), FOUR.tail(1).drop("experience")]
)
def test_a_page_without_jobs_or_verdicts_can_be_made(frame):
    page = dispatch_page(tables(frame, has_predictor=False))
    figures = json.loads(re.search(r'id="figures">(.*?)</script>', filled(page), re.DOTALL)[1])
    assert ("verdicts" in figures) == ("experience" in frame.columns)
    assert any("user-experience" in note for note in page.notes) == ("experience" not in frame.columns)


def test_a_damaged_folder_is_told_in_one_sentence(tmp_path):
    (tmp_path / "metrics.txt").write_text("")
    with pytest.raises(InputError, match="the result is damaged"):
        dispatch_report(tmp_path)
