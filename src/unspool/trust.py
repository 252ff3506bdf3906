"""What names in files would load: modules and trained models, found without loading any of them.

The command line is trusted, and so is the Python code that it names. Files are not: settings, grids, experiments,
configurations and folders of results may come from anybody, so verbs that only look at them build parts with
`unspool.plugins.build_built_in`. Verbs that run something call `vet` first.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.machinery import all_suffixes

from unspool.errors import InputError, shown
from unspool.plugins import (
    BUILT_IN,
    FILES,
    PARTS,
    available,
    keyed,
    load_built_in,
    names_a_module,
    parameters_of,
    parted,
)  # fmt: skip

__all__ = ["Foreign", "foreign", "located", "refusal", "vet"]

ONLY_BUILT_IN = "with --untrusted only built-in names are used"


@dataclass(frozen=True)
class Foreign:
    """Something that is not ours: a `module`, a `model` or a `file` to write; its name and path, None if not found."""

    kind: str
    name: str
    path: str | None

    def __str__(self) -> str:
        if self.kind == "file":
            return f"the file {shown(str(self.path), 300)}"
        name = f"the {self.kind} {shown(self.name, 100)}"
        return f"{name}, which is not found" if self.path is None else f"{name} from {shown(self.path, 300)}"


def foreign(kind: str, text: str) -> tuple[Foreign, ...]:
    """What making a part from this name would load beside our own code; nothing is imported or opened for that.

    >>> foreign("schedulers", "easy:order=sjf"), [str(each) for each in foreign("schedulers", "easy:order=no_such(X)")]
    ((), ['the module no_such, which is not found'])
    """
    name, rest = parted(kind, text)
    if name not in BUILT_IN[kind]:
        if (target := available(kind).get(name)) is not None:
            module = target.partition(":")[0]
            return (Foreign("module", module, located(module)),)
        return (Foreign("module", name, located(name, os.getcwd())),) if names_a_module(name, rest) else ()
    try:
        parameters = parameters_of(keyed(rest, load_built_in(BUILT_IN[kind][name])), text)
    except InputError:
        return ()  # it is refused before any of its parameters is looked at
    found: list[Foreign] = []
    for key, value in parameters.items():
        if key in PARTS:
            found += foreign(PARTS[key], str(value))
        elif key in FILES:
            path = os.path.abspath(str(value))
            found.append(Foreign("model", str(value), path if os.path.isfile(path) else None))
    return tuple(found)


def located(module: str, *folders: str) -> str | None:
    """The file that importing a module would run, looked for in folders first; found without importing its package.

    >>> located("json.decoder")[-15:], located("no_such_module")
    ('json/decoder.py', None)
    """
    for place in (*folders, *sys.path):
        stem = os.path.join(place or os.curdir, *module.split("."))
        for path in (os.path.join(stem, "__init__.py"), *(f"{stem}{suffix}" for suffix in all_suffixes())):
            if os.path.isfile(path):
                return os.path.abspath(path)
    return None


def refusal(where: str, name: str, found: Foreign) -> InputError:
    """The complaint of a verb that was told to trust nothing."""
    return InputError(f"{where}: '{shown(name, 100)}' names {found}; {ONLY_BUILT_IN}")


def vet(
    kind: str, text: str, where: str | None, *, untrusted: bool, note: Callable[[str], None] = lambda text: None
) -> None:
    """Before a part is made: tell `note` what a name in the file `where` loads, or refuse it with `untrusted`.

    A name of the command line, which is in no file, is only refused.
    """
    for found in foreign(kind, text):
        if untrusted:
            raise refusal(where or "--policy", text, found)
        if where is not None:
            note(f"{where}: '{shown(text, 100)}' loads {found}")
