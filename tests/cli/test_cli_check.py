import json

LOG = "job_id,submit_time,run_time,cores,walltime\na,0,10,3,10\nb,1,10,4,10\nc,2,8,1,9\n"


def test_our_own_result_is_held_against_its_own_policy(unspool, write):
    assert unspool("run", write("log.csv", LOG), "-p", 4, "-o", "out").code == 0
    assert unspool("check", "out", "log.csv") == (
        0,
        """\
log.csv under easy (result), log.csv on 4, laws of easy

law               binds        checked  violations  worst
─────────────────────────────────────────────────────────
once                yes         3 jobs           0
submission          yes       3 starts           0
run time            yes         3 runs           0
capacity            yes       3 starts           0
promise             yes        2 heads           0
greedy              yes     6 instants           0
backfill    information  0 overtakings           0

information, backfill: it tells why a promise broke, and may do no harm

no law that binds is violated
""",
        "",
    )


def test_a_violation_exits_with_1_and_has_an_example(unspool, write):
    write("log.csv", LOG)
    said = unspool("check", write("other.csv", "id,start\na,0\nb,13\nc,3\n"), "log.csv", "-p", 4, "--policy", "easy")
    assert said.code == 1
    assert "promise             yes        1 heads           1    3 s\n" in said.out
    assert "promise: job b was promised 10 s and starts at 13 s\n" in said.out
    assert "greedy: at 11 s job b (4 cores) may start; it starts at 13 s\n" in said.out
    assert said.out.endswith("\nVIOLATED: promise, greedy\n")
    assert unspool("check", "other.csv", "log.csv", "-p", 4, "--policy", "easy", "--tolerance", 3).code == 0
    assert unspool("check", "other.csv", "log.csv", "-p", 4).code == 0, "without a policy, laws of every schedule only"


def test_json_has_every_law_with_its_example_and_whether_it_binds(unspool, write):
    write("log.csv", LOG)
    said = unspool("check", write("o.csv", "id,start\na,0\nb,8\n"), "log.csv", "-p", 4, "--policy", "fcfs", "--json")
    told = json.loads(said.out)
    assert said.code == 1
    assert told["ok"] is False
    by_law = {law["law"]: law for law in told["laws"]}
    assert by_law["once"]["example"] == "job c of the log never runs"
    assert (by_law["capacity"]["violations"], by_law["capacity"]["worst"], by_law["capacity"]["unit"]) == (
        1,
        3.0,
        "cores",
    )
    assert by_law["run time"]["reasons"] == ["the schedule does not say when jobs end"]


def test_wrong_input_exits_with_2(unspool, write):
    write("log.csv", LOG)
    write("plain.csv", "id,start\na,0\n")
    for arguments, told in (
        (("nothing.csv", "log.csv", "-p", 4), "nothing.csv: there is no such file"),
        (("plain.csv", "log.csv"), "log.csv does not say how large its machine was; give a platform, such as -p 480"),
        (
            ("plain.csv", "log.csv", "-p", 4, "--policy", "esay"),
            "unknown policy with laws 'esay'; did you mean 'easy'?",
        ),
        (("plain.csv", "log.csv", "-p", 4, "--tolerance", "-1"), "the tolerance is -1 s; expected 0 or more"),
        (("plain.csv", "log.csv", "-p", 4, "--tolerance", "nan"), "the tolerance is nan s; expected 0 or more"),
    ):
        said = unspool("check", *arguments)
        assert (said.code, said.out) == (2, "")
        assert told in said.err
