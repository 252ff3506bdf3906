"""Usage traces on paper: hosts of four cores of 1 Gflop/s each, that draw 100 W idle and 120 to 200 W at work."""

import json

import polars as pl
import pytest
from tests.fluid_build import fluid_jobs
from tests.power_build import powered, working

from unspool.errors import InputError
from unspool.model.profile import Sequence, Trace
from unspool.results.run import run
from unspool.workloads.usage_trace import read_usage_trace


def traced(tmp_path, *ranks, name="trace"):
    """A trace with the phases (usage, seconds) of each rank."""
    for rank, phases in enumerate(ranks):
        lines = [f"{rank} m_usage {usage} {seconds * 1e9!r}" for usage, seconds in phases]
        (tmp_path / f"{name}{rank}.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / f"{name}.txt").write_text("".join(f"{name}{rank}.txt\n" for rank in range(len(ranks))))
    return Trace("usage", str(tmp_path / f"{name}.txt"))


def four_cores(count=2):
    return powered(count, cores=4, watts="100:120:200", speeds=(1e9,), sleeps="")


def finished(result):
    return result.jobs["finish_time"].to_list()


def test_a_job_ends_with_its_slowest_rank_and_draws_by_the_cores_in_use(tmp_path):
    trace = traced(tmp_path, [(1.0, 10)], [(0.5, 4), (0.25, 2)])
    result = run(working([(0.0, "t", 2)], {"t": trace}), four_cores(), "fcfs", energy=True)
    assert finished(result) == [10.0]
    # All cores for 10 s; two of four for 4 s, one of four for 2 s, none for 4 s.
    assert result.machines["energy_j"].to_list() == pytest.approx([2000.0, 4 * 160 + 2 * 140 + 4 * 100], rel=1e-12)


@pytest.mark.parametrize(("usage", "watts"), [(0.0, 140.0), (0.1, 140.0), (0.375, 160.0), (0.374, 140.0), (1.0, 200.0)])
def test_cores_are_rounded_and_one_is_the_least(tmp_path, usage, watts):
    result = run(working([(0.0, "t", 1)], {"t": traced(tmp_path, [(usage, 10)])}), four_cores(1), "fcfs", energy=True)
    assert result.summary["energy_j"] == pytest.approx(10 * watts, rel=1e-12)


def test_ranks_go_round_over_the_machines_and_share_their_cores(tmp_path):
    trace = traced(tmp_path, *[[(1.0, 3)]] * 3)
    assert finished(run(working([(0.0, "t", 2)], {"t": trace}), four_cores(), "fcfs")) == [6.0]


def test_a_job_may_say_on_which_of_its_machines_a_rank_is(tmp_path):
    trace = traced(tmp_path, [(1.0, 3)], [(1.0, 3)])
    rows = [(0.0, 2, None, "t"), (100.0, 2, None, "t")]
    mapping = json.dumps({"smpi_ranks_to_hosts_mapping": [1, 1]})
    jobs = fluid_jobs(rows, {"t": trace}, details=pl.Series([None, mapping]))
    assert finished(run(jobs, four_cores(), "fcfs")) == [3.0, 106.0]


def test_a_mapping_must_name_every_rank(tmp_path):
    trace = traced(tmp_path, [(1.0, 3)], [(1.0, 3)])
    mapping = json.dumps({"smpi_ranks_to_hosts_mapping": [0]})
    jobs = fluid_jobs([(0.0, 2, None, "t")], {"t": trace}, details=pl.Series([mapping]))
    with pytest.raises(InputError, match="trace of 2 ranks, and a job maps 1"):
        run(jobs, four_cores(), "fcfs")


def test_traces_are_parts_of_sequences_and_are_cut_by_walltimes(tmp_path):
    trace = traced(tmp_path, [(1.0, 2), (0.5, 1)])
    profiles = {"t": trace, "s": Sequence(("t",), repeat=3)}
    jobs = fluid_jobs([(0.0, 1, None, "s"), (100.0, 1, 4.0, "s")], profiles)
    result = run(jobs, four_cores(1), "fcfs", kill_at_walltime=True)
    assert finished(result) == [9.0, 104.0]
    assert result.jobs["state"].to_list() == ["completed", "walltime"]


def test_a_rank_without_phases_and_a_phase_without_flops_take_no_time(tmp_path):
    trace = traced(tmp_path, [], [(0.5, 0), (0.5, 2)])
    assert finished(run(working([(0.0, "t", 2)], {"t": trace}), four_cores(), "fcfs")) == [2.0]


def test_one_file_may_have_the_lines_of_all_ranks(tmp_path):
    (tmp_path / "all.txt").write_text("0 m_usage 1 5\n2 m_usage 0.5 6\n\n0 m_usage 0.25 7\n")
    (tmp_path / "list.txt").write_text("all.txt\n")
    assert read_usage_trace(str(tmp_path / "list.txt")) == (((1.0, 5.0), (0.25, 7.0)), (), ((0.5, 6.0),))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("0 compute 1 5", "expected RANK m_usage USAGE FLOPS"),
        ("0 m_usage 1.5 5", "a usage from 0 to 1"),
        ("0 m_usage 0.5 -5", "expected RANK m_usage USAGE FLOPS"),
        ("0 m_usage x 5", "expected RANK m_usage USAGE FLOPS"),
        ("1 m_usage 1 5", "is of rank 1; the file is that of rank 0"),
    ],
)
def test_a_line_that_is_none_is_told_with_its_number(tmp_path, line, says):
    (tmp_path / "r0.txt").write_text(f"0 m_usage 1 5\n{line}\n")
    (tmp_path / "r1.txt").write_text("1 m_usage 1 5\n")
    (tmp_path / "list.txt").write_text("r0.txt\nr1.txt\n")
    with pytest.raises(InputError, match=f"r0.txt, line 2: .*{says}"):
        read_usage_trace(str(tmp_path / "list.txt"))


def test_files_that_are_not_there_are_told(tmp_path):
    (tmp_path / "list.txt").write_text("gone.txt\n")
    with pytest.raises(InputError, match=r"gone.txt: there is no such file"):
        read_usage_trace(str(tmp_path / "list.txt"))
    (tmp_path / "list.txt").write_text("\n")
    with pytest.raises(InputError, match="lists no files"):
        read_usage_trace(str(tmp_path / "list.txt"))
