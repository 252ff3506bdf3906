"""The pages that are opened: one line for each kind of result, made by its command from jobs with given names."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import tomli_w

from unspool.cli.app import run_command

PLAIN = ("ada", "grace", "edsger", "barbara", "donald")

# Each would be seen to run, to be fetched, to widen the page, or to turn the words around it.
HOSTILE = (
    "<script>window.ran = 1</script>",
    "</script><script>window.ran = 2</script>",
    "<img src=x onerror='window.ran = 3'>",
    "\"><svg onload=\"window.ran = 4\">",
    "' onmouseover='window.ran = 5' x='",
    "<a href=\"javascript:window.ran = 6\">here</a>",
    "../../etc/passwd",
    "<b>{{ 7 * 7 }} ${7 * 7} %{x} &lt;b&gt;",
    "\u202eright to left\u202c \u05e9\u05dc\u05d5\u05dd",
    "=HYPERLINK(window.ran = 8)",
    "w" * 10_000,
)  # fmt: skip
HOSTILE_POLICIES = tuple(f"{name.replace(':', '')}:Own" for name in HOSTILE)  # of modules that are not there
HOSTILE_FILE = "<img src=x onerror='window.ran = 7'>"

_JOBS = 60  # more than a Gantt chart alone tells enough of
_ORIGIN = 1_772_000_000


def _rows(names: Sequence[str]) -> list[tuple[str, int, int, int, str]]:
    """Jobs of (id, submit time, run time, cores, user): some 16 cores are asked for more than they have."""
    once = [*names, *(f"job{at}" for at in range(len(names), _JOBS))]
    return [(once[at], 120 * at, 300 + 977 * at % 5400, 1 + 5 * at % 8, names[at % len(names)]) for at in range(_JOBS)]


def _named(names: Sequence[str], suffix: str) -> str:
    return (HOSTILE_FILE if names is HOSTILE else "log") + suffix


def _log(folder: Path, names: Sequence[str]) -> Path:
    """A table of jobs, each name that of a job, a user, a queue and a project; one record cannot be used."""
    path = folder / _named(names, ".csv")
    with open(path, "w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(
            ["job_id", "submit_time", "run_time", "cores", "walltime", "logged_wait", "user", "queue", "project"]
        )
        for name, submit, run, cores, user in _rows(names):
            lines.writerow([name, _ORIGIN + submit, run, cores, 2 * run, 7 * submit, user, user, user])
        lines.writerow([f"{names[0]} again", _ORIGIN, "soon", 1, 60, 0, names[0], names[0], names[0]])
    return path


def _batsim(folder: Path, names: Sequence[str]) -> tuple[object, ...]:
    """A platform of 16 hosts and jobs with profiles for it."""
    hosts = "".join(f'<host id="h{at}" speed="1Gf"/>' for at in range(16))
    platform, jobs = folder / "p.xml", folder / _named(names, ".json")
    platform.write_text(
        f'<?xml version="1.0"?>\n<platform version="4.1"><zone id="all" routing="Full">'
        f'<host id="master_host" speed="1Gf"/>{hosts}</zone></platform>'
    )
    rows = [
        {"id": name, "subtime": submit, "res": cores, "walltime": 2 * run, "profile": f"{run} s", "user": user}
        for name, submit, run, cores, user in _rows(names)
    ]
    profiles = {f"{row[2]} s": {"type": "delay", "delay": row[2]} for row in _rows(names)}
    jobs.write_text(json.dumps({"nb_res": 16, "jobs": rows, "profiles": profiles}))
    return "-p", platform, "-w", jobs, "-e", folder / "out"


_RECODEX = (
    "submission_id", "solution_id", "group_id", "tlgroup_id", "exercise_id", "runtime_id", "worker_group_id", "user_id",
    "spawn_ts", "end_ts", "limits", "cpu_time", "correctness", "compilation_ok", "duration",
)  # fmt: skip
_EXPERIMENT = """\
workers: 2
dispatcher: duration-filter
duration_predictor: {class: statistics, args: {by: exercise}}
metrics: [delay]
"""


def _dispatched(folder: Path, names: Sequence[str]) -> tuple[object, ...]:
    """A log of ReCodEx whose exercises have these names, and an experiment for it."""
    data, experiment = folder / _named(names, ".csv"), folder / "e.yaml"
    with open(data, "w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file, delimiter=";")
        lines.writerow(_RECODEX)
        for name, submit, run, _, exercise in _rows(names):
            spawn = _ORIGIN + submit
            ids = (name, name, "g", "t", exercise, "python", "default", exercise)
            lines.writerow([*ids, spawn, spawn + run, 2 * run, run, 1.0, 1, run / 10])
    experiment.write_text(_EXPERIMENT)
    return data, "-c", experiment


def _comparison(folder: Path, names: Sequence[str]) -> Path:
    """The page that sets three policies beside each other."""
    _page(folder, "run", _log(folder, names), "-p", 16, *_THREE)
    page = folder / "compare.html"
    assert run_command(["compare", str(folder / "results"), "--by", "user", "-o", str(page)]) == 0
    return page


def _set_ups(folder: Path, names: Sequence[str]) -> Path:
    """The page that sets three ways to run a log beside each other; one is named after its file."""
    own, cloud = folder / "own.yml", folder / _named(names, ".yml")
    own.write_text("ComputeClusterModel: {OnPremises: [{Count: 2, Cores: 8, HourlyCost: 0.1}], ShareInstances: true}\n")
    cloud.write_text("ComputeClusterModel: {Disks: [{GiB: 50, UsdPerGiBMonth: 0.1}]}\n")
    return _page(folder, "cost", "compare", _log(folder, names), "-c", own, "-c", cloud)


def _sweep(folder: Path, names: Sequence[str]) -> Path:
    """The page of a sweep of three policies; of hostile ones, too, of which no run is made."""
    policies = ["fcfs", "easy", "conservative", *(HOSTILE_POLICIES if names is HOSTILE else ())]
    run = {"workload": str(_log(folder, names)), "platform": 16, "thin": 0.9}
    (folder / "grid.toml").write_text(
        tomli_w.dumps({"replicas": 3, "run": run, "grid": {"policy": policies}}), encoding="utf-8"
    )
    assert run_command(["sweep", str(folder / "grid.toml"), "-j", "1", "-o", str(folder / "results")]) == 0
    return folder / "results" / "sweep.html"


def _page(folder: Path, *command: object) -> Path:
    """The page that a command writes."""
    assert run_command([str(part) for part in (*command, "-o", folder / "results")]) == 0
    return folder / "results" / "report.html"


_THREE = ("--policy", "fcfs", "--policy", "easy", "--policy", "conservative")

PAGES: Mapping[str, Callable[[Path, Sequence[str]], Path]] = {
    "run": lambda folder, names: _page(folder, "run", _log(folder, names), "-p", 16, "--policy", "easy"),
    "run of three": lambda folder, names: _page(folder, "run", _log(folder, names), "-p", 16, *_THREE),
    "cost": lambda folder, names: _page(folder, "cost", _log(folder, names)),
    "cost compare": _set_ups,
    "batsim": lambda folder, names: _page(folder, "batsim", *_batsim(folder, names), "--policy", "easy"),
    "dispatch": lambda folder, names: _page(folder, "dispatch", *_dispatched(folder, names)),
    "compare": _comparison,
    "sweep": _sweep,
}
