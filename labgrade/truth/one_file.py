"""A quantity of one file that a person named: computed in a jail that loads what the quantity imports."""

from __future__ import annotations

import contextlib
import sys
from importlib.util import cache_from_source
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade.core.errors import FaultError, UsageError
from labgrade.core.text import excerpt
from labgrade.files.external_data import files_beside
from labgrade.sandbox.requests import InspectRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from labgrade.sandbox.runner import Runner
    from labgrade.spec.registry import Entry

_REASON_CHARS = 800
_WORD = 0xFFFFFFFF
_GIVEN = ".given"  # the folder of files that a task names besides, in that of the measured file


def measured(runner: Runner, entry: Entry, path: Path, parameters: Mapping[str, object]) -> object:
    """Return the plain value of a quantity of a file.

    Raises:
        UsageError: the file is none that the quantity can be computed of, or that takes too much time or memory.
        FaultError: the quantity failed.
    """
    read: dict[Path, list[Path]] = {}
    _compile(entry.sources(read))
    given = {
        f"{_GIVEN}/{name}/{each.name}": (name, each) for name, each in parameters.items() if isinstance(each, Path)
    }
    further = {place: each for place, (_, each) in given.items()}
    request = InspectRequest(
        file=entry.file,
        function=entry.name,
        artifact=path,
        beside={**(files_beside(path) if path.suffix.lower() == ".onnx" else {}), **further},
        parameters={**parameters, **{name: place for place, (name, _) in given.items()}},
        alone=not entry.imports("torchvision", read),
    )
    done = runner.inspect(request)
    if done.status == "returned":
        return done.value
    if done.status == "fault":
        raise FaultError(done.reason)
    raise UsageError(excerpt(f"'{path.name}': {done.reason}", _REASON_CHARS))


def _compile(sources: Iterable[Path]) -> None:
    """Compile the sources beforehand: in a jail Python can't write bytecode beside them.

    Nothing is done where Python keeps nothing, or the folder can't be written.
    """
    if sys.dont_write_bytecode:
        return
    for file in sources:
        if not _is_compiled(file):
            import py_compile

            with contextlib.suppress(OSError, py_compile.PyCompileError):
                py_compile.compile(str(file), doraise=True)


def _is_compiled(file: Path) -> bool:
    """Return whether a source's bytecode is there and belongs to its present time and size."""
    source = file.stat()
    noted = (int(source.st_mtime) & _WORD).to_bytes(4, "little") + (source.st_size & _WORD).to_bytes(4, "little")
    with contextlib.suppress(OSError), Path(cache_from_source(file)).open("rb") as kept:
        return kept.read(16)[8:] == noted
    return False
