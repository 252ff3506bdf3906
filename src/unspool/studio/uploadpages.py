"""Pages about uploads: take a file, say what was read in it and what was not, read it in another way."""

from __future__ import annotations

import re

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from unspool.errors import InputError, UnknownName, UnspoolError, shown
from unspool.plugins import parameters_of
from unspool.studio.faces import faces_here
from unspool.studio.look import Look
from unspool.studio.pages import form_of, problem, seen, shown_page, studio_of
from unspool.studio.uploads import KINDS, Upload
from unspool.workloads import FORMATS

__all__ = ["read_as", "remove_upload", "upload", "upload_page", "upload_state"]

_PAIR = re.compile(r"\w+=[^=\n]+")


async def upload(request: Request) -> Response:
    """Take a file."""
    studio = studio_of(request)
    async with request.form(max_files=1, max_fields=4) as form:
        file, kind = form.get("file"), form.get("kind", "log")
        if not isinstance(file, UploadFile) or not file.filename:
            return problem(request, "No file was chosen; choose one, or drop it on the page.", 400)
        try:
            taken = await run_in_threadpool(studio.uploads.add, str(kind), file.filename, file.file)
        except UnspoolError as error:
            return problem(request, studio.runs.plain(str(error)), 400)
    studio.looks.begin(taken)
    return seen(request, f"/uploads/{taken.id}")


def upload_page(request: Request) -> Response:
    """What was read, and what was rejected and why."""
    studio, found = studio_of(request), _upload(request)
    studio.looks.begin(found)
    look = studio.looks.found(found)
    fault = studio.runs.plain(look) if isinstance(look, str) else None
    faces = faces_here()
    if isinstance(look, Look):
        faces = {name: face for name, face in faces.items() if _suits(name, look)}
    return shown_page(
        request, "upload.html", upload=found, look=look if isinstance(look, Look) else None, fault=fault,
        formats=FORMATS, kinds=KINDS, faces=faces,
    )  # fmt: skip


def _suits(face: str, look: Look) -> bool:
    return {"dispatch": look.is_dispatch, "batsim": look.is_batsim}.get(face, True)


def upload_state(request: Request) -> Response:
    """Whether it has been looked at."""
    studio, found = studio_of(request), _upload(request)
    return JSONResponse({"state": "running" if studio.looks.found(found) is None else "done"})


async def read_as(request: Request) -> Response:
    """Read a log in another way: its format, and which of its columns is which of ours."""
    form = await form_of(request)
    studio, found = studio_of(request), _upload(request)
    if found.is_sample:
        raise InputError("a sample is read as it is")
    format = (form.get("format") or [""])[-1].strip()
    options = (form.get("options") or [""])[-1].strip()
    columns = tuple(line.strip() for line in (form.get("columns") or [""])[-1].splitlines() if line.strip())
    _check_reading(format, options, columns)
    studio.looks.begin(studio.uploads.read_as(found, f"{format}:{options}" if options else format, columns))
    return seen(request, f"/uploads/{found.id}")


def _check_reading(format: str, options: str, columns: tuple[str, ...]) -> None:
    if format and format not in FORMATS:
        raise UnknownName("format", format, FORMATS)
    if options and not format:
        raise InputError("options are those of a format; choose one")
    # A map is a file, and no path from the browser is opened.
    if "map" in parameters_of(options, options):
        raise InputError("map=: the map of a JSON log cannot be given here; name the fields under columns instead")
    for pair in columns:
        if _PAIR.fullmatch(pair) is None or len(columns) > 100:
            raise InputError(f"columns: '{shown(pair)}' does not read as our column = the file's, as run_time=duration")


async def remove_upload(request: Request) -> Response:
    """Forget an upload; runs that used it keep their results."""
    await form_of(request)
    studio_of(request).uploads.remove(_upload(request))
    return seen(request, "/")


def _upload(request: Request) -> Upload:
    found = studio_of(request).uploads.get(request.path_params["id"])
    if found is None:
        raise HTTPException(404)
    return found
