"""Jobs on fat links whose rounds of sharing do not end in SimGrid end here, and any run can be interrupted."""

import csv
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from tests.faces.protocol_build import Talk, order

from unspool.faces.batsim.protocol.begins import Terms
from unspool.faces.batsim.running import Settings, run_batsim

UNSPOOL = (sys.executable, "-c", "from unspool.cli import main; main()")
PLATFORM = """<?xml version='1.0'?>
<platform version="4.1"><zone id="z" routing="Full">
<host id="h0" speed="1Gf"/><host id="h1" speed="1Gf"/><host id="h2" speed="1Gf"/>
<link id="fat" bandwidth="1.25GBps" latency="0" sharing_policy="FATPIPE"/>
<link id="loop0" bandwidth="10MBps" latency="50us" sharing_policy="FATPIPE"/>
<route src="h0" dst="h0"><link_ctn id="loop0"/></route>
<route src="h0" dst="h1"><link_ctn id="fat"/></route>
<route src="h0" dst="h2"><link_ctn id="fat"/></route>
<route src="h1" dst="h2"><link_ctn id="fat"/></route>
</zone></platform>
"""
# A shares its hosts with C, and creeps up to its bound: its last step is 1.5e-10 a second, for which the fat link loses
# 1.4e-6 of its 1.25e9 B/s in every round from then on. B, which nothing else bounds, would rise on it 1e15 times.
A = {
    "cpu": [8120914417.384526, 0.0, 9802072167.288706],
    "com": [0, 0, 6262.555366533473, 9667.119374788366, 0, 0, 0, 792.882348847186, 9644.975573474389],
}
B = {"cpu": [0, 0], "com": [0, 0, 16613522457.551031, 356411603130.75446]}
C = {"cpu": [3.8391775031096356, 1.5932625912607907], "com": [0, 0, 879715019.7902408, 0]}
ENDLESS = [("A", 3, None), ("B", 2, "0 2"), ("C", 2, "0 2")]


@pytest.fixture
def files(tmp_path):
    def written(jobs, profiles, **traces):
        (tmp_path / "platform.xml").write_text(PLATFORM)
        for name, text in traces.items():
            (tmp_path / name).write_text(text)
        rows = [
            {"id": name, "subtime": 0, "res": size, "profile": name, "walltime": 100}
            | ({"machines": machines} if machines else {})
            for name, size, machines in jobs
        ]
        (tmp_path / "workload.json").write_text(json.dumps({"nb_res": 3, "profiles": profiles, "jobs": rows}))
        return tmp_path

    return written


def batsim(*more):
    return [
        *UNSPOOL, "batsim", "-p", "platform.xml", "-w", "workload.json", "-e", "out/o", "--policy", "filler",
        "--enable-compute-sharing", *more,
    ]  # fmt: skip


def profiles():
    return {name: {"type": "parallel", **what} for name, what in (("A", A), ("B", B), ("C", C))}


def test_jobs_whose_rounds_never_end_fail_with_a_sentence(files):
    folder = files(ENDLESS, profiles())
    done = subprocess.run(batsim(), cwd=folder, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "unspool: policy 'filler': tasks on fat links (FATPIPE) rise for ever, or for more than 10 million rounds, "
        "because a slow task takes next to nothing of a link; SimGrid does not end either. "
        "Use the clean variant (--sharing clean, Contention(sharing='clean'))."
    )


def test_the_clean_variant_runs_them(files):
    folder = files(ENDLESS, profiles())
    command = batsim("--sharing", "clean")
    subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=180, check=True)
    with open(folder / "out" / "o_jobs.csv", newline="") as lines:
        ends = {row["job_id"]: float(row["finish_time"]) for row in csv.DictReader(lines)}
    assert ends == pytest.approx({"A": 9.80, "B": 35.64, "C": 0.70}, abs=0.005)


def test_a_run_that_a_scheduler_elsewhere_decides_breaks_off_too(files):
    folder = files(ENDLESS, profiles())
    machines = {"w0!A": "0-2", "w0!B": "0 2", "w0!C": "0 2"}

    def decide(message):
        if message["now"] > 1:
            return []
        names = [event["data"]["job_id"] for event in message["events"] if event["type"] == "JOB_SUBMITTED"]
        return [order("EXECUTE_JOB", job_id=name, alloc=machines[name]) for name in names]

    talk = Talk(decide, Terms(shares_machines=True))
    settings = Settings(
        str(folder / "platform.xml"), [str(folder / "workload.json")], outside=talk, shares_machines=True
    )
    found = run_batsim(settings, states=False)
    assert "more than 10 million rounds" in str(found.fault)
    assert [type for _, type, _ in talk.told if type == "JOB_COMPLETED"] == []


# A billion steps at one instant: of a task without work, and of a trace whose rank computes nothing.
STEPS = {"step": {"type": "parallel_homogeneous", "cpu": 0, "com": 0}}
TRACE = {"step": {"type": "smpi", "trace": "trace"}}


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("command", "step", "number"),
    [("batsim", STEPS, signal.SIGTERM), ("batsim", TRACE, signal.SIGINT), ("run", STEPS, signal.SIGINT),
     ("run", TRACE, signal.SIGTERM)],
    ids=["batsim-task", "batsim-trace", "run-task", "run-trace"],
)  # fmt: skip
def test_a_billion_steps_at_one_instant_can_be_interrupted(files, command, step, number):
    started = batsim()
    if command == "run":
        started = [*UNSPOOL, "run", "workload.json", "-p", "platform.xml", "--policy", "filler", "-o", "out", "--force"]
    for repeat in (2, 1_000_000_000):
        repeated = {**step, "many": {"type": "composed", "repeat": repeat, "seq": ["step"]}}
        folder = files([("many", 1, None)], repeated, trace="rank\n", rank="0 init\n" + 5000 * "0 compute 0\n")
        if repeat == 2:  # all is compiled then
            subprocess.run(started, cwd=folder, capture_output=True, timeout=300, check=True)
    with subprocess.Popen(started, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        time.sleep(3.0)
        running.send_signal(number)
        _, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert err.splitlines()[-1] == "unspool: interrupted: what was not yet whole is not kept"
