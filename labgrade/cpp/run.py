"""C++ programs of students: built once a content, run once a subject, and what came of them in words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from labgrade.core import programs
from labgrade.core.results import Submission
from labgrade.core.subject import of_program
from labgrade.core.text import decoded, excerpt
from labgrade.cpp import explain as explaining
from labgrade.cpp import sources as build_sources
from labgrade.sandbox.outcomes import signal_name
from labgrade.sandbox.requests import ProgramRequest, ProgramRun

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from labgrade.core.task import BuildForm, Limits, SubjectSpec
    from labgrade.cpp.build import Builder, Built
    from labgrade.cpp.explain import Explain
    from labgrade.cpp.sources import Sources
    from labgrade.sandbox.runner import Runner

    Provide: TypeAlias = Callable[[str | Path, SubjectSpec | None], Path]

_REASON_CHARS = 600
_ABORTS = 6
_NAME_IT = "name it so: add_executable({wanted} ...) in CMakeLists.txt, or -o {wanted}"
_ALONE = "called with the path alone: with the size of the input behind it, it ended with exit code {code}"
_OTHER_NAME = "the build makes no '{wanted}'; its only program, '{made}', was run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The outcome of building and running a program: the run, its notes, and what to do where it failed."""

    run: ProgramRun
    notes: tuple[str, ...] = ()
    hint: str = ""


def find(form: BuildForm, submission: Submission) -> Sources | str | None:
    """Return the sources that a form names, or why they can't be found; None where there are none."""
    return build_sources.find(submission, form.folder)


class Programs:
    """Builds and runs programs, each build of a submission once. `explain` reads their output."""

    def __init__(self, runner: Runner, provide: Provide, builder: Builder, explain: Explain = explaining.read) -> None:
        self._explain = explain
        self._runner = runner
        self._provide = provide
        self._builder = builder
        self._built: dict[tuple[Path, str, str], Built] = {}

    def run(self, form: BuildForm, sources: Sources, *, subject: SubjectSpec | None, limits: Limits) -> Program:
        """Build the sources unless they are built, and run the program that the form names.

        Raises:
            FaultError: a compiler is missing, what the program is given can't be made, or the sandbox failed.
        """
        key = (sources.folder, sources.file, form.program if sources.kind == "file" else "")
        if key not in self._built:
            self._built[key] = self._builder.build(sources, form.program)
        built = self._built[key]
        if built.failed is not None:
            return Program(run=built.failed, notes=built.notes, hint=built.hint)
        path, note = _chosen(form, built)
        if not path:
            hint = _NAME_IT.format(wanted=form.program)
            return Program(run=ProgramRun(status="missing", reason=note), notes=built.notes, hint=hint)
        notes = (*built.notes, note) if note else built.notes
        given = {} if programs.TORCHSCRIPT not in form.given else {programs.TARGET: "subject.pt"}
        words, files = of_program(form.given, subject)
        asked = {**form.provide, **given, **files}
        request = ProgramRequest(
            command=(f"./{path}", *words),
            name=form.program,
            provide={
                **sources.paths(),
                **built.files,
                **{target: self._provide(source, subject) for target, source in asked.items()},
            },
            limits=limits,
        )
        ended = self._runner.execute(request)
        if _refuses_sizes(ended, form):
            alone = self._runner.execute(replace(request, command=(f"./{path}", programs.TARGET)))
            if alone.status == "returned" and alone.code == 0:
                return Program(run=alone, notes=(*notes, _ALONE.format(code=ended.code)))
        return self._told(ended, form, sources, notes)

    def _told(self, ended: ProgramRun, form: BuildForm, sources: Sources, notes: tuple[str, ...]) -> Program:
        """Describe a run, with what to do."""
        if ended.status not in ("crashed", "returned") or (ended.status, ended.code) == ("returned", 0):
            return Program(run=ended, notes=notes)
        submission = Submission(name="", folder=sources.folder, files=sources.files)
        said = decoded(ended.stderr)[-explaining.MOST_CHARS :]
        crash = self._explain("crash", submission, said) or explaining.NOTHING["crash"]
        run = in_words(ended, form.program, crash)
        found = self._explain("sources", submission, "") or explaining.NOTHING["sources"]
        return Program(run=run, notes=notes, hint=remedy(run, form, crash[-1], found))


def _refuses_sizes(ended: ProgramRun, form: BuildForm) -> bool:
    """Return whether a program seems to be PyTorch's tutorial, which takes one argument: `if (argc != 2) return -1`."""
    both = form.given == (programs.TORCHSCRIPT, programs.INPUT_SIZE)
    refused = ended.status == "returned" and (ended.code or 0) > 0
    return both and refused and (not ended.stdout.strip() or b"usage" in ended.stdout.lower())


def _chosen(form: BuildForm, built: Built) -> tuple[str, str]:
    """Return the program of that name, or the only one, with a note; or None with the reason."""
    named = [path for path in built.programs if path.rpartition("/")[2] == form.program]
    if named:
        return min(named, key=lambda path: (path.count("/"), path)), ""
    if len(built.programs) == 1:
        made = built.programs[0]
        return made, _OTHER_NAME.format(wanted=form.program, made=made.rpartition("/")[2])
    names = ", ".join(f"'{path.rpartition('/')[2]}'" for path in built.programs[:8])
    return "", f"the build ended well, but made no program '{form.program}'" + (f"; it made {names}" if names else "")


def in_words(run: ProgramRun, name: str, crash: tuple[str, ...]) -> ProgramRun:
    """Return the run with a status that follows from its exit code, too, and with a reason for the student.

    `crash`: what a reader found in what it said on stderr (`explain.read`).
    """
    if run.status != "returned" or run.code == 0:
        return run
    code = run.code or 0
    starved, exception, cause, last, _ = crash
    if starved:
        return replace(run, status="memory", reason=f"{name} asked for more memory than it may use")
    if exception and code == -_ABORTS:
        reason = f"{name} ended with an exception that nothing caught, {exception}" + (f": {cause}" if cause else "")
    elif code < 0:
        reason = f"{name} was killed by {signal_name(-code)}"
    else:
        reason = f"{name} ended with exit code {code}" + (f": {last}" if last else "")
    return replace(run, status="crashed", reason=excerpt(reason, _REASON_CHARS))


def remedy(run: ProgramRun, form: BuildForm, unopened: str, sources: tuple[str, ...]) -> str:
    """Return what to do, or nothing. `unopened` is a model that can't be opened, `sources` what a reader found."""
    if run.status == "crashed" and "SIGSEGV" in run.reason:
        return (
            "it used memory that is not its own: an index beyond the end, a null pointer, or an argv[i] that was not "
            "given"
        )
    if run.status != "crashed":
        return ""
    named, typed = sources
    if programs.TORCHSCRIPT in form.given and (name := unopened or named):
        at = form.given.index(programs.TORCHSCRIPT) + 1
        return f"open the file that the program is called with, argv[{at}], not '{excerpt(name, 200)}'"
    return "nobody types while your work is graded: take what you need from argv, not from std::cin" if typed else ""
