"""Recorded runs of Batsim: what each `case.json` says was run, and how our jobs are held against those it wrote.

Where the platform's control network costs nothing, or jobs ran one after the other, execution times must be the same to
six decimals. On other platforms Batsim's own messages travel over the simulated network and shift every time by
micro- to milliseconds: there the order of starts must be the same, and times may differ by that much (spec A9).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from unspool.conform.checks import Check, Outcome, decoded, few
from unspool.conform.schedulers import Equivalent, equivalent
from unspool.errors import InputError, UnspoolError
from unspool.faces.batsim.inputs import read_machines
from unspool.faces.batsim.running import Settings, run_batsim
from unspool.faces.batsim.settings import parse_roles
from unspool.faces.batsim.workflows import Rules

__all__ = [
    "BatsimCase",
    "arguments_of",
    "checks",
    "compare_figures",
    "compare_jobs",
    "read_case",
    "read_jobs",
    "run_case",
]

EXACT_S = 1e-6 + 1e-9  # of execution times: one in the last of the six decimals that are written
LAST_MESSAGE_S = 1e-3  # a replay of a trace ends in Batsim when the message that says so has gone over the network
SHIFT_S, SHIFT_PART = 0.05, 1e-4  # by how much times on other platforms may differ: seconds, and part of the time
_TIE_S = 1e-6  # starts of ours that are nearer than this are at one time
_JOBS = "out_jobs.csv"
_KEY = ("workload_name", "job_id")
_TIMES = ("starting_time", "execution_time", "finish_time", "waiting_time")
_UNSUPPORTED = {
    "--enable-dynamic-jobs": "jobs that the scheduler submits",
    "--no-sched": "runs without a scheduler",
}


_FLAGS = {
    "-E": "energy",
    "--energy": "energy",
    "--mmax-workload": "mmax_workload",
    "--enable-compute-sharing": "shares_machines",
    "--forward-unknown-events": "forward_unknown_events",
}
_WORKFLOW, _WORKFLOW_START = ("-W", "--workflow"), ("--WS", "--workflow-start")
_WITHOUT_EFFECT = ("--forward-profiles-on-submission", "--disable-schedule-tracing", "--disable-machine-state-tracing")


class _Written(msgspec.Struct):
    platform: str
    workload: str
    workload_flag: str = "-w"
    batsim_args: list[str] = []
    scheduler: list[str] | None = None
    batsim_exit_code: int = 0


class _Profile(msgspec.Struct):
    type: str = ""
    seq: list[str] = []


class _Job(msgspec.Struct):
    profile: str = ""


class _Jobs(msgspec.Struct):
    jobs: list[_Job] = []
    profiles: dict[str, _Profile] = {}


@dataclass(frozen=True)
class BatsimCase:
    """A run: its inputs, Batsim's further arguments, and our equivalent of its scheduler.

    Machines have Batsim v4's order, that of the hosts' names as text. `is_exact`: execution times are compared to six
    decimals, but for the last message of a replay; not with usage traces, whose messages take longer. `skipped` says
    why it cannot be run, and is None where it can.
    """

    name: str
    platform: Path
    workload: Path
    arguments: tuple[str, ...]
    scheduler: Equivalent | None
    recorded: Path
    is_exact: bool
    skipped: str | None = None
    replays: bool = False
    is_workflow: bool = False


def checks(path: Path) -> list[Check]:
    """The case of a file or folder, or all of a folder or of its folder `golden`."""
    if path.is_file():
        found = [path]
    elif not path.is_dir():
        raise InputError(
            f"{path}: there is no such file or folder; give one with case.json, or a folder of such folders"
        )
    else:
        found = sorted({*path.glob("case.json"), *path.glob("*/case.json"), *path.glob("golden/*/case.json")})
    if not found:
        raise InputError(f"{path}: no case.json is here or one folder below; give a folder of recorded Batsim runs")
    return [Check(file.parent.name, partial(_outcome, read_case(file))) for file in found]


def run_case(case: BatsimCase) -> pl.DataFrame:
    """Our jobs of a case, with the columns of Batsim's `_jobs.csv`, in any order; empty cells are null."""
    assert case.scheduler is not None
    given = arguments_of(case.arguments)
    if case.is_workflow:
        given["workflows"] = ((str(case.workload), None), *given.get("workflows", ()))
    settings = Settings(
        platform=str(case.platform), workloads=[] if case.is_workflow else [str(case.workload)],
        policy=case.scheduler.policy, host_order="text", storages=_storages(case, given), **given,
    )  # fmt: skip
    return run_batsim(settings, states=False).outputs.jobs


def _storages(case: BatsimCase, given: Mapping[str, Any]) -> dict[str, str]:
    """The host that each label of a storage means, which the scheduler says by its number."""
    assert case.scheduler is not None
    if not case.scheduler.storages:
        return {}
    roles, master = given.get("roles", {}), given.get("master")
    network = read_machines(case.platform, host_order="text", roles=roles, master=master).network
    assert network is not None
    return {label: network.hosts[at].name for label, at in case.scheduler.storages.items()}


def arguments_of(arguments: tuple[str, ...]) -> dict[str, Any]:
    """Batsim's arguments as settings of ours; those that only tell a scheduler more, or write more, are left out."""
    found: dict[str, Any] = {}
    words = iter(arguments)
    for word in words:
        if word in ("-r", "--add-role-to-hosts"):
            found["roles"] = {**found.get("roles", {}), **parse_roles([next(words, "")])}
        elif word in ("-m", "--master-host"):
            found["master"] = next(words, "")
        elif word == "--events":
            found["events"] = (*found.get("events", ()), next(words, ""))
        elif word in _WORKFLOW:
            found["workflows"] = (*found.get("workflows", ()), (next(words, ""), None))
        elif word in _WORKFLOW_START:
            found["workflows"] = (*found.get("workflows", ()), (next(words, ""), float(next(words, "0"))))
        elif word in ("--workflow-jobs-limit", "--ignore-beyond-last-workflow"):
            rules = found.get("workflow_rules", Rules())
            limit = int(next(words, "0")) if word == "--workflow-jobs-limit" else rules.limit
            found["workflow_rules"] = Rules(limit, rules.ignore_beyond or word != "--workflow-jobs-limit")
        elif word == "--mmax":
            found["mmax"] = int(next(words, "0"))
        elif word in _FLAGS:
            found[_FLAGS[word]] = True
        elif word not in _WITHOUT_EFFECT:
            raise NotImplementedError(f"the argument {word} is not known here")
    return found


def _outcome(case: BatsimCase) -> Outcome:
    if case.skipped is not None or case.scheduler is None:
        return Outcome(skipped=case.skipped)
    recorded = read_jobs(case.recorded)
    try:
        found = run_case(case)
    except NotImplementedError as error:
        return Outcome(skipped=str(error))
    except UnspoolError as error:
        return Outcome((f"it cannot be run: {error}",))
    if not case.scheduler.is_same:
        return Outcome(reported=compare_figures(found, recorded))
    exact_s = EXACT_S + (LAST_MESSAGE_S if case.replays else 0.0)
    return Outcome(compare_jobs(found, recorded, is_exact=case.is_exact, exact_s=exact_s))


def read_case(path: Path) -> BatsimCase:
    """A `case.json`; the paths in it begin two folders above its own."""
    written = decoded(path, _Written)
    root = path.resolve().parents[2]
    workload = root / written.workload
    made = equivalent(written.scheduler) if written.scheduler else "it had no scheduler"
    reason = _cannot(written) or (made if isinstance(made, str) else None)
    has_profiles = reason is None and written.workload_flag not in _WORKFLOW
    kinds = _kinds_used(decoded(workload, _Jobs)) if has_profiles else set()
    return BatsimCase(
        name=path.parent.name,
        platform=root / written.platform,
        workload=workload,
        arguments=tuple(str(root / word[1:]) if word.startswith("@") else word for word in written.batsim_args),
        scheduler=None if isinstance(made, str) else made,
        recorded=path.parent / _JOBS,
        is_exact=(written.platform.startswith("own/") or written.workload.startswith("own/"))
        and "usage_trace" not in kinds,
        skipped=reason,
        replays="smpi" in kinds,
        is_workflow=written.workload_flag in _WORKFLOW,
    )


def _cannot(written: _Written) -> str | None:
    """What a case needs that we have not."""
    for word in (written.workload_flag, *written.batsim_args):
        if word in _UNSUPPORTED:
            return f"it needs {_UNSUPPORTED[word]}"
    if written.batsim_exit_code != 0:
        return f"the recorded run failed, with exit code {written.batsim_exit_code}"
    return None


def _kinds_used(content: _Jobs) -> set[str]:
    """The types of the profiles that jobs use, directly or as members of others."""
    names, kinds, seen = [job.profile for job in content.jobs], set(), set()
    while names:
        name = names.pop()
        if name in content.profiles and name not in seen:
            seen.add(name)
            kinds.add(content.profiles[name].type)
            names += content.profiles[name].seq
    return kinds


def read_jobs(path: Path) -> pl.DataFrame:
    """A `_jobs.csv` of Batsim; ids are text, times are seconds, and what a rejected job has not is null."""
    try:
        table = pl.read_csv(path, infer_schema=False)
        return table.with_columns(pl.col(*_KEY, "final_state"), pl.col(*_TIMES, "consumed_energy").cast(pl.Float64))
    except (OSError, pl.exceptions.PolarsError) as error:
        first = next(iter(str(error).splitlines()), "it is empty")
        raise InputError(f"{path}: is no jobs file of Batsim: {first}") from None


def compare_jobs(
    found: pl.DataFrame, recorded: pl.DataFrame, *, is_exact: bool, exact_s: float = EXACT_S
) -> tuple[str, ...]:
    """Where our jobs differ from those that Batsim wrote: which there are, how they ended, order of starts, times."""
    ours, theirs = _by_key(found), _by_key(recorded)
    told = [f"job {_name(key)} is not among ours" for key in theirs if key not in ours]
    told += [f"job {_name(key)} was not recorded" for key in ours if key not in theirs]
    both = [key for key in theirs if key in ours]
    for key in both:
        if ours[key]["final_state"] != theirs[key]["final_state"]:
            told.append(f"job {_name(key)} ends as {ours[key]['final_state']}, recorded {theirs[key]['final_state']}")
    started = [key for key in both if None not in (ours[key]["starting_time"], theirs[key]["starting_time"])]
    told += _order(started, ours, theirs)
    for key in started:
        for name in ("execution_time",) if is_exact else ("starting_time", "execution_time"):
            mine, other = ours[key][name], theirs[key][name]
            far = exact_s if is_exact else SHIFT_S + SHIFT_PART * abs(other)
            if not abs(mine - other) <= far:
                told.append(f"job {_name(key)}: {name} {mine:.6f}, recorded {other:.6f}")
        told += _energy(key, ours[key], theirs[key], exact_s=exact_s if is_exact else None)
    return few(told)


def _energy(
    key: tuple[str, ...], mine: Mapping[str, Any], other: Mapping[str, Any], *, exact_s: float | None
) -> list[str]:
    """Where the joules of a job differ by more than its time may, at the power that it had.

    A job that comes when another ends may be on other machines, by a message's time; those may draw other watts.
    """
    found, recorded = mine.get("consumed_energy"), other.get("consumed_energy")
    is_elsewhere = mine.get("allocated_resources") != other.get("allocated_resources")
    if found is None or recorded is None or recorded < 0.0 or is_elsewhere:
        return []
    took = other["execution_time"]
    shift_s = SHIFT_S + SHIFT_PART * took if exact_s is None else exact_s - EXACT_S
    far = shift_s * recorded / max(took, EXACT_S) + (EXACT_S * max(1.0, recorded) if exact_s is not None else 0.0)
    return [] if abs(found - recorded) <= far else [
        f"job {_name(key)}: consumed_energy {found:.6f}, recorded {recorded:.6f}"
    ]  # fmt: skip


def _order(keys: Iterable[tuple[str, ...]], ours: Mapping[Any, Any], theirs: Mapping[Any, Any]) -> list[str]:
    """The first job that ours starts before one that Batsim started earlier; ties of either may stand in any order."""
    latest: tuple[str, ...] | None = None  # of ours, among those that Batsim started before this time
    in_order = sorted(keys, key=lambda key: theirs[key]["starting_time"])
    for _, tied in groupby(in_order, key=lambda key: theirs[key]["starting_time"]):
        together = sorted(tied, key=lambda key: ours[key]["starting_time"])
        if latest is not None and ours[together[0]]["starting_time"] < ours[latest]["starting_time"] - _TIE_S:
            first, second = _name(together[0]), _name(latest)
            return [f"job {first} starts before job {second}, which was recorded as starting earlier"]
        latest = max(together[-1], latest or together[-1], key=lambda key: ours[key]["starting_time"])
    return []


def compare_figures(found: pl.DataFrame, recorded: pl.DataFrame) -> str:
    """Makespan and mean wait of both, for schedulers whose rules are not the same."""
    return ", ".join(
        f"{what} {_figure(found, column, how):.2f} s, recorded {_figure(recorded, column, how):.2f} s"
        for what, column, how in (("makespan", "finish_time", "max"), ("mean wait", "waiting_time", "mean"))
    )


def _figure(table: pl.DataFrame, column: str, how: str) -> float:
    value = getattr(table[column].drop_nulls(), how)()
    return float(value) if isinstance(value, int | float) else 0.0


def _by_key(table: pl.DataFrame) -> dict[tuple[str, ...], dict[str, Any]]:
    return {tuple(str(row[name]) for name in _KEY): row for row in table.rows(named=True)}


def _name(key: tuple[str, ...]) -> str:
    return "!".join(key)
