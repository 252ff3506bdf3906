import csv
import io

import pytest
from tests.browser.made import HOSTILE, HOSTILE_POLICIES, PAGES
from tests.browser.test_browser_pages import PHONE, figures, hovered, overflowing

_ADDED = "img, iframe, object, embed, a[href], bdi *, main script, [onload], [onerror], [onmouseover]"


@pytest.mark.parametrize("kind", PAGES)
def test_names_are_shown_as_text_and_nothing_in_them_runs(visit, kind):
    with visit(kind, is_hostile=True, viewport=PHONE) as found:
        page = found.page
        assert overflowing(page) == []
        cells = set(page.locator("td bdi").all_text_contents())
        names = HOSTILE_POLICIES if kind == "sweep" else HOSTILE
        assert [name for name in names if (name if len(name) <= 200 else f"{name[:199]}…") not in cells] == []
        for figure in figures(page):
            hovered(page, figure)
        for control in page.locator("table.sorts th:first-child button, .choices input").all():
            control.click()
        assert overflowing(page) == []
        assert page.evaluate("window.ran === undefined")
        assert page.locator(_ADDED).count() == 0
        assert found.faults == []


def test_labels_show_markup_as_it_was_written_and_files_have_names_whole(visit):
    with visit("run", is_hostile=True) as found:
        gantt = found.page.locator("#gantt")
        gantt.scroll_into_view_if_needed()
        told = set()
        for bar in gantt.locator(".barlayer .point path").all()[: len(HOSTILE)]:
            box = bar.bounding_box()
            found.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            found.page.wait_for_timeout(60)
            told |= set(gantt.locator(".hoverlayer .hovertext tspan").all_text_contents())
        assert any(text.startswith(f"job {HOSTILE[0]}: ") for text in told)
        with found.page.expect_download() as waiting:
            found.page.locator('.download[data-table="by_user"]').click()
        rows = csv.reader(io.StringIO(waiting.value.path().read_text(encoding="utf-8"), newline=""))
        # A spreadsheet shows the one that is a formula.
        assert {row[0] for row in rows} == {"name", *(f"'{name}" if name[0] == "=" else name for name in HOSTILE)}
        assert found.page.evaluate("window.ran === undefined")
        assert found.faults == []
