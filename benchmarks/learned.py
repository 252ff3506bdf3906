"""Learned run times: what a question costs, and what EASY and the cloud's spot rule make of them.

`python -m benchmarks.learned [questions | easy | spot]`, as Markdown; easy needs the cases (UNSPOOL_CASES).
Times are CPU seconds of this process.
"""

import gc
import io
import json
import os
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

import unspool
from unspool.cli.app import run_command
from unspool.faces.dispatch.learned import Boosting, Embedding, Linear, Network
from unspool.faces.dispatch.simdex import jobs_of
from unspool.workloads.generators import recodex, write_recodex
from unspool.workloads.recodex import read_jobs

CASES = Path(os.environ.get("UNSPOOL_CASES", Path(__file__).parents[2] / "shared" / "cases"))
LOGS = {"theta-2022": 4360, "seth-like-50k": 480}
PREDICTORS = (
    None, "last-two", "statistics(statistic=median)", "linear", "quantile(quantile=0.8)", "boosting", "network",
    "embedding", "exact",
)  # fmt: skip
SPOT_PREDICTORS = (
    None, "scaled(factor=1)", "last-two", "statistics(statistic=median)", "linear", "quantile(quantile=0.8)",
    "boosting",
)  # fmt: skip
SEEDS = 10
BILL = Path(__file__).parents[1] / "examples" / "sacct-to-bill"
BATCH = 1000


def line(*cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def header(*cells):
    line(*cells)
    line(*("---" for _ in cells))


def questions(folder):
    """CPU time of a question, alone and in batches of a thousand, features included, after 5,000 jobs."""
    log = recodex(6000, seed=1, load=1.5)
    write_recodex(log.jobs, folder / "data.csv")
    jobs = list(jobs_of(read_jobs(folder / "data.csv")))
    header("predictor", "µs a job, alone", f"µs a job, {BATCH:,} together", "s a training", "trainings in 5,000 jobs")
    for make in (Linear, Boosting, Network, Embedding):
        predictor = make()
        fit, spent = predictor.learner.model.fit, []

        def fitted(*arguments, fit=fit, spent=spent):
            began = time.process_time()
            fit(*arguments)
            spent.append(time.process_time() - began)

        predictor.learner.model.fit = fitted
        for job in jobs[:5000]:
            predictor.predict_duration(job)
            job.finish_ts = job.spawn_ts
            predictor.job_finished(None, job)
        asked = jobs[5000:]
        predictor.predict_many(asked[:2])  # compiles
        gc.collect()  # or else the first predictor pays for all that was imported
        began = time.process_time()
        alone = [predictor.predict_duration(job) for job in asked]
        middle = time.process_time()
        together = [each for _ in range(5) for each in predictor.predict_many(asked)]
        ended = time.process_time()
        assert together[:BATCH] == alone
        line(
            f"`{make.__name__.lower()}`", f"{(middle - began) / BATCH * 1e6:.1f}",
            f"{(ended - middle) / (5 * BATCH) * 1e6:.1f}", f"{sum(spent) / len(spent):.4f}", f"{len(spent):,}",
        )  # fmt: skip


def easy():
    """EASY with each predictor, in the order of arrival and shortest first."""
    header("log", "predictor", "mean wait, s", "bounded slowdown", "shortest first: mean wait, s", "bounded slowdown")
    for name, cores in LOGS.items():
        workload = unspool.read_workload(CASES / "swf" / f"{name}.swf.gz")
        for predictor in PREDICTORS:
            cells = []
            for order in ("fcfs", "sjf"):
                more = f",predictor={predictor}" if predictor else ""
                summary = unspool.run(workload, cores, f"easy:order={order}{more}").summary
                cells += [f"{summary['mean_wait_s']:,.0f}", f"{summary['mean_bounded_slowdown']:.1f}"]
            line(name, f"`{predictor}`" if predictor else "walltime", *cells)


def bill(predictor, seed):
    """The summary of the week of sacct where jobs that are predicted to run under an hour go to spot instances."""
    policy = f"cheapest-fit:predictor={predictor}" if predictor else "cheapest-fit"
    words = ["cost", BILL / "sacct.txt", "-c", BILL / "config.yml", "--policy", policy, "--seed", seed, "--json"]
    with redirect_stdout(io.StringIO()) as told, redirect_stderr(io.StringIO()):
        assert run_command([str(word) for word in words]) == 0
    return json.loads(told.getvalue())


def spot():
    """The cloud's spot rule with each predictor, means over seeds of reclaims."""
    header(
        "who says which jobs are short", "cost, USD", "of it spot, USD", "reclaimed", "core hours lost", "mean wait, s"
    )
    keys = ("total_cost_usd", "spot_cost_usd", "reclaimed", "lost_core_hours", "mean_wait_s")
    for predictor in SPOT_PREDICTORS:
        found = [bill(predictor, seed) for seed in range(SEEDS)]
        means = [sum(each[key] for each in found) / SEEDS for key in keys]
        line(f"`{predictor}`" if predictor else "the log", *(f"{mean:,.1f}" for mean in means))


def main(what):
    with TemporaryDirectory() as folder:
        if "questions" in what:
            questions(Path(folder))
    if "easy" in what:
        easy()
    if "spot" in what:
        spot()


if __name__ == "__main__":
    main(sys.argv[1:] or ("questions", "easy", "spot"))
