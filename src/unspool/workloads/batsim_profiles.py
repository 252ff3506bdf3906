"""The profiles of a Batsim workload: version 4's types, version 5's, and the names before version 3.

Rules of values: `spec/batsim.md` B1.4 and B1.6, after Batsim v4.2.1 and v5.0.0-rc2.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

from unspool.confinement.roots import readable
from unspool.errors import UnknownName
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
)  # fmt: skip
from unspool.units import counted
from unspool.workloads.batsim_fields import MOST_TIME, Fields, told
from unspool.workloads.batsim_positions import Problems

__all__ = ["VERSION_5", "read_profiles"]

_AMOUNT = "a number, 0 or more"
_AMOUNTS = "an array of one number or more, each 0 or more"
_PAUSE = "seconds, more than 0"
_NAME = "the name of a profile"
_SEQ = "an array of one name of a profile or more"
_STRATEGIES = {"DefinedAmountsUsedForEachValue": False, "DefinedAmountsSpreadUniformly": True}
_TRACES = {"SMPI": "smpi", "FractionalComputation": "usage"}
_MOST = 2**31 - 1


def read_profiles(given: Mapping[str, Any], folder: str, problems: Problems) -> dict[str, Profile]:
    """The profiles that can be read; what is wrong with the others goes to `problems`. Traces lie in the folder."""
    profiles: dict[str, Profile] = {}
    for name, fields in given.items():
        # Most are plain delays, and a file may have one for each of a million jobs.
        if type(fields) is dict and len(fields) == 2 and fields.get("type") == "delay":
            seconds = fields.get("delay")
            if type(seconds) in (int, float) and 0 < seconds <= MOST_TIME:  # type: ignore[operator]
                profiles[name] = Delay(float(seconds))  # type: ignore[arg-type]
                continue
        profile = _profile(name, fields, folder, problems)
        if profile is not None:
            profiles[name] = profile
    return profiles


def _profile(name: str, given: Any, folder: str, problems: Problems) -> Profile | None:
    if not isinstance(given, dict):
        problems.of_profile(name, None, f"is {told(given)}; expected an object")
        return None
    fields = Fields(given, partial(problems.of_profile, name))
    kind = fields.text("type", "a type such as delay")
    if not fields.good:
        return None
    if kind not in _READERS:
        fields.complain("type", str(UnknownName("profile type", kind, {**_VERSION_4, **VERSION_5})))
        return None
    profile = _READERS[kind](fields, folder)
    code = fields.whole("ret", "a whole number, 0 or more", least=0, most=_MOST, default=0)
    if not fields.good or profile is None:
        return None
    if code or fields.rest:
        return replace(profile, code=code, details=MappingProxyType(fields.rest))
    return profile


def _delay(fields: Fields, _: str) -> Profile:
    seconds = fields.number("delay", f"seconds, more than 0 and up to {MOST_TIME:g}", above=0.0)
    if seconds > MOST_TIME:
        fields.complain("delay", f"delay is {seconds:g}; expected seconds, up to {MOST_TIME:g}")
    return Delay(seconds)


def _task(fields: Fields, _: str, *, needs_both: bool) -> Profile | None:
    if not needs_both and not (fields.has("cpu") or fields.has("com")):
        fields.complain("cpu", "neither cpu nor com; expected one of them or both")
        return None
    cpu = fields.numbers("cpu", _AMOUNTS) if needs_both or fields.has("cpu") else None
    com = fields.numbers("com", _AMOUNTS) if needs_both or fields.has("com") else None
    if not fields.good:
        return None
    size = len(cpu) if cpu is not None else math.isqrt(len(com or ()))
    if com is not None and len(com) != size**2:
        expected = f"{size**2}, for the {size} of cpu" if cpu is not None else "a square number, one for each pair"
        fields.complain("com", f"com has {counted(len(com), 'value')}; expected {expected}")
    return Task(cpu or (0.0,) * size, com or (0.0,) * size**2)


def _homogeneous(fields: Fields, _: str, *, spread: str | None) -> Profile:
    cpu, com = fields.number("cpu", _AMOUNT), fields.number("com", _AMOUNT)
    if spread is None:
        spread = "total" if _is_spread(fields) else "each"
    return HomogeneousTask(cpu, com, spread)


def _is_spread(fields: Fields) -> bool:
    strategy = fields.text("generation_strategy", " or ".join(_STRATEGIES), next(iter(_STRATEGIES)))
    if strategy not in _STRATEGIES and fields.good:
        fields.complain("generation_strategy", str(UnknownName("generation_strategy", strategy, _STRATEGIES)))
    return _STRATEGIES.get(strategy, False)


def _sequence(fields: Fields, _: str) -> Profile:
    repeat = fields.whole("repeat", "a whole number, 1 or more", least=1, most=_MOST, default=1)
    return Sequence(fields.names("seq", _SEQ), repeat)


def _fork_join(fields: Fields, _: str) -> Profile:
    return ForkJoin(fields.names("seq", _SEQ))


def _merge(fields: Fields, _: str) -> Profile:
    return Merge(fields.names("seq", _SEQ))


def _storage(fields: Fields, _: str, *, may_spread: bool) -> Profile:
    if not (fields.has("bytes_to_read") or fields.has("bytes_to_write")):
        fields.complain("bytes_to_read", "neither bytes_to_read nor bytes_to_write; expected one of them or both")
    read = fields.number("bytes_to_read", _AMOUNT, default=0.0)
    written = fields.number("bytes_to_write", _AMOUNT, default=0.0)
    name = "storage" if fields.has("storage") or not fields.has("host") else "host"
    storage = fields.text(name, "the label of a storage", "pfs")
    return StorageTask(read, written, storage, _is_spread(fields) if may_spread else False)


def _staging(fields: Fields, _: str) -> Profile:
    size = fields.number("nb_bytes", _AMOUNT)
    source, target = (fields.text(name, "the label of a storage") for name in ("from", "to"))
    return Staging(size, source, target)


def _trace(fields: Fields, folder: str, *, kind: str | None) -> Profile | None:
    field = "trace"
    if kind is None:
        given = fields.text("trace_type", " or ".join(_TRACES))
        if fields.good and given not in _TRACES:
            fields.complain("trace_type", str(UnknownName("trace_type", given, _TRACES)))
        kind = _TRACES.get(given, "")
        # Version 5 reads `filename`; its own page, and one of its files, say `trace`.
        field = "trace" if fields.has("trace") and not fields.has("filename") else "filename"
    name = fields.text(field, "the name of a file, from the folder of the workload")
    path = os.path.normpath(os.path.join(folder, name))
    if name and not os.path.isfile(readable(path)):
        fields.complain(field, f"{field} is {told(name)}, but there is no file {path}; check the path")
    return Trace(kind, path)


def _send(fields: Fields, _: str) -> Profile:
    message = fields.mapping("msg", "an object, which is the message")
    pause = fields.number("sleeptime", _PAUSE, above=0.0, default=1e-7)
    return Send(MappingProxyType(dict(message)), pause)


def _receive(fields: Fields, _: str) -> Profile:
    pattern = fields.text("regex", "a regular expression", ".*")
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        fields.complain("regex", f"regex is {told(pattern)}, which is no regular expression ({error})")
    success, failure, timeout = (
        fields.text(name, _NAME) if fields.has(name) else None for name in ("success", "failure", "timeout")
    )
    return Receive(pattern, success, failure, timeout, fields.number("polltime", _PAUSE, above=0.0, default=0.005))


VERSION_5: Mapping[str, Callable[[Fields, str], Profile | None]] = {
    "DelayProfile": _delay,
    "ParallelTaskProfile": partial(_task, needs_both=False),
    "ParallelTaskHomogeneousProfile": partial(_homogeneous, spread=None),
    "SequentialCompositionProfile": _sequence,
    "ForkJoinCompositionProfile": _fork_join,
    "ParallelTaskMergeCompositionProfile": _merge,
    "ParallelTaskOnStorageHomogeneousProfile": partial(_storage, may_spread=True),
    "ParallelTaskDataStagingBetweenStoragesProfile": _staging,
    "TraceReplayProfile": partial(_trace, kind=None),
}
"""The types that only Batsim 5 has."""

_VERSION_4: Mapping[str, Callable[[Fields, str], Profile | None]] = {
    "delay": _delay,
    "parallel": partial(_task, needs_both=True),
    "parallel_homogeneous": partial(_homogeneous, spread="each"),
    "parallel_homogeneous_total": partial(_homogeneous, spread="total-v4"),
    "composed": _sequence,
    "parallel_homogeneous_pfs": partial(_storage, may_spread=False),
    "data_staging": _staging,
    "smpi": partial(_trace, kind="smpi"),
    "usage_trace": partial(_trace, kind="usage"),
    "send": _send,
    "recv": _receive,
}

# The names before version 3; and one that a file of version 5's own tests still has from before its release.
_OTHER_NAMES = {
    "msg_par": "parallel",
    "msg_par_hg": "parallel_homogeneous",
    "msg_par_hg_tot": "parallel_homogeneous_total",
    "msg_par_hg_pfs": "parallel_homogeneous_pfs",
    "ptask_homogeneous": "parallel_homogeneous",
}

_READERS: Mapping[str, Callable[[Fields, str], Profile | None]] = {
    **_VERSION_4,
    **VERSION_5,
    **{old: _VERSION_4[new] for old, new in _OTHER_NAMES.items()},
}
