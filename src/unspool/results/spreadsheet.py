"""CSV files that people open in a spreadsheet: a text that begins as a formula does is shown, never computed.

Job ids, users and reasons come from logs, which may be anybody's. Formats that unspool or other tools read back, such
as what `unspool convert` and `unspool batsim` write, keep every text as it is.
"""

from __future__ import annotations

from typing import IO

import polars as pl
import polars.selectors as cs

__all__ = ["plain_texts", "shown_texts", "write_csv"]

# https://owasp.org/www-community/attacks/CSV_Injection; an apostrophe before it makes any cell a text.
_FORMULA = r"^'*[=+\-@\t\r\n]"
_NUMBER = r"^[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)?$"  # -5 is what it is, also where it is a text
_SHOWN = r"^'+[=+\-@\t\r\n]"


def write_csv(table: pl.DataFrame, file: IO[bytes]) -> None:
    """Write a table as CSV, with texts as `shown_texts` makes them."""
    shown_texts(table).write_csv(file)


def shown_texts(table: pl.DataFrame) -> pl.DataFrame:
    """The table with an apostrophe before every text and name of a column that a spreadsheet would compute.

    >>> table = pl.DataFrame({"user": ["=1+1", "ann", "-5", "@x", "'=2", None]})
    >>> shown_texts(table)["user"].to_list()
    ["'=1+1", 'ann', '-5', "'@x", "''=2", None]
    >>> plain_texts(shown_texts(table)).equals(table)
    True
    """
    names = pl.Series(table.columns, dtype=pl.String).to_frame("name").select(_shown(pl.col("name"))).to_series()
    texts = table.with_columns(_shown(cs.by_dtype(pl.String, pl.Categorical, pl.Enum).cast(pl.String)))
    return texts.rename({old: names[at] for at, old in enumerate(table.columns)})


def _shown(text: pl.Expr) -> pl.Expr:
    computes = text.str.contains(_FORMULA) & ~text.str.contains(_NUMBER)
    return pl.when(computes).then(pl.lit("'") + text).otherwise(text).name.keep()


def plain_texts(table: pl.DataFrame) -> pl.DataFrame:
    """The texts of a table as they were before `shown_texts`."""
    text = cs.string()
    return table.with_columns(pl.when(text.str.contains(_SHOWN)).then(text.str.slice(1)).otherwise(text).name.keep())
