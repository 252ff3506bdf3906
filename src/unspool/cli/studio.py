"""`unspool studio`: the same from a page in the browser."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from unspool.cli.output import note, print_json, print_text
from unspool.errors import InputError, UnitError
from unspool.units import parse_bytes

__all__ = ["studio"]

_Flag = Parameter(negative=(), show_default=False)
_FOLDER = Path("unspool-studio")


def studio(
    folder: Path = _FOLDER,
    /,
    *,
    port: int = 0,
    workers: int | None = None,
    max_upload: str = "200 MiB",
    open: Annotated[bool, _Flag] = False,
    json: Annotated[bool, _Flag] = False,
) -> int:
    """Serve a page on this machine that takes a log to an answer; Ctrl-C stops it.

    For example: unspool studio --open

    It listens on 127.0.0.1 alone, and answers only under the address that it prints, which holds a new secret each
    time. Needs the extra studio.

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
    open
        Show it in the browser.
    json
        Print the address and the folder as JSON.
    """
    from unspool.studio.serve import needs_extra, serve

    needs_extra()
    if workers is not None and not 1 <= workers <= 256:
        raise InputError(f"--workers {workers}: expected 1 to 256")
    try:
        most_bytes = parse_bytes(max_upload)
    except UnitError as error:
        raise InputError(f"--max-upload {max_upload}: {error}") from error
    if most_bytes < 1:
        raise InputError(f"--max-upload {max_upload}: expected a size above 0")

    def ready(address: str) -> None:
        if json:
            print_json({"address": address, "folder": str(folder.resolve())})
        else:
            print_text(address)
        sys.stdout.flush()
        note(f"runs are kept in {folder}; Ctrl-C stops it")
        if open and not webbrowser.open(address):
            note("no browser could be started; open the address in one")

    try:
        serve(folder, port, workers=workers or max(2, os.cpu_count() or 2), most_bytes=most_bytes, ready=ready)
    except KeyboardInterrupt:
        note("stopped")
    return 0
