"""Markup that other programs write into a text, in the plain form that the rest reads; lines stay where they are.

HTML's named blanks and signs, the rows of its tables and of LaTeX's as rows of pipes.
"""

from __future__ import annotations

import re

from labgrade.answers.reading.code import is_code

_ENTITIES = {
    "nbsp": "\u00a0", "#160": "\u00a0", "#xa0": "\u00a0", "thinsp": "\u2009", "ensp": " ", "emsp": " ",
    "times": "\u00d7", "#215": "\u00d7", "middot": "\u00b7", "asymp": "\u2248", "approx": "\u2248", "equals": "=",
    "comma": ",", "minus": "-", "ndash": "-", "mdash": "-", "nbhy": "-", "quot": '"', "#39": "'",
}  # fmt: skip
_ENTITY = re.compile(f"&({'|'.join(_ENTITIES)});", re.IGNORECASE)
_ROW = re.compile(
    r"<tr\b[^<>]{0,200}>((?:(?!<tr\b).){0,20000}?)(?:</tr>|(?=<tr\b)|(?=</table>)|(?=</tbody>))",
    re.IGNORECASE | re.DOTALL,
)
_CELL = re.compile(r"<t[dh]\b[^<>]{0,200}>", re.IGNORECASE)
_HEAD = re.compile(r"<th\b", re.IGNORECASE)
_TAG = re.compile(r"</?[a-z][^<>]{0,200}>", re.IGNORECASE)
_MOST_ROWS = 20_000
_LATEX = re.compile(
    r"^[^&\n]{0,400}&[^\n]{0,1500}\\\\[ \t]*(?:\\(?:hline|midrule|bottomrule|toprule)[ \t]*){0,2}$", re.MULTILINE
)
_LATEX_COMMAND = re.compile(r"\\(?:textbf|texttt|textit|emph|num|mathrm|text|verb\|?)\{([^{}\n]{0,100})\}")


def plain_markup(text: str) -> str:
    """The text with what its markup means in place of the markup."""
    if "&" in text and ";" in text:
        text = _ENTITY.sub(lambda found: _ENTITIES[found[1].lower()], text)
    if "<t" in text or "<T" in text:
        text = _ROW.sub(_row_of_html, text, count=_MOST_ROWS)
    if "&" in text and "\\\\" in text:
        text = _LATEX.sub(_row_of_latex, text)
    return text


def _row_of_html(found: re.Match[str]) -> str:
    """A row of pipes, a rule below it where it heads a table; as many lines as before, and one at least."""
    cells = [" ".join(_TAG.sub(" ", cell).split()) for cell in _CELL.split(found[1])[1:]]
    if not cells:
        return found[0]
    row = f"| {' | '.join(cells)} |"
    if _HEAD.search(found[1]) and len(_HEAD.findall(found[1])) == len(cells):
        row += "\n" + "|---" * len(cells) + "|"
    return row + "\n" * max(1, found[0].count("\n") - row.count("\n"))


def _row_of_latex(found: re.Match[str]) -> str:
    if is_code(found[0]):
        return found[0]
    row = _LATEX_COMMAND.sub(r"\1", found[0]).rstrip()
    row = re.sub(r"(?:\\(?:hline|midrule|bottomrule|toprule)\s*)+", " ", row).rstrip().removesuffix("\\\\")
    cells = re.sub(r"(?<!\\)&", "|", row).replace("\\_", "_")
    rule = "" if re.search(r"\d", cells) else "\n" + "|---" * (cells.count("|") + 1) + "|"
    return f"| {cells} |{rule}"
