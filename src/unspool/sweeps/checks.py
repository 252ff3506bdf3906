"""Names and texts of a grid that no run could use, found before the first run is made.

What depends on other settings, on files or on modules of somebody's own is left to the run, whose row says why it
failed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from unspool.errors import InputError, UnknownName, shown
from unspool.model.outages import Failures, OnLoss
from unspool.model.platform import SELECTIONS
from unspool.platforms.cluster import is_spec, parse_cluster
from unspool.plugins import build_built_in
from unspool.sweeps.settings import PARAMETERS, RunSettings, parameters_of, policy_of
from unspool.trust import foreign
from unspool.workloads.clock import window_edges

__all__ = ["check_names"]

Settings = Mapping[str, Any]
_POLICY = "policy"


def check_names(common: Settings, first: Settings, sets: Sequence[Settings]) -> None:
    """Refuse what is wrong in itself in what all runs have, or in one of the sets that differ.

    `first` are the settings of one whole run: a policy or parameter that needs others is tried beside those.

    >>> check_names({}, {"policy": "easy"}, [{"policy": "easy"}, {"policy": "eassy"}])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    unspool.errors.InputError: key policy: unknown scheduler 'eassy'; did you mean 'easy'? Known: ...
    """
    for each in (common, *sets):
        for key, check in _TEXTS.items():
            if each.get(key) is not None:
                _told(key, check, each[key])
    policies = [each[_POLICY] for each in (common, *sets) if each.get(_POLICY) is not None]
    if not policies and first.get("config") is None:
        policies = ["easy"]  # else it is the placement that the configuration names
    for each in (common, *sets):
        _check_policy(each, common, first, policies)


def _told(key: str, check: Callable[[Any], object], value: Any) -> None:
    try:
        check(value)
    except InputError as error:
        raise InputError(f"key {key}: {error}") from error


def _platform(value: str | int) -> None:
    if is_spec(str(value)):
        parse_cluster(str(value))


def _selection(value: str) -> None:
    if value not in SELECTIONS:
        raise UnknownName("machine selection", value, SELECTIONS)


def _outages(value: str) -> None:
    if "=" in value:
        Failures.parse(value)


_TEXTS: Mapping[str, Callable[[Any], object]] = {
    "platform": _platform, "selection": _selection, "outages": _outages, "on_loss": OnLoss.parse,
    "window": window_edges,
}  # fmt: skip


def _check_policy(each: Settings, common: Settings, first: Settings, policies: Sequence[str]) -> None:
    """Refuse a policy, or parameters, that cannot be made with any of the policies and beside any of the others."""
    own = parameters_of(each)
    names = [each[_POLICY]] if each.get(_POLICY) is not None else policies if own else []
    errors: list[InputError] = []
    for name in names:
        for beside in ({}, parameters_of(common), parameters_of(first)):
            error = _cannot_be_made(policy_of(RunSettings(policy=name, parameters={**beside, **own}), name))
            if error is None:
                return
            errors.append(error)
    if errors:
        # A policy that does not take the parameter says less than one that takes it and does not know its value.
        told = next((error for error in errors if isinstance(error, UnknownName)), errors[0])
        key = _POLICY if each.get(_POLICY) is not None else f"{PARAMETERS}{shown(next(iter(own)))}"
        raise InputError(f"key {key}: {told}") from told


def _cannot_be_made(text: str) -> InputError | None:
    """Why a policy cannot be made, wherever that is tried; modules and files of somebody's own are not loaded here."""
    if foreign("schedulers", text):
        return None
    try:
        build_built_in("schedulers", text)
    except InputError as error:
        return None if _needs_a_package(error) else error
    return None


def _needs_a_package(error: BaseException | None) -> bool:
    """Whether something is not installed here, which it may be where runs are made."""
    while error is not None:
        if isinstance(error, ImportError):
            return True
        error = error.__cause__
    return False
