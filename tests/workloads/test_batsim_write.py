import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspool.errors import InputError, UnknownName
from unspool.model.profile import (
    Delay,
    ForkJoin,
    HomogeneousTask,
    Merge,
    Receive,
    Send,
    Sequence,
    Staging,
    StorageTask,
    Task,
    Trace,
)
from unspool.model.workload import Workload
from unspool.workloads import read_workload, write_workload
from unspool.workloads.batsim import read_batsim
from unspool.workloads.batsim_write import write_batsim

LOG = pl.DataFrame(
    {
        "job_id": ["a", "b", "c"],
        "submit_time": [100.0, 100.5, 200.0],
        "run_time": [10.0, 0.25, 10.0],
        "cores": [2, 1, 4],
        "walltime": [5.0, None, 20.0],
    }
)


def written(tmp_path, workload, **options):
    path = tmp_path / "out.json"
    notes = write_batsim(workload, path, force=True, **options)
    return json.loads(path.read_text()), notes


def test_a_log_is_written_with_exact_delays_one_for_each_run_time(tmp_path):
    found, notes = written(tmp_path, Workload.of(LOG, max_cores=8))
    assert found == {
        "nb_res": 8,
        "jobs": [
            {"id": "a", "subtime": 100, "res": 2, "profile": "delay_10", "walltime": 5},
            {"id": "b", "subtime": 100.5, "res": 1, "profile": "delay_0.25"},
            {"id": "c", "subtime": 200, "res": 4, "profile": "delay_10", "walltime": 20},
        ],
        "profiles": {"delay_10": {"type": "delay", "delay": 10}, "delay_0.25": {"type": "delay", "delay": 0.25}},
    }
    assert notes == ()


def test_run_times_can_be_written_as_work_for_machines_of_a_speed(tmp_path):
    found, _ = written(tmp_path, Workload.of(LOG), profile="computation", speed=2e9)
    assert found["nb_res"] == 4
    assert found["profiles"] == {
        "computation_10": {"type": "parallel_homogeneous", "cpu": 2e10, "com": 0},
        "computation_0.25": {"type": "parallel_homogeneous", "cpu": 5e8, "com": 0},
    }


def test_a_job_that_takes_no_time_is_work_of_nothing_since_no_delay_may_be_0(tmp_path):
    log = Workload.of(LOG.with_columns(run_time=pl.lit(0.0)))
    found, _ = written(tmp_path, log)
    assert found["profiles"] == {"computation_0": {"type": "parallel_homogeneous", "cpu": 0, "com": 0}}
    assert read_batsim(tmp_path / "out.json").table["run_time"].to_list() == [0.0] * 3


def test_what_the_format_cannot_hold_is_noted(tmp_path):
    log = Workload.of(
        LOG.with_columns(
            group=pl.lit("g"), machines=pl.lit(1), walltime=pl.lit(0.0), user=pl.lit("u"), depends_on=pl.lit("a,b"),
            licences=pl.lit("x:2"), priority=pl.lit(2.0), queue=pl.lit("q"),
        ),
        origin_unix_s=1e9,
    )  # fmt: skip
    found, notes = written(tmp_path, log)
    assert notes == (
        "a Batsim workload has no place for group, origin_unix_s: left out",
        "2 jobs ask for machines of several cores: res is the number of cores",
        "3 jobs have a walltime of 0, which Batsim does not take: written without one",
    )
    assert found["jobs"][0] == {
        "id": "a", "subtime": 100, "res": 2, "profile": "delay_10",
        "user": "u", "queue": "q", "priority": 2, "licenses": "x:2", "dependencies": ["a", "b"],
    }  # fmt: skip


def test_what_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(UnknownName, match="did you mean 'computation'"):
        written(tmp_path, Workload.of(LOG), profile="computing")
    with pytest.raises(InputError, match="speed is 0; expected flops a second, more than 0"):
        written(tmp_path, Workload.of(LOG), profile="computation", speed=0)
    with pytest.raises(InputError, match="jobs name 1 profile that is not there, the first 'gone'"):
        written(tmp_path, Workload.of(LOG.with_columns(profile=pl.lit("gone"))))
    with pytest.raises(InputError, match="3 job ids have a !, the first 'w0!a'"):
        written(tmp_path, Workload.of(LOG.with_columns(job_id="w0!" + pl.col("job_id"))))
    with pytest.raises(InputError, match="job a: details is 'x'; expected a JSON object with its free fields"):
        written(tmp_path, Workload.of(LOG.with_columns(details=pl.lit("x"))))
    assert not (tmp_path / "out.json").exists()


def test_options_of_the_writer_are_given_with_the_format(tmp_path):
    path = tmp_path / "w.json"
    write_workload(Workload.of(LOG), path, "batsim:profile=computation,speed=1e6")
    assert read_workload(path).profiles["computation_10"] == HomogeneousTask(1e7, 0.0)
    with pytest.raises(UnknownName, match="unknown option of the format batsim 'sped'; did you mean 'speed'"):
        write_workload(Workload.of(LOG), path, "batsim:sped=1e6", force=True)
    with pytest.raises(UnknownName, match="unknown option of the format swf 'speed'"):
        write_workload(Workload.of(LOG), tmp_path / "w.swf", "swf:speed=1")


def test_what_our_columns_say_counts_before_the_free_fields(tmp_path):
    free = '{"user":"old","queue":"q","dependencies":[1],"x":{"id":1}}'
    log = Workload.of(LOG.head(1).with_columns(details=pl.lit(free), user=pl.lit("new"), queue=pl.lit("q")))
    found, _ = written(tmp_path, log)
    assert found["jobs"][0] == {
        "id": "a", "subtime": 100, "res": 2, "profile": "delay_10", "walltime": 5,
        "user": "new", "queue": "q", "x": {"id": 1},
    }  # fmt: skip


def test_a_made_profile_takes_nobodys_name(tmp_path):
    log = Workload.of(LOG, profiles={"delay_10": Delay(3.0)})
    found, _ = written(tmp_path, log)
    assert found["profiles"]["delay_10"] == {"type": "delay", "delay": 3}
    assert found["jobs"][0]["profile"] == "delay_10_"


def test_traces_are_written_as_seen_from_the_new_folder(tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    (tmp_path / "old" / "t.txt").touch()
    job = {"id": 1, "subtime": 0, "res": 1, "profile": "t"}
    whole = {"nb_res": 1, "jobs": [job], "profiles": {"t": {"type": "smpi", "trace": "t.txt"}}}
    (tmp_path / "old" / "w.json").write_text(json.dumps(whole))
    first = read_batsim(tmp_path / "old" / "w.json")
    write_batsim(first, tmp_path / "new" / "w.json")
    again = read_batsim(tmp_path / "new" / "w.json")
    assert again.profiles == first.profiles == {"t": Trace("smpi", os.fspath(tmp_path / "old" / "t.txt"))}


def test_types_that_only_version_5_has_are_noted(tmp_path):
    profiles = {"d": Delay(1.0), "f": ForkJoin(("d", "d")), "t": HomogeneousTask(1.0, 1.0, "total")}
    _, notes = written(tmp_path, Workload.of(LOG, profiles=profiles))
    assert notes == (
        "Batsim 4 does not know ForkJoinCompositionProfile, ParallelTaskHomogeneousProfile: "
        "written as version 5 names it",
    )


amounts = st.floats(0, 1e15)
positive = st.floats(1e-9, 1e9)
names = st.sampled_from(["a", "é b", '"q"', "\\"])
values = st.recursive(st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3), st.lists, max_leaves=4)
free = st.dictionaries(st.sampled_from(["np", "x", "extra_data", "ü", "user"]), values, max_size=3)
leaves = st.one_of(
    st.builds(Delay, positive),
    st.integers(1, 3).flatmap(
        lambda n: st.builds(
            Task,
            st.tuples(*[amounts] * n),
            st.tuples(*[amounts] * n**2),
        )
    ),
    st.builds(HomogeneousTask, amounts, amounts, st.sampled_from(["each", "total", "total-v4"])),
    st.builds(StorageTask, amounts, amounts, names, st.booleans()),
    st.builds(Staging, amounts, names, names),
    st.builds(Send, st.dictionaries(names, values, max_size=2), positive),
)


@st.composite
def workloads(draw):
    """Workloads as a file of Batsim's may hold them: leaves, profiles of these, and jobs that fit them."""
    parts = draw(st.dictionaries(names, leaves, min_size=1, max_size=4))
    known = sorted(parts)
    members = st.lists(st.sampled_from(known), min_size=1, max_size=3).map(tuple)
    mergeable = [name for name in known if isinstance(parts[name], Task | HomogeneousTask)]
    kinds = [
        st.builds(Sequence, members, st.integers(1, 3)),
        st.builds(ForkJoin, members),
        st.builds(Receive, st.sampled_from([".*", "a|b"]), *[st.none() | st.sampled_from(known)] * 3, positive),
        *([st.builds(Merge, st.lists(st.sampled_from(mergeable), min_size=1).map(tuple))] if mergeable else []),
    ]
    profiles = {**parts, **{f"of {number}": draw(st.one_of(kinds)) for number in range(draw(st.integers(0, 3)))}}
    for name in profiles:
        changes = {"code": draw(st.integers(0, 3)), "details": draw(free)}
        profiles[name] = type(profiles[name])(**{**vars(profiles[name]), **changes})
    return draw(st.lists(jobs_of(profiles), max_size=5, unique_by=lambda job: str(job["id"]))), profiles


def sizes_of(name, profiles):
    profile = profiles[name]
    if isinstance(profile, Task):
        return {len(profile.cpu)}
    others = getattr(profile, "members", ()) or (
        (profile.success, profile.failure, profile.timeout) if isinstance(profile, Receive) else ()
    )
    return {size for other in others if other for size in sizes_of(other, profiles)}


@st.composite
def jobs_of(draw, profiles):
    fitting = [name for name in profiles if len(sizes_of(name, profiles)) < 2]
    name = draw(st.sampled_from(sorted(fitting)))
    sizes = sizes_of(name, profiles)
    return {
        "id": draw(st.integers(0, 20) | names),
        "subtime": draw(st.floats(0, 1e9)),
        "res": next(iter(sizes)) if sizes else draw(st.integers(1, 5)),
        "profile": name,
        **({"walltime": draw(positive)} if draw(st.booleans()) else {}),
        **draw(free),
    }


@given(workloads())
@settings(max_examples=80)
def test_a_workload_that_is_written_and_read_again_is_the_same(made):
    from unspool.workloads.batsim_write import profile_object

    jobs, profiles = made
    whole = {"nb_res": 9, "jobs": jobs, "profiles": {name: profile_object(each) for name, each in profiles.items()}}
    with TemporaryDirectory() as folder:
        first_file, second_file = Path(folder, "w.json"), Path(folder, "v.json")
        first_file.write_text(json.dumps(whole))
        first = read_batsim(first_file)
        assert dict(first.profiles) == profiles
        write_batsim(first, second_file)
        again = read_batsim(second_file)
        assert again.table.equals(first.table)
        assert (again.profiles, again.max_machines, again.digest) == (first.profiles, 9, first.digest)
        plain = json.loads(second_file.read_text())
    assert sorted(map(str, (job["id"] for job in jobs))) == sorted(job["id"] for job in plain["jobs"])


@given(
    st.lists(
        st.tuples(st.floats(0, 1e9), st.floats(0, 1e9), st.integers(1, 100), st.none() | st.floats(0.001, 1e9)),
        min_size=1,
        max_size=8,
    )
)
@settings(max_examples=50)
def test_any_log_keeps_its_times_to_the_last_bit(rows):
    columns = ("submit_time", "run_time", "cores", "walltime")
    table = pl.DataFrame(rows, schema=dict(zip(columns, (pl.Float64, pl.Float64, pl.Int64, pl.Float64), strict=True)),
                         orient="row")  # fmt: skip
    log = Workload.of(table.with_row_index("job_id", offset=100))
    with TemporaryDirectory() as folder:
        write_batsim(log, Path(folder, "w.json"))
        again = read_batsim(Path(folder, "w.json"))
    for column in columns:
        assert dict(zip(log.table["job_id"], log.column(column), strict=True)) == dict(
            zip(again.table["job_id"], again.column(column), strict=True)
        )
