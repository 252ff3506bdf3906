import json
import tomllib

import polars as pl
import pytest
from tests.build import workload

import unspool
from unspool.errors import InputError, RunError
from unspool.model.platform import MachineGroup, MachineType, Partition, Platform
from unspool.model.prices import Price
from unspool.platforms import read_platform
from unspool.platforms.cluster import describe
from unspool.results.run import run
from unspool.results.store import check_free, load, save, write_folder

FILES = [
    "allocations.parquet", "attempts.parquet", "jobs.parquet", "machines.parquet", "outages.parquet", "platform.json",
    "rejected.parquet", "run.toml", "summary.json", "versions.json",
]  # fmt: skip


def result(policy="easy", platform=4):
    return run(workload([(0, 10, 2, 10), (1, 5, 4, 5), (2, 1, 9, 1)], user=["ann", "bob", "eve"]), platform, policy)


def entries(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_holds_these_files(tmp_path):
    assert save(result(), tmp_path / "out") == tmp_path / "out"
    assert entries(tmp_path / "out") == FILES
    assert entries(tmp_path) == ["out"]


def test_csv_twins_hold_the_same_rows(tmp_path):
    save(result(), tmp_path / "out", csv=True)
    for name in ("jobs", "attempts", "allocations", "machines", "outages", "rejected"):
        table = pl.read_parquet(tmp_path / "out" / f"{name}.parquet")
        assert (tmp_path / "out" / f"{name}.csv").read_text() == table.write_csv()


def test_texts_can_be_read_by_anybody(tmp_path):
    save(result(), tmp_path / "out")
    assert tomllib.loads((tmp_path / "out" / "run.toml").read_text()) == {
        "workload": "workload", "platform": "4", "policy": "easy", "seed": 0, "kill_at_walltime": False,
        "selection": "first",
    }  # fmt: skip
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (summary["jobs"], summary["rejected"], summary["mean_wait_s"]) == (2, 1, 4.5)
    assert json.loads((tmp_path / "out" / "versions.json").read_text()).keys() == {
        "python", "unspool", "numpy", "numba", "polars", "policy_version", "workload_digest", "workload_origin_unix_s"
    }  # fmt: skip
    assert read_platform(tmp_path / "out" / "platform.json") == Platform.pool(4)


def test_a_result_is_the_same_when_loaded_again(tmp_path):
    before = result()
    save(before, tmp_path / "out")
    after = load(tmp_path / "out")
    assert after == before
    assert after.policy_version == before.policy_version == 2
    assert after.summary == before.summary
    assert after != result("fcfs")
    assert unspool.load is load


def test_a_result_on_machines_is_the_same_when_loaded_again(tmp_path):
    before = result(platform="2x2+1x4:8GiB")
    save(before, tmp_path / "out")
    assert load(tmp_path / "out") == before


def test_a_platform_is_the_same_when_read_from_its_description(tmp_path):
    fat = MachineType("fat", 64, 1 << 40, 2, {"scratch": 100}, (Price(3.0), Price(1.0, "spot")))
    thin = MachineType("thin", 16)
    partitions = (Partition("all", ("fat", "thin"), default=True), Partition("long", ("fat",)))
    platform = Platform((MachineGroup(thin, 3), MachineGroup(fat, 2)), partitions, {"matlab": 3}, "best", name="mine")
    (tmp_path / "platform.json").write_text(json.dumps(describe(platform)))
    assert read_platform(tmp_path / "platform.json") == platform


def test_an_existing_result_is_replaced_with_force_only(tmp_path):
    save(result("fcfs"), tmp_path / "out", csv=True)
    with pytest.raises(InputError, match=r"out exists; name another folder, or say --force to replace it$"):
        save(result("easy"), tmp_path / "out")
    assert load(tmp_path / "out").policy == "fcfs"
    save(result("easy"), tmp_path / "out", force=True)
    assert load(tmp_path / "out").policy == "easy"
    assert entries(tmp_path) == ["out"]
    assert entries(tmp_path / "out") == FILES


def test_an_empty_folder_is_replaced_with_force_only(tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError, match="exists"):
        save(result(), tmp_path / "out")
    save(result(), tmp_path / "out", force=True)


@pytest.mark.parametrize(
    ("files", "strange"),
    [
        (["notes.txt"], "holds notes.txt"),
        (["summary.json"], "holds summary.json"),
        (["jobs.csv"], "holds jobs.csv"),
        (["run.toml"], "holds run.toml"),
        ([*FILES, "notes.txt"], "holds notes.txt"),
        ([*FILES, "figures/wait.png"], "holds figures"),
        (["comparison.json", "easy/notes.txt"], "holds notes.txt"),
        (["comparison.json", "notes.txt"], "holds notes.txt"),
    ],
)
def test_a_folder_with_anything_of_somebody_elses_is_never_replaced(tmp_path, files, strange):
    for name in files:
        (tmp_path / "out" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "out" / name).write_text("precious")
    with pytest.raises(
        InputError, match=f"out exists and {strange}, which is no part of a result: it is never replaced"
    ):
        save(result(), tmp_path / "out", force=True)
    assert all((tmp_path / "out" / name).read_text() == "precious" for name in files)


def test_files_and_links_are_never_replaced(tmp_path):
    (tmp_path / "file").write_text("precious")
    save(result(), tmp_path / "out")
    (tmp_path / "link").symlink_to("out")
    (tmp_path / "dangling").symlink_to("nowhere")
    for name, what in (("file", "no folder"), ("link", "a link to out"), ("dangling", "a link to nowhere")):
        with pytest.raises(InputError, match=f"{name} exists and is {what}: it is never replaced"):
            save(result(), tmp_path / name, force=True)
    assert entries(tmp_path) == ["dangling", "file", "link", "out"]


def test_a_place_that_cannot_be_written_to_is_refused_before_any_work(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot write results to .*file/deep/out: Not a directory"):
        check_free(tmp_path / "file" / "deep" / "out")


def test_folders_above_are_made(tmp_path):
    save(result(), tmp_path / "deep" / "er" / "out")
    assert entries(tmp_path / "deep" / "er") == ["out"]


@pytest.mark.parametrize("trouble", [KeyboardInterrupt, ValueError, SystemExit])
def test_a_crash_while_writing_leaves_nothing_new_and_loses_nothing_old(tmp_path, trouble):
    save(result("fcfs"), tmp_path / "out")

    def fill(folder):
        (folder / "summary.json").write_text("{}")
        raise trouble

    for name in ("new", "out"):
        with pytest.raises(trouble):
            write_folder(tmp_path / name, fill, force=True)
    assert entries(tmp_path) == ["out"]
    assert load(tmp_path / "out").policy == "fcfs"


def test_nothing_that_looks_whole_is_there_while_writing(tmp_path):
    def fill(folder):
        assert entries(tmp_path) == [folder.parent.name]
        assert folder.parent.name.startswith(".out.")
        assert folder.parent.name.endswith(".partial")

    write_folder(tmp_path / "out", fill)
    assert entries(tmp_path) == ["out"]


def test_a_failed_write_is_a_failed_run(tmp_path):
    def fill(folder):
        raise OSError(28, "No space left on device")

    with pytest.raises(RunError, match=r"cannot write results to .*out: No space left on device"):
        write_folder(tmp_path / "out", fill)


def test_a_folder_made_meanwhile_by_somebody_else_is_not_touched(tmp_path):
    def fill(folder):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "notes.txt").write_text("precious")

    with pytest.raises(InputError, match=r"holds notes\.txt"):
        write_folder(tmp_path / "out", fill)
    assert entries(tmp_path) == ["out"]


@pytest.mark.parametrize("name", ["summary.json", "jobs.parquet", "run.toml", "platform.json"])
def test_a_damaged_result_is_told_in_one_sentence(tmp_path, name):
    save(result(), tmp_path / "out")
    (tmp_path / "out" / name).write_text("}")
    with pytest.raises(InputError):
        load(tmp_path / "out")
    (tmp_path / "out" / name).unlink()
    with pytest.raises(InputError):
        load(tmp_path / "out")


def test_loading_a_comparison_names_the_results_in_it(tmp_path):
    save(result("fcfs"), tmp_path / "both" / "fcfs")
    save(result("easy"), tmp_path / "both" / "easy")
    with pytest.raises(InputError, match="both: is not the folder of a result; load one of those in it: easy, fcfs"):
        load(tmp_path / "both")
