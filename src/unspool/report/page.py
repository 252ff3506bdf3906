"""A page in one file: the template filled in, figures as data, and Plotly's script packed beside them."""

from __future__ import annotations

import gzip
from base64 import b64encode
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from markupsafe import Markup

__all__ = ["filled"]


def filled(template: str, figures: Mapping[str, Any], **content: Any) -> str:
    """The page, whole: nothing in it is fetched from anywhere.

    The script that draws is packed (a third of its size) and unpacked by the browser; all else is there without it.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("unspool.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    drawn = {name: figure.to_plotly_json() for name, figure in figures.items()}
    plain = {name: {"data": figure["data"], "layout": _without_template(figure)} for name, figure in drawn.items()}
    style = Markup((files("unspool.report") / "templates" / "page.css").read_text(encoding="utf-8"))
    script = Markup((files("unspool.report") / "templates" / "page.js").read_text(encoding="utf-8"))
    page = environment.get_template(template)
    return page.render(figures=plain, style=style, script=script, plotly=_packed_plotly(), **content)


def _without_template(figure: Mapping[str, Any]) -> dict[str, Any]:
    """The layout without Plotly's own colours: the page has its own."""
    return {name: value for name, value in figure["layout"].items() if name != "template"}


def _packed_plotly() -> Markup:
    from plotly.offline import get_plotlyjs

    return Markup(b64encode(gzip.compress(get_plotlyjs().encode(), 9, mtime=0)).decode())
