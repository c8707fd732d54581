"""What a file of Python of a registry depends on in its own folder, and how its functions are imported."""

from __future__ import annotations

import functools
import importlib
import re
import sys
import types
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

# By these words a function finds a file beside it whose name it makes.
_FINDS_FILES = (b"__file__", b"__path__", b"__spec__", b"resources", b"get_data", b"getfile", b"getsourcefile")


def load(file: Path, name: str) -> Callable[..., object]:
    """Import a file of a registry under a name of our own and return one of its functions.

    Raises:
        ImportError: (or whatever the file raises) where the file cannot be imported.
    """
    package = f"labgrade_{file.parent.name}_{_short_digest(str(file.parent))}"
    if package not in sys.modules:
        module = types.ModuleType(package)
        module.__path__ = [str(file.parent)]
        sys.modules[package] = module
    function: Callable[..., object] = getattr(importlib.import_module(f"{package}.{file.stem}"), name)
    return function


def sources(file: Path, read: dict[Path, list[Path]]) -> set[Path]:
    """Return the file and all files of its folder that it imports, directly or not; all files of a package."""
    found: set[Path] = set()
    waiting = [file]
    while waiting:
        path = waiting.pop()
        if path in found or not path.is_file():
            continue
        found.add(path)
        if path not in read:
            packages = (folder for folder in path.parents if file.parent in folder.parents)
            # Of each package around it the first file runs first.
            read[path] = [*_imported(path), *(package / "__init__.py" for package in packages)]
        waiting.extend(read[path])
    return found


def data_below(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder, at any depth, that are no Python and not hidden."""
    for path in folder.rglob("*"):
        own = path.relative_to(folder).parts
        if path.suffix not in (".py", ".pyc") and not any(part.startswith(".") for part in own) and path.is_file():
            yield path


def _imported(path: Path) -> Iterator[Path]:
    for level, name in _relative_imports(path.read_bytes()):
        stem = path.parents[level - 1] / name.replace(".", "/")
        yield stem.with_suffix(".py")
        if stem.is_dir():
            yield from stem.glob("**/*.py")


_RELATIVE = re.compile(
    r"from(?<=\bfrom)[\s\\]*(?P<level>\.+)[\s\\]*(?P<module>[\w.]*)[\s\\]*\bimport\b"
    r"(?P<names>[\s\\]*\((?:[^)#]|#[^\n]*)*\)|(?:\\\r?\n|[^\n;])*)"
)


@functools.cache  # by content: a file is asked about for each function that depends on it
def _relative_imports(source: bytes) -> tuple[tuple[int, str], ...]:
    """Return the relative imports of a source: how many folders up, and the module.

    By pattern, as parsing all files takes half a second a command. What only looks like an import is one, too: a file
    more in a digest does no harm.
    """
    found: list[tuple[int, str]] = []
    for match in _RELATIVE.finditer(source.decode("utf-8", "replace")):
        names = [match["module"]] if match["module"] else re.findall(r"\w+", match["names"])
        found += ((len(match["level"]), name) for name in names)
    return tuple(found)


@functools.cache  # by content, as above
def reads_files(source: bytes, names: tuple[str, ...]) -> bool:
    """Whether a file looks for files beside it, or says one of the names."""
    if any(name.encode() in source for name in names):
        return True
    return any(word in source and re.search(rb"\b%b\b" % word, source) for word in _FINDS_FILES)


def _short_digest(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()[:8]
