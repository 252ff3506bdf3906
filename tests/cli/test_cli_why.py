import json

LOG = "job_id,submit_time,run_time,cores,walltime\na,0,10,3,10\nb,1,10,4,10\nc,2,20,1,30\n"
MINE = "from unspool import Start\ndef one(view):\n    return [Start(j) for j in view.queue[:1] if view.fits(j)]\n"


def test_a_wait_is_told_interval_by_interval_with_totals(unspool, write):
    assert unspool("run", write("log.csv", LOG), "-p", 4, "-o", "out").code == 0
    assert unspool("why", "out", "c") == (
        0,
        """\
job c, 1 core: log.csv under easy on 4
submitted at 2 s, started at 20 s, waited 18 s; estimate 30 s

from  to  length  ahead  waited because it
────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
2     10  8 s     1      could run until 32 on 1 core, but job b at the head of the queue expects to start at 10, with 0
                         to spare
10    20  10 s    0      needs 1 core, 0 free

reason          time   share  intervals
───────────────────────────────────────
no room: cores  10 s   55.6%          1
reservation      8 s   44.4%          1
in all          18 s  100.0%          2
""",
        "",
    )
    assert unspool("why", "out", "a").out.splitlines()[1] == "submitted and started at 0 s: it did not wait"


def test_json_has_every_interval(unspool, write):
    unspool("run", write("log.csv", LOG), "-p", 4, "-o", "out")
    told = json.loads(unspool("why", "out", "c", "--json").out)
    assert (told["job"], told["wait_s"], told["totals"]) == ("c", 18, {"no room: cores": 10, "reservation": 8})
    assert [(one["begin"], one["end"], one["reason"], one["jobs"]) for one in told["intervals"]] == [
        (2, 10, "reservation", ["b"]), (10, 20, "no room", []),
    ]  # fmt: skip
    assert told["intervals"][1]["amounts"] == [{"of": "cores", "needed": 1, "free_least": 0, "free_most": 0, "each": 0}]


def test_a_long_list_is_cut_in_the_middle_unless_all_is_asked_for(unspool, write):
    lines = ["job_id,submit_time,run_time,cores,walltime,depends_on"]
    lines += [f"d{at},0,{10 * (at + 1)},1,1000," for at in range(30)]
    lines += [f'e,0,5,1,5,"{",".join(f"d{at}" for at in range(30))}"']
    write("deps.csv", "\n".join(lines) + "\n")
    unspool("run", "deps.csv", "-p", 64, "-o", "deps")
    said = unspool("why", "deps", "e").out
    assert "10 intervals not shown: --all" in said
    assert said.count("waits for the end of") == 20
    assert unspool("why", "deps", "e", "--all").out.count("waits for the end of") == 30


def test_a_log_that_is_gone_or_changed_is_told_and_can_be_named(unspool, write, tmp_path):
    unspool("run", write("log.csv", LOG), "-p", 4, "-o", "out")
    (tmp_path / "log.csv").rename(tmp_path / "moved.csv")
    said = unspool("why", "out", "c")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("unspool: the log of this result cannot be read again: ")
    assert "there is no such file" in said.err
    assert said.err.endswith("name it with --workload (in Python, workload=)\n")
    assert unspool("why", "out", "c", "--workload", "moved.csv").code == 0
    write("log.csv", LOG.replace("c,2,20", "c,2,21"))
    said = unspool("why", "out", "c")
    assert said.code == 2
    assert "log.csv does not hold the jobs that this result is of: it has changed since" in said.err


def test_the_sample_is_known_again(unspool):
    unspool("run", "-o", "out")
    assert "waited 22:13; estimate 10:00" in unspool("why", "out", "3000").out


def test_a_policy_of_your_own_is_loaded_again(unspool, write, tmp_path):
    write("one_at_a_time.py", MINE)
    unspool("run", write("log.csv", LOG), "-p", 4, "--policy", "one_at_a_time:one", "-o", "out")
    assert "needs 4 cores, 1 free" in unspool("why", "out", "b").out
    assert "has room, and the policy did not start it: no reason is known" in unspool("why", "out", "c").out


def test_wrong_input_exits_with_2(unspool, write):
    unspool("run", write("log.csv", LOG), "-p", 4, "--policy", "easy", "--policy", "fcfs", "-o", "out")
    for arguments, told in (
        (("nothing", "a"), "nothing: is not the folder of a result"),
        (("out", "a"), "load one of those in it: easy, fcfs"),
        (("out/easy", "z"), "there is no job 'z' in this result; its jobs are a, b, c"),
    ):
        said = unspool("why", *arguments)
        assert (said.code, said.out) == (2, "")
        assert told in said.err


def test_diff_names_the_first_decision_that_differs_and_exits_with_1(unspool, write):
    log = LOG.replace("c,2,20,1,30", "c,2,5,1,5")
    unspool("run", write("log.csv", log), "-p", 4, "--policy", "easy", "--policy", "fcfs", "-o", "out")
    assert unspool("diff", "out/fcfs", "out/easy") == (
        1,
        """\
log.csv: fcfs and easy
the same before 2 s; then 2 jobs in the queue, 1 core free, 0 jobs started by both

easy starts job c (1 core, walltime 5 s)
  fcfs starts it at 20 s; now it is behind job b, which has no room, and nobody may overtake

of 3 starts, 1 at another time; of the others, 0 with another end
""",
        "",
    )
    told = json.loads(unspool("diff", "out/fcfs", "out/easy", "--json").out)
    assert (told["same"], told["time"], told["second"]["only"][0]["job"]) == (False, 2, "c")


def test_diff_of_the_same_exits_with_0(unspool, write):
    unspool("run", write("log.csv", LOG), "-p", 4, "-o", "out")
    said = unspool("diff", "out", "out")
    assert (said.code, said.out.splitlines()[1]) == (0, "the same: 3 starts, with their ends")


def test_diff_tells_ends_machines_and_rejected_jobs(unspool, write):
    log = write("log.csv", LOG + "d,3,5,9,5\n")
    for name, options in (("a", ("-p", "2x4")), ("b", ("-p", "2x4", "--select", "worst")), ("c", ("-p", "3x4"))):
        unspool("run", log, *options, "-o", name)
    said = unspool("diff", "a", "b")
    assert (
        """
easy (first) puts job b (4 cores, walltime 10 s) on machines 0-0 x 1, 1-1 x 3
  easy (second) puts it on machines 1-1 x 4
"""
        in said.out
    )
    said = unspool("diff", "a", "c")
    assert "rejected by easy (first) only: 1 job: d" in said.out
    assert "the machines of the two are not the same" in said.err
    for name, options in (("long", ()), ("short", ("--kill-at-walltime",))):
        unspool("run", write("over.csv", LOG.replace("a,0,10,3,10", "a,0,10,3,6")), "-p", 4, *options, "-o", name)
    assert (
        """
easy (second) ends job a (3 cores, walltime 6 s) at 6 s (walltime)
  easy (first) ends it at 10 s (completed)
"""
        in unspool("diff", "long", "short").out
    )
    unspool("run", write("plain.csv", LOG), "-p", 4, "-o", "other")
    assert unspool("diff", "long", "other").code == 2


def test_a_job_that_is_not_in_a_result_without_jobs_is_told_so(unspool, write):
    unspool("run", write("large.csv", "job_id,submit_time,run_time,cores\na,0,10,9\nb,0,10,8\n"), "-p", 4, "-o", "out")
    assert unspool("why", "out", "zzz") == (
        2, "", "unspool: there is no job 'zzz' in this result, in which no job ran; jobs that were rejected: a, b\n"
    )  # fmt: skip
