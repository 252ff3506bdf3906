import json

import pytest
from tests.cli.test_cli_run import HEAD, THREE


@pytest.fixture
def log(write):
    return write("log.csv", THREE)


def test_a_run_writes_its_page_unless_told_not_to(unspool, log, tmp_path):
    assert unspool("run", log, "-p", 4, "-o", "out").err == "results: out, for people out/report.html\n"
    assert (tmp_path / "out" / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert unspool("run", log, "-p", 4, "-o", "bare", "--no-report").err == "results: bare\n"
    assert unspool("run", log, "-p", 4, "-o", "json", "--json").err == "results: json\n"
    assert not (tmp_path / "bare" / "report.html").exists()
    assert not (tmp_path / "json" / "report.html").exists()


def test_several_policies_have_one_page(unspool, log, tmp_path):
    unspool("run", log, "-p", 4, "--policy", "fcfs", "--policy", "easy", "-o", "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "comparison.json",
        "easy",
        "fcfs",
        "report.html",
    ]
    assert not (tmp_path / "out" / "easy" / "report.html").exists()
    assert unspool("run", log, "-p", 4, "--policy", "fcfs", "-o", "out", "--force").code == 0


def test_a_page_is_made_afterwards(unspool, log, tmp_path):
    unspool("run", log, "-p", 4, "--policy", "fcfs", "--policy", "easy", "-o", "out", "--no-report")
    assert unspool("report", "out") == (0, "out/report.html\n", "")
    assert "under fcfs and easy?" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert unspool("report", "out/easy", "-o", "easy.html") == (0, "easy.html\n", "")
    again = unspool("report", "out/easy", "-o", "easy.html")
    assert again.code == 2
    assert "easy.html: exists and is not overwritten" in again.err
    told = json.loads(unspool("report", "out", "--json").out)
    assert told == {"report": "out/report.html", "bytes": (tmp_path / "out" / "report.html").stat().st_size}


def test_the_page_made_afterwards_is_that_of_the_run(unspool, log, tmp_path):
    unspool("run", log, "-p", 4, "-o", "out")
    page = tmp_path / "out" / "report.html"
    before = page.read_text(encoding="utf-8")
    unspool("report", "out")
    cut = before.index("<h2>All figures</h2>")  # below it are how long the run took and the fingerprint of the log
    assert page.read_text(encoding="utf-8")[:cut] == before[:cut]


def test_what_is_no_result_has_no_page(unspool, write):
    write("log.csv", HEAD)
    said = unspool("report", ".")
    assert said.code == 2
    assert "is not the folder of a result" in said.err


def test_the_page_of_a_bill_is_made_again(unspool, log, tmp_path):
    unspool("cost", log, "-o", "out", "--seed", 3)
    page = tmp_path / "out" / "report.html"
    before = page.read_text(encoding="utf-8")
    page.unlink()
    assert unspool("report", "out") == (0, "out/report.html\n", "")
    assert page.read_text(encoding="utf-8") == before
    assert f"unspool cost {log} --seed 3</code>" in before
    assert "<dt>numba</dt>" in before
    assert "<dt>seed</dt><dd><bdi>3</bdi></dd>" in before
    assert "ComputeClusterModel" in before or "instance_mapping" in before  # the configuration, whole


def test_the_folder_of_a_bill_can_be_replaced_with_its_journal_in_it(unspool, log):
    for _ in range(2):
        assert unspool("cost", log, "-o", "out", "--force").code == 0


def test_a_bill_of_an_earlier_version_has_no_page(unspool, tmp_path):
    (tmp_path / "hourly_stats.csv").write_text("")
    said = unspool("report", ".")
    assert said.code == 2
    assert "an earlier version wrote it, without run.json: run `unspool cost` again" in said.err


def test_a_damaged_bill_says_so(unspool, log, tmp_path):
    unspool("cost", log, "-o", "out", "--no-report")
    (tmp_path / "out" / "attempts.parquet").write_bytes(b"no")
    said = unspool("report", "out")
    assert said.code == 2
    assert "the result is damaged" in said.err


def test_figures_are_written_as_files(unspool, log, tmp_path):
    unspool("run", log, "-p", 4, "-o", "out", "--no-report")
    said = unspool("report", "out", "--figures", "pictures", "--format", "png")
    assert said.code == 0
    page, *figures = said.out.split()
    assert page == "out/report.html"
    assert {"pictures/utilisation.png", "pictures/gantt.png", "pictures/wait_ecdf.png"} <= set(figures)
    assert all((tmp_path / figure).read_bytes()[:4] == b"\x89PNG" for figure in figures)
    again = unspool("report", "out", "--figures", "pictures", "--format", "png")
    assert again.code == 2
    assert "exists" in again.err
    told = json.loads(unspool("report", "out", "--figures", "pictures", "--format", "png", "--force", "--json").out)
    assert told["figures"] == figures


def test_a_browser_is_opened_when_asked(unspool, log, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or False)
    unspool("run", log, "-p", 4, "-o", "out")
    said = unspool("report", "out", "--open")
    assert said.err == "no browser could be started; open the file in one\n"
    assert opened[0].startswith("file:///")
    assert opened[0].endswith("out/report.html")
