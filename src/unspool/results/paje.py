"""A run as a Pajé trace, in the form of Batsim's `_schedule.trace`: what each machine does, for ViTE and PajeNG.

Events are numbered as Batsim numbers them (its tracer, described in spec B6.6). Its colours are shuffled in each run;
here a job's colour follows from its place in the order of starts, so that two traces of one run are the same.
"""

from __future__ import annotations

import colorsys
from collections.abc import Callable, Iterator
from typing import IO

import polars as pl

from unspool.errors import InputError, shown
from unspool.metrics.cost.hosts import hosts_of
from unspool.results.result import Result

__all__ = ["MOST_STATES", "colour_of_job", "host_names", "state_count", "write_paje"]

MOST_STATES = 2_000_000
"""Changes of machines in a trace, at most: about 80 MB."""

_EVENTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("DefineContainerType", ("Type string", "Alias string", "Name string")),
    ("CreateContainer", ("Time date", "Type string", "Alias string", "Name string", "Container string")),
    ("DestroyContainer", ("Time date", "Name string", "Type string")),
    ("DefineStateType", ("Alias string", "Type string", "Name string")),
    ("DefineEntityValue", ("Alias string", "Type string", "Name string", "Color color")),
    ("SetState", ("Time date", "Type string", "Container string", "Value string")),
    ("DefineEventType", ("Type string", "Alias string", "Name string")),
    ("NewEvent", ("Time date", "Type string", "Container string", "Value string")),
    ("DefineVariableType", ("Type string", "Alias string", "Name string", "Color string")),
    ("SetVariable", ("Time date", "Type string", "Container string", "Value double")),
)
_TYPES = """\
# Types of containers
1 0 root_ct "Machines"
1 root_ct machine_ct "Machine"
1 0 scheduler_ct "Scheduler"
1 scheduler_ct killer_ct "Killer"

# Types of events, variables and states
7 killer_ct kk "Job kill"
7 machine_ct km "Job kill"
9 scheduler_ct vu_vt "Utilization" "0.0 0.5 0.0"
4 machine_state machine_ct "Machine state"
5 w machine_state "Waiting" "0.0 0.0 0.0"
5 l machine_state "Launching" "0.3 0.3 0.3"
"""
_HUES = 64
_STRIDE = 37  # neighbours in the order of starts have hues far from each other
_LINES = 4096  # written at once

# At one instant machines are left first, then taken; who takes no time comes and goes last.
_LEFT, _TAKEN, _GONE = 0, 1, 2


def write_paje(
    result: Result,
    file: IO[bytes],
    *,
    begin: float | None = None,
    end: float | None = None,
    named: Callable[[str], str] = str,
) -> int:
    """Write the trace of a run, or of the jobs that run between `begin` and `end`; returns how many starts are in it.

    `named` gives the name of a job of its id.
    """
    changes = _changes(result, begin, end)
    if len(changes) > MOST_STATES:
        raise InputError(
            f"a Pajé trace of this run has {len(changes):,} changes of machines, more than {MOST_STATES:,}; "
            "take a part of it with --window FROM..TO, as in 1d..2d"
        )
    lines: list[str] = []
    for line in _lines(result, changes, named):
        lines.append(line)
        if len(lines) == _LINES:
            file.write(("\n".join(lines) + "\n").encode())
            lines.clear()
    file.write(("\n".join(lines) + "\n").encode())
    return changes["attempt"].n_unique()


def state_count(result: Result) -> int:
    """How many changes of machines the trace of a run has."""
    machines = pl.col("last_machine").cast(pl.Int64) - pl.col("first_machine") + 1
    return 2 * int(result.allocations.select(machines.sum()).item() or 0)


def host_names(result: Result) -> list[str]:
    """What machines are called: as hosts where there is a network, else by type and number."""
    network = result.platform.network
    if network is not None:
        return [host.name for host in network.hosts[: result.platform.machine_count]]
    return [f"{group.machine.name}-{at}" for group in result.platform.groups for at in range(group.count)]


def colour_of_job(number: int) -> str:
    """Red, green and blue, from 0 to 1, of the job that was the so-manieth to start.

    >>> colour_of_job(0), colour_of_job(64)
    ('1.000000 0.000000 0.000000', '1.000000 0.000000 0.000000')
    """
    parts = colorsys.hsv_to_rgb(number * _STRIDE % _HUES / _HUES, 1.0, 1.0)
    return " ".join(f"{part:.6f}" for part in parts)


def _changes(result: Result, begin: float | None, end: float | None) -> pl.DataFrame:
    """Machines taken and left, in order: time, kind, attempt, machine, job and how it ended."""
    if result.platform.is_pool:
        raise InputError("a Pajé trace shows machines, and a pool has none; run it on machines, as in -p 128x16")
    ended = result.attempts.filter(pl.col("how") != "running") if begin is None and end is None else result.attempts
    if begin is not None:
        ended = ended.filter(pl.col("finish_time") > begin)
    if end is not None:
        ended = ended.filter(pl.col("start_time") < end)
    about = ended.select(pl.col("attempt").cast(pl.Int64), "job_id", "start_time", "finish_time", pl.col("how"))
    held = hosts_of(result.allocations).join(about, on="attempt", how="inner").drop("units")
    takes_none = pl.col("finish_time") == pl.col("start_time")
    taken = held.with_columns(time="start_time", kind=pl.lit(_TAKEN))
    left = held.with_columns(time="finish_time", kind=pl.when(takes_none).then(_GONE).otherwise(_LEFT))
    return (
        pl.concat([taken, left.with_columns(pl.col("kind").cast(pl.Int32))], how="vertical_relaxed")
        .select("time", "kind", "attempt", "machine", "job_id", pl.col("how").cast(pl.String))
        .sort("time", "kind", "attempt", "machine")
    )


def _lines(result: Result, changes: pl.DataFrame, named: Callable[[str], str]) -> Iterator[str]:
    for number, (name, fields) in enumerate(_EVENTS, 1):
        yield f"%EventDef Paje{name} {number}"
        yield from (f"% {field}" for field in fields)
        yield "%EndEventDef\n"
    yield _TYPES
    first = min(0.0, float(changes["time"].min() or 0.0))  # type: ignore[arg-type]
    hosts = host_names(result)
    yield "# Containers"
    yield f'2 {first:.6f} root_ct root "Machines" 0'
    yield from (f"2 {first:.6f} machine_ct m{at} {_quoted(name)} root" for at, name in enumerate(hosts))
    yield f'2 {first:.6f} scheduler_ct sc "Scheduler" 0'
    yield f'2 {first:.6f} killer_ct k "Killer" sc'
    yield "\n# What happens"
    yield from (f"6 {first:.6f} machine_state m{at} w" for at in range(len(hosts)))
    yield from _states(changes, len(hosts), named)
    last = max(first, float(changes["time"].max() or 0.0))  # type: ignore[arg-type]
    yield "\n# The end"
    yield from (f"3 {last:.6f} m{at} machine_ct" for at in range(len(hosts)))
    yield from (f"3 {last:.6f} root root_ct", f"3 {last:.6f} k killer_ct", f"3 {last:.6f} sc scheduler_ct")


def _states(changes: pl.DataFrame, machines: int, named: Callable[[str], str]) -> Iterator[str]:
    """A line for each change of a machine. One that several jobs share shows the last of them to start."""
    on: list[dict[int, str]] = [{} for _ in range(machines)]
    known: dict[str, str] = {}
    killed: set[int] = set()
    for time, kind, attempt, machine, job_id, how in changes.iter_rows():
        if kind == _TAKEN:
            if job_id not in known:
                name = named(job_id)
                known[job_id] = _word(f"j{name}")
                yield f'5 {known[job_id]} machine_state {_quoted(name)} "{colour_of_job(len(known) - 1)}"'
            on[machine][attempt] = known[job_id]
            yield f"6 {time:.6f} machine_state m{machine} {known[job_id]}"
            continue
        if how == "killed":
            name = _quoted(named(job_id))
            if attempt not in killed:
                killed.add(attempt)
                yield f"8 {time:.6f} kk k {name}"
            yield f"8 {time:.6f} km m{machine} {name}"
        on[machine].pop(attempt, None)
        yield f"6 {time:.6f} machine_state m{machine} {next(reversed(on[machine].values()), 'w')}"


def _quoted(text: str) -> str:
    """A name between quotes, of which it has none inside."""
    return '"' + shown(text, 500).replace('"', "'") + '"'


def _word(text: str) -> str:
    """A name as one word: between quotes if it has blanks."""
    return _quoted(text) if any(char.isspace() or char in "\"'#%" for char in text) else text
