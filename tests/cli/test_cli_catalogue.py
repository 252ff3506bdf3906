import json

HEAD = "region,type,cores,vcpus,memory_gib,architecture,on_demand_usd_per_hour\n"


def test_types_are_listed_with_their_prices_and_the_date(unspool):
    said = unspool("catalogue", "list", "--region", "us-east-1", "--prefix", "c7i.l", "--prefix", "P4D")
    assert said.code == 0
    row = " ".join(said.out.split("\n")[2].split())
    assert row == "c7i.large us-east-1 1 2 4 GiB 3.2 x86_64 0.08925 0.0325 0.0318 0.0313"
    assert "8 A100" in said.out
    assert said.out.endswith("\n2 types; US dollars an hour, prices of 2026-08-22; the catalogue that ships\n")


def test_a_list_as_json_has_all_that_is_known(unspool):
    types = json.loads(unspool("catalogue", "list", "--region", "us-east-1", "--json").out)
    assert len(types) == 193
    one = next(each for each in types if each["type"] == "c7i.48xlarge")
    assert (one["family"], one["cores"], one["vcpus"], one["memory_bytes"]) == ("c7i", 96, 192, 384 * 2**30)
    assert (one["on_demand_usd_per_hour"], one["price_date"]) == (8.568, "2026-08-22")


def test_a_catalogue_of_your_own_is_listed(unspool, write):
    write("mine.csv", f"{HEAD}mars,m1.large,1,2,4,x86_64,0.1\nmars,m1.old,1,2,4,x86_64,\n")
    said = unspool("catalogue", "list", "--catalogue", "mine.csv")
    told = "2 types, 1 without a price, which no run starts; US dollars an hour, prices of a date not known; mine.csv\n"
    assert said.out.endswith(told)


def test_a_type_is_shown_in_every_region(unspool):
    said = unspool("catalogue", "show", "C7i.large")
    assert said.code == 0
    regions = "c7i.large ap-northeast-1 eu-central-1 eu-west-1 us-east-1 us-east-2 us-west-2"
    assert said.out.split("\n")[0].split() == regions.split()
    assert len(json.loads(unspool("catalogue", "show", "c7i.large", "--json").out)) == 6
    assert len(json.loads(unspool("catalogue", "show", "c7i.large", "--region", "us-east-2", "--json").out)) == 1


def test_terms_are_shown(unspool, write):
    write("mine.csv", f"{HEAD.strip()},RI 1yr standard No Upfront\nmars,m1.large,1,2,4,x86_64,0.1,0.07\n")
    said = unspool("catalogue", "show", "m1.large", "--catalogue", "mine.csv")
    assert "RI 1yr standard No Upfront       0.07\n" in said.out


def test_what_is_not_there_is_said_in_one_sentence(unspool, write):
    hint = "did you mean 'c7i.large'? `unspool catalogue list` lists what there is"
    complaint = f"unspool: the catalogue that ships has no type 'c7i.lage'; {hint}\n"
    assert unspool("catalogue", "show", "c7i.lage") == (2, "", complaint)
    complaint = "unspool: the catalogue that ships: no type in us-east-1 begins with q; leave --prefix out\n"
    assert unspool("catalogue", "list", "--region", "us-east-1", "--prefix", "q") == (2, "", complaint)
    said = unspool("catalogue", "list", "--region", "us-east-9")
    assert said.code == 2
    assert said.err.startswith("unspool: unknown region 'us-east-9'; did you mean 'us-east-")
    write("mine.csv", f"{HEAD}mars,m1.large,1,2,4,x86_64,free\n")
    complaint = "on_demand_usd_per_hour is 'free'; expected dollars an hour, 0 or more, or nothing"
    assert unspool("catalogue", "list", "--catalogue", "mine.csv").err == (
        f"unspool: mine.csv, line 2, m1.large: {complaint}\n"
    )
