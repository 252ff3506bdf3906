import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool.errors import InputError, InputErrors
from unspool.workloads.batsim_events import ExternalEvent, read_events
from unspool.workloads.intervals import format_intervals, parse_intervals

CASES = Path(os.environ.get("UNSPOOL_CASES", Path(__file__).parents[3] / "shared" / "cases")) / "batsim"


def saved(tmp_path, text, name="events.txt"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_events_of_several_files_come_by_time_and_kind(tmp_path):
    first = saved(tmp_path, '{"type": "machine_unavailable", "resources": "5 2-2 1-3", "timestamp": 10}\n\n'
                            '{"type": "machine_available", "resources": "5", "timestamp": 20}\n')  # fmt: skip
    second = saved(tmp_path, '{"type": "machine_available", "resources": "0", "timestamp": 10, "why": "x"}', "b.txt")
    events = read_events(first, second)
    assert [(event.time, event.kind, event.machines) for event in events] == [
        (10.0, "machine_available", (0,)),
        (10.0, "machine_unavailable", (1, 2, 3, 5)),
        (20.0, "machine_available", (5,)),
    ]
    assert events[0].fields["why"] == "x"
    assert all(event.is_of_machines for event in events)


def test_unknown_types_are_refused_unless_they_are_to_be_forwarded(tmp_path):
    path = saved(tmp_path, '{"type": "generic", "timestamp": 1.5, "data": "x"}')
    with pytest.raises(InputError, match=r"events.txt, line 1: unknown type of event 'generic'. Known: machine_avail"):
        read_events(path)
    (event,) = read_events(path, forward_unknown=True)
    assert event == ExternalEvent(1.5, "generic", (), {"type": "generic", "timestamp": 1.5, "data": "x"})
    assert not event.is_of_machines


def test_all_problems_of_a_file_are_told_at_once(tmp_path):
    lines = [
        "{",
        "3",
        '{"timestamp": 1}',
        '{"type": "machine_available", "timestamp": -1}',
        '{"type": "machine_available", "timestamp": 1}',
        '{"type": "machine_available", "timestamp": 1, "resources": "3-1"}',
        '{"type": "machine_available", "timestamp": 1, "resources": " "}',
        '{"type": "machine_available", "timestamp": 1, "resources": "0"}',
    ]
    with pytest.raises(InputErrors) as raised:
        read_events(saved(tmp_path, "\n".join(lines)))
    assert raised.value.problems == (
        "line 1: is not JSON (Input data was truncated); expected one object a line",
        "line 2: is 3; expected an object",
        "line 3: no type; expected a text such as machine_unavailable",
        "line 4: timestamp is -1; expected seconds, 0 or more",
        "line 5: no resources; expected ids of machines such as 0-3 7",
        "line 6: resources: '3-1' in '3-1' is no interval; expected ids such as 0-3 7 9-10",
        "line 7: resources is empty; expected ids of machines such as 0-3 7",
    )


def test_intervals_that_no_machine_has_are_refused():
    for text in ("a", "1-", "-1", "1--2", "1,2", "1.5", "0-99999999", "²"):
        with pytest.raises(InputError):
            parse_intervals(text)


@given(st.sets(st.integers(0, 50)), st.randoms())
def test_a_set_survives_its_text_in_any_order(ids, chance):
    text = format_intervals(ids)
    parts = text.split() + [str(each) for each in ids]
    chance.shuffle(parts)
    assert parse_intervals(text) == parse_intervals(" ".join(parts)) == tuple(sorted(ids))


def test_batsims_own_events_are_read():
    path = CASES / "upstream-v4.2.1" / "events" / "test_events_4hosts.txt"
    if not path.exists():
        pytest.skip("no batsim/upstream-v4.2.1/events under UNSPOOL_CASES")
    assert [event.time for event in read_events(path)] == [0.0, 10.0, 20.0, 250.0, 300.0]
