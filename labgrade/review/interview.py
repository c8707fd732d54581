"""Marking in the terminal: the text, the rubric, the points, one hand-in after another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from labgrade.reports import summary
from labgrade.reports.plain_page import Page
from labgrade.review import decisions
from labgrade.review.decisions import in_words, points
from labgrade.review.marking import FULL, NONE, NoPointsError, accept_suggestion, mark, parse_share, with_suggestion
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction
    from pathlib import Path

    from rich.console import Console

    from labgrade.review.decisions import Place, Ruling
    from labgrade.review.marking import ToDecide

_SLICE = 1_000  # characters that are made visible at a time
SKIP, BACK, STOP = "s", "b", "q"
TAKE, TAKE_CHECK, TAKE_KIND = "a", "c", "k"
_HELP = f"points, '{FULL}' or '{NONE}'; {SKIP}: skip this one, {BACK}: take back the last mark, {STOP}: stop"
_TAKE_HELP = f"{TAKE}: accept the suggestion, {TAKE_CHECK}: and all others of this check, {TAKE_KIND}: all of its kind"


_KEYS = frozenset({SKIP, BACK, STOP})
_ACCEPTING = frozenset({TAKE, TAKE_CHECK, TAKE_KIND})


class _LeftError(Exception):
    """The person typed a letter instead of points: `s`, `b` or `q`."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(key)


class Desk:
    """Where a person marks. Each mark is kept as soon as it is given, so that one can stop at any moment.

    `ask` prompts and gives the line that was typed; EOFError is the end. `called` says how a submission is named.
    """

    def __init__(
        self, console: Console, ask: Callable[[str], str], results: Path, *, by: str, called: Callable[[str], str]
    ) -> None:
        self._page = Page(console)
        self._console = console
        self._ask = ask
        self._results = results
        self._by = by
        self._called = called
        self._seen: dict[Place, int] = {}  # the last row about each check that this person knows of

    def work(self, waiting: Sequence[ToDecide], of: int = 0) -> int:
        """Ask about each waiting check; return how many were marked. `of`: how many wait in all, if these are some."""
        of = of or len(waiting)
        now = decisions.read(self._results)
        self._seen = {each.place: now.last(each.place) for each in waiting}
        kept: list[int] = []
        place = 0
        while place < len(waiting):
            if self._decided_meanwhile(waiting[place]):
                place += 1
                continue
            self._show(waiting[place], place + 1, of)
            try:
                self._mark(waiting[place])
            except _LeftError as left:
                if left.key == STOP:
                    break
                if left.key == BACK:
                    place = self._back(waiting, kept, place)
                    continue
                if left.key in _ACCEPTING:
                    kept += self._accept(waiting, place, left.key, kept)
            else:
                kept.append(place)
            place += 1
            while place in kept:
                place += 1
        left_over = of - len(kept)
        self._page.line((f"{len(kept):,} marked, {left_over:,} wait" + ("s" if left_over == 1 else ""), "bold"))
        return len(kept)

    def _show(self, each: ToDecide, number: int, of: int) -> None:
        page, place = self._page, each.place
        page.blank()
        page.line((f"{place.task} {place.check}  ", "bold"), (each.title, ""), right=(f"{number:,} of {of:,}", "dim"))
        origin = f"  from: {each.graded.answer_from}" if each.graded.answer_from else ""
        who = self._called(place.submission)
        page.line(("submission ", "dim"), (who, "bold"), (origin, "dim"), hang=11, gutter=page.gutter)
        page.rule()
        text = each.graded.to_mark.text if each.graded.to_mark is not None else ""
        self._text(text)
        if each.graded.verdict.outcome is not Outcome.MANUAL or not text or len(each.rubric) == 1:
            page.paragraph(summary.full_reason(each.graded.verdict), indent=2, style="dim")
        for beside in each.graded.verdict.comparisons:
            page.paragraph(summary.beside_expected(beside), indent=2, label=f"{beside.name}: ", style="dim")
        page.rule()
        if each.earlier:
            page.paragraph(each.earlier, indent=0, label="before: ", style="yellow")
        for worth, what in each.rubric:
            page.line((f"{points(worth):>6}  ", "cyan"), (what, ""), hang=8)
        if (suggestion := each.graded.verdict.suggestion) is not None:
            page.paragraph(summary.suggested(suggestion), indent=0, label="labgrade suggests: ", style="cyan")
            page.line((_TAKE_HELP, "dim"))
        page.line((_HELP, "dim"))

    def _text(self, text: str) -> None:
        """Print a text in full, with nothing that could act on the terminal."""
        for line in text.splitlines():
            slices = (line[start : start + _SLICE] for start in range(0, max(len(line), 1), _SLICE))
            seen = Text("".join(map(self._page.visible, slices)))
            for part in seen.wrap(self._console, self._page.width - 4, overflow="fold", tab_size=4):
                part.rstrip()
                self._console.print(Text(f"  {self._page.gutter}", "dim") + part, soft_wrap=True, highlight=False)

    def _mark(self, each: ToDecide) -> None:
        keys = _KEYS | (_ACCEPTING if each.graded.verdict.suggestion is not None else frozenset())
        shares = [self._points(worth, what, keys) for worth, what in each.rubric]
        comment = self._typed("comment for the student (enter for none): ")
        ruling = mark(each.place, each.graded, shares, by=self._by, comment=comment)
        decisions.add(self._results, [(ruling, self._seen[each.place])])
        self._learn(each.place)
        self._page.line((f"kept: {points(ruling.credit * ruling.worth)} of {points(ruling.worth)}", "green"))

    def _accept(self, waiting: Sequence[ToDecide], place: int, key: str, kept: Sequence[int]) -> list[int]:
        """Accept a suggestion, or all remaining ones of its check or kind; return which were accepted."""
        each = waiting[place]
        suggestion = each.graded.verdict.suggestion
        what = {TAKE_KIND: suggestion.kind if suggestion else "", TAKE_CHECK: f"{each.place.task} {each.place.check}"}
        chosen = [each] if key == TAKE else [each, *with_suggestion(waiting[place:], what[key])]
        taken = [number for number in range(place, len(waiting)) if waiting[number] in chosen and number not in kept]
        decisions.add(
            self._results, [(accept_suggestion(waiting[at], self._by), self._seen[waiting[at].place]) for at in taken]
        )
        for at in taken:
            self._learn(waiting[at].place)
        self._page.line((f"accepted: {len(taken):,}", "green"))
        return taken

    def _points(self, worth: Fraction, what: str, keys: frozenset[str]) -> Fraction:
        while True:
            typed = self._typed(f"{what} (0 to {points(worth)}): ")
            if typed.strip().lower() in keys:
                raise _LeftError(typed.strip().lower())
            try:
                return parse_share(typed, worth)
            except NoPointsError as error:
                self._page.line((str(error), "yellow"))

    def _typed(self, prompt: str) -> str:
        try:
            return self._ask(self._page.visible(prompt))
        except EOFError:
            self._page.blank()
            raise _LeftError(STOP) from None

    def _back(self, waiting: Sequence[ToDecide], kept: list[int], place: int) -> int:
        """Take back the last mark; return where to go on."""
        if not kept:
            self._page.line(("nothing was marked before this one", "yellow"))
            return place
        place = kept.pop()
        taken, _ = decisions.undo(self._results, waiting[place].place, by=self._by, reason="taken back while marking")
        self._learn(waiting[place].place)
        self._page.line((f"taken back: {_short(taken)}", "yellow"))
        return place

    def _learn(self, place: Place) -> None:
        self._seen[place] = decisions.read(self._results).last(place)

    def _decided_meanwhile(self, each: ToDecide) -> bool:
        """Return whether somebody else decided meanwhile; their decision is shown and stays."""
        now = decisions.read(self._results)
        ruling = now.in_force(each.place)
        if now.last(each.place) == self._seen[each.place] or ruling is None:
            self._seen[each.place] = now.last(each.place)
            return False
        self._page.line((f"{self._called(each.place.submission)} was marked meanwhile: {_short(ruling)}", "yellow"))
        return True


def _short(ruling: Ruling) -> str:
    return in_words(ruling).partition(", ")[0]
