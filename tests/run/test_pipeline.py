"""The whole path on a small course of its own: text answers only, so that neither torch nor a child is needed."""

import hashlib
import json
from fractions import Fraction

import pytest
from helpers.handed_in import read

from labgrade.answers.reader.reader import Reader
from labgrade.core.results import Execution
from labgrade.judging import items
from labgrade.reports.summary import reason
from labgrade.run.grader import Grader
from labgrade.sandbox.runner import Runner
from labgrade.spec import course, load
from labgrade.truth.oracle import Oracle
from labgrade.verdict import Outcome

pytestmark = pytest.mark.slow

REFERENCE = """
def size(subject, *, times: int = 1) -> int:
    '''A size.'''
    return subject.shape[0] * times

def broken(subject):
    '''Fails.'''
    raise ZeroDivisionError("by zero")
"""
CHECKERS = """
def explodes(answer, expected):
    '''Fails.'''
    raise KeyError("inside the checker")
"""
TASK = """
id: task
title: A task
points: 12
statement: How large is it?
subject: {model: torchvision/alexnet, input: [1234, 2]}
answers:
  total:
    type: count
    from:
      - entry: task.total
      - {after: Total, file: out.txt}
      - {after: Total, report: anywhere}
  words:
    type: text
    from: [{entry: task.words}]
checks:
  - id: total
    points: 5
    answer: total
    checker: equal
    expected: {quantity: size}
    misconceptions: [{value: {quantity: size, with: {times: 2}}, says: counted twice, credit: 0.333}]
  - {id: secret, points: 2, answer: total, checker: equal, expected: 1234, hidden: true, needs: [total]}
  - {id: fault, points: 1, answer: total, checker: equal, expected: {quantity: broken}}
  - {id: boom, points: 1, answer: total, checker: explodes, expected: 1}
  - {id: after-fault, points: 1, answer: total, checker: equal, expected: 1234, needs: [fault]}
  - {id: essay, points: 2, answer: words, by_hand: [{points: 2, for: clarity}]}
  - {id: extra, points: 3, answer: words, checker: equal, expected: yes, bonus: true}
"""


@pytest.fixture
def grade(tmp_path):
    for path, text in {
        "specs/lab/task.yaml": TASK,
        "reference/own.py": REFERENCE,
        "checkers/own.py": CHECKERS,
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    found = course.find(tmp_path)

    def graded(**files):
        task = load.read(tmp_path / "specs/lab/task.yaml", found)
        work = tmp_path / "work"
        work.mkdir(exist_ok=True)
        for name, content in files.items():
            (work / name.replace("__", ".")).write_text(content, encoding="utf-8")
        oracle = Oracle(found.quantities, tmp_path / "cache")
        with Grader(found, oracle=oracle) as grader:
            (report,) = grader.grade([task], read(work, "work")).tasks
        return {check.id: check for check in report.checks}

    return graded


def test_a_right_answer_earns_its_points(grade):
    checks = grade(answers__yaml="task: {total: 1234, words: 'yes'}")
    assert checks["total"].verdict.outcome is Outcome.CORRECT
    assert checks["total"].earned == 5
    assert checks["total"].answer_from == "answers.yaml:1 task.total"
    assert checks["secret"].earned == 2
    assert checks["secret"].hidden


def test_a_misconception_is_named_and_points_are_rounded_once(grade):
    checks = grade(answers__yaml="task: {total: 2468}")
    assert checks["total"].verdict.outcome is Outcome.PARTIAL
    assert checks["total"].verdict.hint == "counted twice"
    assert checks["total"].earned == Fraction("1.66")


def test_a_check_whose_needs_are_unmet_is_skipped(grade):
    checks = grade(answers__yaml="task: {total: 2468}")
    assert checks["secret"].verdict.outcome is Outcome.SKIPPED
    assert reason(checks["secret"].verdict) == "needs full credit for 'total' first"
    assert checks["secret"].earned == 0


def test_a_fault_of_ours_says_whose_it_is_and_stops_nothing(grade):
    checks = grade(answers__yaml="task: {total: 1234}")
    for name, message in (("fault", "ZeroDivisionError: by zero"), ("boom", "KeyError: 'inside the checker'")):
        verdict = checks[name].verdict
        assert verdict.outcome is Outcome.FAULT
        assert verdict.reason == "labgrade failed here, not you: no points are lost, and a person will look"
        assert message in verdict.facts["fault"]
        assert "own.py:" in verdict.facts["fault"]


def test_a_fault_does_not_keep_a_student_from_what_needs_it(grade):
    assert grade(answers__yaml="task: {total: 1234}")["after-fault"].verdict.outcome is Outcome.CORRECT


def test_what_is_marked_by_hand_waits(grade):
    verdict = grade(answers__yaml="task: {words: because}")["essay"].verdict
    assert verdict.outcome is Outcome.MANUAL
    assert reason(verdict) == "waits to be marked by a person: 2 for clarity"


def test_what_is_marked_by_hand_shows_its_rubric_even_where_reports_differ(tmp_path, grade):
    path = tmp_path / "specs/lab/task.yaml"
    path.write_text(TASK.replace("from: [{entry: task.words}]", "from: [{report: under Discussion}]"))
    files = {"report__md": "# Total\n5\n# Discussion\nmany words\n", "report__txt": "# Discussion\nother words\n"}
    verdict = grade(**files)["essay"].verdict
    assert verdict.outcome is Outcome.MANUAL
    assert "2 reports say different things: many words (report.md:3, under Discussion), other words" in verdict.reason
    assert reason(verdict).endswith("; waits to be marked by a person: 2 for clarity")
    (tmp_path / "work/report.txt").unlink()
    graded = grade(report__md="# Discussion\nmany words\n")["essay"]
    assert reason(graded.verdict) == "waits to be marked by a person: 2 for clarity"
    assert graded.answer_from == "report.md:1, under Discussion"


def test_nothing_handed_in_is_missing_and_says_what_was_looked_for(grade):
    checks = grade(x__c="x")
    assert checks["total"].verdict.outcome is Outcome.MISSING
    assert reason(checks["total"].verdict) == (
        "nothing was handed in; looked for 'task.total' in answers.yaml; 'Total' in out.txt; 'Total' in the report"
    )
    assert checks["essay"].verdict.outcome is Outcome.MISSING


def test_a_report_without_code_is_read_once_for_all_answers(grade, monkeypatch):
    read_in, jobs = Runner.read, []

    def read(self, request):
        jobs.append(len(request.asks))
        return read_in(self, request)

    monkeypatch.setattr(Runner, "read", read)
    checks = grade(out__txt="Of 617 and 617 the Total is 1235", report__md="# Task\n\nTotal: 12345\n")
    assert checks["total"].verdict.outcome is Outcome.INCORRECT
    assert checks["extra"].verdict.outcome is Outcome.MISSING
    assert len(jobs) == 1


def test_an_empty_folder_says_so(grade):
    assert grade()["total"].verdict.reason == "the folder is empty"


def test_a_missing_bonus_costs_nothing_and_says_so(grade):
    extra = grade(answers__yaml="task: {total: 1234}")["extra"]
    assert extra.verdict.outcome is Outcome.MISSING
    assert reason(extra.verdict, bonus=extra.bonus).endswith("(a bonus: it costs nothing)")


def test_the_first_form_is_judged_and_a_later_one_that_differs_is_shown_to_staff(grade):
    checks = grade(answers__yaml="task: {total: 1234}", out__txt="Total: 999\n", report__md="Total: 1.234 k\n")
    verdict = checks["total"].verdict
    assert verdict.outcome is Outcome.CORRECT
    assert verdict.remarks == ("out.txt:1 says 999 instead",)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("task: {total: [many]}", "answers.yaml:1 task.total: "),
        ("task: {total: true}", "answers.yaml:1 task.total: "),
        ("task: {total: .nan}", "answers.yaml:1 task.total: "),
        ("task: [", "'answers.yaml' can't be read: answers.yaml:1:8: this is not YAML"),
    ],
)
def test_an_entry_that_is_no_count_is_incorrect_with_its_place(grade, content, reason):
    verdict = grade(answers__yaml=content)["total"].verdict
    assert verdict.outcome is Outcome.INCORRECT
    assert verdict.reason.startswith(reason)


def test_an_entry_that_stands_twice_waits_with_both_places(grade):
    verdict = grade(answers__yaml="task: {total: 1234}\ntask: {total: 1}")["total"].verdict
    assert verdict.outcome is Outcome.MANUAL
    assert verdict.reason.startswith("answers.yaml:1 task.total: 'total' stands there again on line 2")


def test_entries_keep_the_digits_that_were_written(grade):
    assert grade(answers__yaml="task: {total: 1.23e3}")["total"].verdict.outcome is Outcome.PARTIAL
    assert grade(answers__yaml="task: {total: 1.234e3}")["total"].verdict.outcome is Outcome.CORRECT
    assert grade(answers__yaml="task: {total: 1.234 k}")["total"].verdict.outcome is Outcome.CORRECT


@pytest.mark.parametrize("content", [{"task": {"total": 1234}}, {"task.total": 1234}])
def test_entries_come_from_json_too_and_keys_may_hold_dots(grade, content):
    assert grade(answers__json=json.dumps(content))["total"].verdict.outcome is Outcome.CORRECT


def test_entries_in_another_encoding_say_so(tmp_path, grade):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "answers.yaml").write_bytes("task: {total: 1234} # 總".encode("big5"))
    verdict = grade()["total"].verdict
    assert (verdict.outcome, verdict.remarks) == (Outcome.CORRECT, ("'answers.yaml' is not UTF-8: read as Big5",))


def test_cases_share_points_and_names_tell_same_models_apart(tmp_path, grade):
    path = tmp_path / "specs/lab/task.yaml"
    path.write_text(
        TASK.replace("- entry: task.total", "- {call: hw.py:f, given: [model]}").replace(
            "expected: {quantity: size}",
            "expected: {quantity: size}\n"
            "    cases: [{model: torchvision/vgg11}, {model: torchvision/vgg11, seed: 1}, {input: [5]}]",
        )
    )
    found = items.items(load.read(path, course.find(tmp_path)))
    assert [(item.id, item.points) for item in found[:3]] == [
        ("total[vgg11]", Fraction("1.67")),
        ("total[vgg11#2]", Fraction("1.66")),
        ("total[alexnet]", Fraction("1.67")),
    ]


class Poisoner:
    """A runner whose students write what they return over every remembered value."""

    def __init__(self, cache):
        self.cache = cache

    def run(self, request):
        for path in self.cache.rglob("*.json"):
            path.write_text(json.dumps({"value": 42, "digest": hashlib.sha256(b"42").hexdigest()}))
        return Execution(status="returned", value=42)

    def close(self):
        pass


def test_a_students_code_that_rewrites_the_memory_gains_nothing(tmp_path):
    for path, text in {
        "specs/lab/task.yaml": TASK.replace("- entry: task.total", "- {call: hw.py:total, given: [input_size]}", 1),
        "reference/own.py": REFERENCE,
        "checkers/own.py": CHECKERS,
        "work/hw.py": "def total(input_size): len(input_size)",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    found = course.find(tmp_path)
    task = load.read(tmp_path / "specs/lab/task.yaml", found)
    cache = tmp_path / "cache"
    for _ in range(3):
        with Grader(
            found, oracle=Oracle(found.quantities, cache), runner=Poisoner(cache), reader=Reader(None)
        ) as grader:
            for _ in range(2):
                (report,) = grader.grade([task], read(tmp_path / "work", "work")).tasks
                assert report.checks[0].verdict.outcome is Outcome.INCORRECT
                assert report.checks[0].verdict.facts["expected"] == "1,234"
        assert not [path for path in cache.rglob("*.json") if json.loads(path.read_bytes())["value"] == 42]
