"""Fuzz the readers for so many seconds in all: `python -m fuzz --seconds 180 [TARGET …]`, or `make fuzz`.

Those whose code differs from the last commit that was pushed go first and longest. A finding is an input at which a
reader raises anything but an error of ours, takes too much memory or time, or ends the process; it is kept in
`fuzz/found`, and the exit code is 1.
"""

import argparse
import contextlib
import io
import multiprocessing
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

os.environ["NUMBA_DISABLE_JIT"] = "1"  # before anything of ours is imported
os.environ.setdefault("POLARS_MAX_THREADS", "1")

try:
    import atheris
except ImportError:
    print("nothing was fuzzed: atheris is not installed; say: pip install 'unspool[fuzz]'")
    sys.exit(0)

_COMPUTES = ("engine", "policies", "simulation", "metrics")  # and reads nothing

with (
    contextlib.redirect_stderr(io.StringIO()),  # it names every module
    atheris.instrument_imports(
        include=["unspool"], exclude=[f"unspool.{part}" for part in _COMPUTES], enable_loader_override=False
    ),
):
    from fuzz.mutations import mutated
    from fuzz.targets import HERE, TARGETS, Target
    from unspool.errors import UnspoolError

_FOUND = HERE / "found"
_CORPUS = HERE / "corpus"
_MOST_BYTES = 1_500_000  # bombs pack some hundred megabytes into that
_MEMORY = 1_500_000_000  # bytes that an input may take beyond what was there
_TIME_S = 20.0  # of the processor, for one input; instrumented code takes three times as long
_HANG_S = 30.0
_CHANGED_SHARE = 3.0  # of the time, where others get 1
_MOST_CRASHES = 50  # of one target
_FORK = multiprocessing.get_context("fork")  # what is imported and instrumented is so once, for all


def main() -> int:
    """Fuzz, and list what was tried and found."""
    given = argparse.ArgumentParser(prog="fuzz", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    given.add_argument("--seconds", type=float, default=180.0, help="in all, shared by the targets")
    given.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    given.add_argument("--seed", type=int, default=0, help="of the draws; 0 takes another each time")
    given.add_argument("targets", nargs="*", metavar="TARGET", help=f"one or more of {', '.join(TARGETS)}")
    asked = given.parse_args()
    unknown = [name for name in asked.targets if name not in TARGETS]
    if unknown:
        given.error(f"unknown target {unknown[0]}; known: {', '.join(TARGETS)}")
    chosen = asked.targets or list(TARGETS)
    changed = _changed()
    weights = {name: _CHANGED_SHARE if _is_changed(TARGETS[name], changed) else 1.0 for name in chosen}
    order = sorted(chosen, key=lambda name: -weights[name])
    unit = asked.seconds * asked.jobs / sum(weights.values())
    shutil.rmtree(_FOUND, ignore_errors=True)
    counts: dict[str, int] = {}
    running: list[tuple[str, float, Path, Any, Any]] = []
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as scratch:
        while order or running:
            while order and len(running) < asked.jobs:
                name = order.pop(0)
                place = Path(scratch, name)
                tried = _FORK.Value("Q", lock=False)
                process = _FORK.Process(target=_stress, args=(name, unit * weights[name], asked.seed, place, tried))
                process.start()
                running.append((name, time.time(), place, tried, process))
            wait([process.sentinel for *_, process in running])
            for each in [each for each in running if not each[-1].is_alive()]:
                running.remove(each)
                name, began, place, tried, _ = each
                counts[name] = tried.value
                print(f"{name:20} {counts[name]:9,} inputs in {time.time() - began:5.1f} s", flush=True)
                shutil.rmtree(place, ignore_errors=True)
    findings = sorted(_FOUND.glob("*/why.txt"))
    print(f"{sum(counts.values()):,} inputs for {len(counts)} readers; findings: {len(findings)}")
    for each in findings:
        print(f"\n{each.parent}:\n{each.read_text()}")
    return int(bool(findings))


def _changed() -> list[str]:
    """Files of the source that differ from what was last pushed, or from the commit before, where nothing was."""
    for base in ("origin/HEAD~", "HEAD~"):
        told = subprocess.run(
            ["git", "diff", "--name-only", base], capture_output=True, text=True, cwd=HERE, check=False
        )
        if told.returncode == 0:
            return [name.removeprefix("src/unspool/") for name in told.stdout.splitlines()]
    return []


def _is_changed(target: Target, changed: list[str]) -> bool:
    return any(name.startswith(target.sources) for name in changed)


def _stress(name: str, seconds: float, seed: int, place: Path, tried: Any) -> None:
    """Fuzz a target again and again until its time is over: libFuzzer ends at every crash."""
    place.mkdir()
    corpus, until = _corpus(name, place), time.time() + max(seconds, 1.0)
    began = _FORK.Value("d", lock=False)  # when the input at hand was begun, 0 between two
    seed = seed or int.from_bytes(os.urandom(3)) + 1
    for attempt in range(_MOST_CRASHES):
        left = until - time.time()
        if left < 0.5:
            return
        process = _FORK.Process(target=_fuzz, args=(name, place, corpus, left, seed + attempt, tried, began))
        process.start()
        while process.is_alive():
            process.join(1.0)
            since = began.value
            if since and time.time() - since > _HANG_S and process.is_alive():
                process.kill()  # memory that is not to be had makes some threads wait for ever
                process.join()
        if process.exitcode:
            ended = signal.Signals(-process.exitcode).name if process.exitcode < 0 else f"exit {process.exitcode}"
            what = "hang or memory" if ended == "SIGKILL" else "crash"
            data = (place / "data").read_bytes()
            _keep(name, data, what, f"{ended}\n{(place / 'log').read_text(errors='replace')[-3000:]}", set())


def _corpus(name: str, place: Path) -> Path:
    """The seeds of a target: those in the repository, or each file of its folder with its number before it."""
    corpus = place / "corpus"
    corpus.mkdir()
    if (_CORPUS / name).is_dir():
        shutil.copytree(_CORPUS / name, corpus, dirs_exist_ok=True)
    folder = TARGETS[name].folder
    for at, file in enumerate(_files(folder) if folder else ()):
        (corpus / f"seed-{at}").write_bytes(bytes([at]) + file.read_bytes())
    return corpus


def _files(folder: str) -> list[Path]:
    return sorted(file for file in (HERE / "folders" / folder).rglob("*") if file.is_file())


def _fuzz(name: str, place: Path, corpus: Path, seconds: float, seed: int, tried: Any, began: Any) -> None:
    """Never returns."""
    target = TARGETS[name]
    files = _files(target.folder) if target.folder else []
    known: set[str] = set()

    def try_one(data: bytes) -> None:
        tried.value += 1
        if target.folder and not data:
            return
        (place / "data").write_bytes(data)
        given = _given(target, place, files, data)
        began.value, used = time.time(), time.process_time()
        try:
            target.read(given)
        except UnspoolError:
            pass
        except BaseException as error:  # whatever else is a finding
            _keep(name, data, _where(error), traceback.format_exc(), known)
        began.value, used = 0.0, time.process_time() - used
        if used > _TIME_S:
            _keep(name, data, "slow", f"{used:.1f} s of the processor", known)

    with open(place / "log", "wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + _MEMORY, size + _MEMORY))
    atheris.Setup(
        ["fuzz", str(corpus), f"-max_total_time={max(int(seconds), 1)}", "-timeout=100000", f"-seed={seed % 2**31}",
         "-rss_limit_mb=0", "-len_control=0", f"-max_len={_MOST_BYTES}", f"-artifact_prefix={place}/"],
        try_one,
        custom_mutator=mutated,
    )  # fmt: skip
    atheris.Fuzz()


def _given(target: Target, place: Path, files: list[Path], data: bytes) -> object:
    """What the target reads: bytes, a file of them, or a folder in which they are one of the files."""
    if target.takes_bytes:
        return data
    if not target.folder:
        path = place / target.name
        path.write_bytes(data)
        return path
    root, whole = HERE / "folders" / target.folder, place / "folder"
    if not whole.exists():
        shutil.copytree(root, whole)
    changed = files[data[0] % len(files)]
    for file in files:
        shutil.copyfile(file, whole / file.relative_to(root))
    (whole / changed.relative_to(root)).write_bytes(data[1:])
    return whole


def _where(error: BaseException) -> str:
    """The kind of an error and the last line of ours that it went through, which tell findings apart."""
    lines = traceback.extract_tb(error.__traceback__)
    ours = [line for line in lines if "/unspool/" in line.filename] or lines
    return f"{type(error).__name__}-{Path(ours[-1].filename).name}-{ours[-1].lineno}"


def _keep(name: str, data: bytes, what: str, why: str, known: set[str]) -> None:
    """Keep an input, the first of its kind."""
    if what in known:
        return
    known.add(what)
    folder = _FOUND / f"{name}-{what}"
    if not folder.exists():
        folder.mkdir(parents=True)
        (folder / "input").write_bytes(data)
        (folder / "why.txt").write_text("\n".join(why.splitlines()[-30:]) + "\n")


if __name__ == "__main__":
    sys.exit(main())
