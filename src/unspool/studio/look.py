"""What is in an uploaded file, found out in a process of its own: facts, notes, and what was rejected and why."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec

from unspool.cli.config import RunConfig
from unspool.cli.files import platform_named, read_log
from unspool.cli.inspect import log_facts, platform_facts, shown_fact
from unspool.errors import InputErrors, UnspoolError, shown
from unspool.faces.cloud.config import read_config
from unspool.platforms.catalogue import read_catalogue
from unspool.studio.uploads import Upload
from unspool.units import counted
from unspool.workloads.files import opened
from unspool.workloads.recodex import read_refs, recognises

__all__ = ["PROGRAM", "Look", "main"]

PROGRAM = "from unspool.studio.look import main; main()"
"""What a worker runs to look."""

_MOST_SHOWN = 100  # rejected records


class Look(msgspec.Struct, frozen=True):
    """What was found: pairs of a name and a text, notes, and the first rejected records as (line, job, reason).

    `values` are those that a configuration of cost has for the fields of the form.
    """

    facts: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    jobs: int = 0
    rejected_count: int = 0
    rejected: tuple[tuple[int | None, str | None, str], ...] = ()
    cores: int | None = None
    is_dispatch: bool = False
    is_batsim: bool = False
    values: dict[str, str] = {}


def main() -> None:
    """Read the upload that stands in the first argument as JSON, and print what was found, or complain and exit."""
    try:
        found = _looked(msgspec.json.decode(sys.argv[1], type=Upload))
    except InputErrors as error:
        _complain("\n".join(shown(line, 500) for line in error.lines()))
    except UnspoolError as error:
        _complain(shown(str(error), 1000))
    except MemoryError:
        _complain("not enough memory to read this file")
    else:
        sys.stdout.buffer.write(msgspec.json.encode(found))


def _complain(sentence: str) -> None:
    sys.stderr.write(f"unspool: {sentence}\n")
    sys.exit(2)


def _looked(upload: Upload) -> Look:
    return {
        "log": _log, "platform": _platform, "catalogue": _catalogue, "configuration": _configuration,
        "outages": _outages, "refs": _refs,
    }[upload.kind](upload)  # fmt: skip


def _log(upload: Upload) -> Look:
    log = read_log(upload.path, upload.format or None, RunConfig(columns=list(upload.columns)).column_map())
    facts = {name: value for name, value in log_facts(log).items() if name not in ("notes", "rejected_reasons")}
    rows = log.rejected.head(_MOST_SHOWN).select("line", "job_id", "reason").rows()
    return Look(
        _told(facts), tuple(log.notes), len(log), len(log.rejected),
        tuple((line, None if job is None else str(job), reason) for line, job, reason in rows),
        log.max_cores, _is_dispatch(upload.path), bool(log.profiles),
    )  # fmt: skip


def _is_dispatch(path: str) -> bool:
    """Whether it is a log of ReCodEx, which dispatchers replay."""
    if Path(path).is_dir():
        return False
    with opened(path) as file:
        return recognises(file.read(1 << 16))


def _platform(upload: Upload) -> Look:
    return Look(_told(platform_facts(platform_named(upload.path))))


def _catalogue(upload: Upload) -> Look:
    types = read_catalogue(upload.path)
    return Look((("types of instances", f"{len(types.types):,}"),))


def _configuration(upload: Upload) -> Look:
    from unspool.studio.faces import values_of_configuration  # with all that forms need

    settings = read_config(upload.path)
    facts = (("placement", settings.placement), ("region", settings.region or "the usual one"))
    return Look(facts, values=values_of_configuration(upload))


def _outages(upload: Upload) -> Look:
    with opened(upload.path) as file:
        lines = file.read(1 << 20).decode("utf-8", "replace").splitlines()
    head = (lines or [""])[0]
    return Look((("columns", shown(head, 200)), ("read", "whole when it is used, with the platform")))


def _refs(upload: Upload) -> Look:
    return Look((("read", counted(len(read_refs(upload.path)), "reference run")),))


def _told(facts: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((name.removesuffix("_s").replace("_", " "), shown_fact(name, value)) for name, value in facts.items())
