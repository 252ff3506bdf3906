"""Cases of contention: those that ship, and what is said of files that are none."""

import json
import os
from pathlib import Path

import pytest

from unspool.conform import collect, own_cases
from unspool.conform.contention import compare_times, read_cases
from unspool.errors import InputError

CASES = Path(os.environ.get("UNSPOOL_CASES", Path(__file__).parents[3] / "shared" / "cases")) / "contention"


def one_case(**changes):
    case = {
        "name": "one",
        "platform": {
            "hosts": [{"name": "h0", "speed": 1e9}, {"name": "h1", "speed": 1e9}],
            "links": [{"name": "l", "bandwidth": 1e8}],
            "routes": [{"src": "h0", "dst": "h1", "links": ["l"]}],
        },
        "tasks": [{"name": "t", "start": 0, "hosts": ["h0", "h1"], "cpu": [1e9, 0], "com": [0, 2e8, 0, 0]}],
        "finish": {"t": 2.0},
    }
    return {**case, **changes}


@pytest.fixture
def write(tmp_path):
    def write(*cases):
        path = tmp_path / "ptask_cases.json"
        path.write_text(json.dumps({"cases": cases}))
        return path

    return write


def test_the_cases_that_ship_agree():
    found = collect("contention")
    assert len(found) == 14
    assert [check.name for check in found if check.run().verdict != "agrees"] == []


@pytest.mark.parametrize(
    ("name", "count"), [("ptask_cases", 53), ("ptask_random_cases", 100), ("ptask_speed_change_cases", 1)]
)
def test_every_recorded_case_of_simgrid_agrees(name, count):
    path = CASES / f"{name}.json"
    if not path.exists():
        pytest.skip(f"the cases are not here: no contention/{name}.json under UNSPOOL_CASES")
    found = collect("contention", [path])
    assert len(found) >= count
    assert [check.name for check in found if check.run().verdict != "agrees"] == []


def test_a_time_that_is_off_by_more_than_a_billionth_differs(write):
    (check,) = collect("contention", [write(one_case(finish={"t": 2.0 * (1 + 2e-9)}))])
    (told,) = check.run().differences
    assert told == "task t ends at 2.0, recorded 2.000000004"
    (check,) = collect("contention", [write(one_case(finish={"t": 2.0 * (1 + 5e-10)}))])
    assert check.run().differences == ()


def test_the_loopback_of_hosts_without_a_route_to_themselves_can_be_set(write):
    itself = [{"name": "t", "start": 0, "hosts": ["h0", "h1"], "com": [2e9, 0, 0, 0]}]
    usual = one_case(tasks=itself, finish={"t": 0.2})
    slow = one_case(
        tasks=itself, finish={"t": 2.001}, config={"network/loopback-bw": 1e9, "network/loopback-lat": 1e-3}
    )
    for case in (usual, slow):
        (check,) = collect("contention", [write(case)])
        assert check.run().differences == ()


def test_every_task_that_differs_is_told_up_to_five():
    case = next(case for case in read_cases(own_cases("contention") / "ptask_cases.json") if len(case.tasks) == 7)
    assert compare_times(case, [99.0] * 7)[-1] == "and 2 more"


@pytest.mark.parametrize(
    ("case", "told"),
    [
        (one_case(finish={}), "case 'one': task 't' has no time under finish; every task needs one"),
        (one_case(events=[{"time": 1, "host": "x", "speed": 1}]), "no host or link is called 'x'; known: h0, h1"),
        (
            one_case(tasks=[{"name": "t", "start": 0, "hosts": ["h0"], "cpu": [1, 2]}]),
            "cpu of task 't' has 2 numbers, not 1",
        ),
        (one_case(config={"cpu/model": 1}), "config has 'cpu/model', which the model does not know"),
        (
            one_case(platform={"hosts": [], "links": [{"name": "l", "bandwidth": 1, "sharing": "WIFI"}]}),
            "Invalid enum value 'WIFI' - at `$.cases[0].platform.links[0].sharing`",
        ),
        (one_case(tasks=5), "Expected `array`, got `int` - at `$.cases[0].tasks`"),
    ],
)
def test_a_case_that_cannot_be_is_refused_with_its_place(write, case, told):
    path = write(case)
    with pytest.raises(InputError) as raised:
        collect("contention", [path])
    assert str(raised.value).startswith(f"{path}: ")
    assert told in str(raised.value)


def test_a_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "ptask_cases.json").write_bytes(b'{"cases": [{"name": "\x81"}]}')
    with pytest.raises(InputError, match="can't decode byte 0x81"):
        collect("contention", [tmp_path])


def test_a_path_without_cases_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"no ptask_\*cases.json is in this folder"):
        collect("contention", [tmp_path])
    with pytest.raises(InputError, match="there is no such file or folder"):
        collect("contention", [tmp_path / "nowhere"])
