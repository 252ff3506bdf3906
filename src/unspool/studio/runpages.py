"""Pages about a run: how far it is, its report, its settings and its folder to download."""

from __future__ import annotations

import os
import secrets
import shlex
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response

from unspool import storage
from unspool.studio.figures import ranked, side_by_side
from unspool.studio.kept import is_plain, written
from unspool.studio.pages import form_of, seen, shown_page, studio_of
from unspool.studio.runs import ACTIVE, RESULT, Run

__all__ = ["cancel", "go_on", "page_of", "remove", "run_page", "settings", "state", "states", "zipped"]

# The report runs its own script and nothing else: an origin of its own, from which no request gets past the guard.
_REPORT_POLICY = (
    "sandbox allow-scripts allow-downloads allow-modals; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data: blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)


def run_page(request: Request) -> Response:
    """A run: how far it is, or what came of it."""
    studio, run = studio_of(request), _run(request)
    now = studio.runs.state(run)
    summaries = studio.runs.summaries(run) if now.state == "done" else []
    command = studio.runs.plain(shlex.join(["unspool", *run.arguments]))
    return shown_page(
        request, "run.html", run=run, state=now, is_active=now.state in ACTIVE,
        has_page=studio.runs.page(run) is not None, can_go_on=studio.runs.can_go_on(run),
        summaries=summaries, rows=side_by_side([summary for _, summary in summaries]), said=studio.runs.said(run),
        ranking=ranked(studio.runs.place(run) / RESULT / "ranking.csv") if now.state not in ACTIVE else None,
        command=command, settings=_settings_text(studio.runs.place(run) / run.settings),
    )  # fmt: skip


def _settings_text(path: Path) -> str:
    try:
        return written(path).decode("utf-8", "replace")[:100_000]
    except OSError:
        return ""


def state(request: Request) -> Response:
    """How far a run is, for the page to ask now and then."""
    studio, run = studio_of(request), _run(request)
    return JSONResponse(msgspec.to_builtins(studio.runs.state(run)))


def states(request: Request) -> Response:
    """How far all runs are."""
    studio = studio_of(request)
    return JSONResponse({run.id: msgspec.to_builtins(studio.runs.state(run)) for run in studio.runs.all()})


def page_of(request: Request) -> Response:
    """The report."""
    studio, run = studio_of(request), _run(request)
    path = studio.runs.page(run)
    if path is None:
        raise HTTPException(404)
    return FileResponse(path, media_type="text/html", headers={"Content-Security-Policy": _REPORT_POLICY})


def settings(request: Request) -> Response:
    """The file that reproduces a run."""
    studio, run = studio_of(request), _run(request)
    path = studio.runs.place(run) / run.settings
    if not is_plain(path):
        raise HTTPException(404)
    return FileResponse(path, media_type="text/plain", filename=run.settings)


def zipped(request: Request) -> Response:
    """The folder of a run, packed."""
    studio, run = studio_of(request), _run(request)
    place = studio.runs.place(run)
    name = studio.folder / f"{secrets.token_hex(6)}.zip"
    with storage.replacing(name, mode=0o600) as file:
        _pack(place, file, f"unspool-{run.id}")
    gone = BackgroundTask(storage.remove, name)
    return FileResponse(name, media_type="application/zip", filename=f"unspool-{run.id}.zip", background=gone)


def _pack(folder: Path, file: IO[bytes], name: str) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=4) as packed:
        for path in _files(folder):
            packed.write(path, f"{name}/{path.relative_to(folder).as_posix()}")


def _files(folder: Path) -> Iterator[Path]:
    """The plain files in a folder, in order; links are left out."""
    for above, folders, names in os.walk(folder):
        folders.sort()
        yield from (path for name in sorted(names) if is_plain(path := Path(above, name)))


async def cancel(request: Request) -> Response:
    """End a run."""
    await form_of(request)
    run = _run(request)
    studio_of(request).runs.cancel(run)
    return seen(request, f"/runs/{run.id}")


async def go_on(request: Request) -> Response:
    """Begin again where a sweep ended."""
    await form_of(request)
    run = _run(request)
    studio_of(request).runs.go_on(run)
    return seen(request, f"/runs/{run.id}")


async def remove(request: Request) -> Response:
    """Forget a run and delete its folder."""
    await form_of(request)
    studio_of(request).runs.remove(_run(request))
    return seen(request, "/")


def _run(request: Request) -> Run:
    found = studio_of(request).runs.get(request.path_params["id"])
    if found is None:
        raise HTTPException(404)
    return found
