"""Cases of SMPI: a platform, traces, and when SimGrid says that each rank ends, under Batsim's rules and smpirun's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import msgspec

from unspool.conform.checks import Check, Outcome, decoded, few, files_named
from unspool.errors import InputError
from unspool.model.network import SMPI_NETWORKS, Network
from unspool.platforms import read_platform
from unspool.simulation.ranks import rank_ends
from unspool.workloads.smpi_traces import read_smpi_trace

__all__ = ["TOLERANCE", "checks", "compare_ends"]

TOLERANCE = 1e-9  # relative


class _Case(msgspec.Struct):
    name: str
    hosts: list[str]
    traces: str
    finish: dict[str, list[float]]
    platform: str = ""


class _File(msgspec.Struct):
    cases: list[_Case]
    platform: str = ""


def checks(path: Path) -> list[Check]:
    """The cases of a file, or of all `smpi*cases.json` of a folder: one check a case and setting."""
    if path.is_dir() and not list(path.glob("smpi*cases.json")) and (path / "smpi").is_dir():
        path = path / "smpi"
    found = []
    for file in files_named(path, "smpi*cases.json", "smpi_cases.json or the like"):
        written = decoded(file, _File)
        networks: dict[Path, Network] = {}
        for case in written.cases:
            where = f"{file}: case '{case.name}'"
            platform = file.parent / _platform_of(written, case)
            if platform not in networks:
                networks[platform] = _network(platform)
            for setting, recorded in case.finish.items():
                _refuse_unlike(case, setting, recorded, networks[platform], where)
                name = f"{case.name}: {setting}"
                found.append(Check(name, partial(_outcome, networks[platform], file.parent, case, setting)))
    return found


def _platform_of(written: _File, case: _Case) -> str:
    """The platform's file: the first word of what the case says of it, or the file; else what all of them are of."""
    told = (case.platform or written.platform).split(":")[0].split()
    return told[0] if told else "platform.xml"


def _network(path: Path) -> Network:
    network = read_platform(str(path)).network
    if network is None:
        raise InputError(f"{path}: is a platform without a network; give SimGrid's XML")
    return network


def _refuse_unlike(case: _Case, setting: str, recorded: Sequence[float], network: Network, where: str) -> None:
    """Complain of a case that cannot be run."""
    if setting not in SMPI_NETWORKS:
        raise InputError(f"{where}: finish is of '{setting}'; expected {' or '.join(SMPI_NETWORKS)}")
    if len(recorded) != len(case.hosts):
        raise InputError(f"{where}: has {len(case.hosts)} hosts and {len(recorded)} times; expected one for each rank")
    unknown = [name for name in case.hosts if name not in {host.name for host in network.hosts}]
    if unknown:
        raise InputError(f"{where}: host '{unknown[0]}' is not on its platform; name hosts of it")


def _outcome(network: Network, folder: Path, case: _Case, setting: str) -> Outcome:
    place = {host.name: at for at, host in enumerate(network.hosts)}
    trace = read_smpi_trace(folder / case.traces)
    found = rank_ends(network, trace, [place[name] for name in case.hosts], smpi_network=setting)
    return Outcome(compare_ends(found, case.finish[setting]))


def compare_ends(found: Sequence[float], recorded: Sequence[float]) -> tuple[str, ...]:
    """Which ranks end at another time than was recorded.

    >>> compare_ends([1.0, 2.0], [1.0, 2.5])
    ('rank 1 ends at 2.0, recorded 2.5',)
    """
    return few(
        f"rank {rank} ends at {ours!r}, recorded {theirs!r}"
        for rank, (ours, theirs) in enumerate(zip(found, recorded, strict=True))
        if not math.isclose(ours, theirs, rel_tol=TOLERANCE, abs_tol=1e-15)
    )
