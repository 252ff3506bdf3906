import re
import sys
from types import SimpleNamespace

import numpy as np
import plotly.graph_objects as go
import polars as pl
import pytest
from tests.build import one_core_machines, workload
from tests.faces.test_cost_outputs import made_costs
from tests.metrics.cost.tables import instance
from tests.report.test_report_figures import three

from unspool.errors import InputError
from unspool.model.platform import Platform
from unspool.plugins import BUILT_IN
from unspool.report.cost import cost_page
from unspool.report.figures.style import PALETTE
from unspool.report.static import drawn, write_figures
from unspool.results.result import Result
from unspool.results.run import run

matplotlib = pytest.importorskip("matplotlib")


def _with(result, **parts):
    return Result(**{name: getattr(result, name) for name in Result.__dataclass_fields__} | parts)


def with_profiles():
    base = three(one_core_machines(2))
    return _with(base, jobs=base.jobs.with_columns(profile=pl.Series(["p", "q", "q"])))


def figures_of_each_name():
    """Every figure of the table, of jobs and machines small enough to count."""
    result, other = with_profiles(), three(one_core_machines(2), "easy")
    several = {"busy_difference": (other,), "wait_classes": (other,), "wait_ecdf": (other,), "utilisation": (other,)}
    for name in BUILT_IN["figures"]:
        yield name, getattr(result.plot, name)(*several.get(name, ()))


FIGURES = dict(figures_of_each_name())
SHOWN = {name: figure for name, figure in FIGURES.items() if len(figure.data)}


def title(axis):
    return (axis.title.text or "").replace("<br>", "\n")


def test_most_figures_show_something():
    assert set(FIGURES) - set(SHOWN) <= {"cost_against_wait", "link_use", "power", "slowed_pair"}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_has_the_same_title_axes_and_marks(name):
    figure = FIGURES[name]
    picture = drawn(figure)
    axes = picture.axes[0]
    assert picture.get_suptitle() == figure.layout.meta["heading"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == (title(figure.layout.xaxis), title(figure.layout.yaxis))
    traces = figure.data
    lines = [one for one in traces if one.type == "scatter" and "lines" in one.mode and not one.stackgroup]
    straight = len(figure.layout.shapes)
    whiskers = sum(2 for one in traces if one.type == "scatter" and (one.error_x.array is not None
                                                                   or one.error_y.array is not None))  # fmt: skip
    assert len(axes.lines) == len(lines) + straight + whiskers
    assert len(axes.patches) == sum(np.size(one.x) for one in traces if one.type == "bar")
    meshes = [one for one in axes.collections if type(one).__name__ == "QuadMesh"]
    assert [one.get_array().size for one in meshes] == [np.size(one.z) for one in traces if one.type == "heatmap"]
    if meshes:
        assert picture.axes[1].get_ylabel() == traces[0].colorbar.title.text
    names = [text.get_text() for text in axes.get_legend().get_texts()] if axes.get_legend() else []
    assert names == [entry[0] for entry in figure.layout.meta["key"]]
    assert any(len(part) for part in (axes.lines, axes.patches, axes.collections, axes.texts))


@pytest.mark.parametrize("name", SHOWN)
def test_a_logarithmic_axis_stays_one(name):
    layout = SHOWN[name].layout
    axes = drawn(SHOWN[name]).axes[0]
    assert axes.get_xscale() == ("log" if layout.xaxis.type == "log" else "linear")
    if layout.xaxis.type == "log" and layout.xaxis.range:
        assert np.log10(axes.get_xlim()) == pytest.approx(layout.xaxis.range)


def test_the_gantt_chart_on_paper():
    # a on both cores from 0 to 10; b from 10 to 30 on one, c from 10 to 15 on the other.
    axes = three().plot.static.gantt(by="state").axes[0]
    bars = {(bar.get_x(), bar.get_y(), bar.get_width(), bar.get_height()) for bar in axes.patches}
    assert bars == {(0.0, -0.5, 10.0, 2.0), (10.0, -0.5, 20.0, 1.0), (10.0, 0.5, 5.0, 1.0)}
    assert axes.get_ylim() == (1.5, -0.5)
    assert {matplotlib.colors.to_hex(bar.get_facecolor()) for bar in axes.patches} == {PALETTE[0]}


def test_the_line_of_what_is_there_is_dashed_and_at_its_height():
    busy, there = three().plot.static.utilisation().axes[0].lines
    assert there.get_linestyle() == "--"
    assert set(there.get_ydata()) == {2.0}
    assert busy.get_drawstyle() == "steps-post"
    assert (busy.get_ydata()[0], busy.get_ydata()[-1]) == (2.0, 1.0)


def test_bars_of_several_stand_beside_each_other_and_add_up():
    axes = three().plot.static.wait_classes(three(policy="easy")).axes[0]
    heights = np.array([bar.get_height() for bar in axes.patches]).reshape(2, 8)
    assert heights.sum(axis=1) == pytest.approx([1.0, 1.0])
    lefts = np.array([bar.get_x() for bar in axes.patches]).reshape(2, 8)
    assert (lefts[1] - lefts[0]) == pytest.approx(np.full(8, axes.patches[0].get_width()))
    assert [tick.get_text() for tick in axes.get_xticklabels()][:2] == ["none", "up to 1 min"]


def test_stacks_stand_on_each_other():
    axes = three(user=["x", "y", "y"]).plot.static.occupancy(by="user").axes[0]
    # From 0 to 10 x has both cores, from 10 to 15 y has them: the two areas end at 2 together.
    assert max(path.vertices[:, 1].max() for one in axes.collections for path in one.get_paths()) == 2.0
    assert len(axes.collections) == 2


def test_dates_stay_dates():
    base = three()
    result = _with(base, origin_unix_s=1_772_000_000.0)
    axes = result.plot.static.utilisation().axes[0]
    begin = matplotlib.dates.num2date(axes.lines[0].get_xdata()[0])
    assert begin.timestamp() == pytest.approx(1_772_000_000.0, abs=1e-3)
    assert axes.get_xlabel() == "time (UTC)"


def test_the_figures_of_a_bill_are_drawn_too(tmp_path):
    machines = [instance(0, 0, 7200, family="m"), instance(0, 0, 3600, family="m", plan="spot")]
    jobs = [("a", 0, 60, 3600, 1, [0]), ("b", 0, 60, 1800, 1, [1]), ("c", 5, 60, 1900, 1, [1])]
    users = {"a": "ann $x$", "b": "bob $y$", "c": "<i>"}
    costs = made_costs(machines, jobs, user=users, logged_wait={"a": 4000.0, "b": 10.0, "c": 0.0})
    figures = cost_page(costs).figures
    paths = write_figures(figures, tmp_path / "figures", "svg")
    assert [path.name for path in paths] == ["cost.svg", "waits.svg", "instances.svg", "saved.svg", "pays.svg"]
    assert all(path.stat().st_size > 10_000 for path in paths)
    bars = drawn(figures["cost"]).axes[0].patches
    assert sum(bar.get_height() for bar in bars) == pytest.approx(costs.bill.total_usd, abs=1e-4)
    assert {bar.get_hatch() for bar in bars} == {None, "////"}
    dots = drawn(figures["pays"]).axes[0]
    # A dollar sign would begin a formula, were it not behind a stroke.
    assert sorted(text.get_text() for text in dots.texts) == ["<i>", r"ann \$x\$", r"bob \$y\$"]


def test_the_same_figure_is_the_same_file(tmp_path):
    figures = {"gantt": three().plot.gantt()}
    first, second = (write_figures(figures, tmp_path / name, "svg")[0].read_bytes() for name in ("a", "b"))
    assert first == second
    assert b"date" not in re.sub(rb"<metadata>.*?</metadata>", b"", first, flags=re.DOTALL)[:2000]
    (png,) = write_figures(figures, tmp_path / "a", "png")
    assert png.read_bytes()[:4] == b"\x89PNG"


def test_files_are_not_replaced_unless_asked(tmp_path):
    figures = {"gantt": three().plot.gantt()}
    write_figures(figures, tmp_path)
    with pytest.raises(InputError, match="exists"):
        write_figures(figures, tmp_path)
    assert write_figures(figures, tmp_path, force=True) == [tmp_path / "gantt.svg"]


def test_a_figure_of_nothing_says_why_and_is_no_file(tmp_path):
    empty = run(workload([]), Platform.pool(2), "fcfs").plot
    (text,) = empty.static.utilisation().axes[0].texts
    assert text.get_text() == "No job ran."
    assert write_figures({"utilisation": empty.utilisation()}, tmp_path / "f") == []


def test_names_that_no_font_has_and_markup_are_drawn_without_a_warning(tmp_path):
    result = three(user=["\u5f20\u4f1f", "$\\frac", "<b>\u202e\u05d0"])
    write_figures({"gantt": result.plot.gantt(by="user")}, tmp_path, "png")


def test_what_cannot_be_drawn_is_named():
    with pytest.raises(InputError, match=r"trace of the kind 'pie'.*expected scatter, bar, heatmap"):
        drawn(go.Figure(go.Pie(values=[1, 2])))
    with pytest.raises(InputError, match=r"several pairs of axes.*xaxis2"):
        drawn(go.Figure(go.Bar(x=[1], y=[1]), {"xaxis2": {"title": {"text": "more"}}}))
    with pytest.raises(InputError, match="format 'gif' cannot be written; expected svg or png"):
        write_figures({}, SimpleNamespace(), "gif")


def test_without_matplotlib_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"pip install 'unspool\[matplotlib\]'"):
        three().plot.static.gantt()
