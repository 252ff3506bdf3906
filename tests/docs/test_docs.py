"""Every block of every page runs, every link leads somewhere, every example prints what its folder says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.blocks import Page

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
NEEDS_TORCH = ROOT / "examples" / "rl"  # it trains for minutes; what it came to is in its README
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*/*.py") if path.parent != NEEDS_TORCH)
# What a script prints, where it is not expected.txt, and what it is given, where it would take minutes.
PRINTED = {"make_log.py": "sacct.txt", "learned.py": "expected-learned.txt"}
ARGUMENTS = {"learned.py": ["--quick"], "measure.py": ["--quick"]}
LINK = re.compile(r"\]\(([^)#\s]*)#?([^)\s]*)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def name_of(path):
    return path.relative_to(ROOT).as_posix()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to run in, with the examples as in a checkout; what is imported from it is forgotten afterwards."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_of_a_page_runs(page, folder):
    Page(page, folder).run()


def links_of(page):
    """(path, anchor) of each link to another file or heading of this repository."""
    found = LINK.findall(page.read_text(encoding="utf-8"))
    return [((page.parent / to).resolve() if to else page, anchor) for to, anchor in found if "://" not in to]


def anchors_of(page):
    """The headings of a page as links name them."""
    headings = HEADING.findall(page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_files_and_headings(page):
    links = links_of(page)
    assert [path for path, _ in links if not path.exists()] == []
    assert [(path, anchor) for path, anchor in links if anchor and anchor not in anchors_of(path)] == []


def test_the_index_links_every_page():
    index = ROOT / "docs" / "index.md"
    assert set((ROOT / "docs").rglob("*.md")) - {index} <= {path for path, _ in links_of(index)}


def test_every_example_has_an_expected_output():
    folders = {path for path in (ROOT / "examples").iterdir() if path.is_dir()} - {NEEDS_TORCH}
    assert {path.parent for path in EXAMPLES} == folders
    assert [path for path in folders if not (path / "expected.txt").is_file()] == []


@pytest.mark.parametrize("script", EXAMPLES, ids=name_of)
def test_an_example_prints_what_is_expected(script, tmp_path):
    arguments = ARGUMENTS.get(script.name, [])
    if "import matplotlib" in script.read_text(encoding="utf-8"):
        pytest.importorskip("matplotlib", reason="the extra matplotlib is not installed")
        arguments = [tmp_path / "picture.svg"]
    done = subprocess.run(
        [sys.executable, script, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    expected = script.parent / PRINTED.get(script.name, "expected.txt")
    assert done.stdout == expected.read_text(encoding="utf-8")
