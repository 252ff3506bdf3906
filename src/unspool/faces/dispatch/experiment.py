"""The experiment file: a YAML file of components, in both dialects of Simdex (spec dispatch A2, B3)."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from unspool.errors import InputError, UnknownName, UnspoolError, shown
from unspool.faces.dispatch.drive import Parts
from unspool.faces.dispatch.loading import check_interface, find_class, foreign_of, made, told
from unspool.faces.dispatch.modules import files_beside
from unspool.faces.dispatch.names import KINDS
from unspool.faces.dispatch.predictors import Adapted
from unspool.faces.dispatch.simdex import RefJob
from unspool.platforms.documents import parse_yaml, read_settings
from unspool.trust import Foreign

__all__ = ["COMPATS", "Experiment", "read_experiment"]

COMPATS = ("none", "original", "fork")
_KEYS = (
    "workers", "dispatcher", "duration_predictor", "worker_selector", "sa_strategy", "period", "metrics",
    "output_folder", "inference_batch_size", "compat",
)  # fmt: skip
_EXPECTED = "expected an experiment such as docs/reference/experiment.md shows"
_REFS, _CONVERTERS = "@@ref_jobs", "@@hash_converters"
_NUMBERS = {
    "limit-min", "limit-max", "aggression", "watts_busy", "watts_idle", "watts_boot", "watts_off",
}  # fmt: skip
_MOST_WORKERS = 100_000


@dataclass(frozen=True)
class Experiment:
    """What an experiment file says; `parts` makes its components, anew each time."""

    path: Path
    workers: tuple[Mapping[str, Any], ...]
    period_s: float
    compat: str
    content: Mapping[str, Any]
    lines: Mapping[str, int]
    output_folder: str | None = None
    notes: tuple[str, ...] = field(default=())

    def where(self, key: str, at: int | None = None) -> str:
        """A place in the file, for complaints."""
        name = key if at is None else f"{key}[{at}]"
        line = self.lines.get(name) or self.lines.get(key)
        return f"{self.path}, line {line}, key {name}" if line else f"{self.path}, key {name}"

    def named(self) -> Iterator[tuple[str, str]]:
        """The key and the name of each component."""
        return ((key, name) for key, name, _, _ in self._components())

    def _components(self) -> Iterator[tuple[str, str, Any, str]]:
        """The key, the name and the arguments of each component, and where it is."""
        for key in KINDS:
            given = self.content.get(key)
            for at, item in enumerate(given or [] if key == "metrics" else [given] if given is not None else []):
                where = self.where(key, at if key == "metrics" else None)
                yield key, *_component(item, where), where

    def foreign(self) -> list[tuple[str, str, Foreign]]:
        """Where, by which name, and what components load beside our code, or write; nothing is imported for that.

        A component that there is not is an error.
        """
        folder = self.path.resolve().parent
        return [
            (where, name, found)
            for key, name, arguments, where in self._components()
            for found in foreign_of(key, name, arguments, folder, where)
        ]

    @property
    def is_fork(self) -> bool:
        """Whether components are made as the fork makes them."""
        return self.compat == "fork" or (self.compat == "none" and "sa_strategy" not in self.content)

    def parts(self, refs: list[RefJob] | None = None, converters: Mapping[str, Any] | None = None) -> Parts:
        """The components, each held against its interface; `refs` and `converters` are what is injected."""
        with files_beside(self.path.resolve().parent):
            return self._parts(refs, converters)

    def _parts(self, refs: list[RefJob] | None, converters: Mapping[str, Any] | None) -> Parts:
        given = {_REFS: refs, _CONVERTERS: dict(converters) if converters else None}
        injected = {"ref_jobs": refs, "hash_converters": converters, "output_folder": self.output_folder, "args": {}}
        configuration = {**self.content, **injected}
        metrics = [
            self._made("metrics", item, given, configuration, at)
            for at, item in enumerate(self.content.get("metrics") or [])
        ]
        others = {
            key: self._made(key, self.content[key], given, configuration)
            for key in ("dispatcher", "sa_strategy", "duration_predictor", "worker_selector")
            if self.content.get(key) is not None
        }
        parts = Parts(
            others["dispatcher"], metrics, others.get("sa_strategy"), others.get("duration_predictor"),
            others.get("worker_selector"),
        )  # fmt: skip
        try:
            self._check_needs(parts)
        except UnspoolError:
            raise
        # A component of somebody else's may raise anything when it is asked.
        except Exception as error:
            raise InputError(f"{self.where('dispatcher')}: {told(error, self.path.parent)}") from error
        return parts

    def _made(
        self, key: str, item: Any, given: Mapping[str, Any], configuration: Mapping[str, Any], at: int | None = None
    ) -> Any:
        where = self.where(key, at)
        name, arguments = _component(item, where)
        if given[_REFS] is None and _REFS in _values(arguments):
            raise InputError(f"{where}: args ask for {_REFS}, and there are no reference runs; give --refs")
        folder = self.path.resolve().parent
        found, _ = find_class(key, name, folder, where)
        part = made(found, _injected(arguments, given), configuration, where, folder, fork=self.is_fork)
        if hasattr(found, "compat") and found.__module__.startswith("unspool."):
            part.compat = self.compat
        if key == "duration_predictor" and not hasattr(part, "predict_duration") and hasattr(part, "predict_one"):
            part = Adapted(part)
        check_interface(part, key, where)
        return part

    def _check_needs(self, parts: Parts) -> None:
        present = {"duration_predictor": parts.predictor, "worker_selector": parts.selector}
        for key in getattr(parts.dispatcher, "needs", ()):
            if present.get(key) is None:
                raise InputError(f"{self.where('dispatcher')}: this dispatcher needs the key {key}, which is missing")
        method, usual = getattr(parts.strategy, "needs_of_dispatcher", ("dispatch", ""))
        if not hasattr(parts.dispatcher, method) and self.compat != "fork":
            raise InputError(
                f"{self.where('sa_strategy')}: this strategy needs the dispatcher {usual}, or one with {method}(job)"
            )
        self._serve_quantile(parts)
        if getattr(parts.dispatcher, "is_late", False) and self.compat != "none":
            raise InputError(
                f"{self.where('dispatcher')}: a dispatcher that binds late needs to hear of every finish at once, "
                f"which compat: {self.compat} does not tell; leave compat out"
            )

    def _serve_quantile(self, parts: Parts) -> None:
        """Let the predictor know of a quantile that the dispatcher will ask for."""
        quantile = getattr(parts.dispatcher, "needs_quantile", None)
        if quantile is None:
            return
        if parts.predictor is None:
            raise InputError(f"{self.where('dispatcher')}: quantile is {quantile}; give a duration_predictor too")
        if not all(hasattr(parts.predictor, method) for method in ("serve_quantile", "predict_quantile")):
            name, _ = _component(self.content["duration_predictor"], self.where("duration_predictor"))
            raise InputError(
                f"{self.where('dispatcher')}: quantile is {quantile}, and the duration predictor {name} tells no "
                "quantiles; take statistics, boosting, linear, quantile, network or embedding, or leave quantile out"
            )
        parts.predictor.serve_quantile(quantile)


def read_experiment(path: str | os.PathLike[str], *, compat: str | None = None) -> Experiment:
    """Read and check an experiment file; `compat` goes before the one that the file says.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "two.yaml")
    ...     _ = file.write_text("workers: 2\\ndispatcher: shortest-queue\\nmetrics: [delay]\\n")
    ...     experiment = read_experiment(file)
    >>> experiment.workers, experiment.period_s, experiment.compat
    (({'active': True}, {'active': True}), 60.0, 'none')
    """
    file = Path(path)
    content, lines = _loaded(file)
    where = str(file)
    if not isinstance(content, dict):
        raise InputError(f"{where}: no keys in it; {_EXPECTED}")
    if not all(isinstance(key, str) for key in content):
        raise InputError(f"{where}: a key is no text; {_EXPECTED}")
    chosen = compat if compat is not None else content.get("compat", "none")
    if chosen not in COMPATS:
        raise InputError(f"{_at(file, lines, 'compat')}: {UnknownName('compat', str(chosen), COMPATS)}")
    for key in ("workers", "dispatcher"):
        if content.get(key) is None:
            raise InputError(f"{where}: the key {key} is missing; {_EXPECTED}")
    batch = content.get("inference_batch_size", 1)
    if isinstance(batch, bool) or not isinstance(batch, int) or batch < 1:
        raise InputError(
            f"{_at(file, lines, 'inference_batch_size')}: {shown(str(batch))}; expected a number, 1 or more"
        )
    if not isinstance(content.get("metrics") or [], list):
        raise InputError(f"{_at(file, lines, 'metrics')}: expected a list of components")
    notes = [f"{_at(file, lines, key)}: not known and not used" for key in content if key not in _KEYS]
    if chosen == "fork" and content.get("sa_strategy") is not None:
        notes.append(f"{_at(file, lines, 'sa_strategy')}: the fork has no strategies, so it is not used")
    return Experiment(
        path=file,
        workers=_workers(content["workers"], chosen, file, lines),
        period_s=_period(content.get("period", 60.0), _at(file, lines, "period")),
        compat=chosen,
        content=content,
        lines=lines,
        output_folder=_output_folder(content.get("output_folder"), _at(file, lines, "output_folder")),
        notes=tuple(notes),
    )


def _loaded(file: Path) -> tuple[Any, dict[str, int]]:
    """The content of a file, and the line of each key and of each entry of its lists."""
    text = read_settings(file, "yaml_bytes", _EXPECTED)
    try:
        content = parse_yaml(text)
        node = YAML(typ="rt", pure=True).compose(text)
    # The parser raises whatever it stumbles over: its own errors, ValueError, RecursionError, KeyError.
    except Exception as error:
        mark = getattr(error, "problem_mark", None)
        told = f"{getattr(error, 'problem', '')}" if isinstance(error, YAMLError) and mark else str(error)
        line = f", line {mark.line + 1}" if mark else ""
        raise InputError(f"{file}{line}: not valid YAML: {shown(' '.join(told.split()), 200)}") from error
    return content, _lines(node)


def _lines(node: Any) -> dict[str, int]:
    lines: dict[str, int] = {}
    pairs = node.value if node is not None and isinstance(node.value, list) else []
    for pair in pairs:
        if not isinstance(pair, tuple):
            break
        key, value = pair
        lines[str(key.value)] = key.start_mark.line + 1
        if isinstance(value.value, list):
            for at, item in enumerate(value.value):
                if not isinstance(item, tuple):
                    lines[f"{key.value}[{at}]"] = item.start_mark.line + 1
    return lines


def _at(file: Path, lines: Mapping[str, int], key: str) -> str:
    return f"{file}, line {lines[key]}, key {key}" if key in lines else f"{file}, key {key}"


def _output_folder(value: Any, where: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise InputError(f"{where}: {shown(str(value))} is no folder; expected a text")
    return value


def _period(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise InputError(f"{where}: {shown(str(value))} is no period; expected seconds, more than 0")
    return float(value)


def _workers(given: Any, compat: str, file: Path, lines: Mapping[str, int]) -> tuple[Mapping[str, Any], ...]:
    where = _at(file, lines, "workers")
    if isinstance(given, int) and not isinstance(given, bool):
        if not 0 < given <= _MOST_WORKERS:
            raise InputError(f"{where}: {given} workers; expected 1 to {_MOST_WORKERS:,}")
        # In Simdex workers given by number are never active.
        return tuple({"active": True} if compat == "none" else {} for _ in range(given))
    if not isinstance(given, list) or not given:
        raise InputError(f"{where}: expected a number of workers, or a list of their attributes")
    for at, item in enumerate(given):
        place = f"{file}, line {lines.get(f'workers[{at}]', lines['workers'])}, key workers[{at}]"
        if not isinstance(item, dict):
            raise InputError(f"{place}: expected a map of attributes, such as {{active: true, limit: 30}}")
        limit = item.get("limit")
        if limit is not None and not _is_number(limit):
            raise InputError(f"{place}: the limit is {shown(str(limit))}; expected seconds")
        for name in _NUMBERS & item.keys():
            if not _is_number(item[name]):
                raise InputError(f"{place}: {name} is {shown(str(item[name]))}; expected a number")
        if compat == "none" and not isinstance(item.get("active", False), bool):
            raise InputError(f"{place}: active is {shown(str(item['active']))}; expected true or false")
    return tuple(given)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def _component(item: Any, where: str) -> tuple[str, Any]:
    """The name of a component and its arguments."""
    if isinstance(item, str):
        return item, []
    if not isinstance(item, dict) or not isinstance(item.get("class"), str):
        raise InputError(f"{where}: expected the name of a class, or a map of class and args")
    strange = [str(key) for key in item if key not in ("class", "args")]
    if strange:
        raise InputError(f"{where}: {UnknownName('key of a component', strange[0], ('class', 'args'))}")
    arguments = [] if item.get("args") is None else item["args"]
    if not isinstance(arguments, list | dict):
        raise InputError(f"{where}: args is {shown(str(arguments))}; expected a list or a map, [] for none")
    return item["class"], arguments


def _values(arguments: Any) -> list[Any]:
    return list(arguments.values() if isinstance(arguments, dict) else arguments)


def _injected(arguments: Any, given: Mapping[str, Any]) -> Any:
    """The arguments with what `@@…` stands for; only whole arguments are looked at, as in Simdex."""

    def value(argument: Any) -> Any:
        return given[argument] if isinstance(argument, str) and argument in given else argument

    if isinstance(arguments, dict):
        return {key: value(argument) for key, argument in arguments.items()}
    return [value(argument) for argument in arguments]
