"""One generated log of a code examiner under many ways to choose a worker, each in place of that of experiment.yaml.

Run: python examples/dispatch/compare.py
"""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from unspool.faces.dispatch.experiment import read_experiment
from unspool.faces.dispatch.outputs import summary_of
from unspool.faces.dispatch.running import run_experiment
from unspool.workloads.generators import recodex, write_recodex
from unspool.workloads.recodex import read_jobs, read_refs

HERE = Path(__file__).parent
FILTER, SELECTOR, CENTRAL = "duration-filter", "selector", "central-shortest"
WAYS = {  # dispatcher, predictor of durations, selector of workers
    "shortest queue": ("shortest-queue", None, None),
    "filter, half the limit": (FILTER, "limits", None),
    "filter, statistics": (FILTER, "index", None),
    "filter, the truth": (FILTER, "oracle", None),
    "least work, statistics": ("least-work", "index", None),
    "first to end, statistics": (SELECTOR, "index", "greedy"),
    "bandit, UCB": (SELECTOR, "index", "ucb"),
    "bandit, Thompson": (SELECTOR, "index", "thompson"),
    "work stealing": ("work-stealing", None, None),
    "one queue, FIFO": ("central-fifo", None, None),
    "one queue, limits": (CENTRAL, "limits", None),
    "one queue, statistics": (CENTRAL, "index", None),
    "one queue, the truth": (CENTRAL, "oracle", None),
}


def main() -> None:
    log = recodex(10_000, seed=1, load=1.5)
    with TemporaryDirectory() as folder:
        data, runs = Path(folder, "data.csv"), Path(folder, "refs.csv")
        write_recodex(log.jobs, data)
        write_recodex(log.refs, runs)
        jobs, refs = read_jobs(data), read_refs(runs)
    base = read_experiment(HERE / "experiment.yaml")
    print(f"{'':26}  mean delay   on time      late")
    for name, (dispatcher, predictor, selector) in WAYS.items():
        chosen = {"dispatcher": dispatcher, "duration_predictor": predictor, "worker_selector": selector}
        told = summary_of(run_experiment(replace(base, content={**base.content, **chosen}), jobs, refs))
        delay, on_time, late = told["delay_avg"], told["jobs_on_time_percentage"], told["jobs_late_percentage"]
        print(f"{name:26}  {delay:8.1f} s  {on_time:8.1%}  {late:8.1%}")


if __name__ == "__main__":
    main()
