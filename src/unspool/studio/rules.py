"""How workers are confined: what each of them gets, and which parts of that hold on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from unspool.confinement.roots import ROOTS
from unspool.confinement.worker import CONFINEMENT, Confinement, Held
from unspool.engine.kernel.compiled import MORE_CODE, cache_folder
from unspool.errors import RunError
from unspool.units import format_bytes, name_duration

__all__ = ["TEMPORARY", "Rules", "environment", "least_memory", "rules_here"]

_PROBE = (
    "from unspool.confinement.worker import confine; held = confine(); import msgspec, unspool.cli.files; "
    "print(msgspec.json.encode(held).decode())"
)
_PROBE_S = 120
TEMPORARY = ".tmp"
"""The folder inside that of a worker for what lasts no longer than the worker."""
_KEPT = (
    "PATH", "HOME", "LANG", "LANGUAGE", "TZ", "VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH", "SYSTEMROOT",
)  # fmt: skip
_KEPT_PREFIXES = ("LC_", "PYTHON", "UNSPOOL_", "NUMBA_", "POLARS_", "OMP_", "OPENBLAS_", "MKL_", "COVERAGE_", "DYLD_")
"""Of our environment: what a worker needs. Others may be secrets, such as keys of a cloud."""


@dataclass(frozen=True)
class Rules:
    """What every worker gets: limits, where it keeps machine code, and which means are used; `held` says what holds."""

    memory_bytes: int
    cpu_s: int
    code: Path | None = None
    landlock: bool = True
    namespace: bool = True
    held: Held | None = None

    def told(self) -> str:
        """What holds, in a line."""
        if self.held is None:
            return "workers are not confined"
        limits = {
            "memory": f"{format_bytes(self.memory_bytes)} of memory",
            "time": f"{name_duration(self.cpu_s)} of processor time",
        }
        told = [limits[name] for name in self.held.limits]
        return (
            f"workers are confined: files by {self.held.files}, the network by {self.held.network}; "
            f"each may use {' and '.join(told) if told else 'as much memory and time as there is'}"
        )


def least_memory() -> int:
    """The bytes of address space that a worker may use where nobody says: half of the memory, and 4 GiB at least.

    A run of the sample maps 1.8 GiB on two cores, of which it uses 0.4 GiB.
    """
    try:
        half = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, OSError, ValueError):
        half = 0
    return max(half, 4 << 30)


def rules_here(rules: Rules) -> Rules:
    """The rules with what holds here: the strongest means with which a worker of this installation still starts."""
    for landlock, namespace in ((True, True), (True, False), (False, False)):
        tried = replace(rules, landlock=rules.landlock and landlock, namespace=rules.namespace and namespace)
        held = _held(tried)
        if held is not None:
            return replace(tried, held=held)
    raise RunError(
        f"no worker starts with {format_bytes(rules.memory_bytes)} of memory: give more with --max-memory, or see "
        "whether `unspool inspect` works on this machine"
    )


def _held(rules: Rules) -> Held | None:
    given = environment(rules, Path(os.devnull), (), processes=True)
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _PROBE], env=given, capture_output=True, timeout=_PROBE_S, check=True
        )
        return msgspec.json.decode(done.stdout, type=Held)
    except (OSError, subprocess.SubprocessError, msgspec.MsgspecError):
        return None


def environment(
    rules: Rules | None, folder: Path, reads: Iterable[str], *, cpu_s: int | None = None, processes: bool = False
) -> dict[str, str]:
    """The environment of a worker in a folder, which confines itself by it; without rules it does not.

    No file can name code to be run.
    """
    kept = {
        name: value for name, value in os.environ.items() if name in _KEPT or name.startswith(_KEPT_PREFIXES)
    }  # fmt: skip
    paths = [os.path.abspath(each) for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
    found = {"PYTHONPATH": os.pathsep.join(paths)} if paths else {}
    found |= {"UNSPOOL_PROGRESS_S": "0.5", "PYTHONUTF8": "1", "TMPDIR": str(folder / TEMPORARY)}
    found["UNSPOOL_UNTRUSTED"] = "1"
    found["JOBLIB_MULTIPROCESSING"] = "0"  # scikit-learn would warn that it may have no processes
    if rules is None:
        return {**kept, **found}
    writes, given = [str(folder)], [str(path) for path in reads]
    if rules.code is not None:
        # Machine code is loaded as it is. What a worker writes is only ever loaded by others that are confined alike.
        found |= {"NUMBA_CACHE_DIR": str(rules.code), MORE_CODE: str(cache_folder())}
        writes.append(str(rules.code))
    confinement = Confinement(
        (*given, str(cache_folder())), tuple(writes), rules.memory_bytes, min(rules.cpu_s, cpu_s or rules.cpu_s),
        processes, rules.landlock, rules.namespace,
    )  # fmt: skip
    found[CONFINEMENT] = msgspec.json.encode(confinement).decode()
    found[ROOTS] = os.pathsep.join([*given, str(folder)])
    return {**kept, **found}
