"""A name in what a program printed: of a JSON object, or of a line `name: value`."""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade.answers import entry, text
from labgrade.answers.reading.documents import LARGEST, Unreadable, read_bytes
from labgrade.core.results import Submission
from labgrade.core.task import TextForm
from labgrade.core.text import decoded

if TYPE_CHECKING:
    from labgrade.core.results import Answered
    from labgrade.core.task import AnswerType, EntryForm

PRINTED = "stdout"
_PRINTED_JSON = "answers.json"
_MOST_OBJECTS = 50


def obtain(kind: AnswerType, wanted: EntryForm, submission: Submission) -> Answered | None:
    """Return the entry of the last JSON object in the file `stdout`, else the value of the line of that name."""
    found = read_bytes(submission, PRINTED, LARGEST)
    data = b"" if isinstance(found, Unreadable) else _json_in(decoded(found))
    if data:
        with tempfile.TemporaryDirectory(prefix="labgrade-printed-") as folder:
            Path(folder, _PRINTED_JSON).write_bytes(data)
            shown = Submission(name=submission.name, folder=Path(folder), files=(_PRINTED_JSON,))
            answer = entry.obtain(kind, wanted, shown)
        if answer is not None:
            return replace(answer, origin=answer.origin.replace(_PRINTED_JSON, PRINTED, 1))
    pattern = rf"(?m)^\s*[\"']?{re.escape(wanted.path)}[\"']?\s*[:=]\s*(?P<answer>[^\n]*?)[,;]?\s*$"
    return text.obtain(kind, TextForm(find=pattern, file=PRINTED), submission)


def _json_in(said: str) -> bytes:
    """Return the last JSON object that begins on a line of what was printed; empty if there is none."""
    decoder = json.JSONDecoder()
    found = b""
    for start in list(re.finditer(r"^[ \t]*\{", said, re.MULTILINE))[-_MOST_OBJECTS:]:
        try:
            _, end = decoder.raw_decode(said, start.end() - 1)
        except (ValueError, RecursionError):
            continue
        found = said[start.end() - 1 : end].encode()
    return found
