"""A process confines itself, before it reads anything: what it may touch comes through its environment."""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from pathlib import Path

import msgspec

from unspool.confinement import hook, landlock

__all__ = ["CONFINED", "CONFINEMENT", "Confinement", "Held", "confine", "confine_child"]

CONFINEMENT = "UNSPOOL_CONFINEMENT"
"""The environment variable with a `Confinement` as JSON."""

CONFINED = "from unspool.confinement.worker import confine; confine(); "
"""What stands before the program of a confined process: nothing else may have started a thread yet."""

_SYSTEM = (
    "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share/zoneinfo", "/usr/share/locale",
    "/etc/ld.so.cache", "/etc/localtime", "/etc/timezone", "/dev/urandom", "/dev/random", "/dev/zero", "/proc/self",
    "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/sys/vm/overcommit_memory", "/sys/devices/system/cpu",
    "/sys/devices/system/node", "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage",
)  # fmt: skip
"""What Python, Polars and LLVM read of a Linux, beside their own folders."""
_SHARED = "/dev/shm"  # where locks between processes live
_NEW_FILESYSTEMS, _NEW_USER, _NEW_NETWORK = 0x00020000, 0x10000000, 0x40000000  # linux/sched.h
_GRACE_S = 5
_PRIVATE = 0x4000 | 0x40000  # MS_REC, MS_PRIVATE of linux/mount.h


class Confinement(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a process may read and write beside its interpreter, and how much memory and time it has; 0 for any.

    `processes` lets it start others of its own interpreter. The audit hook stands behind `landlock` and `namespace`,
    and alone where the kernel has neither or they are switched off.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    memory_bytes: int = 0
    cpu_s: int = 0
    processes: bool = False
    landlock: bool = True
    namespace: bool = True
    hook: bool = True


class Held(msgspec.Struct, frozen=True):
    """What holds a process that has confined itself."""

    files: str
    network: str
    limits: tuple[str, ...]


def confine() -> Held | None:
    """Give up what the environment does not grant, for good; None where it names no confinement."""
    rules = _told()
    if rules is None:
        return None
    has_own_network = rules.namespace and _leave_network(rules.processes)
    limits = _limit(rules)
    has_landlock = rules.landlock and landlock.abi() >= landlock.LEAST_ABI
    reads, writes = _reads(rules), _writes(rules)
    if has_landlock:
        landlock.restrict(reads, writes, _executes() if rules.processes else ())
    if rules.hook:
        hook.install(reads, writes, signals=not rules.processes)
    return Held(
        "Landlock" if has_landlock else "an audit hook",
        "a network namespace" if has_own_network else "an audit hook",
        limits,
    )


def confine_child() -> None:
    """In a process that a confined one has started: the kernel's part is inherited, the audit hook is not."""
    rules = _told()
    if rules is not None and rules.hook:
        hook.install(_reads(rules), _writes(rules), signals=not rules.processes)


def _told() -> Confinement | None:
    text = os.environ.get(CONFINEMENT)
    return None if text is None else msgspec.json.decode(text, type=Confinement)


def _reads(rules: Confinement) -> list[str]:
    own = [path for path in (sys.prefix, sys.base_prefix, sys.exec_prefix, *sys.path) if os.path.isabs(path)]
    package = str(Path(__file__).resolve().parent.parent)
    return [*dict.fromkeys([*own, package, *_SYSTEM, *rules.reads])]


def _writes(rules: Confinement) -> list[str]:
    return [*rules.writes, os.devnull, *([_SHARED] if rules.processes else [])]


def _executes() -> list[str]:
    """The interpreter, and the loader of programs, which is a program too."""
    return [os.path.realpath(sys.executable), "/lib", "/lib64", "/usr/lib", "/usr/lib64"]


def _leave_network(with_processes: bool) -> bool:
    """Whether this process is now in a network without anything in it, and has its own shared memory if it needs any.

    That takes a user namespace, which also takes away root's power over the rest of the system; where there may be
    none, root can do without.
    """
    if sys.platform != "linux":
        return False
    library = ctypes.CDLL(None, use_errno=True)
    wanted = _NEW_NETWORK | (_NEW_FILESYSTEMS if with_processes else 0)
    user, group = os.geteuid(), os.getegid()
    try:
        if library.unshare(wanted | _NEW_USER) == 0:
            for name, text in (
                ("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1"),
            ):  # fmt: skip
                with suppress(OSError):  # then the user has no name in there, and still the same rights to files
                    Path(f"/proc/self/{name}").write_text(text)
        elif library.unshare(wanted) != 0:
            return False
        if with_processes and library.mount(b"none", b"/", None, _PRIVATE, None) == 0:
            library.mount(b"tmpfs", _SHARED.encode(), b"tmpfs", 0, b"size=64m")  # else it is the system's
    except AttributeError:  # a C library without them
        return False
    return True


def _limit(rules: Confinement) -> tuple[str, ...]:
    """Set the limits; those that this system has."""
    try:
        import resource
    except ImportError:
        return ()
    held = []
    wanted = {"RLIMIT_AS": rules.memory_bytes, "RLIMIT_CPU": rules.cpu_s}
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for name, most in wanted.items():
        kind = getattr(resource, name, None)
        if kind is None or not most:
            continue
        _, above = resource.getrlimit(kind)
        # A little above the limit of time, or the kernel kills at once instead of saying why.
        hard = most + (_GRACE_S if name == "RLIMIT_CPU" else 0)
        hard = hard if above == resource.RLIM_INFINITY else min(hard, above)
        with suppress(OSError, ValueError):
            resource.setrlimit(kind, (min(most, hard), hard))
            held.append({"RLIMIT_AS": "memory", "RLIMIT_CPU": "time"}[name])
    return tuple(held)
