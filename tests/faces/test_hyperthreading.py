"""With hyper-threading jobs get vCPUs, and core-hours stay those of physical cores (spec cloud-cost, B2), on paper."""

import csv
from dataclasses import replace

import msgspec
import polars as pl
import pytest

from unspool import Workload
from unspool.analysis.costs import costs_of
from unspool.faces.cloud.commit import commitments_in, with_commitments
from unspool.faces.cloud.config import read_config
from unspool.faces.cloud.outputs import read_costs, write_costs
from unspool.metrics.cost import cost_by_type
from unspool.platforms.catalogue import read_catalogue
from unspool.platforms.clouds import CloudKeys, cloud_of, describe_cloud
from unspool.results.run import run

HOUR = 3600
TYPES = """\
region,type,cores,vcpus,memory_gib,architecture,on_demand_usd_per_hour
lab,h.large,4,8,32,x86_64,0.80
lab,arm.huge,16,16,64,arm64,1.60
"""
RULES = "BootTime: 0, IdleTime: 0, SchedulingFrequency: 0, ShareInstances: true, MinimumBilledSeconds: 0"


@pytest.fixture
def bill(tmp_path):
    """Costs of jobs of (cores, hosts), an hour each at 0, and the configuration and catalogue."""

    def bill(*rows, threads=True, more=""):
        (tmp_path / "types.csv").write_text(TYPES)
        (tmp_path / "config.yml").write_text(
            f"instance_mapping: {{instance_prefix_list: [''], hyperthreading: {str(threads).lower()}}}\n"
            "consumption_model_mapping: {minimum_cpu_speed: 0, maximum_minutes_for_spot: 0}\n"
            f"ComputeClusterModel: {{{RULES}{more}}}\n"
        )
        config, catalogue = read_config(tmp_path / "config.yml"), read_catalogue(tmp_path / "types.csv")
        cores, hosts = zip(*rows, strict=True)
        table = {"job_id": list("abc"[: len(rows)]), "submit_time": 0, "run_time": HOUR, "cores": cores}
        log = Workload.of(pl.DataFrame({**table, "machines": hosts, "user": "ann"}))
        return costs_of(run(log, config.platform(catalogue), "cheapest-fit"), log), config, catalogue

    return bill


def rows(path):
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.mark.parametrize(("threads", "job_core_hours"), [(True, 2.0), (False, 4.0)])
def test_core_hours_are_those_of_physical_cores(bill, threads, job_core_hours):
    """Four cores of a job are four of eight vCPUs, half of the instance; or all four physical cores of it."""
    costs, _, _ = bill((4, 1), threads=threads)
    told = costs.summary
    assert (told["total_cost_usd"], told["machine_core_hours"]) == (0.8, 4.0)
    assert (told["job_core_hours"], told["usd_per_core_hour"]) == (job_core_hours, 0.8 / job_core_hours)
    hour = costs.hourly.select("OnDemand Core Hours", "h Core Hours", "h OnDemand Costs").row(0)
    assert hour == (4.0, 4.0, 0.8)
    assert cost_by_type(costs.bill)["core_hours"].to_list() == [4.0]


def test_files_keep_cores_and_vcpus_apart(bill, tmp_path):
    costs, config, catalogue = bill((4, 1), (1, 1))
    write_costs(with_commitments(costs, config, catalogue), tmp_path / "out", report=False)
    instance, *others = rows(tmp_path / "out" / "instances.csv")
    assert (instance["type"], instance["cores"], instance["vcpus"], others) == ("h.large", "4", "8", [])
    jobs = rows(tmp_path / "out" / "jobs.csv")
    assert [(job["cores"], job["physical_cores"]) for job in jobs] == [("4", "2.0"), ("1", "0.5")]
    assert rows(tmp_path / "out" / "by_user.csv")[0]["core_hours"] == "2.5"
    assert rows(tmp_path / "out" / "hourly_stats.csv")[0]["h Core Hours"] == "4.0"


def test_without_hyperthreading_the_files_have_no_more_columns(bill, tmp_path):
    costs, _, _ = bill((4, 1), threads=False)
    write_costs(costs, tmp_path / "out", report=False)
    assert "vcpus" not in rows(tmp_path / "out" / "instances.csv")[0]
    assert "physical_cores" not in rows(tmp_path / "out" / "jobs.csv")[0]


@pytest.mark.parametrize("threads", [True, False])
def test_rates_of_a_core_hour_are_those_of_physical_cores_too(bill, tmp_path, threads):
    costs, config, catalogue = bill((4, 1), threads=threads)
    made = with_commitments(costs, config, catalogue)
    assert [rate.usd_per_core_hour for rate in made.commitments.rates] == [0.2]
    write_costs(made, tmp_path / "out", report=False)
    again = commitments_in(tmp_path / "out", config, catalogue, region="lab")
    assert [rate.usd_per_core_hour for rate in again.rates] == [0.2]


def test_the_workbook_counts_physical_cores(bill, tmp_path):
    pytest.importorskip("xlsxwriter", reason="the extra excel is not installed")
    from tests.oracles.workbook import Workbook

    costs, config, catalogue = bill((4, 1))
    write_costs(with_commitments(costs, config, catalogue), tmp_path / "out", report=False, workbook=config)
    book = Workbook(tmp_path / "out" / "hourly_stats.xlsx")
    assert book.value("Hourly", book.column_of("Hourly", "h CHr"), 2) == 4.0
    assert book.value("InstanceFamilyRates", book.column_of("InstanceFamilyRates", "OD Rate"), 2) == 0.2


def test_machines_on_premises_and_types_of_one_thread_count_as_they_are(bill):
    """On two hosts: four vCPUs of a reserved instance are two cores, and the server has four cores for the rest."""
    own = ", OnPremises: [{Name: own, Cores: 4, HourlyCost: 0.1}], ReservedInstances: {h.large: 1}, Burst: never"
    costs, _, _ = bill((8, 2), more=own)
    assert (costs.summary["job_core_hours"], costs.summary["machine_core_hours"]) == (6.0, 8.0)
    assert costs.hourly.select("Reserved Core Hours", "OnPremises Core Hours").row(0) == (4.0, 4.0)
    arm, _, _ = bill((16, 1))
    assert arm.bill.machines["type"].to_list() == ["arm.huge"]
    assert (arm.summary["job_core_hours"], arm.summary["machine_core_hours"]) == (16.0, 16.0)


def test_the_bill_and_who_pays_it_do_not_depend_on_what_is_counted(bill):
    """The same cluster, described so that it does not know of threads, costs each job the same."""
    costs, config, catalogue = bill((4, 1), (1, 1))
    platform = config.platform(catalogue)
    assert platform.cloud.physical_cores == {"h.large": 4}
    blind = replace(platform, cloud=replace(platform.cloud, physical_cores={}))
    log = Workload.of(
        pl.DataFrame({"job_id": ["a", "b"], "submit_time": 0, "run_time": HOUR, "cores": [4, 1], "machines": [1, 1]})
    )
    other = costs_of(run(log, blind, "cheapest-fit"), log)
    assert costs.bill.jobs["cost_usd"].to_list() == other.bill.jobs["cost_usd"].to_list()
    assert other.summary["machine_core_hours"] == 2 * costs.summary["machine_core_hours"]


def test_lost_core_hours_are_of_physical_cores(bill):
    from unspool.metrics.cost import losses

    costs, _, _ = bill((4, 1))
    lost = costs.attempts.with_columns(how=pl.lit("lost"))
    assert losses(costs.bill.machines, lost, costs.allocations)["lost_core_hours"] == 2.0


def test_what_was_written_is_read_back_with_its_threads(bill, tmp_path):
    costs, config, catalogue = bill((4, 1))
    write_costs(costs, tmp_path / "out", report=False)
    assert read_costs(tmp_path / "out").hourly.equals(costs.hourly)
    cloud = config.platform(catalogue).cloud
    assert cloud_of(msgspec.json.decode(msgspec.json.encode(describe_cloud(cloud)), type=CloudKeys)) == cloud
