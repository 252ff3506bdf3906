"""Options of Batsim whose part is not here, or not yet: each is known by its name, and says so."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any

from cyclopts import Group, Parameter

from unspool.errors import InputError

__all__ = ["Others", "context_of", "refuse_others"]

_GROUP = Group("Options of Batsim that are not here yet", sort_key=9)
_SOCKET = "schedulers over a socket are not built yet: name one that is built in, or your own, with --policy"


def _named(*names: str, help: str) -> Parameter:
    return Parameter(name=names, negative=(), show_default=False, group=_GROUP, help=help)


@dataclass(frozen=True)
class Others:
    """The options, each None or False where it was not given."""

    socket_endpoint: Annotated[
        str | None, _named("--socket-endpoint", "-s", help="Where a scheduler of its own listens.")
    ] = None
    sched_cfg: Annotated[str | None, _named("--sched-cfg", help="A text for that scheduler.")] = None
    sched_cfg_file: Annotated[str | None, _named("--sched-cfg-file", help="A file for it.")] = None
    forward_profiles_on_submission: Annotated[
        bool, _named("--forward-profiles-on-submission", help="Tell it the profiles of jobs.")
    ] = False
    enable_dynamic_jobs: Annotated[bool, _named("--enable-dynamic-jobs", help="It may submit jobs.")] = False
    acknowledge_dynamic_jobs: Annotated[bool, _named("--acknowledge-dynamic-jobs", help="And is told of them.")] = False
    enable_profile_reuse: Annotated[bool, _named("--enable-profile-reuse", help="Profiles outlive their jobs.")] = False
    disable_storage_sharing: Annotated[
        bool, _named("--disable-storage-sharing", help="One job at a time on a storage.")
    ] = False
    sg_log: Annotated[list[str] | None, _named("--sg-log", help="What SimGrid logs.")] = None
    simgrid_version: Annotated[bool, _named("--simgrid-version", help="The version of SimGrid.")] = False
    enable_redis: Annotated[bool, _named("--enable-redis", help="Jobs through Redis; not supported.")] = False
    redis_hostname: Annotated[str | None, _named("--redis-hostname", help="Its host.")] = None
    redis_port: Annotated[int | None, _named("--redis-port", help="Its port.")] = None
    redis_prefix: Annotated[str | None, _named("--redis-prefix", help="Its prefix of keys.")] = None


_WHY: dict[str, str] = {
    "socket_endpoint": _SOCKET,
    "sched_cfg": f"{_SOCKET}, with its parameters as in easy:order=sjf",
    "sched_cfg_file": f"{_SOCKET}, with its parameters as in easy:order=sjf",
    "forward_profiles_on_submission": _SOCKET,
    "enable_dynamic_jobs": _SOCKET,
    "acknowledge_dynamic_jobs": _SOCKET,
    "enable_profile_reuse": "profiles are reused by jobs that a scheduler submits (--enable-dynamic-jobs), and "
    "schedulers over a socket are not built yet",
    "disable_storage_sharing": "a storage that serves one job at a time is not built yet: leave it out",
    "sg_log": "SimGrid is not used here, and logs nothing: leave it out",
    "simgrid_version": "SimGrid is not used here, so that it has no version",
    **dict.fromkeys(
        ("enable_redis", "redis_hostname", "redis_port", "redis_prefix"),
        "Redis is not supported: schedulers are told of jobs directly",
    ),
}


def refuse_others(given: Others) -> None:
    """Complain of the first that was given."""
    for option in fields(given):
        if getattr(given, option.name) not in (None, False):
            raise InputError(f"--{option.name.replace('_', '-')}: {_WHY[option.name]}")


def context_of(given: Others, export: str, *, is_external: bool) -> dict[str, Any]:
    """What runners of experiments ask Batsim for before they start it."""
    return {
        "socket_endpoint": given.socket_endpoint or "tcp://localhost:28000",
        "redis_enabled": given.enable_redis,
        "redis_hostname": given.redis_hostname or "127.0.0.1",
        "redis_port": given.redis_port or 6379,
        "redis_prefix": given.redis_prefix or "default",
        "export_prefix": export,
        "external_scheduler": is_external,
    }
