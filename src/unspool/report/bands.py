"""The table of a bill that was repeated: every figure with its band over seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import polars as pl

from unspool.report.content import Column, Section, Table, table_of
from unspool.report.shown import amount, duration, money

__all__ = ["bands_sections"]

_ON_BANDS = (
    "The run was repeated with other seeds for the reclaims of spot instances. A job's instances are reclaimed by the "
    "same draws whatever the set-up, so two set-ups with the same seeds may be compared figure by figure."
)
_LAST_WORDS: Mapping[str, Callable[[Any], str]] = {"usd": money, "s": duration}


def bands_sections(summary: Mapping[str, Any]) -> list[Section]:
    """A section with the mean and the 5 % and 95 % quantile of each figure that chance changes; none without seeds."""
    if "bands" not in summary:
        return []
    rows = [row for row in _rows(summary["bands"]) if row["p5"] != row["p95"]]
    heading = f"What chance does, over {summary['replicas']} seeds"
    if not rows:
        return [Section(heading, texts=["No figure changes from seed to seed."])]
    return [Section(heading, tables=[_table(rows)], note=_ON_BANDS)]


def _rows(bands: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for name, band in bands.items():
        if isinstance(band, Mapping) and set(band) == {"p5", "p95", "mean"}:
            yield {"figure": name, **band}


def _table(rows: list[dict[str, Any]]) -> Table:
    """Figures by name, with units as their names have them."""
    told = [
        {"figure": _named(row["figure"]), **{part: _told(row, part) for part in ("p5", "mean", "p95")}} for row in rows
    ]
    columns = {name: Column(heading) for name, heading in
               (("figure", "figure"), ("p5", "5 %"), ("mean", "mean"), ("p95", "95 %"))}  # fmt: skip
    return table_of(pl.DataFrame(told), columns, "bands", "Bands", most=len(told))


def _named(figure: str) -> str:
    words = figure.split("_")
    return " ".join(words[:-1] if words[-1] in _LAST_WORDS else words)


def _told(row: Mapping[str, Any], part: str) -> str:
    return _LAST_WORDS.get(row["figure"].split("_")[-1], amount)(row[part])
