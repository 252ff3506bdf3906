"""From the profiles of a workload to the programs that jobs run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
import numpy as np
import polars as pl

from unspool.engine.kernel.state import Array, Fluid, Mpi, longer
from unspool.engine.network.network_build import grow_sharing, routes_of, sharing_on
from unspool.engine.programs import work as kinds
from unspool.engine.programs.records import FLUID, FRAME, LETTER, MOVE, PROGRAM, SAID, SEAT
from unspool.engine.programs.traces import TraceFiles, grow_mpi, mpi_of, with_places
from unspool.errors import InputError, UnknownName
from unspool.model.network import Contention, Network
from unspool.model.profile import (
    Delay,
    ForkJoin,
    HomogeneousTask,
    Merge,
    Profile,
    Receive,
    Send,
    Sequence,
    Staging,
    StorageTask,
    Task,
    Trace,
)
from unspool.model.workload import Workload
from unspool.workloads.batsim_jobs import MAPPING
from unspool.workloads.references import parts_first, reached, references, spans_of
from unspool.workloads.smpi_traces import SmpiTrace, read_smpi_trace
from unspool.workloads.usage_trace import Phase, read_usage_trace

__all__ = ["Programs", "add_task", "fluid_of", "grow_fluid", "no_programs", "with_program"]

_SPREADS = {"each": kinds.EACH, "total": kinds.TOTAL, "total-v4": kinds.TOTAL_V4}
_MOST_RECEIVERS = 62  # bits of a mask
_MOST_AT_ONCE = 1_000_000


@dataclass(frozen=True)
class Programs:
    """Of what programs were made: the profile of each, and the files of each trace."""

    names: tuple[str, ...] = ()
    traces: tuple[TraceFiles, ...] = ()


def fluid_of(
    workload: Workload, used: Array, network: Network | None, contention: Contention
) -> tuple[Fluid | None, Programs]:
    """What the jobs of a run do, where that is more than to take their run time, and of what it was made."""
    if not workload.profiles:  # a table keeps the names alone
        return None, Programs()
    names = workload.column("profile").gather(pl.Series(used))
    named = sorted(names.unique().drop_nulls())
    _refuse_broken(workload.profiles, named)
    timed = spans_of(workload.profiles)
    wanted = [name for name in named if name not in timed]
    if not wanted:
        return None, Programs()
    if network is None:
        raise InputError(
            f"{workload.name}: profile '{wanted[0]}' computes or communicates; give a platform with a network: "
            "SimGrid's XML, or YAML with network"
        )
    sizes = workload.column("machines").fill_null(workload.table["cores"]).to_numpy()[used]
    writer = _Writer(workload.profiles, wanted, network, contention)
    mappings = _mappings_of(workload, used) if writer.replaying else {}
    fluid = writer.write(names, sizes, mappings)
    if fluid.mpi is not None:
        fluid = fluid._replace(mpi=with_places(fluid.mpi, _places(workload, used, mappings, writer), len(used)))
    files = tuple(TraceFiles(trace.files, trace.script_of) for trace in writer.traces.values())
    return fluid, Programs(tuple(name for name, *_ in writer.known), files)


def _mappings_of(workload: Workload, used: Array) -> dict[int, list[int]]:
    """For jobs that say so, on which of their machines each rank of a trace is, by their place in the run."""
    details = workload.column("details").gather(pl.Series(used))
    told = details.str.contains(MAPPING, literal=True).fill_null(value=False).arg_true()
    found = {job: msgspec.json.decode(details[job]).get(MAPPING) for job in told.to_list()}
    return {job: places for job, places in found.items() if isinstance(places, list) and places}


def _places(
    workload: Workload, used: Array, mappings: Mapping[int, list[int]], writer: _Writer
) -> dict[int, list[int]]:
    """The mappings of jobs that replay what MPI programs did; the place of each rank must be said."""
    found: dict[int, list[int]] = {}
    for job, places in mappings.items():
        row = workload.table.row(int(used[job]), named=True)
        parts = [workload.profiles[name] for name in reached(workload.profiles, [row["profile"]])]
        traces = [writer.traces[part.path] for part in parts if isinstance(part, Trace) and part.path in writer.traces]
        for trace in traces:
            if len(places) != trace.ranks or not all(type(place) is int and place >= 0 for place in places):
                raise InputError(
                    f"job {row['job_id']}: {MAPPING} says {len(places)} places, and {trace.path} has {trace.ranks} "
                    "ranks; expected the place of each rank, 0 or more"
                )
        if traces:
            found[job] = places
    return found


def no_programs(jobs: int, network: Network, contention: Contention) -> Fluid:
    """What jobs do of which none does anything yet; more is written down when they come."""
    writer = _Writer({"": Delay(1.0)}, [""], network, contention)
    writer.program("", 1)
    return writer.write(pl.Series([None] * jobs, dtype=pl.String), np.ones(jobs, np.int64), {})


def with_program(
    fluid: Fluid, profiles: Mapping[str, Profile], name: str, size: int, network: Network, contention: Contention
) -> tuple[Fluid, int, tuple[str, ...]]:
    """With a profile written down for jobs of so many executors: the programs, its own, and the profiles of new ones.

    Programs that are there stay as they are.
    """
    parts = reached(profiles, [name])
    _refuse_broken({part: profiles[part] for part in parts}, [name])
    for part in sorted(parts):
        profile = profiles[part]
        if isinstance(profile, Trace) and profile.kind == "smpi":
            raise InputError(
                f"profile '{part}' replays an SMPI trace, which only jobs can that a file of the workload lists"
            )
    writer = _Writer(profiles, [name], network, contention)
    before = len(fluid.programs)
    writer.rows = [{} for _ in range(before)]
    writer.members, writer.amounts = [0] * len(fluid.members), [0.0] * len(fluid.amounts)
    receiving = fluid.programs["kind"] == kinds.RECEIVE
    writer.receivers = [""] * (1 + int(fluid.programs["bit"][receiving].max(initial=-1)))
    program = writer.program(name, size)
    members, amounts = np.array(writer.members, np.int64), np.array(writer.amounts)
    members[: len(fluid.members)], amounts[: len(fluid.amounts)] = fluid.members, fluid.amounts
    rule = fluid.rule.copy()
    leaves, depth = max(writer.leaves.values()), max(writer.frames.values())
    rule["leaves"], rule["nodes"] = max(leaves, int(rule[0]["leaves"])), max(depth, int(rule[0]["nodes"]))
    most = max(size, writer.most_cores()) + 2
    rule["elements"] = max(most + len(network.links), int(rule[0]["elements"]))
    routes, mpi = fluid.routes, fluid.mpi
    if most > len(routes.crew):
        routes = routes._replace(crew=np.zeros(2 * most, np.int64), flops=np.zeros(2 * most))
    programs = np.concatenate((fluid.programs, writer.written(before)))
    if mpi is not None:
        mpi = mpi._replace(trace_of=np.concatenate((mpi.trace_of, np.full(len(programs) - before, -1, np.int64))))
    fluid = fluid._replace(
        rule=rule, programs=programs, members=members, amounts=amounts, todo=longer(fluid.todo, depth + leaves + 8),
        routes=routes, mpi=mpi,
    )  # fmt: skip
    return fluid, program, tuple(known for known, *_ in writer.known)


def _refuse_broken(profiles: Mapping[str, Profile], named: list[str]) -> None:
    """Complain of a profile that is not there, is part of itself, or is made of nothing."""
    for name in named:
        if name not in profiles:
            raise UnknownName("profile of a job", name, profiles)
    others = {name: profile for name, profile in profiles.items() if not isinstance(profile, Delay)}
    for name, profile in others.items():
        for member in references(profile):
            if member not in profiles:
                raise UnknownName(f"profile of profile '{name}'", member, profiles)
        is_empty = isinstance(profile, Sequence | ForkJoin | Merge) and not profile.members
        if is_empty or (isinstance(profile, Sequence) and profile.repeat < 1):
            raise InputError(f"profile '{name}' is made of nothing; expected at least one profile, at least once")
    circles = parts_first(others)[1]
    if circles:
        raise InputError(f"profile '{circles[0][0]}' is part of itself: {' > '.join(circles[0])}")


class _Writer:
    """Writes programs, each profile once for all jobs (those that depend on the number of executors, once for each)."""

    def __init__(
        self, profiles: Mapping[str, Profile], wanted: list[str], network: Network, contention: Contention
    ) -> None:
        self.profiles = profiles
        self.wanted = set(wanted)
        used = reached(profiles, wanted)
        self.order = parts_first({name: profiles[name] for name in used})[0]
        self.by_size: set[str] = set()
        self.with_ranks: set[str] = set()
        self.ranks: dict[str, tuple[tuple[Phase, ...], ...]] = {}
        self.mapping: tuple[int, ...] = ()  # of the ranks of the job whose program is written
        self.leaves: dict[str, int] = {}
        self.frames: dict[str, int] = {}
        for name in self.order:
            self.look_at(name, profiles[name])
        self.network = network
        self.contention = contention
        self.rows: list[dict[str, float | tuple[int, ...]]] = []
        self.members: list[int] = []
        self.amounts: list[float] = []
        self.known: dict[tuple[str, int, tuple[int, ...]], int] = {}
        self.receivers: list[str] = []
        self.traces: dict[str, SmpiTrace] = {}
        self.replaying = any(isinstance(profiles[name], Trace) for name in used)

    def look_at(self, name: str, profile: Profile) -> None:
        """What is to be known of a profile, of whose parts it is known: activities and frames that it can have at once.

        And whether it is written down for a number of executors: by pairs, or because tasks are merged.
        """
        parts = references(profile)
        many = sum if isinstance(profile, ForkJoin) else max
        inner = () if isinstance(profile, Merge) else parts
        if isinstance(profile, Trace) and profile.kind == "usage":
            self.ranks[name] = read_usage_trace(profile.path)
        ranks = len(self.ranks.get(name, ()))
        self.leaves[name] = many([self.leaves[part] for part in inner] or [max(ranks, 1)])
        self.frames[name] = 1 + many([self.frames[part] for part in inner] or [ranks])
        if ranks or any(part in self.with_ranks for part in parts):
            self.with_ranks.add(name)
        if self.frames[name] > _MOST_AT_ONCE:
            raise InputError(f"profile '{name}' does more than {_MOST_AT_ONCE:,} things at once, or one inside another")
        if isinstance(profile, Merge | Task) or any(part in self.by_size for part in parts):
            self.by_size.add(name)

    def write(self, names: pl.Series, sizes: Array, mappings: Mapping[int, list[int]]) -> Fluid:
        """The state part, with nothing running yet."""
        program_of = np.full(len(names), -1, np.int64)
        for at, (name, size) in enumerate(zip(names, sizes.tolist(), strict=True)):
            if name in self.wanted:
                self.mapping = tuple(mappings.get(at, ()))
                program_of[at] = self.program(name, size)
        programs = self.written(0)
        leaves, depth = max(self.leaves.values()), max(self.frames.values())
        most = max(int(sizes.max(initial=1)), self.most_cores()) + 2
        rule = np.zeros(1, FLUID)
        rule["strict"] = self.contention.strict
        rule["spare"] = rule["stuck"] = -1
        rule["leaves"], rule["nodes"] = leaves, depth
        rule["elements"] = most + len(self.network.links)
        seats = np.zeros(len(names), SEAT)
        seats["first"] = -1
        jobs = len(names)
        sharing = sharing_on(self.network, self.contention)
        return Fluid(
            rule, programs, np.array(self.members, np.int64), np.array(self.amounts), program_of,
            np.zeros(max(64, depth), FRAME), np.full(jobs, -1, np.int64), np.zeros(jobs, np.int64), seats,
            np.zeros(0, np.int64), np.zeros(depth + leaves + 8, MOVE), np.zeros(64 + leaves, SAID),
            np.zeros(64, LETTER), np.full((jobs, 2), -1, np.int64), sharing, routes_of(self.network, most),
            self.replays(programs, leaves),
        )  # fmt: skip

    def replays(self, programs: Array, leaves: int) -> Mpi | None:
        """The traces that programs replay; None where none does."""
        if not self.traces:
            return None
        is_smpirun = self.contention.smpi_network == "smpirun"
        mpi = mpi_of(list(self.traces.values()), smpirun=is_smpirun, at_once=leaves)
        return mpi._replace(trace_of=np.where(programs["kind"] == kinds.REPLAY, programs["first"], -1))

    def most_cores(self) -> int:
        """On how many cores of one host a rank of a usage trace may be at once; 1 where there are no such ranks."""
        return max((host.cores for host in self.network.hosts), default=1) if self.ranks else 1

    def written(self, first: int) -> Array:
        """The programs from a number on."""
        programs = np.zeros(len(self.rows) - first, PROGRAM)
        for at, row in enumerate(self.rows[first:]):
            for field, value in row.items():
                programs[at][field] = value
        return programs

    def program(self, name: str, size: int) -> int:
        """The program of a profile for a number of executors."""
        if self.key(name, size) not in self.known:
            parts = reached(self.profiles, [name])
            for part in self.order if len(parts) > 1 else [name]:  # parts first, however deep they nest
                if part in parts and self.key(part, size) not in self.known:
                    profile = self.profiles[part]
                    self.write_ranks(part)
                    self.known[self.key(part, size)] = len(self.rows)
                    self.rows.append({"code": profile.code, "storage": -1, **self.fields(part, profile, size)})
        return self.known[self.key(name, size)]

    def key(self, name: str, size: int) -> tuple[str, int, tuple[int, ...]]:
        """By what a program is known."""
        return name, size if name in self.by_size else 0, self.mapping if name in self.with_ranks else ()

    def write_ranks(self, name: str) -> None:
        """The programs of the ranks of a usage trace, each with the seat of its host and its phases."""
        for rank, phases in enumerate(self.ranks.get(name, ())):
            if self.mapping and rank >= len(self.mapping):
                raise InputError(
                    f"profile '{name}' has a trace of {len(self.ranks[name])} ranks, and a job maps "
                    f"{len(self.mapping)} of them to hosts ({MAPPING}); map all, or leave it out"
                )
            self.known[name, -1 - rank, self.mapping] = len(self.rows)
            first = len(self.amounts)
            self.amounts.extend(amount for phase in phases for amount in phase)
            seat = self.mapping[rank] if self.mapping else rank
            self.rows.append({"kind": kinds.USAGE, "first": first, "count": len(phases), "other": seat, "storage": -1})

    def fields(self, name: str, profile: Profile, size: int) -> dict[str, float | tuple[int, ...]]:
        """What a program of its own says."""
        match profile:
            case Delay(seconds):
                return {"kind": kinds.DELAY, "seconds": seconds}
            case HomogeneousTask(cpu, com, spread):
                return {"kind": kinds.HOMOGENEOUS, "cpu": cpu, "com": com, "spread": _SPREADS[spread]}
            case Task(cpu, com):
                _refuse_other_size(name, profile, size)
                return self.matrix(list(cpu) or [0.0] * size, list(com) or [0.0] * size**2, -1)
            case StorageTask(read, written, storage, spread):
                return {
                    "kind": kinds.STORAGE, "cpu": read, "com": written, "storage": self.storage(name, storage),
                    "spread": kinds.TOTAL if spread else kinds.EACH,
                }  # fmt: skip
            case Staging(moved, source, target):
                return {
                    "kind": kinds.STAGING, "com": moved, "storage": self.storage(name, source),
                    "other": self.storage(name, target),
                }  # fmt: skip
            case Sequence(members, repeat):
                return {"kind": kinds.SEQUENCE, "repeat": repeat, **self.children(members, size)}
            case ForkJoin(members):
                return {"kind": kinds.FORK_JOIN, **self.children(members, size)}
            case Merge(members):
                return self.merged(name, members, size)
            case Send(pause_s=pause):
                return {"kind": kinds.SEND, "seconds": pause}
            case Receive(poll_s=poll):
                return {
                    "kind": kinds.RECEIVE,
                    "seconds": poll,
                    "bit": self.bit(name),
                    "follows": self.next_of(profile, size),
                }
            case Trace("smpi", path):
                if path not in self.traces:
                    self.traces[path] = read_smpi_trace(path)
                return {"kind": kinds.REPLAY, "first": list(self.traces).index(path)}
            case Trace("usage"):
                first = len(self.members)
                ranks = range(len(self.ranks[name]))
                self.members.extend(self.known[name, -1 - rank, self.mapping] for rank in ranks)
                return {"kind": kinds.FORK_JOIN, "first": first, "count": len(ranks)}
            case Trace(kind):
                raise InputError(f"profile '{name}' replays a trace of kind {kind}; expected smpi or usage")
            case _:
                raise InputError(f"profile '{name}': {type(profile).__name__} is no profile that can be run")

    def children(self, names: tuple[str, ...], size: int) -> dict[str, float]:
        members = [self.program(name, size) for name in names]
        first = len(self.members)
        self.members.extend(members)
        return {"first": first, "count": len(members)}

    def next_of(self, profile: Receive, size: int) -> tuple[int, ...]:
        return tuple(-1 if name is None else self.program(name, size) for name in _follows(profile))

    def bit(self, name: str) -> int:
        """The place of a profile that waits for messages in the masks of messages."""
        if name not in self.receivers:
            if len(self.receivers) == _MOST_RECEIVERS:
                raise InputError(f"more than {_MOST_RECEIVERS} profiles wait for messages; that is the most")
            self.receivers.append(name)
        return self.receivers.index(name)

    def matrix(self, cpu: list[float], com: list[float], extra: int) -> dict[str, float | tuple[int, ...]]:
        first = len(self.amounts)
        self.amounts.extend([*cpu, *com])
        return {"kind": kinds.MATRIX, "first": first, "count": len(cpu), "storage": extra}

    def merged(self, name: str, members: tuple[str, ...], size: int) -> dict[str, float | tuple[int, ...]]:
        """Tasks as one, written out for a number of executors; a storage is one executor more."""
        extra = -1
        count = size
        for member in members:
            profile = self.profiles[member]
            if isinstance(profile, StorageTask):
                storage = self.storage(member, profile.storage)
                if extra not in (-1, storage):
                    raise InputError(f"profile '{name}' merges tasks on two storages; one is the most")
                extra, count = storage, size + 1
        cpu, com = np.zeros(count), np.zeros((count, count))
        for member in members:
            add_task(cpu, com, member, self.profiles[member], size)
        return self.matrix(cpu.tolist(), com.ravel().tolist(), extra)

    def storage(self, name: str, label: str) -> int:
        """The host that a label of a storage means: as it is mapped, else by its name, else the only one there is."""
        hosts = self.network.hosts
        places = {host.name: at for at, host in enumerate(hosts)}
        chosen = self.contention.storage.get(label, label)
        if chosen in places:
            at = places[chosen]
            if hosts[at].role != "storage":
                raise InputError(
                    f"profile '{name}': host '{chosen}' is no storage; give it that role (-r {chosen}:storage)"
                )
            return at
        storages = [at for at, host in enumerate(hosts) if host.role == "storage"]
        if label in self.contention.storage:
            raise UnknownName(f"host for storage '{label}'", chosen, [hosts[at].name for at in storages])
        if len(storages) != 1:
            raise InputError(
                f"profile '{name}': storage '{label}' is mapped to no host, and the platform has {len(storages)} "
                f"storages; say which host it is (--storage-mapping {label}=HOST, or Contention(storage=...))"
            )
        return storages[0]


def _follows(profile: Receive) -> tuple[str | None, str | None, str | None]:
    return profile.success, profile.failure, profile.timeout


def _refuse_other_size(name: str, profile: Task, size: int) -> None:
    """Complain of a task that is written for another number of executors than a job has."""
    if len(profile.cpu) not in (0, size) or len(profile.com) not in (0, size**2):
        raise InputError(
            f"profile '{name}' has {len(profile.cpu)} amounts of flops and {len(profile.com)} of bytes, and a job with "
            f"{size} executors does it; expected {size} and {size**2}"
        )


def add_task(cpu: Array, com: Array, name: str, profile: Profile, size: int) -> None:
    """Add a task to flops and bytes of so many executors, and perhaps a storage."""
    others = 1.0 - np.eye(size)
    match profile:
        case HomogeneousTask(flops, amount, spread):
            share, parts = (
                (1.0, 1.0) if spread == "each" else (size, size if spread == "total-v4" else size * (size - 1))
            )
            cpu[:size] += flops / share
            com[:size, :size] += others * (amount / max(parts, 1.0))
        case Task(flops_of, amount_of):
            _refuse_other_size(name, profile, size)
            if flops_of:
                cpu[:size] += flops_of
            if amount_of:
                com[:size, :size] += np.reshape(amount_of, (size, size))
        case StorageTask(read, written, _, spread):
            com[size, :size] += read / (size if spread else 1)
            com[:size, size] += written / (size if spread else 1)
        case _:
            raise InputError(f"profile '{name}' cannot be merged with others: only tasks can")


def grow_fluid(fluid: Fluid) -> Fluid:
    """Room for what one more job can add, and more."""
    rule = fluid.rule[0]
    leaves, elements = int(rule["leaves"]), int(rule["elements"])
    sharing = fluid.sharing
    if int(sharing.rule[0]["slots"]) + leaves > len(sharing.activities) or (
        int(sharing.rule[0]["top"]) + 2 * leaves * elements > len(sharing.uses)
    ):
        sharing = grow_sharing(sharing, leaves, 2 * leaves * elements)
    return fluid._replace(
        frames=longer(fluid.frames, int(rule["slots"] + rule["nodes"])),
        said=longer(fluid.said, int(rule["said"]) + leaves),
        letters=longer(fluid.letters, int(rule["letters"]) + 1),
        sharing=sharing,
        mpi=None if fluid.mpi is None else grow_mpi(fluid.mpi),
    )
