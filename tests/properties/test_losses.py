"""Whatever machines are lost: no attempt is on one that is down, no more is used than there is, and every job ends."""

from collections import defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.build import workload

from unspool.model.outages import OnLoss, Outage, Outages
from unspool.model.platform import MachineGroup, MachineType, Platform
from unspool.plugins import build
from unspool.results.run import run
from unspool.simulation.engine import Engine

# Three machines of two cores; with memory, cores in all do not decide.
PLAIN, WITH_MEMORY = (Platform((MachineGroup(MachineType("m", 2, memory), 3),)) for memory in (0, 8))
CASES = (
    ("fcfs", PLAIN), ("easy", PLAIN), ("conservative", PLAIN), ("easy:order=sjf", PLAIN),
    ("easy:order=wfp3,predictor=last-two", PLAIN), ("easy", WITH_MEMORY), ("conservative", WITH_MEMORY),
)  # fmt: skip
FATES = (OnLoss("requeue"), OnLoss("kill"), OnLoss("resume", 7.0), OnLoss("requeue", most_attempts=2))

rows = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 40), st.integers(1, 6), st.integers(1, 50)), min_size=1, max_size=12
).map(sorted)
downs = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 99), st.integers(1, 30)).map(
        lambda outage: Outage(outage[0], float(outage[1]), float(outage[1] + outage[2]))
    ),
    max_size=6,
)


def with_memory(jobs):
    return workload(jobs, memory_bytes=[3 * cores for _, _, cores, _ in jobs], user=["u"] * len(jobs))


@settings(max_examples=60)
@given(jobs=rows, outages=downs, case=st.sampled_from(CASES), fate=st.sampled_from(FATES))
def test_attempts_are_on_machines_that_are_up_and_every_job_ends(jobs, outages, case, fate):
    policy, platform = case
    result = run(with_memory(jobs), platform, policy, outages=Outages(tuple(outages)), on_loss=fate)
    attempts = result.attempts.rows(named=True)
    used = defaultdict(list)
    for attempt, first, last, units in result.allocations.iter_rows():
        span = attempts[attempt]["start_time"], attempts[attempt]["finish_time"]
        for machine in range(first, last + 1):
            used[machine].append((*span, units))
    for outage in outages:
        for start, finish, _ in used[outage.machine]:
            assert finish <= outage.down_time or start >= outage.up_time
    for spans in used.values():
        for time in {start for start, _, _ in spans}:
            assert sum(units for start, finish, units in spans if start <= time < finish) <= 2
    assert len(result.jobs) + len(result.rejected) == len(jobs)
    assert set(result.jobs["state"]) <= {"completed", "lost"}
    if fate.fate != "kill" and fate.most_attempts > 6:
        assert set(result.jobs["state"]) <= {"completed"}
    done = defaultdict(float)
    for attempt in attempts:
        if attempt["how"] == "completed" or fate.fate == "resume":
            done[attempt["job_id"]] += attempt["finish_time"] - attempt["start_time"]
    for job_id, state, run_time in result.jobs.select("job_id", "state", "run_time").iter_rows():
        wanted = jobs[ord(job_id) - ord("a")][1]
        if state == "completed":
            assert done[job_id] >= wanted if fate.fate == "resume" else run_time == wanted


@settings(max_examples=30)
@given(jobs=rows, outages=downs, case=st.sampled_from(CASES), at=st.integers(0, 120))
def test_a_fork_meets_the_same_outages(jobs, outages, case, at):
    policy, platform = case
    scheduler = build("schedulers", policy)
    whole, first = (Engine(with_memory(jobs), platform, outages=Outages(tuple(outages))) for _ in range(2))
    whole.run(scheduler)
    first.run(scheduler, until=float(at))
    second = first.fork()
    for engine in (second, first):
        engine.run(scheduler)
        assert engine.attempts.tobytes() == whole.attempts.tobytes()


@settings(max_examples=30)
@given(jobs=rows, case=st.sampled_from(CASES))
def test_without_an_outage_all_is_as_ever(jobs, case):
    policy, platform = case
    plain = run(with_memory(jobs), platform, policy)
    watched = run(with_memory(jobs), platform, policy, outages=Outages())
    assert watched.attempts.equals(plain.attempts)
    assert watched.allocations.equals(plain.allocations)
