"""The words of how an answer is handed in: rows of the table in `language`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labgrade.core.programs import BUILDS
from labgrade.core.task import BuildForm, CallForm, EntryForm, RunForm, TextForm
from labgrade.spec import kinds
from labgrade.spec.kinds import OTHERS, SHAPE, TEXT, Word, ref

if TYPE_CHECKING:
    from collections.abc import Mapping


def _of_a_run(name: str) -> tuple[Word, ...]:
    return (
        Word("folder", TEXT, f"The folder of the submission that {name} in; the top unless given."),
        Word(
            "provide",
            kinds.PROVIDE,
            "What is placed in the folder before: `subject.onnx`, `subject.pt` (TorchScript), `subject.pth` (state "
            "dict) and `input.npy` are of the task's subject, or of the case's; `torchvision/alexnet.onnx` "
            "(`.pt`, `.pth`) is a model of the zoo; `./labels.csv` is a file beside the spec. "
            "Weights are the zoo's seeded ones.",
        ),
    )


_READ = (
    Word("after", TEXT, "The next value of the answer's type after these words."),
    Word("find", TEXT, "For experts: a regular expression with a group named `answer`."),
    Word("file", TEXT, "A file of the submission, or one that the program wrote."),
    Word(
        "files",
        kinds.FILES,
        "One value a file, named by the `*`: `conv/*.npy`. Of `type: files`, patterns by name: `{golden: "
        "'golden/*.pth'}`.",
    ),
)
_RAW = (
    Word("dtype", kinds.DTYPE, "Of a `.bin` file: the type of its numbers, in little-endian order."),
    Word("shape", SHAPE, "Of a `.bin` file: the shape of the array in it, the last dimension running fastest."),
)
_GIVEN_TO_PROGRAMS = Word(
    "given",
    kinds.ARGUMENTS,
    "Its arguments in this order: `torchscript_path`, a TorchScript file of the subject; `input_size`, each "
    "number an argument of its own, so that it comes last; or `config`, each name of it an argument of its "
    "own, such as `layers=64,64,M`, and each of the task's own `arguments`, of a file its path: "
    "`data=.given/x.csv`. A program that is given something answers `cases`.",
)
_NOTEBOOKS = Word(
    "notebooks",
    kinds.one_of("what is done with notebooks", ("accepted",)),
    "`accepted`: the functions may be in a notebook instead, `hw2_1.ipynb`.",
)
FORM_WORDS: Mapping[type | str, tuple[Word, ...]] = {
    "hand_in": (
        Word("code", kinds.CODE, "The file that holds the functions: `hw2_1.py`."),
        _NOTEBOOKS,
        Word("entries", kinds.ENTRY, "The path of the answers in answers.yaml: `<number>`."),
        Word("output", TEXT, "The text file that holds the answers, handed in or written by a program."),
        Word("report", kinds.REPORTS, "Where the report has them: `under <number>`, or a list of places."),
        Word("program", OTHERS, "A program that prints or writes them, or a list of programs, each as under `run`."),
    ),
    CallForm: (
        Word(
            "call",
            kinds.text("a call (file.py:function)", r"^[^:]+\.py:[A-Za-z_]\w*(\(.*\))?$"),
            "A Python function of the student's: `hw.py:total_macs(model, input_size)`.",
            required=True,
        ),
        Word(
            "given",
            ref("given"),
            "What the function is called with, in this order, where `call` does not say it: words, the task's own "
            "`arguments`, and values such as `0.5`, `'int8'` or `[2, 4]`.",
        ),
        _NOTEBOOKS,
    ),
    EntryForm: (Word("entry", kinds.ENTRY, "A dotted path in answers.yaml or answers.json."),),
    "raw": _RAW,
    TextForm: (
        *_READ,
        *_RAW,
        Word("report", kinds.REPORT, "A place in the report: `under 2-1-4`, `under [Lab 2, 1]`, or `anywhere`."),
    ),
    "run form": (
        Word("run", OTHERS, "A program of the student's; what it prints or writes is read."),
        *_READ,
        *_RAW,
        Word("entry", kinds.ENTRY, "A name in what the program prints: a JSON object, or `name: value`."),
    ),
    RunForm: (
        Word("command", TEXT, "`python` (or `python3`), a .py file, its arguments; without a shell.", required=True),
        _GIVEN_TO_PROGRAMS,
        *_of_a_run("it runs"),
    ),
    BuildForm: (
        Word(
            "build",
            kinds.one_of("build", BUILDS),
            "In place of `command`: CMakeLists.txt, else a Makefile, else the only C++ file below `folder`.",
            required=True,
        ),
        Word(
            "program",
            kinds.text("program's name", r"^[A-Za-z0-9_][A-Za-z0-9_.+-]*$"),
            "The name of what the build makes; where it makes one program alone, that is taken.",
            required=True,
        ),
        _GIVEN_TO_PROGRAMS,
        *_of_a_run("it is built and runs"),
    ),
}
