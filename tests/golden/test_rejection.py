"""Jobs that can never run on a platform: each is listed with its reason, and the run goes on."""

import pytest
from tests.build import POLICIES, everywhere, workload

from unspool.model.platform import MachineGroup, MachineType, Partition, Platform
from unspool.results.run import run

GIB = 1 << 30


def reasons(jobs, platform):
    return dict(run(jobs, platform, "fcfs").rejected.select("job_id", "reason").rows())


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("platform", ["4", "4x1"])
def test_job_larger_than_the_platform_is_rejected_and_the_run_goes_on(platform, policy):
    jobs = workload([(0, 10, 4, 10), (0, 10, 5, 10), (0, 10, 1, 10)])
    result = run(jobs, platform, policy)
    assert result.jobs.select("job_id", "start_time").rows() == [("a", 0), ("c", 10)]
    assert result.rejected.rows() == [(2, "b", "asks for 5 cores; the platform has 4")]
    assert (result.counts["jobs"], result.counts["rejected_jobs"]) == (2, 1)


@everywhere
def test_log_of_which_nothing_can_run_gives_an_empty_result(cluster):
    result = run(workload([(0, 10, 90, 10), (0, 10, 91, 10)]), cluster(4), "easy")
    assert (len(result.jobs), len(result.rejected)) == (0, 2)
    assert result.summary["jobs"] == 0


def test_memory_that_no_machine_has_is_a_reason():
    jobs = workload([(0, 1, 1, 1), (0, 1, 1, 1)], memory_bytes=[9 * GIB, 8 * GIB])
    assert reasons(jobs, "2x4:8GiB") == {"a": "asks for 1 unit of 1 core with 9 GiB; the empty platform has room for 0"}


def test_more_machines_than_there_are_is_a_reason():
    jobs = workload([(0, 1, 3, 1), (0, 1, 2, 1)], machines=[3, 2])
    assert reasons(jobs, "2x4") == {"a": "asks for 3 machines of 1 core; the empty platform has room for 2"}


def test_machines_with_more_cores_than_any_has_is_a_reason():
    jobs = workload([(0, 1, 10, 1), (0, 1, 8, 1)], machines=[2, 2])
    assert reasons(jobs, "3x4") == {"a": "asks for 2 machines of 5 cores; the empty platform has room for 0"}


def test_consumables_that_no_machine_has_are_part_of_the_reason():
    platform = Platform((MachineGroup(MachineType("m", 4, consumables={"fpga": 1}), 2),))
    jobs = workload([(0, 1, 1, 1), (0, 1, 1, 1)], licences=["fpga:2", "fpga"])
    assert reasons(jobs, platform) == {"a": "asks for 1 unit of 1 core and 2 fpga; the empty platform has room for 0"}


def test_gpus_on_machines_without_any_are_a_reason():
    assert list(reasons(workload([(0, 1, 1, 1), (0, 1, 1, 1)], gpus=[1, 0]), "2x4")) == ["a"]


def test_pool_does_not_look_at_gpus_and_says_so():
    result = run(workload([(0, 1, 1, 1), (0, 1, 1, 1)], gpus=[1, 0]), "4", "fcfs")
    assert len(result.jobs) == 2
    assert result.notes == ("1 job asks for GPUs, which this platform does not model: not looked at",)


def test_unknown_partition_is_a_reason_that_names_the_nearest():
    platform = Platform((MachineGroup(MachineType("m", 4), 1),), (Partition("batch", ("m",)),))
    found = reasons(workload([(0, 1, 1, 1), (0, 1, 1, 1)], partition=["bach", "batch"]), platform)
    assert list(found) == ["a"]
    assert "did you mean 'batch'?" in found["a"]


def test_job_larger_than_its_partition_is_rejected():
    groups = (MachineGroup(MachineType("thin", 2), 1), MachineGroup(MachineType("fat", 8), 1))
    platform = Platform(groups, (Partition("thin", ("thin",)), Partition("all", ("thin", "fat"))))
    jobs = workload([(0, 1, 3, 1), (0, 1, 3, 1)], partition=["thin", "all"])
    assert reasons(jobs, platform) == {"a": "asks for 3 units of 1 core; the empty platform has room for 2"}


def test_more_licences_than_the_platform_has_is_a_reason():
    platform = Platform((MachineGroup(MachineType("m", 4), 1),), licences={"solver": 2})
    jobs = workload([(0, 1, 1, 1), (0, 1, 1, 1)], licences=["solver:3", "solver:2"])
    assert reasons(jobs, platform) == {"a": "asks for more licences than the platform has"}


def test_unknown_licence_is_a_reason_that_names_the_nearest():
    platform = Platform((MachineGroup(MachineType("m", 4), 1),), licences={"solver": 2})
    found = reasons(workload([(0, 1, 1, 1)], licences=["sovler:1"]), platform)
    assert "did you mean 'solver'?" in found["a"]


@pytest.mark.parametrize("text", ["solver:many", ":1", "solver:-1", "solver:1.5"])
def test_licences_that_do_not_read_are_a_reason(text):
    platform = Platform((MachineGroup(MachineType("m", 4), 1),), licences={"solver": 2})
    found = reasons(workload([(0, 1, 1, 1), (0, 1, 1, 1)], licences=[text, "solver"]), platform)
    assert found == {"a": f"licences '{text}' do not read as name:amount,name:amount"}


def test_row_of_neighbours_longer_than_any_is_a_reason():
    # Rows of machines that may be used: 1 machine, then 2.
    groups = tuple(MachineGroup(MachineType(name, 2), 1) for name in "wxyz")
    platform = Platform(groups, (Partition("p", ("w", "y", "z")),), selection="contiguous")
    jobs = workload([(0, 1, 5, 1), (0, 1, 4, 1)], partition=["p", "p"])
    assert list(reasons(jobs, platform)) == ["a"]


def test_records_that_the_reader_rejected_stand_before_the_jobs_that_cannot_run(tmp_path):
    log = tmp_path / "log.swf"
    log.write_text(
        "1 0 -1 -1 1 -1 -1 1 10 -1 -1 -1 -1 -1 -1 -1 -1 -1\n2 0 -1 5 9 -1 -1 9 10 -1 -1 -1 -1 -1 -1 -1 -1 -1\n"
    )
    result = run(log, "4", "fcfs")
    assert [row[:2] for row in result.rejected.rows()] == [(1, "1"), (2, "2")]
    assert (result.counts["rejected_records"], result.counts["rejected_jobs"]) == (1, 1)
