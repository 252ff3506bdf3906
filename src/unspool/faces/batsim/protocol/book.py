"""The jobs and profiles of a run as a scheduler knows them: by full identifiers, in the words of their files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os.path import abspath
from typing import Any

from unspool.errors import DecisionError, shown
from unspool.faces.batsim.protocol.numbers import json_text
from unspool.model.workload import Workload
from unspool.workloads.files import read_text

__all__ = ["Book", "Entry", "split_id"]

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(slots=True)
class Entry:
    """A job: its full identifier, its place in the run, and what JOB_SUBMITTED says of it."""

    full: str
    at: int
    profile: str  # its name in the run
    text: str  # the job, as JSON,
    profile_text: str  # and its profile


def split_id(full: str) -> tuple[str, str]:
    """Workload and job of an identifier.

    >>> split_id("w0!7")
    ('w0', '7')
    """
    workload, mark, job = full.partition("!")
    if not mark or not workload or not job or "!" in job:
        raise DecisionError(f"'{shown(full)}' is no identifier of a job; expected a workload, one ! and a name: w0!7")
    return workload, job


class Book:
    """Who is who. The workload of a single file has names without `w0!` in the run, any other has them with it."""

    def __init__(self, paths: Sequence[str], workload: Workload) -> None:
        self.paths = {f"w{number}": abspath(path) for number, path in enumerate(paths)}
        self.profiles: dict[str, dict[str, Any]] = {}
        self.entries: list[Entry] = []
        self.by_id: dict[str, Entry] = {}
        jobs: dict[str, Mapping[str, Any]] = {}
        for name, path in self.paths.items():
            content = _content(path)
            self.profiles[name] = content["profiles"]
            jobs |= dict(_with_ids(name, content["jobs"]))
        texts: dict[str, str] = {}
        ids, profiles = workload.table["job_id"].to_list(), workload.column("profile").to_list()
        for key, profile in zip(ids, profiles, strict=True):
            full = key if "!" in key else f"w0!{key}"
            if profile not in texts:
                texts[profile] = json_text(self._given(full.partition("!")[0], profile))
            self.add(full, {**jobs[full], "id": full}, profile, texts[profile])

    def add(self, full: str, job: Mapping[str, Any], profile: str, profile_text: str) -> Entry:
        """Write down a job, which is the next one of the run."""
        entry = Entry(full, len(self.entries), profile, json_text(job), profile_text)
        self.entries.append(entry)
        self.by_id[full] = entry
        return entry

    def find(self, full: Any, what: str) -> Entry:
        """The job of an identifier that an event names."""
        entry = self.by_id.get(full) if isinstance(full, str) else None
        if entry is None:
            raise DecisionError(f"{what}: there is no job '{shown(str(full))}'")
        return entry

    def key(self, workload: str, name: str) -> str:
        """What a job or a profile of a workload is called in the run."""
        return name if workload == "w0" and len(self.paths) == 1 else f"{workload}!{name}"

    def _given(self, workload: str, profile: str) -> Any:
        name = profile.removeprefix(f"{workload}!") if len(self.paths) > 1 else profile
        return self.profiles[workload][name]


def _content(path: str) -> dict[str, Any]:
    """A workload as it was written; that it is one, a reader has said."""
    found: dict[str, Any] = json.loads(read_text(path).removeprefix(_BYTE_ORDER_MARK), strict=False)
    return found


def _with_ids(workload: str, jobs: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for job in jobs:
        yield f"{workload}!{str(job['id']).removeprefix(f'{workload}!')}", job
