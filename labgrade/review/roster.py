"""Who takes the course, and who marks it: `roster.yaml` or `roster.csv` beside `specs/`, with groups and extensions."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from labgrade.core.did_you_mean import did_you_mean, look_up
from labgrade.core.errors import Mark, SpecError, SpecFinding
from labgrade.core.git_address import problem as address_problem
from labgrade.core.text import one_line
from labgrade.files import validate, yaml
from labgrade.spec import lab as late_rules
from labgrade.spec.lab import MOMENT_LIKE, SPAN_LIKE, NoMomentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from labgrade.core.task import Schema

FILES = ("roster.yaml", "roster.csv")
Extension: TypeAlias = timedelta | datetime
_SAYS = {
    "id": "By which the student is known: a number, an account.",
    "name": "What the student is called.",
    "group": "What is handed in by one of a group is everybody's.",
    "email": "By which what was handed in is found, too.",
    "login": "The account on the server of repositories, where it is not the id.",
    "repository": "The address of the repository, where it is not as lab.yaml says; `none` of who has none.",
    "document": "The address of the report, where it is written elsewhere.",
    "submission": "The folder or archive that is this student's, where no name tells.",
    "handed_in": "When it was handed in, where that is known better: `2026-11-20T23:59+08:00`.",
    "extension": "More time, of all labs or by lab: `3 days`, or a moment until which nothing is late.",
    "role": "`staff` of who marks and hands in nothing; else `student`.",
}
_STUDENT, _STAFF, NO_REPOSITORY = "student", "staff", "none"
_WORDS = tuple(_SAYS)
_NAMES = ("id", "submission")  # of what is handed in
_UNSEEN = frozenset({"Cc", "Cs", "Zl", "Zp"})
_UNSEEN_IN_IDS = _UNSEEN | {"Cf"}
_OF_LAB = re.compile(r"extension[ :](?P<lab>.+)")
_TEXT: Schema = {"type": "string", "minLength": 1}
SCHEMA: Schema = {
    "title": "a roster",
    "type": "object",
    "additionalProperties": False,
    "required": ["students"],
    "properties": {
        "students": {
            "type": "array",
            "items": {
                "title": "a student",
                "type": "object",
                "additionalProperties": False,
                "required": ["id"],
                "properties": {
                    **{word: {**_TEXT, "description": said} for word, said in _SAYS.items() if word != "extension"},
                    "extension": {
                        "description": _SAYS["extension"],
                        "if": {"type": "object"},
                        "then": {"additionalProperties": _TEXT, "minProperties": 1},
                        "else": _TEXT,
                    },
                },
            },
        }
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Student:
    """A student. `submission` is what their hand-in is called, where it is called neither by id, name nor group.

    `login`, `repository` and `document` say where the work is, if it is collected from a server.
    `handed_in` is when, where staff know it better than the files. `extensions` are by lab; "" is any other.
    """

    id: str
    name: str = ""
    group: str = ""
    email: str = ""
    submission: str = ""
    login: str = ""
    repository: str = ""
    document: str = ""
    handed_in: datetime | None = None
    extensions: Mapping[str, Extension] = field(default_factory=dict)
    mark: Mark | None = field(default=None, repr=False, compare=False)

    def extension(self, lab: str) -> Extension | None:
        """Return the extension granted for a lab."""
        return self.extensions.get(lab, self.extensions.get(""))


@dataclass(frozen=True, slots=True, kw_only=True)
class Roster:
    """All students, and staff by id."""

    students: tuple[Student, ...] = ()
    staff: Mapping[str, Student] = field(default_factory=dict)

    def marker(self, said: str) -> str:
        """Return a marker's name by id: `Ann Lee (ann)`; the id itself if the roster has no staff.

        Raises:
            UsageError: it has staff, and nobody of that id.
        """
        if not self.staff:
            return said
        found = look_up(folded(said), self.staff, "person", "the roster's staff")
        return f"{found.name} ({found.id})" if found.name else found.id

    def members(self, student: Student) -> tuple[Student, ...]:
        """Return the student's group, or the student alone."""
        if not student.group:
            return (student,)
        return tuple(each for each in self.students if each.group == student.group)


def folded(text: str) -> str:
    """Normalise a name: case, spaces, composed accents."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


# ---- reading ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _StudentRow:
    """One student's entries and their places in the file."""

    said: Mapping[str, str]
    extensions: Mapping[str, str]
    places: Mapping[str, Mark]
    start: Mark

    def place(self, key: str) -> Mark:
        return self.places.get(key, self.start)


def find(root: Path) -> Path | None:
    """The course's roster, if it has one.

    Raises:
        SpecError: it has two.
    """
    there = [root / name for name in FILES if (root / name).is_file()]
    if len(there) > 1:
        raise SpecError(
            [SpecFinding(Mark(str(there[1]), 1, 1), f"there is a '{there[0].name}', too; keep one of them")]
        )
    return there[0] if there else None


def of_course(root: Path) -> Roster:
    """The roster of a course; nobody where it has none.

    Raises:
        SpecError: with every finding.
    """
    file = find(root)
    return read(file) if file is not None else Roster()


def findings(root: Path, labs: Iterable[str]) -> tuple[SpecFinding, ...]:
    """What is wrong with the roster of a course."""
    try:
        file = find(root)
        if file is not None:
            read(file, labs)
    except SpecError as error:
        return error.findings
    return ()


def read(path: Path, labs: Iterable[str] | None = None) -> Roster:
    """Read a roster, .yaml or .csv. `labs`: those that an extension may name.

    Raises:
        SpecError: with every finding, each at its place.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise SpecError([SpecFinding(Mark(str(path), 1, 1), f"this can't be read: {error.strerror}")]) from None
    except UnicodeDecodeError as error:
        said = f"this is not UTF-8 (byte {error.start}); in Excel, save it as 'CSV UTF-8'"
        raise SpecError([SpecFinding(Mark(str(path), 1, 1), said)]) from None
    rows = list(_from_csv(text, str(path)) if path.suffix == ".csv" else _from_yaml(text, str(path)))
    found = list(_findings(rows, None if labs is None else list(labs)))
    if found:
        raise SpecError(found)
    staff = {folded(row.said["id"]): _student(row) for row in rows if row.said.get("role") == _STAFF}
    return Roster(students=tuple(_student(row) for row in rows if row.said.get("role") != _STAFF), staff=staff)


def _from_yaml(text: str, file: str) -> Iterator[_StudentRow]:
    loaded = yaml.load(text, file)
    if found := list(_bare_numbers(loaded)):
        raise SpecError(found)
    if found := validate.number_findings(loaded) + validate.findings(SCHEMA, loaded):
        raise SpecError(found)
    data: Any = loaded.data
    for index, student in enumerate(data["students"]):
        here = ("students", index)
        given = student.get("extension", {})
        whole = isinstance(given, str)
        places = {key: loaded.mark((*here, key)) for key in student}
        places |= {} if whole else {f"extension {lab}": loaded.mark((*here, "extension", lab)) for lab in given}
        said = {key: value for key, value in student.items() if key != "extension"}
        yield _StudentRow(said, {"": given} if whole else given, places, loaded.mark(here))


def _bare_numbers(loaded: yaml.Loaded) -> Iterator[SpecFinding]:
    """Find extensions that are a number without a unit."""
    data: Any = loaded.data
    rows = data.get("students") if isinstance(data, dict) else None
    for index, row in enumerate(rows if isinstance(rows, list) else ()):
        given = row.get("extension") if isinstance(row, dict) else None
        each = given.items() if isinstance(given, dict) else [("", given)]
        for lab, value in each:
            if isinstance(value, int | float) and not isinstance(value, bool):
                place = ("students", index, "extension", *([lab] if lab else []))
                yield SpecFinding(loaded.mark(place), f"'{value}' has no unit: write {SPAN_LIKE}, or {MOMENT_LIKE}")


def _from_csv(text: str, file: str) -> Iterator[_StudentRow]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text))
    heads = [head.strip() for head in next(_cells(reader, file), [])]
    top = Mark(file, 1, 1)
    labs = {head: match["lab"].strip() for head in heads if (match := _OF_LAB.fullmatch(head))}
    found = [SpecFinding(top, _unknown(head)) for head in heads if head not in _WORDS and head not in labs and head]
    found += [
        SpecFinding(top, f"two columns are called '{head}'") for head in {h for h in heads if h and heads.count(h) > 1}
    ]
    if "id" not in heads:
        found.append(SpecFinding(top, "there is no column 'id'; the first line names the columns"))
    if found:
        raise SpecError(found)
    line = reader.line_num
    for cells in _cells(reader, file):
        start, line = Mark(file, line + 1, 1), reader.line_num
        row = {head: cell.strip() for head, cell in zip(heads, cells, strict=False) if head and cell.strip()}
        if not row:
            continue
        given = {labs.get(head, ""): cell for head, cell in row.items() if head in labs or head == "extension"}
        said = {head: cell for head, cell in row.items() if head in _WORDS and head != "extension"}
        yield _StudentRow(said, given, {}, start)


def _cells(reader: Any, file: str) -> Iterator[list[str]]:
    """The lines of a table.

    Raises:
        SpecError: one of them is no line of a table.
    """
    try:
        yield from reader
    except csv.Error as error:
        raise SpecError([SpecFinding(Mark(file, reader.line_num, 1), f"this is no line of a table: {error}")]) from None


def _delimiter(text: str) -> str:
    """Return the delimiter of the cells, which in Excel depends on the country."""
    first = text.partition("\n")[0]
    return max(",;\t", key=first.count)


def _unknown(head: str) -> str:
    known = ", ".join(_WORDS)
    return f"there is no column '{head}' in a roster{did_you_mean(head, _WORDS) or f'; there is {known}'}"


def _findings(rows: list[_StudentRow], labs: list[str] | None) -> Iterator[SpecFinding]:
    ids: dict[str, _StudentRow] = {}
    alike: dict[str, _StudentRow] = {}
    for row in rows:
        yield from _names(row)
        who = row.said.get("id", "")
        if not who:
            yield SpecFinding(row.start, "this student has no 'id'")
            continue
        earlier = ids.setdefault(folded(who), row)
        if earlier is not row:
            yield SpecFinding(row.place("id"), _duplicate(who, earlier, row))
        like = alike.setdefault(_confusable(who), row)
        if like is not earlier:
            said = (
                f"'{one_line(who)}' looks like '{one_line(like.said['id'])}' on line {like.start.line}, and is another"
            )
            yield SpecFinding(row.place("id"), f"{said}: two ids that only a computer tells apart; change one")
        if (role := row.said.get("role", _STUDENT)) not in {_STUDENT, _STAFF}:
            yield SpecFinding(row.place("role"), f"'{role}' is no role; there is {_STUDENT} and {_STAFF}")
        yield from _times(row, labs)
        address = row.said.get("repository", NO_REPOSITORY)
        if address != NO_REPOSITORY and (why := address_problem(address)):
            yield SpecFinding(row.place("repository"), why)
    yield from _duplicates(rows)
    groups = {folded(row.said.get("group", "")): row for row in rows}
    for key, row in ids.items():
        if key in groups and key:
            place = groups[key].place("group")
            yield SpecFinding(place, f"a student has the id '{row.said['id']}', so no group can be called that, too")


def _names(row: _StudentRow) -> Iterator[SpecFinding]:
    """Find names that no hand-in can have, or that hold invisible characters."""
    for word, value in row.said.items():
        unseen = _UNSEEN_IN_IDS if word in _NAMES else _UNSEEN
        if any(unicodedata.category(each) in unseen and each not in "\t\n" for each in value):
            yield SpecFinding(row.place(word), f"'{one_line(value)}' holds characters that can't be seen")
        elif word in _NAMES and (set(value) & {"/", "\\", "\n"} or value.strip(".") == ""):
            what = "an id" if word == "id" else "a hand-in"
            message = (
                f"'{one_line(value)}' is a path, and {what} has a name: without '/' and '\\', and not of dots alone"
            )
            yield SpecFinding(row.place(word), message)


def _confusable(text: str) -> str:
    """Normalise what people hardly see: case, widths of letters, joiners."""
    seen = "".join(
        each for each in unicodedata.normalize("NFKC", text) if unicodedata.category(each) not in _UNSEEN_IN_IDS
    )
    return folded(unicodedata.normalize("NFKC", seen.casefold()))


def _duplicate(who: str, earlier: _StudentRow, row: _StudentRow) -> str:
    groups = [each.said.get("group", "") for each in (earlier, row)]
    if groups[0] != groups[1]:
        one, other = (f"'{group}'" if group else "no group" for group in groups)
        return f"'{who}' is in two groups: in {one} on line {earlier.start.line}, in {other} here; keep one"
    return f"'{who}' is already given on line {earlier.start.line}"


def _duplicates(rows: list[_StudentRow]) -> Iterator[SpecFinding]:
    """Find values that two students share though only one, or one group, may have them."""
    for key in ("email", "submission", "login", "repository"):
        seen: dict[str, _StudentRow] = {}
        for row in rows:
            value = row.said.get(key, "") if (key, row.said.get(key)) != ("repository", NO_REPOSITORY) else ""
            first = seen.setdefault(folded(value), row) if value else row
            same = (
                key in ("submission", "repository")
                and first.said.get("group")
                and first.said.get("group") == row.said.get("group")
            )
            if first is not row and not same and first.said.get("id") != row.said.get("id"):
                other = f"'{first.said.get('id')}' (line {first.start.line})"
                yield SpecFinding(row.place(key), f"the {key} '{value}' is that of {other}, too")
    whose = {folded(row.said.get("id", "")): row for row in rows}
    for row in rows:
        found = whose.get(folded(value), row) if (value := row.said.get("submission", "")) else row
        if found is not row and not (found.said.get("group") and found.said["group"] == row.said.get("group")):
            said = f"the submission '{value}' is called by the id of another, on line {found.start.line}"
            yield SpecFinding(row.place("submission"), said)


def _times(row: _StudentRow, labs: list[str] | None) -> Iterator[SpecFinding]:
    if said := row.said.get("handed_in"):
        try:
            late_rules.parse_moment(said)
        except NoMomentError as error:
            yield SpecFinding(row.place("handed_in"), str(error))
    for lab, text in row.extensions.items():
        place = row.place(f"extension {lab}" if lab else "extension")
        if lab and labs is not None and lab not in labs:
            yield SpecFinding(place, f"there is no lab '{lab}'{did_you_mean(lab, labs)}")
        try:
            _extension(text)
        except NoMomentError as error:
            yield SpecFinding(place, str(error))


def _extension(text: str) -> Extension:
    found = late_rules.parse_duration(text)
    if found is not None:
        return found
    if not re.match(r"\d{4}-", text):
        message = f"'{text}' is no extension: write {SPAN_LIKE}, or {MOMENT_LIKE}"
        raise NoMomentError(message)
    return late_rules.parse_moment(text)


def _student(row: _StudentRow) -> Student:
    said = dict(row.said)
    moment, _ = said.pop("handed_in", ""), said.pop("role", "")
    return Student(
        **said,
        handed_in=late_rules.parse_moment(moment) if moment else None,
        extensions={lab: _extension(text) for lab, text in row.extensions.items()},
        mark=row.start,
    )
