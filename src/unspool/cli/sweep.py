"""`unspool sweep`: many runs of one grid, on this machine or on a cluster; and what came of them."""

from __future__ import annotations

import shlex
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import polars as pl
from cyclopts import App, Parameter

from unspool.cli.config import assigned
from unspool.cli.options import Flag, Untrusted
from unspool.cli.output import Announcement, note, print_json, print_table, print_text
from unspool.cli.sweeping import SweepProgress
from unspool.errors import InputError, RunError, UnknownName
from unspool.report.shown import amount
from unspool.results.spreadsheet import write_csv
from unspool.storage import replacing, scratch_folder
from unspool.sweeps.grid import Grid, read_grid
from unspool.sweeps.inputs import Inputs
from unspool.sweeps.page import main_figures, point_names, shown_as, write_sweep_page
from unspool.sweeps.places import Certificate, Place, cores_here, dask_place, kubernetes_place, local_place, slurm_place
from unspool.sweeps.ranking import alike, pareto_front, ranking
from unspool.sweeps.session import run_sweep
from unspool.sweeps.store import Store, read_runs
from unspool.sweeps.unrun import JOBS_NOT_RUN, RUNS_FEWER, told_unrun, warning_of_runs
from unspool.sweeps.work import ELAPSED, ERROR, run_task
from unspool.trust import Foreign, foreign, vet
from unspool.units import counted, format_duration
from unspool.workloads.conditions import condition

__all__ = ["app", "best", "sweep"]

_SHOWN = 10
_TRIED = 3
_ROW_BYTES = 120  # of a row of the dataset, as measured on 800 runs
_INTERRUPTED = 130

app = App(help_format="plaintext")


@app.default
def sweep(
    grid: Path,
    /,
    *,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    processes: Annotated[int | None, Parameter(name=["--processes", "-j"])] = None,
    cluster: str | None = None,
    tls_ca: str | None = None,
    tls_cert: str | None = None,
    tls_key: str | None = None,
    slurm: Annotated[bool, Flag] = False,
    kubernetes: Annotated[bool, Flag] = False,
    jobs: int = 1,
    option: Annotated[list[str] | None, Parameter(negative=())] = None,
    resume: Annotated[bool, Flag] = False,
    retry_failed: Annotated[bool, Flag] = False,
    dry_run: Annotated[bool, Flag] = False,
    json: Annotated[bool, Flag] = False,
    no_report: Annotated[bool, Parameter(name="--no-report", negative=(), show_default=False)] = False,
    untrusted: Untrusted = False,
) -> int:
    """Make every run of a grid, or search it, and rank what came of it.

    For example: unspool sweep grid.toml -j 8 -o OUT

    Parameters
    ----------
    grid
        A TOML file: settings that all runs have in [run], those that differ in [grid] and [[paired]], replicas, and
        [search] for a search by Optuna.
    out
        Folder for the dataset (runs/*.parquet), sweep.html and ranking.csv. Default: the name of the grid.
    processes
        Processes of this machine. Default: as many as it has cores.
    cluster
        The scheduler of a Dask cluster, as tls://scheduler:8786, or tcp://scheduler:8786 in a network that you trust.
    tls_ca
        For tls://, the certificate of the authority that has signed those of the cluster, a file in PEM. This and the
        next two are as Dask's own configuration says if they are not given.
    tls_cert
        The certificate that the sweep shows to the cluster.
    tls_key
        The key of that certificate.
    slurm
        Start workers as jobs of Slurm, through dask-jobqueue.
    kubernetes
        Start workers as pods of Kubernetes, through dask-kubernetes.
    jobs
        How many such jobs or pods to start.
    option
        For such a cluster, as KEY=VALUE: queue=short, walltime='"02:00:00"'. Once for each.
    resume
        Go on with the sweep that is in the folder: only what is missing is run.
    retry_failed
        Run what failed again, too.
    dry_run
        Count the runs, make a few, estimate the time and the space that all take, and write nothing.
    json
        Print the ranking as JSON, and write no page.
    no_report
        Do not write sweep.html.
    """
    if processes is not None and processes < 1:
        raise InputError(f"-j {processes}: expected 1 or more")
    wanted = read_grid(grid)
    vetting = Vetting(str(grid), untrusted=untrusted)
    for policy in wanted.policy_texts():
        vetting(policy)
    folder = out or Path(grid.stem)
    count = processes or cores_here()
    if dry_run:
        return _estimate(wanted, count, vetting, as_json=json)
    place = _place(
        count, cluster, _certificate(tls_ca, tls_cert, tls_key), jobs, option or [], slurm=slurm, kubernetes=kubernetes
    )
    Store(folder).check_free(resume=resume)
    note(f"{_size(wanted)} on {place.name}")
    with SweepProgress(_first_figure(wanted)) as progress:
        try:
            run_sweep(wanted, folder, place, resume=resume, retry_failed=retry_failed, told=progress, vet=vetting)
        except KeyboardInterrupt:
            progress.clear()
            note(f"interrupted: {counted(progress.done, 'new run')} written; go on with: {_again(grid, folder)}")
            return _INTERRUPTED
    _tell(folder, wanted, progress, command=_again(grid, folder), as_json=json, report=not (no_report or json))
    return 0


class Vetting:
    """Says once what policies of a grid load, or refuses it."""

    def __init__(self, where: str, *, untrusted: bool) -> None:
        self._where, self._is_untrusted = where, untrusted
        self._told: set[Foreign] = set()

    def __call__(self, policy: str) -> None:
        """Called with each policy before any run is made."""
        new = set(foreign("schedulers", policy)) - self._told
        if new:
            vet("schedulers", policy, self._where, untrusted=self._is_untrusted, note=note)
            self._told |= new


def _place(
    processes: int,
    cluster: str | None,
    certificate: Certificate | None,
    jobs: int,
    options: list[str],
    *,
    slurm: bool,
    kubernetes: bool,
) -> Place:
    if sum((cluster is not None, slurm, kubernetes)) > 1:
        raise InputError("--cluster, --slurm and --kubernetes are three places; name one")
    if options and not (slurm or kubernetes):
        raise InputError("--option: is for --slurm and --kubernetes")
    if certificate is not None and cluster is None:
        raise InputError("--tls-ca, --tls-cert and --tls-key are for --cluster tls://HOST:PORT")
    if cluster is not None:
        return dask_place(cluster, certificate=certificate)
    if slurm:
        return slurm_place(jobs, dict(map(_option, options)), note)
    return kubernetes_place(jobs, dict(map(_option, options)), note) if kubernetes else local_place(processes)


def _certificate(*files: str | None) -> Certificate | None:
    return Certificate(*files) if any(file is not None for file in files) else None


def _option(text: str) -> tuple[str, Any]:
    return assigned(text, "--option", "queue=short")


def _again(grid: Path, folder: Path) -> str:
    """The command that goes on, or begins where nothing was begun."""
    more = ["--resume"] if Store(folder).is_there else []
    return shlex.join(["unspool", "sweep", str(grid), "-o", str(folder), *more])


def _size(grid: Grid) -> str:
    if grid.search is not None:
        return f"a search of {counted(grid.search.trials, 'trial')}"
    runs = counted(len(grid), "run")
    return f"{runs}: {counted(grid.points, 'point')}, {len(grid) // grid.points:,} of each"


def _first_figure(grid: Grid) -> str | None:
    return grid.search.objectives[0].figure if grid.search else None


def _estimate(grid: Grid, processes: int, vetting: Vetting, *, as_json: bool) -> int:
    """Make a few runs far apart, the first twice because it compiles, and tell what all would take."""
    total = len(grid) if grid.search is None else grid.search.trials * (grid.total // grid.points)
    with scratch_folder() as folder, Announcement("making a few runs …"):
        inputs = Inputs(folder, vet=vetting)
        places = [0, *(at * (grid.total - 1) // _TRIED for at in range(_TRIED + 1))]
        began = perf_counter()
        rows = [run_task(inputs.task(grid.run_at(at))) for at in places][1:]
        spent_s = perf_counter() - began
        logs = dict(inputs.jobs)
    mean_s = sum(row[ELAPSED] for row in rows) / len(rows)
    told = {
        "runs": total, "points": grid.points if grid.search is None else grid.search.trials,
        "tried": len(rows), "failed": sum(row[ERROR] is not None for row in rows), "jobs": sum(logs.values()),
        "mean_run_s": mean_s, "processes": processes, "estimated_s": total * mean_s / processes,
        "dataset_bytes": total * _ROW_BYTES, "spent_s": spent_s,
    }  # fmt: skip
    for row in rows:
        if row[ERROR] is not None:
            note(f"a run fails: {row[ERROR]}")
    if as_json:
        print_json(told)
        return 0
    print_text(_size(grid))
    print_text(f"about {format_duration(told['estimated_s'])} with {counted(processes, 'process', 'processes')}, "
               f"and {told['dataset_bytes'] / 1e6:.1f} MB")  # fmt: skip
    return 0


def _tell(folder: Path, grid: Grid, progress: SweepProgress, *, command: str, as_json: bool, report: bool) -> None:
    store = Store(folder)
    runs, facts = store.frame(), store.facts()
    main = main_figures(runs, facts)
    failed = runs.filter(pl.col(ERROR).is_not_null())
    by, is_maximised = main[0] if main else (ELAPSED, False)
    table = ranking(runs, by, facts["design"], facts["blocks"], maximise=is_maximised)
    warning = warning_of_runs(runs)
    with Announcement(f"writing {folder / 'sweep.html'} …"):
        try:
            figures = table.select("rank", pl.lit(by).alias("figure"), pl.exclude("rank"))
            with replacing(folder / "ranking.csv") as file:
                write_csv(figures, file)
            if report:
                write_sweep_page(runs, facts, folder / "sweep.html", command)
        except OSError as error:
            raise RunError(
                f"{folder}: all runs are made and kept, but not their ranking ({error.strerror}); make room, then: "
                f"{command}"
            ) from error
    if as_json:
        print_json(
            {"runs": len(runs), "failed": len(failed), "by": by, "warning": warning, "ranking": table.to_dicts()}
        )
    else:
        _print_warning(warning)
        _print_ranking(table, facts["design"], by)
    if len(failed) == len(runs):
        raise RunError(f"all of {counted(len(runs), 'run')} failed, for example: {failed[ERROR][0]}")
    if len(failed):
        note(f"{counted(len(failed), 'run')} failed, for example: {failed[ERROR][0]}")
    if alike(runs, facts["design"], facts["blocks"]):
        note("the seeds made no difference: nothing in these runs is drawn, so the intervals have no width")
    note(f"{counted(progress.done, 'run')} made, {progress.found:,} were there: {folder}"
         + (f", for people {folder / 'sweep.html'}" if report else ""))  # fmt: skip


def _print_warning(warning: str | None) -> None:
    if warning is not None:
        print_text(warning)


def _print_ranking(
    table: pl.DataFrame, design: list[str], by: str, most: int = _SHOWN, rest: str = "ranking.csv"
) -> None:
    tell = shown_as(by)
    unrun = told_unrun(table)
    rows = [
        (str(row["rank"]), name, "-" if row["mean"] is None else tell(row["mean"]),
         "" if row["low"] is None else f"{tell(row['low'])} .. {tell(row['high'])}",
         "" if row["difference"] is None else tell(row["difference"]),
         "" if row["p_value"] is None else _p(row["p_value"]), *([_left_out(row)] if unrun else []), str(row["runs"]))
        for row, name in zip(table.head(most).iter_rows(named=True), point_names(table, design), strict=False)
    ]  # fmt: skip
    print_table(("", "point", by, "95 %", "more than 1", "p", *(["jobs not run"] if unrun else []), "runs"), rows)
    if len(table) > most:
        print_text(f"… and {len(table) - most:,} more: {rest}")
    if unrun:
        print_text(f"{'! ' if table[RUNS_FEWER].any() else ''}{unrun}")


def _left_out(row: dict[str, Any]) -> str:
    """How many jobs a point does not run, marked where others run more."""
    if row[JOBS_NOT_RUN] is None:
        return "-"
    return ("! " if row[RUNS_FEWER] else "") + amount(row[JOBS_NOT_RUN])


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else "<0.001"


@app.command
def best(
    folder: Path,
    /,
    *,
    by: str | None = None,
    maximise: Annotated[bool, Flag] = False,
    where: str | None = None,
    front: Annotated[list[str] | None, Parameter(negative=())] = None,
    most: int = _SHOWN,
    json: Annotated[bool, Flag] = False,
) -> int:
    """Rank the points of a sweep by a figure, of those that a condition holds for.

    For example: unspool sweep best OUT --by mean_wait_s --where "total_cost_usd < 1000"

    Parameters
    ----------
    folder
        The folder of a sweep.
    by
        A figure of the dataset. Default: what was searched for, or mean_wait_s.
    maximise
        Large is good.
    where
        Only points whose means, or settings, this holds for, as "total_cost_usd < 1000 and policy == 'easy'".
    front
        Only points than which no other is better in this figure and the first; once for each more figure.
    most
        How many to show.
    json
        Print all of them as JSON.
    """
    facts = Store(folder).facts()
    runs = read_runs(folder)
    design, blocks = facts["design"], facts["blocks"]
    main = main_figures(runs, facts)
    if by is None:
        by, maximise = main[0] if main else (ELAPSED, False)
    kept = runs if where is None else _where(runs, design, where)
    if not len(kept):
        raise InputError(f"--where {where}: no point is left of {counted(len(runs), 'run')}; loosen the condition")
    table = ranking(kept, by, design, blocks, maximise=maximise)
    if front:
        means = _means(kept, design)
        for name in front:
            if name not in means.columns:
                raise UnknownName("figure", name, means.columns)
        keys = [name for name in design if name in kept.columns]
        both = table.join(means.select(*keys, *front), on=keys, how="left", maintain_order="left", nulls_equal=True)
        table = both.filter(pareto_front(both, ["mean", *front], ["mean"] if maximise else []))
    if json:
        print_json(table.to_dicts())
    else:
        _print_warning(warning_of_runs(kept))
        _print_ranking(table, design, by, most, f"--most {len(table)}")
    return 0


def _means(runs: pl.DataFrame, design: list[str]) -> pl.DataFrame:
    """One row a point: its settings, and the mean of every number."""
    keys = [name for name in design if name in runs.columns]
    good = runs.filter(pl.col(ERROR).is_null())
    numbers = [name for name, kind in good.schema.items() if kind.is_numeric() and name not in keys]
    others = [name for name, kind in good.schema.items() if kind == pl.String and name not in (*keys, ERROR)]
    grouped = good.group_by(keys, maintain_order=True) if keys else good.group_by(pl.lit(1).alias("all"))
    return grouped.agg(*(pl.col(name).cast(pl.Float64).mean() for name in numbers), *(pl.col(others).first(),))


def _where(runs: pl.DataFrame, design: list[str], text: str) -> pl.DataFrame:
    means = _means(runs, design)
    keys = [name for name in design if name in runs.columns]
    kept = means.filter(condition(text, means.schema))
    return runs.join(kept.select(keys), on=keys, how="semi", nulls_equal=True) if keys else runs.head(
        len(runs) if len(kept) else 0
    )  # fmt: skip
