import gzip
import json
import re
from base64 import b64decode

import pytest
from tests.faces.test_cost_outputs import made_costs
from tests.metrics.cost.tables import fixed, instance

from unspool.report import cost_report
from unspool.report.cost import headline
from unspool.report.figures import cost_over_time, waits_compared


def page_of(costs):
    html = cost_report(costs)
    figures = json.loads(re.search(r'id="figures">(.*?)</script>', html, re.DOTALL)[1])
    return html, figures


def test_the_title_is_the_answer():
    assert headline({"jobs": 1, "total_cost_usd": 0.016, "wait_saved_hours": None}) == "This job would have cost $0.016"
    longer = headline({"jobs": 2000, "total_cost_usd": 5.0, "wait_saved_hours": -3.0})
    assert longer == "These 2,000 jobs would have cost $5.00, waiting 3 hours longer"


def test_the_page_fetches_nothing_and_holds_the_script_that_draws():
    html, figures = page_of(made_costs([instance(0, 0, 3600)], [("a", 0, 0, 900, 1, [0])]))
    before = html[: html.index('id="plotly"')]
    assert not re.search(r"(?:src|href)\s*=|@import|url\(", before)
    packed = re.search(r'id="plotly">(.*?)</script>', html, re.DOTALL)[1]
    assert b"plotly.js" in gzip.decompress(b64decode(packed))[:200]
    assert set(figures) == {"cost", "waits", "instances"}
    assert set(re.findall(r'class="figure" id="(\w+)"', html)) == set(figures)


def test_names_from_the_log_are_text_and_never_markup():
    attempts = [("a", 0, 0, 900, 1, [0])]
    costs = made_costs(
        [instance(0, 0, 3600, family="</script><b>")], attempts, rejected=[(1, "<i>", "<script>alert(1)</script>")],
        user={"a": "<img src=x>"},
    )  # fmt: skip
    html, figures = page_of(costs)
    assert "<img" not in html
    assert "<script>alert" not in html
    assert figures["cost"]["data"][0]["name"] == "&lt;/script&gt;&lt;b&gt; on demand"  # Plotly reads some HTML
    assert "<bdi>&lt;/script&gt;&lt;b&gt; on demand</bdi>" in html


def test_the_cost_figure_adds_up_to_the_bill():
    machines = [instance(0, 0, 9000, family=f"f{at}", plan="spot" if at % 2 else "on-demand") for at in range(12)]
    costs = made_costs([*machines, fixed(usd=7.0)], [("a", 0, 0, 9000, 1, [0])])
    figure = cost_over_time(costs.hourly, 0.0)
    assert sum(sum(trace.y) for trace in figure.data) == pytest.approx(costs.bill.total_usd, abs=1e-4)
    assert (figure.data[0].name, figure.data[-1].name) == ("on premises", "others")


def test_the_cost_figure_says_how_many_hours_it_covers_and_in_how_many_something_is_paid():
    late = [instance(0, 0, 3600), instance(9 * 3600, 9 * 3600, 10 * 3600)]
    costs = made_costs(late, [("a", 0, 0, 900, 1, [0]), ("b", 9 * 3600, 9 * 3600, 10 * 3600, 1, [1])])
    told = cost_over_time(costs.hourly, 0.0).layout.meta["caption"]
    assert told.endswith(" The bill covers 10 hours; something is paid in 2 of them.")
    whole = made_costs(late[:1], [("a", 0, 0, 900, 1, [0])])
    assert cost_over_time(whole.hourly, 0.0).layout.meta["caption"].endswith(" The bill covers 1 hour.")


def test_numbers_under_the_pointer_have_no_exponent():
    costs = made_costs([instance(0, 0, 3600)], [("a", 0, 0, 900, 1, [0])], logged_wait={"a": 9.0}, user={"a": "ann"})
    figures = page_of(costs)[1]
    assert "~g" not in json.dumps([figures[name] for name in ("instances", "saved", "cost")])


def test_a_long_log_is_drawn_in_bars_of_many_hours():
    costs = made_costs([instance(0, 0, 2000 * 3600.0)], [("a", 0, 0, 900, 1, [0])])
    figure = cost_over_time(costs.hourly, 0.0)
    assert len(figure.data[0].x) == 334
    assert figure.layout.yaxis.title.text == "US dollars per 6 hours"
    assert sum(figure.data[0].y) == pytest.approx(2000.0)


def test_waits_are_counted_in_classes_up_to_and_with_their_bound():
    attempts = [(name, 0, wait, wait + 1, 1, [0]) for name, wait in zip("abc", (0, 60, 61), strict=True)]
    logged = {"a": -5.0, "b": 100_000.0}
    costs = made_costs([instance(0, 0, 3600)], attempts, logged_wait=logged)
    log, here = waits_compared(costs.bill.jobs).data
    assert list(here.customdata) == [1, 1, 1, 0, 0, 0, 0, 0]
    assert list(log.customdata) == [1, 0, 0, 0, 0, 0, 0, 1]


def test_a_page_without_jobs_and_without_logged_waits_can_be_made():
    html, _ = page_of(made_costs([fixed()], []))
    assert "These 0 jobs would have cost $0" in html
    assert "does not say how long" in html


def test_a_run_with_machines_on_premises_is_not_called_the_cloud():
    html, figures = page_of(made_costs([fixed()], [("a", 0, 0, 900, 1, [0])], logged_wait={"a": 9.0}))
    assert "How long jobs wait, in the log and here" in html
    assert [trace["name"] for trace in figures["waits"]["data"]] == ["in the log", "here"]
    assert "in the cloud" not in html[: html.index('id="plotly"')]


def test_the_page_tells_what_types_cost():
    machines = [instance(0, 60, 3600), instance(0, 60, 3600, family="m5", plan="spot", usd=0.5)]
    page = cost_report(made_costs(machines, [("a", 0, 60, 3600, 1, [0])]))
    assert "What it runs on" in page
    rows = [re.findall(r"<bdi>(.*?)</bdi>", row) for row in re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)]
    assert ["c5.large", "on-demand", "$1.00", "66.7%"] in [row[:4] for row in rows]
    assert ["m5.large", "spot", "$0.5", "33.3%"] in [row[:4] for row in rows]
