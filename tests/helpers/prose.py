"""How the docs read: `python tests/helpers/prose.py`, part of `make lint`. Ends with 1 where it says something.

Prints for each page its words of prose and the Flesch reading ease (pyphen), then what proselint says of it.
Code and headings are no prose. Pages that are generated (docs/reference) are not looked at.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pyphen
from proselint.checks import __register__
from proselint.registry import CheckRegistry
from proselint.tools import LintFile

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [
    *sorted(ROOT.glob("docs/*.md")),
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "tests/README.md")),
]
# Of prose: on a page, in docs/. With code, tables and headings, as `wc -w docs/*.md README.md` counts them.
MOST_WORDS, MOST_WORDS_IN_DOCS, MOST_WITH_CODE, MOST_IN_README, LEAST_EASE = 1100, 15_200, 22_250, 700, 55
MOST_WORDS_OF = {"security.md": 1900}  # its promises, which tests hold
# Quotation marks and ellipses as they are typed, and rules that mistake sizes and shapes for dates and slips.
_SYLLABLES = pyphen.Pyphen(lang="en_US", left=1, right=1)
OFF = (
    "dates_times",
    "lexical_illusions",
    "misc.phrasal_adjectives",  # a multiply-accumulate
    "redundancy.misc.after_the_deadline",
    "spelling.consistency",
    "typography.symbols",
)


def prose(text: str) -> str:
    """A page without code, headings and marks; each cell of a table is a sentence."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^\|[-| ]+\|$|^#+ .*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"^\|(.*)\|$", _sentences, text, flags=re.MULTILINE)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"[*_#>]", "", re.sub(r"`[^`]*`", "code", text))


def _sentences(row: re.Match[str]) -> str:
    return " ".join(f"{cell.strip().rstrip('.')}." for cell in row[1].split("|") if cell.strip())


def ease(text: str) -> float:
    """The reading ease of Flesch (1948): 206.835 - 1.015 words a sentence - 84.6 syllables a word."""
    words = re.findall(r"[A-Za-z][A-Za-z'-]*", text)
    sentences = max(1, len(re.findall(r"[.!?:;](?:\s|$)", text)))
    syllables = sum(len(_SYLLABLES.positions(word)) + 1 for word in words)
    return 206.835 - 1.015 * len(words) / sentences - 84.6 * syllables / len(words)


def said(name: str, text: str) -> list[str]:
    """What is wrong with a page's prose."""
    found = [
        f"{name}: {each.check_result.message} ({each.check_result.check_path})"
        for each in LintFile(name, text).lint()
        if not each.check_result.check_path.startswith(OFF)
    ]
    if ease(text) < LEAST_EASE:
        found.append(f"{name}: the reading ease is {ease(text):.0f}; {LEAST_EASE} is the least")
    return found


def main() -> int:
    """Print the figures of each page and all that is wrong."""
    CheckRegistry().register_many(__register__)
    found, total = [], 0
    for page in PAGES:
        text = prose(page.read_text(encoding="utf-8"))
        words = len(text.split())
        total += words * (page.parent.name == "docs")
        sys.stdout.write(f"{words:6,} words  ease {ease(text):3.0f}  {page.relative_to(ROOT)}\n")
        found += said(page.name, text)
        most = MOST_WORDS_OF.get(page.name, MOST_WORDS)
        found += [f"{page.name}: {words:,} words; {most:,} are the most"] * (words > most)
    with_code = {page: len(page.read_text(encoding="utf-8").split()) for page in (*ROOT.glob("docs/*.md"), README)}
    for what, words, most in (
        ("in docs", total, MOST_WORDS_IN_DOCS),
        ("in docs and README, with code", sum(with_code.values()), MOST_WITH_CODE),
        ("in README, with code", with_code[README], MOST_IN_README),
    ):
        sys.stdout.write(f"{words:6,} words {what}, of {most:,}\n")
        found += [f"{words:,} words {what}; {most:,} are the most"] * (words > most)
    sys.stdout.write("".join(f"{each}\n" for each in found))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
