"""Changes that a fuzzer of bytes rarely finds: odd numbers, deep nesting, long runs, and packed floods."""

import gzip
import random
import re
import zlib
from functools import cache

import atheris

__all__ = ["mutated"]

_TOKEN = re.compile(rb"[+-]?[0-9][0-9.eE+-]*|\"[^\"\n]{0,60}\"|[A-Za-z_]{2,30}")
_SEPARATOR = re.compile(rb"([,;|\t\n])")
_NUMBERS = (
    b"-1", b"0", b"1e3", b"3.5", b"255", b"65536", b"999999999", b"2147483648", b"1000000000000", b"1e15",
    b"9007199254740993", b"9223372036854775807", b"9223372036854775808", b"18446744073709551616", b"1e19", b"1e44",
    b"-1e44", b"1e300", b"1e308", b"1e999", b"-1e999", b"5e-324", b"1e-400", b"12345678901234567890123456789012345",
    b"1" * 400, b"9" * 4400, b"nan", b"inf", b"-inf", b"0x10", b"1_000",
)  # fmt: skip
_ODD = (
    b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc3", "\u2028".encode(), "\ud7ff".encode(), b"\r", b"\r\n", b"\t", b'"',
    b'""', b"'", b"=1+1", b"null", b"true", b"[]", b"{}", b"", b" ", b"../x", b"2024-05-01T12:00:00",
    b"9999-12-31T23:59:59", b"0000-01-01", b"1-00:00:00", b"99999999:59:59", b"4GiB", b"1e30GiB", b"#", b";", b"|",
)  # fmt: skip
_OPENERS = (b"[", b'{"a":', b"(", b"<a>", b"- ", b"a.", b"{", b"[[", b"&a [*a, ", b"a: {", b"-", b"!", b"'")
_CLOSERS = {b"[": b"]", b'{"a":': b"}", b"(": b")", b"<a>": b"</a>", b"{": b"}", b"[[": b"]]"}
_MEMBER = 1 << 24  # bytes of a flood that are packed at once


def mutated(data: bytes, most: int, seed: int) -> bytes:
    """One change: half of them libFuzzer's own, the others of the tables above."""
    draw = random.Random(seed)
    if draw.random() < 0.4 or not data:
        return atheris.Mutate(data, most)
    packed = data[:2] == b"\x1f\x8b"
    if packed:
        try:
            data = gzip.decompress(data)[:most]
        except (OSError, EOFError, zlib.error):
            return atheris.Mutate(data, most)
    if b"\0" in data and draw.random() < 0.9:
        return with_odd_bytes(data, draw)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        data = draw.choice(_CHANGES)(data, draw)[:most]
    if draw.random() < 0.002:
        return flood(data, draw)[:most]
    return gzip.compress(data, 1)[:most] if packed or draw.random() < 0.01 else data


def with_odd_bytes(data: bytes, draw: random.Random) -> bytes:
    """Some bytes of a file that is no text changed, most often one: a size at its largest, a bit, a hole."""
    changed = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 1, 2, 4))):
        at = draw.randrange(len(changed))
        changed[at] = draw.choice((0, 0x7F, 0x80, 0xFF, changed[at] ^ 1 << draw.randrange(8), draw.randrange(256)))
    return bytes(changed)


def with_odd_number(data: bytes, draw: random.Random) -> bytes:
    """Another number, or something odd, in the place of a number, a name or a text."""
    found = list(_TOKEN.finditer(data[:200_000]))
    if not found:
        return data + draw.choice(_NUMBERS)
    token = draw.choice(found)
    odd = draw.choice(_NUMBERS if draw.random() < 0.7 else _ODD)
    if token[0].startswith(b'"') and draw.random() < 0.5:
        odd = b'"' + odd + b'"'
    return data[: token.start()] + odd + data[token.end() :]


def with_odd_cell(data: bytes, draw: random.Random) -> bytes:
    """Another number, or something odd, in the place of all between two separators."""
    cells = _SEPARATOR.split(data[:200_000])
    cells[2 * draw.randrange(len(cells) // 2 + 1)] = draw.choice(_NUMBERS if draw.random() < 0.7 else _ODD)
    return b"".join(cells) + data[200_000:]


def with_odd_text(data: bytes, draw: random.Random) -> bytes:
    """Something odd put in anywhere."""
    at = draw.randrange(len(data) + 1)
    return data[:at] + draw.choice(_ODD) + data[at:]


def with_run(data: bytes, draw: random.Random) -> bytes:
    """A piece many times."""
    at = draw.randrange(len(data) + 1)
    piece = data[at : at + draw.choice((1, 2, 5, 20, 80))]
    return data[:at] + piece * (1 << draw.randrange(14 if _is_rare(draw) else 5)) + data[at:]


def with_nesting(data: bytes, draw: random.Random) -> bytes:
    """Openers without an end, or around what is there."""
    opener, times = draw.choice(_OPENERS), draw.choice((1200, 20_000) if _is_rare(draw) else (2, 3, 60, 150))
    token = draw.choice(list(_TOKEN.finditer(data[:200_000])) or [None])
    begin, end = (0, len(data)) if token is None or draw.random() < 0.2 else token.span()
    inside = data[begin:end]
    return data[:begin] + opener * times + inside + _CLOSERS.get(opener, b"") * times + data[end:]


def _is_rare(draw: random.Random) -> bool:
    """Whether an input may become large this time: large ones are slow, and many more small ones are tried."""
    return draw.random() < 0.03


def with_lines_moved(data: bytes, draw: random.Random) -> bytes:
    """A line twice, gone or elsewhere."""
    lines = data.split(b"\n")
    at = draw.randrange(len(lines))
    line = lines[at] if draw.random() < 0.5 else lines.pop(at)
    if draw.random() < 0.7:
        lines.insert(draw.randrange(len(lines) + 1), line)
    return b"\n".join(lines)


def flood(data: bytes, draw: random.Random) -> bytes:
    """A packed file of some hundred megabytes of one byte behind what is there: a long line, or blank ones."""
    return gzip.compress(data, 1) + _member(draw.choice((b"\n", b"a", b" ", b"0", b"["))) * draw.choice((8, 32, 96))


@cache
def _member(byte: bytes) -> bytes:
    return gzip.compress(byte * _MEMBER, 1)


_CHANGES = (
    *(with_odd_number, with_odd_number, with_odd_cell, with_odd_cell, with_odd_cell, with_odd_text, with_odd_text),
    *(with_run, with_nesting, with_lines_moved),
)  # fmt: skip
