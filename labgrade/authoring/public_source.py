"""A course's own functions as students are given them: what public checks need, and nothing else of the same files.

Comments fall away, as do functions, constants and imports that nothing public asks for. Nothing is imported or run.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from labgrade.answers.python_source import IMPORTS, binds, is_idle, is_text, reachable_names, runs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from labgrade.spec.registry import Entry


def needed_source(entries: Iterable[Entry]) -> dict[Path, str]:
    """Return the source that these functions need, by file: only what they reach."""
    wanted: dict[Path, set[str]] = {}
    for entry in entries:
        wanted.setdefault(entry.file, set()).add(entry.name)
    done: dict[Path, set[str]] = {}
    while waiting := {file: names for file, names in wanted.items() if done.get(file) != names}:
        for file, names in waiting.items():
            done[file] = set(names)
            for other, more in _imported_names(file, names):
                wanted.setdefault(other, set()).update(more)
    return {file: _reduced(file, names) for file, names in done.items()}


def _reduced(file: Path, names: set[str]) -> str:
    """Reduce a file's source to what `names` reach."""
    tree = _parse(file)
    found = reachable_names(tree, names)
    body = [kept for node in tree.body if (kept := _kept_statement(node, found)) is not None]
    return ast.unparse(ast.Module(body=body, type_ignores=[])) + "\n"


def _imported_names(file: Path, names: set[str]) -> Iterator[tuple[Path, set[str]]]:
    """Yield the files of the folder from which the reached part imports, with the names."""
    tree = _parse(file)
    found = reachable_names(tree, names)
    for node in (inner for top in tree.body for inner in ast.walk(top) if isinstance(inner, ast.ImportFrom)):
        if not node.level:
            continue
        base = file.parents[node.level - 1]
        for alias in node.names:
            bound = alias.asname or alias.name
            if bound not in found:
                continue
            for package in _inits(base, node.module):
                yield package, set()
            target = _module(base, node.module) if node.module else None
            inner = _module(base, f"{node.module}.{alias.name}" if node.module else alias.name)
            if inner is not None:
                yield inner, _attributes(tree, found, bound)
            elif target is not None:
                yield target, {alias.name}


def _inits(base: Path, module: str | None) -> Iterator[Path]:
    parts = module.split(".") if module else []
    for length in range(1, len(parts) + 1):
        init = base.joinpath(*parts[:length]) / "__init__.py"
        if init.is_file():
            yield init


def _module(base: Path, dotted: str) -> Path | None:
    stem = base.joinpath(*dotted.split("."))
    return next((path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.is_file()), None)


def _parse(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"), str(file))


def _kept_statement(node: ast.stmt, names: set[str]) -> ast.stmt | None:
    if isinstance(node, ast.ImportFrom) and node.module == "__future__":
        return node
    if isinstance(node, IMPORTS):
        aliases = [each for each in node.names if (each.asname or each.name).partition(".")[0] in names]
        if not aliases:
            return None
        if isinstance(node, ast.Import):
            return ast.Import(names=aliases)
        return ast.ImportFrom(module=node.module, names=aliases, level=node.level)
    if is_text(node):
        return None
    if isinstance(node, ast.If) and is_idle(node):
        inside = [kept for inner in node.body if (kept := _kept_statement(inner, names)) is not None]
        return ast.If(test=node.test, body=inside, orelse=[]) if inside else None
    return node if runs(node) or names & binds(node) else None


def _attributes(tree: ast.Module, names: set[str], module: str) -> set[str]:
    """Return the attributes of an imported module that the kept part uses: `_sizes.total`."""
    return {
        each.attr
        for node in tree.body
        if _kept_statement(node, names) is not None
        for each in ast.walk(node)
        if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id == module
    }
