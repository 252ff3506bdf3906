"""Options that several verbs have, each with the one text that says what it means."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from unspool.workloads import FORMATS

__all__ = ["LogFormat", "TargetFormat"]

LogFormat = Annotated[
    str | None,
    Parameter(help=f"Format of the log, where neither its name nor its content tells: {', '.join(FORMATS)}."),
]
"""`--format`: how a log is read."""

TargetFormat = Annotated[
    str | None,
    Parameter(
        help="Format of the file to write, where its name does not tell: "
        f"{', '.join(name for name, known in FORMATS.items() if known.write)}."
    ),
]
"""`--to`: how a log is written."""
