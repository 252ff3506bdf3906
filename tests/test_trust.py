"""What a name would load is found without loading it."""

import sys

import pytest

from unspool import plugins
from unspool.errors import InputError, UnknownName
from unspool.trust import foreign, located, vet


@pytest.fixture(autouse=True)
def planted(tmp_path, monkeypatch):
    """A module in the current folder that leaves a mark when it is imported."""
    monkeypatch.chdir(tmp_path)
    package = tmp_path / "planted"
    package.mkdir()
    for name in ("__init__", "deep"):
        (package / f"{name}.py").write_text(f"open({str(tmp_path / 'marker')!r}, 'w').close()\ndef X(view): ...\n")
    yield tmp_path
    for name in ("planted", "planted.deep"):
        sys.modules.pop(name, None)
    assert not (tmp_path / "marker").exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("easy", []),
        ("easy:order=multifactor(age=0),predictor=linear(capped=false),sleep_after=300", []),
        ("no-such-name", []),
        ("planted:X", ["module planted planted/__init__.py"]),
        ("planted.deep:X:k=1", ["module planted.deep planted/deep.py"]),
        ("easy:order=planted.deep(X)", ["module planted.deep planted/deep.py"]),
        ("sjf:predictor=planted(X)", ["module planted planted/__init__.py"]),
        ("easy:predictor=linear(load=kept.npz)", ["model kept.npz None"]),
        ("rl:model.zip", ["model model.zip None"]),
        ("rl:model=planted/deep.py,algorithm=ppo", ["model planted/deep.py planted/deep.py"]),
        ("easy:sleep_after=5,order=planted(X),predictor=planted.deep(X)", [
            "module planted planted/__init__.py", "module planted.deep planted/deep.py",
        ]),
        ("nowhere_at_all:X", ["module nowhere_at_all None"]),
    ],
)  # fmt: skip
def test_what_a_name_would_load_is_found_without_loading_it(text, told, planted):
    found = [
        f"{each.kind} {each.name} {each.path and each.path.removeprefix(f'{planted}/')}"
        for each in foreign("schedulers", text)
    ]
    assert found == told


def test_a_name_that_a_package_brings_is_foreign(planted, monkeypatch):
    (planted / "other-1.0.dist-info").mkdir()
    (planted / "other-1.0.dist-info" / "METADATA").write_text("Name: other\nVersion: 1.0\n")
    points = "[unspool.schedulers]\nbackwards = planted.deep:X\neasy = planted:X\n"
    (planted / "other-1.0.dist-info" / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(planted)
    assert [each.name for each in foreign("schedulers", "backwards")] == ["planted.deep"]
    assert foreign("schedulers", "easy") == ()
    with pytest.raises(UnknownName):
        plugins.build_built_in("schedulers", "backwards")


@pytest.mark.parametrize(
    "text",
    [
        "planted:X", "planted.deep:X", "easy:order=planted.deep(X)", "easy:predictor=planted(X)", "rl:model.zip",
        "easy:predictor=linear(load=kept.npz)", "unspool.policies.schedulers.easy:Easy",
    ],
)  # fmt: skip
def test_only_what_is_built_in_is_made_where_nothing_may_be_imported(text):
    with pytest.raises(InputError):
        plugins.build_built_in("schedulers", text)


@pytest.mark.parametrize(
    "text", ["easy", "easy:order=multifactor(age=0,size=2)", "sjf:predictor=last-two", "random", "fcfs:sleep_after=300"]
)
def test_built_in_parts_are_the_same_either_way(text):
    made, other = plugins.build_built_in("schedulers", text), plugins.build("schedulers", text)
    assert type(made) is type(other)
    for name in ("order", "predictor"):
        assert type(getattr(made, name, None)) is type(getattr(other, name, None))


def test_a_file_in_the_current_folder_is_no_part_of_a_built_in(planted, monkeypatch):
    # Libraries that our own modules import are not looked for in the current folder.
    monkeypatch.delitem(sys.modules, "unspool.policies.predictors.exact", raising=False)
    seen = []
    monkeypatch.setattr(plugins, "import_module", lambda name: seen.append((name, list(sys.path))) or plugins)
    with pytest.raises(InputError):
        plugins.load("unspool.policies.predictors.exact:Exact")
    (name, path), *others = seen
    assert (name, others) == ("unspool.policies.predictors.exact", [])
    assert str(planted) not in path


def test_a_module_is_located_without_importing_its_package():
    assert located("xml.dom.minidom").endswith("xml/dom/minidom.py")
    assert located("planted\0") is None
    assert located("a" * 5000) is None


def test_a_name_of_a_file_is_told_and_one_of_the_command_line_is_not():
    told = []
    vet("schedulers", "planted:X", None, untrusted=False, note=told.append)
    vet("schedulers", "easy", "run.toml", untrusted=True, note=told.append)
    assert told == []
    vet("schedulers", "planted:X", "run.toml", untrusted=False, note=told.append)
    assert told == [f"run.toml: 'planted:X' loads the module planted from {located('planted', '.')}"]
    with pytest.raises(InputError, match=r"--policy: 'planted:X' names the module planted .*only built-in names"):
        vet("schedulers", "planted:X", None, untrusted=True)
