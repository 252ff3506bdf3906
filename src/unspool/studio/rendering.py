"""Pages of the studio: templates filled in, every value escaped."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from unspool.errors import shown
from unspool.units import counted, format_bytes, format_duration

__all__ = ["ASSETS", "asset", "rendered"]

ASSETS = {
    "page.css": ("unspool.report", "templates", "text/css"),
    "studio.css": ("unspool.studio", "static", "text/css"),
    "studio.js": ("unspool.studio", "static", "text/javascript"),
}
"""What pages fetch: the package and folder that it is in, and its type."""


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("unspool.studio"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "bytes": format_bytes,
        "counted": counted,
        "duration": lambda seconds: format_duration(round(seconds)),
        "moment": lambda unix_s: datetime.fromtimestamp(unix_s).strftime("%Y-%m-%d %H:%M:%S"),
        "short": lambda text: shown(text, 80),
        "words": lambda name: name.replace("_", " "),
    }
    return environment


def rendered(template: str, **values: Any) -> str:
    """A page as HTML."""
    return _environment().get_template(template).render(**values)


@cache
def asset(name: str) -> tuple[bytes, str]:
    """The bytes and the type of a file that pages fetch."""
    package, folder, kind = ASSETS[name]
    return (files(package) / folder / name).read_bytes(), kind
