"""One student's hand-in, from wherever it lies into a store: folders, files, archives within."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from labgrade.intake import archives, folders

if TYPE_CHECKING:
    from pathlib import Path

    from labgrade.intake.store import Store

# What lies beside an archive in a hand-in without being the work itself.
_PAPERS = (".pdf", ".md", ".txt", ".html", ".htm", ".doc", ".docx", ".odt", ".rtf", ".png", ".jpg", ".jpeg")


def take(source: Path, store: Store) -> None:
    """Copy a folder, or an archive's content, or a single file; then unpack what was handed in packed.

    Raises:
        OSError: `source` can't be read.
    """
    if source.is_dir():
        folders.take(source, store)
    else:
        folders.take_file(source, store, (source.name,))
    expand(store)


def expand(store: Store) -> None:
    """Unpack archives at the top where they are the work: where nothing but papers lies beside them."""
    top = [path for path in store.files if "/" not in path]
    packed = [path for path in top if archives.ending(path)]
    foreign = [path for path in top if not archives.ending(path) and path.lower().endswith(archives.OTHERS)]
    papers = [path for path in top if PurePosixPath(path).suffix.lower() in _PAPERS]
    if len(packed) + len(foreign) + len(papers) < len(store.files):
        return
    for path in foreign:
        kind = "".join(PurePosixPath(path).suffixes[-2:]) or path
        store.drop(path)
        store.refuse(path, f"'{kind}' can't be unpacked here; hand in a .zip or .tar.gz")
    for path in packed:
        _expand_one(store, path)


def _expand_one(store: Store, path: str) -> None:
    """Set the archive aside, so that a file within may have its name, and unpack it in its place."""
    archive = store.folder.parent / f"{store.folder.name}.packed{archives.ending(path)}"
    store.move(path, archive)
    try:
        archives.unpack(archive, lambda parts: (store, parts), store.refuse, called=path)
    finally:
        archive.unlink()
