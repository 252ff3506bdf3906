"""Ranks end when SimGrid says that they do, and when the slow twin says so."""

import json
import math
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.oracles.smpi import replay
from tests.smpi_build import ends
from tests.strategies_fluid import networks
from tests.strategies_smpi import scripts

from unspool.platforms import read_platform

CASES = Path(os.environ.get("UNSPOOL_CASES", Path(__file__).parents[3] / "shared" / "cases")) / "contention" / "smpi"
SETTINGS = ("batsim", "smpirun")


def close(found, expected):
    return all(
        math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-12) for ours, theirs in zip(found, expected, strict=True)
    )


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_twin_ends_ranks_when_simgrid_says(setting):
    if not CASES.exists():
        pytest.skip("the cases are not here: no contention/smpi under UNSPOOL_CASES")
    network = read_platform(str(CASES / "cluster8.xml")).network
    place = {host.name: at for at, host in enumerate(network.hosts)}
    for case in json.loads((CASES / "smpi_cases.json").read_text())["cases"]:
        main = CASES / case["traces"]
        lines = [(main.parent / name).read_text().splitlines() for name in main.read_text().split()]
        found = replay(network, [place[name] for name in case["hosts"]], lines, setting)
        assert close(found, case["finish"][setting]), case["name"]


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.sampled_from(SETTINGS))
def test_compiled_ranks_end_when_the_twin_says(tmp_path, data, setting):
    lines = data.draw(scripts())
    network = data.draw(networks())
    hosts = [data.draw(st.integers(0, len(network.hosts) - 1)) for _ in lines]
    expected = replay(network, hosts, [[f"{rank} {line}" for line in each] for rank, each in enumerate(lines)], setting)
    assert all(time < math.inf for time in expected)  # both sides of every message are there
    assert close(ends(tmp_path, network, lines, hosts, smpi_network=setting), expected)


@pytest.mark.parametrize("size", [0, 3, 100, 511, 512, 3000])
@pytest.mark.parametrize("ranks", [16, 17, 32])
@pytest.mark.parametrize("setting", SETTINGS)
def test_all_to_all_of_many_ranks_is_as_the_twin_has_it(tmp_path, ranks, size, setting):
    network = read_platform(str(Path(__file__).parents[2] / "src/unspool/cases/smpi/cluster8.xml")).network
    lines = [[f"compute {rank * 1000}", f"alltoall {size} {size}"] for rank in range(ranks)]
    hosts = [rank % 8 for rank in range(ranks)]
    expected = replay(network, hosts, [[f"{rank} {line}" for line in each] for rank, each in enumerate(lines)], setting)
    assert close(ends(tmp_path, network, lines, hosts, smpi_network=setting), expected)
