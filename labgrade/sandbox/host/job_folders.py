"""The folders of jobs: a working copy each, or one for all that are of the same files where no job can change it."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

from labgrade.sandbox.host import working_copy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from labgrade.sandbox.host.servers import Servers
    from labgrade.sandbox.requests import Job

_MOST_KEPT = 2  # of one hand-in: as many as are called at once


class JobFolders:
    """Lays the files that jobs work on. Jobs with a private root make copies of their own of these.

    Several threads may use one object. `servers` start the processes that look into the folders.
    """

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._lock = threading.Lock()
        self._kept: list[tuple[object, Path]] = []

    @contextlib.contextmanager
    def folder_of(self, job: Job) -> Iterator[Path]:
        """Provide the folder of a job: `handin` is the copy, `tmp` is empty.

        Raises:
            OSError: it can't be laid.
            FaultError: the server does not come up.
        """
        files = job.same() if self._servers.get(job.server).private else None
        known = self._taken(files) if files is not None else None
        folder = known or self._laid(job)
        try:
            yield folder
        finally:
            if files is not None and (known or job.same() == files):  # else something had to be left out, or changed
                self._keep(files, folder)
            else:
                working_copy.discard(folder)

    def _laid(self, job: Job) -> Path:
        folder = self._servers.job_folder()
        try:
            (folder / "tmp").mkdir()
            job.lay(folder / "handin")
        except BaseException:
            working_copy.discard(folder)
            raise
        return folder

    def _taken(self, files: object) -> Path | None:
        """Return a prepared folder that no other job uses now."""
        with self._lock:
            return next((self._kept.pop(place)[1] for place, (own, _) in enumerate(self._kept) if own == files), None)

    def _keep(self, files: object, folder: Path) -> None:
        """Keep a folder for the next job, and discard those of other files."""
        with self._lock:
            same = [(own, other) for own, other in self._kept if own == files][: _MOST_KEPT - 1]
            gone = [other for _, other in self._kept if (files, other) not in same]
            self._kept = [(files, folder), *same]
        for other in gone:
            working_copy.discard(other)

    def forget(self) -> None:
        """Remove the folders that are kept."""
        with self._lock:
            kept, self._kept = self._kept, []
        for _, folder in kept:
            working_copy.discard(folder)
