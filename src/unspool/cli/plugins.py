"""`unspool plugins`: list what can be named."""

from __future__ import annotations

from importlib import import_module
from inspect import getdoc

from unspool.cli.output import print_table
from unspool.errors import UnknownName, UnspoolError
from unspool.model.platform import SELECTIONS
from unspool.plugins import BUILT_IN, available
from unspool.workloads import FORMATS

__all__ = ["plugins"]

_KINDS = (*BUILT_IN, "formats", "selections")


def plugins(kind: str | None = None, /) -> int:
    """List policies, formats and machine selections, ours and those that other packages bring.

    Parameters
    ----------
    kind
        Only this kind: schedulers, formats or selections.
    """
    if kind is not None and kind not in _KINDS:
        raise UnknownName("kind of plugin", kind, _KINDS)
    for each in _KINDS if kind is None else (kind,):
        print_table((each, "what", "where"), list(_rows(each)))
    return 0


def _rows(kind: str) -> list[tuple[str, str, str]]:
    if kind == "formats":
        return [(name, entry.help, " ".join(entry.suffixes)) for name, entry in FORMATS.items()]
    if kind == "selections":
        return [(name, "how machines are chosen (--select)", "built in") for name in SELECTIONS]
    return [(name, _tooltip(target), target) for name, target in sorted(available(kind).items())]


def _tooltip(target: str) -> str:
    module, _, attribute = target.partition(":")
    try:
        return (getdoc(getattr(import_module(module), attribute)) or "").partition("\n")[0]
    except (ImportError, AttributeError, UnspoolError) as error:
        return f"cannot be loaded: {error}"
