"""How much of hosts and links is used over time, on paper: hosts of 1 Gflop/s, links of 100 MB/s each way."""

from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fluid_build import cluster, fluid_jobs, outcome

from unspool.model.network import Contention
from unspool.model.profile import Delay, HomogeneousTask, Task
from unspool.results.run import run
from unspool.results.store import load, save

RECORDED = Contention("clean", records_use=True)
TASK = Task((1e9, 4e9), (0.0, 3e8, 0.0, 0.0))  # 4 s on two hosts, 3e8 bytes from the first to the second


def used(result):
    """What was carried or computed in all, by the name of the link or host."""
    return dict(result.network_use.group_by("resource").agg(pl.col("amount").sum()).rows())


def between(result, name, begin, end):
    """What a resource carried between two times, of bins that lie wholly in it."""
    return sum(
        row["amount"] for row in result.network_use.rows(named=True)
        if row["resource"] == name and row["begin_time"] >= begin and row["end_time"] <= end
    )  # fmt: skip


def test_a_task_alone_carries_what_it_says():
    result = run(fluid_jobs([(0, 2, None, "t")], {"t": TASK}), cluster(2), "fcfs", contention=RECORDED)
    assert used(result) == pytest.approx({"h0": 1e9, "h1": 4e9, "up0": 3e8, "down1": 3e8}, rel=1e-12)
    # All of it moves at one pace: in each bin of the four seconds three quarters of the links are used.
    table = result.network_use
    width = table["end_time"][0] - table["begin_time"][0]
    shares = [row["amount"] / (row["capacity"] * width) for row in table.rows(named=True) if row["resource"] == "up0"]
    assert shares[:-1] == pytest.approx([0.75] * (len(shares) - 1))
    assert table["begin_time"].min() == 0.0
    assert 4.0 <= table["end_time"].max() <= 4.0 + width


def test_two_jobs_on_one_backbone_use_all_of_it_and_the_rest_when_one_is_over():
    # Each sends 1e8 bytes each way over a backbone of 1e8: 2e8 and 6e8 of them; shared at 5e7 until 4e8 is carried.
    profiles = {"short": Task((), (0.0, 2e8, 0.0, 0.0)), "long": Task((), (0.0, 6e8, 0.0, 0.0))}
    jobs = fluid_jobs([(0, 2, None, "short"), (0, 2, None, "long")], profiles)
    result = run(jobs, cluster(4, backbone=1e8), "fcfs", contention=RECORDED)
    assert [finish for _, finish, *_ in outcome(result)] == pytest.approx([4.0, 8.0])
    assert used(result)["backbone"] == pytest.approx(8e8, rel=1e-12)
    assert used(result)["up0"] == pytest.approx(2e8, rel=1e-12)
    assert used(result)["up2"] == pytest.approx(6e8, rel=1e-12)
    width = result.network_use["end_time"][0] - result.network_use["begin_time"][0]
    steps = [at * width for at in range(int(8.0 / width) + 1)]
    for begin, end in pairwise(steps):
        assert between(result, "backbone", begin, end) == pytest.approx(1e8 * width)
        if end <= 4.0:
            assert between(result, "up2", begin, end) == pytest.approx(5e7 * width)
        if begin >= 4.0:
            assert between(result, "up2", begin, end) == pytest.approx(1e8 * width)


def test_a_job_that_is_cut_has_carried_its_part():
    jobs = fluid_jobs([(10, 2, 3.0, "t")], {"t": TASK})
    result = run(jobs, cluster(2), "fcfs", kill_at_walltime=True, contention=RECORDED)
    assert outcome(result)[0][1:3] == (13.0, "walltime")
    assert used(result) == pytest.approx({"h0": 0.75e9, "h1": 3e9, "up0": 2.25e8, "down1": 2.25e8}, rel=1e-12)
    assert result.network_use["begin_time"].min() == 10.0


def test_nothing_is_written_down_unless_asked_and_asking_changes_nothing_else():
    jobs = fluid_jobs([(0, 2, None, "t"), (1, 2, None, "t"), (2, 1, None, "d")], {"t": TASK, "d": Delay(9.0)})
    asked, plain = (run(jobs, cluster(3), "easy", contention=Contention(records_use=one)) for one in (True, False))
    assert outcome(asked) == outcome(plain)
    assert len(plain.network_use) == 0
    assert len(asked.network_use) > 0


def test_links_that_are_not_shared_are_left_out():
    where = cluster(2, backbone=1e9)
    links = where.network.links
    object.__setattr__(links[-1], "is_fat", True)
    result = run(fluid_jobs([(0, 2, None, "t")], {"t": TASK}), where, "fcfs", contention=Contention(records_use=True))
    assert set(used(result)) == {"h0", "h1", "up0", "down1"}


def test_a_folder_keeps_it(tmp_path):
    result = run(fluid_jobs([(0, 2, None, "t")], {"t": TASK}), cluster(2), "fcfs", contention=RECORDED)
    save(result, tmp_path / "out", csv=True)
    assert load(tmp_path / "out") == result
    assert (tmp_path / "out" / "network_use.csv").is_file()
    save(result, tmp_path / "out", force=True)


amounts = st.floats(1e6, 1e10)


@given(
    st.lists(
        st.tuples(st.floats(0, 1e4), st.integers(1, 3), amounts, amounts, st.sampled_from([None, 5.0])),
        min_size=1, max_size=12,
    ),
    st.sampled_from(["simgrid", "clean"]),
)  # fmt: skip
def test_the_integral_of_what_is_used_is_what_was_sent_and_computed(jobs, sharing):
    profiles = {str(at): HomogeneousTask(flops, sent) for at, (_, _, flops, sent, _) in enumerate(jobs)}
    rows = [(submit, size, limit, str(at)) for at, (submit, size, _, _, limit) in enumerate(jobs)]
    rows.sort(key=lambda row: row[0])
    result = run(
        fluid_jobs(rows, profiles), cluster(4, backbone=3e8), "filler", kill_at_walltime=True,
        contention=Contention(sharing, records_use=True),
    )  # fmt: skip
    ended = dict(result.jobs.select("profile", "state").rows())
    flops = {True: 0.0, False: 0.0}
    sent = {True: 0.0, False: 0.0}
    for at, (_, size, work, each, _) in enumerate(jobs):
        is_whole = ended[str(at)] == "completed"
        flops[is_whole] += work * size
        sent[is_whole] += each * size * (size - 1)
    found = used(result)
    computed = sum(amount for name, amount in found.items() if name.startswith("h"))
    carried = found.get("backbone", 0.0)
    # Jobs that were cut did some part of theirs.
    assert flops[True] * (1 - 1e-9) <= computed <= (flops[True] + flops[False]) * (1 + 1e-9)
    assert sent[True] * (1 - 1e-9) <= carried <= (sent[True] + sent[False]) * (1 + 1e-9)
    assert sum(amount for name, amount in found.items() if name.startswith("up")) == pytest.approx(carried, rel=1e-9)
    table = result.network_use
    shares = table["amount"] / (table["capacity"] * (table["end_time"] - table["begin_time"]))
    assert sharing == "simgrid" or shares.max() <= 1.0 + 1e-6
