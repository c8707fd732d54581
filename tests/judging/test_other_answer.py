"""What is right because another answer of the same hand-in says so: a total of a table, the best of its rows."""

import pytest
from helpers import own_course

SPEC = """
id: study
title: A study
points: 5
statement: Try batch sizes and rates, and say what is best.
answers:
  runs:
    type: {table: {row: run, columns: {rate: number, seed: count, accuracy: number}}}
    from: [{file: runs.csv}]
  best: {type: number, from: [{entry: best}]}
  peak: {type: number, from: [{entry: peak}]}
  tried: {type: count, from: [{entry: tried}]}
  name: {type: text, from: [{entry: name}]}
checks:
  - id: best
    points: 1
    answer: best
    checker: equal
    expected: {answer: runs, take: argmax, of: accuracy, by: rate}
    misconceptions:
      - value: {answer: runs, take: argmin, of: accuracy, by: rate}
        says: This is the rate with the lowest accuracy.
        credit: 0.25
  - {id: peak, points: 1, answer: peak, checker: equal, expected: {answer: runs, take: max, of: accuracy}}
  - {id: tried, points: 1, answer: tried, checker: equal, expected: {answer: runs, take: count, of: accuracy}}
  - {id: name, points: 1, answer: name, checker: equal, expected: {answer: runs, take: argmax, of: accuracy}}
  - {id: same, points: 1, answer: peak, checker: equal, expected: {answer: best}}
"""
ROWS = ("a,0.1,0,0.905", "b,0.1,1,0.895", "c,0.01,0,0.931", "d,0.01,1,0.911", "e,0.001,0,0.940", "f,0.001,1,0.880")
RUNS = "\n".join(("run,rate,seed,accuracy", *ROWS, ""))
TIE = RUNS.replace("0.880", "0.902")
ANSWERS = "best: {}\npeak: {}\ntried: 6\nname: {}\n"
HANDED_IN = {
    "right": (RUNS, ANSWERS.format("0.01", "0.940", "e")),
    "worst": (RUNS, ANSWERS.format("0.1", "0.93", "f")),
    "tie": (TIE, ANSWERS.format("0.001", "0.940", "e")),
    "none": (None, ANSWERS.format("0.01", "0.940", "e")),
    "odd": ("run,rate,seed,accuracy\n", ANSWERS.format("0.01", "0.940", "e")),
    "loud": (RUNS, ANSWERS.format("0.01", "0.940", "E")),
    "two": (f"{RUNS}E2,0.01,2,0.5\ne2,0.01,3,0.99\n", ANSWERS.format("0.01", "0.940", "E2")),
    "silent": (RUNS, "best: 0.01\n"),
}


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    files = {"specs/lab/study.yaml": SPEC}
    for name, (runs, answers) in HANDED_IN.items():
        files[f"submissions/{name}/answers.yaml"] = answers
        if runs is not None:
            files[f"submissions/{name}/runs.csv"] = runs
    with own_course.grading(own_course.write(tmp_path_factory.mktemp("course"), files)) as grade:
        yield {name: grade(name) for name in HANDED_IN}


@pytest.mark.slow
def test_a_row_may_be_named_in_another_case_unless_two_rows_differ_by_it(graded):
    assert outcomes(graded["loud"])["name"] == "CORRECT"
    assert outcomes(graded["two"])["name"] == "INCORRECT"


def outcomes(found):
    return {name.removeprefix("study."): str(each.outcome) for name, each in found.items()}


@pytest.mark.slow
def test_the_students_own_table_says_what_is_right(graded):
    assert outcomes(graded["right"]) == {
        "best": "CORRECT",
        "peak": "CORRECT",
        "tried": "CORRECT",
        "name": "CORRECT",
        "same": "INCORRECT",
    }
    worst = graded["worst"]
    assert outcomes(worst) == dict.fromkeys(outcomes(worst), "INCORRECT") | {"best": "PARTIAL", "tried": "CORRECT"}
    assert worst["study.best"].hint == "This is the rate with the lowest accuracy."
    assert worst["study.peak"].hint == "Your own 'runs' says 0.940, the max of accuracy."
    assert worst["study.name"].hint == "Your own 'runs' says e, where accuracy is highest on average."


@pytest.mark.slow
def test_what_can_not_be_compared_says_with_what(graded):
    tie = graded["tie"]["study.best"]
    assert (str(tie.outcome), tie.reason) == (
        "MANUAL",
        "it is compared with your 'runs', in which several are best: 0.01, 0.001",
    )
    none = graded["none"]["study.best"]
    assert str(none.outcome) == "MISSING"
    assert none.reason.startswith("it is compared with your 'runs': ")
    odd = graded["odd"]["study.best"]
    assert str(odd.outcome) == "INCORRECT"  # as the table itself
    assert odd.reason.startswith("it is compared with your 'runs': ")
    assert str(graded["silent"]["study.same"].outcome) == "MISSING"


@pytest.mark.parametrize(
    ("was", "becomes", "says"),
    [
        ("{answer: best}", "{answer: peak}", "'peak' is always what it is itself; compare it with another answer"),
        ("{answer: best}", "{answer: bets}", "there is no answer 'bets'; did you mean 'best'?"),
        ("{answer: best}", "{answer: best, take: sum}", "'sum' is taken of rows, and 'best' is a number"),
        (
            "{answer: best}",
            "{answer: runs}",
            "'runs' is a table, and 'peak' a number: say what is taken of it, 'take: argmax'",
        ),
        ("take: max, of: accuracy", "take: max", "say of which column: 'of: rate'"),
        (
            "take: max, of: accuracy",
            "take: max, of: acuracy",
            "'acuracy' is no column of numbers; did you mean 'accuracy'?",
        ),
        (
            "take: max, of: accuracy",
            "take: max, of: accuracy, by: rate",
            "'by' is of argmax and argmin, and not of 'max'",
        ),
        (
            "take: max, of: accuracy",
            "of: accuracy",
            "'of' says of what is taken: 'take: argmax', or sum, mean, max, min",
        ),
        ("by: rate}\n    mis", "by: rat}\n    mis", "there is no column 'rat'; did you mean 'rate'?"),
        ("take: max,", "take: maximum,", "no way of summing up is called 'maximum'; did you mean 'max'?"),
    ],
)
def test_a_comparison_that_can_not_be_is_told(tmp_path, was, becomes, says):
    assert was in SPEC
    own_course.write(tmp_path, {"specs/lab/study.yaml": SPEC.replace(was, becomes)})
    assert says in own_course.findings(tmp_path)


def test_it_says_nothing_of_a_right_one(tmp_path):
    own_course.write(tmp_path, {"specs/lab/study.yaml": SPEC})
    assert own_course.findings(tmp_path) == []


STUDY = """
id: study
title: A study
points: 2
statement: Try batch sizes, and say what is best.
answers:
  runs:
    type: {table: {row: size, sparse: true, columns: {size: count, accuracy: number}}}
    from: [{file: runs.csv}, {report: under 1}]
  best: {type: count, from: [{entry: best}, {after: Best size, report: under 1}]}
checks:
  - {id: runs, points: 1, answer: runs, checker: {covers: {columns: [size], least: [2]}}}
  - {id: best, points: 1, answer: best, checker: equal, expected: {answer: runs, take: argmax, of: accuracy}}
"""
REPORTS = {
    "nothing": ({"notes.txt": "see the report\n"}, "MISSING"),
    "alone": ({"report.md": "## 1\n\nBest size: 16\n"}, "MISSING"),
    "in words": ({"report.md": "## 1\n\nBest size: 16\n\n16 gave 0.9512 there,\nand 64 gave 0.9123\n"}, "MANUAL"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REPORTS)
def test_what_is_compared_with_a_missing_table_is_missing(tmp_path, name):
    handed_in, outcome = REPORTS[name]
    files = {f"submissions/ada/{path}": text for path, text in handed_in.items()}
    with own_course.grading(own_course.write(tmp_path, {"specs/lab/study.yaml": STUDY, **files})) as grade:
        assert outcomes(grade("ada")) == {"runs": outcome, "best": outcome}
