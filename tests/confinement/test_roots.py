"""Files that are named in files, with folders set from which files may be read."""

import json
import os

import pytest

from unspool.cli.app import run_command
from unspool.confinement.roots import ROOTS, readable, readable_folder
from unspool.errors import InputError, UnspoolError
from unspool.faces.dispatch.experiment import read_experiment
from unspool.faces.dispatch.learned import _read_pairs
from unspool.platforms import read_platform
from unspool.platforms.outages import read_outages
from unspool.results.store import load, load_all
from unspool.sweeps.store import Store
from unspool.workloads import read_workload
from unspool.workloads.batsim import read_batsim
from unspool.workloads.smpi_traces import read_smpi_trace
from unspool.workloads.usage_trace import read_usage_trace

SECRET = "root:x:0:0:a secret line"
LOG = "job_id,submit_time,run_time,cores\n1,0,100,4\n"
OUTSIDE = "is outside the folders that may be read here"


@pytest.fixture
def inside(tmp_path, monkeypatch):
    """A folder that may be read, beside a secret that may not; links to the secret lie in it."""
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    (tmp_path / "secret.csv").write_text(LOG)
    folder = tmp_path / "inside"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "secret")
    monkeypatch.setenv(ROOTS, str(folder))
    monkeypatch.chdir(folder)
    return folder


WAYS_OUT = ["../secret", "{above}/secret", "link", "a/../../secret"]


def batsim(kind, trace, before="", more=""):
    jobs = '[{"id": "1", "subtime": 0, "res": 1, "walltime": 9, "profile": "p"}]'
    profile = json.dumps({"type": kind, "trace": trace})
    return f'{before}{{"nb_res": 1,{more} "jobs": {jobs}, "profiles": {{"p": {profile}}}}}'


@pytest.mark.parametrize("way", WAYS_OUT)
@pytest.mark.parametrize("kind", ["smpi", "usage_trace"])
def test_a_workload_names_no_trace_outside(inside, kind, way):
    (inside / "w.json").write_text(batsim(kind, way.format(above=inside.parent)))
    with pytest.raises(InputError, match=OUTSIDE):
        read_batsim(inside / "w.json")


@pytest.mark.parametrize("more", [{"before": " " * (1 << 20)}, {"more": f'"x": {"9" * 4400},'}, {"before": "\ufeff"}])
def test_no_shape_of_a_workload_gets_a_trace_past_the_check(inside, more):
    (inside / "w.json").write_text(batsim("smpi", "../secret", **more))
    with pytest.raises(UnspoolError) as told:
        read_batsim(inside / "w.json")
    assert "secret line" not in str(told.value)


@pytest.mark.parametrize("way", WAYS_OUT)
@pytest.mark.parametrize("read", [read_smpi_trace, read_usage_trace])
def test_a_trace_names_no_file_outside(inside, read, way):
    (inside / "main.txt").write_text(f"{way.format(above=inside.parent)}\n")
    with pytest.raises(InputError, match=OUTSIDE) as told:
        read(str(inside / "main.txt"))
    assert SECRET not in str(told.value)


def test_a_trace_with_its_files_beside_it_is_read(inside):
    (inside / "t").mkdir()
    (inside / "t" / "0.txt").write_text("0 init\n0 compute 5\n0 finalize\n")
    (inside / "main.txt").write_text("t/0.txt\n")
    assert read_smpi_trace(str(inside / "main.txt")).ranks == 1


def test_a_folder_of_lsf_logs_holds_no_link_outside(inside):
    (inside / "lsb.acct").symlink_to(inside.parent / "secret")
    with pytest.raises(InputError, match=OUTSIDE):
        read_workload(inside)


def test_the_map_of_a_json_log_is_not_outside(inside):
    (inside / "log.json").write_text('[{"a": 1}]')
    with pytest.raises(InputError, match=OUTSIDE):
        read_workload(inside / "log.json", "json:map=../secret")


@pytest.mark.parametrize("name", ["log.csv", "log.swf", "log.parquet", "log.json", "log.dax", "log.xml"])
def test_a_log_that_is_a_link_is_not_followed_outside(inside, name):
    (inside / name).symlink_to(inside.parent / "secret")
    with pytest.raises(InputError, match=OUTSIDE):
        read_workload(inside / name)


@pytest.mark.parametrize("name", ["p.yaml", "p.toml", "p.json", "p.xml"])
def test_a_platform_that_is_a_link_is_not_followed_outside(inside, name):
    (inside / name).symlink_to(inside.parent / "secret")
    with pytest.raises(InputError, match=OUTSIDE):
        read_platform(inside / name)


def test_outages_are_not_outside(inside):
    with pytest.raises(InputError, match=OUTSIDE):
        read_outages("../secret.csv", read_platform("4x1"))


@pytest.mark.parametrize(
    "settings",
    [
        {"workload": "../secret.csv"}, {"workload": "link"},
        {"workload": "log.csv", "platform": "../p.yaml"}, {"workload": "log.csv", "platform": "../p.toml"},
        {"workload": "log.csv", "platform": "4x1", "outages": "../secret.csv"},
        {"workload": "log.csv", "platform": "c.yml", "catalogue": "../secret.csv"},
        {"workload": "log.json", "format": "json:map=../secret"},
    ],
)  # fmt: skip
def test_settings_of_a_run_name_no_file_outside(inside, capfd, settings):
    for name in ("p.yaml", "p.toml"):
        (inside.parent / name).write_text("pool: 4\n")
    (inside / "log.csv").write_text(LOG)
    (inside / "log.json").write_text('[{"a": 1}]')
    (inside / "c.yml").write_text("ComputeClusterModel: {IdleTime: 60}\n")
    (inside / "run.toml").write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items()))
    assert run_command(["run", "-c", "run.toml"]) == 2
    assert OUTSIDE in " ".join(capfd.readouterr().err.split())


@pytest.mark.parametrize(
    ("key", "value"),
    [("workload", "../secret.csv"), ("platform", "../p.yaml"), ("outages", "../secret.csv"), ("config", "../c.yml")],
)
def test_a_grid_names_no_file_outside(inside, capfd, key, value):
    (inside.parent / "p.yaml").write_text("pool: 4\n")
    (inside.parent / "c.yml").write_text("Jobs: {}\n")
    (inside / "log.csv").write_text(LOG)
    kind = {} if key == "config" else {"platform": "4x1"}
    common = {"workload": "log.csv", **kind, key: value}
    text = "".join(f"{name} = {json.dumps(each)}\n" for name, each in common.items())
    (inside / "grid.toml").write_text(f"[run]\n{text}[grid]\nseed = [1, 2]\n")
    assert run_command(["sweep", "grid.toml", "-o", "out"]) == 2
    assert OUTSIDE in " ".join(capfd.readouterr().err.split())


def test_files_of_settings_are_not_outside(inside, capfd):
    for name in ("run.toml", "grid.toml", "e.yaml", "c.yml"):
        (inside.parent / name).write_text(f"{SECRET}\n")
    (inside / "log.csv").write_text(LOG)
    commands = (
        ["run", "-c", "../run.toml"], ["sweep", "../grid.toml", "-o", "out"], ["cost", "log.csv", "-c", "../c.yml"],
        ["dispatch", "log.csv", "-c", "../e.yaml"], ["inspect", "../run.toml"],
    )  # fmt: skip
    for command in commands:
        assert run_command(command) == 2
        told = " ".join(capfd.readouterr().err.split())
        assert "secret line" not in told
        assert OUTSIDE in told, command
    with pytest.raises(InputError, match=OUTSIDE):
        read_experiment("../e.yaml")


def test_components_of_an_experiment_read_nothing_outside(inside):
    with pytest.raises(InputError, match=OUTSIDE):
        _read_pairs(inside.parent / "secret.csv")


@pytest.mark.parametrize("file", ["summary.json", "jobs.parquet", "run.toml", "platform.json", "comparison.json"])
def test_a_folder_of_results_holds_no_link_outside(inside, file):
    (inside / "out").mkdir()
    (inside / "out" / "summary.json").write_text("{}")
    (inside / "out" / file).unlink(missing_ok=True)
    (inside / "out" / file).symlink_to(inside.parent / "secret")
    for read in (load, load_all):
        with pytest.raises(InputError, match=OUTSIDE):
            read(inside / "out")


@pytest.mark.parametrize("verb", ["report", "compare", "inspect"])
def test_verbs_read_no_results_with_links_outside(inside, capfd, verb):
    (inside / "out").mkdir()
    (inside / "out" / "run.json").write_text("{}")
    (inside / "out" / "metrics.txt").write_text("")
    (inside / "out" / "summary.json").symlink_to(inside.parent / "secret")
    assert run_command([verb, "out"]) == 2
    assert "secret line" not in capfd.readouterr().err


def test_the_folder_of_a_sweep_holds_no_link_outside(inside):
    store = Store(inside / "out")
    (inside / "out" / "runs").mkdir(parents=True)
    (inside / "out" / "runs" / "part-00000000.parquet").symlink_to(inside.parent / "secret")
    with pytest.raises(InputError, match=OUTSIDE):
        store.frame()


def test_what_is_inside_or_part_of_unspool_may_be_read(inside):
    assert readable("run.toml") == "run.toml"
    assert readable(str(inside / "a" / ".." / "b"))
    assert readable_folder(inside / "nowhere") == inside / "nowhere"
    with pytest.raises(InputError, match=OUTSIDE):
        readable_folder(inside)  # there is the link
    from unspool.workloads.sample import read_sample

    assert len(read_sample()) == 10_000


@pytest.mark.parametrize("path", ["", "/", "..", "a\0b", "/proc/self/cwd/../secret", "\udcff/../../secret"])
def test_strange_paths_lead_nowhere(inside, path, monkeypatch):
    monkeypatch.setenv(ROOTS, str(inside / "deeper"))
    with pytest.raises(InputError, match=OUTSIDE):
        readable(path)


def test_an_empty_list_of_folders_lets_nothing_be_read(inside, monkeypatch):
    monkeypatch.setenv(ROOTS, "")
    with pytest.raises(InputError, match=OUTSIDE):
        readable(os.devnull)
