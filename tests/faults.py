"""Faults of the file system, put into a run of the command line at any of its steps; what is there must stay whole."""

from __future__ import annotations

import ast
import errno
import os
import sys
from contextlib import contextmanager
from pathlib import Path

from unspool import storage
from unspool.cli.app import run_command

SOURCES = Path(storage.__file__).parent
FULL, BROKEN, DENIED, STOPPED, KILLED = "full", "broken", "denied", "stopped", "killed"
FAULTS = (FULL, BROKEN, DENIED, STOPPED, KILLED)
_ERRNO = {FULL: errno.ENOSPC, BROKEN: errno.EIO, DENIED: errno.EACCES}
_MADE_AT = (b'_s":', b"simulation_time", b"</html>", b"PK")
_TAKES_ROOM = {"open", "write", "close", "mkdir", "sync"}


class Killed(BaseException):
    """What a kill -9 is to a test: from that step on nothing is done to any file."""


class Recorded:
    """Notes each step, and the lines of ours that asked for it."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, str]] = []
        self.lines: set[tuple[str, int]] = set()

    def __call__(self, step: str, path: str) -> None:
        """Take one step down."""
        self.steps.append((step, path))
        frame = sys._getframe(1)
        while frame is not None:
            if _is_caller(frame.f_code.co_filename):
                self.lines.add((Path(frame.f_code.co_filename).relative_to(SOURCES).as_posix(), frame.f_lineno))
            frame = frame.f_back


class Nth:
    """Lets the n-th step fail, from 0; after a kill all others too, and on a full disk all that take room."""

    def __init__(self, at: int, fault: str) -> None:
        self.at, self.fault, self.seen, self.hit = at, fault, 0, None

    def __call__(self, step: str, path: str) -> None:
        """Fail or not."""
        is_due = self.seen == self.at
        self.seen += 1
        if is_due:
            self.hit = step
        if self.hit is None:
            return
        if self.fault == KILLED:
            raise Killed
        if is_due and self.fault == STOPPED:
            raise KeyboardInterrupt
        if self.fault in _ERRNO and (is_due or (self.fault == FULL and step in _TAKES_ROOM)):
            raise OSError(_ERRNO[self.fault], os.strerror(_ERRNO[self.fault]))


def _is_caller(file: str) -> bool:
    return file.startswith(str(SOURCES)) and file != storage.__file__


@contextmanager
def faulty(hook):
    """While this is entered, the hook is asked before each step."""
    assert storage.fault is None
    storage.fault = hook
    try:
        yield hook
    finally:
        storage.fault = None


def called(arguments) -> int:
    """The exit code of the command line; that of a killed one is -9."""
    try:
        return run_command([str(each) for each in arguments])
    except Killed:
        return -9


def tree(folder: Path) -> dict[str, bytes]:
    """All files below a folder, or the file."""
    if folder.is_file():
        return {"": folder.read_bytes()}
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".part")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def is_alike(one: dict[str, bytes], other: dict[str, bytes]) -> bool:
    """Whether two results hold the same; of what says how long it took to make it, whether both are whole."""
    return one.keys() == other.keys() and all(
        one[name] == other[name] or _end(one[name]) == _end(other[name]) != b"" for name in one
    )


def _end(content: bytes) -> bytes:
    """The last letters of a text that says when it was made; nothing of any other, which must be the same."""
    return content.rstrip()[-1:] if any(mark in content for mark in _MADE_AT) else b""


def call_sites() -> list[tuple[str, range]]:
    """Every call of the file layer, or of what is built on it, in our sources: the file and the lines of the call."""
    layer = {f"storage.{name}" for name in storage.__all__}
    found = []
    for source in sorted(SOURCES.rglob("*.py")):
        parsed = ast.parse(source.read_text(encoding="utf-8"))
        names = layer | {
            each.asname or each.name for node in ast.walk(parsed) if isinstance(node, ast.ImportFrom)
            and node.module in _WRITERS for each in node.names if each.name in _WRITERS[node.module]
        }  # fmt: skip
        names |= _WRITERS.get(
            f"unspool.{source.relative_to(SOURCES).with_suffix('').as_posix().replace('/', '.')}", set()
        )
        if source.name != "storage.py":
            found += [
                (source.relative_to(SOURCES).as_posix(), range(node.lineno, (node.end_lineno or node.lineno) + 1))
                for node in ast.walk(parsed) if isinstance(node, ast.Call) and _named(node.func) in names
            ]  # fmt: skip
    return found


_WRITERS = {
    "unspool.storage": set(storage.__all__) - {"AnyPath", "Written", "blame", "is_ours"},
    "unspool.workloads.files": {"replaced"},
    "unspool.results.store": {"write_folder", "write_json", "write_table"},
}


def _named(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def raw_changes(source: str) -> list[int]:
    """The lines of a source that change files without the layer."""
    return [node.lineno for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and _is_raw(node)]


_RAW_FUNCTIONS = {
    "os": {
        "replace", "rename", "renames", "remove", "unlink", "mkdir", "makedirs", "rmdir", "removedirs", "link",
        "symlink", "truncate", "fsync", "fdopen", "chmod", "chown", "utime", "mkfifo",
    },
    "shutil": {"rmtree", "move", "copy", "copy2", "copyfile", "copyfileobj", "copytree", "make_archive"},
    "tempfile": {"mkdtemp", "mkstemp", "TemporaryFile", "TemporaryDirectory", "NamedTemporaryFile"},
}  # fmt: skip
_RAW_METHODS = {
    "write_text", "write_bytes", "unlink", "mkdir", "rmdir", "touch", "symlink_to", "hardlink_to", "chmod", "rmtree",
}  # fmt: skip
_TO_A_FILE = {
    "write_parquet", "write_csv", "write_ipc", "write_json", "write_ndjson", "write_excel", "sink_parquet", "sink_csv",
    "sink_ipc", "sink_ndjson", "savefig", "savez", "savez_compressed", "savetxt", "write_image", "write_html",
    "Workbook", "dump", "to_csv", "to_parquet",
}  # fmt: skip
_FILES = {"file", "content", "packed", "raw"}  # how files of the layer are called, and what is kept in memory


def _is_raw(call: ast.Call) -> bool:
    of, _, name = _named(call.func).rpartition(".")
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    first = call.args[0] if call.args else None
    if name in _RAW_FUNCTIONS.get(of, ()) or (method in _RAW_METHODS and of not in ("storage", "stat")):
        return True
    if "open" in (name, method):
        return _opens_to_write(call)
    if name == "ZipFile" or method in ("ZipFile", "GzipFile"):
        is_written = any(isinstance(each, ast.Constant) and each.value in ("w", "wb", "a", "x") for each in call.args)
        return is_written and not any(isinstance(each, ast.Name) and each.id in _FILES for each in call.args)
    if method in ("rename", "replace") and len(call.args) == 1 and not call.keywords:  # else of a text or a table
        is_text = isinstance(first, ast.Name) and first.id.isupper()
        return not isinstance(first, ast.Dict | ast.DictComp) and not is_text
    return method in _TO_A_FILE and first is not None and not (isinstance(first, ast.Name) and first.id in _FILES)


def _opens_to_write(call: ast.Call) -> bool:
    if any(_named(each) == "os.devnull" for each in call.args):
        return False
    if _named(call.func) == "os.open":
        flags = {_named(each) for given in call.args for each in ast.walk(given)}
        return not flags & {"os.O_RDONLY", "os.O_PATH"} or bool(flags & {"os.O_CREAT", "os.O_WRONLY", "os.O_RDWR"})
    modes = [each for each in (*call.args, *(each.value for each in call.keywords if each.arg == "mode"))
             if isinstance(each, ast.Constant) and isinstance(each.value, str) and len(each.value) <= 3]  # fmt: skip
    return any(set("wax+") & set(each.value) for each in modes)
