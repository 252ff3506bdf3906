"""The studio from end to end, as somebody clicks through it."""

import os
import re
import signal
import tomllib
import zipfile

import pytest
from tests.browser.test_browser_pages import PHONE, _lightness
from tests.studio_server import LOG, Server, until

from unspool.sweeps import read_runs

pytest.importorskip("starlette", reason="the extra studio is not installed")

WIDE = {"width": 1280, "height": 800}
_DRAWN = "() => document.querySelector('.figure .main-svg .xy, .figure .main-svg .infolayer *') !== null"
_LONG_MS = 120_000
FACES = ("run", "cost", "dispatch", "batsim", "sweep")


@pytest.fixture(scope="module")
def server(tmp_path_factory, browser):
    server = Server(tmp_path_factory.mktemp("studio"), "--workers", "2")
    yield server
    server.release()
    server.stop()


@pytest.fixture
def page(server, browser):
    with browser.new_context(viewport=WIDE) as context:
        page, faults = context.new_page(), []
        watch(page, faults)
        page.goto(server.address)
        yield page
        assert faults == []


def watch(page, faults):
    page.set_default_timeout(_LONG_MS)
    page.on("pageerror", lambda error: faults.append(f"error: {error}"))
    page.on("dialog", lambda dialog: dialog.accept())

    def told(message):
        if message.type in ("error", "warning") and "400 (Bad Request)" not in message.text:
            faults.append(f"{message.type}: {message.text}")

    page.on("console", told)


def upload(page, name, text, kind="a log of jobs"):
    page.get_by_label("choose one").set_input_files({"name": name, "mimeType": "text/csv", "buffer": text.encode()})
    page.get_by_label("It is").select_option(kind)
    page.get_by_role("button", name="Upload").click()


def choose(page, server, *policies, platform="8", title=""):
    """From the first page to a run of the log that was uploaded first."""
    page.goto(server.address)
    page.get_by_role("link", name="jobs.csv", exact=True).first.click()
    page.get_by_role("link", name="Schedulers").click()
    page.get_by_label("platform", exact=True).wait_for()  # what is ticked at first is only known once the form is there
    ticked = page.locator("input[name=policy]:checked")
    while ticked.count():
        ticked.first.uncheck()
    for policy in policies:
        page.get_by_label(policy, exact=True).check()
    page.get_by_label("platform", exact=True).fill(platform)
    page.get_by_label("A name for this run").fill(title)
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url("**/runs/*")


def sweep(page, server, *policies, title, **fields):
    """From the first page to a sweep of the log that was uploaded first."""
    page.goto(server.address)
    page.get_by_role("link", name="jobs.csv", exact=True).first.click()
    page.get_by_role("link", name="Sweep").click()
    page.get_by_label("fcfs", exact=True).check()
    for policy in policies:
        page.get_by_label(policy, exact=True).check()
    page.locator("details").first.locator("summary").click()
    for name, value in fields.items():
        page.locator(f"[name={name}]").fill(value)
    page.get_by_label("A name for this run").fill(title)
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url("**/runs/*")


def state(page, wanted):
    page.locator(f"#state [data-state={wanted}]").wait_for()


def test_from_a_log_to_a_report_to_a_comparison(page, server):
    upload(page, "jobs.csv", LOG)
    page.get_by_role("heading", name="3 jobs read, 1 record rejected").wait_for()
    assert "run_time is 'soon'" in page.get_by_role("region", name="Rejected records").inner_text()
    choose(page, server, "fcfs", "easy", title="eight cores")
    state(page, "done")
    with page.expect_popup() as opened:
        page.get_by_role("link", name="Open the report").click()
    report, faults = opened.value, []
    watch(report, faults)
    report.wait_for_function(_DRAWN)
    assert faults == []
    with report.expect_download() as waiting:
        report.locator(".download").first.click()
    assert waiting.value.suggested_filename.endswith(".csv")
    report.close()
    for name, told in (("Download run.toml", 'platform = "8"'), ("Download the folder", "PK")):
        with page.expect_download() as waiting:
            page.get_by_role("link", name=name).click()
        assert told in waiting.value.path().read_bytes().decode("latin-1")
    choose(page, server, "fcfs", platform="16", title="sixteen cores")
    state(page, "done")
    page.goto(server.address)
    for title in ("eight cores", "sixteen cores"):
        page.get_by_label(f"compare {title}").check()
    page.get_by_role("button", name="Compare those ticked").click()
    page.get_by_role("button", name="Compare job by job").wait_for()
    heads = page.locator("thead th").all_inner_texts()
    assert heads == ["figure", "sixteen cores", "fcfs (eight cores)", "easy (eight cores)"]
    page.get_by_role("button", name="Compare job by job").click()
    state(page, "done")
    with page.expect_popup() as opened:
        page.get_by_role("link", name="Open the report").click()
    opened.value.wait_for_function(_DRAWN)


def test_a_wrong_file_gives_a_sentence(page):
    upload(page, "holiday.csv", "beach,sun\nyes,yes\n")
    page.get_by_role("heading", name="It cannot be used").wait_for()
    told = page.get_by_role("alert").inner_text()
    assert told.startswith("holiday.csv")
    assert "submit_time" in told
    page.get_by_role("button", name="Remove this file").click()
    page.get_by_role("heading", name="From a log to an answer").wait_for()
    assert page.get_by_role("link", name="holiday.csv").count() == 0


def test_a_wrong_form_says_what_is_wrong_and_keeps_what_was_typed(page, server):
    page.goto(f"{server.address}new/run?log=sample-campus")
    page.get_by_label("platform", exact=True).fill("many")
    page.get_by_label("A name for this run").fill("mine")
    page.get_by_role("button", name="Run", exact=True).click()
    assert "platform: 'many' is neither a number of cores" in page.get_by_role("alert").inner_text()
    assert page.get_by_label("platform", exact=True).input_value() == "many"
    assert page.get_by_label("A name for this run").input_value() == "mine"


def test_two_runs_at_once_one_killed_one_cancelled_then_the_studio_starts_again(page, server):
    server.hold()
    choose(page, server, "fcfs", title="to be killed")
    killed = page.url.rpartition("/")[2]
    (worker,) = server.held(1)
    choose(page, server, "fcfs", title="to be cancelled")
    server.held(2)
    page.goto(server.address)
    until(lambda: page.locator("[data-state=running]").count() == 2)
    os.kill(worker, signal.SIGKILL)
    page.locator(f"[data-run='{killed}'][data-state=failed]").wait_for()
    page.get_by_role("link", name="to be killed").click()
    assert "the worker was killed by signal 9 (SIGKILL)" in page.get_by_role("alert").inner_text()
    page.goto(server.address)
    page.get_by_role("link", name="to be cancelled").click()
    page.get_by_role("button", name="Cancel").click()
    state(page, "cancelled")
    choose(page, server, "fcfs", title="to be cut off")
    server.held(1)
    page.goto("about:blank")
    old = server.address
    server.stop()
    server.release()
    server.start()
    page.goto(server.address)
    found = {
        row.locator("a").inner_text(): row.locator("[data-state]").inner_text()
        for row in page.locator("table.runs tbody tr").all()
    }
    wanted = {"to be killed": "failed", "to be cancelled": "cancelled", "to be cut off": "interrupted"}
    assert found.items() >= wanted.items()
    assert found["eight cores"] == "done"
    page.get_by_role("link", name="to be killed").click()
    assert "the worker was killed by signal 9" in page.get_by_role("alert").inner_text()
    assert old != server.address


def test_a_sweep_from_its_form_to_its_page_and_its_folder(page, server):
    sweep(page, server, "easy", platforms="8\n16", thin="0.7", replicas="30", title="which is best")
    seen = until(lambda: re.search(r"sweep: ([\d,]+) of 120 runs", page.locator("#step").inner_text()))
    assert int(seen[1]) <= 120
    state(page, "done")
    ranking = page.get_by_role("region", name="Ranking")
    ranking.locator("tbody tr").first.wait_for()
    assert {row.inner_text() for row in ranking.locator("tbody td:nth-child(2)").all()} == {"fcfs", "easy"}
    assert ranking.locator("tbody tr").count() == 4
    with page.expect_popup() as opened:
        page.get_by_role("link", name="Open the report").click()
    report, faults = opened.value, []
    watch(report, faults)
    report.wait_for_function(_DRAWN)
    assert report.get_by_text("Which of 4 points has the lowest mean wait?").is_visible()
    with report.expect_download() as waiting:
        report.locator('.download[data-table="ranking"]').click()
    assert waiting.value.suggested_filename == "ranking.csv"
    assert faults == []
    report.close()
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download grid.toml").click()
    assert tomllib.loads(waiting.value.path().read_text())["replicas"] == 30
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download the folder").click()
    with zipfile.ZipFile(waiting.value.path()) as packed:
        names = {name.partition("/")[2] for name in packed.namelist()}
    assert {"grid.toml", "result/sweep.html", "result/ranking.csv", "result/plan.parquet"} <= names
    page.get_by_role("link", name="Change and run again").click()
    assert page.get_by_label("replicas").input_value() == "30"
    page.goto(server.address)
    assert page.get_by_label("compare which is best").is_disabled()


def test_a_sweep_is_cancelled_goes_on_and_is_cancelled_again(page, server):
    sizes = "\n".join(str(cores) for cores in range(8, 28))  # so many runs that no machine is done before the click
    sweep(page, server, "easy", platforms=sizes, thin="0.7", replicas="1000", title="too long")
    until(lambda: re.search(r"sweep: [1-9][\d,]* of 40,000 runs", page.locator("#step").inner_text()))
    page.get_by_role("button", name="Cancel").click()
    state(page, "cancelled")
    assert page.get_by_role("link", name="Open the report").count() == 0
    assert page.get_by_role("link", name="Download grid.toml").is_visible()
    folder = server.folder / "runs" / page.url.rpartition("/")[2] / "result"
    done = len(read_runs(folder))
    assert 0 < done < 40_000
    page.get_by_role("button", name="Go on with the runs that are missing").click()
    until(lambda: len(read_runs(folder)) > done)
    page.get_by_role("button", name="Cancel").click()
    state(page, "cancelled")


def test_a_wrong_grid_gives_a_sentence(page, server):
    page.goto(f"{server.address}new/sweep?log=sample-campus")
    page.locator("[name=scale_load]").fill("{from: 2, to: 1, steps: 3}")
    page.get_by_role("button", name="Run", exact=True).click()
    assert "key scale_load: the range begins at 2 and ends at 1" in page.get_by_role("alert").inner_text()
    assert page.locator("[name=scale_load]").input_value() == "{from: 2, to: 1, steps: 3}"


def test_a_name_is_text_and_nothing_in_it_runs(page, server):
    name = "<img src=x onerror='window.ran = 1'>.csv"
    upload(page, name, LOG)
    page.get_by_role("heading", name="3 jobs read, 1 record rejected").wait_for()
    page.get_by_role("link", name="Schedulers").click()
    page.goto(server.address)
    assert page.get_by_role("link", name=name).count() == 1
    assert page.evaluate("window.ran === undefined")
    assert page.locator("img").count() == 0


def test_a_report_cannot_ask_the_studio_for_anything(page, server):
    page.goto(server.address)
    page.get_by_role("link", name="eight cores", exact=True).first.click()
    with page.expect_popup() as opened:
        page.get_by_role("link", name="Open the report").click()
    opened.value.wait_for_function(_DRAWN)
    asked = f"fetch('{server.address}states').then(answer => answer.text(), () => 'refused')"
    assert opened.value.evaluate(asked) == "refused"
    assert opened.value.evaluate("window.opener === null")


def test_the_keyboard_is_enough(page, server):
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent.trim()") == "campus.swf.gz":
            break
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="10,000 jobs read, 0 records rejected").wait_for()
    labelled = "fields => fields.filter(field => !field.labels.length).map(field => field.name)"
    for face in FACES:
        page.goto(f"{server.address}new/{face}?log=sample-campus")
        visible = page.locator("input:not([type=hidden]), select, textarea")
        assert visible.evaluate_all(labelled) == []


def test_a_dark_telephone_shows_all_of_it(server, browser):
    with browser.new_context(viewport=PHONE, color_scheme="dark", has_touch=True) as context:
        page = context.new_page()
        page.goto(server.address)
        runs = page.locator("table.runs a").evaluate_all("all => all.map(one => one.href)")
        uploads = page.locator("table.list:not(.runs) a").evaluate_all("all => all.map(one => one.href)")
        forms = [f"{server.address}new/{face}?log=sample-campus" for face in FACES]
        for address in (server.address, uploads[0], runs[0], runs[-1], *forms):
            page.goto(address)
            page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], address
            behind = _lightness(page.evaluate("getComputedStyle(document.querySelector('section')).backgroundColor"))
            colours = "all => [...new Set(all.map(one => getComputedStyle(one).color))]"
            for colour in page.locator("h1, h2, p, label, td, th, dt, dd, summary, .state").evaluate_all(colours):
                assert (_lightness(colour) + 0.05) / (behind + 0.05) > 4.5, (address, colour)
