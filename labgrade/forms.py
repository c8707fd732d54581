"""What an answer is and how it may be handed in: its type, and the forms that a spec lists. Frozen data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class TableType:
    """A table: what a row is called, and the type of each column. `sparse`: a row may leave columns out."""

    row: str
    columns: Mapping[str, str]
    sparse: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOfType:
    """One value of `kind` (a tensor) for each name."""

    kind: str


AnswerType: TypeAlias = "str | TableType | TableOfType"
SCALAR_KINDS = ("count", "bytes", "number", "text", "shape")
ARTIFACT_KINDS = ("onnx",)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallForm:
    """A Python function of the student's, called in a sandboxed child with arguments from the closed list."""

    file: str
    function: str
    given: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryForm:
    """A value in answers.yaml or answers.json under a dotted path such as `2-1-4.total_macs`."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextForm:
    """The next value of the answer's type after some words (or matched by an expert's pattern) in a text.

    The text is a `file` of the submission, or the part of its report under a path of headings; `report=()` is the
    whole report. A table is looked for after `after`, or anywhere in the text where both are None.
    """

    after: str | None = None
    find: str | None = None
    file: str | None = None
    report: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileForm:
    """A file (`.csv`, `.npy`, `.npz`, `.txt`), or files by a pattern with one `*` that names the rows."""

    pattern: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunForm:
    """A Python program of the student's, run in a writable copy of the submission, and what is read of its results.

    `file` is the program, relative to `folder`, in which it runs. `provide` says what is placed where in that folder
    beforehand: `{"models/alexnet.onnx": "torchvision/alexnet.onnx"}`. A file beside the spec is an absolute path.
    `varies`: something provided changes with the subject, so that the form can answer cases. `reads` is looked for in
    the files that the program wrote, or in what it printed where it is a TextForm without a file. An EntryForm is
    looked for in what it printed, a JSON object or lines `name: value`.
    """

    file: str
    arguments: tuple[str, ...] = ()
    folder: str = ""
    provide: Mapping[str, str | Path] = field(default_factory=dict)
    varies: bool = False
    reads: TextForm | FileForm | EntryForm

    @property
    def command(self) -> str:
        """As one would type it."""
        return " ".join(("python", self.file, *self.arguments))


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildForm:
    """A C++ program of the student's: built from a folder of sources, run there, and read like any other program.

    `given` are its arguments, from the closed list of `run_words.GIVEN`; one that is of the subject makes the form
    answer cases (`varies`). `provide` and `reads` as for a `RunForm`. `program` is the name of what the build makes.
    """

    program: str
    folder: str = ""
    given: tuple[str, ...] = ()
    provide: Mapping[str, str | Path] = field(default_factory=dict)
    varies: bool = False
    reads: TextForm | FileForm | EntryForm

    @property
    def file(self) -> str:
        """What it is called in messages about it."""
        return self.program

    @property
    def command(self) -> str:
        """What it is called where one says what came of it; the arguments are always the same."""
        return self.program


Form: TypeAlias = CallForm | EntryForm | TextForm | FileForm | RunForm | BuildForm


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSpec:
    """An answer that a task asks for, and the forms in which it may be handed in, best first."""

    name: str
    type: AnswerType
    forms: tuple[Form, ...]
