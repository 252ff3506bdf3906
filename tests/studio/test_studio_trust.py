"""Nothing that a form, an upload or a file of the studio names is imported, in the server or in its workers."""

import sys
import threading

import pytest

from unspool.errors import InputError
from unspool.studio.faces import FACES
from unspool.studio.pages import _policies
from unspool.studio.uploads import Uploads
from unspool.studio.workers import Workers, told_by

PLANTED = "open({!r}, 'w').close()\nclass X: ...\ndef Own(view): ...\n"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a studio in it, to which somebody has uploaded Python as a platform."""
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "unspool-studio" / "uploads" / "abc" / "data"
    data.mkdir(parents=True)
    for folder in (data, tmp_path):
        (folder / "evil.py").write_text(PLANTED.format(str(tmp_path / "marker")))
    yield tmp_path
    assert not (tmp_path / "marker").exists()
    assert not [name for name in sys.modules if name.endswith("evil")]


NAMES = (
    "evil", "evil:Own", "easy:order=evil(X)", "easy:predictor=evil(X)", "rl:model=evil.zip",
    "easy:order=unspool-studio.uploads.abc.data.evil(X)", "easy:predictor=linear(load=evil.py)",
    "easy:sleep_after=5,order=evil(X)",
)  # fmt: skip


@pytest.mark.parametrize("face", ["run", "sweep"])
@pytest.mark.parametrize("name", NAMES)
def test_a_policy_in_a_form_is_built_in_or_refused(face, name, place):
    uploads = Uploads(place / "unspool-studio", 1 << 20, Workers(1, None))
    with pytest.raises(InputError):
        FACES[face].prepared({"policy_more": [name]}, uploads.get("sample-campus"), uploads)


@pytest.mark.parametrize(
    ("face", "field"),
    [
        ("cost", "policy"), ("cost", "ComputeClusterModel.Placement"), ("batsim", "policy"),
        ("dispatch", "dispatcher"), ("dispatch", "metrics"), ("dispatch", "duration_predictor"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["evil:Own", "evil.X"])
def test_a_part_in_a_form_is_built_in_or_refused(face, field, name, place):
    uploads = Uploads(place / "unspool-studio", 1 << 20, Workers(1, None))
    with pytest.raises(InputError):
        FACES[face].prepared({field: [name]}, uploads.get("sample-campus"), uploads)


def test_names_that_installed_packages_bring_are_not_offered(place, monkeypatch):
    (place / "other-1.0.dist-info").mkdir()
    (place / "other-1.0.dist-info" / "METADATA").write_text("Name: other\nVersion: 1.0\n")
    (place / "other-1.0.dist-info" / "entry_points.txt").write_text("[unspool.schedulers]\nbackwards = evil:Own\n")
    monkeypatch.syspath_prepend(place)
    _policies.cache_clear()
    FACES["batsim"].fields.cache_clear()
    assert "backwards" not in _policies()
    assert "backwards" not in next(field for field in FACES["batsim"].fields() if field.name == "policy").choices
    uploads = Uploads(place / "unspool-studio", 1 << 20, Workers(1, None))
    with pytest.raises(InputError):
        FACES["run"].prepared({"policy": ["backwards"]}, uploads.get("sample-campus"), uploads)


def test_a_worker_loads_nothing_that_its_files_name(place):
    (place / "run.toml").write_text('platform = 4\npolicy = "evil:Own"\n')
    workers, ended, codes = Workers(1, None), threading.Event(), []
    workers.start("a", ("run", "-c", "run.toml"), place, lambda code: (codes.append(code), ended.set()))
    assert ended.wait(60)
    workers.close()
    assert codes == [2]
    assert "with --untrusted only built-in names are used" in told_by(place, 2)
