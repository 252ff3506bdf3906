"""Where a command runs changes no bit of its results: not the locale, the folder, the time zone or the hash seed."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BATSIM = ROOT / "src" / "unspool" / "cases" / "batsim" / "own"
INPUTS = {
    "sacct.txt": ROOT / "examples" / "sacct-to-bill" / "sacct.txt",
    "config.yml": ROOT / "examples" / "sacct-to-bill" / "config.yml",
    "experiment.yaml": ROOT / "examples" / "dispatch" / "experiment.yaml",
    "data.csv.gz": ROOT / "src" / "unspool" / "samples" / "recodex.csv.gz",
    "refs.csv.gz": ROOT / "src" / "unspool" / "samples" / "recodex-refs.csv.gz",
    "platform.xml": BATSIM / "platforms" / "clean4.xml",
    "workload.json": BATSIM / "workloads" / "edges.json",
}
LOG = "id,submit_time,run_time,cores,walltime,user\n" + "".join(
    f"j{at},{at * 7 % 40},{1 + at * 5 % 23},{1 + at % 4},{20 + at % 9},İrfan{at % 3}\n" for at in range(40)
)
GRID = """\
replicas = 2
[run]
workload = "log.csv"
platform = 4
thin = 0.9
[grid]
policy = ["easy", "multifactor"]
"""
VERBS = (
    "run log.csv -p 8 --policy easy --policy multifactor -o out/run",
    "cost sacct.txt -c config.yml -o out/cost",
    "dispatch data.csv.gz -c experiment.yaml --refs refs.csv.gz -o out/dispatch",
    "batsim -p platform.xml -w workload.json -e out/batsim -o out/results --policy easy",
    "sweep grid.toml -o out/sweep -j 1",
)
# Results hold how long a run took: here no time passes.
DRIVER = """\
import locale, sys, time

locale.setlocale(locale.LC_ALL, "")  # as a notebook or a caller may have done
time.perf_counter = lambda: 0.0
from unspool.cli.app import run_command

if __name__ == "__main__":
    for command in sys.argv[1:]:
        assert run_command(command.split()) == 0, command
"""
TURKISH, GERMAN = "tr_TR.UTF-8", "de_DE.UTF-8"
SURROUNDINGS = {
    "a Turkish locale": {"LC_ALL": TURKISH, "TZ": "America/St_Johns"},
    "a German locale and another hash seed": {"LC_ALL": GERMAN, "TZ": "Pacific/Chatham", "PYTHONHASHSEED": "7"},
}


@pytest.fixture(scope="module")
def locales(tmp_path_factory):
    """A folder with the two locales, which few machines have."""
    folder = tmp_path_factory.mktemp("locales")
    if shutil.which("localedef") is None or not Path("/usr/share/i18n/locales/tr_TR").exists():
        pytest.skip("needs localedef and the sources of locales: apt-get install locales")
    for name in (TURKISH, GERMAN):
        source, charmap = name.split(".")
        subprocess.run(["localedef", "-i", source, "-f", charmap, str(folder / name)], check=True, capture_output=True)
    return folder


def results(folder, **surroundings):
    """A digest of every file that the five verbs leave in a new folder, whose name does not count."""
    folder.mkdir()
    for name, source in INPUTS.items():
        shutil.copy(source, folder / name)
    (folder / "log.csv").write_text(LOG, encoding="utf-8")
    (folder / "grid.toml").write_text(GRID)
    (folder / "driver.py").write_text(DRIVER)
    (folder / "out").mkdir()
    subprocess.run(
        [sys.executable, "driver.py", *VERBS],
        cwd=folder, env={**os.environ, "PYTHONHASHSEED": "1", **surroundings}, check=True, capture_output=True,
        timeout=900,
    )  # fmt: skip
    files = sorted(path for path in (folder / "out").rglob("*") if path.is_file())
    here = str(folder).encode()
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes().replace(here, b"HERE")).hexdigest()
        for path in files
    }


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    return results(tmp_path_factory.mktemp("usual") / "a folder", TZ="UTC", LC_ALL="C.UTF-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", SURROUNDINGS)
def test_results_are_the_same_to_the_bit_with(name, usual, locales, tmp_path):
    assert len(usual) > 50
    found = results(tmp_path / "bir klasör, boşluklu", LOCPATH=str(locales), **SURROUNDINGS[name])
    assert found == usual
