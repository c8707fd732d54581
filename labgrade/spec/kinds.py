"""What may stand behind a word of the spec language: the schema of it, and how it is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labgrade.core.programs import GIVEN
from labgrade.core.task import ARTIFACT_KINDS, SCALAR_KINDS
from labgrade.subjects.models import FILLS
from labgrade.verdict import as_credit

if TYPE_CHECKING:
    from collections.abc import Callable

    from labgrade.core.task import Schema

KINDS = (*SCALAR_KINDS, "histogram", "tensor", *ARTIFACT_KINDS)  # the types of answers that are one word


@dataclass(frozen=True, slots=True)
class Kind:
    """The kind of value that a word takes: its schema, and how it becomes a field's value.

    Without `read` the parser has a method for it; without `schema` the schema is made of other words.
    """

    schema: Schema | None = None
    read: Callable[[Any], Any] | None = None


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the language: its kind, and its description for editors and the docs.

    `for_people`: no verdict depends on it. `for_staff`: students are not given it. `field`: of the dataclass, where it
    is called otherwise there.
    """

    name: str
    kind: Kind
    says: str
    required: bool = False
    for_people: bool = False
    for_staff: bool = False
    field: str = ""


def ref(name: str) -> Kind:
    """Refer to a name in the schema's `$defs`."""
    return Kind({"$ref": f"#/$defs/{name}"})


def one_of(title: str, names: tuple[str, ...]) -> Kind:
    """One word of a closed list; `title` is what messages call it."""
    return Kind({"title": title, "enum": list(names)}, str)


def text(title: str, pattern: str) -> Kind:
    """A text that a pattern describes; `title` is what messages call it."""
    return Kind({"type": "string", "minLength": 1, "title": title, "pattern": pattern}, str)


_LARGEST_SIZE = 1 << 40
HIDDEN_POINTS = "hidden_points"  # in lab.yaml: `secret`; in a kit's lab.yaml and tasks: a number
UNTOLD = "secret"
OTHERS = Kind()  # made of other words, or of the course
FLAG = Kind({"type": "boolean"}, bool)
ID = Kind({"type": "string", "title": "id", "pattern": r"^[A-Za-z0-9][A-Za-z0-9_-]*$"}, str)
TEXT = Kind({"type": "string", "minLength": 1}, str)
POINTS = Kind({"type": "number", "minimum": 0, "maximum": 1_000_000}, as_credit)
SHARE = Kind({"type": "number", "minimum": 0, "maximum": 1}, as_credit)
BOUND = Kind({"type": "number"}, as_credit)
IDS = Kind({"type": "array", "items": ID.schema}, tuple)
NUMBER = Kind({"type": "number", "exclusiveMinimum": 0}, float)
NUMBERS = Kind(
    {"type": "object", "minProperties": 1, "additionalProperties": NUMBER.schema},
    lambda data: tuple((name, float(value)) for name, value in data.items()),
)
STEP = Kind({"type": "number", "minimum": 0}, float)
SEED = Kind({"type": "integer", "minimum": 0, "maximum": (1 << 63) - 1}, int)  # what torch.manual_seed takes
WHOLE = Kind({"type": "integer", "minimum": 1, "maximum": (1 << 31) - 1}, int)
SHAPE = Kind(
    {
        "title": "a shape",
        "type": "array",
        "minItems": 1,
        "items": {"type": "integer", "minimum": 1, "maximum": _LARGEST_SIZE},
    },
    tuple,
)
SECONDS = Kind({"type": "number", "exclusiveMinimum": 0, "maximum": 86_400}, float)
_AMOUNT = r"^(?=.*[1-9])[0-9]{1,9}(\.[0-9]{1,9})? ?[KMG]i?B$"
_IN_UNITS = "more than 0, in KB, MB or GB"
MEMORY = Kind({"title": f"an amount of memory ({_IN_UNITS}: 4 GB)", "type": "string", "pattern": _AMOUNT})
OUTPUT = Kind({"title": f"an amount of output ({_IN_UNITS}: 1 MB)", "type": "string", "pattern": _AMOUNT})
FILE_BESIDE = Kind({"type": "string", "title": "an ONNX file beside the spec", "pattern": r"\.onnx$"})
HANDED_IN = Kind({"type": "string", "title": "a pattern for the student's own ONNX file", "pattern": r"\.onnx$"}, str)
ARGUMENTS = Kind(
    {
        "type": "array",
        "minItems": 1,
        "uniqueItems": True,
        "items": {"title": "argument of a program", "enum": list(GIVEN)},
    }
)
PROVIDE = Kind({"title": "provide", "type": "object", "minProperties": 1, "additionalProperties": TEXT.schema})
COLUMNS = Kind(
    {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": {"title": "type of a column", "enum": list(SCALAR_KINDS)},
    },
    dict,
)
MODULES = Kind(
    {
        "type": "array",
        "items": {"type": "string", "title": "a module (executorch.runtime)", "pattern": r"^[A-Za-z_][\w.]*$"},
    },
    tuple,
)
_OURS = "PATH|HOME|LANG|TMPDIR|TEMP|TMP|PYTHON.*|LD_.*|OMP_NUM_THREADS|MKL_NUM_THREADS|OPENBLAS_NUM_THREADS|ORT_.*"
VARIABLES = Kind(
    {
        "title": "variables",
        "type": "object",
        "propertyNames": {
            "title": "a variable that labgrade does not set itself (TRITON_INTERPRET)",
            "type": "string",
            "pattern": rf"^(?!({_OURS})$)[A-Za-z_][A-Za-z0-9_]*$",
        },
        "additionalProperties": {"title": "the text of a variable ('1')", "type": "string"},
    },
    lambda data: tuple(sorted(data.items())),
)
PACKAGES = Kind(
    {
        "type": "array",
        "items": {"type": "string", "title": "a package (executorch)", "pattern": r"^[A-Za-z0-9][A-Za-z0-9._-]*$"},
    },
    tuple,
)
FILES_BESIDE = Kind({"type": "array", "items": {"type": "string", "title": "a file beside the spec", "minLength": 1}})
FILES = Kind(
    {
        "if": {"type": "object"},
        "then": {"title": "patterns by name", "minProperties": 1, "additionalProperties": TEXT.schema},
        "else": {"type": "string", "minLength": 1, "title": "a pattern with one *", "pattern": r"^[^*]*\*[^*]*$"},
    }
)
ENTRY = text("a path of names with dots between (2-1-4.total)", r"^[^.]+(\.[^.]+)*$")
FILL = one_of("fill", FILLS)
DTYPE = one_of(
    "dtype", ("float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool")
)
REPORT = text("a place in the report (`under 2-1-4`, `under [Lab 2, 1]`, or `anywhere`)", r"^(under .+|anywhere)$")
REPORTS = Kind(
    {"if": {"type": "array"}, "then": {"type": "array", "minItems": 1, "items": REPORT.schema}, "else": REPORT.schema}
)
CODE = text("a Python file (hw.py)", r"^[^:()]+\.py$")
CALL = text("a call, such as 'total_macs(model, input_size)'", r"^([^:()]+\.py:)?[A-Za-z_]\w*\(.*\)$")
WHERE = ("output", "report", "program")  # where words stand before a value
PLACES = Kind(
    {"title": "places", "type": "array", "minItems": 1, "items": {"title": "place", "enum": list(WHERE)}}, tuple
)
TAKE = one_of("way of summing up", ("argmax", "argmin", "max", "min", "sum", "mean", "count"))
CONVENTIONS = Kind({"type": "object"})
OTHER_CHECK = text(
    "a check of another task (2-1-4-macs.total)", r"^[A-Za-z0-9][A-Za-z0-9_-]*\.[A-Za-z0-9][A-Za-z0-9_-]*$"
)
