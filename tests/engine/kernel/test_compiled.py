"""Machine code on disk is as new as the sources it came from, and does not count references."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit

import unspool
from unspool.engine.kernel.compiled import compiled, source_digest

PACKAGE = Path(unspool.__file__).parent

CALLEE = """
from unspool.engine.kernel.compiled import compiled

@compiled
def answer(x):
    return x + {}
"""
CALLER = """
from unspool.engine.kernel.compiled import compiled
from unspool.engine.callee import answer

@compiled
def ask(x):
    return answer(x)
"""


@pytest.fixture
def package(tmp_path):
    """A copy of the package with two more functions, one of which calls the other from another file."""
    shutil.copytree(PACKAGE, tmp_path / "src" / "unspool", ignore=shutil.ignore_patterns("__pyc*"))
    (tmp_path / "src" / "unspool" / "engine" / "callee.py").write_text(CALLEE.format(1))
    (tmp_path / "src" / "unspool" / "engine" / "caller.py").write_text(CALLER)
    return tmp_path / "src" / "unspool"


def ask(package):
    """What the compiled caller says in a process of its own, and where it kept its machine code."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    environment |= {
        "PYTHONPATH": str(package.parent), "XDG_CACHE_HOME": str(package.parent / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",  # which would take a file for the same that was edited within a second
    }  # fmt: skip
    program = "from unspool.engine.caller import ask; print(ask(41), ask.stats.cache_path)"
    told = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    answer, folder = told.stdout.split()
    return int(answer), Path(folder)


def test_edit_of_a_callee_in_another_file_is_seen_by_the_next_process(package):
    before, old_folder = ask(package)
    assert before == 42
    assert list(old_folder.rglob("*ask*.code")), "the caller's machine code is on disk"
    (package / "engine" / "callee.py").write_text(CALLEE.format(2))
    after, new_folder = ask(package)
    assert after == 43
    assert new_folder != old_folder


def test_digest_changes_with_any_compiled_source_and_with_nothing_else(package):
    before = source_digest(package)
    (package / "engine" / "notes.txt").write_text("not a source")
    assert source_digest(package) == before
    append(package / "report" / "__init__.py")
    assert source_digest(package) == before
    for folder in ("engine", "engine/jobs", "policies", "simulation", "metrics"):
        append(package / folder / "__init__.py")
        after = source_digest(package)
        assert after != before
        before = after
    (package / "engine" / "caller.py").rename(package / "engine" / "asker.py")
    assert source_digest(package) != before


def test_digest_follows_a_compiled_function_to_whatever_folder_it_moves(package):
    before = source_digest(package)
    (package / "engine" / "caller.py").rename(package / "report" / "caller.py")
    moved = source_digest(package)
    assert moved != before
    append(package / "report" / "__init__.py")
    assert source_digest(package) != moved


def append(source):
    source.write_text(source.read_text() + "\n")


class Pair(NamedTuple):
    left: np.ndarray
    right: np.ndarray


def _add(pair, at):
    pair.left[at] += pair.right[at]


def _add_all(add):
    def add_all(pair):
        for at in range(len(pair.left)):
            add(pair, at)

    return add_all


def machine_code(decorate):
    """The machine code of a function that passes a tuple of arrays to another."""
    function = decorate(_add_all(decorate(_add)))
    pair = Pair(np.ones(3), np.arange(3.0))
    function(pair)
    assert pair.left.tolist() == [1, 2, 3]
    return "\n".join(function.inspect_asm().values())


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_compiled_functions_do_not_count_references():
    plain = machine_code(njit(inline="never"))
    assert "NRT_incref" in plain or "NRT_decref" in plain, "Numba counts references by itself"
    ours = machine_code(compiled)
    assert "NRT_incref" not in ours
    assert "NRT_decref" not in ours
