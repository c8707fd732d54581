"""Small changes of a student's source, the likeliest remedies first: names, numbers, operands, statements.

Each takes back a mistake that people make: a wrong name is read, a type is too small, `=` stands for `+=`, a condition
lets too little through, a call is too many.
"""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from typing import TYPE_CHECKING

from labgrade.answers.reading import code
from labgrade.diagnosis.repair.expressions import Expressions
from labgrade.diagnosis.repair.places import Edit, closed, short

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_OF_HOOK = 3  # parameters: the module, what it is given, what it puts out


def edits(source: str, name: str) -> list[Edit]:
    """Return the edits of the code that a function leads to, the likeliest first; none if the source is no Python."""
    try:
        tree = code.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    finder = _Finder(source, name, [*_reached(tree, name)])
    seen: dict[str, Edit] = {}
    for each in sorted(finder.found, key=lambda each: (each.likely, each.start)):
        seen.setdefault(repr((each.start, each.end, each.text)), each)
    return list(seen.values())


def leading_to(source: str, lines: Collection[int]) -> list[str]:
    """Return the functions at the top of a source that lead to a statement with one of these lines."""
    tree = code.parse(source)
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [name for name in names if any(_holds(node, lines) for _, node in _reached(tree, name))]


def _holds(node: ast.stmt, lines: Collection[int]) -> bool:
    return any(node.lineno <= line <= (node.end_lineno or node.lineno) for line in lines)


def _reached(tree: ast.Module, name: str) -> Iterator[tuple[int, ast.stmt]]:
    """Yield the top-level statements that a function leads to, with how many calls away each is."""
    bound = {bind: node for node in tree.body for bind in _binds(node)}
    waiting, seen, far = [name], {name}, 0
    while waiting:
        more = []
        for node in {id(bound[each]): bound[each] for each in waiting if each in bound}.values():
            yield far, node
            more += [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]
        waiting, far = list(dict.fromkeys(each for each in more if each not in seen)), far + 1
        seen |= set(waiting)


def _binds(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef() | ast.ClassDef():
            yield node.name
        case ast.Assign():
            yield from (each.id for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name))


class _Finder(Expressions):
    """Collects the edits of a source."""

    def __init__(self, source: str, name: str, reached: Sequence[tuple[int, ast.stmt]]) -> None:
        super().__init__(source)
        self._loops: list[list[str]] = []
        for _, node in reached:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                self._arguments = [each.arg for each in node.args.args]
        for far, node in reached:
            self._far = far
            self._below(node)

    def _below(self, node: ast.AST) -> None:
        if isinstance(node, ast.While | ast.JoinedStr | ast.Try):  # an endless loop costs more than it tells
            if isinstance(node, ast.Try):
                self._children(node)
            return
        hook = self._hook
        if isinstance(node, _Scope):
            given = node.args.args[: len(node.args.args) - len(node.args.defaults)]
            self._hook = tuple(each.arg for each in given[-_OF_HOOK:]) if len(given) >= _OF_HOOK else ()
        self._one(node)
        targets = _stored(node.target) if isinstance(node, ast.For) else []
        self._loops.append(targets)
        self._children(node)
        self._loops.pop()
        self._hook = hook

    def _children(self, node: ast.AST) -> None:
        for name, value in ast.iter_fields(node):
            if name not in ("annotation", "returns", "decorator_list", "type_comment"):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        self._below(child)

    def _one(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt):
            self._statement(node)
        elif isinstance(node, ast.Lambda):
            self._parameters(node)
        else:
            self._expression(node)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[target]) if self._inside():
                self._assignment(node, target)
            case ast.AugAssign():
                self._drop(node, 3)
                alone = f"{self._text(node.target)} = {self._text(node.value)}"
                self._put(node, alone, 5)
                if isinstance(node.op, ast.Sub):
                    self._put(node, self._text(node).replace("-=", "+=", 1), 3)
            case ast.Expr(value=ast.Call()) | ast.Break() | ast.Continue():
                self._unused = _chained(node)
                self._drop(node, 3)
            case ast.If():
                self._put(node.test, "True", 2)
                self._put(node.test, "False", 2)
                self._put(node.test, f"not ({self._text(node.test)})", 4)
            case ast.For():
                self._whole(node.iter)
                self._loop(node)
            case ast.With():
                for item in node.items:
                    self._put(item.context_expr, "torch.no_grad()", 2)
            case ast.FunctionDef():
                self._parameters(node)
            case _:
                pass

    def _inside(self) -> bool:
        return len(self._loops) > 0

    def _assignment(self, node: ast.Assign, target: ast.expr) -> None:
        name, value = self._text(target), self._text(node.value)
        match target:
            case ast.Subscript(value=held, slice=key):
                whole = f"{name} = {self._text(held)}.get({self._text(key)}, 0) + {closed(node.value, value)}"
                self._put(node, whole, 1, kind=f"add to {name}")
                self._put(node, f"{name} = {closed(node.value, value)}.clone()", 1)
            case ast.Name():
                self._put(node, f"{name} += {value}", 1)
                if name in _stored(node.value) or re.search(rf"\b{re.escape(name)}\b", value):
                    self._drop(node, 1)
            case _:
                pass

    def _drop(self, node: ast.stmt, rank: int) -> None:
        self._put(node, "pass", rank, "")

    def _loop(self, node: ast.For) -> None:
        """Go on to the end of a loop that returns within, or take only layers without children."""
        first = node.body[0]
        start = self._span(first)[0]
        room = " " * first.col_offset
        if first.lineno != node.lineno:
            for name in _stored(node.target):
                guard = f"if hasattr({name}, 'children') and any(True for _ in {name}.children()): continue"
                self._add((start, start), f"{guard}\n{room}", 2, ("", f"if any({name}.children()): continue"))
        for each in node.body:
            if isinstance(each, ast.Return) and each.value is not None:
                start, end = self._span(each)
                after = self._span(node)[1]
                text = self._source[start:end]
                moved = f"pass{self._source[end:after]}\n{' ' * node.col_offset}{text}"
                self._add(
                    (start, after),
                    moved,
                    1,
                    (f"{short(text)}` within the loop, `{short(text)}", f"{short(text)}` behind it, `{short(text)}"),
                )

    def _parameters(self, node: _Scope) -> None:
        """Bind loop variables of the enclosing function, and swap neighbouring parameters."""
        names = [each.arg for each in node.args.args]
        free = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} - set(names)
        late = [name for targets in self._loops for name in targets if name in free]
        if node.args.args:
            last = node.args.args[-1]
            end = max([self._span(last)[1], *(self._span(each)[1] for each in node.args.defaults)])
            if late:
                bound = "".join(f", {name}={name}" for name in dict.fromkeys(late))
                self._add((end, end), bound, 0, (", ".join(names), ", ".join(names) + bound))
        given = node.args.args[: len(node.args.args) - len(node.args.defaults)]
        for one, other in pairwise(given):
            start, end = self._span(one)[0], self._span(other)[1]
            turned = f"{other.arg}, {one.arg}"
            self._add((start, end), turned, 3, (f"{one.arg}, {other.arg}", turned))


def _chained(node: ast.stmt) -> list[ast.expr]:
    """Return the calls of a chain, `a().b().c()`, that a statement consists of."""
    calls: list[ast.expr] = []
    last = getattr(node, "value", None)
    while isinstance(last, ast.Call):
        calls.append(last)
        last = getattr(last.func, "value", None)
    return calls


def _stored(target: ast.AST) -> list[str]:
    return [each.id for each in ast.walk(target) if isinstance(each, ast.Name)]
