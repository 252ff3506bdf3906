"""The file layer: what is replaced is whole, what killed runs left is removed, and what is alive stays."""

import errno
import os
import subprocess
import sys
from contextlib import suppress

import pytest
from tests.faults import SOURCES, faulty, raw_changes

from unspool import storage
from unspool.storage import partial_folder, put_in_place, replace_text, replacing, write_text

_OTHERS = {
    "storage.py",  # the layer itself
    "confinement/worker.py",  # writes to /proc alone
}
KILLED_FOLDER, KILLED_FILE = ".out.0123abcd.partial", ".out.0123abcd.part"


def entries(folder):
    return sorted(path.name for path in folder.iterdir())


def left_folder(folder, *names):
    """A partial folder of a run that was killed."""
    (folder / KILLED_FOLDER / "new").mkdir(parents=True)
    (folder / KILLED_FOLDER / "lock").touch()
    for name in names:
        (folder / KILLED_FOLDER / name).mkdir(exist_ok=True)
        (folder / KILLED_FOLDER / name / "summary.json").write_text(name)


def put(folder, text):
    with partial_folder(folder) as new:
        write_text(new / "summary.json", text)
        put_in_place(new, folder)


def test_sources_change_files_only_through_the_layer():
    found = {
        f"{source.relative_to(SOURCES)}:{line}"
        for source in SOURCES.rglob("*.py") if source.relative_to(SOURCES).as_posix() not in _OTHERS
        for line in raw_changes(source.read_text(encoding="utf-8"))
    }  # fmt: skip
    assert found == set(), "go through unspool.storage, so that tests can make it fail"


@pytest.mark.parametrize(
    "line",
    [
        "Path(x).write_text('a')", "open(x, 'w')", "path.open('xb')", "open(x, mode='a')", "os.replace(a, b)",
        "path.rename(other)", "path.replace(other)", "os.open(x, os.O_WRONLY)", "shutil.rmtree(x)",
        "table.write_csv(path)",
        "table.write_parquet(folder / 'a')", "np.savez(path)", "xlsxwriter.Workbook(str(path))", "tempfile.mkdtemp()",
        "zipfile.ZipFile(path, 'w')", "path.unlink()", "path.mkdir()", "gzip.open(path, 'wb')", "figure.savefig(path)",
    ],
)  # fmt: skip
def test_change_outside_the_layer_is_found(line):
    assert raw_changes(line) == [1]


@pytest.mark.parametrize(
    "line",
    [
        "open(x)", "path.open('rb')", "text.replace('a', 'b')", "replace(x, a=1)", "table.rename({'a': 'b'})",
        "table.write_csv(file)", "table.write_csv()", "open(os.devnull, 'w')", "structs.replace(x, a=1)",
        "gzip.open(raw)",
    ],
)  # fmt: skip
def test_what_changes_no_file_is_not_found(line):
    assert raw_changes(line) == []


def test_run_without_a_fault_asks_nobody():
    assert storage.fault is None


def test_partial_folder_of_a_killed_run_is_removed_by_the_next(tmp_path):
    left_folder(tmp_path, "new")
    (tmp_path / ".other.0123abcd.partial").mkdir()
    put(tmp_path / "out", "text")
    assert entries(tmp_path) == [".other.0123abcd.partial", "out"]


def test_partial_folder_that_was_not_yet_locked_is_removed(tmp_path):
    (tmp_path / KILLED_FOLDER).mkdir()
    put(tmp_path / "out", "text")
    assert entries(tmp_path) == ["out"]


def test_part_of_a_killed_run_is_removed_by_the_next(tmp_path):
    (tmp_path / KILLED_FILE).write_text("half")
    replace_text(tmp_path / "out", "text")
    assert entries(tmp_path) == ["out"]


@pytest.mark.skipif(storage.fcntl is None, reason="without locks nothing is ever removed")
def test_what_a_living_run_writes_is_not_removed_by_another(tmp_path):
    waiting = (
        "import sys\nfrom unspool.storage import partial_folder, replacing\n"
        "with partial_folder('out') as new, replacing('out') as file:\n"
        "    print('ready', flush=True)\n    sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", waiting], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout.readline() == b"ready\n"
        there = entries(tmp_path)
        put(tmp_path / "out", "text")
        assert entries(tmp_path) == [*there, "out"]
        other.kill()
    put(tmp_path / "out", "more")
    assert entries(tmp_path) == ["out"]


def test_link_in_the_place_of_a_part_leads_to_nothing_that_is_removed(tmp_path):
    (tmp_path / "precious").write_text("precious")
    (tmp_path / KILLED_FILE).symlink_to("precious")
    replace_text(tmp_path / "out", "text")
    assert (tmp_path / "precious").read_text() == "precious"


@pytest.mark.parametrize("is_in_one_step", [True, False])
def test_folder_takes_the_place_of_another(tmp_path, monkeypatch, is_in_one_step):
    if not is_in_one_step:
        monkeypatch.setattr(storage, "_exchanged", lambda one, other: False)
    put(tmp_path / "out", "first")
    put(tmp_path / "out", "second")
    assert entries(tmp_path) == ["out"]
    assert (tmp_path / "out" / "summary.json").read_text() == "second"


def test_old_folder_of_a_run_that_was_killed_between_two_steps_gets_its_name_back(tmp_path):
    left_folder(tmp_path, "new", "old")
    with partial_folder(tmp_path / "out"):
        assert (tmp_path / "out" / "summary.json").read_text() == "old"
    assert entries(tmp_path) == ["out"]


def test_error_that_nobody_told_of_is_raised_and_the_old_file_stays(tmp_path):
    replace_text(tmp_path / "out", "old")

    def full(step, path):
        if step == "write":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def written():
        with replacing(tmp_path / "out") as file, suppress(OSError):
            file.write(b"new")

    with faulty(full), pytest.raises(OSError, match="No space left"):
        written()
    assert entries(tmp_path) == ["out"]
    assert (tmp_path / "out").read_text() == "old"
