"""`--raise-limit`, which every verb takes: it raises a limit for one call, wherever on the line it is said."""

import os

import pytest

from unspool.limits import VARIABLE

WIDE = "submit_time,run_time,cores," + ",".join(f"c{at}" for at in range(20)) + "\n0,1,1" + "," * 20 + "\n"


@pytest.mark.parametrize("before", [[], ["--raise-limit", "columns=10"]])
def test_a_limit_is_named_with_the_file_and_raised_by_the_option(before, unspool, write, monkeypatch):
    write("log.csv", WIDE)
    monkeypatch.setenv(VARIABLE, "columns=10")
    said = unspool(*before, "inspect", "log.csv")
    assert (said.code, said.out) == (2, "")
    assert (
        "log.csv: over 10, the limit for columns of a table; if the file is right, say --raise-limit columns="
        in said.err
    )
    assert unspool("inspect", "log.csv", "--raise-limit", "columns=23", "--json").code == 0
    assert unspool("--raise-limit=columns=23", "inspect", "log.csv", "--json").code == 0
    assert os.environ[VARIABLE] == "columns=10"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--raise-limit"], "--raise-limit: expected NAME=VALUE, as in --raise-limit line_bytes=1GiB"),
        (["--raise-limit", "columns=few"], "--raise-limit columns=few: expected a whole number, 1 or more"),
        (["--raise-limit", "lines=3"], "unknown limit 'lines'"),
    ],
)
def test_a_limit_that_is_none_is_wrong_usage(arguments, says, unspool):
    said = unspool("plugins", *arguments)
    assert (said.code, said.out) == (2, "")
    assert says in said.err


def test_after_two_dashes_nothing_is_a_limit(unspool):
    said = unspool("inspect", "--", "--raise-limit")
    assert said.code == 2
    assert "NAME=VALUE" not in said.err


def test_help_tells_of_limits(unspool):
    assert "--raise-limit NAME=VALUE" in unspool("--help").out
