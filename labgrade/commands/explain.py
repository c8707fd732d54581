"""What the ledger alone tells: `labgrade explain`, the story of a verdict, and `standing`, what waits for a person."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade.commands.review import add_results_arguments, console
from labgrade.core.did_you_mean import look_up
from labgrade.core.errors import NOT_RIGHT, OK
from labgrade.ledger import read as reading
from labgrade.ledger.database import Ledger
from labgrade.reports.plain_page import Page
from labgrade.reports.summary import facts, full_reason, hint, points, worth
from labgrade.review import pending
from labgrade.review import results as whole
from labgrade.review.decisions import Place, in_words
from labgrade.spec import course, load

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from fractions import Fraction

    from labgrade.ledger.read import Story

_FILES = 12
_PLACE = ("lab", "task", "check")
_SPEC_CHARS = 400
_VERSIONS = ("libraries", "imports")
_DEPENDS = {
    "checker": "checker's files: ",
    "quantities": "quantities' files: ",
    "submission": "handed in: ",
    "libraries": "libraries: ",
    "imports": "imports: ",
}


def add_explain(parser: argparse.ArgumentParser) -> None:
    """The arguments of `explain`."""
    parser.add_argument("student", metavar="STUDENT")
    parser.add_argument("task", metavar="TASK", help="such as 2-1-4-macs, or all that begin so: 2-1")
    parser.add_argument("check", nargs="?", metavar="CHECK", help="only this check, such as total, with all its cases")
    parser.add_argument(
        "--results", "--out", dest="out", type=Path, default=Path("results"), metavar="DIR", help="default: results"
    )
    parser.set_defaults(run=explain)


def explain(options: argparse.Namespace) -> int:
    """Tell it; nothing is run."""
    from rich.console import Console

    with Ledger(options.out) as ledger:
        names = [who for (who,) in ledger.rows("SELECT who FROM submission ORDER BY who")]
        found = whole.read(options.out)
        who = _one_of(found.names.name(options.student), names, "submission", options.out)
        stories = reading.story(ledger, who)
        held = {each.place: each for each in reading.held(ledger) if each.who == who}
    chosen = _stories_of_tasks(options.task, stories, options.out)
    if options.check is not None:
        chosen = _stories_of_check(options.check, chosen, options.out)
    page = Page(Console(highlight=False))
    decided = {
        (each.name, task.lab, task.id, check.id): check.earned
        for each in found.staff.submissions
        for task in each.tasks
        for check in task.checks
        if check.decision is not None
    }
    passed_over = dict(other for each in found.shown.submissions for other in each.others)
    if who in passed_over:
        page.paragraph(passed_over[who], indent=0, label="does not count: ", style="yellow")
    for each in chosen:
        _print_stories(page, found.names.of(who), each, decided.get((who, *each.place)))
        for ruling in found.decisions.history(Place(submission=who, **dict(zip(_PLACE, each.place, strict=True)))):
            page.paragraph(in_words(ruling), indent=2, label="decided: ")
        if each.place in held:
            other = held[each.place]
            page.paragraph(
                f"{worth(other.would_be)}; it is published, and would fall", indent=2, label="not changed to: "
            )
    _print_dependencies(page, chosen)
    return 0


def _stories_of_tasks(asked: str, stories: Sequence[Story], results: Path) -> list[Story]:
    """Return the stories of the tasks that a name stands for, as `grade --task` reads it."""
    lab, _, name = asked.rpartition("/")
    there = [each for each in stories if lab in ("", each.place[0])]
    exact = [each for each in there if each.place[1] == name]
    begun = [each for each in there if load.starts_with(name, each.place[1])]
    if not (exact or begun):
        _one_of(asked, dict.fromkeys(each.place[1] for each in stories), "task", results)
    return exact or begun


def _stories_of_check(asked: str, stories: Sequence[Story], results: Path) -> list[Story]:
    """Return the stories of a check: of all its cases, where its name has none."""
    cases = [each for each in stories if each.place[2].partition("[")[0] == asked]
    if cases:
        return cases
    check = _one_of(asked, [each.place[2] for each in stories], "check", results)
    return [each for each in stories if each.place[2] == check]


def _one_of(asked: str, known: Any, what: str, results: Path) -> str:
    names: dict[str, str] = {each: each for each in known}
    return look_up(asked, names, what, f"'{results}'")


def _print_stories(page: Page, who: str, story: Story, decided: Fraction | None) -> None:
    graded, verdict = story.graded, story.graded.verdict
    page.blank()
    place = f"  {' '.join(story.place[1:])}"
    got = worth(graded)
    if decided is not None:
        got = f"{points(decided)} of {points(graded.points)}, decided; labgrade: {verdict.outcome}"
    page.line(("submission ", "dim"), (who + place, "bold"), right=(got, "bold"), hang=11, gutter=page.gutter)
    page.rule()
    found = facts(verdict, kinds=True)
    rows = [
        ("answer: ", found.pop("got", "")),
        ("from: ", graded.answer_from),
        ("expected: ", found.pop("expected", "")),
        ("reason: ", full_reason(verdict, bonus=graded.bonus)),
        ("hint: ", hint(verdict)),
        *(("note: ", note) for note in verdict.notes),
        *((f"{name}: ", fact) for name, fact in found.items()),
        ("in the spec: ", _place_in_spec(story)),
        *_judged_by(story),
        ("judged: ", f"{story.at}, in {graded.seconds:.2f} s"),
    ]
    for label, text in rows:
        if text:
            page.paragraph(text, indent=2, label=label)
    for change in story.history:
        page.paragraph(
            full_reason(change.before.verdict) or "right",
            indent=2,
            label="before: ",
            own=f"{worth(change.before)} since {change.before_at}: ",
        )
        page.paragraph(f"{change.at}, because {change.why}", indent=4, label="changed: ")


def _place_in_spec(story: Story) -> str:
    """Return the check's line in today's spec; "" where the check is gone."""
    found = course.find(Path.cwd())
    lab, task, item = story.place
    paths = [path for path in load.files(found.specs) if (path.parent.name, path.stem) == (lab, task)]
    for read in load.read_all(paths, found):
        for check in read.task.checks if read.task is not None else ():
            if check.id == item.partition("[")[0] and check.mark is not None:
                return str(check.mark)
    return ""


def _judged_by(story: Story) -> list[tuple[str, str]]:
    """Return what judged the verdict: the checker, what is expected, and the subject."""
    parts = story.parts
    meaning = parts.get("spec", {})
    checker = meaning.get("checker") or {}
    given = ", ".join(f"{name}: {value}" for name, value in checker.get("parameters", {}).items())
    return [
        ("checker: ", f"{checker['name']}" + (f" ({given})" if given else "") if checker else ""),
        ("asked of: ", _source(meaning.get("expected"))),
        ("subject: ", _subject(meaning.get("subject"))),
    ]


def _print_dependencies(page: Page, stories: Sequence[Story]) -> None:
    """Print once on which files and versions the verdicts depended, since most share them."""
    rows = []
    for name, label in _DEPENDS.items():
        pairs = (pair for each in stories for pair in each.parts.get(name, {}).items())
        shown = list(
            dict.fromkeys(f"{what} {version if name in _VERSIONS else version[:8]}" for what, version in pairs)
        )
        more = f", {len(shown) - _FILES} more" if len(shown) > _FILES else ""
        rows.append((label, ", ".join(shown[:_FILES]) + more))
    if any(text for _, text in rows):
        page.blank()
        page.line((f"what {'this depends' if len(stories) == 1 else 'these depend'} on", "bold"))
        page.rule()
    for label, text in rows:
        if text:
            page.paragraph(text, indent=2, label=label)


def _source(source: Any) -> str:
    if not isinstance(source, dict):
        return ""
    if "quantity" in source:
        given = ", ".join(f"{name}={value}" for name, value in source.get("parameters", {}).items())
        return f"the quantity {source['quantity']}({given})"
    text = str(source.get("value"))
    return f"the spec itself, which says {text[:_SPEC_CHARS]}"


def _subject(subject: Any) -> str:
    if not isinstance(subject, dict):
        return ""
    named = subject.get("model") or subject.get("handed_in") or ", ".join(subject.get("file") or ())
    chosen = {**subject.get("options", {}), **subject.get("arguments", {})}
    options = "".join(f", {name}={value}" for name, value in chosen.items())
    shape = "x".join(map(str, subject["input"]["shape"]))  # a config has none
    return f"{named}{options}{f', input {shape}' if shape else ''}"


def add_standing(parser: argparse.ArgumentParser) -> None:
    """The arguments of `standing`."""
    add_results_arguments(parser)
    parser.set_defaults(run=show_standing)


def show_standing(options: argparse.Namespace) -> int:
    """Print what waits for a person; return 0 where nothing does, else 1."""
    found = whole.read(options.results, options.roster)
    waits = pending.standing(found)
    page = Page(console())
    for note in found.shown.notes:
        page.paragraph(note, indent=0, label="note: ")
    for text, style in pending.lines(waits):
        page.line((text, style), hang=6)
    if not waits:
        page.line(("nothing waits for a person", ""))
    for text, style in pending.lines(pending.worth_a_look(found)):
        page.line((text, style), hang=6)
    return NOT_RIGHT if waits else OK
