"""The files of a subject: what a function is given the paths of, and what a file of a student's is compared with."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labgrade import handed_in, zoo_linear
from labgrade.forms import CallForm
from labgrade.given import TRANSFORMED
from labgrade.onnx_files import beside

if TYPE_CHECKING:
    from pathlib import Path

    from labgrade.forms import AnswerSpec
    from labgrade.model import SubjectSpec
    from labgrade.oracle import Oracle
    from labgrade.registry import Entry
    from labgrade.results import Submission


def original(oracle: Oracle, quantity: Entry, subject: SubjectSpec | None) -> Path | None:
    """The subject's ONNX file, where a quantity of a student's file compares the two.

    Raises:
        FaultError: it can't be made.
    """
    asks = "original" in quantity.parameters
    return oracle.file(subject) if asks and subject is not None and not subject.handed_in else None


def given(oracle: Oracle, wanted: AnswerSpec, subject: SubjectSpec | None, submission: Submission) -> dict[str, Path]:
    """The files whose paths the functions of an answer are given, by name, the subject's own first.

    Raises:
        FaultError: one can't be made.
        UnfitError: the student is to hand it in, and did not.
    """
    words = {word for form in wanted.forms if isinstance(form, CallForm) for word in form.given}
    if subject is None:
        return {}
    files = _model_files(oracle, subject, submission) if "model_path" in words else {}
    return files | (_tilings(oracle, subject) if TRANSFORMED in words else {})


def _model_files(oracle: Oracle, subject: SubjectSpec, submission: Submission) -> dict[str, Path]:
    """The ONNX file of a subject and its external data, by name, itself first."""
    own = subject.handed_in
    path = handed_in.find(submission, own).path if own else oracle.file(subject)
    return {path.name: path, **beside(path)}


def _tilings(oracle: Oracle, subject: SubjectSpec) -> dict[str, Path]:
    """Right and wrong tilings of a subject, under names that say nothing."""
    return {
        number: oracle.file(replace(subject, options={**subject.options, "tiling": name}))
        for number, name in zoo_linear.numbered_tilings().items()
    }
