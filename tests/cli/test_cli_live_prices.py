import json
import sys
from contextlib import contextmanager

import pytest
from tests.platforms.aws_server import Replies, product, rate, served

from unspool.errors import InputError
from unspool.platforms.catalogue import read_catalogue
from unspool.platforms.catalogue.replies import plan_rates, prices_of, zone_prices
from unspool.platforms.catalogue.write import update_catalogue, write_catalogue

REGION = "eu-west-1"
FEW = ("c5.large", "c7g.xlarge", "p4d.24xlarge", "m5.metal")
PRODUCTS = [
    [
        product(
            "c5.large",
            0.096,
            [(1, "standard", "No Upfront", 0.06, None), (3, "convertible", "All Upfront", 0.0, 876.0)],
        ),
        product("c7g.xlarge", 0.1656, [(1, "standard", "Partial Upfront", 0.05, 438.0)]),
    ],
    [product("p4d.24xlarge", 35.0)],
]
RATES = [
    [rate("c5.large", "EC2Instance", 1, "No Upfront", 0.061), rate("c5.large", "Compute", 3, "All Upfront", 0.046)],
    [
        rate("c5.large", "EC2Instance", 3, "No Upfront", 0.9, "UnusedBox"),
        rate("c7g.xlarge", "Compute", 3, "All Upfront", 0.07),
    ],
]


@pytest.fixture
def aws(request, monkeypatch):
    """EC2 of moto, and a server of ours for the rest; `with aws(replies):`."""
    pytest.importorskip("boto3", reason="boto3 is not installed: the extra aws")
    moto = pytest.importorskip("moto", reason="moto is not installed: pip install 'moto[ec2]'")
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    # All types that moto knows take seconds as XML; a handful is enough for most tests.
    models = pytest.importorskip("moto.ec2.models.instance_types")
    if "slow" not in request.keywords:
        backend, offers = models.InstanceTypeBackend, models.INSTANCE_TYPE_OFFERINGS["availability-zone"]
        few = [one for one in backend.instance_types if one["InstanceType"] in FEW]
        monkeypatch.setattr(backend, "instance_types", few)
        monkeypatch.setitem(offers, REGION, [one for one in offers[REGION] if one["InstanceType"] in FEW])

    @contextmanager
    def entered(replies):
        with served(replies) as address:
            for service in ("PRICING", "SAVINGSPLANS"):
                monkeypatch.setenv(f"AWS_ENDPOINT_URL_{service}", address)
            with moto.mock_aws():
                yield

    return entered


def fetched(**options):
    from unspool.platforms.catalogue.aws import fetch_types

    return fetch_types(REGION, price_date="2030-01-31", **options)


def test_types_of_ec2_have_their_sizes_and_all_their_prices_from_every_page(aws):
    replies = Replies(PRODUCTS, RATES)
    with aws(replies):
        found = {each.name: each for each in fetched().types}
    assert sorted(found) == ["c5.large", "c7g.xlarge", "m5.metal", "p4d.24xlarge"]
    small = found["c5.large"]
    assert (small.cores, small.vcpus, small.threads, small.memory_bytes) == (1, 2, 2, 4 * 2**30)
    assert (small.architecture, small.ghz, small.hypervisor, small.price_date) == ("x86_64", 3.4, "nitro", "2030-01-31")
    assert small.on_demand == 0.096
    # $876 upfront over three years of 8,760 hours are a thirtieth of a dollar an hour.
    assert small.reserved == {
        "RI 1yr standard No Upfront": 0.06,
        "RI 3yr convertible All Upfront": pytest.approx(1 / 30),
    }
    assert small.ec2_savings_plan == {"EC2 SP 1yr No Upfront": 0.061}
    assert small.compute_savings_plan == {"Compute SP 3yr All Upfront": 0.046}
    assert set(small.spot) == {"max", "median", "min"}
    arm, gpus, metal = found["c7g.xlarge"], found["p4d.24xlarge"], found["m5.metal"]
    assert (arm.architecture, arm.reserved) == ("arm64", {"RI 1yr standard Partial Upfront": pytest.approx(0.1)})
    assert (gpus.gpus, gpus.gpu, gpus.on_demand) == (8, "A100", 35.0)
    assert (metal.hypervisor, metal.on_demand) == ("", None)


@pytest.mark.slow
def test_every_type_that_moto_knows_can_be_written_and_read_back(aws, tmp_path):
    with aws(Replies(PRODUCTS, RATES)):
        found = fetched().types
    assert len(found) > 500
    write_catalogue(found, tmp_path / "all.csv")
    assert read_catalogue(tmp_path / "all.csv").types == found


def test_prices_are_asked_for_linux_on_shared_machines_of_the_region(aws):
    replies = Replies(PRODUCTS, RATES)
    with aws(replies):
        fetched()
    asked = {each["Field"]: each["Value"] for each in replies.asked[0][1]["Filters"]}
    assert (asked["regionCode"], asked["operatingSystem"], asked["tenancy"]) == (REGION, "Linux", "Shared")
    assert [body.get("NextToken") for path, body in replies.asked if path == "/"] == [None, "1"]
    assert [body.get("nextToken") for path, body in replies.asked if path != "/"] == [None, "1"]


def test_a_request_that_is_throttled_is_made_again(aws):
    replies = Replies(PRODUCTS, RATES, errors=["ThrottlingException"])
    with aws(replies):
        assert len(fetched().types) == 4
    assert sum(path == "/" for path, _ in replies.asked) == 3


def test_throttling_that_does_not_end_is_told(aws, monkeypatch):
    monkeypatch.setattr("unspool.platforms.catalogue.aws._TRIES", 1)
    with aws(Replies(PRODUCTS, RATES, errors=["ThrottlingException"])), pytest.raises(InputError) as error:
        fetched()
    assert str(error.value) == (
        "AWS throttled the request for prices on demand 1 times (ThrottlingException); try again later"
    )


def test_an_account_that_may_not_read_savings_plans_goes_without(aws):
    with aws(Replies(PRODUCTS, RATES, denied=True)):
        found = fetched()
    assert all(not each.ec2_savings_plan for each in found.types)
    assert found.notes[0].startswith("no savings plans: the credentials may not read savings plans (AccessDenied")


def test_savings_plans_are_not_asked_for_if_not_wanted(aws):
    replies = Replies(PRODUCTS, RATES)
    with aws(replies):
        assert fetched(plans=False).notes == ()
    assert all("SavingsPlans" not in path for path, _ in replies.asked)


def test_what_is_denied_is_told_with_the_rights_that_are_needed(aws):
    replies = Replies(PRODUCTS, RATES, errors=["AccessDeniedException"])
    with aws(replies), pytest.raises(InputError, match=r"may not read prices on demand .*pricing:GetProducts"):
        fetched()


def test_the_command_writes_a_catalogue_that_a_run_can_use(aws, unspool, write):
    with aws(Replies(PRODUCTS, RATES)):
        said = unspool("catalogue", "update", "--region", REGION, "-o", "ec2.csv")
    assert (said.code, said.err.splitlines()[-1]) == (0, "catalogue: ec2.csv; use it with --catalogue ec2.csv")
    assert "on demand          3" in said.out
    catalogue = read_catalogue("ec2.csv")
    assert catalogue.regions == (REGION,)
    assert catalogue.types_of(REGION)["c5.large"].reserved["RI 1yr standard No Upfront"] == 0.06
    write("jobs.csv", "job_id,submit_time,run_time,cores\na,0,3600,1\n")
    write("config.yml", "instance_mapping: {instance_prefix_list: ['']}\n")
    cost = unspool("cost", "jobs.csv", "-c", "config.yml", "--catalogue", "ec2.csv", "--json")
    # One hour, two minutes of boot and five of idle time of c5.large.
    assert json.loads(cost.out)["total_cost_usd"] == pytest.approx(0.096 * 67 / 60)


def test_other_regions_and_providers_of_a_file_are_kept(aws, unspool, write):
    header = "region,type,cores,vcpus,memory_gib,architecture,on_demand_usd_per_hour,ghz,hypervisor,gpus,gpu,"
    header += (
        "spot_max_usd_per_hour,spot_median_usd_per_hour,spot_min_usd_per_hour,price_date,RI 1yr standard No Upfront\n"
    )
    lines = f"{REGION},c5.large,1,2,4,x86_64,9.9,,nitro,0,,,,,2020-01-01,8\n"
    lines += "mars,m1.large,1,2,7.5,x86_64,0.1,,nitro,0,,,,,,0.07\n"
    write("ec2.csv", header + lines + f"{REGION},Standard_D2_v5,1,2,8,x86_64,0.1,,,0,,,,,,\n")
    before = {each.name: each for each in read_catalogue("ec2.csv").types}
    with aws(Replies(PRODUCTS, RATES)):
        told = json.loads(unspool("catalogue", "update", "--region", REGION, "-o", "ec2.csv", "--json").out)
    after = {each.name: each for each in read_catalogue("ec2.csv").types}
    assert (told["types"], told["on_demand"], told["reserved"], told["savings_plans"], told["kept"]) == (4, 3, 2, 2, 2)
    assert after["m1.large"] == before["m1.large"]
    assert after["standard_d2_v5"] == before["standard_d2_v5"]
    assert after["c5.large"].on_demand == 0.096


def test_nothing_is_written_when_something_fails(aws, unspool, write):
    write("ec2.csv", "mine\n")
    with aws(Replies(PRODUCTS, RATES)):
        said = unspool("catalogue", "update", "--region", REGION, "-o", "ec2.csv")
        failed = unspool("catalogue", "update", "--region", "mars-1", "-o", "new.csv")
    assert said.code == failed.code == 2
    assert said.err.splitlines()[-1] == (
        "unspool: ec2.csv: has a column 'mine', so it is no catalogue that was written here; choose another name"
    )
    assert failed.err.startswith("unspool: unknown region of EC2 'mars-1'")


def test_missing_credentials_are_one_sentence(aws, unspool, monkeypatch):
    with aws(Replies()):
        pass
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    said = unspool("catalogue", "update", "--region", REGION)
    assert said.code == 2
    assert said.err.splitlines()[-1].startswith("unspool: no credentials of AWS were found; give them as boto3 takes")


def test_without_boto3_the_extra_is_named(unspool, monkeypatch):
    monkeypatch.setitem(sys.modules, "boto3", None)
    said = unspool("catalogue", "update", "--region", REGION)
    assert (said.code, said.err) == (
        2, "unspool: live prices need boto3, which is not installed; install unspool[aws]\n"
    )  # fmt: skip


def test_prices_in_another_currency_are_no_prices():
    assert prices_of([product("c5.large", 0.7, currency="CNY")])["c5.large"].on_demand is None


@pytest.mark.parametrize("text", ["{", "[]", '{"product": {}}', '{"product": {"attributes": {"instanceType": 7}}}'])
def test_a_price_list_of_another_shape_is_told(text):
    with pytest.raises(InputError, match="the price list of AWS has an entry of another shape"):
        prices_of([text])


def test_the_latest_spot_price_of_each_zone_counts():
    entries = [("a", 1, 0.5), ("a", 3, 0.7), ("a", 2, 0.6), ("b", 1, 0.2)]
    history = [
        {"InstanceType": "c5.large", "AvailabilityZone": zone, "Timestamp": at, "SpotPrice": str(usd)}
        for zone, at, usd in entries
    ]
    assert zone_prices(history) == {"c5.large": {"a": 0.7, "b": 0.2}}


@pytest.mark.parametrize(
    ("region", "others"),
    [
        ({"us-east-1a": 1.7, "us-east-1f": 1.8}, {"us-east-1-bos-1a": 0.34, "us-east-1-wl1-bos-wlz-1": 9.0}),
        ({"us-gov-west-1b": 1.7}, {"us-west-2-lax-1a": 0.2}),
        ({"use1-az4": 1.7, "use1-az6": 1.8}, {"use1-atl2-az1": 0.34, "use1-wl1-bos-wlz1": 9.0}),
    ],
)
def test_local_zones_and_wavelength_zones_are_no_zones_of_the_region(region, others):
    key = "AvailabilityZoneId" if any("-az" in zone for zone in region) else "AvailabilityZone"
    history = [
        {"InstanceType": "r6i.8xlarge", key: zone, "Timestamp": 1, "SpotPrice": str(usd)}
        for zone, usd in {**others, **region}.items()
    ]
    assert zone_prices(history) == {"r6i.8xlarge": region}


def test_a_type_that_only_a_local_zone_has_has_no_spot_price():
    entry = {"InstanceType": "t3.large", "AvailabilityZone": "us-east-1-bos-1a", "Timestamp": 1, "SpotPrice": "0.1"}
    assert zone_prices([entry]) == {}


def test_plans_for_anything_but_the_use_of_instances_do_not_count():
    assert plan_rates([rate("c5.large", "SageMaker", 1, "No Upfront", 1.0)]) == {}
    assert plan_rates([rate("c5.large", "Compute", 1, "No Upfront", 1.0, "DedicatedUsage")]) == {}


def test_what_ships_is_written_and_read_back_as_it_is(tmp_path):
    shipped = read_catalogue().types
    write_catalogue(shipped, tmp_path / "all.csv")
    assert read_catalogue(tmp_path / "all.csv").types == shipped
    assert update_catalogue([one for one in shipped if one.region == "us-east-2"], tmp_path / "all.csv") == 1161 - 197
    assert sorted(read_catalogue(tmp_path / "all.csv").types, key=str) == sorted(shipped, key=str)
