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

    @property
    def model_name(self) -> str:
        """The name of the ONNX file that is given; empty where none is."""
        return next(iter(self.model), "")

    def job(self) -> dict[str, object]:
        """What the child is told once it is up."""
        return {"file": self.file, "function": self.function}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """One run of a student's program: `file`, relative to `cwd`, a folder within `folder` (`.` is its top).

    `provide` maps a path below `cwd` to a file of ours that is copied there beforehand. It is given nothing else.
    """

    folder: Path
    file: str
    cwd: str
    limits: Limits
    arguments: tuple[str, ...] = ()
    provide: Mapping[str, Path] = field(default_factory=dict)

    @property
    def given(self) -> tuple[str, ...]:
        """Nothing."""
        return ()

    @property
    def subject(self) -> SubjectSpec | None:
        """None: what a program needs to know of it is provided as files."""
        return None

    @property
    def model_name(self) -> str:
        """Empty, for the same reason."""
        return ""

    @property
    def function(self) -> str:
        """What it is called in messages."""
        return self.file

    def job(self) -> dict[str, object]:
        """What the child is told once it is up."""
        return {"script": self.file, "cwd": self.cwd, "arguments": list(self.arguments)}
