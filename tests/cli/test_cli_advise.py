"""`unspool cost advise`, and the bands of `--replicas`."""

import json
import shlex

import numpy as np
import pytest
from tests.cli.test_cli_cost import CATALOGUE, CONFIG

from unspool.metrics.cost import bands
from unspool.workloads import write_workload
from unspool.workloads.generators import lublin

SPOT = """\
instance_mapping: {region_name: eu-west-1, instance_prefix_list: [c5]}
consumption_model_mapping: {maximum_minutes_for_spot: 600}
ComputeClusterModel: {SpotTerminationProbabilityPerMinute: 0.01, ShareInstances: true, MaxSpotRetries: 1}
"""


@pytest.fixture
def case(write, tmp_path):
    write_workload(lublin(60, 8, 0.7, seed=3, max_cores=2), tmp_path / "log.swf")
    write("prices.csv", CATALOGUE)
    return "log.swf", "-c", write("c.yml", CONFIG), "--catalogue", "prices.csv"


def test_each_row_is_what_its_command_gives(unspool, case):
    advice = json.loads(unspool("cost", "advise", *case, "--budget", "25", "--json").out)
    assert advice["tried"] <= 25
    assert advice["best"]
    for row in (*advice["best"], advice["configured"]):
        told = json.loads(unspool(*shlex.split(row["command"])[1:], "--json").out)
        for name in ("total_cost_usd", "mean_wait_s", "p95_wait_s", "rejected"):
            assert told[name] == row[name]
    costs = [row["total_cost_usd"] for row in advice["best"]]
    waits = [row["mean_wait_s"] for row in advice["best"]]
    assert costs == sorted(costs)
    assert waits == sorted(waits, reverse=True)
    assert costs[0] <= advice["configured"]["total_cost_usd"]


def test_rows_over_several_seeds_are_the_means_that_the_command_gives(unspool, case, write):
    write("c.yml", SPOT)
    advice = json.loads(
        unspool("cost", "advise", *case, "--budget", "4", "--replicas", "3", "--seed", "5", "--json").out
    )
    row = advice["best"][0]
    told = json.loads(unspool(*shlex.split(row["command"])[1:], "--json").out)
    assert (told["replicas"], told["seed"]) == (3, 5)
    assert told["bands"]["total_cost_usd"]["mean"] == row["total_cost_usd"]
    assert told["bands"]["mean_wait_s"]["mean"] == row["mean_wait_s"]


def test_the_table_has_a_command_a_row_and_keeps_what_was_set(unspool, case):
    said = unspool("cost", "advise", *case, "--budget", "12", "--set", "IdleTime=60", "--queues", "a,.*")
    assert said.code == 0, said.err
    commands = [line for line in said.out.splitlines() if ": unspool cost log.swf" in line]
    assert commands
    assert all("--set IdleTime=60" in line and line.count("IdleTime") == 1 for line in commands)
    assert all("--queues 'a,.*'" in line for line in commands)
    assert "12 set-ups tried" in said.out
    assert "not run by any" not in said.err


def test_jobs_that_no_set_up_runs_are_counted(unspool, case, tmp_path):
    with (tmp_path / "log.swf").open("a") as log:
        log.write("61 900000 -1 60 4096 -1 -1 4096 60 -1 1 1 1 1 1 1 -1 -1\n")
    said = unspool("cost", "advise", *case, "--budget", "3")
    assert "1 job not run by any of these set-ups, nor paid for; unspool cost lists them with reasons\n" in said.err


def test_bad_numbers_and_keys_are_told(unspool, case):
    assert "--budget 0: expected 1 or more" in unspool("cost", "advise", *case, "--budget", "0").err
    assert "--replicas 0: expected 1 or more" in unspool("cost", "advise", *case, "--replicas", "0").err
    assert "did you mean 'IdleTime'" in unspool("cost", *case, "--set", "IdelTime=3").err
    assert unspool("cost", *case, "--set", "IdleTime=soon").code == 2


def test_bands_are_those_of_single_runs_with_the_seeds_from_the_first_on(unspool, case, write):
    write("c.yml", SPOT)
    told = json.loads(unspool("cost", *case, "--seed", "7", "--replicas", "4", "--json").out)
    single = [json.loads(unspool("cost", *case, "--seed", str(seed), "--json").out) for seed in range(7, 11)]
    expected = {name: band for name, band in bands(single).items() if name != "seed"}
    assert told["bands"] == expected
    assert told["total_cost_usd"] == single[0]["total_cost_usd"]
    assert expected["reclaimed"]["p95"] > expected["reclaimed"]["p5"]
    shown = unspool("cost", *case, "--seed", "7", "--replicas", "4", "-o", "out")
    assert shown.out.count("5% of seeds") == 2  # of costs and of waits
    with open("out/report.html", encoding="utf-8") as page:
        assert "What chance does, over 4 seeds" in page.read()


def test_with_the_same_seeds_the_difference_of_two_set_ups_varies_less(unspool, case, write):
    write("c.yml", SPOT)

    def totals(idle, seeds):
        runs = (unspool("cost", *case, "--set", f"IdleTime={idle}", "--seed", str(seed), "--json") for seed in seeds)
        return np.array([json.loads(said.out)["total_cost_usd"] for said in runs])

    short, long = totals(60, range(20)), totals(300, range(20))
    common, independent = (long - short).var(), (totals(300, range(20, 40)) - short).var()
    assert common < independent / 2
