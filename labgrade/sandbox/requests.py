"""What the grader asks of the sandbox, and what it gets where that is more than an Execution."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from labgrade.core.arguments import GIVEN
from labgrade.core.execution import Limits
from labgrade.sandbox.child.subject import needs_values, without_input
from labgrade.subjects.networks import GENERATED
from labgrade.subjects.options import FROZEN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from typing import IO, Any

    from labgrade.core.execution import ExecutionStatus
    from labgrade.core.subject import Plain, SubjectSpec

_OF_FUNCTIONS = frozenset({"call", "calls", "write"})
_META = re.compile(rb"""["']meta\\?["']""")  # in a notebook with a backslash
_MOST_SOURCE = 2 << 20
_QUICKLY_BUILT = (GENERATED, "micro/")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRequest:
    """One call of a student's function: `function` of `file`, a POSIX path within `folder`, with the `given` values.

    `model` are the files of an ONNX subject by name, itself first, then its external data. The child gets copies. A
    file that it writes is called `saved_as`; with `module`, it is the network that the function returns. `attempt`: a
    call that saves others if it succeeds, and has less time than one of them. `past`: of several calls in one process
    those that raise do not end it. `written`: as in a CallForm.
    """

    folder: Path
    file: str
    function: str
    given: tuple[str, ...]
    subject: SubjectSpec | None
    limits: Limits
    model: Mapping[str, Path] = field(default_factory=dict)
    saved_as: str = ""
    module: bool = False
    attempt: bool = False
    past: bool = False
    written: Mapping[str, Plain] = field(default_factory=dict)

    @property
    def built(self) -> list[str]:
        """Return the arguments that are made from the subject. To trace a returned network, the input is among them."""
        words = [word for word in self.given if word in GIVEN and word != "model_path"]
        traced = self.module and "input" not in words and self.subject is not None and not self.subject.is_config
        return [*words, "input"] if traced else words

    @property
    def called(self) -> tuple[str, ...]:
        """Return the key of the function; its last part is the name."""
        return self.file, self.function


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRequest:
    """One program: `command` is run in a writable copy of `folder` (None: an empty folder), without a shell.

    `provide` places labgrade's files in the copy, by POSIX path within it; they win over files of the same name.
    `python` is the interpreter that runs labgrade. Standard input is empty. `name`: its name in messages. `wall`: the
    seconds that it may take by the clock; 0 stands for many times its computing time.
    """

    command: tuple[str, ...]
    name: str = ""
    folder: Path | None = None
    provide: Mapping[str, Path] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    wall: float = 0.0

    @property
    def called(self) -> tuple[str, ...]:
        """Return the key of the program."""
        return (self.name or self.command[0],)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptRequest:
    """One Python program, run as `python FILE ARGUMENTS` in a writable copy of `folder`, but warm: torch is loaded.

    `file` is relative to `cwd`, a folder within `folder` (`""` is its top). `provide` as for any program.
    """

    folder: Path
    file: str
    cwd: str = ""
    arguments: tuple[str, ...] = ()
    provide: Mapping[str, Path] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)

    @property
    def function(self) -> str:
        """Return the script's name in messages."""
        return self.file

    @property
    def called(self) -> tuple[str, ...]:
        """Return the key of the program."""
        return self.cwd, self.file


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRun:
    """The outcome of a program.

    `status` is "returned" where it ended by itself, whatever its `code` (0, an exit code, or minus a signal); else why
    it did not, with the `reason` for the student: "missing" (no such command), "timeout", "memory", "output", "crashed"
    (too many processes), "refused", "fault" (ours). `stdout` and `stderr` are raw and bounded by `limits.output`; show
    an `excerpt` of them. `files` are those that it wrote or changed, by POSIX path; `left_out` names those that were
    too large. Any other status has no files, but output.

    A Python program that fails is "crashed" ("memory" where that is why), with its own line and its files; `stderr` is
    then the end of it, and `seeded` the architectures whose trained weights the zoo's stood in for.
    """

    status: ExecutionStatus
    code: int | None = None
    reason: str = ""
    stdout: bytes = b""
    stderr: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    seconds: float = 0.0
    seeded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectRequest:
    """One measurement of a student's file: `function(path, **parameters)` of the trusted `file`, such as a quantity.

    `artifact` is a regular file; its `beside` are further files by POSIX path, such as its external data, placed in the
    same folder. The path that the function gets keeps the artifact's name. With `several`, files among them with their
    parameters, the value is a list: of the artifact, then of these up to the first on which the function raises. With
    `parts`, names of files `beside` by group, the function gets these in place of a path. `alone`: there are few, so
    that a server with libraries is not worth its start.
    """

    file: Path
    function: str
    artifact: Path
    alone: bool = False
    beside: Mapping[str, Path] = field(default_factory=dict)
    parameters: Mapping[str, object] = field(default_factory=dict)
    several: Sequence[tuple[str, Mapping[str, object]]] = ()
    parts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """Reading of a hand-in by labgrade's own code, where no student's code runs: a reply to each of the `asks`.

    `files` are those of the hand-in in `folder`; `asks` are texts that the reader in the jail knows how to read.
    """

    folder: Path
    files: tuple[str, ...]
    asks: tuple[str, ...]
    limits: Limits


@dataclass(frozen=True, slots=True)
class Ready:
    """The subjects that a branch of a server should have ready for a job.

    `several`: the branch has the subjects of other jobs ready, too, because nothing that its jobs say reaches a
    student. Any other has one subject, so that no job sees what another is given. `blank`: weights that nobody has
    drawn will do.
    """

    subjects: Sequence[Mapping[str, Any]] = ()
    several: bool = False
    blank: bool = False

    @property
    def branch(self) -> str:
        """Return the key of the branch."""
        return "several" if self.several else json.dumps(self.subjects)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job on its way to a child: `kind` is one of child/jobs.py, and `arguments` what that kind takes.

    `lay` puts the working copy into a folder that does not exist yet; `same` returns a key of its files, so that one
    copy serves all jobs with that key, and None where it must be laid anew; `server` is the kind that is asked;
    `wanted` are values of a subject, `anew` where the child is to build them itself; `errors`: stderr is returned by
    itself; `attempt` and `wall` as in a CallRequest and a ProgramRequest; `take` reads the result as it comes; `blank`:
    it reads no weight, as far as is known.
    """

    kind: str
    server: str
    lay: Callable[[Path], object]
    limits: Limits
    arguments: Mapping[str, object]
    wanted: Mapping[str, Any] | None = None
    attempt: bool = False
    anew: bool = False
    blank: bool = False
    errors: bool = False
    wall: float = 0.0
    take: Callable[[IO[bytes]], None] | None = None
    same: Callable[[], object | None] = lambda: None

    @property
    def may_read_nothing(self) -> bool:
        """Return whether its function is called with a network alone: whoever gets an input runs it."""
        given = (self.wanted or {}).get("given", ())
        return self.kind in {"call", "calls"} and not self.anew and "model" in given and "input" not in given

    @property
    def is_trusted(self) -> bool:
        """Return whether the job runs no student's code."""
        return self.kind in {"read", "measure"}

    def on_meta(self, folder: Path) -> bool:
        """Return whether the file of the called function names the meta device: torch may then load its compiler."""
        if self.kind not in _OF_FUNCTIONS:
            return False
        try:
            with open(f"{folder}/handin/{self.arguments.get('file', '')}", "rb", buffering=0) as opened:  # noqa: PTH123
                return _META.search(opened.read(_MOST_SOURCE)) is not None
        except OSError:
            return False

    @property
    def ready(self) -> Ready:
        """Return the subjects that a branch of the server should have ready. A random network is used only once.

        Their input and their frozen layers do not matter: each job sees to these, on the same weights. Of several,
        those that take long to build: of an attempt all, else the only one.
        """
        some = self.wanted and not self.anew and needs_values(tuple(self.wanted["given"]))
        wanted = self.wanted if self.wanted and some else {}
        if wanted.get("subject") is not None:
            own = [_of_any_input(wanted["subject"])] if wanted["subject"]["model"] != GENERATED else []
            return Ready(own, blank=self.blank)
        slow = [each for each in wanted.get("each", ()) if not each["model"].startswith(_QUICKLY_BUILT)]
        fit = self.attempt or len(slow) == 1
        return Ready(list(map(_of_any_input, slow)) if fit else [], several=self.attempt, blank=self.blank)


def _of_any_input(subject: Mapping[str, Any]) -> dict[str, Any]:
    options = {name: value for name, value in subject.get("options", {}).items() if name != FROZEN}
    return without_input(subject) | ({"options": options} if "options" in subject else {})
