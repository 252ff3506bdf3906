import csv
import io
import math

import pytest
from tests.browser.made import PAGES

PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module", params=PAGES)
def found(request, visit):
    """One page of each kind on a wide screen, opened once: what is done to it leaves it as it is for the others."""
    with visit(request.param) as opened:
        yield opened


# Places on what is drawn: middles of bars and points, points along lines, cells of a heat map.
_MARKS = """figure => {
    const places = [];
    for (const bar of [...figure.querySelectorAll('.barlayer .point path, .scatterlayer path.point')].slice(0, 40)) {
        const box = bar.getBoundingClientRect();
        if (box.width * box.height > 1) places.push([box.x + box.width / 2, box.y + box.height / 2]);
    }
    for (const line of figure.querySelectorAll('.scatterlayer path.js-line')) {
        for (let part = 0; part <= 8; part++) {
            const point = line.getPointAtLength(line.getTotalLength() * part / 8).matrixTransform(line.getScreenCTM());
            places.push([point.x, point.y]);
        }
    }
    for (const image of figure.querySelectorAll('.heatmaplayer image')) {
        const box = image.getBoundingClientRect();
        for (let cell = 0; cell < 64; cell++)
            places.push([box.x + box.width * (cell % 8 + .5) / 8, box.y + box.height * ((cell >> 3) + .5) / 8]);
    }
    return places;
}"""
_HOVERED = (
    "figure => [...figure.querySelectorAll('.hoverlayer .hovertext text')].map(text => text.textContent).join(' ')"
)
_TEXTS = "h1, h2, td, th, p, dd, dt, .xtick text, .ytick text, .g-xtitle text"
_COLOURS = "all => [...new Set(all.map(one => getComputedStyle(one)[one instanceof SVGElement ? 'fill' : 'color']))]"
_RANGE = "figure => figure._fullLayout.xaxis.range.map(end => figure._fullLayout.xaxis.r2l(end))"


def figures(page):
    found = page.locator(".figure").all()
    assert found
    return found


def hovered(page, figure):
    """What the label says under the pointer, on the first mark that has one."""
    figure.scroll_into_view_if_needed()
    for x, y in figure.evaluate(_MARKS):
        page.mouse.move(x, y, steps=2)
        page.wait_for_timeout(60)  # Plotly looks at the pointer twenty times a second
        if text := figure.evaluate(_HOVERED):
            return text
    return ""


def test_it_opens_without_an_error_or_a_request_and_every_figure_is_drawn(found):
    for figure in figures(found.page):
        name = figure.get_attribute("id")
        picture = figure.locator(".main-svg").first.bounding_box()
        assert min(picture["width"], picture["height"]) > 80, name
        assert figure.evaluate(_MARKS), f"{name}: nothing is drawn on it"
        assert figure.get_attribute("aria-label"), name
    assert found.faults == []


def test_a_label_says_what_is_under_the_pointer(found):
    told = {figure.get_attribute("id"): hovered(found.page, figure) for figure in figures(found.page)}
    assert [name for name, text in told.items() if not text.strip()] == []
    assert found.faults == []


def test_dragging_zooms_and_a_button_undoes_it(found):
    page = found.page
    for figure in figures(page):
        area = figure.locator(".nsewdrag").first
        area.scroll_into_view_if_needed()
        before, box = figure.evaluate(_RANGE), area.bounding_box()
        middle = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + 0.25 * box["width"], middle)
        page.mouse.down()
        page.mouse.move(box["x"] + 0.75 * box["width"], middle, steps=4)
        page.mouse.up()
        zoomed = figure.evaluate(_RANGE)
        name = figure.get_attribute("id")
        assert abs(zoomed[1] - zoomed[0]) == pytest.approx(abs(before[1] - before[0]) / 2, rel=0.05), name
        figure.locator('.modebar-btn[data-title="Reset axes"]').click()
        assert figure.evaluate(_RANGE) == pytest.approx(before), name


def column(table, at):
    return table.locator(f"tbody td:nth-child({at + 1})").evaluate_all("cells => cells.map(cell => cell.dataset.v)")


def sortable(page):
    """Tables with the place of a column of different numbers."""
    found = []
    for table in page.locator("table.sorts").all():
        for at in range(table.locator("th").count()):
            numbers = [text for text in column(table, at) if text]
            if len(set(numbers)) > 1 and all(_is_number(text) for text in numbers):
                found.append((table, at))
                break
    assert found
    return found


def _is_number(text):
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def test_tables_sort_by_click_and_by_keyboard(found):
    page = found.page
    for table, at in sortable(page):
        heading = table.locator("th").nth(at)
        numbers = sorted((text for text in column(table, at) if text), key=float)
        heading.locator("button").click()
        assert [float(text) for text in column(table, at) if text] == [float(text) for text in reversed(numbers)]
        assert heading.get_attribute("aria-sort") == "descending"
        page.keyboard.press("Enter")
        assert [float(text) for text in column(table, at) if text] == [float(text) for text in numbers]
        assert heading.get_attribute("aria-sort") == "ascending"
        page.keyboard.press("Space")
        assert heading.get_attribute("aria-sort") == "descending"


def test_headings_are_reached_by_the_tabulator(found):
    page = found.page
    for table in page.locator("table.sorts").all():
        table.locator("xpath=..").focus()
        for heading in table.locator("th").all():
            page.keyboard.press("Tab")
            assert heading.locator("button").evaluate("button => button === document.activeElement")


def test_every_table_is_downloaded_as_it_is(found):
    page = found.page
    for table in page.locator("table.sorts").all():
        name = table.get_attribute("data-name")
        with page.expect_download() as waiting:
            page.locator(f'.download[data-table="{name}"]').click()
        assert waiting.value.suggested_filename == f"{name}.csv"
        head, *rows = csv.reader(io.StringIO(waiting.value.path().read_text(encoding="utf-8"), newline=""))
        assert head == table.locator("th").evaluate_all("cells => cells.map(cell => cell.dataset.name)")
        cells = "rows => rows.map(row => [...row.cells].map(cell => cell.dataset.v))"
        assert rows == table.locator("tbody tr, tfoot tr").evaluate_all(cells)
        assert rows


def overflowing(page):
    """What is wider than the window, or than the figure that it stands in."""
    return page.evaluate("""() => {
        const width = document.documentElement.scrollWidth;
        const wide = width > innerWidth ? [`page: ${width} px`] : [];
        for (const figure of document.querySelectorAll('.figure')) {
            const area = figure.querySelector('.nsewdrag').getBoundingClientRect();
            if (figure.querySelector('.main-svg').clientWidth > figure.clientWidth) wide.push(`${figure.id}: too wide`);
            if (area.width < innerWidth / 3) wide.push(`${figure.id}: ${area.width} px are left to draw on`);
        }
        return wide;
    }""")


def _lightness(colour):
    """Relative luminance of `rgb(r, g, b)`, as WCAG 2.2 defines it."""
    parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("kind", PAGES)
def test_a_dark_telephone_shows_all_of_it(visit, kind):
    with visit(kind, viewport=PHONE, color_scheme="dark", has_touch=True) as found:
        page = found.page
        assert overflowing(page) == []
        behind = _lightness(page.evaluate("getComputedStyle(document.querySelector('section')).backgroundColor"))
        assert behind < 0.05
        for colour in page.locator(_TEXTS).evaluate_all(_COLOURS):
            assert (_lightness(colour) + 0.05) / (behind + 0.05) > 4.5, colour
        ink = "getComputedStyle(document.querySelector('.xtick text, .ytick text')).fill"
        dark = page.evaluate(ink)
        page.emulate_media(color_scheme="light")
        page.wait_for_function(f"{ink} !== {dark!r}")
        assert _lightness(page.evaluate(ink)) < 0.1
        assert overflowing(page) == []
        assert found.faults == []


def test_nothing_is_wider_than_a_screen(found):
    assert overflowing(found.page) == []


@pytest.mark.parametrize("kind", PAGES)
def test_on_paper_no_figure_is_cut_off(visit, kind):
    with visit(kind) as found:
        page = found.page
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 640, "height": 900})  # A4 with wide margins
        cut = page.evaluate("""() => [...document.querySelectorAll('.figure')].filter(figure => {
            const room = figure.getBoundingClientRect();
            const svg = figure.querySelector('.main-svg').getBoundingClientRect();
            return svg.width > room.width + 1 || svg.height > room.height + 1 || svg.width < room.width / 2;
        }).map(figure => figure.id)""")
        assert cut == []
        page.emulate_media(media="screen")
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.locator(".main-svg[viewBox]").count() == 0
        assert found.faults == []
