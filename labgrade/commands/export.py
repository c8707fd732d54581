"""`labgrade export`: every format that there is, made of a report again without running anything."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from labgrade.core import student_view
from labgrade.core.errors import UsageError
from labgrade.core.text import for_terminal, one_line
from labgrade.files import output
from labgrade.ledger.read import NOT_ENDED
from labgrade.reports import csv, gradescope, html, json, junit, lms, markdown
from labgrade.reports import json as as_json
from labgrade.review import results
from labgrade.spec import course, load

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from labgrade.core.results import Report
    from labgrade.reports.lms import Merged

_KEPT = frozenset(" -_.,()")
_NAME_BYTES = 120  # systems count bytes, and a name in Chinese has three a character


@dataclass(frozen=True, slots=True, kw_only=True)
class _Format:
    """How a report becomes files. `each`: one a submission, of a report that holds it alone; else one of all.

    `students`: it is for students' eyes, and shows what they may see by now, also where staff export it.
    """

    file: str
    render: Callable[[Report], str]
    each: bool = False
    students: bool = False


def _student_page(report: Report) -> str:
    from labgrade.reports.html import student

    return student.render(student_view.for_student(report))


def _class_page(report: Report, pages: Mapping[str, str] | None = None) -> str:
    from labgrade.reports.html import classroom

    return classroom.render(report, lambda name: (pages or {}).get(name, ""))


FORMATS = {
    "json": _Format(file="report.json", render=as_json.render),
    "junit": _Format(file="junit.xml", render=junit.render),
    "csv": _Format(file="gradebook.csv", render=csv.render),
    "markdown": _Format(file="report.md", render=markdown.render),
    "github": _Format(file="summary.md", render=markdown.step_summary),
    "gradescope": _Format(file="gradescope/{}/results.json", render=gradescope.render, each=True),
    "html": _Format(file="students/{}.html", render=_student_page, each=True, students=True),
    "class": _Format(file="class.html", render=_class_page),
}


def add_export(parser: argparse.ArgumentParser) -> None:
    """The arguments of `export`."""
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--results", type=Path, metavar="DIR", default=Path("results"), help="default: results")
    source.add_argument("--json", type=Path, metavar="FILE", help="what pytest --labgrade-json wrote")
    formats = [*FORMATS, "all"]
    parser.add_argument("--format", choices=formats, help="which one; html is a page a student, class one of all")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="where the files go; or the file, of one (default: stdout)"
    )
    parser.add_argument("--merge", type=Path, metavar="CSV", help="a gradebook that Canvas or Moodle exported")
    parser.add_argument("--column", metavar="NAME", help="the column of it that takes the points")
    parser.add_argument("--with-pending", action="store_true", help="also merge points that are not settled yet")
    parser.add_argument("--student-view", action="store_true", help="leave out what students may not see")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write what was asked for."""
    if not options.format and not options.merge:
        message = "say which --format to write, or --merge a gradebook"
        raise UsageError(message)
    report, for_them, root = _reports(options)
    if NOT_ENDED in report.notes:
        print(for_terminal(f"not final: {NOT_ENDED}"), file=sys.stderr)  # noqa: T201
    if options.merge and options.format and options.out is not None and _is_file(options.out, ".csv"):
        message = f"--merge and --format write two files, and '{options.out}' is one; name a folder"
        raise UsageError(message)
    if options.merge:
        _merge(report, options)
    if not options.format:
        return 0
    if options.format in ("html", "class", "all"):
        html.refuse_without()
    if options.student_view:
        report = student_view.for_student(for_them())
    chosen = [name for name in FORMATS if options.format in (name, "all")]
    if options.student_view:
        chosen = [name for name in chosen if name != "class" or options.format == "class"]
    shown = {**dict.fromkeys(chosen, report), **_render_for_students(chosen, for_them, root)}
    if options.out is None:
        _print(shown)
    else:
        _write(shown, options.out)
    return 0


def _render_for_students(chosen: Iterable[str], for_them: Callable[[], Report], root: Path) -> dict[str, Report]:
    """Render the formats that are for students from what they may see."""
    own = [name for name in chosen if FORMATS[name].students]
    return dict.fromkeys(own, replace(for_them(), labs=load.lab_texts(course.folders(root)[0]))) if own else {}


def _reports(options: argparse.Namespace) -> tuple[Report, Callable[[], Report], Path]:
    """Return the report to export, a function that gives what students may see of it, and the course's folder.

    Raises:
        UsageError: there is none.
    """
    if options.json is None:
        found = results.read(options.results)
        return found.shown, lambda: found.students, found.root
    path = options.json
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        what = (error.strerror or str(error)).lower() if isinstance(error, OSError) else "it is not UTF-8"
        message = f"'{path}' can't be read: {what}"
        raise UsageError(message) from error
    report = json.read(text, str(path))
    return report, lambda: report, Path.cwd()


def _print(shown: Mapping[str, Report]) -> None:
    (name, report), *others = shown.items()
    if others or (FORMATS[name].each and len(report.submissions) != 1):
        message = "these are several files; say where they go with --out DIR"
        raise UsageError(message)
    sys.stdout.write(FORMATS[name].render(report) + "\n")


def _write(shown: Mapping[str, Report], out: Path) -> None:
    for name, report in shown.items():
        written = 0
        pages = _pages(shown["html"]) if name == "class" and "html" in shown else {}
        files = list(_files(report, FORMATS[name], pages))
        for path, text in files:
            alone = len(shown) == len(files) == 1
            target = out if alone and _is_file(out, Path(path).suffix) else out / path
            _make_folder(target.parent)
            output.write(str(target), text)
            written += 1
        print(f"{name}: {written} {'file' if written == 1 else 'files'} in {out}", file=sys.stderr)  # noqa: T201


def _is_file(out: Path, suffix: str) -> bool:
    """Return whether --out names the file itself, not its folder."""
    return out.suffix.lower() == suffix and not out.is_dir()


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"--out: the folder '{folder}' can't be made: {(error.strerror or str(error)).lower()}"
        raise UsageError(message) from error


def _files(report: Report, form: _Format, pages: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each file of a format as path and text. A class page links to students' `pages`, if there are any."""
    if not form.each:
        yield form.file, _class_page(report, pages) if pages else form.render(report)
        return
    named = _file_names(each.name for each in report.submissions)
    for submission in report.submissions:
        text = form.render(replace(report, submissions=(submission,)))
        yield form.file.format(named[submission.name]), text


def _pages(report: Report) -> dict[str, str]:
    """Return the link from the class page to each student's page."""
    names = _file_names(each.name for each in report.submissions)
    return {name: quote(FORMATS["html"].file.format(file)) for name, file in names.items()}


def _file_names(names: Iterable[str]) -> dict[str, str]:
    """The names of submissions as those of files, on every system; each is given once, whatever the case of letters.

    Who is called as a file may be has the file of that name; others, of whom less is left, have one beside it.
    """
    bare = {name: _file_name(name) for name in names}
    taken: set[str] = set()
    found = {}
    for name in sorted(bare, key=lambda name: bare[name] != name):
        file, number = bare[name], 1
        while file.casefold() in taken:
            number += 1
            file = f"{bare[name]}-{number}"
        taken.add(file.casefold())
        found[name] = file
    return found


def _file_name(name: str) -> str:
    kept = "".join(each if each.isalnum() or each in _KEPT else "_" for each in name).strip(" .")
    return kept.encode()[:_NAME_BYTES].decode(errors="ignore").strip(" .") or "_"


def _merge(report: Report, options: argparse.Namespace) -> None:
    """Write the gradebook with the points beside the gradebook that was named, or into --out; say who was left out."""
    if not options.column:
        message = "say which column of the gradebook takes the points: --column NAME"
        raise UsageError(message)
    try:
        exported = options.merge.read_bytes()
    except OSError as error:
        message = f"'{options.merge}' can't be read: {(error.strerror or str(error)).lower()}"
        raise UsageError(message) from error
    merged = lms.merge(report, exported, str(options.merge), options.column, with_pending=options.with_pending)
    target = options.merge.with_name(f"{options.merge.stem}-merged.csv")
    if options.out is not None:
        target = options.out if _is_file(options.out, ".csv") else options.out / options.merge.name
        if target.resolve() == options.merge.resolve():
            message = f"'{target}' is the gradebook itself; say another --out"
            raise UsageError(message)
        _make_folder(target.parent)
    output.write_bytes(str(target), merged.text)
    for line in _merge_summary(merged, target):
        print(for_terminal(line), file=sys.stderr)  # noqa: T201


def _merge_summary(merged: Merged, target: Path) -> Iterator[str]:
    yield f"merge: {merged.written:,} {'cell' if merged.written == 1 else 'cells'} written to {target}"
    left = (
        (merged.unknown, "in no row of the gradebook"),
        (merged.ambiguous, "fits several rows, or shares one; nothing was written"),
        (merged.pending, "waits for a person; nothing was written (--with-pending writes what is certain)"),
    )
    for names, why in left:
        for name in names:
            yield f"  '{one_line(name)}': {why}"
    if merged.left:
        kept = "row of the gradebook left as it was" if merged.left == 1 else "rows of the gradebook left as they were"
        yield f"  {merged.left:,} {kept}"
