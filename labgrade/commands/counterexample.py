"""The command `labgrade counterexample`: the smallest network on which a function is wrong, to paste."""

from __future__ import annotations

import random
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from labgrade.core.did_you_mean import did_you_mean, look_up
from labgrade.core.errors import FAULT, NOT_RIGHT, OK, UsageError
from labgrade.core.task import FAMILIES, CallForm, QuantityCall
from labgrade.core.text import for_terminal, one_line
from labgrade.diagnosis.counterexample import judged, memory
from labgrade.diagnosis.probe import Trials
from labgrade.diagnosis.search import SearchPlan
from labgrade.files import downloaded_weights
from labgrade.reports.plain_page import Page
from labgrade.reports.summary import hint, reason
from labgrade.run.grader import Grader
from labgrade.spec import course, load
from labgrade.submissions import find
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    import argparse

    from labgrade.core.task import Check, Task
    from labgrade.diagnosis.counterexample import Remembered
    from labgrade.verdict import Verdict

_LARGEST_SEED = 1 << 32
_IN_TURN = ("cnn", "attention")
_LAYER = "linear/layer.onnx"


def add_counterexample(parser: argparse.ArgumentParser) -> None:
    """The arguments of `counterexample`."""
    parser.add_argument("function", metavar="FILE:FUNCTION", help="such as hw2_1.py:total_macs")
    parser.add_argument("--task", metavar="ID", help="the task that it is written for, where several ask for it")
    parser.add_argument("--course", type=Path, metavar="FOLDER", help="a folder with specs/, whose code is trusted")
    parser.add_argument("--check", metavar="ID", help="the check of that task that judges it")
    parser.add_argument(
        "--among", choices=FAMILIES, help="the family of networks (default: the check's, else cnn, then attention)"
    )
    parser.add_argument("--tries", type=int, metavar="N", help="how many networks (default: the check's, else 100)")
    parser.add_argument("--seconds", type=float, default=60.0, metavar="S", help="at most so long (default: 60)")
    parser.add_argument("--seed", metavar="N", default="0", help="which networks: a number, or `fresh` for new ones")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Search, print what was found. 0 where nothing is wrong, 1 where something is, 3 for a fault of labgrade's."""
    file, colon, function = options.function.rpartition(":")
    if not colon or not Path(file).is_file():
        message = f"'{options.function}' names no function of a file here; write it as hw2_1.py:total_macs"
        raise UsageError(message)
    found = course.find_for(Path(file).parent, options.course)
    task, check = _check_of_function(found, Path(file).name, function, options)
    with tempfile.TemporaryDirectory(prefix="labgrade-store-", ignore_cleanup_errors=True) as store:
        folder = Path(file).parent
        with Grader(found, torch_home=downloaded_weights.find(None)) as grader:
            who = find.take(folder, find.name_of(folder.resolve()), Path(store), opening=grader.runner.open)
            grader.oracle.begin()
            trials = Trials(grader, _called_in_file(task, check, Path(file).name), check, who)
            fresh = options.seed == "fresh"
            records = [memory(task, check, Path(file).resolve())]
            if not fresh:
                records.insert(0, memory(task, check, trials.content()))
            verdict = _search(trials, _plan(task, check, options), records, named=bool(options.among))
    _show(f"{task.id} {check.id}: ", verdict)
    return {Outcome.CORRECT: OK, Outcome.FAULT: FAULT}.get(verdict.outcome, NOT_RIGHT)


def _show(label: str, verdict: Verdict) -> None:
    """Print the finding, then the program without indentation, ready to paste."""
    page = Page(Console(highlight=False))
    page.paragraph(reason(verdict), indent=0, label=label)
    for line in (*verdict.lines, *verdict.picture):
        print(for_terminal(one_line(line), sys.stdout.encoding))  # noqa: T201
    if helps := hint(verdict):
        page.paragraph(helps, indent=0, label="hint: ")


def _search(trials: Trials, plan: SearchPlan, records: list[Remembered], *, named: bool) -> Verdict:
    """Search and return the verdict. Where nobody chose a family of networks, try the next if one finds nothing."""
    families = [plan.among] if named or trials.check.counterexample or plan.among == "sizes" else _IN_TURN
    for among in families:
        tried = replace(plan, among=among)
        print(_start_message(tried), file=sys.stderr)  # noqa: T201
        found = judged(trials, tried, records)
        if not found.tells_nothing:
            break
    return found.verdict


def _start_message(plan: SearchPlan) -> str:
    what = {"cnn": "networks", "sizes": "sizes"}.get(plan.among, f"networks ({plan.among})")
    return (
        f"trying {plan.tries} random {what}, for {plan.seconds:g} s at most, and as long again to find the smallest ..."
    )


def _plan(task: Task, check: Check, options: argparse.Namespace) -> SearchPlan:
    if options.seed != "fresh" and not options.seed.isdecimal():
        message = f"a seed is a number or `fresh`, not '{options.seed}'"
        raise UsageError(message)
    seed = random.SystemRandom().randrange(_LARGEST_SEED) if options.seed == "fresh" else int(options.seed)
    own = check.counterexample
    usual = own.among if own else "sizes" if task.subject and task.subject.model == _LAYER else "cnn"
    among = options.among or usual
    if (among == "sizes") != (usual == "sizes"):
        message = f"'{task.id}' is not about networks of the family '{among}'"
        raise UsageError(message)
    tries = options.tries or (own.tries if own else 100)
    return SearchPlan(among=among, like=task.subject, tries=tries, seconds=options.seconds, seed=seed)


def _check_of_function(
    found: course.Course, file: str, function: str, options: argparse.Namespace
) -> tuple[Task, Check]:
    """The public check that judges the function: one with a search of its own, else the first that can be searched."""
    read = [each.task for each in load.read_all(load.files(found.specs), found) if each.task is not None]
    tasks = [look_up(options.task, {task.id: task for task in read}, "task")] if options.task else read
    fitting = [(task, check) for task in tasks for check in task.checks if _fits(task, check, function)]
    fitting = [each for each in fitting if options.check in (None, each[1].id)]
    if not fitting:
        names = sorted({form.function for task in tasks for form in _forms(task)} - {function})
        message = f"no task asks for '{function}' so that it can be searched{did_you_mean(function, names)}"
        raise UsageError(message)
    fitting = [each for each in fitting if _names_file(*each, file)] or fitting
    ids = dict.fromkeys(task.id for task, _ in fitting)
    if len(ids) > 1 and not any(_names_file(*each, file) for each in fitting):
        message = f"several tasks ask for '{function}', and none in {file}; name one with --task: {', '.join(ids)}"
        raise UsageError(message)
    return min(fitting, key=lambda each: each[1].counterexample is None)


def _names_file(task: Task, check: Check, file: str) -> bool:
    """Return whether the task asks for the function in a file of this name."""
    forms = (form for form in task.answers[check.answer].forms if isinstance(form, CallForm))
    return any(form.file.lower() == file.lower() for form in forms)


def _forms(task: Task) -> list[CallForm]:
    return [form for answer in task.answers.values() for form in answer.forms if isinstance(form, CallForm)]


def _fits(task: Task, check: Check, function: str) -> bool:
    forms = [form for form in task.answers[check.answer].forms if isinstance(form, CallForm)]
    asked = any(form.function == function for form in forms)
    computed = check.measured is not None or isinstance(check.expected, QuantityCall)
    built = task.subject is not None and not (task.subject.handed_in or task.subject.is_config)
    searched = built and not check.by_hand
    return asked and computed and searched and not check.hidden


def _called_in_file(task: Task, check: Check, file: str) -> Task:
    """Return the task with only those forms of the check's answer that call this file."""
    wanted = task.answers[check.answer]
    forms = tuple(replace(form, file=file) for form in wanted.forms if isinstance(form, CallForm))
    return replace(task, answers={**task.answers, wanted.name: replace(wanted, forms=forms)})
