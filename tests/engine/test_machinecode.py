"""Machine code on disk: damage is noticed and mended, and a disk that cannot be written is no reason to fail."""

import os
import shutil
import subprocess
import sys

import pytest

PROGRAM = """
from unspool.engine.compiled import compiled
from unspool.engine.machinecode import why_not_kept

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
    program = "from unspool.cli.app import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", program, "run", "log.csv", "-p", "4", "--json"], cwd=tmp_path, capture_output=True,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "file")}, text=True, timeout=600,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("compiled code was not kept") == 1
    assert "Not a directory" in ended.stderr
