"""The only door between the grader and what students wrote: calls functions, runs programs, measures files.

Everything happens in other processes, in a jail where there is one. Nothing is started before it is needed.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from labgrade.errors import FaultError
from labgrade.results import Execution
from labgrade.sandbox import handin, outcome, script_outcome
from labgrade.sandbox.follow import follow
from labgrade.sandbox.given import GIVEN, GIVEN_FOLDER
from labgrade.sandbox.layers import ALL
from labgrade.sandbox.request import ProgramRun, plain_subject
from labgrade.sandbox.servers import LIGHT, STUDENTS, Servers
from labgrade.sandbox.shelf import needs_values
from labgrade.sandbox.warm import LostError, Warm
from labgrade.zoo_networks import GENERATED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from labgrade.model import Limits, SubjectSpec
    from labgrade.sandbox.follow import Ending
    from labgrade.sandbox.protection import Protection
    from labgrade.sandbox.request import CallRequest, InspectRequest, ProgramRequest, ScriptRequest

ZOO = Path(__file__).parent.parent / "zoo.py"
_WALL_FACTOR = 4.0
_WALL_SPARE = 20.0


class Runner:
    """Runs what students wrote, and what reads it. Several threads may use one.

    Use as a context manager, or call `close`. `zoo` is the file whose `Subject` builds what is given. `spare_seconds`:
    the clock stops a job after 4 times its CPU limit, and no earlier than this many seconds after it: a busy machine
    fails nobody. `secret` are folders that no job may see. `layers` are left out by tests alone. `torch_home` holds
    downloaded weights (`hub/checkpoints/*.pth`) that students' code may read. `shared`: what another grader's `share`
    returned.
    """

    def __init__(
        self,
        *,
        zoo: Path = ZOO,
        fresh: bool | None = None,
        spare_seconds: float = _WALL_SPARE,
        secret: Iterable[Path] = (),
        layers: Iterable[str] = ALL,
        torch_home: Path | None = None,
        shared: Path | None = None,
    ) -> None:
        asked = os.environ.get("LABGRADE_FRESH") == "1" if fresh is None else fresh
        self._torch_home = str(torch_home.resolve()) if torch_home else ""
        offered = (self._torch_home,) if torch_home else ()
        self._servers = Servers(zoo=zoo, fresh=asked, layers=layers, secret=secret, offered=offered, shared=shared)
        self._spare_seconds = spare_seconds

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes behind it. It may be used again afterwards."""
        self._servers.close()

    def share(self) -> Path:
        """Let runners of other processes use the servers of this one; what they are given as `shared`."""
        return self._servers.share()

    def join(self, shared: Path) -> None:
        """Use the servers of another process: what its `share` returned. Before anything was run here."""
        self._servers.join(shared)

    @property
    def protection(self) -> Protection:
        """What protects the grader from what it runs here: found by starting the lightest of the servers."""
        return self._servers.protection()

    def run(self, request: CallRequest) -> Execution:
        """Call a student's function.

        Never raises for what a student's code does; a failure of ours has the status `fault`.
        """
        unknown = sorted(set(request.given) - set(GIVEN))
        if unknown or (request.given and request.subject is None):
            problem = f"nothing called '{unknown[0]}' can be given" if unknown else "there is no subject to be given"
            return Execution(status="fault", reason=problem)
        wanted = {"given": list(request.given), "subject": plain_subject(request.subject) if request.subject else None}
        model = f"{GIVEN_FOLDER}/{next(iter(request.model), '')}"
        return self._call(request, {"do": "call", "model": model}, wanted, {GIVEN_FOLDER: request.model})

    def run_each(self, request: CallRequest, subjects: Sequence[tuple[SubjectSpec, Mapping[str, Path]]]) -> list[Any]:
        """What a function returns for each of several subjects with their files, as far as it returns.

        All are called in one process, so that one call may spoil the next: what comes out wrong is to be tried by
        itself. `request` is read without its subject; its limits are for all together.
        """
        each = [plain_subject(subject) for subject, _ in subjects]
        wanted = {"given": list(request.given), "subject": None, "each": each}
        files = {f"{GIVEN_FOLDER}/{place}": model for place, (_, model) in enumerate(subjects)}
        models = [f"{folder}/{next(iter(model), '')}" for folder, model in files.items()]
        done = self._call(request, {"do": "calls", "models": models}, wanted, files)
        return done.value if done.status == "returned" and isinstance(done.value, list) else []

    def _call(
        self,
        request: CallRequest,
        job: Mapping[str, object],
        wanted: Mapping[str, Any],
        given: Mapping[str, Mapping[str, Path]],
    ) -> Execution:
        """Run a job that calls functions; `given` are files by the folder in which they are given."""
        left_out: list[str] = []

        def lay(folder: Path) -> None:
            left_out[:] = handin.copy(request.folder, folder)
            if any(given.values()):
                handin.discard(folder / GIVEN_FOLDER)
            for place, files in given.items():
                _place({f"{place}/{name}": source for name, source in files.items()}, folder)

        told = {"file": request.file, "function": request.function, "torch_home": self._torch_home, **job}
        try:
            ending = self._job(STUDENTS, lay, told, request.limits, wanted=wanted)
        except FaultError as error:
            return Execution(status="fault", reason=str(error))
        return outcome.execution(ending, request, left_out)

    def execute(self, request: ProgramRequest) -> ProgramRun:
        """Run a program in a copy of a folder. Never raises; a failure of ours has the status `fault`."""

        def lay(folder: Path) -> None:
            if request.folder is None:
                folder.mkdir()
            else:
                handin.copy(request.folder, folder)
            _place(request.provide, folder)

        job = {"do": "run", "command": list(request.command)}
        try:
            ending = self._job(LIGHT, lay, job, request.limits, errors=True)
        except FaultError as error:
            return ProgramRun(status="fault", reason=str(error))
        return outcome.program_run(ending, request)

    def run_script(self, request: ScriptRequest) -> ProgramRun:
        """Run a Python program. Never raises; a failure of ours has the status `fault`."""
        left_out: list[str] = []
        base = f"{request.cwd}/" if request.cwd else ""
        given = {base + name: source for name, source in request.provide.items()}

        def lay(folder: Path) -> None:
            left_out[:] = handin.copy(request.folder, folder)
            _place(given, folder)

        job = {
            "do": "script",
            "given": list(given),
            "script": request.file,
            "cwd": request.cwd,
            "arguments": list(request.arguments),
            "torch_home": self._torch_home,
        }
        try:
            ending = self._job(STUDENTS, lay, job, request.limits)
        except FaultError as error:
            return ProgramRun(status="fault", reason=str(error))
        return script_outcome.program_run(ending, request, left_out)

    def inspect(self, request: InspectRequest) -> Execution:
        """Measure a student's file by trusted code, in a jail in which none of theirs lies.

        The status is `returned` with plain data; `refused` with the message of a ValueError that the function raised,
        which is the student's (a file that is no model); `timeout` or `memory`; and `fault` for anything else.
        """

        def lay(folder: Path) -> None:
            folder.mkdir()
            _place({request.artifact.name: request.artifact, **request.beside}, folder)

        file = request.file.resolve()
        job = {
            "do": "measure",
            "file": str(file),
            "function": request.function,
            "artifact": request.artifact.name,
            "parameters": dict(request.parameters),
            "several": [[name, dict(parameters)] for name, parameters in request.several],
        }
        try:
            ending = self._job(str(file.parent), lay, job, request.limits)
        except FaultError as error:
            return Execution(status="fault", reason=str(error))
        return outcome.measured(ending, request)

    def _job(
        self,
        kind: str,
        lay: Callable[[Path], None],
        job: Mapping[str, object],
        limits: Limits,
        *,
        wanted: Mapping[str, Any] | None = None,
        errors: bool = False,
    ) -> Ending:
        """Run one job on what `lay` puts into a folder.

        Raises:
            FaultError: the sandbox cannot be used.
        """
        try:
            folder = self._servers.job_folder()
            try:
                (folder / "tmp").mkdir()
                lay(folder / "handin")
                for _ in range(2):
                    ending = self._attempt(kind, folder, job, limits, wanted=wanted, errors=errors)
                    if ending is not None:
                        return ending
            finally:
                handin.discard(folder)
        except OSError as error:
            message = f"the sandbox could not be used: {error}"
            raise FaultError(message) from error
        message = "the sandbox's server went away twice before the job began"
        raise FaultError(message)

    def _attempt(
        self,
        kind: str,
        folder: Path,
        job: Mapping[str, object],
        limits: Limits,
        *,
        wanted: Mapping[str, Any] | None,
        errors: bool,
    ) -> Ending | None:
        """None where the server was lost before any code of this student ran: another's did it."""
        server = self._servers.get(kind)
        self._servers.open_up(folder, server)
        setup = {"job": folder.name, "folder": str(folder), "seconds": limits.seconds, "memory": limits.memory}
        wall = max(_WALL_FACTOR * limits.seconds, limits.seconds + self._spare_seconds)
        with self._servers.group(limits.memory) as group:
            try:
                if isinstance(server, Warm):
                    ready = _worth_preparing(wanted)
                    del setup["folder"]
                    child = server.start(setup, limits.output, errors=errors, subject=ready, entries=group.entries)
                else:
                    child = server.start(setup, limits.output)
            except LostError:
                self._servers.drop(kind)
                return None
            child.give(wanted or {"given": [], "subject": None})
            ending = follow(child, job, wall, group.starved)
        if ending.lost:
            self._servers.drop(kind)
            if not ending.up:
                return None
        return ending


def _worth_preparing(wanted: Mapping[str, Any] | None) -> Any:
    """The subject, if a branch of the server should have it ready; a random network is tried once and built at once."""
    subject = wanted["subject"] if wanted and needs_values(tuple(wanted["given"])) else None
    return None if subject is None or subject["model"] == GENERATED else subject


def _place(files: Mapping[str, Path], folder: Path) -> None:
    """Copy files to their names within `folder`; what is in the way there, a file or a folder, gives way.

    Raises:
        OSError: one of them cannot be read, or its name leads out of the folder.
    """
    for name, source in files.items():
        target = folder / name
        if target.resolve() == folder.resolve() or not target.resolve().is_relative_to(folder.resolve()):
            message = f"'{name}' is no place within the folder"
            raise OSError(message)
        for parent in target.relative_to(folder).parents:
            if (folder / parent).is_file():
                (folder / parent).unlink()
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_dir():
            handin.discard(target)
        target.unlink(missing_ok=True)
        shutil.copyfile(source, target)
        if os.access(source, os.X_OK):
            target.chmod(0o755)
