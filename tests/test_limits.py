"""The table of limits: what each default is, how one is raised, and that the page tells all of them."""

import os
from pathlib import Path

import pytest

from unspool.errors import InputError, UnknownName
from unspool.limits import LIMITS, VARIABLE, exceeded, limit, raised, refuse_beyond, refuse_ratio
from unspool.units import format_bytes

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "limits.md"


def test_a_limit_is_raised_while_it_is_said_and_also_for_processes_begun_then():
    before = limit("columns")
    with raised(["columns=7", "line_bytes=1KiB"]):
        assert (limit("columns"), limit("line_bytes")) == (7, 1024)
        assert os.environ[VARIABLE] == "columns=7,line_bytes=1KiB"
        with raised(["columns=9"]):
            assert (limit("columns"), limit("line_bytes")) == (9, 1024)
    assert limit("columns") == before
    assert VARIABLE not in os.environ


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("columns=0", "--raise-limit columns=0: expected a whole number, 1 or more"),
        ("columns", "--raise-limit columns=: expected a whole number"),
        ("columns=many", "expected a whole number"),
        ("line_bytes=64G", "--raise-limit line_bytes=64G: expected a size such as 4GiB"),
    ],
)
def test_a_limit_that_is_no_number_is_refused(text, says):
    with pytest.raises(InputError, match=says), raised([text]):
        pass
    assert VARIABLE not in os.environ


def test_an_unknown_limit_offers_the_nearest():
    with pytest.raises(UnknownName, match="unknown limit 'colums'; did you mean 'columns'"), raised(["colums=7"]):
        pass


def test_what_is_at_the_limit_passes_and_what_is_beyond_names_it():
    refuse_beyond(limit("nesting"), "nesting", "p.toml")
    with pytest.raises(InputError, match=r"p\.toml: over 100, the limit for levels .* say --raise-limit nesting=MORE"):
        refuse_beyond(limit("nesting") + 1, "nesting", "p.toml")


def test_small_files_may_be_packed_as_tightly_as_they_like():
    refuse_ratio(64 << 20, 1, "a.gz")
    refuse_ratio(200 << 20, 1 << 20, "a.gz")
    with pytest.raises(InputError, match="unpacked_ratio"):
        refuse_ratio((200 << 20) + 1, 1 << 20, "a.gz")


def test_the_page_has_every_limit_with_its_default():
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    told = [
        [f"`{name}`", format_bytes(each.default) if each.is_bytes else f"{each.default:,}", each.meaning]
        for name, each in LIMITS.items()
    ]
    assert rows == told


def test_a_complaint_is_two_clauses_at_most():
    assert str(exceeded("a.csv", "columns")) == (
        "a.csv: over 10,000, the limit for columns of a table; if the file is right, say --raise-limit columns=MORE"
    )
