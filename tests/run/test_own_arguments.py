"""What a course may ask for besides: arguments of its own, tables that are measured, words in answers.yaml."""

import io
from dataclasses import replace

import numpy as np
import pytest
from helpers import own_course

from labgrade.authoring.task_trial import points_exemplar_lacks
from labgrade.core.results import TaskReport
from labgrade.judging.graded_items import Judged, graded_so_far
from labgrade.judging.items import items
from labgrade.spec import course, load
from labgrade.verdict import Outcome

pytestmark = pytest.mark.slow

REFERENCE = '''
"""Facts of this course."""


def small_weights(subject, *, sparsity: float) -> int:
    """How many weights a pruning to this sparsity removes, each tensor by itself."""
    module, _ = subject.on_meta()
    return sum(round(sparsity * each.numel()) for each in module.parameters() if each.dim() > 1)


def scaled_sum(config, *, data: str = "", factor: int = 1) -> float:
    """The sum of an array, times a factor."""
    import numpy as np

    return float(np.load(data).sum()) * factor


def shares(artifact, *, data: str = "") -> list[dict]:
    """By line the share of all, and how many there are."""
    lines = artifact.read_text().split()
    if not lines:
        raise ValueError("the file is empty")
    if data:
        (artifact.parent / data).read_bytes()
    numbers = [float(each) for each in lines]
    return [{"line": f"line{at}", "share": each / max(sum(numbers), 1e-9)} for at, each in enumerate(numbers)]


def longest_step(artifact) -> float:
    """The longest step between two lines."""
    numbers = [float(line) for line in artifact.read_text().split()]
    return max(b - a for a, b in zip(numbers, numbers[1:]))
'''
PRUNING = """
id: pruning
title: Pruning
points: 4
statement: pruned(model, sparsity)
subject: {model: torchvision/squeezenet1_1, input: [1, 3, 64, 64], arguments: {sparsity: 0.5}}
answers:
  named: {type: count, call: 'p.py:pruned(model, sparsity)'}
  written: {type: count, call: "p.py:with_words(model, 0.25, 'round', [2, 4])"}
checks:
  - {id: named, points: 1, answer: named, checker: equal, expected: {quantity: small_weights}}
  - {id: other, points: 1, answer: named, checker: equal, expected: {quantity: small_weights},
     cases: [{arguments: {sparsity: 0.75}}, {model: torchvision/alexnet, arguments: {sparsity: 0.125}}]}
  - {id: written, points: 2, answer: written, checker: equal,
     expected: {quantity: small_weights, with: {sparsity: 0.25}}}
"""
DATA = """
id: data
title: Data
points: 3
statement: total(data, factor)
subject: {config: {factor: 2}, arguments: {data: ./own/numbers.npy}}
answers:
  total: {type: number, call: 'p.py:total(data, factor)'}
  shares: {type: file, file: numbers.txt}
checks:
  - {id: total, points: 1, answer: total, checker: equal, expected: {quantity: scaled_sum, with: {factor: 2}}}
  - {id: shares, points: 1, answer: shares, checker: {same_rows: {rtol: 0.01}}, measured: {quantity: shares},
     expected: {literal: [{line: line0, share: 0.25}, {line: line1, share: 0.75}]}}
  - {id: step, points: 1, answer: shares, checker: {at_most: {limit: 100}}, measured: {quantity: longest_step}}
"""
WORD = """
id: word
title: A word
points: 1
statement: Compute or memory?
hand_in: {entries: word, report: under word}
answers: {bound: {type: text, entry: bound}}
checks: [{id: bound, points: 1, answer: bound, checker: equal, expected: {literal: compute}}]
"""
STUDENT = """
import numpy as np


def pruned(model, sparsity):
    return sum(round(sparsity * each.numel()) for each in model.parameters() if each.dim() > 1)


def with_words(model, sparsity, way, pattern):
    assert way == "round" and pattern == [2, 4]
    return pruned(model, sparsity)


def total(data, factor):
    return float(np.load(data).sum()) * factor
"""


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    numbers = io.BytesIO()
    np.save(numbers, np.arange(5.0))
    folder = own_course.write(
        tmp_path_factory.mktemp("course"),
        {
            "reference/facts.py": REFERENCE,
            "specs/lab/pruning.yaml": PRUNING,
            "specs/lab/data.yaml": DATA,
            "specs/lab/word.yaml": WORD,
            "specs/lab/own/numbers.npy": numbers.getvalue(),
            "submissions/right/p.py": STUDENT,
            "submissions/right/numbers.txt": "1\n3\n",
            "submissions/right/answers.yaml": "word: {bound: compute}\n",
            "submissions/right/report.md": "# Report\n\n## word\n\nSee answers.yaml.\n",
            "submissions/lazy/p.py": STUDENT.replace("sparsity *", "0.5 *").replace("* factor", ""),
            "submissions/lazy/numbers.txt": "1\n1\n",
            "submissions/one/numbers.txt": "4\n",
            "submissions/none/numbers.txt": "\n",
            "submissions/section/report.md": "# Report\n\n## word\n\nIt depends.\n",
        },
    )
    assert own_course.findings(folder) == []
    with own_course.grading(folder) as grade:
        yield folder, grade


def test_a_function_is_given_values_that_the_spec_names_and_that_cases_change(graded):
    verdicts = graded[1]("right", "pruning")
    assert {name: each.outcome for name, each in verdicts.items()} == dict.fromkeys(verdicts, Outcome.CORRECT)
    lazy = graded[1]("lazy", "pruning")
    assert lazy["pruning.named"].outcome is Outcome.CORRECT
    assert lazy["pruning.other[squeezenet1_1]"].credit == lazy["pruning.other[alexnet]"].credit == 0


def test_a_file_beside_the_spec_is_given_to_functions_and_quantities(graded):
    assert graded[1]("right", "data")["data.total"].outcome is Outcome.CORRECT
    assert graded[1]("lazy", "data")["data.total"].outcome is Outcome.INCORRECT


def test_measured_rows_are_compared_one_by_one(graded):
    assert graded[1]("right", "data")["data.shares"].outcome is Outcome.CORRECT
    wrong = graded[1]("lazy", "data")["data.shares"]
    assert (wrong.outcome, wrong.credit) == (Outcome.INCORRECT, 0)
    assert "line0" in wrong.reason


def test_only_what_a_quantity_raises_itself_is_the_students(graded):
    fault = graded[1]("one", "data")["data.step"]
    assert fault.outcome is Outcome.FAULT
    assert "facts.py:32" in fault.facts["fault"]
    assert graded[1]("none", "data")["data.shares"].reason == "'numbers.txt': the file is empty"
    assert graded[1]("none", "data")["data.step"].outcome is Outcome.FAULT


def test_a_text_may_be_an_entry(graded):
    assert graded[1]("right", "word")["word.bound"].outcome is Outcome.CORRECT
    assert graded[1]("section", "word")["word.bound"].outcome is not Outcome.CORRECT


def test_an_exemplar_that_waits_for_a_person_without_a_rubric_is_none(graded):
    folder, grade = graded
    task = load.read(folder / "specs/lab/word.yaml", course.find(folder))
    (item,) = items(task)
    verdict = replace(grade("section", "word")["word.bound"], outcome=Outcome.MANUAL)
    checks = (graded_so_far(item, Judged(verdict=verdict)),)
    report = TaskReport(lab="lab", id="word", title="", points=task.points, checks=checks)

    assert len(list(points_exemplar_lacks(report, task))) == 1


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ("hand_in: {entries: word, report: under word}", "hand_in: {report: under word}", "'entry' has no effect"),
        ("entry: bound", "words: Bound, whole: [report]", "'whole' has no effect"),
        ("entry: bound", "call: 'w.py:bound(0.5, mode)'", "a 'call' is handed the subject"),
    ],
)
def test_a_word_without_effect_is_named(tmp_path, was, becomes, said):
    assert was in WORD
    own_course.write(tmp_path, {"specs/lab/word.yaml": WORD.replace(was, becomes)})
    assert any(said in each for each in own_course.findings(tmp_path))


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ("pruned(model, sparsity)", "pruned(model, sparsty)", "no argument is called 'sparsty'; did you mean"),
        ("arguments: {sparsity: 0.5}", "arguments: {sparsity: ./none.npy}", "there is no file './none.npy'"),
        ("arguments: {sparsity: 0.5}", "arguments: {model: 0.5}", "'model' is one of labgrade's own"),
        ("arguments: {sparsity: 0.5}", "arguments: {rate: 0.5}", "needs 'with: {sparsity: ...}'"),
    ],
)
def test_arguments_that_do_not_fit_are_named(tmp_path, was, becomes, said):
    assert was in PRUNING
    files = {"specs/lab/pruning.yaml": PRUNING.replace(was, becomes), "reference/facts.py": REFERENCE}
    own_course.write(tmp_path, files)
    assert any(said in each for each in own_course.findings(tmp_path))
