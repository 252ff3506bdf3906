"""Users' Python files beside an experiment, and the modules of Simdex that they import."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

from unspool.faces.dispatch.names import SIMDEX, target_of
from unspool.faces.dispatch.simdex import Job, RefJob, Worker
from unspool.plugins import load_built_in

__all__ = ["StandIn", "files_beside"]


class StandIn(types.ModuleType):
    """A module of Simdex, with the classes that there are here; a base class `Abstract…` of any name is empty."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("Abstract"):
            return type(name, (), {})
        if f"{self.__name__}.{name}" in SIMDEX:
            kind, short = SIMDEX[f"{self.__name__}.{name}"]
            return load_built_in(str(target_of(kind, short)))
        raise AttributeError(f"module {self.__name__} of Simdex has no {name} here")


class _Finder:
    """Finds the modules of Simdex, but for those that are files of the user's."""

    filled: Mapping[str, Mapping[str, Any]] = {
        "interfaces": {},
        "jobs": {"Job": Job, "RefJob": RefJob},
        "workers": {"Worker": Worker},
    }

    def __init__(self, places: Sequence[str]) -> None:
        self.places = places
        modules = {name.rsplit(".", 1)[0] for name in SIMDEX}
        above = {module.rsplit(".", at)[0] for module in modules for at in range(1, module.count(".") + 1)}
        self.names = modules | above | set(self.filled)

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        """How to import a module, None if it is none of Simdex's or one of the user's."""
        if name not in self.names or PathFinder.find_spec(name, path or self.places) is not None:
            return None
        return importlib.util.spec_from_loader(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        """An empty module."""
        return StandIn(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Fill it."""
        vars(module).update(self.filled.get(module.__name__, {}))


@contextmanager
def files_beside(folder: Path) -> Iterator[None]:
    """Files of the folder can be imported, then those of the current one, then modules of Simdex that there are here.

    Afterwards all is as it was, so that another experiment with a file of the same name finds its own. Inside another
    such block for the same folder nothing changes: components of one experiment share their modules.
    """
    places = [str(folder), str(Path.cwd())]
    if any(isinstance(finder, _Finder) and finder.places == places for finder in sys.meta_path):
        yield
        return
    finder = _Finder(places)
    before, path = dict(sys.modules), list(sys.path)
    own = {entry.stem for entry in folder.glob("*.py")} | {name.split(".")[0] for name in finder.names}
    hidden = [name for name in before if name.split(".")[0] in own and not _is_ours(before[name])]
    for name in hidden:
        del sys.modules[name]
    sys.path[:0] = places
    sys.meta_path.insert(0, finder)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        sys.path[:] = path
        for name in [name for name in sys.modules if name not in before or name in hidden]:
            if isinstance(sys.modules[name], StandIn) or _is_below(sys.modules[name], places):
                del sys.modules[name]
        sys.modules.update({name: before[name] for name in hidden})


def _is_ours(module: Any) -> bool:
    return module is sys.modules.get("__main__") or getattr(module, "__name__", "").split(".")[0] == "unspool"


def _is_below(module: Any, places: Sequence[str]) -> bool:
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or "site-packages" in file:
        return False
    return any(Path(file).is_relative_to(place) for place in places)
