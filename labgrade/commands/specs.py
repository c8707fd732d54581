"""`labgrade list`: what a task can be written with; `validate` and `schema`: whether specs are sound, what they say."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

from labgrade.authoring import new_course
from labgrade.core.did_you_mean import did_you_mean
from labgrade.core.errors import SpecError, UsageError
from labgrade.files import output
from labgrade.review import roster
from labgrade.spec import course, load
from labgrade.spec.in_full import retired, slips
from labgrade.spec.registry import SLIPS
from labgrade.subjects import catalogue
from labgrade.values import show

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from rich.console import Console

    from labgrade.core.task import Schema, Task
    from labgrade.spec.course import Course
    from labgrade.spec.in_full.slips import SlipNote
    from labgrade.spec.registry import Entry, Parameter

_ONE = {
    "quantities": "quantity",
    "slips": "slip",
    "checkers": "checker",
    "subjects": "subject",
    "models": "model",
    "tasks": "task",
}
KINDS = tuple(_ONE)
_FEW = 3  # of so many all is shown
_ONNX_OPTIONS = "opset, exporter, dynamic_batch, external_data, and those of the model"
_INPUTS = {"micro/branch_and_loop.onnx": "2,6", "micro/functions.onnx": "3,8", "micro/lenet.onnx": "1,1,28,28"}
_UNITS = (
    ("_bytes", "bytes"),
    ("_bits", "bits"),
    ("macs", "multiply-accumulates"),
    ("flops", "floating-point operations"),
)
_OF_FILES = ("original", "record")  # of what a student's file alone is compared with


def add_list(parser: argparse.ArgumentParser) -> None:
    """The arguments of `list`."""
    parser.add_argument("what", choices=KINDS)
    parser.add_argument("word", nargs="?", default="", help="only those that hold this word")
    parser.set_defaults(run=list_entries)


def list_entries(options: argparse.Namespace) -> int:
    """List what contains the word: a few entries in full, many in short."""
    found = course.find(Path.cwd())
    new_course.keep_schemas(found)
    known = (
        _list_tasks(found, options.word)
        if options.what == "tasks"
        else _list_registered(found, options.what, options.word)
    )
    if options.word and not any(_contains(options.word, text) for text in known):
        names = [text.partition("\n")[0] for text in known]
        near = did_you_mean(options.word, names) or f"; without a word, all {len(known)} are listed"
        print(f"no {_ONE[options.what]} holds '{options.word}'{near}", file=sys.stderr)  # noqa: T201
    return 0


def _list_registered(found: Course, what: str, word: str) -> list[str]:
    """List registered names that contain the word; return all of that kind."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
    if what == "slips":
        return _list_slips(found, word, console)
    if what not in {"models", "subjects"}:
        return _list_functions(found, what, word, console)
    known = list(found.model_names)
    for name in known:
        if _contains(word, name):
            console.print(name, markup=False)
            if what == "subjects":
                _show_options(name, found, console)
    return known


def _contains(word: str, text: str) -> bool:
    """Return whether a text contains a word, ignoring case and underscores: `KV cache` is in `kv_cache_bytes`."""
    return _spaced(word) in _spaced(text)


def _spaced(text: str) -> str:
    return text.lower().replace("_", " ")


def _list_functions(found: Course, what: str, word: str, console: Console) -> list[str]:
    """Print the functions that contain the word; return all names, each with its docstring."""
    registry = found.quantities if what == "quantities" else found.checkers
    for finding in registry.findings:
        console.print(f"{finding}", style="red", markup=False)
    # Ways of being wrong have a list of their own; who names one exactly is shown it.
    shown = {name: each for name, each in registry.entries.items() if each.slip is None or name == word}
    listed = {name: entry for name, entry in sorted(shown.items()) if not name.endswith(SLIPS)}
    texts = {name: f"{name}\n{entry.docstring}" for name, entry in listed.items()}
    entries = [registry.entries[name] for name, text in texts.items() if _contains(word, text)]
    named = [entry for entry in entries if entry.name == word]
    for entry in entries:
        console.print(f"[bold]{entry.name}[/]  {entry.description}")
        for key, parameter in entry.parameters.items():
            default = "required" if parameter.required else f"default {parameter.default}"
            console.print(f"    {key}: {parameter.annotation} ({default})", markup=False, style="dim")
        lines = _quantity_lines(entry) if what == "quantities" else _checker_lines(entry)
        for line in lines:
            console.print(f"    {line}", markup=False, style="dim")
        body = entry.docstring.partition("\n")[2].strip()
        if body and (len(entries) <= _FEW or entry in named):
            console.print("".join(f"\n      {line}" if line else "\n" for line in body.splitlines()), markup=False)
    return list(texts.values())


def _list_slips(found: Course, word: str, console: Console) -> list[str]:
    """Print the slips of a quantity, or those that contain the word, with hint and credit."""
    quantities = found.quantities.entries
    entries = [each for each in quantities.values() if each.slip is not None]
    single = slips.halved_quantity(quantities, word)
    of_word = [each for each in entries if each.slip and word in each.slip.of]
    if word in quantities and quantities[word].slip is None and not of_word and not single:
        return [_print_no_slips(word, quantities)]
    known = _show_doubled_slips(single, word, entries, console) if single else []
    for entry in entries:
        slip = cast("SlipNote", entry.slip)
        of = ", ".join(slip.of)
        known.append(f"{entry.name}\n{of} {slip.hint}")
        if entry in of_word or (not of_word and not single and _contains(word, known[-1])):
            console.print(f"[bold]{entry.name}[/]  {entry.description}")
            console.print(f"    of {of}, credit {slip.credit:g}", markup=False, style="dim")
            console.print(f"    {slip.hint}", markup=False)
    return known


def _print_no_slips(quantity: str, quantities: Mapping[str, Entry]) -> str:
    """Say that a quantity has no slips that a spec can name, though some may be worked out for each subject."""
    worked_out = f"; hints use those of {quantity}{SLIPS}" if quantity + SLIPS in quantities else ""
    print(f"'{quantity}' has no slips that a spec can name{worked_out}")  # noqa: T201
    return quantity


def _show_doubled_slips(single: str, word: str, entries: list[Entry], console: Console) -> list[str]:
    """Show the slips of a quantity that is twice as much as another: that one, and what slips make of it, doubled."""
    console.print(f"[bold]{single}[/]  The value of '{single}', where a multiply-accumulate is two of '{word}'.")
    console.print(f"    of {word}, credit {slips.SINGLE_CREDIT:g}", markup=False, style="dim")
    console.print(f"    {slips.SINGLE}", markup=False)
    known = [f"{single}\n{word} {slips.SINGLE}"]
    for entry in entries:
        slip = cast("SlipNote", entry.slip)
        if single in slip.of and entry.name != word:
            known.append(f"{entry.name}\n{word} {slip.hint}")
            console.print(f"[bold]{entry.name}[/]  {entry.description}")
            console.print(
                f"    of {word}: doubled, credit {slip.credit:g}; not doubled, as well", markup=False, style="dim"
            )
            console.print(f"    {slip.hint}", markup=False)
    return known


def _quantity_lines(entry: Entry) -> list[str]:
    file = "an ONNX file" if _is_of_onnx(entry) else "a file"
    of = {"artifact": file, "config": "a config", "subject": "a model"}.get("".join(entry.takes[:1]))
    if of is None:
        return ["no quantity: its first parameter is not 'subject', 'artifact' or 'config'"]
    lines = [f"of {of}, gives {entry.returns or 'anything'}{unit_suffix(entry)}"]
    return [*lines, f"example: {example(entry)}"]


def unit_suffix(entry: Entry) -> str:
    """Return the unit in a quantity's name as a suffix: `, in bytes`."""
    number = entry.returns in ("int", "float")
    word = next((word for tail, word in _UNITS if tail in entry.name), "")
    return f", in {word}" if word and number else ""


def example(entry: Entry) -> str:
    """Return a command that computes the quantity, or a spec line if it only measures students' files."""
    needed = {key: _example_value(entry, key) for key, parameter in entry.parameters.items() if parameter.required}
    if any(name in entry.parameters for name in _OF_FILES):
        given = ", ".join(f"{key}: {value}" for key, value in needed.items())
        return f"measured: {{quantity: {entry.name}{f', with: {{{given}}}' if given else ''}}}"
    is_of_file = entry.takes[:1] == ("artifact",)
    model = "torchvision/resnet18.onnx" if is_of_file else "torchvision/resnet18"
    model = "linear/mlp.onnx --input 3,150" if entry.name == "tiles_needed" else model
    settings = "".join(f" --set {key}={value}" for key, value in needed.items())
    if entry.takes[:1] == ("config",):
        return f"labgrade compute {entry.name} --config NAME=VALUE ...{settings}"
    about = "--file FILE" if is_of_file and not _is_of_onnx(entry) else f"--model {model}"
    return f"labgrade compute {entry.name} {about}{settings}"


def _is_of_onnx(entry: Entry) -> bool:
    """Return whether a quantity of files takes ONNX files, by its name."""
    return entry.name.startswith(("onnx_", "tile", "tiling_"))


def _example_value(entry: Entry, key: str) -> str:
    """Return an example of a required convention: what its docstring names after `such as`, or one of its type."""
    schema = entry.parameters[key].schema
    if isinstance(choices := schema.get("enum"), list):
        return str(choices[0])
    told = re.search(rf"{key.rstrip('s')}s?\b[^.;]*? such as `?(\w[\w:.]*\w)", entry.docstring)
    one = "Conv2d" if key == "layers" else told[1] if told else "NAME"
    match schema:
        case {"type": "array", "items": {"type": "string"}}:
            return f"[{one}]"
        case {"type": "array"}:
            return "[1,3,224,224]"
        case {"type": "string"}:
            return one
    return "1"


def _checker_lines(entry: Entry) -> list[str]:
    settings = ", ".join(f"{key}: {_value(key, parameter)}" for key, parameter in entry.parameters.items())
    judged = f"judges {entry.judges or 'anything'}"
    return [
        judged,
        f"example: checker: {{{entry.name}: {{{settings}}}}}" if settings else f"example: checker: {entry.name}",
    ]


def _value(key: str, parameter: Parameter) -> str:
    plain = {"None": "null", "True": "true", "False": "false"}
    default = parameter.default.strip("'")
    if parameter.required:
        return _example_parameter(key, parameter.schema)
    return plain.get(default, f'"{default}"' if ": " in default else default)


def _example_parameter(key: str, schema: Schema) -> str:
    """Return an example value for a required parameter of a checker; two items for a list."""
    match schema:
        case {"enum": [first, *_]}:
            return str(first)
        case {"type": "array", "items": {"type": "string"}}:
            return "[one, two]"
        case {"type": "array"}:
            return "[1, 2]"
        case {"type": "string"}:
            return key.upper()
    return "1"


def _show_options(name: str, found: Course, console: Console) -> None:
    network = found.network(name)
    options = network.parameters if network is not None else catalogue.options_of(name.removesuffix(".onnx"))
    if name.endswith(".onnx"):
        said = _ONNX_OPTIONS if name.startswith("torchvision/") else ""
    else:
        said = ", ".join(sorted(options or ()))
    if said:
        console.print(f"    options: {said}", markup=False, style="dim")
    quantity = "onnx_operator_total" if name.endswith(".onnx") else "parameters"
    shape = _INPUTS.get(name, "")
    command = f"labgrade compute {quantity} --model {name}{f' --input {shape}' if shape else ''}"
    console.print(f"    example: {command}", markup=False, style="dim")


def _list_tasks(found: Course, word: str) -> list[str]:
    known = []  # printed as they are: rich would take a fifth of the time that this has
    for read in load.read_all(load.files(found.specs), found):
        if read.task is None:
            known.append(read.path.stem)
            print(f"{read.path.stem}: broken; see labgrade validate")  # noqa: T201
            continue
        task = read.task
        known.append(f"{task.id}\n{task.lab}/{task.id} {task.title}")
        if _contains(word, known[-1]):
            print(f"{task.lab}/{task.id}  {task.title} ({show(task.points)} points)")  # noqa: T201
    return known


def add_validate(parser: argparse.ArgumentParser) -> None:
    """The arguments of `validate`."""
    parser.add_argument("paths", nargs="*", type=Path, help="spec files or folders (default: all)")
    parser.add_argument("--compute", action="store_true", help="recompute published values and misconceptions too")
    parser.add_argument("--fix", action="store_true", help="first rewrite what only earlier versions accepted")
    parser.set_defaults(run=validate)


def add_schema(parser: argparse.ArgumentParser) -> None:
    """The arguments of `schema`."""
    parser.add_argument("--write", type=Path, metavar="FILE", help="write it to FILE")
    parser.set_defaults(run=schema)


def validate(options: argparse.Namespace) -> int:
    """Report every finding of the specs; with --compute, of their published values and misconceptions too."""
    from labgrade.authoring import check_values

    found = course.find(Path.cwd())
    if not options.paths and not Path("specs").is_dir():
        message = "there is no folder 'specs' here: go to the folder of a course, or name what to validate"
        raise UsageError(message)
    new_course.keep_schemas(found)
    paths = [path for given in options.paths or [found.specs] for path in _spec_files(given)]
    if options.fix:
        _fix(paths)
    specs = load.read_all([path for path in paths if path.suffix != ".yml"], found)
    findings = [finding for read in specs for finding in read.findings]
    findings += [
        *found.checkers.findings,
        *found.quantities.findings,
        *found.models.findings,
        *load.folder_findings(paths),
    ]
    findings += [finding for read in specs if read.task for finding in check_values.literals(read.task)]
    if not options.paths:
        findings += roster.findings(found.root, [path.parent.name for path in paths])
    if options.compute:
        from labgrade.judging.variants import all_variants
        from labgrade.run.grader import Grader

        with Grader(found) as grader:
            for task in all_variants(read.task for read in specs if read.task is not None):
                findings += check_values.findings(task, grader)
    if findings:
        raise SpecError(findings)
    warnings = _warnings([read.task for read in specs if read.task is not None], found)
    for warning in warnings:
        print(warning)  # noqa: T201
    count = f", {len(warnings)} warning{'s' if len(warnings) > 1 else ''}" if warnings else ""
    print(f"{len(specs)} spec{'s' if len(specs) != 1 else ''}, nothing wrong{count}")  # noqa: T201
    return 0


def _fix(paths: list[Path]) -> None:
    """Rewrite what only earlier versions accepted, and say what was changed."""
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue  # which validating tells
        new, said = retired.fixed(text)
        if said:
            output.write_bytes(str(path), new.encode())
        for what in said:
            print(f"{path}: {what}")  # noqa: T201


def _warnings(tasks: list[Task], found: Course) -> list[str]:
    """Return warnings about specs that are valid."""
    from labgrade.authoring import check_values

    looks = (check_values.never_called_again, check_values.programs_without_cases)
    called = (finding for task in tasks for look in looks for finding in look(task))
    warnings = [f"{each.mark}: warning: {each.message}" for each in called]
    if any(task.variants for task in tasks):
        from labgrade.judging.variants import missing_key_findings

        warnings += [f"warning: {each}" for each in missing_key_findings(found, tasks)]
    return warnings


def _spec_files(path: Path) -> list[Path]:
    if not path.exists():
        message = f"there is no '{path}'"
        raise UsageError(message)
    return [*load.files(path), *sorted(path.glob("**/*.yml"))] if path.is_dir() else [path]


def schema(options: argparse.Namespace) -> int:
    """Print or write the JSON Schema of a task."""
    text = load.schema_text(course.find(Path.cwd()))
    if options.write:
        options.write.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0
