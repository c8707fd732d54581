"""Labels of data that students predict."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def pen_labels(config: dict[str, Any]) -> list[int]:
    """The digits of the rows of the test that mase-lab1's 1-5 provides: `config` says nothing of them."""
    import numpy as np

    del config
    labels: list[int] = np.load(Path(__file__).with_name("pen_labels.npy")).tolist()
    return labels
