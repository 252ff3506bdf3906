"""Whatever step of a verb fails, the old result or the new one is there and whole, and one sentence says why."""

import asyncio
import io
import json
import os
import shutil
import sys
import zipfile
from pathlib import Path

import polars as pl
import pytest
from numba import njit
from tests.cli.faulty_verbs import GRID, LOG, VERBS, left, put, set_up
from tests.faults import DENIED, FAULTS, KILLED, STOPPED, Nth, Recorded, call_sites, called, faulty, is_alike, tree
from tests.studio_server import until
from tests.sweeps.tiny import thread_place
from tests.uncompiled import needs_compiling

from unspool.engine.kernel.machine_code import KeptCode
from unspool.errors import InputError
from unspool.faces.batsim.protocol.process import Started
from unspool.platforms.catalogue import read_catalogue
from unspool.platforms.catalogue.write import write_catalogue
from unspool.results.store import load, save
from unspool.sweeps import read_runs
from unspool.sweeps.store import PASSING

SAMPLED = 6  # faults of each verb that are tried by default
MOST = None if os.environ.get("UNSPOOL_TEST_EVERY_FAULT") else 30  # and in the slow tests, evenly spread


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faults")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        set_up(folder)
        yield folder


def points_of(steps):
    """All steps, but of the writes of one file the first, one in the middle and the last."""
    writes = {}
    for at, (step, path) in enumerate(steps):
        if step == "write":
            writes.setdefault(path, []).append(at)
    left_out = {at for each in writes.values() for at in each} - {
        at for each in writes.values() for at in (each[0], each[len(each) // 2], each[-1])
    }
    return [at for at in range(len(steps)) if at not in left_out]


class Case:
    """A verb in its folder, with the states before it and after it."""

    def __init__(self, name, inputs, kept, capsys):
        self.verb, self.folder, self.capsys = VERBS[name], inputs, capsys
        self.old, self.new = kept / "old", kept / "new"
        self.keep(self.old, *self.verb.old)
        put(self.old, inputs, self.verb.written)
        with faulty(Recorded()) as recorded:
            self.keep(self.new)
        self.steps = recorded.steps
        self.points = points_of(recorded.steps)

    def keep(self, state, *more):
        assert called((*self.verb.arguments, *more)) == 0, self.capsys.readouterr().err
        for name in self.verb.written:
            (state / name).parent.mkdir(parents=True, exist_ok=True)
            copy = shutil.copytree if (self.folder / name).is_dir() else shutil.copy2
            copy(self.folder / name, state / name)

    def fail(self, at, fault):
        put(self.old, self.folder, self.verb.written)
        self.capsys.readouterr()
        with faulty(Nth(at, fault)) as nth:
            code = called(self.verb.arguments)
        said = self.capsys.readouterr().err.splitlines()
        where = f"{fault} at step {at} ({self.steps[at]}): {code}, {said}"
        for name in self.verb.written:
            there = tree(self.folder / name)
            is_new = is_alike(there, tree(self.new / name))
            assert is_new or there == tree(self.old / name), f"{name} is neither old nor new after {where}"
            assert is_new or code != 0, f"{name} is old after {where}"
        complaints = [line for line in said if line.startswith("unspool: ")]
        if fault == KILLED:
            assert code == -9
            assert called(self.verb.arguments) == 0
        elif code:
            assert code in ((130,) if fault == STOPPED else (1, 2) if nth.hit in ("open", "mkdir") else (1,)), where
            assert (len(complaints), complaints) == (1, said[-1:]), where
            assert "report what" not in complaints[0], where
        else:
            assert fault != STOPPED, where
            assert nth.hit in ("remove", "rmtree", "rmdir", "sync"), f"nothing was said of {where}"
        if fault == KILLED or nth.hit not in ("remove", "rmtree", "rmdir"):
            assert left(self.folder) == [], where


@pytest.fixture
def case(request, inputs, tmp_path, capsys, monkeypatch):
    name = request.param
    if "figures" in name:
        pytest.importorskip("matplotlib", reason="the extra matplotlib is not installed")
    if name == "cost":
        pytest.importorskip("xlsxwriter", reason="the extra excel is not installed")
    if name == "catalogue update":
        pytest.importorskip("boto3", reason="the extra aws is not installed")
        from unspool.platforms.catalogue import aws

        few = tuple(each for each in read_catalogue().types if each.region == "eu-west-1")[:3]
        monkeypatch.setattr(aws, "fetch_types", lambda *_, **__: aws.Fetched(few))
    monkeypatch.chdir(inputs)
    for name_left in left(inputs):  # of a case that failed
        shutil.rmtree(name_left) if name_left.is_dir() else name_left.unlink()
    return Case(name, inputs, tmp_path, capsys)


@pytest.mark.parametrize("case", VERBS, indirect=True)
def test_a_step_that_fails_leaves_the_old_result_or_the_new_one(case):
    for number in range(SAMPLED):
        case.fail(case.points[number * (len(case.points) - 1) // (SAMPLED - 1)], FAULTS[number % len(FAULTS)])


@pytest.mark.slow
@pytest.mark.parametrize("case", VERBS, indirect=True)
def test_many_steps_that_fail_leave_the_old_result_or_the_new_one(case):
    faults = [(at, fault) for at in case.points for fault in FAULTS]
    for at, fault in faults if MOST is None else faults[:: len(faults) // MOST | 1]:
        case.fail(at, fault)


class Sweep:
    """A sweep that is begun, or goes on where half of its rows are missing."""

    def __init__(self, inputs, kept, capsys):
        self.folder, self.half, self.capsys = inputs / "s", kept / "half", capsys
        with faulty(Recorded()) as recorded:
            assert self.sweep() == 0, capsys.readouterr().err
        self.rows = self.read()
        self.begun = points_of(recorded.steps)
        shutil.copytree(self.folder, self.half)
        for part in (self.half / "runs").iterdir():
            pl.read_parquet(part).head(2).write_parquet(part)
        self.put_half()
        with faulty(Recorded()) as recorded:
            assert self.sweep("--resume") == 0, capsys.readouterr().err
        assert self.read().equals(self.rows)
        self.resumed = points_of(recorded.steps)

    def sweep(self, *more):
        return called(("sweep", "g.toml", "-o", "s", *more))

    def read(self):
        return read_runs(self.folder).drop(PASSING)

    def put_half(self):
        shutil.rmtree(self.folder)
        shutil.copytree(self.half, self.folder)

    def fail(self, at, fault, *, resume):
        self.put_half() if resume else shutil.rmtree(self.folder, ignore_errors=True)
        self.capsys.readouterr()
        with faulty(Nth(at, fault)) as nth:
            code = self.sweep(*(["--resume"] if resume else []))
        said = self.capsys.readouterr().err
        where = f"{fault} at step {at} ({nth.hit}): {code}, {said}"
        named = (2,) if nth.hit in ("open", "mkdir") else ()  # a folder that this user may not write to
        assert code in {KILLED: (-9,), STOPPED: (130,), DENIED: (0, 1, *named)}.get(fault, (0, 1)), where
        assert code != 1 or said.splitlines()[-1].startswith("unspool: "), where
        assert "report what" not in said, where
        is_there = (self.folder / "sweep.json").exists()
        assert is_there or not resume, where
        assert self.sweep(*(["--resume"] if is_there else [])) == 0, self.capsys.readouterr().err
        assert self.read().equals(self.rows), where
        assert [path for path in left(self.folder) if "inputs" not in path.parts] == [], where


@pytest.fixture
def swept(inputs, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("unspool.cli.sweep.local_place", lambda processes: thread_place())
    monkeypatch.chdir(inputs)
    shutil.rmtree(inputs / "s", ignore_errors=True)
    return Sweep(inputs, tmp_path, capsys)


def test_a_sweep_goes_on_after_a_step_that_failed(swept):
    for resume, points in ((False, swept.begun), (True, swept.resumed)):
        for number in range(SAMPLED):
            fault = FAULTS[(number + resume) % len(FAULTS)]
            swept.fail(points[number * (len(points) - 1) // (SAMPLED - 1)], fault, resume=resume)


@pytest.mark.slow
def test_a_sweep_goes_on_after_any_step_that_failed(swept):
    for resume, points in ((False, swept.begun), (True, swept.resumed)):
        faults = [(at, fault) for at in points for fault in FAULTS]
        for at, fault in faults if MOST is None else faults[:: len(faults) // MOST | 1]:
            swept.fail(at, fault, resume=resume)


LEARNED = """\
workers: 2
dispatcher: {class: shortest-queue, args: {}}
duration_predictor: {class: linear, args: {save: learned.npz}}
metrics: [delay]
"""
NEEDS_TORCH = {"faces/dispatch/agents.py"}


@needs_compiling
def test_every_call_of_the_file_layer_is_reached(inputs, tmp_path, monkeypatch):
    """By the verbs above, a sweep, the studio, and what only Python or a program beside us calls."""
    pytest.importorskip("matplotlib", reason="the extra matplotlib is not installed")
    pytest.importorskip("xlsxwriter", reason="the extra excel is not installed")
    pytest.importorskip("httpx", reason="httpx is not installed")
    pytest.importorskip("starlette", reason="the extra studio is not installed")
    monkeypatch.setattr("unspool.cli.sweep.local_place", lambda processes: thread_place())
    monkeypatch.chdir(inputs)
    shutil.rmtree(inputs / "s", ignore_errors=True)
    with faulty(Recorded()) as recorded:
        for name, verb in VERBS.items():
            assert name == "catalogue update" or called(verb.arguments) == 0, name
        (inputs / "learned.yaml").write_text(LEARNED)
        assert called(("dispatch", "-c", "learned.yaml", "jobs.csv", "-o", "learned")) == 0
        sweeps()
        in_python(tmp_path)
        in_a_worker(tmp_path, monkeypatch)
        in_its_runs(tmp_path / "runs")
        asyncio.run(in_the_studio(tmp_path / "studio"))
    missed = {
        (file, lines.start) for file, lines in call_sites() if not any((file, line) in recorded.lines for line in lines)
    }
    assert {each for each in missed if each[0] not in NEEDS_TORCH} == set()


def sweeps():
    """One that is made, goes on, grows, is only estimated, and two that cannot begin."""
    for more in ((), ("--resume",), ("--dry-run",)):
        assert called(("sweep", "g.toml", "-o", "s", *more)) == 0
    Path("s/runs/.part-00000009.parquet.0123abcd.part").touch()
    Path("again.toml").write_text(GRID.replace("replicas = 2", "replicas = 3"))
    assert called(("sweep", "again.toml", "-o", "s", "--resume")) == 0
    Path("absent.toml").write_text(GRID.replace("log.csv", "absent.csv"))
    assert called(("sweep", "absent.toml", "-o", "t")) == 2


def in_python(folder):
    """What no verb above comes to: results that are saved, machine code that is forgotten, a program beside us."""
    save(load("machines"), folder / "saved")
    write_catalogue(read_catalogue().types[:3], folder / "prices.csv")
    made = njit(double)
    made._cache = KeptCode(double, folder / "code")
    assert made(20) == 40
    made._cache.flush()
    with Started("true", "tcp://127.0.0.1:1"):
        pass


def in_a_worker(folder, monkeypatch):
    """What a process of the studio does with an upload, in this process."""
    from unspool.studio.unpack import main

    packed = folder / "packed.zip"
    with zipfile.ZipFile(packed, "w") as file:
        file.mkdir("logs/")
        file.writestr("logs/parts/lsb.acct", "none")
    told = json.dumps({"path": str(packed), "name": "packed.zip", "kind": "log", "most_bytes": 1 << 20})
    monkeypatch.setattr(sys, "argv", ["unpack", told])
    main()


def in_its_runs(folder):
    """One that cannot be begun, and one that failed and goes on."""
    from unspool.studio.runs import ACTIVE, RESULT, Runs
    from unspool.studio.workers import Workers

    workers = Workers(1, None)
    runs = Runs(folder, workers)

    def start(**files):
        return runs.start("sweep", "t", "log", "id", ("plugins", "nothing"), files, "s", "p", {})

    with pytest.raises(InputError, match="cannot be begun"):
        start(**{"no/folder": ""})
    run = start()
    until(lambda: runs.state(run).state not in ACTIVE)
    (runs.place(run) / RESULT).mkdir()
    (runs.place(run) / RESULT / "sweep.json").write_text("{}")
    runs.go_on(run)
    workers.close()


def double(x):
    return x + x


async def in_the_studio(folder):
    """Uploads of every kind, a look at two of them, and a run from its start to its end."""
    import httpx

    from unspool.studio.app import make_app

    app = make_app(folder, "token", 8000, workers=1, most_bytes=1 << 20, rules=None)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.mkdir("logs/")
        file.writestr("logs/lsb.acct", "none")
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:8000/token/", follow_redirects=True,
        headers={"Origin": "http://127.0.0.1:8000"}, timeout=60,
    ) as client:  # fmt: skip

        async def post(path, **form):
            answer = await client.post(path, **form)
            assert answer.status_code == 200, answer.text
            return str(answer.url).rpartition("/")[2]

        async def end_of(page):
            while {"running", "waiting"} & set((await client.get(f"{page}/state")).text.split('"')):
                await asyncio.sleep(0.1)

        log = await post("uploads", data={"kind": "log"}, files={"file": ("log.csv", LOG.encode())})
        strange = await post("uploads", data={"kind": "log"}, files={"file": ("logs.zip", packed.getvalue())})
        run = await post("runs", data={"face": "sweep", "log": log, "policy": "fcfs", "replicas": "1", "thin": "0.5"})
        for page in (f"uploads/{log}", f"uploads/{strange}", f"runs/{run}"):
            await end_of(page)
        assert (await client.get(f"runs/{run}/zip")).status_code == 200
        await post(f"uploads/{log}/read", data={"format": "csv"})
        await post(f"runs/{run}/remove", data={})
        await post(f"uploads/{log}/remove", data={})
