"""Answers handed in as files: tables (.csv, .tsv), tensors (.npy, .npz), or text that holds a table or a value."""

from __future__ import annotations

import difflib
import fnmatch
import glob
import re
import shlex
from dataclasses import replace
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from labgrade.answers import text
from labgrade.answers.reading.arrays import read_npy, read_npz, read_raw, read_safetensors
from labgrade.answers.reading.documents import Document, Unreadable, locate, read_document
from labgrade.answers.reading.typed_values import WrongTypeError, as_value
from labgrade.core.results import Answer, NoAnswer
from labgrade.core.task import FileForm, TableOfType, TableType, TextForm
from labgrade.verdict import Outcome, without_value

if TYPE_CHECKING:
    from labgrade.core.results import Answered, Submission
    from labgrade.core.task import AnswerType
    from labgrade.values import Array, Value

_MOST_FILES = 2_000
_TEXTS = {".txt", ".log", ".out", ".text", ".dat", ".csv", ".tsv", ""}
_MOST_SEEN = 100_000
_NUMBER = r"[ \t]{0,20}[+-]?[\d.]{1,20}(?:e[+-]?\d{1,3})?%?[ \t]{0,20}"
_ROW = re.compile(rf"^{_NUMBER}(?:[,;\t]{_NUMBER}){{1,20}}$", re.MULTILINE | re.IGNORECASE)
_ARRAYS = (".npy", ".npz", ".safetensors")


def obtain(kind: AnswerType, form: FileForm, submission: Submission) -> Answered | None:
    """Return the value in the file, or in the files that match a pattern with one `*`; None if there is none.

    With a pattern each file is one row, named by the part that the `*` stands for.
    """
    if "*" in form.pattern:
        return _many(kind, form, submission)
    found = locate(submission, form.pattern)
    if found is None:
        return None
    if isinstance(found, Unreadable):
        return _refused(found)
    if PurePosixPath(found).suffix.lower() not in _ARRAYS and not form.dtype:
        said = text.obtain(kind, TextForm(file=form.pattern), submission)
        return said if said is not None else _without_value(kind, found, submission)
    return _loaded(kind, found, form, submission)


def _loaded(kind: AnswerType, found: str, form: FileForm, submission: Submission) -> Answered:
    remarks = () if found == form.pattern else (f"read '{found}' for '{form.pattern}'",)
    value = _arrays(submission, found, kind, form)
    if isinstance(value, Unreadable):
        return _refused(value)
    try:
        return Answer(value=as_value(value, kind), origin=found, remarks=remarks)
    except WrongTypeError as error:
        return _refused(Unreadable(path=found, reason=f"'{found}': {error}"))


def _without_value(kind: AnswerType, path: str, submission: Submission) -> Answered:
    """Return an answer for a file without a value: it is wrong, not missing, and its lines may still hold one.

    Rows of numbers without a header are a table that a person can read.
    """
    document = read_document(submission, path) if isinstance(kind, TableType) else None
    if isinstance(document, Document) and len(_ROW.findall(document.text[:_MOST_SEEN])) > 1:
        reason = f"'{path}' has rows of numbers, but no header that says what they are"
        verdict = without_value(Outcome.MANUAL, reason, hint="name the columns in the first line")
        return NoAnswer(verdict=verdict, origin=path, free=True)
    reason = f"'{path}' holds no value of the kind asked for"
    return replace(_refused(Unreadable(path=path, reason=reason)), free=True)


def _arrays(
    submission: Submission, found: str, kind: AnswerType, form: FileForm
) -> Array | dict[str, Array] | Unreadable:
    if form.dtype:
        return read_raw(submission, found, form.dtype, form.shape)
    several = {".npz": read_npz, ".safetensors": read_safetensors}
    if (suffix := PurePosixPath(found).suffix.lower()) in several:
        arrays = several[suffix](submission, found)
        if isinstance(arrays, dict) and not isinstance(kind, TableOfType) and len(arrays) == 1:
            return next(iter(arrays.values()))
        return arrays
    return read_npy(submission, found)


def _many(kind: AnswerType, form: FileForm, submission: Submission) -> Answered | None:
    pattern = form.pattern
    before, _, after = pattern.partition("*")
    matching = [
        file for file in submission.files if fnmatch.fnmatchcase(file, glob.escape(before) + "*" + glob.escape(after))
    ]
    matching = [file for file in matching if "/" not in file[len(before) : len(file) - len(after)]]
    if not matching:
        return None
    if len(matching) > _MOST_FILES:
        reason = f"{len(matching):,} files match '{pattern}'; at most {_MOST_FILES:,} are read"
        return _refused(Unreadable(path=pattern, reason=reason))
    rows: dict[str, object] = {}
    for file in matching:
        value = _plain_in(file, form, submission)
        if isinstance(value, NoAnswer):
            return value
        rows[file[len(before) : len(file) - len(after)]] = value
    try:
        return Answer(value=as_value(rows, kind), origin=f"{pattern} ({len(rows)} files)")
    except WrongTypeError as error:
        return _refused(Unreadable(path=pattern, reason=f"'{pattern}': {error}"))


def _plain_in(file: str, form: FileForm, submission: Submission) -> object:
    """Return the plain value in one of many files, or why there is none."""
    if PurePosixPath(file).suffix.lower() in _ARRAYS or form.dtype:
        value: Value | dict[str, Array] | Unreadable = _arrays(submission, file, "tensor", form)
    else:
        document = read_document(submission, file)
        value = (
            document.text.strip() if isinstance(document, Document) else document or Unreadable(path=file, reason="")
        )
    return _refused(value) if isinstance(value, Unreadable) else value


def _refused(why: Unreadable) -> NoAnswer:
    return NoAnswer(verdict=without_value(Outcome.INCORRECT, why.reason), origin=why.path)


def notebook_instead(submission: Submission, relative: str) -> str | None:
    """Return what to do about a missing file if a similar one was handed in: a notebook, another spelling.

    None if the file is there (in any case or folder), or nothing resembles it.
    """
    if isinstance(locate(submission, relative), str):
        return None
    return _similar_for_forms(submission.files, relative)


@lru_cache(maxsize=256)
def _similar_for_forms(files: tuple[str, ...], relative: str) -> str | None:
    """Return what to do about a missing file that several forms ask for."""
    path = PurePosixPath(relative)
    notebooks = [file for file in files if file.lower().endswith(".ipynb")]
    if path.suffix == ".py":
        wanted = _plain_name(path.stem)
        for notebook in notebooks:
            if _plain_name(PurePosixPath(notebook).stem) == wanted:
                return _converted(notebook, relative)
    same = [file for file in files if _is_named_as(PurePosixPath(file), path)]
    if same:
        return f"'{same[0]}' was handed in; name it '{relative}'"
    numbers = re.findall(r"\d", path.name)  # `hw.py` is not `hw2_1.py` misspelt
    alike = [
        file
        for file in files
        if re.findall(r"\d", PurePosixPath(file).name) == numbers and _same_words(path.name, PurePosixPath(file).name)
    ]
    lower = {PurePosixPath(file).name.lower(): file for file in reversed(alike)}
    close = difflib.get_close_matches(path.name.lower(), lower, n=1, cutoff=0.75)
    if close:
        return f"there is no '{relative}'; did you mean '{lower[close[0]]}'? rename it to '{relative}'"
    if path.suffix == ".py" and len(notebooks) == 1 and not any(file.endswith(".py") for file in files):
        return _converted(notebooks[0], relative)
    return None


def _same_words(wanted: str, name: str) -> bool:
    """Return whether two names have the same words, perhaps misspelt: `linear-output` is not `alexnet-output`."""
    words = [re.findall(r"[a-z]+", each.lower()) for each in (wanted, name)]
    pairs = ((each, others) for each, others in ((words[0], words[1]), (words[1], words[0])))
    return all(difflib.get_close_matches(word, others, cutoff=0.6) for own, others in pairs for word in own)


def _is_named_as(file: PurePosixPath, path: PurePosixPath) -> bool:
    """Return whether a file has the other's name, whatever its text format."""
    texts = {file.suffix.lower(), path.suffix.lower()} <= _TEXTS
    return _plain_name(file.stem if texts else file.name) == _plain_name(path.stem if texts else path.name)


def _converted(notebook: str, relative: str) -> str:
    stem = PurePosixPath(relative).stem
    return (
        f"'{notebook}' is a notebook, but '{relative}' is asked for; run "
        f"`jupyter nbconvert --to script --output {stem} {shlex.quote(notebook)}` and hand in the .py file"
    )


def _plain_name(name: str) -> str:
    """Return a file name without case and with common substitutions undone: `HW2-1.py` is `hw2_1.py`."""
    return re.sub(r"[\s_-]+", "_", re.sub(r"\s*\(\d+\)", "", name)).lower()
