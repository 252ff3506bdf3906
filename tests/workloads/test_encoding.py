"""Names with letters beyond ASCII: UTF-8, and Latin-1 where a line is none, in every format with names."""

import polars as pl
import pytest

from unspool.workloads import delimited, read_workload
from unspool.workloads.recodex import JOB_COLUMNS
from unspool.workloads.table import read_csv, read_parquet

NOTE = "1 line is not UTF-8: read as Latin-1"
NAMES = ["Müller", "Jürgen", "Zoë"]
CSV = ["submit_time,run_time,cores,user", *(f"{at},1,1,{name}" for at, name in enumerate(NAMES))]
JOBS_CSV = [
    "job_id,num_cores,max_mem_gb,num_hosts,submit_time,start_time,finish_time,user",
    *(f"{at},1,1,1,{at},{at + 1},{at + 2},{name}" for at, name in enumerate(NAMES, 1)),
]
SACCT = [
    "JobID|Submit|Start|Elapsed|NCPUS|User",
    *(f"{at}|2024-05-01T08:00:0{at}Z|2024-05-01T08:01:00Z|00:01:00|1|{name}" for at, name in enumerate(NAMES)),
]
RECODEX = [
    ";".join(JOB_COLUMNS),
    *(f"j{at};s;g;t;e;r;w;{name};{at};{at + 9};10;0;1;1;2" for at, name in enumerate(NAMES)),
]


def mixed(tmp_path, lines, name):
    """A file in UTF-8 but for the line of Jürgen."""
    path = tmp_path / name
    path.write_bytes(b"".join(f"{line}\n".encode("latin-1" if "Jürgen" in line else "utf-8") for line in lines))
    return path


@pytest.mark.parametrize(
    ("lines", "name"),
    [(CSV, "log.csv"), (JOBS_CSV, "jobs.csv"), (SACCT, "sacct.txt"), (RECODEX, "data.csv")],
)
def test_a_line_that_is_not_utf_8_is_read_as_latin_1_and_the_others_stay(tmp_path, lines, name):
    workload = read_workload(mixed(tmp_path, lines, name))
    assert workload.table["user"].to_list() == NAMES
    assert workload.notes[0] == NOTE


def test_lines_inside_quotes_are_told_apart_too(tmp_path):
    workload = read_csv(mixed(tmp_path, [*CSV, '9,1,1,"Chloë', 'Jürgen"'], "log.csv"))
    assert workload.table["user"].to_list() == [*NAMES, "Chloë\nJürgen"]
    assert workload.notes == ("2 lines are not UTF-8: read as Latin-1",)


def test_lines_that_are_not_utf_8_are_counted_over_all_blocks(tmp_path, monkeypatch):
    blocks = delimited.read_blocks
    monkeypatch.setattr(delimited, "read_blocks", lambda path: blocks(path, 40))
    workload = read_csv(mixed(tmp_path, CSV + CSV[2:3] * 9, "log.csv"))
    assert workload.table["user"].value_counts().sort("user").rows() == [("Jürgen", 10), ("Müller", 1), ("Zoë", 1)]
    assert workload.notes[0] == "10 lines are not UTF-8: read as Latin-1"


def test_an_accelerator_log_in_latin_1_is_read(tmp_path):
    line = "{} 1714564800 1714564860 1714565160 {{CORES/4 RAM/512 {}}} 0 256 300 120.5 0"
    path = mixed(tmp_path, [line.format(7, "Jürgen"), line.format(8, "Zoë")], "jobs.txt")
    workload = read_workload(path)
    assert (len(workload), workload.notes[0]) == (2, NOTE)


def test_bytes_in_parquet_are_told_cell_by_cell(tmp_path):
    columns = {"submit_time": [0, 1, 2, 3], "run_time": [5] * 4, "cores": [1] * 4, "hash": [b"\xff"] * 4}
    names = ["Müller".encode(), "Jürgen".encode("latin-1"), None, b""]
    pl.DataFrame({**columns, "user": names}).write_parquet(tmp_path / "log.parquet")
    workload = read_parquet(tmp_path / "log.parquet")
    assert workload.table["user"].to_list() == ["Müller", "Jürgen", None, None]
    assert workload.notes == ("1 cell of user is not UTF-8: read as Latin-1", "columns that are not used: hash")


def test_bytes_in_parquet_that_are_utf_8_are_text(tmp_path):
    columns = {"submit_time": [b"0"], "run_time": [b"2:00"], "cores": [b"4"], "user": ["Zoë".encode()]}
    pl.DataFrame(columns).write_parquet(tmp_path / "log.parquet")
    workload = read_parquet(tmp_path / "log.parquet")
    assert (workload.table.drop("job_id", "line").rows(), workload.notes) == ([(0.0, 120.0, 4, "Zoë")], ())
