"""Files that came through the browser: taken under a name of ours, held to a size, unpacked by workers, found by id."""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from importlib.resources import files
from pathlib import Path
from queue import Queue
from typing import IO

import msgspec

from unspool.errors import InputError, shown
from unspool.storage import move, remove, remove_folder, replacing, write_bytes, writing
from unspool.studio.kept import private_folder, written
from unspool.studio.unpack import PROGRAM, is_packed
from unspool.studio.workers import Workers, told_by
from unspool.units import format_bytes
from unspool.workloads.sample import RECODEX_REFS, RECODEX_SAMPLE, SAMPLE

__all__ = ["ID", "KINDS", "SAMPLES", "Upload", "Uploads"]

KINDS = {
    "log": "a log of jobs",
    "platform": "a platform",
    "catalogue": "prices of instances",
    "configuration": "a configuration of cost",
    "outages": "outages",
    "refs": "reference runs",
}
"""What a file may be said to be."""

ID = re.compile(r"[0-9a-f]{12}")
_META, _DATA = "upload.json", "data"
_BLOCK = 1 << 20
_UNPACKED = 20  # times the size that an upload may have
_MOST_S = 120  # of processor time, to unpack
_STRANGE = re.compile(r"[^A-Za-z0-9._-]+")


class Upload(msgspec.Struct, frozen=True):
    """A file or folder that may be used: `name` is what it was called, for people; `path` is where we keep it."""

    id: str
    kind: str
    name: str
    path: str
    bytes: int
    created_unix_s: float = 0.0
    format: str = ""
    columns: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        """What a worker that uses it may read: all that came with it."""
        before, place, _ = self.path.partition(os.path.join(os.sep, self.id, _DATA))
        return before + place

    @property
    def is_sample(self) -> bool:
        """Whether it ships with unspool."""
        return self.id in SAMPLES


SAMPLES = {
    "sample-campus": ("log", SAMPLE, "10,000 jobs of a campus cluster of 256 cores, 48 days"),
    "sample-recodex": ("log", RECODEX_SAMPLE, "1,900 jobs of a code examiner, for dispatchers"),
    "sample-recodex-refs": ("refs", RECODEX_REFS, "reference runs for the code examiner"),
}


class Uploads:
    """The uploads in a folder. Whatever the browser says, only an id of this list leads to a file."""

    def __init__(self, folder: Path, most_bytes: int, workers: Workers) -> None:
        self.folder = private_folder(folder)
        self.most_bytes = most_bytes
        self._workers = workers

    def all(self, kind: str | None = None) -> list[Upload]:
        """All of a kind: the newest first, samples last."""
        own = [each for entry in self.folder.iterdir() if (each := self.get(entry.name)) is not None]
        found = sorted(own, key=lambda each: -each.created_unix_s) + [_sample(name) for name in SAMPLES]
        return [each for each in found if kind is None or each.kind == kind]

    def get(self, id: str, kind: str | None = None) -> Upload | None:
        """The upload of an id, or None."""
        if id in SAMPLES:
            found = _sample(id)
        else:
            if ID.fullmatch(id) is None:
                return None
            try:
                found = msgspec.json.decode((self.folder / id / _META).read_bytes(), type=Upload)
            except (OSError, msgspec.MsgspecError):
                return None
        return found if kind is None or found.kind == kind else None

    def add(self, kind: str, name: str, content: IO[bytes]) -> Upload:
        """Take a file; whatever is wrong with it is an `InputError`, and nothing is kept."""
        if kind not in KINDS:
            raise InputError(f"'{shown(kind)}' is no kind of file; expected one of {', '.join(KINDS)}")
        id = secrets.token_hex(6)
        place = self.folder / f"{id}.partial"
        data = place / _DATA
        try:
            private_folder(place)
            private_folder(data)
            path = data / _safe(name)
            size = self._copy(content, path, name)
            path = self._opened(path, kind, name)
            for said in ("stdout.txt", "stderr.txt"):
                remove(place / said)
            final = self.folder / id / path.relative_to(place)
            upload = Upload(id, kind, shown(_last(name), 200) or "file", str(final), size, time.time())
            write_bytes(place / _META, msgspec.json.encode(upload))
            move(place, self.folder / id)
        except OSError as error:
            raise InputError(f"{shown(name)}: cannot be kept: {error.strerror or error}") from error
        finally:
            remove_folder(place)
        return upload

    def read_as(self, upload: Upload, format: str, columns: tuple[str, ...]) -> Upload:
        """Remember how a log is to be read."""
        changed = msgspec.structs.replace(upload, format=format, columns=columns)
        with replacing(self.folder / upload.id / _META) as file:
            file.write(msgspec.json.encode(changed))
        return changed

    def remove(self, upload: Upload) -> None:
        """Forget an upload and its file."""
        if not upload.is_sample:
            remove_folder(self.folder / upload.id)

    def _copy(self, content: IO[bytes], path: Path, name: str) -> int:
        size = 0
        with writing(path, new=True, mode=0o600) as file:
            while block := content.read(_BLOCK):
                size += len(block)
                if size > self.most_bytes:
                    raise InputError(too_large(name, self.most_bytes))
                file.write(block)
        if not size:
            raise InputError(f"{shown(name)}: the file is empty; choose another")
        return size

    def _opened(self, path: Path, kind: str, name: str) -> Path:
        """The file, or the log in what it holds: a worker unpacks it, and looks at how much that is."""
        with path.open("rb") as file:
            if not is_packed(file.read(4)):
                return path
        data, place = path.parent, path.parent.parent
        told = {"path": str(path), "kind": kind, "name": name, "most_bytes": self.most_bytes * _UNPACKED}
        codes: Queue[int | None] = Queue()
        self._workers.start(place.name, [json.dumps(told)], place, codes.put, PROGRAM, cpu_s=_MOST_S)
        code = codes.get()
        if code is None:
            raise InputError(f"{shown(name)}: not taken, because the studio is being stopped; upload it again")
        if code != 0:
            raise InputError(told_by(place, code))
        found = Path(data, json.loads(written(place / "stdout.txt")))
        if os.path.realpath(found) != os.path.abspath(found) or not found.is_relative_to(data):
            raise InputError(f"{shown(name)}: leads out of its folder; pack the files themselves")
        return found


def too_large(name: str, most_bytes: int) -> str:
    """The sentence for a file that is too large."""
    return (
        f"{shown(name)}: larger than {format_bytes(most_bytes)}, which is the most that is taken; pack it with gzip, "
        "or start unspool studio with a larger --max-upload"
    )


def _sample(id: str) -> Upload:
    kind, name, _ = SAMPLES[id]
    path = Path(str(files("unspool") / "samples" / name))
    return Upload(id, kind, name, str(path), path.stat().st_size)


def _last(name: str) -> str:
    return re.split(r"[/\\]", name)[-1]


def _safe(name: str) -> str:
    """The last part of a name, in letters that mean nothing to any file system.

    >>> _safe("../../etc/passwd"), _safe("C:\\\\logs\\\\my log.swf.gz"), _safe(".."), _safe("")
    ('passwd', 'my_log.swf.gz', 'file', 'file')
    """
    plain = _STRANGE.sub("_", _last(name)).strip("._-")
    return plain[-80:].lstrip("._-") or "file"
