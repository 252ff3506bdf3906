"""The heap of events: by time, then kind, then order of arrival."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from unspool.engine.jobs.events import ARRIVAL, DEFERRED, END, KIND_SHIFT, WAKE, drop_event, pop_event, push_event
from unspool.engine.jobs.records import EVENT
from unspool.engine.kernel.state import COURSE

KINDS = (END, DEFERRED, ARRIVAL, WAKE)


def empty_heap(room):
    return np.zeros(1, COURSE), np.zeros(room, EVENT)


def popped(course, events):
    order = []
    while course[0]["events"]:
        first = events[0]
        order.append((float(first["time"]), int(first["order"]) >> KIND_SHIFT, int(first["subject"])))
        pop_event(course, events)
    return order


def test_at_one_instant_ends_come_first_then_deferred_decisions_arrivals_and_wake_ups():
    course, events = empty_heap(4)
    for subject, kind in enumerate((WAKE, ARRIVAL, END, DEFERRED)):
        push_event(course, events, 5.0, kind, subject)
    assert [subject for _, _, subject in popped(course, events)] == [2, 3, 1, 0]


def test_inside_a_kind_events_keep_their_order():
    course, events = empty_heap(50)
    for subject in range(50):
        push_event(course, events, 1.0, END, subject)
    assert [subject for _, _, subject in popped(course, events)] == list(range(50))


times_and_kinds = st.lists(st.tuples(st.integers(0, 5), st.sampled_from(KINDS)), min_size=1, max_size=60)


@settings(max_examples=100)
@given(times_and_kinds)
def test_events_come_by_time_and_kind_and_then_in_the_order_they_were_pushed(given_events):
    course, events = empty_heap(len(given_events))
    for subject, (time, kind) in enumerate(given_events):
        push_event(course, events, float(time), kind, subject)
    expected = sorted((time, kind, subject) for subject, (time, kind) in enumerate(given_events))
    assert popped(course, events) == expected


@settings(max_examples=100)
@given(times_and_kinds, st.data())
def test_dropped_event_is_gone_and_the_others_keep_their_order(given_events, data):
    course, events = empty_heap(len(given_events))
    expected = set()
    for subject, (time, kind) in enumerate(given_events):
        push_event(course, events, float(time), kind, subject)
        expected.add((time, kind, subject))
    for _ in range(data.draw(st.integers(1, len(given_events)))):
        at = data.draw(st.integers(0, int(course[0]["events"]) - 1))
        gone = events[at]
        expected.remove((float(gone["time"]), int(gone["order"]) >> KIND_SHIFT, int(gone["subject"])))
        drop_event(course, events, at)
    assert popped(course, events) == sorted(expected)
