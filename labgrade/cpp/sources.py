"""Where the sources of a C++ program lie in a submission, and what says how they are built."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from labgrade.core.results import Submission

_MAKEFILES = ("GNUmakefile", "Makefile", "makefile")
_SUFFIXES = (".cpp", ".cc", ".cxx")
_NEVER = frozenset({"libtorch", ".git", ".vscode", ".venv", "__pycache__", "CMakeFiles", "CMakeCache.txt", ".given"})
_LARGEST = 8 << 20
_MOST_BYTES = 64 << 20
_MOST_NAMED = 4
_AT_THE_TOP = "the program"  # never whose it is: what came of a build is remembered for the same work of others, too


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The files below one `folder`, by POSIX path from there, and how they are built.

    `kind`: `cmake`, `make`, or `file` for one file alone. `where`: the folder of CMakeLists.txt or the Makefile, from
    `folder`; `file`: the one file. `name`: what they are called in messages.
    """

    folder: Path
    name: str
    files: tuple[str, ...]
    kind: str
    where: str = ""
    file: str = ""

    def paths(self) -> dict[str, Path]:
        """Return each file with its path."""
        return {file: self.folder / file for file in self.files}

    def digest(self) -> str:
        """Return a digest of all names and contents.

        Raises:
            OSError: one can't be read.
        """
        digest = hashlib.sha256()
        for name, path in self.paths().items():
            digest.update(name.encode("utf-8", "surrogateescape") + b"\0" + hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()


def find(submission: Submission, folder: str) -> Sources | str | None:
    """Return the sources below `folder` (`""` is the top), or why they can't be found; None where there are none.

    A folder that lies deeper, or is written in other case, is taken where it is the only one of its name. What was
    built elsewhere and LibTorch itself are left out, and so are large files, which are models. Where there is no such
    folder, one C++ file of its name stands for it.
    """
    bases = _bases(submission.files, folder)
    if len(bases) > 1:
        return f"{len(bases)} folders could be '{folder}': {_named(bases)}; keep one"
    if not bases:
        return _called(submission, folder)
    base = bases[0]
    inside = [file.removeprefix(f"{base}/") if base else file for file in submission.files if _below(file, base)]
    top = submission.folder / base
    files = _kept(top, inside)
    name = base.rpartition("/")[2] or _AT_THE_TOP
    for kind, names in (("cmake", ("CMakeLists.txt",)), ("make", _MAKEFILES)):
        found = _shallowest([file for file in files if PurePosixPath(file).name in names])
        if len(found) > 1 and len({PurePosixPath(file).parent for file in found}) > 1:
            return f"several files say how to build '{name}': {_named(found)}; keep one at the top of it"
        if found:
            where = str(PurePosixPath(found[0]).parent)
            return Sources(folder=top, name=name, files=files, kind=kind, where=where if where != "." else "")
    alone = [file for file in files if file.endswith(_SUFFIXES)]
    if len(alone) > 1:
        return f"there are {len(alone)} C++ files in '{name}' ({_named(alone)}) and no CMakeLists.txt or Makefile"
    return Sources(folder=top, name=name, files=files, kind="file", file=alone[0]) if alone else None


def _called(submission: Submission, folder: str) -> Sources | str | None:
    wanted = [f"{folder.rpartition('/')[2]}{suffix}".lower() for suffix in _SUFFIXES]
    found = [file for file in submission.files if PurePosixPath(file).name.lower() in wanted]
    if len(found) > 1:
        return f"{len(found)} files could be '{folder}': {_named(found)}; keep one"
    if not found:
        return None
    file = PurePosixPath(found[0])
    return Sources(
        folder=submission.folder / file.parent, name=file.name, files=(file.name,), kind="file", file=file.name
    )


def _bases(files: Iterable[str], folder: str) -> list[str]:
    if not folder:
        return [""]
    folders = {str(parent) for file in files for parent in PurePosixPath(file).parents} - {"."}
    if folder in folders:
        return [folder]
    wanted = folder.lower()
    return sorted(each for each in folders if each.lower() == wanted or each.lower().endswith(f"/{wanted}"))


def _below(file: str, base: str) -> bool:
    return not base or file.startswith(f"{base}/")


def _kept(top: Path, files: list[str]) -> tuple[str, ...]:
    """Return the files that a build needs, sorted."""
    elsewhere = _holding(files, "CMakeCache.txt") - _holding(files, "CMakeLists.txt")
    kept, room = [], _MOST_BYTES
    for file in sorted(files):
        parents = {str(parent) for parent in PurePosixPath(file).parents}
        size = (top / file).stat().st_size
        if parents & elsewhere or _NEVER & set(PurePosixPath(file).parts) or size > min(_LARGEST, room):
            continue
        room -= size
        kept.append(file)
    return tuple(kept)


def _holding(files: list[str], name: str) -> set[str]:
    return {str(PurePosixPath(file).parent) for file in files if PurePosixPath(file).name == name}


def _shallowest(files: list[str]) -> list[str]:
    depth = min((file.count("/") for file in files), default=0)
    return [file for file in files if file.count("/") == depth]


def _named(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names[:_MOST_NAMED]) + (", ..." if len(names) > _MOST_NAMED else "")
