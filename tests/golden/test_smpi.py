"""SMPI traces on paper: ranks without jobs on a star, then jobs that replay traces beside others."""

import math

import pytest
from tests.fluid_build import cluster, fluid_jobs, outcome
from tests.smpi_build import ends, write_trace

from unspool.errors import DecisionError, InputError
from unspool.model.network import Contention
from unspool.model.profile import Delay, ForkJoin, HomogeneousTask, Sequence, Task, Trace
from unspool.policies.base import Kill, Start
from unspool.results.run import run
from unspool.simulation.engine import Engine

# Hosts of 1 Gflop/s, a link of 100 MB/s and 1 ms each way: a message of s bytes takes 2 ms and (s + 16) / 1e8 s.
STAR = cluster(8, latency=1e-3)


def took(size, way_s=0.002, bandwidth=1e8):
    return way_s + (size + 16) / bandwidth


def on_star(tmp_path, *scripts, **settings):
    return ends(tmp_path, STAR.network, scripts, **settings)


@pytest.mark.parametrize("size", [0, 1000, 65536, 10**7])
def test_a_ball_goes_to_and_fro(tmp_path, size):
    there, back = ["send 1 0 SIZE", "recv 1 0 SIZE"], ["recv 0 0 SIZE", "send 0 0 SIZE"]
    found = on_star(tmp_path, *([line.replace("SIZE", str(size)) for line in lines * 3] for lines in (there, back)))
    last = 6 * took(size)
    assert found == pytest.approx([last, last if size >= 65536 else last - took(size)], rel=1e-12)


def test_a_small_send_returns_at_once_and_goes_when_it_is_wanted(tmp_path):
    found = on_star(tmp_path, ["send 1 0 65535", "compute 1e9"], ["compute 3e9", "recv 0 0 65535"])
    assert found == pytest.approx([1.0, 3.0 + took(65535)])


def test_a_large_send_returns_when_it_has_arrived(tmp_path):
    found = on_star(tmp_path, ["send 1 0 65536", "compute 1e9"], ["compute 3e9", "recv 0 0 65536"])
    assert found == pytest.approx([4.0 + took(65536), 3.0 + took(65536)])


def test_a_wait_waits_for_its_message(tmp_path):
    # It goes on while both compute; what follows the wait comes behind it, and not at 1 s.
    found = on_star(tmp_path, ["isend 1 5 1e9", "compute 1e9", "wait 0 1 5", "compute 1e9"], ["recv 0 5 1e9"])
    assert found == pytest.approx([took(1e9) + 1.0, took(1e9)])


def test_waits_for_like_messages_take_the_oldest_first(tmp_path):
    lines = ["isend 1 0 100", "isend 1 0 1e8", "wait 0 1 0", "compute 5e8", "wait 0 1 0"]
    found = on_star(tmp_path, lines, ["recv 0 0 100", "recv 0 0 1e8"])
    assert found[0] == pytest.approx(took(100) + took(1e8))
    assert on_star(tmp_path, [*lines[:3], "sleep 0.0001", "waitall"], ["waitall"])[0] == math.inf


def test_messages_match_by_tag_in_the_order_of_their_posts(tmp_path):
    found = on_star(tmp_path, ["isend 1 1 1e8", "isend 1 2 2e8", "waitall"], ["recv 0 2 0", "recv 0 1 0"])
    assert found == pytest.approx([took(2e8) + took(1e8)] * 2)


def test_what_nobody_waited_for_is_waited_for_at_the_end(tmp_path):
    assert on_star(tmp_path, ["isend 1 0 1e8"], ["irecv 0 0 1e8"]) == pytest.approx([took(1e8)] * 2)


def test_a_test_takes_longer_each_time_it_finds_nothing(tmp_path):
    lines = ["irecv 1 0 1e6", "test 1 0 0", "test 1 0 0", "test 1 0 0", "wait 1 0 0", "compute 1e6"]
    # Its first tests end 0.1, 0.3 and 0.6 ms after the post, and the message after 2 ms and 10 ms.
    assert on_star(tmp_path, lines, ["send 0 0 1e6"])[0] == pytest.approx(took(1e6) + 0.001)
    assert on_star(tmp_path, [*lines[:4], "compute 1e8"], ["send 0 0 1e6"])[0] == pytest.approx(0.1006)


def test_a_receive_of_unknown_size_looks_every_tenth_of_a_millisecond(tmp_path):
    found = on_star(tmp_path, ["sleep 0.00025", "send 1 0 1000"], ["recv 0 0 -1"])
    assert found == pytest.approx([0.00025, 0.0003 + took(1000)])
    found = on_star(tmp_path, ["sleep 0.0071", "send 1 0 1000"], ["sleep 0.007", "recv 0 0 -1"])
    assert found == pytest.approx([0.0071, 0.0071 + took(1000)])  # sent as it looks
    found = on_star(tmp_path, ["send 1 0 1000"], ["compute 1e6", "recv 0 0 -1"])
    assert found == pytest.approx([0.0, 0.0011 + took(1000)])


def test_ranks_on_one_host_share_its_core_and_its_way_to_itself(tmp_path):
    found = on_star(tmp_path, ["compute 1e9"], ["compute 1e9"], hosts=[0, 0])
    assert found == pytest.approx([2.0, 2.0])
    assert on_star(tmp_path, ["send 1 0 1e8"], ["recv 0 0 1e8"], hosts=[3, 3]) == pytest.approx([took(1e8)] * 2)


def test_a_barrier_ends_for_all_when_the_last_has_come(tmp_path):
    found = on_star(tmp_path, *([f"compute {rank}e9", "barrier"] for rank in range(4)))
    gathered = 3.0 + took(0)
    given = gathered + took(3 * 16 - 16)  # three messages leave by one link
    assert found == pytest.approx([gathered, given, given, given], rel=1e-12)


def test_a_broadcast_is_a_binomial_tree_from_its_root(tmp_path):
    found = on_star(tmp_path, *(["bcast 1e6 2"] for _ in range(5)))
    one = took(1e6)
    # Relative to the root 2: to 4 first, then 2, then 1, one after the other, for they are waited for; 2 sends to 3.
    assert found == pytest.approx([3 * one, one, 3 * one, 3 * one, 3 * one])
    # Small ones leave at once, and three share the way out of the root.
    small = on_star(tmp_path, *(["bcast 1000"] for _ in range(4)))
    two = 0.002 + 2 * 1016 / 1e8
    assert small == pytest.approx([0.0, two, two, two + took(1000)])


def test_a_reduction_computes_after_its_messages(tmp_path):
    found = on_star(tmp_path, *(["reduce 1e6 1e9 1"] for _ in range(3)))
    assert found == pytest.approx([1.002 + 2 * 1000016 / 1e8] * 3)


def test_an_all_to_all_of_two_takes_turns_or_not_by_its_size(tmp_path):
    # With two there is one exchange in any case; four of 0.6 MB take three turns, four of 1 MB go all at once.
    assert on_star(tmp_path, *[["alltoall 100 100"]] * 2) == pytest.approx([took(100)] * 2)
    assert on_star(tmp_path, *[["alltoall 6e5 6e5"]] * 4) == pytest.approx([3 * took(6e5)] * 4)
    assert on_star(tmp_path, *[["alltoall 2e6 2e6"]] * 4) == pytest.approx([0.002 + 3 * 2000016 / 1e8] * 4)


def test_exchanges_in_turn_work_for_any_number_of_ranks(tmp_path):
    assert on_star(tmp_path, *[["alltoall 6e5 6e5"]] * 3) == pytest.approx([2 * took(6e5)] * 3)


def test_small_blocks_of_many_ranks_go_the_way_of_bruck(tmp_path):
    # Sixteen ranks on sixteen hosts: four turns, each with half of the blocks.
    network = cluster(16, latency=1e-3).network
    found = ends(tmp_path, network, [["alltoall 100 100"]] * 16)
    assert found == pytest.approx([4 * took(800)] * 16)


def test_nothing_is_sent_where_a_list_says_nothing(tmp_path):
    found = on_star(
        tmp_path, ["alltoallv 1 0 1e6 0 1 0 0 0"], ["alltoallv 1 0 0 0 1 1e6 0 0"], ["alltoallv 1 0 0 0 1 0 0 0"]
    )
    assert found == pytest.approx([took(1e6), took(1e6), 0.0])


def test_smpirun_has_factors_and_loads_the_way_back(tmp_path):
    settings = {"smpi_network": "smpirun"}
    one = 0.002 * 1.9503 + 1016 / (1e8 * 0.341987)
    assert on_star(tmp_path, ["send 1 0 1000"], ["recv 0 0 1000"], **settings) == pytest.approx([0.0, one])
    large = 0.002 * 11.6436 + 1000016 / (1e8 * 0.940694)
    assert on_star(tmp_path, ["send 1 0 1e6"], ["recv 0 0 1e6"], **settings) == pytest.approx([large] * 2)
    # Both ways at once, each link has one whole message and a twentieth of the other.
    both = 0.002 * 11.6436 + 1.05 * 1000016 / (1e8 * 0.940694)
    assert on_star(tmp_path, ["sendRecv 1e6 1 1e6 1"], ["sendRecv 1e6 0 1e6 0"], **settings) == pytest.approx(
        [both] * 2
    )


def test_there_is_a_host_for_each_rank_and_a_way_between_them(tmp_path):
    with pytest.raises(InputError, match="has 2 ranks, and 1 hosts are given"):
        on_star(tmp_path, ["barrier"], ["barrier"], hosts=[0])


# Jobs.


def trace(folder, *scripts):
    return Trace("smpi", str(write_trace(folder, scripts)))


def ping(folder, size=1e8):
    return trace(folder, [f"send 1 0 {size}"], [f"recv 0 0 {size}"])


def finished(jobs, where, policy="fcfs", **options):
    return outcome(run(jobs, where, policy, kill_at_walltime=True, **options))


def test_a_job_ends_with_its_last_rank(tmp_path):
    profiles = {"t": trace(tmp_path, ["compute 1e9"], ["compute 3e9"], ["compute 2e9"])}
    jobs = fluid_jobs([(5, 3, None, "t"), (5, 1, None, "t"), (5, 2, None, "t")], profiles)
    # Three ranks on three machines, on one, and round two of them.
    assert finished(jobs, cluster(6)) == [(5, 8, "completed", 0), (5, 11, "completed", 0), (5, 8, "completed", 0)]


def test_jobs_share_links_with_replays_and_with_tasks(tmp_path):
    profiles = {"t": ping(tmp_path, 1e8 - 16), "task": Task((0.0, 0.0), (0.0, 1e8, 0.0, 0.0))}
    where = cluster(6, backbone=1e8)
    jobs = fluid_jobs([(0, 2, None, "t"), (0, 2, None, "t"), (0, 2, None, "task")], profiles)
    assert [row[1] for row in finished(jobs, where)] == pytest.approx([3.0] * 3)
    # Under smpirun's rules a message asks for more of a link than it carries; beside a task all share in rounds.
    jobs = fluid_jobs([(0, 2, None, "t"), (0, 2, None, "t")], profiles)
    alone = 1e8 / (1e8 / 1.05 * 0.940694)
    found = finished(jobs, where, contention=Contention(smpi_network="smpirun"))
    assert [row[1] for row in found] == pytest.approx([2 * alone] * 2)
    jobs = fluid_jobs([(0, 2, None, "t"), (0, 2, None, "task")], profiles)
    found = finished(jobs, where, contention=Contention(smpi_network="smpirun"))
    assert [row[1] for row in found] == pytest.approx([1.0 + alone, 2.0])


def test_a_walltime_cuts_a_replay_and_gives_its_links_to_others(tmp_path):
    profiles = {"t": ping(tmp_path, 1e8 - 16)}
    jobs = fluid_jobs([(0, 2, 1.0, "t"), (0, 2, None, "t"), (0.5, 2, None, "t")], profiles)
    # Two share the backbone until 1 s; the third starts where the first was, beside the second.
    assert finished(jobs, cluster(4, backbone=1e8)) == [
        (0, 1, "walltime", -1), (0, 2, "completed", 0), (1, 2.5, "completed", 0),
    ]  # fmt: skip


def test_a_deadlock_without_a_walltime_fails_the_job_and_is_told(tmp_path):
    profiles = {
        "stuck": trace(tmp_path / "a", ["compute 1e9", "recv 1 0 1"], ["compute 2e9", "recv 0 0 1"]),
        "d": Delay(1.0),
    }
    jobs = fluid_jobs([(0, 2, None, "stuck"), (0, 2, None, "d")], profiles)
    result = run(jobs, cluster(2), "fcfs", kill_at_walltime=True)
    assert outcome(result) == [(0, 2, "failed", 1), (2, 3, "completed", 0)]
    (told,) = result.notes
    assert "job a: deadlock from 2.000000 s on: 2 of its ranks wait for messages that never come; rank 0 (" in told
    assert told.endswith("rank0.txt) in recv (line 2)")
    assert result.jobs["notes"][0] in told


def test_a_deadlock_holds_its_machines_until_the_walltime(tmp_path):
    profiles = {"stuck": trace(tmp_path, ["irecv 1 0 1"], ["compute 1e9"])}
    result = run(fluid_jobs([(0, 2, 9.0, "stuck")], profiles), cluster(2), "fcfs", kill_at_walltime=True)
    assert outcome(result) == [(0, 9, "walltime", -1)]
    assert "1 of its ranks wait for messages that never come" in result.notes[0]
    assert result.notes[0].endswith("at its end, for what it has not waited for")


def test_messages_that_nobody_receives_are_counted(tmp_path):
    profiles = {"t": trace(tmp_path, ["send 1 0 1", "send 1 0 2", "compute 1e9"], ["recv 0 0 1"])}
    result = run(fluid_jobs([(0, 2, None, "t"), (0, 2, None, "t")], profiles), cluster(4), "fcfs")
    assert outcome(result) == [(0, 1, "completed", 0)] * 2
    assert result.notes == ("2 messages of SMPI traces were sent and never received",)


def test_replays_are_parts_of_sequences_and_of_forks(tmp_path):
    profiles = {
        "t": trace(tmp_path, ["compute 1e9", "barrier"], ["barrier"]), "d": Delay(1.0),
        "twice": Sequence(("t", "d"), repeat=2), "both": ForkJoin(("t", "t")), "work": HomogeneousTask(1e9, 0.0),
        "mixed": ForkJoin(("t", "work")),
    }  # fmt: skip
    jobs = fluid_jobs([(0, 2, None, name) for name in ("twice", "both", "mixed")], profiles)
    small = 2 * 16 / 1e8
    assert [row[1] for row in finished(jobs, cluster(6))] == pytest.approx([4 + 2 * small, 2 + 2 * small, 2 + small])


def test_ranks_sit_where_the_job_or_the_scheduler_says(tmp_path):
    profiles = {"t": trace(tmp_path, *[["compute 1e9"]] * 4)}
    details = [None, '{"smpi_ranks_to_hosts_mapping": [0, 0, 0, 1]}', '{"smpi_ranks_to_hosts_mapping": [1, 1, 1, 1]}']
    jobs = fluid_jobs([(0, 2, None, "t")] * 3, profiles, details=details)
    assert [row[1] for row in finished(jobs, cluster(6))] == pytest.approx([2.0, 3.0, 4.0])

    def stacked(view):
        return [Start(job, machines=(2 * at, 2 * at + 1), mapping=(0, 1, 1, 1)) for at, job in enumerate(view.queue)]

    assert [row[1] for row in finished(jobs, cluster(6), stacked)] == pytest.approx([3.0] * 3)


def test_places_are_said_of_every_rank(tmp_path):
    profiles = {"t": trace(tmp_path, *[["compute 1e9"]] * 4)}
    jobs = fluid_jobs([(0, 2, None, "t")], profiles, details=['{"smpi_ranks_to_hosts_mapping": [0, 1]}'])
    with pytest.raises(InputError, match=r"job a: smpi_ranks_to_hosts_mapping says 2 places, and .* has 4 ranks"):
        run(jobs, cluster(4), "fcfs")
    with pytest.raises(DecisionError, match="names a place outside of its 2 machines"):
        run(fluid_jobs([(0, 2, None, "t")], profiles), cluster(4), lambda view: [Start(view.queue[0], mapping=(0, 2))])


def test_a_scheduler_kills_a_replay_in_its_midst(tmp_path):
    profiles = {"t": ping(tmp_path), "d": Delay(1.0)}

    def killer(view):
        if view.now == 0.5 and view.queue:
            yield Kill("a")
        yield from (Start(job) for job in view.queue)

    jobs = fluid_jobs([(0, 2, None, "t"), (0.5, 1, None, "d"), (0.7, 2, None, "t")], profiles)
    found = finished(jobs, cluster(4), killer)
    assert [row[2] for row in found] == ["killed", "completed", "completed"]
    assert found[2][1] == pytest.approx(0.7 + (1e8 + 16) / 1e8)


def test_a_fork_goes_on_where_the_run_is(tmp_path):
    scripts = [
        ["compute 1e9", "isend 1 0 1e8", "barrier", "alltoall 1e6 1e6"],
        ["recv 0 0 1e8", "barrier", "alltoall 1e6 1e6"],
    ]
    jobs = fluid_jobs([(0, 2, None, "t"), (1.2, 2, None, "t")], {"t": trace(tmp_path, *scripts)})
    engine = Engine(jobs, cluster(4, backbone=1e8))
    twins = []
    while view := engine.advance():
        engine.apply([Start(job) for job in view.queue])
        twins.append(engine.fork())
    for twin in twins:
        while view := twin.advance():
            twin.apply([Start(job) for job in view.queue])
        assert twin.attempts["finish"].tolist() == engine.attempts["finish"].tolist()


def test_a_thousand_ranks_talk_to_each_other(tmp_path):
    profiles = {"t": trace(tmp_path, *[["alltoall 400 400", "barrier"]] * 1000)}
    ((_, finish, state, _),) = finished(fluid_jobs([(0, 1000, None, "t")], profiles), cluster(1000))
    # Ten turns of Bruck, in each of which a rank sends the blocks whose number has a bit set; then 999 words both ways.
    blocks = sum(bin(block).count("1") for block in range(1000))
    assert (finish, state) == (pytest.approx((400 * blocks + 160) / 1e8 + 2 * 999 * 16 / 1e8), "completed")
