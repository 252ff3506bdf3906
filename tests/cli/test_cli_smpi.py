"""`unspool batsim` with SMPI traces: ranks on machines, the network that is asked for, what is wrong."""

import csv
import json

import pytest

PLATFORM = """\
<?xml version='1.0'?>
<platform version="4.1">
  <cluster id="c" prefix="n" suffix="" radical="0-3" speed="1Gf" bw="100MBps" lat="1ms"/>
</platform>
"""
PING = {"ping.txt": "a.txt\nb.txt\n", "a.txt": "0 init\n0 send 1 0 1e8\n", "b.txt": "1 init\n1 recv 0 0 1e8"}
WORK = {"work.txt": "w.txt\n" * 4, "w.txt": "0 compute 1e9"}
PROFILES = {
    "ping": {"type": "smpi", "trace": "ping.txt"},
    "work": {"type": "TraceReplayProfile", "trace_type": "SMPI", "filename": "work.txt"},
}


@pytest.fixture
def files(write):
    def given(*jobs):
        for name, text in {**PING, **WORK, "p.xml": PLATFORM}.items():
            write(name, text)
        rows = [{"id": str(at), "subtime": 0, **job} for at, job in enumerate(jobs)]
        write("w.json", json.dumps({"nb_res": 4, "jobs": rows, "profiles": PROFILES}))
        return "-p", "p.xml", "-w", "w.json", "-q"

    return given


def times(tmp_path):
    """The execution time of each job, in the order of their ids."""
    rows = csv.DictReader((tmp_path / "out_jobs.csv").read_text().splitlines())
    return [float(row["execution_time"]) for row in sorted(rows, key=lambda row: row["job_id"])]


def test_messages_take_the_time_of_the_network_that_is_asked_for(unspool, files, tmp_path):
    given = files({"res": 2, "profile": "ping"})
    assert unspool("batsim", *given).code == 0
    assert times(tmp_path) == [pytest.approx(0.002 + 100000016 / 1e8, abs=1e-6)]
    assert unspool("batsim", *given, "--smpi-network", "smpirun").code == 0
    assert times(tmp_path) == [pytest.approx(0.002 * 11.6436 + 100000016 / (1e8 * 0.940694), abs=1e-6)]


def test_ranks_sit_round_the_machines_or_where_the_job_says(unspool, files, tmp_path):
    told = {"smpi_ranks_to_hosts_mapping": [1, 1, 1, 0]}
    assert unspool("batsim", *files({"res": 2, "profile": "work"}, {"res": 2, "profile": "work", **told})).code == 0
    assert times(tmp_path) == [2.0, 3.0]


def test_what_is_wrong_is_told_with_exit_code_2(unspool, files, write):
    given = files({"res": 2, "profile": "ping"})
    said = unspool("batsim", *given, "--smpi-network", "tcp")
    assert (said.code, "--smpi-network: unknown value 'tcp'" in said.err) == (2, True)
    write("b.txt", "1 init\n1 receive 0 0 1e8\n")
    said = unspool("batsim", *given)
    assert (said.code, "b.txt: line 2: unknown action 'receive'" in said.err) == (2, True)
