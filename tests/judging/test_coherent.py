"""Answers of one task that are right of different files wait; answers of one file, and one alone, do not."""

import pytest
from helpers import own_course
from helpers.direct import DirectRunner
from helpers.handed_in import read

from labgrade.answers.reader.reader import Reader
from labgrade.run.grader import Grader
from labgrade.run.task import TaskGrading
from labgrade.spec import course, load

SPEC = """
id: nodes
title: Nodes
points: 4
statement: How many nodes and types are there? A file of another exporter will do.
subject: {model: torchvision/alexnet, input: [1, 3, 224, 224]}
answers:
  total:
    type: count
    from: [{call: 'hw.py:total', given: [input_size]}, {entry: nodes.total}, {after: Total nodes, report: anywhere}]
  types: {type: count, from: [{entry: nodes.types}, {after: Different types, report: anywhere}]}
  again: {type: count, from: [{entry: nodes.again}]}
  counts: {type: {table: {row: kind, columns: {count: count}}}, from: [{entry: nodes.counts}]}
checks:
  - id: total
    points: 1
    answer: total
    checker: equal
    expected: 1000
    also_right:
      - {value: 1700, of: [new], says: of a new exporter}
      - {value: 1050, of: [zoo], says: of the zoo's file}
      - {value: 999, says: without the input}
  - id: types
    points: 1
    answer: types
    checker: {equal: {digits: 1}}
    expected: 6
    also_right:
      - {value: 7, of: [new, old], says: of a new exporter or an old one}
      - {value: 11, of: [zoo], says: of the zoo's file}
  - id: again
    points: 1
    answer: again
    checker: equal
    expected: 5
    also_right: [{value: 8, says: counted twice}]
  - id: counts
    points: 1
    answer: counts
    checker: {same_rows: {others: unsure}}
    expected: [[Conv, 5], [Gemm, 3]]
    also_right: [{value: [[Conv, 5], [Gemm, 3], [Constant, 7]], of: [new], says: with constants}]
"""
REPORT = "## nodes\nTotal nodes: {}\nDifferent types: {}\n"
CALLED = "def total(size):\n    return 1000\n"


@pytest.fixture
def graded(tmp_path):
    folder = own_course.write(tmp_path, {"specs/lab/nodes.yaml": SPEC})
    found = course.find(folder)
    grader = Grader(found, runner=DirectRunner(), reader=Reader(None))
    (task,) = (load.read(path, found) for path in load.files(found.specs))

    def grade(files):
        for path, content in files.items():
            (folder / "work").mkdir(exist_ok=True)
            (folder / "work" / path).write_text(content, encoding="utf-8")
        report = TaskGrading(grader, task, read(folder / "work", "work"), explains=False).report()
        return {each.id: each for each in report.checks}

    yield grade
    grader.stop()


def entries(**values):
    return "nodes:\n" + "".join(f"  {name}: {value}\n" for name, value in values.items())


@pytest.mark.parametrize(
    ("values", "waiting"),
    [
        ({"total": 1000, "types": 6, "again": 5}, ()),
        ({"total": 1700, "types": 7, "again": 8}, ()),  # what names no file is right of any
        ({"total": 1050, "types": 11}, ()),
        ({"total": 1700}, ()),
        ({"total": 1700, "types": 9}, ()),  # what is wrong is of no file
        ({"total": 999, "types": 7}, ()),
        ({"total": 1000, "types": 7, "again": 8}, ("types",)),
        ({"total": 1700, "types": 6}, ("total",)),
        ({"total": 1050, "types": 7}, ("total", "types")),
        ({"types": 7, "counts": "{Conv: 5, Gemm: 3, Constant: 7}"}, ()),
        ({"types": 7, "counts": "{Conv: 5, Gemm: 3, BatchNormalization: 5}"}, ("types", "counts")),
        ({"types": 7, "counts": "{Conv: 5, Gemm: 3}"}, ("types",)),
        ({"types": 6, "counts": "{Conv: 5, Gemm: 3, BatchNormalization: 5}"}, ("counts",)),
        ({"types": 11, "counts": "{Conv: 5, Gemm: 3, Constant: 7}"}, ("types", "counts")),
    ],
)
def test_numbers_of_different_files_wait_and_lose_nothing(graded, values, waiting):
    found = graded({"answers.yaml": entries(**values)})
    wrong = {"types"} if values.get("types") == 9 else set()
    outcomes = {name: str(found[name].verdict.outcome) for name in values}
    assert outcomes == {
        name: "MANUAL" if name in waiting else "INCORRECT" if name in wrong else "CORRECT" for name in values
    }
    for name in waiting:
        assert found[name].verdict.suggestion is None  # of what contradicts itself nothing is known to be right
        assert found[name].to_mark is not None


def test_the_reason_names_both_files(graded):
    found = graded({"report.md": REPORT.format(1000, 7)})
    assert found["types"].verdict.reason == (
        "right: of a new exporter or an old one; but 'total' is right of the task's own file"
    )
    found = graded({"report.md": REPORT.format(1700, 11)})
    assert found["total"].verdict.reason == "right: of a new exporter; but 'types' is right of the zoo's file"


def test_a_function_says_nothing_of_the_students_own_file(graded):
    found = graded({"hw.py": CALLED, "answers.yaml": entries(types=7)})
    assert [str(found[name].verdict.outcome) for name in ("total", "types")] == ["CORRECT", "CORRECT"]


def test_only_what_is_right_is_of_a_file(tmp_path):
    wrong = SPEC.replace(
        "checker: equal\n", "checker: equal\n    misconceptions: [{value: 3, of: [new], says: no}]\n", 1
    )
    (found,) = own_course.findings(own_course.write(tmp_path, {"specs/lab/nodes.yaml": wrong}))
    assert found.startswith("another value takes no 'of'")


@pytest.mark.parametrize(
    ("counts", "waits"),
    [
        ("{Conv: 6, Gemm: 3, Constant: 7}", False),  # a known file's rows, of which one is wrong
        ("{Conv: 5, gemm_node: 3}", False),  # a row that is misnamed
        ("{Conv: 6, Gemm: 3, BatchNormalization: 5}", True),
        ("{Conv: 5, BatchNormalization: 5, Relu6: 3}", True),
    ],
)
def test_rows_of_no_known_file_contradict_what_is_right_of_another_file(graded, counts, waits):
    found = graded({"answers.yaml": entries(types=7, counts=counts)})
    assert str(found["counts"].verdict.outcome) == "PARTIAL"
    assert str(found["types"].verdict.outcome) == ("MANUAL" if waits else "CORRECT")
