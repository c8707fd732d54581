"""The checker for what has to hold in each row of a table: bounds of a column, and columns that follow from others."""

from __future__ import annotations

import ast
import math
import operator
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

from labgrade.values import Number, Table, show
from labgrade.verdict import Verdict, correct, incorrect, partial

from ._runs import judged_without_gaps, number
from ._wording import clip, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from labgrade.values import Findings, Row, Value

_LARGEST_POWER = 9
_SUMS: Mapping[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_ORDERS: Mapping[type[ast.cmpop], tuple[str, Callable[[Fraction, Fraction, Fraction], bool]]] = {
    ast.Eq: ("not", lambda one, other, off: abs(one - other) <= off),
    ast.Lt: ("not below", lambda one, other, _: one < other),
    ast.LtE: ("above", lambda one, other, off: one <= other + off),
    ast.Gt: ("not above", lambda one, other, _: one > other),
    ast.GtE: ("below", lambda one, other, off: one >= other - off),
}


def each_row(
    answer: Table | Findings,
    expected: Value | None,
    *,
    holds: list[Annotated[str, {"format": "comparison of columns"}]],
    rtol: Annotated[float, {"minimum": 0}] = 1e-6,
) -> Verdict:
    """What `holds` says is so in each row: `0 < seconds`, `share <= 1`, `flops == 2 * n ** 3`.

    Names are columns; numbers, + - * / ** and brackets stand between them. What is equal may differ by `rtol`, and as
    far as it was printed. The credit is the share of rows in which all of it is so.
    """
    del expected  # what is right is said by `holds`
    asked = [_parsed(text) for text in holds]
    if not isinstance(answer, Table):
        return incorrect(f"got {shown(answer)}, which is no table")
    columns = list(dict.fromkeys(name for each in asked for name in _names(each)))
    return judged_without_gaps(answer, columns, lambda table: _judged(table.rows, asked, Fraction(repr(rtol))))


def _judged(rows: Sequence[Row], asked: Sequence[ast.Compare], rtol: Fraction) -> Verdict:
    broken = [next(((row, said) for each in asked if (said := _against(row, each, rtol))), None) for row in rows]
    found = [each for each in broken if each is not None]
    if not found:
        return correct(got=f"{len(rows)} rows", allowed=", ".join(map(ast.unparse, asked)))
    row, said = found[0]
    more = f"; {len(found) - 1} more rows are wrong" if len(found) > 1 else ""
    reason = f"'{clip(row.name)}': {said}{more}"
    return partial(Fraction(len(rows) - len(found), len(rows)), reason, hint=_in_common(rows, asked))


def _against(row: Row, asked: ast.Compare, rtol: Fraction) -> str:
    """What is wrong with a row, in words."""
    sides = [asked.left, *asked.comparators]
    for one, order, other in zip(sides, asked.ops, sides[1:], strict=False):
        try:
            values = _value(one, row), _value(other, row)
        except ZeroDivisionError:
            return f"{ast.unparse(asked)} comes to a division by 0"
        word, is_so = _ORDERS[type(order)]
        off = max(
            rtol * abs(values[1]), sum(_printed(name, row) for name in _names(asked) if _stands_alone(name, asked))
        )
        if not is_so(*values, Fraction(off)):
            if isinstance(one, ast.Constant):  # a bound stands first: `0 < seconds`
                return f"{ast.unparse(other)} is {_shown(values[1])}, and {ast.unparse(asked)} is asked for"
            meant = "" if isinstance(other, ast.Constant) else f"{ast.unparse(other)}, "
            return f"{ast.unparse(one)} is {_shown(values[0])}, which is {word} {meant}{_shown(values[1])}"
    return ""


def _in_common(rows: Sequence[Row], asked: Sequence[ast.Compare]) -> str:
    """That a column is everywhere so many times what it should be."""
    for each in asked:
        if len(rows) > 1 and isinstance(each.ops[0], ast.Eq) and isinstance(each.left, ast.Name):
            try:
                pairs = [(_value(each.left, row), _value(each.comparators[0], row)) for row in rows]
            except ZeroDivisionError:
                continue
            if not all(given and right for given, right in pairs):
                continue
            times = [given / right for given, right in pairs]
            close = max(times) - min(times) <= Fraction(1, 100) * abs(times[0])
            if close and abs(times[0] - 1) > Fraction(1, 20):
                factor = f"{float(times[0]):.3g}"
                return f"In each row `{each.left.id}` is {factor} times `{ast.unparse(each.comparators[0])}`."
    return ""


def _shown(value: Fraction) -> str:
    return show(value) if value.denominator == 1 else f"{float(value):.6g}"


def _stands_alone(name: str, asked: ast.Compare) -> bool:
    return any(isinstance(side, ast.Name) and side.id == name for side in (asked.left, *asked.comparators))


def _printed(name: str, row: Row) -> Fraction:
    cell = row.cells[name]
    return Fraction(cell.half_unit) if isinstance(cell, Number) else Fraction(0)


def _value(node: ast.expr, row: Row) -> Fraction:
    match node:
        case ast.Constant(value=value):
            return Fraction(repr(value))
        case ast.Name(id=name):
            return number(row, name)
        case ast.UnaryOp(operand=operand):
            return -_value(operand, row)
        case ast.BinOp(left=left, op=op, right=right):
            return Fraction(_SUMS[type(op)](_value(left, row), _value(right, row)))
    raise AssertionError(node)  # `_parsed` lets nothing else through


def _names(asked: ast.AST) -> list[str]:
    return [each.id for each in ast.walk(asked) if isinstance(each, ast.Name)]


def _parsed(text: str) -> ast.Compare:
    """What has to hold.

    Raises:
        ValueError: it is no comparison of columns and numbers.
    """
    try:
        found = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        found = ast.Constant(text)
    if isinstance(found, ast.Compare) and _compares_columns(found):
        return found
    message = f"'{text}' compares no columns; write it as `flops == 2 * n ** 3` or `0 < seconds <= 10`"
    raise ValueError(message)


def _compares_columns(found: ast.Compare) -> bool:
    sides = (found.left, *found.comparators)
    return all(type(each) in _ORDERS for each in found.ops) and bool(_names(found)) and all(map(_is_sum, sides))


def _is_sum(node: Any) -> bool:
    match node:
        case ast.Constant(value=int() | float() as value):
            return not isinstance(value, bool) and math.isfinite(value)
        case ast.Name():
            return True
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _is_sum(operand)
        case ast.BinOp(op=ast.Pow(), left=left, right=ast.Constant(value=int() as power)):
            return 0 <= power <= _LARGEST_POWER and _is_sum(left)
        case ast.BinOp(left=left, op=op, right=right):
            return type(op) in _SUMS and not isinstance(op, ast.Pow) and _is_sum(left) and _is_sum(right)
    return False
