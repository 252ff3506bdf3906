import io
import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.build import one_core_machines, two_core_machines, workload

from unspool.model.platform import Platform
from unspool.results.run import run
from unspool.results.tracing import write_trace

# a takes 2 cores from 0 to 10, b 1 core from 0 to 4, c 3 cores when a has ended.
THREE = [(0, 10, 2, 20), (0, 4, 1, 20), (1, 5, 3, 20)]


def traced(*results, **options):
    file = io.BytesIO()
    counts = write_trace(results, file, **options)
    return json.loads(file.getvalue()), counts


def spans(trace, process=1):
    return [event for event in trace["traceEvents"] if event["ph"] == "X" and event["pid"] == process]


def counter(trace, name):
    events = trace["traceEvents"]
    return [(event["ts"], *event["args"].values()) for event in events if event["ph"] == "C" and event["name"] == name]


def names(trace):
    events = trace["traceEvents"]
    return {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}


def test_a_job_on_a_pool_is_one_span_in_microseconds_with_what_is_known_of_it():
    result = run(workload(THREE, user=["ann", None, "bob"], queue=["q", "q", "q"]), 3, "fcfs")
    trace, counts = traced(result)
    assert counts == (3, 0)
    told = [(one["name"], one["ts"], one["dur"], one["tid"]) for one in spans(trace)]
    assert told == [("a", 0, 10_000_000, 1), ("b", 0, 4_000_000, 2), ("c", 10_000_000, 5_000_000, 1)]
    assert spans(trace)[0]["args"] == {
        "cores": 2, "state": "completed", "wait_s": 0.0, "attempt": 0, "user": "ann", "queue": "q"
    }  # fmt: skip
    assert "user" not in spans(trace)[1]["args"]
    assert spans(trace)[2]["args"]["wait_s"] == 9.0
    assert names(trace) == {1: "place 1", 2: "place 2"}


def test_a_job_on_machines_is_a_span_on_each():
    result = run(workload(THREE), one_core_machines(3), "fcfs")
    trace, _ = traced(result)
    on = {name: [names(trace)[one["tid"]] for one in spans(trace) if one["name"] == name] for name in "abc"}
    assert on == {
        "a": ["machine 0 (small)", "machine 1 (small)"], "b": ["machine 2 (small)"],
        "c": ["machine 0 (small)", "machine 1 (small)", "machine 2 (small)"],
    }  # fmt: skip


def test_jobs_that_share_a_machine_have_places_of_their_own():
    result = run(workload([(0, 10, 1, 20), (0, 4, 1, 20), (4, 4, 1, 20)]), two_core_machines(2), "fcfs")
    trace, _ = traced(result)
    told = [(one["name"], names(trace)[one["tid"]]) for one in spans(trace)]
    second = "machine 0 (double), place 2"
    assert told == [("a", "machine 0 (double)"), ("b", second), ("c", second)]


def test_counters_are_the_queue_and_the_busy_cores_when_they_change():
    trace, _ = traced(run(workload(THREE), 3, "fcfs"))
    second = 1_000_000
    queue = [(0, 0), (second, 1), (4 * second, 1), (10 * second, 0), (15 * second, 0)]
    assert counter(trace, "jobs that wait") == queue
    assert [cores for _, cores in counter(trace, "busy cores")] == [3, 3, 2, 3, 0]


def test_a_part_of_the_time_has_the_jobs_that_run_in_it_and_what_was_there_when_it_began():
    trace, counts = traced(run(workload(THREE), 3, "fcfs"), begin=5.0, end=10.0)
    assert [one["name"] for one in spans(trace)] == ["a"]
    assert counts == (1, 0)
    assert counter(trace, "jobs that wait") == [(5_000_000, 1)]


@pytest.mark.parametrize(("most", "kept"), [(5, 2), (3, 2), (2, 1), (1, 0)])
def test_where_there_is_no_room_the_last_starts_are_left_out_and_counted(most, kept):
    trace, counts = traced(run(workload(THREE), one_core_machines(3), "fcfs"), most=most)
    assert counts == (kept, 3 - kept)
    assert {one["name"] for one in spans(trace)} == set("abc"[:kept])


def test_several_policies_are_processes_of_their_own():
    results = [run(workload(THREE), 3, policy) for policy in ("fcfs", "easy")]
    trace, counts = traced(*results)
    assert counts == (6, 0)
    assert [len(spans(trace, process)) for process in (1, 2)] == [3, 3]
    told = [one["args"]["name"] for one in trace["traceEvents"] if one["name"] == "process_name"]
    assert [name.partition(":")[0] for name in told] == ["fcfs", "easy"]


def test_many_changes_become_means(monkeypatch):
    monkeypatch.setattr("unspool.results.tracing._MOST_STEPS", 3)
    trace, _ = traced(run(workload(THREE), 3, "fcfs"))
    assert counter(trace, "busy cores (means)") == [(0, 2.8), (5_000_000, 2.0), (10_000_000, 3.0)]


def test_names_of_every_kind_come_back_as_they_were():
    hostile = ["</script>", 'quote " and \\ and \n', "\u202eabc" * 3000]
    log = workload(THREE, user=hostile)
    trace, _ = traced(run(log, 3, "fcfs"))
    assert [one["args"]["user"] for one in spans(trace)] == hostile


def test_a_run_without_jobs_is_a_trace_without_spans():
    trace, counts = traced(run(workload([(0, 1, 9, 1)]), 3, "fcfs"))
    assert (spans(trace), counts) == ([], (0, 0))


rows = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from([0.0, 1 / 3, 1.0, 7.5]), st.integers(1, 4), st.just(9.0)), max_size=12
)


@settings(max_examples=40)
@given(rows, st.sampled_from([Platform.pool(4), one_core_machines(4), two_core_machines(4)]))
def test_spans_of_a_track_never_cross_and_are_those_of_the_attempts(jobs, platform):
    result = run(workload(jobs), platform, "easy")
    trace, _ = traced(result)
    tracks = {}
    for one in spans(trace):
        tracks.setdefault(one["tid"], []).append((one["ts"], one["ts"] + one["dur"]))
    for held in tracks.values():
        assert all(before[1] <= after[0] for before, after in pairwise(held))
    told = {(one["name"], one["ts"], one["ts"] + one["dur"]) for one in spans(trace)}
    attempts = result.attempts.select("job_id", "start_time", "finish_time").rows()
    assert told == {(name, round(start * 1e6), round(end * 1e6)) for name, start, end in attempts}


@settings(max_examples=20)
@given(rows, st.sampled_from([Platform.pool(4), two_core_machines(4)]))
def test_every_event_keeps_the_rules_of_the_format(jobs, platform):
    trace, _ = traced(run(workload(jobs), platform, "easy"), run(workload(jobs), platform, "fcfs"))
    named, used, last = set(), set(), {}
    for event in trace["traceEvents"]:
        assert event["ph"] in "XCM"
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        assert isinstance(event["name"], str)
        assert isinstance(event["args"], dict)
        if event["ph"] == "M":
            named |= {(event["pid"], event["tid"])}
            continue
        track = (event["pid"], event["tid"], event["name"] if event["ph"] == "C" else "")
        assert isinstance(event["ts"], int)
        assert event["ts"] >= last.get(track, event["ts"])
        last[track] = event["ts"]
        if event["ph"] == "X":
            assert isinstance(event["dur"], int)
            assert event["dur"] >= 0
            used |= {(event["pid"], event["tid"])}
        else:
            assert all(isinstance(value, int | float) for value in event["args"].values())
    assert used <= named
