"""Which definitions of a Python file others lead to, told from its source alone: nothing is imported or run."""

from __future__ import annotations

import ast

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)


def reached(tree: ast.Module, names: set[str]) -> set[str]:
    """The names at the top of a module that `names` lead to; statements that just run lead on, too."""
    bound: dict[str, list[ast.stmt]] = {}
    for node in tree.body:
        for name in binds(node):
            bound.setdefault(name, []).append(node)
    waiting = set(names) | {name for node in tree.body if runs(node) for name in _names(node)}
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        found.add(name)
        for node in bound.get(name, []):
            if not isinstance(node, IMPORTS):
                waiting |= _names(node) - found
    return found


def binds(node: ast.stmt) -> set[str]:
    """The names that a statement at the top of a module binds."""
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
    """Whether it is neither a definition nor an import nor a text: it does something when the module is imported."""
    simple = (*_DEFINITIONS, *IMPORTS, ast.Assign, ast.AnnAssign)
    return not isinstance(node, simple) and not is_text(node) and not is_for_types(node)


def is_text(node: ast.stmt) -> bool:
    """A docstring, or a text that stands like one."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def is_for_types(node: ast.stmt) -> bool:
    """`if TYPE_CHECKING:`, which binds names for annotations and does nothing."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
