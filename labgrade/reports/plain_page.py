"""A page of plain lines: indented, wrapped by terminal cells, without a trailing space, safe to show."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from rich.cells import cell_len
from rich.segment import Segment, Segments

from labgrade.core.text import GUTTER, for_terminal, is_own, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

Run: TypeAlias = tuple[str, str]  # a text and its style

WIDEST = 100  # longer lines are hard to read
NARROWEST = 40  # below this, wrapping makes things worse
LONGEST_TEXT = 1500  # characters of one message
MOST_LINES = 40  # a small network as a program has some 30
WHOLE = "; a page or the JSON has all of it"

_LEAST = 10  # cells of a line below the first: what stands at the right may leave fewer
_WORD = re.compile(r"\s*\S+\s*")


class Page:
    """Writes to a rich console. All text is shown as it is: no markup, no control characters, no emoji codes."""

    def __init__(self, console: Console) -> None:
        """Fit the console's width."""
        self._console = console
        self.width = max(NARROWEST, min(console.width, WIDEST))

    def can_show(self, text: str) -> bool:
        """Whether the console's encoding has these characters."""
        return self.visible(text) == text

    def visible(self, text: str) -> str:
        """The text with whatever could act on a terminal, or that its encoding lacks, written as an escape."""
        return for_terminal(one_line(_clipped(text).expandtabs(4)), self._console.encoding)

    def line(self, *parts: Run, right: Run = ("", ""), hang: int = 0, gutter: str = "") -> None:
        """Parts of a line, each with its style; `right` stands at the right edge; more lines start by `gutter`."""
        end = cell_len(right[0])
        beside = 0 < end <= self.width // 2
        runs = [(self.visible(text), style) for text, style in parts]
        first, *others = self._wrapped(runs, self.width - (end + 2 if beside else 0), hang, gutter)
        if beside:
            gap = self.width - sum(cell_len(text) for text, _ in first) - end
            first = [*first, (" " * gap, ""), right]
        elif end:
            others.append([(" " * max(0, self.width - end), ""), right])
        if not self._console.is_terminal:
            self._console.file.writelines("".join(text for text, _ in runs) + "\n" for runs in (first, *others))
            return
        style = self._console.get_style
        for runs in (first, *others):
            segments = [Segment(text, style(name)) for text, name in runs if text]
            self._console.print(Segments([*segments, Segment.line()]), soft_wrap=True)

    def paragraph(
        self, text: str, *, indent: int, label: str = "", style: str = "", own: str = "", theirs: bool = False
    ) -> None:
        """A text below something: every line indented, and further where it begins with a label.

        Where it is a student's (`theirs`), or may quote one, at the left of each line stands what no part of the page
        itself has. `own` comes before it.
        """
        self._lines(own + text, indent, label, style, self.gutter if text and (theirs or not is_own(text)) else "")

    def say(self, text: str, *, indent: int = 0, label: str = "", style: str = "") -> None:
        """Print a text of labgrade's own, such as what to do next."""
        self._lines(text, indent, label, style, "")

    @property
    def gutter(self) -> str:
        """What stands at the left of each line that a student may have had a hand in."""
        return f"{GUTTER} " if self.can_show(GUTTER) else "| "

    def _lines(self, text: str, indent: int, label: str, style: str, gutter: str) -> None:
        every = text.splitlines()
        lines = _clipped("\n".join(every[:MOST_LINES])).splitlines() or [""]
        if len(every) > MOST_LINES:
            lines.append(f"... ({len(every) - MOST_LINES:,} more lines{WHOLE})")
        for number, each in enumerate(lines):
            head = label if number == 0 else " " * cell_len(label)
            start = (" " * indent + head, "dim" if head.strip() else "")
            self.line(start, (gutter, "dim"), (each, style), hang=indent + cell_len(label), gutter=gutter)

    def rule(self) -> None:
        """A line across the page."""
        self.line((("─" if self.can_show("─") else "-") * self.width, "dim"))

    def blank(self) -> None:
        """An empty line."""
        self._console.print()

    def _wrapped(self, runs: Sequence[Run], room: int, hang: int, gutter: str) -> list[list[Run]]:
        """Lines of at most `room` cells; all but the first are indented by `hang`, with `gutter` before them."""
        text = "".join(text for text, _ in runs)
        breaks = _breaks(text, room)
        if not breaks:
            return [_part(runs, 0, len(text.rstrip()))]
        hang = min(hang, self.width // 2)
        begin = len(text) - len(text[breaks[0] :].lstrip())
        starts = [
            begin,
            *(begin + each for each in _breaks(text[begin:], max(_LEAST, room - hang - cell_len(gutter)))),
            len(text),
        ]
        lines = [_part(runs, 0, len(text[: breaks[0]].rstrip()))]
        for start, end in pairwise(starts):
            if text[start:end].strip():
                lines.append(
                    [(" " * hang, ""), (gutter, "dim"), *_part(runs, start, start + len(text[start:end].rstrip()))]
                )
        return lines


def _breaks(text: str, room: int) -> list[int]:
    """Where lines of at most `room` cells begin after the first: at words, or within a word longer than a line."""
    found: list[int] = []
    used = 0
    for word in _WORD.finditer(text):
        length = cell_len(word[0].rstrip())
        if length <= room - used:
            used += cell_len(word[0])
            continue
        if word.start():
            found.append(word.start())
        used = 0
        for at, character in enumerate(word[0] if length > room else "", word.start()):
            size = cell_len(character)
            if used and used + size > room:
                found.append(at)
                used = 0
            used += size
        used = used or cell_len(word[0])
    return found


def _part(runs: Sequence[Run], start: int, end: int) -> list[Run]:
    """What of the runs stands from `start` to `end` of their text."""
    found, at = [], 0
    for text, style in runs:
        found.append((text[max(0, start - at) : max(0, end - at)], style))
        at += len(text)
    return found


def _clipped(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    kept = LONGEST_TEXT - 100  # with what follows still short enough, so that cutting again changes nothing
    return f"{text[:kept]}... ({len(text) - kept:,} more characters{WHOLE})"
