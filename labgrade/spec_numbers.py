"""Numbers that a spec can't mean: not finite, or cut up by their own thousands separators."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from labgrade import yamlfile
from labgrade.errors import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.model import Plain
    from labgrade.yamlfile import Loaded, Path


def findings(loaded: Loaded) -> list[Finding]:
    """Each number in the file that is none, at its place. A checker's bound alone may be infinite."""
    found = [Finding(loaded.mark(path), f"got '{text}': {yamlfile.CUT}") for path, text in loaded.cut.items()]
    for path, value in _floats(loaded.data, ()):
        if math.isnan(value) or (math.isinf(value) and "checker" not in path):
            found.append(Finding(loaded.mark(path), f"'{loaded.sources[path]}' is no finite number"))
    return found


def _floats(value: Plain, path: Path) -> Iterator[tuple[Path, float]]:
    if isinstance(value, float):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _floats(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _floats(item, (*path, index))
