"""What waits for a person: the rubric, the text that is marked, and a digest of what a decision is about."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from labgrade.answers.documents import Document, read_document
from labgrade.answers.reports import find_reports
from labgrade.answers.sections import sections
from labgrade.forms import RunForm, TextForm
from labgrade.results import Answer, NoAnswer, ToMark, printable
from labgrade.values import Artifact, Number
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable

    from labgrade.forms import AnswerSpec
    from labgrade.model import Check
    from labgrade.results import Submission

LONGEST = 40_000  # characters that are kept of what a person reads
_CHUNK = 1 << 20


def to_mark(check: Check, wanted: AnswerSpec, found: Answer | NoAnswer, submission: Submission) -> ToMark | None:
    """What a person is shown, as text; None where nobody has to look."""
    waits = isinstance(found, NoAnswer) and found.verdict.outcome is Outcome.MANUAL
    if not waits and not (check.by_hand and isinstance(found, Answer)):
        return None
    text = _said(found) if isinstance(found, Answer) else ""
    text = text or "\n\n".join(_passages(wanted, submission))
    return ToMark(text=printable(_cut(text)))


def with_rubric(shown: ToMark | None, check: Check) -> ToMark | None:
    """The same with the lines that the spec has by now; a check without any is worth its points as a whole."""
    lines = tuple((line.points, line.what) for line in check.by_hand)
    return replace(shown, rubric=lines) if shown is not None else None


def text_digest(found: Answer | NoAnswer) -> str:
    """A digest of an answer that is a text, in which white space makes no difference; "" of any other."""
    if not isinstance(found, Answer) or not isinstance(found.value, str):
        return ""
    words = " ".join(found.value.split())
    return "text:" + hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()


def files_digest(submission: Submission) -> str:
    """A digest of all that was handed in: every file's path and content."""
    whole = hashlib.sha256()
    for relative in submission.files:
        one = hashlib.sha256()
        try:
            with (submission.folder / relative).open("rb") as file:
                while chunk := file.read(_CHUNK):
                    one.update(chunk)
        except OSError as error:
            one.update(f"can't be read: {error.errno}".encode())
        whole.update(f"{len(relative)}:".encode() + relative.encode("utf-8", "surrogateescape") + one.digest())
    return f"files:{whole.hexdigest()}"


def _said(found: Answer) -> str:
    value = found.value
    if isinstance(value, Artifact):
        return f"(the file '{value.name}')"
    return str(value) if isinstance(value, str | Number | tuple) else ""


def _passages(wanted: AnswerSpec, submission: Submission) -> Iterable[str]:
    """The parts of the hand-in in which the answer was looked for; each once."""
    seen = set()
    for form in wanted.forms:
        place = form.reads if isinstance(form, RunForm) else form
        if not isinstance(place, TextForm):
            continue
        for path in (place.file,) if place.file is not None else find_reports(submission):
            document = read_document(submission, path)
            if not isinstance(document, Document):
                continue
            for span in sections(document, place.report or ()):
                part = document.text[span.start : span.end].strip()
                if part and part not in seen:
                    seen.add(part)
                    yield f"[{document.path}:{document.line(span.start)}]\n{part}"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n... ({len(text) - LONGEST:,} more characters)"
