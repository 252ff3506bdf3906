import json

WORKLOAD = {
    "nb_res": 4,
    "jobs": [
        {"id": 1, "subtime": 0, "res": 1, "profile": "nap", "walltime": 9},
        {"id": 2, "subtime": 1, "res": 2, "profile": "work", "user": "ann"},
        {"id": 3, "subtime": 2, "res": 0, "profile": "nap"},
    ],
    "profiles": {
        "nap": {"type": "delay", "delay": 5},
        "work": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0},
    },
}


def test_a_workload_is_inspected_and_validated(unspool, write):
    path = write("w.json", json.dumps(WORKLOAD))
    facts = json.loads(unspool("inspect", path, "--json").out)
    assert (facts["jobs"], facts["machines_of_the_log"], facts["rejected_records"]) == (2, 4, 1)
    assert facts["profiles"] == {"Delay": 1, "HomogeneousTask": 1}
    assert facts["jobs_by_profile"] == {"Delay": 1, "HomogeneousTask": 1}
    said = unspool("validate", path)
    assert (said.code, "ok, 2 jobs, 1 record rejected" in said.out) == (0, True)


def test_a_workload_without_jobs_is_inspected_too(unspool, write):
    path = write("w.json", json.dumps({**WORKLOAD, "jobs": []}))
    said = unspool("inspect", path, "--json")
    assert (said.code, json.loads(said.out)["jobs"]) == (0, 0)


def test_all_problems_are_printed_a_line_each_and_the_code_is_2(unspool, write, tmp_path):
    bad = {**WORKLOAD, "nb_res": 0, "profiles": {"nap": {"type": "delay", "delay": 0}}}
    path = write("w.json", json.dumps(bad))
    problems = [
        "line 1, nb_res is 0; expected a whole number of machines, 1 or more",
        "line 1, profile nap: delay is 0; expected seconds, more than 0 and up to 1e+18",
        "line 1, job 2: profile 'work' does not exist; expected the name of a profile of this file",
    ]
    said = unspool("convert", path, tmp_path / "out.csv")
    heading, *lines = said.err.splitlines()
    assert (said.code, heading) == (2, f"unspool: {path}: 3 problems")
    assert sorted(lines) == sorted(f"  {problem}" for problem in problems)
    validated = unspool("validate", path)
    assert (validated.code, validated.out.splitlines()[0]) == (2, f"{path}: NOT USABLE: 3 problems")
    assert sorted(validated.out.splitlines()[1:]) == sorted(lines)


def test_logs_are_converted_to_batsim_and_back(unspool, write, tmp_path):
    log = write("log.csv", "job_id,submit_time,run_time,cores,walltime\na,10,5,2,9\nb,12,2.5,1,\n")
    said = unspool("convert", log, tmp_path / "w.json", "--to", "batsim")
    assert (said.code, said.err) == (0, f"{tmp_path / 'w.json'}: 2 jobs written, 0 records rejected\n")
    unspool("convert", tmp_path / "w.json", tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == (
        "job_id,submit_time,run_time,cores,machines,walltime,profile\n"
        "a,10.0,5.0,2,2,9.0,delay_5\nb,12.0,2.5,1,1,,delay_2.5\n"
    )
    unspool("convert", log, tmp_path / "v.json", "--to", "batsim:profile=computation,speed=1e6")
    profiles = json.loads((tmp_path / "v.json").read_text())["profiles"]
    assert profiles["computation_5"] == {"type": "parallel_homogeneous", "cpu": 5_000_000, "com": 0}
