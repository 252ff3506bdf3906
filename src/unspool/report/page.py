"""A page in one file: the template filled in, figures as data, and Plotly's script packed beside them."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from markupsafe import Markup

from unspool.report.content import Page
from unspool.storage import replace_text

__all__ = ["filled", "write_page"]


def write_page(page: Page, path: Path) -> None:
    """Write a page to a file."""
    replace_text(path, filled(page))


def filled(page: Page) -> str:
    """The page as HTML, whole: nothing in it is fetched from anywhere.

    The script that draws is packed (a third of its size) and unpacked by the browser; all else is there without it.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("unspool.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    figures = {name: json.loads(figure.to_json()) for name, figure in page.figures.items()}
    told = {name: dict(figure["layout"].get("meta", {})) for name, figure in figures.items()}
    return environment.get_template("page.html").render(
        page=page,
        figures={name: _drawn(figure) for name, figure in figures.items()},
        told=told,
        style=_text("page.css"),
        script=_text("page.js"),
        plotly=_packed_plotly(),
    )


def _drawn(figure: dict[str, Any]) -> dict[str, Any]:
    """Data and layout for Plotly, without its own colours and without what the page itself says."""
    layout = {name: value for name, value in figure["layout"].items() if name not in ("template", "title", "meta")}
    choices = figure["layout"].get("meta", {}).get("choices", ())
    colours = {one["name"]: _short(one["colours"]) for one in choices}
    return {"data": figure["data"], "layout": layout, "choices": colours}


def _short(colours: list[str]) -> dict[str, Any]:
    """Many colours as a few and a number for each mark."""
    few = list(dict.fromkeys(colours))
    return {"colours": few, "of": [few.index(colour) for colour in colours]}


def _text(name: str) -> Markup:
    return Markup((files("unspool.report") / "templates" / name).read_text(encoding="utf-8"))


@cache
def _packed_plotly() -> Markup:
    from plotly.offline import get_plotlyjs

    return Markup(b64encode(gzip.compress(get_plotlyjs().encode(), 9, mtime=0)).decode())
