"""The servers of a run: each kind is started when it is first needed, and again when it was lost."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade.errors import FaultError
from labgrade.sandbox import handin
from labgrade.sandbox.fresh import Fresh
from labgrade.sandbox.layers import NAMESPACES
from labgrade.sandbox.protection import Protection, found
from labgrade.sandbox.warm import Settings, Warm

if TYPE_CHECKING:
    from collections.abc import Iterable

STUDENTS, LIGHT = "students", "light"
_USER = 64999  # whom root becomes: nobody has it


class Servers:
    """Starts servers: `students` has torch loaded, `light` has nothing, any other name is a folder that is trusted.

    `fresh`: one process a request and no jail, as on systems without forks. `layers` are wanted, `secret` never shown,
    `offered` shown to students' code, read-only.
    """

    def __init__(
        self, *, zoo: Path, fresh: bool, layers: Iterable[str], secret: Iterable[Path], offered: Iterable[str] = ()
    ) -> None:
        self._fresh = fresh or sys.platform != "linux"  # forking is absent on Windows and unsafe on macOS
        self._zoo = zoo
        self._layers = tuple(layers)
        self._secret = tuple(str(path) for path in secret)
        self._offered = tuple(offered)
        self._home: tempfile.TemporaryDirectory[str] | None = None
        self._running: dict[str, Warm | Fresh] = {}
        self._broken: dict[str, str] = {}

    def get(self, kind: str) -> Warm | Fresh:
        """The server of that kind, started if need be.

        Raises:
            FaultError: it does not come up, now or the last time.
        """
        if kind in self._broken:
            raise FaultError(self._broken[kind])
        if kind not in self._running:
            try:
                self._running[kind] = self._start(kind)
            except FaultError as error:
                self._broken[kind] = str(error)
                raise
        return self._running[kind]

    def protection(self) -> Protection:
        """What the servers of this run are jailed by."""
        if self._fresh:
            reason = "this is not Linux" if sys.platform != "linux" else "LABGRADE_FRESH asks for plain processes"
            return Protection(missing={NAMESPACES: reason})
        try:
            server = self.get(LIGHT)
        except FaultError as error:
            return Protection(missing={NAMESPACES: str(error).strip().splitlines()[-1]})
        return found(server.state) if isinstance(server, Warm) else Protection()

    def drop(self, kind: str) -> None:
        """Forget a server that was lost."""
        if kind in self._running:
            self._running.pop(kind).close()

    def close(self) -> None:
        """End all of them, and remove what they left."""
        for kind in list(self._running):
            self.drop(kind)
        if self._home is not None:
            handin.discard(Path(self._home.name))
            self._home.cleanup()
            self._home = None

    def job_folder(self) -> Path:
        """A new folder for one job, which the servers can see."""
        return Path(tempfile.mkdtemp(prefix="job-", dir=self._folder("jobs")))

    def open_up(self, folder: Path, server: Warm | Fresh) -> None:
        """Let the user that jobs run as into a job's folder: to read it, or to own it where it is all they have."""
        if isinstance(server, Fresh) or os.getuid() != 0:
            return
        folder.chmod(0o755)
        if not server.private:
            Path(self._folder("")).chmod(0o711)
            for path in (folder, *folder.rglob("*")):
                os.chown(path, _USER, _USER, follow_symlinks=False)

    def _start(self, kind: str) -> Warm | Fresh:
        home = str(self._folder(""))
        if self._fresh:
            return Fresh(self._zoo, home)
        settings = {
            "zoo": str(self._zoo),
            "jobs": str(self._folder("jobs")),
            "layers": self._layers,
            "user": _USER,
            "secret": self._secret,
            "offered": self._offered if kind == STUDENTS else (),
            "trusted": () if kind in {STUDENTS, LIGHT} else (kind,),
        }
        warm = Warm(Settings(**settings, libraries=kind != LIGHT), home)  # type: ignore[arg-type]
        if not warm.forks_safely:  # a library starts threads, so each child has to load it for itself
            warm.close()
            warm = Warm(Settings(**settings, libraries=False), home)  # type: ignore[arg-type]
        return warm

    def _folder(self, name: str) -> Path:
        if self._home is None:
            self._home = tempfile.TemporaryDirectory(prefix="labgrade-", ignore_cleanup_errors=True)
            jobs = Path(self._home.name, "jobs")
            jobs.mkdir()
            jobs.chmod(0o755)
        return Path(self._home.name).resolve() / name
