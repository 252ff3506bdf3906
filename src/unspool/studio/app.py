"""The studio as a web application: where each address leads."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from unspool.errors import UnspoolError
from unspool.studio.guard import Guard, TooLarge
from unspool.studio.looks import Looks
from unspool.studio.pages import compare, compare_start, home, new_run, problem, start_run, static
from unspool.studio.rules import Rules
from unspool.studio.runpages import cancel, go_on, page_of, remove, run_page, settings, state, states, zipped
from unspool.studio.runs import Runs
from unspool.studio.uploadpages import read_as, remove_upload, upload, upload_page, upload_state
from unspool.studio.uploads import Uploads
from unspool.studio.workers import Workers

__all__ = ["Studio", "make_app"]

_LOOKS_AT_ONCE = 2
_UNPACKED_AT_ONCE = 2


@dataclass(frozen=True)
class Studio:
    """What the pages work on."""

    base: str
    folder: Path
    uploads: Uploads
    looks: Looks
    runs: Runs
    workers: tuple[Workers, ...]

    def close(self) -> None:
        """End the workers."""
        self.runs.closing()
        for workers in self.workers:
            workers.close()


def make_app(folder: Path, token: str, port: int, *, workers: int, most_bytes: int, rules: Rules | None) -> Guard:
    """The application for a folder; it answers under the token, at that port of this machine alone.

    Whatever came through the browser is read by workers alone, which the rules confine.
    """
    folder = folder.resolve()
    for_runs, for_looks, for_uploads = pools = (
        Workers(workers, rules), Workers(_LOOKS_AT_ONCE, rules), Workers(_UNPACKED_AT_ONCE, rules),
    )  # fmt: skip
    studio = Studio(
        f"/{token}", folder, Uploads(folder / "uploads", most_bytes, for_uploads), Looks(folder / "looks", for_looks),
        Runs(folder / "runs", for_runs), pools,
    )  # fmt: skip

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        studio.close()

    app = Starlette(
        routes=[
            Route("/", home),
            Route("/static/{name}", static),
            Route("/uploads", upload, methods=["POST"]),
            Route("/uploads/{id}", upload_page),
            Route("/uploads/{id}/state", upload_state),
            Route("/uploads/{id}/read", read_as, methods=["POST"]),
            Route("/uploads/{id}/remove", remove_upload, methods=["POST"]),
            Route("/new/{face}", new_run),
            Route("/runs", start_run, methods=["POST"]),
            Route("/states", states),
            Route("/runs/{id}", run_page),
            Route("/runs/{id}/state", state),
            Route("/runs/{id}/page", page_of),
            Route("/runs/{id}/settings", settings),
            Route("/runs/{id}/zip", zipped),
            Route("/runs/{id}/cancel", cancel, methods=["POST"]),
            Route("/runs/{id}/go-on", go_on, methods=["POST"]),
            Route("/runs/{id}/remove", remove, methods=["POST"]),
            Route("/compare", compare),
            Route("/compare", compare_start, methods=["POST"]),
        ],
        exception_handlers={UnspoolError: _complain, OSError: _broken, TooLarge: _too_large, 404: _missing},
        lifespan=lifespan,
    )
    app.state.studio = studio
    return Guard(app, token, port, most_bytes)


def _complain(request: Request, error: Exception) -> Response:
    return problem(request, str(error), 400)


def _broken(request: Request, error: Exception) -> Response:
    reason = getattr(error, "strerror", None) or error
    return problem(request, f"The studio's folder cannot be written ({reason}); make room there and try again.", 507)


def _too_large(request: Request, _: Exception) -> Response:
    return problem(request, "More was sent than is taken; pack the file, or see --max-upload.", 413)


def _missing(request: Request, _: Exception) -> Response:
    return problem(request, "There is nothing under this address; it may have been removed.", 404)
