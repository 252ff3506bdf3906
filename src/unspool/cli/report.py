"""`unspool report`: the page about a result, for a browser."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from unspool.cli.output import Announcement, note, print_json, print_text
from unspool.errors import InputError
from unspool.report.dispatch import dispatch_report
from unspool.report.run import run_report
from unspool.results.store import REPORT, load_all
from unspool.workloads.files import replaced

__all__ = ["report"]

_OF_COSTS, _OF_DISPATCH = "hourly_stats.csv", "metrics.txt"


def report(
    folder: Path,
    /,
    *,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    force: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    open: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    json: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
) -> int:
    """Write the page about a result, or about the policies of one run side by side, and print where it is.

    For example: unspool report results/demo --open

    Parameters
    ----------
    folder
        What `unspool run -o`, `unspool batsim -o` or `unspool dispatch -o` wrote. Of `unspool cost` the page is there.
    out
        The file to write. Without it, report.html in that folder, in the place of the one that is there.
    force
        Replace the file named with --out if it is there.
    open
        Show it in the browser.
    json
        Print where it is and how large as JSON.
    """
    page = folder / REPORT if out is None else out
    if not (folder / _OF_COSTS).is_file():
        html = _made(folder)
        with Announcement(f"writing {page} …"), replaced(page, force=force or out is None) as file:
            file.write(html.encode("utf-8", "replace"))
    elif not page.is_file() or out is not None:
        raise InputError(
            f"{folder}: is of `unspool cost`, which writes its page itself: run it again without --no-report and --json"
        )
    if open and not webbrowser.open(page.absolute().as_uri()):
        note("no browser could be started; open the file in one")
    if json:
        print_json({"report": str(page), "bytes": page.stat().st_size})
    else:
        print_text(str(page))
    return 0


def _made(folder: Path) -> str:
    """The page, of a dispatch or of runs."""
    if (folder / _OF_DISPATCH).is_file():
        with Announcement(f"reading {folder} …"):
            return dispatch_report(folder)
    with Announcement(f"reading {folder} …"):
        results = load_all(folder)
    with Announcement(f"drawing {folder} …"):
        return run_report(results, told=_versions(folder))


def _versions(folder: Path) -> dict[str, Any]:
    """The versions that made a result, or the first of several."""
    path = next(iter(sorted(folder.glob("versions.json")) or sorted(folder.glob("*/versions.json"))), None)
    found: dict[str, Any] = {} if path is None else json.loads(path.read_text(encoding="utf-8"))
    return found
