import polars as pl
import pytest

from unspool.analysis.commitments import BEST, Offers, commitments_of, units_of
from unspool.platforms.catalogue import Catalogue, CatalogueType
from unspool.platforms.catalogue.plans import PlanTerm, Ratios

TERM = PlanTerm(1, "No Upfront")


def offers(ec2=0.4, compute=0.5, reserved=0.4, **terms):
    prices = {"ec2_savings_plan": {f"EC2 SP {TERM}": ec2}, "compute_savings_plan": {f"Compute SP {TERM}": compute}}
    prices |= {"reserved": {f"RI 1yr standard {TERM.payment}": reserved}}
    kind = CatalogueType("lab", "a.one", 2, 1, 2, 2**30, on_demand=1.0, **prices)
    return Offers(Catalogue((kind,)), "lab", **{"ec2": TERM, "compute": TERM, **terms}, ratios=Ratios({}, "none"))


def hours(*usd, spot=0.5):
    spots = [spot] * len(usd)
    return pl.DataFrame(
        {
            "Relative Hour": range(len(usd)), "Total OnDemand Costs": usd, "Spot Costs": spots, "a Core Hours": usd,
            "a OnDemand Costs": usd, "Total Costs": [one + spot for one in usd],
        },
        schema_overrides={"Total OnDemand Costs": pl.Float64, "a OnDemand Costs": pl.Float64},
    )  # fmt: skip


def test_on_paper_what_is_told_of_a_plan_for_ten_hours():
    # 1 to 10 dollars on demand; the plan of 2.4 dollars covers 6 of them. 1+2+3+4+5+6*5 = 45 are covered of 55.
    found = commitments_of(hours(*map(float, range(1, 11))), offers(), mixed=True)
    told = found.summary
    assert (told["bill_usd"], told["on_demand_usd"]) == (60.0, 55.0)
    assert told["total_usd"] == pytest.approx(5.0 + 24.0 + 10.0)
    assert (told["saved_usd"], told["saved_share"]) == (pytest.approx(21.0), pytest.approx(0.35))
    line = found.table.filter(pl.col("choice") == "EC2 savings plans").row(0, named=True)
    assert (line["usd_per_hour"], line["break_even_share"]) == (pytest.approx(2.4), 0.4)
    assert (line["covered_usd"], line["paid_usd"], line["used_share"]) == (
        pytest.approx(45.0), pytest.approx(24.0), pytest.approx(0.75),
    )  # fmt: skip
    assert line["break_even_months"] == pytest.approx(12 * 24 / 45)
    assert line["whole_term_usd"] == pytest.approx(2.4 * 8760)
    reserved = found.table.filter(pl.col("choice") == "reserved instances").row(0, named=True)
    assert (reserved["count"], reserved["type"], reserved["usd_per_hour"]) == (6, "a.one", pytest.approx(2.4))


def test_no_choice_costs_more_than_on_demand_and_more_choice_never_costs_more():
    found = commitments_of(hours(4.0, 0.0, 7.0, 2.0, 2.0, 9.0), offers(), mixed=True)
    total = dict(found.choices.select("choice", "total_usd").rows())
    assert total["on demand only"] == pytest.approx(27.0)
    assert max(total.values()) == total["on demand only"]
    assert total[BEST] <= min(total["EC2 savings plans"], total["compute savings plan"]) + 1e-9
    assert total["plans and reserved instances"] <= min(total[BEST], total["reserved instances"]) + 1e-9


def test_the_curve_begins_at_the_bill_and_is_least_at_the_best():
    found = commitments_of(hours(4.0, 0.0, 7.0, 2.0, 2.0, 9.0), offers())
    for _, part in found.curve.group_by("choice"):
        assert part["total_usd"][0] == pytest.approx(27.0)
        assert part["total_usd"].min() == pytest.approx(part["total_usd"][len(part) // 2])


def test_upfront_is_what_is_paid_at_once_of_the_whole_term():
    partial = PlanTerm(3, "Partial Upfront")
    ratios = Ratios({("a", 3, "Partial Upfront", "ec2"): 0.4}, "ours")
    given = Offers(offers().catalogue, "lab", partial, partial, ratios)
    found = commitments_of(hours(1.0, 1.0), given)
    assert found.summary["usd_per_hour"] == pytest.approx(0.4)
    assert found.summary["upfront_usd"] == pytest.approx(0.4 * 3 * 8760 / 2)
    assert found.summary["rates"][0]["ec2_from"] == "ours"


def test_nothing_on_demand_and_no_hours_are_told_as_such():
    for table in (hours(0.0, 0.0), hours(0.0, 0.0).drop("a Core Hours", "a OnDemand Costs"), hours()):
        told = commitments_of(table, offers(), mixed=True).summary
        assert (told["total_usd"], told["usd_per_hour"], told["commitments"]) == (told["bill_usd"], 0.0, [])
        assert told["break_even_months"] is None


def test_the_type_that_cost_most_on_demand_is_the_one_to_reserve():
    machines = pl.DataFrame(
        {
            "type": ["a.s", "a.l", "a.l", "b.s"], "family": ["a", "a", "a", "b"], "cores": [1, 8, 8, 1],
            "plan": ["on-demand", "on-demand", "on-demand", "spot"], "cost_usd": [3.0, 2.0, 2.0, 9.0],
        }
    )  # fmt: skip
    assert units_of(machines) == {"a": ("a.l", 8)}
    assert units_of(machines.rename({"plan": "pricing"})) == {"a": ("a.l", 8)}
