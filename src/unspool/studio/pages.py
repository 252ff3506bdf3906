"""The first page, the forms of new runs, and runs side by side."""

from __future__ import annotations

import shlex
from collections import Counter
from functools import cache
from inspect import getdoc
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from unspool.errors import InputError, UnspoolError
from unspool.plugins import BUILT_IN, load_built_in
from unspool.studio.faces import Face, Prepared, faces_here
from unspool.studio.figures import side_by_side
from unspool.studio.look import Look
from unspool.studio.rendering import ASSETS, asset, rendered
from unspool.studio.runs import Run
from unspool.studio.uploads import KINDS, SAMPLES, Upload
from unspool.workloads import FORMATS

if TYPE_CHECKING:
    from unspool.studio.app import Studio

__all__ = ["compare", "compare_start", "form_of", "home", "new_run", "problem", "shown_page", "start_run", "static"]

_JOB_BY_JOB = ("run", "batsim")
_BY = ("", "user", "group", "project", "queue", "partition", "application", "size")


def studio_of(request: Request) -> Studio:
    """What the pages work on."""
    found: Studio = request.app.state.studio
    return found


def shown_page(request: Request, template: str, code: int = 200, **values: Any) -> Response:
    """A page."""
    return HTMLResponse(rendered(template, base=studio_of(request).base, **values), code)


def problem(request: Request, sentence: str, code: int) -> Response:
    """A page with what went wrong, in a sentence."""
    return shown_page(request, "problem.html", code, sentence=sentence)


def seen(request: Request, path: str) -> Response:
    """Go to another page after something was done."""
    return RedirectResponse(f"{studio_of(request).base}{path}", 303)


async def form_of(request: Request) -> dict[str, list[str]]:
    """The texts of a form."""
    async with request.form(max_files=0, max_fields=500) as form:
        return {name: [text for text in form.getlist(name) if isinstance(text, str)] for name in form}


def static(request: Request) -> Response:
    """A style sheet or a script."""
    name = request.path_params["name"]
    if name not in ASSETS:
        raise HTTPException(404)
    content, kind = asset(name)
    return Response(content, media_type=kind)


def home(request: Request) -> Response:
    """Logs, other files and runs."""
    studio = studio_of(request)
    uploads = [each for each in studio.uploads.all() if not each.is_sample]
    runs = [(run, studio.runs.state(run)) for run in studio.runs.all()]
    samples = [(id, name, what) for id, (kind, name, what) in SAMPLES.items() if kind == "log"]
    return shown_page(
        request, "home.html", uploads=uploads, runs=runs, samples=samples, kinds=KINDS,
        most_bytes=studio.uploads.most_bytes, folder=studio.folder.name, titles=_titles(),
    )  # fmt: skip


def _titles() -> dict[str, str]:
    return {**{name: face.title for name, face in faces_here().items()}, "compare": "Comparison", "sweep": "Sweep"}


def new_run(request: Request) -> Response:
    """The form of a face, for a log; with values of an earlier run or of an uploaded configuration, where asked for."""
    studio, query = studio_of(request), request.query_params
    log = _log(studio, query.get("log", ""))
    form: dict[str, list[str]] = {}
    if again := studio.runs.get(query.get("again", "")):
        form = {name: values for name, values in again.form.items() if name != "title"}
    if configuration := studio.uploads.get(query.get("configuration", ""), "configuration"):
        form = {name: [text] for name, text in _values(studio, configuration).items()}
    return _form_page(request, _face(request.path_params["face"]), log, form)


def _values(studio: Studio, configuration: Upload) -> dict[str, str]:
    """What an uploaded configuration has for the fields of a form, found out by a worker."""
    studio.looks.begin(configuration)
    look = studio.looks.found(configuration)
    if look is None:
        raise InputError(f"{configuration.name} is still being read; try again in a moment")
    if isinstance(look, str):
        raise InputError(look)
    return look.values


async def start_run(request: Request) -> Response:
    """Begin what a form asks for, or show the form again with what is wrong."""
    form = await form_of(request)
    studio = studio_of(request)
    face = _face((form.pop("face", None) or [""])[-1])
    log = _log(studio, (form.pop("log", None) or [""])[-1])
    try:
        # In a thread, so that a form that takes long to check keeps nobody waiting.
        prepared = await run_in_threadpool(face.prepared, form, log, studio.uploads)
        files = [studio.uploads.get(id, kind) for name, kind in face.uploads.items() for id in form.get(name, [])[-1:]]
        reads = [log.folder, *(each.folder for each in files if each is not None)]
        run = started(studio, face.name, prepared, log.name, log.id, form, reads)
    except UnspoolError as error:
        return _form_page(request, face, log, form, studio.runs.plain(str(error)))
    return seen(request, f"/runs/{run.id}")


def started(
    studio: Studio, face: str, prepared: Prepared, log: str, log_id: str, form: dict[str, list[str]], reads: list[str]
) -> Run:
    """Begin a run that is prepared; beside its own folder it may read what is named."""
    return studio.runs.start(
        face, prepared.title, log, log_id, prepared.arguments, prepared.files, prepared.settings, prepared.page, form,
        reads,
    )  # fmt: skip


def _face(name: str) -> Face:
    face = faces_here().get(name)
    if face is None:
        raise HTTPException(404)
    return face


def _log(studio: Studio, id: str) -> Upload:
    log = studio.uploads.get(id, "log")
    if log is None:
        raise InputError("the log is no longer there; upload it again, or choose another")
    return log


def _form_page(
    request: Request, face: Face, log: Upload, form: dict[str, list[str]], fault: str | None = None
) -> Response:
    studio = studio_of(request)
    fields = face.fields()
    look = studio.looks.found(log)
    sections: dict[str, list[Any]] = {}
    for field in fields:
        if field.name not in face.main:
            sections.setdefault(field.section or "More settings", []).append(field)
    by_name = {field.name: field for field in fields}
    values = {field.name: (form.get(field.name) or [field.default])[-1] for field in fields}
    if form:  # a flag that is not ticked is not sent
        values |= {field.name: (form.get(field.name) or [""])[-1] for field in fields if field.kind == "flag"}
    return shown_page(
        request, "new.html", 200 if fault is None else 400, face=face, faces=faces_here(), log=log, fault=fault,
        values=values, form=form, main=[by_name[name] for name in face.main], sections=sections,
        section_help=face.section_help(),
        policies=_policies() if face.has_policies else {},
        chosen=form.get("policy", ["easy"] if not form else []),
        files={name: studio.uploads.all(kind) for name, kind in face.uploads.items()},
        configurations=studio.uploads.all("configuration") if face.name == "cost" else [],
        look=look if isinstance(look, Look) else None, formats=FORMATS,
    )  # fmt: skip


@cache
def _policies() -> dict[str, str]:
    """Built-in schedulers by name, the plainest first, each with a line on what it does."""
    return {name: _tooltip(target) for name, target in BUILT_IN["schedulers"].items()}


def _tooltip(target: str) -> str:
    try:
        return (getdoc(load_built_in(target)) or "").partition("\n")[0]
    except InputError as error:
        return str(error)


def _heads(runs: list[Run], columns: list[tuple[Run, str, dict[str, Any]]]) -> list[str]:
    """What tells each column from the others: its policy, its run, or both."""
    if len(runs) == 1:
        return [policy for _, policy, _ in columns]
    times = Counter(run.id for run, _, _ in columns)
    return [run.title if times[run.id] == 1 else f"{policy} ({run.title})" for run, policy, _ in columns]


def compare(request: Request) -> Response:
    """Runs side by side; of those whose jobs can be paired, a comparison job by job can be begun."""
    studio = studio_of(request)
    runs = [run for id in request.query_params.getlist("run")[:20] if (run := studio.runs.get(id)) is not None]
    columns = [(run, policy, summary) for run in runs for policy, summary in studio.runs.summaries(run)]
    if len(columns) < 2:
        return problem(request, "Tick two runs or more that are done, or one with several policies, to compare.", 400)
    can_pair = all(run.face in _JOB_BY_JOB for run in runs)
    rows = side_by_side([summary for _, _, summary in columns])
    return shown_page(
        request, "compare.html", runs=runs, heads=_heads(runs, columns), rows=rows, can_pair=can_pair, groups=_BY
    )  # fmt: skip


async def compare_start(request: Request) -> Response:
    """Begin a comparison job by job."""
    form = await form_of(request)
    studio = studio_of(request)
    runs = [run for id in form.get("run", [])[:20] if (run := studio.runs.get(id)) is not None]
    if not runs or not all(run.face in _JOB_BY_JOB and studio.runs.summaries(run) for run in runs):
        raise InputError("these runs cannot be compared job by job; choose runs of schedulers that are done")
    by = (form.get("by") or [""])[-1]
    if by not in _BY:
        raise InputError("compare by user, group, project, queue, partition, application or size")
    words = ["compare", *(f"../{run.id}/result" for run in runs), *([f"--by={by}"] if by else [])]
    words += ["-o", "comparison.html"]
    title = "comparison of " + "; ".join(run.title for run in runs)
    files = {"command.txt": shlex.join(["unspool", *words]) + "\n"}
    prepared = Prepared(tuple(words), files, "command.txt", title[:200], "comparison.html")
    logs, reads = dict.fromkeys(run.log for run in runs), [str(studio.runs.place(run)) for run in runs]
    run = started(studio, "compare", prepared, ", ".join(logs), "", form, reads)
    return seen(request, f"/runs/{run.id}")
