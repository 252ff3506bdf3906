"""The reference of the experiment file names what there is, and nothing else."""

import re
from inspect import signature
from pathlib import Path

import pytest

from unspool.faces.dispatch.experiment import _KEYS
from unspool.faces.dispatch.names import NAMES, SIMDEX
from unspool.plugins import load

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "experiment.md"
HEADINGS = {
    "dispatcher": "Dispatchers", "duration_predictor": "Duration predictors", "worker_selector": "Worker selectors",
    "sa_strategy": "Strategies", "metrics": "Metrics",
}  # fmt: skip


def rows(heading):
    """The rows of the first table under a heading, cell by cell."""
    part = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    text = next(each for each in part if each.startswith(f"{heading}\n"))
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines][2:]


def test_keys_are_those_of_the_code():
    assert sorted(row[0].strip("`") for row in rows("Keys")) == sorted(_KEYS)


@pytest.mark.parametrize("kind", NAMES)
def test_components_and_their_arguments_are_those_of_the_code(kind):
    told = {row[0].strip("`"): row[1:] for row in rows(HEADINGS[kind])}
    assert list(told) == list(NAMES[kind])
    theirs = {short: name for name, (of, short) in SIMDEX.items() if of == kind}
    for name, cells in told.items():
        if kind != "worker_selector":
            assert cells[0].strip("`") == theirs.get(name, "")
            cells = cells[1:]
        named = set(re.findall(r"`(\w+)`", cells[0]))
        taken = set(signature(load(NAMES[kind][name])).parameters)
        assert named <= taken
        if "the same" not in cells[0]:
            assert named == taken
