"""A quantity of one file that a person named: computed in a jail that loads what the quantity imports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labgrade.core.errors import FaultError, UsageError
from labgrade.core.text import excerpt
from labgrade.sandbox.requests import InspectRequest
from labgrade.subjects.external_data import beside

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from labgrade.sandbox.runner import Runner
    from labgrade.spec.registry import Entry

_REASON_CHARS = 800


def measured(runner: Runner, entry: Entry, path: Path, parameters: Mapping[str, object]) -> object:
    """The plain value of a quantity of a file.

    Raises:
        UsageError: the file is none that the quantity can be computed of, or that takes too much time or memory.
        FaultError: the quantity failed.
    """
    read: dict[Path, list[Path]] = {}
    entry.compile(read)
    request = InspectRequest(
        file=entry.file,
        function=entry.name,
        artifact=path,
        beside=beside(path) if path.suffix.lower() == ".onnx" else {},
        parameters=parameters,
        alone=not entry.imports("torchvision", read),
    )
    done = runner.inspect(request)
    if done.status == "returned":
        return done.value
    if done.status == "fault":
        raise FaultError(done.reason)
    raise UsageError(excerpt(f"'{path.name}': {done.reason}", _REASON_CHARS))
