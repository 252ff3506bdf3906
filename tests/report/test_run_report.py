import json
import re
from html import unescape

import pytest
from tests.build import one_core_machines, workload
from tests.report.test_report_figures import THREE, many_jobs, marks_of, three

from unspool.model.platform import Platform
from unspool.report import run_report
from unspool.report.figures.style import MOST_MARKS
from unspool.report.run import answer, question, run_page
from unspool.results.run import run

HOSTILE = [
    "<script>alert(1)</script>", '"\'><img src=x onerror=alert(1)>', "x" * 10_000, "\u05d0\u05d1\u202egnp.exe",
    "../../etc/passwd", "%{y}<b>", "{{ 7*7 }}", "</script><script>alert(2)</script>",
]  # fmt: skip


def before_plotly(html):
    return html[: html.index('id="plotly"')]


def figures_in(html):
    return json.loads(re.search(r'id="figures">(.*?)</script>', html, re.DOTALL)[1])


def cells(html, table):
    """The cells of a table on a page, row by row, as they are shown."""
    body = re.search(rf'<table class="sorts" data-name="{table}">.*?<tbody>(.*?)</tbody>', html, re.DOTALL)[1]
    return [
        [unescape(cell) for cell in re.findall(r"<bdi>(.*?)</bdi>", row)]
        for row in re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
    ]


def test_question_and_answer_of_one_policy():
    results = [three()]
    assert question(results) == "How would these 3 jobs of workload fare on 2 cores under fcfs?"
    # a waits 0, b 9 and c 8 seconds: 17 / 3; slowed down 1, 29 / 20 and 13 / 10; 45 core-seconds of 60.
    assert answer(results) == "They would wait 5.67 s on average, with 75% of the cores' time used"
    tiles = run_page(results).tiles
    assert [(tile.value, tile.what) for tile in tiles] == [
        ("5.67 s", "mean wait"), ("1.25", "mean bounded slowdown"), ("75%", "of the cores' time used"),
        ("30 s", "from first submission to last end"),
    ]  # fmt: skip


def test_question_and_answer_of_several_policies():
    # Under easy the short narrow job starts at once beside the first; under fcfs it waits behind the wide one.
    jobs = workload([(0, 10, 1, 10), (1, 10, 2, 10), (2, 5, 1, 5)])
    results = [run(jobs, Platform.pool(2), policy) for policy in ("fcfs", "easy")]
    assert question(results).endswith("on 2 cores under fcfs and easy?")
    assert answer(results) == "Shortest waits under easy: 3 s on average, 66.7% less than the 9 s under fcfs"
    page = run_page(results)
    assert page.tiles[0].beside == "fcfs: 9 s (-67%)"
    assert [row[:3] for row in cells(run_report(results), "policies")] == [
        ["fcfs", "9 s", "="],
        ["easy", "3 s", "-67%"],
    ]


def test_alike_policies_make_no_difference():
    assert answer([three(), three()]) == "No difference: jobs would wait 5.67 s on average under each"
    assert answer([run(workload([(0, 1, 1, 1)]), Platform.pool(2), "fcfs")]).startswith("None would wait, with 50%")


def test_every_figure_of_the_page_has_a_place_a_caption_and_a_label():
    html = run_report([three(user=["x", "y", "y"]), three(policy="easy")])
    places = re.findall(
        r'class="figure" id="([\w-]+)" role="img" aria-label="([^"]+)" aria-describedby="([\w-]+)"', html
    )
    assert {name for name, _, _ in places} == set(figures_in(html))
    for name, label, described in places:
        assert label
        assert described == f"{name}-caption"
        assert re.search(rf'<figcaption class="soft" id="{described}">[^<]+</figcaption>', html)
    assert len({name for name, _, _ in places}) == len(places)


def test_the_page_fetches_nothing():
    html = before_plotly(run_report([three()]))
    assert not re.search(r"(?:src|href)\s*=|@import|url\(", html)


@pytest.mark.parametrize("platform", [Platform.pool(2), one_core_machines(2)], ids=["pool", "machines"])
def test_hostile_names_are_shown_as_text(platform):
    rows = [(at, 10, 1, 10) for at in range(len(HOSTILE))]
    jobs = workload(rows, user=HOSTILE, queue=HOSTILE[::-1])
    jobs = type(jobs).of(jobs.table.with_columns(job_id=jobs.table["user"]), name=HOSTILE[0])
    result = run(jobs, platform, "fcfs")
    html = run_report([result])
    text = before_plotly(html)
    assert not re.search(r"<img|<script>alert|%\{y\}<b>", text)
    assert "{{ 7*7 }}" in text
    assert "49" not in re.findall(r"<bdi>(.*?)</bdi>", text)
    assert max(map(len, re.findall(r"<bdi>(.*?)</bdi>", text))) < 1000
    users = [row[0] for row in cells(html, "by_user")]
    assert HOSTILE[0] in users
    assert HOSTILE[4] in users
    for figure in figures_in(html).values():
        shown = json.dumps(figure)
        assert "<script" not in shown
        assert "<img" not in shown


def test_hostile_reasons_of_rejected_records_are_text():
    result = run(workload([*THREE, (3, 1, 9, 1)]), Platform.pool(2), "fcfs")
    object.__setattr__(result, "rejected", result.rejected.with_columns(reason=result.rejected["reason"] + HOSTILE[0]))
    html = run_report([result])
    ((line, job, reason),) = cells(html, "rejected")
    assert (line, job) == ("4", "d")
    assert reason.endswith(HOSTILE[0])
    assert "<script>alert" not in html


def test_tables_hold_values_to_sort_by_and_to_download():
    html = run_report([three(user=["x", "y", "y"])])
    assert re.findall(r'data-name="(\w+)"><button|data-name="(\w+)" class="text"><button', html)
    by_user = re.search(r'data-name="by_user">.*?</table>', html, re.DOTALL)[0]
    assert re.findall(r'<th scope="col" data-name="(\w+)"', by_user)[:3] == ["name", "jobs", "core_hours"]
    # y has two jobs of 20 + 5 core-seconds, x one of 20.
    assert re.findall(r'data-v="([^"]*)"', by_user)[:3] == ["y", "2", "0.006944444444"]


def test_the_page_says_how_it_came_about():
    results = [three(), three(policy="easy")]
    page = run_page(results, told={"python": "3.x", "unspool": "0.0"})
    assert page.commands == ["unspool run workload -p 2 --policy fcfs --policy easy --select first"]
    assert ("policy", "fcfs, easy") in page.settings
    assert ("seed", "0") in page.settings
    assert page.versions == [("python", "3.x"), ("unspool", "0.0")]


def test_a_page_of_many_jobs_is_small():
    result = run(many_jobs(6000), one_core_machines(64), "easy")
    page = run_page([result])
    assert all(marks_of(figure) <= MOST_MARKS for figure in page.figures.values())
    assert len(run_report([result])) < 4_000_000


def test_a_run_without_jobs_has_a_page():
    html = run_report([run(workload([(0, 1, 9, 1)]), Platform.pool(2), "fcfs")])
    assert "No job ran" in html


def test_a_notebook_shows_a_table_and_a_picture():
    shown = three()._repr_html_()
    assert "<table" in shown
    assert "busy cores, 2 at most" in shown
    assert "jobs that wait, 2 at most" in shown
    assert shown.count("<polygon") == 2
    assert "<svg" not in run(workload([(0, 1, 9, 1)]), Platform.pool(2), "fcfs")._repr_html_()
