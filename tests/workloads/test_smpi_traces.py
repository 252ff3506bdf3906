"""Traces of SMPI: what is read of each action, and what is said of files that are wrong."""

from contextlib import suppress

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.smpi_build import write_trace

from unspool.errors import InputError
from unspool.workloads.smpi_actions import ACTIONS, READERS
from unspool.workloads.smpi_traces import read_smpi_trace


def read(folder, *lines, ranks=4):
    """The actions of rank 0, as (name, peer, other, tag, amount, work, list of amounts)."""
    trace = read_smpi_trace(write_trace(folder, [lines, *[()] * (ranks - 1)]))
    found = []
    for at in range(int(trace.starts[1])):
        first = int(trace.first[at])
        length = {"alltoallv": 2 * ranks, "scatterv": ranks, "reducescatter": ranks}.get(ACTIONS[trace.kind[at]], 0)
        numbers = (int(trace.peer[at]), int(trace.other[at]), int(trace.tag[at]))
        found.append(
            (ACTIONS[trace.kind[at]], *numbers, float(trace.amount[at]), float(trace.work[at]),
             trace.lists[first : first + length].tolist())
        )  # fmt: skip
    return found


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("compute 1e9", ("compute", 0, 0, 0, 0.0, 1e9, [])),
        ("sleep 1.5", ("sleep", 0, 0, 0, 0.0, 1.5, [])),
        ("send 1 7 1e6", ("send", 1, 0, 7, 1e6, 0.0, [])),
        ("isend 1 7 10 26", ("isend", 1, 0, 7, 160.0, 0.0, [])),
        ("recv 2 0 -1", ("recv", 2, 0, 0, -1.0, 0.0, [])),
        ("irecv 2 0 3 0", ("irecv", 2, 0, 0, 24.0, 0.0, [])),
        ("sendRecv 5 1 6 2 1 0", ("sendrecv", 1, 2, 0, 20.0, 0.0, [])),
        ("wait 0 3 9", ("wait", 0, 3, 9, 0.0, 0.0, [])),
        ("test 3 0 9", ("test", 3, 0, 9, 0.0, 0.0, [])),
        ("waitall 4", ("waitall", 0, 0, 0, 0.0, 0.0, [])),
        ("barrier", ("barrier", 0, 0, 0, 0.0, 0.0, [])),
        ("bcast 8 2 1", ("bcast", 2, 0, 0, 32.0, 0.0, [])),
        ("reduce 16 5 3 26", ("reduce", 3, 0, 0, 256.0, 5.0, [])),
        ("allreduce 16 5 1", ("allreduce", 0, 0, 0, 64.0, 5.0, [])),
        ("alltoall 10 10 26 26", ("alltoall", 0, 0, 0, 160.0, 0.0, [])),
        ("alltoallv 9 1 2 3 4 9 5 6 7 8 1 0", ("alltoallv", 0, 0, 0, 0.0, 0.0, [4, 8, 12, 16, 40, 48, 56, 64])),
        ("gather 3 4 2 1 0", ("gather", 2, 0, 0, 12.0, 0.0, [])),
        ("scatter 3 4 2", ("scatter", 2, 0, 0, 3.0, 0.0, [])),
        ("allgather 3 4 1 1", ("allgather", 0, 0, 0, 12.0, 0.0, [])),
        ("gatherv 3 1 2 3 4 2 1", ("gather", 2, 0, 0, 12.0, 0.0, [])),
        ("allgatherv 3 1 2 3 4", ("allgather", 0, 0, 0, 3.0, 0.0, [])),
        ("allgatherv 3 1 2 3 4 1 1", ("allgather", 0, 0, 0, 12.0, 0.0, [])),
        ("allgatherv 3 1 2 3 4 0 1 3 6", ("allgather", 0, 0, 0, 3.0, 0.0, [])),
        ("scatterv 1 2 3 4 9 2 1", ("scatterv", 2, 0, 0, 0.0, 0.0, [4, 8, 12, 16])),
        ("reducescatter 1 2 3 4 50 1", ("reducescatter", 0, 0, 0, 40.0, 50.0, [4, 8, 12, 16])),
        ("scan 4 9 1", ("scan", 0, 0, 0, 16.0, 9.0, [])),
        ("exscan 4 9", ("scan", 0, 0, 0, 4.0, 9.0, [])),
        ("allReduce 4 9", ("allreduce", 0, 0, 0, 4.0, 9.0, [])),
    ],
)
def test_an_action_is_read(tmp_path, line, expected):
    assert read(tmp_path, line) == [expected]


def test_init_with_a_word_makes_eight_bytes_the_usual_size(tmp_path):
    assert [row[4] for row in read(tmp_path, "init", "bcast 3", "init 1", "bcast 3", "finalize")] == [3.0, 24.0]


def test_tabs_comments_empty_lines_and_a_last_line_without_an_end_are_read(tmp_path):
    (tmp_path / "t.txt").write_text("a\n\n# nobody\n")
    (tmp_path / "a").write_bytes(b"# first\r\n\r\n0\tcompute\t1\r\n0 location f 3\n 0 compute 2")
    trace = read_smpi_trace(tmp_path / "t.txt")
    assert trace.work.tolist() == [1.0, 2.0]
    assert trace.line.tolist() == [3, 5]


def test_a_file_that_several_ranks_name_is_read_once(tmp_path):
    (tmp_path / "t.txt").write_text("a\na\na\n")
    (tmp_path / "a").write_text("0 compute 1\n")
    trace = read_smpi_trace(tmp_path / "t.txt")
    assert (trace.ranks, trace.work.tolist(), trace.script_of.tolist()) == (3, [1.0], [0, 0, 0])


def test_one_file_may_hold_the_lines_of_all_ranks(tmp_path):
    (tmp_path / "t.txt").write_text("a\n")
    (tmp_path / "a").write_text("0 compute 1\n1 compute 2\n0 compute 3\n")
    trace = read_smpi_trace(tmp_path / "t.txt")
    assert (trace.ranks, trace.work.tolist(), trace.starts.tolist()) == (2, [1.0, 3.0, 2.0], [0, 2, 3])


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("comput 1", "line 1: unknown action 'comput'; did you mean 'compute'"),
        ("", "line 1: '0' stands alone; expected RANK ACTION arguments"),
        ("compute", "line 1: 0 arguments; expected FLOPS"),
        ("compute much", "line 1: the number of flops is 'much'; expected a number, 0 or more"),
        ("compute -1", "line 1: the number of flops is '-1'; expected a number, 0 or more"),
        ("compute nan", "line 1: the number of flops is 'nan'"),
        ("send 4 0 1", "line 1: the destination is rank 4; the trace has the ranks 0 to 3"),
        ("recv -1 0 1", "line 1: the source is rank -1"),
        ("send 1 0.5 1", "line 1: the tag is '0.5'; expected a whole number"),
        ("send 1 0 -1", "line 1: the count is '-1'; expected a number, 0 or more"),
        ("send 1 0 1 99", "line 1: the datatype is 99, which has no size here; known: 0, 1, 2"),
        ("bcast 1 4", "line 1: the root is rank 4"),
        ("gatherv 1 2 3", "line 1: 3 arguments; expected SENDCOUNT 4 RECVCOUNTS"),
        ("alltoallv 1 2 3", "line 1: 3 arguments; expected SIZE 4 SENDCOUNTS SIZE 4 RECVCOUNTS"),
    ],
)
def test_what_is_wrong_with_a_line_is_told_with_its_place(tmp_path, line, sentence):
    with pytest.raises(InputError, match=sentence) as error:
        read(tmp_path, line)
    assert "rank0.txt: line 1" in str(error.value)


def test_files_that_are_not_there_or_no_text_are_told(tmp_path):
    with pytest.raises(InputError, match=r"t\.txt: there is no such file"):
        read_smpi_trace(tmp_path / "t.txt")
    (tmp_path / "t.txt").write_text("\n# nothing\n")
    with pytest.raises(InputError, match="names no file; expected one a line"):
        read_smpi_trace(tmp_path / "t.txt")
    (tmp_path / "t.txt").write_text("a\n")
    with pytest.raises(InputError, match="a: there is no such file"):
        read_smpi_trace(tmp_path / "t.txt")
    (tmp_path / "a").write_bytes(b"0 compute 1\n0 comp\xffute 1\n")
    with pytest.raises(InputError, match="a: line 2 is no text"):
        read_smpi_trace(tmp_path / "t.txt")


_WORDS = st.sampled_from(
    [*READERS, "init", "finalize", "0", "1", "2", "-1", "1e6", "1e400", "nan", "x", "#", "é", "1_0", "99999999999"]
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(_WORDS, max_size=7).map(" ".join), max_size=5) | st.binary(max_size=60))
@example(["0 send 1 0 1_0"])
def test_any_file_is_read_or_refused_in_a_sentence(tmp_path, content):
    (tmp_path / "t.txt").write_text("a\nb\n")
    data = content if isinstance(content, bytes) else "\n".join(f"0 {line}" for line in content).encode()
    (tmp_path / "a").write_bytes(data)
    (tmp_path / "b").write_text("1 barrier\n")
    with suppress(InputError):
        assert read_smpi_trace(tmp_path / "t.txt").ranks == 2
    (tmp_path / "t.txt").write_bytes(data)
    with suppress(InputError):
        assert read_smpi_trace(tmp_path / "t.txt").ranks > 0
