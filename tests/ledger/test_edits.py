"""After each single kind of edit exactly what depends on it is judged again, and nothing stale stays."""

import re
from dataclasses import dataclass

import pytest
from helpers import classroom
from helpers.soak import sampled

from labgrade.ledger import depends, read

pytestmark = pytest.mark.slow

QUANTITIES = """
from . import _deep
from ._package import sizes
from ._package.more import once
from ._lone.most import alone

def size(subject, *, times: int = 1) -> int:
    '''A size.'''
    return alone(once(sizes.first(subject))) * _deep.same(times)
"""
CHECKER = "from ._parity import PARITY\n" + classroom.CHECKER.replace("value % 2 else", "value % 2 == PARITY else")
TASKS = classroom.TASK.replace(
    "    misconceptions:", "    also_right: [{value: 1235, says: with the border}]\n    misconceptions:"
).replace("checker: equal, expected: {quantity: other}", "checker: {equal: {digits: 3}}, expected: {quantity: other}")
FILES = {
    "reference/own.py": QUANTITIES,
    "reference/_package/__init__.py": "FACTOR = 1\n",
    "reference/_package/sizes.py": "def first(subject):\n    return subject.shape[0]\n",
    "reference/_package/more.py": "from . import FACTOR\n\ndef once(number):\n    return FACTOR * number\n",
    "reference/_lone/__init__.py": "FACTOR = 1\n",
    "reference/_lone/most.py": "from . import FACTOR\n\ndef alone(number):\n    return FACTOR * number\n",
    "reference/_deep.py": "from ._deeper import SAME\n\ndef same(number):\n    return number * SAME\n",
    "reference/_deeper.py": "SAME = 1\n",
    "reference/_unused.py": "A = 1\n",
    "reference/unasked.py": "def unasked(subject) -> int:\n    '''Nobody asks.'''\n    return 1\n",
    "checkers/_parity.py": "PARITY = 1\n",
    "checkers/own.py": CHECKER,
    "specs/lab/task.yaml": TASKS,
    "specs/lab/other.yaml": TASKS.replace("id: task", "id: other").replace("task.", "other."),
    "notes/readme.md": "nothing",
}
TASK = "specs/lab/task.yaml"
TOTAL, FIVE, ODD, ALL = {"total"}, {"five"}, {"odd"}, {"total", "secret", "five", "odd", "essay"}


@dataclass(frozen=True)
class Edit:
    """In `file` is `old` replaced by `new`. `runs`: the items that are judged again, of all or of one student."""

    file: str
    old: str
    new: str
    runs: frozenset
    who: str = ""


def edit(file, old, new, runs=(), who=""):
    return Edit(file, old, new, frozenset(runs), who)


EDITS = {
    "a file that is read": edit("handed in/s001/answers.yaml", "2468", "1234", ALL, "s001"),
    "a file that nothing reads": edit("handed in/s001/notes.txt", "", "x", ALL - {"secret"}, "s001"),
    "a file of the course that is no part of it": edit("notes/readme.md", "nothing", "something"),
    "a title": edit(TASK, "title: A task", "title: The task"),
    "a statement": edit(TASK, "How large is it?", "How big?"),
    "a comment": edit(TASK, "points: 10", "points: 10  # ten"),
    "a hint": edit(TASK, "counted twice", "counted two times"),
    "what a convention says": edit(TASK, "with the border", "with its border"),
    "what is marked": edit(TASK, "for: clarity", "for: style"),
    "whether it is hidden": edit(TASK, "hidden: true, needs", "hidden: false, needs"),
    "an expected literal": edit(TASK, "expected: 1234,", "expected: 1235,", {"secret"}),
    "a tolerance": edit(TASK, "digits: 3", "digits: 2", FIVE),
    "the checker": edit(TASK, "checker: {equal: {digits: 3}}", "checker: odd", FIVE),
    "a convention": edit(TASK, "value: 1235", "value: 1236", TOTAL),
    "a misconception": edit(TASK, "times: 2}", "times: 3}", TOTAL),
    "its credit": edit(TASK, "credit: 0.5", "credit: 0.25", TOTAL),
    "the subject": edit(TASK, "input: [1234, 2]", "input: [1235, 2]", ALL - {"secret"}),
    "where an answer is": edit(TASK, "entry: task.five", "entry: task.total", FIVE | ODD),
    "the type of an answer": edit(TASK, "five: {type: count", "five: {type: number", FIVE | ODD),
    "limits": edit(TASK, "points: 10\n", "limits: {seconds: 7}\npoints: 10\n", ALL),
    "the code of a checker": edit("checkers/own.py", "it is even", "this is even", ODD),
    "what a checker imports": edit("checkers/_parity.py", "PARITY = 1", "PARITY = 0", ODD),
    "the code of a quantity": edit("reference/own.py", "return alone", "return 2 * alone", TOTAL),
    "of another quantity": edit("reference/others.py", "return 5", "return 6", FIVE),
    "of one that nobody asks for": edit("reference/unasked.py", "return 1", "return 2"),
    "a module that it imports": edit("reference/_deep.py", "number * SAME", "2 * number * SAME", TOTAL),
    "a module that this imports": edit("reference/_deeper.py", "SAME = 1", "SAME = 2", TOTAL),
    "a module of a package": edit("reference/_package/sizes.py", "shape[0]", "shape[1]", TOTAL),
    "the package itself": edit("reference/_package/__init__.py", "FACTOR = 1", "FACTOR = 3", TOTAL),
    "a package of which a module is imported": edit("reference/_lone/__init__.py", "FACTOR = 1", "FACTOR = 3", TOTAL),
    "a module that nothing imports": edit("reference/_unused.py", "A = 1", "A = 2"),
    "another task": edit("specs/lab/other.yaml", "value: 1235", "value: 1236", {"other"}),
}


@pytest.fixture
def course(once):
    def prepare(room):
        for name, text in FILES.items():
            room.write(name, text)
        assert not room.grade().broken
        assert set(room.outcomes().values()) >= {"CORRECT", "PARTIAL", "INCORRECT", "MISSING"}

    return once("edited", prepare)


def again(room):
    """What is judged again: (who, task, item)."""
    room.grade()
    question = (
        "SELECT who, task, item FROM graded WHERE judged IN "
        "(SELECT id FROM judged WHERE run = (SELECT max(id) FROM run))"
    )
    return set(classroom.rows(room.results, question))


def as_if_new(room, tmp_path, monkeypatch):
    """What grading everything anew comes to, with nothing remembered."""
    monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path / "another cache"))
    room.grade(results=tmp_path / "others")
    return told(tmp_path / "others")


def told(results):
    return re.sub(r"seconds=[^,)]*", "", repr(read.report_of(results).submissions))


@pytest.mark.parametrize("name", sampled(EDITS, 4))
def test_exactly_what_depends_on_it_is_judged_again(course, tmp_path, monkeypatch, name):
    one = EDITS[name]
    assert again(course) == set()
    if one.old:
        course.edit(one.file, one.old, one.new)
    else:
        course.write(one.file, one.new)
    ran = again(course)
    # What needs `total` is judged for the first time where that has just become right.
    own = {item for _, task, item in ran if task == "task"} - ({"secret"} if "secret" not in one.runs else set())
    assert own == one.runs - {"other"}
    everywhere = one.who or not one.file.startswith("specs/")  # of the other task, too, which has the same checks
    assert any(task == "other" for _, task, _ in ran) == bool("other" in one.runs or (everywhere and own))
    assert not one.who or {who for who, _, _ in ran} == {one.who}
    assert told(course.results) == as_if_new(course, tmp_path, monkeypatch)


def test_the_version_of_a_library_that_a_quantity_imports_counts_for_it_alone(course, monkeypatch):
    course.edit("reference/_deeper.py", "SAME = 1", "def later():\n    import rich.text\n\nSAME = 1")
    assert {item for _, _, item in again(course)} == TOTAL
    version = depends.version_of
    monkeypatch.setattr(depends, "version_of", lambda name: "0.0" if name == "rich" else version(name))
    depends._present.cache_clear()
    assert {item for _, _, item in again(course)} == TOTAL
    monkeypatch.undo()
    depends._present.cache_clear()


@pytest.mark.parametrize(
    "file",
    [
        "subjects/models.py",
        "subjects/networks.py",
        "judging/judge.py",
        "answers/reading/numerals/numbers.py",
        "sandbox/child/call.py",
    ],
)
def test_labgrade_s_own_code_counts_for_all(graded, monkeypatch, file):
    digest = depends.digest
    own = depends._HOME / file
    monkeypatch.setattr(depends, "digest", lambda path: "edited" if path == own else digest(path))
    depends.engine.cache_clear()
    assert {item for _, _, item in again(graded)} == ALL
    monkeypatch.undo()
    depends.engine.cache_clear()


@pytest.mark.parametrize("library", ["torch", "onnx", "numpy"])
def test_the_version_of_a_library_counts_for_all(graded, monkeypatch, library):
    version = depends.version_of
    monkeypatch.setattr(depends, "version_of", lambda name: "0.0" if name == library else version(name))
    depends.libraries.cache_clear()
    assert {item for _, _, item in again(graded)} == ALL
    monkeypatch.undo()
    depends.libraries.cache_clear()
