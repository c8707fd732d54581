"""Telling source code from results, so that `print(f"Total MACs: {n}")` is not read as an answer."""

from __future__ import annotations

import ast
import contextlib
import functools
import re
import threading
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_CODE = re.compile(
    r"""
      ^\s*+(?: import\s\w | from\s\S{1,80}\simport\b | def\s\w+\s?\( | class\s\w+\s?[:(] | @\w
          | for\s[\w,\s()]{1,60}\sin\s | while\s.{0,200}[<>=()] | if\s.{0,200}[=<>()\[\]].{0,200}:\s*$ | else\s*:\s*$
          | with\s.{0,200}\sas\s | try\s*: | except\b | return\b | assert\s | raise\s | global\s | lambda\b
          | \#\s?(?:include|define|ifdef|endif|pragma)\b | using\s(?:namespace|std) | std::
          | (?:auto|int|float|double|long|const|void|size_t|u?int(?:32|64)_t)\s[\w&*\s]{1,40}(?:=|\(|;)
          | [$]\s | >>>\s )
    | (?<![\w.])(?:print\s?|printf|println|len|sum|str|format|append|range)\(
    | \w(?<!\bnp)(?<!\bnumpy)\.(?!Size\()\w{1,60}\(
    | (?<!\w)[rbu]?f[rb]?["']
    | (?<![A-Za-z0-9^_\\])\{[^{}"'\n]{0,120}[A-Za-z_:][^{}"'\n]{0,120}\}
    | %[-+#0,]?\d{0,3}(?:\.\d{1,2})?[dfsgeE](?=["'\s%])(?=.{0,200}["'])
    | (?<=\s)[-+*/|&]=\s
    | ^\s*+\w{1,60}\[\w[^\]\n]{0,60}\]\s*[-+*/]?=\s
    | \)\s*;\s*$ | =\s*[A-Za-z_][^;\n]{0,120};\s*$
    | <<\s*["'\w]
    """,
    re.VERBOSE,
)
# A sentence names a layer: `There are 17 nn.ReLU(inplace=True)`.
_PROSE = re.compile(
    r"\s*(?:[-*+>#]\s+|\d{1,3}[.)]\s+)?[A-Za-z][a-z']{0,20},?\s+(?:[\w-]{1,20},?\s+){1,30}[*_`]{0,3}(?:torch\.)?nn\.[A-Z]"
)
_LAYER = re.compile(r"(?:torch\.)?nn\.[A-Z]\w{0,40}\([\w\s=,.]{0,80}\)")
_STARTS_A_VARIABLE = re.compile(r"\s*(?:[a-z]\w*_\w+|[a-z]+[A-Z]\w*)\s*=\s*[01](?:\.0*)?\s*(?:#.*)?$")


def is_code(line: str) -> bool:
    """Return whether a line (its first 400 characters) is source code: a statement, a call, a format string."""
    read = line[:400]
    if _PROSE.match(read):
        read = _LAYER.sub("", read)
    return bool(_CODE.search(read)) or starts_a_variable(line)


def starts_a_variable(line: str) -> bool:
    """Return whether a line may be code or a result of zero or one: `total_macs = 0`."""
    line = line[:400]
    return bool(_STARTS_A_VARIABLE.match(line)) and not _CODE.search(line)


_ONE_AT_A_TIME = threading.Lock()


@contextlib.contextmanager
def _unwarned() -> Iterator[None]:
    """Suppress warnings about a student's escapes and comparisons, even where warnings are errors."""
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


_REMEMBERED_BYTES = 64 << 10  # a tree takes a hundred times the room of its source


def parse(source: bytes | str) -> ast.Module:
    """Return the syntax tree, not to be changed. It is remembered for a small file, which is parsed for each function.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: it is no Python.
    """
    return (_remembered if len(source) <= _REMEMBERED_BYTES else _parsed)(source)


def _parsed(source: bytes | str) -> ast.Module:
    with _unwarned():
        return ast.parse(source)


_remembered = functools.lru_cache(maxsize=2)(_parsed)


def literal(text: str) -> object:
    """Return the value of a printed literal.

    Raises:
        SyntaxError, ValueError, TypeError, MemoryError, RecursionError: it is none.
    """
    with _unwarned():
        return ast.literal_eval(text)
