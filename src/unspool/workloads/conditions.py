"""Conditions on jobs as text, such as `cores <= 64 and user == 'ann'`: a part of Python's expressions, never run."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from unspool.errors import InputError, UnknownName, shown

__all__ = ["condition", "divides_by_0"]


def _quotient(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """Empty where it is divided by 0: Polars would have infinity there, which is larger than anything."""
    return pl.when(right != 0).then(left / right)


_COMPARED: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_COMPUTED: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _quotient,
}
_EXPECTED = (
    "columns, numbers and texts with < <= == != > >= in, + - * /, and, or, not, as in cores <= 64 and user == 'ann'"
)


def condition(text: str, schema: pl.Schema) -> pl.Expr:
    """The condition as an expression on a table with these columns; of an empty cell no comparison holds.

    What is divided by 0 is such a cell: `divides_by_0` tells where.

    >>> jobs = pl.DataFrame({"cores": [1, 8, 64], "user": ["ann", "ann", None]})
    >>> jobs.filter(condition("1 < cores <= 64 and not user == 'ben'", jobs.schema)).rows()
    [(8, 'ann'), (64, None)]
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        found = _truth(tree, schema)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = f" ({error})" if type(error) is ValueError else ""
        raise InputError(f"condition '{shown(text)}' is not understood{reason}; expected {_EXPECTED}") from None
    return found


def divides_by_0(text: str, schema: pl.Schema) -> pl.Expr:
    """Where a condition that is understood divides by 0, so that nothing is known of what it compares.

    >>> jobs = pl.DataFrame({"cores": [1, 8], "machines": [0, 2]})
    >>> jobs.filter(divides_by_0("cores / machines > 3 and cores / 2 < 9", jobs.schema)).rows()
    [(1, 0)]
    """
    tree = ast.walk(ast.parse(text.strip(), mode="eval"))
    divisors = [node.right for node in tree if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)]
    are_0 = [(_value(each, schema)[0] == 0).fill_null(False) for each in divisors]
    return pl.any_horizontal([pl.lit(False), *are_0])


def _truth(node: ast.expr, schema: pl.Schema) -> pl.Expr:
    """A part that is true or false."""
    if isinstance(node, ast.BoolOp):
        parts = [_truth(part, schema) for part in node.values]
        return pl.all_horizontal(parts) if isinstance(node.op, ast.And) else pl.any_horizontal(parts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return ~_truth(node.operand, schema)
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        pairs = zip(sides, node.ops, sides[1:], strict=False)
        return pl.all_horizontal([_comparison(left, by, right, schema) for left, by, right in pairs])
    raise ValueError(f"'{shown(ast.unparse(node))}' is neither true nor false")


def _comparison(left: ast.expr, by: ast.cmpop, right: ast.expr, schema: pl.Schema) -> pl.Expr:
    value, is_text = _value(left, schema)
    if isinstance(by, ast.In | ast.NotIn):
        if not isinstance(right, ast.List | ast.Tuple | ast.Set):
            raise ValueError("what follows `in` is no list such as ['ann', 'ben']")
        found = [_value(each, schema) for each in right.elts]
        _refuse_mixed([is_text, *(other for _, other in found)], left)
        holds = pl.any_horizontal([pl.lit(False), *((value == each).fill_null(False) for each, _ in found)])
        return ~holds if isinstance(by, ast.NotIn) else holds
    if type(by) not in _COMPARED:
        raise ValueError("`is` compares no values")
    other, other_is_text = _value(right, schema)
    _refuse_mixed([is_text, other_is_text], left)
    return pl.Expr.fill_null(_COMPARED[type(by)](value, other), False)


def _refuse_mixed(are_texts: list[bool], left: ast.expr) -> None:
    if len(set(are_texts)) > 1:
        raise ValueError(f"'{shown(ast.unparse(left))}' is compared with another kind of value; texts stand in quotes")


def _value(node: ast.expr, schema: pl.Schema) -> tuple[pl.Expr, bool]:
    """A column, a constant or a sum of them, and whether it is text."""
    if isinstance(node, ast.Name):
        if node.id not in schema:
            raise UnknownName("column in a condition", node.id, schema)
        return pl.col(node.id), schema[node.id] == pl.String
    if isinstance(node, ast.Constant) and type(node.value) in (int, float, str):
        return pl.lit(node.value), isinstance(node.value, str)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value, is_text = _value(node.operand, schema)
        if not is_text:
            return -value, False
    if isinstance(node, ast.BinOp) and type(node.op) in _COMPUTED:
        (left, is_text), (right, other_is_text) = _value(node.left, schema), _value(node.right, schema)
        if not (is_text or other_is_text):
            return _COMPUTED[type(node.op)](left, right), False
    raise ValueError(f"'{shown(ast.unparse(node))}' is no column, number, text or sum of numbers")
