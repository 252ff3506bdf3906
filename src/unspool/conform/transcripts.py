"""Recorded messages: the decisions of a scheduler given once more, and what each job was told beside what it was then.

A decision is given at its recorded time, or later, when what it needs holds: its job is submitted, its machines are
free. How events are put together into messages is not compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from unspool.conform.batsim import EXACT_S, SHIFT_S
from unspool.conform.batsim import checks as run_checks
from unspool.conform.checks import Check, Outcome, few
from unspool.conform.protocol import Run, read_run, settings_of
from unspool.errors import InputError, UnspoolError
from unspool.faces.batsim.protocol.begins import Terms
from unspool.faces.batsim.running import run_batsim
from unspool.workloads.intervals import parse_intervals

__all__ = ["Told", "checks", "compare_told", "read_transcript", "replayed", "told_of"]

_TOLD = ("JOB_SUBMITTED", "JOB_COMPLETED", "JOB_KILLED", "FROM_JOB_MSG", "NOTIFY", "RESOURCE_STATE_CHANGED", "ANSWER")
_EVERYBODY = ""  # whom events are told of that are of no job
_TICK_S = 1e-6  # what is told of a time has six decimals
_FAR = 0.01  # by how much a progress may differ


@dataclass(frozen=True)
class Told:
    """An event that somebody was told: when, of what type, with what data."""

    time: float
    kind: str
    data: Mapping[str, Any]


def read_transcript(path: Path) -> list[tuple[str, Mapping[str, Any]]]:
    """Who said what, in order."""
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        return [(line["from"], line["msg"]) for line in lines]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: is no list of messages, one a line ({error})") from error


def told_of(messages: Iterable[Mapping[str, Any]]) -> dict[str, list[Told]]:
    """What schedulers were told of each job, and of no job."""
    found: dict[str, list[Told]] = {}
    for message in messages:
        for event in message["events"]:
            if event["type"] in _TOLD:
                for job in _jobs(event["data"]):
                    found.setdefault(job, []).append(Told(event["timestamp"], event["type"], event["data"]))
    return found


def _jobs(data: Mapping[str, Any]) -> list[str]:
    return data["job_ids"] if "job_ids" in data else [data.get("job_id", _EVERYBODY)]


@dataclass
class _Replay:
    """A scheduler that decides what was decided."""

    decisions: list[Mapping[str, Any]]
    shares_machines: bool = False
    name: str = "the recorded scheduler"
    heard: list[Mapping[str, Any]] = field(default_factory=list)
    _submitted: set[str] = field(default_factory=set)
    _started: set[str] = field(default_factory=set)
    _busy: dict[int, int] = field(default_factory=dict)
    _asked: float = -1.0

    def ask(self, text: str) -> bytes:
        """Take note of what happened, and give the decisions whose time has come."""
        message = json.loads(text)
        self.heard.append(message)
        now = message["now"]
        for event in message["events"]:
            self._hear(event)
        given = list(self._due(now))
        if self.decisions and self.decisions[0]["timestamp"] > max(now, self._asked):
            self._asked = self.decisions[0]["timestamp"]
            given.append({"timestamp": now, "type": "CALL_ME_LATER", "data": {"timestamp": self._asked}})
        return json.dumps({"now": now, "events": given}).encode()

    def _hear(self, event: Mapping[str, Any]) -> None:
        data = event["data"]
        if event["type"] == "JOB_SUBMITTED":
            self._submitted.add(data["job_id"])
        elif event["type"] == "JOB_COMPLETED":
            self._hold(data["alloc"], -1)

    def _due(self, now: float) -> Iterator[Mapping[str, Any]]:
        while self.decisions and self.decisions[0]["timestamp"] <= now + _TICK_S and self._holds(self.decisions[0]):
            decision = self.decisions.pop(0)
            if decision["type"] == "EXECUTE_JOB":
                self._started.add(decision["data"]["job_id"])
                self._hold(decision["data"]["alloc"], 1)
            elif decision["type"] == "REGISTER_JOB":
                self._submitted.add(decision["data"]["job_id"])
            yield {**decision, "timestamp": now}

    def _hold(self, alloc: str, step: int) -> None:
        for machine in parse_intervals(alloc):
            self._busy[machine] = self._busy.get(machine, 0) + step

    def _holds(self, decision: Mapping[str, Any]) -> bool:
        """Whether a decision can be carried out now."""
        data = decision["data"]
        if decision["type"] == "EXECUTE_JOB":
            is_free = self.shares_machines or all(
                self._busy.get(machine, 0) <= 0 for machine in parse_intervals(data["alloc"])
            )
            return data["job_id"] in self._submitted and is_free
        if decision["type"] == "KILL_JOB":
            return all(job in self._started for job in data["job_ids"])
        return decision["type"] == "REGISTER_JOB" or "job_id" not in data or data["job_id"] in self._submitted


@dataclass(frozen=True)
class _Recorded:
    """Where the recorded scheduler is: here."""

    line: _Replay
    terms: Terms
    name: str = "recorded"

    def open_line(self, stack: ExitStack) -> _Replay:
        return self.line


def replayed(run: Run) -> tuple[str, ...]:
    """Where a run with recorded decisions differs from what was recorded, as jobs are told of it."""
    transcript = read_transcript(run.folder / "messages.jsonl")
    decisions = [
        event for sender, message in transcript if sender == "scheduler" for event in message["events"]
        if event["type"] != "CALL_ME_LATER"
    ]  # fmt: skip
    line = _Replay(decisions, run.settings.shares_machines)
    found = run_batsim(settings_of(run, _Recorded(line, run.terms)), states=False)
    told = [] if found.fault is None else [f"it broke off: {found.fault}"]
    if line.decisions:
        told.append(f"{len(line.decisions)} decisions were not given, the first: {line.decisions[0]['type']}")
    recorded = told_of(message for sender, message in transcript if sender == "batsim")
    return few([*told, *compare_told(told_of(line.heard), recorded, is_clean=run.is_clean)])


def checks(path: Path) -> list[Check]:
    """The recorded runs of a folder, or of its folder `golden`, as jobs files; and those with messages by these."""
    found = run_checks(path)
    folders = [path.parent] if path.is_file() else [path, *path.glob("*/"), *path.glob("golden/*/")]
    told = sorted({folder for folder in folders if (folder / "messages.jsonl").is_file()})
    return found + [Check(f"{folder.name} (messages)", partial(_outcome, folder / "case.json")) for folder in told]


def _outcome(path: Path) -> Outcome:
    try:
        run = read_run(path)
        return Outcome(skipped=run.skipped) if run.skipped is not None else Outcome(replayed(run))
    except NotImplementedError as error:
        return Outcome(skipped=str(error))
    except UnspoolError as error:
        return Outcome((f"it cannot be run: {error}",))


def compare_told(ours: Mapping[str, list[Told]], theirs: Mapping[str, list[Told]], *, is_clean: bool) -> Iterator[str]:
    """Jobs of which something else is told, or in another order, or at another time."""
    far = EXACT_S if is_clean else SHIFT_S
    for job in sorted({*ours, *theirs}):
        name = f"job {job}" if job else "the run"
        mine, other = ours.get(job, []), theirs.get(job, [])
        if [event.kind for event in mine] != [event.kind for event in other]:
            kinds = ", ".join(event.kind for event in mine), ", ".join(event.kind for event in other)
            yield f"{name}: told {kinds[0] or 'nothing'}; recorded {kinds[1] or 'nothing'}"
            continue
        for one, two in zip(mine, other, strict=True):
            if abs(one.time - two.time) > far + 1e-12 * abs(two.time):
                yield f"{name}: {one.kind} at {one.time:.6f}, recorded {two.time:.6f}"
            if not _alike(one.data, two.data):
                yield f"{name}: {one.kind} says {json.dumps(one.data)}, recorded {json.dumps(two.data)}"


def _alike(one: Any, two: Any) -> bool:
    """Whether two values are the same, up to what messages on their way do to a progress."""
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(_alike(one[name], two[name]) for name in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(_alike, one, two))
    if isinstance(one, int | float) and isinstance(two, int | float):
        return abs(one - two) <= max(_FAR if isinstance(one, float) and abs(two) <= 1.0 else 0.0, 1e-6 * abs(two))
    return bool(one == two)
