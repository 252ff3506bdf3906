"""Every verb that writes, with small inputs, and what it writes: for tests that let any step of it fail."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.cli.test_cli_batsim import PLATFORM, TWO_JOBS, workload_json
from tests.cli.test_cli_commit import CONFIG, TYPES
from tests.cli.test_cli_dispatch import EXPERIMENT
from tests.faces.dispatch_build import JOBS, REFS
from tests.faults import called

LOG = "job_id,submit_time,run_time,cores,walltime,user\n" + "".join(
    f"{at},{at * 7},{50 + at * 13 % 40},{1 + at % 3},120,u{at % 2}\n" for at in range(12)
)
GRID = 'replicas = 2\n[run]\nworkload = "log.csv"\nplatform = "4"\n[grid]\npolicy = ["fcfs", "easy"]\n'
SMALL = ("--where", "cores <= 1")
POISSON = ("--rate", "0.001", "--mean-run-time", "600", "--jobs")
ON_MACHINES = ("-p", "p.xml", "-w", "w.json")


class Verb(NamedTuple):
    """A command, and the files and folders that it writes; `old` is what made those that it finds there."""

    arguments: tuple[str, ...]
    written: tuple[str, ...]
    old: tuple[str, ...] = ()
    changes: Callable[[], None] | None = None


COST = ("cost", "log.csv", "-c", "c.yml", "--catalogue", "types.csv")
COMPARED = ("cost", "compare", "log.csv", "-c", "c.yml", "-c", "d.yml", "--catalogue", "types.csv")
DISPATCH = ("dispatch", "-c", "e.yaml", "jobs.csv", "--refs", "refs.csv")
VERBS = {
    "run": Verb(("run", "log.csv", "-p", "4", "-o", "o", "--force", "--csv"), ("o",), ("--policy", "fcfs")),
    "run, two policies": Verb(
        ("run", "log.csv", "-p", "4", "--policy", "fcfs", "--policy", "easy", "-o", "o", "--force", "--no-report"),
        ("o",), ("--seed", "1"),
    ),
    "cost": Verb((*COST, "-o", "o", "--force", "--excel"), ("o",), ("--set", "IdleTime=60")),
    "cost compare": Verb((*COMPARED, "-o", "o", "--force"), ("o",), ("--seed", "1")),
    "cost commit": Verb(
        ("cost", "commit", "bill", "--catalogue", "types.csv", "-o", "o", "--force"), ("o",),
        ("--years", "1", "--payment", "no"),
    ),
    "cost --init": Verb(("cost", "--init", "o.yml", "--force"), ("o.yml",)),
    "dispatch": Verb((*DISPATCH, "-o", "o", "--force"), ("o",), ("--limit", "3")),
    "dispatch --compat fork": Verb(
        ("dispatch", "-c", "f.yaml", *DISPATCH[3:], "--compat", "fork", "-o", "o", "--force"), ("o",), ("--limit", "3")
    ),
    "batsim": Verb(
        ("batsim", *ON_MACHINES, "-e", "b/x", "-o", "o", "--force", "-q"),
        ("o", "b/x_jobs.csv", "b/x_schedule.csv", "b/x_schedule.json", "b/x_machine_states.csv", "b/x_schedule.trace"),
        ("--policy", "fcfs"),
    ),
    "convert": Verb(("convert", "log.csv", "o.swf.gz", "--force"), ("o.swf.gz",), SMALL),
    "convert to Parquet": Verb(("convert", "log.csv", "o.parquet", "--force"), ("o.parquet",), SMALL),
    "convert to Batsim": Verb(("convert", "log.csv", "o.json", "--to", "batsim", "--force"), ("o.json",), SMALL),
    "convert to jobs-csv": Verb(("convert", "log.csv", "o.csv", "--to", "jobs-csv", "--force"), ("o.csv",), SMALL),
    "convert to CSV": Verb(("convert", "log.csv", "o.csv.gz", "--force"), ("o.csv.gz",), SMALL),
    "convert to a trace": Verb(
        ("convert", "runs", "o.trace.json", "--force"), ("o.trace.json",), ("--window", "0..20")
    ),
    "convert to Pajé": Verb(("convert", "machines", "o.paje", "--force"), ("o.paje",), ("--window", "0..2")),
    "generate": Verb(("generate", "poisson", "o.csv", *POISSON, "20", "--force"), ("o.csv",), ("--seed", "1")),
    "generate fitted": Verb(
        ("generate", "fitted", "o.csv", "--from", "long.csv", "--save-model", "m.json", "--force"),
        ("o.csv", "m.json"), ("--seed", "1"),
    ),
    "generate recodex": Verb(
        ("generate", "recodex", "o.csv", "--jobs", "40", "--refs", "r.csv", "--force"), ("o.csv", "r.csv"),
        ("--seed", "1"),
    ),
    "compare": Verb(
        ("compare", "runs", "-o", "o.html", "--series", "s.parquet", "--force"), ("o.html", "s.parquet"),
        ("--seed", "1", "--points", "7"),
    ),
    "forecast": Verb(
        ("forecast", "long.csv", "--at", "2d", "-p", "4", "--replicas", "3", "-o", "o.csv", "--force"), ("o.csv",),
        ("--seed", "1"),
    ),
    "report": Verb(("report", "runs", "-o", "o.html", "--force"), ("o.html",)),
    "report --figures": Verb(("report", "bill", "-o", "o.html", "--figures", "f/g", "--force"), ("o.html", "f/g")),
    "catalogue update": Verb(("catalogue", "update", "--region", "eu-west-1", "-o", "prices.csv"), ("prices.csv",)),
}  # fmt: skip


def set_up(folder: Path) -> None:
    """Write the inputs of all verbs."""
    texts = {
        "log.csv": LOG, "types.csv": TYPES, "c.yml": CONFIG, "d.yml": CONFIG.replace("BootTime: 0", "BootTime: 60"),
        "e.yaml": EXPERIMENT, "jobs.csv": JOBS, "refs.csv": REFS, "p.xml": PLATFORM, "g.toml": GRID,
        "f.yaml": EXPERIMENT.replace("workers: 2", "workers: [{active: true}, {active: true}]"),
        "w.json": workload_json(*TWO_JOBS),
    }  # fmt: skip
    for name, text in texts.items():
        (folder / name).write_text(text)
    both = ("--policy", "fcfs", "--policy", "easy")
    assert called(("run", "log.csv", "-p", "4", *both, "-o", "runs", "--no-report")) == 0
    assert called(("run", "log.csv", "-p", "4x1", "-o", "machines", "--no-report")) == 0
    assert called((*COST, "-o", "bill", "--no-report")) == 0
    assert called(("generate", "poisson", "long.csv", *POISSON, "300")) == 0


def put(state: Path, folder: Path, names: tuple[str, ...]) -> None:
    """Bring what a verb writes into a state that was kept."""
    for name in names:
        at, kept = folder / name, state / name
        if at.is_dir():
            shutil.rmtree(at)
        at.unlink(missing_ok=True)
        at.parent.mkdir(exist_ok=True)
        if kept.is_dir():
            shutil.copytree(kept, at)
        elif kept.exists():
            shutil.copy2(kept, at)


def left(folder: Path) -> list[Path]:
    """What was not yet whole."""
    return [path for path in folder.rglob(".*") if path.name.endswith((".part", ".partial"))]
