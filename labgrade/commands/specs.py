"""`labgrade validate` finds what is wrong with specs; `labgrade schema` prints what they may say."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade.authoring import check_values, lazy
from labgrade.core.errors import SpecError, UsageError
from labgrade.spec import course, load

if TYPE_CHECKING:
    import argparse


def add_validate(parser: argparse.ArgumentParser) -> None:
    """The arguments of `validate`."""
    parser.add_argument("paths", nargs="*", type=Path, help="spec files or folders (default: all)")
    parser.add_argument("--compute", action="store_true", help="recompute published values and misconceptions too")
    parser.set_defaults(run=validate)


def add_schema(parser: argparse.ArgumentParser) -> None:
    """The arguments of `schema`."""
    parser.add_argument("--write", type=Path, metavar="FILE", help="write it to FILE")
    parser.set_defaults(run=schema)


def validate(options: argparse.Namespace) -> int:
    """Report every finding of the specs; with --compute, of their published values and misconceptions too."""
    found = course.find(Path.cwd())
    if not options.paths and not Path("specs").is_dir():
        message = "there is no folder 'specs' here: go to the folder of a course, or name what to validate"
        raise UsageError(message)
    paths = [path for given in options.paths or [found.specs] for path in _below(given)]
    specs = load.read_all([path for path in paths if path.suffix != ".yml"], found)
    findings = [finding for read in specs for finding in read.findings]
    findings += [*found.checkers.findings, *found.quantities.findings, *load.folder_findings(paths)]
    findings += [finding for read in specs if read.task for finding in check_values.literals(read.task)]
    if options.compute:
        from labgrade.run.grader import Grader

        with Grader(found) as grader:
            for read in specs:
                if read.task is not None:
                    findings += check_values.findings(read.task, grader)
    if findings:
        raise SpecError(findings)
    warnings = [finding for read in specs if read.task for finding in lazy.never_called_again(read.task)]
    for warning in warnings:
        print(f"{warning.mark}: warning: {warning.message}")  # noqa: T201
    count = f", {len(warnings)} warning{'s' if len(warnings) > 1 else ''}" if warnings else ""
    print(f"{len(specs)} spec{'s' if len(specs) != 1 else ''}, nothing wrong{count}")  # noqa: T201
    return 0


def _below(path: Path) -> list[Path]:
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
