"""Finds submissions and takes them into a store of labgrade's. Reads, never runs, and follows no link."""

from __future__ import annotations

import contextlib
import os
import unicodedata
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from labgrade.core.did_you_mean import did_you_mean
from labgrade.core.errors import UsageError
from labgrade.core.results import CLUTTER, Submission
from labgrade.core.text import encodable, one_line
from labgrade.submissions import archives, collected, folders, names
from labgrade.submissions.names import owner, without_number
from labgrade.submissions.store import DamagedError, Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from labgrade.submissions.archive_records import Opening

_MOST_NAMED = 8
_FEWEST = 2  # folders that a class has, at the least


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The submissions that were asked for, and the files that belong to no student."""

    submissions: tuple[Submission, ...]
    left_out: tuple[str, ...] = ()


def find(source: Path, asked: Sequence[str], store: Path, *, opening: Opening, grader: Path | None = None) -> Taken:
    """Take the submissions called `asked` into the folder `store`, in that order, each once; `all` is all, sorted.

    `source` is a folder of submissions (folders, archives, or what a learning platform handed out), or an archive of
    them. `grader` must lie in none of them. `opening` opens archives.

    Raises:
        UsageError: there is no such source or submission; the message offers the closest name.
    """
    if collected.is_one(source):
        here = _collected(source, asked)
        return Taken(submissions=tuple(here.take(each, store / f"{n}", opening) for n, each in enumerate(here.names)))
    there = _from_folder(source) if source.is_dir() else {}
    known, loose = (sorted(there), ()) if source.is_dir() else _from_archive(source, opening)
    wanted = [name for each in asked for name in (known if each == "all" else [_match(source, each, known)])]
    stores = {name: Store(store / str(number)) for number, name in enumerate(dict.fromkeys(wanted))}
    nobodys = Store(store / "nobody")
    if source.is_dir():
        _refuse_grader(there, wanted, grader)
        for name, own in stores.items():
            _take_all(there[name], own)
    else:
        _unpack(source, stores, nobodys, opening)
    for own in stores.values():
        expand(own, opening)
    submissions = tuple(_submission(name, own) for name, own in stores.items())
    return Taken(submissions=submissions, left_out=(*nobodys.refused, *(loose if "all" in asked else ())))


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """The submissions of a folder that are taken one at a time; those of an archive were all unpacked.

    `doubts`: what makes it unlikely that these are the submissions.
    """

    names: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    folders: Mapping[str, _Sources] = field(default_factory=dict)
    unpacked: Mapping[str, Submission] = field(default_factory=dict)
    collection: collected.Collection | None = None

    def take(self, name: str, store: Path, opening: Opening) -> Submission:
        """Take one of `names` into the folder `store`, which is not there yet."""
        if name in self.unpacked:
            return self.unpacked[name]
        own = Store(store)
        if self.collection is not None:
            self.collection.take(name, own, opening)
        else:
            _take_all(self.folders[name], own)
        expand(own, opening)
        return _submission(name, own)

    def without(self, source: Path, names: Sequence[str]) -> Offered:
        """The same but for the submissions called `names`.

        Raises:
            UsageError: there is no such submission.
        """
        gone = {_match(source, each, list(self.names)) for each in names}
        left = tuple(each for each in self.names if each not in gone)
        return replace(self, names=left, skipped=tuple(each for each in self.names if each in gone))


def offer(source: Path, asked: Sequence[str], store: Path, *, opening: Opening, grader: Path | None = None) -> Offered:
    """The submissions called `asked`, as `find` has them, not taken yet. `store` is where an archive is unpacked.

    Raises:
        UsageError: there is no such source or submission; the message offers the closest name.
    """
    if collected.is_one(source):
        return _collected(source, asked)
    if not source.is_dir():
        taken = find(source, asked, store, opening=opening)
        there = {each.name: each for each in taken.submissions}
        below = {(each.name, file.partition("/")[0]): "/" in file for each in taken.submissions for file in each.files}
        doubts = _wrapping_folder_note(source, list(there), below)
        return Offered(names=tuple(there), left_out=taken.left_out, doubts=doubts, unpacked=there)
    folders = _from_folder(source)
    known = sorted(folders)
    wanted = [name for each in asked for name in (known if each == "all" else [_match(source, each, known)])]
    _refuse_grader(folders, wanted, grader)
    chosen = tuple(dict.fromkeys(wanted))
    loose = [each.name for each in source.iterdir() if not each.is_dir() and owner((each.name,), is_file=True) is None]
    nobodys = _stray_files_note(loose) if "all" in asked else ()
    around = source / chosen[0] if len(chosen) == 1 else source
    entries = around.iterdir() if around != source and around.is_dir() else ()
    below = {(chosen[0], each.name): each.is_dir() for each in entries if each.name not in CLUTTER}
    doubts = _wrapping_folder_note(source, known, below)
    return Offered(names=chosen, left_out=nobodys, doubts=doubts, folders={name: folders[name] for name in chosen})


def _collected(source: Path, asked: Sequence[str]) -> Offered:
    """Return what `labgrade collect` took in."""
    found = collected.read(source)
    wanted = [
        name for each in asked for name in (found.names if each == "all" else [_match(source, each, found.names)])
    ]
    return Offered(names=tuple(dict.fromkeys(wanted)), collection=found)


def _wrapping_folder_note(source: Path, known: list[str], below: Mapping[tuple[str, str], bool]) -> tuple[str, ...]:
    """Return a note where the only submission may be a folder around all others. `below`: what lies in it."""
    if len(known) != 1 or len(below) < _FEWEST or not all(below.values()):
        return ()
    count = f"'{encodable(known[0])}' holds nothing but {len(below):,} folders"
    remedy = "name that folder itself" if source.is_dir() else "unpack it, and name the folder that they lie in"
    return (f"{count}; if each of them is a submission, {remedy}",)


def _stray_files_note(loose: Iterable[str]) -> tuple[str, ...]:
    """Return a note where files lie beside the submissions, since they may be a student's whole work."""
    found = sorted(each for each in loose if not each.startswith("."))
    if not found:
        return ()
    shown = ", ".join(f"'{names.for_report(encodable(each))}'" for each in found[:_MOST_NAMED])
    more = f" and {len(found) - _MOST_NAMED:,} more" if len(found) > _MOST_NAMED else ""
    return (f"{shown}{more}, because a submission is a folder or an archive; put it into its student's folder",)


def names_in(source: Path, asked: Sequence[str] = (), *, opening: Opening) -> list[str]:
    """What the submissions of a folder or an archive are called; of those `asked` for, the ones that are there.

    Raises:
        UsageError: there is no such source.
    """
    there = sorted(_from_folder(source)) if source.is_dir() else _from_archive(source, opening)[0]
    there = collected.read(source).names or there
    found = []
    for each in asked:
        with contextlib.suppress(UsageError):
            found.append(_match(source, each, there))
    return found if asked else there


def take(source: Path, name: str, store: Path, *, opening: Opening) -> Submission:
    """Take one submission, a folder or an archive, into the folder `store`.

    Raises:
        UsageError: there is no such folder or archive.
    """
    if not source.is_dir() and not (source.is_file() and names.ending(source.name)):
        known = ", ".join(names.ARCHIVES)
        message = f"'{source}' is no folder, and no archive that can be unpacked ({known})"
        raise UsageError(message if source.exists() else f"there is no folder '{source}'")
    own = Store(store / "0")
    try:
        unpack(source, own, opening)
    except OSError as error:
        message = f"'{source}' can't be read: {error.strerror}"
        raise UsageError(message) from error
    return _submission(name, own)


def name_of(source: Path) -> str:
    """Return the submission's name of a folder or an archive."""
    name = source.absolute().name
    packed = "" if source.is_dir() else names.ending(name)
    return name[: -len(packed)] if packed else name


def _submission(name: str, own: Store) -> Submission:
    refused, unread = tuple(map(encodable, own.refused)), tuple(map(encodable, own.unread))
    files = tuple(sorted(own.files))
    return Submission(name=encodable(name), folder=own.folder, files=files, refused=refused, unread=unread)


# ---- a folder of submissions -----------------------------------------------------------------------------------


@dataclass(slots=True)
class _Sources:
    """A student's work: folders, and files with the paths that they get."""

    folders: list[Path] = field(default_factory=list)
    files: list[tuple[Path, tuple[str, ...]]] = field(default_factory=list)


def _from_folder(source: Path) -> dict[str, _Sources]:
    found: dict[str, _Sources] = {}
    for name, entry, below in folders.owned(source):
        own = found.setdefault(name, _Sources())
        if entry.is_dir():
            own.folders.append(entry)
        else:
            own.files.append((entry, below))
    _refuse_alike(found)
    return found


def _refuse_alike(found: Iterable[str]) -> None:
    """Refuse two submissions that are printed alike, since reports could not tell them apart."""
    printed: dict[str, str] = {}
    for name in found:
        shown = encodable(name)
        if shown in printed:
            message = (
                f"two submissions are called '{one_line(shown)}', one of them by bytes that are no UTF-8; rename one"
            )
            raise UsageError(message)
        printed[shown] = name


def _take_all(sources: _Sources, own: Store) -> None:
    for folder in sources.folders:
        try:
            if _is_planted(folder):
                own.refuse(folder.name, "it is a link to a folder of somebody else's; hand in the files themselves")
            else:
                folders.take(folder, own)
        except OSError as error:
            own.give_up(folder.name, error)
    for file, below in sources.files:
        parts = names.split("/".join(below))
        try:
            if isinstance(parts, str):
                own.refuse(file.name, parts)
            else:
                folders.take_file(file, own, parts)
        except OSError as error:
            own.give_up(file.name, error)


def _is_planted(folder: Path) -> bool:
    """Return whether somebody linked another's folder into a world-writable one, so that we would read it."""
    if not hasattr(os, "geteuid") or not folder.is_symlink():
        return False
    return folder.lstat().st_uid not in {0, os.geteuid(), folder.stat().st_uid}


def _refuse_grader(there: dict[str, _Sources], wanted: Sequence[str], grader: Path | None) -> None:
    for name in wanted:
        if grader is not None and any(grader.is_relative_to(folder.resolve()) for folder in there[name].folders):
            message = f"'{name}' holds the grader itself; in a student's own folder say: labgrade check ."
            raise UsageError(message)


# ---- an archive of submissions ---------------------------------------------------------------------------------


def _from_archive(source: Path, opening: Opening) -> tuple[list[str], tuple[str, ...]]:
    """Return the submissions' names in an archive, and what belongs to none."""
    if not source.is_file():
        message = f"there is no folder '{source}' to take submissions from; name the folder that they lie in"
        raise UsageError(message)
    if not names.ending(source.name):
        message = f"'{source}' is no archive that can be unpacked ({', '.join(names.ARCHIVES)})"
        raise UsageError(message)
    try:
        members = [(parts, owner(parts, is_file=is_file)) for parts, is_file in archives.members(source, opening)]
    except (DamagedError, OSError) as error:
        message = f"'{source}' can't be read: {error}"
        raise UsageError(message) from error
    found = {each[0] for _, each in members if each is not None and not each[0].startswith(".")}
    return sorted(found), _stray_files_note("/".join(parts) for parts, each in members if each is None)


def _unpack(source: Path, stores: dict[str, Store], nobodys: Store, opening: Opening) -> None:
    def route(parts: tuple[str, ...]) -> tuple[Store, tuple[str, ...]] | None:
        owned = owner(parts, is_file=True)
        if owned is None or owned[0] not in stores or not owned[1]:
            return None
        return stores[owned[0]], owned[1]

    archives.unpack(source, route, nobodys.refuse, called=source.name, opening=opening, owners=list(stores))


# ---- names -----------------------------------------------------------------------------------------------------


def _match(source: Path, name: str, there: list[str]) -> str:
    if name in there:
        return name
    normal = unicodedata.normalize("NFC", name)
    for alike in (lambda other: unicodedata.normalize("NFC", other), without_number, encodable):
        same = [other for other in there if alike(other) == normal]
        if len(same) == 1:
            return same[0]
    if name in {"", ".", ".."} or "/" in name or os.sep in name:
        message = f"'{name}' is a path, and a submission has a name; the folder that it lies in is said apart from it"
        raise UsageError(message)
    case = next((other for other in there if other.casefold() == name.casefold()), None)
    offer = f"; did you mean '{case}'?" if case else did_you_mean(name, there)
    more = ", ..." if len(there) > _MOST_NAMED else ""
    what = offer or (f"; it has {', '.join(there[:_MOST_NAMED])}{more}" if there else "; it is empty")
    message = one_line(encodable(f"there is no submission '{name}' in '{source}'{what}"))
    raise UsageError(message)


# ---- what was handed in packed ---------------------------------------------------------------------------------------

_DEEPEST = 3  # archives within archives
# What lies beside an archive in a hand-in without being the work itself.
_PAPERS = (
    ".pdf",
    ".md",
    ".txt",
    ".rst",
    ".tex",
    ".html",
    ".htm",
    ".doc",
    ".docx",
    ".odt",
    ".rtf",
    ".png",
    ".jpg",
    ".jpeg",
)


def unpack(source: Path, store: Store, opening: Opening) -> None:
    """Copy a folder, an archive's content, or a file; then unpack archives that are the work.

    Raises:
        OSError: `source` can't be read.
    """
    if source.is_dir():
        folders.take(source, store)
    else:
        folders.take_file(source, store, (source.name,))
    expand(store, opening)


def expand(store: Store, opening: Opening) -> None:
    """Unpack archives where they are the work: where nothing but papers lies beside them. So are those within."""
    for _ in range(_DEEPEST):
        packed = _packed_work(store)
        for path in packed:
            _expand_one(store, path, opening)
        if not packed:
            return
    for path in _packed_work(store):
        store.drop(path)
        store.refuse(path, f"archives within archives are unpacked to a depth of {_DEEPEST}; hand in one")


def _packed_work(store: Store) -> list[str]:
    """Return the archives to unpack, without kinds that can't be unpacked."""
    packed = [path for path in store.files if names.ending(path)]
    foreign = [path for path in store.files if not names.ending(path) and path.lower().endswith(names.OTHER_ARCHIVES)]
    papers = [path for path in store.files if PurePosixPath(path).suffix.lower() in _PAPERS]
    if len(packed) + len(foreign) + len(papers) < len(store.files):
        return []
    for path in foreign:
        kind = "".join(PurePosixPath(path).suffixes[-2:]) or path
        store.drop(path)
        store.refuse(path, f"'{kind}' can't be unpacked here; hand in a .zip or .tar.gz")
    return packed


def _expand_one(store: Store, path: str, opening: Opening) -> None:
    """Set the archive aside, so that a file within may have its name, and unpack it in its place."""
    archive = store.folder.parent / f"{store.folder.name}.packed{names.ending(path)}"
    folder = PurePosixPath(path).parent.parts
    store.move(path, archive)
    try:
        archives.unpack(archive, lambda parts: (store, (*folder, *parts)), store.refuse, called=path, opening=opening)
    finally:
        archive.unlink()
