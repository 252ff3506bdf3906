"""CSV files for spreadsheets: texts of a log are shown as texts, and numbers stay numbers."""

import csv

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.build import workload

from unspool.cli.app import run_command
from unspool.results.run import run
from unspool.results.spreadsheet import plain_texts, shown_texts, write_csv
from unspool.results.store import save, write_table
from unspool.workloads import read_workload, write_workload
from unspool.workloads.table import write_csv as write_log

FORMULAS = ['=HYPERLINK("http://x","y")', "+1+cmd", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "-e5", "-1-", "'=1"]
TEXTS = ["ann", "a=b", "", "-", "-5", "+1.5e3", "'quoted'", "12-13", " =1"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_that_would_be_computed_has_an_apostrophe(text):
    table = pl.DataFrame({"user": [text]})
    assert shown_texts(table).item() == f"'{text}"
    assert plain_texts(shown_texts(table)).item() == text


@pytest.mark.parametrize("text", TEXTS)
def test_other_texts_are_what_they_are(text):
    assert shown_texts(pl.DataFrame({"user": [text]})).item() == text


@given(st.lists(st.text(st.sampled_from("'=+-@\t\r\n5e. a")), min_size=1))
def test_texts_come_back_as_they_were_and_none_is_computed(texts):
    table = pl.DataFrame({"user": texts, "x": [-1.5] * len(texts)})
    shown = shown_texts(table)
    assert plain_texts(shown).equals(table)
    assert shown["x"].to_list() == table["x"].to_list()


def test_categories_and_names_of_columns_are_texts_too(tmp_path):
    table = pl.DataFrame({"=1": pl.Series(["@x", "y"], dtype=pl.Categorical), "n": [-1, None]})
    with (tmp_path / "table.csv").open("wb") as file:
        write_csv(table, file)
    assert (tmp_path / "table.csv").read_text() == "'=1,n\n'@x,-1\ny,\n"


def hostile():
    return workload([(0, 10, 2, 10), (1, 5, 4, 5), (2, 1, 9, 1)], job_id=["=1+1", "-7", "@x"], user=["+1+1", "-2", "c"])


def cells(path):
    with path.open(newline="", encoding="utf-8") as file:
        return [cell for row in csv.reader(file) for cell in row]


def test_tables_of_a_result_show_what_its_log_says(tmp_path):
    save(run(hostile(), 4), tmp_path / "out", csv=True)
    assert {"'=1+1", "-7"} <= set(cells(tmp_path / "out" / "jobs.csv"))
    assert "'@x" in cells(tmp_path / "out" / "rejected.csv")
    assert {"=1+1", "-7"} <= set(pl.read_parquet(tmp_path / "out" / "jobs.parquet")["job_id"])


def test_a_bill_shows_what_its_log_says_and_is_read_again_as_it_was(tmp_path):
    from unspool.faces.cloud.outputs import read_costs

    write_workload(hostile(), tmp_path / "log.csv")
    words = ["cost", tmp_path / "log.csv", "-o", tmp_path / "out", "--no-report", "--json"]
    assert run_command([str(word) for word in words]) == 0
    assert "'=1+1" in cells(tmp_path / "out" / "jobs.csv")
    assert "'+1+1" in cells(tmp_path / "out" / "by_user.csv")
    assert not any(cell.startswith(("=", "@")) for path in tmp_path.glob("out/*.csv") for cell in cells(path))
    rejected = pl.DataFrame({"file": ["=f"], "line": [2], "job_id": ["=1"], "reason": ["@x"]})
    write_table(rejected, tmp_path / "out" / "rejected.csv")
    assert read_costs(tmp_path / "out").rejected.rows() == rejected.rows()


@pytest.mark.parametrize("name", ["again.csv", "again.tsv"])
def test_a_log_that_is_converted_keeps_every_text(name, tmp_path):
    log = hostile()
    write_workload(log, tmp_path / name)
    assert read_workload(tmp_path / name).table["job_id"].to_list() == log.table["job_id"].to_list()
    assert "'=1+1" not in (tmp_path / name).read_text()
    assert write_log(log, tmp_path / "other.csv") == ()
