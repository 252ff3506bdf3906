"""How much of the project knows the engine from inside, and what its rooms say of themselves."""

import ast
from pathlib import Path

import pytest

import unspool

PACKAGE = Path(unspool.__file__).parent
ENGINE = PACKAGE / "engine"
INSIDERS = ("engine", "policies", "simulation")
ROOMS = sorted(folder for folder in ENGINE.iterdir() if (folder / "__init__.py").exists())


def imported(source):
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def test_few_modules_outside_import_from_the_engine():
    outside = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] not in INSIDERS]
    assert len(outside) > 300
    found = [
        path.relative_to(PACKAGE).as_posix()
        for path in outside
        if any(name.startswith("unspool.engine") for name in imported(path))
    ]
    assert len(found) < 15, found


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_a_room_says_what_it_knows_and_what_it_calls(room):
    told = ast.get_docstring(ast.parse((room / "__init__.py").read_text(encoding="utf-8")))
    assert "It knows" in told
    assert "call" in told
