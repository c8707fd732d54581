"""Archives, taken entry by entry into stores. What reads them does so in a jail; here its records arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labgrade.submissions import archive_records, names
from labgrade.submissions.store import DamagedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from pathlib import Path
    from typing import TypeAlias

    from labgrade.submissions.archive_records import ArchiveEntry, Opening, Records
    from labgrade.submissions.store import Store

    # For the parts of an entry's path: the store that takes it, and the parts there; None where nobody wants it.
    Route: TypeAlias = Callable[[tuple[str, ...]], tuple[Store, tuple[str, ...]] | None]


def members(path: Path, opening: Opening) -> list[tuple[tuple[str, ...], bool]]:
    """Return the path of each entry that could be taken, and whether it is a file.

    Raises:
        DamagedError: it is no such archive.
    """
    found: list[tuple[tuple[str, ...], bool]] = []

    def take(told: Records) -> None:
        found.extend((entry.parts, entry.is_file) for entry in told if entry.parts is not None)

    _read(path, opening, take, content=False)
    return found


def times(path: Path, opening: Opening) -> tuple[list[tuple[tuple[str, ...], datetime]], str]:
    """The path of each file that could be taken with when it was last changed, and why there are no more of them.

    A time has no zone where none is known.
    """
    found: list[tuple[tuple[str, ...], datetime]] = []

    def take(told: Records) -> None:
        found.extend(
            (entry.parts, entry.at)
            for entry in told
            if entry.parts is not None and entry.has_content and entry.at is not None
        )

    try:
        _read(path, opening, take, content=False)
    except DamagedError as error:
        return found, str(error)
    return found, ""


def unpack(
    path: Path,
    route: Route,
    refuse: Callable[[str, str], None],
    *,
    called: str,
    opening: Opening,
    owners: Sequence[str] | None = None,
) -> None:
    """Unpack a whole archive. `refuse(path, why)` hears of what belongs to no student, and of damage to `called`.

    `owners`: only what may be these students' is read.
    """
    taken: set[tuple[Store, tuple[str, ...]]] = set()

    def take(told: Records) -> None:
        for entry in told:
            if entry.parts is None:
                if entry.is_file:
                    refuse(entry.name, entry.why)
                continue
            routed = route(entry.parts) if entry.is_file else None
            if routed is None:
                continue
            _take_in(entry, routed, taken, told)
        if told.note:
            refuse(called, told.note)

    try:
        _read(path, opening, take, content=True, owners=owners)
    except DamagedError as error:
        refuse(called, str(error))


def _take_in(
    entry: ArchiveEntry,
    routed: tuple[Store, tuple[str, ...]],
    taken: set[tuple[Store, tuple[str, ...]]],
    told: Records,
) -> None:
    """Take or refuse an entry; one with a known path replaces the earlier one, as in unzip and tar."""
    store, kept = routed
    path = "/".join(kept)
    if entry.why:
        store.refuse(path, entry.why)
        return
    if routed in taken and path in store.files:
        store.drop(path)
        store.refuse(path, archive_records.TWICE)
    if store.accepts(path, entry.size):
        store.put(kept, told.read)
        taken.add(routed)


def _read(
    path: Path,
    opening: Opening,
    take: Callable[[Records], None],
    *,
    content: bool,
    owners: Sequence[str] | None = None,
) -> None:
    """Read the records of an archive.

    Raises:
        DamagedError: it can't be read to its end.
    """
    arguments = {"ending": names.ending(path.name), "content": content, "owners": owners}
    why = archive_records.read(opening, "archive", path, take, arguments)
    if why:
        raise DamagedError(why)
