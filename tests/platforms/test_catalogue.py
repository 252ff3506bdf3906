import csv
import gzip
import json
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspool.errors import InputError
from unspool.platforms.catalogue import Catalogue, CatalogueType, read_catalogue
from unspool.platforms.catalogue.fields import spot_prices
from unspool.platforms.catalogue.selection import TypeRules, select
from unspool.platforms.catalogue.tables import LAYOUTS

CASES = Path(os.environ.get("UNSPOOL_CASES", Path(__file__).parents[3] / "shared" / "cases")) / "cloud"
DATA = Path(os.environ.get("UNSPOOL_DATA", CASES.parents[1] / "data")) / "clouds"
GIB = 2**30

OURS = """\
region,type,cores,vcpus,memory_gib,architecture,on_demand_usd_per_hour,ghz,hypervisor,gpus,gpu,spot_max_usd_per_hour,\
spot_median_usd_per_hour,spot_min_usd_per_hour,price_date,RI 1yr standard No Upfront,EC2 SP 3yr All Upfront
mars,m1.large,1,2,7.5,x86_64,0.1,3.5,nitro,0,,0.05,0.04,0.03,2030-01-31,0.07,0.05
mars,M1.metal,8,16,64,x86_64,0.8,3.5,,0,,,,,2030-02-01,,
"""
THEIRS = """\
region,instance_type,vcpus,cores,threads_per_core,memory_gib,arch,sustained_ghz,gpu_name,gpu_count,on_demand_usd_h,\
spot_min_usd_h,spot_median_usd_h,spot_max_usd_h,price_date
mars,g5.large,2,1,2,16.0,x86_64,,A10G,1,1.5,,,,2030-01-31
"""
OLD = {"CoreCount": 2, "ThreadsPerCore": 2, "MemoryInMiB": 8192, "SustainedClockSpeedInGhz": 3.0, "Hypervisor": "nitro"}
NEW = {
    "DefaultCores": 2,
    "DefaultThreadsPerCore": 2,
    "DefaultVCpus": 4,
    "MemoryInMiB": 8192,
    "SustainedClockSpeedInGhz": 3.0,
    "Hypervisor": "nitro",
}
PRICING = {"OnDemand": 0.2, "spot": {"a": 0.06, "b": 0.1, "c": 0.07, "min": 0.06, "max": 0.1}}


def written(tmp_path, content, name="catalogue.csv"):
    path = tmp_path / name
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def case(name):
    path = CASES / name
    if not path.exists():
        pytest.skip(f"{name} is not here; UNSPOOL_CASES says where cases are")
    return path


def test_what_ships_has_the_facts_of_the_table_that_it_was_made_from():
    shipped = {(each.region, each.name): each for each in read_catalogue().types}
    facts = list(csv.DictReader(case("ec2_catalogue_default.csv").read_text().splitlines()))
    assert len(facts) == 200
    for row in facts:
        each = shipped[row["region"], row["instance_type"]]
        assert (each.vcpus, each.cores, each.threads) == tuple(
            int(row[name]) for name in ("vcpus", "cores", "threads_per_core")
        )
        assert each.memory_bytes == float(row["memory_gib"]) * GIB
        assert (each.architecture, each.ghz) == (row["arch"], float(row["sustained_ghz"]))
        assert (each.gpus, each.gpu) == (int(row["gpu_count"]), row["gpu_name"])
        # The table rounds some prices on demand, and has spot prices of Local Zones: those are compared below.
        assert each.on_demand == pytest.approx(float(row["on_demand_usd_h"]), abs=6e-5)
        assert bool(each.spot) == bool(row["spot_max_usd_h"])
        assert each.price_date == row["price_date"]


def test_what_ships_is_in_every_region_what_the_large_table_says():
    every = {(each.region, each.name): each for each in read_catalogue(case("ec2_catalogue.csv")).types}
    shipped = read_catalogue()
    assert len(shipped.types) == 1161
    for each in shipped.types:
        told = every[each.region, each.name]
        assert each.on_demand == pytest.approx(told.on_demand, abs=6e-5)
        assert replace(each, on_demand=told.on_demand, spot=told.spot) == told


def test_every_row_that_ships_is_that_of_the_checked_prices():
    """No price of a Local Zone, and no price on demand that is rounded."""
    path = DATA / "ec2.csv.gz"
    if not path.exists():
        pytest.skip("clouds/ec2.csv.gz is not here; UNSPOOL_DATA says where shared data are")
    every = {(each.region, each.name): each for each in read_catalogue(path).types}
    shipped = read_catalogue().types
    assert len(shipped) == 1161
    assert [each for each in shipped if each != every[each.region, each.name]] == []


def _is_odd(each):
    """Whether zones of one region hardly differ so much: a price of a Local Zone can be a fifth or three times as high.

    In the 1,140 rows with prices of zones of the region alone the median is at most 2.3 times the least price, the
    highest at most 3.1 times the median, and none is above that on demand but for its last digit.
    """
    low, middle, high = (each.spot[which] for which in ("min", "median", "max"))
    return middle > 2.5 * low or high > 3.3 * middle or high > each.on_demand + 5.1e-5


def test_spot_prices_that_ship_differ_no_more_than_those_of_zones_of_a_region():
    assert [(each.region, each.name) for each in read_catalogue().types if each.spot and _is_odd(each)] == []


@pytest.mark.parametrize(
    ("low", "middle", "high", "on_demand"),
    [(0.3443, 1.8532, 2.016, 2.016), (0.553, 2.06185, 2.3136, 4.608), (1.3635, 2.017, 7.68, 6.144)],
)
def test_prices_of_local_zones_that_shipped_once_are_odd(low, middle, high, on_demand):
    assert _is_odd(replace(FLEET.types[0], spot={"min": low, "median": middle, "max": high}, on_demand=on_demand))


def test_what_ships_has_200_types_priced_and_dated():
    shipped = read_catalogue()
    assert len({each.name for each in shipped.types}) == 200
    assert all(each.on_demand and each.price_date for each in shipped.types)
    assert shipped.region(None) == "eu-west-1"
    assert shipped.dates("us-east-1") == "2026-08-22"


def test_our_columns_are_read(tmp_path):
    large, metal = read_catalogue(written(tmp_path, OURS)).types
    assert large == CatalogueType(
        region="mars",
        name="m1.large",
        vcpus=2,
        cores=1,
        threads=2,
        memory_bytes=15 * GIB // 2,
        architecture="x86_64",
        ghz=3.5,
        hypervisor="nitro",
        on_demand=0.1,
        spot={"max": 0.05, "median": 0.04, "min": 0.03},
        reserved={"RI 1yr standard No Upfront": 0.07},
        ec2_savings_plan={"EC2 SP 3yr All Upfront": 0.05},
        price_date="2030-01-31",
    )
    assert (metal.name, metal.family, metal.hypervisor, metal.spot, metal.reserved) == ("m1.metal", "m1", "", {}, {})


def test_the_other_columns_are_read(tmp_path):
    (each,) = read_catalogue(written(tmp_path, THEIRS)).types
    assert (each.name, each.ghz, each.hypervisor, each.gpus, each.gpu) == ("g5.large", None, None, 1, "A10G")
    assert (each.on_demand, each.spot) == (1.5, {})


@pytest.mark.parametrize("name", ["info.json", "info.json.gz", "info"])
def test_instance_type_info_is_read_in_both_its_forms(tmp_path, name):
    content = {
        "mars": {"instance_types": {"m1.old": {**OLD, "pricing": PRICING}, "m1.new": {**NEW, "pricing": PRICING}}}
    }
    old, new = read_catalogue(written(tmp_path, content, name)).types
    for each in (old, new):
        assert (each.cores, each.threads, each.vcpus, each.memory_bytes) == (2, 2, 4, 8 * GIB)
        assert each.spot == {"max": 0.1, "median": 0.07, "min": 0.06}
        assert each.price_date is None


def test_a_type_without_prices_is_kept_and_never_chosen(tmp_path):
    types = {"m1.sold": {**NEW, "pricing": PRICING}, "m1.other": NEW, "m1.empty": {**NEW, "pricing": {"spot": {}}}}
    catalogue = read_catalogue(written(tmp_path, {"mars": {"instance_types": types}}))
    assert [each.can_be_started for each in catalogue.types] == [True, False, False]
    chosen = select(catalogue, None, TypeRules())
    assert [each.name for each in chosen.types] == ["m1.sold"]
    assert chosen.notes == ("2 of 3 types left out: the catalogue has no price of them",)


def test_invented_prices_of_the_cases_are_read():
    types = read_catalogue(case("instance_type_info.json")).types_of("eu-west-1")
    assert (types["c5.large"].on_demand, types["c5.large"].cores) == (0.06, 1)
    assert types["c5.large"].spot == pytest.approx({"max": 0.03, "median": 0.0285, "min": 0.027})
    assert types["hpc6a.48xlarge"].spot == {}


def test_a_price_file_of_2022_is_read_whole():
    catalogue = read_catalogue(case("tie-free/instance_type_info.json.gz"))
    assert len(catalogue.types) == 482
    assert [each.name for each in catalogue.types if not each.can_be_started] == ["mac1.metal"]
    prefixes = ("c5.", "m5.", "r5.", "z1d", "c6i", "m6i", "r6i")
    chosen = select(catalogue, "eu-west-1", TypeRules(prefixes))
    assert {each.family for each in chosen.types} == {
        "c5", "m5", "r5", "z1d", "c6i", "c6id", "m6i", "m6id", "r6i",
    }  # fmt: skip
    assert not any("metal" in each.name for each in chosen.types)
    assert catalogue.types_of("eu-west-1")["c5.large"].reserved["RI 3yr standard No Upfront"] == 0.041


def test_the_median_of_an_even_number_of_zones_is_the_mean_of_the_middle_two():
    assert spot_prices([0.4, 0.1, 0.2, 0.3])["median"] == 0.25
    assert spot_prices([0.3]) == {"max": 0.3, "median": 0.3, "min": 0.3}


ROW = "mars,m1.large,1,2,4,x86_64,0.1"
HEAD = "region,type,cores,vcpus,memory_gib,architecture,on_demand_usd_per_hour"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            f"{HEAD}\n{ROW}\nmars,m1.xlarge,two,4,8,x86_64,0.2\n",
            ", line 3, m1.xlarge: cores is 'two'; expected a whole number, 1 or more",
        ),
        (
            f"{HEAD}\nmars,m1.large,1,2,4,x86_64,-0.1\n",
            ", line 2, m1.large: on_demand_usd_per_hour is '-0.1'; expected dollars an hour, 0 or more, or nothing",
        ),
        (
            f"{HEAD}\nmars,m1.large,1,2,,x86_64,0.1\n",
            ", line 2, m1.large: memory_gib is missing; expected an amount of memory above 0",
        ),
        (
            f"{HEAD}\nmars,m1.large,4,2,4,x86_64,0.1\n",
            ", line 2, m1.large: vcpus is '2'; expected as many as cores (4) or more",
        ),
        (f"{HEAD}\n{ROW}\n{ROW}\n", ": m1.large stands twice in mars; keep one"),
        (f"{HEAD}\nmars,m1.large,1,2\n", ", line 2: 4 values; expected 7, as in the first line"),
        (f"{HEAD}\nmars,,1,2,4,x86_64,0.1\n", ", line 2: no type; every type needs one"),
        (
            f"{HEAD},price_date\n{ROW},soon\n",
            ", line 2, m1.large: price_date is 'soon'; expected a date such as 2026-08-22",
        ),
        (
            f"{HEAD},spot_max_usd_per_hour\n{ROW},0.1\n",
            ", line 2, m1.large: spot_median_usd_per_hour is missing; expected spot prices all three, or none",
        ),
        (
            "region,type,cores,vcpu\n",
            ", line 1: no column vcpus (is vcpu meant?); a catalogue has region, type, cores, vcpus, memory_gib, "
            "architecture, on_demand_usd_per_hour, and this file region, type, cores, vcpu",
        ),
        (
            "job_id,submit_time,run_time,cores\n",
            ", line 1: no column region; a catalogue has region, type, cores, vcpus, memory_gib, architecture, "
            "on_demand_usd_per_hour, and this file job_id, submit_time, run_time, cores",
        ),
        (f"{HEAD}\n", ": no type of instance in it; expected one a line, below the names of the columns"),
        ("{", ": not valid JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        (
            '{"mars": 3}',
            ", mars: int in place of an object; expected {region: {instance_types: {name: {…}}}}, as in "
            "instance_type_info.json",
        ),
        (
            '{"mars": {"instance_types": {"m1": {"DefaultCores": 2}}}}',
            ", mars, m1: DefaultThreadsPerCore is missing; expected a whole number, 1 or more",
        ),
        (
            json.dumps({"mars": {"instance_types": {"m1": {**NEW, "pricing": {"spot": {"a": "x"}}}}}}),
            ", mars, m1, pricing, spot: a is 'x'; expected dollars an hour, 0 or more, or nothing",
        ),
    ],
)
def test_a_bad_catalogue_is_refused_with_the_place(tmp_path, text, complaint):
    path = written(tmp_path, text)
    with pytest.raises(InputError) as raised:
        read_catalogue(path)
    assert str(raised.value) == f"{path}{complaint}"


@given(st.sampled_from([OURS, THEIRS, json.dumps({"mars": {"instance_types": {"m1": {**NEW, "pricing": PRICING}}}})]),
       st.integers(0, 700), st.text(max_size=3))  # fmt: skip
@settings(max_examples=200)
def test_a_spoilt_catalogue_is_read_or_refused(tmp_path_factory, text, at, spoilt):
    path = tmp_path_factory.mktemp("spoilt") / "catalogue"
    path.write_text(text[:at] + spoilt + text[at + len(spoilt) :], encoding="utf-8")
    with suppress(InputError):
        assert read_catalogue(path).types


def made(*types):
    return Catalogue(tuple(CatalogueType("mars", name, 2, 1, 2, GIB, **facts) for name, facts in types), "this")


FLEET = made(
    ("c1.large", {"on_demand": 0.1, "ghz": 3.0, "architecture": "x86_64", "hypervisor": "nitro"}),
    ("c1.metal", {"on_demand": 0.1, "ghz": 3.0, "architecture": "x86_64", "hypervisor": ""}),
    ("c1g.large", {"on_demand": 0.1, "ghz": 2.5, "architecture": "arm64"}),
    ("hpc1.large", {"on_demand": 0.1, "architecture": "x86_64"}),
    ("m1.large", {"on_demand": 0.1, "ghz": 3.5, "architecture": "x86_64", "hypervisor": "xen"}),
    ("p1.large", {"on_demand": 0.1, "ghz": 2.0, "architecture": "x86_64", "gpus": 1, "gpu": "A100"}),
)


@pytest.mark.parametrize(
    ("rules", "left"),
    [
        (TypeRules(), ["c1.large", "c1g.large", "hpc1.large", "p1.large"]),
        (TypeRules(("C1.",)), ["c1.large"]),
        (TypeRules(("c1", "p")), ["c1.large", "c1g.large", "p1.large"]),
        (TypeRules(include=("c1",), exclude=(".*g[.]",)), ["c1.large"]),
        (TypeRules(architecture="arm64"), ["c1g.large"]),
        (TypeRules(min_ghz=2.5), ["c1.large", "c1g.large"]),
        (TypeRules(gpu=True), ["p1.large"]),
        (TypeRules(gpu=False), ["c1.large", "c1g.large", "hpc1.large"]),
        (TypeRules(gpu="a100"), ["p1.large"]),
    ],
)
def test_rules_choose_types(rules, left):
    assert [each.name for each in select(FLEET, None, rules).types] == left


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        (TypeRules(("x",)), "instance_prefix_list [x] leaves none of 6"),
        (TypeRules(("c1.m",)), "the hypervisor nitro leaves none of 1"),
        (TypeRules(include=("d",)), "InstanceTypes.include [d] leaves none of 6"),
        (TypeRules(exclude=("",)), "InstanceTypes.exclude [] leaves none of 6"),
        (TypeRules(architecture="x86"), "Architecture x86 leaves none of 4"),
        (TypeRules(("hpc",), min_ghz=2.0), "a clock that the catalogue says, for a minimum of GHz, leaves none of 1"),
        (TypeRules(min_ghz=9.0), "a minimum of 9 GHz leaves none of 3"),
        (TypeRules(("c1",), gpu=True), "Gpu true leaves none of 2"),
    ],
)
def test_an_empty_choice_says_which_rule_left_nothing(rules, told):
    with pytest.raises(InputError) as raised:
        select(FLEET, None, rules)
    hint = "`unspool catalogue list --region mars` lists what there is"
    assert str(raised.value) == f"no instance type is left to choose from: {told} in mars of this; {hint}"


def test_expressions_that_match_nothing_and_unknown_clocks_are_noted():
    chosen = select(FLEET, None, TypeRules(exclude=("metal",), min_ghz=1.0))
    assert chosen.notes == (
        "InstanceTypes.exclude: 'metal' matches no type from the start of its name",
        "1 of 4 types left out: the catalogue does not say their clock",
    )


def test_a_region_that_is_not_there_names_those_that_are():
    catalogue = Catalogue((*FLEET.types, CatalogueType("venus", "c1.large", 2, 1, 2, GIB)), "this")
    assert (FLEET.region(None), catalogue.region("venus")) == ("mars", "venus")
    with pytest.raises(InputError, match="this has the regions mars, venus; say which, as region_name"):
        catalogue.region(None)
    with pytest.raises(InputError) as raised:
        catalogue.region("venice")
    assert str(raised.value) == (
        "unknown region 'venice'; did you mean 'venus'? Known: mars, venus. These are the regions of this; "
        "give another file with --catalogue for prices of others"
    )


def test_the_file_that_ships_has_our_columns():
    file = Path(__import__("unspool").__file__).parent / "platforms" / "catalogue" / "ec2.csv"
    header = file.read_text().partition("\n")[0].split(",")
    assert sorted(header) == sorted(set(LAYOUTS[0].columns) - {"provider", "family"})
