"""Files that came through the browser: taken under a name of ours, held to a size, unpacked with care, found by id."""

from __future__ import annotations

import gzip
import json
import os
import re
import secrets
import stat
import time
import zipfile
import zlib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import IO, Any

import msgspec

from unspool.errors import InputError, shown
from unspool.storage import make_folder, move, remove, remove_folder, replacing, write_bytes, writing
from unspool.units import format_bytes
from unspool.workloads.files import opened
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
_MOST_FILES = 10_000  # of a zip
_UNPACKED = 20  # times the size that an upload may have
_TRACES = ("trace", "filename")  # keys of profiles that name files
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

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self.folder = folder
        self.most_bytes = most_bytes
        make_folder(folder)

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
            make_folder(data, new=True)
            path = data / _safe(name)
            size = self._copy(content, path, name)
            path = self._opened(path, kind, name)
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
        with writing(path, new=True) as file:
            while block := content.read(_BLOCK):
                size += len(block)
                if size > self.most_bytes:
                    raise InputError(too_large(name, self.most_bytes))
                file.write(block)
        if not size:
            raise InputError(f"{shown(name)}: the file is empty; choose another")
        return size

    def _opened(self, path: Path, kind: str, name: str) -> Path:
        """The file, or what a zip holds, once nothing in it leads elsewhere."""
        most = self.most_bytes * _UNPACKED
        with path.open("rb") as file:
            start = file.read(4)
        if start[:2] == b"\x1f\x8b":
            _check_gzip(path, most, name)
        elif start == b"PK\x03\x04":
            if kind != "log":
                raise InputError(f"{shown(name)}: a zip is only taken for a log with its parts; unpack it first")
            folder = path.parent / "unpacked"
            _unpack(path, folder, most, name)
            remove(path)
            path = _log_in(folder, name)
        _refuse_traces(path, name)
        return path


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


def _check_gzip(path: Path, most: int, name: str) -> None:
    """Unpack into nothing, to know the size before anything else does."""
    size = 0
    try:
        with gzip.open(path) as file:
            while block := file.read(_BLOCK):
                size += len(block)
                if size > most:
                    raise InputError(f"{shown(name)}: unpacked it is larger than {format_bytes(most)}; cut it down")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{shown(name)}: the gzip file is cut off or damaged ({error}); fetch it again") from error


def _unpack(path: Path, into: Path, most: int, name: str) -> None:
    """Unpack a zip of plain files; links, paths that lead out of it and more than it may hold are refused."""
    try:
        with zipfile.ZipFile(path) as packed:
            entries = packed.infolist()
            if len(entries) > _MOST_FILES:
                raise InputError(f"{shown(name)}: holds {len(entries):,} files; at most {_MOST_FILES:,} are taken")
            left = most
            for entry in entries:
                _refuse_entry(entry, name)
                target = into / entry.filename
                if entry.is_dir():
                    make_folder(target)
                    continue
                make_folder(target.parent)
                with packed.open(entry) as source, writing(target, new=True) as file:
                    while block := source.read(_BLOCK):
                        left -= len(block)
                        if left < 0:
                            raise InputError(f"{shown(name)}: unpacked it is larger than {format_bytes(most)}")
                        file.write(block)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise InputError(f"{shown(name)}: the zip is damaged or packed in a way not known ({error})") from error
    except FileExistsError as error:
        raise InputError(f"{shown(name)}: holds a file twice; pack it again") from error


def _refuse_entry(entry: zipfile.ZipInfo, name: str) -> None:
    mode = entry.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise InputError(
            f"{shown(name)}: {shown(entry.filename)} in it is a link or a device; pack the files themselves"
        )
    parts = PurePosixPath(entry.filename).parts
    if not parts or not _is_inside(entry.filename):
        raise InputError(f"{shown(name)}: {shown(entry.filename)} in it leads out of the zip; pack a folder of files")


def _is_inside(path: str) -> bool:
    return not (
        path.startswith("/") or "\\" in path or ":" in path or "\0" in path or ".." in PurePosixPath(path).parts
    )


def _log_in(folder: Path, name: str) -> Path:
    """The log in a zip: a folder with lsb.acct files, or the only JSON file of the uppermost folder that has files."""
    while not [entry for entry in folder.iterdir() if entry.is_file()] and len(inner := list(folder.iterdir())) == 1:
        folder = inner[0]
    if any(folder.glob("lsb.acct*")):
        return folder
    workloads = sorted(folder.glob("*.json"))
    if len(workloads) == 1:
        return workloads[0]
    raise InputError(
        f"{shown(name)}: expected a zip of lsb.acct files, or of one workload of Batsim (.json) with its traces; "
        f"found {len(workloads)} .json files in it; give other logs as they are, or packed with gzip"
    )


def _refuse_traces(path: Path, name: str) -> None:
    """Refuse a workload of Batsim whose traces are files outside of what was uploaded with it."""
    if not path.is_file():
        return
    found: list[str] = []

    def collect(pairs: list[tuple[str, Any]]) -> None:
        found.extend(str(value) for key, value in pairs if key in _TRACES and isinstance(value, str))

    try:
        with opened(path) as file:
            if not file.read(_BLOCK).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
                return
            file.seek(0)
            json.load(file, object_pairs_hook=collect)
    except (InputError, ValueError, RecursionError):
        return  # no JSON: whoever reads it says what it is
    for trace in found:
        for text in _named_by(path.parent, trace):
            if not _is_inside(text):
                raise InputError(
                    f"{shown(name)}: the trace {shown(text)} leads out of it; pack the workload and its traces into "
                    "one zip, and name them from its folder"
                )


def _named_by(folder: Path, trace: str) -> Iterator[str]:
    """The trace, and the files that it names itself, from its own folder."""
    yield trace
    if _is_inside(trace) and os.path.isfile(folder / trace):
        with open(folder / trace, encoding="utf-8", errors="replace") as file:
            yield from (line.strip() for line in file if line.strip() and not line.lstrip().startswith("#"))
