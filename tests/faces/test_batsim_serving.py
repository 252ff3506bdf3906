"""Our policies as schedulers of others: served to our own simulator they decide what they decide in it."""

import json
import random

import pytest
from polars.testing import assert_frame_equal
from tests.faces.protocol_build import PLATFORM, job

from unspool.errors import RunError
from unspool.faces.batsim.protocol.begins import Terms
from unspool.faces.batsim.protocol.serving import Served
from unspool.faces.batsim.running import Settings, build_policy, run_batsim
from unspool.policies.base import Kill, Reject, Start, WakeAt


class Beside:
    """A served policy without the socket."""

    name = "beside"
    terms = Terms()

    def __init__(self, make):
        self.served = Served(make)

    def open_line(self, stack):
        return self

    def ask(self, text):
        return self.served.answer(text.encode()).encode()


def some_jobs(seed, count=60, part=1.0):
    """Jobs whose times are multiples of a part of a second."""
    draw = random.Random(seed)
    jobs = []
    for number in range(count):
        length = draw.randint(1, 40)
        jobs.append(job(str(number), draw.randint(0, 300) * part, draw.randint(1, 4), f"d{length}",
                        walltime=(length + draw.choice([0.5, 5, 20])) * part))  # fmt: skip
    return jobs, {f"d{length}": {"type": "delay", "delay": length * part} for length in range(1, 41)}


def both(folder, make, jobs, profiles):
    (folder / "platform.xml").write_text(PLATFORM)
    (folder / "work.json").write_text(json.dumps({"nb_res": 4, "profiles": profiles, "jobs": jobs}))
    settings = {"platform": str(folder / "platform.xml"), "workloads": [str(folder / "work.json")]}
    inside = run_batsim(Settings(**settings, policy=make()))
    outside = run_batsim(Settings(**settings, outside=Beside(make)))
    return inside, outside


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "filler", "easy:order=sjf"])
def test_a_served_policy_writes_the_same_journal_as_in_process(policy, tmp_path):
    for seed, part in ((0, 1.0), (1, 1.0), (2, 1 / 3)):
        inside, outside = both(tmp_path, lambda: build_policy(policy), *some_jobs(seed, part=part))
        assert outside.fault is None
        assert_frame_equal(inside.result.attempts, outside.result.attempts)
        assert_frame_equal(inside.result.allocations, outside.result.allocations)
        assert_frame_equal(inside.outputs.jobs, outside.outputs.jobs)


def fickle(view):
    """Kills what ran for 7 s, turns away the job that is called 3, and waits 2 s before each start."""
    for running in view.running:
        if view.now - running.start_time >= 7:
            yield Kill(running)
        else:
            yield WakeAt(running.start_time + 7)
    for waiting in view.queue:
        if waiting.id.rpartition("!")[2] == "3":
            yield Reject(waiting)
        elif view.now < waiting.submit_time + 2:
            yield WakeAt(waiting.submit_time + 2)
        elif view.fits(waiting):
            yield Start(waiting)


def test_a_policy_of_ones_own_kills_rejects_and_wakes_through_the_protocol_too(tmp_path):
    inside, outside = both(tmp_path, lambda: fickle, *some_jobs(4, 12))
    assert outside.fault is None
    assert_frame_equal(inside.outputs.jobs, outside.outputs.jobs)
    assert "COMPLETED_KILLED" in set(outside.outputs.jobs["final_state"])
    assert "REJECTED" in set(outside.outputs.jobs["final_state"])


def test_who_does_not_begin_with_the_beginning_is_told_so():
    served = Served(lambda: build_policy("fcfs"))
    with pytest.raises(RunError, match="did not begin with SIMULATION_BEGINS"):
        served.answer(b'{"now": 0, "events": []}')


def test_a_served_policy_starts_nothing_on_machines_that_are_closed(tmp_path):
    (tmp_path / "platform.xml").write_text(PLATFORM)
    jobs = [job("a", 0, 2, "d5"), job("b", 2, 2, "d5"), job("c", 3, 2, "d5"), job("d", 30, 4, "d5")]
    profiles = {"d5": {"type": "delay", "delay": 5}}
    jobs = [{**each, "walltime": 9} for each in jobs]
    (tmp_path / "work.json").write_text(json.dumps({"nb_res": 4, "profiles": profiles, "jobs": jobs}))
    events = [
        {"type": "machine_unavailable", "resources": "1-2", "timestamp": 1},
        {"type": "machine_available", "resources": "1-2", "timestamp": 20},
    ]
    (tmp_path / "events.txt").write_text("\n".join(map(json.dumps, events)))
    given = {
        "platform": str(tmp_path / "platform.xml"), "workloads": [str(tmp_path / "work.json")],
        "events": [str(tmp_path / "events.txt")],
    }  # fmt: skip
    inside = run_batsim(Settings(**given, policy="fcfs"))
    outside = run_batsim(Settings(**given, outside=Beside(lambda: build_policy("fcfs"))))
    assert outside.fault is None
    assert_frame_equal(inside.outputs.jobs, outside.outputs.jobs)
    assert inside.outputs.jobs["starting_time"].to_list() == [0.0, 5.0, 10.0, 30.0]
