"""Options of Batsim for a scheduler that is another program; and those whose part is not here, which say so."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Group, Parameter

from unspool.errors import InputError
from unspool.faces.batsim.protocol.begins import Terms
from unspool.faces.batsim.protocol.outside import ENDPOINT, Outside

__all__ = ["Others", "Socket", "context_of", "outside_of", "refuse_others"]

_GROUP = Group("Options of Batsim that are not here yet", sort_key=9)
_OUTSIDE = Group("A scheduler that is another program", sort_key=5)


def _named(*names: str, help: str, group: Group = _GROUP) -> Parameter:
    return Parameter(name=names, negative=(), show_default=False, group=group, help=help)


def _asked(*names: str, help: str) -> Parameter:
    return _named(*names, help=help, group=_OUTSIDE)


@dataclass(frozen=True)
class Socket:
    """Options for a scheduler that speaks Batsim's protocol, version 4, over ZeroMQ."""

    socket_endpoint: Annotated[
        str | None,
        _asked("--socket-endpoint", "-s", help="Where it listens, as in tcp://localhost:28000: pybatsim, batsched."),
    ] = None
    start_scheduler: Annotated[
        str | None,
        _asked("--start-scheduler", help="Start this command, with -s and a free endpoint behind it, and end it."),
    ] = None
    socket_timeout: Annotated[
        float, _asked("--socket-timeout", "--scheduler-timeout", help="Seconds that it may be silent. Default: 60.")
    ] = 60.0
    sched_cfg: Annotated[str | None, _asked("--sched-cfg", help="A text for it.")] = None
    sched_cfg_file: Annotated[str | None, _asked("--sched-cfg-file", help="A file with a text for it.")] = None
    forward_profiles_on_submission: Annotated[
        bool, _asked("--forward-profiles-on-submission", help="Tell it the profiles of jobs with the jobs.")
    ] = False
    enable_dynamic_jobs: Annotated[
        bool, _asked("--enable-dynamic-jobs", help="It may register jobs and profiles, and must say when it is done.")
    ] = False
    acknowledge_dynamic_jobs: Annotated[
        bool, _asked("--acknowledge-dynamic-jobs", help="Jobs that it registers are told back to it.")
    ] = False
    enable_profile_reuse: Annotated[
        bool, _asked("--enable-profile-reuse", help="Profiles outlive their jobs. Needs --enable-dynamic-jobs.")
    ] = False
    disable_storage_sharing: Annotated[
        bool, _asked("--disable-storage-sharing", help="Tell it that storages are not shared.")
    ] = False


@dataclass(frozen=True)
class Others:
    """The options, each None or False where it was not given."""

    sg_log: Annotated[list[str] | None, _named("--sg-log", help="What SimGrid logs.")] = None
    simgrid_version: Annotated[bool, _named("--simgrid-version", help="The version of SimGrid.")] = False
    enable_redis: Annotated[bool, _named("--enable-redis", help="Jobs through Redis; not supported.")] = False
    redis_hostname: Annotated[str | None, _named("--redis-hostname", help="Its host.")] = None
    redis_port: Annotated[int | None, _named("--redis-port", help="Its port.")] = None
    redis_prefix: Annotated[str | None, _named("--redis-prefix", help="Its prefix of keys.")] = None


_WHY: dict[str, str] = {
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


def outside_of(given: Socket, policy: str | None) -> Outside | None:
    """Where the scheduler is that options name, or None where they name none."""
    if given.socket_endpoint is None and given.start_scheduler is None:
        for option in fields(given):
            if getattr(given, option.name) != option.default:
                raise InputError(
                    f"--{option.name.replace('_', '-')} is for a scheduler that is another program; name it with -s, "
                    "or start it with --start-scheduler"
                )
        return None
    if given.socket_endpoint is not None and given.start_scheduler is not None:
        raise InputError("-s and --start-scheduler: give one; what is started listens where it is told to")
    if policy is not None:
        raise InputError(f"--policy {policy}: the scheduler is another program; leave out --policy, or that one")
    if not given.socket_timeout > 0.0:
        raise InputError(f"--socket-timeout is {given.socket_timeout:g}; expected seconds, more than 0")
    if given.enable_profile_reuse and not given.enable_dynamic_jobs:
        raise InputError("--enable-profile-reuse: without --enable-dynamic-jobs no job could use a profile again")
    if given.acknowledge_dynamic_jobs and not given.enable_dynamic_jobs:
        raise InputError("--acknowledge-dynamic-jobs: without --enable-dynamic-jobs there are none")
    terms = Terms(
        forward_profiles_on_submission=given.forward_profiles_on_submission,
        enable_dynamic_jobs=given.enable_dynamic_jobs,
        acknowledge_dynamic_jobs=given.acknowledge_dynamic_jobs,
        enable_profile_reuse=given.enable_profile_reuse,
        shares_storages=not given.disable_storage_sharing,
        sched_config=_sched_config(given),
    )
    return Outside(given.socket_endpoint or ENDPOINT, given.start_scheduler, given.socket_timeout, terms)


def _sched_config(given: Socket) -> str:
    if given.sched_cfg is not None and given.sched_cfg_file is not None:
        raise InputError("--sched-cfg and --sched-cfg-file: give one of them")
    if given.sched_cfg_file is None:
        return given.sched_cfg or ""
    try:
        return Path(given.sched_cfg_file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--sched-cfg-file {given.sched_cfg_file}: cannot be read: {error}") from error


def context_of(given: Others, socket: Socket, export: str) -> dict[str, Any]:
    """What runners of experiments ask Batsim for before they start it."""
    return {
        "socket_endpoint": socket.socket_endpoint or ENDPOINT,
        "redis_enabled": given.enable_redis,
        "redis_hostname": given.redis_hostname or "127.0.0.1",
        "redis_port": given.redis_port or 6379,
        "redis_prefix": given.redis_prefix or "default",
        "export_prefix": export,
        "external_scheduler": socket.socket_endpoint is not None,
    }
