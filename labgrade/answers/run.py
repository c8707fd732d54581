"""Answers read from what a student's program prints and writes. One run serves all answers that read it."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from labgrade.answers import advice, artifacts
from labgrade.answers.call import OUTCOMES, UNSTEADY
from labgrade.answers.printed_names import PRINTED
from labgrade.answers.reader.asks import Ask, ask_value
from labgrade.answers.reading.documents import Unreadable, locate
from labgrade.core import programs
from labgrade.core.results import Answer, NoAnswer, Submission
from labgrade.core.subject import of_program
from labgrade.core.task import ARTIFACT_KINDS, BuildForm, EntryForm, FileForm, TextForm
from labgrade.core.text import decoded, excerpt
from labgrade.cpp.run import Programs, find
from labgrade.sandbox.requests import ScriptRequest
from labgrade.verdict import Outcome, without_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from labgrade.answers.question import Question
    from labgrade.answers.reader.reader import Reader
    from labgrade.core.results import Answered
    from labgrade.core.task import AnswerType, Limits, RunForm, SubjectSpec
    from labgrade.cpp.build import Builder
    from labgrade.cpp.sources import Sources
    from labgrade.sandbox.requests import ProgramRun
    from labgrade.sandbox.runner import Runner

    Provide: TypeAlias = Callable[[str | Path, SubjectSpec | None], Path]

_SHOWN_CHARS = 4000
_LINE_CHARS = 120
_ASIDE = "it stands on stderr; print answers with std::cout"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A program that has ended: its outcome, what it printed (one file, `stdout`), and the files that it wrote.

    `notes` and `hint` are those of its build.
    """

    run: ProgramRun
    printed: Submission
    written: Submission
    notes: tuple[str, ...] = ()
    hint: str = ""


class Runs:
    """Runs each program once for each submission, subject and limits. Use as a context manager, or call `close`.

    `provide` returns the file for a source of `RunForm.provide`, for the subject at hand; `builder` builds C++,
    `reader` reads what programs printed and wrote.
    """

    def __init__(self, runner: Runner, provide: Provide, builder: Builder, reader: Reader) -> None:
        self.reader = reader
        self.runner = runner
        self._provide = provide
        self._programs = Programs(runner, provide, builder, reader.explain)
        self._ended: dict[str, Ran] = {}
        self._home: tempfile.TemporaryDirectory[str] | None = None

    def close(self) -> None:
        """Forget everything."""
        self._ended.clear()
        if self._home is not None:
            self._home.cleanup()
            self._home = None

    def run(
        self,
        form: RunForm | BuildForm,
        found: str | Sources,
        submission: Submission,
        *,
        subject: SubjectSpec | None,
        limits: Limits,
    ) -> Ran:
        """Run the program, whose file or sources are at `found`, unless it ran before; return its outcome.

        Raises:
            FaultError: what has to be provided can't be made, or what builds it is missing.
        """
        changing = subject if form.varies else None
        key = repr((str(submission.folder), found, replace(form, reads=TextForm()), changing, limits))
        if key not in self._ended:
            if isinstance(form, BuildForm) and not isinstance(found, str):
                done = self._programs.run(form, found, subject=subject, limits=limits)
                self._ended[key] = self._kept(done.run, submission, "", notes=done.notes, hint=done.hint)
            elif not isinstance(form, BuildForm) and isinstance(found, str):
                self._ended[key] = self._run(form, found, submission, subject=subject, limits=limits)
        return self._ended[key]

    def _run(
        self, form: RunForm, found: str, submission: Submission, *, subject: SubjectSpec | None, limits: Limits
    ) -> Ran:
        base = found[: len(found) - len(form.file)].rstrip("/")
        words, files = of_program(form.given, subject)
        asked: dict[str, str | Path] = {**form.provide, **files}
        asked |= {programs.TARGET: "subject.pt"} if programs.TORCHSCRIPT in form.given else {}
        request = ScriptRequest(
            folder=submission.folder,
            file=found[len(found) - len(form.file) :],
            cwd=base,
            arguments=(*form.arguments, *words),
            provide={target: self._provide(source, subject) for target, source in asked.items()},
            limits=limits,
        )
        return self._kept(self.runner.run_script(request), submission, base)

    def _kept(
        self, ended: ProgramRun, submission: Submission, base: str, *, notes: tuple[str, ...] = (), hint: str = ""
    ) -> Ran:
        if self._home is None:
            self._home = tempfile.TemporaryDirectory(prefix="labgrade-runs-", ignore_cleanup_errors=True)
        home = Path(tempfile.mkdtemp(dir=self._home.name))
        files = {_below_base(base, path): data for path, data in ended.files.items()}
        return Ran(
            run=replace(ended, files={}),
            printed=_kept(submission.name, home / "printed", {PRINTED: ended.stdout}),
            written=_kept(submission.name, home / "written", files),
            notes=notes,
            hint=hint,
        )


def obtain(question: Question, form: RunForm | BuildForm, runs: Runs) -> Answered | None:
    """Return the value that the program prints or writes, or why there is none; None if there is no such program.

    A value from before the program failed counts, and a note says how it failed.
    """
    kind = question.wanted.type
    found = _found(form, question.submission)
    if found is None:
        return None
    if isinstance(found, Unreadable):
        return NoAnswer(verdict=without_value(Outcome.INCORRECT, found.reason), origin=found.path)
    ran = runs.run(form, found, question.submission, subject=question.subject, limits=question.limits)
    value: Answered | None = _read(runs, kind, form, ran)
    aside: tuple[str, ...] = ()
    if value is None and isinstance(form, BuildForm):
        value, aside = _found_on_stderr(runs, kind, form, ran)
    failed = ran.run.status != "returned"
    notes = (*ran.notes, *advice.notes(ran.run), *aside)
    facts = _streams(ran.run)
    printed = "\n".join(facts.values())
    if value is not None and (isinstance(value, Answer) or not failed):
        later = (f"{form.file} did not end well: {ran.run.reason}",) if failed else ()
        value = replace(value, origin=f"{form.command}: {value.origin}", notes=(*later, *notes), printed=printed)
        return replace(value, computed=form.varies) if isinstance(value, Answer) else value
    verdict = (
        without_value(OUTCOMES[ran.run.status], ran.run.reason, hint=ran.hint or advice.hint(ran.run), **facts)
        if failed
        else without_value(Outcome.MISSING, _not_there(form, ran), **facts)
    )
    verdict = replace(verdict, unsteady=ran.run.status in UNSTEADY)
    return NoAnswer(verdict=verdict, origin=form.command, notes=notes, printed=printed)


def _found(form: RunForm | BuildForm, submission: Submission) -> str | Sources | Unreadable | None:
    if not isinstance(form, BuildForm):
        return locate(submission, f"{form.folder}/{form.file}" if form.folder else form.file)
    sources = find(form, submission)
    return Unreadable(path=form.folder, reason=sources) if isinstance(sources, str) else sources


def _read(runs: Runs, kind: AnswerType, form: RunForm | BuildForm, ran: Ran) -> Any:
    if isinstance(form.reads, EntryForm):
        return runs.reader.ask(ran.printed, Ask(wanted="printed", kind=kind, forms=(form.reads,)))
    if isinstance(form.reads, FileForm) or form.reads.file is not None:
        if isinstance(form.reads, FileForm) and kind in ARTIFACT_KINDS:
            return artifacts.obtain(form.reads, ran.written)
        if isinstance(form.reads, FileForm) and artifacts.holds_tensors(kind, form.reads.pattern):
            return artifacts.obtain_tensors(kind, form.reads, ran.written, runs.runner)
        return runs.reader.ask(ran.written, ask_value(kind, form.reads))
    return runs.reader.ask(ran.printed, ask_value(kind, replace(form.reads, file=PRINTED)))


def _found_on_stderr(runs: Runs, kind: AnswerType, form: BuildForm, ran: Ran) -> tuple[Answer | None, tuple[str, ...]]:
    """Return a value that was printed to stderr, which a terminal shows all the same, with a note."""
    if not ran.run.stderr.strip():
        return None, ()
    place = Path(tempfile.mkdtemp(dir=ran.printed.folder)) / "stderr"
    printed = _kept(ran.printed.name, place, {PRINTED: ran.run.stderr})
    found = _read(runs, kind, form, replace(ran, printed=printed, run=replace(ran.run, stdout=ran.run.stderr)))
    if not isinstance(found, Answer):
        return None, ()
    return replace(found, origin=found.origin.replace(PRINTED, "stderr", 1)), (_ASIDE,)


def _not_there(form: RunForm | BuildForm, ran: Ran) -> str:
    """Return why a program that ended well gave no answer."""
    reads = form.reads
    if isinstance(reads, EntryForm):
        lines = [line.strip() for line in decoded(ran.run.stdout).splitlines() if line.strip()]
        if not lines:
            return f"{form.command} ended well, but printed nothing; a line '{reads.path}: ...' is looked for"
        last = excerpt(lines[-1], _LINE_CHARS)
        return f"{form.command} ended well, but printed no '{reads.path}: ...'; its last line is '{last}'"
    place = reads.pattern if isinstance(reads, FileForm) else reads.file
    if place is not None and "*" not in place and locate(ran.written, place) is None:
        files = ", ".join(f"'{path}'" for path in ran.written.files[:8])
        return f"{form.command} ended well, but wrote no '{place}'" + (f"; it wrote {files}" if files else "")
    words = f"'{reads.after or reads.find}'" if not isinstance(reads, FileForm) and (reads.after or reads.find) else ""
    where = f"in '{place}'" if place else "in what it printed"
    return f"{form.command} ended well, but {words or 'no value of the kind asked for'} is not {where}"


def _streams(run: ProgramRun) -> dict[str, str]:
    """Return the program's output and errors, for staff."""
    streams = {"printed": decoded(run.stdout), "stderr": decoded(run.stderr)}
    return {name: excerpt(text, _SHOWN_CHARS) for name, text in streams.items() if text.strip()}


def _below_base(base: str, path: str) -> str:
    """Return a path within the folder that the program ran in; other paths keep their path from the top."""
    return path[len(base) + 1 :] if base and path.startswith(f"{base}/") else path


def _kept(name: str, folder: Path, files: Mapping[str, bytes]) -> Submission:
    """Write the files below a folder of labgrade's and return them; names that lead elsewhere are left out."""
    folder.mkdir()
    kept = []
    for path, data in files.items():
        if "\\" in path or path.startswith("/") or not path.isprintable() or {"", ".", ".."} & set(path.split("/")):
            continue
        target = folder / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as writer:
                writer.write(data)
        except OSError:
            continue
        kept.append(path)
    return Submission(name=name, folder=folder, files=tuple(sorted(kept)))
