"""Workbooks without a spreadsheet: cells are read from the XML of the file, and formulas of our kinds are worked out.

Values that the file has beside its formulas are not looked at, unless they are asked for.
"""

import ast
import operator
import re
import zipfile
from functools import cache

from defusedxml import ElementTree

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_REFERENCE = re.compile(r"(?:(\w+)!)?\$?([A-Z]{1,3})\$?(\d+)(?::\$?([A-Z]{1,3})\$?(\d+))?(?![\w(])")
_CONDITION = re.compile(r'"(>=|<=)"&')
_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
_OVER_CHOSEN = {"SUMIFS": sum, "MINIFS": min, "MAXIFS": max, "AVERAGEIFS": lambda values: sum(values) / len(values)}


def number_of(letters):
    """A column counted from 1."""
    found = 0
    for letter in letters:
        found = found * 26 + ord(letter) - 64
    return found


class Workbook:
    """The cells of a workbook by sheet and (column, row), both from 1; what is changed here counts for all formulas."""

    def __init__(self, path):
        with zipfile.ZipFile(path) as file:
            self.parts = file.namelist()
            texts = ["".join(one.itertext()) for one in ElementTree.fromstring(file.read("xl/sharedStrings.xml"))]
            book = ElementTree.fromstring(file.read("xl/workbook.xml"))
            self.names = [sheet.get("name") for sheet in book.iter(f"{_MAIN}sheet")]
            self.sheets = {
                name: ElementTree.fromstring(file.read(f"xl/worksheets/sheet{at}.xml"))
                for at, name in enumerate(self.names, start=1)
            }
        self.cells, self.stored = {}, {}
        for name, sheet in self.sheets.items():
            for cell in sheet.iter(f"{_MAIN}c"):
                self._take(name, cell, texts)
        self.value = cache(self._value)

    def _take(self, name, cell, texts):
        letters, row = re.fullmatch(r"([A-Z]+)(\d+)", cell.get("r")).groups()
        at = (name, number_of(letters), int(row))
        formula, value = cell.find(f"{_MAIN}f"), cell.find(f"{_MAIN}v")
        if value is not None:
            self.stored[at] = texts[int(value.text)] if cell.get("t") == "s" else float(value.text)
        if formula is not None:
            self.cells[at] = f"={formula.text}"
        elif value is not None:
            self.cells[at] = self.stored[at]

    def is_protected(self, name):
        return self.sheets[name].find(f"{_MAIN}sheetProtection") is not None

    def change(self, sheet, column, row, number):
        self.cells[sheet, column, row] = number
        self.value.cache_clear()

    def row_of(self, sheet, text, column=1):
        return next(at[2] for at, cell in self.cells.items() if at[:2] == (sheet, column) and cell == text)

    def column_of(self, sheet, text, row=1):
        return next(at[1] for at, cell in self.cells.items() if at[0] == sheet and at[2] == row and cell == text)

    def _value(self, sheet, column, row):
        cell = self.cells.get((sheet, column, row), 0.0)
        if not (isinstance(cell, str) and cell.startswith("=")):
            return cell
        return self._worked_out(ast.parse(_as_python(cell[1:], sheet), mode="eval").body)

    def _worked_out(self, node):
        match node:
            case ast.Constant():
                return node.value
            case ast.BinOp():
                return _OPERATORS[type(node.op)](self._worked_out(node.left), self._worked_out(node.right))
            case ast.UnaryOp(op=ast.USub()):
                return -self._worked_out(node.operand)
            case ast.Compare(ops=[ast.Gt()]):
                return self._worked_out(node.left) > self._worked_out(node.comparators[0])
            case ast.Call():
                return self._called(node.func.id, node.args)
        raise NotImplementedError(ast.dump(node))

    def _called(self, name, arguments):
        if name == "IF":
            return self._worked_out(arguments[1 if self._worked_out(arguments[0]) else 2])
        if name == "IFERROR":
            try:
                return self._worked_out(arguments[0])
            except (ZeroDivisionError, ValueError):
                return self._worked_out(arguments[1])
        values = [self._worked_out(one) for one in arguments]
        if name == "CELL":
            return self.value(*values)
        if name == "CELLS":
            sheet, first, top, last, bottom = values
            return [self.value(sheet, at, row) for at in range(first, last + 1) for row in range(top, bottom + 1)]
        if name == "BOUND":
            return tuple(values)
        if name in _OVER_CHOSEN:
            return _OVER_CHOSEN[name](_chosen(*values))
        flat = [one for value in values for one in (value if isinstance(value, list) else [value])]
        return {"SUM": sum, "MIN": min, "MAX": max}[name](flat)


def _chosen(values, *conditions):
    tests = {">=": operator.ge, "<=": operator.le}
    pairs = list(zip(conditions[::2], conditions[1::2], strict=True))
    return [
        value
        for at, value in enumerate(values)
        if all(tests[sign](column[at], bound) for column, (sign, bound) in pairs)
    ]


def _as_python(formula, sheet):
    """The same as an expression of Python: references and conditions as calls."""

    def cell(match):
        of, letters, row, last, bottom = match.groups()
        name = of or sheet
        if last is None:
            return f"CELL('{name}',{number_of(letters)},{row})"
        return f"CELLS('{name}',{number_of(letters)},{row},{number_of(last)},{bottom})"

    parts = _CONDITION.split(formula.replace("_xlfn.", ""))
    found = _REFERENCE.sub(cell, parts[0])
    for sign, rest in zip(parts[1::2], parts[2::2], strict=True):
        bound = _REFERENCE.match(rest)
        found += f"BOUND('{sign}',{cell(bound)})" + _REFERENCE.sub(cell, rest[bound.end() :])
    return found
