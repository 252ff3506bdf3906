"""Files are not trusted: what they name is loaded by verbs that run something, after a line, or not at all."""

import json
import shutil
import sys

import pytest

from unspool.conform.dispatch import _trusted
from unspool.errors import InputError
from unspool.faces.dispatch.experiment import read_experiment

LOG = "job_id,submit_time,run_time,cores\na,0,10,4\nb,1,5,2\nc,2,5,4\n"
JOBS = (
    "solution_id;group_id;tlgroup_id;exercise_id;runtime_id;worker_group_id;user_id;spawn_ts;end_ts;limits;cpu_time;"
    "correctness;compilation_ok;duration\n"
)
PLANTED = """\
open("marker", "w").close()
from unspool.policies.base import Start


def X(view):
    return [Start(job) for job in list(view.queue)[:1] if view.fits(job)]


class Shortest:
    def dispatch(self, job, workers):
        workers[0].enqueue(job)
"""
NAMES = ("planted:X", "easy:order=planted(X)", "sjf:predictor=planted(X)", "rl:model.zip")
EXPERIMENT = "workers: 2\ndispatcher: planted.Shortest\nmetrics: [delay]\n"


@pytest.fixture
def marker(unspool, write, tmp_path, monkeypatch):
    """A folder with files from anywhere that name a module beside them, which leaves a mark when it is imported."""
    monkeypatch.setattr("unspool.rl.trained.load_model", lambda *given: (tmp_path / "marker").touch())
    write("planted.py", PLANTED)
    write("model.zip", "no model")
    write("log.csv", LOG)
    write("experiment.yaml", EXPERIMENT)
    for at, name in enumerate(NAMES):
        write(f"run{at}.toml", f'workload = "log.csv"\nplatform = 4\npolicy = "{name}"\n')
        write(f"grid{at}.toml", f'[run]\nworkload = "log.csv"\nplatform = 4\n[grid]\npolicy = ["fcfs", "{name}"]\n')
    write(
        "hidden.toml",
        '[run]\nworkload = "log.csv"\nplatform = 4\npolicy = "easy"\n'
        '[grid]\n"parameters" = {sleep_after = ["5,order=planted(X)", "7"]}\n',
    )
    yield tmp_path / "marker"
    sys.modules.pop("planted", None)


@pytest.fixture
def results(unspool, marker, tmp_path):
    """Folders of results whose files say that they are of a module."""
    assert unspool("run", "log.csv", "-p", 4, "--policy", "fcfs", "-o", "one").code == 0
    for folder, policy in (("one", "planted:X"), ("two", "easy:order=planted(X)")):
        if folder != "one":
            shutil.copytree(tmp_path / "one", tmp_path / folder)
        summary = tmp_path / folder / "summary.json"
        summary.write_text(json.dumps({**json.loads(summary.read_text()), "policy": policy}))
        settings = tmp_path / folder / "run.toml"
        settings.write_text(settings.read_text().replace("fcfs", policy))


@pytest.mark.parametrize("kind", ["run", "grid"])
@pytest.mark.parametrize("at", range(len(NAMES)))
def test_validate_says_what_settings_name_and_loads_nothing(kind, at, unspool, marker):
    said = unspool("validate", f"{kind}{at}.toml")
    assert not marker.exists()
    name = "the model model.zip" if NAMES[at].startswith("rl:") else "the module planted"
    verb = "unspool run" if kind == "run" else "unspool sweep"
    first, second = said.out.splitlines()
    assert said.code == 0
    assert first.startswith(f"{kind}{at}.toml: ok")
    assert second.startswith(f"  '{NAMES[at]}' names {name} from {marker.parent}/")
    assert second.endswith(f"; not checked, because only verbs such as {verb} load it")


def test_a_module_hidden_in_the_value_of_a_parameter_is_found(unspool, marker):
    assert "names the module planted" in unspool("validate", "hidden.toml").out
    assert unspool("sweep", "hidden.toml", "-j", 1, "--untrusted").code == 2
    assert not marker.exists()


def test_validate_names_the_module_of_an_experiment_and_does_not_import_it(unspool, marker):
    said = unspool("validate", "experiment.yaml")
    assert said.out.splitlines() == [
        "experiment.yaml: ok, an experiment of 2 workers: planted.Shortest, delay",
        f"  'planted.Shortest' names the module planted from {marker.parent}/planted.py; "
        "not checked, because only verbs such as unspool dispatch load it",
    ]
    assert not marker.exists()


@pytest.mark.parametrize(
    "words",
    [
        ("validate", "one", "one/run.toml"), ("inspect", "one"), ("inspect", "one/run.toml"), ("inspect", "run0.toml"),
        ("report", "one", "-o", "page.html"), ("compare", "one", "two"), ("check", "one", "log.csv"),
        ("convert", "log.csv", "log.swf"), ("plugins",),
    ],
)  # fmt: skip
def test_verbs_that_run_nothing_load_nothing(words, unspool, results, marker):
    assert unspool(*words).code == 0
    assert not marker.exists()


REPEATS = [
    *(("run", "-c", f"run{at}.toml") for at in range(len(NAMES))),
    ("run", "-c", "one/run.toml"),
    ("run", "log.csv", "-p", 4, "--policy", "planted:X"),
    *(("sweep", f"grid{at}.toml", "-j", 1) for at in range(len(NAMES))),
    ("sweep", "grid0.toml", "--dry-run"),
    ("dispatch", "-c", "experiment.yaml", "jobs.csv"),
    ("forecast", "log.csv", "-p", 4, "--policy", "easy:order=planted(X)"),
    ("why", "one", "b"),
    ("diff", "one", "two"),
    ("batsim", "-p", "p.xml", "-w", "w.json", "--policy", "planted:X"),
    ("cost", "log.csv", "--policy", "planted:X"),
]


@pytest.mark.parametrize("words", REPEATS, ids=lambda words: "-".join(map(str, words)))
def test_verbs_that_run_something_refuse_what_is_not_built_in_if_told_to(words, unspool, results, marker):
    said = unspool(*words, "--untrusted")
    assert said.code == 2
    assert said.err.count("\n") == 1
    assert " names the mod" in said.err
    assert said.err.endswith("; with --untrusted only built-in names are used\n")
    assert not marker.exists()


def test_the_environment_can_ask_for_it_too(unspool, marker, monkeypatch):
    monkeypatch.setenv("UNSPOOL_UNTRUSTED", "1")
    said = unspool("run", "-c", "run0.toml")
    assert (said.code, said.err[-48:]) == (2, "; with --untrusted only built-in names are used\n"[-48:])
    assert not marker.exists()


def test_what_is_built_in_runs_with_untrusted_as_without(unspool, results, write):
    write("good.toml", 'workload = "log.csv"\nplatform = 4\npolicy = "easy:order=sjf"\n')
    assert unspool("run", "-c", "good.toml", "--untrusted", "--json").code == 0
    assert unspool("check", "one", "log.csv", "--untrusted").code == 0
    assert unspool("run", "log.csv", "-p", 4, "-o", "three").code == 0
    assert unspool("why", "three", "b", "--untrusted").code == 0


def test_what_settings_name_is_told_before_it_is_loaded(unspool, marker):
    said = unspool("run", "-c", "run0.toml")
    assert said.code == 0, said.err
    told = f"run0.toml: 'planted:X' loads the module planted from {marker.parent}/planted.py"
    assert said.err.splitlines()[0] == told
    assert marker.exists()


def test_what_the_command_line_names_is_trusted_and_not_told(unspool, marker):
    for words in (("--policy", "planted:X"), ("--set", "policy=planted:X")):
        said = unspool("run", "-c", "run0.toml", *words)
        assert said.code == 0
        assert "loads the module" not in said.err
    assert marker.exists()


def test_what_results_and_experiments_name_is_told(unspool, results, marker, write):
    place = f"loads the module planted from {marker.parent}/planted.py"
    assert unspool("why", "one", "b").err.splitlines()[0] == f"one: 'planted:X' {place}"
    assert unspool("diff", "one", "two").err.splitlines()[:2] == [
        f"one: 'planted:X' {place}", f"two: 'easy:order=planted(X)' {place}",
    ]  # fmt: skip
    write("jobs.csv", JOBS)
    said = unspool("dispatch", "-c", "experiment.yaml", "jobs.csv")
    assert said.err.splitlines()[0] == f"experiment.yaml, line 2, key dispatcher: planted.Shortest {place}"


def test_an_experiment_that_writes_a_file_says_so(unspool, marker, write):
    write(
        "saves.yaml",
        "workers: 2\ndispatcher: shortest-queue\nduration_predictor: {class: linear, args: {save: precious.txt}}\n",
    )
    said = unspool("dispatch", "-c", "saves.yaml", "jobs.csv", "--untrusted")
    assert said.code == 2
    assert f"names the file {marker.parent}/precious.txt" in said.err


def test_a_grid_says_once_what_its_policies_load(unspool, marker, monkeypatch):
    said = unspool("sweep", "grid1.toml", "--dry-run")
    place = f"the module planted from {marker.parent}/planted.py"
    assert [line for line in said.err.splitlines() if "loads" in line] == [
        f"grid1.toml: 'easy:order=planted(X)' loads {place}"
    ]


def test_a_recorded_experiment_has_built_in_components_only(unspool, marker, tmp_path):
    experiment = read_experiment(tmp_path / "experiment.yaml")
    with pytest.raises(InputError, match=r"names the module planted .*; recorded cases use built-in names only"):
        _trusted(experiment)
    assert not marker.exists()
