"""Where a TA offers downloaded weights to students' code: a folder like torch's own, read-only."""

from __future__ import annotations

import os
from pathlib import Path

from labgrade.core.errors import UsageError

VARIABLE = "LABGRADE_TORCH_HOME"
HELP = f"downloaded weights for students' code, in hub/checkpoints/ below DIR (or {VARIABLE})"


def find(option: Path | None) -> Path | None:
    """The folder that the option names, else the environment; None where neither does.

    Raises:
        UsageError: there is no such folder, or no checkpoints in it.
    """
    chosen = option or (Path(own).expanduser() if (own := os.environ.get(VARIABLE)) else None)
    if chosen is not None and not (chosen / "hub" / "checkpoints").is_dir():
        message = f"'{chosen}' has no folder hub/checkpoints; offer a folder that torch has downloaded weights into"
        raise UsageError(message)
    return chosen
