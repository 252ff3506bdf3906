import json
import os
import re
import resource
import signal
import subprocess
import sys
import tomllib

import polars as pl
import pytest
from tests.uncompiled import needs_compiling

from unspool.workloads import FORMATS

HEAD = "job_id,submit_time,run_time,cores,walltime\n"
# On 4 cores: a runs 0-10 on 2 cores, b needs 4 and waits until 10, c (2 cores, 8 s) fits before b.
THREE = HEAD + "a,0,10,2,10\nb,1,5,4,5\nc,2,8,2,8\n"


def figures(said):
    return json.loads(said.out, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))


def entries(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != "__pycache__")


# What it prints.


def test_json_has_the_figures_that_scripts_rely_on(unspool, write):
    said = unspool("run", write("log.csv", THREE), "-p", 4, "--policy", "easy", "--json")
    summary = figures(said)
    assert said.code == 0
    assert (summary["jobs"], summary["rejected"], summary["seed"]) == (3, 0, 0)
    assert (summary["mean_wait_s"], summary["max_wait_s"], summary["makespan_s"]) == (3.0, 9.0, 15.0)
    assert summary["p95_wait_s"] == pytest.approx(8.1)
    assert summary["mean_bounded_slowdown"] == pytest.approx((1 + 1.4 + 1) / 3)
    assert summary["utilisation"] == pytest.approx((20 + 20 + 16) / 60)
    assert {"read_s", "compile_s", "simulate_s", "write_s"} <= summary["timing"].keys()


def test_several_policies_give_one_table_with_the_mean_wait_against_the_first(unspool, write):
    said = unspool("run", write("log.csv", THREE), "-p", 4, "--policy", "fcfs", "--policy", "easy")
    assert said.code == 0
    assert said.out.splitlines()[0] == "log.csv on 4 (4 cores): 3 jobs, 0 rejected"
    # Under FCFS c starts with b's end at 15 and waits 13 s: (0 + 9 + 13) / 3.
    assert [re.split(r"  +", line)[:4] for line in said.out.splitlines()[-2:]] == [
        ["fcfs", "7.3 s", "=", "12.6 s"],
        ["easy", "3 s", "-59.1%", "8.1 s"],
    ]


def test_several_policies_give_a_list_in_json(unspool, write):
    said = unspool("run", write("log.csv", THREE), "-p", 4, "--policy", "easy", "--policy", "fcfs", "--json")
    assert [(one["policy"], one["mean_wait_s"]) for one in figures(said)] == [("easy", 3.0), ("fcfs", 22 / 3)]


def test_the_table_of_the_sample_fits_a_terminal_of_eighty_columns(unspool):
    said = unspool("run", "--policy", "fcfs", "--policy", "easy")
    assert max(map(len, said.out.splitlines())) <= 80


def test_a_policy_given_twice_runs_once_and_it_is_said(unspool, write):
    said = unspool("run", write("log.csv", THREE), "-p", 4, "--policy", "easy", "--policy", "easy", "--json")
    assert said.err == "policy 'easy' is given 2 times: run once\n"
    assert figures(said)["policy"] == "easy"


def test_without_a_log_the_sample_is_replayed_on_its_own_machine(unspool):
    said = unspool("run", "--json")
    assert said.code == 0
    assert said.err.splitlines()[:2] == [
        "no log given: replaying the bundled sample campus.swf.gz",
        "no platform given: 256 cores, as the log says of its machine",
    ]
    assert figures(said)["jobs"] == 10000


def test_pool_and_one_core_machines_give_the_same_waits(unspool, tmp_path):
    for platform in ("256", "256x1"):
        assert unspool("run", "-p", platform, "-o", platform).code == 0
    pool, machines = (pl.read_parquet(tmp_path / name / "jobs.parquet") for name in ("256", "256x1"))
    assert pool["wait_time"].equals(machines["wait_time"])


# Records and jobs that cannot be used.


def test_a_job_larger_than_the_platform_is_rejected_and_the_run_goes_on(unspool, write):
    said = unspool("run", write("log.csv", THREE + "d,3,1,5,1\n"), "-p", 4, "--json")
    assert said.code == 0
    assert said.err == "rejected: 1 job\n  line 5, job d: asks for 5 cores; the platform has 4\n"
    assert (figures(said)["jobs"], figures(said)["rejected"], figures(said)["rejected_jobs"]) == (3, 1, 1)


def test_rejections_exit_with_2_when_strict(unspool, write):
    log = write("log.csv", THREE + "d,3,soon,1,1\n")
    assert unspool("run", log, "-p", 4).code == 0
    said = unspool("run", log, "-p", 4, "--strict")
    assert said.code == 2
    assert "line 5, job d: run_time is 'soon'; expected seconds" in said.err


def test_a_run_of_which_all_jobs_are_rejected_has_an_empty_result(unspool, write):
    said = unspool("run", write("log.csv", HEAD + "a,0,1,9,1\nb,0,1,9,1\n"), "-p", 4, "--json", "-o", "out")
    assert said.code == 0
    assert (figures(said)["jobs"], figures(said)["rejected"], figures(said)["makespan_s"]) == (0, 2, 0.0)


def test_an_unsorted_log_is_sorted_and_it_is_said(unspool, write):
    said = unspool("run", write("log.csv", HEAD + "a,5,1,1,1\nb,0,1,1,1\n"), "-p", 4)
    assert said.code == 0
    assert said.err == "log.csv: 1 of 2 jobs stood before a job submitted earlier: sorted by submit time\n"


def test_notes_of_the_engine_are_told_once(unspool, write):
    log = write("log.csv", "job_id,submit_time,run_time,cores,gpus\na,0,1,1,2\n")
    said = unspool("run", log, "-p", 4, "--policy", "fcfs", "--policy", "easy")
    assert said.err == "1 job asks for GPUs, which this platform does not model: not looked at\n"


@pytest.mark.parametrize(
    "row",
    [
        "жø日本,0,1,1,1",
        "💥,0,1,1,1",
        '"a,""b""",0,1,1,1',
        '"two\nlines",0,1,1,1',
        "y" * 100_000 + ",0,1,1,1",
        "a,0,0,1,1",
    ],
    ids=["letters", "emoji", "quotes", "newline", "long", "no run time"],
)
def test_odd_jobs_run(unspool, write, row):
    said = unspool("run", write("log.csv", HEAD + row + "\n"), "-p", 4, "--json", "-o", "out", "--csv")
    assert said.code == 0
    assert figures(said)["mean_bounded_slowdown"] == 1.0


def test_odd_ids_stay_on_one_line_of_a_message(unspool, write):
    said = unspool("run", write("log.csv", HEAD + '"two\nlines",0,1,9,1\n' + "y" * 5000 + ",0,1,9,1\n"), "-p", 4)
    lines = said.err.splitlines()
    assert lines[1] == "  line 2, job two?lines: asks for 9 cores; the platform has 4"
    assert lines[2].startswith("  line 4, job yyyy")
    assert len(lines[2]) < 100


@pytest.mark.parametrize("name", ["with space.csv", "[red]markup[bold].csv", "жø.csv", "-.csv"])
def test_odd_file_names_are_shown_as_they_are(unspool, write, name):
    said = unspool("run", "-p", 4, "--", write(name, THREE))
    assert said.code == 0
    assert said.out.startswith(f"{name} on 4 (4 cores)")


# Wrong input: one sentence, exit 2, nothing on stdout.


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nofile.swf", "-p", "4"], "nofile.swf: there is no such file; check the path"),
        ([".", "-p", "4"], ".: is a folder without records in an lsb.acct; expected a file, or LSF's logdir"),
        (["empty.csv", "-p", "4"], "empty.csv: the file is empty; expected one job a line"),
        (["binary.swf", "-p", "4"],
         "binary.swf: binary data; expected lines of text, so give another file or its format"),
        (["binary", "-p", "4"], "binary: its format cannot be told; give it one of " + ", ".join(FORMATS)),
        (["semi.csv", "-p", "4"],
         "semi.csv: the first line has semicolons between cells; expected commas, so save it so"),
        (["early.csv", "-p", "4"], "early.csv, line 2: submit_time is -5; expected 0 or more"),
        (["late.csv", "-p", "4"], "late.csv, line 2: submit_time is 1e+300; expected a number up to 1e+13 seconds"),
        (["wide.csv", "-p", "4"], "wide.csv, line 2: cores is 10000000000000; expected a number up to 1e+12"),
        (["twice.csv", "-p", "4"], "twice.csv: job id 'a' stands twice, in lines 2 and 3; ids must be unique"),
        (["three.csv"], "three.csv does not say how large its machine was; give a platform, such as -p 480"),
        (["three.csv", "-p", "4", "--policy", "esay"],
         "unknown scheduler 'esay'; did you mean 'easy'? Known: cheapest-fit, conservative, easy, f1, f2, f3, "
         "f4, fcfs, filler, largest-size, least-added-cost, ljf, "
         "multifactor, priority, random, rl, saf, sjf, unicef, wfp3, or one of your own as module:Name"),
        (["three.csv", "-p", "4", "--policy", "fcfs:order=sjf"],
         "'fcfs:order=sjf': unknown parameter 'order'. Known: power_cap, predictor, sleep_after"),
        (["three.csv", "-p", "4", "--policy", "multifactor:half_life_s=0"],
         "multifactor: half_life_s is 0; expected more than 0 seconds"),
        (["three.csv", "-p", "4", "--policy", "easy:predictor=last"],
         "unknown predictor 'last'; did you mean 'last-two'? Known: boosting, embedding, exact, last-two, "
         "linear, network, quantile, scaled, statistics, "
         "or one of your own as module:Name"),
        (["three.csv", "-p", "4", "--policy", "easy:depth=3"],
         "'easy:depth=3': unknown parameter 'depth'. Known: order, power_cap, predictor, sleep_after"),
        (["three.csv", "-p", "4", "--select", "frist"],
         "unknown machine selection 'frist'; did you mean 'first'? "
         "Known: best, contiguous, first, local, nearby, pack, spread, worst"),
        (["three.csv", "-p", "4", "--format", "cvs"],
         "unknown workload format 'cvs'; did you mean 'csv'? Known: " + ", ".join(sorted(FORMATS))),
        (["three.csv", "-p", "4", "--columns", "run_time"],
         "--columns run_time: expected our column = the file's, as in run_time=duration"),
        (["three.csv", "-p", "0"], "platform '0': a pool of this many cores; expected 1 to 1000000000000"),
        (["three.csv", "-p", "-4"], "platform '-4': a pool of this many cores; expected 1 to 1000000000000"),
        (["three.csv", "-p", "4x4:8G"],
         "platform '4x4:8G': '8G' is not a size such as 512, 64GB (decimal) or 4GiB (binary)"),
        (["three.csv", "-p", "bad.yaml"],
         "bad.yaml: not valid YAML: line 2: expected ',' or '}', but got '<stream end>'"),
        (["three.csv", "-p", "4", "-c", "bad.toml"], "bad.toml: not valid TOML: Invalid value (at end of document)"),
        (["three.csv", "-p", "4", "-c", "unknown.toml"],
         "unknown.toml: unknown setting 'polcy'; did you mean 'policy'? "
         "Known: catalogue, columns, energy, format, kill_at_walltime, missing_routes, on_loss, outages, platform, "
         "policy, seed, selection, workload"),
        (["three.csv", "-p", "4", "-c", "nofile.toml"], "nofile.toml: there is no such file; expected TOML"),
        (["three.csv", "-p", "4", "--set", "seed"], "--set seed: expected KEY=VALUE, as in seed=1"),
        (["three.csv", "-p", "4", "--set", "seed=x"], "setting seed: expected int, got str"),
        (["three.csv", "-p", "4", "--set", "policy=[]"], "policy: the list is empty; name one scheduler or more"),
        (["three.csv", "-p", "4", "--seed", "-1"], "setting seed: expected int >= 0"),
        (["three.csv", "-p", "4", "--polcy", "easy"],
         "Unknown option: --polcy. Did you mean --policy? Try: unspool run --help"),
        (["", "-p", "4"], "the name of the log is empty; give the name of a file"),
        (["-", "-p", "4"], "-: standard input is not read; save it as a file first. Try: unspool run --help"),
        (["three.csv", "-p", "4", "--policy", "fcfs", "easy"],
         "'easy' is one argument too many; an option with several values is given once for each. "
         "Try: unspool run --help"),
        (["three.csv", "-p", "4", "-o", "three.csv"],
         "three.csv exists and is no folder: it is never replaced; name another folder"),
        (["three.csv", "-p", "4", "-o", "three.csv/out"], "cannot write results to three.csv/out: Not a directory"),
    ],
)  # fmt: skip
def test_wrong_input_is_told_in_one_sentence(unspool, write, arguments, sentence):
    write("three.csv", THREE)
    write("empty.csv", "")
    write("binary.swf", bytes(range(256)))
    write("binary", bytes(range(256)))
    write("semi.csv", THREE.replace(",", ";"))
    write("early.csv", HEAD + "a,-5,1,1,1\n")
    write("late.csv", HEAD + "a,1e300,1,1,1\n")
    write("wide.csv", HEAD + "a,0,1,10000000000000,1\n")
    write("twice.csv", HEAD + "a,0,1,1,1\na,0,1,1,1\n")
    write("bad.yaml", "machines: [{cores: 2\n")
    write("bad.toml", "machines = [\n")
    write("unknown.toml", "polcy = 'easy'\n")
    assert unspool("run", *arguments) == (2, "", f"unspool: {sentence}\n")


def test_an_unknown_verb_is_told_the_nearest(unspool):
    said = unspool("rnu", "log.csv")
    assert said.code == 2
    assert 'Unknown command "rnu". Did you mean "run"?' in said.err


def test_a_pipe_is_refused_since_it_can_be_read_once_only(unspool, tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    assert unspool("run", "pipe.csv", "-p", 4) == (
        2, "", "unspool: pipe.csv: is a pipe or a device; save it as a file first\n"
    )  # fmt: skip


# Settings.


def test_settings_come_from_the_file_then_from_set_then_from_options(unspool, write):
    write("log.csv", THREE)
    write("run.toml", "workload = 'log.csv'\nplatform = 4\npolicy = ['fcfs', 'easy']\nseed = 1\n")
    assert [one["seed"] for one in figures(unspool("run", "-c", "run.toml", "--json"))] == [1, 1]
    said = unspool("run", "-c", "run.toml", "--set", "seed=2", "--policy", "easy", "--json")
    assert (figures(said)["seed"], figures(said)["policy"]) == (2, "easy")
    assert figures(unspool("run", "-c", "run.toml", "--set", "policy=easy", "--seed", 3, "--json"))["seed"] == 3


def test_run_toml_of_a_result_repeats_the_run_from_any_folder(unspool, write, tmp_path, monkeypatch):
    write("log.csv", THREE)
    write("cluster.yaml", "machines: [{cores: 2, count: 2}]\n")
    arguments = ("--policy", "easy", "--seed", 7, "--select", "first", "--kill-at-walltime")
    assert unspool("run", "log.csv", "-p", "cluster.yaml", *arguments, "-o", "first").code == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert unspool("run", "-c", "../first/run.toml", "-o", "second").code == 0
    first, second = tmp_path / "first", tmp_path / "elsewhere" / "second"
    assert tomllib.loads((second / "run.toml").read_text()) == tomllib.loads((first / "run.toml").read_text())
    assert pl.read_parquet(first / "jobs.parquet").equals(pl.read_parquet(second / "jobs.parquet"))


def test_run_toml_names_the_platform_that_the_log_told(unspool, write, tmp_path):
    write("log.swf", "; MaxProcs: 8\n1 0 -1 60 4 -1 -1 4 90 -1 1 -1 -1 -1 -1 -1 -1 -1\n")
    assert unspool("run", "log.swf", "-o", "out").code == 0
    assert tomllib.loads((tmp_path / "out" / "run.toml").read_text()) == {
        "workload": str(tmp_path / "log.swf"), "platform": "8", "policy": "easy", "seed": 0, "kill_at_walltime": False,
        "on_loss": "requeue",
        "energy": False,
    }  # fmt: skip


# The folder of results.


def test_an_existing_result_is_replaced_with_force_only(unspool, write, tmp_path):
    log = write("log.csv", THREE)
    written = unspool("run", log, "-p", 4, "--policy", "fcfs", "-o", "out")
    assert written.err == "results: out, for people out/report.html\n"
    assert unspool("run", log, "-p", 4, "-o", "out") == (
        2, "", "unspool: out exists; name another folder, or say --force to replace it\n"
    )  # fmt: skip
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["policy"] == "fcfs"
    assert unspool("run", log, "-p", 4, "-o", "out", "--force").code == 0
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["policy"] == "easy"
    assert entries(tmp_path) == ["log.csv", "out"]


def test_several_policies_have_a_folder_each(unspool, write, tmp_path):
    log = write("log.csv", THREE)
    assert unspool("run", log, "-p", 4, "--policy", "fcfs", "--policy", "easy", "-o", "out").code == 0
    assert entries(tmp_path / "out") == ["comparison.json", "easy", "fcfs", "report.html"]
    assert tomllib.loads((tmp_path / "out" / "fcfs" / "run.toml").read_text())["policy"] == "fcfs"
    assert unspool("run", log, "-p", 4, "-o", "out", "--force").code == 0
    assert "summary.json" in entries(tmp_path / "out")


# Policies of the user's own.


def test_a_policy_in_the_current_folder_is_found(unspool, write):
    write("log.csv", THREE)
    write("own_policy.py", "from unspool import Start\n\n\ndef decide(view):\n"
          "    return [Start(view.queue[0])] if view.queue and view.fits(view.queue[0]) else []\n")  # fmt: skip
    path = list(sys.path)
    said = unspool("run", "log.csv", "-p", 4, "--policy", "fcfs", "--policy", "own_policy:decide", "--json")
    assert [one["mean_wait_s"] for one in figures(said)] == [22 / 3, 22 / 3]
    assert sys.path == path


FAILING = """
from unspool import Start

def boom(view):
    raise ValueError("trouble\\nin two lines")

def number(view):
    return 42

def word(view):
    return ["start it"]

def idle(view):
    return []

def greedy(view):
    return [Start(job) for job in view.queue]

def leaves(view):
    raise SystemExit(0)

class Unfinished:
    pass
"""


@pytest.mark.parametrize(
    ("policy", "code", "begins"),
    [
        ("boom", 1, "policy 'failing:boom' failed: ValueError: trouble?in two lines (FOLDER/failing.py, line 5)\n"),
        ("number", 1, "policy 'failing:number'"),
        ("word", 1, "policy 'failing:word': 'start it' is not a decision; expected Start"),
        ("idle", 1, "policy 'failing:idle': nothing is left to happen, but the policy let 3 jobs wait for ever: a, b"),
        ("greedy", 1, "policy 'failing:greedy': Start('b') at 1 s: it needs 4 cores, 2 are free\n"),
        ("leaves", 1, "policy 'failing:leaves' failed: SystemExit: 0 (FOLDER/failing.py, line 20)\n"),
        ("Unfinished", 2, "'failing:Unfinished': failing:Unfinished is no scheduler; expected decide(view)\n"),
        ("missing", 2, "cannot load missing from failing: AttributeError: module 'failing' has no attribute"),
    ],
)  # fmt: skip
def test_a_policy_that_fails_is_named_with_what_happened(unspool, write, tmp_path, monkeypatch, policy, code, begins):
    monkeypatch.delitem(sys.modules, "failing", raising=False)
    write("log.csv", THREE)
    write("failing.py", FAILING)
    said = unspool("run", "log.csv", "-p", 4, "--policy", f"failing:{policy}", "-o", "out")
    assert said.code == code
    assert said.err.startswith("unspool: " + begins.replace("FOLDER", str(tmp_path)))
    assert said.err.count("\n") == 1
    assert entries(tmp_path) == ["failing.py", "log.csv"]


def test_debug_shows_the_traceback_of_a_policy_that_fails(unspool, write):
    write("log.csv", THREE)
    write("traced.py", "def decide(view):\n    return view.colour\n")
    said = unspool("run", "log.csv", "-p", 4, "--policy", "traced:decide", "--debug")
    assert said.code == 1
    assert "return view.colour" in said.err
    assert said.err.splitlines()[-1].startswith("unspool: policy 'traced:decide' failed: AttributeError")


# True processes: signals, pipes, colours.

COMMAND = (sys.executable, "-c", "from unspool.cli import main; main()")
SLOW = """
import time
from unspool import WakeAt

def decide(view):
    print("deciding", flush=True)
    time.sleep(0.1)
    return [WakeAt(view.now + 1.0)]
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_nothing_behind(write, tmp_path, number):
    write("log.csv", THREE)
    write("slow.py", SLOW)
    arguments = ("run", "log.csv", "-p", "4", "--policy", "slow:decide", "-o", "out")
    with subprocess.Popen(
        [*COMMAND, *arguments], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout.readline() == "deciding\n"
        running.send_signal(number)
        _, err = running.communicate(timeout=30)
    assert running.returncode == 130
    assert err.splitlines()[-1] == "unspool: interrupted: what was not yet whole is not kept"
    assert entries(tmp_path) == ["log.csv", "slow.py"]


# A signal arrives where the nth function begins to be compiled, or when LLVM calls back as it has compiled it: from
# there no exception comes through.
CUT_SHORT = """\
import os
import sys
import unspool.engine.kernel.compiled
from numba.core import codegen, event
from unspool.cli.app import main

where, number, at = sys.argv.pop(1), int(sys.argv.pop(1)), int(sys.argv.pop(1))
seen = []

def interrupt():
    seen.append(where)
    if len(seen) == at:
        print("compiling", flush=True)
        os.kill(os.getpid(), number)

class Compiling(event.Listener):
    def on_start(self, event):
        interrupt()
    def on_end(self, event):
        pass

class Library(codegen.JITCodeLibrary):
    @classmethod
    def _object_compiled_hook(cls, module, code):
        interrupt()
        super()._object_compiled_hook(module, code)

if where == "called back":
    codegen.JITCPUCodegen._library_class = Library
else:
    event.register("numba:compile", Compiling())
main()
"""


@needs_compiling
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(("where", "at"), [("begun", 1), ("begun", 3), ("called back", 1), ("called back", 4)])
def test_a_run_that_is_interrupted_while_it_compiles_says_so(write, tmp_path, where, at, number):
    arguments = ("run", write("log.csv", THREE), "-p", "4", "--policy", "fcfs", "-o", "out")
    said = subprocess.run(
        [sys.executable, "-c", CUT_SHORT, where, str(int(number)), str(at), *arguments],
        cwd=tmp_path, env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert said.stdout == "compiling\n"
    told = [line for line in said.stderr.splitlines() if not line.startswith("compiling: ")]
    assert told == ["unspool: interrupted: what was not yet whole is not kept"]
    assert said.returncode == 130
    assert not (tmp_path / "out").exists()


def test_a_slow_run_tells_progress_with_rate_and_time_left_and_not_that_it_compiles(write, tmp_path):
    write("log.csv", HEAD + "".join(f"{at},{at},1,1,1\n" for at in range(25)))
    write("sleepy.py", "import time\nfrom unspool import Start\n\n\ndef decide(view):\n    time.sleep(0.1)\n"
          "    return [Start(job) for job in view.queue if view.fits(job)]\n")  # fmt: skip
    arguments = ("run", "log.csv", "-p", "4", "--policy", "fcfs", "--policy", "sleepy:decide")
    done = subprocess.run([*COMMAND, *arguments], cwd=tmp_path, check=True, capture_output=True, text=True, timeout=60)
    assert re.fullmatch(r"sleepy:decide: \d+ of 25 jobs, \d+ jobs/s, \d+ s left\n", done.stderr)


def test_a_reader_that_leaves_early_gets_no_traceback(write, tmp_path):
    write("log.csv", THREE)
    with subprocess.Popen(
        [*COMMAND, "run", "log.csv", "-p", "4"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        running.stdout.close()
        assert running.stderr.read() == ""
        running.wait(timeout=60)


def test_a_full_disk_is_told_in_one_sentence(write, tmp_path):
    write("log.csv", THREE)
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, "run", "log.csv", "-p", "4"],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert (done.returncode, done.stderr) == (1, "unspool: output: No space left on device\n")


def test_a_locale_without_our_letters_is_no_reason_to_fail(write, tmp_path):
    write("жø.csv", THREE)
    plain = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    command = [*COMMAND, "run", "жø.csv", "-p", "4"]
    done = subprocess.run(command, cwd=tmp_path, env=plain, check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout.isascii()
    done = subprocess.run([*command, "--json"], cwd=tmp_path, env=plain, check=True, capture_output=True, timeout=60)
    assert json.loads(done.stdout)["jobs"] == 3


def test_help_is_quick_since_neither_numba_nor_polars_is_loaded():
    code = "import sys, unspool.cli.app; print([name for name in ('numba', 'polars', 'numpy') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout == "[]\n"
    # Processor time, since the machine may be busy; 0.15 s on an idle one.
    assert min(_processor_seconds([*COMMAND, "--help"]) for _ in range(3)) < 0.5


def _processor_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
