"""How free reports are read: each section of tests/galleries/reports, judged and held against a marker's verdict.

    python tests/helpers/report_figures.py [NAME ...]

prints a line for each check that is not as the marker says, and the figures. A section begins with a line
`=== name | task | check=OUTCOME ...`, with `lab/` before a task of another lab than acal-lab2; what is MANUAL there has
to wait for a person, whatever is suggested.
"""

import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers.direct import COURSE, DirectRunner, task
from helpers.handed_in import read

from labgrade.answers.reader.reader import Reader
from labgrade.run.grader import Grader
from labgrade.run.task import TaskGrading
from labgrade.verdict import Outcome

GALLERY = Path(__file__).parents[1] / "galleries" / "reports"
AGREED, SUGGESTED, OPEN, MISLED, SILENT, PASSED, OTHER = (
    "agreed",
    "waits, with the right suggestion",
    "waits, without a suggestion",
    "waits, with a wrong suggestion",
    "silent zero",
    "wrong, but passed",
    "another verdict",
)


@dataclass(frozen=True)
class Section:
    """A section of a report, and the outcome that a marker gives each check."""

    name: str
    task: str
    outcomes: dict
    text: str


def sections(*files):
    """All sections of the gallery, or of some of its files."""
    found = []
    for path in sorted(GALLERY.glob("*.txt")):
        if files and path.stem not in files:
            continue
        for part in f"\n{path.read_text(encoding='utf-8')}".split("\n=== ")[1:]:
            head, _, text = part.partition("\n")
            name, of, checks = (each.strip() for each in head.split("|"))
            outcomes = {check: Outcome(said) for check, _, said in (each.partition("=") for each in checks.split())}
            found.append(Section(name, of, outcomes, text))
    return found


def judged(grader, section):
    """The verdict on each check of a section that a marker gave one."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "report.md").write_text(section.text, encoding="utf-8")
        name, _, lab = section.task.rpartition("/")[::-1]
        graded = TaskGrading(grader, task(name, lab or "acal-lab2"), read(Path(folder), section.name), explains=False)
        return {check: graded.graded(check).verdict for check in section.outcomes}


def compared(verdict, outcome):
    """How a verdict stands to the marker's outcome."""
    if verdict.outcome is outcome:
        return AGREED
    if verdict.outcome is Outcome.MANUAL:
        if verdict.suggestion is None:
            return OPEN
        return SUGGESTED if verdict.suggestion.outcome is outcome else MISLED
    if verdict.outcome is Outcome.CORRECT:
        return PASSED
    return SILENT if not verdict.credit and outcome in (Outcome.CORRECT, Outcome.PARTIAL) else OTHER


def grader():
    """A grader that runs nothing and reads in this process."""
    return Grader(COURSE, runner=DirectRunner(), reader=Reader(None))


def main(names):
    """Print what is not as the marker says, and the figures."""
    figures, own = Counter(), grader()
    try:
        for section in sections(*names):
            for check, verdict in judged(own, section).items():
                how = compared(verdict, section.outcomes[check])
                figures[how] += 1
                if how is not AGREED:
                    said = verdict.suggestion or verdict.reason
                    print(f"{how}: {section.name} {check} is {section.outcomes[check]}: {verdict.outcome} {said}")
    finally:
        own.stop()
    total = figures.total()
    for how in (AGREED, SUGGESTED, OPEN, MISLED, SILENT, PASSED, OTHER):
        print(f"{figures[how]:4} of {total}  {how}")


if __name__ == "__main__":
    main(sys.argv[1:])
