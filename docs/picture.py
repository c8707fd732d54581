"""Draws the pictures of the documentation: what a terminal prints, two drawings, three pages as Chromium shows them.

python docs/picture.py [NAME ...]     all of them, or of grade.svg flow.svg jail.svg report.png class.png desk.png
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LABGRADE = [sys.executable, "-m", "labgrade.cli"]
SHOWN = ("2-1-2-weight-bytes", "2-1-4-macs")  # two tasks fit a picture
CLASS = ("student42", "exemplar", "outputs-only", "paper-only", "scripts")
COMMAND = " ".join(["labgrade check student42", *(f"--task {name}" for name in SHOWN)])
COLOURS = 64  # of a page as PNG: text stays sharp, and a file takes a tenth
FLOW = """digraph {
  rankdir=LR; bgcolor=white; nodesep=0.25; ranksep=0.35;
  node [shape=box, style="rounded,filled", fillcolor="#eef1fb", color="#3f51b5", fontname="sans-serif", fontsize=12];
  edge [color="#555555", arrowsize=0.7];
  spec [label="specs/lab/task.yaml\\nwhat is asked and right"];
  work [label="submissions/ann/\\nan untrusted hand-in", fillcolor="#fdeeee", color="#c62828"];
  truth [label="reference/\\ncomputes what is right"];
  jail [label="the jail\\nruns students' code", fillcolor="#fdeeee", color="#c62828"];
  judge [label="checkers/\\njudge: answer, expected"];
  ledger [label="results/\\nverdicts and decisions"];
  desk [label="people\\nmark what waits"];
  out [label="reports\\nterminal, pages, CSV, JSON"];
  spec -> truth; spec -> jail; work -> jail; jail -> judge [label=" answer", fontname="sans-serif", fontsize=10];
  truth -> judge [label=" expected", fontname="sans-serif", fontsize=10];
  judge -> ledger; ledger -> out; desk -> ledger; {rank=same; ledger; desk}
}"""
JAIL = """digraph {
  rankdir=LR; bgcolor=white; nodesep=0.25; ranksep=0.9; compound=true; fontname="sans-serif"; fontsize=12;
  node [shape=box, style="rounded,filled", fontname="sans-serif", fontsize=12];
  edge [color="#555555", arrowsize=0.7, fontname="sans-serif", fontsize=10];
  subgraph cluster_grader { label="grader: no student's code"; color="#3f51b5"; style=rounded;
    node [fillcolor="#eef1fb", color="#3f51b5"];
    truth [label="expected values"]; judge [label="checkers, verdicts"]; hidden [label="results of the class"]; }
  subgraph cluster_jail { label="jail: no expected value"; color="#c62828"; style=rounded;
    node [fillcolor="#fdeeee", color="#c62828"];
    code [label="one student's code"];
    layers [shape=plain, style="",
      label="namespaces, landlock, seccomp,\\nuser id of its own,\\nlimits of CPU, memory, disk,\\nno network"]; }
  judge -> code [label="a job: what to call, with what"]; code -> judge [label="plain data, of bounded size"];
}"""
ASK = """id: 1-1-cost
title: The cost of attention
points: 10
statement: |
  Under "1-1" of report.md give the MACs of one attention head for 128 tokens of 64.
  Say how they grow with the tokens, and why.
answers:
  macs: {type: count, from: [{after: MACs, report: under 1-1}]}
  why: {type: text, from: [{report: under 1-1}]}
checks:
  - {id: macs, points: 4, answer: macs, checker: equal, expected: 2097152}
  - id: why
    points: 6
    answer: why
    by_hand:
      - {points: 3, for: says that the products grow with the square of the tokens}
      - {points: 3, for: gives the two products as the reason}
"""
GOOD = "Both products, QK^T and AV, have tokens x tokens x 64 terms, so the cost grows with the square of the tokens."
SAID = {
    "ann": GOOD,
    "bob": GOOD,
    "eve": "It grows linearly, since each token is looked at once.",
    "kim": "Twice the tokens cost four times as much.",
}


def terminal() -> None:
    """What `labgrade check` prints; fonts are the reader's own, so that nothing is fetched."""
    from rich.console import Console

    from labgrade.core import student_view
    from labgrade.core.results import Report
    from labgrade.reports import student_terminal
    from labgrade.run.grader import Grader
    from labgrade.spec import course, load
    from labgrade.submissions import find

    found = course.find(ROOT)
    tasks = [load.read(path, found) for path in load.files(found.specs) if path.stem in SHOWN]
    with tempfile.TemporaryDirectory() as store, Grader(found) as grader:
        who = find.take(ROOT / "submissions" / "student42", "student42", Path(store), opening=grader.runner.open)
        report = student_view.for_student(Report(submissions=(grader.grade(tasks, who),)))
    console = Console(record=True, width=80, file=io.StringIO(), force_terminal=True, highlight=False)
    student_terminal.render(report, console=console)
    picture = console.export_svg(title=COMMAND)
    picture = re.sub(r"@font-face \{.*?\}\n", "", picture, flags=re.DOTALL)
    (DOCS / "grade.svg").write_text(picture, encoding="utf-8")


def drawing(name: str, text: str) -> None:
    """A drawing by graphviz, without what it says of itself."""
    drawn = subprocess.run(["dot", "-Tsvg"], input=text, text=True, capture_output=True, check=True).stdout
    (DOCS / name).write_text(re.sub(r"<!--.*?-->\n", "", drawn, flags=re.DOTALL), encoding="utf-8")


def labgrade(*arguments: str, at: Path = ROOT) -> None:
    """Run a command; grading ends with 1 where something is not right."""
    subprocess.run([*LABGRADE, *arguments], cwd=at, capture_output=True, check=False)


def page(address: str, name: str, *, height: int, press: str = "") -> None:
    """A page in Chromium, as a PNG of few colours."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with sync_playwright() as running:
        found = shutil.which("chromium") or shutil.which("google-chrome")
        browser = running.chromium.launch(executable_path=found, args=["--no-sandbox"])
        shown = browser.new_page(viewport={"width": 900, "height": height}, color_scheme="light")
        shown.goto(address)
        if press:
            shown.click(press)
            shown.wait_for_selector("textarea")
        picture = Image.open(io.BytesIO(shown.screenshot()))
        browser.close()
    picture.convert("RGB").quantize(COLOURS).save(DOCS / name, optimize=True)


def graded(folder: Path) -> None:
    """The class of the samples, exported."""
    tasks = [each for name in SHOWN for each in ("--task", name)]
    who = [each for name in CLASS for each in ("--submission", name)]
    labgrade("grade", "submissions", "--lab", "acal-lab2", *tasks, *who, "--out", f"{folder}/results")
    labgrade("release", f"{folder}/results")
    labgrade("export", "--results", f"{folder}/results", "--format", "all", "--out", f"{folder}/out")


def report() -> None:
    """A student's page."""
    with tempfile.TemporaryDirectory() as folder:
        graded(Path(folder))
        page(f"file://{folder}/out/students/student42.html", "report.png", height=760)


def whole_class() -> None:
    """The page of a class."""
    with tempfile.TemporaryDirectory() as folder:
        graded(Path(folder))
        page(f"file://{folder}/out/class.html", "class.png", height=900)


def desk() -> None:
    """The desk before the first answer of a small class."""
    with tempfile.TemporaryDirectory() as folder:
        course = Path(folder)
        (course / "specs/lab1").mkdir(parents=True)
        (course / "specs/lab1/lab.yaml").write_text("title: Attention\n")
        (course / "specs/lab1/1-1-cost.yaml").write_text(ASK)
        for name, text in SAID.items():
            (course / "class" / name).mkdir(parents=True)
            (course / "class" / name / "report.md").write_text(f"# 1-1\n\nMACs: 2,097,152\n\n{text}\n")
        labgrade("grade", "class", "--out", "results", at=course)
        command = [*LABGRADE, "desk", "results", "--as", "ann"]
        with subprocess.Popen(command, cwd=course, stdout=subprocess.PIPE, text=True) as running:
            lines = running.stdout or ()
            address = next(found[0] for line in lines if (found := re.search(r"http://\S+", line)))
            page(address, "desk.png", height=900, press="main a")
            running.terminate()


PICTURES: dict[str, Callable[[], None]] = {
    "grade.svg": terminal,
    "flow.svg": lambda: drawing("flow.svg", FLOW),
    "jail.svg": lambda: drawing("jail.svg", JAIL),
    "report.png": report,
    "class.png": whole_class,
    "desk.png": desk,
}

if __name__ == "__main__":
    for each in sys.argv[1:] or PICTURES:
        PICTURES[each]()
