import pytest

from unspool.errors import InputError
from unspool.platforms.catalogue import Catalogue, CatalogueType, read_catalogue
from unspool.platforms.catalogue.plans import PAYMENTS, YEARS, PlanTerm, rates_of, read_ratios

TERM = PlanTerm(1, "No Upfront")


def kind(name, cores, usd, **plans):
    return CatalogueType("lab", name, 2 * cores, cores, 2, 2**34, hypervisor="nitro", on_demand=usd, **plans)


def test_the_medians_of_the_ratios_that_ship_are_those_that_are_known():
    ratios = read_ratios()
    told = {(plan, term): ratios.ratio("none such", term, plan)[0] for plan in ("ec2", "compute")
            for term in (PlanTerm(3, "All Upfront"), PlanTerm(1, "No Upfront"))}  # fmt: skip
    assert [round(value, 3) for value in told.values()] == [0.376, 0.63, 0.477, 0.764]
    assert ratios.ratio("c5", TERM, "ec2") == (0.6302, "the ratios that ship, of eu-west-1 in 2022")


def test_a_longer_term_or_more_paid_upfront_is_never_dearer():
    ratios = read_ratios()
    for family in {key[0] for key in ratios.of}:
        for plan in ("ec2", "compute"):
            for years in YEARS:
                found = [ratios.of.get((family, years, payment, plan)) for payment in PAYMENTS]
                known = [value for value in found if value is not None]
                assert known == sorted(known, reverse=True)


def test_prices_of_the_catalogue_go_before_ratios_and_the_largest_type_is_asked():
    types = (
        kind("c5.large", 1, 0.1, ec2_savings_plan={f"EC2 SP {TERM}": 0.09}),
        kind("c5.9xlarge", 18, 2.0, ec2_savings_plan={f"EC2 SP {TERM}": 1.0}),
    )
    rate = rates_of(Catalogue(types), "lab", ["c5"], TERM, TERM)[0]
    assert (rate.ec2, rate.compute, rate.unit) == (0.5, 0.7921, "c5.9xlarge")
    assert rate.usd_per_core_hour == pytest.approx(2.0 / 18)
    assert rate.sources[0] == "the catalogue"
    named = rates_of(Catalogue(types), "lab", ["c5"], TERM, TERM, units={"c5": ("c5.large", 2)})[0]
    assert (named.unit, named.unit_usd_per_hour) == ("c5.large", 0.1)
    assert named.usd_per_core_hour == pytest.approx(1.0 / 18)  # jobs get threads: two for each core


def test_a_family_that_the_catalogue_does_not_know_has_ratios_and_no_price():
    rate = rates_of(read_catalogue(), "us-east-1", ["zz9"], TERM, TERM)[0]
    assert (rate.usd_per_core_hour, rate.unit_usd_per_hour) == (None, 0.0)
    assert "median" in rate.sources[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("family,years\nc5,1\n", "line 1: no column payment; expected family, years, payment, ec2"),
        ("family,years,payment,ec2\nc5,2,No Upfront,0.5\n", "line 2: 2 years, No Upfront; expected 1 or 3 years"),
        ("family,years,payment,ec2\nc5,1,Later,0.5\n", "line 2: 1 years, Later"),
        ("family,years,payment,ec2\nc5,1,No Upfront,0\n", "ec2 is '0.0'; expected a price over that on demand"),
        ("family,years,payment,ec2\nc5,1,No Upfront,cheap\n", "ec2 is 'cheap'"),
        ("family,years,payment,ec2\nc5,one,No Upfront,0.5\n", "years is 'one'; expected a whole number"),
    ],
)
def test_a_file_of_ratios_that_cannot_be_used_is_told_with_its_line(tmp_path, text, said):
    (tmp_path / "r.csv").write_text(text)
    with pytest.raises(InputError, match=said.replace("'", ".")):
        read_ratios(tmp_path / "r.csv")


def test_a_file_of_ratios_may_leave_plans_out(tmp_path):
    (tmp_path / "r.csv").write_text("family,years,payment,ec2,compute\nc5,1,No Upfront,0.5,\n")
    ratios = read_ratios(tmp_path / "r.csv")
    assert ratios.ratio("c5", TERM, "ec2") == (0.5, str(tmp_path / "r.csv"))
    assert ratios.ratio("c5", TERM, "compute") == (None, "")
