"""`unspool report`: the page about a result, for a browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from unspool.cli.output import Announcement, counted, note, print_json, print_text
from unspool.faces.cloud.outputs import read_costs
from unspool.platforms.documents import read_json
from unspool.report.content import Page
from unspool.report.cost import cost_page
from unspool.report.dispatch import dispatch_page, read_dispatch
from unspool.report.page import filled
from unspool.report.run import run_page
from unspool.report.static import write_figures
from unspool.results.store import REPORT, kind_of_result, load_all
from unspool.workloads.files import replaced

__all__ = ["report"]


def report(
    folder: Path,
    /,
    *,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    force: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    figures: Path | None = None,
    format: Literal["svg", "png"] = "svg",
    open: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    json: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
) -> int:
    """Write the page about a result, or about the policies of one run side by side, and print where it is.

    For example: unspool report results/demo --open

    Parameters
    ----------
    folder
        What `unspool run -o`, `unspool cost -o`, `unspool batsim -o` or `unspool dispatch -o` wrote.
    out
        The file to write. Without it, report.html in that folder, in the place of the one that is there.
    force
        Replace the file named with --out, and the figures, if they are there.
    figures
        A folder for the figures of the page, a file each, for papers and slides; needs matplotlib.
    format
        How figures are written.
    open
        Show it in the browser.
    json
        Print where it is and how large as JSON.
    """
    target = folder / REPORT if out is None else out
    page = _made(folder)
    pictures = []
    if figures is not None:
        with Announcement(f"drawing {counted(len(page.figures), 'figure')} …"):
            pictures = write_figures(page.figures, figures, format, force=force)
    with Announcement(f"writing {target} …"), replaced(target, force=force or out is None) as file:
        file.write(filled(page).encode("utf-8", "replace"))
    if open and not webbrowser.open(target.absolute().as_uri()):
        note("no browser could be started; open the file in one")
    if json:
        drawn = {} if figures is None else {"figures": [str(path) for path in pictures]}
        print_json({"report": str(target), "bytes": target.stat().st_size, **drawn})
    else:
        print_text("\n".join(str(path) for path in (target, *pictures)))
    return 0


def _made(folder: Path) -> Page:
    """The page, of a bill, of a dispatch or of runs."""
    kind = kind_of_result(folder)
    if kind == "bill":
        with Announcement(f"reading {folder} …"):
            costs = read_costs(folder)
        with Announcement(f"drawing {folder} …"):
            return cost_page(costs)
    if kind == "dispatch":
        with Announcement(f"reading {folder} …"):
            return dispatch_page(read_dispatch(folder))
    with Announcement(f"reading {folder} …"):
        results = load_all(folder)
    with Announcement(f"drawing {folder} …"):
        return run_page(results, told=_versions(folder))


def _versions(folder: Path) -> dict[str, Any]:
    """The versions that made a result, or the first of several."""
    path = next(iter(sorted(folder.glob("versions.json")) or sorted(folder.glob("*/versions.json"))), None)
    found: dict[str, Any] = {} if path is None else read_json(path)
    return found
