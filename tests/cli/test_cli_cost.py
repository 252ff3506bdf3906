import json
from pathlib import Path

from unspool.cli.bill import print_bill
from unspool.metrics.cost import bands

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
    assert unspool("cost", "none.csv").code == 2
    assert unspool("cost", log, "-c", "none.yml").code == 2
    assert unspool("cost", log, "--catalogue", "none.csv").code == 2


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


def test_each_note_is_told_once_whoever_made_it(unspool, write):
    write("c.yml", "ComputeClusterModel: {ReservedInstances: [{c7i.large: 1}]}\n")
    log = write("log.csv", "job_id,submit_time,run_time,cores,depends_on\na,0,60,1,x\n")
    said = unspool("cost", log, "-c", "c.yml")
    assert said.code == 0, said.err
    assert said.err.count("reserved c7i.large") == 1
    assert said.err.count("1 dependencies name jobs that do not take part") == 1
