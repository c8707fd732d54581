"""What a Python file binds, what its names lead to, and a text that a function returned: read, never run."""

from __future__ import annotations

import ast
import hashlib
import stat
import symtable
from functools import lru_cache
from typing import TYPE_CHECKING

from labgrade.answers.reading import code
from labgrade.answers.reading.documents import Unreadable, locate, read_bytes
from labgrade.answers.reading.tabular.headed import TableFound
from labgrade.answers.reading.tabular.tables import find_tables
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
    """Return the file that should have the function: of the form's name, or a notebook if these are accepted."""
    found = locate(submission, form.file)
    if found is not None or not form.notebook:
        return found
    notebooks = [file for file in submission.files if file.endswith(notebook.SUFFIX)]
    return locate(submission, form.file.removesuffix(".py") + notebook.SUFFIX) or (
        notebooks[0] if len(notebooks) == 1 else None
    )


def tree_of(source: bytes, file: str) -> ast.Module:
    """Return the syntax tree of a file, or of all cells of a notebook.

    Raises:
        SyntaxError, ValueError, TypeError, KeyError, AttributeError, RecursionError, MemoryError: it is no Python.
    """
    whole = "\n\n".join(notebook.cells(source)).encode() if file.endswith(notebook.SUFFIX) else source
    return code.parse(whole)


NO_PYTHON = (SyntaxError, ValueError, TypeError, KeyError, AttributeError, RecursionError, MemoryError)


def present(form: CallForm, submission: Submission) -> bool:
    """Return whether the file binds the function's name at its top level, as far as the source shows.

    A file with a star import may bind any name, and a file that can't be parsed is the student's attempt all the same:
    both are present, and the call shows the rest.
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
    names = _names_bound(tree)
    return form.function in names or "*" in names


@lru_cache(maxsize=2)
def _names_bound(tree: ast.Module) -> frozenset[str]:
    return frozenset(_bound(tree))


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):
        return False


def returned(kind: AnswerType, submission: Submission) -> Answered:
    """Return the value in a text that a function returned, in the file `returned`."""
    data = read_bytes(submission, RETURNED, _SOURCE_BYTES << 2)
    if isinstance(data, Unreadable):
        return NoAnswer(verdict=without_value(Outcome.INCORRECT, data.reason))
    try:
        return Answer(value=_printed(decoded(data), kind), origin="")
    except WrongTypeError as error:
        return NoAnswer(verdict=without_value(Outcome.INCORRECT, str(error)))


def _printed(text: str, kind: AnswerType) -> Value:
    """Read a text that was returned like a printed text, if it holds a table.

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
    """Return whether a function is an unfilled template: a docstring and `pass`, or `raise NotImplementedError`."""
    function = not isinstance(node, ast.ClassDef) and not node.decorator_list
    body = [each for each in node.body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))]
    match body:
        case [] | [ast.Pass()] | [ast.Return(value=None)]:
            return function
        case [ast.Return(value=ast.Constant(value=value))]:
            return function and value in (None, ...)
        case [ast.Raise(exc=ast.Name() as named)] | [ast.Raise(exc=ast.Call(func=ast.Name() as named))]:
            return named.id == "NotImplementedError"
    return False


def _bound(tree: ast.Module) -> Iterator[str]:
    """Yield every name bound at the top level, also within `if`, `try`, `with` and loops; `*` for a star import."""
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


# ---- what a name leads to --------------------------------------------------------------------------------------

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)


def functions_behind(submission: Submission, file: str, function: str) -> set[str]:
    """Return the other functions of a file that one calls, as its text shows; none if it can't be parsed."""
    source = read_bytes(submission, file, _SOURCE_BYTES)
    if isinstance(source, Unreadable):
        return set()
    try:
        tree = tree_of(source, file)
    except NO_PYTHON:
        return set()
    own = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    found: set[str] = set()
    waiting = [function]
    while waiting:
        node = own.get(waiting.pop())
        more = (_not_local(node) if node is not None else set()) & own.keys() - found
        found |= more
        waiting += more
    return found - {function}


def _not_local(function: ast.FunctionDef) -> set[str]:
    """Return the names that a function uses and does not bind."""
    nodes = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    used = {node.id for node in nodes if isinstance(node.ctx, ast.Load)}
    bound = {node.id for node in nodes if not isinstance(node.ctx, ast.Load)}
    return used - bound - {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}


def code_digest(file: Path, function: str) -> str:
    """Return a digest of a function and all that it uses in its file; of the whole file if that is not known."""
    try:
        text = file.read_bytes()
    except OSError:
        return ""
    try:
        tree = code.parse(text)
        names = reachable_names(tree, {function})
        parts = [ast.dump(node) for node in tree.body if binds(node) & names or not binds(node)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return hashlib.sha256(text).hexdigest()
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def reachable_names(tree: ast.Module, names: set[str], *, exactly: bool = False) -> set[str]:
    """Return the top-level names that `names` lead to; statements that are no definitions count, too.

    `exactly`: a function's own variable does not stand for a function of that name.
    """
    used = _global_names if exactly else _names
    bound: dict[str, list[ast.stmt]] = {}
    for node in tree.body:
        for name in binds(node):
            bound.setdefault(name, []).append(node)
    waiting = set(names) | {name for node in tree.body if runs(node) for name in used(node)}
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        found.add(name)
        for node in bound.get(name, []):
            if not isinstance(node, IMPORTS):
                waiting |= used(node) - found
    return found


def binds(node: ast.stmt) -> set[str]:
    """Return the names that a top-level statement binds."""
    if isinstance(node, _DEFINITIONS):
        return {node.name}
    if isinstance(node, IMPORTS):
        return {(each.asname or each.name).partition(".")[0] for each in node.names}
    if isinstance(node, ast.If):
        return {name for inner in node.body for name in binds(inner)}
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    return set()


def runs(node: ast.stmt) -> bool:
    """Return whether a statement does something at import: it is no definition, no import and no text."""
    simple = (*_DEFINITIONS, *IMPORTS, ast.Assign, ast.AnnAssign)
    return not isinstance(node, simple) and not is_text(node) and not is_idle(node)


def is_text(node: ast.stmt) -> bool:
    """Return whether a statement is a text alone, such as a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def is_idle(node: ast.stmt) -> bool:
    """Return whether an `if` does nothing at import: `if TYPE_CHECKING:` or `if __name__ == "__main__":`."""
    match node:
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"), comparators=[ast.Constant(value="__main__")])):
            return True
    return False


def _global_names(node: ast.AST) -> set[str]:
    """Return the module's names that a statement uses."""
    tables = [symtable.symtable(ast.unparse(node), "statement", "exec")]
    found = {each.get_name() for each in tables[0].get_symbols() if each.is_referenced()}
    while tables:
        for inner in tables.pop().get_children():
            tables.append(inner)
            found |= {each.get_name() for each in inner.get_symbols() if each.is_global() and each.is_referenced()}
    return found


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
