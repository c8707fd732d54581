"""Names that stand for a type at the top of a file of quantities, checkers or networks."""

from __future__ import annotations

import ast
import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Aliases:
    """Names that stand for a type at the top of a file, or of a private file that it imports them from.

    That file is read when such a name is met, which most files have none of.
    """

    met = False

    def __init__(self, file: Path, source: str) -> None:
        self._folder = file.parent
        self._assigned, self._imported = _top(source)

    def of(self, name: str) -> ast.expr | None:
        """Return what a name stands for, or None if the file does not show it."""
        if name in self._assigned or name not in self._imported:
            return self._assigned.get(name)
        self.met = True
        module, there = self._imported[name]
        stem = self._folder / module.replace(".", "/")
        files = (path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.is_file())
        found = (Aliases(file, file.read_text(encoding="utf-8")).of(there) for file in files)
        return next((each for each in found if each is not None), None)


parsed = functools.cache(ast.parse)  # by content: the same few files are imported by all others


@functools.cache
def _top(source: str) -> tuple[Mapping[str, ast.expr], Mapping[str, tuple[str, str]]]:
    """Return a file's top-level assignments, and its imports from neighbours by name."""
    assigned: dict[str, ast.expr] = {}
    imported: dict[str, tuple[str, str]] = {}
    for node in parsed(source).body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name), *_], value=value):
                assigned[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                assigned[name] = value
            case ast.ImportFrom(level=1, module=str(module), names=names):
                imported |= {each.asname or each.name: (module, each.name) for each in names}
    return assigned, imported
