"""Lines of a log as rectangles: blank lines taken out, lines with a wrong number of fields set apart.

Polars pads and cuts ragged lines, each version in its own way. It is given rectangles only, so that no record is
repaired or dropped in silence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Lines", "Ragged", "drop_lines", "first_record", "set_ragged_apart"]


class Lines(NamedTuple):
    """Whole lines of text and, for each, its number in the file from 1."""

    text: bytes
    numbers: npt.NDArray[np.int64]


class Ragged(NamedTuple):
    """A line with another number of fields than expected."""

    number: int
    fields: list[bytes]


def drop_lines(text: bytes, first: int, comment: bytes | None = None) -> Lines:
    """The lines that are neither empty nor comments; `first` is the number of the first line."""
    lines = text.split(b"\n")
    kept = [i for i, line in enumerate(lines) if line and not (comment and line.startswith(comment))]
    return Lines(b"".join(lines[i] + b"\n" for i in kept), np.array(kept, np.int64) + first)


def set_ragged_apart(lines: Lines, separator: bytes, width: int) -> tuple[Lines, list[Ragged]]:
    """The lines with exactly `width` fields, and the others."""
    text = np.frombuffer(lines.text, np.uint8)
    marks = np.flatnonzero((text == ord(separator)) | (text == ord("\n")))
    # In a rectangle of n lines every width-th mark is a newline, and there are n of them.
    if len(marks) == width * len(lines.numbers) and (text[marks[width - 1 :: width]] == ord("\n")).all():
        return lines, []
    counts = np.diff(np.flatnonzero(text[marks] == ord("\n")), prepend=-1)
    is_whole = counts == width
    split = lines.text.split(b"\n")
    ragged = [Ragged(int(lines.numbers[i]), split[i].split(separator)) for i in np.flatnonzero(~is_whole)]
    whole = b"".join(split[i] + b"\n" for i in np.flatnonzero(is_whole))
    return Lines(whole, lines.numbers[is_whole]), ragged


def first_record(start: bytes, comment: bytes | None = None) -> bytes:
    """The first line of a file that is neither blank nor a comment, of its first bytes; a byte order mark is cut off.

    >>> first_record(b"# a comment\\n\\n 1 2 \\n3", b"#")
    b'1 2'
    """
    lines = (line.strip() for line in start.removeprefix(b"\xef\xbb\xbf").split(b"\n"))
    return next((line for line in lines if line and not (comment and line.startswith(comment))), b"")
