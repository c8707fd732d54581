"""The pages about the class: the whole of it, a student's own page, and two hand-ins side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from labgrade.core.student_view import for_student
from labgrade.desk import page_fields
from labgrade.desk.next_answer import TOP, NotHereError
from labgrade.ledger.database import Ledger
from labgrade.ledger.read import same_files
from labgrade.reports import figures
from labgrade.reports.html import classroom, student
from labgrade.reports.html.classroom import CodeRow, CommonWork

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from labgrade.answers.rendering import CodeFile
    from labgrade.desk.alike import AlikeCode, AlikeSearch
    from labgrade.desk.snapshot import LiveResults
    from labgrade.review.results import Whole

_CLASS = "/class"
_BESIDE = 3  # lines that are shown before and behind those that two have in common


class ClassPages:
    """The pages about the class, for one person."""

    def __init__(self, live: LiveResults, by: str, looks: AlikeSearch) -> None:
        self._live, self._by, self._looks = live, by, looks

    def class_page(self, _: Mapping[str, str]) -> str:
        """The class as a whole, for staff."""
        whole, looked = self._live.whole(), self._looks.looked()
        code = [_row(each, whole) for each in looked.found]
        says = (
            looked.says if looked.over else f"{looked.done} hand-ins are read so far: load this page again in a while"
        )
        same = CommonWork(files=self._same_files(whole), code=code, says=says)
        return classroom.render(whole.shown, lambda name: _link("/student", who=name), marking=TOP, same=same)

    def student_page(self, query: Mapping[str, str]) -> str:
        """Return a student's own page, without what only staff see.

        Raises:
            NotHereError: nobody is called so.
        """
        shown = self._live.whole().shown
        found = tuple(each for each in shown.submissions if each.name == query.get("who"))
        if not found:
            raise NotHereError(_CLASS)
        return student.render(for_student(replace(shown, submissions=found)))

    def side_by_side(self, query: Mapping[str, str]) -> str:
        """Return two hand-ins side by side with their common code marked.

        Raises:
            NotHereError: these two have nothing.
        """
        whole, asked = self._live.whole(), (query.get("one"), query.get("other"))
        pair = next((each for each in self._looks.looked().found if _name_of(each, whole) == asked), None)
        if pair is None:
            raise NotHereError(_CLASS)
        names = _name_of(pair, whole)
        files = [paths for paths, whose in self._same_files(whole) if {*names} <= {*whose}]
        values = [each for each in figures.same_values(whole.shown) if {*names} <= {*each.names}]
        shown = [
            [
                {"name": name, "path": code.path, "parts": list(_marked_lines(code, lines))}
                for name, code, lines in zip(names, each.files, each.lines, strict=True)
            ]
            for each in pair.pairs
        ]
        return (
            page_fields.environment()
            .get_template("alike.html")
            .render(
                by=self._by,
                anonymous=whole.key is not None,
                folder=str(self._live.folder),
                problem="",
                last=(),
                names=names,
                pair=pair,
                shown=shown,
                files=[path for paths in files for path in paths],
                values=values,
            )
        )

    def _same_files(self, whole: Whole) -> Sequence[tuple[Sequence[str], Sequence[str]]]:
        with Ledger(self._live.folder) as ledger:
            found = same_files(ledger)
        return [(paths, tuple(map(whole.names.of, whose))) for paths, whose in found]


def _name_of(pair: AlikeCode, whole: Whole) -> tuple[str, str]:
    one, other = map(whole.names.of, pair.names)
    return one, other


def _row(pair: AlikeCode, whole: Whole) -> CodeRow:
    one, other = _name_of(pair, whole)
    return CodeRow(
        names=(one, other),
        share=pair.share,
        lines=pair.lines,
        paths=tuple(each.files[0].path for each in pair.pairs),
        href=_link("/alike", one=one, other=other),
    )


def _link(path: str, **query: str) -> str:
    return f"{path}?{urlencode(query)}"


def _marked_lines(code: CodeFile, common: frozenset[int]) -> Iterator[tuple[str, str]]:
    """Yield a file's lines with `same`, "", or `gap` where lines are left out before one."""
    lines = code.text.splitlines()
    shown = {line for at in common for line in range(at - _BESIDE, at + _BESIDE + 1) if 0 < line <= len(lines)}
    before = 0
    for line in sorted(shown):
        if line != before + 1:
            yield "gap", f"... line {line}"
        yield ("same" if line in common else ""), lines[line - 1]
        before = line
