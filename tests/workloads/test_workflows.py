"""Workflows of Pegasus and WfCommons: tasks, files, who waits for whom; and what is refused, with its line."""

import gzip
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unspool.errors import InputError
from unspool.workloads import FORMATS, read_workload
from unspool.workloads.dax import read_dax
from unspool.workloads.wfcommons import read_wfcommons
from unspool.workloads.workflows import parents_of

DAX = """\
<?xml version="1.0" encoding="UTF-8"?>
<adag xmlns="http://pegasus.isi.edu/schema/DAX" name="diamond">
  <job id="a" namespace="N" name="split" version="1.0" runtime="10">
    <uses file="x" link="input" size="100"/><uses file="y" link="output" size="40"/>
    <uses file="z" link="output" size="60"/>
  </job>
  <job id="b" name="half" runtime="5.5" num_procs="2"/>
  <job id="c" name="half" runtime="0" num_procs="-3"/>
  <job id="d" runtime="1e1"/>
  <child ref="d"><parent ref="b"/><parent ref="c"/><parent ref="b"/></child>
  <child ref="b"><parent ref="a"/></child>
  <child ref="c"><parent ref="a"/></child>
</adag>
"""
OLD = {
    "name": "two", "schemaVersion": "1.3",
    "workflow": {"tasks": [
        {"name": "a", "type": "compute", "runtime": 10, "parents": [], "children": ["b"], "cores": 2,
         "files": [{"link": "input", "name": "x", "size": 100}, {"link": "output", "name": "y", "size": 40}]},
        {"name": "b", "type": "compute", "runtime": 5.5, "parents": ["a"], "children": []},
    ]},
}  # fmt: skip
NEW = {
    "name": "two", "schemaVersion": "1.5",
    "workflow": {
        "specification": {
            "tasks": [
                {"name": "split", "id": "a", "parents": [], "children": ["b"], "inputFiles": ["x"],
                 "outputFiles": ["y"]},
                {"name": "half", "id": "b", "parents": ["a"], "children": []},
            ],
            "files": [{"id": "x", "sizeInBytes": 100}, {"id": "y", "sizeInBytes": 40}],
        },
        "execution": {"tasks": [
            {"id": "b", "runtimeInSeconds": 5.5, "coreCount": 1.0, "memoryInBytes": 2048, "priority": 3},
            {"id": "a", "runtimeInSeconds": 10, "coreCount": 1.5, "machines": ["m1"]},
        ]},
    },
}  # fmt: skip


def saved(tmp_path, content, name):
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
    return path


def rows(workload):
    return workload.table.select("job_id", "submit_time", "run_time", "cores").rows()


def test_tasks_of_dax_are_jobs_at_0_that_wait_for_their_parents(tmp_path):
    workload = read_dax(saved(tmp_path, DAX, "diamond.dax"))
    # Less than one processor is one, as Batsim has it.
    assert rows(workload) == [("a", 0.0, 10.0, 1), ("b", 0.0, 5.5, 2), ("c", 0.0, 0.0, 1), ("d", 0.0, 10.0, 1)]
    assert parents_of(workload) == {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")}
    assert workload.table["application"].to_list() == ["split", "half", "half", None]
    assert workload.table["line"].to_list() == [3, 7, 8, 9]
    assert json.loads(workload.table["details"][0]) == {
        "namespace": "N", "version": "1.0", "input_files": 1, "input_bytes": 100, "output_files": 2,
        "output_bytes": 100,
    }  # fmt: skip


@pytest.mark.parametrize("content", [OLD, NEW], ids=["1.3", "1.5"])
def test_tasks_of_wfcommons_are_the_same_in_all_versions(tmp_path, content):
    workload = read_wfcommons(saved(tmp_path, content, "two.json"))
    assert rows(workload) == [("a", 0.0, 10.0, 2), ("b", 0.0, 5.5, 1)]
    assert parents_of(workload) == {"a": (), "b": ("a",)}
    about = json.loads(workload.table["details"][0])
    assert {name: about[name] for name in ("input_files", "input_bytes", "output_files", "output_bytes")} == {
        "input_files": 1, "input_bytes": 100, "output_files": 1, "output_bytes": 40,
    }  # fmt: skip


def test_wfcommons_tells_memory_and_priority(tmp_path):
    table = read_wfcommons(saved(tmp_path, NEW, "two.json")).table
    assert table.select("used_memory_bytes", "priority").rows() == [(None, None), (2048, 3.0)]


def test_children_count_where_parents_are_not_listed(tmp_path):
    tasks = [{"name": "a", "runtime": 1, "children": ["b"]}, {"name": "b", "runtime": 1}]
    assert parents_of(read_wfcommons(saved(tmp_path, {"workflow": {"tasks": tasks}}, "w.json")))["b"] == ("a",)


@pytest.mark.parametrize("name", ["flow.dax", "flow.xml", "flow"])
def test_dax_is_told_by_name_or_content(tmp_path, name):
    assert len(read_workload(saved(tmp_path, DAX, name))) == 4


def test_dax_may_be_packed_and_wfcommons_is_told_among_json(tmp_path):
    (tmp_path / "flow.dax.gz").write_bytes(gzip.compress(DAX.encode()))
    assert len(read_workload(tmp_path / "flow.dax.gz")) == 4
    assert len(read_workload(saved(tmp_path, NEW, "flow.json"))) == 2
    assert (FORMATS["dax"].write, FORMATS["wfcommons"].write) == (None, None)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('runtime="5.5"', 'runtime="soon"', ", line 7: <job id='b'>: runtime is 'soon'; expected a number"),
        (' runtime="5.5"', "", ", line 7: <job id='b'>: has no attribute runtime; give it one"),
        ('runtime="5.5"', 'runtime="-1"', ", line 7: <job id='b'>: a run time of -1 s; expected 0 to 1e+12"),
        ('num_procs="2"', 'num_procs="1e99"', ", line 7: <job id='b'>: 1e+99 cores; expected 1e+12 at most"),
        ('id="c"', 'id="b"', ", line 8: <job id='b'>: this id stands in line 7 too; give each task one of its own"),
        ('id="c"', 'id="c,d"', "the id 'c,d' is empty, or has a comma or blanks at its ends; give it another"),
        ('<parent ref="c"/>', '<parent ref="q"/>', ", line 10: <parent>: ref is 'q', which is the id of no <job>"),
        ('<child ref="c"><parent ref="a"/>', '<child ref="a"><parent ref="d"/>',
         ", line 3: task a waits for d waits for b waits for a, in a circle; take one of these away"),
        ("</adag>", '<dax id="e" file="more.dax"/></adag>', "<dax id='e'>: is a workflow inside this one"),
        ("</adag>", "", "not valid XML: no element found; expected a workflow of Pegasus"),
        ("<?xml version", "<?xml wersion", "line 1: not valid XML"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_dax_is_said_with_its_line(tmp_path, old, new, told):
    with pytest.raises(InputError) as error:
        read_dax(saved(tmp_path, DAX.replace(old, new), "bad.dax"))
    assert told in str(error.value)


def test_entities_and_other_xml_are_refused(tmp_path):
    bomb = '<!DOCTYPE adag [<!ENTITY a "aaaa">]><adag><job id="&a;" runtime="1"/></adag>'
    for content, told in (
        (bomb, "declares an entity"),
        ("<platform/>", "expected a workflow"),
        ("<adag/>", "no <job>"),
    ):
        with pytest.raises(InputError, match=told):
            read_dax(saved(tmp_path, content, "bad.dax"))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda tasks: tasks[1].pop("runtime"), ", line 29: task 'b': has no runtimeInSeconds"),
        (lambda tasks: tasks[1].update(runtime=-5), ", line 29: task 'b': a run time of -5 s; expected 0"),
        (lambda tasks: tasks[1].update(parents=["q"]), ", line 29: task 'b': parents has 'q', which is no task"),
        (lambda tasks: tasks[1].update(parents="a"), "task 'b': parents is no list of texts"),
        (lambda tasks: tasks[1].update(name="a"), "task 'a': task 1 has the same id; give each one of its own"),
        (lambda tasks: tasks[1].pop("name"), "task number 2 has no id; expected an object with id or name"),
        (lambda tasks: tasks[0].update(parents=["b"]), "a waits for b waits for a, in a circle"),
        (lambda tasks: tasks.clear(), "the workflow has no tasks; expected a list of one or more"),
    ],
)
def test_what_is_wrong_with_wfcommons_is_said_with_its_task(tmp_path, change, told):
    content = json.loads(json.dumps(OLD))
    change(content["workflow"]["tasks"])
    with pytest.raises(InputError) as error:
        read_wfcommons(saved(tmp_path, content, "bad.json"))
    assert told in str(error.value)


def test_json_that_breaks_off_is_said_with_its_line(tmp_path):
    with pytest.raises(InputError, match="line 4: is not JSON from here on"):
        read_wfcommons(saved(tmp_path, '{\n"workflow": {\n"tasks": [\n', "bad.json"))


def mutated(text):
    """The text with a piece of it replaced, left out or repeated."""
    spots = st.tuples(
        st.integers(0, len(text)), st.integers(0, 12), st.sampled_from(["", "-1", '"', "{", "<a>", "1e999"])
    )
    return spots.map(lambda spot: text[: spot[0]] + spot[2] + text[spot[0] + spot[1] :])


def values():
    scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
    return st.recursive(scalars, lambda inside: st.lists(inside, max_size=3) | fields(inside), max_leaves=8)


def fields(inside):
    names = ("workflow", "tasks", "specification", "execution", "files", "name", "id", "parents", "children", "runtime")
    return st.dictionaries(
        st.sampled_from([*names, "cores", "priority", "memoryInBytes", "inputFiles"]), inside, max_size=6
    )


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200) | mutated(DAX).map(str.encode))
def test_reader_of_dax_raises_nothing_but_our_own_errors(tmp_path, content):
    (tmp_path / "fuzz.dax").write_bytes(content)
    try:
        workload = read_dax(tmp_path / "fuzz.dax")
    except InputError:
        return
    assert len(workload) > 0


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.binary(max_size=200)
    | mutated(json.dumps(NEW)).map(str.encode)
    | fields(values()).map(lambda found: json.dumps({"workflow": found}).encode(errors="replace"))
)
def test_reader_of_wfcommons_raises_nothing_but_our_own_errors(tmp_path, content):
    (tmp_path / "fuzz.json").write_bytes(content)
    try:
        workload = read_wfcommons(tmp_path / "fuzz.json")
    except InputError:
        return
    assert len(workload) > 0
