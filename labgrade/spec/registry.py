"""A folder of functions is a registry.

Every public function defined in a public file of the folder is an entry under its own name. Signatures are read with
`ast`, so that nothing is imported before one of its functions is called: keyword-only parameters are what a spec may
set, their annotations give the types, the first docstring line is the description.
"""

from __future__ import annotations

import ast
import contextlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labgrade.core.errors import Mark, SpecError, SpecFinding
from labgrade.files import python_sources
from labgrade.spec.in_full import slips
from labgrade.spec.in_full.aliases import Aliases, parsed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from labgrade.core.task import Schema
    from labgrade.spec.in_full.slips import SlipNote

MODEL = "model"  # the registry of networks: those of several files may have one name
_ZOO = frozenset({"torchvision", "micro", "linear", "generated"})
_MOST_BYTES = 128 << 10  # of a network's source, which travels with each request
SLIPS = "_slips"  # beside `macs` stands `macs_slips`: what each slip makes of it, which is no value for a spec
# What `Annotated[int, {"minimum": 1}]` may say beside the type: `column` is one of numbers, of the answer's table, and
# a `comparison of columns` names several of these.
_BOUNDS = frozenset({"minimum", "exclusiveMinimum", "maximum", "minItems", "maxItems", "uniqueItems", "format"})
COLUMN, COMPARED = "column", "comparison of columns"
_TYPING = re.compile(r"^if TYPE_CHECKING:\n(?:[ \t].*\n|\n)+", re.MULTILINE)  # what no run imports
_SIMPLE: Mapping[str, Schema] = {
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "str": {"type": "string"},
    "bool": {"type": "boolean"},
    "None": {"type": "null"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A keyword-only parameter: what a spec may set. `schema` is the JSON Schema of its annotation."""

    annotation: str
    schema: Schema
    required: bool
    default: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A registered function, known from its source. `slip`: its slip note, if it is one.

    `right`: its conventions under which an answer is right in any task, each with its words.
    """

    name: str
    file: Path
    line: int
    description: str
    docstring: str
    takes: tuple[str, ...]
    judges: str
    expects: str
    returns: str
    parameters: Mapping[str, Parameter]
    slip: SlipNote | None = None
    right: tuple[tuple[Mapping[str, Any], str], ...] = ()

    def load(self) -> Callable[..., object]:
        """Import the function's file under a name of our own and return the function.

        Raises:
            ImportError: (or whatever the file raises) where the file cannot be imported.
        """
        return python_sources.load(self.file, self.name)

    def source_digest(self, read: dict[Path, list[Path]] | None = None) -> str:
        """A digest of what the function depends on: its file, and what that imports and reads of the same folder.

        `read`: as for `sources`. All functions of one file have one digest.
        """
        import hashlib

        digest = hashlib.sha256()
        for file in [*sorted(self.sources(read)), *self.data(read)]:
            digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
        return digest.hexdigest()

    def code(self) -> dict[str, str]:
        """The source of the function's file, then of those that it imports, by their places in its folder."""
        files = (self.file, *sorted(self.sources() - {self.file}))
        return {file.relative_to(self.file.parent).as_posix(): file.read_text(encoding="utf-8") for file in files}

    def imports(self, library: str, read: dict[Path, list[Path]] | None = None) -> bool:
        """Whether the function's file, or what that imports from the same folder, ever imports a library."""
        wanted = re.compile(rf"^[ \t]*(?:import|from)[ \t]+{library}\b", re.MULTILINE)
        texts = (file.read_text(encoding="utf-8") for file in self.sources(read))
        return any(library in text and wanted.search(_TYPING.sub("", text)) for text in texts)

    def sources(self, read: dict[Path, list[Path]] | None = None) -> set[Path]:
        """The files that the function depends on: its own, and those of the same folder that it imports.

        `read` remembers what was read of each file, for those who ask of many functions.
        """
        return python_sources.sources(self.file, {} if read is None else read)

    def data(self, read: dict[Path, list[Path]] | None = None) -> list[Path]:
        """The files of its folder that are no Python, where the function may read one; `read`: as for `sources`."""
        known = {} if read is None else read
        folder = self.file.parent
        if folder not in known:
            known[folder] = sorted(python_sources.data_below(folder))
        names = tuple(path.name for path in known[folder])
        reads = (names and python_sources.reads_files(file.read_bytes(), names) for file in self.sources(known))
        return known[folder] if any(reads) else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """All entries of one kind ("checker", "quantity"), and findings about some files."""

    kind: str
    entries: Mapping[str, Entry] = field(default_factory=dict)
    findings: tuple[SpecFinding, ...] = ()

    def get(self, name: str) -> Entry:
        """Return the entry called `name`, which is there in a validated spec."""
        return self.entries[name]


def read(kind: str, folders: tuple[Path, ...]) -> Registry:
    """Read every public function of the public files in `folders`; two of one name are a finding.

    Networks are known by their file and name, and take all their parameters from a spec, whatever these are called.
    """
    entries: dict[str, Entry] = {}
    findings: list[SpecFinding] = []
    for folder in folders:
        for file in sorted(folder.glob("[!_]*.py")):
            try:
                found = list(_functions(file, lenient=kind == MODEL))
                findings.extend(_unfit_for_models(file, found) if kind == MODEL else ())
            except SyntaxError as error:
                mark = Mark(str(file), error.lineno or 1, error.offset or 1)
                findings.append(SpecFinding(mark, f"this is not Python: {error.msg}"))
                continue
            except SpecError as error:
                findings.extend(error.findings)
                continue
            for entry in found:
                name = f"{file.stem}/{entry.name}" if kind == MODEL else entry.name
                if name in entries:
                    message = f"the {kind} '{name}' is already defined at {entries[name].file}:{entries[name].line}"
                    findings.append(SpecFinding(Mark(str(file), entry.line, 1), message))
                else:
                    entries[name] = entry
    wrong = ((entry, slips.problem(entry, entries, kind)) for entry in entries.values())
    findings += (SpecFinding(Mark(str(entry.file), entry.line, 1), said) for entry, said in wrong if said)
    return Registry(kind=kind, entries=entries, findings=tuple(findings))


def find_one(name: str, folders: tuple[Path, ...]) -> Entry | None:
    """Return the function of a name if only one file seems to define it; None where all files have to be read."""
    here = re.compile(rf"^(?:async\s+)?def\s+{re.escape(name)}\b", re.MULTILINE)
    files = [file for folder in folders for file in folder.glob("[!_]*.py") if here.search(_text(file))]
    if len(files) != 1:
        return None
    source = files[0].read_text(encoding="utf-8")
    with contextlib.suppress(SyntaxError, SpecError):
        found = _entries(files[0], source, Aliases(files[0], source), lenient=False)
        return next((each for each in found if each.name == name), None)
    return None


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


def _unfit_for_models(file: Path, found: list[Entry]) -> Iterator[SpecFinding]:
    """Say why a file's networks can't be used."""
    mark = Mark(str(file), 1, 1)
    if file.stem in _ZOO:
        yield SpecFinding(mark, f"'{file.stem}/...' are models of labgrade's own; call the file otherwise")
    if found and sum(map(len, found[0].code().values())) > _MOST_BYTES:
        message = f"this and what it imports take more than {_MOST_BYTES >> 10} KiB; a network's source is sent along"
        yield SpecFinding(mark, message)


_READ: dict[tuple[Path, str, bool], tuple[Entry, ...]] = {}


def _functions(file: Path, *, lenient: bool = False) -> tuple[Entry, ...]:
    """The public functions of a file. They are read once, by its content, if that is all that they follow from."""
    source = file.read_text(encoding="utf-8")
    if (key := (file, source, lenient)) in _READ:
        return _READ[key]
    aliases = Aliases(file, source)
    found = tuple(_entries(file, source, aliases, lenient=lenient))
    if not aliases.met:
        _READ[key] = found
    return found


def _entries(file: Path, source: str, aliases: Aliases, *, lenient: bool) -> Iterator[Entry]:
    for node in parsed(source).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            docstring = ast.get_docstring(node) or ""
            try:
                slip, right = slips.slip_note(docstring), slips.right_notes(docstring)
            except ValueError as error:
                raise SpecError([SpecFinding(Mark(str(file), node.lineno, 1), str(error))]) from None
            yield Entry(
                name=node.name,
                file=file,
                line=node.lineno,
                description=docstring.partition("\n")[0],
                docstring=docstring,
                takes=() if lenient else tuple(argument.arg for argument in (*node.args.posonlyargs, *node.args.args)),
                judges=_annotation(node, 0),
                expects=_annotation(node, 1),
                returns=ast.unparse(node.returns) if node.returns else "",
                parameters=dict(_parameters(file, node, aliases, lenient=lenient)),
                slip=slip,
                right=right,
            )


def _annotation(node: ast.FunctionDef, place: int) -> str:
    """Return the annotation of a positional parameter: what a checker judges or expects."""
    taken = (*node.args.posonlyargs, *node.args.args)[place : place + 1]
    return next((ast.unparse(each.annotation) for each in taken if each.annotation), "")


def _parameters(
    file: Path, node: ast.FunctionDef, aliases: Aliases, *, lenient: bool
) -> Iterator[tuple[str, Parameter]]:
    """Yield what a spec may set: keyword-only parameters; if `lenient`, all, even without a simple annotation."""
    arguments = list(zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True))
    if lenient:
        defaults: list[ast.expr | None] = [None] * (len(node.args.args) - len(node.args.defaults))
        arguments = [*zip(node.args.args, [*defaults, *node.args.defaults], strict=True), *arguments]
    for argument, default in arguments:
        schema = _schema(argument.annotation, aliases)
        schema = {} if schema is None and lenient else schema
        if schema is None:
            message = (
                f"the parameter '{argument.arg}' of '{node.name}' needs a simple annotation: int, str, list[str], ..."
            )
            raise SpecError([SpecFinding(Mark(str(file), argument.lineno, argument.col_offset + 1), message)])
        yield (
            argument.arg,
            Parameter(
                annotation=_annotation_text(argument.annotation, aliases),
                schema=schema,
                required=default is None,
                default=ast.unparse(default) if default is not None else "",
            ),
        )


def _schema(node: ast.expr | None, aliases: Aliases) -> Schema | None:
    """The JSON Schema of an annotation, or None where it is not made of the simple types."""
    match node:
        case ast.Constant(value=None):
            return _SIMPLE["None"]
        case ast.Constant(value=str(text)):
            return _schema(ast.parse(text, mode="eval").body, aliases)
        case ast.Name(id=name) if name in _SIMPLE:
            return _SIMPLE[name]
        case ast.Name(id=name) if (meant := aliases.of(name)) is not None:
            return _schema(meant, aliases)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            options = [_schema(left, aliases), _schema(right, aliases)]
            return None if None in options else {"anyOf": [option for option in options if option]}
        case ast.Subscript(value=ast.Name(id="Literal"), slice=inner):
            return {"enum": [ast.literal_eval(item) for item in _elements(inner)]}
        case ast.Subscript(value=ast.Name(id="list" | "Sequence" | "tuple"), slice=inner):
            item = _schema(_elements(inner)[0], aliases)
            return None if item is None else {"type": "array", "items": item}
        case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[kind, ast.Dict() as said])):
            of_kind, bounds = _schema(kind, aliases), ast.literal_eval(said)
            return None if of_kind is None or not bounds.keys() <= _BOUNDS else {**of_kind, **bounds}
    return None


def _annotation_text(node: ast.expr | None, aliases: Aliases) -> str:
    """Return an annotation for people, with aliases of choices spelt out."""
    if isinstance(node, ast.Name) and (meant := aliases.of(node.id)) is not None:
        return _annotation_text(meant, aliases)
    if isinstance(node, ast.BinOp):
        return f"{_annotation_text(node.left, aliases)} | {_annotation_text(node.right, aliases)}"
    if isinstance(node, ast.Subscript):
        of, inner = ast.unparse(node.value), [_annotation_text(each, aliases) for each in _elements(node.slice)]
        return inner[0] if of == "Annotated" else f"{of}[{', '.join(inner)}]"
    return ast.unparse(node) if node else ""


def _elements(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]
