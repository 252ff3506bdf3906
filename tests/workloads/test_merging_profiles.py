import json

import polars as pl
import pytest

from unspool.errors import InputError
from unspool.model.profile import Delay, Receive, Sequence
from unspool.model.workload import Workload
from unspool.workloads import transform
from unspool.workloads.batsim import read_batsim
from unspool.workloads.batsim_write import write_batsim
from unspool.workloads.merging import prefixed


def log(ids, profiles, **columns):
    names = list(profiles)
    table = pl.DataFrame({"job_id": ids, "submit_time": [float(at) for at in range(len(ids))]}).with_columns(
        run_time=pl.lit(1.0), cores=pl.lit(1), profile=pl.lit(names[-1]), **columns
    )
    return Workload.of(table, profiles=profiles)


def test_a_part_of_a_workload_keeps_its_profiles():
    workload = log(["a", "b", "c"], {"d": Delay(1.0)})
    parts = [workload[:2], transform.window(workload, 1.0), transform.filter(workload, "job_id == 'a'")]
    assert all(part.profiles == {"d": Delay(1.0)} for part in [*parts, transform.scale_load(workload, 2.0)])


def test_profiles_of_one_name_that_are_the_same_are_one():
    both = transform.merge([log(["a"], {"d": Delay(1.0)}), log(["b"], {"e": Delay(2.0), "d": Delay(1.0)})])
    assert both.profiles == {"d": Delay(1.0), "e": Delay(2.0)}
    assert both.table["profile"].to_list() == ["d", "d"]


def test_profiles_of_one_name_that_differ_get_the_number_of_their_log():
    first = log(["a"], {"d": Delay(1.0), "s": Sequence(("d", "d"))})
    second = log(["b"], {"d": Delay(2.0), "s": Sequence(("d", "d"))})
    both = transform.merge([first, second])
    assert both.profiles == {
        "1-d": Delay(1.0), "1-s": Sequence(("1-d", "1-d")), "2-d": Delay(2.0), "2-s": Sequence(("2-d", "2-d"))
    }  # fmt: skip
    assert both.table.select("job_id", "profile").rows() == [("a", "1-s"), ("b", "2-s")]
    assert "1 name of profiles means different ones: all have the number of their log in front, as 2-d" in both.notes


def test_a_log_without_profiles_merges_with_one_that_has_them():
    plain = Workload.of(pl.DataFrame({"job_id": ["x"], "submit_time": [0], "run_time": [3], "cores": [1]}))
    both = transform.merge([log(["a"], {"d": Delay(1.0)}), plain])
    assert dict(zip(both.table["job_id"], both.table["profile"], strict=True)) == {"a": "d", "x": None}


def test_a_prefix_reaches_jobs_profiles_and_all_that_name_them():
    profiles = {"d": Delay(1.0), "r": Receive(success="d"), "s": Sequence(("r", "d"))}
    workload = log(["a", "b"], profiles, depends_on=pl.Series([None, "a,w1!z"]))
    named = prefixed(workload, "w0")
    assert named.table.select("job_id", "depends_on", "profile").rows() == [
        ("w0!a", None, "w0!s"), ("w0!b", "w0!a,w1!z", "w0!s")
    ]  # fmt: skip
    assert named.profiles == {
        "w0!d": Delay(1.0), "w0!r": Receive(success="w0!d"), "w0!s": Sequence(("w0!r", "w0!d"))
    }  # fmt: skip


def test_prefixed_workloads_merge_without_clashes():
    workloads = [log(["a"], {"d": Delay(seconds)}) for seconds in (1.0, 2.0)]
    both = transform.merge([prefixed(workload, f"w{at}") for at, workload in enumerate(workloads)])
    assert both.table["job_id"].to_list() == ["w0!a", "w1!a"]
    assert both.profiles == {"w0!d": Delay(1.0), "w1!d": Delay(2.0)}


def test_run_times_that_profiles_say_are_not_scaled_behind_their_back():
    with pytest.raises(InputError, match="its jobs have profiles, which scale_run_times does not change"):
        transform.scale_run_times(log(["a"], {"d": Delay(1.0)}), 2.0)


def test_jobs_left_out_are_no_longer_waited_for_in_the_file_either(tmp_path):
    job = {"id": "a", "subtime": 0, "res": 1, "profile": "d"}
    whole = {"nb_res": 1, "jobs": [job, {**job, "id": "b", "subtime": 5, "dependencies": ["a"], "x": 1}],
             "profiles": {"d": {"type": "delay", "delay": 1}}}  # fmt: skip
    (tmp_path / "w.json").write_text(json.dumps(whole))
    write_batsim(transform.window(read_batsim(tmp_path / "w.json"), 1.0), tmp_path / "v.json")
    (left,) = json.loads((tmp_path / "v.json").read_text())["jobs"]
    assert left == {"id": "b", "subtime": 5, "res": 1, "profile": "d", "x": 1}
