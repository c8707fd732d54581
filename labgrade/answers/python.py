"""Python source as a syntax tree, one at a time: threads that parse at once fail in CPython 3.11 (gh-106905)."""

from __future__ import annotations

import ast
import threading
import warnings

_ONE_AT_A_TIME = threading.Lock()


def parse(source: bytes) -> ast.Module:
    """The syntax tree; warnings about a student's escapes and comparisons are nobody's business.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: it is no Python.
    """
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def literal(text: str) -> object:
    """The value of a printed literal.

    Raises:
        SyntaxError, ValueError, TypeError, MemoryError, RecursionError: it is none.
    """
    with _ONE_AT_A_TIME:
        return ast.literal_eval(text)
