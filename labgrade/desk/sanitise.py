"""What students wrote as it may stand on a page: rendered in the reader's jail, sanitised here, kept for a while."""

from __future__ import annotations

import posixpath
import re
import secrets
import threading
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from html import unescape
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import nh3
from markupsafe import Markup

from labgrade.answers.reader.asks import Ask
from labgrade.answers.reader.replies import GarbledReplyError, decode, encode
from labgrade.answers.rendering import READ_HERE
from labgrade.core.task import Limits
from labgrade.core.text import for_html
from labgrade.desk.wording import parts
from labgrade.sandbox.requests import ReadRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from labgrade.desk.wording import Part
    from labgrade.sandbox.runner import Runner

_LIMITS = Limits(seconds=3, memory=512 << 20)
_REMEMBERED = 400
_TAGS = {
    *("p", "br", "hr", "em", "strong", "s", "blockquote", "pre", "code", "ul", "ol", "li"),
    *("h3", "table", "thead", "tbody", "tr", "th", "td"),
}
_TYPED = ".txt"  # no Markdown: its lines and underscores are meant as they are
_PRE = '<pre class="typed">{}</pre>'
_APART = "\n\n{}\n\n"
_SHOWN_PICTURE = re.compile(r"<em>\[picture: (?P<alt>[^<>\"]{0,400}?) ?\((?P<source>[^<>\"()]{1,400})\)\]</em>")
_PASSAGE = re.compile(r"^\[([^\n]{1,400}):(\d{1,9})\]$", re.MULTILINE)
_ORIGIN = re.compile(r"(?P<path>[^\n]+?):(?P<line>\d{1,9})(?:,|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPassage:
    """A part of a hand-in: its file, where it stands, its HTML, and the very line in which a value was read, or ""."""

    path: str
    place: str
    html: Markup
    read_line: str = ""


class Renderer:
    """Renders what students wrote. Without a `runner`, or where its jail fails, text is shown as it was typed."""

    def __init__(self, runner: Runner | None, scratch: Path) -> None:
        self._runner = runner
        self._empty = scratch
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, int], Future[Markup]] = OrderedDict()
        self._turn = object()
        self._later = ThreadPoolExecutor(max_workers=1)
        self._between = f"apart-{secrets.token_hex(8)}"  # what no student writes

    def passages(self, text: str, answer_from: str, *, typed: bool = False) -> tuple[ShownPassage, ...]:
        """What a person reads, rendered, or all as it was `typed`. Where a value was read is marked, and shown once."""
        found = _ORIGIN.match(answer_from)
        path, at = (found["path"], int(found["line"])) if found else ("", 0)
        all_parts = split(text)
        lengths = [
            part.count("\n") + 1 if at and path == place and first <= at <= first + part.count("\n") else 0
            for place, first, part in all_parts
        ]
        shown = []
        for (place, first, part), length in zip(all_parts, lengths, strict=True):
            if length < max(lengths) and length:
                continue  # it stands within the larger one
            as_it_is = typed or PurePosixPath(place).suffix.lower() == _TYPED
            line = at - first + 1 if length else 0
            cut = parts(part, line)
            if not length and any(lengths):
                cut = [replace(each, fold=f"{len(each.lines)} lines beside it") for each in cut]
            where = f"{place}, line {first}" if place else ""
            read = part.split("\n")[line - 1].strip() if line else ""
            html = self._shown(cut, typed=as_it_is)
            shown.append(ShownPassage(path=place, place=where, html=html, read_line=read))
        return tuple(shown)

    def _shown(self, cut: Sequence[Part], *, typed: bool) -> Markup:
        """Render the parts of a passage at once, since each start of the jail takes a while."""
        read = 0
        for number, each in enumerate(cut):
            if each.line:
                read = sum(len(before.lines) + _APART.count("\n") - 1 for before in cut[:number]) + each.line
        whole = _APART.format(self._between).join("\n".join(each.lines) for each in cut)
        made = [] if typed else self.html(whole, read).split(f"<p>{self._between}</p>\n")
        if len(made) != len(cut):
            made = [as_typed("\n".join(each.lines), each.line) for each in cut]
        return Markup("").join(folded(each.fold, html) for each, html in zip(cut, map(Markup, made), strict=True))

    def ahead(self, texts: Iterable[tuple[str, str]]) -> None:
        """Render these texts ahead of time, instead of those of the last call."""
        self._turn = turn = object()

        def render() -> None:
            for text, answer_from in texts:
                if self._turn is not turn:
                    return
                self.passages(text, answer_from)

        self._later.submit(render)

    def close(self) -> None:
        """Stop rendering ahead, after waiting for what is under way."""
        self._later.shutdown(cancel_futures=True)

    def html(self, text: str, line: int = 0) -> Markup:
        """Return a text as safe HTML; a text that is being rendered is waited for."""
        with self._lock:
            known = self._known.get((text, line))
            mine = known is None
            if known is None:
                known = self._known[text, line] = Future()
            self._known.move_to_end((text, line))
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        if mine:
            try:
                known.set_result(self._render(text, line))
            except BaseException as error:
                with self._lock:
                    self._known.pop((text, line), None)
                known.set_exception(error)
                raise
        return known.result()

    def _render(self, text: str, line: int) -> Markup:
        reply = (
            ask_reader(self._runner, self._empty, (), Ask(wanted="markdown", about=text, line=line))
            if self._runner is not None
            else None
        )
        return sanitised(reply) if isinstance(reply, str) else as_typed(text)


def split(text: str) -> list[tuple[str, int, str]]:
    """The passages of a report with their file and first line; a text that is an answer itself has neither."""
    heads = list(_PASSAGE.finditer(text))
    if not heads or heads[0].start():
        return [("", 1, text)]
    ends = [*(head.start() for head in heads[1:]), len(text)]
    return [
        (head[1], int(head[2]), text[head.end() + 1 : end].rstrip("\n"))
        for head, end in zip(heads, ends, strict=True)
        if PurePosixPath(head[1]).name
    ]


def ask_reader(runner: Runner, folder: Path, files: Sequence[str], ask: Ask) -> Any:
    """Ask the reader's jail about a hand-in; return its reply, or None."""
    request = ReadRequest(folder=folder, files=tuple(files), asks=(encode(ask)[0].decode(),), limits=_LIMITS)
    done = runner.read(request)
    frames = done.value if isinstance(done.value, list) else []
    try:
        match frames:
            case [{"event": "read", "data": data, "arrays": list(parts)}]:
                from labgrade.answers.reader.replies import array

                arrays = [array(dtype, shape, raw) for dtype, shape, raw in parts]
                return decode(data.tobytes(), arrays)
    except (GarbledReplyError, ValueError, AttributeError):
        pass
    return None


def sanitised(html: str) -> Markup:
    """Return HTML without anything that acts, loads or links."""
    clean = nh3.clean(
        html,
        tags=_TAGS,
        clean_content_tags={"script", "style"},
        attributes={tag: {"class"} for tag in _TAGS} | {"ol": {"start", "class"}},
        attribute_filter=_only_ours,
        url_schemes=set(),
        link_rel=None,
    )
    return Markup(clean)  # noqa: S704 - sanitised


def _only_ours(_tag: str, name: str, value: str) -> str | None:
    if name == "class":
        return READ_HERE if value == READ_HERE else None
    return value if value.isascii() and value.isdigit() else None


def as_typed(text: str, line: int = 0) -> Markup:
    """Show a text as it was typed. A value was read in `line`, counted from 1."""
    lines = [for_html(each) for each in text.split("\n")]
    if 0 < line <= len(lines):
        lines[line - 1] = f'<span class="{READ_HERE}">{lines[line - 1]}</span>'
    return Markup(_PRE.format("\n".join(lines)))  # noqa: S704 - escaped


def folded(what: str, html: Markup) -> Markup:
    """Fold HTML up under the title `what`, if there is one."""
    return Markup("<details><summary>{}</summary>{}</details>").format(what, html) if what else html


def with_pictures(passage: ShownPassage, names: Sequence[str], address: Callable[[int], str]) -> ShownPassage:
    """Put the handed-in pictures, numbered in `names`, into their places in a passage."""

    def shown(match: re.Match[str]) -> str:
        beside = posixpath.join(posixpath.dirname(passage.path), unquote(unescape(match["source"])))
        number = {name: number for number, name in enumerate(names)}.get(posixpath.normpath(beside))
        if number is None:
            return match[0]
        alt = match["alt"] or "picture"
        return f'<img src="{for_html(address(number))}" alt="{alt}: can\'t be shown" loading="lazy">'

    return replace(passage, html=Markup(_SHOWN_PICTURE.sub(shown, passage.html)))  # noqa: S704 - our own addresses
