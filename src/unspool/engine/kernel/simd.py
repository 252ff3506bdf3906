"""Numbers side by side, mostly four, which compiled code holds in one register and handles at once.

Not compiled, they are a tuple, and the functions are as they stand here. Compiled, each is an instruction or two. Both
give the same bits, for nothing is summed up across the four.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

import unspool.engine.kernel.compiled  # noqa: F401  (sets where Numba keeps its cache)
from unspool.engine.kernel.state import NEVER, Array

from numba import extending, types  # isort: skip

__all__ = [
    "BLOCK", "LANES", "Lanes", "any_above_0", "any_below", "are_above_0", "as_bits", "count_below", "least",
    "least_lane", "load", "minus", "most", "over", "plus", "rows_of_lanes", "same", "store", "times", "where_above_0",
]  # fmt: skip

LANES = 4
BLOCK = 8
Lanes = tuple[float, float, float, float]

_CACHE_LINE = 64


def rows_of_lanes(count: int) -> Array:
    """So many rows of four zeros, none of which crosses a cache line."""
    memory = np.zeros(count * LANES + _CACHE_LINE // 8)
    first = -memory.ctypes.data % _CACHE_LINE // 8
    return memory[first : first + count * LANES].reshape(count, LANES)


def load(array: Array, row: int) -> Lanes:
    """The four of a row."""
    return tuple(array[row].tolist())


def store(array: Array, row: int, lanes: Lanes) -> None:
    """Write the four of a row."""
    array[row] = lanes


def same(number: float) -> Lanes:
    """The same four times."""
    return number, number, number, number


def least(one: Lanes, other: Lanes) -> Lanes:
    """The lesser of two, lane by lane."""
    a, b = one, other
    return (
        a[0] if a[0] < b[0] else b[0], a[1] if a[1] < b[1] else b[1],
        a[2] if a[2] < b[2] else b[2], a[3] if a[3] < b[3] else b[3],
    )  # fmt: skip


def most(one: Lanes, other: Lanes) -> Lanes:
    """The greater of two, lane by lane."""
    a, b = one, other
    return (
        a[0] if a[0] > b[0] else b[0], a[1] if a[1] > b[1] else b[1],
        a[2] if a[2] > b[2] else b[2], a[3] if a[3] > b[3] else b[3],
    )  # fmt: skip


def plus(one: Lanes, other: Lanes) -> Lanes:
    """The sum of two."""
    return one[0] + other[0], one[1] + other[1], one[2] + other[2], one[3] + other[3]


def minus(one: Lanes, other: Lanes) -> Lanes:
    """One without the other."""
    return one[0] - other[0], one[1] - other[1], one[2] - other[2], one[3] - other[3]


def times(lanes: Lanes, number: float) -> Lanes:
    """The product with a number."""
    return lanes[0] * number, lanes[1] * number, lanes[2] * number, lanes[3] * number


def over(one: Lanes, other: Lanes) -> Lanes:
    """One divided by the other, infinite where that is not above 0."""
    a, b = one, other
    return (
        a[0] / b[0] if b[0] > 0.0 else NEVER, a[1] / b[1] if b[1] > 0.0 else NEVER,
        a[2] / b[2] if b[2] > 0.0 else NEVER, a[3] / b[3] if b[3] > 0.0 else NEVER,
    )  # fmt: skip


def are_above_0(lanes: Lanes) -> Lanes:
    """1 where it is above 0, else 0."""
    return float(lanes[0] > 0.0), float(lanes[1] > 0.0), float(lanes[2] > 0.0), float(lanes[3] > 0.0)


def where_above_0(one: Lanes, other: Lanes) -> Lanes:
    """The other where the one is above 0, else 0."""
    return (
        other[0] if one[0] > 0.0 else 0.0, other[1] if one[1] > 0.0 else 0.0,
        other[2] if one[2] > 0.0 else 0.0, other[3] if one[3] > 0.0 else 0.0,
    )  # fmt: skip


def as_bits(lanes: Lanes) -> int:
    """Which are above 0: the first counts 1, the second 2, the third 4, the last 8."""
    return (lanes[0] > 0.0) + 2 * (lanes[1] > 0.0) + 4 * (lanes[2] > 0.0) + 8 * (lanes[3] > 0.0)


def any_above_0(lanes: Lanes) -> bool:
    """Whether one of them is above 0."""
    return as_bits(lanes) != 0


def any_below(lanes: Lanes, limit: float, among: Lanes) -> bool:
    """Whether one of them is below a limit where the other is above 0."""
    return any(number < limit and other > 0.0 for number, other in zip(lanes, among, strict=True))


def count_below(array: Array, first: int, limit: float) -> int:
    """How many of `BLOCK` numbers, from a place on, are below a limit."""
    return int((array[first : first + BLOCK] < limit).sum())


def least_lane(lanes: Lanes, number: float) -> float:
    """The least of the four and a number."""
    for lane in lanes:
        if lane < number:
            number = lane
    return number


# How each is compiled. The four are a vector of LLVM's, which has an order of its own for comparisons with what is no
# number: `<` is false then, as in Python.

_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_BITS = ir.IntType(LANES)


class _LanesType(types.Type):
    def __init__(self) -> None:
        super().__init__(name="Lanes")


_LANES = _LanesType()
_numba: Any = extending  # which tells no types
_numba.register_model(_LanesType)(lambda manager, kind: _numba.models.PrimitiveModel(manager, kind, _VECTOR))


def _compiles(function: Callable[..., Any], result: Any, *arguments: Any) -> Callable[[Any], Any]:
    """Say that a function is compiled by what is decorated, for these types of arguments."""
    typers = (lambda a: result, lambda a, b: result, lambda a, b, c: result)
    _numba.type_callable(function)(lambda context: typers[len(arguments) - 1])
    return _numba.lower_builtin(function, *arguments)  # type: ignore[no-any-return]


def _constant(number: float) -> Any:
    return ir.Constant(_VECTOR, [number] * LANES)


def _lane(number: int) -> Any:
    return ir.Constant(ir.IntType(32), number)


def _same(builder: Any, number: Any) -> Any:
    lanes = ir.Constant(_VECTOR, ir.Undefined)
    for at in range(LANES):
        lanes = builder.insert_element(lanes, number, _lane(at))
    return lanes


def _at_row(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Where a row of an array begins."""
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    row = context.cast(builder, arguments[1], signature.args[1], types.uintp)
    first = builder.gep(array.data, [builder.mul(row, ir.Constant(row.type, LANES))], inbounds=True)
    return builder.bitcast(first, _VECTOR.as_pointer())


@_compiles(load, _LANES, types.Array, types.Integer)
def _load(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    loaded = builder.load(_at_row(context, builder, signature, arguments))
    loaded.align = 8
    return loaded


@_compiles(store, types.none, types.Array, types.Integer, _LanesType)
def _store(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    builder.store(arguments[2], _at_row(context, builder, signature, arguments)).align = 8
    return context.get_dummy_value()


@_compiles(same, _LANES, types.Float)
def _spread(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return _same(builder, arguments[0])


@_compiles(least, _LANES, _LanesType, _LanesType)
def _least(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", *arguments), *arguments)


@_compiles(most, _LANES, _LanesType, _LanesType)
def _most(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", *arguments), *arguments)


@_compiles(plus, _LANES, _LanesType, _LanesType)
def _plus(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.fadd(*arguments)


@_compiles(minus, _LANES, _LanesType, _LanesType)
def _minus(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.fsub(*arguments)


@_compiles(times, _LANES, _LanesType, types.Float)
def _times(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.fmul(arguments[0], _same(builder, arguments[1]))


@_compiles(over, _LANES, _LanesType, _LanesType)
def _over(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.select(_are_above_0(builder, arguments[1]), builder.fdiv(*arguments), _constant(NEVER))


def _are_above_0(builder: Any, lanes: Any) -> Any:
    return builder.fcmp_ordered(">", lanes, _constant(0.0))


@_compiles(are_above_0, _LANES, _LanesType)
def _ones(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.select(_are_above_0(builder, arguments[0]), _constant(1.0), _constant(0.0))


@_compiles(where_above_0, _LANES, _LanesType, _LanesType)
def _where_above_0(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.select(_are_above_0(builder, arguments[0]), arguments[1], _constant(0.0))


@_compiles(as_bits, types.int64, _LanesType)
def _as_bits(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.zext(builder.bitcast(_are_above_0(builder, arguments[0]), _BITS), ir.IntType(64))


def _any(builder: Any, found: Any) -> Any:
    return builder.icmp_unsigned("!=", builder.bitcast(found, _BITS), ir.Constant(_BITS, 0))


@_compiles(any_above_0, types.boolean, _LanesType)
def _any_above_0(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return _any(builder, _are_above_0(builder, arguments[0]))


@_compiles(any_below, types.boolean, _LanesType, types.Float, _LanesType)
def _any_below(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    are_below = builder.fcmp_ordered("<", arguments[0], _same(builder, arguments[1]))
    return _any(builder, builder.and_(are_below, _are_above_0(builder, arguments[2])))


@_compiles(count_below, types.int64, types.Array, types.Integer, types.Float)
def _count_below(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    block, bits = ir.VectorType(ir.DoubleType(), BLOCK), ir.IntType(BLOCK)
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    first = context.cast(builder, arguments[1], signature.args[1], types.uintp)
    loaded = builder.load(builder.bitcast(builder.gep(array.data, [first], inbounds=True), block.as_pointer()))
    loaded.align = 8
    limit = ir.Constant(block, ir.Undefined)
    for at in range(BLOCK):
        limit = builder.insert_element(limit, arguments[2], _lane(at))
    found = builder.bitcast(builder.fcmp_ordered("<", loaded, limit), bits)
    return builder.zext(builder.ctpop(found), ir.IntType(64))


@_compiles(least_lane, types.float64, _LanesType, types.Float)
def _least_lane(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    number = arguments[1]
    for at in range(LANES):
        lane = builder.extract_element(arguments[0], _lane(at))
        number = builder.select(builder.fcmp_ordered("<", lane, number), lane, number)
    return number
