"""A model of the student's own: found by its pattern, measured in a process that runs our code alone."""

from __future__ import annotations

import fnmatch
import functools
import hashlib
import itertools
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade.core.arguments import TRANSFORMED
from labgrade.core.errors import FaultError
from labgrade.core.task import CallForm
from labgrade.core.text import excerpt
from labgrade.files.cache import cache_folder
from labgrade.files.external_data import files_beside
from labgrade.sandbox.requests import InspectRequest
from labgrade.subjects import linear
from labgrade.subjects.provide import provide
from labgrade.truth.parameters import parameters_of
from labgrade.values import Artifact
from labgrade.verdict import Outcome, without_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from labgrade.core.results import Answer, Execution, Submission
    from labgrade.core.task import AnswerSpec, Limits, QuantityCall, SubjectSpec
    from labgrade.sandbox.runner import Runner
    from labgrade.spec.registry import Entry, Registry
    from labgrade.truth.oracle import Oracle
    from labgrade.verdict import Verdict

TORCHSCRIPT_FILE = "subject.pt"
_MOST_NAMED = 4
_ORIGINAL = ".original"  # a folder beside the student's file in which the subject's file lies
_REASON_CHARS = 800
_CASES = "failed-on"
_MOST_CASES, _LARGEST_CASE = 20, 1 << 30  # folders, and bytes of one
_OUTCOMES = {
    "refused": Outcome.INCORRECT,
    "timeout": Outcome.TIMEOUT,
    "memory": Outcome.MEMORY,
    "output": Outcome.OUTPUT,
    "crashed": Outcome.MANUAL,  # what opens the file died of it: mostly the file's fault, but who knows
}


class UnfitError(Exception):
    """The student's file can't be analysed, or there is none. `verdict` says so to the student."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.reason)
        self.verdict = verdict


def find(submission: Submission, pattern: str, what: str = "model") -> Artifact:
    """Return the one file of a submission that matches the pattern; messages call it `what`.

    Raises:
        UnfitError: there is none, or there are several.
    """
    found = [name for name in submission.files if fnmatch.fnmatchcase(name, pattern)]
    if not found and submission.unread:
        raise UnfitError(submission.unread_verdict())
    if not found:
        missing = without_value(Outcome.MISSING, f"no {what} was handed in")
        raise UnfitError(replace(missing, looked_for=(pattern,)))
    if len(found) > 1:
        named = ", ".join(f"'{name}'" for name in found[:_MOST_NAMED])
        reason = f"{len(found)} files match {pattern}: {named}"
        raise UnfitError(without_value(Outcome.MANUAL, reason, hint=f"hand in one {what} for this task"))
    return Artifact(path=submission.folder / found[0], name=found[0])


class Measurer:
    """Computes quantities of students' files in the runner's jail, each once a run for the same content."""

    def __init__(self, quantities: Registry, runner: Runner) -> None:
        self._quantities = quantities
        self._runner = runner
        self._known: dict[tuple[str, str, str], object] = {}

    def forget(self) -> None:
        """Forget the files that were measured."""
        self._known.clear()

    def value(
        self,
        call: QuantityCall,
        artifact: Artifact,
        subject: SubjectSpec | None,
        limits: Limits,
        *,
        original: Path | None = None,
    ) -> object:
        """The plain value of a quantity of a file. `original`: the subject's file, where the two are compared.

        Raises:
            UnfitError: the file is no model or not a valid one, or analysing it takes too much time or memory.
            FaultError: the quantity failed.
        """
        job = self._job(call, limits, artifact, subject, original)
        if job.key not in self._known:
            request = InspectRequest(
                file=job.file,
                function=job.function,
                artifact=artifact.path,
                beside=job.files,
                parts={name: [_place(artifact, each) for each in paths] for name, paths in artifact.parts.items()},
                parameters=job.parameters,
                limits=limits,
            )
            self._known[job.key] = _measured(self._runner.inspect(request), artifact)
        return self._known[job.key]

    def values(
        self, call: QuantityCall, several: Sequence[tuple[Artifact, SubjectSpec | None, Path | None]], limits: Limits
    ) -> list[object]:
        """The quantity of several files with their subjects and originals, up to the first that has none.

        One process measures those that are new; `limits` are for all together.
        """
        jobs = [self._job(call, limits, *each) for each in several]
        new = {job.key: job for job in jobs if job.key not in self._known}
        if new:
            first, *others = new.values()
            request = InspectRequest(
                file=first.file,
                function=first.function,
                artifact=first.artifact.path,
                beside={**first.files, **_numbered(others)},
                parameters=first.parameters,
                several=[(f"{at}/{job.artifact.path.name}", job.parameters) for at, job in enumerate(others)],
                limits=limits,
            )
            done = self._runner.inspect(request)
            found = done.value if done.status == "returned" else []
            values = found if others and isinstance(found, list) else [found][: done.status == "returned"]
            self._known |= zip(new, values, strict=False)
        return [self._known[job.key] for job in itertools.takewhile(lambda job: job.key in self._known, jobs)]

    def _job(
        self,
        call: QuantityCall,
        limits: Limits,
        artifact: Artifact,
        subject: SubjectSpec | None,
        original: Path | None,
    ) -> _Measurement:
        entry = self._quantities.get(call.quantity)
        parameters = parameters_of(call, entry, subject)
        given = {name: each for name, each in parameters.items() if isinstance(each, Path)}
        parameters |= {name: f"{_ORIGINAL}/{name}/{path.name}" for name, path in given.items()}
        files = {**_around(artifact), **{str(parameters[name]): path for name, path in given.items()}}
        content = _digest(files if artifact.parts else {artifact.path.name: artifact.path, **files})
        if original is not None:
            parameters = {"original": f"{_ORIGINAL}/{original.name}", **parameters}
            files |= {
                f"{_ORIGINAL}/{name}": path
                for name, path in {original.name: original, **files_beside(original)}.items()
            }
        return _Measurement(
            key=(content, artifact.name, repr((call.quantity, parameters, original, limits.environment))),
            file=entry.file,
            function=entry.name,
            artifact=artifact,
            files=files,
            parameters=parameters,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measurement:
    """What is measured, under a key that tells it from all others. `files` lie beside the artifact."""

    key: tuple[str, str, str]
    file: Path
    function: str
    artifact: Artifact
    files: Mapping[str, Path]
    parameters: Mapping[str, object]


def _around(artifact: Artifact) -> dict[str, Path]:
    """Return the files that have to lie beside an artifact: its parts, an ONNX file's external data."""
    if artifact.parts:
        return {_place(artifact, each): each for paths in artifact.parts.values() for each in paths}
    return dict(files_beside(artifact.path)) if artifact.path.suffix.lower() == ".onnx" else {}


def _place(artifact: Artifact, path: Path) -> str:
    return path.relative_to(artifact.path).as_posix()


def _numbered(jobs: Iterable[_Measurement]) -> dict[str, Path]:
    """Return the files of several artifacts, each in a numbered folder."""
    return {
        f"{at}/{name}": path
        for at, job in enumerate(jobs)
        for name, path in {job.artifact.path.name: job.artifact.path, **job.files}.items()
    }


def _digest(files: Mapping[str, Path]) -> str:
    """Return a digest of some files and their names."""
    digest = hashlib.sha256()
    for name, path in files.items():
        with path.open("rb") as reader:
            digest.update(repr((name, hashlib.file_digest(reader, "sha256").digest())).encode())
    return digest.hexdigest()


def _measured(done: Execution, artifact: Artifact) -> object:
    if done.status in _OUTCOMES:
        reason = excerpt(f"'{artifact.name}': {done.reason}", _REASON_CHARS)  # it may quote names of the file's
        raise UnfitError(without_value(_OUTCOMES[done.status], reason))
    if done.status != "returned":
        raise FaultError(done.reason)
    return done.value


def with_case(verdict: Verdict, answer: Answer) -> Verdict:
    """Return the verdict; for a failure of labgrade's, with the place where the file is kept."""
    if verdict.outcome is not Outcome.FAULT or not isinstance(answer.value, Artifact):
        return verdict
    return replace(verdict, facts={**verdict.facts, "fault": verdict.facts.get("fault", "") + _kept_case(answer.value)})


def _kept_case(artifact: Artifact) -> str:
    """Copy a file on which labgrade failed, with its neighbours, into the cache; return words that say where.

    Nothing where it is too large, where many are kept already, or where it can't be written.
    """
    itself = {} if artifact.parts else {artifact.path.name: artifact.path}
    files = {**itself, **_around(artifact)}
    folder = cache_folder() / _CASES
    try:
        name = _digest(files)[:16]
        known = [each.name for each in folder.iterdir()] if folder.is_dir() else []
        if sum(path.stat().st_size for path in files.values()) > _LARGEST_CASE or len({*known, name}) > _MOST_CASES:
            return ""
        (folder / name).mkdir(parents=True, exist_ok=True)
        for place, path in files.items():
            target = folder / name / place
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    except OSError:
        return ""
    return f"; the file is kept as {_CASES}/{name} in labgrade's cache"


# ---- the files of a subject ------------------------------------------------------------------------------------------


def original_file(oracle: Oracle, quantity: Entry, subject: SubjectSpec | None) -> Path | None:
    """The subject's ONNX file, or its TorchScript, where a quantity of a student's file compares the two.

    Raises:
        FaultError: it can't be made.
    """
    if "original" not in quantity.parameters or subject is None or subject.handed_in or subject.is_config:
        return None
    return oracle.file(subject) if subject.is_onnx else provide(TORCHSCRIPT_FILE, subject)


class _Made(Mapping[str, Path]):
    """Files that are made when they are first read: most functions that take large ones are not handed in."""

    def __init__(self, make: Callable[[], Mapping[str, Path]]) -> None:
        self._files = functools.cache(make)

    def __getitem__(self, name: str) -> Path:
        return self._files()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files())

    def __len__(self) -> int:
        return len(self._files())


def files_given(
    oracle: Oracle, wanted: AnswerSpec, subject: SubjectSpec | None, submission: Submission
) -> Mapping[str, Path]:
    """The files whose paths the functions of an answer are given, by name, the subject's own first.

    What the zoo makes is made when it is looked at, and a FaultError says then that it can't be.

    Raises:
        UnfitError: the student is to hand it in, and did not.
    """
    words = {word for form in wanted.forms if isinstance(form, CallForm) for word in form.given}
    if subject is None or not words & {"model_path", TRANSFORMED}:
        return {}
    own = find(submission, subject.handed_in).path if subject.handed_in and "model_path" in words else None

    def made() -> dict[str, Path]:
        files = _with_data(own or oracle.file(subject)) if "model_path" in words else {}
        return files | (_tilings(oracle, subject) if TRANSFORMED in words else {})

    return _Made(made)


def _with_data(path: Path) -> dict[str, Path]:
    """An ONNX file and its external data, by name, itself first."""
    return {path.name: path, **files_beside(path)}


def _tilings(oracle: Oracle, subject: SubjectSpec) -> dict[str, Path]:
    """Return right and wrong tilings of a subject under numbered names, which do not tell which is which."""
    return {
        number: oracle.file(replace(subject, options={**subject.options, "tiling": name}))
        for number, name in linear.numbered_tilings().items()
    }
