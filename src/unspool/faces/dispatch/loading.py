"""Users' components: found beside the experiment file, imported, made and held against their interface."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from unspool.errors import InputError, UnknownName, UnspoolError, shown
from unspool.faces.dispatch.calls import takes, wants_keyword
from unspool.faces.dispatch.names import LATER, SIMDEX, known_names, target_of
from unspool.faces.dispatch.simdex import Job, RefJob, Worker
from unspool.plugins import load as load_target

__all__ = ["check_interface", "find_class", "made"]

_OTHERWISE = "or one of your own as module.Class, in a file beside the experiment"

# For each kind: a method, with how many arguments it is called in the original and in the fork, and how that reads.
_INTERFACE: Mapping[str, Sequence[tuple[str, tuple[int, ...], str]]] = {
    "dispatcher": [("dispatch", (3, 2), "dispatch(job, workers, simulation) or dispatch(job, workers)")],
    "sa_strategy": [("do_adapt", (4,), "do_adapt(ts, dispatcher, workers, job=None)")],
    "duration_predictor": [("predict_duration", (1,), "predict_duration(job), or predict_one(job)")],
    "worker_selector": [("select_worker", (2,), "select_worker(simulation, job)")],
    "metrics": [("job_finished", (1,), "job_finished(job)"), ("print", (0,), "print()")],
}


def find_class(kind: str, name: str, folder: Path, where: str) -> tuple[Any, bool]:
    """The class of a name and whether it is the user's: ours and Simdex's first, then files beside the experiment."""
    if name in LATER:
        raise InputError(
            f"{where}: {name} is a neural component of Simdex, which comes with a later version (Dispatch II); "
            f"until then name one of: {', '.join(known_names(kind))}"
        )
    target = target_of(kind, name)
    if target is not None:
        return load_target(target), False
    owner = SIMDEX.get(name)
    if owner is not None:
        raise InputError(f"{where}: {name} belongs under the key {owner[0]}, not under {kind}")
    module, _, attribute = name.partition(":") if ":" in name else name.rpartition(".")
    if not module or not attribute:
        raise InputError(f"{where}: {UnknownName(kind.removesuffix('s'), name, known_names(kind), _OTHERWISE)}")
    return _imported(module, attribute, kind, name, folder, where), True


def _imported(module: str, attribute: str, kind: str, name: str, folder: Path, where: str) -> Any:
    with _beside(folder):
        try:
            found: Any = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name and module.split(".")[0] == error.name.split(".")[0]:
                known = UnknownName(kind.removesuffix("s"), name, known_names(kind), _OTHERWISE)
                raise InputError(f"{where}: {known}; looked for {module} in {folder}") from error
            raise InputError(f"{where}: {module} cannot be imported: {error}") from error
        # A module may raise anything while it is imported.
        except (Exception, SystemExit) as error:
            raise InputError(f"{where}: {module} cannot be imported: {_told(error)}") from error
    for part in attribute.split("."):
        if isinstance(found, _StandIn) and not hasattr(found, part):
            raise InputError(f"{where}: {UnknownName(kind.removesuffix('s'), name, known_names(kind), _OTHERWISE)}")
        if not hasattr(found, part):
            names = [each for each, value in vars(found).items() if isinstance(value, type)]
            file = getattr(found, "__file__", module)
            raise InputError(f"{where}: {file}: {UnknownName('class', part, names)}")
        found = getattr(found, part)
    if not isinstance(found, type):
        raise InputError(f"{where}: {name} is no class")
    return found


def made(found: Any, arguments: Any, configuration: Mapping[str, Any], where: str, *, fork: bool) -> Any:
    """An object of a class; the fork gives every constructor the whole configuration, where it takes that."""
    positional = arguments if isinstance(arguments, list) else []
    keywords = dict(arguments) if isinstance(arguments, dict) else {}
    if wants_keyword(found, "configuration", any_will_do=fork) and found.__module__.split(".")[0] != "unspool":
        keywords.setdefault("configuration", configuration)
    try:
        return found(*positional, **keywords)
    except UnspoolError as error:
        raise InputError(f"{where}: {error}") from error
    # A class of somebody else's may raise anything while it is made.
    except Exception as error:
        raise InputError(f"{where}: {found.__name__} cannot be made: {_told(error)}") from error


def check_interface(part: Any, kind: str, where: str) -> None:
    """Refuse a component without the methods that the drive calls."""
    name = type(part).__name__
    for method, counts, told in _INTERFACE[kind]:
        found = getattr(part, method, None)
        if not callable(found):
            raise InputError(f"{where}: {name} has no {method}; expected {told}")
        if not any(takes(found, count) for count in counts):
            raise InputError(f"{where}: {name}.{method} takes other arguments; expected {told}")


def _told(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    at = f" ({Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno})" if trace else ""
    return shown(f"{type(error).__name__}: {error}{at}", 300)


@contextmanager
def _beside(folder: Path) -> Iterator[None]:
    """Files of the folder can be imported, then those of the current one, then modules of Simdex that there are here.

    The modules are forgotten afterwards, so that another experiment with a file of the same name finds its own.
    """
    before, path = dict(sys.modules), list(sys.path)
    places = [str(folder), str(Path.cwd())]
    sys.path[:0] = places
    importlib.invalidate_caches()
    for name in [name for name in sys.modules if _is_in(sys.modules[name], places)]:
        del sys.modules[name]
    # After the folder on the path: a finder at the end is asked only for what nobody else has.
    finder = _StandIns()
    sys.meta_path.append(finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        sys.path[:] = path
        for name in [name for name in sys.modules if name not in before]:
            if _is_in(sys.modules[name], places) or isinstance(sys.modules[name], _StandIn):
                del sys.modules[name]


def _is_in(module: Any, places: Sequence[str]) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and str(Path(file).parent) in places


class _StandIn(types.ModuleType):
    """A module of Simdex, with the classes that there are here; a base class `Abstract…` of any name is empty."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("Abstract"):
            return type(name, (), {})
        if f"{self.__name__}.{name}" in SIMDEX:
            kind, short = SIMDEX[f"{self.__name__}.{name}"]
            return load_target(str(target_of(kind, short)))
        raise AttributeError(f"module {self.__name__} of Simdex has no {name} here")


class _StandIns:
    """Finds the modules of Simdex that users' files import."""

    modules: Mapping[str, Mapping[str, Any]] = {
        "interfaces": {},
        "jobs": {"Job": Job, "RefJob": RefJob},
        "workers": {"Worker": Worker},
    }

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """How to import a module, None if it is none of Simdex's."""
        packages = {known.rsplit(".", 1)[0] for known in (*SIMDEX, *LATER)}
        packages |= {package.rsplit(".", at)[0] for package in packages for at in range(1, package.count(".") + 1)}
        if name not in packages and name not in self.modules:
            return None
        return importlib.util.spec_from_loader(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: Any) -> types.ModuleType:
        """An empty module."""
        return _StandIn(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Fill it."""
        vars(module).update(self.modules.get(module.__name__, {}))
