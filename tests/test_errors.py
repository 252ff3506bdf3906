import pytest

from unspool.errors import DecisionError, InputError, InputErrors, RunError, UnitError, UnknownName, UnspoolError, shown


def test_the_tree_is_as_drawn():
    errors = (InputError, InputErrors, UnitError, UnknownName, RunError, DecisionError)
    assert [error.__mro__[1] for error in errors] == [
        UnspoolError, InputError, InputError, InputError, UnspoolError, RunError
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("esay", "unknown policy 'esay'; did you mean 'easy'? Known: easy, fcfs"),
        ("zzz", "unknown policy 'zzz'. Known: easy, fcfs"),
        ("", "unknown policy ''. Known: easy, fcfs"),
        ("two\nlines", "unknown policy 'two?lines'. Known: easy, fcfs"),
    ],
)
def test_an_unknown_name_is_told_the_nearest_and_all(name, sentence):
    assert str(UnknownName("policy", name, ["fcfs", "easy"])) == sentence


def test_another_way_out_may_be_offered():
    assert str(UnknownName("policy", "x", ["easy"], "or your own")) == "unknown policy 'x'. Known: easy, or your own"


def test_input_is_shown_on_one_line_and_cut():
    assert shown("a\tb\x1b[31m\udcff") == "a?b?[31m?"
    assert shown("жø💥") == "жø💥"
    assert shown("x" * 60) == "x" * 60
    assert shown("x" * 61) == "x" * 59 + "…"


def test_of_very_many_problems_the_first_are_shown():
    error = InputErrors("w.json: 60 problems", [f"line {number}" for number in range(60)])
    assert len(error.problems) == 60
    assert str(error).splitlines()[-2:] == ["  line 49", "  and 10 more"]
