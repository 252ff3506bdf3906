import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
from tests.browser.made import HOSTILE, PAGES, PLAIN

_DRAWN = """() => {
    const figures = [...document.querySelectorAll('.figure')];
    return figures.length > 0 && figures.every(figure => figure.querySelector('.main-svg .xy, .main-svg .infolayer *'));
}"""


@dataclass(frozen=True)
class Visit:
    """A page in the browser, and what it did that it should not: errors and warnings, requests, dialogues."""

    page: object
    faults: list[str] = field(default_factory=list)


@pytest.fixture(scope="session")
def browser():
    """Debian's Chromium, without a window; skips where it or Playwright is not there."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not here: run `make test-browser`")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium on the path: run `make test-browser` as root, or install it")
    with playwright.sync_playwright() as started, started.chromium.launch(executable_path=chromium) as running:
        yield running


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Makes each page once: the one of a kind, from jobs with plain or with hostile names."""
    pages = {}

    def make(kind, *, is_hostile):
        if (kind, is_hostile) not in pages:
            folder = tmp_path_factory.mktemp("page")
            pages[kind, is_hostile] = PAGES[kind](folder, HOSTILE if is_hostile else PLAIN)
        return pages[kind, is_hostile]

    return make


@pytest.fixture(scope="session")
def visit(browser, made):
    """Opens a page until the block ends, once its figures are drawn; nothing but the page itself is let through."""

    @contextmanager
    def visit(kind, *, is_hostile=False, **options):
        path = made(kind, is_hostile=is_hostile)
        with browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options}) as context:
            found = Visit(context.new_page())
            _watch(found, path)
            found.page.goto(path.as_uri())
            found.page.wait_for_function(_DRAWN, timeout=30_000)
            yield found

    return visit


def _watch(found, path):
    page = found.page
    page.on("pageerror", lambda error: found.faults.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (found.faults.append(f"dialogue: {dialog.message}"), dialog.dismiss()))
    page.on("popup", lambda other: found.faults.append(f"window: {other.url}"))

    def told(message):
        if message.type in ("error", "warning"):
            found.faults.append(f"{message.type}: {message.text}")

    def asked(request):
        if request.url != path.as_uri() and urlsplit(request.url).scheme != "blob":
            found.faults.append(f"request: {request.url[:200]}")

    page.on("console", told)
    page.on("request", asked)
    page.context.route("**/*", lambda route: route.continue_() if route.request.url == path.as_uri() else route.abort())
