"""What kind of file somebody named: a log, a platform, settings of a verb, or a folder of results; and logs, read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from unspool.cli.config import RunConfig
from unspool.cli.output import Announcement, note, reading
from unspool.errors import InputError, shown
from unspool.model.platform import Platform
from unspool.model.workload import Workload
from unspool.platforms import pool_of_log, read_platform, refuse_missing_routes
from unspool.platforms.cluster import is_spec
from unspool.platforms.documents import read_document, read_toml
from unspool.results.store import kind_of_result
from unspool.results.store import load_all as read_results
from unspool.units import counted
from unspool.workloads import batsim, dax, jsonmap, read_workload, recodex, wfcommons
from unspool.workloads.files import opened

__all__ = [
    "VERB_OF", "in_results", "kind_of", "platform_named", "platform_of_log", "read_log", "read_results",
    "tell_reasons",
]  # fmt: skip

_REASONS = 3  # rejected records that are shown
_COST_KEYS = {"instance_mapping", "consumption_model_mapping", "ComputeClusterModel", "Jobs"}
_PLATFORM_SUFFIXES = (".yaml", ".yml", ".json", ".xml")

VERB_OF = {"grid": "unspool sweep", "experiment": "unspool dispatch -c", "refs": "unspool dispatch --refs"}
"""Kinds of files that one verb alone reads, and that verb."""


def kind_of(path: Path) -> str:
    """`result`, `bill`, `dispatch`, `platform`, `config` or `log`; or one of `VERB_OF`."""
    if path.is_dir():
        return "log" if any(path.glob("lsb.acct*")) else kind_of_result(path)
    if path.name.endswith((".json", ".json.gz", ".xml")) and _holds_jobs(path):
        return "log"
    if path.suffix in (".yaml", ".yml") and _holds_experiment(path):
        return "experiment"
    if path.suffix in _PLATFORM_SUFFIXES or (not path.exists() and is_spec(str(path))):
        return "platform"
    if path.suffix == ".toml":
        return _kind_of_toml(path)
    return "refs" if path.name.endswith((".csv", ".csv.gz")) and _starts_as(path, recodex.recognises_refs) else "log"


def _holds_jobs(path: Path) -> bool:
    """Whether a file of JSON or XML holds jobs, as an array, as Batsim has them or as a workflow, and no platform."""
    formats = (jsonmap, batsim, wfcommons, dax)
    return _starts_as(path, lambda start: any(known.recognises(start) for known in formats))


def _starts_as(path: Path, recognises: Callable[[bytes], bool]) -> bool:
    try:
        with opened(path) as file:
            return recognises(file.read(1 << 16))
    except InputError:
        return False


def _holds_experiment(path: Path) -> bool:
    """Whether a YAML file names a dispatcher; whoever reads it complains of one that is damaged."""
    try:
        content = read_document(path, "experiment", "")
    except InputError:
        return False
    return isinstance(content, dict) and "dispatcher" in content


def _kind_of_toml(path: Path) -> str:
    try:
        keys = read_toml(path).keys()
    except InputError:
        return "config" if path.name == "run.toml" else "platform"
    if "machines" in keys or "pool" in keys:
        return "platform"
    if not keys.isdisjoint(("run", "grid", "paired")):
        return "grid"
    return "config" if path.name == "run.toml" or not keys.isdisjoint(RunConfig.__struct_fields__) else "platform"


def read_log(path: str | Path, format: str | None, columns: Mapping[str, str] | None) -> Workload:
    """A log, with progress while it is read and then the notes on it."""
    with reading(path):
        log = read_workload(path, format, columns)
    for text in log.notes:
        note(f"{log.name}: {text}")
    return log


def platform_named(text: str, catalogue: str | None = None, missing_routes: str | None = None) -> Platform:
    """The platform of a text or file; a configuration of `unspool cost` is one too, with prices of a catalogue."""
    if not _is_cost_config(text):
        if catalogue is not None:
            raise InputError(f"catalogue {catalogue}: only a configuration of unspool cost takes prices from one")
        with Announcement(f"reading {text} …"):
            return read_platform(text, missing_routes=missing_routes, note=note)
    refuse_missing_routes(missing_routes)
    from unspool.faces.cloud.config import read_config
    from unspool.platforms.catalogue import read_catalogue

    settings, types = read_config(Path(text)), read_catalogue(catalogue)
    for told in settings.notes(types):
        note(told)
    return replace(settings.platform(types), name=Path(text).stem)


def _is_cost_config(text: str) -> bool:
    path = Path(text)
    if path.suffix.lower() not in (".yaml", ".yml") or not path.is_file():
        return False
    content = read_document(path, "platform", "expected a platform or a configuration of unspool cost")
    return isinstance(content, dict) and not content.keys().isdisjoint(_COST_KEYS)


def platform_of_log(log: Workload) -> Platform:
    """As many cores as the log says that its machine had; and that it was so is said."""
    platform = pool_of_log(log)
    note(f"no platform given: {counted(platform.cores, 'core')}, as the log says of its machine")
    return platform


def in_results(file: str) -> str:
    """Where all of the rejected records or jobs stand."""
    return f"all of them stand in {file} (with -o)"


def tell_reasons(rejected: pl.DataFrame, others: str) -> None:
    """The first records or jobs that were rejected and, if there are more, where the others are told."""
    for line, job_id, reason in rejected.head(_REASONS).select("line", "job_id", "reason").rows():
        job = None if job_id is None else f"job {shown(str(job_id), 40)}"
        where = None if line is None else f"line {line}"
        note(f"  {', '.join(filter(None, (where, job))) or 'a record'}: {reason}")
    if len(rejected) > _REASONS:
        note(f"  … and {len(rejected) - _REASONS:,} more; {others}")
