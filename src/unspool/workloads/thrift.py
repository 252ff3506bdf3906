"""Thrift's compact protocol, as far as Parquet's footers and page headers need it; nothing is believed of the bytes.

Format: github.com/apache/thrift, doc/specs/thrift-compact-protocol.md.
"""

from __future__ import annotations

from typing import Any

__all__ = ["ThriftError", "read_struct"]

_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(13)
_WHOLE = (_I16, _I32, _I64)
_LONGEST_VARINT = 10  # bytes
_DEEPEST = 32  # structures and lists inside each other; Parquet's have about six


class ThriftError(ValueError):
    """Bytes that are no structure."""


def read_struct(data: Any, at: int, end: int) -> tuple[dict[int, Any], int]:
    """The fields of a structure by their numbers, and where it ends; it may not go beyond `end`.

    >>> read_struct(bytes([0x15, 0x08, 0x18, 0x02, 0x68, 0x69, 0x00]), 0, 7)
    ({1: 4, 2: b'hi'}, 7)
    """
    return _Reader(data, at, end).struct(_DEEPEST)


class _Reader:
    def __init__(self, data: Any, at: int, end: int) -> None:
        self._data, self._at, self._end = data, at, end

    def struct(self, depth: int) -> tuple[dict[int, Any], int]:
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            kind, step = head & 0x0F, head >> 4
            number = number + step if step else self._whole()
            if number in fields:
                raise ThriftError("a field twice")
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return fields, self._at

    def _value(self, kind: int, depth: int) -> Any:
        if kind in _WHOLE:
            return self._whole()
        if kind in (_TRUE, _FALSE, _BYTE):  # of lists, where a truth takes a byte
            return self._byte()
        if kind == _BINARY:
            return bytes(self._taken(self._varint()))
        if kind == _DOUBLE:
            return bytes(self._taken(8))
        if not depth:
            raise ThriftError("structures that are nested too deeply")
        if kind == _STRUCT:
            return self.struct(depth - 1)[0]
        if kind in (_LIST, _SET):
            return self._list(depth - 1)
        raise ThriftError(f"a field of the unknown kind {kind}")  # a map too: Parquet has none

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        size = head >> 4 if head >> 4 < 15 else self._varint()
        if size > self._end - self._at:  # an element takes a byte or more
            raise ThriftError("a list that is longer than the file")
        return [self._value(head & 0x0F, depth) for _ in range(size)]

    def _byte(self) -> int:
        if self._at >= self._end:
            raise ThriftError("an end within a structure")
        self._at += 1
        found: int = self._data[self._at - 1]
        return found

    def _taken(self, size: int) -> Any:
        if size > self._end - self._at:
            raise ThriftError("a text that is longer than the file")
        self._at += size
        return self._data[self._at - size : self._at]

    def _varint(self) -> int:
        value = 0
        for place in range(_LONGEST_VARINT):
            byte = self._byte()
            value |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                return value
        raise ThriftError("a number without an end")

    def _whole(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)
