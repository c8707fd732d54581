"""Warns of words that make a sentence hard to read: `python tests/helpers/words.py [FILE ...]`, part of `make lint`.

Looks at comments, docstrings and messages of the engine, and at the documentation. Ends with 0: a person decides.
"""

from __future__ import annotations

import re
import sys
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PLACES = ("labgrade", "checkers", "reference", "docs", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
_FIRST = 10
# Each with what to write instead.
WORDS = {
    r"\btold(?! apart)\b": "say what is known, passed or printed, and by what",
    r"\bwhoever\b": "name the actor: a person, a student, the grader",
    r"\bnobody's\b": "say that it belongs to no student, or is not used",
    r"\bof ours\b": "labgrade's, or trusted",
    r"\bone that\b": "repeat the noun",
    r"\bwhat is so\b": "name the property",
    r"\bthe how manieth\b": "its index, or its position",
    r"\bis none the wiser\b": "say what it does not learn",
}


def texts(file: Path) -> Iterator[tuple[int, str]]:
    """The lines of prose of a file, each with its number: of a program its comments and strings."""
    if file.suffix != ".py":
        yield from enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        return
    with tokenize.open(file) as stream:
        for token in tokenize.generate_tokens(stream.readline):
            if token.type in (tokenize.COMMENT, tokenize.STRING):
                yield from enumerate(token.string.splitlines(), token.start[0])


def warnings(file: Path) -> Iterator[str]:
    """What a person should look at, each with its place."""
    for number, line in texts(file):
        for pattern, instead in WORDS.items():
            for found in re.finditer(pattern, line, re.IGNORECASE):
                yield f"{file}:{number}: '{found[0]}': {instead}"


def files(places: list[str]) -> Iterator[Path]:
    """The files that are meant, programs and documentation."""
    for place in map(Path, places):
        below = sorted(place.rglob("*")) if place.is_dir() else [place]
        yield from (path for path in below if path.suffix in (".py", ".md"))


def main(named: list[str]) -> int:
    """Print every warning of the files that are named; of all files, the first and how many there are."""
    found = [line for file in files(named or [str(ROOT / place) for place in PLACES]) for line in warnings(file)]
    for line in found if named else found[:_FIRST]:
        print(line)  # noqa: T201
    if len(found) > _FIRST and not named:
        print(f"... {len(found)} in all; name files or folders to see theirs")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
