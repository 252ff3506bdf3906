"""Input and output that a start adds to a job: flops and bytes are added, and the rest is as if it were one task."""

import pytest
from tests.faces.protocol_build import job, order, simulate

# Machines 0 to 3 compute at 1 Gflop/s; 4 and 5 are storages, to which machine 0 has 200 and 50 MB/s.
CALC = {"type": "parallel_homogeneous", "cpu": 2e9, "com": 0}
READ = {"type": "parallel", "cpu": [0, 0], "com": [0, 0, 1e9, 0]}
PROFILES = {
    "calc": CALC,
    "read": READ,
    "more": {"type": "parallel_homogeneous", "cpu": 3e9, "com": 0},
    "nap": {"type": "delay", "delay": 10},
    "twice": {"type": "composed", "seq": ["calc", "more"], "repeat": 2},
    "io": {"type": "composed", "seq": ["read", "nothing"]},
    "nothing": {"type": "parallel_homogeneous", "cpu": 0, "com": 0},
    "disk": {"type": "parallel_homogeneous_pfs", "bytes_to_read": 1e9, "storage": "disk"},
    "total": {"type": "parallel_homogeneous_total", "cpu": 8e9, "com": 0},
    "exchange": {"type": "parallel", "cpu": [1e9, 1e9], "com": [0, 1e8, 1e8, 0]},
}


def run(folder, profile, added, *, res=1, alloc="0", **options):
    """One job that starts at 0 with something added."""

    def decide(message):
        starts = [event for event in message["events"] if event["type"] == "JOB_SUBMITTED"]
        return [order("EXECUTE_JOB", job_id="w0!a", alloc=alloc, additional_io_job=added, **options) for _ in starts]

    return simulate(folder, [job("a", 0, res, profile)], decide, PROFILES)


def seconds(folder, profile, alloc, name, **options):
    found, _ = run(folder, profile, {"alloc": alloc, "profile_name": name}, **options)
    assert found.fault is None
    return found.outputs.jobs["execution_time"].to_list()


@pytest.mark.parametrize(
    ("profile", "alloc", "name", "expected"),
    [
        ("calc", "0 4", "read", 5.0),  # 1 GB at 200 MB/s, beside 2 s of work
        ("calc", "0 5", "read", 20.0),  # the set that is given, at 50 MB/s, and not the first machines
        ("calc", "0", "more", 5.0),  # 2 and 3 Gflop on one core
        ("calc", "1", "more", 3.0),  # on two hosts; the slower is as long as both
        ("calc", "0-1", "exchange", 3.0),  # 3 s of work on machine 0, 2 s on the wire
        ("twice", "0 4", "io", 16.0),  # twice max(2, 5) and max(3, 0)
        ("total", "0-3", "total", 10.0),  # 8 Gflop, and a quarter of 8
    ],
)
def test_flops_and_bytes_are_added_on_the_machines_that_are_given(profile, alloc, name, expected, tmp_path):
    assert seconds(tmp_path, profile, alloc, name) == [expected]


def test_a_profile_may_come_along_and_all_options_may_be_given_together(tmp_path):
    added = {"alloc": "0", "profile_name": "new", "profile": PROFILES["disk"]}
    found, _ = run(
        tmp_path, "calc", added, res=2, alloc="0", mapping={"0": 0, "1": 0}, storage_mapping={"disk": 5}
    )  # fmt: skip
    assert found.fault is None
    assert found.outputs.jobs["execution_time"].to_list() == [20.0]  # 1 GB at 50 MB/s; the work takes 4 s


def test_machines_that_are_only_used_run_other_jobs_too(tmp_path):
    jobs = [job("a", profile="calc"), job("b", profile="calc")]
    added = {"alloc": "1", "profile_name": "nothing"}

    def decide(message):
        if not any(event["type"] == "JOB_SUBMITTED" for event in message["events"]):
            return []
        return [
            order("EXECUTE_JOB", job_id="w0!a", alloc="0", additional_io_job=added),
            order("EXECUTE_JOB", job_id="w0!b", alloc="1"),
        ]

    found, _ = simulate(tmp_path, jobs, decide, PROFILES)
    assert found.outputs.jobs["execution_time"].to_list() == [2.0, 2.0]


def test_progress_of_what_was_added_to_is_told_by_the_names_of_the_job(tmp_path):
    def decide(message):
        kinds = [event["type"] for event in message["events"]]
        if "JOB_SUBMITTED" in kinds:
            added = {"alloc": "0 4", "profile_name": "io"}
            start = order("EXECUTE_JOB", job_id="w0!a", alloc="0", additional_io_job=added)
            return [start, order("CALL_ME_LATER", timestamp=6.5)]
        return [order("KILL_JOB", job_ids=["w0!a"])] if "REQUESTED_CALL" in kinds else []

    _, talk = simulate(tmp_path, [job("a", profile="twice")], decide, PROFILES)
    (progress,) = [data["job_progress"]["w0!a"] for _, kind, data in talk.told if kind == "JOB_KILLED"]
    current = {"profile_name": "more", "progress": 0.5}
    assert progress == {"profile_name": "twice", "current_task_index": 1, "current_task": current}


@pytest.mark.parametrize(
    ("profile", "added", "sentence"),
    [
        ("calc", {"alloc": "0"}, "expected an object with alloc and profile_name"),
        ("calc", {"alloc": "", "profile_name": "more"}, "alloc of additional_io_job is"),
        ("calc", {"alloc": "7", "profile_name": "more"}, "there is no machine 7; the last is 5"),
        ("calc", {"alloc": "0", "profile_name": "zz"}, "names profile 'zz', which workload 'w0' does not have"),
        ("calc", {"alloc": "0", "profile_name": "read"}, "'read' is a task of 2 executors, and has 1"),
        ("calc", {"alloc": "4", "profile_name": "more"}, "'more' of additional_io_job computes on a storage"),
        ("calc", {"alloc": "0", "profile_name": "nap"}, "profile 'nap' is neither"),
        ("nap", {"alloc": "0", "profile_name": "more"}, "profile 'nap' is neither"),
        ("calc", {"alloc": "0 4", "profile_name": "io"}, "profile 'io' is neither"),
        ("calc", {"alloc": "0", "profile_name": "disk"}, "storage 'disk' is mapped to no machine"),
        ("calc", {"alloc": "0", "profile_name": "calc", "profile": READ}, "is there already, and job w0!a uses it"),
        ("twice", {"alloc": "0", "profile_name": "twelve", "profile": {"type": "composed", "seq": ["more"]}},
         "a sequence of 1 × 1, and the job is one of 2 × 2; expected as many"),
    ],
)  # fmt: skip
def test_what_cannot_be_added_is_told(profile, added, sentence, tmp_path):
    found, _ = run(tmp_path, profile, added)
    assert sentence in str(found.fault)
    assert str(found.fault).startswith("a test: EXECUTE_JOB at 0 s: ")
