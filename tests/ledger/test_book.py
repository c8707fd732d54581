"""What is found again, and what is not: by all that a verdict depends on."""

import ast
import importlib.metadata
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from helpers import classroom
from helpers.handed_in import read

from labgrade.core.task import CallForm, Comparison, SubjectSpec
from labgrade.judging.graded_items import Judged, fill_in, graded_so_far, with_placeholders
from labgrade.judging.items import items
from labgrade.ledger import depends, rows
from labgrade.ledger.database import Ledger
from labgrade.ledger.depends import spec_of_item
from labgrade.ledger.verdict_memory import Rules, SubmissionBook
from labgrade.spec import course, load
from labgrade.verdict import Outcome, Verdict, correct, incorrect, without_value

pytestmark = pytest.mark.slow


@pytest.fixture
def task(room):
    return load.read(room.folder / "specs/lab/task.yaml", course.find(room.folder))


@pytest.fixture
def opened(room):
    """Opens the book of the first submission; what is judged is what it is told to be."""
    room.results.mkdir()
    ledger = Ledger(room.results, write=True)
    found = course.find(room.folder)

    def judge(task, item, verdict: Verdict, **rules):
        """The verdict that comes out, and whether it was judged."""
        judged = []

        def grade(asked):
            judged.append(asked)
            return graded_so_far(asked, Judged(verdict=verdict, origin="somewhere"))

        book = SubmissionBook(
            ledger, depends.VerdictParts(found), read(room.submissions / "s000", "s000"), Rules(run=1, **rules)
        ).task(task)
        graded = book.graded(item, grade)
        book.enter(item, graded, 0)
        return graded.verdict, bool(judged)

    yield judge
    ledger.close()


def test_a_verdict_is_judged_once(task, opened):
    item = items(task)[0]
    assert opened(task, item, incorrect("off", got="7", expected="8")) == (
        incorrect("off", got="7", expected="8"),
        True,
    )
    found, judged = opened(task, item, correct())
    assert not judged
    assert found == incorrect("off", got="7", expected="8")
    assert list(found.facts) == ["got", "expected"]


def test_a_fault_is_entered_only_where_the_run_goes_on(task, opened):
    """What a killed grader takes with it, such as its servers, its workers miss before they end with it."""
    item = items(task)[0]
    fault = Verdict(outcome=Outcome.FAULT, credit=Fraction(0), reason="the server is gone", facts={})

    def ended():
        raise EOFError

    with pytest.raises(EOFError):
        opened(task, item, fault, at_fault=ended)
    asked = []
    assert opened(task, item, incorrect("off"), at_fault=lambda: asked.append(1)) == (incorrect("off"), True)
    assert not asked


@pytest.mark.parametrize("outcome", [Outcome.TIMEOUT, Outcome.MEMORY])
def test_what_a_busy_machine_may_have_caused_is_tried_once_more_alone(task, opened, outcome):
    item = items(task)[0]
    slow = replace(without_value(outcome, "too slow"), unsteady=True)
    assert opened(task, item, slow) == (slow, True)
    assert opened(task, item, correct()) == (slow, False)
    assert opened(task, item, slow, again=True) == (slow, True)
    assert opened(task, item, correct(), again=True) == (slow, False)


def test_what_was_slow_once_and_is_right_alone_is_right(task, opened):
    item = items(task)[0]
    opened(task, item, replace(without_value(Outcome.TIMEOUT, "too slow"), unsteady=True))
    assert opened(task, item, correct(), again=True)[0].outcome is Outcome.CORRECT
    assert opened(task, item, incorrect("no"))[0].outcome is Outcome.CORRECT


def test_what_computed_for_too_long_did_so_by_itself(task, opened):
    item = items(task)[0]
    opened(task, item, without_value(Outcome.TIMEOUT, "computes for ever"))
    assert opened(task, item, correct(), again=True)[0].outcome is Outcome.TIMEOUT


def test_a_fault_is_never_found_again(task, opened):
    item = items(task)[0]
    for _ in range(2):
        assert opened(task, item, without_value(Outcome.FAULT, "ours"))[1]
    assert opened(task, item, correct())[1]
    assert not opened(task, item, incorrect("no"))[1]


def test_of_many_keys_each_has_its_newest_verdict_but_a_fault(room):
    room.results.mkdir()
    with Ledger(room.results, write=True) as ledger:
        for key, outcome in (("a", "CORRECT"), ("b", "TIMEOUT"), ("a", "FAULT"), ("b", "CORRECT"), ("c", "FAULT")):
            kept = rows.KeptVerdict(key=key, parts={}, mark="", plain={"verdict": {"outcome": outcome}})
            rows.keep(ledger, kept, {}, 1)
        found = rows.recall(ledger, [*map(str, range(1200)), *"abc"])
        assert {key: (each.id, each.outcome) for key, each in found.items()} == {
            "a": (1, "CORRECT"),
            "b": (4, "CORRECT"),
        }
        ledger.write("UPDATE judged SET plain = '' WHERE id = 2")
        assert set(rows.recall(ledger, ["a", "b"])) == {"a", "b"}  # what is no longer asked for may be damaged


def test_what_two_tasks_ask_for_alike_is_judged_once(room, task):
    room.results.mkdir()
    found, judged = course.find(room.folder), []

    def grade(asked):
        judged.append(asked)
        return graded_so_far(asked, Judged(verdict=correct(), origin="somewhere"))

    with Ledger(room.results, write=True) as ledger:
        handed_in = read(room.submissions / "s000", "s000")
        book = SubmissionBook(ledger, depends.VerdictParts(found), handed_in, Rules(run=1))
        first, other = items(task)[:2]
        books = [book.task(each) for each in (task, replace(task, id="another"))]
        for judging in books:  # each has asked for all that is known of it
            judging.enter(other, judging.graded(other, grade), 1)
        for judging in books:
            judging.enter(first, judging.graded(first, grade), 0)
        assert [each.id for each in judged] == [other.id, first.id]
        assert ledger.rows("SELECT count(*) FROM judged") == [(2,)]
        assert ledger.rows("SELECT count(*), count(DISTINCT judged) FROM graded") == [(4, 2)]


def test_sentences_are_put_in_when_a_verdict_is_read(task):
    check = task.checks[0]
    silent, mark = with_placeholders(check)
    assert "counted twice" not in repr(silent)
    said = silent.misconceptions[0].says
    other = replace(check, misconceptions=(replace(check.misconceptions[0], says='a "new" <word>'),))
    plain = {"hint": said, "facts": {"several": f"{said} / x"}, "notes": [said], "credit": "1/2"}
    assert fill_in(plain, other, mark) == {
        "hint": 'a "new" <word>',
        "facts": {"several": 'a "new" <word> / x'},
        "notes": ['a "new" <word>'],
        "credit": "1/2",
    }


def test_a_student_can_not_write_the_placeholder_of_a_sentence(task):
    check = task.checks[0]
    guessed = with_placeholders(check)[0].misconceptions[0].says
    _, mark = with_placeholders(check)
    assert fill_in({"reason": guessed}, check, mark) == {"reason": guessed}


def changed(task, **check):
    """The meaning of the first check with something changed."""
    other = replace(task, checks=(replace(task.checks[0], **check),))
    return spec_of_item(other, items(other)[0])


def test_all_that_decides_a_verdict_is_in_its_meaning_and_nothing_else(task):
    first = task.checks[0]
    same = changed(task)
    known = first.misconceptions[0]
    for for_people in (
        {"id": "other"},
        {"points": Fraction(1)},
        {"hidden": True},
        {"bonus": True},
        {"needs": ("five",)},
        {"mark": None},
        {"expected": replace(first.expected, published=5, mark=None)},
        {"misconceptions": (replace(known, says="other words", mark=None),)},
    ):
        assert changed(task, **for_people) == same
    for meant in (
        {"checker": replace(first.checker, name="close")},
        {"checker": replace(first.checker, parameters={"digits": 3})},
        {"expected": replace(first.expected, parameters={"times": 3})},
        {"misconceptions": ()},
        {"misconceptions": (known, known)},
        {"also_right": (known,)},
        {"misconceptions": (replace(known, credit=Fraction(1, 3)),)},
        {"measured": first.expected},
        {"answer": "five"},
    ):
        assert changed(task, **meant) != same
    row = Comparison(says="of another task", answer="five", expected=first.expected)
    shown = replace(task, checks=(replace(first, beside=(row,)),))
    read_elsewhere = {**task.answers, "five": replace(task.answers["five"], forms=())}
    assert spec_of_item(replace(shown, answers=read_elsewhere), items(shown)[0]) != spec_of_item(shown, items(shown)[0])
    assert spec_of_item(replace(task, answers=read_elsewhere), items(task)[0]) == same
    slower = replace(task, limits=replace(task.limits, seconds=1.0))
    assert spec_of_item(slower, items(slower)[0]) != same
    elsewhere = replace(task, subject=replace(task.subject, options={"num_classes": 5}))
    assert spec_of_item(elsewhere, items(elsewhere)[0]) != same


def test_a_file_means_what_it_holds_wherever_it_lies(task, tmp_path):
    def with_file(folder, content):
        (tmp_path / folder).mkdir(exist_ok=True)
        path = tmp_path / folder / "model.onnx"
        path.write_bytes(content)
        other = replace(task, subject=SubjectSpec(input=task.subject.input, file=str(path)))
        return spec_of_item(other, items(other)[0])

    assert with_file("one", b"1") == with_file("two", b"1")
    assert with_file("one", b"1") != with_file("two", b"2")
    external = with_file("one", b"1")
    (tmp_path / "one/model.data").write_bytes(b"weights")
    assert with_file("one", b"1") != external


def test_a_library_that_a_submission_imports_is_part_of_what_it_depends_on(tmp_path, monkeypatch):
    (tmp_path / "hw.py").write_text("import os, nowhere_at_all as n\nfrom numpy.linalg import norm\nimport own\n")
    (tmp_path / "own.py").write_text("x = '''\nimport json\n'''\n")
    submission = read(tmp_path, "s")
    found = depends.imports(submission)
    assert set(found) == {"nowhere_at_all", "numpy"}
    assert found["nowhere_at_all"] == "absent"
    assert found["numpy"][0].isdigit()


def test_a_library_has_its_version_whatever_it_is_called(tmp_path):
    (tmp_path / "hw.py").write_text("import yaml\n")
    assert depends.imports(read(tmp_path, "s")) == {"yaml": f"PyYAML {importlib.metadata.version('pyyaml')}"}


@pytest.mark.parametrize("line", ["from " + "a" * 200_000, "import" + " " * 200_000, "from a" + ".a" * 100_000])
def test_what_a_submission_imports_is_found_in_one_look_at_each_line(line, tmp_path):
    (tmp_path / "hw.py").write_text(f"{line}\nfrom numpy . linalg import norm\nimport torch\n")
    began = time.process_time()
    assert {"numpy", "torch"} <= set(depends.imports(read(tmp_path, "s")))
    assert time.process_time() - began < 20  # seconds; an hour, where each character is looked at from each


@pytest.mark.parametrize(
    "sources",
    [["".join(f"import a{n}\n" for n in range(150_000))], ["import " + "a," * 500_000] * 3],
    ids=["names", "programs"],
)
def test_who_imports_too_much_depends_on_all_libraries_and_is_not_looked_through(sources, tmp_path, monkeypatch):
    """A file of 2 MB that names 150,000 libraries took the grader 13 s; a hand-in may have 512 MB of such files."""
    for number, source in enumerate(sources):
        (tmp_path / f"hw{number}.py").write_text(source)
    looked = []
    monkeypatch.setattr(depends, "_present", looked.append)
    found = depends.imports(read(tmp_path, "s"))
    assert found["numpy"] == importlib.metadata.version("numpy")
    assert looked == []


def test_a_library_counts_only_where_code_may_run(task):
    item = items(task)[0]
    assert not depends.runs_student_code(task, item)
    call = CallForm(file="hw.py", function="f", given=())
    wanted = replace(task.answers["total"], forms=(call,))
    assert depends.runs_student_code(replace(task, answers={**task.answers, "total": wanted}), item)


def test_every_file_of_a_submission_counts_whatever_its_name_is(tmp_path):
    (tmp_path / "a.txt").write_text("1")
    one = depends.digest_of_data(depends.handed_in(read(tmp_path, "s")))
    (tmp_path / "b\udcff.txt").write_text("")
    two = depends.digest_of_data(depends.handed_in(read(tmp_path, "s")))
    (tmp_path / "a.txt").write_text("2")
    assert len({one, two, depends.digest_of_data(depends.handed_in(read(tmp_path, "s")))}) == 3


_NEEDED = {
    "labgrade/judging/judge.py",
    "labgrade/answers/reading/typed_values.py",
    "labgrade/sandbox/child/main.py",
    "labgrade/subjects/models.py",
}
_NOT_NEEDED = {
    "labgrade/__init__.py",
    "labgrade/reports/terminal.py",
    "labgrade/cli.py",
    "labgrade/commands/grade.py",
}


def test_the_engine_is_what_grading_imports(task):
    from labgrade.ledger import depends

    found = set(depends.engine())
    assert found >= _NEEDED
    assert not found & _NOT_NEEDED


def test_every_import_of_the_engine_is_seen():
    home = Path(depends.__file__).parents[2]
    for path in (home / "labgrade").rglob("*.py"):
        names = set()
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        files = {home / f"{name.replace('.', '/')}{end}" for name in names for end in (".py", "/__init__.py")}
        ours = {each for each in files if each.is_file() and each.parent != home}
        assert ours - {home / "labgrade/__init__.py"} <= set(depends._imported(path)), path


def test_a_function_that_is_only_shown_beside_a_text_is_students_code_too(task):
    first, call = task.checks[0], CallForm(file="hw.py", function="five", given=())
    shown = replace(first, beside=(Comparison(says="five", answer="five", expected=first.expected),))
    called = {**task.answers, "five": replace(task.answers["five"], forms=(call,))}
    for check, run in ((first, False), (shown, True)):
        changed_task = replace(task, checks=(check,), answers=called)
        assert depends.runs_student_code(changed_task, items(changed_task)[0]) is run


def test_time_is_only_told(room, monkeypatch):
    room.grade()
    monkeypatch.setattr(rows, "now", lambda: "1999-12-31T23:59:59+00:00")
    room.edit("specs/lab/task.yaml", "expected: 1234", "expected: 1235")
    assert [change.after.earned for change in room.grade().changes] == [0]
    room.edit("specs/lab/task.yaml", "expected: 1235", "expected: 1234")
    came = room.grade()
    assert came.ran == 0
    assert [change.after.earned for change in came.changes] == [1]
    assert room.outcomes() == classroom.expected(4)
    assert not Path(room.results / "results.sqlite-journal").exists()
    assert room.grade().ran == 0
