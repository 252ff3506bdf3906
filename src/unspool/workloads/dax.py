"""Workflows of Pegasus: DAX, XML with the tasks of a workflow, their files, and which waits for which."""

from __future__ import annotations

import os
import re
from typing import Any

from unspool.errors import shown
from unspool.model.workload import Workload
from unspool.workloads.elements import Element, elements_of
from unspool.workloads.files import AnyPath, read_text
from unspool.workloads.workflows import Task, check_cores, check_name, check_seconds, workload_of_tasks

__all__ = ["read_dax", "recognises"]

_EXPECTED = "a workflow of Pegasus, DAX with <adag> as its outermost element"
_ADAG = re.compile(rb"<(?:[A-Za-z_][\w.-]*:)?adag[\s/>]")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_KEPT = ("namespace", "version", "level", "dv-namespace")


def recognises(start: bytes) -> bool:
    """Whether a file that begins so is a workflow of Pegasus.

    >>> recognises(b'<?xml version="1.0"?>\\n<adag name="montage">'), recognises(b'<platform version="4.1">')
    (True, False)
    """
    return start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") and _ADAG.search(start) is not None


def read_dax(path: AnyPath) -> Workload:
    """The tasks of a workflow as jobs that are submitted at 0 and wait for their parents, in the order of the file.

    A task runs for its `runtime` on `num_procs` cores (one where it says none). Of its files only number and bytes are
    kept, as details: nothing is transferred.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "two.dax")
    ...     _ = file.write_text('<adag><job id="a" runtime="5"/><job id="b" runtime="2.5" num_procs="4"/>'
    ...                         '<child ref="b"><parent ref="a"/></child></adag>')
    ...     read_dax(file).table.select("job_id", "run_time", "cores", "depends_on").rows()
    [('a', 5.0, 1, None), ('b', 2.5, 4, 'a')]
    """
    adag = elements_of(read_text(path), os.fspath(path), _EXPECTED)
    if _tag(adag) != "adag":
        raise adag.fault(f"expected {_EXPECTED}")
    jobs: dict[str, Element] = {}
    for element in adag.inside:
        if _tag(element) in ("dag", "dax"):
            raise element.fault("is a workflow inside this one, which is not read; put its tasks here")
        if _tag(element) == "job":
            name = check_name(element.text("id"), element.fault)
            if name in jobs:
                raise element.fault(f"this id stands in line {jobs[name].line} too; give each task one of its own")
            jobs[name] = element
    if not jobs:
        raise adag.fault("has no <job>; expected one task or more")
    parents = _parents(adag, jobs)
    tasks = [_task(name, element, tuple(parents.get(name, ()))) for name, element in jobs.items()]
    return workload_of_tasks(tasks, path)


def _tag(element: Element) -> str:
    """Its name, whatever prefix the file uses for its namespace."""
    return element.tag.rpartition(":")[2]


def _parents(adag: Element, jobs: dict[str, Element]) -> dict[str, dict[str, None]]:
    """For each task those that it waits for, each once."""
    found: dict[str, dict[str, None]] = {}
    for child in (element for element in adag.inside if _tag(element) == "child"):
        name = _known(child, jobs)
        for parent in (element for element in child.inside if _tag(element) == "parent"):
            found.setdefault(name, {})[_known(parent, jobs)] = None
    return found


def _known(element: Element, jobs: dict[str, Element]) -> str:
    name = element.text("ref")
    if name not in jobs:
        raise element.fault(f"ref is '{shown(name)}', which is the id of no <job>; name one that is there")
    return name


def _task(name: str, element: Element, parents: tuple[str, ...]) -> Task:
    return Task(
        name,
        element.line,
        check_seconds(_number(element, "runtime", element.text("runtime")), element.fault),
        check_cores(_number(element, "num_procs", element.text("num_procs", "1")), element.fault),
        parents,
        element.attributes.get("name") or None,
        _details(element),
    )


def _number(element: Element, attribute: str, text: str) -> float:
    if _NUMBER.fullmatch(text.strip()) is None:
        raise element.fault(f"{attribute} is '{shown(text)}'; expected a number")
    return float(text)


def _details(element: Element) -> dict[str, Any]:
    """What else the file says of a task: its files by their direction, and a few attributes."""
    found: dict[str, Any] = {name: element.attributes[name] for name in _KEPT if element.attributes.get(name)}
    for uses in (each for each in element.inside if _tag(each) == "uses"):
        link = uses.attributes.get("link", "")
        if link not in ("input", "output"):
            continue
        size = uses.attributes.get("size", "").strip()
        found[f"{link}_files"] = found.get(f"{link}_files", 0) + 1
        if size.isascii() and size.isdigit() and len(size) < 18:
            found[f"{link}_bytes"] = found.get(f"{link}_bytes", 0) + int(size)
    return found
