"""What code may use, and what came of running it. Frozen data; what the sandbox needs of a task and of its results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What is set and loaded before a student's code begins: environment variables, then modules."""

    preload: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the student's code may use: CPU seconds, bytes of memory, bytes of printed output; and where it begins."""

    seconds: float = 60.0
    memory: int = 4 << 30
    output: int = 1 << 20
    environment: Environment = Environment()


ExecutionStatus: TypeAlias = Literal[
    "returned", "missing", "crashed", "timeout", "waited", "memory", "output", "refused", "fault"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """What came of running something of a student's.

    `value` is plain data (None, bool, int, float, str, list, dict with str keys, numpy array) where `status` is
    "returned". "timeout": it computed for longer than it may; "waited": it did not end, and computed for less, as on a
    busy machine. "refused": it returned something that is not plain data. `reason` is for the student (their own file,
    line and message); `printed` is what it wrote to stdout and stderr, cut, control characters made visible.
    `seeded`: architectures whose trained weights the zoo's stood in for. `failed`: what a cell of a notebook raised.
    `loading`: it ended while the file was imported. `seconds` are of computing.
    """

    status: ExecutionStatus
    value: object = None
    reason: str = ""
    printed: str = ""
    seconds: float = 0.0
    seeded: tuple[str, ...] = ()
    failed: str = ""
    loading: bool = False
