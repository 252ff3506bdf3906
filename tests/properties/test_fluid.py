"""Laws of sharing hosts and links: of the twin in plain Python, and of the compiled engine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import fluid_laws as laws
from tests.oracles import contention as twin
from tests.strategies_fluid import networks, scenes, tasks

from unspool.simulation import tasks as engine

VARIANTS = st.sampled_from(["simgrid", "clean"])


@pytest.fixture(scope="module", params=[twin.finish_times, engine.finish_times], ids=["twin", "engine"])
def finish_times(request):
    return request.param


@given(data=st.data(), network=networks(), sharing=VARIANTS)
def test_a_task_alone_matches_its_closed_form(finish_times, data, network, sharing):
    laws.task_alone_matches_its_closed_form(finish_times, network, data.draw(tasks(network, most=2)), sharing)


@given(data=st.data(), network=networks())
def test_no_task_is_faster_than_alone(finish_times, data, network):
    laws.no_task_is_faster_than_alone(finish_times, network, data.draw(tasks(network)))


@given(scene=scenes())
def test_no_resource_does_more_than_it_can(finish_times, scene):
    laws.no_resource_does_more_than_it_can(finish_times, *scene)


@given(
    speed=st.sampled_from([1e9, 3.3e9]),
    work=st.lists(st.tuples(st.integers(0, 8), st.integers(1, 9)), min_size=1, max_size=8),
    sharing=VARIANTS,
)
def test_one_core_is_never_idle_while_there_is_work(finish_times, speed, work, sharing):
    work = [(float(start), flops * 1e9) for start, flops in work]
    laws.one_core_is_never_idle_while_there_is_work(finish_times, speed, work, sharing)


@given(data=st.data(), scene=scenes())
def test_other_names_and_places_of_hosts_change_nothing(finish_times, data, scene):
    order = data.draw(st.permutations(range(len(scene[0].hosts))))
    laws.other_names_and_places_change_nothing(finish_times, *scene, order)


@given(scene=scenes(most_hosts=8), sharing=VARIANTS)
def test_components_can_be_solved_apart(finish_times, scene, sharing):
    laws.components_can_be_solved_apart(finish_times, *scene, sharing)


@given(scene=scenes(), sharing=VARIANTS)
def test_the_engine_ends_every_task_when_its_twin_does(scene, sharing):
    network, started, turns = scene
    expected = twin.finish_times(network, started, turns, sharing=sharing)
    found = engine.finish_times(network, started, turns, sharing=sharing)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
