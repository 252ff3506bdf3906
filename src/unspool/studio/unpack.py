"""Unpack an upload: in a worker, because a few bytes can hold very many, and a zip can name any path."""

from __future__ import annotations

import gzip
import json
import stat
import sys
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from unspool.errors import InputError, shown
from unspool.storage import make_folder, remove, writing
from unspool.units import format_bytes

__all__ = ["PROGRAM", "is_packed", "main", "most_unpacked"]

PROGRAM = "from unspool.studio.unpack import main; main()"
"""What a worker runs to unpack."""

_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_BLOCK = 1 << 20
_MOST_FILES = 10_000  # of a zip
_DEEPEST = 50
_TIMES = 100  # logs pack to a tenth, and those that repeat themselves to a fiftieth; a bomb to a thousandth
_ALWAYS = 16 << 20


def is_packed(start: bytes) -> bool:
    """Whether a file that begins so has to be unpacked."""
    return start.startswith((_GZIP, _ZIP))


def most_unpacked(packed_bytes: int, most_bytes: int) -> int:
    """How large an upload may be once it is unpacked: at most so many bytes, and 100 times the packed ones.

    >>> most_unpacked(194_000, 4 << 30), most_unpacked(10, 4 << 30), most_unpacked(1 << 30, 4 << 30)
    (19400000, 16777216, 4294967296)
    """
    return min(most_bytes, max(_TIMES * packed_bytes, _ALWAYS))


def main() -> None:
    """Unpack the file that is told as JSON, and print where the log is, from its folder; or complain and exit."""
    told = json.loads(sys.argv[1])
    path, name = Path(told["path"]), told["name"]
    try:
        found = _unpacked(path, told["kind"], name, most_unpacked(path.stat().st_size, told["most_bytes"]))
    except InputError as error:
        complaint = str(error)
    except (OSError, ValueError) as error:
        complaint = f"{shown(name)}: cannot be unpacked ({shown(str(getattr(error, 'strerror', None) or error), 200)})"
    else:
        sys.stdout.write(json.dumps(found.relative_to(path.parent).as_posix()))
        return
    sys.stderr.write(f"unspool: {complaint}\n")
    sys.exit(2)


def _unpacked(path: Path, kind: str, name: str, most: int) -> Path:
    with path.open("rb") as file:
        start = file.read(len(_ZIP))
    if start.startswith(_GZIP):
        _gzip_bytes(path, most, most, name)
        return path
    if kind != "log":
        raise InputError(f"{shown(name)}: a zip is only taken for a log with its parts; unpack it first")
    folder = path.parent / "unpacked"
    _unpack(path, folder, most, name)
    remove(path)
    return _log_in(folder, name)


def _too_large(name: str, most: int) -> InputError:
    return InputError(
        f"{shown(name)}: unpacked it is larger than {format_bytes(most)}; cut it down, or give it unpacked"
    )


def _gzip_bytes(path: Path, left: int, most: int, name: str) -> int:
    """The size of what a gzip file holds: unpacked into nothing, to know it before anything else does."""
    size = 0
    try:
        with gzip.open(path) as file:
            while block := file.read(_BLOCK):
                size += len(block)
                if size > left:
                    raise _too_large(name, most)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{shown(name)}: the gzip file is cut off or damaged ({error}); fetch it again") from error
    return size


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
                            raise _too_large(name, most)
                        file.write(block)
                with target.open("rb") as file:
                    is_packed_again = file.read(len(_GZIP)) == _GZIP
                left -= _gzip_bytes(target, left, most, name) if is_packed_again else 0  # readers will unpack it
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise InputError(f"{shown(name)}: the zip is damaged or packed in a way not known ({error})") from error
    except FileExistsError as error:
        raise InputError(f"{shown(name)}: holds a file twice; pack it again") from error


def _refuse_entry(entry: zipfile.ZipInfo, name: str) -> None:
    told = f"{shown(name)}: {shown(entry.filename)} in it"
    if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise InputError(f"{told} is a link or a device; pack the files themselves")
    if not _is_inside(entry.filename):
        raise InputError(f"{told} leads out of the zip; pack a folder of files")
    if entry.filename.count("/") > _DEEPEST:
        raise InputError(f"{told} is in more than {_DEEPEST} folders; pack the innermost one")
    if not entry.filename.isprintable():
        raise InputError(f"{told} has a name that cannot be shown; give it another")


def _is_inside(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return bool(parts) and not (path.startswith("/") or "\\" in path or ":" in path or "\0" in path or ".." in parts)


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
