"""Names of policies and other parts: a table of our own, then entry points, then `module:Name`.

`build` may import whatever is named; `build_built_in` knows the table alone and can import nothing else. Which of the
two a verb uses, `unspool.trust` explains.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from importlib import import_module, invalidate_caches
from importlib.metadata import entry_points
from inspect import Parameter, Signature, signature
from operator import attrgetter
from typing import Any

from unspool.errors import InputError, UnknownName, UnspoolError

__all__ = [
    "BUILT_IN", "FILES", "PARTS", "available", "build", "build_built_in", "keyed", "load", "load_built_in",
    "load_of_package", "names_a_module", "parameters_of", "parted",
]  # fmt: skip

BUILT_IN: Mapping[str, Mapping[str, str]] = {
    "schedulers": {
        "fcfs": "unspool.policies.schedulers.fcfs:Fcfs",
        "easy": "unspool.policies.schedulers.easy:Easy",
        "conservative": "unspool.policies.schedulers.conservative:Conservative",
        "filler": "unspool.policies.schedulers.filler:Filler",
        "cheapest-fit": "unspool.policies.schedulers.cheapestfit:CheapestFit",
        "largest-size": "unspool.policies.schedulers.largestsize:LargestSize",
        "least-added-cost": "unspool.policies.schedulers.leastaddedcost:LeastAddedCost",
        "sjf": "unspool.policies.schedulers.ordered:Sjf",
        "ljf": "unspool.policies.schedulers.ordered:Ljf",
        "saf": "unspool.policies.schedulers.ordered:Saf",
        "f1": "unspool.policies.schedulers.ordered:F1",
        "f2": "unspool.policies.schedulers.ordered:F2",
        "f3": "unspool.policies.schedulers.ordered:F3",
        "f4": "unspool.policies.schedulers.ordered:F4",
        "wfp3": "unspool.policies.schedulers.ordered:Wfp3",
        "unicef": "unspool.policies.schedulers.ordered:Unicef",
        "multifactor": "unspool.policies.schedulers.ordered:Multifactor",
        "priority": "unspool.policies.schedulers.ordered:Priority",
        "random": "unspool.policies.schedulers.ordered:Random",
        "rl": "unspool.rl.trained:Trained",
    },
    "orders": {
        "fcfs": "unspool.policies.orders:Fcfs",
        "sjf": "unspool.policies.orders:Shortest",
        "ljf": "unspool.policies.orders:Longest",
        "saf": "unspool.policies.orders:Area",
        "f1": "unspool.policies.orders:F1",
        "f2": "unspool.policies.orders:F2",
        "f3": "unspool.policies.orders:F3",
        "f4": "unspool.policies.orders:F4",
        "wfp3": "unspool.policies.orders:Wfp3",
        "unicef": "unspool.policies.orders:Unicef",
        "multifactor": "unspool.policies.orders:Multifactor",
        "priority": "unspool.policies.orders:Priority",
        "random": "unspool.policies.orders:Random",
    },
    "predictors": {
        "last-two": "unspool.policies.predictors.lasttwo:LastTwo",
        "exact": "unspool.policies.predictors.exact:Exact",
        "statistics": "unspool.policies.predictors.statistics:Statistics",
        "scaled": "unspool.policies.predictors.scaled:Scaled",
        "linear": "unspool.policies.predictors.learned:Linear",
        "quantile": "unspool.policies.predictors.learned:Quantile",
        "boosting": "unspool.policies.predictors.learned:Boosting",
        "network": "unspool.policies.predictors.learned:Network",
        "embedding": "unspool.policies.predictors.learned:Embedding",
    },
    "figures": {
        "gantt": "unspool.report.figures.gantt:gantt",
        "busy_machines": "unspool.report.figures.machines:busy_machines",
        "utilisation": "unspool.report.figures.load:utilisation",
        "occupancy": "unspool.report.figures.load:occupancy",
        "queue_length": "unspool.report.figures.load:queue_length",
        "queued_work": "unspool.report.figures.load:queued_work",
        "wait_classes": "unspool.report.figures.waits:wait_classes",
        "wait_ecdf": "unspool.report.figures.waits:wait_ecdf",
        "slowdown_ecdf": "unspool.report.figures.waits:slowdown_ecdf",
        "wait_by_size": "unspool.report.figures.waits:wait_by_size",
        "contention": "unspool.report.figures.contention:contention",
        "slowed_pair": "unspool.report.figures.pair:slowed_pair",
        "link_use": "unspool.report.figures.links:link_use",
        "power": "unspool.report.figures.power:power",
        "busy_difference": "unspool.report.figures.difference:busy_difference",
        "cost_against_wait": "unspool.report.figures.difference:cost_against_wait",
    },
}
"""For each kind of part its names and where they live; a new one is one line here."""

# What a part of each kind has, how that reads, and whether a plain function will do.
_SHAPE = {
    "schedulers": ("decide", "decide(view)", True),
    "orders": ("fixed_part", "a QueueOrder", False),
    "predictors": ("predict_one", "predict_one(job) and learn_one(job, run_time_s)", False),
}

PARTS: Mapping[str, str] = {"order": "orders", "predictor": "predictors"}
"""Parameters of our policies whose value is itself a name, and its kind."""

FILES = ("model", "load")
"""Parameters of our policies whose value is a file of something trained."""

# Parameters that every scheduler takes, because another one does what they say.
_SLEEPING, _SLEEPING_KEYS = "unspool.policies.schedulers.sleeping:Sleeping", ("sleep_after", "power_cap")
_NESTED = re.compile(r"([^()]*)\((.*)\)")  # name(key=value,key=value), the value of a parameter
_BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
_COMMA = re.compile(r",(?![^()]*\))")  # outside parentheses


def available(kind: str) -> dict[str, str]:
    """Every name of a kind and where it comes from; of two with one name ours counts."""
    if kind not in BUILT_IN:
        raise UnknownName("kind of plugin", kind, BUILT_IN)
    return {**_of_packages(kind, tuple(sys.path)), **BUILT_IN[kind]}


@cache
def _of_packages(kind: str, path: tuple[str, ...]) -> dict[str, str]:
    """What packages on a path offer; looked for once, because that reads a file of every package there is."""
    return {point.name: point.value for point in entry_points(group=f"unspool.{kind}")}


def build(kind: str, text: str) -> Any:
    """Make a part from its name, with parameters where given: `easy`, `name:key=value,key=value`, `module:Name`.

    A class that names its `positional` parameter takes that without its key: `rl:model.zip`.
    A part inside a parameter has its own in parentheses: `easy:order=multifactor(age=0,size=0)`. Any scheduler takes
    `sleep_after` and `power_cap` (`unspool.policies.schedulers.sleeping`).
    A class is called with the parameters; a function, which takes none, is returned as it is. A module is also looked
    for in the current folder.
    """
    name, rest = parted(kind, text)
    names = available(kind)
    if name in names:
        found = load_of_package(target := names[name])
    elif names_a_module(name, rest):
        attribute, _, rest = rest.partition(":")
        found = load(target := f"{name}:{attribute}")
    else:
        raise UnknownName(kind.removesuffix("s"), name, names, "or one of your own as module:Name")
    return _part(kind, found, target, parameters_of(keyed(rest, found), text), text)


def build_built_in(kind: str, text: str) -> Any:
    """Make one of our own parts from its name and parameters; nothing of anybody else's is imported or opened.

    >>> build_built_in("schedulers", "easy:order=sjf").queue_order
    Shortest()
    """
    name, rest = parted(kind, text)
    if name not in BUILT_IN[kind]:
        raise UnknownName(kind.removesuffix("s"), name, BUILT_IN[kind])
    target = BUILT_IN[kind][name]
    found = load_built_in(target)
    parameters = parameters_of(keyed(rest, found), text)
    for key in FILES:
        if key in parameters:
            raise InputError(f"'{text}': {key} names a file of something trained, which is not opened here")
    for key, value in parameters.items():
        if key in PARTS and isinstance(value, str):
            parameters[key] = build_built_in(PARTS[key], value)
    return _part(kind, found, target, parameters, text)


def parted(kind: str, text: str) -> tuple[str, str]:
    """The name and what follows it; a part inside a parameter has that in parentheses.

    >>> parted("schedulers", "easy:order=sjf"), parted("orders", "multifactor(age=0)")
    (('easy', 'order=sjf'), ('multifactor', 'age=0'))
    """
    nested = _NESTED.fullmatch(text)
    if nested is not None and kind != "schedulers":
        text = f"{nested[1]}:{nested[2]}"
    name, _, rest = text.partition(":")
    return name, rest


def names_a_module(name: str, rest: str) -> bool:
    """Whether a name that nobody knows reads as `module:Name`."""
    return bool(name and rest) and "=" not in rest.split(":")[0]


def _part(kind: str, found: Any, target: str, parameters: dict[str, Any], text: str) -> Any:
    """What was found, made with its parameters, and held against what a part of this kind must have."""
    sleeping = {key: parameters.pop(key) for key in _SLEEPING_KEYS if kind == "schedulers" and key in parameters}
    more = _SLEEPING_KEYS if kind == "schedulers" else ()
    part = _made(found, parameters, text, more) if isinstance(found, type) else found
    if part is found and parameters:
        raise InputError(f"'{text}': {target} is no class and takes no parameters")
    method, expected, may_be_function = _SHAPE[kind]
    if not ((may_be_function and callable(part)) or hasattr(part, method)):
        raise InputError(f"'{text}': {target} is no {kind.removesuffix('s')}; expected {expected}")
    if kind == "schedulers":
        _refuse_without_view(part, target, text)
    return _made(partial(load_built_in(_SLEEPING), part), sleeping, text) if sleeping else part


def _refuse_without_view(part: Any, target: str, text: str) -> None:
    """Complain of a scheduler that cannot be called as it will be."""
    decide = getattr(part, "decide", part)
    told = _signature_of(decide)
    if told is None:
        return
    try:
        told.bind(None)
    except TypeError:
        name = target.rpartition(":")[2] if decide is part else "decide"
        raise InputError(
            f"'{text}': {name}{told} cannot be called with the view alone; a policy takes one argument, as in "
            f"def {name}({'view' if decide is part else 'self, view'})"
        ) from None


def _signature_of(part: Callable[..., Any]) -> Signature | None:
    """What a function or class takes, or None where it does not tell, as some that are written in C."""
    try:
        return signature(part)
    except (ValueError, TypeError):
        return None


def keyed(text: str, found: Any) -> str:
    """Parameters as text, the first one with the key that it may be given without."""
    positional = getattr(found, "positional", None)
    first = text.partition(",")[0]
    is_bare = bool(first) and not first.partition("=")[0].isidentifier()
    return f"{positional}={text}" if positional and is_bare else text


def load(target: str) -> Any:
    """What `module:Name` stands for; the current folder is looked in first, as `python -m` does."""
    if target.startswith("unspool."):
        return load_built_in(target)
    with _current_folder_first():
        return _loaded(target)


def load_built_in(target: str) -> Any:
    """The same of a target in one of our tables, with no other folder to look in than Python's own.

    >>> load_built_in("antigravity:fly")
    Traceback (most recent call last):
    unspool.errors.InputError: antigravity:fly is not a part of unspool
    """
    module, _, attribute = target.partition(":")
    if not module.startswith("unspool."):
        raise InputError(f"{target} is not a part of unspool")
    if module in sys.modules:
        return attrgetter(attribute)(sys.modules[module])
    return _loaded(target)


def load_of_package(target: str) -> Any:
    """The same of a target that an installed package offers, or of ours: the current folder has no part in it."""
    return _loaded(target) if not target.startswith("unspool.") else load_built_in(target)


def _loaded(target: str) -> Any:
    module, _, attribute = target.partition(":")
    try:
        return attrgetter(attribute)(import_module(module))
    # A module may raise anything while it is imported.
    except (Exception, SystemExit) as error:
        reason = str(error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"
        hint = "; leave .py out" if attribute and module.endswith(".py") else ""
        raise InputError(f"cannot load {attribute} from {module}: {reason}{hint}") from error


@contextmanager
def _current_folder_first() -> Iterator[None]:
    folder = os.getcwd()
    sys.path.insert(0, folder)
    invalidate_caches()
    try:
        yield
    finally:
        with suppress(ValueError):
            sys.path.remove(folder)


def _made(found: Callable[..., Any], parameters: dict[str, Any], text: str, more: Sequence[str] = ()) -> Any:
    """A part with its parameters; `more` are those that are taken too, and by whom is seen to elsewhere."""
    told = _signature_of(found)
    if told is not None:
        _refuse_parameters(told, parameters, text, more)
    try:
        return found(**parameters)
    except UnspoolError:
        raise
    # A class of somebody else's may raise anything while it is made.
    except Exception as error:
        raise InputError(f"'{text}': {type(error).__name__}: {error}") from error


def _refuse_parameters(told: Signature, parameters: Mapping[str, Any], text: str, more: Sequence[str]) -> None:
    """Complain of a parameter that is not known, or that is missing."""
    named = [each for each in told.parameters.values() if each.kind in _BY_NAME]
    known = [*(each.name for each in named), *more]
    takes_any = any(each.kind is Parameter.VAR_KEYWORD for each in told.parameters.values())
    for key in parameters:
        if key not in known and not takes_any:
            if not known:
                raise InputError(f"'{text}': unknown parameter '{key}'; there are none, so leave it out")
            raise InputError(f"'{text}': {UnknownName('parameter', key, known)}")
    for each in named:
        if each.default is Parameter.empty and each.name not in parameters:
            raise InputError(
                f"'{text}': the parameter {each.name} is missing; give it, as in {text}{',' if parameters else ':'}"
                f"{each.name}=VALUE. Known: {', '.join(sorted(known))}"
            )


def parameters_of(text: str, whole: str) -> dict[str, Any]:
    """The parameters of `key=value,key=value`, true and false and numbers as such; `whole` is what a complaint names.

    >>> parameters_of("unit=MB,memory_per_slot=true", "lsf:unit=MB,memory_per_slot=true")
    {'unit': 'MB', 'memory_per_slot': True}
    """
    parameters: dict[str, Any] = {}
    for part in filter(None, _COMMA.split(text)):
        key, equals, value = part.partition("=")
        if not equals or not key.isidentifier():
            raise InputError(f"'{whole}': '{part}' does not read as key=value")
        if key in parameters:
            raise InputError(f"'{whole}': the parameter {key} is given twice; give it once")
        parameters[key] = _value(value)
    return parameters


def _value(text: str) -> bool | int | float | str:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
