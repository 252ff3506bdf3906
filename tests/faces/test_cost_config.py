import math
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspool.errors import InputError
from unspool.faces.cloud.config import CostConfig, PlanTerm, Server, read_config
from unspool.faces.cloud.template import commented_config
from unspool.model.cloud import Disk, Licence, Limits, SpotRule
from unspool.model.platform import MachineGroup, MachineType
from unspool.model.prices import Price
from unspool.platforms.catalogue import Catalogue, CatalogueType, read_catalogue
from unspool.platforms.catalogue.selection import TypeRules
from unspool.platforms.clouds import CloudKeys, cloud_of, describe_cloud

CASES = Path(os.environ.get("UNSPOOL_CASES", Path(__file__).parents[3] / "shared" / "cases")) / "cloud"
GIB = 2**30

# Keys and values of the AWS tool's own file, in its order.
THEIRS = """\
version: 1
instance_mapping:
  hyperthreading: False
  region_name: eu-west-1
  range_minimum: 0
  range_maximum: 1000000
  ram_ranges_GB: [1, 2, 4]
  runtime_ranges_minutes: [1, 5]
  instance_prefix_list:
    - c5.
    - hpc
consumption_model_mapping:
  minimum_cpu_speed:  3
  maximum_minutes_for_spot: 60
  ec2_savings_plan_duration: 1
  ec2_savings_plan_payment_option: 'No Upfront'
  compute_savings_plan_duration: 3
  compute_savings_plan_payment_option: 'All Upfront'
  job_file_batch_size: 500
Jobs:
  QueueRegExps: ['-test', '.*']
  ProjectRegExps: []
ComputeClusterModel:
  BootTime: '2:00'
  IdleTime: 4:00
  SchedulingFrequency: 90
  ShareInstances: True
  ReservedInstances: []
"""
OURS = """\
ComputeClusterModel:
  BootTime: 1-00:00:30
  SpotTerminationProbabilityPerMinute: 0.001
  SpotPrice: median
  SpotRules: [{max_minutes: 30, queue: short}, {project: ren.*, max_cores: 8}]
  MaxSpotRetries: 5
  CheckpointInterval: '30:00'
  MinimumBilledSeconds: 0
  ReservedInstances: [{c1.large: 4}, {m1.large: 2, m1.xlarge: 0}]
  ReservedTerm: RI 1yr standard No Upfront
  ReservedDiscount: 0.4
  OnPremises:
    - {Name: thin, Count: 10, Cores: 16, MemoryGiB: 64, HourlyCost: 0.5}
    - {Cores: 64, GPUs: 4, HourlyCost: 0, Billing: always}
  Billing: used
  Burst: {after: '10:00'}
  MaxInstances: {c1: 5, all: 9}
  MaxVcpus: 128
  InstanceTypes: {include: ['c1[.]'], exclude: [.*metal]}
  Architecture: arm64
  MinGhz: 3.1
  Gpu: false
  Placement: cheapest-fit
  Seed: 7
"""


@pytest.fixture
def read(tmp_path):
    def read(text):
        path = tmp_path / "config.yml"
        path.write_text(text, encoding="utf-8")
        return read_config(path)

    return read


def test_left_out_means_the_default(read):
    assert read_config() == CostConfig()
    for text in ("", "Jobs:\nComputeClusterModel:\n  BootTime:\n", "version: 1"):
        assert replace(read(text), where="configuration") == CostConfig()


def test_defaults_are_those_of_the_specification():
    config = CostConfig()
    assert (config.boot_s, config.idle_s, config.frequency_s, config.shares) == (120.0, 300.0, 120.0, False)
    assert (config.spot_price, config.max_spot_retries, config.minimum_billed_s, config.seed) == ("max", 3, 60.0, 0)
    assert (config.spot_rules, config.burst_after_s, config.placement) == ((SpotRule(60.0),), 0.0, "cheapest-fit")
    assert config.reclaim_per_minute == pytest.approx(1.7096e-4, rel=1e-4)
    assert config.rules.prefixes == ("c7a", "c7i", "hpc", "m7a", "m7i", "r7a", "r7i", "z1d", "x2i", "u")
    assert config.rules.min_ghz == 2.0


def test_the_file_of_the_aws_tool_is_read_as_it_is(read):
    config = read(THEIRS)
    assert (config.region, config.rules) == ("eu-west-1", TypeRules(("c5.", "hpc"), min_ghz=3.0))
    assert (config.boot_s, config.idle_s, config.frequency_s, config.shares) == (120.0, 240.0, 90.0, True)
    assert (config.ec2_plan, config.compute_plan) == (PlanTerm(1, "No Upfront"), PlanTerm(3, "All Upfront"))
    assert (config.memory_bins_gib, config.run_time_bins_min) == ((1, 2, 4), (1, 5))
    assert (config.queues, config.projects) == (("-test", ".*"), ())


def test_every_key_of_ours_is_read(read):
    config = read(OURS)
    assert config.boot_s == 86_430.0
    assert (config.reclaim_per_minute, config.spot_price, config.max_spot_retries) == (0.001, "median", 5)
    assert config.spot_rules == (SpotRule(30.0, "short"), SpotRule(math.inf, project="ren.*", max_cores=8))
    assert (config.checkpoint_s, config.minimum_billed_s) == (1800.0, 0.0)
    assert config.reserved == {"c1.large": 4, "m1.large": 2}
    assert (config.reserved_term, config.reserved_discount) == ("RI 1yr standard No Upfront", 0.4)
    assert config.on_premises == (
        Server("thin", 10, 16, 64 * GIB, 0, 0.5, "used"), Server("on-premises-2", 1, 64, 0, 4, 0.0, "always"),
    )  # fmt: skip
    assert (config.burst_after_s, config.max_instances, config.max_vcpus) == (
        600.0, Limits(9, {"c1": 5}), Limits(128),
    )  # fmt: skip
    assert config.rules == TypeRules(("",), ("c1[.]",), (".*metal",), "arm64", 3.1, False)
    assert config.seed == 7


@pytest.mark.parametrize(("minutes", "rules"), [(0, ()), (15, (SpotRule(15.0),))])
def test_minutes_for_spot_are_one_rule(read, minutes, rules):
    assert read(f"consumption_model_mapping: {{maximum_minutes_for_spot: {minutes}}}").spot_rules == rules


def test_the_commented_file_says_what_leaving_all_out_would(read):
    config = read(commented_config())
    assert replace(config, where="configuration", region=None) == CostConfig()
    assert config.region == read_catalogue().region(None)


def test_the_commented_examples_can_be_used(read):
    text = commented_config()
    for line in text.splitlines():
        key, _, value = line.strip().removeprefix("# ").partition(": ")
        if line.startswith("  # ") and key.isalnum() and key[0].isupper() and value and value[0] != "g":
            text = text.replace(line, line.replace("# ", "", 1))
    config = read(text)
    assert config.rules.architecture == "x86_64"
    assert (config.max_instances, config.max_vcpus) == (Limits(100, {"c7i": 20}), Limits(4096))
    assert (config.checkpoint_s, config.reserved_discount) == (1800.0, 0.37)


KNOWN = "Known: ComputeClusterModel, Jobs, consumption_model_mapping, instance_mapping, version"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("instance_maping: {}", f": unknown key 'instance_maping'; did you mean 'instance_mapping'? {KNOWN}"),
        (
            "Jobs: {QueRegExps: []}",
            " in Jobs: unknown key 'QueRegExps'; did you mean 'QueueRegExps'? Known: ProjectRegExps, QueueRegExps",
        ),
        ("Jobs: {Users: }", " in Jobs: unknown key 'Users'. Known: ProjectRegExps, QueueRegExps"),
        (
            "ComputeClusterModel: {OnPremises: [{Cores: 1}, {Cores: 4, Mem: 3}]}",
            " in ComputeClusterModel.OnPremises[1]: unknown key 'Mem'; did you mean 'MemoryGiB'? Known: Billing, "
            "Cores, Count, GPUs, HourlyCost, MemoryGiB, Name",
        ),
        (
            "ComputeClusterModel: {OnPremises: [{Count: 4}]}",
            ": key ComputeClusterModel.OnPremises[0]: object missing required field `Cores`",
        ),
        (
            "ComputeClusterModel: {SpotRules: [{max_min: 3}]}",
            " in ComputeClusterModel.SpotRules[0]: unknown key 'max_min'; did you mean 'max_minutes'? Known: "
            "max_cores, max_minutes, project, queue",
        ),
        (
            "ComputeClusterModel: {InstanceTypes: {includes: []}}",
            " in ComputeClusterModel.InstanceTypes: unknown key 'includes'; did you mean 'include'? Known: exclude, "
            "include",
        ),
        (
            "ComputeClusterModel: {Burst: {aftr: 3}}",
            " in ComputeClusterModel.Burst: unknown key 'aftr'; did you mean 'after'? Known: after",
        ),
        (
            "ComputeClusterModel: {Burst: nevr}",
            ": key ComputeClusterModel.Burst: unknown way to burst 'nevr'; did you mean 'never'? Known: cheapest, "
            "never, or {after: '10:00'}",
        ),
        (
            "ComputeClusterModel: {BootTime: -2:00}",
            ": key ComputeClusterModel.BootTime: '-2:00' is not a duration such as 90, 5 min, 1.5h, 2:00 (minutes "
            "and seconds) or 1-12:00:00",
        ),
        (
            "ComputeClusterModel: {IdleTime: -5}",
            ": key ComputeClusterModel.IdleTime: '-5' is not a duration such as 90, 5 min, 1.5h, 2:00 (minutes and "
            "seconds) or 1-12:00:00",
        ),
        (
            "ComputeClusterModel: {Burst: {after: soon}}",
            ": key ComputeClusterModel.Burst.after: 'soon' is not a duration such as 90, 5 min, 1.5h, 2:00 (minutes "
            "and seconds) or 1-12:00:00",
        ),
        (
            "ComputeClusterModel: {CheckpointInterval: 0}",
            ": key ComputeClusterModel.CheckpointInterval: is 0; expected a duration, or leave it out for no "
            "checkpoints",
        ),
        (
            "ComputeClusterModel: {ShareInstances: 'no'}",
            ": key ComputeClusterModel.ShareInstances: expected `bool`, got `str`",
        ),
        ("ComputeClusterModel: {MinGhz: .nan}", ": key ComputeClusterModel.MinGhz: expected `float` >= 0.0"),
        (
            "ComputeClusterModel: {SpotTerminationProbabilityPerMinute: 1}",
            ": key ComputeClusterModel.SpotTerminationProbabilityPerMinute: expected `float` < 1.0",
        ),
        (
            "ComputeClusterModel: {MaxInstances: {c7i: -1}}",
            ": key ComputeClusterModel.MaxInstances[...]: expected `int` >= 0",
        ),
        (
            "ComputeClusterModel: {SpotPrice: mean}",
            ": key ComputeClusterModel.SpotPrice: unknown value 'mean'; did you mean 'median'? Known: max, median, min",
        ),
        (
            "ComputeClusterModel: {OnPremises: [{Cores: 4, Billing: usd}]}",
            ": key ComputeClusterModel.OnPremises[0].Billing: unknown value 'usd'; did you mean 'used'? Known: "
            "always, used",
        ),
        (
            "consumption_model_mapping: {ec2_savings_plan_duration: 2}",
            ": key consumption_model_mapping.ec2_savings_plan_duration: unknown value '2'. Known: 1, 3",
        ),
        (
            "ComputeClusterModel: {InstanceTypes: {exclude: ['a(']}}",
            ": key ComputeClusterModel.InstanceTypes.exclude: 'a(' is no regular expression: missing ), unterminated "
            "subpattern at position 1",
        ),
        (
            "ComputeClusterModel: {SpotRules: [{queue: '['}]}",
            ": key ComputeClusterModel.SpotRules[0].queue: '[' is no regular expression: unterminated character set "
            "at position 0",
        ),
        (
            "Jobs: {QueueRegExps: ['-*']}",
            ": key Jobs.QueueRegExps: '*' is no regular expression: nothing to repeat at position 0",
        ),
        (
            "instance_mapping: {ram_ranges_GB: [2, 1]}",
            ": key instance_mapping.ram_ranges_GB: expected upper bounds, each above the one before",
        ),
        (
            "instance_mapping: {range_minimum: 9, range_maximum: 8}",
            ": key instance_mapping.range_maximum: is 8; expected more than range_minimum, 9",
        ),
        (
            "instance_mapping: {instance_prefix_list: []}",
            ": key instance_mapping.instance_prefix_list: is empty; expected prefixes, '' for all types",
        ),
        (
            "ComputeClusterModel: {ReservedInstances: [{c5.large: 1}, {C5.large: 2}]}",
            ": key ComputeClusterModel.ReservedInstances[1]: C5.large stands twice; give one number",
        ),
        (
            "ComputeClusterModel: {OnPremises: [{Name: a, Cores: 1, HourlyCost: 1}, {Name: a, Cores: 2}]}",
            ": key ComputeClusterModel.OnPremises[1].Name: 'a' stands twice; give each its own",
        ),
        (
            "ComputeClusterModel: {OnPremises: [{Cores: 1, HourlyCost: 1}, {Name: b, Cores: 2}]}",
            ": key ComputeClusterModel.OnPremises[1].HourlyCost: is missing; give US dollars an hour of each machine, "
            "as in {Name: node, Count: 100, Cores: 64, MemoryGiB: 256, HourlyCost: 0.9}, or 0 if they cost nothing",
        ),
        (
            "ComputeClusterModel: {OnPremises: [{Cores: 1, HourlyCost: }]}",
            ": key ComputeClusterModel.OnPremises[0].HourlyCost: is missing; give US dollars an hour of each machine, "
            "as in {Name: node, Count: 100, Cores: 64, MemoryGiB: 256, HourlyCost: 0.9}, or 0 if they cost nothing",
        ),
        (
            "ComputeClusterModel: {ReservedInstances: {c5.large: 1, C5.large: 2}}",
            ": key ComputeClusterModel.ReservedInstances: C5.large stands twice; give one number",
        ),
        ("[1, 2]", ": expected `object`, got `array`"),
        ("a: [", ": not valid YML: line 1: expected the node content, but found '<stream end>'"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_in_one_sentence(read, tmp_path, text, complaint):
    with pytest.raises(InputError) as raised:
        read(text)
    assert str(raised.value) == f"{tmp_path / 'config.yml'}{complaint}"


@given(st.sampled_from([THEIRS, OURS]), st.integers(0, 900), st.text(max_size=4))
@settings(max_examples=150)
def test_a_spoilt_file_is_read_or_refused(tmp_path_factory, text, at, spoilt):
    path = tmp_path_factory.mktemp("spoilt") / "config.yml"
    path.write_text(text[:at] + spoilt + text[at + len(spoilt) :], encoding="utf-8", errors="replace")
    with suppress(InputError):
        assert read_config(path).boot_s >= 0.0


def test_a_file_that_is_not_there_says_how_to_get_one(tmp_path):
    path = tmp_path / "none.yml"
    with pytest.raises(InputError) as raised:
        read_config(path)
    hint = "expected a .yml file such as `unspool cost --init` writes"
    assert str(raised.value) == f"{path}: there is no such file; {hint}"


TERMS = {"RI 1yr standard No Upfront": 0.07, "RI 3yr standard All Upfront": 0.04}
CATALOGUE = Catalogue(
    (
        CatalogueType("mars", "c1.large", 2, 1, 2, 4 * GIB, "x86_64", 3.0, "nitro", on_demand=0.1, reserved=TERMS,
                      spot={"max": 0.05, "median": 0.03, "min": 0.02}, price_date="2030-01-31"),
        CatalogueType("mars", "m1.large", 4, 2, 2, 16 * GIB, "x86_64", 3.0, "nitro", on_demand=0.4),
        CatalogueType("mars", "x1.large", 4, 2, 2, 16 * GIB, "x86_64", 3.0, "nitro"),
    ),
    "this",
)  # fmt: skip
ALL = "instance_mapping: {instance_prefix_list: ['']}\n"


def test_the_cluster_is_what_the_configuration_says(read):
    servers = "[{Name: own, Count: 3, Cores: 8, MemoryGiB: 32, HourlyCost: 0.5, Billing: used}]"
    keys = "BootTime: 10, SpotPrice: median, MaxVcpus: {c1: 8}, ReservedInstances: [{m1.large: 2}]"
    text = f"{ALL}ComputeClusterModel: {{{keys}, OnPremises: {servers}}}"
    platform = read(text).platform(CATALOGUE)
    assert platform.groups == (
        MachineGroup(MachineType("own", 8, 32 * GIB, prices=(Price(0.5, "on-premises"),), billing="used"), 3),
        MachineGroup(MachineType("m1.large", 2, 16 * GIB, prices=(Price(0.4, "reserved"),), plan="reserved"), 2),
    )
    cloud = platform.cloud
    assert [each.name for each in cloud.types] == ["c1.large", "m1.large"]
    first = cloud.types[0]
    assert (first.cores, first.vcpus, first.memory_bytes, first.family) == (1, 2, 4 * GIB, "c1")
    assert (first.on_demand_usd_per_hour, first.spot_usd_per_hour, first.reserved_usd_per_hour) == (0.1, 0.03, 0.04)
    assert cloud.types[1].spot_usd_per_hour is None
    assert (cloud.boot_s, cloud.frequency_s, cloud.max_vcpus) == (10.0, 120.0, Limits(None, {"c1": 8}))
    assert (cloud.region, cloud.price_date) == ("mars", "2030-01-31")


def test_with_hyperthreading_a_core_is_a_vcpu(read):
    mapping = "instance_mapping: {instance_prefix_list: [c1], hyperthreading: true}"
    text = f"{mapping}\nComputeClusterModel: {{ReservedInstances: [{{m1.large: 1}}]}}"
    platform = read(text).platform(CATALOGUE)
    assert (platform.cloud.types[0].cores, platform.groups[0].machine.cores) == (2, 4)


@pytest.mark.parametrize(
    ("keys", "price", "note"),
    [
        ("ReservedInstances: [{c1.large: 1}]", 0.04, "reserved c1.large: $0.04 an hour, RI 3yr standard All Upfront"),
        (
            "ReservedInstances: [{c1.large: 1}], ReservedTerm: RI 1yr standard No Upfront",
            0.07,
            "reserved c1.large: $0.07 an hour, RI 1yr standard No Upfront",
        ),
        (
            "ReservedInstances: [{m1.large: 1}], ReservedDiscount: 0.25",
            0.3,
            "reserved m1.large: $0.3 an hour, on demand less 0.25",
        ),
        (
            "ReservedInstances: [{m1.large: 1}]",
            0.4,
            "reserved m1.large: $0.4 an hour, the price on demand, since the catalogue has none for reserved ones",
        ),
    ],
)
def test_reserved_instances_have_the_price_of_their_term_or_discount(read, keys, price, note):
    config = read(f"{ALL}ComputeClusterModel: {{{keys}}}")
    machine = config.platform(CATALOGUE).groups[0].machine
    assert machine.prices[0].usd_per_hour == pytest.approx(price, rel=1e-12)
    assert config.notes(CATALOGUE) == ("1 of 3 types left out: the catalogue has no price of them", note)


def test_reserved_instances_as_a_mapping_are_a_list_of_one(read):
    one, other = (
        read(f"ComputeClusterModel: {{ReservedInstances: {text}}}") for text in ("{c1.large: 2}", "[{c1.large: 2}]")
    )
    assert one == other
    assert one.reserved == {"c1.large": 2}
    assert read("ComputeClusterModel: {ReservedInstances: {c1.large: 2, m1.large: 1}}").reserved == {
        "c1.large": 2, "m1.large": 1,
    }  # fmt: skip


def test_prices_and_shares_of_notes_have_no_exponent(read):
    cheap = Catalogue((CatalogueType("mars", "n1.nano", 2, 1, 2, GIB, on_demand=2e-5),), "this")
    keys = "ReservedInstances: {n1.nano: 1}, ReservedDiscount: 0.00001"
    config = read(f"{ALL}consumption_model_mapping: {{minimum_cpu_speed: 0}}\nComputeClusterModel: {{{keys}}}")
    assert config.notes(cheap) == ("reserved n1.nano: $0.0000199998 an hour, on demand less 0.00001",)
    dear = Catalogue((CatalogueType("mars", "n1.nano", 2, 1, 2, GIB, on_demand=2e6),), "this")
    assert replace(config, reserved_discount=0.5).notes(dear)[0].startswith("reserved n1.nano: $1,000,000 an hour")


def test_machines_on_premises_that_cost_nothing_are_noted(read):
    free, paid, none = "Name: free, HourlyCost: 0", "HourlyCost: 0.5", "Name: none, Count: 0, HourlyCost: 0"
    servers = ", ".join(f"{{Cores: 4, {each}}}" for each in (free, paid, none))
    config = read(f"{ALL}ComputeClusterModel: {{OnPremises: [{servers}]}}")
    assert config.notes(CATALOGUE)[1:] == ("on premises: HourlyCost of free is 0, so its use is free of charge",)


@pytest.mark.parametrize(
    ("burst", "after_s"), [("cheapest", 0.0), ("never", math.inf), ("{after: '10:00'}", 600.0), ("{after: 90}", 90.0)]
)
def test_when_jobs_burst(read, burst, after_s):
    text = f"{ALL}ComputeClusterModel: {{Burst: {burst}, OnPremises: [{{Cores: 4, HourlyCost: 1}}]}}"
    assert read(text).platform(CATALOGUE).cloud.burst_after_s == after_s


RESERVED = "key ComputeClusterModel.ReservedInstances"


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        (
            "Burst: never",
            "Burst is never, and there is no machine to run jobs on; give OnPremises or ReservedInstances, or let "
            "Burst be cheapest",
        ),
        (
            "ReservedInstances: [{c1.lage: 1}]",
            f"{RESERVED}: this has no type 'c1.lage' in mars; did you mean 'c1.large'? `unspool catalogue list "
            "--region mars` lists what there is",
        ),
        (
            "ReservedInstances: [{x1.large: 1}]",
            f"{RESERVED}: x1.large has no price in the catalogue, reserved or on demand",
        ),
        (
            "ReservedInstances: [{c1.large: 1}], ReservedTerm: RI 1yr standard",
            "key ComputeClusterModel.ReservedTerm: unknown term for c1.large 'RI 1yr standard'; did you mean 'RI 1yr "
            "standard No Upfront'? Known: RI 1yr standard No Upfront, RI 3yr standard All Upfront",
        ),
        ("MaxVcpus: {c2: 4}", "key ComputeClusterModel.MaxVcpus: the catalogue has no family 'c2'; did you mean 'c1'?"),
        (
            "OnPremises: [{Name: c1.large, Cores: 4, HourlyCost: 1}], ReservedInstances: [{c1.large: 1}]",
            "'c1.large' is both on premises and reserved; rename the servers",
        ),
    ],
)
def test_a_cluster_that_cannot_be_is_refused(read, tmp_path, keys, complaint):
    config = read(f"{ALL}ComputeClusterModel: {{{keys}}}")
    with pytest.raises(InputError) as raised:
        config.platform(CATALOGUE)
    assert str(raised.value) == f"{tmp_path / 'config.yml'}: {complaint}"


def test_defaults_and_the_catalogue_that_ships_make_a_cluster():
    cloud = CostConfig().platform(read_catalogue()).cloud
    assert cloud.region == "eu-west-1"
    assert {each.family for each in cloud.types} == {
        "c7a", "c7i", "hpc7a", "hpc7g", "m7a", "m7i", "r7a", "r7i", "x2idn", "x2iedn", "z1d",
    }  # fmt: skip


def test_the_case_of_the_aws_tool_is_read():
    path = CASES / "tie-free" / "config.yml"
    if not path.exists():
        pytest.skip("tie-free is not here; UNSPOOL_CASES says where cases are")
    config = read_config(path)
    assert (config.boot_s, config.idle_s, config.frequency_s, config.shares) == (0.0, 240.0, 0.0, True)
    assert config.spot_rules == ()
    cloud = config.platform(read_catalogue(path.with_name("instance_type_info.json.gz"))).cloud
    assert (len(cloud.types), cloud.price_date) == (75, "")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("BootTime: 1e300", "BootTime: is too long; expected at most 1,000,000,000 seconds, which is 31 years"),
        ("IdleTime: 2e9", "IdleTime: is too long; expected at most 1,000,000,000 seconds, which is 31 years"),
        ("IdleTime: '99999999999:00'", "IdleTime"),
        ("SchedulingFrequency: 1e12", "SchedulingFrequency"),
        ("Burst: {after: 1e10}", "Burst.after"),
        ("OnPremises: [{Cores: 4, MemoryGiB: 1e12}]", "OnPremises[0].MemoryGiB"),
        ("OnPremises: [{Cores: 1000000000000}]", "OnPremises[0].Cores"),
        ("OnPremises: [{Cores: 4, Count: 1000000000000}]", "OnPremises[0].Count"),
        ("ReservedInstances: [{c7i.large: 1000000000000}]", "ReservedInstances[0]"),
    ],
)
def test_amounts_that_no_cluster_has_are_refused_with_their_key(tmp_path, text, told):
    (path := tmp_path / "c.yml").write_text(f"ComputeClusterModel:\n  {text}\n")
    with pytest.raises(InputError, match="expected") as found:
        read_config(path)
    assert told in str(found.value)


def test_disks_and_licences_are_read(tmp_path):
    path = tmp_path / "config.yml"
    path.write_text(
        "ComputeClusterModel:\n"
        "  Disks: [{GiB: 100, UsdPerGiBMonth: 0.08}, {types: m7i, GiBPerCore: 4, UsdPerGiBMonth: 0.1}]\n"
        "  Licences: [{Name: os, UsdPerHour: 0.06, types: c7}, {Name: spice, UsdPerHeldHour: 1.5}]\n"
    )
    config = read_config(path)
    assert config.disks == (Disk(0.08, gib=100.0), Disk(0.1, gib_per_core=4.0, types="m7i"))
    assert config.licences == (Licence("os", 0.06, types="c7"), Licence("spice", usd_per_held_hour=1.5))
    cloud = config.platform(read_catalogue()).cloud
    assert (cloud.disks, cloud.licences) == (config.disks, config.licences)
    assert cloud_of(msgspec.json.decode(msgspec.json.encode(describe_cloud(cloud)), type=CloudKeys)) == cloud


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ("Disks: [{UsdPerGiBMonth: 0.08}]", "Disks[0]: has no size; give GiB, GiBPerCore or both"),
        ("Disks: [{GiB: 1, UsdPerGiBMonth: 1, types: '('}]", "Disks[0].types: '(' is no regular expression"),
        ("Licences: [{Name: x}]", "Licences[0]: 'x' has no price; give UsdPerHour"),
        ("Licences: [{Name: x, UsdPerHeldHour: 1, types: c}]", "Licences[0].types: has no effect on UsdPerHeldHour"),
        ("Licences: [{Name: x, UsdPerHour: -1}]", "UsdPerHour"),
    ],
)
def test_disks_and_licences_that_mean_nothing_are_refused(tmp_path, keys, told):
    path = tmp_path / "config.yml"
    path.write_text(f"ComputeClusterModel:\n  {keys}\n")
    with pytest.raises(InputError) as error:
        read_config(path)
    assert told in str(error.value)
