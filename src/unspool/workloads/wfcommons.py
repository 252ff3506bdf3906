"""Workflows of WfCommons: instances in WfFormat, JSON with tasks, their files, and which waits for which.

Up to version 1.4 a task has all in one place; from 1.5 on `specification` says what there is to do, and `execution` how
long it took. Names of fields of all versions are read in all of them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from unspool.errors import InputError, shown
from unspool.model.workload import Workload
from unspool.workloads.files import AnyPath, read_json_text
from unspool.workloads.workflows import Fault, Task, check_cores, check_name, check_seconds, workload_of_tasks

__all__ = ["read_wfcommons", "recognises"]

_EXPECTED = "expected an instance in WfFormat, an object with workflow"
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"(\s*:)?|[{}\[\]]', re.DOTALL)
_RUN_TIME = ("runtimeInSeconds", "runtime")
_CORES = ("coreCount", "cores")
_MEMORY = ("memoryInBytes",)
_SIZE = ("sizeInBytes", "size")
_KEPT = ("type", "avgCPU", "readBytes", "writtenBytes", "machine", "machines", "executedAt")
_BYTES_LIMIT = 1 << 62


def recognises(start: bytes) -> bool:
    """Whether a file that begins so is an object with `workflow` or `schemaVersion`, whatever stands before them.

    >>> recognises(b'{"name": "blast", "schemaVersion": "1.5",'), recognises(b'{"jobs": [{"workflow": 1}]')
    (True, False)
    """
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    depth = 0
    for token in _TOKEN.finditer(text) if text.startswith(b"{") else ():
        first = token[0][:1]
        if first != b'"':
            depth += 1 if first in b"{[" else -1
        elif depth == 1 and token[1] is not None and token[0].startswith((b'"workflow"', b'"schemaVersion"')):
            return True
    return False


def read_wfcommons(path: AnyPath) -> Workload:
    """The tasks of a workflow as jobs that are submitted at 0 and wait for their parents, in the order of the file.

    The line of a job is the number of its task, from 1. Of files only number and bytes are kept, as details: nothing
    is transferred.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "two.json")
    ...     _ = file.write_text('{"schemaVersion": "1.4", "workflow": {"tasks": ['
    ...         '{"name": "a", "runtimeInSeconds": 5, "parents": []},'
    ...         '{"name": "b", "runtimeInSeconds": 2, "cores": 4, "parents": ["a"]}]}}')
    ...     read_wfcommons(file).table.select("job_id", "run_time", "cores", "depends_on").rows()
    [('a', 5.0, 1, None), ('b', 2.0, 4, 'a')]
    """
    text = read_json_text(path)
    try:
        return _Reader(text, path).workload()
    # Half of a letter, or a number of thousands of digits, is JSON, but not to all that it goes through.
    except (ValueError, RecursionError, OverflowError) as error:
        raise InputError(f"{path}: cannot be read ({shown(str(error), 120)}); write it again") from error


class _Written(NamedTuple):
    """A task as it stands in the file: its place, from 1, and both parts of what is said of it."""

    place: int
    id: str
    said: Mapping[str, Any]
    ran: Mapping[str, Any]


class _Reader:
    def __init__(self, text: bytes, path: AnyPath) -> None:
        self._text, self._path = text, path
        self._workflow = self._decoded()
        self._sizes: dict[str, int] = {}

    def workload(self) -> Workload:
        """All tasks, checked."""
        written = self._tasks()
        names = Counter(str(each.said.get("name")) for each in written)
        # Up to version 1.4 parents are called by their names, later by their ids.
        ids = {str(each.said.get("name")): each.id for each in written if names[str(each.said.get("name"))] == 1}
        ids |= {each.id: each.id for each in written}
        children: dict[str, dict[str, None]] = {each.id: {} for each in written}
        for each in written:
            for child in self._names(each, "children"):
                children[self._known(child, ids, each, "children")][each.id] = None
        return workload_of_tasks([self._task(each, ids, children[each.id]) for each in written], self._path)

    def _decoded(self) -> Mapping[str, Any]:
        try:
            found = msgspec.json.decode(self._text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InputError(f"{self._path}{self._where_it_breaks(error)}") from error
        workflow = found.get("workflow") if isinstance(found, dict) else None
        if not isinstance(workflow, dict):
            raise InputError(f"{self._path}: has no workflow; {_EXPECTED}")
        return workflow

    def _where_it_breaks(self, error: Exception) -> str:
        try:
            json.loads(self._text)
        except json.JSONDecodeError as found:
            return f", line {found.lineno}: is not JSON from here on ({found.msg}); write it again"
        except (ValueError, RecursionError):
            pass
        return f": is cut off, or is not JSON ({shown(str(error), 120)}); write it again"

    def _tasks(self) -> list[_Written]:
        specification = self._workflow.get("specification", self._workflow)
        execution = self._workflow.get("execution", {})
        if not isinstance(specification, dict) or not isinstance(execution, dict):
            raise InputError(f"{self._path}: specification or execution of the workflow is no object; {_EXPECTED}")
        listed = specification.get("tasks", specification.get("jobs"))
        if not isinstance(listed, list) or not listed:
            raise InputError(f"{self._path}: the workflow has no tasks; expected a list of one or more")
        ran = self._by_id(execution.get("tasks", []))
        files = specification.get("files", [])
        for file in files if isinstance(files, list) else ():
            if isinstance(file, dict) and isinstance(file.get("id"), str):
                self._sizes[file["id"]] = _bytes(file) or 0
        written: dict[str, _Written] = {}
        for place, said in enumerate(listed, 1):
            each = self._one(place, said, ran)
            if each.id in written:
                raise self._fault(each)(f"task {written[each.id].place} has the same id; give each one of its own")
            written[each.id] = each
        return list(written.values())

    def _by_id(self, listed: Any) -> dict[str, Mapping[str, Any]]:
        entries = listed if isinstance(listed, list) else []
        return {each["id"]: each for each in entries if isinstance(each, dict) and isinstance(each.get("id"), str)}

    def _one(self, place: int, said: Any, ran: Mapping[str, Mapping[str, Any]]) -> _Written:
        name = said.get("id", said.get("name")) if isinstance(said, dict) else None
        if not isinstance(name, str):
            raise InputError(f"{self._path}: task number {place} has no id; expected an object with id or name")
        each = _Written(place, name, said, ran.get(name, said))
        check_name(name, self._fault(each))
        return each

    def _fault(self, task: _Written) -> Fault:
        """Complaints about a task, with the line on which its id first stands."""

        def fault(text: str) -> InputError:
            quoted = re.escape(json.dumps(task.id, ensure_ascii=False))
            found = re.search(rf'"(?:id|name)"\s*:\s*{quoted}', self._text.decode(errors="replace"))
            line = None if found is None else found.string.count("\n", 0, found.start()) + 1
            where = "" if line is None else f", line {line}"
            return InputError(f"{self._path}{where}: task '{shown(task.id)}': {text}")

        return fault

    def _task(self, each: _Written, ids: Mapping[str, str], more: Mapping[str, None]) -> Task:
        fault = self._fault(each)
        seconds = _number(each, _RUN_TIME)
        if seconds is None:
            raise fault("has no runtimeInSeconds (runtime up to version 1.3); only workflows that were run can be read")
        cores = _number(each, _CORES)
        parents = {self._known(name, ids, each, "parents"): None for name in self._names(each, "parents")}
        memory = _number(each, _MEMORY)
        category = each.said.get("category", each.said.get("name"))
        return Task(
            each.id, each.place, check_seconds(seconds, fault), 1 if cores is None else check_cores(cores, fault),
            tuple({**parents, **more}), category if isinstance(category, str) else None, self._details(each),
            _number(each, ("priority",)), int(memory) if memory is not None and 0 <= memory < _BYTES_LIMIT else None,
        )  # fmt: skip

    def _names(self, each: _Written, field: str) -> list[str]:
        found = each.said.get(field) or []
        if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
            raise self._fault(each)(f"{field} is no list of texts; expected the ids of tasks")
        return found

    def _known(self, name: str, ids: Mapping[str, str], each: _Written, field: str) -> str:
        if name not in ids:
            raise self._fault(each)(f"{field} has '{shown(name)}', which is no task; name one that is there")
        return ids[name]

    def _details(self, each: _Written) -> dict[str, Any]:
        both = {**each.said, **each.ran}
        found: dict[str, Any] = {name: both[name] for name in _KEPT if both.get(name) is not None}
        for link, sizes in self._files(each).items():
            found[f"{link}_files"] = len(sizes)
            found[f"{link}_bytes"] = sum(sizes)
        return found

    def _files(self, each: _Written) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for link, field in (("input", "inputFiles"), ("output", "outputFiles")):
            listed = each.said.get(field)
            if isinstance(listed, list):
                found[link] = [self._sizes.get(name, 0) for name in listed if isinstance(name, str)]
        files = each.said.get("files")
        for file in files if isinstance(files, list) else ():
            if isinstance(file, dict) and file.get("link") in ("input", "output"):
                found.setdefault(file["link"], []).append(_bytes(file) or 0)
        return found


def _number(each: _Written, names: tuple[str, ...]) -> float | None:
    """The first of some fields that has a number, of how the task ran, else of what it is."""
    for said in (each.ran, each.said):
        for name in names:
            value = said.get(name)
            if isinstance(value, int | float) and not isinstance(value, bool):
                return float(value)
    return None


def _bytes(file: Mapping[str, Any]) -> int | None:
    for name in _SIZE:
        value = file.get(name)
        if isinstance(value, int) and 0 <= value < _BYTES_LIMIT:
            return value
    return None
