"""What was found in each upload: looked at once, by a worker, and kept."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from unspool.storage import move, replace_text
from unspool.studio.kept import private_folder, written
from unspool.studio.look import PROGRAM, Look
from unspool.studio.uploads import Upload
from unspool.studio.workers import Workers, told_by

__all__ = ["Looks"]

_FOUND, _FAULT = "found.json", "fault.txt"
_MOST_S = 600


class Looks:
    """Looks by what was looked at: the file and how it was to be read."""

    def __init__(self, folder: Path, workers: Workers) -> None:
        self._folder = private_folder(folder)
        self._workers = workers

    def begin(self, upload: Upload) -> None:
        """Look at an upload, unless that was done or is going on."""
        place = self._place(upload)
        if (place / _FOUND).is_file() or (place / _FAULT).is_file() or self._workers.state(place.name) is not None:
            return
        private_folder(place)

        def done(code: int | None) -> None:
            if code == 0:
                move(place / "stdout.txt", place / _FOUND)
            elif code is not None:
                replace_text(place / _FAULT, told_by(place, code))

        told = msgspec.json.encode(upload).decode()
        self._workers.start(place.name, [told], place, done, PROGRAM, reads=[upload.folder], cpu_s=_MOST_S)

    def found(self, upload: Upload) -> Look | str | None:
        """What was found, the sentence that says why it cannot be read, or None while nobody knows."""
        place = self._place(upload)
        try:
            if (place / _FAULT).is_file():
                text = written(place / _FAULT).decode("utf-8", "replace")
                return text.replace(f"{Path(upload.path).parent}/", "")
            return msgspec.json.decode(written(place / _FOUND), type=Look)
        except (OSError, msgspec.MsgspecError, RecursionError):
            return None

    def _place(self, upload: Upload) -> Path:
        told = f"{upload.id} {upload.path} {upload.format} {upload.columns}"
        return self._folder / hashlib.sha256(told.encode()).hexdigest()[:24]
