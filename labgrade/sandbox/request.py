"""What the grader asks of the sandbox."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from labgrade.model import Limits, SubjectSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRequest:
    """One call of a student's function: `function` of `file`, a POSIX path within `folder`, with the `given` values.

    `model` are the files of an ONNX subject by name, itself first, then its external data. The child gets copies.
    """

    folder: Path
    file: str
    function: str
    given: tuple[str, ...]
    subject: SubjectSpec | None
    limits: Limits
    model: Mapping[str, Path] = field(default_factory=dict)
