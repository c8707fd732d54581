"""PyYAML's errors, phrased for people and put where the mistake is rather than where the parser gave up."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from labgrade.core.errors import Mark, SpecFinding

if TYPE_CHECKING:
    import yaml

TOO_DEEP = "this is nested too deeply"
TOO_MUCH = "this holds more values than any answers do"
QUOTE_IT = "put it in quotes"
_LIBYAML_TOO_DEEP = "exceeded maximum nesting depth"  # from version 0.2.6 on, which reads ahead of the events it gives
_WITHOUT_BLANK = re.compile(r"(\s*(?:- +)*)([\w-]+):(\S.*)")
_LINE_SEPARATOR = re.compile("[\u2028\u2029\x85]")
_BLANKS = "[\u00a0\u2000-\u200a\u202f\u205f\u3000]"
_ODD_BLANK = re.compile(rf"[ ]*(?:- +)*(?:-|[\w-]+:)?(?P<blank>{_BLANKS})")
_ODD_COLON = re.compile(r"[ ]*(?:- +)*[\w-]+(?P<colon>\uff1a)")
_INDICATOR = re.compile(r"found character '(.)' that cannot start any token")
_FOUND = re.compile(r"but (?:got|found) '?([^']+)'?$")
_TOKENS = {
    "<scalar>": "more text",
    "<block mapping start>": "a key",
    "?": "a key",
    "-": "a list",
    "<stream end>": "the end",
}


def finding(error: yaml.MarkedYAMLError, text: str, file: str) -> SpecFinding:
    """Return the finding for an error of PyYAML's, with the remedy."""
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line, mark.column) if mark else (0, 0)
    if error.problem in (TOO_DEEP, TOO_MUCH, _LIBYAML_TOO_DEEP):
        return SpecFinding(Mark(file, line + 1, column + 1), TOO_MUCH if error.problem == TOO_MUCH else TOO_DEEP)
    start = (error.context_mark.line, error.context_mark.column) if error.context_mark else (line, column)
    context, problem = error.context or "", error.problem or ""
    found = (
        _of_a_character(text, line)
        or _of_a_quote(context, problem, text, line, column, start)
        or _of_a_line(context, problem, text, line, column, start)
    )
    (line, column), message = found or ((line, column), _otherwise(context, problem))
    return SpecFinding(Mark(file, line + 1, column + 1), message)


_Placed = tuple[tuple[int, int], str]


def _of_a_quote(
    context: str, problem: str, text: str, line: int, column: int, start: tuple[int, int]
) -> _Placed | None:
    """Explain quotes that are never closed, or closed too early."""
    if "quoted scalar" in context and "end of stream" in problem:
        return start, "this quote is never closed"
    if "quoted scalar" in context and "escape" in problem:
        return (line, column), r"in double quotes a backslash begins an escape; use single quotes, or write \\"
    if "<block end>" not in problem or "<scalar>" not in problem:
        return None
    lines = text.splitlines()
    before = "\n".join([*lines[:line], lines[line][:column]]).rstrip(" ")
    if not before.endswith(("'", '"')):
        return None
    opened = before.rfind(before[-1], 0, -1)
    above = before.count("\n", 0, opened)
    if above < line:
        return (above, opened - before.rfind("\n", 0, opened) - 1), f"this quote is closed only on line {line + 1}"
    return (line, column), "the text ends with the quote before this; inside of single quotes a quote is written twice"


def _of_a_character(text: str, line: int) -> _Placed | None:
    """Explain a character that only looks like a blank, a colon or a line end."""
    if broken := _LINE_SEPARATOR.search(text):  # in the parser's count of lines each is one
        above = text[: broken.start()].split("\n")
        said = f"a line separator (U+{ord(broken[0]):04X}) ends the line here; write a blank, or begin a new line"
        return (len(above) - 1, len(above[-1])), said
    for at in (line, line - 1):
        written = text.split("\n")[at : at + 1] if at >= 0 else []
        for each in written:
            if blank := _ODD_BLANK.match(each):
                said = f"this blank is U+{ord(blank['blank']):04X}, which YAML takes for text; write a plain blank"
                return (at, blank.start("blank")), said
            if colon := _ODD_COLON.match(each):
                return (
                    at,
                    colon.start("colon"),
                ), "this colon is U+FF1A, which YAML takes for text; write ':' and a blank"
    return None


def _of_a_line(context: str, problem: str, text: str, line: int, column: int, start: tuple[int, int]) -> _Placed | None:
    """Explain characters and lines that mean something else than their author thinks."""
    lines = text.splitlines()
    indicator = _INDICATOR.match(problem)
    if problem.startswith("found character '\\t'"):
        return (line, column), "a tab stands here; use spaces"
    if indicator:
        return (line, column), f"a text can't begin with '{indicator[1]}'; {QUOTE_IT}"
    if context.startswith(("while scanning an alias", "while scanning an anchor", "while scanning a directive")):
        return start, f"a text can't begin with '{lines[start[0]][start[1]]}'; {QUOTE_IT}"
    if problem.startswith("found undefined alias"):
        return (line, column), f"`*` repeats an anchor, which the language has not; if this is text, {QUOTE_IT}"
    if context == "while scanning a simple key":
        return start, _without_blank(lines[start[0]]) or "this line is no 'key: value'"
    if problem == "mapping values are not allowed here":
        above = _without_blank(lines[line - 1]) if line and ":" not in lines[line][:column] else ""
        if above:
            return (line - 1, len(lines[line - 1]) - len(lines[line - 1].lstrip())), above
        if line and ":" not in lines[line - 1] and ":" not in lines[line][:column]:
            return (line - 1, 0), "this line is no 'key: value'"
        if ":" in lines[line][:column]:
            return (line, column), f"a colon with a blank behind it begins a value; if this is text, {QUOTE_IT}"
        return (line, column), "this line is indented more than its neighbours, or the line above is no 'key: value'"
    return None


def _without_blank(line: str) -> str:
    match = _WITHOUT_BLANK.fullmatch(line.rstrip())
    return f"write '{match[2]}: {match[3][:40]}', with a blank behind the colon" if match else ""


def _otherwise(context: str, problem: str) -> str:
    """Explain the rest: mostly brackets and indentation."""
    token = _FOUND.search(problem)
    seen = _TOKENS.get(token[1], f"'{token[1]}'") if token else ""
    if "flow sequence" in context and seen:
        return f"this is not YAML: a list needs ',' or ']' here, not {seen}"
    if "flow mapping" in context and seen:
        return f"this is not YAML: a mapping needs ',' or '}}' here, not {seen}"
    if "another document" in problem:
        return "a second document begins here (`---`); a file holds one"
    if "<block end>" in problem and seen:
        return f"this is not YAML: {seen} stands here that does not fit what is above; look at the indentation"
    return f"this is not YAML: {problem or context}"
