"""The profile of free cores against a list with one number a second."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.build import workload

from unspool.engine.jobs.free_cores import (
    begin_profile,
    drop_the_past,
    earliest_fit,
    is_blocked_after,
    move_span,
    room_before,
    take_span,
)
from unspool.engine.kernel.state import NEVER, longer
from unspool.engine.setup import no_plan, pose
from unspool.model.platform import Platform

CORES, HORIZON = 8, 60


def empty_profile(jobs=0):
    core = pose(workload([(0, 1, 1, 1)]), Platform.pool(CORES)).state.core
    core.course[0]["now"] = 0.0
    plan = no_plan(0)
    room = 4 * jobs + 128
    plan = plan._replace(times=longer(plan.times, room), gains=longer(plan.gains, room))
    begin_profile(core, plan)
    return core.course, plan.times, plan.gains


def steps(course, times, gains):
    """(time, free cores) of every step."""
    last = int(course[0]["steps"])
    used = [at for at in range(last, -1, -1) if times[at] < NEVER]
    return list(zip(times[used].tolist(), gains[used].cumsum().tolist(), strict=True))


def fit(profile, size, duration, start):
    return earliest_fit(*profile, size, float(duration), float(start), NEVER, NEVER)


def merged(free, now=0):
    """The steps that a list of free cores, one a second, makes."""
    return [(t, cores) for t, cores in enumerate(free) if t == now or (t > now and cores != free[t - 1])]


def first_fit(free, size, duration, start):
    """The first second from `start` on with room for `duration`; beyond the list all cores are free."""
    later = [*free, *[CORES] * (HORIZON + duration)]
    return next(t for t in range(start, len(later)) if min(later[t : t + duration]) >= size)


spans = st.lists(st.tuples(st.integers(0, HORIZON - 2), st.integers(1, 20), st.integers(1, 3)), max_size=12)


def test_one_span_makes_three_steps():
    profile = empty_profile()
    take_span(*profile, 5.0, 9.0, 3)
    assert steps(*profile) == [(0, 8), (5, 5), (9, 8)]


def test_giving_back_a_part_leaves_the_rest():
    profile = empty_profile()
    take_span(*profile, 5.0, 9.0, 3)
    take_span(*profile, 7.0, 9.0, -3)
    assert steps(*profile) == [(0, 8), (5, 5), (7, 8)]


def test_fit_may_end_exactly_where_cores_are_taken():
    profile = empty_profile()
    take_span(*profile, 5.0, 9.0, 3)
    assert fit(profile, 8, 5.0, 0.0) == 0
    assert fit(profile, 8, 5.5, 0.0) == 9
    assert fit(profile, 5, 99.0, 0.0) == 0


@settings(max_examples=100)
@given(spans)
def test_spans_add_up_and_equal_neighbours_are_one_step(taken):
    profile = empty_profile()
    free = [CORES] * (HORIZON + 30)
    for start, length, cores in taken:
        take_span(*profile, float(start), float(start + length), cores)
        for t in range(start, start + length):
            free[t] -= cores
    assert steps(*profile) == merged(free)
    for start, length, cores in taken:
        take_span(*profile, float(start), float(start + length), -cores)
    assert steps(*profile) == [(0, CORES)]


@settings(max_examples=100)
@given(taken=spans, size=st.integers(1, CORES), duration=st.integers(1, 40), start=st.integers(0, HORIZON))
def test_earliest_fit_is_the_first_one_in_the_list(taken, size, duration, start):
    profile = empty_profile()
    free = [CORES] * (HORIZON + 30)
    for begin, length, cores in taken:
        if min(free[begin : begin + length]) >= cores:
            take_span(*profile, float(begin), float(begin + length), cores)
            for t in range(begin, begin + length):
                free[t] -= cores
    assert fit(profile, size, duration, start) == first_fit(free, size, duration, start)


@settings(max_examples=60)
@given(taken=spans, instants=st.lists(st.integers(0, HORIZON), max_size=4).map(sorted))
def test_dropping_the_past_keeps_what_is_now_and_later(taken, instants):
    profile = empty_profile()
    free = [CORES] * (HORIZON + 30)
    for start, length, cores in taken:
        take_span(*profile, float(start), float(start + length), cores)
        for t in range(start, start + length):
            free[t] -= cores
    for now in instants:
        profile[0][0]["now"] = float(now)
        drop_the_past(*profile)
        found = steps(*profile)
        assert found == merged(free, now)


def test_a_span_that_moves_to_end_where_it_began_gives_back_its_cores_there():
    profile = empty_profile()
    take_span(*profile, 2.0, 5.0, 3)
    take_span(*profile, 5.0, 8.0, 3)  # what ends at 5 is taken at once: there is no step
    last = int(profile[0][0]["steps"])
    move_span(*profile, 5.0, 2.0, 3.0, 3, last - 1, last - 1)
    assert steps(*profile) == [(0, 8), (2, 2), (5, 8)]


def positions_near(profile, time):
    """Those of all steps that are not later than a time, and of the first that is at it or later, if there is one."""
    last = int(profile[0][0]["steps"])
    return [at for at in range(last + 1) if not any(begin >= time for begin in profile[1][at + 1 : last + 1])]


@settings(max_examples=200)
@given(
    taken=spans,
    moved=st.lists(st.tuples(st.integers(0, 11), st.integers(1, HORIZON)), max_size=8),
    near=st.tuples(st.floats(0, 0.99), st.floats(0, 0.99)),
)
def test_a_moved_span_is_one_lifted_out_and_put_earlier(taken, moved, near):
    profile = empty_profile()
    starts = [float(start) for start, _, _ in taken]
    for start, length, cores in taken:
        take_span(*profile, float(start), float(start + length), cores)
    for which, by in moved:
        if which < len(taken) and starts[which] > 0:
            earlier = max(0.0, starts[which] - by)
            found = [positions_near(profile, time) for time in (starts[which], earlier)]
            hints = [which_ones[int(part * len(which_ones))] for which_ones, part in zip(found, near, strict=True)]
            move_span(*profile, starts[which], earlier, float(taken[which][1]), taken[which][2], *hints)
            starts[which] = earlier
    free = [CORES] * (HORIZON + 30)
    for start, (_, length, cores) in zip(starts, taken, strict=True):
        for t in range(int(start), int(start) + length):
            free[t] -= cores
    assert steps(*profile) == merged(free)


@settings(max_examples=20)
@given(st.integers(65, 200), st.integers(1, 300))
def test_a_long_profile_is_searched_in_blocks(count, at):
    profile = empty_profile(count)
    for k in range(count):
        take_span(*profile, float(2 * k + 1), float(2 * k + 2), 1)
    take_span(*profile, float(at), 1000.0, 1)
    free = [CORES - (t % 2 == 1 and t < 2 * count) - (t >= at) for t in range(1001)]
    assert steps(*profile)[:-1] == [step for step in merged(free) if step[0] < 1000]


@settings(max_examples=200)
@given(taken=spans, size=st.integers(1, CORES), duration=st.integers(1, 40), time=st.integers(1, HORIZON))
def test_who_is_blocked_fits_nowhere_before(taken, size, duration, time):
    profile = empty_profile()
    for start, length, cores in taken:
        take_span(*profile, float(start), float(start + length), cores)
    found = steps(*profile)
    before = max(k for k, (begin, _) in enumerate(found) if begin < time)  # the step that ends at the time or later,
    at = max(k for k, (begin, _) in enumerate(found) if begin <= time)  # and the one that it falls into
    last = int(profile[0][0]["steps"])
    at_before = last - before
    begin, is_earliest, until = room_before(*profile, at_before, found[before][1], size, float(duration))
    room = profile[1][begin] if begin >= at_before else float(time)
    best = earliest_fit(
        *profile, size, float(duration), 0.0, float(time), float(time)
    )  # all cores are free from then on
    assert best <= room
    if is_earliest:
        assert best == room
    elif best < room:
        assert best + duration <= until
    if is_blocked_after(*profile[1:], last - at, found[at][1], size, float(duration)):
        assert earliest_fit(*profile, size, float(duration), 0.0, float(time), NEVER) == NEVER
