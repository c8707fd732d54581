"""What is wanted of one submission, and what runs the student's code that answers it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from labgrade.core.task import EntryForm, Limits

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from labgrade.answers.reader.reader import Reader
    from labgrade.answers.run import Runs
    from labgrade.core.results import Submission
    from labgrade.core.task import AnswerSpec, SubjectSpec, Task
    from labgrade.sandbox.runner import Runner


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One answer that is wanted of one submission, for one subject.

    `live_only`: only forms that can be computed again for another subject count (cases). `model`: the files of an ONNX
    subject, by name, for a call that takes their path. `limits`: of the code that runs to find the answer. `taken`: the
    entries that are other answers of the same task.
    """

    wanted: AnswerSpec
    submission: Submission
    subject: SubjectSpec | None = None
    limits: Limits = field(default_factory=Limits)
    model: Mapping[str, Path] = field(default_factory=dict)
    live_only: bool = False
    taken: frozenset[str] = frozenset()

    @property
    def about(self) -> str:
        """Return the model in question, or ""; a value that a text gives for another model is doubted."""
        return about(self.subject)


def taken_by_others(task: Task, name: str) -> frozenset[str]:
    """Return the names of entries that are other answers of a task."""
    others = (each for other, each in task.answers.items() if other != name)
    return frozenset(form.path for each in others for form in each.forms if isinstance(form, EntryForm))


def about(subject: SubjectSpec | None) -> str:
    """Return the model in question, or ""."""
    return subject.model if subject is not None and not subject.is_config else ""


class Running(Protocol):
    """The parts that run students' code: `runner` functions and C++, `runs` programs; their files go to `store`.

    `reader` reads what students wrote down.
    """

    reader: Reader
    runner: Runner
    runs: Runs
    store: Path
