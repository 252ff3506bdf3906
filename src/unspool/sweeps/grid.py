"""`GRID.toml`: every run of a sweep, by its number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from os import PathLike
from typing import Any

from unspool.errors import InputError, UnknownName, shown
from unspool.faces.cloud.changes import parse_changes
from unspool.platforms.documents import parse_toml, read_settings
from unspool.sweeps.checks import check_names
from unspool.sweeps.settings import (
    LOG_KEYS,
    MOST_SEED,
    PARTED,
    RunSettings,
    column_of,
    parameters_of,
    policy_of,
    refuse_unknown,
    settings_of,
)  # fmt: skip
from unspool.sweeps.values import Distribution, Range, Values, values_of

__all__ = ["SEED", "Dimension", "Grid", "Objective", "Search", "grid_of", "read_grid"]

SEED = "seed"
_PARTS = ("run", "grid", "paired", "replicas", "over", "search")
_SEARCH = ("trials", "minimise", "maximise", "seed", "at_once")
_USUAL_OVER = (SEED, "window")
_MOST_REPLICAS = 1_000_000
_MOST_RUNS = 10_000_000


@dataclass(frozen=True)
class Dimension:
    """Keys that change together, and their values; `span` is the range that these came from, where they did."""

    name: str
    sets: tuple[Mapping[str, Any], ...]
    span: Range | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """Every key that it sets."""
        return tuple(dict.fromkeys(key for each in self.sets for key in each))


@dataclass(frozen=True)
class Objective:
    """A figure that should be small, or large."""

    figure: str
    is_maximised: bool = False


@dataclass(frozen=True)
class Search:
    """How to search the space of a grid rather than run all of it."""

    objectives: tuple[Objective, ...]
    trials: int = 100
    seed: int = 0
    at_once: int = 8


@dataclass(frozen=True)
class Grid:
    """A sweep: what all runs have in common, what differs, and what is drawn for each seed.

    A point is one choice of everything but the keys in `over`, by which runs are averaged and paired.
    """

    dimensions: tuple[Dimension, ...]
    common: Mapping[str, Any] = field(default_factory=dict)
    drawn: tuple[Distribution, ...] = ()
    over: tuple[str, ...] = _USUAL_OVER
    search: Search | None = None
    text: str = ""

    def __len__(self) -> int:
        return self.total

    @property
    def total(self) -> int:
        """How many runs all combinations are; of a search, more than there ever will be."""
        return prod(len(each.sets) for each in self.dimensions)

    def run_at(self, index: int) -> dict[str, Any]:
        """The settings of a run by its number; the last dimension changes fastest."""
        chosen = []
        for each in reversed(self.dimensions):
            index, at = divmod(index, len(each.sets))
            chosen.append(at)
        return self.run_of(tuple(reversed(chosen)))

    def run_of(self, chosen: Sequence[int]) -> dict[str, Any]:
        """The settings of a run by which of each dimension's sets it has."""
        flat = dict(self.common)
        for each, at in zip(self.dimensions, chosen, strict=True):
            flat.update(each.sets[at])
        return self.with_draws(flat)

    def with_draws(self, flat: Mapping[str, Any]) -> dict[str, Any]:
        """The settings, and what is drawn for their seed."""
        return {**flat, **{each.key: each.value(flat.get(SEED, 0)) for each in self.drawn}}

    @property
    def design(self) -> tuple[str, ...]:
        """The columns that tell points apart: what differs, and is neither averaged over nor drawn."""
        averaged = {column_of(key) for key in self.over}
        keys = [column_of(key) for each in self.dimensions if len(each.sets) > 1 for key in each.keys]
        return tuple(key for key in dict.fromkeys(keys) if key not in averaged)

    @property
    def blocks(self) -> tuple[str, ...]:
        """The columns that pair runs: what is averaged over."""
        keys = [column_of(key) for each in self.dimensions for key in each.keys]
        averaged = {column_of(key) for key in self.over}
        return tuple(key for key in dict.fromkeys(keys) if key in averaged)

    @property
    def points(self) -> int:
        """How many points there are."""
        averaged = set(self.over)
        return prod(len(each.sets) for each in self.dimensions if not averaged.issuperset(each.keys))

    def policy_texts(self) -> list[str]:
        """The policies of this grid with each set of parameters that has a text in it: what they name may be code."""
        sets = [self.common, *(chosen for each in self.dimensions for chosen in each.sets)]
        sets += [{each.key: value} for each in self.drawn if each.name == "choice" for value in each.numbers]
        names = {str(each["policy"]): None for each in sets if each.get("policy") is not None} or {"easy": None}
        common = parameters_of(self.common)
        texts = [own for own in map(parameters_of, sets) if any(isinstance(value, str) for value in own.values())]
        told = [RunSettings(policy=name, parameters={**common, **own}) for name in names for own in ({}, *texts)]
        return list(dict.fromkeys(policy_of(each, "easy") for each in told))

    def settings(self) -> Iterator[dict[str, Any]]:
        """The settings of every run, in order."""
        for chosen in product(*(range(len(each.sets)) for each in self.dimensions)):
            yield self.run_of(chosen)


def read_grid(path: str | PathLike[str]) -> Grid:
    """The grid in a file. Files that it names are found from where the command is run, as `unspool run` finds them."""
    text = read_settings(path, "toml_bytes", "expected a grid")
    content = parse_toml(text, str(path))
    try:
        return grid_of(content, text)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def grid_of(content: Mapping[str, Any], text: str = "") -> Grid:
    """The grid that a file's content says.

    >>> grid = grid_of({"replicas": 3, "grid": {"policy": ["fcfs", "easy"], "platform": 64}})
    >>> len(grid), grid.points, grid.design, grid.run_at(4)
    (6, 2, ('policy',), {'platform': 64, 'policy': 'easy', 'seed': 1})
    """
    for name in content:
        if name not in _PARTS:
            raise UnknownName("part of a grid", name, _PARTS)
    common = _flat(_table(content, "run"), "run")
    varied = _flat(_table(content, "grid"), "grid")
    _refuse_both(common, varied, "[grid]")
    dimensions, drawn = _dimensions(varied), []
    for found in [values_of(key, value) for key, value in {**common, **varied}.items()]:
        if isinstance(found, Distribution):
            drawn.append(found)
            common.pop(found.key, None)
        elif found.key in common and found.key not in varied and len(found.values) > 1:
            raise InputError(f"[run] {found.key}: has several values; lists and ranges stand in [grid]")
    paired = _paired(content.get("paired", []))
    for each in paired:
        _refuse_both(common, each.keys, f"the paired sets {each.name}")
    dimensions += paired
    _refuse_twice(dimensions, drawn)
    first = _first_seed(common)
    if not any(SEED in each.keys for each in dimensions):
        replicas = _whole(content, "replicas", 1, min(_MOST_REPLICAS, MOST_SEED - first + 1))
        dimensions.append(Dimension(SEED, tuple({SEED: first + at} for at in range(replicas))))
    elif "replicas" in content:
        raise InputError("replicas: the grid names its seeds; leave one of the two out")
    single = {key: value for each in dimensions if len(each.sets) == 1 for key, value in each.sets[0].items()}
    kept = [each for each in dimensions if len(each.sets) > 1 or each.name == SEED]
    common = {key: value for key, value in {**common, **single}.items() if key != SEED}
    grid = Grid(
        tuple(sorted(kept, key=_slowest)), common, tuple(drawn), _over(content), _search(content.get("search")), text
    )
    if grid.search is None and grid.total > _MOST_RUNS:
        raise InputError(
            f"the grid has {grid.total:,} runs, and at most {_MOST_RUNS:,} are made; give fewer values, or a [search]"
        )
    _check_values(grid)
    if grid.total == 1 and "workload" not in grid.common:
        raise InputError(
            "nothing varies and no workload is named; expected settings with several values in [grid], such as "
            "policy = ['fcfs', 'easy'], and in [run] the log, as workload = 'log.swf'"
        )
    return grid


def _check_values(grid: Grid) -> None:
    """Refuse a value that no run can have, wherever it stands, before the first run is made."""
    first = grid.run_of([0] * len(grid.dimensions))
    settings_of(first)
    sets: list[Mapping[str, Any]] = [
        chosen
        for each in grid.dimensions
        for chosen in (each.sets if each.span is None else (each.sets[0], each.sets[-1]))
        if not _is_seed(chosen)
    ]
    sets += [{each.key: value} for each in grid.drawn if each.name == "choice" for value in each.numbers]
    for chosen in sets:
        settings_of({**first, **chosen})
    check_names(grid.common, first, sets)


def _is_seed(chosen: Mapping[str, Any]) -> bool:
    """Whether a set is a seed that can be used, of which there may be a million."""
    seed = chosen.get(SEED)
    return len(chosen) == 1 and isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed <= MOST_SEED


def _table(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = content.get(name, {})
    if not isinstance(found, dict):
        raise InputError(f"{name}: expected a table, as in [{name}]")
    return found


def _flat(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Keys with those in them, as `set.IdleTime`."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if key in PARTED and isinstance(value, dict):
            flat.update({f"{key}.{part}": each for part, each in value.items()})
        else:
            flat[key] = value
    for key in flat:
        try:
            refuse_unknown(key)
            if key.startswith("set."):
                parse_changes([f"{key.removeprefix('set.')}=0"])
        except InputError as error:
            raise InputError(f"[{where}]: {error}") from error
    return flat


def _dimensions(varied: Mapping[str, Any]) -> list[Dimension]:
    found = [(key, values_of(key, value)) for key, value in varied.items()]
    return [
        Dimension(key, tuple({key: value} for value in each.values), each.span)
        for key, each in found
        if isinstance(each, Values)
    ]


def _paired(given: Any) -> list[Dimension]:
    """`[[paired]]` is one group of sets, `[[paired.NAME]]` one of several."""
    groups = {"paired": given} if isinstance(given, list) else given
    if not isinstance(groups, dict) or not all(isinstance(sets, list) for sets in groups.values()):
        raise InputError("paired: expected sets of keys, each under [[paired]] or [[paired.NAME]]")
    found = []
    for name, sets in groups.items():
        if sets:
            if not all(isinstance(each, dict) for each in sets):
                raise InputError(f"paired: {shown(str(sets))} is no list of sets of keys; expected [[paired]] tables")
            flat = [_flat(each, f"[paired.{name}]") for each in sets]
            if any(each in flat[:at] for at, each in enumerate(flat)):
                raise InputError(f"paired: two sets of {name} are the same; leave the double out")
            keys = {key for each in flat for key in each}
            found.append(Dimension(name, tuple({**dict.fromkeys(sorted(keys)), **each} for each in flat)))
    return found


def _refuse_both(common: Mapping[str, Any], keys: Iterable[str], where: str) -> None:
    for key in keys:
        if key in common and key != SEED:
            raise InputError(f"key {key}: stands in [run] and in {where}; leave one of the two out")


def _refuse_twice(dimensions: Sequence[Dimension], drawn: Sequence[Distribution]) -> None:
    keys = [key for each in dimensions for key in each.keys] + [each.key for each in drawn]
    columns = [column_of(key) for key in keys]
    for key in keys:
        if keys.count(key) > 1:
            raise InputError(f"key {key}: stands twice, in [grid] or a paired set; give its values once")
        if columns.count(column_of(key)) > 1:
            raise InputError(f"key {key}: another key has the same name behind its dot; leave one of the two out")
        if key == SEED and any(each.key == SEED for each in drawn):
            raise InputError("key seed: is drawn; say replicas = 20 for twenty seeds")


def _first_seed(common: dict[str, Any]) -> int:
    seed = common.get(SEED, 0)
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed <= MOST_SEED:
        raise InputError(f"[run] seed: is {shown(str(seed))}; expected a whole number from 0 to {MOST_SEED}")
    return seed


def _whole(content: Mapping[str, Any], name: str, usual: int, most: int) -> int:
    value = content.get(name, usual)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise InputError(f"{name}: is {shown(str(value))}; expected a whole number from 1 to {most:,}")
    return value


def _over(content: Mapping[str, Any]) -> tuple[str, ...]:
    given = content.get("over", list(_USUAL_OVER))
    if not isinstance(given, list) or not all(isinstance(key, str) for key in given):
        raise InputError("over: expected a list of keys, as in over = ['seed', 'window']")
    for key in given:
        refuse_unknown(key)
    return tuple(dict.fromkeys([SEED, *given]))


def _search(given: Any) -> Search | None:
    if given is None:
        return None
    if not isinstance(given, dict):
        raise InputError("search: expected a table, as in [search]")
    for name in given:
        if name not in _SEARCH:
            raise InputError(f"[search]: {UnknownName('key', name, _SEARCH)}")
    objectives = []
    for name in ("minimise", "maximise"):
        figures = given.get(name, [])
        figures = [figures] if isinstance(figures, str) else figures
        if not isinstance(figures, list) or not all(isinstance(figure, str) for figure in figures):
            raise InputError(f"[search] {name}: expected figures by name, as in {name} = ['mean_wait_s']")
        objectives += [Objective(figure, name == "maximise") for figure in figures]
    if not objectives:
        raise InputError("[search]: says no figure; expected minimise = ['mean_wait_s'], or maximise, or both")
    seed = given.get("seed", 0)
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**32:
        raise InputError(f"[search] seed: is {shown(str(seed))}; expected a whole number from 0 to 4294967295")
    return Search(tuple(objectives), _whole(given, "trials", 100, 10**6), seed, _whole(given, "at_once", 8, 10**4))


def _slowest(each: Dimension) -> tuple[bool, bool]:
    """Logs change slowest, and seeds fastest."""
    return each.name == SEED, not set(LOG_KEYS).intersection(each.keys)
