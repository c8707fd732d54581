"""A text in place of another one in a Python source, and where the nodes of its syntax tree stand."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

Node = ast.expr | ast.stmt | ast.keyword | ast.arg
_MOST_CHARS, _MOST_SHOWN, _FAR = 70, 100, 3
_FIXED = {"True": "always", "False": "never"}
_CONDITIONS = (*_FIXED, "pass")


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A text to put in place of `start` to `end` of a source. `was` is what a student reads there, in `line`.

    `kind`: what several edits do alike, each in its own place. `rank`: the smaller, the likelier it helps; `far`: how
    many calls lie between the function and the place; `whole`: a larger range to show to the student; `less`: it only
    takes something away.
    """

    start: int
    end: int
    text: str
    line: int
    was: str
    becomes: str
    rank: int
    far: int = 0
    whole: tuple[int, int] = (0, 0)
    less: bool = False
    kind: str = ""

    @property
    def span(self) -> tuple[int, int]:
        """Return the range that a student reads of the edit, which may be larger than what is changed."""
        return min(self.start, self.whole[0] or self.start), max(self.end, self.whole[1])

    @property
    def likely(self) -> int:
        """Return when to try the edit: one in the function itself comes before the same in what that calls."""
        return self.rank + 2 * min(self.far, _FAR)

    def says(self) -> str:
        """Return the change in words for the student."""
        if not self.becomes:
            return f"without `{self.was}` in line {self.line}"
        if not self.was:
            return f"with `{self.becomes}` at the beginning of line {self.line}"
        if self.becomes in _FIXED and self.was not in _FIXED:
            return f"if the condition `{self.was}` in line {self.line} {_FIXED[self.becomes]} holds"
        return f"with `{self.becomes}` in place of `{self.was}` in line {self.line}"

    def applied(self, source: str) -> str:
        """Return the source with the edit."""
        return source[: self.start] + self.text + source[self.end :]


class Places:
    """A source with the edits that were found in it."""

    def __init__(self, source: str) -> None:
        self.found: list[Edit] = []
        self._source = source
        self._lines = source.split("\n")
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._far = 0

    def _at(self, line: int, column: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())

    def _span(self, node: Node) -> tuple[int, int]:
        return self._at(node.lineno, node.col_offset), self._at(node.end_lineno or 1, node.end_col_offset or 0)

    def _text(self, node: Node) -> str:
        start, end = self._span(node)
        return self._source[start:end]

    def _put(self, node: Node, text: str, rank: int, said: str | None = None, *, kind: str = "") -> None:
        """Put a text in place of a node; `said` is what a student reads of it."""
        start, end = self._span(node)
        was, becomes = apart(self._source[start:end], text)
        self._add((start, end), text, rank, (was, becomes if said is None else said), kind=kind)

    def _add(
        self,
        span: tuple[int, int],
        text: str,
        rank: int,
        said: tuple[str, str],
        whole: Node | None = None,
        *,
        kind: str = "",
    ) -> None:
        line = self._source.count("\n", 0, span[0]) + 1
        was, becomes = said
        old = self._source[span[0] : span[1]]
        self.found.append(
            Edit(
                start=span[0],
                end=span[1],
                text=text,
                line=line,
                was=was,
                becomes=becomes,
                rank=rank,
                far=self._far,
                whole=self._span(whole) if whole is not None else (0, 0),
                kind=kind,
                less=text in _CONDITIONS or (len(text) < len(old) and text.strip("()") in old),
            )
        )


def statements(source: str) -> list[str]:
    """Return a source in parts, each from the first line of a top-level statement to that of the next one.

    Statements that share a line are one part.
    """
    lines = source.split("\n")
    begins, end = [0], 0
    for each in ast.parse(source).body:
        first = min([each.lineno, *(one.lineno for one in getattr(each, "decorator_list", ()))]) - 1
        if begins[-1] < first and end <= first:
            begins.append(first)
        end = each.end_lineno or 1
    parts = ["\n".join(lines[one:other]) for one, other in pairwise([*begins, len(lines)])]
    return [f"{each}\n" for each in parts[:-1]] + parts[-1:]


def closed(node: ast.expr, text: str) -> str:
    """Return an operand so that it can stand anywhere, in brackets if need be."""
    simple: Any = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant)
    return text if isinstance(node, simple) else f"({text})"


def short(text: str) -> str:
    """Return a text on one line, cut to what people read."""
    line = " ".join(text.split())
    return line if len(line) <= _MOST_SHOWN else f"{line[: _MOST_SHOWN - 4]} ..."


def apart(one: str, other: str) -> tuple[str, str]:
    """Return two texts as `short` shows them, from shortly before their first difference if that is far behind."""
    lines = [" ".join(each.split()) for each in (one, other)]
    differs = (at for at, (this, that) in enumerate(zip(*lines, strict=False)) if this != that)
    same = next(differs, min(map(len, lines)))
    left_out = same - _MOST_CHARS // 4 if same > _MOST_CHARS // 2 and max(map(len, lines)) > _MOST_CHARS else 0
    was, becomes = (short(f"... {line[left_out:]}" if left_out else line) for line in lines)
    return was, becomes
