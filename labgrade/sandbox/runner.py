"""The only door between the grader and what students wrote: calls functions, runs programs, measures files.

Everything happens in other processes, in a jail where there is one. Nothing is started before it is needed.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self, TypeVar

from labgrade.core.arguments import GIVEN, GIVEN_FOLDER
from labgrade.core.errors import FaultError
from labgrade.core.execution import Execution, Limits
from labgrade.core.subject import Given, as_plain
from labgrade.sandbox import outcomes
from labgrade.sandbox.host import working_copy
from labgrade.sandbox.host.branch import WeightReaders
from labgrade.sandbox.host.child import follow
from labgrade.sandbox.host.fork_server import ForkServer, LostError
from labgrade.sandbox.host.job_folders import JobFolders
from labgrade.sandbox.host.servers import LIGHT, READER, STUDENTS, Servers, alone, in_environment
from labgrade.sandbox.jail.layers import ALL
from labgrade.sandbox.requests import Job, ProgramRun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from labgrade.core.subject import SubjectSpec
    from labgrade.sandbox.host.child import Ending
    from labgrade.sandbox.host.protection import Protection
    from labgrade.sandbox.requests import CallRequest, InspectRequest, ProgramRequest, ReadRequest, ScriptRequest
    from labgrade.sandbox.time_limits import Patience

ZOO = Path(__file__).parent.parent / "subjects/models.py"
Result = TypeVar("Result", Execution, ProgramRun)
MOST_BYTES = 247 << 20  # of a file that a function writes: what fits into one frame
SAVED_AS = "answer.onnx"
_OPEN_SECONDS, _OPENED_BYTES_A_SECOND, _OPEN_MEMORY = 10, 20 << 20, 512 << 20
_NOT_RESIZABLE = "storage that is not resizable"  # as torch says of weights that a server has ready
_WALL_FACTOR, _WALL_SPARE = 4.0, 20.0
_OWN_WALL_FACTOR = 30.0  # of labgrade's own code, which waits for nothing but a busy machine


class Runner:
    """Runs what students wrote, and what reads it. Several threads may use one.

    Use as a context manager, or call `close`. `zoo` is the file whose `Subject` builds what is given. `spare_seconds`:
    the clock stops a job after 4 times its CPU limit, and no earlier than this many seconds after it: a busy machine
    fails nobody. `secret` are folders that no job may see. `layers` are left out by tests alone. `torch_home` holds
    downloaded weights (`hub/checkpoints/*.pth`) that students' code may read. `shared`: what another grader's `share`
    returned. `patience`: what functions get that do not end; with None each call has its whole limit.
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
        self._folders, self._readers = JobFolders(self._servers), WeightReaders()
        self.fork, self._spare_seconds = self._servers.fork, spare_seconds
        self.patience: Patience | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the servers. The runner may be used again afterwards."""
        self._folders.forget()
        self._servers.close()

    def share(self) -> Path:
        """Let runners of other processes use these servers; return what they are given as `shared`."""
        return self._servers.share()

    def join(self, shared: Path) -> None:
        """Use the servers of another process, whose `share` returned this. Call it before anything runs here."""
        self._servers.join(shared)

    @property
    def protection(self) -> Protection:
        """Return what protects the grader from the jobs here; the lightest server is started to find out."""
        return self._servers.protection()

    def run(self, request: CallRequest) -> Execution:
        """Call a student's function.

        Never raises for what a student's code does; a failure of labgrade's has the status `fault`.
        """
        own = Given(request, request.subject, request.model)
        unknown = sorted(set(request.given) - {*GIVEN, *own.values})
        if unknown or (request.given and request.subject is None):
            problem = f"nothing called '{unknown[0]}' can be given" if unknown else "there is no subject to be given"
            return Execution(status="fault", reason=problem)
        subject, told = as_plain(request.subject) if request.subject else None, {"paths": own.paths(GIVEN_FOLDER)}
        wanted = {"given": list(request.given), "subject": subject, "values": own.values}
        return self._call(request, "call", told, wanted, {GIVEN_FOLDER: own.files})

    def run_each(self, request: CallRequest, subjects: Sequence[tuple[SubjectSpec, Mapping[str, Path]]]) -> list[Any]:
        """Return what a function returns for each of several subjects with their files, up to the first failure.

        All are called in one process, so that one call may spoil the next: a wrong result is to be tried by itself.
        `request` is read without its subject; its limits are for all together. An attempt returns nothing if it printed
        something or weights stood in: that has to be told, too. None stands for a call that was passed over.
        """
        each = [as_plain(subject) for subject, _ in subjects]
        own = {f"{GIVEN_FOLDER}/{place}": Given(request, *each) for place, each in enumerate(subjects)}
        values = [one.values for one in own.values()]
        wanted = {"given": list(request.given), "subject": None, "each": each, "values": values}
        paths = [one.paths(folder) for folder, one in own.items()]
        told, files = {"paths": paths, "past": request.past}, {folder: one.files for folder, one in own.items()}
        done = self._call(request, "calls", told, wanted, files)
        fit = done.status == "returned" and not (request.attempt and (done.printed or done.seeded))
        return done.value if fit and isinstance(done.value, list) else []

    def _call(
        self,
        request: CallRequest,
        kind: str,
        arguments: Mapping[str, object],
        wanted: Mapping[str, Any] | None,
        given: Mapping[str, Mapping[str, Path]],
    ) -> Execution:
        """Run a job that calls functions; `given` are files by the folder in which they are given."""
        left_out: list[str] = []

        def lay(folder: Path) -> None:
            left_out[:] = working_copy.copy(request.folder, folder)
            if any(given.values()):
                working_copy.discard(folder / GIVEN_FOLDER)
            for place, files in given.items():
                working_copy.place({f"{place}/{name}": source for name, source in files.items()}, folder)

        def stamp() -> object:
            return None if left_out or any(given.values()) else working_copy.stamp(request.folder)

        told = {"file": request.file, "function": request.function, "torch_home": self._torch_home, **arguments}
        job = partial(Job, kind=kind, server=STUDENTS, lay=lay, arguments=told, wanted=wanted, same=stamp)

        def run(own: CallRequest) -> Execution:
            asked = job(limits=own.limits, attempt=own.attempt)
            read = partial(outcomes.execution, call=own, left_out=left_out)
            done = self._result(asked, read, Execution)
            refused = _NOT_RESIZABLE in done.reason and asked.ready.subjects
            return self._result(replace(asked, anew=True), read, Execution) if refused else done

        if self.patience is None:
            return run(request)
        if len(given) > 1 or "each" in (wanted or ()):
            return self.patience.together(request, run)
        return self.patience.call(request, run, Execution)

    def write(self, request: CallRequest, values: Mapping[str, object]) -> Execution:
        """Call a function that writes a file; the value is the file, an array of bytes.

        Of a file of more than `MOST_BYTES` it is the size alone, an array of one integer. `values`: further arguments
        by name.
        """
        given = request.built
        subject = as_plain(request.subject) if given and request.subject is not None else None
        wanted = {"given": given, "subject": subject} if subject else None
        return self._writes(request, [(values, Given(request, request.subject, request.model))], wanted, several=False)

    def write_each(
        self, request: CallRequest, each: Sequence[tuple[Mapping[str, object], Mapping[str, Path], SubjectSpec]]
    ) -> list[Any]:
        """Return the files that a function writes for several subjects, all in one process; see `run_each`."""
        built = request.built
        wanted = {"given": built, "subject": None, "each": [as_plain(own) for *_, own in each]} if built else None
        own = [(values, Given(request, subject, model)) for values, model, subject in each]
        done = self._writes(request, own, wanted, several=True)
        return done.value if done.status == "returned" and isinstance(done.value, list) else []

    def _writes(
        self,
        request: CallRequest,
        each: Sequence[tuple[Mapping[str, object], Given]],
        wanted: Mapping[str, Any] | None,
        *,
        several: bool,
    ) -> Execution:
        folders = [f"{GIVEN_FOLDER}/{place}" if several else GIVEN_FOLDER for place in range(len(each))]
        placed = list(zip(folders, each, strict=True))
        given = {folder: own.files for folder, (_, own) in placed}
        arguments = {
            "given": list(request.given),
            "subjects": [[{**values, **own.values}, own.paths(at)] for at, (values, own) in placed],
            "several": several,
            "name": request.saved_as or SAVED_AS,
            "module": request.module,
            "most": MOST_BYTES,
        }
        return self._call(request, "write", arguments, wanted, given)

    def verify(self, request: CallRequest) -> Execution:
        """Call a function for each file of `model` but the first, the original; the value is its verdicts by name."""
        original, *files = request.model
        arguments = {"given": list(request.given), "original": original, "files": files}
        return self._call(request, "verify", arguments, None, {GIVEN_FOLDER: request.model})

    def execute(self, request: ProgramRequest) -> ProgramRun:
        """Run a program in a copy of a folder. Never raises; a failure of labgrade's has the status `fault`."""
        if self.patience is None or request.wall:  # a build, which has no limit of a task's
            return self._executed(request)
        return self.patience.call(request, self._executed, ProgramRun)

    def _executed(self, request: ProgramRequest) -> ProgramRun:
        def lay(folder: Path) -> None:
            if request.folder is None:
                working_copy.make_folders(folder)
            else:
                working_copy.copy(request.folder, folder)
            working_copy.place(request.provide, folder)

        job = Job(
            kind="program",
            server=LIGHT,
            lay=lay,
            limits=request.limits,
            arguments={"command": list(request.command)},
            errors=True,
            wall=request.wall,
        )
        return self._result(job, lambda ending: outcomes.program_run(ending, request), ProgramRun)

    def run_script(self, request: ScriptRequest) -> ProgramRun:
        """Run a Python program. Never raises; a failure of labgrade's has the status `fault`."""
        return self._script(request) if self.patience is None else self.patience.call(request, self._script, ProgramRun)

    def _script(self, request: ScriptRequest) -> ProgramRun:
        left_out: list[str] = []
        base = f"{request.cwd}/" if request.cwd else ""
        given = {base + name: source for name, source in request.provide.items()}

        def lay(folder: Path) -> None:
            left_out[:] = working_copy.copy(request.folder, folder)
            working_copy.place(given, folder)

        arguments = {
            "given": list(given),
            "script": request.file,
            "cwd": request.cwd,
            "arguments": list(request.arguments),
            "torch_home": self._torch_home,
        }
        job = Job(kind="script", server=STUDENTS, lay=lay, limits=request.limits, arguments=arguments)
        return self._result(job, lambda ending: outcomes.script_run(ending, request, left_out), ProgramRun)

    def inspect(self, request: InspectRequest) -> Execution:
        """Measure a student's file by trusted code, in a jail in which none of theirs lies.

        The status is `returned` with plain data; `refused` with the message of a ValueError that the function raised,
        which is the student's (a file that is no model); `timeout` or `memory`; and `fault` for anything else.
        """
        file = request.file.resolve()
        server = alone(str(file.parent)) if request.alone else str(file.parent)

        def lay(folder: Path) -> None:
            working_copy.make_folders(folder)
            itself = {} if request.parts else {request.artifact.name: request.artifact}
            working_copy.place({**itself, **request.beside}, folder, link=self._servers.may_link(server))

        arguments = {
            "file": str(file),
            "function": request.function,
            "artifact": request.artifact.name,
            "parameters": dict(request.parameters),
            "several": [[name, dict(parameters)] for name, parameters in request.several],
            "parts": {name: list(places) for name, places in request.parts.items()},
        }
        job = Job(kind="measure", server=server, lay=lay, limits=request.limits, arguments=arguments)
        return self._result(job, lambda ending: outcomes.measured(ending, request), Execution)

    def read(self, request: ReadRequest) -> Execution:
        """Read a hand-in by labgrade's own code, in a jail in which no code of a student's runs.

        The value is a list of replies in the order of the asks. Where reading ended before the last one, `status` says
        why: `timeout`, `memory`, `crashed`; `fault` where the sandbox failed.
        """

        def lay(folder: Path) -> None:
            link = self._servers.may_link(READER)
            working_copy.copy(request.folder, folder, link=link)

        job = Job(
            kind="read",
            server=READER,
            lay=lay,
            limits=request.limits,
            arguments={"files": list(request.files), "asks": list(request.asks)},
            wall=_OWN_WALL_FACTOR * request.limits.seconds,
        )
        return self._result(job, lambda ending: outcomes.replies(ending, request), Execution)

    def open(self, kind: str, source: Path, take: Callable[[IO[bytes]], None], arguments: Mapping[str, object]) -> str:
        """Have `take` read the records of an `archive` or a `repository`, in a jail in which no student's code runs.

        Return why they broke off, or an empty text (`submissions.records.Opening`).

        Raises:
            FaultError: the sandbox can't be used.
        """
        from labgrade.submissions.archive_records import OPENED

        size = source.stat().st_size if source.is_file() else 0
        limits = Limits(seconds=_OPEN_SECONDS + size / _OPENED_BYTES_A_SECOND, memory=_OPEN_MEMORY)

        def lay(folder: Path) -> None:
            link = self._servers.may_link(READER)
            if source.is_file():
                working_copy.make_folders(folder)
                working_copy.lend(source, folder / OPENED, link=link)
            else:
                working_copy.copy(source, folder, link=link)

        wall = _OWN_WALL_FACTOR * limits.seconds
        job = Job(kind=kind, server=READER, lay=lay, limits=limits, arguments=arguments, take=take, wall=wall)
        return outcomes.opened(self._run(job), limits)

    def _result(self, job: Job, read: Callable[[Ending], Result], kind: type[Result]) -> Result:
        """Run a job and `read` its result. Where jobs share a user id, one that fails beside others runs again, alone.

        Never raises: where the sandbox can't be used, the result is a fault.
        """
        job = replace(job, server=in_environment(job.server, job.limits.environment))
        try:
            gate = self._servers.gate(job.server)
            if gate is None:
                return read(self._run(job))
            with gate.beside() as others_ran:
                result = read(self._run(job))
                crowded = others_ran()
            if not crowded or not outcomes.failed(result):
                return result
            with gate.alone():
                return read(self._run(job))
        except FaultError as error:
            return kind(status="fault", reason=str(error))

    def _run(self, job: Job) -> Ending:
        """Run one job on what its `lay` puts into a folder.

        Raises:
            FaultError: the sandbox cannot be used.
        """
        try:
            job = self._readers.blank(job) if self._servers.may_link(job.server) else job
            for _ in range(2):  # where what kept it is gone it begins anew
                with self._folders.folder_of(job) as folder:
                    ending = self._begun(job, folder)
                    if ending is not None and ending.was_blind:
                        job = self._readers.note(job)
                        ending = self._begun(job, folder)
                if ending is not None and not ending.should_retry(trusted=job.is_trusted, taken=job.take is not None):
                    break
        except OSError as error:
            message = f"the sandbox could not be used: {error}"
            raise FaultError(message) from error
        if ending is None or (ending.lost and not ending.up):
            message = "the sandbox's server went away twice before the job began"
            raise FaultError(message)
        return ending

    def _begun(self, job: Job, folder: Path) -> Ending | None:
        limits, server = job.limits, self._servers.get(job.server)
        self._servers.open_up(folder, server)
        allowed = {"seconds": limits.seconds, "memory": limits.memory}
        wall = job.wall or max(_WALL_FACTOR * limits.seconds, limits.seconds + self._spare_seconds)
        with self._servers.group(limits.memory) as group, server.user() as user:
            try:
                if isinstance(server, ForkServer):
                    own = {"job": folder.name, "user": user, "meta": job.on_meta(folder), **allowed}
                    child = server.start(
                        own, limits.output, errors=job.errors, ready=job.ready, entries=group.entries, take=job.take
                    )
                else:
                    child = server.start({"folder": str(folder), **allowed}, limits.output, job.take)
            except LostError:
                self._servers.drop(job.server, server)
                return None  # it was gone before it was asked
            child.give(job.wanted or {"given": [], "subject": None})
            ending = follow(child, {"kind": job.kind, **job.arguments}, wall, group.starved, self.patience)
        if ending.lost and (ending.stopped or not isinstance(server, ForkServer) or server.is_ending):
            self._servers.drop(job.server, server)
        return ending
