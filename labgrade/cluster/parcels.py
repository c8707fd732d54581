"""What travels between the machines of a cluster: by value, so that they share no disk.

All of it is made by labgrade and read by labgrade of the same version, over a line that both ends trust. What a student
handed in is bytes in it, and is opened in the jail as on one machine.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, TypeAlias

from labgrade.core.results import Submission
from labgrade.spec import course as courses
from labgrade.spec import load

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from labgrade.core.task import Task
    from labgrade.ledger.rows import Place
    from labgrade.ledger.verdict_memory import MarkedVerdict
    from labgrade.review.decisions import Decisions
    from labgrade.spec.course import Course

Proof: TypeAlias = "dict[str, dict[str, str]]"

_FOLDERS = ("specs", "checkers", "reference", "models")
_KEY = "course.key"
_CLUTTER = "__pycache__"


@dataclass(frozen=True, slots=True, kw_only=True)
class CourseParcel:
    """A course, and what of it is to be graded. `files` is empty where it is labgrade's own.

    `specs`: as (lab, task). `values`: the expected values, computed once, by key. `unsafe`: code may also run where
    nothing protects the machine.
    """

    files: Mapping[str, bytes]
    specs: frozenset[tuple[str, str]]
    values: Mapping[str, object] = field(default_factory=dict)
    unsafe: bool = False

    @property
    def is_own(self) -> bool:
        """Whether it is the course that labgrade brings."""
        return not self.files

    def unpacked(self, folder: Path) -> Course:
        """The course, read from `folder`, into which it is unpacked first."""
        if self.is_own:
            return courses.find()
        _write(self.files, folder)
        return courses.find(folder)

    def tasks(self, found: Course) -> tuple[Task, ...]:
        """The tasks to be graded."""
        paths = [path for path in load.files(found.specs) if (path.parent.name, path.stem) in self.specs]
        return tuple(each.task for each in load.read_all(paths, found) if each.task is not None)


def of_course(found: Course, tasks: Iterable[Task], values: Mapping[str, object], *, unsafe: bool) -> CourseParcel:
    """What a worker needs of a course; submissions and results that lie beside it stay here.

    Raises:
        OSError: a file of it can't be read.
    """
    own = found.root.resolve() == courses.home().resolve()
    paths = [] if own else [*(each for name in _FOLDERS for each in (found.root / name).rglob("*")), found.root / _KEY]
    files = {
        path.relative_to(found.root).as_posix(): path.read_bytes()
        for path in sorted(paths)
        if path.is_file() and _CLUTTER not in path.parts
    }
    specs = frozenset((task.lab, task.id) for task in tasks)
    return CourseParcel(files=files, specs=specs, values=values, unsafe=unsafe)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionParcel:
    """A submission as it was taken in, and what need not be judged again of it.

    `folders`: those without files, which messages name. `known`: verdicts by check; None is to be judged. `seconds`: as
    `RunRequest.seconds`. `proof`: a digest of what the grader has; a worker that has anything else refuses.
    """

    submission: Submission
    files: Mapping[str, bytes]
    folders: tuple[str, ...]
    known: Mapping[Place, MarkedVerdict | None]
    decisions: Decisions
    seconds: float
    proof: str

    def unpacked(self, folder: Path) -> Submission:
        """The submission, in `folder`."""
        folder.mkdir()
        _write(self.files, folder)
        for name in self.folders:
            (folder / name).mkdir(parents=True, exist_ok=True)
        own = self.submission
        return Submission(name=own.name, folder=folder, files=own.files, refused=own.refused, unread=own.unread)


def of_submission(
    who: Submission, known: Mapping[Place, MarkedVerdict | None], decisions: Decisions, *, seconds: float, proof: str
) -> SubmissionParcel:
    """A submission to be graded elsewhere.

    Raises:
        OSError: a file of the store can't be read.
    """
    own = (place for place in decisions.places if place.submission == who.name)
    return SubmissionParcel(
        submission=who,
        files={path: (who.folder / path).read_bytes() for path in who.files},
        folders=tuple(each.relative_to(who.folder).as_posix() for each in who.folder.rglob("*") if each.is_dir()),
        known=known,
        decisions=type(decisions)(row for place in own for row in decisions.history(place)),
        seconds=seconds,
        proof=proof,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionIntroduction:
    """What a worker has. `parts`: the digest of each thing that a verdict depends on, by check. `refused`: why not.

    `contents`: of parts that are named when they differ. `protection`: the first lines of a report.
    """

    version: str
    parts: Proof
    contents: Mapping[str, Mapping[str, str]]
    protection: tuple[str, ...] = ()
    refused: str = ""

    @property
    def proof(self) -> str:
        """A digest of all parts."""
        return hashlib.sha256(
            repr(sorted((place, sorted(own.items())) for place, own in self.parts.items())).encode()
        ).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionVerdicts:
    """What a worker came to: all that was to be judged. `cut`: the submission's time was used up."""

    verdicts: Mapping[Place, MarkedVerdict]
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRefusal:
    """A worker that does not grade; why. `unfit`: it can grade nothing of this course; `worker`: then its address."""

    why: str
    unfit: bool = False
    worker: str = ""


def _write(files: Mapping[str, bytes], folder: Path) -> None:
    for name, data in files.items():
        target = folder.joinpath(*PurePosixPath(name).parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
