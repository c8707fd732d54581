"""What a Python file of a student's binds, and a text that a function returned: read, never run."""

from __future__ import annotations

import ast
import stat
from typing import TYPE_CHECKING

from labgrade.answers.reading import code
from labgrade.answers.reading.documents import Unreadable, locate, read_bytes
from labgrade.answers.reading.tabular.tables import TableFound, find_tables
from labgrade.answers.reading.typed_values import WrongTypeError, as_value
from labgrade.core.results import Answer, NoAnswer
from labgrade.core.task import TableType
from labgrade.core.text import decoded
from labgrade.sandbox.child import notebook
from labgrade.verdict import Outcome, without_value

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from labgrade.core.results import Answered, Submission
    from labgrade.core.task import AnswerType, CallForm
    from labgrade.values import Value

RETURNED = "returned"  # what the file is called in which a text that was returned is read
_SOURCE_BYTES = 2 << 20
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def code_file(form: CallForm, submission: Submission) -> str | Unreadable | None:
    """The file in which the function is looked for: of the form's name, or a notebook where these are accepted."""
    found = locate(submission, form.file)
    if found is not None or not form.notebook:
        return found
    notebooks = [file for file in submission.files if file.endswith(notebook.SUFFIX)]
    return locate(submission, form.file.removesuffix(".py") + notebook.SUFFIX) or (
        notebooks[0] if len(notebooks) == 1 else None
    )


def tree_of(source: bytes, file: str) -> ast.Module:
    """The syntax tree of a file, or of all cells of a notebook.

    Raises:
        SyntaxError, ValueError, TypeError, KeyError, AttributeError, RecursionError, MemoryError: it is no Python.
    """
    whole = "\n\n".join(notebook.cells(source)).encode() if file.endswith(notebook.SUFFIX) else source
    return code.parse(whole)


NO_PYTHON = (SyntaxError, ValueError, TypeError, KeyError, AttributeError, RecursionError, MemoryError)


def present(form: CallForm, submission: Submission) -> bool:
    """Whether the file binds the function's name at its top level, as far as its source tells.

    A file with a star import may bind any name, and what cannot be parsed is the student's attempt all the same: both
    are present, and calling the function tells the rest.
    """
    file = code_file(form, submission)
    if file is None or isinstance(file, Unreadable):
        return False
    source = read_bytes(submission, file, _SOURCE_BYTES)
    if isinstance(source, Unreadable):
        return _is_regular(submission.folder / file)  # too large to be parsed, or not to be read
    try:
        tree = tree_of(source, file)
    except NO_PYTHON:
        return True
    names = set(_bound(tree))
    return form.function in names or "*" in names


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):
        return False


def returned(kind: AnswerType, submission: Submission) -> Answered:
    """The value that a text stands for which a function returned: the file `returned`."""
    data = read_bytes(submission, RETURNED, _SOURCE_BYTES << 2)
    if isinstance(data, Unreadable):
        return NoAnswer(verdict=without_value(Outcome.INCORRECT, data.reason))
    try:
        return Answer(value=_printed(decoded(data), kind), origin="")
    except WrongTypeError as error:
        return NoAnswer(verdict=without_value(Outcome.INCORRECT, str(error)))


def _printed(text: str, kind: AnswerType) -> Value:
    """A text that was returned: read like a printed text where it holds a table.

    Raises:
        WrongTypeError: it is no value of the kind.
    """
    if not isinstance(kind, TableType):
        return as_value(text, kind)
    found = find_tables(text, 0, len(text), kind)
    tables = [each.table for each in found if isinstance(each, TableFound)]
    problem = next((each.reason for each in found if not isinstance(each, TableFound)), "")
    if not tables and problem:
        message = f"a text: {problem}"
        raise WrongTypeError(message)
    return max(tables, key=lambda table: len(table.rows)) if tables else as_value(text, kind)


def _is_stub(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """A template that nobody filled in: a docstring at most, then `raise NotImplementedError`."""
    *before, last = node.body
    raised = last.exc if isinstance(last, ast.Raise) else None
    named = raised.func if isinstance(raised, ast.Call) else raised
    only = all(isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) for each in before)
    return only and isinstance(named, ast.Name) and named.id == "NotImplementedError"


def _bound(tree: ast.Module) -> Iterator[str]:
    """Every name bound at the top level, also within `if`, `try`, `with` and loops; `*` for a star import."""
    nodes: list[ast.AST] = list(tree.body)
    while nodes:
        node = nodes.pop()
        if isinstance(node, _SCOPES):
            if not isinstance(node, ast.Lambda) and not _is_stub(node):
                yield node.name
            continue
        if isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        nodes.extend(ast.iter_child_nodes(node))
