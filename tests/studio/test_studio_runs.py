import asyncio
import html
import io
import json
import os
import signal
import tomllib
import zipfile

import httpx
import pytest
from tests.studio_server import LOG, Server, until

from unspool.cli.app import app, run_command
from unspool.studio.figures import ranked
from unspool.sweeps import read_runs

VIEWERS = 50
PLATFORM = """<?xml version="1.0"?>
<platform version="4.1"><zone id="all" routing="Full"><host id="master_host" speed="1Gf"/>
<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/></zone></platform>"""
BATSIM = {
    "nb_res": 2, "jobs": [{"id": "1", "subtime": 0, "res": 2, "walltime": 90, "profile": "p"}],
    "profiles": {"p": {"type": "delay", "delay": 10}},
}  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("runs"), "--workers", "2")
    yield server
    server.release()
    server.stop()


@pytest.fixture(scope="module")
def client(server):
    with httpx.Client(base_url=server.address, timeout=60, follow_redirects=True) as client:
        yield client


@pytest.fixture(scope="module")
def log(client):
    return uploaded(client, "three jobs.csv", LOG)


def uploaded(client, name, content, kind="log"):
    answer = client.post("uploads", data={"kind": kind}, files={"file": (name, content)})
    assert answer.status_code == 200, answer.text
    return str(answer.url).rpartition("/")[2]


def started(client, face, log, **form):
    answer = client.post("runs", data={"face": face, "log": log, **form})
    assert answer.status_code == 200, answer.text
    return str(answer.url).rpartition("/")[2]


def ended(client, id):
    def state():
        found = client.get(f"runs/{id}/state").json()
        return found if found["state"] not in ("waiting", "running") else None

    return until(state, 300)


@pytest.mark.slow
def test_every_face_runs_from_its_form_and_gives_a_report(client, log):
    workload = uploaded(client, "w.json", json.dumps(BATSIM))
    platform = uploaded(client, "p.xml", PLATFORM, "platform")
    prices = {"ComputeClusterModel.IdleTime": "0:30", "ComputeClusterModel.SpotPrice": "min", "queues": "-x,.*"}
    experiment = {"dispatcher": "duration-filter", "duration_predictor": "index", "limit": "50",
                  "metrics": "delay\nuser-experience", "refs": "sample-recodex-refs"}  # fmt: skip
    runs = {
        "run": started(client, "run", log, policy=["fcfs", "easy"], platform="8", policy_more="easy:order=sjf"),
        "cost": started(client, "cost", log, **prices),
        "dispatch": started(client, "dispatch", "sample-recodex", **experiment),
        "batsim": started(client, "batsim", workload, policy="easy", platform_file=platform),
    }
    for face, id in runs.items():
        end = ended(client, id)
        assert (end["state"], end["message"]) == ("done", ""), face
        report = client.get(f"runs/{id}/page")
        assert report.status_code == 200
        assert 'id="figures"' in report.text
        assert "sandbox" in report.headers["content-security-policy"]
    for policy in ("fcfs", "easy", "easy:order=sjf"):
        assert f"<bdi>{policy}</bdi>" in client.get(f"runs/{runs['run']}").text
    settings = client.get(f"runs/{runs['cost']}/settings").text
    assert "IdleTime: 0:30" in settings
    assert "BootTime" not in settings


def test_what_is_downloaded_repeats_the_run(client, log, tmp_path, monkeypatch):
    id = started(client, "run", log, policy="fcfs", platform="8")
    assert ended(client, id)["state"] == "done"
    packed = zipfile.ZipFile(io.BytesIO(client.get(f"runs/{id}/zip").content))
    top = f"unspool-{id}"
    assert {f"{top}/run.toml", f"{top}/result/jobs.parquet", f"{top}/result/report.html"} <= set(packed.namelist())
    answer = client.get(f"runs/{id}/settings")
    assert 'filename="run.toml"' in answer.headers["content-disposition"]
    assert tomllib.loads(answer.text)["policy"] == ["fcfs"]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.toml").write_text(answer.text)
    assert run_command(["run", "-c", "run.toml", "-o", "again", "--no-report"]) == 0
    theirs, ours = (
        {name: value for name, value in json.loads(text).items() if name != "timing"}
        for text in (packed.read(f"{top}/result/summary.json"), (tmp_path / "again/summary.json").read_text())
    )
    assert theirs == ours


def test_fifty_viewers_do_not_keep_a_run_from_its_end(client, server, log):
    server.hold()
    id = started(client, "run", log, policy="fcfs", platform="8")
    server.held(1)
    answers = []

    async def view(viewer, over):
        while not over.is_set():
            for path in ("", f"runs/{id}", f"runs/{id}/state", "states"):
                answers.append((await viewer.get(path)).status_code)

    async def watch():
        over = asyncio.Event()
        limits = httpx.Limits(max_connections=VIEWERS + 1)
        async with httpx.AsyncClient(base_url=server.address, timeout=120, limits=limits) as viewer:
            viewers = [asyncio.create_task(view(viewer, over)) for _ in range(VIEWERS)]
            await asyncio.sleep(0)
            server.release()
            for _ in range(3000):
                state = (await viewer.get(f"runs/{id}/state")).json()["state"]
                if state != "running":
                    break
            over.set()
            await asyncio.gather(*viewers)
        return state

    assert asyncio.run(watch()) == "done"
    assert len(answers) >= VIEWERS
    assert set(answers) == {200}


def test_a_third_run_waits_for_its_turn_and_can_be_cancelled_before_it_begins(client, server, log):
    server.hold()
    first, second, third = (started(client, "run", log, policy="fcfs", platform="8") for _ in range(3))
    workers = server.held(2)
    states = client.get("states").json()
    assert [states[id]["state"] for id in (first, second, third)] == ["running", "running", "waiting"]
    assert client.post(f"runs/{first}/remove").status_code == 400
    client.post(f"runs/{third}/cancel")
    os.kill(workers[0], signal.SIGKILL)
    until(lambda: any(client.get(f"runs/{id}/state").json()["state"] == "failed" for id in (first, second)))
    failed = next(id for id in (first, second) if client.get(f"runs/{id}/state").json()["state"] == "failed")
    assert "killed by signal 9 (SIGKILL)" in client.get(f"runs/{failed}").text
    server.release()
    assert ended(client, second if failed == first else first)["state"] == "done"
    assert ended(client, third)["state"] == "cancelled"
    assert client.get("").status_code == 200
    client.post(f"runs/{third}/remove")
    assert client.get(f"runs/{third}").status_code == 404
    assert not (server.folder / "runs" / third).exists()


def test_what_a_worker_complains_of_is_told_without_our_folders(client, log):
    id = started(client, "run", log, policy="fcfs")
    state = ended(client, id)
    assert state["state"] == "failed"
    assert "does not say how large its machine was" in state["message"]
    assert "uploads" not in state["message"]


@pytest.mark.slow
def test_a_sweep_is_made_from_its_form_and_ranked(client, log):
    platform = uploaded(client, "sixteen.yaml", "pool: 16", "platform")
    id = started(client, "sweep", log, policy=["fcfs", "easy"], platforms="8", platform_file=platform, replicas="2",
                 thin="0.9", scale_load="[0.5, 1.0]", processes="1")  # fmt: skip
    end = ended(client, id)
    assert (end["state"], end["message"]) == ("done", "")
    page = client.get(f"runs/{id}").text
    assert "The best points, by mean wait" in page
    assert "Go on with" not in page
    assert "cannot go on where it ended" in client.post(f"runs/{id}/go-on").text
    assert page.count('<td class="text"><bdi>easy</bdi></td>') == 4
    assert "unspool sweep grid.toml --processes=1 -o result" in page
    assert "Which of 8 points has the lowest mean wait?" in client.get(f"runs/{id}/page").text
    grid = tomllib.loads(client.get(f"runs/{id}/settings").text)
    assert (grid["replicas"], grid["grid"]["scale_load"], len(grid["grid"]["platform"])) == (2, [0.5, 1.0], 2)


@pytest.mark.slow
def test_a_sweep_says_which_points_leave_out_jobs(client, log):
    id = started(client, "sweep", log, policy=["easy"], platforms="1\n8", processes="1")
    assert ended(client, id)["state"] == "done"
    page = client.get(f"runs/{id}").text
    assert "<th>jobs not run</th>" in page
    assert "1 point leaves out more jobs than another and comes last: a figure of fewer jobs" in page
    assert page.index("<bdi>8</bdi>") < page.index("<bdi>1</bdi></td><td>")


def test_the_ranking_of_a_sweep_marks_points_that_leave_out_jobs(tmp_path):
    path = tmp_path / "ranking.csv"
    names = ("rank", "figure", "platform", "runs", "failed", "mean", "low", "high", "difference", "jobs_not_run",
             "runs_fewer_jobs")  # fmt: skip
    path.write_text(",".join(names) + "\n1,mean_wait_s,8,1,0,21.4,,,,0.0,false\n2,mean_wait_s,1,1,0,,,,,4.5,true\n")
    found = ranked(path)
    assert found.rows == (("1", "8", "21 s", "", "", "0", "1", "0"), ("2", "1", "unknown", "", "", "! 4.5", "1", "0"))
    assert "comes last" in ranked(path, most=1).unrun
    path.write_text(path.read_text().replace("4.5,true", "0.0,false"))
    assert (ranked(path).unrun, ranked(path).rows[1]) == ("", ("2", "1", "unknown", "", "", "1", "0"))


def test_a_sweep_of_which_all_runs_fail_is_told_as_failed(client, log):
    id = started(client, "sweep", log, policy="fcfs", platforms="8", window="300d..301d", processes="1")
    end = ended(client, id)
    assert end["state"] == "failed"
    assert "all of 1 run failed, for example" in end["message"]
    assert "no job is left" in end["message"]


@pytest.mark.slow
def test_a_sweep_that_was_cancelled_goes_on_with_what_is_missing(client, server, log):
    id = started(client, "sweep", log, policy=["fcfs", "easy"], platforms="8", replicas="1000", thin="0.9",
                 processes="1")  # fmt: skip
    runs = server.folder / "runs" / id / "result" / "runs"
    until(lambda: list(runs.glob("part-*.parquet")), 120)
    client.post(f"runs/{id}/cancel")
    assert ended(client, id)["state"] == "cancelled"
    kept = len(read_runs(runs.parent))
    assert 0 < kept < 2000
    assert "Go on with the runs that are missing" in client.get(f"runs/{id}").text
    assert client.post(f"runs/{id}/go-on").status_code == 200
    assert ended(client, id)["state"] == "done"
    assert len(read_runs(runs.parent)) == 2000


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("scale_load", "{from: 2, to: 1, steps: 3}", "key scale_load: the range begins at 2 and ends at 1"),
        ("scale_load", "[1.0, 1.0]", "key scale_load: a value stands twice in its list"),
        ("scale_load", "{from: 0.1, to: 0.9, steps: 110000}", "that is 110,000 runs; at most 100,000"),
        ("scale_load", "much", "key scale_load: expected float"),
        ("scale_load", "{from: 0.1", "does not read as a value of YAML"),
        ("thin", ".nan", "key thin: is nan"),
        ("window", "{every: 7d}", "key window: count is None"),
        ("window", "[[0d..1d], 3]", "key window: expected str"),
        ("platforms", "8\n/etc/passwd", "upload a file to use one"),
        ("platforms", "8\n8", "key platform: a value stands twice in its list"),
        ("platform_file", "/etc/passwd", "no longer there"),
        ("replicas", "1001", "replicas: is 1001; expected >= 1 and <= 1000"),
        ("replicas", "nan", "is not a whole number"),
        ("seed", "-1", "seed: is -1; expected >= 0"),
        ("policy_more", "os:system", "expected a name"),
    ],
)
def test_a_wrong_grid_gives_a_sentence(client, field, value, told):
    form = {"face": "sweep", "log": "sample-campus", "policy": "easy", field: value}
    answer = client.post("runs", data=form)
    assert answer.status_code == 400
    assert told in html.unescape(answer.text)


def test_a_sweep_is_offered_where_the_verb_is(client, log):
    until(lambda: client.get(f"uploads/{log}/state").json()["state"] == "done")
    assert ("/new/sweep?log=" in client.get(f"uploads/{log}").text) == ("sweep" in app)
    assert client.get(f"new/sweep?log={log}").status_code == (200 if "sweep" in app else 404)
