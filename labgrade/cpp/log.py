"""What compilers, linkers and build tools say, read for the first error: the others mostly follow from it."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_ERROR = re.compile(
    r"^(?P<place>[^\s:][^:\n]{0,300}:\d+(?::\d+)?): (?:fatal )?error: (?P<said>[^\n]{1,500})", re.MULTILINE
)
_FROM = re.compile(r"^(?:In file included from |                 from )(?P<place>[^:\n]{1,300}:\d+)", re.MULTILINE)
_REQUIRED = re.compile(r"^(?P<place>[^\s:][^:\n]{0,300}:\d+(?::\d+)?):   required (?:from|by)", re.MULTILINE)
_CMAKE = re.compile(
    r"^CMake Error(?: at (?P<place>[^\s:]{1,300}:\d+) \([^)\n]*\))?:\s*"
    r"(?P<said>[^\n]{1,500}(?:\n  \S[^\n]{0,200}){0,5})",  # a paragraph
    re.MULTILINE,
)
_LINKER = re.compile(r"^(?:[^\n]{0,300}: )?(?P<said>undefined reference to [^\n]{1,300})", re.MULTILINE)
_OF_TORCH = re.compile(r"\b(?:torch|c10|at|caffe2)::")
_CONFIGURED = re.compile(r"^-- (?:Configuring done|Build files have been written)", re.MULTILINE)
_OF_MAIN = re.compile(r"[`']main'")
_CUDA = re.compile(r"cannot find -l(?:torch_cuda|c10_cuda|cuda|nvrtc)")
_LIBRARY = re.compile(r"ld: (?P<said>cannot find [^\n]{1,200})")
_MAKE = re.compile(r"^make[^\n:]{0,20}: \*\*\* (?P<said>[^\n]{1,300})", re.MULTILINE)
_FULL = re.compile(r"File size limit exceeded|File too large|No space left on device")
_HUNGRY = re.compile(r"(?:virtual memory exhausted|out of memory|Cannot allocate memory|cannot allocate)[^\n]{0,100}")
_NETWORK = re.compile(
    r"[Cc]ould(?:n't| not) resolve host|Network is unreachable|Temporary failure in name resolution|"
    r"unable to resolve host|[Nn]ame or service not known|unable to access '(?:https?|git)"
)
_SAID_CHARS = 400


def first_error(log: str) -> str:
    """Return the first error with its file and line: the compiler's, else that of CMake, the linker or make.

    An error inside of a library's header is placed at the line of the student's that led there.
    """
    if found := _ERROR.search(log):
        return _compiled(found, log)
    if found := _CMAKE.search(log):
        place = f"{found['place']}: " if found["place"] else ""
        return f"{place}CMake: {' '.join(found['said'].split())}"[:_SAID_CHARS]
    for pattern in (_LINKER, _LIBRARY):
        if found := pattern.search(log):
            return f"the linker: {found['said'].strip()}"[:_SAID_CHARS]
    if found := _MAKE.search(log):
        return f"make: {found['said'].strip()}"[:_SAID_CHARS]
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return lines[-1][:_SAID_CHARS] if lines else "nothing was said about why"


def broken_limit(log: str) -> str:
    """Return `disk` or `memory` where a tool says that it ran out of it, else an empty text."""
    return "disk" if _FULL.search(log) else "memory" if _HUNGRY.search(log) else ""


def remedy(log: str) -> str:
    """Return the remedy for an error that comes from the build environment; an empty text for others."""
    if _NETWORK.search(log):
        return (
            "the build has no network access: hand in what it needs, and let find_package(Torch) find LibTorch, "
            "which is installed"
        )
    found = _ERROR.search(log)
    said = found["said"] if found else ""
    if "No such file or directory" in said and ("/" in said or ".." in said):
        return "hand in the included file, too, and include it by a path within your folder: no other files are there"
    if found := _LINKER.search(log):
        if _OF_TORCH.search(found["said"].partition("(")[0]):
            return _unlinked(log)
        if _OF_MAIN.search(found["said"]):
            return "no file that is built has a main(): name the file with main() in add_executable(...)"
        return (
            "it is declared and used, but no file that is built defines it: name that file in add_executable(...), too"
        )
    if _CUDA.search(log):
        return "PyTorch is the CPU's here: link \"${TORCH_LIBRARIES}\", and no library of CUDA's by its name"
    return ""


def _unlinked(log: str) -> str:
    """Return what a build file lacks where LibTorch is not linked: what finds it, or what links it."""
    if not _CONFIGURED.search(log):
        return "link LibTorch: -ltorch -ltorch_cpu -lc10, behind the files that use it"
    if "Found Torch" not in log:
        return (
            "LibTorch is not looked for: find_package(Torch REQUIRED) has to stand before target_link_libraries(...), "
            "or ${TORCH_LIBRARIES} is empty"
        )
    return 'link LibTorch behind find_package(Torch REQUIRED): target_link_libraries(... "${TORCH_LIBRARIES}")'


def _compiled(found: re.Match[str], log: str) -> str:
    said = found["said"].strip()
    if _is_own(found["place"]):
        return f"{_short(found['place'])}: {said}"[:_SAID_CHARS]
    own = next((place for place in _led_there(found, log) if _is_own(place)), None)
    inside = PurePosixPath(found["place"]).name
    return (f"{_short(own)}: in {inside}: {said}" if own else f"{inside}: {said}")[:_SAID_CHARS]


def _led_there(found: re.Match[str], log: str) -> Iterator[str]:
    """Yield the places that the compiler names beside an error: what includes it, what requires it."""
    before = log[: found.start()].rpartition("error: ")[2]
    yield from (match["place"] for match in _REQUIRED.finditer(before))
    yield from (match["place"] for match in _FROM.finditer(before))
    yield from (match["place"] for match in _REQUIRED.finditer(log, found.end()))


def _is_own(place: str) -> bool:
    """Return whether a place is a file of the student's sources."""
    return not place.startswith("/") or "/handin/" in place


def _short(place: str) -> str:
    inside = place.rpartition("/handin/")[2]
    return inside.removeprefix("./")
