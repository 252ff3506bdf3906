"""The grid file: which runs there are, in which order, and what is refused."""

import math

import pytest

from unspool.cli.config import RunConfig
from unspool.errors import InputError
from unspool.sweeps.grid import grid_of, read_grid
from unspool.sweeps.settings import RunSettings, policy_of, settings_of


def test_every_setting_of_a_run_is_a_key_of_a_grid():
    assert set(RunConfig.__struct_fields__) <= set(RunSettings.__struct_fields__)


def test_runs_are_all_combinations_with_logs_slowest_and_seeds_fastest():
    grid = grid_of({
        "replicas": 2, "run": {"platform": 4}, "grid": {"policy": ["fcfs", "easy"], "window": ["0d..1d", "1d..2d"]},
    })  # fmt: skip
    runs = [(run["window"], run["policy"], run["seed"]) for run in grid.settings()]
    assert runs == [
        ("0d..1d", "fcfs", 0), ("0d..1d", "fcfs", 1), ("0d..1d", "easy", 0), ("0d..1d", "easy", 1),
        ("1d..2d", "fcfs", 0), ("1d..2d", "fcfs", 1), ("1d..2d", "easy", 0), ("1d..2d", "easy", 1),
    ]  # fmt: skip
    assert [grid.run_at(at) for at in range(len(grid))] == list(grid.settings())
    assert grid.points == 2
    assert grid.design == ("policy",)
    assert grid.blocks == ("window", "seed")


def test_paired_sets_go_together_and_a_key_that_one_lacks_is_left_out():
    grid = grid_of({
        "grid": {"policy": ["fcfs", "easy"]},
        "paired": [{"platform": 4, "window": "0d..1d"}, {"platform": 8}],
    })  # fmt: skip
    assert [(run["platform"], run["window"], run["policy"]) for run in grid.settings()] == [
        (4, "0d..1d", "fcfs"), (4, "0d..1d", "easy"), (8, None, "fcfs"), (8, None, "easy"),
    ]  # fmt: skip
    assert settings_of(grid.run_at(3)).window is None


def test_several_groups_of_paired_sets_are_combined():
    grid = grid_of({"paired": {
        "site": [{"platform": 4}, {"platform": 8}], "way": [{"policy": "fcfs"}, {"policy": "easy", "thin": 0.5}],
    }})  # fmt: skip
    assert len(grid) == 4


def test_a_distribution_is_drawn_by_seed_and_is_the_same_for_every_point():
    grid = grid_of({"replicas": 3, "grid": {"policy": ["fcfs", "easy"], "scale_load": {"uniform": [0.5, 1.5]}}})
    runs = list(grid.settings())
    assert len(grid) == 6
    drawn = [run["scale_load"] for run in runs]
    assert drawn[:3] == drawn[3:]
    assert len(set(drawn)) == 3
    assert grid.design == ("policy",)


def test_seeds_may_be_named_and_begin_anywhere():
    assert [run["seed"] for run in grid_of({"grid": {"seed": [3, 5]}}).settings()] == [3, 5]
    assert [run["seed"] for run in grid_of({"run": {"seed": 7}, "replicas": 2}).settings()] == [7, 8]


def test_parameters_stand_behind_the_policy():
    grid = grid_of({"run": {"policy": "easy"}, "grid": {"parameters": {"order": ["fcfs", "sjf"]}}})
    assert [policy_of(settings_of(run), "x") for run in grid.settings()] == ["easy:order=fcfs", "easy:order=sjf"]
    assert grid.design == ("order",)


def test_keys_of_the_cloud_stand_behind_set():
    grid = grid_of({"run": {"config": "c.yml"}, "grid": {"set": {"IdleTime": {"from": 60, "to": 240, "step": 60}}}})
    assert [run["set.IdleTime"] for run in grid.settings()] == [60, 120, 180, 240]
    assert grid.design == ("IdleTime",)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"gird": {}}, "did you mean 'grid'"),
        ({"grid": {"polcy": ["a"]}}, "did you mean 'policy'"),
        ({"grid": 3}, "expected a table"),
        ({"run": {"policy": ["fcfs", "easy"]}}, "stand in [grid]"),
        ({"replicas": 0}, "from 1 to"),
        ({"replicas": 2, "grid": {"seed": [1, 2]}}, "leave one of the two out"),
        ({"run": {"seed": -1}}, "from 0 to"),
        ({"run": {"seed": 2**63}}, "from 0 to"),
        ({"replicas": 3, "run": {"seed": 2**63 - 2}}, "from 1 to 2"),
        ({"grid": {"seed": [0, 2.5, 7]}}, "key seed: expected int"),
        ({"grid": {"thin": [0.5, math.nan]}}, "key thin: is nan"),
        ({"run": {"thin": math.inf}}, "key thin: is inf"),
        ({"grid": {"thin": [0.5, "much"]}}, "key thin: expected float"),
        ({"grid": {"thin": {"choice": [0.5, [1]]}}}, "key thin: expected float"),
        ({"grid": {"thin": {"from": 0.1, "to": 1e308, "step": 1e-300}}}, "expected numbers up to 1e+15"),
        ({"grid": {"thin": {"from": 0.1, "to": 1.0, "step": 1e-300}}}, "expected a whole number from 1 to"),
        ({"replicas": 1000, "grid": {"thin": {"from": 0.1, "to": 0.9, "steps": 20_000}}}, "20,000,000 runs"),
        ({"run": {"policy": "fcfs"}, "grid": {"policy": ["easy"]}}, "stands in [run] and in [grid]"),
        ({"run": {"policy": "fcfs"}, "paired": [{"policy": "easy"}]}, "stands in [run] and in the paired sets"),
        ({"grid": {"set": {"A.IdleTime": [1], "IdleTime": [2]}}, "run": {"config": "c.yml"}}, "unknown"),
        ({"paired": [3, 4]}, "is no list of sets of keys"),
        ({"paired": [{"policy": "a"}, {"policy": ["a", "b"]}]}, "key policy: expected str"),
        ({"paired": [{"policy": "a"}, {"policy": "a"}]}, "two sets of paired are the same"),
        ({"grid": {"policy": ["a"]}, "paired": [{"policy": "b"}, {"policy": "c"}]}, "stands twice"),
        ({"grid": {"thin": ["x"]}}, "key thin: expected float"),
        ({"grid": {"set": {"IdleTim": [1]}}, "run": {"config": "c.yml"}}, "did you mean 'IdleTime'"),
        ({"grid": {"set": 3}}, "expected set.NAME"),
        ({"run": {"set": {"IdleTime": 1}}}, "belongs to config"),
        ({"run": {"config": "c.yml", "platform": 4}}, "takes none beside config"),
        ({"over": "seed"}, "expected a list of keys"),
        ({"search": {}}, "says no figure"),
        ({"search": {"minimise": ["x"], "trials": 0}}, "from 1 to"),
        ({"search": {"minimize": ["x"]}}, "did you mean 'minimise'"),
        ({"paired": 3}, "expected sets of keys"),
        ({}, "nothing varies and no workload is named"),
        ({"run": {"policy": "easy"}, "grid": {"platform": [8]}}, "nothing varies and no workload is named"),
        ({"grid": {"policy": ["easy", "eassy"]}}, "key policy: unknown scheduler 'eassy'; did you mean 'easy'"),
        ({"grid": {"policy": ["easy", "easy:ordr=sjf"]}}, "key policy: 'easy:ordr=sjf': unknown parameter 'ordr'"),
        ({"grid": {"policy": ["easy", "easy:order=sjff"]}}, "unknown order 'sjff'; did you mean 'sjf'"),
        ({"grid": {"policy": {"choice": ["easy", "eassy"]}}, "replicas": 2}, "did you mean 'easy'"),
        (
            {"paired": [{"policy": "easy"}, {"policy": "easy", "parameters": {"predictor": "last-too"}}]},
            "unknown predictor 'last-too'; did you mean 'last-two'",
        ),
        (
            {"grid": {"policy": ["fcfs", "easy"], "parameters": {"order": ["sjf", "saff"]}}},
            "key parameters.order: unknown order 'saff'; did you mean 'saf'",
        ),
        ({"run": {"selection": "frist"}, "grid": {"policy": ["fcfs", "easy"]}}, "did you mean 'first'"),
        ({"grid": {"platform": [8, "2x"]}}, "key platform: "),
        ({"grid": {"platform": [8, -8]}}, "key platform: platform '-8': a pool of this many cores"),
        ({"grid": {"on_loss": ["requeue", "forget"]}}, "key on_loss: "),
        ({"grid": {"outages": ["mtbf=30d"]}, "replicas": 2}, "key outages: failures 'mtbf=30d': repair is missing"),
        ({"grid": {"window": ["0d..1d", "1d"]}}, "key window: window 1d: expected FROM..TO"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(content, said):
    with pytest.raises(InputError) as error:
        grid_of(content)
    assert said in str(error.value)


@pytest.mark.parametrize(
    "content",
    [
        {"grid": {"policy": ["fcfs", "easy"], "parameters": {"order": ["fcfs", "sjf"]}}},  # fcfs takes no order
        {"grid": {"policy": ["mine:Policy", "mine:Policy:depth=3", "easy:predictor=mine:Guess"]}},
        {"run": {"config": "c.yml"}, "grid": {"parameters": {"whatever": [1, 2]}}},  # of a placement it names
        {"grid": {"policy": ["rl:absent.zip", "easy"]}},
        {"paired": [{"policy": "easy", "parameters": {"order": "sjf"}}, {"policy": "fcfs"}]},
        {"grid": {"outages": ["failures.csv", "mtbf=30d,repair=4h"]}},
    ],
)
def test_what_may_be_possible_is_left_to_the_runs(content):
    assert len(grid_of(content)) > 1


def test_a_parameter_called_like_a_column_of_ours_has_a_column_of_its_own():
    grid = grid_of(
        {"replicas": 2, "run": {"policy": "mine:P"}, "grid": {"parameters": {"seed": [1, 2], "error": ["a", "b"]}}}
    )
    assert grid.design == ("parameters.seed", "parameters.error")
    assert grid.blocks == ("seed",)


def test_a_search_may_have_a_space_that_nobody_could_run():
    many = {"from": 0.1, "to": 0.9, "steps": 100_000}
    content = {"grid": {"thin": many, "scale_load": many}, "search": {"minimise": ["mean_wait_s"]}}
    assert grid_of(content).total == 10**10
    with pytest.raises(InputError, match=r"10,000,000,000 runs.*or a \[search\]"):
        grid_of({"grid": content["grid"]})


def test_a_file_that_is_no_toml_is_named(tmp_path):
    path = tmp_path / "g.toml"
    with pytest.raises(InputError, match="there is no such file"):
        read_grid(path)
    path.write_text("grid = [")
    with pytest.raises(InputError, match="not valid TOML"):
        read_grid(path)


def test_a_number_of_hundreds_of_digits_is_refused():
    with pytest.raises(InputError):
        grid_of({"grid": {"scale_load": {"uniform": [0, 10**400]}}})


def test_a_grid_that_nests_without_an_end_is_refused(tmp_path):
    path = tmp_path / "g.toml"
    path.write_text("grid = " + "[" * 5000)
    with pytest.raises(InputError, match="the limit for levels"):
        read_grid(path)
