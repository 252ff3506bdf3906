import gzip
import io
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspool.errors import InputError, UnknownName, UnspoolError
from unspool.model.workload import COLUMNS, Workload
from unspool.workloads import delimited, format_of, lines, read_workload, write_workload
from unspool.workloads.table import read_csv, read_parquet, write_csv, write_parquet

HEAD = "job_id,submit_time,run_time,cores\n"
SWF = "1 0 -1 60 4 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1\n"


def file(tmp_path, text, name="log.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def parquet(tmp_path, **columns):
    pl.DataFrame(columns).write_parquet(tmp_path / "log.parquet")
    return tmp_path / "log.parquet"


def test_jobs_are_read_with_their_ids_as_text(tmp_path):
    table = read_csv(file(tmp_path, HEAD + "007,0,60,4\nb,1.5,0,1\n")).table
    assert table.rows() == [("007", 0.0, 60.0, 4, 2), ("b", 1.5, 0.0, 1, 3)]
    assert table.columns == ["job_id", "submit_time", "run_time", "cores", "line"]


def test_without_ids_the_line_is_the_id(tmp_path):
    assert read_csv(file(tmp_path, "submit_time,run_time,cores\n\n0,1,1\n0,1,1\n")).table["job_id"].to_list() == [
        "3",
        "4",
    ]


def test_times_and_sizes_may_have_units(tmp_path):
    text = "submit_time,run_time,cores,walltime,think_time,memory_bytes\n0,2:00,1,1-12:00:00,5 min,4GiB\n1,90,1,,,512\n"
    table = read_csv(file(tmp_path, text)).table
    assert table["run_time"].to_list() == [120.0, 90.0]
    assert table["walltime"].to_list() == [129600.0, None]
    assert table["think_time"].to_list() == [300.0, None]
    assert table["memory_bytes"].to_list() == [4294967296, 512]


def test_several_ids_in_a_cell_are_told_apart(tmp_path):
    rows = '4,0,1,1,\n5,0,1,1,\n4:5,0,1,1,\nz,0,1,1,4 5\ny,0,1,1,4:5\nx,0,1,1,4:5:6\nw,0,1,1,"4,5, 6"\n'
    table = read_csv(file(tmp_path, HEAD.replace("\n", ",depends_on\n") + rows)).table
    assert table["depends_on"].to_list() == [None, None, None, "4,5", "4:5", "4,5,6", "4,5, 6"]


def test_submit_dates_count_from_the_earliest(tmp_path):
    text = HEAD + "a,2024-05-01T12:00:00.5Z,1,1\nb,2024-05-01 14:00:30+02:00,1,1\nc,2024-05-01T08:01-0400,1,1\n"
    workload = read_csv(file(tmp_path, text))
    assert workload.origin_unix_s == 1714564800.0
    assert workload.table["submit_time"].to_list() == [0.5, 30.0, 60.0]
    assert workload.notes == ()


def test_submit_dates_without_a_zone_are_utc_with_a_note(tmp_path):
    workload = read_csv(file(tmp_path, HEAD + "a,1970-01-02 00:00:10,1,1\n"))
    assert (workload.origin_unix_s, workload.table["submit_time"].to_list()) == (86410.0, [0.0])
    assert workload.notes == ("1 submit time has no time zone: taken as UTC",)


@pytest.mark.parametrize(
    ("row", "job_id", "reason"),
    [
        ("b,0,soon,1", "b", "run_time is 'soon'; expected seconds, or a duration such as 2:00 or 5 min"),
        ("b,0,nan,1", "b", "run_time is 'nan'; expected seconds, or a duration such as 2:00 or 5 min"),
        ("b,0,,1", "b", "run_time is empty; expected seconds, or a duration such as 2:00 or 5 min"),
        ("b,0,1,two", "b", "cores is 'two'; expected a whole number"),
        ("b,0,1,2.5", "b", "cores is '2.5'; expected a whole number"),
        (
            "b,noon,1,1",
            "b",
            "submit_time is 'noon'; expected seconds, or a date with a time such as 2024-05-01 12:30:00",
        ),
        (",0,1,1", None, "job_id is empty; expected text"),
        ("b,0,1", None, "3 cells; expected 4, as in the first line"),
        ("b,0,1,1,", None, "5 cells; expected 4, as in the first line"),
    ],
)
@pytest.mark.parametrize("quote", ["", '"'])
def test_a_record_that_cannot_be_used_is_rejected_with_line_and_reason(tmp_path, row, job_id, reason, quote):
    workload = read_csv(file(tmp_path, f"{HEAD}{quote}a{quote},0,1,1\n\n{row}\nc,0,1,1\n"))
    assert workload.table["job_id"].to_list() == ["a", "c"]
    assert workload.rejected.rows() == [(4, job_id, reason)]


def test_quoted_cells_may_hold_commas_and_newlines(tmp_path):
    workload = read_csv(
        file(tmp_path, 'job_id,submit_time,run_time,cores,user\n"a,1",0,1,1,"x\ny"\nb,oh,1,1,z\nc,0,1,1,z\n')
    )
    assert workload.table.select("job_id", "user", "line").rows() == [("a,1", "x\ny", 2), ("c", "z", 5)]
    assert workload.rejected["line"].to_list() == [4]


def test_columns_under_other_names_are_mapped(tmp_path):
    path = file(tmp_path, "id,start,duration,cpus\nx,0,60,4\n")
    theirs = {"job_id": "id", "submit_time": "start", "run_time": "duration", "cores": "cpus"}
    assert read_csv(path, theirs).table.rows() == [("x", 0.0, 60.0, 4, 2)]


def test_a_missing_column_shows_what_there_is_and_the_way_out(tmp_path):
    with pytest.raises(InputError) as caught:
        read_csv(file(tmp_path, "submit_time,elapsed,cores\n0,1,1\n"))
    assert str(caught.value) == (
        f"{tmp_path}/log.csv: no column run_time; the file has submit_time, elapsed, cores; "
        "say which one it is, as in --columns run_time=duration"
    )


def test_a_map_with_a_wrong_name_is_refused(tmp_path):
    path = file(tmp_path, HEAD + "a,0,1,1\n")
    with pytest.raises(UnknownName, match="unknown column 'runtime'; did you mean 'run_time'"):
        read_csv(path, {"runtime": "run_time"})
    with pytest.raises(
        InputError, match="no column 'owner' for user; the file has job_id, submit_time, run_time, cores"
    ):
        read_csv(path, {"user": "owner"})


def test_columns_that_are_not_ours_are_named_in_a_note(tmp_path):
    workload = read_csv(file(tmp_path, "submit_time,run_time,cores,colour,line\n0,1,1,red,9\n"))
    assert workload.notes == ("columns that are not used: colour, line",)
    assert workload.table["line"].to_list() == [2]


def test_spreadsheet_habits_are_read(tmp_path):
    text = b"\xef\xbb\xbf" + "submit_time, run_time ,cores,user\r\n0, 1 ,1,Zo\u00eb\r\n".encode()
    assert read_csv(file(tmp_path, text)).table["user"].to_list() == ["Zoë"]
    latin = "submit_time,run_time,cores,user\n0,1,1,Zo\u00eb\n".encode("latin-1")
    assert read_csv(file(tmp_path, latin)).table["user"].to_list() == ["Zoë"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        ("\n\n", "only blank lines"),
        (HEAD, "no jobs, only the names of columns"),
        (HEAD + "a,0,x,1\nb,0,y,1\n", "none of its 2 records can be used .first, line 2: run_time is 'x'"),
        (HEAD.replace(",", ";") + "a;0;1;1\n", "has semicolons between cells; expected commas, so save it so"),
        (";" + HEAD.replace(",", ";") + "1;a;0;1;1\n", "has semicolons between cells; expected commas, so save it so"),
        (HEAD.replace(",", "\t") + "a\t0\t1\t1\n", "has tabs between cells; expected commas, so give --format tsv"),
        ("; Version: 2.2\n" + SWF, "log.csv: looks like SWF; expected commas between cells, so give --format swf"),
        ('; Note: a, "b\n' + SWF, "log.csv: looks like SWF; expected commas between cells, so give --format swf"),
        (SWF, "log.csv: looks like SWF; expected commas between cells, so give --format swf"),
        (HEAD + "a,-5,1,1\n", "line 2: submit_time is -5"),
        (HEAD + "a,0,1,0\n", "line 2: cores is 0; expected 1 or more"),
        (HEAD + "a,0,1,1\na,0,1,1\n", "job id 'a' stands twice, in lines 2 and 3"),
        (HEAD + '"a,0,1,1\n', "check the quotes of this record"),
        ('"a\nb",cores\n1,2\n', "no column submit_time, run_time; the file has a.b, cores"),
        ("cores,cores,submit_time,run_time\n1,1,1,1\n", "two columns are named 'cores'"),
        (b"PAR1\0\0", "binary data"),
        (gzip.compress(HEAD.encode() * 9, mtime=0)[:-3], "the gzip file is cut off or damaged"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_one_sentence(tmp_path, content, message):
    with pytest.raises(InputError, match=message) as caught:
        read_csv(file(tmp_path, content))
    assert "\n" not in str(caught.value)


def test_a_tab_separated_file_that_has_commas_is_told_its_format(tmp_path):
    with pytest.raises(InputError, match="has commas between cells; expected tabs, so give --format csv"):
        read_workload(file(tmp_path, HEAD + "a,0,1,1\n", "log.tsv"))


def test_typed_parquet_is_read(tmp_path):
    table = pl.DataFrame(
        {
            "job_id": [7, 8],
            "submit_time": pl.Series(["2024-05-01T12:00:10Z", "2024-05-01T12:00:00Z"]).str.to_datetime(time_zone="UTC"),
            "run_time": pl.Series([60_000, 5_000]).cast(pl.Duration("ms")),
            "cores": pl.Series([2, 1], dtype=pl.UInt16),
            "walltime": [float("nan"), 90.0],
            "user": pl.Series([3.0, None]),
        }
    )
    table.write_parquet(tmp_path / "log.parquet")
    workload = read_parquet(tmp_path / "log.parquet")
    assert workload.origin_unix_s == 1714564800.0
    assert workload.table.drop("line").rows() == [("8", 0.0, 5.0, 1, 90.0, None), ("7", 10.0, 60.0, 2, None, "3")]


def test_parquet_cells_may_be_text(tmp_path):
    path = parquet(tmp_path, submit_time=["0", "x"], run_time=["2:00", "1"], cores=["1", "1"])
    workload = read_parquet(path)
    assert workload.table["run_time"].to_list() == [120.0]
    assert workload.rejected["line"].to_list() == [2]


def test_a_column_of_lists_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"column cores holds List\(Int64\); expected numbers or text"):
        read_parquet(parquet(tmp_path, submit_time=[0], run_time=[1], cores=[[1]]))


def test_what_is_no_parquet_is_refused(tmp_path):
    with pytest.raises(InputError, match="not a Parquet file"):
        read_parquet(file(tmp_path, HEAD, "log.parquet"))
    whole = parquet(tmp_path, submit_time=[0], run_time=[1], cores=[1]).read_bytes()
    with pytest.raises(InputError, match="the Parquet file is cut off or damaged"):
        read_parquet(file(tmp_path, whole[:-20], "cut.parquet"))


jobs = st.lists(
    st.fixed_dictionaries(
        {
            "submit_time": st.floats(0, 1e12),
            "run_time": st.floats(0, 1e9),
            "cores": st.integers(1, 10**6),
            "memory_bytes": st.none() | st.integers(0, 2**62),
            "walltime": st.none() | st.floats(0, 1e9),
            "user": st.none()
            | st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1).map(str.strip),
        }
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=60)
@given(jobs)
def test_a_workload_written_and_read_is_the_same(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("table")
    schema = {"memory_bytes": pl.Int64, "walltime": pl.Float64, "user": pl.String}
    table = pl.DataFrame(rows, schema_overrides=schema, infer_schema_length=None)
    table = table.with_columns(pl.int_range(pl.len()).cast(pl.String).alias("job_id")).with_columns(
        user=pl.when(pl.col("user") != "").then("user")
    )
    workload = Workload.of(table, max_cores=64, time_zone="UTC")
    known = [name for name in workload.table.columns if workload.table[name].count() and name != "line"]
    expected = workload.table.select(known).to_dicts()
    assert write_csv(workload, folder / "a.csv.gz") == ("CSV has no place for time_zone, max_cores: left out",)
    assert read_csv(folder / "a.csv.gz").table.drop("line").to_dicts() == expected
    assert write_parquet(workload, folder / "a.parquet") == ()
    back = read_parquet(folder / "a.parquet")
    assert back.table.drop("line").to_dicts() == expected
    assert (back.max_cores, back.time_zone) == (64, "UTC")


def test_the_name_of_a_file_tells_its_format(tmp_path):
    names = ("a.swf", "a.SWF.gz", "a.csv", "a.csv.gz", "a.tsv", "a.parquet", "a.txt", "swf")
    assert [format_of(name) for name in names] == ["swf", "swf", "csv", "csv", "tsv", "parquet", None, None]


def test_else_its_content_tells_it(tmp_path):
    swf = "; MaxProcs: 4\n" + SWF
    packed = gzip.compress(swf.encode())
    typed = parquet(tmp_path, submit_time=[0], run_time=[60], cores=[4]).read_bytes()
    for content in (
        swf,
        packed,
        typed,
        "submit_time,run_time,cores\n0,60,4\n",
        "submit_time\trun_time\tcores\n0\t60\t4",
    ):
        table = read_workload(file(tmp_path, content, "log.data")).table
        assert table.select("run_time", "cores").rows() == [(60.0, 4)]
    with pytest.raises(InputError, match=r"its format cannot be told; give it one of swf, .*csv"):
        read_workload(file(tmp_path, "hello\n", "log.data"))


def test_an_unknown_format_is_refused(tmp_path):
    path = file(tmp_path, HEAD + "a,0,1,1\n")
    with pytest.raises(UnknownName, match="unknown workload format 'cvs'; did you mean 'csv'"):
        read_workload(path, "cvs")
    with pytest.raises(UnknownName, match=r"unknown suffix of a workload '\.txt'"):
        write_workload(read_workload(path), tmp_path / "log.txt")
    with pytest.raises(InputError, match="swf has no named columns to map"):
        read_workload(path, "swf", {"run_time": "duration"})


def test_formats_convert_into_one_another(tmp_path):
    workload = read_workload(file(tmp_path, HEAD + "1,0,60,4\n2,5,60,1\n"))
    for name in ("b.tsv", "b.parquet", "b.swf.gz"):
        write_workload(workload, tmp_path / name)
        columns = ("job_id", "submit_time", "run_time", "cores")
        assert read_workload(tmp_path / name).table.select(columns).equals(workload.table.select(columns))


@given(st.lists(st.lists(st.text('a", é;\r', max_size=5), min_size=1, max_size=4), min_size=1, max_size=6))
@settings(max_examples=200)
def test_regular_quotes_are_read_as_the_csv_module_reads_them(rows):
    with TemporaryDirectory() as folder:
        path = Path(folder, "log.csv")
        cells = [["x", "y"], *rows]
        path.write_text("".join(",".join('"' + cell.replace('"', '""') + '"' for cell in row) + "\n" for row in cells))
        assert lines.are_quotes_regular(path.read_bytes(), b",")
        found, expected = delimited.read_cells(path, ","), delimited._read_quoted(path, ",")
    assert (found.header, found.lines.to_list()) == (expected.header, expected.lines.to_list())
    assert [column.fill_null("").to_list() for column in found.columns] == [c.to_list() for c in expected.columns]
    assert found.rejected.equals(expected.rejected)


@pytest.mark.parametrize("text", [b'"a\nb",1\n', b'a"b,1\n', b'"a" ,1\n', b'"a,1\n', b'"a"b"c",1\n'])
def test_quotes_that_are_not_regular_are_told(text):
    assert not lines.are_quotes_regular(text, b",")


def test_blocks_and_quotes_do_not_change_what_is_read(tmp_path, monkeypatch):
    rows = "".join(f"j{i},{i},{'x' if i == 7 else 60},1{',' if i == 9 else ''}\n" for i in range(30))
    whole = read_csv(file(tmp_path, HEAD + rows))
    quoted = read_csv(file(tmp_path, HEAD + rows.replace("j29", '"j29"')))
    blocks = delimited.read_blocks
    monkeypatch.setattr(delimited, "read_blocks", lambda path: blocks(path, 64))
    parts = read_csv(file(tmp_path, HEAD + rows))
    assert whole.table.equals(parts.table)
    assert whole.table.equals(quoted.table)
    assert whole.rejected.equals(parts.rejected)
    assert whole.rejected.equals(quoted.rejected)
    assert whole.rejected["line"].to_list() == [9, 11]


VALID_CSV = (
    b"job_id,submit_time,run_time,cores,memory_bytes,user\n"
    b'a,2024-05-01T12:00:00Z,2:00,4,4GiB,zoe\nb,2024-05-01 12:00,90,1,,"x,y"\nc,0,1h,1,512,\n'
)


def _valid_parquet():
    buffer = io.BytesIO()
    columns = {"submit_time": [0.0, 1.0], "run_time": ["2:00", "90"], "cores": [1, 2], "user": ["a", None]}
    pl.DataFrame(columns).write_parquet(buffer)
    return buffer.getvalue()


VALID_PARQUET = _valid_parquet()


@st.composite
def mutated(draw, valid):
    data = bytearray(valid)
    for _ in range(draw(st.integers(1, 8))):
        at = draw(st.integers(0, len(data)))
        data[at : at + draw(st.integers(0, 3))] = draw(
            st.binary(max_size=3) | st.sampled_from([b"\n", b",", b'"', b"-"])
        )
    return bytes(data)


def read_or_refuse(folder, name, data):
    path = folder / name
    path.write_bytes(data)
    with suppress(UnspoolError):
        assert len(read_workload(path)) > 0


@settings(max_examples=200)
@given(
    st.binary(max_size=300)
    | mutated(VALID_CSV)
    | st.text(alphabet='0129:- .,"\n\réTZ', max_size=200).map(lambda text: (HEAD + text).encode())
)
def test_whatever_a_csv_file_holds_it_is_read_or_refused(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("fuzz")
    for name in ("log.csv", "log.tsv", "log.data"):
        read_or_refuse(folder, name, data)


@settings(max_examples=200)
@given(st.binary(max_size=300).map(lambda data: b"PAR1" + data + b"PAR1") | mutated(VALID_PARQUET))
def test_whatever_a_parquet_file_holds_it_is_read_or_refused(tmp_path_factory, data):
    read_or_refuse(tmp_path_factory.mktemp("fuzz"), "log.parquet", data)


def test_what_a_file_between_tabs_cannot_hold_is_told_of_tsv(tmp_path):
    workload = Workload.of(read_csv(file(tmp_path, HEAD + "a,0,1,1\n")).table, max_cores=8)
    assert write_workload(workload, tmp_path / "log.tsv") == ("TSV has no place for max_cores: left out",)


def test_every_column_of_a_workload_can_be_read_from_csv(tmp_path):
    texts = {"job_id": "a", "submit_time": "0", "run_time": "5", "cores": "1", "priority": "2.5", "qos": "high"}
    names = [column.name for column in COLUMNS if column.name != "line"]
    log = tmp_path / "all.csv"
    log.write_text(",".join(names) + "\n" + ",".join(texts.get(name, "1") for name in names) + "\n")
    row = read_csv(log).table.row(0, named=True)
    assert (row["priority"], row["qos"]) == (2.5, "high")
    assert set(names) <= set(row)
