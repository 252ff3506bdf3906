"""`unspool conform`: run recorded cases of other tools, and tell what differs."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from unspool.cli.output import Progress, compiling_announcement, counted, note, print_json, print_text
from unspool.conform import KINDS, Outcome, collect
from unspool.errors import InputError, shown

__all__ = ["conform"]

DIFFERS = 1


def conform(
    kind: str | None = None,
    /,
    *paths: Path,
    json: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
) -> int:
    """Run recorded cases of the tools that people know, and tell what differs.

    Parameters
    ----------
    kind
        What was recorded: contention, smpi, batsim, dispatch or cloud.
    paths
        Files or folders with cases. Without one, the few that ship with unspool.
    json
        Print JSON, with every case.
    """
    if kind is None:
        raise InputError(f"no kind given; name one of {', '.join(KINDS)}, as in unspool conform dispatch")
    checks = collect(kind, paths)
    outcomes: list[tuple[str, Outcome]] = []
    with Progress(f"checking {kind}", "cases") as progress:
        for at, check in enumerate(checks):
            progress(at, len(checks))
            with nullcontext() if at else compiling_announcement():  # it is the first that compiles
                outcomes.append((check.name, check.run()))
    counts = {
        verdict: sum(outcome.verdict == verdict for _, outcome in outcomes)
        for verdict in ("agrees", "differs", "skipped", "reported")
    }
    compared = counts["agrees"] + counts["differs"]
    if json:
        print_json(_as_dict(kind, outcomes, counts, compared))
    else:
        _print(outcomes)
        print_text(f"{counts['agrees']} of {compared} agree")
    if skipped := counts["skipped"]:
        note(f"{counted(skipped, 'case')} skipped, and not counted")
    if not compared:
        note("no case was compared, so nothing is shown to agree")
    return DIFFERS if counts["differs"] or not compared else 0


def _print(outcomes: list[tuple[str, Outcome]]) -> None:
    for name, outcome in outcomes:
        if outcome.differences:
            lines = [shown(text, 300) for text in outcome.differences]
            print_text("\n  ".join([f"{name}: differs", *lines]))
        elif outcome.skipped is not None:
            print_text(f"{name}: skipped: {outcome.skipped}")
        elif outcome.reported is not None:
            print_text(f"{name}: not counted: {outcome.reported}")


def _as_dict(kind: str, outcomes: list[tuple[str, Outcome]], counts: dict[str, int], compared: int) -> dict[str, Any]:
    return {
        "kind": kind,
        "agree": counts["agrees"],
        "of": compared,
        "skipped": counts["skipped"],
        "reported": counts["reported"],
        "cases": [
            {
                "case": name,
                "verdict": outcome.verdict,
                "differences": list(outcome.differences),
                "reason": outcome.skipped if outcome.skipped is not None else outcome.reported,
            }
            for name, outcome in outcomes
        ],
    }
