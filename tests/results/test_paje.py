"""Pajé traces, read again by a small parser of our own that goes by the definitions at their heads."""

import gzip
import io
import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.build import one_core_machines, workload
from tests.faces.batsim_build import GOLDEN, networked

from unspool.errors import InputError
from unspool.model.platform import MachineGroup, MachineType, Platform
from unspool.results.paje import colour_of_job, write_paje
from unspool.results.run import run


def parsed(text):
    """The events of a trace: their names, and their fields by name, as its own definitions say."""
    kinds, events, name, fields = {}, [], None, []
    for line in text.splitlines():
        words = shlex.split(line, comments=False) if not line.startswith(("%", "#")) else line.split()
        if line.startswith("%EventDef"):
            name, number, fields = words[1], words[2], []
            kinds[number] = (name, fields)
        elif line.startswith("%EndEventDef"):
            name = None
        elif line.startswith("%"):
            assert name is not None
            fields.append(words[1])
        elif line.strip() and not line.startswith("#"):
            kind, names = kinds[words[0]]
            assert len(words) - 1 == len(names), line
            events.append((kind, dict(zip(names, words[1:], strict=True))))
    return events


def trace(result, **options):
    file = io.BytesIO()
    write_paje(result, file, **options)
    return file.getvalue().decode()


def states(events):
    return [(float(e["Time"]), e["Container"], e["Value"]) for kind, e in events if kind == "PajeSetState"]


def check(events):
    """That all is defined before it is used, that time goes on, and that all containers are destroyed in the end."""
    types, values, alive, now = {"0"}, set(), {"0"}, 0.0
    for kind, e in events:
        assert float(e.get("Time", now)) >= now
        now = float(e.get("Time", now))
        if kind in ("PajeDefineContainerType", "PajeDefineEventType", "PajeDefineVariableType", "PajeDefineStateType"):
            assert e["Type"] in types
            types.add(e["Alias"])
        elif kind == "PajeDefineEntityValue":
            assert e["Type"] in types
            assert e["Alias"] not in values
            assert all(0.0 <= float(part) <= 1.0 for part in e["Color"].split())
            values.add(e["Alias"])
        elif kind == "PajeCreateContainer":
            assert e["Type"] in types
            assert e["Container"] in alive
            alive.add(e["Alias"])
        elif kind == "PajeSetState":
            assert e["Container"] in alive
            assert e["Value"] in values
        elif kind == "PajeNewEvent":
            assert e["Container"] in alive
            assert e["Type"] in types
        else:
            assert kind == "PajeDestroyContainer"
            alive.remove(e["Name"])
    assert alive == {"0"}


def test_a_machine_shows_its_job_and_waits_when_it_is_left():
    # Job a on machines 0 and 1 until 5, job b on machine 2 from 1 to 3, job c takes machine 0 when a leaves it.
    jobs = workload([(0, 5, 2, 5), (1, 2, 1, 2), (5, 1, 1, 1)])
    events = parsed(trace(run(jobs, one_core_machines(3), "fcfs")))
    check(events)
    assert states(events) == [
        (0, "m0", "w"), (0, "m1", "w"), (0, "m2", "w"), (0, "m0", "ja"), (0, "m1", "ja"), (1, "m2", "jb"),
        (3, "m2", "w"), (5, "m0", "w"), (5, "m1", "w"), (5, "m0", "jc"), (6, "m0", "w"),
    ]  # fmt: skip


def test_containers_are_called_as_hosts_and_jobs_as_the_caller_says():
    result = run(workload([(0, 5, 1, 5)]), networked({"z": [{}, {}]}), "fcfs")
    events = parsed(trace(result, named=lambda job: f"w0!{job}"))
    assert [e["Name"] for kind, e in events if kind == "PajeCreateContainer" and e["Type"] == "machine_ct"] == [
        "h0", "h1",
    ]  # fmt: skip
    defined = [(e["Alias"], e["Name"]) for kind, e in events if kind == "PajeDefineEntityValue"]
    assert defined == [("w", "Waiting"), ("l", "Launching"), ("jw0!a", "w0!a")]


def test_a_machine_that_jobs_share_shows_the_last_of_them_to_start():
    platform = Platform((MachineGroup(MachineType("wide", 2), 1),))
    events = parsed(trace(run(workload([(0, 5, 1, 5), (1, 2, 1, 2)]), platform, "fcfs")))
    assert states(events) == [(0, "m0", "w"), (0, "m0", "ja"), (1, "m0", "jb"), (3, "m0", "ja"), (5, "m0", "w")]


def test_kills_are_events_of_the_killer_and_of_each_machine():
    from unspool import Kill, Start

    def policy(view):
        yield from (Start(job) for job in view.queue)
        yield from (Kill(job, at=2.0) for job in view.arrived)

    events = parsed(trace(run(workload([(0, 5, 2, 5)]), one_core_machines(2), policy)))
    check(events)
    told = [(e["Time"], e["Type"], e["Container"], e["Value"]) for kind, e in events if kind == "PajeNewEvent"]
    assert told == [("2.000000", "kk", "k", "a"), ("2.000000", "km", "m0", "a"), ("2.000000", "km", "m1", "a")]


def test_colours_are_fixed_and_64_jobs_have_as_many():
    assert len({colour_of_job(number) for number in range(64)}) == 64
    assert colour_of_job(1) == "0.000000 0.531250 1.000000"  # hue 37/64 of a turn
    jobs = workload([(at, 5, 1, 5) for at in range(9)])
    assert trace(run(jobs, one_core_machines(3), "fcfs")) == trace(run(jobs, one_core_machines(3), "fcfs"))


def test_only_jobs_of_a_window_are_written():
    result = run(workload([(0, 5, 1, 5), (10, 5, 1, 5)]), one_core_machines(1), "fcfs")
    assert [value for _, _, value in states(parsed(trace(result, begin=9.0)))] == ["w", "jb", "w"]
    assert [value for _, _, value in states(parsed(trace(result, end=9.0)))] == ["w", "ja", "w"]


def test_a_pool_has_no_machines_to_show():
    with pytest.raises(InputError, match="a pool has none; run it on machines"):
        trace(run(workload([(0, 5, 1, 5)]), Platform.pool(4), "fcfs"))


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 5), st.integers(1, 3), st.integers(1, 6)), min_size=1, max_size=12
    )
)
def test_every_trace_is_sound_and_shows_as_much_work_as_there_is(rows):
    jobs = workload(sorted(rows))
    events = parsed(trace(run(jobs, one_core_machines(3), "easy")))
    check(events)
    busy, since = 0.0, {}
    for time, machine, value in states(events):
        if since.get(machine, (0.0, "w"))[1] != "w":
            busy += time - since[machine][0]
        since[machine] = (time, value)
    assert busy == pytest.approx(sum(run_time * cores for _, run_time, cores, _ in rows))


def test_batsims_own_trace_is_read_by_the_same_parser():
    path = GOLDEN / "delays_small_fcfs" / "out_schedule.trace"
    if not path.is_file():
        pytest.skip("the cases are not here: no batsim folder under UNSPOOL_CASES")
    events = parsed(path.read_text())
    ours = parsed(trace(run(workload([(0, 5, 1, 5)]), one_core_machines(4), "fcfs")))

    def heads(found):
        return [(kind, e) for kind, e in found if "Time" not in e and e.get("Alias", "")[:2] not in ("jw", "ja")]

    assert sorted(map(repr, heads(ours))) == sorted(map(repr, heads(events)))
    assert {value for _, _, value in states(events)} == {"w", *(f"jw0!{at}" for at in range(10))}


def test_convert_writes_a_trace_packed_if_it_is_named_so(tmp_path):
    from unspool.cli.app import run_command

    (tmp_path / "log.csv").write_text("submit_time,run_time,cores\n0,5,2\n")
    run_command(["run", str(tmp_path / "log.csv"), "-p", "2x1", "-o", str(tmp_path / "out"), "--json"])
    assert run_command(["convert", str(tmp_path / "out"), str(tmp_path / "run.paje.gz")]) == 0
    events = parsed(gzip.decompress((tmp_path / "run.paje.gz").read_bytes()).decode())
    check(events)
    assert [value for _, _, value in states(events)] == [
        "w",
        "w",
        "j2",
        "j2",
        "w",
        "w",
    ]  # jobs are called by their lines
