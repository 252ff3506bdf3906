LOG = "job_id,submit_time,run_time,cores\na,5,10,2\nb,1,5,4\n"


def test_each_path_gets_its_verdict_and_one_bad_one_exits_with_2(unspool, write, tmp_path):
    write("log.csv", LOG)
    write("some.csv", LOG + "c,2,soon,1\n")
    write("small.yaml", "pool: 64\n")
    write("broken.yaml", "pool: [\n")
    write("settings.toml", "policy = ['fcfs', 'easy']\n")
    write("cluster.toml", "selection = 'best'\n[[machines]]\ncores = 4\ncount = 2\n")
    (tmp_path / "empty").mkdir()
    good = ("log.csv", "some.csv", "small.yaml", "4x4", "settings.toml", "cluster.toml")
    told = """\
log.csv: ok, 2 jobs, 0 records rejected
  1 of 2 jobs stood before a job submitted earlier: sorted by submit time
some.csv: ok, 2 jobs, 1 record rejected
  1 of 2 jobs stood before a job submitted earlier: sorted by submit time
  line 4: run_time is 'soon'; expected seconds, or a duration such as 2:00 or 5 min
small.yaml: ok, a platform of 64 cores
4x4: ok, a platform of 16 cores
settings.toml: ok, settings of a run under fcfs, easy
cluster.toml: ok, a platform of 8 cores
"""
    assert unspool("validate", *good) == (0, told, "")
    said = unspool("validate", *good, "nofile.swf", "broken.yaml", "empty")
    assert said.code == 2
    assert said.out.removeprefix(told).splitlines() == [
        "nofile.swf: NOT USABLE: there is no such file; check the path",
        "broken.yaml: NOT USABLE: not valid YAML: line 2: expected the node content, but found '<stream end>'",
        "empty: NOT USABLE: is not the folder of a result; expected summary.json in it",
    ]


def test_rejected_records_exit_with_2_when_strict(unspool, write):
    log = write("log.csv", LOG + "c,2,soon,1\n")
    assert unspool("validate", log).code == 0
    assert unspool("validate", log, "--strict").code == 2


def test_results_are_checked(unspool, write, tmp_path):
    run = ("run", write("log.csv", LOG), "-p", 4, "--policy", "fcfs")
    assert unspool(*run, "-o", "one").code == 0
    assert unspool(*run, "--policy", "easy", "-o", "two").code == 0
    assert unspool("validate", "one", "two", "one/run.toml").out.splitlines() == [
        "one: ok, results under fcfs",
        "two: ok, results under fcfs, easy",
        "one/run.toml: ok, settings of a run under fcfs",
    ]
    (tmp_path / "two" / "easy" / "summary.json").unlink()
    assert unspool("validate", "two") == (2, "two: NOT USABLE: the comparison is damaged: KeyError: 'easy'\n", "")


def test_settings_with_an_unknown_policy_are_not_usable(unspool, write):
    write("run.toml", "policy = 'esay'\n")
    assert unspool("validate", "run.toml").out.startswith(
        "run.toml: NOT USABLE: unknown scheduler 'esay'; did you mean 'easy'?"
    )


def test_columns_may_be_mapped(unspool, write):
    log = write("log.csv", "submit_time,duration,cores\n0,10,2\n")
    said = unspool("validate", log)
    assert said.code == 2
    assert "as in --columns run_time=duration" in said.out
    assert unspool("validate", log, "--columns", "run_time=duration").code == 0


def test_nothing_to_validate_is_wrong_usage(unspool):
    assert unspool("validate") == (2, "", "unspool: nothing to validate; name one file or more\n")
