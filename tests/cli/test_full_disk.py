"""A disk that is really full: a tiny file system in memory, which takes root to mount."""

import os
import shutil
import subprocess
import sys

import pytest
from tests.cli.faulty_verbs import COMPARED, COST, DISPATCH, ON_MACHINES, POISSON, left, set_up
from tests.faults import called

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0 or shutil.which("mount") is None, reason="only root can mount"
)
VERBS = {
    "run": ("run", "log.csv", "-p", "4", "-o", "full/o"),
    "cost": (*COST, "-o", "full/o"),
    "cost compare": (*COMPARED, "-o", "full/o"),
    "dispatch": (*DISPATCH, "-o", "full/o"),
    "batsim": ("batsim", *ON_MACHINES, "-e", "full/b/x", "-q"),
    "convert": ("convert", "long.csv", "full/o.csv"),
    "convert to Parquet": ("convert", "long.csv", "full/o.parquet"),
    "convert, packed": ("convert", "long.csv", "full/o.swf.gz"),
    "generate": ("generate", "poisson", "full/o.csv", *POISSON, "3000"),
    "compare": ("compare", "runs", "-o", "full/o.html"),
    "report": ("report", "runs", "-o", "full/o.html"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("disk")
    (folder / "full").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        set_up(folder)
        mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(folder / "full")]
        if subprocess.run(mount, check=False, capture_output=True).returncode:
            pytest.skip("nothing can be mounted here")
        yield folder
        patch.undo()
        subprocess.run(["umount", str(folder / "full")], check=True)


@pytest.mark.parametrize("free_bytes", [0, 8192])
@pytest.mark.parametrize("verb", VERBS)
def test_full_disk_ends_a_verb_with_a_sentence_and_leaves_nothing(folder, capsys, verb, free_bytes):
    disk = folder / "full"
    try:
        with (disk / "filler").open("wb", buffering=0) as filler:
            filler.write(bytes(65536 - free_bytes))
        code = called(VERBS[verb])
        said = capsys.readouterr().err.splitlines()
        if code == 0:  # what it wrote found room
            assert free_bytes
            return
        assert code == 1, said
        assert said[-1].startswith("unspool: ")
        assert "No space left on device" in said[-1]
        assert left(disk) == []
        assert [path for path in disk.rglob("*") if path.is_file()] in ([disk / "filler"], *_of_batsim(disk, verb))
    finally:
        for path in disk.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _of_batsim(disk, verb):
    """Batsim's files are whole each by itself."""
    return [[path for path in disk.rglob("*") if path.is_file()]] if verb == "batsim" else []
