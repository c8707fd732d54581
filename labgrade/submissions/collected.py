"""What `labgrade collect` took in: a record that says of each submission which commit of which mirror it is.

A folder with such a record is a folder of submissions. Nothing is checked out into it: the files of a commit are
exported when they are wanted, so that what students have in common takes room once.
"""

from __future__ import annotations

import io
import json
import os
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade.core.errors import UsageError
from labgrade.files import output
from labgrade.submissions import archives
from labgrade.submissions.git_run import Bounds, GitError, git
from labgrade.submissions.store import ALL_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labgrade.submissions.archive_records import Opening
    from labgrade.submissions.store import Store

FOLDER, RECORD, DOCUMENTS = "collected", "collected.json", "documents"
_VERSION = 1
TAKEN = "taken"
REPORT = "report.md"
_EXPORT = Bounds(seconds=120, file_bytes=2 * ALL_BYTES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """A record that was read. `entries`: what is known of each submission, whether or not it was taken in."""

    folder: Path
    lab: str = ""
    mirror: Path = Path()
    at: str = ""
    entries: Mapping[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """Return the submissions with files, sorted."""
        return sorted(name for name, entry in self.entries.items() if entry["state"] == TAKEN)

    def moment(self, name: str) -> tuple[datetime | None, str, tuple[str, ...]]:
        """Return when a submission was handed in, the evidence, and what was left out."""
        entry = self.entries.get(name, {})
        at = entry.get("handed_in")
        return datetime.fromisoformat(at) if at else None, entry.get("by", ""), tuple(entry.get("left_out", ()))

    def take(self, name: str, store: Store, opening: Opening) -> None:
        """Export the commit that counts into a store, if there is one; a jail reads what git wrote.

        Raises:
            UsageError: git can't export it.
        """
        entry = self.entries[name]
        packed = store.folder.parent / f"{store.folder.name}.commit.tar"
        try:
            if "commit" in entry:
                export(self.mirror / entry["repository"], entry["commit"], entry["folder"], packed)
                archives.unpack(packed, lambda parts: (store, parts), store.refuse, called=name, opening=opening)
        except GitError as error:
            message = f"'{name}' can't be read from the mirror '{self.mirror}': {error}"
            raise UsageError(message) from error
        finally:
            packed.unlink(missing_ok=True)
        self._add_document(entry, store)

    def _add_document(self, entry: Mapping[str, Any], store: Store) -> None:
        """Add the downloaded report to the files, unless they have one."""
        digest = (entry.get("document") or {}).get("digest")
        if digest and REPORT not in store.files:
            file = io.BytesIO((self.folder / DOCUMENTS / f"{digest}.md").read_bytes())
            store.put((REPORT,), file.read)


def is_one(source: Path) -> bool:
    """Return whether a folder holds such a record."""
    return (source / RECORD).is_file()


def read(source: Path) -> Collection:
    """The record in a folder; an empty one where there is none.

    Raises:
        UsageError: it can't be read.
    """
    path = source / RECORD
    try:
        plain: Any = json.loads(path.read_text(encoding="utf-8"))
        if plain["labgrade_collected"] != _VERSION:
            message = f"'{path}' is of another version of labgrade"
            raise UsageError(message)
        mirror = source / plain["mirror"]
        return Collection(folder=source, lab=plain["lab"], mirror=mirror, at=plain["at"], entries=plain["students"])
    except (FileNotFoundError, NotADirectoryError):
        return Collection(folder=source)
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"'{path}' can't be read ({error}); delete it and say 'labgrade collect' again: the mirror has it all"
        raise UsageError(message) from error


def write(found: Collection) -> None:
    """Put a record in the place of another, in one step.

    Raises:
        UsageError: it can't be written.
    """
    plain = {
        "labgrade_collected": _VERSION,
        "lab": found.lab,
        "mirror": os.path.relpath(found.mirror, found.folder),
        "at": found.at,
        "students": dict(found.entries),
    }
    text = json.dumps(plain, ensure_ascii=False, indent=1, sort_keys=True)
    try:
        found.folder.mkdir(parents=True, exist_ok=True)
        output.replace(found.folder / RECORD, text.encode())
    except OSError as error:
        message = f"'{found.folder / RECORD}' could not be written: {(error.strerror or str(error)).lower()}"
        raise UsageError(message) from error


def export(repository: Path, commit: str, folder: str, target: Path) -> None:
    """Write the files of a commit, or of a folder of it, into an archive: as they were committed, by no filter.

    Raises:
        GitError: it could not be done.
    """
    tree = f"{commit}:{folder}" if folder else commit
    git(["archive", "--format=tar", "-o", str(target.absolute()), tree], at=repository, bounds=_EXPORT)
