"""Machine code on disk: damage is noticed and mended, and a disk that cannot be written is no reason to fail."""

import errno
import hashlib
import os
import pickle
import shutil
import subprocess
import sys

import pytest
from numba import njit
from tests.faults import faulty

from unspool.engine.kernel import machine_code
from unspool.engine.kernel.compiled import MORE_CODE, cache_folder
from unspool.engine.kernel.machine_code import KeptCode, why_not_kept

PROGRAM = """
from unspool.engine.kernel.compiled import compiled
from unspool.engine.kernel.machine_code import why_not_kept

@compiled
def double(x):
    return x + x

@compiled
def double_and_one(x):
    return double(x) + 1

print(double_and_one(20), int(double_and_one.stats.cache_hits.total()), why_not_kept())
"""
pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")


@pytest.fixture
def program(tmp_path):
    """Runs a program with two compiled functions in a process of its own: its result, hits on disk, and troubles."""
    source = tmp_path / "program.py"
    source.write_text(PROGRAM)

    def call(cache=tmp_path / "cache", source=source):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
        environment["XDG_CACHE_HOME"] = str(cache)
        ended = subprocess.run(
            [sys.executable, source], env=environment, capture_output=True, text=True, timeout=300, check=True
        )
        result, hits, trouble = ended.stdout.strip().split(" ", 2)
        return int(result), int(hits), trouble

    return call


def kept_of(cache):
    return sorted((cache / "unspool").rglob("*.code"))


def test_second_process_loads_what_the_first_one_compiled(program, tmp_path):
    assert program() == (41, 0, "None")
    assert len(kept_of(tmp_path / "cache")) == 2
    assert program() == (41, 1, "None")


def test_copy_of_the_source_elsewhere_loads_the_same_machine_code(program, tmp_path):
    program()
    (tmp_path / "elsewhere").mkdir()
    copy = shutil.copy(tmp_path / "program.py", tmp_path / "elsewhere" / "other.py")
    assert program(source=copy) == (41, 1, "None")


def test_changed_source_is_compiled_again(program, tmp_path):
    program()
    (tmp_path / "program.py").write_text(PROGRAM.replace("+ 1", "+ 2"))
    assert program() == (42, 0, "None")


def _truncate(content):
    return content[: len(content) // 2]


def _empty(content):
    return b""


def _flip(at):
    def flip(content):
        place = at % len(content)
        return content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :]

    return flip


@pytest.mark.parametrize("damage", [_truncate, _empty, _flip(3), _flip(40), _flip(5000), _flip(-1)])
def test_damaged_machine_code_is_compiled_again_and_replaced(damage, program, tmp_path):
    program()
    whole = {file: file.read_bytes() for file in kept_of(tmp_path / "cache")}
    for file, content in whole.items():
        file.write_bytes(damage(content))
    assert program() == (41, 0, "None")
    assert program() == (41, 1, "None"), "it was written anew"
    assert list(whole) == kept_of(tmp_path / "cache"), "and nothing else is left"


def test_cache_that_cannot_be_written_costs_a_note_and_nothing_more(program, tmp_path):
    (tmp_path / "file").touch()
    result, hits, trouble = program(cache=tmp_path / "file")
    assert (result, hits) == (41, 0)
    assert "Not a directory" in trouble


def test_run_says_once_that_compiled_code_is_not_kept_and_goes_on(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "log.csv").write_text("submit_time,run_time,cores\n0,10,1\n")
    program = "from unspool.cli import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", program, "run", "log.csv", "-p", "4", "--json"], cwd=tmp_path, capture_output=True,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "file"), MORE_CODE: str(cache_folder())}, text=True,
        timeout=600,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("compiled code was not kept") == 1
    assert "Not a directory" in ended.stderr


def double(x):
    return x + x


@pytest.fixture
def answer(tmp_path, monkeypatch):
    """Compiles `double` for a folder, or finds it there: its result, whether it was found, and troubles."""

    def call(folder=tmp_path / "cache", more=()):
        monkeypatch.setattr(machine_code, "_troubles", {})
        made = njit(double)
        made._cache = KeptCode(double, folder, more)
        return made(20), bool(made.stats.cache_hits), why_not_kept()

    return call


def only_file(folder):
    (file,) = folder.glob("*.code")
    return file


def test_machine_code_is_for_its_user_alone(answer, tmp_path):
    before = os.umask(0)
    try:
        assert answer() == (40, False, None)
    finally:
        os.umask(before)
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700
    assert only_file(tmp_path / "cache").stat().st_mode & 0o777 == 0o600
    assert answer() == (40, True, None)


def test_more_machine_code_is_loaded_and_left_as_it_is(answer, tmp_path):
    answer()
    before = only_file(tmp_path / "cache").stat()
    assert answer(tmp_path / "own", [tmp_path / "cache"]) == (40, True, None)
    assert only_file(tmp_path / "cache").stat() == before
    assert not (tmp_path / "own").exists()
    assert answer(tmp_path / "own", [tmp_path / "nowhere"]) == (40, False, None)
    assert only_file(tmp_path / "own").exists()


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_folder_that_others_may_write_to_is_not_loaded_from(answer, tmp_path, mode):
    answer()
    (tmp_path / "cache").chmod(mode)
    result, is_found, trouble = answer()
    assert (result, is_found) == (40, False)
    assert "belongs to somebody else, or others may change it" in trouble


def test_file_that_others_may_write_to_is_not_loaded(answer, tmp_path):
    answer()
    only_file(tmp_path / "cache").chmod(0o662)
    result, is_found, trouble = answer()
    assert (result, is_found) == (40, False)
    assert "others may change it" in trouble


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("which", ["folder", "file"])
def test_machine_code_of_somebody_else_is_not_loaded(answer, tmp_path, which):
    answer()
    given = tmp_path / "cache" if which == "folder" else only_file(tmp_path / "cache")
    os.chown(given, 12345, 12345)
    result, is_found, trouble = answer()
    assert (result, is_found) == (40, False)
    assert "belongs to somebody else" in trouble


def test_whole_file_of_another_version_is_compiled_again(answer, tmp_path):
    answer()
    for strange in (pickle.dumps(("key", "data")), pickle.dumps(42), b"cno.such.module\nX\n.", b""):
        only_file(tmp_path / "cache").write_bytes(hashlib.sha256(strange).digest() + strange)
        assert answer() == (40, False, None)
        assert answer() == (40, True, None)


def _folder(file):
    file.unlink()
    file.mkdir()


def _link(file):
    file.rename(file.with_name("elsewhere"))
    file.symlink_to("elsewhere")


def _pipe(file):
    file.unlink()
    os.mkfifo(file)


@pytest.mark.parametrize("strange", [_folder, _link, _pipe])
def test_what_is_not_a_plain_file_is_not_loaded(answer, tmp_path, strange):
    answer()
    strange(only_file(tmp_path / "cache"))
    result, is_found, _ = answer()
    assert (result, is_found) == (40, False)


@pytest.mark.parametrize("step", ["read", "mkdir", "open", "write", "close", "rename"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS])
def test_cache_that_fails_at_any_step_costs_a_note(answer, tmp_path, step, number):
    def fail(name, path):
        if name == step:
            raise OSError(number, os.strerror(number))

    (tmp_path / "cache").mkdir(0o700)
    with faulty(fail):
        result, is_found, trouble = answer()
    assert (result, is_found) == (40, False)
    assert os.strerror(number) in trouble
    assert list(tmp_path.rglob("*.part")) == list(tmp_path.rglob("*.code")) == []


def test_folder_that_is_removed_meanwhile_is_made_again(answer, tmp_path):
    answer()
    shutil.rmtree(tmp_path / "cache")
    assert answer() == (40, False, None)
    assert answer() == (40, True, None)


def test_cache_in_a_home_that_does_not_exist_is_made(answer, tmp_path):
    assert answer(tmp_path / "no" / "home" / "cache") == (40, False, None)
    assert answer(tmp_path / "no" / "home" / "cache") == (40, True, None)


def test_processes_that_compile_at_once_leave_whole_files(program, tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(3) as pool:
        assert [found[0] for found in pool.map(lambda _: program(), range(3))] == [41] * 3
    assert len(kept_of(tmp_path / "cache")) == 2
    assert program() == (41, 1, "None")
