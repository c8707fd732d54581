"""What a person is shown of a hand-in: Markdown as HTML, pictures as pixels, code as tokens. In the reader's jail.

Libraries that parse such things have had holes, and take long on what was made for it: both stay in the jail. What
comes out is sanitised again by who shows it (`labgrade.desk.sanitise`).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from labgrade.answers.reading.documents import Unreadable, read_bytes
from labgrade.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from labgrade.core.results import Submission
    from labgrade.values import Array

READ_HERE = "read-here"  # the class of the block in which a value was read
LONGEST_SIDE = 1600  # pixels
_LARGEST_FILE = 32 << 20
_MOST_PIXELS = 40_000_000
_LEAST_SIDE = 32
_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF")
LARGEST_CODE = 256 << 10  # bytes of a file, and of all files of a hand-in together
_LEVEL = "h3"  # of each heading: students leave levels out, and the page's own come above
_HEADING = re.compile(r"h[1-6]")
CODE = {
    **dict.fromkeys((".py", ".ipynb"), "python"),
    **dict.fromkeys((".c", ".cc", ".cpp", ".cxx", ".cu", ".h", ".hpp"), "cpp"),
}  # the language by a file's suffix


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeFile:
    """A file's code. `tokens`: without comments and blanks, a letter for each name or string; `lines`: of each sign."""

    path: str
    text: str
    tokens: str
    lines: tuple[int, ...]


def as_html(text: str, line: int = 0) -> str:
    """Return Markdown as HTML: tables, code and emphasis; HTML in it stays text, and nothing is linked or loaded.

    `line`, counted from 1, is where a value was read: the smallest block around it has the class `READ_HERE`.
    """
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 40}).enable(["table", "strikethrough"])
    for name, rule in (("image", _image), ("link_open", _nothing), ("link_close", _address)):
        parser.add_render_rule(name, rule)
    tokens = parser.parse(escaped(text))
    for before, inside, behind in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if before.type == "th_open" and not inside.content.strip():  # a head of nothing is none
            before.tag = behind.tag = "td"
    addresses: list[str] = []
    for token in tokens:
        _lower(token)
        for child in token.children or ():
            if child.type == "link_open":
                addresses.append(str(child.attrs.get("href", "")))
            elif child.type == "link_close":
                child.meta = {"address": addresses.pop() if addresses else ""}
    _mark(tokens, line)
    return str(parser.renderer.render(tokens, parser.options, {}))


def _lower(token: Any) -> None:
    """Put a heading below those of the page that shows it."""
    if _HEADING.fullmatch(token.tag):
        token.tag = _LEVEL


def _mark(tokens: Sequence[Any], line: int) -> None:
    around = [
        token
        for token in tokens
        if line and token.map and token.map[0] < line <= token.map[1] and token.nesting >= 0 and token.tag
    ]
    if around:
        min(reversed(around), key=lambda token: token.map[1] - token.map[0]).attrSet("class", READ_HERE)


def _image(renderer: Any, tokens: Any, index: int, *_: Any) -> str:
    from markdown_it.common.utils import escapeHtml

    token = tokens[index]
    name = renderer.renderInlineAsText(token.children or [], renderer, {}) if token.children else ""
    where = str(token.attrs.get("src", ""))
    return f"<em>[picture: {escapeHtml(' '.join(filter(None, (name, f'({where})'))))}]</em>"


def _nothing(*_: Any) -> str:
    return ""


def _address(_renderer: Any, tokens: Any, index: int, *_: Any) -> str:
    from markdown_it.common.utils import escapeHtml

    address = tokens[index].meta.get("address", "")
    return f" <em>({escapeHtml(address)})</em>" if address else ""


def as_pixels(submission: Submission, path: str) -> Array | str:
    """Return a picture, at most `LONGEST_SIDE` wide and high, as rows of red, green, blue, opacity; or why not."""
    import io
    import warnings

    import numpy as np
    from PIL import Image

    data = read_bytes(submission, path, _LARGEST_FILE)
    if isinstance(data, Unreadable):
        return data.reason
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(data), formats=_FORMATS) as picture:
                if picture.width * picture.height > _MOST_PIXELS:
                    return f"it has {picture.width:,} x {picture.height:,} pixels, which is more than is shown"
                picture.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE))
                picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
                return np.asarray(picture.convert("RGBA"), dtype=np.uint8)
    except Exception as error:  # noqa: BLE001 - what a file makes of a decoder is the file's
        return f"it is no picture that can be shown ({type(error).__name__})"


def empty_picture(submission: Submission, path: str) -> str:
    """Return why a picture shows nothing: a few pixels, or one colour; "" if it can't be opened: a person looks."""
    try:
        pixels = as_pixels(submission, path)
    except ImportError:  # without Pillow
        return ""
    if isinstance(pixels, str):
        return ""
    height, width, _ = pixels.shape
    if min(height, width) < _LEAST_SIDE:
        return f"it has {width} x {height} pixels, which show nothing"
    return "it is of one colour" if (pixels == pixels[0, 0]).all() else ""


def as_code(submission: Submission) -> tuple[CodeFile, ...]:
    """Return the code that was handed in, as tokens; files that are no text, or too large, are left out."""
    found, left = [], LARGEST_CODE
    for path in submission.files:
        suffix = PurePosixPath(path).suffix.lower()
        data = read_bytes(submission, path, min(left, LARGEST_CODE)) if suffix in CODE else b""
        if isinstance(data, Unreadable) or not data or len(data) > left:
            continue
        left -= len(data)
        try:
            text = data.decode()
            text = "\n".join(_cells(json.loads(text))) if suffix == ".ipynb" else text
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            continue
        pairs = [(sign, line) for word, line in _tokens(text, CODE[suffix]) for sign in word]
        tokens, lines = "".join(sign for sign, _ in pairs), tuple(line for _, line in pairs)
        found.append(CodeFile(path=path, text=text, tokens=tokens, lines=lines))
    return tuple(found)


def _cells(notebook: Any) -> Iterator[str]:
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            yield "".join(cell["source"])


def _tokens(text: str, language: str) -> Iterator[tuple[str, int]]:
    """Yield the tokens of code without its names, each with its line, counted from 1."""
    from pygments.lexers import get_lexer_by_name
    from pygments.token import Comment, Name, String, Whitespace

    line, inside = 1, False
    for kind, word in get_lexer_by_name(language, stripnl=False, ensurenl=False).get_tokens(text):
        said, inside_before, inside = word.strip(), inside, kind in String and kind not in String.Doc
        if inside:
            if not inside_before:
                yield "S", line
        elif said and kind not in Comment.Single and kind not in Comment.Multiline and kind not in String.Doc:
            own = kind in Name and kind not in Name.Builtin and kind not in Whitespace
            yield ("V" if own else said), line
        line += word.count("\n")
