"""Nothing that was handed in configures pytest or is its code: that would run in the process that knows all answers.

pytest imports each `conftest.py` of the folders that it is given, stands in or collects, and reads settings there.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

_WHY = "was handed in, and pytest would run it; say the command in the course's folder, and name no folder of a hand-in"


class HandedIn:
    """The folders that hold hand-ins: the one that is named, and `submissions` in any course."""

    def __init__(self, here: Path, named: str | None) -> None:
        self._named = (here / Path(named).expanduser()).resolve() if named else None

    def holds(self, path: Path) -> bool:
        """Return whether a path lies in a hand-in."""
        place = path.resolve()
        around = (each for each in place.parents if each.name == "submissions" and (each.parent / "specs").is_dir())
        return (self._named is not None and place.is_relative_to(self._named)) or any(around)

    def refuse(self, settings: Path | None, plugins: Any) -> None:
        """Refuse pytest settings that were handed in, and from now on each handed-in conftest.py.

        Raises:
            pytest.UsageError: those are a student's.
        """
        if settings is not None and self.holds(settings):
            message = f"'{settings}' {_WHY}"
            raise pytest.UsageError(message)
        importing = plugins._importconftest  # noqa: SLF001 - no hook comes before the import

        def imported(path: Path, *more: Any, **named: Any) -> Any:
            if self.holds(path):
                message = f"'{path}' {_WHY}"
                raise pytest.UsageError(message)
            return importing(path, *more, **named)

        plugins._importconftest = imported  # noqa: SLF001

    def beside(self, path: Path, specs: Path, named: Iterable[Path]) -> bool:
        """Return whether a path leads to no spec. Hand-ins may lie beside specs, also those of other labs.

        `named`: the folders and files that the command names; those around the specs name the specs.
        """
        wanted = [specs, *(each for each in named if not specs.is_relative_to(each))]
        return self.holds(path) or not any(path.is_relative_to(each) or each.is_relative_to(path) for each in wanted)
