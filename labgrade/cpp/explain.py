"""What a reader finds in a build's log, in what a failed program said, in C++ sources: parts of sentences."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypeAlias

from labgrade.core.text import decoded
from labgrade.cpp.log import broken_limit, first_error, remedy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from labgrade.core.results import Submission

    Found: TypeAlias = Literal["log", "crash", "sources"]
    Explain: TypeAlias = Callable[[Found, Submission, str], tuple[str, ...]]

_THROWN = re.compile(
    r"terminate called after throwing an instance of '([^'\n]{1,200})'\s*(?:what\(\):\s*([^\n]{1,300}))?"
)
_STARVED = re.compile(r"std::bad_alloc|can't allocate memory|DefaultCPUAllocator: not enough memory")
_INTERPRETER = "The following operation failed in the TorchScript interpreter"
_UNDERLYING = re.compile(r"^(?:[A-Za-z]+Error: )([^\n]{1,300})", re.MULTILINE)
_COMPILATION_UNIT = re.compile(r" \(of Python compilation unit at: 0x[0-9a-f]+\)")  # an address, and another each time
_UNOPENED = re.compile(r"open file failed[^\n]{0,200}file path: ([^\n]{1,200})")
_LOADED = re.compile(r"\bload\s*\(\s*\"([^\"\n]{1,200})\"")
_MODEL = re.compile(r"\"([^\"\s]{1,200}\.pth?)\"")
_ARGUMENTS = re.compile(r"\bargv\b")
_TYPED = re.compile(r"\bcin\s*>>|\bgetline\s*\(\s*(?:std::)?cin\b|\bscanf\s*\(")
_SUFFIXES = (".cpp", ".cc", ".cxx", ".h", ".hpp")
_MOST_BYTES = 1 << 20
_SAID_CHARS = 300
NOTHING: Mapping[Found, tuple[str, ...]] = {"log": ("",) * 3, "crash": ("",) * 5, "sources": ("",) * 2}
MOST_CHARS = 1 << 18  # of what a tool or a program said that are looked at


def read(found: Found, submission: Submission, said: str) -> tuple[str, ...]:
    """Return the parts of sentences that describe a build's `log`, a `crash`, what was `said`, or the `sources`.

    A log: the limit that was broken, the first error, the remedy. A crash: whether memory was missing, the exception
    that nothing caught and what it says, the last line, the model that could not be opened. Sources: the model
    that they open by a name of their own, whether they wait for somebody to type. What is not there is "".
    """
    match found:
        case "log":
            return broken_limit(said), first_error(said), remedy(said)
        case "crash":
            return _crash(said)
    text = _text(submission)
    opened = _LOADED.search(text) or (None if _ARGUMENTS.search(text) else _MODEL.search(text))
    return opened[1] if opened else "", "types" if _TYPED.search(text) else ""


def _crash(errors: str) -> tuple[str, ...]:
    thrown, unopened = _THROWN.search(errors), _UNOPENED.search(errors)
    last = next((line.strip() for line in reversed(errors.splitlines()) if line.strip()), "")
    return (
        "starved" if thrown and _STARVED.search(thrown[0]) else "",
        thrown[1] if thrown else "",
        _cause(thrown[2].strip(), errors) if thrown and thrown[2] else "",
        last[:_SAID_CHARS],
        unopened[1].strip() if unopened else "",
    )


def _cause(said: str, errors: str) -> str:
    """Return the error that was thrown; where an operation of the model failed, the last line, which says why."""
    under = _UNDERLYING.findall(errors) if said.startswith(_INTERPRETER) else []
    return _COMPILATION_UNIT.sub("", under[-1].strip() if under else said)


def _text(submission: Submission) -> str:
    room, parts = _MOST_BYTES, []
    for name in submission.files:
        if name.endswith(_SUFFIXES) and room > 0:
            parts.append(decoded((submission.folder / name).read_bytes()[:room]))
            room -= len(parts[-1])
    return "\n".join(parts)
