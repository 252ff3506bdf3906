import json

import polars as pl

# One core, ten days of jobs that ask for 4 h and run for 2 h; then one begins at day 10, and one waits for it.
DAYS = "".join(f"d{at},{86400 * at},7200,1,14400\n" for at in range(10))
LOG = f"job_id,submit_time,run_time,cores,walltime\n{DAYS}runs,864000,9000,1,14400\nwaits,864060,60,1,14400\n"


def test_the_table_says_when_jobs_will_start_from_the_time_of_the_forecast(unspool, write):
    said = unspool("forecast", write("log.csv", LOG), "--at", "10d 1h", "-p", 1, "--policy", "fcfs")
    assert said == (
        0,
        "log.csv on 1 under fcfs at 10d 01:00:00: 1 job waiting, 1 running, 100 futures\n\n"
        "                         start     start     start     start\n"
        "job    cores  waited       p10       p50       p90      mean\n"
        "────────────────────────────────────────────────────────────\n"
        "waits      1   59:00  +1:00:00  +1:00:00  +1:00:00  +1:00:00\n",
        "",
    )


def test_json_and_a_file_have_every_column(unspool, write, tmp_path):
    said = unspool(
        "forecast", write("log.csv", LOG), "--at", 867600, "-p", 1, "--policy", "fcfs", "--json", "-o", "starts.csv",
        "--quantiles", "0.05,0.95", "--replicas", 20, "--seed", 3,
    )  # fmt: skip
    told = json.loads(said.out)
    assert said.err == "forecast: starts.csv\n"
    assert (told["waiting"], told["running"], told["replicas"], told["seed"]) == (1, 1, 20, 3)
    assert told["jobs"] == [
        {
            "job_id": "waits", "submit_time": 864060.0, "cores": 1, "walltime": 14400.0, "waited_s": 3540.0,
            "start_p5": 871200.0, "start_p95": 871200.0, "start_mean": 871200.0, "share_not_started": 0.0,
        }
    ]  # fmt: skip
    assert pl.read_csv(tmp_path / "starts.csv").to_dicts() == told["jobs"]


def test_jobs_that_start_later_than_the_horizon_are_told(unspool, write):
    said = unspool("forecast", write("log.csv", LOG), "--at", "10d 1h", "-p", 1, "--horizon", "30min")
    assert said.out.splitlines()[-1].split() == ["waits", "1", "59:00", "later", "later", "later", "later", "100%"]


def test_without_a_time_the_last_submission_is_taken(unspool, write):
    said = unspool("forecast", write("log.csv", LOG), "-p", 1, "--json")
    assert json.loads(said.out)["at_s"] == 864060.0


def test_input_that_cannot_be_used_is_one_sentence(unspool, write):
    log = write("log.csv", LOG)
    write("old.csv", "precious")
    for arguments, complaint in (
        (
            ("-p", 1, "--quantiles", "0.1,most"),
            "--quantiles 0.1,most: expected numbers between 0 and 1, as in 0.1,0.5,0.9",
        ),
        (("-p", 1, "-o", "starts.txt"), "starts.txt: a forecast is written as .csv or .parquet; name such a file"),
        (("-p", 1, "-o", "old.csv"), "old.csv: exists and is not overwritten"),
        ((), "log.csv does not say how large its machine was; give a platform, such as -p 480"),
        (("-p", 1, "--at", "1e300"), "the time is 1e+300 s; expected at most 1e+12"),
        (("-p", 1, "--at", "2024-01-01"), "its origin is not known, so '2024-01-01' cannot be placed"),
    ):
        said = unspool("forecast", log, *arguments)
        assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
        assert complaint in said.err


def test_jobs_that_can_never_run_are_counted(unspool, write):
    log = write("log.csv", f"{LOG}wide,864070,60,8,60\nlate,870000,60,8,60\n")
    said = unspool("forecast", log, "--at", "10d 1h", "-p", 1, "--policy", "fcfs", "--json")
    assert json.loads(said.out)["rejected"] == 1
    assert "1 job left out that can never run here; unspool run lists them with reasons\n" in said.err


def test_a_queue_without_jobs_is_one_line(unspool, write):
    said = unspool("forecast", write("log.csv", LOG), "--at", "5d", "-p", 1, "--policy", "fcfs")
    assert said == (0, "log.csv on 1 under fcfs at 5d 00:00:00: 0 jobs waiting, 1 running\n", "")
