"""The profile of free cores against a list with one number a second."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.build import workload

from unspool.engine.profile import add_span, begin_profile, drop_the_past, earliest_fit
from unspool.engine.setup import no_plan, pose
from unspool.model.platform import Platform

CORES, HORIZON = 8, 60


def empty_profile():
    core = pose(workload([(0, 1, 1, 1)]), Platform.pool(CORES)).state.core
    core.clock[0]["now"] = 0.0
    plan = no_plan(0)
    begin_profile(core, plan)
    return core.clock, plan.segments


def steps(clock, segments):
    """(time, free cores) of every step."""
    first, last = int(clock[0]["first_segment"]), int(clock[0]["segments"])
    return [(float(step["time"]), int(step["free"])) for step in segments[first:last]]


def merged(free, now=0):
    """The steps that a list of free cores, one a second, makes."""
    return [(t, cores) for t, cores in enumerate(free) if t == now or (t > now and cores != free[t - 1])]


def first_fit(free, size, duration, start):
    """The first second from `start` on with room for `duration`; beyond the list all cores are free."""
    later = [*free, *[CORES] * (HORIZON + duration)]
    return next(t for t in range(start, len(later)) if min(later[t : t + duration]) >= size)


spans = st.lists(st.tuples(st.integers(0, HORIZON - 2), st.integers(1, 20), st.integers(1, 3)), max_size=12)


def test_one_span_makes_three_steps():
    clock, segments = empty_profile()
    add_span(clock, segments, 5.0, 9.0, -3)
    assert steps(clock, segments) == [(0, 8), (5, 5), (9, 8)]


def test_giving_back_a_part_leaves_the_rest():
    clock, segments = empty_profile()
    add_span(clock, segments, 5.0, 9.0, -3)
    add_span(clock, segments, 7.0, 9.0, 3)
    assert steps(clock, segments) == [(0, 8), (5, 5), (7, 8)]


def test_fit_may_end_exactly_where_cores_are_taken():
    clock, segments = empty_profile()
    add_span(clock, segments, 5.0, 9.0, -3)
    assert earliest_fit(clock, segments, 8, 5.0, 0.0) == 0
    assert earliest_fit(clock, segments, 8, 5.5, 0.0) == 9
    assert earliest_fit(clock, segments, 5, 99.0, 0.0) == 0


@settings(deadline=None, max_examples=100)
@given(spans)
def test_spans_add_up_and_equal_neighbours_are_one_step(taken):
    clock, segments = empty_profile()
    free = [CORES] * (HORIZON + 30)
    for start, length, cores in taken:
        add_span(clock, segments, float(start), float(start + length), -cores)
        for t in range(start, start + length):
            free[t] -= cores
    assert steps(clock, segments) == merged(free)
    for start, length, cores in taken:
        add_span(clock, segments, float(start), float(start + length), cores)
    assert steps(clock, segments) == [(0, CORES)]


@settings(deadline=None, max_examples=100)
@given(taken=spans, size=st.integers(1, CORES), duration=st.integers(1, 40), start=st.integers(0, HORIZON))
def test_earliest_fit_is_the_first_one_in_the_list(taken, size, duration, start):
    clock, segments = empty_profile()
    free = [CORES] * (HORIZON + 30)
    for begin, length, cores in taken:
        if min(free[begin : begin + length]) >= cores:
            add_span(clock, segments, float(begin), float(begin + length), -cores)
            for t in range(begin, begin + length):
                free[t] -= cores
    assert earliest_fit(clock, segments, size, float(duration), float(start)) == first_fit(free, size, duration, start)


@settings(deadline=None, max_examples=60)
@given(taken=spans, instants=st.lists(st.integers(0, HORIZON), max_size=4).map(sorted))
def test_dropping_the_past_keeps_what_is_now_and_later(taken, instants):
    clock, segments = empty_profile()
    free = [CORES] * (HORIZON + 30)
    for start, length, cores in taken:
        add_span(clock, segments, float(start), float(start + length), -cores)
        for t in range(start, start + length):
            free[t] -= cores
    for now in instants:
        clock[0]["now"] = float(now)
        drop_the_past(clock, segments)
        found = steps(clock, segments)
        assert found[0][0] <= now
        assert [(max(time, now), cores) for time, cores in found] == merged(free, now)
