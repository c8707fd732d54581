"""Finds submissions and lists their files. Reads, never runs, and follows no link."""

from __future__ import annotations

import os
import stat
import unicodedata
from typing import TYPE_CHECKING

from labgrade.errors import UsageError, did_you_mean
from labgrade.results import Submission, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_LEFT_OUT = frozenset(
    {".git", ".gitkeep", ".venv", "venv", "__pycache__", "node_modules", ".ipynb_checkpoints", "__MACOSX"}
)
_MOST_FILES = 20_000


def find(folder: Path, names: Sequence[str]) -> list[Submission]:
    """The submissions called `names` in `folder`, in that order, each once; `all` stands for every folder, sorted.

    Raises:
        UsageError: there is no such folder or submission; the message offers the closest name.
    """
    if not folder.is_dir():
        message = f"there is no folder '{folder}' to take submissions from; name one with --submissions-dir"
        raise UsageError(message)
    there = sorted(entry.name for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    wanted = [name for asked in names for name in (there if asked == "all" else [_match(folder, asked, there)])]
    return [read(folder / name, name) for name in dict.fromkeys(wanted)]


def read(folder: Path, name: str) -> Submission:
    """List the regular files of one submission.

    Raises:
        UsageError: `folder` is not a folder.
    """
    if not folder.is_dir():
        message = f"'{folder}' is not a folder" if folder.exists() else f"there is no folder '{folder}'"
        raise UsageError(message)
    files: list[str] = []
    refused: list[str] = []
    for relative, problem in _walk(folder):
        if problem:
            refused.append(f"'{relative}' was left out: {problem}")
        elif len(files) == _MOST_FILES:
            refused.append(f"only the first {_MOST_FILES:,} files were read")
            break
        else:
            files.append(relative)
    left_out = tuple(sorted(map(printable, refused)))
    return Submission(name=printable(name), folder=folder, files=tuple(sorted(files)), refused=left_out)


def _match(folder: Path, name: str, there: list[str]) -> str:
    if name in there:
        return name
    same = [other for other in there if unicodedata.normalize("NFC", other) == unicodedata.normalize("NFC", name)]
    same = same or [other for other in there if printable(other) == name]
    if len(same) == 1:
        return same[0]
    if name in {"", ".", ".."} or "/" in name or os.sep in name:
        message = f"'{name}' is a path, and a submission has a name; for the folder use --submissions-dir"
        raise UsageError(message)
    case = next((other for other in there if other.casefold() == name.casefold()), None)
    offer = f"; did you mean '{case}'?" if case else did_you_mean(name, there)
    what = offer or (
        f"; it has {', '.join(there[:8])}{', ...' if len(there) > len(there[:8]) else ''}" if there else "; it is empty"
    )
    message = printable(f"there is no submission '{name}' in '{folder}'{what}")
    raise UsageError(message)


def _walk(top: Path) -> Iterator[tuple[str, str]]:
    """Each file below `top` as a POSIX path, with what keeps it out (or nothing)."""
    for base, folders, names in os.walk(top, followlinks=False, onerror=None):
        here = os.path.relpath(base, top)
        linked = [name for name in folders if os.path.islink(os.path.join(base, name))]  # noqa: PTH114, PTH118 - os.walk's names
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT and name not in linked)
        for name in sorted({*names, *linked} - _LEFT_OUT):
            relative = name if here == "." else f"{here}/{name}".replace(os.sep, "/")
            yield relative, _problem(os.path.join(base, name), top)  # noqa: PTH118


def _problem(path: str, top: Path) -> str:
    try:
        mode = os.lstat(path).st_mode
    except OSError as error:
        return f"it can't be read ({error.strerror})"
    if stat.S_ISLNK(mode):
        target = os.path.realpath(path)
        inside = target.startswith(os.path.realpath(top) + os.sep)
        return "it is a link; hand in the file itself" if inside else "it is a link that leads out of the folder"
    return "" if stat.S_ISREG(mode) else "it is not a regular file"
