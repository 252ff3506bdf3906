"""Batsim's files of energy: against recorded runs, on paper, and machines whose cores several jobs have."""

import json

import pytest
from tests.faces.batsim_build import CASES, GOLDEN, need_cases
from tests.power_build import powered, working

from unspool.conform.schedulers import Sleepy
from unspool.faces.batsim.outputs import outputs_of, write_outputs
from unspool.faces.batsim.running import Settings, run_batsim
from unspool.model.profile import HomogeneousTask
from unspool.policies.base import SetPstate, Start
from unspool.results.run import run
from unspool.results.store import load, save

FILES = ("jobs", "consumed_energy", "pstate_changes", "machine_states")


def lines_of(folder, name):
    return (folder / f"out_{name}.csv").read_text().splitlines()


def without_noise(lines):
    """Rows of a recorded run, whose clock is some femtoseconds late now and then."""
    return [line.replace("2e-15,", "0,").replace("4e-15,", "0,") for line in lines]


@pytest.mark.parametrize(("name", "policy"), [("own_energy_fcfs", "fcfs"), ("own_energy_sleepy", Sleepy())])
def test_the_files_of_recorded_runs_come_out_again(name, policy, tmp_path):
    need_cases()
    own = CASES / "own"
    found = run_batsim(
        Settings(
            platform=str(own / "platforms" / "clean_energy2.xml"), workloads=[str(own / "workloads" / "energy.json")],
            policy=policy, energy=True,
        )
    )  # fmt: skip
    write_outputs(found.outputs, str(tmp_path / "out"))
    for file in FILES:
        mine, theirs = lines_of(tmp_path, file), without_noise(lines_of(GOLDEN / name, file))
        if file == "consumed_energy":  # the last column is noise where no time has passed
            theirs = [
                other if not one.endswith(",NA") else f"{other.rpartition(',')[0]},NA"
                for one, other in zip(mine, theirs, strict=True)
            ]
        assert mine == theirs
    (names, mine), (_, theirs) = (
        [line.split(",") for line in lines_of(folder, "schedule")] for folder in (tmp_path, GOLDEN / name)
    )
    skipped = {"batsim_version", "scheduling_time", "simulation_time"}
    assert [pair for pair in zip(names, mine, strict=True) if pair[0] not in skipped] == [
        pair for pair in zip(names, theirs, strict=True) if pair[0] not in skipped
    ]


def test_a_slower_state_is_written_as_an_order_and_its_end_at_once(tmp_path):
    def slows(view):
        for job in view.queue:
            yield Start(job)
            yield SetPstate(0, 1)

    jobs = working([(0.0, "w", 1)], {"w": HomogeneousTask(5e9, 0.0)})
    result = run(jobs, powered(2), slows, energy=True)
    write_outputs(outputs_of(jobs, result), str(tmp_path / "out"))
    assert lines_of(tmp_path, "pstate_changes") == ["time,machine_id,new_pstate", "0,0-1,0", "0,0,-1", "0,0,1"]
    assert lines_of(tmp_path, "consumed_energy")[-1] == "10.000000,2200.000000,e,195.000000,220.000000"
    assert lines_of(tmp_path, "schedule")[1].split(",")[1] == "2200.000000"


def test_a_result_with_energy_is_read_as_it_was_written(tmp_path):
    jobs = working([(0.0, "w", 1)], {"w": HomogeneousTask(5e9, 0.0)})
    result = run(jobs, powered(2), "fcfs:sleep_after=1")
    save(result, tmp_path / "r")
    again = load(tmp_path / "r")
    assert again == result
    assert again.summary["energy_j"] == result.summary["energy_j"] == pytest.approx(5 * 200 + 1 * 100 + 2 * 50 + 2 * 10)
    assert result.plot.power().data[0].y[0] > 0


PLATFORM = """<?xml version='1.0'?>
<platform version="4.1"><zone id="z" routing="Full">
<host id="master_host" speed="1Gf"/>
<host id="a" speed="1Gf" core="4"><prop id="wattage_per_state" value="100:120:200"/></host>
<host id="b" speed="1Gf" core="2"><prop id="wattage_per_state" value="100:120:200"/></host>
</zone></platform>"""


@pytest.mark.parametrize(
    ("allocate", "starts", "hosts"),
    [("machines", {"x": 0.0, "y": 0.0, "z": 10.0}, ["0", "1", "0"]), ("cores", dict.fromkeys("xyz", 0.0), ["0"] * 3)],
)
def test_jobs_have_whole_machines_or_cores_of_them(tmp_path, allocate, starts, hosts):
    (tmp_path / "p.xml").write_text(PLATFORM)
    profiles = {"w": {"type": "parallel_homogeneous", "cpu": 1e10, "com": 0}}
    listed = [{"id": name, "subtime": 0, "res": 1, "walltime": 50, "profile": "w"} for name in "xyz"]
    (tmp_path / "w.json").write_text(json.dumps({"nb_res": 2, "jobs": listed, "profiles": profiles}))
    found = run_batsim(
        Settings(str(tmp_path / "p.xml"), [str(tmp_path / "w.json")], "fcfs", energy=True, allocate=allocate)
    )
    rows = {row["job_id"]: row for row in found.outputs.jobs.rows(named=True)}
    assert {name: rows[name]["starting_time"] for name in "xyz"} == starts
    assert [rows[name]["allocated_resources"] for name in "xyz"] == hosts
    assert {row["execution_time"] for row in rows.values()} == {10.0}
    if allocate == "cores":
        # Three of four cores: 180 W, of which each job has a third; Batsim's column has all of it, each time.
        assert found.result.jobs["energy_j"].to_list() == pytest.approx([600.0] * 3, rel=1e-12)
        assert [row["consumed_energy"] for row in rows.values()] == pytest.approx([1800.0] * 3, rel=1e-12)


def test_five_cores_of_one_job_lie_on_two_hosts(tmp_path):
    (tmp_path / "p.xml").write_text(PLATFORM)
    profiles = {"w": {"type": "parallel_homogeneous", "cpu": 1e10, "com": 0}}
    job = {"id": "x", "subtime": 0, "res": 5, "walltime": 50, "profile": "w"}
    (tmp_path / "w.json").write_text(json.dumps({"nb_res": 2, "jobs": [job], "profiles": profiles}))
    found = run_batsim(
        Settings(str(tmp_path / "p.xml"), [str(tmp_path / "w.json")], "easy", energy=True, allocate="cores")
    )
    (row,) = found.outputs.jobs.rows(named=True)
    assert (row["allocated_resources"], row["execution_time"]) == ("0-1", 10.0)
    assert row["consumed_energy"] == pytest.approx(10 * (200 + 160), rel=1e-12)
