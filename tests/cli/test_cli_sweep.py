"""`unspool sweep` and `unspool sweep best`."""

import errno
import json
import os

import polars as pl
import pytest
from tests.faults import faulty
from tests.sweeps.tiny import LOG, thread_place

GRID = """\
replicas = 2
[run]
workload = "log.csv"
platform = 4
thin = 0.9
[grid]
policy = ["fcfs", "easy", "sjf"]
"""


@pytest.fixture
def grid(write, monkeypatch):
    """A grid of six runs, made by a thread: processes are for tests of their own."""
    monkeypatch.setattr("unspool.cli.sweep.local_place", lambda processes: thread_place())
    write("log.csv", LOG)
    write("grid.toml", GRID)
    return "grid.toml"


def test_a_sweep_ranks_its_points_and_leaves_a_dataset_and_a_page(unspool, grid, tmp_path):
    said = unspool("sweep", grid, "-o", "out")
    assert said.code == 0, said.err
    assert "6 runs: 3 points, 2 of each on threads" in said.err
    assert "6 runs made, 0 were there: out, for people out/sweep.html" in said.err
    assert said.out.splitlines()[2].split()[0] == "1"
    assert len(pl.read_parquet(tmp_path / "out" / "runs" / "*.parquet")) == 6
    assert pl.read_csv(tmp_path / "out" / "ranking.csv")["rank"].to_list() == [1, 2, 3]
    page = (tmp_path / "out" / "sweep.html").read_text()
    assert "Which of 3 points has the lowest mean wait?" in page
    assert "What the mean wait depends on" in page
    assert "policy = [&#34;fcfs&#34;, &#34;easy&#34;, &#34;sjf&#34;]" in page


def test_duckdb_reads_the_dataset(unspool, grid):
    duckdb = pytest.importorskip("duckdb", reason="needs DuckDB: pip install duckdb")
    unspool("sweep", grid, "-o", "out", "--no-report")
    rows = duckdb.sql("select policy, count(*) from 'out/runs/*.parquet' group by policy order by policy").fetchall()
    assert rows == [("easy", 2), ("fcfs", 2), ("sjf", 2)]


def test_a_folder_with_a_sweep_is_only_resumed(unspool, grid, write):
    unspool("sweep", grid, "--json")
    again = unspool("sweep", grid, "--json")
    assert (again.code, again.out) == (2, "")
    assert "grid holds a sweep; say --resume" in again.err
    resumed = unspool("sweep", grid, "--resume", "--json")
    assert resumed.code == 0
    assert "0 runs made, 6 were there: grid\n" in resumed.err
    assert json.loads(resumed.out)["runs"] == 6


def test_dry_run_counts_and_estimates_and_writes_nothing(unspool, grid, tmp_path):
    told = json.loads(unspool("sweep", grid, "--dry-run", "--json", "-j", "2").out)
    assert (told["runs"], told["points"], told["failed"], told["processes"]) == (6, 3, 0, 2)
    assert told["estimated_s"] == pytest.approx(6 * told["mean_run_s"] / 2)
    assert "6 runs: 3 points, 2 of each\nabout " in unspool("sweep", grid, "--dry-run").out
    assert not (tmp_path / "grid").exists()


def test_best_takes_a_figure_a_condition_and_a_front(unspool, grid):
    unspool("sweep", grid, "-o", "out", "--json")
    rows = json.loads(unspool("sweep", "best", "out", "--by", "utilisation", "--maximise", "--json").out)
    assert [row["mean"] for row in rows] == sorted((row["mean"] for row in rows), reverse=True)
    some = json.loads(unspool("sweep", "best", "out", "--where", "policy in ['fcfs', 'sjf']", "--json").out)
    assert {row["policy"] for row in some} == {"fcfs", "sjf"}
    mean = {row["policy"]: row["mean"] for row in json.loads(unspool("sweep", "best", "out", "--json").out)}
    limit = sorted(mean.values())[1]
    under = json.loads(unspool("sweep", "best", "out", "--where", f"mean_wait_s <= {limit}", "--json").out)
    assert {row["policy"] for row in under} == {name for name, value in mean.items() if value <= limit}
    front = json.loads(unspool("sweep", "best", "out", "--front", "makespan_s", "--json").out)
    assert front[0]["rank"] == 1
    assert "mean_wait_s" in unspool("sweep", "best", "out").out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--by", "mean_wait"), "unknown figure 'mean_wait'; did you mean 'mean_wait_s'"),
        (("--where", "mean_wait_s < -1"), "no point is left"),
        (("--where", "__import__('os').system('true') == 0"), "is not understood"),
        (("--where", "cost < 3"), "unknown column in a condition 'cost'"),
        (("--front", "nothing"), "unknown figure 'nothing'"),
    ],
)
def test_what_best_cannot_use_is_said(unspool, grid, arguments, said):
    unspool("sweep", grid, "-o", "out", "--json")
    result = unspool("sweep", "best", "out", *arguments)
    assert (result.code, result.out) == (2, "")
    assert said in result.err


def test_failed_runs_are_counted_with_an_example(unspool, grid, write, tmp_path):
    write("grid.toml", GRID.replace("sjf", "absent:policy"))
    said = unspool("sweep", grid, "-o", "out")
    assert said.code == 0
    assert "2 runs failed, for example: cannot load policy from absent" in said.err
    assert "Runs that failed" in (tmp_path / "out" / "sweep.html").read_text()


def test_a_sweep_of_which_every_run_failed_has_failed(unspool, grid, write, tmp_path):
    write("grid.toml", GRID.replace('"fcfs", "easy", "sjf"', '"absent:one", "absent:two"'))
    said = unspool("sweep", grid, "-o", "out")
    assert said.code == 1
    assert "all of 4 runs failed, for example: cannot load one from absent" in said.err
    assert "Runs that failed" in (tmp_path / "out" / "sweep.html").read_text()


@pytest.mark.parametrize("name", ["ranking.csv", "sweep.html"])
def test_a_disk_that_is_full_at_the_end_keeps_the_runs_and_says_what_to_do(unspool, grid, tmp_path, name):
    def full(step, path):
        if step == "write" and name in path:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    unspool("sweep", grid, "-o", "out")
    before = (tmp_path / "out" / name).read_bytes()
    with faulty(full):
        said = unspool("sweep", grid, "-o", "out", "--resume")
    assert said.code == 1
    assert (tmp_path / "out" / name).read_bytes() == before
    assert "all runs are made and kept, but not their ranking (No space left on device); make room, then:" in said.err
    assert "unspool sweep grid.toml -o out --resume" in said.err


def test_seeds_that_draw_nothing_are_told(unspool, grid, write, tmp_path):
    write("grid.toml", GRID.replace("thin = 0.9\n", ""))
    assert "the seeds made no difference" in unspool("sweep", grid, "-o", "out").err
    page = (tmp_path / "out" / "sweep.html").read_text()
    assert "The seeds made no difference" in page
    assert "p, corrected" not in page
    assert "all others are worse" not in page


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--cluster", "tcp://a:1", "--slurm"), "three places; name one"),
        (("--option", "queue=short"), "is for --slurm and --kubernetes"),
        (("-o", "log.csv"), "exists and holds no sweep"),
        (("--resume",), "there is no sweep to resume"),
        (("-j", "0"), "-j 0: expected 1 or more"),
        (("-j", "0", "--dry-run"), "-j 0: expected 1 or more"),
    ],
)
def test_what_a_sweep_cannot_do_is_said_before_it_begins(unspool, grid, arguments, said):
    result = unspool("sweep", grid, *arguments)
    assert result.code == 2
    assert said in result.err


def test_a_folder_of_something_else_is_no_sweep(unspool, tmp_path):
    said = unspool("sweep", "best", tmp_path)
    assert said.code == 2
    assert "is not the folder of a sweep" in said.err


@pytest.fixture
def sizes(grid, write):
    """Platforms that refuse four, two and none of five jobs, of which the first lets nobody wait."""
    log = "submit_time,run_time,cores,walltime\n0,100,2,100\n1,50,8,60\n2,10,1,10\n3,20,2,30\n4,30,4,40\n"
    write("log.csv", log)
    write("grid.toml", '[run]\nworkload = "log.csv"\n[grid]\nplatform = [1, 2, 8]\n')
    return grid


def test_a_point_that_refuses_jobs_is_not_the_best_and_is_marked(unspool, sizes, tmp_path):
    said = unspool("sweep", sizes, "-o", "out")
    assert said.code == 0, said.err
    warning, header, _, *rows = said.out.splitlines()
    assert warning.startswith("In 2 of 3 runs, a large share was rejected, in the worst: 4 jobs were rejected: 80%")
    assert "jobs not run" in header
    assert [row.split()[:3] for row in rows[:3]] == [["1", "platform", "8"], ["2", "platform", "2"],
                                                     ["3", "platform", "1"]]  # fmt: skip
    assert [row.split()[-2] for row in rows[:3]] == ["0", "2", "4"]
    assert ["! " in row for row in rows] == [False, True, True, True]
    assert "2 points leave out more jobs than others and come last" in rows[3]
    table = pl.read_csv(tmp_path / "out" / "ranking.csv")
    assert table.select("platform", "jobs_not_run", "runs_fewer_jobs").rows() == [
        (8, 0.0, False), (2, 2.0, True), (1, 4.0, True),
    ]  # fmt: skip
    page = (tmp_path / "out" / "sweep.html").read_text()
    assert "platform 8: mean wait" in page
    assert "jobs not run" in page
    assert "2 points leave out more jobs than others and come last" in page
    front = json.loads(unspool("sweep", "best", "out", "--front", "makespan_s", "--json").out)
    assert [row["platform"] for row in front] == ["8"]
    # of those that are left, platform 2 runs the most
    some = json.loads(unspool("sweep", "best", "out", "--where", "platform != '8'", "--json").out)
    assert [(row["platform"], row["runs_fewer_jobs"]) for row in some] == [("2", False), ("1", True)]


def test_a_set_up_that_refuses_jobs_is_not_the_cheapest(unspool, grid, write):
    from tests.cli.test_cli_cost import CATALOGUE, CONFIG

    write("log.csv", "submit_time,run_time,cores,walltime\n0,100,1,100\n1,50,2,60\n")
    write("prices.csv", CATALOGUE)
    write("all.yml", CONFIG)
    write("few.yml", CONFIG.replace("[c5]", "[c5.large]"))
    write(
        "grid.toml", '[run]\nworkload = "log.csv"\ncatalogue = "prices.csv"\n[grid]\nconfig = ["few.yml", "all.yml"]\n'
    )
    assert unspool("sweep", grid, "-o", "out", "--json").code == 0
    runs = pl.read_parquet("out/runs/*.parquet")
    assert runs["rejected_jobs"].to_list() == [1, 0]
    rows = json.loads(unspool("sweep", "best", "out", "--by", "total_cost_usd", "--json").out)
    assert [(row["config"], row["jobs_not_run"]) for row in rows] == [("all.yml", 0.0), ("few.yml", 1.0)]
    assert rows[1]["mean"] < rows[0]["mean"]


def test_a_sweep_whose_log_was_missing_can_be_made_when_it_is_there(unspool, grid, write, tmp_path):
    (tmp_path / "log.csv").rename(tmp_path / "elsewhere.csv")
    said = unspool("sweep", grid, "-o", "out")
    assert (said.code, "log.csv: there is no such file" in said.err) == (2, True)
    (tmp_path / "elsewhere.csv").rename(tmp_path / "log.csv")
    assert unspool("sweep", grid, "-o", "out", "--json").code == 0


def test_a_policy_that_nobody_knows_is_refused_before_the_first_run(unspool, grid, write, tmp_path):
    write("grid.toml", GRID.replace("sjf", "eassy"))
    said = unspool("sweep", grid, "-o", "out")
    assert (said.code, said.out, (tmp_path / "out").exists()) == (2, "", False)
    assert "grid.toml: key policy: unknown scheduler 'eassy'; did you mean 'easy'" in said.err


def test_an_empty_grid_is_refused(unspool, grid, write, tmp_path):
    write("grid.toml", "")
    said = unspool("sweep", grid)
    assert (said.code, (tmp_path / "grid").exists()) == (2, False)
    assert "grid.toml: nothing varies and no workload is named; expected settings with several values" in said.err
