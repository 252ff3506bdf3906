import json
from pathlib import Path

import pytest

TYPES = (
    "region,type,cores,vcpus,memory_gib,architecture,on_demand_usd_per_hour,EC2 SP 3yr All Upfront,"
    "Compute SP 3yr All Upfront,EC2 SP 1yr No Upfront\nlab,a.one,1,2,4,x86_64,1.0,0.4,0.5,0.7\n"
)
CONFIG = (
    "instance_mapping: {instance_prefix_list: [a]}\n"
    "consumption_model_mapping: {minimum_cpu_speed: 0, maximum_minutes_for_spot: 0}\n"
    "ComputeClusterModel: {BootTime: 0, IdleTime: 0, SchedulingFrequency: 0}\n"
)


@pytest.fixture
def bill(unspool, write):
    """A bill of ten hours: a job of one hour at every other hour, and one of ten hours."""
    write("types.csv", TYPES)
    write("c.yml", CONFIG)
    rows = "".join(f"j{at},{at * 7200},3600,1\n" for at in range(5))
    write("log.csv", f"job_id,submit_time,run_time,cores\nlong,0,36000,1\n{rows}")
    said = unspool("cost", "log.csv", "-c", "c.yml", "--catalogue", "types.csv", "-o", "out", "--no-report")
    assert said.code == 0
    return "out"


def test_a_bill_is_solved_with_its_own_region_and_the_terms_that_are_asked_for(unspool, bill):
    said = unspool("cost", "commit", bill, "--catalogue", "types.csv", "--json")
    told = json.loads(said.out)
    # One instance always, the second in five hours of ten: 0.4 is below half, so both are committed to.
    assert (said.code, told["bill_usd"], told["hours"]) == (0, pytest.approx(15.0), 10)
    assert told["ec2_usd_per_hour"] == {"a": pytest.approx(0.8)}
    assert told["total_usd"] == pytest.approx(8.0)
    dearer = unspool("cost", "commit", bill, "--catalogue", "types.csv", "--years", "1", "--payment", "no", "--json")
    told = json.loads(dearer.out)
    assert told["ec2_usd_per_hour"] == {"a": pytest.approx(0.7)}
    assert told["total_usd"] == pytest.approx(12.0)
    assert told["ec2_term"] == "1yr No Upfront"


def test_the_folder_of_a_bill_has_the_commitments_of_its_configuration(unspool, bill):
    told = json.loads(Path(bill, "commitments.json").read_text())
    assert told["total_usd"] == pytest.approx(8.0)
    header, first, *_ = Path(bill, "commitments.csv").read_text().splitlines()
    assert header.startswith("choice,kind,family,type,count,usd_per_hour")
    assert first.startswith("EC2 savings plans,EC2 savings plan,a,,,0.8")
    again = unspool("cost", "log.csv", "-c", "c.yml", "--catalogue", "types.csv", "-o", bill, "--force", "--no-report")
    assert again.code == 0


def test_people_are_told_what_to_buy_where_prices_are_from_and_what_the_sheet_would_say(unspool, bill):
    said = unspool("cost", "commit", bill, "--catalogue", "types.csv", "-o", "plans")
    assert (
        "Commit to EC2 savings plans of $0.8 for a an hour: the bill falls from $15.00 to $8.00, by 46.7%." in said.out
    )
    assert "The AWS tool's spreadsheet would look at all hours" in said.out
    assert "prices of commitments for a: the median of the ratios that ship" in said.err  # of reserved instances
    assert sorted(path.name for path in Path("plans").iterdir()) == [
        "commitment_curve.csv", "commitments.csv", "commitments.json",
    ]  # fmt: skip
    assert "plans exists" in unspool("cost", "commit", bill, "-o", "plans").err
    assert unspool("cost", "commit", bill, "--catalogue", "types.csv", "-o", "plans", "--force").code == 0


def test_what_is_no_bill_is_told_so(unspool, bill, write):
    assert "none: has no hourly_stats.csv; expected the folder of a bill" in unspool("cost", "commit", "none").err
    assert "region 'lab'" in unspool("cost", "commit", bill).err
    assert unspool("cost", "commit", bill, "--years", "2").code == 2
    Path(bill, "hourly_stats.csv").write_text("x\n1\n")
    said = unspool("cost", "commit", bill, "--catalogue", "types.csv")
    assert (said.code, "no column Relative Hour" in said.err) == (2, True)


def test_ratios_of_a_file_are_used_where_the_catalogue_has_no_price(unspool, bill, write):
    write("r.csv", "family,years,payment,ec2,reserved_standard\na,1,All Upfront,0.45,0.3\n")
    given = ("--catalogue", "types.csv", "--ratios", "r.csv", "--years", "1", "--payment", "all", "--json")
    told = json.loads(unspool("cost", "commit", bill, *given).out)
    assert (told["rates"][0]["ec2"], told["rates"][0]["compute"], told["rates"][0]["reserved"]) == (0.45, None, 0.3)
    assert told["total_usd"] == pytest.approx(9.0)
    assert told["upfront_usd"] == pytest.approx(0.9 * 8760)
    # Terms of which nothing is known are not offered: the catalogue has two, the file one.
    assert [one["term"] for one in told["terms"]] == ["1yr No Upfront", "1yr All Upfront", "3yr All Upfront"]
    given = ("--catalogue", "types.csv", "--ratios", "r.csv", "--years", "3", "--payment", "no")
    said = unspool("cost", "commit", bill, *given)
    assert "no savings plan for a: neither catalogue nor ratios have one of this term" in said.err
    assert "Nothing that ran on demand would cost less" in said.out


def test_a_workbook_is_written_where_it_is_asked_for_and_needs_a_folder(unspool, bill):
    pytest.importorskip("xlsxwriter", reason="the extra excel is not installed")
    given = ("cost", "log.csv", "-c", "c.yml", "--catalogue", "types.csv", "--excel")
    assert "--excel writes a workbook into the folder of results" in unspool(*given).err
    assert unspool(*given, "-o", "book", "--no-report").code == 0
    assert Path("book", "hourly_stats.xlsx").stat().st_size > 5000
    assert not Path(bill, "hourly_stats.xlsx").exists()


def test_the_page_shows_the_curve_and_what_to_buy(unspool, bill):
    unspool("cost", "log.csv", "-c", "c.yml", "--catalogue", "types.csv", "-o", "page")
    page = Path("page", "report.html").read_text()
    assert "What to commit to" in page
    assert "Commit to EC2 savings plans of $0.8 for a" in page
    assert '"commitments":' in page
