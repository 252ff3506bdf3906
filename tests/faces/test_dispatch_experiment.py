"""The experiment file: what it says, and what is said of one that cannot be used."""

from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from unspool.errors import InputError
from unspool.faces.dispatch.experiment import _KEYS, read_experiment
from unspool.faces.dispatch.metrics.delay import Delay
from unspool.faces.dispatch.names import KINDS, NAMES, SIMDEX, known_names, target_of
from unspool.plugins import load

GOOD = "workers: 2\ndispatcher: shortest-queue\n"


@pytest.fixture
def read(tmp_path):
    def read(text, **options):
        path = tmp_path / "e.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_experiment(path, **options)

    return read


def test_workers_given_by_number_are_active_but_not_in_simdex(read):
    assert read(GOOD).workers == ({"active": True}, {"active": True})
    assert read(GOOD, compat="fork").workers == ({}, {})


def test_the_command_line_goes_before_the_file(read):
    assert read(GOOD + "compat: fork\n").compat == "fork"
    assert read(GOOD + "compat: fork\n", compat="none").compat == "none"


def test_a_component_is_a_name_or_a_class_with_arguments(read):
    parts = read(
        GOOD + "metrics:\n- delay\n- {class: quantiles, args: [[0.5]]}\n- class: slowdown\n"
        "- {class: by-class, args: {by: runtime}}\n- metrics.default.JobDelayMetricsCollector\n"
    ).parts()
    assert isinstance(parts.metrics[0], Delay)
    assert parts.metrics[1].quantiles == [0.5]
    assert parts.metrics[3].by == "runtime"
    assert isinstance(parts.metrics[4], Delay)


def test_components_are_made_anew_for_each_run(read):
    experiment = read(GOOD + "metrics: [delay]\n")
    assert experiment.parts().metrics[0] is not experiment.parts().metrics[0]


def test_what_is_injected_is_injected_only_as_a_whole_argument(read):
    text = GOOD + 'metrics: [{class: user-experience, args: {ref_jobs: "@@ref_jobs"}}]\n'
    assert read(text).parts([]).metrics[0].counts == [0, 0, 0]
    nested = GOOD + 'metrics: [{class: user-experience, args: [["@@ref_jobs"]]}]\n'
    with pytest.raises(InputError, match="cannot be made"):
        read(nested).parts([])


def test_unknown_keys_and_strategies_in_the_fork_are_told_and_not_used(read):
    notes = read(GOOD + "sa_strategy: simple\nperoid: 3\n", compat="fork").notes
    assert [note.partition("e.yaml, ")[2] for note in notes] == [
        "line 4, key peroid: not known and not used",
        "line 3, key sa_strategy: the fork has no strategies, so it is not used",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("workers: [\n", "line 2: not valid YAML: "),
        ("a: b: c\n", "line 1: not valid YAML: mapping values are not allowed here"),
        (b"\xff\xfe\x00", "cannot be read as text"),
        ("", "no keys in it"),
        ("- 1\n", "no keys in it"),
        ("1: 2\n", "a key is no text"),
        ("dispatcher: shortest-queue\n", "the key workers is missing"),
        ("workers: 2\n", "the key dispatcher is missing"),
        ("workers: 0\ndispatcher: x\n", "line 1, key workers: 0 workers; expected 1 to"),
        ("workers: []\ndispatcher: x\n", "line 1, key workers: expected a number of workers, or a list"),
        ("workers:\n- {active: true}\n-\ndispatcher: x\n", "line 3, key workers[1]: expected a map of attributes"),
        ("workers: [{active: yes}]\ndispatcher: x\n", "line 1, key workers[0]: active is yes; expected true or false"),
        ("workers: [{limit: long}]\ndispatcher: x\n", "line 1, key workers[0]: the limit is long; expected seconds"),
        (GOOD + "period: 0\n", "line 3, key period: 0 is no period; expected seconds, more than 0"),
        (GOOD + "period: -5\n", "line 3, key period: -5 is no period"),
        (GOOD + "period: .inf\n", "line 3, key period: inf is no period"),
        (GOOD + "period: fast\n", "line 3, key period: fast is no period"),
        (GOOD + "compat: frok\n", "line 3, key compat: unknown compat 'frok'; did you mean 'fork'?"),
        (GOOD + "metrics: delay\n", "line 3, key metrics: expected a list of components"),
        (GOOD + "inference_batch_size: 0\n", "line 3, key inference_batch_size: 0; expected a number, 1 or more"),
        (GOOD + "output_folder: [1]\n", "line 3, key output_folder: [1] is no folder"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_its_line(read, text, said):
    with pytest.raises(InputError) as told:
        read(text)
    assert said in str(told.value)
    assert "e.yaml" in str(told.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("workers: 2\ndispatcher: shortest-quee\n", "line 2, key dispatcher: unknown dispatcher 'shortest-quee'; "),
        ("workers: 2\ndispatcher: dispatchers.DurationFilterDispacher\n", "'dispatchers.DurationFilterDispatcher'?"),
        ("workers: 2\ndispatcher: [1]\n", "line 2, key dispatcher: expected the name of a class, or a map"),
        ("workers: 2\ndispatcher: {class: random, arg: []}\n", "unknown key of a component 'arg'; did you mean"),
        ("workers: 2\ndispatcher: {class: random, args: 3}\n", "args is 3; expected a list or a map"),
        ("workers: 2\ndispatcher: {class: random, args: [3]}\n", "RandomWorker cannot be made: TypeError"),
        ("workers: 2\ndispatcher: {class: power-of-two, args: [0]}\n", "choices is 0; expected 1 or more"),
        ("workers: 2\ndispatcher: duration-filter\n", "this dispatcher needs the key duration_predictor"),
        ("workers: 2\nduration_predictor: index\ndispatcher: {class: duration-filter, args: {quantile: 0.2}}\n",
         "line 3, key dispatcher: quantile is 0.2, and the duration predictor index tells no quantiles; take "),
        ("workers: 2\nduration_predictor: statistics\ndispatcher: {class: duration-filter, args: {quantile: 1}}\n",
         "line 3, key dispatcher: quantile is 1; expected a number between 0 and 1"),
        ("workers: 2\ndispatcher: selector\n", "this dispatcher needs the key worker_selector"),
        ("workers: 2\ndispatcher: central-fifo\ncompat: fork\n", "leave compat out"),
        ("workers: 2\ndispatcher: metrics.default.PowerMetricsCollector\n", "belongs under the key metrics"),
        (GOOD + "metrics:\n- delay\n- {class: user-experience, args: ['@@ref_jobs']}\n", "line 5, key metrics[1]: "),
        (GOOD + "metrics: [delya]\n", "unknown metric 'delya'; did you mean 'delay'?"),
    ],
)  # fmt: skip
def test_a_component_that_cannot_be_made_is_refused_with_its_line(read, text, said):
    with pytest.raises(InputError) as told:
        read(text).parts()
    assert said in str(told.value)
    assert "e.yaml, line " in str(told.value)


def test_every_name_leads_to_a_class_with_a_docstring():
    for kind in KINDS:
        for name in known_names(kind):
            assert load(target_of(kind, name)).__doc__
    assert all(short in NAMES[kind] for kind, short in SIMDEX.values())


texts = st.sampled_from(["delay", "random", "@@ref_jobs", "x.Y"])
inner_keys = st.sampled_from(["class", "args", "active", "limit"])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(inner_keys, inner),
    max_leaves=6,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from([*_KEYS, "other"]), values))
def test_whatever_a_file_says_it_is_read_or_refused_in_a_sentence(tmp_path, content):
    path = tmp_path / "drawn.yaml"
    with open(path, "w") as file:
        YAML(typ="safe").dump({"workers": 1, "dispatcher": "random", **content}, file)
    with suppress(InputError):
        read_experiment(path).parts([])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text("workers:[]{}-&*!|>'\"# \n\tabc0", max_size=60))
def test_whatever_text_is_read_or_refused_in_a_sentence(tmp_path, text):
    path = tmp_path / "drawn.yaml"
    path.write_text(text)
    with suppress(InputError):
        read_experiment(path).parts([])
