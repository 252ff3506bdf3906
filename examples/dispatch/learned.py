"""Ways to choose a worker that learn, beside ways that do not, over many seeds, with intervals and a page.

Run: python examples/dispatch/learned.py [--seeds 10] [--jobs 5000] [--processes 2] [--log DATA REFS] [-o OUT.html]

Each seed is a generated log of its own. With --log the seeds are those of the learners on one log that is given; ways
that draw nothing are run once there. Networks and selectors need PyTorch, boosting scikit-learn: pip install
'unspool[ml,torch]'. With --quick: two short logs, and only ways that need neither.
"""

import argparse
import math
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
from plotly.graph_objects import Bar, Figure

from unspool.faces.dispatch.experiment import read_experiment
from unspool.faces.dispatch.outputs import summary_of, times_of
from unspool.faces.dispatch.running import run_experiment
from unspool.report.content import Column, Page, Section, Tile, table_of
from unspool.report.figures.style import finished
from unspool.report.page import write_page
from unspool.workloads.generators import recodex, write_recodex
from unspool.workloads.recodex import read_jobs, read_refs

HERE = Path(__file__).parent
FILTER, SELECTOR, CENTRAL = "duration-filter", "selector", "central-shortest"
MEDIAN = {"class": "statistics", "args": {"statistic": "median", "failed": True}}
LOW, HIGH = ({"class": FILTER, "args": {"quantile": quantile}} for quantile in (0.2, 0.9))
OPEN = tuple({"active": True} for _ in range(4))
MOVING = ({"active": True, "limit": 30, "dynamic-limit": True, "limit-min": 5, "limit-max": 300, "aggression": 5},)
# Dispatcher, predictor of durations, selector of workers; then what else differs from experiment.yaml.
# "filter 0.2" holds limits against the quantile 0.2 of what is predicted.
WAYS = {
    "shortest queue": ("shortest-queue", None, None),
    "filter, zero": (FILTER, "zero", None),
    "filter, limits": (FILTER, "limits", None),
    "filter, mean": (FILTER, "index", None),
    "filter, median": (FILTER, MEDIAN, None),
    "filter, linear": (FILTER, "linear", None),
    "filter, boosting": (FILTER, "boosting", None),
    "filter, network": (FILTER, "network", None),
    "filter, embedding": (FILTER, "embedding", None),
    "filter 0.2, median": (LOW, MEDIAN, None),
    "filter 0.2, linear": (LOW, "linear", None),
    "filter 0.2, boosting": (LOW, "boosting", None),
    "filter 0.9, median": (HIGH, MEDIAN, None),
    "filter 0.9, linear": (HIGH, "linear", None),
    "filter 0.9, boosting": (HIGH, "boosting", None),
    "filter, the truth": (FILTER, "oracle", None),
    "moving limit, mean": (FILTER, "index", None),
    "first to end, mean": (SELECTOR, "index", "greedy"),
    "bandit, mean": (SELECTOR, "index", "contextual-bandit"),
    "deep Q, mean": (SELECTOR, "index", "deep-q"),
    "bandit, no limits": (SELECTOR, "index", "contextual-bandit"),
    "deep Q, no limits": (SELECTOR, "index", "deep-q"),
    "work stealing": ("work-stealing", None, None),
    "one queue, FIFO": ("central-fifo", None, None),
    "one queue, limits": (CENTRAL, "limits", None),
    "one queue, mean": (CENTRAL, "index", None),
    "one queue, median": (CENTRAL, MEDIAN, None),
    "one queue, linear": (CENTRAL, "linear", None),
    "one queue, boosting": (CENTRAL, "boosting", None),
    "one queue, network": (CENTRAL, "network", None),
    "one queue, the truth": (CENTRAL, "oracle", None),
}
DRAWS = {"network", "embedding", "contextual-bandit", "deep-q"}
NEEDS_A_PACKAGE = DRAWS | {"boosting"}
BESIDE = "shortest queue"


def main() -> None:
    asked = arguments()
    names = [name for name in WAYS if name == BESIDE or re.search(asked.only, name)]
    if asked.quick:
        names = [name for name in names if not NEEDS_A_PACKAGE & classes_of(name)]
    with TemporaryDirectory() as folder:
        logs = [(Path(data), Path(refs)) for data, refs in [asked.log]] if asked.log else generated(asked, Path(folder))
        tasks = [
            (name, seed, logs[0] if asked.log else logs[seed])
            for name in names
            for seed in range(asked.seeds if not asked.log or DRAWS & classes_of(name) else 1)
        ]
        found = []
        for task, row in zip(tasks, all_runs(tasks, asked.processes), strict=True):
            found.append({"way": task[0], "seed": task[1], **row})
            if asked.runs:
                pl.DataFrame(found).write_csv(asked.runs)
            if sys.stderr.isatty():
                print(f"\r{len(found)} of {len(tasks)} runs", end="", file=sys.stderr, flush=True)
    runs = pl.DataFrame(found)
    table = summed_up(runs, names, asked)
    print_table(table)
    if asked.out:
        write_page(page_of(table, runs, asked), asked.out)


def classes_of(name: str) -> set[str]:
    return {str(each["class"] if isinstance(each, dict) else each) for each in WAYS[name]}


def all_runs(tasks: list[tuple[str, int, tuple[Path, Path]]], processes: int) -> Iterator[dict[str, float]]:
    if processes == 1:
        yield from map(one_run, tasks)
        return
    # A forked process would wait for ever for threads of Polars that it does not have.
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        yield from pool.map(one_run, tasks)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=5000)
    parser.add_argument("--load", type=float, default=1.5)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--log", nargs=2, metavar=("DATA", "REFS"))
    parser.add_argument("--only", default="", metavar="PATTERN", help="only ways whose names match")
    parser.add_argument("--runs", type=Path, metavar="CSV", help="also write every run there, as soon as it is over")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("-o", "--out", type=Path)
    asked = parser.parse_args()
    if asked.quick:
        asked.seeds, asked.jobs, asked.processes = 2, 800, 1
    return asked


def generated(asked: argparse.Namespace, folder: Path) -> list[tuple[Path, Path]]:
    logs = []
    for seed in range(asked.seeds):
        log = recodex(asked.jobs, seed=seed + 1, load=asked.load)
        data, refs = folder / f"data-{seed}.csv", folder / f"refs-{seed}.csv"
        write_recodex(log.jobs, data)
        write_recodex(log.refs, refs)
        logs.append((data, refs))
    return logs


def one_run(task: tuple[str, int, tuple[Path, Path]]) -> dict[str, float]:
    name, seed, (data, refs) = task
    jobs = read_jobs(data)
    base = read_experiment(HERE / "experiment.yaml")
    dispatcher, predictor, selector = WAYS[name]
    chosen = {"dispatcher": dispatcher, "duration_predictor": predictor, "worker_selector": selector}
    workers = OPEN if name.endswith("no limits") else base.workers
    if name.startswith("moving"):
        workers, chosen["sa_strategy"] = (*MOVING, *base.workers[1:]), "heuristic-limits"
    experiment = replace(base, workers=workers, content={**base.content, **chosen})
    run = run_experiment(experiment, jobs, read_refs(refs), seed=seed)
    told, times = summary_of(run), times_of(run)
    half = len(jobs) // 2
    estimates = np.maximum(np.asarray(run.outcome.estimate), 0.0)
    errors = np.abs(np.log1p(estimates) - np.log1p(jobs.duration))[half:]
    return {
        "delay_s": told["delay_avg"],
        "on_time": told["jobs_on_time_percentage"],
        "log_error": float(errors.mean()) if predictor not in (None, "zero") else math.nan,
        "question_us": max((each["inference_s_mean"] for each in times.values()), default=math.nan) * 1e6,
        "training_s": sum(each["training_s"] for each in times.values()),
    }


def summed_up(runs: pl.DataFrame, names: list[str], asked: argparse.Namespace) -> pl.DataFrame:
    """A row for each way: mean, half the 95 % interval over seeds, and the difference to the shortest queue."""
    beside = runs.filter(pl.col("way") == BESIDE).sort("seed")["delay_s"].to_numpy()
    rows = []
    for name in names:
        own = runs.filter(pl.col("way") == name).sort("seed")
        delays = own["delay_s"].to_numpy()
        off = delays - (beside[0] if asked.log else beside)
        means = own.select(pl.col("on_time", "log_error", "question_us", "training_s").mean()).row(0)
        rows.append((name, delays.mean(), half_interval(delays), off.mean(), half_interval(off), *means))
    columns = ["way", "delay", "delay_half", "off", "off_half", "on_time", "log_error", "question_us", "training_s"]
    return pl.DataFrame(rows, schema=columns, orient="row").with_columns(pl.selectors.float().fill_nan(None))


def half_interval(values: np.ndarray) -> float | None:
    """Half the 95 % interval of a mean, by Student's t: √f tan θ, where θ has a density like cos^(f - 1) θ."""
    if len(values) < 2:
        return None
    freedom = len(values) - 1
    theta = np.linspace(0.0, math.pi / 2, 20_001)
    density = np.cos(theta) ** (freedom - 1)
    area = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    t = math.sqrt(freedom) * math.tan(float(np.interp(0.95, area / area[-1], theta)))
    return float(t * values.std(ddof=1) / math.sqrt(len(values)))


def print_table(table: pl.DataFrame) -> None:
    print(f"{'':22}  mean delay, s      beside shortest queue, s      on time   log error")
    for row in table.iter_rows(named=True):
        delay = f"{row['delay']:7.1f} {plus_minus(row['delay_half'])}"
        off = f"{row['off']:+7.1f} {plus_minus(row['off_half'])}"
        error = "" if row["log_error"] is None else f"{row['log_error']:.3f}"
        print(f"{row['way']:22}  {delay:17}  {off:27}  {row['on_time']:7.1%}   {error}".rstrip())


def plus_minus(half: float | None) -> str:
    return "" if half is None else f"± {half:.1f}"


def page_of(table: pl.DataFrame, runs: pl.DataFrame, asked: argparse.Namespace) -> Page:
    ordered = table.sort("delay", descending=True)
    best = ordered.filter(~pl.col("way").str.contains("truth")).tail(1).row(0, named=True)
    bars = Bar(
        y=ordered["way"].to_list(), x=ordered["delay"].round(3).to_list(), orientation="h", marker={"color": "#0072b2"},
        error_x={"type": "data", "array": ordered["delay_half"].fill_null(0.0).round(3).to_list()},
        hovertemplate="%{y}: %{x:.1f} s<extra></extra>",
    )  # fmt: skip
    figure = Figure(bars)
    figure.update_layout(xaxis={"title": {"text": "mean delay, s"}}, margin={"l": 150})
    caption = "Mean delay of each way, with 95 % intervals over seeds."
    picture = finished(figure, "Mean delay", caption, height=34.0)
    seconds, plain = (lambda value: f"{value:.1f} s"), (lambda value: f"{value:.3g}")
    columns = {
        "way": Column("way"), "delay": Column("mean delay", seconds, bar=True), "delay_half": Column("±", seconds),
        "off": Column("beside shortest queue", seconds), "off_half": Column("± ", seconds),
        "on_time": Column("on time", lambda value: f"{value:.1%}"), "log_error": Column("log error", plain),
        "question_us": Column("µs a question", plain), "training_s": Column("training", seconds),
    }  # fmt: skip
    what = Path(asked.log[0]).name if asked.log else f"{asked.seeds} generated logs of {asked.jobs:,} jobs"
    told = runs.fill_nan(None)
    return Page(
        title="unspool: which worker, and does learning pay?",
        question=f"Does it pay to learn which worker to choose, on {what}?",
        answer=f"The shortest mean delay without the truth is that of '{best['way']}': {best['delay']:.1f} s, "
        f"{abs(best['off']):.1f} s {'less' if best['off'] <= 0 else 'more'} than with the shortest queue.",
        tiles=[Tile(f"{best['delay']:.1f} s", f"mean delay of '{best['way']}'", "shortest without the truth")],
        figures={"delays": picture}, picture="delays",
        sections=[Section("All ways", tables=[table_of(table.sort("delay"), columns, "ways", "By mean delay")]),
                  Section("Every run", tables=[table_of(told, {name: Column(name, str if name == "way" else plain)
                          for name in runs.columns}, "runs", "Every run", most=1000)])],
        settings=[("seeds", str(asked.seeds)), ("log", what), ("load", plain(asked.load))],
        commands=["python examples/dispatch/" + " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])],
    )  # fmt: skip


if __name__ == "__main__":
    main()
