"""The files that runs need, brought together once: logs as Arrow files that are mapped, all else as it is.

Every file is named after its content, so that what is found under a name is what was meant.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl

from unspool.errors import InputError, RunError
from unspool.model.workload import REJECTED_SCHEMA, Workload
from unspool.platforms.cluster import is_spec
from unspool.plugins import available
from unspool.results.store import versions
from unspool.storage import make_folder, replacing
from unspool.sweeps.settings import RunSettings, policy_of, settings_of
from unspool.trust import located as file_of_module
from unspool.workloads import read_workload
from unspool.workloads.files import opened
from unspool.workloads.sample import SAMPLE, read_sample

__all__ = ["Inputs", "Ref", "Task", "located", "read_log_ref"]

_FACTS = ("name", "origin_unix_s", "time_zone", "max_cores", "max_machines", "notes")
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Ref:
    """A file of the inputs: its path where the sweep was started, and its name wherever it was brought."""

    path: str
    more: tuple[str, ...] = ()  # files that belong to it

    @property
    def name(self) -> str:
        """Its name without the folder."""
        return os.path.basename(self.path)


@dataclass(frozen=True)
class Task:
    """One run: its key, its settings, and its files by the keys that name them."""

    key: str
    settings: Mapping[str, Any]
    log: Ref
    digest: str
    files: Mapping[str, tuple[Ref, ...]]


@dataclass
class Inputs:
    """Gathers files into a folder while tasks are made; what was gathered once is not read again."""

    folder: Path
    versions: Mapping[str, str] = field(default_factory=versions)
    logs: dict[tuple[Any, ...], tuple[Ref, str, str]] = field(default_factory=dict)
    files: dict[str, tuple[Ref, str]] = field(default_factory=dict)
    modules: dict[str, tuple[str, str]] = field(default_factory=dict)
    jobs: dict[str, int] = field(default_factory=dict)  # of each log, by its digest
    vet: Callable[[str], None] = lambda policy: None  # asked before a policy is used for the first time
    vetted: set[str] = field(default_factory=set)

    def task(self, flat: Mapping[str, Any]) -> Task:
        """The run with these settings; its key is the hash of them, of its files' content and of all versions."""
        settings = settings_of(flat)
        self._vet(settings)
        log, digest, mark = self._log(settings)
        files: dict[str, tuple[Ref, ...]] = {}
        marks: dict[str, Any] = {"workload": mark}
        for key, paths in _named(settings).items():
            found = [self._file(path) for path in paths]
            files[key] = tuple(ref for ref, _ in found)
            marks[key] = [[Path(path).name, of] for path, (_, of) in zip(paths, found, strict=True)]
        if code := self._code(settings.policy):
            marks["code"] = code
        told = {key: value for key, value in flat.items() if key not in marks and value is not None}
        content = {"settings": told, "files": marks, "versions": dict(self.versions)}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), default=str)
        return Task(blake2b(text.encode(), digest_size=16).hexdigest(), dict(flat), log, digest, files)

    @property
    def paths(self) -> list[str]:
        """Every file that workers need."""
        logs = [path for ref, _, _ in self.logs.values() for path in (ref.path, *ref.more)]
        return list(dict.fromkeys([*logs, *(ref.path for ref, _ in self.files.values())]))

    @property
    def module_paths(self) -> list[str]:
        """Files of policies of one's own, which workers import."""
        return [path for path, _ in self.modules.values() if path]

    def _log(self, settings: RunSettings) -> tuple[Ref, str, str]:
        asked = (settings.workload, settings.format, tuple(settings.columns))
        if asked not in self.logs:
            path = settings.workload
            log = read_sample() if path is None else read_workload(path, settings.format, settings.column_map())
            if not len(log):
                raise InputError(f"{path or SAMPLE}: has no job that can be run")
            facts = {name: getattr(log, name) for name in _FACTS}
            facts["rejected"] = log.rejected.to_dict(as_series=False)
            text = json.dumps(facts, sort_keys=True)
            mark = blake2b(f"{log.digest}{text}".encode(), digest_size=16).hexdigest()
            if log.profiles and path is not None:  # which a table does not hold: workers read the file itself
                ref, _ = self._file(path)
            else:
                ref = self._arrow(log, mark, text)
            self.logs[asked] = ref, log.digest, mark
            self.jobs[log.digest] = len(log)
        return self.logs[asked]

    def _arrow(self, log: Workload, mark: str, facts: str) -> Ref:
        path, beside = self.folder / f"log-{mark}.arrow", self.folder / f"log-{mark}.json"
        if not (path.exists() and beside.exists()):
            _write(path, lambda file: log.table.rechunk().write_ipc(file, compression="uncompressed"))
            _write(beside, lambda file: file.write(facts.encode()))
        return Ref(str(path.absolute()), (str(beside.absolute()),))

    def _file(self, given: str) -> tuple[Ref, str]:
        if given not in self.files:
            mark, content = blake2b(digest_size=16), []
            source = Path(given)
            if source.is_dir():
                raise InputError(f"{given}: is a folder; a sweep takes files, so convert it: unspool convert IN OUT")
            with opened(source):
                pass
            with source.open("rb") as file:
                while block := file.read(_BLOCK):
                    mark.update(block)
                    content.append(block)
            path = self.folder / f"{mark.hexdigest()[:16]}-{source.name}"
            if not path.exists():
                _write(path, lambda file: file.write(b"".join(content)))
            self.files[given] = Ref(str(path.absolute())), mark.hexdigest()
        return self.files[given]

    def _vet(self, settings: RunSettings) -> None:
        policy = policy_of(settings, "easy")
        if policy not in self.vetted:
            self.vet(policy)
            self.vetted.add(policy)

    def _code(self, policy: str | None) -> str:
        """A fingerprint of the module of a policy of one's own; empty for ours."""
        name, _, rest = (policy or "").partition(":")
        if not rest or name in available("schedulers"):
            return ""
        if name not in self.modules:
            origin = file_of_module(name, os.getcwd()) or ""
            content = Path(origin).read_bytes() if origin else b""
            self.modules[name] = origin, blake2b(content, digest_size=16).hexdigest()
        return self.modules[name][1]


def _named(settings: RunSettings) -> dict[str, list[str]]:
    """The files that settings name, apart from the log, by key."""
    catalogues = [settings.catalogue] if isinstance(settings.catalogue, str) else settings.catalogue or []
    found = {
        "config": [settings.config] if settings.config else [],
        "catalogue": [path for path in catalogues if path != "built-in"],
        "outages": [settings.outages] if settings.outages and "=" not in settings.outages else [],
        "platform": [settings.platform]
        if isinstance(settings.platform, str) and not is_spec(settings.platform)
        else [],
    }
    return {key: paths for key, paths in found.items() if paths}


def _write(path: Path, write: Any) -> None:
    try:
        make_folder(path.parent)
        with replacing(path) as file:
            write(file)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise RunError(f"{path}: cannot be written ({getattr(error, 'strerror', None) or error})") from error


def located(ref: Ref, path: str | None = None) -> str:
    """Where a file is for this process: where it was gathered, or where Dask has put it."""
    path = path or ref.path
    if os.path.exists(path):
        return path
    if "distributed" in sys.modules:
        from distributed import get_worker

        brought = os.path.join(get_worker().local_directory, os.path.basename(path))
        if os.path.exists(brought):
            return brought
    raise RunError(f"{path}: is not on this machine; start the sweep in a folder that every worker sees")


def read_log_ref(ref: Ref, format: str | None, columns: Mapping[str, str] | None) -> Workload:
    """The log of a reference; an Arrow file is mapped while it is read, and nothing in it is parsed."""
    if not ref.more:
        return read_workload(located(ref), format, columns)
    table = pl.read_ipc(located(ref))
    facts = json.loads(Path(located(ref, ref.more[0])).read_text(encoding="utf-8"))
    facts["notes"] = tuple(facts["notes"])
    facts["rejected"] = pl.DataFrame(facts["rejected"], schema=REJECTED_SCHEMA)
    return Workload(table, **facts, profiles=MappingProxyType({}))
