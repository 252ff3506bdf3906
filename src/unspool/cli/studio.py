"""`unspool studio`: the same from a page in the browser."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from unspool.cli.output import note, print_json, print_text
from unspool.errors import InputError, UnitError
from unspool.units import parse_bytes, parse_duration

__all__ = ["studio"]

_Flag = Parameter(negative=(), show_default=False)
_FOLDER = Path("unspool-studio")
_LEAST = {"--max-upload": "a size above 0", "--max-memory": "1 GiB or more", "--max-time": "1 minute or more"}


def studio(
    folder: Path = _FOLDER,
    /,
    *,
    port: int = 0,
    workers: int | None = None,
    max_upload: str = "200 MiB",
    max_memory: str | None = None,
    max_time: str = "12h",
    open: Annotated[bool, _Flag] = False,
    json: Annotated[bool, _Flag] = False,
) -> int:
    """Serve a page on this machine that takes a log to an answer; Ctrl-C stops it.

    For example: unspool studio --open

    It listens on 127.0.0.1 alone, and answers only under the address that it prints, which holds a new secret each
    time. Uploads are read by processes that can touch nothing else; the first line says what holds them. Needs the
    extra studio.

    Parameters
    ----------
    folder
        Where uploads and runs are kept. What an earlier start left there is shown again.
    port
        The port. Default: any that is free.
    workers
        How many runs at once; others wait. Default: as many as there are cores, and two at least.
    max_upload
        The largest file that is taken, as in 2GiB.
    max_memory
        The most memory that each run may take, as address space: 8GiB. Default: half of this machine's, 4 GiB at
        least.
    max_time
        The most processor time that each process of a run may take, as in 2h.
    open
        Show it in the browser.
    json
        Print the address and the folder as JSON.
    """
    from unspool.studio.serve import needs_extra, serve

    needs_extra()
    if workers is not None and not 1 <= workers <= 256:
        raise InputError(f"--workers {workers}: expected 1 to 256")
    most_bytes = int(_limit("--max-upload", max_upload, parse_bytes, 1))
    memory_bytes = None if max_memory is None else int(_limit("--max-memory", max_memory, parse_bytes, 1 << 30))
    cpu_s = int(_limit("--max-time", max_time, parse_duration, 60))

    def ready(address: str, confinement: str) -> None:
        note(confinement)
        if json:
            print_json({"address": address, "folder": str(folder.resolve()), "confinement": confinement})
        else:
            print_text(address)
        sys.stdout.flush()
        note(f"runs are kept in {folder}; Ctrl-C stops it")
        if open and not webbrowser.open(address):
            note("no browser could be started; open the address in one")

    try:
        serve(
            folder, port, workers=workers or max(2, os.cpu_count() or 2), most_bytes=most_bytes,
            memory_bytes=memory_bytes, cpu_s=cpu_s, ready=ready,
        )  # fmt: skip
    except KeyboardInterrupt:
        note("stopped")
    return 0


def _limit(option: str, text: str, parse: Callable[[str], float], least: int) -> float:
    try:
        most = parse(text)
    except UnitError as error:
        raise InputError(f"{option} {text}: {error}") from error
    if not least <= most <= 2**62:
        raise InputError(f"{option} {text}: expected {_LEAST[option]}")
    return most
