import csv
import json

import polars as pl
import pytest
from tests.faces.batsim_build import CASES, GOLDEN, golden_rows, need_cases

from unspool.cli.app import run_command
from unspool.results.store import load

PLATFORM = """\
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
<zone id="all" routing="Full">
  <host id="master_host" speed="1Gf"/>
  <host id="h1" speed="1Gf"/><host id="h2" speed="1Gf"><prop id="gpu" value="yes"/></host>
  <host id="h10" speed="1Gf"/><host id="h11" speed="1Gf"/>
</zone>
</platform>
"""
PROFILES = {"d5": {"type": "delay", "delay": 5}, "d10": {"type": "delay", "delay": 10}}


def workload_json(*jobs, nb_res=4):
    """Jobs of (id, subtime, res, walltime, profile, more fields)."""
    names = ("id", "subtime", "res", "walltime", "profile")
    rows = [dict(zip(names, job, strict=False)) | (job[5] if len(job) > 5 else {}) for job in jobs]
    return json.dumps({"nb_res": nb_res, "jobs": rows, "profiles": PROFILES})


TIMES = ("starting_time", "submission_time")
TWO_JOBS = (("1", 0, 4, 20, "d10"), ("2", 1, 2, 20, "d5"))


@pytest.fixture(scope="module", autouse=True)
def _compiled_for_networks(tmp_path_factory):
    """Compiles what runs on a network, so that no test meets the note that it takes a while."""
    folder = tmp_path_factory.mktemp("compiled")
    (folder / "p.xml").write_text(PLATFORM)
    (folder / "w.json").write_text(workload_json(*TWO_JOBS))
    for policy in ("fcfs", "easy", "filler"):
        given = ("-p", folder / "p.xml", "-w", folder / "w.json", "-e", folder / "out", "--policy", policy, "-q")
        run_command(["batsim", *map(str, given)])


@pytest.fixture
def files(write):
    return "-p", write("p.xml", PLATFORM), "-w", write("w.json", workload_json(*TWO_JOBS))


def rows_of(path):
    with open(path, newline="") as lines:
        return list(csv.DictReader(lines))


TALK = json.dumps({
    "nb_res": 2,
    "profiles": {"talk": {"type": "parallel_homogeneous", "cpu": 2e9, "com": 1e9}},
    "jobs": [{"id": "1", "subtime": 0, "res": 2, "walltime": 20, "profile": "talk"}],
})  # fmt: skip


@pytest.mark.parametrize("verb", [("batsim", "-w"), ("run",)])
def test_missing_routes_are_refused_unless_they_are_free(unspool, write, verb, tmp_path):
    given = (*verb, write("talk.json", TALK), "-p", write("p.xml", PLATFORM), "--policy", "fcfs", "-o")
    refused = unspool(*given, "no")
    assert refused.code == 2
    assert "job 1: p has no route from 'h1' to 'h2'; give it one, or" in refused.err
    assert "(--missing-routes free)" in refused.err
    assert unspool(*given, "out", "--missing-routes", "free").code == 0
    assert pl.read_parquet(tmp_path / "out" / "jobs.parquet")["run_time"].to_list() == [2.0]
    assert load(tmp_path / "out").platform.network.missing_is_free
    said = unspool(*given, "no", "--missing-routes", "cheap")
    assert said.code == 2
    assert "missing" in said.err


@pytest.mark.parametrize(
    "option", ["-S", "-L", "-l", "--edc-socket-str", "--edc-library-file", "--external-events", "--ee", "--energy-host"]
)
@pytest.mark.parametrize("value", [(" ", "x"), ("=x",), ()])
def test_an_option_of_batsim_5_is_told_as_such(unspool, files, option, value):
    given = (option + value[0].strip(), *value[1:]) if value else (option,)
    assert unspool("batsim", *files, *given).err == (
        f"unspool: Unknown option: {option}. That is an option of Batsim 5; unspool speaks protocol 4. "
        "Try: unspool batsim --help\n"
    )


def test_missing_routes_need_a_platform_that_can_lack_them(unspool, files):
    for where in (("-p", "4"), ()):
        said = unspool("run", files[3], *where, "--missing-routes", "free")
        assert (said.code, said.err.splitlines()[-1]) == (
            2, "unspool: missing routes: 'free' needs a platform of SimGrid (.xml); no other can lack routes"
        )  # fmt: skip


def test_a_run_prints_a_table_and_says_what_it_wrote(unspool, files, tmp_path):
    said = unspool("batsim", *files)
    assert said.code == 0
    assert said.out.startswith("w.json on p (4 cores): 2 jobs, 0 rejected\n")
    assert said.err == (
        "files: out_jobs.csv, out_schedule.csv, out_schedule.json, out_machine_states.csv, out_schedule.trace\n"
    )
    assert "6 0.000000 machine_state m0 jw0!1\n" in (tmp_path / "out_schedule.trace").read_text()
    assert [(row["job_id"], row["starting_time"], row["allocated_resources"]) for row in rows_of("out_jobs.csv")] == [
        ("1", "0.000000", "0-3"), ("2", "10.000000", "0-1")
    ]  # fmt: skip
    assert unspool("batsim", *files).code == 0  # files that are there are replaced


def test_a_trace_can_be_left_out(unspool, files, tmp_path):
    assert unspool("batsim", *files, "--disable-schedule-tracing", "-q").code == 0
    assert not (tmp_path / "out_schedule.trace").exists()


def test_a_workflow_is_run_beside_a_workload(unspool, files, write, tmp_path):
    flow = write("f.dax", '<adag><job id="x" runtime="3"/></adag>')
    assert unspool("batsim", *files, "--WS", flow, "20", "-q").code == 0
    with open(tmp_path / "out_jobs.csv", newline="") as rows:
        last = list(csv.DictReader(rows))[-1]
    assert (last["workload_name"], last["profile"], last["starting_time"]) == ("wfc0", "wfc0_x", "20.000000")


def test_quiet_says_nothing(unspool, files):
    assert unspool("batsim", *files, "-q") == (0, "", "")
    assert unspool("batsim", *files, "-v", "quiet") == (0, "", "")


def test_options_of_outputs(unspool, files, tmp_path):
    said = unspool("batsim", *files, "-e", "new/x", "--disable-machine-state-tracing", "--disable-schedule-tracing")
    assert said.code == 0
    names = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert names == ["x_jobs.csv", "x_schedule.csv", "x_schedule.json"]


def test_json_has_the_figures_of_both_kinds_and_the_time_it_took(unspool, files):
    found = json.loads(unspool("batsim", *files, "--json", "--policy", "easy").out)
    assert (found["policy"], found["jobs"], found["batsim"]["makespan"]) == ("easy", 2, 15.0)
    assert found["corrected"]["time_idle"] == 4 * 15 - 50
    assert set(found["timing"]) >= {"read_s", "simulate_s", "outputs_s", "files_s", "total_s"}
    assert found["files"][0] == "out_jobs.csv"


def test_a_folder_of_results_can_be_read_and_replaced(unspool, files, tmp_path):
    assert unspool("batsim", *files, "-o", "results").code == 0
    assert json.loads((tmp_path / "results/batsim.json").read_text())["corrected"]["machines"] == 4
    assert pl.read_parquet(tmp_path / "results/jobs.parquet")["job_id"].to_list() == ["1", "2"]
    assert unspool("batsim", *files, "-o", "results").code == 2
    assert unspool("batsim", *files, "-o", "results", "--force").code == 0
    assert unspool("inspect", "results").code == 0


def test_a_policy_of_ones_own_is_named_by_its_file(unspool, files, tmp_path):
    (tmp_path / "mine_for_batsim.py").write_text(
        "from unspool.policies.base import Start\n"
        "def last_first(view):\n"
        "    return [Start(view.queue[-1])] if len(view.queue) and not view.running else []\n"
    )
    assert unspool("batsim", *files, "--policy", "mine_for_batsim.py:last_first").code == 0
    assert "unknown scheduler" in unspool("batsim", *files, "--policy", "nix").err


def test_without_a_scheduler_jobs_run_one_by_one(unspool, write):
    jobs = [("1", 0, 1, 20, "d10"), ("2", 0, 1, 20, "d5"), ("3", 0, 1, 20, "d5")]
    unspool("batsim", "-p", write("p.xml", PLATFORM), "-w", write("w.json", workload_json(*jobs)), "--no-sched")
    assert [row["starting_time"] for row in rows_of("out_jobs.csv")] == ["0.000000", "10.000000", "15.000000"]


@pytest.mark.parametrize(("rule", "state"), [("v4", "COMPLETED_WALLTIME_REACHED"), ("plain", "COMPLETED_SUCCESSFULLY")])
def test_the_rule_for_a_delay_as_long_as_its_walltime(unspool, write, rule, state):
    jobs = [("1", 0, 1, 10, "d10"), ("2", 20, 1, 11, "d10"), ("3", 40, 1, 9, "d10")]
    given = ("-p", write("p.xml", PLATFORM), "-w", write("w.json", workload_json(*jobs)))
    unspool("batsim", *given, "--walltime-rule", rule)
    rows = rows_of("out_jobs.csv")
    assert [row["final_state"] for row in rows] == [state, "COMPLETED_SUCCESSFULLY", "COMPLETED_WALLTIME_REACHED"]
    assert [row["execution_time"] for row in rows] == ["10.000000", "10.000000", "9.000000"]


def test_hosts_are_numbered_by_natural_order_or_as_batsim_4_does(unspool, write):
    jobs = [("1", 0, 1, 20, "d5", {"machines": ["h2"]})]
    given = ("-p", write("p.xml", PLATFORM), "-w", write("w.json", workload_json(*jobs)))
    places = []
    for order in ("natural", "text"):
        unspool("batsim", *given, "--host-order", order)
        places.append(rows_of("out_jobs.csv")[0]["allocated_resources"])
    assert places == ["1", "3"]  # h1 h2 h10 h11, and h1 h10 h11 h2


def test_free_fields_hold_built_in_policies(unspool, write):
    jobs = [
        ("1", 0, 1, 20, "d10", {"licenses": {"cad": 1}}), ("2", 0, 1, 20, "d5", {"licenses": {"cad": 1}}),
        ("3", 0, 1, 20, "d5", {"dependencies": ["1"]}), ("4", 0, 1, 20, "d5", {"properties": {"gpu": "yes"}}),
        ("5", 0, 3, 20, "d5", {"properties": {"gpu": "yes"}}),
    ]  # fmt: skip
    given = ("-p", write("p.xml", PLATFORM), "-w", write("w.json", workload_json(*jobs)))
    said = unspool("batsim", *given, "--licences", "cad:1", "--policy", "filler")
    rows = {row["job_id"]: row for row in rows_of("out_jobs.csv")}
    assert {job: rows[job]["starting_time"] for job in "1234"} == {
        "1": "0.000000", "2": "10.000000", "3": "10.000000", "4": "0.000000"
    }  # fmt: skip
    assert (rows["4"]["allocated_resources"], rows["5"]["final_state"]) == ("1", "REJECTED")
    assert "job 5: asks for 3 machines with gpu=yes; the platform has 1 such" in said.err


def test_several_workloads_have_names_in_front(unspool, write):
    first = write("a.json", workload_json(*TWO_JOBS))
    second = write("b.json", workload_json(("1", 0, 1, 20, "d5"), ("2", 0, 1, 20, "d5", {"dependencies": ["1"]})))
    said = unspool("batsim", "-p", write("p.xml", PLATFORM), "-w", first, "-w", second)
    assert said.code == 0
    rows = [
        (row["workload_name"], row["job_id"], row["profile"], row["starting_time"]) for row in rows_of("out_jobs.csv")
    ]
    assert rows == [
        ("w0", "1", "d10", "0.000000"), ("w1", "1", "d5", "10.000000"), ("w0", "2", "d5", "10.000000"),
        ("w1", "2", "d5", "15.000000"),
    ]  # fmt: skip


def test_the_number_of_machines_is_held_down(unspool, write):
    def given(nb_res):
        return "-p", write("p.xml", PLATFORM), "-w", write("w.json", workload_json(*TWO_JOBS, nb_res=nb_res))

    said = unspool("batsim", *given(3), "--mmax-workload")
    assert (said.code, "job 1: asks for 4" in said.err) == (0, True)
    assert rows_of("out_schedule.csv")[0]["nb_computing_machines"] == "3"
    unspool("batsim", *given(3), "--mmax-workload", "--mmax", 2)
    assert rows_of("out_schedule.csv")[0]["nb_computing_machines"] == "2"
    said = unspool("batsim", *given(9), "--mmax-workload")
    assert said.code == 2
    assert "9" in said.err
    assert "4" in said.err


def test_the_execution_context_is_printed_as_runners_of_experiments_want_it(unspool):
    said = unspool("batsim", "--dump-execution-context", "-e", "x", "-s", "tcp://localhost:1")
    assert json.loads(said.out) == {
        "socket_endpoint": "tcp://localhost:1", "redis_enabled": False, "redis_hostname": "127.0.0.1",
        "redis_port": 6379, "redis_prefix": "default", "export_prefix": "x", "external_scheduler": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("-W", "x.xml"), "x.xml: there is no such file"),
        (("-W", "p.xml"), "p.xml: is no workflow; expected DAX of Pegasus, or JSON of WfCommons"),
        (("--WS", "x.xml", "-3"), "--workflow-start is -3; expected seconds, 0 or more"),
        (("--workflow-jobs-limit", "-1"), "--workflow-jobs-limit -1: expected a number of tasks"),
        (("-E",), "has no property wattage_per_state"),
        (("--allocate", "nodes"), "--allocate: unknown value 'nodes'"),
        (("-s", "tcp://localhost:28000", "--policy", "easy"), "leave out --policy, or that one"),
        (("--enable-redis",), "Redis is not supported"),
        (("--enable-profile-reuse",), "name it with -s, or start it with --start-scheduler"),
        (("--disable-storage-sharing",), "is for a scheduler that is another program"),
        (("--message-delay", "-1"), "expected seconds, 0 or more"),
        (("--events", "none.txt"), "none.txt"),
        (("--simgrid-version",), "SimGrid is not used here"),
        (("-v", "foo"), "--verbosity: unknown value 'foo'"),
        (("--mmax", "x"), 'unable to convert "x"'),
        (("--mmax", "-3"), "--mmax -3: expected"),
        (("-r", "h1:foo"), "unknown role 'foo'"),
        (("-r", "h1:storage:x"), "one colon"),
        (("-r", "h1:master"), "expected one"),
        (("-m", "zz"), "zz"),
        (("--sharing", "odd"), "unknown value 'odd'"),
        (("--sg-cfg", "host/solver:maxmin"), "SimGrid is not used here"),
        (("--storage-mapping", "pfs=h1"), "no such host has the role storage"),
        (("-e", "w.json/x"), "is no folder"),
        (("--nonsense",), "Unknown option"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_exit_2(unspool, files, options, told, tmp_path):
    said = unspool("batsim", *files, *options)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("unspool: ")
    assert said.err.count("\n") == 1
    assert told in said.err
    assert not list(tmp_path.glob("out_*"))


@pytest.mark.parametrize("policy", ["divides", "yields"])
def test_a_fault_of_ones_own_policy_is_told_as_that(unspool, files, write, policy):
    write("own_faults.py", "def divides(view):\n    return [1 / 0]\n\n\ndef yields(view):\n    yield 1 / 0\n")
    said = unspool("batsim", *files, "--policy", f"own_faults.py:{policy}")
    assert (said.code, said.out) == (1, "")
    assert f"policy 'own_faults.py:{policy}' failed: ZeroDivisionError: division by zero (" in said.err
    assert said.err.endswith(f"own_faults.py, line {2 if policy == 'divides' else 6})\n")


def starts(path="out_jobs.csv"):
    return {row["job_id"]: (float(row["starting_time"]), row["allocated_resources"]) for row in rows_of(path)}


def test_machines_that_events_close_keep_their_jobs_and_get_no_new_ones(unspool, write):
    jobs = (("1", 0, 2, 20, "d10"), ("2", 1, 2, 20, "d5"), ("3", 7, 2, 20, "d5"), ("4", 7, 2, 20, "d5"))
    events = [("machine_unavailable", "0-1", 5), ("machine_available", "0", 8), ("machine_available", "1", 14)]
    lines = "\n".join(json.dumps({"type": kind, "resources": of, "timestamp": at}) for kind, of, at in events)
    given = ("-p", write("p.xml", PLATFORM), "-w", write("w.json", workload_json(*jobs)))
    assert unspool("batsim", *given, "--events", write("e.txt", lines)).code == 0
    # 1 goes on until 10 on machines that are closed; 3 takes those of 2. Machine 0 is open again at 8, while 1 is on
    # it still, and machine 1 at 14, when 3 has been over for two seconds.
    assert starts() == {"1": (0.0, "0-1"), "2": (1.0, "2-3"), "3": (7.0, "2-3"), "4": (12.0, "0 2")}


@pytest.mark.parametrize(
    ("events", "told"),
    [
        ([("machine_available", "0", 3)], "event at 3 s: machine_available of machine 0, but it is available already"),
        ([("machine_unavailable", "0", 1)] * 2, "but it is unavailable already"),
        ([("machine_unavailable", "4", 1)], "but there are 4 machines, from 0 on"),
        ([("earthquake", "0", 1)], "earthquake"),
    ],
)
def test_events_that_cannot_be_are_told(unspool, files, write, events, told):
    lines = "\n".join(json.dumps({"type": kind, "resources": of, "timestamp": at}) for kind, of, at in events)
    said = unspool("batsim", *files, "--events", write("e.txt", lines))
    assert (said.code, said.out) == (2, "")
    assert told in said.err


def test_jobs_that_share_machines_take_the_emptiest_ones(unspool, write):
    jobs = (("1", 0, 3, 20, "d10"), ("2", 0, 2, 20, "d10"), ("3", 0, 4, 20, "d5"))
    given = ("-p", write("p.xml", PLATFORM), "-w", write("w.json", workload_json(*jobs)))
    assert unspool("batsim", *given, "--enable-compute-sharing").code == 0
    found = starts()
    assert {name: start for name, (start, _) in found.items()} == {"1": 0.0, "2": 0.0, "3": 0.0}
    assert (found["1"][1], found["3"][1]) == ("0-2", "0-3")
    assert "3" in found["2"][1].split("-")[-1].split(), "the machine that is empty is one of its two"


@pytest.mark.parametrize("policy", ["fcfs", "easy"])
def test_a_scheduler_that_hears_later_decides_later(unspool, files, policy):
    assert unspool("batsim", *files, "--policy", policy, "--message-delay", "0.5").code == 0
    assert {name: start for name, (start, _) in starts().items()} == {"1": 0.5, "2": 11.0}


def test_platform_and_workload_are_asked_for(unspool, files):
    assert "no platform given" in unspool("batsim", "-w", "w.json").err
    assert "no workload given" in unspool("batsim", "-p", "p.xml").err


def inputs_of_batsim():
    path = CASES / "invalid_inputs_v4.2.1.json"
    return [case for case in json.loads(path.read_text()) if case["args"]] if path.is_file() else []


@pytest.mark.parametrize("case", inputs_of_batsim(), ids=lambda case: case["case"])
def test_arguments_that_batsim_refuses_are_refused(unspool, write, case):
    given = ("-p", write("p.xml", PLATFORM), "-w", write("w.json", case["workload"]))
    said = unspool("batsim", *given, *case["args"])
    is_fine = case["exit_code"] == 0 and not case["message"]
    assert said.code == (0 if is_fine else 2), said.err
    assert "Traceback" not in said.err


@pytest.mark.parametrize(
    ("name", "platform", "workload", "options"),
    [
        ("delays_small_fcfs", "small_platform", "test_delays", ()),
        ("delays_small_filler", "small_platform", "test_delays", ("--policy", "filler")),
        ("seqdelay_small_fcfs", "small_platform", "test_sequence_delay", ()),
        ("hpc250s1_cluster512_fcfs_fast", "cluster512", "example_workload_hpc_seed1_jobs250", ("--mmax-workload",)),
    ],
)
def test_jobs_on_platforms_of_batsim_start_when_batsim_starts_them(unspool, name, platform, workload, options):
    need_cases()
    upstream = CASES / "upstream-v4.2.1"
    files = ("-p", upstream / f"platforms/{platform}.xml", "-w", upstream / f"workloads/{workload}.json")
    assert unspool("batsim", *files, "--host-order", "text", *options).code == 0
    theirs = {row["job_id"]: row for row in golden_rows(name)}
    ours = rows_of("out_jobs.csv")

    def by_start(rows):
        return [row["job_id"] for row in sorted(rows, key=lambda row: [float(row[at]) for at in TIMES])]

    assert by_start(ours) == by_start(theirs.values())
    for our in ours:
        their = theirs[our["job_id"]]
        same = ("profile", "requested_time", "final_state", "execution_time", "metadata")
        assert [our[key] for key in same] == [their[key] for key in same]
        # Batsim's own messages travel over the simulated network.
        start = float(their["starting_time"])
        assert float(our["starting_time"]) == pytest.approx(start, abs=0.05 + 1e-4 * start)


@pytest.mark.parametrize(
    ("name", "options"), [("edges", ()), ("storage", ("--storage-mapping", "a=st0,b=st1,pfs=st0"))]
)
def test_whole_runs_of_recorded_cases_give_the_same_file(unspool, name, options):
    need_cases()
    own = CASES / "own"
    files = ("-p", own / "platforms/clean4.xml", "-w", own / f"workloads/{name}.json")
    assert unspool("batsim", *files, "--no-sched", *options).code == 0
    with open("out_jobs.csv") as ours:
        assert ours.read() == (GOLDEN / f"own_{name}/out_jobs.csv").read_text()


def test_a_job_that_returns_another_code_than_0_has_failed(unspool, write):
    jobs = {"nb_res": 4, "profiles": {"d": {"type": "delay", "delay": 3, "ret": 4}}}
    jobs["jobs"] = [{"id": "1", "subtime": 0, "res": 1, "profile": "d"}]
    unspool("batsim", "-p", write("p.xml", PLATFORM), "-w", write("w.json", json.dumps(jobs)))
    row = rows_of("out_jobs.csv")[0]
    assert (row["final_state"], row["success"], row["requested_time"]) == ("COMPLETED_FAILED", "0", "-1.000000")


def test_evalys_reads_the_jobs_file(unspool, files):
    jobset = pytest.importorskip("evalys.jobset", reason="evalys is not installed")
    assert unspool("batsim", *files).code == 0
    read = jobset.JobSet.from_csv("out_jobs.csv")
    assert read.df["jobID"].astype(str).to_list() == ["1", "2"]
    assert read.df["starting_time"].to_list() == [0.0, 10.0]
    assert str(read.df["allocated_resources"].iloc[0]) == "0-3"


def test_a_job_that_finds_no_room_is_told_without_a_line_that_is_not_its_own(unspool, write):
    write("p.xml", PLATFORM)
    text = '{"nb_res": 4,\n"profiles": {"nap": {"type": "delay", "delay": 1}},\n"jobs": [\n'
    text += '{"id": "large", "subtime": 0, "res": 99, "profile": "nap"},\n'
    text += '{"id": "none", "subtime": 0, "res": 0, "profile": "nap"}]}'
    write("w.json", text)
    said = unspool("batsim", "-p", "p.xml", "-w", "w.json")
    assert "  job large: asks for 99" in said.err
    assert "  line 5, job none: " in said.err
