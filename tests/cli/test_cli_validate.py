import pytest

from unspool.workloads.recodex import REF_COLUMNS

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


def test_of_many_rejected_records_some_are_shown_and_the_others_counted(unspool, write):
    log = write("log.csv", LOG + 5 * "c,2,soon,1\n")
    assert unspool("validate", log).out.splitlines()[-1] == "  … and 2 more; `unspool inspect` counts them by reason"


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


def test_files_of_other_verbs_are_recognised_by_their_content_and_checked_as_those_do(unspool, write):
    write("grid.toml", "replicas = 2\n[run]\nplatform = 4\n[grid]\npolicy = ['fcfs', 'easy', 'filler']\n")
    write(
        "search.toml",
        "[run]\nplatform = 4\n[grid]\npolicy = ['fcfs', 'easy']\n[search]\ntrials = 5\nminimise = 'mean_wait_s'\n",
    )
    write("bad-grid.toml", "[run]\nplatfrom = 4\n[grid]\npolicy = ['fcfs', 'easy']\n")
    write("two.yaml", "workers: 2\ndispatcher: shortest-queue\nmetrics: [delay]\ncolour: red\n")
    write("bad.yaml", "workers: 2\ndispatcher: shortest-qeue\n")
    write("none.yaml", "workers: 0\ndispatcher: shortest-queue\n")
    write("refs.csv", f"{';'.join(REF_COLUMNS)}\nr1;s;e;r;default;900;1;true;45\n")
    write("bad-refs.csv", f"{';'.join(REF_COLUMNS)}\nr1;s;e;r;default;900;1;true;soon\n")
    said = unspool("validate", "grid.toml", "search.toml", "two.yaml", "refs.csv")
    assert said == (
        0,
        "grid.toml: ok, the grid of a sweep: 6 runs\n"
        "search.toml: ok, the grid of a sweep: a search of 5 trials\n"
        "two.yaml: ok, an experiment of 2 workers: shortest-queue, delay\n"
        "  line 4, key colour: not known and not used\n"
        "refs.csv: ok, 1 reference run, for unspool dispatch --refs\n",
        "",
    )
    said = unspool("validate", "bad-grid.toml", "bad.yaml", "none.yaml", "bad-refs.csv")
    assert said.code == 2
    found = said.out.splitlines()
    assert found[0].startswith("bad-grid.toml: NOT USABLE: [run]: unknown")
    assert "did you mean 'platform'?" in found[0]
    assert found[1].startswith(
        "bad.yaml: NOT USABLE: line 2, key dispatcher: unknown dispatcher 'shortest-qeue'; did you"
    )
    assert found[2] == "none.yaml: NOT USABLE: line 1, key workers: 0 workers; expected 1 to 100,000"
    assert found[3].startswith("bad-refs.csv: NOT USABLE: line 2")


def test_what_only_one_verb_reads_is_not_inspected_and_that_verb_is_named(unspool, write):
    write("grid.toml", "[run]\nplatform = 4\n[grid]\npolicy = ['fcfs', 'easy']\n")
    said = unspool("inspect", "grid.toml")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(
        "unspool: grid.toml: is read by unspool sweep and by unspool validate, not here; expected a"
    )


def test_the_result_of_a_run_that_broke_off_is_told_as_partial_and_exits_with_2(unspool, write, tmp_path):
    assert unspool("run", write("log.csv", LOG), "-p", 4, "--policy", "fcfs", "-o", "one").code == 0
    settings = tmp_path / "one" / "run.toml"
    settings.write_text(settings.read_text() + 'partial = "the scheduler ended with exit code 1"\n')
    assert unspool("validate", "one") == (
        2,
        "one: PARTIAL: the run under fcfs broke off, and only jobs that had ended by then are told of "
        "(the scheduler ended with exit code 1)\n",
        "",
    )


def test_a_file_is_named_once_even_where_its_line_is(unspool, write):
    said = unspool("validate", write("nums.csv", LOG.replace("a,5,", "a,-5,")))
    assert said == (2, "nums.csv: NOT USABLE: line 2: submit_time is -5; expected 0 or more\n", "")


def test_a_cloud_is_a_platform_of_what_can_be_started_there(unspool, write):
    write("cloud.yml", "ComputeClusterModel: {InstanceTypes: {include: ['c7i.large$']}}\n")
    assert unspool("validate", "cloud.yml") == (0, "cloud.yml: ok, a platform of 1 type that can be started\n", "")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_text_in_utf_16_is_named_and_how_to_convert_it(unspool, write, encoding):
    write("log.csv", f"\ufeff{LOG}".encode(encoding))
    assert unspool("validate", "log.csv") == (
        2,
        "log.csv: NOT USABLE: text in UTF-16, which PowerShell and Excel write; expected UTF-8, so convert it first: "
        "iconv -f UTF-16 -t UTF-8 log.csv > utf8-log.csv, or save it as CSV UTF-8 in Excel\n",
        "",
    )
