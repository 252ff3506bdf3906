"""What is fuzzed: each reader of a file, a folder or a message, with where its code is."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from unspool import units
from unspool.analysis.check import check_schedule
from unspool.cli.config import read_config as read_run_config
from unspool.cli.files import kind_of
from unspool.errors import InputError
from unspool.faces.batsim.protocol.begins import Terms
from unspool.faces.batsim.protocol.messages import read_message
from unspool.faces.batsim.running import Settings, run_batsim
from unspool.faces.cloud.config import read_config as read_cost_config
from unspool.faces.cloud.outputs import read_costs
from unspool.faces.dispatch.experiment import read_experiment
from unspool.model.workload import Workload
from unspool.platforms import read_platform
from unspool.platforms.catalogue import read_catalogue
from unspool.platforms.catalogue.plans import read_ratios
from unspool.platforms.documents import parse_value
from unspool.platforms.outages import read_outages
from unspool.report.dispatch import read_dispatch
from unspool.results.store import load_all
from unspool.sweeps.grid import read_grid
from unspool.sweeps.store import read_runs
from unspool.workloads import FORMATS, read_workload
from unspool.workloads.batsim_events import read_events
from unspool.workloads.generators.fitted import Fitted
from unspool.workloads.intervals import parse_intervals
from unspool.workloads.jsonmap import read_json
from unspool.workloads.recodex import read_refs
from unspool.workloads.smpi_traces import read_smpi_trace
from unspool.workloads.usage_trace import read_usage_trace

__all__ = ["TARGETS", "Target"]

HERE = Path(__file__).parent


class Target(NamedTuple):
    """A reader: what it is given, and the folders or files of the source that it is in.

    `read` gets a file that is called `name`; or, where `folder` names one, that folder with one file changed. With
    `takes_bytes` it gets the bytes themselves.
    """

    read: Callable[[Any], object]
    sources: tuple[str, ...]
    name: str = "input"
    folder: str | None = None
    takes_bytes: bool = False


class _Parrot:
    """A scheduler that says the lines of an input, whatever it is asked, and then nothing any more."""

    name = "a parrot"
    terms = Terms(enable_dynamic_jobs=True, acknowledge_dynamic_jobs=True)

    def __init__(self, lines: list[bytes]) -> None:
        self._lines = iter(lines)

    def open_line(self, stack: object) -> _Parrot:
        return self

    def ask(self, text: str) -> bytes:
        said = next(self._lines, None)
        return b'{"now": %s, "events": []}' % str(json.loads(text)["now"]).encode() if said is None else said


def _converse(data: bytes) -> None:
    folder = HERE / "folders" / "protocol"
    files = [str(folder / "work.json")]
    run_batsim(Settings(str(folder / "platform.xml"), files, outside=_Parrot(data.split(b"\n")[:50])), states=False)


def _value(data: bytes) -> None:
    text = data.decode(errors="replace")
    parsers = (
        units.parse_duration, units.parse_bytes, units.parse_frequency, units.parse_rate, units.parse_speed,
        units.parse_latency, parse_intervals,
    )  # fmt: skip
    for parse in parsers:
        with suppress(InputError):
            parse(text)
    with suppress(ValueError):
        parse_value(text)
    if not any(mark in text for mark in "/\\\0") and len(text) < 200:
        read_platform(text)


def _json_map(folder: Path) -> None:
    read_json(folder / "log.json", map=folder / "map.json")


def _check(path: Path) -> None:
    jobs = {"job_id": ["a", "b", "c"], "submit_time": [0, 1, 60], "run_time": [30, 60, 5], "cores": [1, 4, 2]}
    check_schedule(path, Workload.of(pl.DataFrame(jobs)), 8, "easy")


def _message(data: bytes) -> None:
    read_message(data, "somebody")


_LOGS = ("workloads/", "model/")
_PLATFORM = ("platforms/",)
_RUN = partial(read_run_config, assignments=[], given={})

TARGETS: dict[str, Target] = {
    **{f"log-{name}": Target(partial(read_workload, format=name), _LOGS) for name in FORMATS},
    "log": Target(read_workload, _LOGS),
    "json-map": Target(_json_map, ("workloads/jsonmap",), folder="json-map"),
    "refs": Target(read_refs, ("workloads/recodex",)),
    "fitted": Target(Fitted.load, ("workloads/generators/",)),
    "events": Target(read_events, ("workloads/batsim_events",)),
    "usage-trace": Target(lambda at: read_usage_trace.__wrapped__(f"{at}/trace.txt"), ("workloads/usage",),
                          folder="usage-trace"),
    "smpi-trace": Target(lambda at: read_smpi_trace(f"{at}/trace.txt"), ("workloads/smpi",), folder="smpi-trace"),
    "platform-yaml": Target(read_platform, _PLATFORM, "input.yaml"),
    "platform-toml": Target(read_platform, _PLATFORM, "input.toml"),
    "platform-json": Target(read_platform, _PLATFORM, "input.json"),
    "platform-xml": Target(read_platform, (*_PLATFORM, "workloads/elements"), "input.xml"),
    "outages": Target(partial(read_outages, platform=read_platform("8x4")), _PLATFORM),
    "catalogue": Target(read_catalogue, ("platforms/catalogue/",)),
    "ratios": Target(read_ratios, ("platforms/catalogue/",)),
    "cost-config": Target(read_cost_config, ("faces/cloud/",), "input.yml"),
    "experiment": Target(read_experiment, ("faces/dispatch/",), "input.yaml"),
    "run-config": Target(_RUN, ("cli/config",), "run.toml"),
    "grid": Target(read_grid, ("sweeps/",), "grid.toml"),
    "kind-of-toml": Target(kind_of, ("cli/files",), "input.toml"),
    "kind-of-yaml": Target(kind_of, ("cli/files",), "input.yaml"),
    "schedule": Target(_check, ("analysis/audit/", "analysis/check")),
    "result": Target(load_all, ("results/",), folder="result"),
    "costs": Target(read_costs, ("faces/cloud/",), folder="costs"),
    "dispatched": Target(read_dispatch, ("report/",), folder="dispatched"),
    "sweep": Target(read_runs, ("sweeps/",), folder="sweep"),
    "message": Target(_message, ("faces/batsim/protocol/",), takes_bytes=True),
    "conversation": Target(_converse, ("faces/batsim/", "simulation/"), takes_bytes=True),
    "value": Target(_value, ("units", "platforms/"), takes_bytes=True),
}  # fmt: skip
