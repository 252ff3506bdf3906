"""`unspool plugins`: list what can be named."""

from __future__ import annotations

from inspect import getdoc

from unspool.cli.output import print_table, print_text
from unspool.errors import InputError, UnknownName
from unspool.faces.dispatch.names import NAMES
from unspool.model.platform import SELECTIONS
from unspool.plugins import BUILT_IN, available, load_of_package
from unspool.workloads import FORMATS

__all__ = ["plugins"]

_KINDS = (*BUILT_IN, "formats", "selections", *NAMES)
_TRIED = {
    "first": "machines are tried by number",
    "best": "fewest free cores first",
    "worst": "most free cores first",
    "contiguous": "by number, and all machines of a job are neighbours",
    "spread": "as worst, but a job's units are dealt one a machine in rounds",
    "pack": "most units of the job first: few machines, well filled",
    "nearby": "by number, in as few parts of the network as will do",
    "local": "as nearby, and a job waits while it needs more parts of the network than if it were alone",
}


def plugins(kind: str | None = None, /) -> int:
    """List policies, orders, predictors, figures, formats and selections, ours and those that other packages bring.

    Parameters
    ----------
    kind
        Only this kind: schedulers, orders, predictors, figures, formats or selections; or a key of an experiment of
        `unspool dispatch`: dispatcher, duration_predictor, worker_selector, sa_strategy or metrics.
    """
    if kind is not None and kind not in _KINDS:
        raise UnknownName("kind of plugin", kind, _KINDS)
    for at, each in enumerate(_KINDS if kind is None else (kind,)):
        if at:
            print_text("")
        print_table((each, "what", "where"), list(_rows(each)), justify="left")
    return 0


def _rows(kind: str) -> list[tuple[str, str, str]]:
    if kind == "formats":
        return [(name, entry.help, " ".join(entry.suffixes)) for name, entry in FORMATS.items()]
    if kind == "selections":
        return [(name, _TRIED[name], f"--select {name}") for name in SELECTIONS]
    if kind in NAMES:
        return [(name, _tooltip(target), f"{kind}: {name}") for name, target in NAMES[kind].items()]
    return [
        (name, _tooltip(target), "built in" if name in BUILT_IN[kind] else target)
        for name, target in sorted(available(kind).items())
    ]


def _tooltip(target: str) -> str:
    try:
        return (getdoc(load_of_package(target)) or "").partition("\n")[0]
    except InputError as error:
        return str(error)
