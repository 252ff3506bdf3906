"""The dataset: whole files only, a key counts once, one writer."""

import errno
import os
from pathlib import Path

import polars as pl
import pytest
from tests.sweeps.tiny import LOG, thread_place, write_log

from unspool import storage
from unspool.errors import InputError, RunError
from unspool.sweeps import grid_of, run_sweep
from unspool.sweeps.store import Store


def row(key, value=1.0, error=None, **more):
    return {"key": key, "error": error, "f": value, "elapsed_s": 0.1, "host": "h", **more}


def filled(folder, *batches):
    store = Store(folder)
    with store.opened():
        store.write_facts({"design": []})
        for batch in batches:
            store.add(batch)
            store.flush()
    return store


def test_the_last_row_of_a_key_counts_and_it_counts_once(tmp_path):
    store = filled(tmp_path / "s", [row("a", 1.0), row("b", None, "it failed")], [row("b", 3.0)])
    assert store.frame().select("key", "f", "error").rows() == [("a", 1.0, None), ("b", 3.0, None)]
    assert store.keys(failed=False) == {"a", "b"}
    assert len(store.parts()) == 2
    with store.opened():
        store.compact()
    assert len(store.parts()) == 1
    assert store.frame().select("key", "f").rows() == [("a", 1.0), ("b", 3.0)]


def test_failed_runs_are_missing_only_if_they_are_to_be_made_again(tmp_path):
    store = filled(tmp_path / "s", [row("a"), row("b", None, "it failed")])
    assert store.keys() == {"a", "b"}
    assert store.keys(failed=False) == {"a"}


def test_only_the_runs_of_the_plan_are_given_in_its_order(tmp_path):
    store = filled(tmp_path / "s", [row("a"), row("old"), row("b")])
    with store.opened():
        store.write_plan(["b", "a", "missing"])
    assert store.frame()["key"].to_list() == ["b", "a"]


def test_what_was_left_half_written_is_removed(tmp_path):
    store = filled(tmp_path / "s", [row("a")])
    left = tmp_path / "s" / "runs" / ".part-00000001.parquet.0123abcd.part"
    left.write_bytes(b"PAR1 half")
    with store.opened():
        store.add([row("b")])
        store.flush()
    assert not left.exists()
    assert store.keys() == {"a", "b"}


def test_columns_that_only_some_rows_have_and_mixed_types_fit_together(tmp_path):
    store = filled(
        tmp_path / "s", [row("a", IdleTime=60, jobs=3)], [row("b", None, "failed", IdleTime="5:00")],
        [row("c", Burst='{"after": 600}', flag=True)],
    )  # fmt: skip
    found = store.frame()
    assert found["IdleTime"].to_list()[1:] == ["5:00", None]
    assert found["jobs"].to_list() == [3, None, None]
    assert found.schema["flag"] == pl.Boolean


def test_two_sweeps_do_not_write_to_one_folder(tmp_path):
    with (
        Store(tmp_path / "s").opened(),
        pytest.raises(InputError, match="another sweep"),
        Store(tmp_path / "s").opened(),
    ):
        pass


def test_folders_of_something_else_are_not_touched(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="holds no sweep"):
        Store(tmp_path).check_free(resume=False)
    with pytest.raises(InputError, match="no sweep to resume"):
        Store(tmp_path / "s").check_free(resume=True)
    filled(tmp_path / "s", [row("a")])
    with pytest.raises(InputError, match="--resume"):
        Store(tmp_path / "s").check_free(resume=False)
    Store(tmp_path / "s").check_free(resume=True)


def test_a_damaged_part_is_named(tmp_path):
    store = filled(tmp_path / "s", [row("a")])
    store.parts()[0].write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"part-00000000\.parquet: is damaged"):
        store.keys()


def test_a_full_disk_leaves_what_was_there_whole_and_says_what_to_do(tmp_path, monkeypatch):
    def full(step, path):
        if step == "write":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    store = filled(tmp_path / "s", [row("a")])
    with store.opened(), monkeypatch.context() as patch:
        patch.setattr(storage, "fault", full)
        store.add([row("b")])
        with pytest.raises(RunError, match="make room, then say --resume"):
            store.flush()
    assert store.keys() == {"a"}
    with store.opened():
        store.add([row("b")])
        store.flush()
    assert store.keys() == {"a", "b"}


@pytest.mark.parametrize("first", ["log.csv", "absent.csv"])
def test_a_sweep_that_could_not_begin_leaves_nothing_in_the_way_of_the_next(tmp_path, monkeypatch, first):
    monkeypatch.chdir(tmp_path)
    write_log(tmp_path)
    wanted = grid_of({"run": {"platform": 4}, "grid": {"workload": list(dict.fromkeys([first, "absent.csv"]))}})
    for folder in ("new", "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        with pytest.raises(InputError, match="absent"):
            run_sweep(wanted, folder, thread_place())
    assert (Path("new").exists(), list(Path("empty").iterdir())) == (False, [])
    (tmp_path / "absent.csv").write_text(LOG + "9,9,1,9\n")
    assert run_sweep(wanted, "new", thread_place())["error"].is_null().all()


def test_a_search_that_could_not_begin_leaves_nothing(tmp_path):
    pytest.importorskip("optuna", reason="needs Optuna: pip install 'unspool[search]'")
    content = {"run": {"workload": write_log(tmp_path), "platform": 4}, "search": {"minimise": "mean_wait_s"}}
    with pytest.raises(InputError, match="nothing in"):
        run_sweep(grid_of(content), tmp_path / "s", thread_place())
    with pytest.raises(InputError, match="absent"):
        run_sweep(grid_of({**content, "grid": {"outages": ["mtbf=3d,repair=1h", "absent.csv"]}}), tmp_path / "s",
                  thread_place())  # fmt: skip
    assert not (tmp_path / "s").exists()


def test_what_a_sweep_left_that_was_killed_before_it_began_is_no_hindrance(tmp_path):
    store = Store(tmp_path / "s")
    (store.folder / "runs").mkdir(parents=True)
    (store.folder / "inputs").mkdir()
    (store.folder / ".lock").touch()
    (store.folder / "inputs" / f"log-{'0' * 32}.arrow").touch()
    store.check_free(resume=False)
    (store.folder / "inputs" / "mine.txt").touch()
    with pytest.raises(InputError, match="holds no sweep"):
        store.check_free(resume=False)


def test_a_folder_that_another_sweep_is_beginning_in_is_left_alone(tmp_path):
    pytest.importorskip("fcntl", reason="needs locks of files")
    one, other = Store(tmp_path / "s"), Store(tmp_path / "s")
    with one.opened():
        (one.folder / "inputs").mkdir()
        with pytest.raises(InputError, match="another sweep is writing there"), other.opened():
            pass
        assert sorted(each.name for each in one.folder.iterdir()) == [".lock", "inputs", "runs"]
    assert not one.folder.exists()
