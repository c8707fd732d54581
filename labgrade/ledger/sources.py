"""The files of labgrade's own that a verdict depends on: what grading imports, found by reading, never by importing."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_HOME = Path(__file__).parent.parent
_NAME = _HOME.name
# Where grading begins. What runs in the jail is started by its path, so that no import leads to it.
_BEGINNINGS = (
    "pipeline.py",
    "oracle_worker.py",
    *(f"sandbox/{file.name}" for file in (_HOME / "sandbox").glob("*.py")),
)


@cache
def engine() -> dict[str, str]:
    """The digest of each file that grading is made of, by its path."""
    found: set[Path] = set()
    waiting = [_HOME / name for name in _BEGINNINGS]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting.extend(_imported(path))
    return {path.relative_to(_HOME.parent).as_posix(): digest(path) for path in sorted(found)}


def digest(path: Path) -> str:
    """The digest of a file's content; a word that is none where it can't be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:32]
    except OSError:
        return "unreadable"


def _imported(path: Path) -> Iterator[Path]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            first, *rest = name.split(".")
            if first == _NAME and rest:
                place = _HOME.joinpath(*rest)
                yield from (each for each in (place.with_suffix(".py"), place / "__init__.py") if each.is_file())
