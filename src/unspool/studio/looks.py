"""What was found in each upload: looked at once, by a worker, and kept."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from unspool.storage import make_folder, move, replace_text
from unspool.studio.look import PROGRAM, Look
from unspool.studio.uploads import Upload
from unspool.studio.workers import Workers, told_by

__all__ = ["Looks"]

_FOUND, _FAULT = "found.json", "fault.txt"
_AT_ONCE = 2


class Looks:
    """Looks by what was looked at: the file and how it was to be read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._workers = Workers(_AT_ONCE)
        make_folder(folder)

    def begin(self, upload: Upload) -> None:
        """Look at an upload, unless that was done or is going on."""
        place = self._place(upload)
        if (place / _FOUND).is_file() or (place / _FAULT).is_file() or self._workers.state(place.name) is not None:
            return
        make_folder(place)

        def done(code: int | None) -> None:
            if code == 0:
                move(place / "stdout.txt", place / _FOUND)
            elif code is not None:
                replace_text(place / _FAULT, told_by(place, code))

        self._workers.start(place.name, [msgspec.json.encode(upload).decode()], place, done, PROGRAM)

    def found(self, upload: Upload) -> Look | str | None:
        """What was found, the sentence that says why it cannot be read, or None while nobody knows."""
        place = self._place(upload)
        try:
            if (place / _FAULT).is_file():
                text = (place / _FAULT).read_text(encoding="utf-8")
                return text.replace(f"{Path(upload.path).parent}/", "")
            return msgspec.json.decode((place / _FOUND).read_bytes(), type=Look)
        except (OSError, msgspec.MsgspecError):
            return None

    def close(self) -> None:
        """End what is going on."""
        self._workers.close()

    def _place(self, upload: Upload) -> Path:
        told = f"{upload.id} {upload.path} {upload.format} {upload.columns}"
        return self._folder / hashlib.sha256(told.encode()).hexdigest()[:24]
