"""The form of a sweep: policies and platforms to combine, what is done to the log, and how many seeds."""

from __future__ import annotations

from functools import cache
from typing import Any

import tomli_w

from unspool.cli.sweep import sweep
from unspool.errors import InputError
from unspool.studio.formparts import (
    Form,
    Prepared,
    as_options,
    checked_texts,
    config_of,
    listed,
    log_keys,
    policies_of,
    run_fields,
    uploaded,
)  # fmt: skip
from unspool.studio.schema import Field, fields_of, parameters_help, struct_of_verb
from unspool.studio.uploads import Upload, Uploads
from unspool.sweeps.grid import grid_of

__all__ = ["prepare_sweep", "sweep_fields"]

_MOST_RUNS = 100_000
_ON_THE_LOG = {
    "window": "Only jobs submitted then, as 0d..7d; several as {every: 7d, count: 4}, which runs are averaged over.",
    "where": 'Only jobs for which this holds, as cores <= 64; several as ["cores <= 64", "cores > 64"].',
    "thin": "Only this share of the jobs, at random, as 0.9; seeds then differ.",
    "scale_load": "Times as much load: 1.1, [0.8, 1.0, 1.2], {from: 0.8, to: 1.2, steps: 5}, or drawn for each seed "
    "as {normal: [1.0, 0.1]}.",
    "scale_run_times": "Run times and walltimes times this, as 0.5 or [0.5, 1.0].",
}
_ON_THE_RUN = ("selection", "kill_at_walltime", "outages", "on_loss", "energy", "seed")


@cache
def sweep_fields() -> list[Field]:
    """The fields of a sweep: what is combined, what is done to the log, settings that all runs have."""
    return [
        Field("platforms", "lines", help="One a line: a number of cores (480), or machines x cores (128x16)."),
        Field("replicas", "number", "1", least=1, most=1000, is_whole=True,
              help="Seeds for each point. They make a difference where something is drawn: outages, a share of the "
                   "jobs, the load, a policy that draws."),
        *(Field(name, "value", help=help) for name, help in _ON_THE_LOG.items()),
        *(field for field in run_fields() if field.name in _ON_THE_RUN),
        *fields_of(struct_of_verb(sweep, ("processes",)), parameters_help(sweep)),
    ]  # fmt: skip


def prepare_sweep(settings: dict[str, Any], form: Form, log: Upload, uploads: Uploads) -> Prepared:
    """The sweep that a form asks for; its grid is checked as the command line checks one."""
    names = policies_of(form)
    processes = settings.pop("processes", None)
    replicas = settings.pop("replicas", 1)
    varied: dict[str, Any] = {name: settings.pop(name) for name in _ON_THE_LOG if name in settings}
    platforms = _platforms(settings.pop("platforms", []), form, uploads)
    settings |= checked_texts(settings, {"outages_file": form.get("outages_file", [])}, uploads) | log_keys(log)
    config_of(settings)
    content: dict[str, Any] = {"run": settings, "grid": {"policy": names, **varied}}
    if platforms:
        content["grid"]["platform"] = platforms
    if replicas != 1:
        content = {"replicas": replicas, **content}
    grid = grid_of(content)
    if len(grid) > _MOST_RUNS:
        raise InputError(f"that is {len(grid):,} runs; at most {_MOST_RUNS:,} are made from here: leave values out")
    title = f"sweep of {listed(names)} on {log.name}"
    words = as_options({} if processes is None else {"processes": processes})
    return Prepared(
        ("sweep", "grid.toml", *words, "-o", "OUT"), {"grid.toml": tomli_w.dumps(content)}, "grid.toml", title,
        "OUT/sweep.html",
    )  # fmt: skip


def _platforms(texts: list[str], form: Form, uploads: Uploads) -> list[str]:
    for text in texts:
        checked_texts({"platform": text}, {}, uploads)
    file = uploaded("platform_file", form, uploads)
    return [*texts, *([file] if file else [])]
