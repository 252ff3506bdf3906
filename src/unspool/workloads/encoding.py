"""Bytes of a log as text: UTF-8 and, line by line or cell by cell, Latin-1 where they are no UTF-8.

One name from another machine must not change how the others are read; who reads counts such lines in a note.
"""

from __future__ import annotations

from unspool.units import counted

__all__ = ["BYTE_ORDER_MARK", "as_utf8", "decoded", "is_utf8", "latin_notes"]

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def as_utf8(text: bytes) -> tuple[bytes, int]:
    """The lines in UTF-8, and how many of them were not: these are read as Latin-1, which any bytes are.

    >>> as_utf8("Zoë\\n".encode() + "Jürgen\\n".encode("latin-1"))[0].decode()
    'Zoë\\nJürgen\\n'
    """
    if is_utf8(text):
        return text, 0
    lines = text.split(b"\n")
    foreign = [at for at, line in enumerate(lines) if not is_utf8(line)]
    for at in foreign:
        lines[at] = lines[at].decode("latin-1").encode()
    return b"\n".join(lines), len(foreign)


def decoded(text: bytes) -> str:
    """The text of bytes that stand alone.

    >>> decoded("Zoë".encode()), decoded("Zoë".encode("latin-1"))
    ('Zoë', 'Zoë')
    """
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("latin-1")


def is_utf8(text: bytes) -> bool:
    """Whether the bytes are UTF-8, as ASCII is."""
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def latin_notes(count: int, what: str = "line", of: str = "") -> list[str]:
    """What is told of lines, or of cells of a column, that were no UTF-8.

    >>> latin_notes(2), latin_notes(1, "cell", " of user"), latin_notes(0)
    (['2 lines are not UTF-8: read as Latin-1'], ['1 cell of user is not UTF-8: read as Latin-1'], [])
    """
    return [f"{counted(count, f'{what}{of} is', f'{what}s{of} are')} not UTF-8: read as Latin-1"] if count else []
