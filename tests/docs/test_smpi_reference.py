"""The page of SMPI traces names every action and every datatype that is read."""

import re
from pathlib import Path

from unspool.engine.programs.collectives import BRUCK, LINEAR, PAIR, pattern_of_alltoall
from unspool.workloads.smpi_actions import DATATYPES, READERS
from unspool.workloads.smpi_traces import _WITHOUT_TIME

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "smpi-traces.md").read_text(encoding="utf-8")


def rows(header):
    """The cells of the rows under a header."""
    lines = PAGE[PAGE.index(header) :].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[: lines.index("")]]


def test_every_action_has_a_row():
    named = {name.lower() for row in rows("| action |") for name in re.findall(r"`([^`]*)`", row[0])}
    assert named == {*READERS, *_WITHOUT_TIME, "init"}


def test_every_datatype_has_its_size():
    told = {
        int(number): float(size) for size, numbers in rows("| bytes | datatypes |") for number in numbers.split(",")
    }
    assert told == DATATYPES


def test_the_table_of_all_to_all_is_the_one_that_is_used():
    edges = {
        2: [(0, PAIR), (2, LINEAR), (4, PAIR), (16, LINEAR), (64, PAIR), (256, LINEAR), (4096, PAIR), (32768, LINEAR),
            (1048576, PAIR)],
        3: [(0, LINEAR), (524288, PAIR), (1048576, LINEAR)],
        8: [(0, LINEAR), (1e9, LINEAR)],
        16: [(0, LINEAR), (4, BRUCK), (512, LINEAR), (1e9, LINEAR)],
        32: [(0, BRUCK), (512, LINEAR), (1e9, LINEAR)],
        64: [(0, BRUCK), (1024, LINEAR), (262144, PAIR)],
        256: [(0, BRUCK), (1024, LINEAR), (32768, PAIR)],
        512: [(0, BRUCK), (512, LINEAR), (262144, PAIR)],
        1024: [(0, BRUCK), (512, LINEAR), (1e9, LINEAR)],
        2048: [(0, BRUCK), (1024, LINEAR), (1e9, LINEAR)],
        4096: [(0, BRUCK), (2048, LINEAR), (1e9, LINEAR)],
    }  # fmt: skip
    firsts = [int(row[0].split(" ")[0].replace(",", "")) for row in rows("| ranks | Bruck")]
    assert firsts == sorted({64 if ranks == 128 else ranks for ranks in edges})
    for ranks, steps in edges.items():
        assert [pattern_of_alltoall(ranks, size) for size, _ in steps] == [pattern for _, pattern in steps]
        assert [pattern_of_alltoall(ranks, size - 1) for size, _ in steps[1:-1]] == [each for _, each in steps[:-2]]
