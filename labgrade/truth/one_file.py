"""A quantity of one file that a person named: computed in a jail that loads what the quantity imports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from labgrade.core.errors import FaultError, UsageError
from labgrade.core.text import excerpt
from labgrade.sandbox.requests import InspectRequest
from labgrade.subjects.external_data import beside

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labgrade.sandbox.runner import Runner
    from labgrade.spec.registry import Entry

_REASON_CHARS = 800
_GIVEN = ".given"  # the folder of files that a task names besides, in that of the measured file


def measured(runner: Runner, entry: Entry, path: Path, parameters: Mapping[str, object]) -> object:
    """The plain value of a quantity of a file.

    Raises:
        UsageError: the file is none that the quantity can be computed of, or that takes too much time or memory.
        FaultError: the quantity failed.
    """
    read: dict[Path, list[Path]] = {}
    entry.compile(read)
    given = {
        f"{_GIVEN}/{name}/{each.name}": (name, each) for name, each in parameters.items() if isinstance(each, Path)
    }
    further = {place: each for place, (_, each) in given.items()}
    request = InspectRequest(
        file=entry.file,
        function=entry.name,
        artifact=path,
        beside={**(beside(path) if path.suffix.lower() == ".onnx" else {}), **further},
        parameters={**parameters, **{name: place for place, (name, _) in given.items()}},
        alone=not entry.imports("torchvision", read),
    )
    done = runner.inspect(request)
    if done.status == "returned":
        return done.value
    if done.status == "fault":
        raise FaultError(done.reason)
    raise UsageError(excerpt(f"'{path.name}': {done.reason}", _REASON_CHARS))
