"""What Simdex printed and did, original and fork, digit for digit: every recorded text, trace, event and result."""

from __future__ import annotations

import pytest
from tests.faces.dispatch_cases import RECORDED, files, need_cases

TEXTS = [*files("oracle_*/*.txt"), *files("edge/*.out.txt")]
TRACES = [*files("oracle_*/*.trace.csv"), *files("edge/*.trace.csv")]
EVENTS = [*files("oracle_*/*.events.csv"), *files("edge/*.events.csv")]
RESULTS = files("oracle_fork/*.results.yaml")


def test_all_cases_are_looked_at():
    need_cases()
    assert len(TEXTS) >= 37
    assert len(TRACES) >= 27
    assert len(EVENTS) >= 13
    assert len(RESULTS) >= 12


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "python"])
@pytest.mark.parametrize("file", TEXTS)
def test_text_is_that_of_the_tool(file, compiled):
    assert RECORDED.differences(file, compiled) == ()


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "python"])
@pytest.mark.parametrize("file", TRACES)
def test_every_job_goes_where_it_went_in_the_tool(file, compiled):
    assert RECORDED.differences(file, compiled) == ()


@pytest.mark.parametrize("file", EVENTS)
def test_events_come_in_the_order_of_the_tool(file):
    assert RECORDED.differences(file) == ()


@pytest.mark.parametrize("file", RESULTS)
def test_results_are_those_of_the_fork(file):
    assert RECORDED.differences(file) == ()
