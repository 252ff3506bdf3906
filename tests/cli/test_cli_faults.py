"""Whatever step of a verb fails, the old result or the new one is there and whole, and one sentence says why."""

import shutil

import pytest
from tests.cli.faulty_verbs import VERBS, left, put, set_up
from tests.faults import FAULTS, KILLED, STOPPED, Nth, Recorded, called, faulty, is_alike, tree

from unspool.platforms.catalogue import read_catalogue

SAMPLED = 6  # faults of each verb that are tried by default


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
def test_every_step_that_fails_leaves_the_old_result_or_the_new_one(case):
    for at in case.points:
        for fault in FAULTS:
            case.fail(at, fault)
