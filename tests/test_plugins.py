import sys

import pytest

from unspool import plugins
from unspool.errors import InputError, UnknownName
from unspool.policies.schedulers.easy import Easy


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def module(tmp_path, name, text):
    (tmp_path / f"{name}.py").write_text(text)
    sys.modules.pop(name, None)


def test_built_in_names_are_made():
    assert plugins.build("schedulers", "easy") == Easy()
    assert plugins.build("schedulers", "unspool.policies.schedulers.easy:Easy") == Easy()


def test_a_function_is_taken_as_it_is_and_a_class_is_made_with_parameters(tmp_path):
    text = (
        "def decide(view): ...\n"
        "class Aged:\n    def __init__(self, **given): self.given = given\n    def decide(self, view): ...\n"
    )
    module(tmp_path, "plugin_kinds", text)
    assert plugins.build("schedulers", "plugin_kinds:decide").__name__ == "decide"
    made = plugins.build("schedulers", "plugin_kinds:Aged:hours=3,share=0.5,strict=true,name=x")
    assert made.given == {"hours": 3, "share": 0.5, "strict": True, "name": "x"}


def test_the_current_folder_is_looked_in_first_and_only_then(tmp_path):
    before = list(sys.path)
    module(tmp_path, "plugin_here", "import sys\npath = list(sys.path)\ndef decide(view): ...\n")
    found = plugins.build("schedulers", "plugin_here:decide")
    assert sys.modules[found.__module__].path[0] == str(tmp_path)
    assert sys.path == before


def test_names_of_other_packages_are_found_and_ours_come_first(tmp_path, monkeypatch):
    (tmp_path / "other-1.0.dist-info").mkdir()
    (tmp_path / "other-1.0.dist-info" / "METADATA").write_text("Name: other\nVersion: 1.0\n")
    (tmp_path / "other-1.0.dist-info" / "entry_points.txt").write_text(
        "[unspool.schedulers]\nbackwards = plugin_other:decide\neasy = plugin_other:decide\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert plugins.available("schedulers")["backwards"] == "plugin_other:decide"
    module(tmp_path, "plugin_other", "def decide(view): ...\n")
    (tmp_path / "here").mkdir()
    module(tmp_path / "here", "plugin_other", "raise SystemExit('a file of the current folder')\n")
    monkeypatch.chdir(tmp_path / "here")
    assert plugins.build("schedulers", "backwards").__module__ == "plugin_other"
    assert plugins.build("schedulers", "easy") == Easy()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("esay", "unknown scheduler 'esay'; did you mean 'easy'?"),
        ("esay:depth=3", "unknown scheduler 'esay'; did you mean 'easy'?"),
        (":decide", "unknown scheduler ''."),
        ("easy:depth", "'easy:depth': 'depth' does not read as key=value"),
        ("easy:order=sjf,order=ljf", "'easy:order=sjf,order=ljf': the parameter order is given twice; give it once"),
        ("easy:depth=3", "'easy:depth=3': unknown parameter 'depth'. Known: order, power_cap, predictor, sleep_after"),
        ("nowhere_at_all:decide", "cannot load decide from nowhere_at_all: No module named 'nowhere_at_all'"),
        ("plugin_bad.py:decide", "cannot load decide from plugin_bad.py: .*; leave .py out"),
        ("plugin_bad:missing", "cannot load missing from plugin_bad: AttributeError"),
        ("plugin_bad:number", "'plugin_bad:number': plugin_bad:number is no scheduler; expected decide.view."),
        ("plugin_bad:decide:k=1", "'plugin_bad:decide:k=1': plugin_bad:decide is no class and takes no parameters"),
        ("plugin_bad:Broken", "'plugin_bad:Broken': RuntimeError: no model"),
        (
            "plugin_bad:Asks:b=2",
            "'plugin_bad:Asks:b=2': the parameter a is missing; give it, as in plugin_bad:Asks:b=2,a=",
        ),
        (
            "plugin_bad:noarg",
            r"'plugin_bad:noarg': noarg\(\) cannot be called with the view alone; a policy takes one "
            r"argument, as in def noarg\(view\)",
        ),
        ("plugin_bad:Two", r"'plugin_bad:Two': decide\(view, more\) cannot .* as in def decide\(self, view\)"),
        ("plugin_raises:decide", "cannot load decide from plugin_raises: RuntimeError: on import"),
        ("plugin_leaves:decide", "cannot load decide from plugin_leaves: SystemExit: 3"),
        ("plugin_syntax:decide", "cannot load decide from plugin_syntax: SyntaxError"),
        ("../evil:decide", "cannot load decide from ../evil"),
    ],
)
def test_what_cannot_be_made_is_told_in_one_sentence(tmp_path, text, sentence):
    broken = "class Broken:\n    def __init__(self): raise RuntimeError('no model')\n    def decide(self, view): ...\n"
    others = (
        "def noarg(): return []\nclass Two:\n    def decide(self, view, more): ...\n"
        "class Asks:\n    def __init__(self, a, b): ...\n    def decide(self, view): ...\n"
    )
    module(tmp_path, "plugin_bad", f"number = 42\ndef decide(view): ...\n{broken}{others}")
    module(tmp_path, "plugin_raises", "raise RuntimeError('on import')\n")
    module(tmp_path, "plugin_leaves", "raise SystemExit(3)\n")
    module(tmp_path, "plugin_syntax", "def decide(:\n")
    with pytest.raises(InputError, match=f"^{sentence}"):
        plugins.build("schedulers", text)


def test_an_unknown_kind_is_told_the_nearest():
    with pytest.raises(UnknownName, match="unknown kind of plugin 'sheduler'; did you mean 'schedulers'"):
        plugins.available("sheduler")
