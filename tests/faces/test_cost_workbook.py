import csv
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.faces.test_cost_outputs import made_costs
from tests.metrics.cost.tables import fixed, instance
from tests.oracles.workbook import Workbook

from unspool.analysis.commitments import Offers, commitments_of, units_of
from unspool.errors import InputError
from unspool.faces.cloud.config import CostConfig
from unspool.faces.cloud.workbook import SHEETS, needs_xlsxwriter, write_workbook
from unspool.metrics.cost.commitments import Commitment, Rates, outcome, usage_of
from unspool.platforms.catalogue import Catalogue, CatalogueType
from unspool.platforms.catalogue.plans import PlanTerm, Ratios

pytest.importorskip("xlsxwriter", reason="the extra excel is not installed")

TERM = PlanTerm(1, "No Upfront")
NO_RATIOS = Ratios({}, "none")
HOUR = 3600


def kind(name, cores, usd, ec2=None, compute=None):
    plans = {"ec2_savings_plan": {f"EC2 SP {TERM}": ec2}} if ec2 else {}
    plans |= {"compute_savings_plan": {f"Compute SP {TERM}": compute}} if compute else {}
    return CatalogueType("lab", name, 2 * cores, cores, 2, 2**34, on_demand=usd, **plans)


CATALOGUE = Catalogue(
    (
        kind("c5.large", 4, 1.0, 0.5, 0.6),
        kind("m5.large", 4, 2.0, 1.0, 1.1),  # the larger discount of the two: the compute plan goes here first
        kind("x1.large", 4, 3.0),  # neither plan is sold
    )
)


def costs_with(machines, attempts=(("a", 0, 60, 900, 1, [0]),)):
    costs = made_costs(machines, list(attempts), {"a": 4}, logged_wait={"a": 90.0})
    offers = Offers(CATALOGUE, "lab", TERM, TERM, NO_RATIOS)
    return replace(costs, commitments=commitments_of(costs.hourly, offers, units_of(costs.bill.machines)))


def busy():
    """Six hours with a gap from the third to the fifth, three families, spot, reserved and on premises."""
    machines = [
        instance(0, 60, 2 * HOUR), instance(0, 60, 5 * HOUR + 1800, family="m5", usd=2.0),
        instance(0, 60, 1.5 * HOUR, family="c5", usd=1.0), instance(5 * HOUR, 5 * HOUR + 60, 6 * HOUR, family="c5"),
        instance(100, 200, HOUR, family="x1", usd=3.0), instance(0, 60, 900, plan="spot", usd=0.25),
        fixed(family="old", usd=0.1), fixed(family="r5", usd=0.2, plan="reserved"),
    ]  # fmt: skip
    return costs_with(machines)


@pytest.fixture(scope="module")
def costs():
    return busy()


@pytest.fixture(scope="module")
def path(costs, tmp_path_factory):
    path = tmp_path_factory.mktemp("book") / "hourly_stats.xlsx"
    write_workbook(costs, CostConfig(ec2_plan=TERM, compute_plan=TERM), path)
    return path


@pytest.fixture
def book(path):
    return Workbook(path)


def total(book, name="Total"):
    return book.value("CostSummary", 2, book.row_of("CostSummary", name))


def commit(book, ec2, compute):
    for family, usd in ec2.items():
        book.change("CostSummary", 2, book.row_of("CostSummary", family), usd)
    book.change("CostSummary", 2, book.row_of("CostSummary", "Compute savings plan commitment"), compute)


def test_the_sheets_are_those_of_the_aws_tool_and_only_the_summary_and_charts_can_be_changed(book, costs):
    assert tuple(book.names) == SHEETS
    assert [name for name in SHEETS if not book.is_protected(name)] == ["CostSummary", "Core Hours Chart"]
    charts = [part for part in book.parts if part.startswith("xl/charts/chart")]
    assert len(charts) == 1 + 3  # all families, and each


def test_the_bill_without_commitments_is_the_bill(costs):
    assert costs.commitments.summary["bill_usd"] == pytest.approx(costs.summary["total_cost_usd"], rel=1e-12)
    assert costs.commitments.summary["on_demand_usd"] == pytest.approx(costs.summary["on_demand_cost_usd"], rel=1e-12)


def test_without_commitments_the_totals_are_those_of_the_summary(book, costs):
    summary = costs.summary
    assert total(book) == pytest.approx(summary["total_cost_usd"], rel=1e-12)
    assert total(book, "Total without commitments") == pytest.approx(summary["total_cost_usd"], rel=1e-12)
    for name, figure in (
        ("OD", "on_demand"),
        ("Spot", "spot"),
        ("Reserved", "reserved"),
        ("OnPremises", "on_premises"),
    ):
        assert total(book, f"Total {name}") == pytest.approx(summary[f"{figure}_cost_usd"], rel=1e-12)
    assert (total(book, "Total ESP"), total(book, "Total CSP")) == (0.0, 0.0)


def test_at_the_cheapest_commitments_it_shows_what_was_solved(book, costs):
    best = costs.commitments.best
    assert best.ec2_usd_per_hour
    commit(book, best.ec2_usd_per_hour, best.compute_usd_per_hour)
    assert total(book) == pytest.approx(costs.commitments.summary["total_usd"], rel=1e-12)
    assert total(book, "Total without commitments") == pytest.approx(costs.summary["total_cost_usd"], rel=1e-12)
    solved = "Total at the cheapest commitments, all hours"
    assert total(book, solved) == pytest.approx(costs.commitments.summary["total_usd"], rel=1e-12)
    proposed = book.value("CostSummary", 3, book.row_of("CostSummary", "m5"))
    assert proposed == pytest.approx(best.ec2_usd_per_hour["m5"])


def test_every_value_that_stands_beside_a_formula_is_what_it_works_out_to(book):
    formulas = [at for at, cell in book.cells.items() if isinstance(cell, str) and cell.startswith("=")]
    assert len(formulas) > 100
    for at in formulas:
        assert book.value(*at) == pytest.approx(book.stored[at], rel=1e-12, abs=1e-12), (at, book.cells[at])


@settings(max_examples=25)
@given(c5=st.floats(0, 2), m5=st.floats(0, 2), compute=st.floats(0, 3))
def test_whatever_is_committed_to_the_workbook_and_the_metric_agree(costs, path, c5, m5, compute):
    book = Workbook(path)
    commit(book, {"c5": c5, "m5": m5}, compute)
    told = outcome(usage_of(costs.hourly), Rates.of(costs.commitments.rates), Commitment({"c5": c5, "m5": m5}, compute))
    assert total(book) == pytest.approx(told.total_usd, rel=1e-9)
    rows = range(2, len(costs.hourly) + 2)
    at = book.column_of("Hourly", "Total Cost")
    assert sum(book.value("Hourly", at, row) for row in rows) == pytest.approx(told.total_usd, rel=1e-9)
    for row in rows:
        names = (f"c5 {what}" for what in ("CHr", "ESP CHr", "CSP CHr", "OD CHr"))
        whole, *parts = (book.value("Hourly", book.column_of("Hourly", name), row) for name in names)
        assert sum(parts) == pytest.approx(whole, abs=1e-9)
        assert min(parts) >= -1e-9


def test_fewer_hours_can_be_chosen(book, costs):
    book.change("CostSummary", 2, 2, 1)
    book.change("CostSummary", 2, 3, 2)
    assert total(book) == pytest.approx(costs.hourly["Total Costs"][1:3].sum(), rel=1e-12)
    most = book.value("InstanceFamilySummary", 4, book.row_of("InstanceFamilySummary", "m5"))
    assert most == pytest.approx(costs.hourly["m5 Core Hours"][1:3].max())


def test_jobs_stand_in_their_bins_with_the_waits_of_the_log(book):
    row, column = book.row_of("JobStats", "2-4"), book.column_of("JobStats", "5-20 minutes")
    assert [book.value("JobStats", column + at, row) for at in range(3)] == [1.0, pytest.approx(14.0), 1.5]
    assert book.value("Config", 2, book.row_of("Config", "EC2 savings plan")) == "1yr No Upfront"


def test_bins_are_named_as_people_read_them(tmp_path):
    def heads(settings):
        costs = replace(busy(), run_time_bins_min=(60.0, 240.0, 1440.0), memory_bins_gib=(2048.0, 4096.0))
        write_workbook(costs, settings, tmp_path / "x.xlsx")
        cells = Workbook(tmp_path / "x.xlsx").cells
        runs = [cells["JobStats", column, 1] for column in (2, 5, 8, 11)]
        return runs, [cells["JobStats", 1, row] for row in (3, 4, 5)]

    assert heads(CostConfig()) == (
        ["0-60 minutes", "60-240 minutes", "240-1,440 minutes", "more than 1 day"],
        ["0-2,048", "2,048-4,096", "more than 4,096"],
    )
    told = heads(CostConfig(bin_ends=(0.0, 10_000.0)))
    assert (told[0][-1], told[1][-1]) == ("1,440-10,000 minutes", "4,096-10,000")


def test_the_rates_are_those_of_the_largest_type_and_a_plan_that_is_not_sold_has_none(book):
    assert book.value("InstanceFamilyRates", 2, 2) == 0.25  # c5: a dollar for four cores
    assert book.value("InstanceFamilyRates", 3, 2) == pytest.approx(0.125)
    assert book.value("InstanceFamilyRates", 6, 2) == pytest.approx(0.15)
    assert ("InstanceFamilyRates", 3, 4) not in book.cells


@pytest.mark.parametrize("machines", [[fixed()], [instance(0, 60, 900, plan="spot")]])
def test_a_bill_without_anything_on_demand_has_a_workbook_too(machines, tmp_path):
    costs = costs_with(machines)
    write_workbook(costs, CostConfig(), tmp_path / "x.xlsx")
    assert total(Workbook(tmp_path / "x.xlsx")) == pytest.approx(costs.summary["total_cost_usd"])


def test_without_the_extra_one_is_told_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(InputError, match=r"pip install 'unspool\[excel\]'"):
        needs_xlsxwriter()


RECALCULATE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load"><prop oor:name="OOXMLRecalcMode" oor:op="fuse">
<value>0</value></prop></item></oor:items>"""
ALL_SHEETS = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,-1"


def recalculated(path, folder):
    """The sheets as LibreOffice works them out, by name: rows of texts."""
    office = shutil.which("soffice") or shutil.which("libreoffice")
    if office is None:
        pytest.skip("LibreOffice is not installed")
    (folder / "profile" / "user").mkdir(parents=True)
    (folder / "profile" / "user" / "registrymodifications.xcu").write_text(RECALCULATE)
    done = subprocess.run(
        [office, "--headless", f"-env:UserInstallation={(folder / 'profile').as_uri()}", "--convert-to", ALL_SHEETS,
         "--outdir", folder / "csv", path],
        capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip
    made = {one.stem.removeprefix(f"{path.stem}-"): one for one in (folder / "csv").glob("*.csv")}
    assert sorted(made) == sorted(SHEETS), done.stderr
    return {name: list(csv.reader(one.read_text().splitlines())) for name, one in made.items()}


def with_commitments_typed_in(path, changed, commits):
    """A copy in which commitments are set and no formula has a value beside it: nothing can be taken from there."""
    with zipfile.ZipFile(path) as before, zipfile.ZipFile(changed, "w") as after:
        for part in before.namelist():
            content = before.read(part)
            if part.startswith("xl/worksheets/sheet"):
                text = re.sub(r"(</f>)<v>[^<]*</v>", r"\1", content.decode())
                if part.endswith("sheet1.xml"):
                    for cell, usd in commits.items():
                        text, count = re.subn(rf'(<c r="{cell}"[^>]*>)<v>0</v>', rf"\g<1><v>{usd!r}</v>", text)
                        assert count == 1
                content = text.encode()
            after.writestr(part, content)


def test_libreoffice_opens_and_recalculates_it_to_the_bill_and_to_what_was_solved(path, costs, tmp_path):
    best, book = costs.commitments.best, Workbook(path)
    rows = {family: book.row_of("CostSummary", family) for family in best.ec2_usd_per_hour}
    commits = {f"B{rows[family]}": usd for family, usd in best.ec2_usd_per_hour.items()}
    compute = book.row_of("CostSummary", "Compute savings plan commitment")
    commits |= {f"B{compute}": best.compute_usd_per_hour} if best.compute_usd_per_hour else {}
    with_commitments_typed_in(path, tmp_path / "changed.xlsx", commits)
    sheets = recalculated(tmp_path / "changed.xlsx", tmp_path)
    told = {row[0]: row[1] for row in sheets["CostSummary"] if len(row) > 1}
    assert float(told["Total"]) == pytest.approx(costs.commitments.summary["total_usd"], rel=1e-9)
    assert float(told["Total without commitments"]) == pytest.approx(costs.summary["total_cost_usd"], rel=1e-9)
    assert not [cell for rows in sheets.values() for row in rows for cell in row if cell.startswith(("#", "Err:"))]
    header, *hours = sheets["Hourly"]
    assert len(hours) == costs.summary["hours"]
    commit(book, best.ec2_usd_per_hour, best.compute_usd_per_hour)
    for row, cells in enumerate(hours, start=2):
        for at, cell in enumerate(cells, start=1):
            assert float(cell) == pytest.approx(book.value("Hourly", at, row), rel=1e-9, abs=1e-9), header[at - 1]


def test_a_text_of_a_file_is_no_formula_and_no_link(costs, tmp_path):
    for at, text in enumerate(("=1+1", "http://example.org")):
        given = replace(costs, summary={**costs.summary, "region": text})
        write_workbook(given, CostConfig(ec2_plan=TERM, compute_plan=TERM), tmp_path / f"{at}.xlsx")
        with zipfile.ZipFile(tmp_path / f"{at}.xlsx") as file:
            sheet = file.read(f"xl/worksheets/sheet{SHEETS.index('Config') + 1}.xml").decode()
            assert text in file.read("xl/sharedStrings.xml").decode()
        assert "<f>" not in sheet
        assert "<hyperlink" not in sheet
