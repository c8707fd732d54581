"""Draws docs/grade.svg, the picture in README: what `labgrade check` prints of the sample student42.

python docs/picture.py
"""

from __future__ import annotations

import io
import re
import tempfile
from pathlib import Path

from rich.console import Console

from labgrade.core import student_view
from labgrade.core.results import Report
from labgrade.reports import student_terminal
from labgrade.run.grader import Grader
from labgrade.spec import course, load
from labgrade.submissions import find

ROOT = Path(__file__).parents[1]
SHOWN = ("2-1-2-weight-bytes", "2-1-4-macs")  # two tasks fit a picture
COMMAND = " ".join(["labgrade check student42", *(f"--task {name}" for name in SHOWN)])


def main() -> None:
    """Grade the sample and write the picture; fonts are the reader's own, so that nothing is fetched."""
    found = course.find(ROOT)
    tasks = [load.read(path, found) for path in load.files(found.specs) if path.stem in SHOWN]
    with tempfile.TemporaryDirectory() as store, Grader(found) as grader:
        who = find.take(ROOT / "submissions" / "student42", "student42", Path(store), opening=grader.runner.open)
        report = student_view.for_student(Report(submissions=(grader.grade(tasks, who),)))
    console = Console(record=True, width=80, file=io.StringIO(), force_terminal=True, highlight=False)
    student_terminal.render(report, console=console)
    picture = console.export_svg(title=COMMAND)
    picture = re.sub(r"@font-face \{.*?\}\n", "", picture, flags=re.DOTALL)
    (ROOT / "docs" / "grade.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
