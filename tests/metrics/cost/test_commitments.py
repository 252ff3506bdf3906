import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.commitments import every_corner, plain_total, written_out

from unspool.metrics.cost.cheapest import cheapest
from unspool.metrics.cost.commitments import Commitment, Rates, Usage, outcome, usage_of
from unspool.metrics.cost.spreadsheet import sheet_of
from unspool.platforms.catalogue.plans import FamilyRates

NAMES = "abcdefgh"


def usage(*hours, other=0.0):
    """Dollars on demand of one family or several in each hour; a core-hour is a dollar."""
    usd = np.array([hour if isinstance(hour, tuple) else (hour,) for hour in hours], np.float64)
    families = tuple(NAMES[: usd.shape[1]])
    return Usage(families, usd, usd, float(usd.sum()) + other, np.zeros(len(usd)))


def rates(*ratios, unit=1.0):
    """Families by (EC2 plan, compute plan, reserved)."""
    return tuple(
        FamilyRates(name, *ratio, usd_per_core_hour=1.0, unit=f"{name}.one", unit_usd_per_hour=unit)
        for name, ratio in zip(NAMES, ratios, strict=False)
    )


RATIO = st.integers(2, 9).map(lambda tenths: tenths / 10)


@st.composite
def tables(draw, most_hours=3, most_families=2):
    count = draw(st.integers(1, most_families))
    hour = st.tuples(*[st.integers(0, 6).map(float)] * count)
    made = usage(*draw(st.lists(hour, min_size=1, max_size=most_hours)))
    ratios = [(draw(RATIO), draw(RATIO), draw(RATIO)) for _ in range(count)]
    return made, rates(*ratios, unit=draw(st.sampled_from([0.5, 1.0, 2.5])))


@settings(max_examples=60)
@given(tables())
def test_the_cheapest_plans_cost_what_the_best_of_all_corners_costs(table):
    made, families = table
    priced = Rates.of(families)
    found = outcome(made, priced, cheapest(made, priced)).total_usd
    tried = every_corner(made.on_demand_usd, priced.ec2, priced.compute)
    assert found == pytest.approx(tried, rel=1e-9, abs=1e-9)


@settings(max_examples=60)
@given(tables(most_hours=30, most_families=5))
def test_the_cheapest_plans_cost_what_the_program_written_out_finds(table):
    made, families = table
    priced = Rates.of(families)
    found = outcome(made, priced, cheapest(made, priced)).total_usd
    assert found == pytest.approx(written_out(made.on_demand_usd, priced.ec2, priced.compute), rel=1e-9, abs=1e-9)


@settings(max_examples=40)
@given(tables(most_hours=4), st.integers(0, 5), st.integers(0, 5))
def test_what_hours_cost_under_plans_is_what_plain_python_says(table, first, money):
    made, families = table
    priced = Rates.of(families)
    plans = {name: first / (at + 2) for at, name in enumerate(made.families)}
    told = outcome(made, priced, Commitment(plans, money / 2)).total_usd
    plain = plain_total(made.on_demand_usd.tolist(), priced.ec2, priced.compute, list(plans.values()), money / 2)
    assert told == pytest.approx(plain, rel=1e-12, abs=1e-12)


@settings(max_examples=40)
@given(tables(most_hours=6))
def test_reserved_instances_alone_are_the_best_of_all_counts(table):
    made, families = table
    priced = Rates.of(families)
    found = outcome(made, priced, cheapest(made, priced, ec2=False, compute=False, reserved=True)).total_usd
    counts = range(int(np.ceil(made.on_demand_usd.max(initial=0.0) / priced.unit_usd[0])) + 1)
    tried = min(
        outcome(made, priced, Commitment(reserved=dict(zip(made.families, some, strict=True)))).total_usd
        for some in np.array(np.meshgrid(*[counts] * len(made.families))).reshape(len(made.families), -1).T.tolist()
    )
    assert found == pytest.approx(tried, rel=1e-12, abs=1e-12)


@settings(max_examples=25)
@given(tables(most_hours=4))
def test_plans_with_reserved_instances_are_the_best_over_all_counts_of_plans_for_the_rest(table):
    made, families = table
    priced = Rates.of(families)
    found = outcome(made, priced, cheapest(made, priced, reserved=True)).total_usd
    counts = range(int(np.ceil(made.on_demand_usd.max(initial=0.0) / priced.unit_usd[0])) + 1)
    tried = []
    for some in np.array(np.meshgrid(*[counts] * len(made.families))).reshape(len(made.families), -1).T:
        left = np.maximum(made.on_demand_usd - some * priced.unit_usd, 0.0)
        paid = made.hours * float((some * priced.unit_usd * priced.reserved).sum())
        tried.append(paid + written_out(left, priced.ec2, priced.compute))
    assert found == pytest.approx(min(tried), rel=1e-9, abs=1e-9)


@settings(max_examples=60)
@given(st.lists(st.integers(0, 20), min_size=1, max_size=40), RATIO)
def test_one_family_is_a_newsvendor_who_commits_to_the_quantile_of_the_ratio(hours, ratio):
    made, priced = usage(*map(float, hours)), Rates.of(rates((ratio, None, None)))
    level = cheapest(made, priced, compute=False).ec2_usd_per_hour.get("a", 0.0) / ratio
    at_least, above = (
        np.mean([hour >= level - 1e-9 for hour in hours]),
        np.mean([hour > level + 1e-9 for hour in hours]),
    )
    assert above <= ratio + 1e-12
    assert level == 0.0 or at_least > ratio - 1e-12
    by_program = outcome(made, priced, cheapest(made, priced)).total_usd
    assert outcome(made, priced, Commitment({"a": level * ratio})).total_usd == pytest.approx(by_program, rel=1e-9)


def test_on_paper_ten_hours_of_one_family_at_a_ratio_of_four_tenths():
    # Four hours in ten exceed 6: a committed dollar at 0.4 that is used in four hours of ten is worth just itself.
    made, priced = usage(*map(float, range(1, 11)), other=3.0), Rates.of(rates((0.4, 0.5, None)))
    best = cheapest(made, priced, compute=False)
    assert dict(best.ec2_usd_per_hour) == {"a": pytest.approx(2.4)}
    told = outcome(made, priced, best)
    assert (told.ec2_usd, told.on_demand_usd) == (pytest.approx(24.0), pytest.approx(1 + 2 + 3 + 4))
    assert told.total_usd == pytest.approx(3.0 + 24.0 + 10.0)
    assert cheapest(made, priced).compute_usd_per_hour == 0.0  # the dearer plan adds nothing to one family


def test_a_compute_plan_pays_where_the_load_moves_between_families():
    made = usage((4.0, 0.0), (0.0, 4.0), (4.0, 0.0), (0.0, 4.0))
    priced = Rates.of(rates((0.6, 0.7, None), (0.6, 0.7, None)))
    best = cheapest(made, priced)
    assert (dict(best.ec2_usd_per_hour), best.compute_usd_per_hour) == ({}, pytest.approx(2.8))
    assert outcome(made, priced, best).total_usd == pytest.approx(11.2)
    assert cheapest(made, priced, compute=False) == Commitment({})


def test_nothing_is_committed_to_where_nothing_runs_on_demand_and_one_hour_is_committed_whole():
    priced = Rates.of(rates((0.4, 0.5, 0.4)))
    for kinds in ({}, {"compute": False}, {"ec2": False}, {"ec2": False, "compute": False, "reserved": True}):
        assert cheapest(usage(0.0, 0.0), priced, **kinds) == Commitment({}, 0.0, {})
    assert dict(cheapest(usage(5.0), priced).ec2_usd_per_hour) == {"a": pytest.approx(2.0)}
    none = Usage((), np.zeros((3, 0)), np.zeros((3, 0)), 7.0, np.full(3, 2.0))
    assert outcome(none, Rates.of(()), cheapest(none, Rates.of(()))).total_usd == 7.0
    empty = Usage(("a",), np.zeros((0, 1)), np.zeros((0, 1)), 0.0, np.zeros(0))
    assert cheapest(empty, priced) == Commitment({}, 0.0, {})
    assert cheapest(empty, priced, compute=False) == Commitment({})


def test_idle_hours_count_they_pay_for_the_commitment_too():
    priced = Rates.of(rates((0.4, None, 0.4)))
    busy = [5.0] * 5
    assert dict(cheapest(usage(*busy, *[0.0] * 7), priced).ec2_usd_per_hour) == {"a": pytest.approx(2.0)}  # 5/12 > 0.4
    assert cheapest(usage(*busy, *[0.0] * 8), priced) == Commitment({}, 0.0, {})  # 5/13 < 0.4


def test_plans_that_cost_as_much_as_on_demand_or_are_not_sold_are_not_bought():
    made = usage((5.0, 5.0), (5.0, 5.0))
    assert cheapest(made, Rates.of(rates((1.0, 1.2, 1.0), (None, None, None))), reserved=True) == Commitment(
        {}, 0.0, {}
    )


def test_the_sheet_pays_hours_of_the_compute_plan_twice_and_loses_hours_after_a_gap():
    # Live in hours 0, 1 and 5: the sheet has three rows and so looks at hours 0 to 2.
    made = usage((4.0, 2.0), (4.0, 2.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (8.0, 0.0))
    sheet = sheet_of(made, rates((0.4, 0.5, None), (0.4, 0.5, None)))
    assert (sheet.usage.hours, sheet.total_usd(Commitment())) == (3, 12.0)
    # 1.6 buys all of a; 1.0 all of b, which the sheet reckons at 0.4 once more, in two hours of three.
    assert sheet.total_usd(Commitment({"a": 1.6}, 1.0)) == pytest.approx(3 * 2.6 + 2 * 2.0 * 0.4)
    best = sheet.best()
    assert sheet.total_usd(best) == pytest.approx(3 * 1.6 + 3 * 0.8)
    assert dict(best.ec2_usd_per_hour) == {"a": pytest.approx(1.6), "b": pytest.approx(0.8)}


@settings(max_examples=40)
@given(tables(most_hours=5, most_families=1))
def test_no_commitment_makes_the_sheet_show_less_than_its_best(table):
    made, families = table
    sheet = sheet_of(made, families)
    least = sheet.total_usd(sheet.best())
    for ec2 in np.linspace(0.0, 6.0, 13):
        for money in np.linspace(0.0, 6.0, 13):
            assert sheet.total_usd(Commitment({"a": float(ec2)}, float(money))) >= least - 1e-9


def test_nothing_but_data_comes_to_stdout_while_mixed_programs_are_solved(capfd):
    # HiGHS itself prints a line for some of these.
    draws = np.random.default_rng(0)
    usd = np.maximum(0.0, draws.gamma(1.0, 30.0, (200, 4)) - 20.0 * draws.random((200, 4)))
    made = Usage(tuple("abcd"), usd, usd, float(usd.sum()), np.zeros(200))
    priced = Rates.of(rates(*((0.4 + at / 100, 0.5, 0.39 + at / 50) for at in range(4)), unit=7.0))
    assert cheapest(made, priced, compute=False, reserved=True).reserved
    assert capfd.readouterr() == ("", "")


def test_usage_is_read_from_the_columns_of_the_table():
    table = pl.DataFrame(
        {
            "Relative Hour": [0, 1], "Total OnDemand Costs": [3.0, 1.0], "Spot Costs": [0.5, 0.0],
            "a Core Hours": [10.0, 0.0], "a OnDemand Costs": [2.0, 0.0], "b Core Hours": [1.0, 1.0],
            "b OnDemand Costs": [1.0, 1.0], "Reserved Costs": [4.0, 4.0], "Total Costs": [7.5, 5.0],
        }
    )  # fmt: skip
    read = usage_of(table)
    assert (read.families, read.hours, read.total_usd, read.other_usd) == (("a", "b"), 2, 12.5, 8.5)
    assert read.core_hours.tolist() == [[10.0, 1.0], [0.0, 1.0]]
    assert outcome(read, Rates.of(rates((0.4, 0.5, 0.4), (0.4, 0.5, 0.4))), Commitment()).total_usd == 12.5
