"""Small mistakes put into a Python source, one at a time: what an attentive task should notice.

Operators of arithmetic and comparison, operands and arguments left out, constants off by one, conditions turned round,
elements and statements dropped. Each is an edit of the text, so that the difference is the line that one would type.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from labgrade.answers.python_source import binds, is_idle, is_text, reachable_names

_ARITHMETIC = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
}
_COMPARISONS = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.In: ("in", "not in"),
    ast.NotIn: (r"not\s+in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: (r"is\s+not", "is"),
}
_NEAR_ZERO = (1, 2)  # from these a step down is as likely a mistake as a step up


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A source with one mistake in it. `was` and `becomes` are the lines that differ, without their indentation.

    `function`: what is changed, by its name at the top of the file.
    """

    line: int
    function: str
    was: str
    becomes: str
    source: str


@dataclass(frozen=True, slots=True)
class _Edit:
    """A replacement for the text between two places."""

    start: int
    end: int
    text: str
    within: _Statement


@dataclass(frozen=True, slots=True)
class _Statement:
    """A top-level statement: its place, its syntax tree as text, and the names it defines.

    It is parsed alone for each edit: a whole file takes four times as long.
    """

    start: int
    end: int
    tree: str
    function: str


def mutants(source: str, names: set[str]) -> list[Mutant]:
    """Return every mutant of what `names` reach in a source, in line order.

    Raises:
        SyntaxError: the source is no Python.
    """
    tree = ast.parse(source)
    found = reachable_names(tree, names, exactly=True)
    edits = _Edits(source)
    for node in tree.body:
        if binds(node) & found and not isinstance(node, ast.Import | ast.ImportFrom) and not is_idle(node):
            edits.begin(node)
            edits.below(node)
    made: dict[str, Mutant] = {}
    for edit in edits.found:
        mutant = _apply(source, edit)
        if mutant is not None:
            made.setdefault(mutant.source, mutant)
    return sorted(made.values(), key=lambda mutant: (mutant.line, mutant.becomes))


def _apply(source: str, edit: _Edit) -> Mutant | None:
    """Apply an edit; None if the syntax tree stays the same or the result is no Python."""
    text, within = source[: edit.start] + edit.text + source[edit.end :], edit.within
    try:
        if ast.dump(ast.parse(text[within.start : within.end + len(text) - len(source)])) == within.tree:
            return None
    except SyntaxError:
        return None
    first = source.count("\n", 0, edit.start)
    last, new_last = source.count("\n", 0, edit.end), text.count("\n", 0, edit.start + len(edit.text))
    was, becomes = source.split("\n")[first : last + 1], text.split("\n")[first : new_last + 1]
    return Mutant(line=first + 1, was=_stripped(was), becomes=_stripped(becomes), source=text, function=within.function)


def _stripped(lines: list[str]) -> str:
    return "\n".join(line.strip() for line in lines)


class _Edits:
    """Collects the edits of a source."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.found: list[_Edit] = []
        lines = source.split("\n")
        self._starts = [0]
        for line in lines:
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._lines = lines

    def begin(self, node: ast.stmt) -> None:
        """Begin with the edits of a statement, decorators included."""
        start, end = self._span(node)
        for each in getattr(node, "decorator_list", ())[:1]:
            start = self._starts[each.lineno - 1]
        tree = ast.dump(ast.parse(self.source[start:end]))
        self._within = _Statement(start, end, tree, min(binds(node)))

    def below(self, node: ast.AST) -> None:
        """Collect the edits of a node and all within it, except annotations and docstrings."""
        if isinstance(node, ast.JoinedStr):  # CPython 3.11 does not tell where in it something stands
            return
        self._one(node)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "type_comment"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not (isinstance(child, ast.stmt) and is_text(child)):
                    self.below(child)

    def _at(self, line: int, column: int) -> int:
        """Return an offset in the text; the syntax tree counts columns in bytes."""
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())

    def _span(self, node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
        end = (node.end_lineno or node.lineno, node.end_col_offset or 0)
        return self._at(node.lineno, node.col_offset), self._at(*end)

    def _add(self, start: int, end: int, text: str) -> None:
        self.found.append(_Edit(start, end, text, self._within))

    def _replace(self, node: ast.expr | ast.stmt, text: str) -> None:
        self._add(*self._span(node), text)

    def _one(self, node: ast.AST) -> None:
        """Collect the edits of one node of any kind."""
        self._operation(node)
        self._collection(node)
        match node:
            case ast.Constant():
                self._constant(node)
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                self._condition(test)
            case ast.comprehension():
                for test in node.ifs:
                    self._condition(test)
                    self._replace(test, "True")
            case ast.AugAssign() | ast.Expr(value=ast.Call()):
                self._replace(node, "pass")
            case ast.Continue() | ast.Break():
                self._replace(node, "break" if isinstance(node, ast.Continue) else "pass")

    def _operation(self, node: ast.AST) -> None:
        match node:
            case ast.BinOp():
                self._arithmetic(node)
            case ast.Compare(ops=[operator], comparators=[right]):
                self._between(node.left, right, *_COMPARISONS[type(operator)])
            case ast.BoolOp():
                self._logic(node)
            case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
                self._replace(node, self._text(operand))

    def _collection(self, node: ast.AST) -> None:
        """Drop an element, an entry or a named argument."""
        match node:
            case ast.Tuple(elts=[_, _, *_], ctx=ast.Load()) | ast.List(elts=[_, _, *_], ctx=ast.Load()) | ast.Set():
                for index in range(len(node.elts)):
                    fewer = [each for at, each in enumerate(node.elts) if at != index]
                    self._replace(node, ast.unparse(type(node)(elts=fewer)))
            case ast.Dict(keys=[_, _, *_]):
                self._entries(node)
            case ast.Call() if node.keywords:
                self._keywords(node)

    def _text(self, node: ast.expr) -> str:
        start, end = self._span(node)
        return self.source[start:end]

    def _operator(self, left: ast.expr, right: ast.expr, pattern: str) -> tuple[int, int] | None:
        """Find an operator between its operands, whatever brackets surround it."""
        start, end = self._span(left)[1], self._span(right)[0]
        found = re.search(pattern, self.source[start:end])
        return None if found is None else (start + found.start(), start + found.end())

    def _between(self, left: ast.expr, right: ast.expr, pattern: str, other: str) -> None:
        place = self._operator(left, right, pattern)
        if place is not None:
            self._add(*place, other)

    def _arithmetic(self, node: ast.BinOp) -> None:
        """Replace the operator, or drop an operand."""
        symbols = _ARITHMETIC.get(type(node.op))
        if symbols is None:
            return
        symbol, other = symbols
        place = self._operator(node.left, node.right, re.escape(symbol))
        if place is None:
            return
        self._add(*place, other)
        start, end = self._span(node)
        self._add(start, end, self.source[start : place[0]].rstrip())
        self._add(start, end, self.source[place[1] : end].lstrip())

    def _logic(self, node: ast.BoolOp) -> None:
        word, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._between(left, right, rf"\b{word}\b", other)
        for index in range(len(node.values)):
            fewer = [each for at, each in enumerate(node.values) if at != index]
            kept = fewer[0] if len(fewer) == 1 else ast.BoolOp(op=node.op, values=fewer)
            self._replace(node, f"({ast.unparse(kept)})")

    def _constant(self, node: ast.Constant) -> None:
        match node.value:
            case bool(value):
                self._replace(node, str(not value))
            case int(value):
                self._replace(node, str(value + 1))
                if value in _NEAR_ZERO:
                    self._replace(node, str(value - 1))
            case float(value):
                self._replace(node, str(value * 2 if value else 1.0))
            case str(value):
                self._replace(node, repr(f"{value}x"))

    def _condition(self, test: ast.expr) -> None:
        if not isinstance(test, ast.Compare) and not (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)):
            self._replace(test, f"not ({self._text(test)})")

    def _entries(self, node: ast.Dict) -> None:
        for index in range(len(node.keys)):
            keys = [each for at, each in enumerate(node.keys) if at != index]
            values = [each for at, each in enumerate(node.values) if at != index]
            self._replace(node, ast.unparse(ast.Dict(keys=keys, values=values)))

    def _keywords(self, node: ast.Call) -> None:
        for index, keyword in enumerate(node.keywords):
            if keyword.arg is not None:
                fewer = [each for at, each in enumerate(node.keywords) if at != index]
                self._replace(node, ast.unparse(ast.Call(func=node.func, args=node.args, keywords=fewer)))
