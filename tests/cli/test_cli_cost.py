import json
import os
from pathlib import Path

import pytest

from unspool.cli.bill import print_bill
from unspool.metrics.cost import bands
from unspool.results.store import load

SUMMARY = {
    "workload": "log", "jobs": 2, "rejected": 1, "region": "eu-west-1", "price_date": "2026-08-22",
    "total_cost_usd": 2.0, "on_demand_cost_usd": 0.5, "spot_cost_usd": 1.5, "reserved_cost_usd": 0.0,
    "on_premises_cost_usd": 0.0, "boot_cost_usd": 0.25, "run_cost_usd": 1.0, "idle_cost_usd": 0.75,
    "mean_wait_s": 120.0, "median_wait_s": 120.0, "p95_wait_s": 120.0, "max_wait_s": 120.0,
    "logged_mean_wait_s": None, "logged_median_wait_s": None, "logged_p95_wait_s": None, "logged_max_wait_s": None,
    "instances": 2, "peak_live_instances": 1, "usd_per_core_hour": 0.05, "reclaimed": 1, "retries": 1,
    "lost_core_hours": 0.5, "wait_saved_hours": None,
}  # fmt: skip


def test_the_table_has_the_pricings_that_cost_something_and_says_what_is_not_known(capsys):
    print_bill(SUMMARY)
    said = capsys.readouterr().out
    assert "log: 2 jobs, 1 rejected; prices: eu-west-1 of 2026-08-22" in said
    assert "  spot       $1.50    75%\n" in said
    assert "reserved" not in said
    assert "1 spot instance reclaimed, 1 attempt made again, 0.5 core-hours lost" in said
    assert "the log does not say how long its jobs waited" in said


def test_bands_stand_beside_the_costs(capsys):
    both = bands([SUMMARY, {**SUMMARY, "total_cost_usd": 4.0}])
    print_bill({**SUMMARY, "wait_saved_hours": -2.0, "bands": both})
    said = capsys.readouterr().out
    assert "total        $2.00   100%        $2.10  $3.90\n" in said
    assert "waiting added: 2 hours" in said


def test_init_writes_a_configuration_and_never_over_another(unspool):
    assert unspool("cost", "--init").out.startswith("# What `unspool cost` assumes.")
    assert unspool("cost", "--init", "c.yml").code == 0
    again = unspool("cost", "--init", "c.yml")
    assert (again.code, again.out) == (2, "")
    assert "c.yml: exists" in again.err
    assert unspool("cost", "--init", "c.yml", "--force").code == 0


def test_what_cannot_be_used_is_said_before_anything_is_run(unspool, write):
    log = write("log.csv", "job_id,submit_time,run_time,cores\na,0,60,1\n")
    assert "no log given" in unspool("cost").err
    assert "--replicas 0" in unspool("cost", log, "--replicas", "0").err
    write("full", "x")
    said = unspool("cost", log, "-o", "full")
    assert (said.code, json.dumps(said.out)) == (2, '""')
    assert "full exists and is no folder" in said.err
    os.symlink(".", "here")
    assert "here exists and is a link to .: it is never replaced" in unspool("cost", log, "-o", "here").err
    assert "--seed -1: expected a whole number from 0" in unspool("cost", "advise", log, "--seed", "-1").err
    assert "--starttime" in unspool("cost", "advise", "none.csv", "--starttime", "foo").err
    assert unspool("cost", "none.csv").code == 2
    assert unspool("cost", log, "-c", "none.yml").code == 2
    assert unspool("cost", log, "--catalogue", "none.csv").code == 2


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--starttime", "foo"), "--starttime: "),
        (("--endtime", "inf"), "--endtime: inf is no time"),
        (("--starttime", "20", "--endtime", "10"), "the window begins at 20 and ends at 10; expected an end after"),
        (("--queues", "a,-["), "--queues: '[' is no regular expression"),
        (("--projects", "("), "--projects: '(' is no regular expression"),
        (("--seed", "-1"), "--seed -1: expected a whole number from 0 to 9223372036854775807"),
    ],
)
@pytest.mark.parametrize("verb", [("cost",), ("cost", "compare", "-c", "none.yml")])
def test_options_are_looked_at_before_the_log(unspool, verb, options, told):
    said = unspool(*verb, "none.csv", *options)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"unspool: {told}")


def test_instances_of_several_architectures_are_noted(unspool, write):
    write(
        "types.csv",
        "region,type,cores,vcpus,memory_gib,architecture,on_demand_usd_per_hour\n"
        "lab,a.one,1,2,4,x86_64,0.1\nlab,b.one,8,8,32,arm64,0.2\n",
    )
    write(
        "c.yml", "instance_mapping: {instance_prefix_list: ['']}\nconsumption_model_mapping: {minimum_cpu_speed: 0}\n"
    )
    log = write("log.csv", "job_id,submit_time,run_time,cores\na,0,60,1\nb,0,60,8\nc,0,60,1\n")
    given = ("-c", "c.yml", "--catalogue", "types.csv", "-o", "out", "--no-report")
    said = unspool("cost", log, *given)
    told = "instances of several architectures were started: 2 x86_64, 1 arm64; Architecture: x86_64 starts only those"
    assert (said.code, said.err.count(told)) == (0, 1)
    assert json.loads(Path("out/summary.json").read_text())["notes"] == [told]
    small = write("small.csv", "job_id,submit_time,run_time,cores\na,0,60,1\n")
    assert "architectures" not in unspool("cost", small, *given[:4]).err


def test_machines_that_cost_nothing_are_noted_wherever_the_bill_is_told(unspool, write):
    log = write("log.csv", "job_id,submit_time,run_time,cores\na,0,60,1\n")
    config = write("c.yml", "ComputeClusterModel: {OnPremises: [{Name: node, Cores: 4, HourlyCost: 0}]}\n")
    told = "on premises: HourlyCost of node is 0, so its use is free of charge"
    said = unspool("cost", log, "-c", config, "-o", "out")
    assert (said.code, said.err.count(told)) == (0, 1)
    assert told in json.loads(Path("out/summary.json").read_text())["notes"]
    assert told in Path("out/report.html").read_text()


def test_machines_on_premises_without_a_price_are_refused(unspool, write):
    log = write("log.csv", "job_id,submit_time,run_time,cores\na,0,60,1\n")
    said = unspool("cost", log, "-c", write("c.yml", "ComputeClusterModel: {OnPremises: [{Cores: 4}]}\n"))
    assert said.code == 2
    assert "OnPremises[0].HourlyCost: is missing; give US dollars an hour" in said.err


def test_each_note_is_told_once_whoever_made_it(unspool, write):
    write("c.yml", "ComputeClusterModel: {ReservedInstances: [{c7i.large: 1}]}\n")
    log = write("log.csv", "job_id,submit_time,run_time,cores,depends_on\na,0,60,1,x\n")
    said = unspool("cost", log, "-c", "c.yml")
    assert said.code == 0, said.err
    assert said.err.count("reserved c7i.large") == 1
    assert said.err.count("1 dependency on jobs that do not take part") == 1


CATALOGUE = """\
region,instance_type,vcpus,cores,threads_per_core,memory_gib,arch,sustained_ghz,gpu_name,gpu_count,on_demand_usd_h,\
spot_min_usd_h,spot_median_usd_h,spot_max_usd_h,price_date
eu-west-1,c5.large,2,1,2,4,x86_64,3.0,,0,0.06,0.02,0.02,0.03,2026-08-22
eu-west-1,c5.xlarge,4,2,2,8,x86_64,3.0,,0,0.12,0.04,0.05,0.06,2026-08-22
"""
CONFIG = """\
instance_mapping: {region_name: eu-west-1, instance_prefix_list: [c5]}
consumption_model_mapping: {maximum_minutes_for_spot: 0}
ComputeClusterModel: {BootTime: '2:00', IdleTime: '4:00', SchedulingFrequency: '0:00', ShareInstances: true}
"""
JOBS = """\
job_id,num_cores,max_mem_gb,num_hosts,submit_time,start_time,finish_time
846_0,1,4,1,2026-03-01T00:10:00,2026-03-01T00:40:00,2026-03-01T00:50:00
900+1,5,4,1,2026-03-01T00:10:00,2026-03-01T00:40:00,2026-03-01T00:50:00
"""


@pytest.fixture
def case(write):
    return write("jobs.csv", JOBS), "-c", write("c.yml", CONFIG), "--catalogue", write("prices.csv", CATALOGUE)


def test_job_of_ten_minutes_costs_sixteen_and_waits_two(unspool, case, tmp_path):
    said = unspool("cost", *case, "-o", "out")
    assert said.code == 0
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["total_cost_usd"] == pytest.approx(0.016, abs=1e-12)
    assert (summary["jobs"], summary["rejected"], summary["mean_wait_s"]) == (1, 1, 120.0)
    assert summary["logged_mean_wait_s"] == 1800.0
    assert summary["wait_saved_hours"] == pytest.approx(28 / 60)
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {
        "hourly_stats.csv", "summary.json", "jobs.csv", "instances.csv", "rejected.csv", "report.html",
    }  # fmt: skip
    hours = (tmp_path / "out" / "hourly_stats.csv").read_text().splitlines()
    theirs = "Relative Hour,OnDemand Core Hours,Total OnDemand Costs,Spot Core Hours,Spot Costs,c5 Core Hours,"
    assert hours[0].startswith(theirs)
    rejected = (tmp_path / "out" / "rejected.csv").read_text()
    assert "900+1" in rejected
    assert "asks for 5 cores, 4 GiB on a machine; the largest there is: c5.xlarge (2 cores, 8 GiB)" in rejected
    assert unspool("cost", *case, "--strict").code == 2


def test_run_takes_the_same_cluster_under_any_scheduler(unspool, case, write, tmp_path):
    jobs, _, config, _, prices = case
    write("run.toml", f'workload = "{jobs}"\nplatform = "{config}"\ncatalogue = "{prices}"\n')
    same = json.loads(unspool("run", "-c", "run.toml", "--json").out)
    assert (same["policy"], same["total_cost_usd"]) == ("cheapest-fit", pytest.approx(0.016, abs=1e-12))
    said = unspool("run", "-c", "run.toml", "--policy", "cheapest-fit", "--policy", "fcfs", "-o", "both")
    assert said.code == 0
    assert "$0.02" in said.out
    assert load(tmp_path / "both" / "fcfs").summary["total_cost_usd"] == pytest.approx(0.016, abs=1e-12)
    assert unspool("inspect", config).code == 0
    assert "c.yml: ok, a platform of 8 types that can be started" in unspool("validate", config).out


def test_what_takes_machines_to_be_there_all_the_time_says_so(unspool, case):
    jobs, _, config, _, prices = case
    unspool("run", jobs, "-p", config, "--catalogue", prices, "-o", "out")
    for command in (("why", "out", "846_0"), ("check", "out", jobs)):
        said = unspool(*command)
        assert (said.code, said.out) == (2, "")
        assert "does not know machines that are brought up and down" in said.err


def test_wrong_settings_of_a_cluster_are_told_in_one_sentence(unspool, case, write):
    jobs, _, _, _, prices = case
    for text, told in (
        ("ComputeClusterModel: {BotTime: 60}", "did you mean 'BootTime'?"),
        ("ComputeClusterModel: {BootTime: '-2:00'}", "BootTime"),
        (CONFIG.replace("BootTime", "ReservedInstances: [{c5.lage: 1}], BootTime"), "did you mean 'c5.large'?"),
        ("instance_mapping: {region_name: eu-west-1, instance_prefix_list: [zz]}", "instance_prefix_list"),
        ("instance_mapping: {region_name: mars-1}", "mars-1"),
    ):
        said = unspool("cost", jobs, "-c", write("bad.yml", text), "--catalogue", prices)
        assert (said.code, said.out) == (2, "")
        assert told in said.err
        assert "Traceback" not in said.err
    later = unspool("cost", *case, "--starttime", "2027-01-01T00:00:00")
    assert (later.code, later.out) == (2, "")


def test_replicas_give_bands(unspool, case, write):
    jobs, *_ = case
    spot = CONFIG.replace("maximum_minutes_for_spot: 0", "maximum_minutes_for_spot: 60")
    told = unspool("cost", jobs, "-c", write("spot.yml", spot), *case[3:], "--replicas", "3", "--json")
    summary = json.loads(told.out)
    assert summary["replicas"] == 3
    assert summary["bands"]["total_cost_usd"] == pytest.approx({"p5": 0.008, "p95": 0.008, "mean": 0.008})


def test_other_schedulers_share_instances_and_that_is_said(unspool, write):
    log = write("log.csv", "job_id,submit_time,run_time,cores\na,0,60,1\n")
    assert "easy lets jobs share instances" in unspool("cost", log, "--policy", "easy").err
    write("c.yml", "ComputeClusterModel: {ShareInstances: true}\n")
    assert "share" not in unspool("cost", log, "--policy", "easy", "-c", "c.yml").err
    assert "share" not in unspool("cost", log).err


@pytest.mark.parametrize("stray", ["9999-12-31T23:59:59", "2400-01-01T00:00:00"])
def test_a_stray_date_is_told_and_no_table_of_a_million_hours_made(unspool, case, write, stray, tmp_path):
    log = write("stray.csv", f"{JOBS}9,1,1,1,{stray},{stray},{stray}\n")
    said = unspool("cost", log, *case[1:], "-o", "out")
    assert (said.code, said.out, (tmp_path / "out").exists()) == (2, "", False)
    assert "expected at most 1,000,000" in said.err
    assert "e+" not in said.err
    assert "--endtime" in said.err
    assert unspool("cost", log, *case[1:], "--endtime", "2026-04-01T00:00:00").code == 0


@pytest.mark.parametrize("start", ["-1e300", "-1e12"])
def test_a_window_that_begins_ages_ago_is_refused(unspool, case, start):
    said = unspool("cost", *case, "--starttime", start)
    assert (said.code, said.out) == (2, "")
    assert "expected at most 1,000,000" in said.err


def test_a_record_without_an_id_is_told_by_its_line_alone(unspool, case, write):
    log = write("short.csv", f"{JOBS}9,1,1\n")
    said = unspool("cost", log, *case[1:])
    assert "  line 4: 3 cells; expected 7, as in the first line\n" in said.err
    assert "None" not in said.err


def test_the_folder_of_a_bill_is_no_damaged_result(unspool, case):
    assert unspool("cost", *case, "-o", "bill").code == 0
    assert unspool("inspect", "bill").code == 0
    said = unspool("compare", "bill")
    assert (said.code, said.out) == (2, "")
    assert "is the folder of a bill" in said.err


def test_a_forecast_on_a_configuration_of_cost_says_that_it_knows_no_cloud(unspool, case):
    said = unspool("forecast", case[0], "--at", "60", "-p", case[2])
    assert (said.code, said.out) == (2, "")
    assert "does not know machines that are brought up and down" in said.err


def test_a_window_after_all_modelled_hours_is_told(unspool, case, write):
    late = "1,1,4,1,2026-03-01T00:10:00,2026-03-01T09:00:00,2026-03-01T09:10:00"
    log = write("late.csv", f"{JOBS.splitlines()[0]}\n{late}\n")
    said = unspool("cost", log, *case[1:], "--starttime", "2026-03-01T05:00:00", "--json")
    assert (said.code, json.loads(said.out)["hours"]) == (0, 0)
    assert said.err.count("nothing is billed") == 1


@pytest.mark.parametrize("start", ["-5", "1e1", "0", "12.5"])
def test_a_log_of_unknown_origin_takes_seconds_in_any_form(unspool, case, write, start):
    log = write("log.swf", "1 0 5 60 1 -1 -1 1 -1 -1 1 1 1 1 1 1 -1 -1\n")
    assert unspool("cost", log, *case[1:], "--starttime", start).code == 0
    assert "does not say its origin" in unspool("cost", log, *case[1:], "--starttime", "1970-01-01").err


def test_what_a_run_notes_is_told_once_beside_what_the_configuration_does(unspool, case, write):
    log = write(
        "licensed.csv", JOBS.replace("finish_time\n", "finish_time,licenses\n").replace(":50:00\n", ":50:00,x:1\n")
    )
    reserved = write("reserved.yml", CONFIG.replace("BootTime", "ReservedInstances: [{c5.large: 1}], BootTime"))
    said = unspool("cost", log, "-c", reserved, *case[3:])
    assert said.code == 0
    assert said.err.count("reserved c5.large: $0.06 an hour") == 1
    assert said.err.count("jobs ask for licences") == 1


def test_a_log_outside_the_calendar_is_refused_and_inspected_all_the_same(unspool, case, write):
    log = write("log.swf", "; UnixStartTime: 999999999999\n1 0 5 60 1 -1 -1 1 -1 -1 1 1 1 1 1 1 -1 -1\n")
    said = unspool("cost", log, *case[1:])
    assert (said.code, said.out) == (2, "")
    assert "outside the years 1 to 9999" in said.err
    assert "s after 1970" in unspool("inspect", log).out


def test_the_price_of_a_core_hour_in_a_window_is_of_the_core_hours_in_it(unspool, case, write):
    long = "1,1,4,1,2026-03-01T00:10:00,2026-03-01T00:10:00,2026-03-01T05:10:00"
    log = write("log.csv", f"{JOBS.splitlines()[0]}\n{long}\n")
    at_once = write("at_once.yml", CONFIG.replace("'2:00'", "0").replace("'4:00'", "0"))
    said = unspool("cost", log, "-c", at_once, *case[3:], "--endtime", "2026-03-01T00:30:00", "--json")
    summary = json.loads(said.out)
    assert summary["total_cost_usd"] == pytest.approx(0.05)
    assert summary["job_core_hours"] == pytest.approx(50 / 60)
    assert summary["usd_per_core_hour"] == pytest.approx(0.06)
