"""A page of plain lines: indented, wrapped by terminal cells, without a trailing space, safe to show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from labgrade.report.seen import escaped

if TYPE_CHECKING:
    from rich.console import Console

WIDEST = 100  # longer lines are hard to read
NARROWEST = 40  # below this, wrapping makes things worse
LONGEST_TEXT = 1500  # characters of one message
MOST_LINES = 40  # a small network as a program has some 30
WHOLE = "; a page or the JSON has all of it"


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
        encoding = self._console.encoding
        seen = "".join(escaped(character) for character in _clipped(text).expandtabs(4))
        return seen.encode(encoding, "backslashreplace").decode(encoding)

    def line(self, *parts: tuple[str, str], right: tuple[str, str] = ("", ""), hang: int = 0) -> None:
        """Parts of a line, each with its style; `right` stands at the right edge; more lines start at `hang`."""
        left = Text()
        for text, style in parts:
            left.append(self.visible(text), style)
        end = Text(*right)
        beside = bool(end) and end.cell_len <= self.width // 2
        first, *others = self._wrapped(left, self.width - (end.cell_len + 2 if beside else 0), hang)
        if beside:
            first.append(" " * (self.width - first.cell_len - end.cell_len))
            first.append_text(end)
        elif end:
            others.append(Text(" " * max(0, self.width - end.cell_len)) + end)
        for each in (first, *others):
            self._console.print(each, soft_wrap=True, highlight=False)

    def paragraph(self, text: str, *, indent: int, label: str = "", style: str = "") -> None:
        """A text below something: every line indented, and further where it begins with a label."""
        every = text.splitlines()
        lines = _clipped("\n".join(every[:MOST_LINES])).splitlines() or [""]
        if len(every) > MOST_LINES:
            lines.append(f"... ({len(every) - MOST_LINES:,} more lines{WHOLE})")
        for number, each in enumerate(lines):
            head = label if number == 0 else " " * cell_len(label)
            self.line(
                (" " * indent + head, "dim" if head.strip() else ""), (each, style), hang=indent + cell_len(label)
            )

    def rule(self) -> None:
        """A line across the page."""
        self.line((("─" if self.can_show("─") else "-") * self.width, "dim"))

    def blank(self) -> None:
        """An empty line."""
        self._console.print()

    def _wrapped(self, text: Text, room: int, hang: int) -> list[Text]:
        """Lines of at most `room` cells; all but the first are indented by `hang`."""
        head, *rest = text.wrap(self._console, room, overflow="fold")
        head.rstrip()
        if not rest:
            return [head]
        hang = min(hang, self.width // 2)
        tail = text[len(head) :]
        tail = tail[len(tail.plain) - len(tail.plain.lstrip()) :]
        lines = [head]
        for each in tail.wrap(self._console, room - hang, overflow="fold"):
            each.rstrip()
            if each:
                lines.append(Text(" " * hang) + each)
        return lines


def _clipped(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    kept = LONGEST_TEXT - 100  # with what follows still short enough, so that cutting again changes nothing
    return f"{text[:kept]}... ({len(text) - kept:,} more characters{WHOLE})"
