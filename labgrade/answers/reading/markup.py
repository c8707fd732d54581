"""What other programs write, in the plain form that the rest reads.

Within a text HTML's named blanks and signs, the rows of its tables and of LaTeX's as rows of pipes, where they stand.
Whole files of Word, HTML, PDF and notebooks as Markdown, by libraries (`labgrade[reports]`), in the jail alone.
"""

from __future__ import annotations

import io
import json
import logging
import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from labgrade.answers.reading.code import is_code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ENTITIES = {
    "nbsp": "\u00a0", "#160": "\u00a0", "#xa0": "\u00a0", "thinsp": "\u2009", "ensp": " ", "emsp": " ",
    "times": "\u00d7", "#215": "\u00d7", "middot": "\u00b7", "asymp": "\u2248", "approx": "\u2248", "equals": "=",
    "comma": ",", "minus": "-", "ndash": "-", "mdash": "-", "nbhy": "-", "quot": '"', "#39": "'",
}  # fmt: skip
_ENTITY = re.compile(f"&({'|'.join(_ENTITIES)});", re.IGNORECASE)
_ROW = re.compile(
    r"<tr\b[^<>]{0,200}>((?:(?!<tr\b).){0,20000}?)(?:</tr>(?:[ \t]*\n)?|(?=<tr\b)|(?=</table>)|(?=</tbody>))",
    re.IGNORECASE | re.DOTALL,
)
_FIRST_ROW = re.compile(r"(?<=>)(?<!</tr>)[ \t]*(?=<tr\b)", re.IGNORECASE)  # else <table> is a cell before it
_CELL = re.compile(r"<t[dh]\b[^<>]{0,200}>", re.IGNORECASE)
_HEAD = re.compile(r"<th\b", re.IGNORECASE)
_TAG = re.compile(r"</?(?!sup>)[a-z][^<>]{0,200}>", re.IGNORECASE)  # 10<sup>9</sup> is no 109
_MOST_ROWS = 20_000
_LATEX = re.compile(
    r"^[^&\n]{0,400}&[^\n]{0,1500}\\\\[ \t]*(?:\\(?:hline|midrule|bottomrule|toprule)[ \t]*){0,2}$", re.MULTILINE
)
_LATEX_COMMAND = re.compile(r"\\(?:textbf|texttt|textit|emph|num|mathrm|text|verb\|?)\{([^{}\n]{0,100})\}")


def plain_markup(text: str) -> str:
    """Return the text with its markup replaced by what it means."""
    if "&" in text and ";" in text:
        text = _ENTITY.sub(lambda found: _ENTITIES[found[1].lower()], text)
    if "<t" in text or "<T" in text:
        text = _ROW.sub(_row_of_html, _FIRST_ROW.sub("\n", text), count=_MOST_ROWS)
    if "&" in text and "\\\\" in text:
        text = _LATEX.sub(_row_of_latex, text)
    return _with_footnotes(text) if "[^" in text else text


_FOOTNOTE = re.compile(r"^[ \t]{0,3}\[\^([\w-]{1,40})\]:[ \t]*([^\n]{1,400})$", re.MULTILINE)
_REFERENCE = re.compile(r"\[\^([\w-]{1,40})\]")
_LARGE = re.compile(r"\d{3}")


def _with_footnotes(text: str) -> str:
    """Return the text with footnotes in place of their marks, on lines without numbers of their own."""
    notes = {found[1]: found[2] for found in _FOOTNOTE.finditer(text)}
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if not (_FOOTNOTE.match(line) or _LARGE.search(line)):
            lines[at] = _REFERENCE.sub(lambda led: f": {notes.pop(led[1])}" if led[1] in notes else led[0], line)
    return "\n".join(lines)


_TEX_NUMBER = re.compile(r"\\num\s?(?:\[[^\[\]\n]{0,80}\])?\{([^{}\n]{0,80})\}")
_TEX_QUANTITY = re.compile(r"\\(?:SI|qty)\s?(?:\[[^\[\]\n]{0,80}\])?\{([^{}\n]{0,80})\}\{([^{}\n]{0,80})\}")
_TEX_UNITS = {
    "kilo": "k", "mega": "M", "giga": "G", "tera": "T", "kibi": "Ki", "mebi": "Mi", "gibi": "Gi",
    "byte": "B", "bit": "bit", "second": "s", "percent": "%", "milli": "m", "micro": "u",
}  # fmt: skip
_TEX_UNIT = re.compile(r"\\([a-z]{3,8})")
_TEX_COMMENT = re.compile(r"(?<!\\)%[^\n]*")
_TEX_ITEM = re.compile(r"^([ \t]*)\\item\b[ \t]*(?:\[([^\[\]\n]{0,80})\])?", re.MULTILINE)
_TEX_BREAK = re.compile(
    r"\\(?:\\(?:\*|\[[^\[\]\n]{0,20}\])?|newline|par|noindent|hfill)(?![A-Za-z])(?=[ \t]*$|[ \t])", re.MULTILINE
)
_TEX_DRESSING = re.compile(r"\\(?:textbf|texttt|textit|emph|underline|text|mathrm|mathbf|textsf)\{([^{}\n]{0,200})\}")


def plain_latex(text: str) -> str:
    """Return LaTeX with its commands replaced by what they print, as far as values are concerned.

    The number of lines stays. Numbers and units of siunitx, comments, items, line breaks, dressed words. Rows of tables
    and headings stay.
    """
    text = _TEX_COMMENT.sub("", text)
    text = _TEX_NUMBER.sub(r"\1", text)
    text = _TEX_QUANTITY.sub(lambda found: f"{found[1]} {_TEX_UNIT.sub(_tex_unit, found[2])}", text)
    text = _TEX_ITEM.sub(lambda found: f"{found[1]}- {found[2] or ''}", text)
    text = _TEX_DRESSING.sub(r"\1", text).replace("\\%", "%").replace("\\_", "_")
    return "\n".join(line if "&" in line else _TEX_BREAK.sub("", line) for line in text.split("\n"))


def _tex_unit(found: re.Match[str]) -> str:
    return _TEX_UNITS.get(found[1], found[1])


def _row_of_html(found: re.Match[str]) -> str:
    """Return a row with pipes, and a rule below it if it heads a table; the number of lines stays, at least one.

    Lines that are left over are rules, too: a blank line would end the table.
    """
    cells = [" ".join(_TAG.sub(" ", cell).split()) for cell in _CELL.split(found[1])[1:]]
    if not cells:
        return found[0]
    row = f"| {' | '.join(cells)} |"
    if _HEAD.search(found[1]) and len(_HEAD.findall(found[1])) == len(cells):
        row += "\n" + "|---" * len(cells) + "|"
    return row + "\n|" * (found[0].count("\n") - row.count("\n") - 1) + "\n"


def _row_of_latex(found: re.Match[str]) -> str:
    if is_code(found[0]):
        return found[0]
    row = _LATEX_COMMAND.sub(r"\1", found[0]).rstrip()
    row = re.sub(r"(?:\\(?:hline|midrule|bottomrule|toprule)\s*)+", " ", row).rstrip().removesuffix("\\\\")
    cells = re.sub(r"(?<!\\)&", "|", row).replace("\\_", "_")
    rule = "" if re.search(r"\d", cells) else "\n" + "|---" * (cells.count("|") + 1) + "|"
    return f"| {cells} |{rule}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """A file as Markdown. `problem`: why it is not whole, for the student; a person then reads the file itself."""

    text: str
    problem: str = ""


def is_converted(path: str) -> bool:
    """Return whether a file's name has a format that is not text."""
    return PurePosixPath(path).suffix.lower() in FORMATS


def converted(data: bytes, path: str) -> Converted | None:
    """Return a file of a format that is not text as Markdown; None if its name has no such format."""
    form = FORMATS.get(PurePosixPath(path).suffix.lower())
    if form is None:
        return None
    try:
        return Converted(text=form(data)[:_MOST_CHARS])
    except ImportError as error:
        return Converted(text="", problem=f"can't be read here without the package '{error.name}'")
    except (MemoryError, RecursionError):
        raise
    except Exception as error:  # noqa: BLE001 - each library has its own for a file that is damaged or encrypted
        said = " ".join(str(error).split())[:_MOST_SAID]
        return Converted(text="", problem=f"can't be opened ({said or type(error).__name__})")


def _html(data: bytes | str) -> str:
    """Return HTML as it is seen: without scripts, styles and hidden elements."""
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    page = BeautifulSoup(data, "html.parser")
    for tag in [*_hidden_by_rules(page), *page.find_all(_is_unseen)]:
        if not tag.decomposed:
            tag.decompose()
    write = MarkdownConverter(heading_style="ATX", escape_misc=False, escape_underscores=False, sup_symbol="<sup>")
    markdown: str = write.convert_soup(page)
    return markdown


def _hidden_by_rules(page: Any) -> Iterator[Any]:
    """Yield the elements that the page's own style sheets hide, by selectors of a name, a class or an id."""
    sheets = "\n".join(tag.get_text() for tag in page.find_all("style"))[:_LONGEST_SHEET]
    for selectors, rule in _CSS_RULE.findall(_CSS_COMMENT.sub("", sheets))[:_MOST_RULES]:
        simple = _SELECTOR.findall(selectors) if _HIDDEN.search(rule) else ()
        for name, sign, word in simple:
            by = {"": {}, ".": {"class_": word}, "#": {"id": word}}[sign]
            yield from page.find_all(name or True, **by)


def _is_unseen(tag: Any) -> bool:
    return tag.name in _UNSEEN or tag.has_attr("hidden") or bool(_HIDDEN.search(tag.get("style") or ""))


def _word(data: bytes) -> str:
    import mammoth

    return _html(mammoth.convert_to_html(io.BytesIO(data)).value)


def _pdf(data: bytes) -> str:
    from pypdf import PdfReader

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # of a damaged file it says more than a job may print
    pages = PdfReader(io.BytesIO(data)).pages
    return with_headings(joined([page.extract_text(extraction_mode="layout") for page in pages[:_MOST_PAGES]]))


def joined(pages: list[str]) -> str:
    """Return the pages of a document as one text; a table may go on over a page's first lines."""
    text = ""
    for page in pages:
        ends = [
            _COLUMN.split(line.strip())
            for line in (text.rstrip().rpartition("\n")[2], page.lstrip().partition("\n")[0])
        ]
        goes_on = len(ends[0]) == len(ends[1]) > 1
        text = f"{text.rstrip()}\n{page.lstrip()}" if goes_on else f"{text}\n\n{page}" if text else page
    return text


def with_headings(text: str) -> str:
    """Return a text whose headings lost their size, with Markdown headings.

    They are lines `Lab 1`, and below it `1. Batch size` by itself. Below a lab the numbers rise: a list within a
    section, which begins at 1 again, has no headings. A few words by themselves, `Fully Connected`, are a heading
    there, too.
    """
    last, lab = 99, False
    lines = text.split("\n")
    for place, line in enumerate(lines):
        alone = not any(map(str.strip, lines[max(0, place - 1) : place + 2 : 2])) or lines[place - 1].startswith("# ")
        if _LAB_ALONE.match(line):
            lines[place], last = f"# {line.strip()}", 0
        elif alone and (found := _NUMBERED.match(line)) and last < int(found[1]):
            lines[place], last = f"## {line.strip()}", int(found[1])
        elif lab and alone and _FEW_WORDS.match(line):
            lines[place] = f"### {line.strip()}"
        lab = lab or bool(_OF_LAB.match(line))
    return "\n".join(lines)


def _notebook(data: bytes) -> str:
    """Return the cells of a notebook in order: texts as they are, code and its output in fences."""
    cells = json.loads(data)["cells"]
    return "\n\n".join(part for cell in cells for part in _cell(cell) if part.strip())


def _cell(cell: Any) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
    elif cell["cell_type"] == "code":
        yield f"```python\n{source}\n```" if source else ""
        for output in cell.get("outputs", ()):
            said = "".join(output.get("text") or output.get("data", {}).get("text/plain") or ())
            yield f"```\n{said.rstrip()}\n```" if said.strip() else ""


_LAB_ALONE = re.compile(r"[ \t]{0,60}(?:lab|hw|homework)[ \t]{1,3}\d{1,2}[ \t]{0,60}:?$", re.IGNORECASE)
_NUMBERED = re.compile(r"[ \t]{0,60}(\d{1,2})[.)]?[ \t]{1,3}[^\W\d_][^|\n]{0,100}(?<![.,;])$")
_COLUMN = re.compile(r"[ \t]{2,}")
_OF_LAB = re.compile(r"[ \t]{0,60}lab[ \t]{1,3}\d", re.IGNORECASE)
_FEW_WORDS = re.compile(r"[ \t]{0,60}[^\W\d_a-z]\w{2,20}(?: [^\W\d_]\w{2,20}){0,3}[ \t]*$")
_MOST_CHARS = 64_000_000
_MOST_PAGES = 500
_MOST_SAID = 150
_UNSEEN = frozenset({"head", "noscript", "script", "style", "template"})
_HIDDEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|text-decoration[a-z-]{0,20}\s*:[^;]{0,60}line-through", re.IGNORECASE
)
_LONGEST_SHEET = 100_000
_MOST_RULES = 200
_CSS_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_CSS_RULE = re.compile(r"([^{}]{1,400})\{([^{}]{0,2000})\}")
_SELECTOR = re.compile(r"(?:^|,)\s*([a-z][a-z0-9]*)?(?:([.#])([\w-]+))?\s*(?=,|$)", re.IGNORECASE)
FORMATS: dict[str, Callable[[bytes], str]] = {
    ".docx": _word, ".htm": _html, ".html": _html, ".ipynb": _notebook, ".pdf": _pdf,
}  # fmt: skip
LOSSY = (".docx", ".pdf")  # numbers of headings, boxes, and which cell stands beside which may be lost
