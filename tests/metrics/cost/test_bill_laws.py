import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.metrics.cost.plain import plain_bill
from tests.metrics.cost.tables import fixed, instance, tables

from unspool.metrics.cost import bill, hourly, window_of

TIMES = st.integers(0, 40).map(lambda n: n * 450.0) | st.floats(0.0, 18000.0)
PRICES = st.sampled_from([0.0, 0.06, 1.0, 3.1])


@st.composite
def runs(draw):
    """Machines of all kinds, and attempts that run on some of them while they are up."""
    machines = []
    for _ in range(draw(st.integers(1, 4))):
        if draw(st.booleans()):
            kind = draw(st.sampled_from([("on-premises", "always"), ("on-premises", "used"), ("reserved", "always")]))
            gib = draw(st.sampled_from([0, 16]))
            machines.append(fixed(plan=kind[0], billing=kind[1], usd=draw(PRICES), gib=gib))
        else:
            start, up, stop = sorted(draw(st.tuples(TIMES, TIMES, TIMES)))
            plan, family = draw(st.sampled_from(["spot", "on-demand"])), draw(st.sampled_from(["c5", "m5"]))
            machines.append(instance(start, up, stop, usd=draw(PRICES), plan=plan, family=family))
    attempts, memory = [], {}
    for at in range(draw(st.integers(1, 8))):
        hosts = draw(st.lists(st.integers(0, len(machines) - 1), min_size=1, max_size=3, unique=True))
        start, finish = sorted(draw(st.tuples(TIMES, TIMES)))
        ups = [machines[host]["up_time"] or 0.0 for host in hosts]
        stops = [(1e9 if machines[host]["stop_time"] is None else machines[host]["stop_time"]) for host in hosts]
        start, finish = max(start, *ups), min(finish, *stops)
        if start <= finish:
            job = draw(st.sampled_from(["a", "b", f"j{at}"]))
            attempts.append((job, draw(TIMES), start, finish, draw(st.integers(1, 9)), hosts))
            memory[job] = draw(st.sampled_from([0, 1, 4, 8, 13]))
    return tables(machines, attempts, memory)


@settings(max_examples=150)
@given(runs(), st.sampled_from([0.0, 60.0, 5000.0]), st.sampled_from([0.0, 1234.5]), st.none() | TIMES)
def test_the_sweep_bills_what_a_plain_loop_bills(run, minimum, origin, starttime):
    window = window_of(run[0], run[3], origin, starttime=starttime)
    made = bill(*run, window, minimum_billed_s=minimum)
    hours = hourly(made, run[1])
    by_machine, by_hour, by_job, core_hours = plain_bill(*run, window.begin_s, window.hours, minimum)
    kinds = made.machines.select("boot_cost_usd", "run_cost_usd", "idle_cost_usd").rows()
    for machine, told in enumerate(kinds):
        assert told == pytest.approx(by_machine[machine], rel=1e-9, abs=1e-12)
    assert hours["Total Costs"].to_list() == pytest.approx(by_hour, rel=1e-9, abs=1e-12)
    for job, usd in made.jobs.select("job_id", "cost_usd").rows():
        assert usd == pytest.approx(by_job[job], rel=1e-6, abs=1e-9)
    for plan, column in (("spot", "Spot"), ("reserved", "Reserved"), ("on-premises", "OnPremises")):
        told = hours[f"{column} Core Hours"].to_list()
        assert told == pytest.approx([core_hours[plan, hour] for hour in range(window.hours)], rel=1e-9, abs=1e-12)


@settings(max_examples=150)
@given(runs(), st.sampled_from([0.0, 60.0]), st.none() | TIMES, st.none() | TIMES)
def test_hours_kinds_and_jobs_each_add_up_to_the_bill(run, minimum, starttime, endtime):
    window = window_of(run[0], run[3], starttime=starttime, endtime=endtime)
    made = bill(*run, window, minimum_billed_s=minimum)
    hours = hourly(made, run[1])
    total = pytest.approx(made.total_usd, rel=1e-9, abs=1e-12)
    assert hours["Total Costs"].sum() == total
    plans = ("Total OnDemand Costs", "Spot Costs", "Reserved Costs", "OnPremises Costs")
    assert sum(hours[name].sum() for name in plans) == total
    assert sum(hours[f"{kind} Costs"].sum() for kind in ("Boot", "Run", "Idle")) == total
    assert sum(made.machines[f"{kind}_cost_usd"].sum() for kind in ("boot", "run", "idle")) == total
    shared = made.jobs["cost_usd"].sum() + made.unallocated_usd
    assert shared == pytest.approx(made.total_usd, rel=1e-6, abs=1e-12)
    assert made.jobs["cost_usd"].min() is None or made.jobs["cost_usd"].min() >= -1e-12


SCRIPT = """
from tests.metrics.cost.tables import instance, tables
from unspool.metrics.cost import bill, window_of
run = tables([instance(0, 60, 9000)], [("a", 0, 60, 4000, 1, [0]), ("b", 0, 70, 5000, 2, [0])], {"a": 9, "b": 1})
made = bill(*run, window_of(run[0], run[3]), minimum_billed_s=60.0)
print([value.hex() for value in made.jobs["cost_usd"]])
"""


def test_the_sweep_gives_the_same_bits_uncompiled():
    told = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "NUMBA_DISABLE_JIT": flag, "PYTHONPATH": os.pathsep.join(["src", ".", *sys.path])},
            capture_output=True, text=True, check=True,
        ).stdout
        for flag in ("0", "1")
    ]  # fmt: skip
    assert told[0] == told[1]
