import json
import re

import polars as pl
import pytest

from unspool.results.run import run
from unspool.results.store import save
from unspool.workloads.generators import lublin

LOG = """job_id,submit_time,run_time,cores,walltime,user
a,0,2:00:00,6,3:00:00,ann
b,60,1:00:00,4,2:00:00,ben
c,120,20 min,2,30 min,cho
d,180,45 min,7,1:00:00,cho
e,240,4:00:00,2,5:00:00,ann
f,300,10 min,1,15 min,dee
"""
NO_INTERVALS = (
    "easy: no intervals: 6 jobs make up 3 blocks of jobs that are alike, and 10 are needed; compare a longer log"
)


@pytest.fixture
def out(unspool, write):
    """A folder with the results of two policies."""
    both = ("--policy", "fcfs", "--policy", "easy")
    assert unspool("run", write("log.csv", LOG), "-p", 8, *both, "-o", "out").code == 0
    return "out"


@pytest.fixture(scope="module")
def month(tmp_path_factory):
    """A folder with two results of 3,000 jobs each."""
    log = lublin(3000, 64, 0.6, seed=3)
    folder = tmp_path_factory.mktemp("month")
    for policy in ("easy", "fcfs"):
        save(run(log, 64, policy), folder / policy)
    return folder


def cells(text):
    """The words of each line."""
    return [line.split() for line in text.splitlines()]


def test_a_folder_of_several_policies_is_compared_with_its_first(unspool, out):
    said = unspool("compare", out)
    assert (said.code, said.err) == (0, f"{NO_INTERVALS}\n")
    told = cells(said.out)
    assert told[0] == ["log.csv", "on", "8"]
    # waits of 0 119 118 177 221 220 minutes under fcfs, 0 119 0 259 18 115 under easy
    assert ["easy", "6", "1:25:10", "-57:20", "too", "few", "blocks", "50.0%", "16.7%"] in told
    assert ["wait,", "against", "fcfs"] in told
    assert ["bounded", "slowdown,", "against", "fcfs"] in told
    assert ["response", "time,", "against", "fcfs"] not in told, "no job ran for another time"


def test_several_folders_are_compared_as_well(unspool, out):
    assert unspool("compare", "out/fcfs", "out/easy") == unspool("compare", out)


def test_a_baseline_can_be_named(unspool, out):
    assert ["fcfs", "6", "2:22:30", "+57:20", "too", "few", "blocks", "16.7%", "50.0%"] in cells(
        unspool("compare", out, "--baseline", "easy").out
    )


def test_results_of_one_policy_are_told_by_their_folders(unspool, write, out):
    assert unspool("run", "log.csv", "-p", 16, "--policy", "easy", "-o", "large").code == 0
    said = unspool("compare", "out/easy", "large")
    assert said.code == 0
    assert said.err.startswith("large is on another platform: 16 (16 cores), not 8 (8 cores)\n")
    assert said.out.startswith("log.csv on 8 and 16\n")
    assert ["wait,", "against", "out/easy"] in cells(said.out)
    several = unspool("compare", "out", "large", "--json")
    assert json.loads(several.out)["baseline"] == "out/fcfs"
    assert unspool("compare", "large", "large") == (
        2, "", "unspool: a folder is named twice among large, large; name each once\n"
    )  # fmt: skip


def test_json_tells_all(unspool, out):
    told = json.loads(unspool("compare", out, "--by", "user", "--warm-up", "10%", "--seed", 5, "--json").out)
    assert list(told) == [
        "baseline", "by", "confidence", "seed", "warm_up_s", "cool_down_s", "results", "pairs", "differences", "notes",
    ]  # fmt: skip
    assert (told["by"], told["seed"], told["warm_up_s"], told["cool_down_s"]) == ("user", 5, 30.0, 0.0)
    assert [one["warm_up_jobs"] for one in told["results"]] == [1, 1]
    assert [one["group"] for one in told["differences"][::3]] == [None, "cho", "ann", "ben", "dee"]


def test_intervals_hold_the_difference_and_fit_a_narrow_terminal(unspool, month):
    said = unspool("compare", month / "easy", month / "fcfs", "--by", "size", "--confidence", 0.9)
    assert said.code == 0
    assert max(map(len, said.out.splitlines())) <= 80
    assert "90%" in said.out
    told = json.loads(unspool("compare", month / "easy", month / "fcfs", "--by", "size", "--json").out)
    whole = told["differences"][0]
    assert 0 < whole["difference_low"] < whole["difference"] < whole["difference_high"]
    assert whole["worse_low"] < whole["worse"] < whole["worse_high"]
    assert {one["group"] for one in told["differences"]} >= {None, "1", "2-8", "9-32"}


def test_of_many_groups_the_largest_are_shown(unspool, month):
    said = unspool("compare", month / "easy", month / "fcfs", "--by", "user")
    users = pl.read_parquet(month / "easy" / "jobs.parquet")["user"].n_unique()
    assert f"… and {users - 20:,} smaller groups; --json tells all" in said.out.splitlines()


@pytest.mark.parametrize(("name", "read"), [("queue.csv", pl.read_csv), ("queue.parquet", pl.read_parquet)])
def test_the_queue_over_time_is_written_to_a_file(unspool, out, tmp_path, name, read):
    said = unspool("compare", out, "--series", name, "--points", 5)
    assert (said.code, said.err) == (0, f"{NO_INTERVALS}\nseries: {name}\n")
    table = read(tmp_path / name)
    assert table.columns == [
        "policy", "time", "until", "queue_length", "queue_length_max", "queued_work", "queued_work_max", "busy_cores",
        "busy_cores_max",
    ]  # fmt: skip
    assert table["policy"].to_list() == ["fcfs"] * 5 + ["easy"] * 5
    # over the same bins, though easy is done earlier: from 0 to 7:45:00
    assert table["until"].to_list() == [5580.0, 11160.0, 16740.0, 22320.0, 27900.0] * 2
    waits = (table["queue_length"] * (table["until"] - table["time"])).to_list()
    assert [sum(waits[:5]), sum(waits[5:])] == pytest.approx([6 * 8550.0, 6 * 5110.0])
    assert unspool("compare", out, "--series", name).code == 2, "a file is not overwritten"
    assert unspool("compare", out, "--series", name, "--force").code == 0
    assert len(read(tmp_path / name)) == 2000


def test_a_page_for_people_is_written_to_a_file(unspool, out, tmp_path):
    told = unspool("compare", out).out
    said = unspool("compare", out, "--baseline", "easy", "--warm-up", "1s", "-o", "compare.html")
    assert said.code == 0
    assert said.err.splitlines()[-1] == "for people: compare.html"
    html = (tmp_path / "compare.html").read_text()
    assert "<code>unspool compare out --baseline easy --warm-up 1 -o compare.html</code>" in html
    assert re.search(r"<code>unspool run \S*log.csv -p 8 --policy fcfs</code>", html)
    assert "Jobs wait less under easy: 1 h 9 min less on average than under fcfs; too few jobs for an interval" in html
    again = unspool("compare", out, "-o", "compare.html")
    assert (again.code, again.out) == (2, ""), "a file is not overwritten"
    assert "compare.html" in again.err
    forced = unspool("compare", out, "-o", "compare.html", "--force")
    assert (forced.code, forced.out) == (0, told), "the table is printed all the same"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "nothing to compare; name a folder with several results, or two folders"),
        (("out/easy",), "only one result, under easy; a comparison needs two or more"),
        (("none",), "none: is not the folder of a result; expected summary.json in it"),
        (("out", "--by", "queue"), "jobs cannot be compared by queue: the log has no such column; it has user, size"),
        (
            ("out", "--baseline", "esay"),
            "unknown baseline 'esay'; did you mean 'easy'? Known: easy, fcfs",
        ),
        (
            ("out", "--warm-up", "7d"),
            "no job is left after a warm-up of 7d 00:00:00 and a cool-down of 0 s: "
            "jobs were submitted over 5:00; cut less",
        ),
        (("out", "--cool-down", "101%"), "'101%' is not a percentage from 0% to 100%, such as 10%"),
        (("out", "--confidence", "95"), "a confidence of 95; expected 0.5 to 0.999, such as 0.95"),
        (("out", "--series", "queue.txt"), "queue.txt: a series is written as .csv or .parquet; name such a file"),
        (("out", "-o", "page.pdf"), "page.pdf: the page is written as .html; name such a file"),
        (("out", "--series", "queue.csv", "--points", "0"), "a series of 0 points; expected 1 or more"),
    ],
)
def test_what_cannot_be_compared_is_told_in_one_sentence(unspool, out, arguments, sentence):
    assert unspool("compare", *arguments) == (2, "", f"unspool: {sentence}\n")


def test_help_has_an_example(unspool):
    assert "For example: unspool compare OUT --baseline easy" in unspool("compare", "--help").out
