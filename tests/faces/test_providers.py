import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool import Workload, run
from unspool.analysis.costs import costs_of
from unspool.errors import InputError
from unspool.faces.cloud.config import read_config
from unspool.faces.cloud.outputs import write_costs
from unspool.platforms.catalogue import read_catalogue
from unspool.platforms.catalogue.names import clean_name, family_of, provider_of

GIB = 2**30

# Invented prices. Small jobs are least expensive at aws, large ones at azure, those with much memory at gcp.
HEADER = "provider,region,type,cores,vcpus,memory_gib,architecture,on_demand_usd_per_hour,hypervisor\n"
ALL = (
    HEADER + "aws,eu-west-1,c9.large,2,4,8,x86_64,0.10,nitro\n"
    "aws,eu-west-1,c9.metal,64,128,256,x86_64,0.01,\n"
    "Azure,westeurope,Standard_F16s_v9,16,32,32,x86_64,0.60,\n"
    "Azure,eastus,Standard_F16s_v9,16,32,32,x86_64,0.01,\n"
    "GCP,europe-west1,n9-highmem-4,4,8,64,x86_64,0.50,\n"
)
CONFIG = """\
consumption_model_mapping: {minimum_cpu_speed: 0, maximum_minutes_for_spot: 0}
ComputeClusterModel:
  BootTime: 0
  IdleTime: 0
  SchedulingFrequency: 0
  Providers: {aws: eu-west-1, Azure: westeurope, gcp: europe-west1}
"""


def files(tmp_path, config=CONFIG, prices=ALL):
    (tmp_path / "config.yml").write_text(config)
    (tmp_path / "all.csv").write_text(prices)
    return read_config(tmp_path / "config.yml"), read_catalogue(tmp_path / "all.csv")


def costs(platform, *jobs):
    table = {
        "job_id": [f"j{at}" for at in range(len(jobs))],
        "submit_time": [0.0] * len(jobs),
        "run_time": [3600.0] * len(jobs),
        "cores": [cores for cores, _ in jobs],
        "memory_bytes": [gib * GIB for _, gib in jobs],
    }
    log = Workload.of(pl.DataFrame(table))
    return costs_of(run(log, platform, "cheapest-fit"), log)


def test_a_run_takes_the_least_expensive_type_that_fits_of_all_providers_and_bills_each(tmp_path):
    config, catalogue = files(tmp_path)
    found = costs(config.platform(catalogue), (1, 4), (16, 8), (1, 48), (1, 4))
    assert found.bill.machines.select("type", "provider", "family").rows() == [
        ("c9.large", "aws", "c9"),
        ("standard_f16s_v9", "azure", "fs_v9"),
        ("n9-highmem-4", "gcp", "n9-highmem"),
        ("c9.large", "aws", "c9"),
    ]
    assert found.summary["provider_cost_usd"] == {"azure": 0.6, "gcp": 0.5, "aws": 0.2}
    assert found.summary["total_cost_usd"] == pytest.approx(1.3)
    assert found.summary["region"] == "aws eu-west-1, azure westeurope, gcp europe-west1"


def test_the_bill_by_provider_is_written(tmp_path):
    config, catalogue = files(tmp_path)
    folder = write_costs(costs(config.platform(catalogue), (1, 4), (16, 8)), tmp_path / "out")
    table = pl.read_csv(folder / "by_provider.csv")
    assert table.select("provider", "machines", "cost_usd").rows() == [("azure", 1, 0.6), ("aws", 1, 0.1)]
    assert table["cost_share"].sum() == pytest.approx(1.0)
    assert pl.read_csv(folder / "instances.csv")["provider"].to_list() == ["aws", "azure"]
    assert "Providers" in (folder / "report.html").read_text()


def test_reserved_instances_of_any_provider_are_billed_under_it(tmp_path):
    config, catalogue = files(tmp_path, CONFIG + "  ReservedInstances: [{Standard F16s v9: 1}]\n")
    found = costs(config.platform(catalogue), (1, 4))
    assert found.summary["provider_cost_usd"] == {"azure": 0.6}


def test_the_shipped_catalogue_and_another_are_one(tmp_path):
    config, _ = files(tmp_path)
    both = read_catalogue("built-in", tmp_path / "all.csv")
    assert both.providers == ("aws", "azure", "gcp")
    assert {each.provider for each in read_catalogue().types} == {"aws"}
    names = {each.name for each in config.platform(both).cloud.types}
    assert {"c7i.large", "standard_f16s_v9", "n9-highmem-4"} < names


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ("{azure: westeurope, ibm: here}", "unknown provider 'ibm'"),
        ("{azure: westeuropa}", "unknown region of azure 'westeuropa'; did you mean 'westeurope'?"),
    ],
)
def test_a_provider_or_region_that_is_not_there_is_refused(tmp_path, config, told):
    config, catalogue = files(tmp_path, f"ComputeClusterModel: {{Providers: {config}}}\n")
    with pytest.raises(InputError, match=r"key ComputeClusterModel\.Providers: ") as error:
        config.platform(catalogue)
    assert told in str(error.value)


def test_a_provider_of_which_no_type_is_left_is_refused(tmp_path):
    prices = ALL.replace("\n", ",ghz\n", 1).replace("nitro\n", "nitro,3\n").replace(",\n", ",,\n")
    config, catalogue = files(tmp_path, "ComputeClusterModel: {Providers: {aws: eu-west-1, gcp: europe-west1}}", prices)
    with pytest.raises(InputError, match=r"no type of gcp is left to choose from; .*minimum_cpu_speed: 0"):
        config.platform(catalogue)


def test_names_are_the_same_with_blanks_and_any_letters(tmp_path):
    _, catalogue = files(tmp_path, prices=HEADER + "azure,west,Standard D8s v5,4,8,32,x86_64,0.4,\n")
    assert [(each.name, each.family, each.provider) for each in catalogue.types] == [
        ("standard_d8s_v5", "ds_v5", "azure")
    ]
    config, _ = files(
        tmp_path,
        "instance_mapping: {region_name: west, instance_prefix_list: ['Standard D']}\n"
        "consumption_model_mapping: {minimum_cpu_speed: 0}\n"
        "ComputeClusterModel: {InstanceTypes: {include: [Standard_D]}}\n",
    )
    assert [kind.name for kind in config.platform(catalogue).cloud.types] == ["standard_d8s_v5"]


@pytest.mark.parametrize(
    ("name", "provider", "family"),
    [
        ("m7i-flex.large", "aws", "m7i-flex"),
        ("u-6tb1.56xlarge", "aws", "u-6tb1"),
        ("hpc7a.96xlarge", "aws", "hpc7a"),
        ("Standard_HB120rs_v3", "azure", "hbrs_v3"),
        ("Standard_HB120-64rs_v3", "azure", "hbrs_v3"),
        ("Standard_B2ms", "azure", "bms"),
        ("Basic_A4", "azure", "a"),
        ("Standard_M416s_8_v2", "azure", "ms_8_v2"),
        ("c2d-highcpu-112", "gcp", "c2d-highcpu"),
        ("h3-standard-88", "gcp", "h3-standard"),
        ("n2-custom-4-16384", "gcp", "n2-custom"),
        ("f1-micro", "gcp", "f1"),
        ("a3-ultragpu-8g", "gcp", "a3-ultragpu"),
    ],
)
def test_families_are_told_from_names(name, provider, family):
    assert (provider_of(clean_name(name)), family_of(clean_name(name))) == (provider, family)


@given(st.text())
def test_any_name_has_a_family(name):
    assert isinstance(family_of(clean_name(name)), str)


def test_a_family_that_is_given_counts(tmp_path):
    _, catalogue = files(
        tmp_path,
        prices="provider,region,type,family,cores,vcpus,memory_gib,architecture,on_demand_usd_per_hour\n"
        "alibaba,here,ecs.g7.large,g7,1,2,8,x86_64,0.1\n",
    )
    assert [(each.provider, each.family) for each in catalogue.types] == [("alibaba", "g7")]
