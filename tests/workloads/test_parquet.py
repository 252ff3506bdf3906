"""Parquet files that are damaged: refused with a sentence, in this process, before Polars allocates what they say."""

import os
import random
import subprocess
import sys

import polars as pl
import pytest

from unspool.errors import InputError
from unspool.limits import raised
from unspool.workloads import read_workload
from unspool.workloads.parquet import check_parquet, read_table
from unspool.workloads.thrift import ThriftError, read_struct

JOBS = pl.DataFrame({
    "job_id": [f"j{at}" for at in range(40)], "submit_time": [float(at) for at in range(40)],
    "run_time": [1.5] * 40, "cores": [1, 2, 3, 4] * 10, "user": ["ann", None] * 20,
})  # fmt: skip


def written(tmp_path, compression="zstd", **options):
    path = tmp_path / "log.parquet"
    JOBS.write_parquet(path, compression=compression, **options)
    return path


def footer_of(data):
    return len(data) - 8 - int.from_bytes(data[-8:-4], "little")


def damaged(path, at, value):
    data = bytearray(path.read_bytes())
    data[at : at + len(value)] = value
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("compression", ["uncompressed", "snappy", "zstd", "gzip", "lz4", "brotli"])
def test_whole_files_pass_whatever_packs_them(compression, tmp_path):
    path = written(tmp_path, compression, row_group_size=16)
    assert read_table(path).equals(JOBS)
    assert read_table(path, ["cores"]).equals(JOBS.select("cores"))
    assert len(read_workload(path)) == 40


def test_tables_without_rows_and_with_nested_cells_pass(tmp_path):
    for table in (JOBS.head(0), pl.DataFrame({"a": [[1, 2], [], None]}), pl.DataFrame({"a": [{"b": 1}]})):
        table.write_parquet(tmp_path / "t.parquet")
        assert read_table(tmp_path / "t.parquet").equals(table)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "the file is empty"),
        (b"PAR1", "does not begin and end with PAR1"),
        (b"PAR1" + bytes(20), "does not begin and end with PAR1"),
        (b"PAR1" + b"\xff\xff\xff\x7fPAR1", "does not begin and end with PAR1"),
        (b"PAR1" + bytes(4) + b"\xff\xff\xff\x7fPAR1", "a footer that is longer than the file"),
        (b"PAR1" + bytes(4) + b"\0\0\0\0PAR1", "an end within a structure"),
        (b"PAR1\x00" + b"\x01\0\0\0PAR1", "does not begin and end with PAR1|no columns"),
    ],
)
def test_footers_that_are_none_are_told(content, says, tmp_path):
    (tmp_path / "log.parquet").write_bytes(content)
    with pytest.raises(InputError, match=says):
        read_table(tmp_path / "log.parquet")


def test_a_page_that_says_it_unpacks_to_much_is_refused(tmp_path):
    path = written(tmp_path, "uncompressed")
    data = path.read_bytes()
    # The first page header: kind, then both sizes, each a zigzag varint behind the byte 0x15.
    assert data[4:7:2] == b"\x15\x15"
    for size in (b"\x15\x00\x15\xfe\xff\xff\xff\x0f", b"\x15\x00\x15\xff\xff\xff\xff\x0f"):
        with pytest.raises(InputError, match=r"cut off or damaged|limit for a page"):
            read_table(damaged(written(tmp_path, "uncompressed"), 4, size))


def test_sizes_beyond_the_file_never_reach_polars(tmp_path):
    """Each byte of the footer and of the first page in turn, at its largest: what passes the check does not abort."""
    whole = written(tmp_path, "zstd").read_bytes()
    refused = 0
    for at in [*range(4, 60), *range(footer_of(whole), len(whole))]:
        try:
            check_parquet(whole[:at] + b"\xff" + whole[at + 1 :], "log")
        except InputError:
            refused += 1
    assert refused > 200


def test_other_files_that_columns_name_are_not_opened(tmp_path):
    with pytest.raises(ThriftError, match="nested too deeply"):
        read_struct(b"\x1c" * 50 + bytes(51), 0, 101)
    with pytest.raises(ThriftError, match="a list that is longer than the file"):
        read_struct(b"\x19\xf5\xff\xff\xff\x0f\0", 0, 7)
    with pytest.raises(ThriftError, match="a text that is longer than the file"):
        read_struct(b"\x18\xff\xff\xff\x0f\0", 0, 6)
    with pytest.raises(ThriftError, match="a number without an end"):
        read_struct(b"\x15" + b"\xff" * 20, 0, 21)


def test_columns_of_a_table_are_counted(tmp_path):
    with raised(["columns=4"]), pytest.raises(InputError, match="limit for columns"):
        read_table(written(tmp_path))


def test_rows_that_take_no_bytes_are_counted(tmp_path):
    pl.DataFrame({"a": pl.Series([1.0]).new_from_index(0, 12_000_000)}).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match="unpacked_ratio"):
        read_table(tmp_path / "t.parquet")
    with raised(["unpacked_ratio=1000000"]):
        check_parquet((tmp_path / "t.parquet").read_bytes(), "t")


CHILD = """
import random, sys
from unspool.errors import InputError
from unspool.workloads.parquet import read_table
path, seeds = sys.argv[1], range(int(sys.argv[2]), int(sys.argv[3]))
whole = open(path, "rb").read()
good = 0
for seed in seeds:
    draw, data = random.Random(seed), bytearray(whole)
    for _ in range(draw.choice((1, 1, 2, 4))):
        at = draw.randrange(len(data))
        data[at] = draw.choice((0, 255, 127, 128, data[at] ^ 1 << draw.randrange(8), draw.randrange(256)))
    open(path, "wb").write(data)
    try:
        read_table(path)
        good += 1
    except InputError:
        pass
print(good)
"""


@pytest.mark.slow
@pytest.mark.parametrize("compression", ["uncompressed", "snappy", "zstd"])
def test_a_thousand_damaged_files_neither_abort_nor_hang(compression, tmp_path):
    path, start = written(tmp_path, compression), random.Random(compression).randrange(10**6)
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(path), str(start), str(start + 1000)],
        capture_output=True, text=True, timeout=300, env={**os.environ, "RUST_BACKTRACE": "0"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert 50 < int(done.stdout) < 950
