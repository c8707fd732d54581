"""Every example of the documentation is tried: files are written, commands run, what they print is compared.

A page is one course: its blocks share a folder and come in order.

| block | is |
|---|---|
| a language and `title="lab.py"` | written to that file |
| `console` | each line that begins with `$ ` is run; what follows must be printed (`...` stands for anything) |
| `yaml` | validated: a whole task as it is, a part of one inside a task that is otherwise right |
| no language | shown only; a line that calls labgrade must have options that there are |
"""

import atexit
import contextlib
import doctest
import functools
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import yaml
from helpers.soak import soak
from sybil.document import Document
from sybil.parsers.markdown.lexers import RawFencedCodeBlockLexer

from labgrade import cli
from labgrade.spec import course, load

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("docs/**/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
INFO = re.compile(r'[ ]*(?P<language>\w*)(?:[ ]+title="(?P<title>[^"]+)")?[ ]*$\n?', re.MULTILINE)
MATCHING = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
HEAVY = ("check", "compute", "counterexample", "grade", "kit", "regrade", "test", "validate")
AROUND = {
    "id": "page",
    "title": "A part of a task",
    "points": 1,
    "statement": "Count the parameters.\n",
    "subject": {"model": "torchvision/resnet18", "input": [1, 3, 224, 224]},
    "answers": {"total": {"type": "count", "from": [{"call": "lab.py:total", "given": ["model"]}]}},
    "checks": [{"id": "total", "points": 1, "answer": "total", "checker": "equal", "expected": 1}],
}


def blocks(path):
    """Language, title, text and line of each fenced block of a page."""
    text = path.read_text(encoding="utf-8")
    for region in RawFencedCodeBlockLexer(INFO)(Document(text, str(path))):
        line = text.count("\n", 0, region.start) + 1
        yield region.lexemes["language"], region.lexemes["title"], str(region.lexemes["source"]), line


def commands(text):
    """Each command of a `console` block, with what it must print."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        while command.endswith("\\"):
            more, _, output = output.partition("\n")
            command = command[:-1] + more
        yield command, output


@functools.cache
def commands_at():
    """A `labgrade` and a `pytest` in a folder; where they grade or compute they borrow what the tests have started."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    for name, heavy, module in (("labgrade", HEAVY, "labgrade.cli"), ("pytest", ("--submission=all",), "pytest")):
        script = Path(folder.name, name)
        script.write_text(
            f"#!{sys.executable}\nimport sys\nsys.path += {[str(ROOT / 'tests'), str(ROOT)]}\n"
            f"if {{*sys.argv}} & {{*{heavy}}}:\n    from helpers import warm\n    warm.borrow()\n"
            f"from {module} import main\nsys.exit(main())\n"
        )
        script.chmod(0o755)
    return folder.name


def run(command, folder):
    around = {
        **os.environ,
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "LABGRADE": str(ROOT),
        "PATH": f"{commands_at()}:{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=around,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=600,
        check=False,
    )
    return done.stdout


def wrong_yaml(text, folder):
    """What is wrong with a task, or with a part of one."""
    data = yaml.safe_load(text)
    if not isinstance(data, dict) or not set(data) <= set(AROUND) | {"limits"}:
        return []
    whole = {"id", "checks"} <= set(data)
    name = data["id"] if whole else "page"
    lab = folder / "specs" / "page"
    lab.mkdir(parents=True, exist_ok=True)
    path = lab / f"{name}.yaml"
    path.write_text(text if whole else yaml.safe_dump({**AROUND, **data}, sort_keys=False), encoding="utf-8")
    (read,) = load.read_all([path], course.find(ROOT))
    path.unlink()
    return [str(finding) for finding in read.findings]


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    # A command a row, each on a large model; the pages that people begin with are always tried.
    [pytest.param(page, marks=soak) if page.stem == "conventions" else page for page in PAGES],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_the_examples_of_a_page_work(page, tmp_path):
    for language, title, text, line in blocks(page):
        where = f"{page.name}:{line}"
        if title:
            path = tmp_path / title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif language == "console":
            for command, output in commands(text):
                printed = run(command, tmp_path)
                assert doctest.OutputChecker().check_output(output, printed, MATCHING), (
                    f"{where}: $ {command}\nexpected:\n{output}\ngot:\n{printed}"
                )
        elif language == "yaml":
            assert wrong_yaml(text, tmp_path) == [], where
        elif not language:
            for command in re.findall(r"^(?:\$ )?labgrade (.*)$", text, flags=re.MULTILINE):
                assert parses(command.partition(" #")[0]), f"{where}: labgrade {command}"


def parses(command):
    with contextlib.suppress(SystemExit):
        cli.parsed(shlex.split(re.split(r" (?:\||&&|2>) ?", command)[0]))
        return True
    return False


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:|mailto:|#)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_wrong_examples_are_seen(tmp_path):
    """The tests of this file can fail: a wrong part of a task, a wrong option, a wrong output."""
    assert wrong_yaml("points: 2\n", tmp_path)
    assert wrong_yaml("checks: [{id: total, points: 1, answer: total, checker: equals, expected: 1}]\n", tmp_path)
    assert not parses("compute macs --modell x")
    assert list(commands("$ echo 1\n1\n$ true\n")) == [("echo 1", "1\n"), ("true", "")]
    assert run("echo 1; exit 3", tmp_path) == "1\n"
