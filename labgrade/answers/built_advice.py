"""What to do about a C++ program that failed: from how it ended, and from what its sources say of files and input."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from labgrade import run_words
from labgrade.sandbox.visible import decoded, visible

if TYPE_CHECKING:
    from labgrade.build_sources import Sources
    from labgrade.forms import BuildForm
    from labgrade.sandbox.request import ProgramRun

_UNOPENED = re.compile(r"open file failed[^\n]{0,200}file path: ([^\n]{1,200})")
_LOADED = re.compile(r"\bload\s*\(\s*\"([^\"\n]{1,200})\"")
_MODEL = re.compile(r"\"([^\"\s]{1,200}\.pth?)\"")
_ARGUMENTS = re.compile(r"\bargv\b")
_TYPED = re.compile(r"\bcin\s*>>|\bgetline\s*\(\s*(?:std::)?cin\b|\bscanf\s*\(")
_SUFFIXES = (".cpp", ".cc", ".cxx", ".h", ".hpp")
_MOST_BYTES = 1 << 20


def remedy(run: ProgramRun, form: BuildForm, sources: Sources) -> str:
    """What to do, or nothing."""
    if run.status == "crashed" and "SIGSEGV" in run.reason:
        return (
            "it used memory that is not its own: an index beyond the end, a null pointer, or an argv[i] that was not "
            "given"
        )
    if run.status not in ("crashed", "returned"):
        return ""
    text = _text(sources)
    if run_words.TORCHSCRIPT in form.given and (name := _other_model(run, text)):
        at = form.given.index(run_words.TORCHSCRIPT) + 1
        return f"open the file that the program is called with, argv[{at}], not '{visible(name, 200)}'"
    if _TYPED.search(text):
        return "nobody types while your work is graded: take what you need from argv, not from std::cin"
    return ""


def _other_model(run: ProgramRun, text: str) -> str:
    """A model that is opened in place of the given one: what could not be opened, else a name in the sources."""
    if unopened := _UNOPENED.search(run.reason) or _UNOPENED.search(decoded(run.stderr)):
        return unopened[1].strip()
    found = _LOADED.search(text) or (None if _ARGUMENTS.search(text) else _MODEL.search(text))
    return found[1] if found else ""


def _text(sources: Sources) -> str:
    room, parts = _MOST_BYTES, []
    for name, path in sources.paths().items():
        if name.endswith(_SUFFIXES) and room > 0:
            parts.append(decoded(path.read_bytes()[:room]))
            room -= len(parts[-1])
    return "\n".join(parts)
