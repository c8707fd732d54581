"""Every misconception of every spec is claimed for exactly its own value; and the published wrong values are known."""

from fractions import Fraction
from pathlib import Path

import pytest
from helpers.handed_in import read

from labgrade.answers.reading.numerals.numbers import read_number
from labgrade.core.errors import FaultError, NoSuchSlipError
from labgrade.judging.judge import by_share, judge
from labgrade.run.grader import Grader
from labgrade.spec import course, load
from labgrade.subjects import onnx_small
from labgrade.values import Number
from labgrade.verdict import Outcome

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
COURSE = course.find(ROOT)
TASKS = {path.stem: load.read(path, COURSE) for path in load.files(ROOT / "specs" / "acal-lab2")}
KNOWN = [
    (task.id, check.id, index)
    for task in TASKS.values()
    for check in task.checks
    for index in range(len(check.misconceptions))
    if not check.counterexample  # what a search is told is tried in tests/counterexample
]


@pytest.fixture(scope="module")
def someone(tmp_path_factory):
    """Who hands in a model of their own, for the tasks that are about one."""
    folder = tmp_path_factory.mktemp("someone")
    onnx_small.make("shape_chain", folder / "hw2-2-model.onnx")
    return read(folder, "someone")


@pytest.fixture(scope="module")
def grader():
    with Grader(COURSE) as own:
        yield own


def check_of(task, name):
    return next(check for check in task.checks if check.id == name)


def verdict_of(grader, task_id, check_id, answer, subject=None):
    task = TASKS[task_id]
    check = check_of(task, check_id)
    judging, expect = grader.judging_of(task, check, subject or task.subject)
    return judge(check, answer, judging, expect)


@pytest.mark.parametrize(("task_id", "check_id", "index"), KNOWN)
def test_a_misconception_is_claimed_for_its_value_on_some_subject(grader, someone, task_id, check_id, index):
    task = TASKS[task_id]
    check = check_of(task, check_id)
    known = check.misconceptions[index]
    claimed = []
    for subject in check.cases or (task.subject,):
        judging, expect = grader.judging_of(task, check, subject, someone)
        try:
            value = expect(known.source)
        except NoSuchSlipError:  # nobody can make it there
            continue
        except FaultError:
            if known.known:
                continue
            raise
        verdict = judge(check, value, judging, expect)
        if verdict.hint == known.says:
            assert verdict.outcome is not Outcome.CORRECT
            assert verdict.credit >= by_share(known, value, expect(check.expected)).credit
            claimed.append(subject)
        else:  # elsewhere it is right, or not told apart: then nobody's hint is shown
            nothing = isinstance(value, Number) and not value.value  # a slip that leaves nothing is none there
            assert verdict.outcome is Outcome.CORRECT or verdict.fits or nothing
    assert claimed or known.known  # of a library of slips: not every task gives an occasion for each


@pytest.mark.parametrize("task_id", TASKS)
def test_the_right_value_is_right_and_every_convention_too(grader, someone, task_id):
    task = TASKS[task_id]
    for check in task.checks:
        right = [check.expected, *(other.source for other in check.also_right)]
        if right == [None]:  # by hand, or of a file of which nothing is expected but to be found right
            continue
        for subject in check.cases or (task.subject,):
            judging, expect = grader.judging_of(task, check, subject, someone)
            for source in right:
                verdict = judge(check, expect(source), judging, expect)
                assert verdict.outcome is Outcome.CORRECT, (check.id, subject, verdict)
                assert verdict.hint == ""


@pytest.mark.parametrize(
    ("task_id", "check_id", "text", "words"),
    [
        ("2-1-1-parameters", "total", "13,004,888", "auxiliary classifiers"),
        ("2-1-1-parameters", "non-trainable", "15,337", ""),
        ("2-1-2-weight-bytes", "total", "6624904", "number of parameters"),
        ("2-1-2-weight-bytes", "total", "211,996,928", "size in bits"),
        ("2-1-2-weight-bytes", "total", "52999232", "64-bit"),
        ("2-1-2-weight-bytes", "total", "25.27 MB", "is in MiB"),
        ("2-1-2-weight-bytes", "total", "26.50 MiB", "is in MB"),
        ("2-1-4-macs", "total", "1,356,857,600", "ceil_mode"),
        ("2-1-4-macs", "total", "1.3569 GMac", "ceil_mode"),
        ("2-1-4-macs", "total", "2,996,752,384", "FLOPs"),
        ("2-1-4-macs", "total", "1.513907448 GMac", "ptflops prints by default"),
        ("2-1-4-macs", "total", "1,507,755,400", "count_functional=False"),
        ("2-1-4-macs", "total", "1,498,391,752", "torchinfo"),
        ("2-1-4-macs", "total", "1497352192", "linear layers are missing"),
        ("2-2-1-operators", "total", "6", "number of different types"),
        ("2-2-2-bandwidth", "total", "105,494,432", "Weights are left out"),
        ("2-2-2-bandwidth", "total", "104,869,632", ""),
        ("2-2-2-bandwidth", "total", "9633792 bytes", "largest node"),
        ("2-2-2-bandwidth", "total", "52612440 bytes", "behind the Reshape"),
        ("2-2-2-bandwidth", "total", "113.91 MB", "in MiB"),
        ("2-2-3-activation-memory", "total", "52010328 bytes", "propagate the values of shapes"),
        ("2-2-3-activation-memory", "total", "107,117,792", "containers are counted again"),
        ("2-2-3-activation-memory", "total", "77,857,184", "PyTorch's modules"),
        ("2-2-3-activation-memory", "total", "13,003,848", "number of elements"),
        ("2-2-3-activation-memory", "total", "119445696", "This is the traffic"),
        ("2-4-1-weight-bytes", "total", "61,100,840", "number of parameters"),
        ("2-4-1-weight-bytes", "total", "1,955,226,880", "size in bits"),
        ("2-4-1-weight-bytes", "total", "488806720", "eight bytes"),
        ("2-4-1-weight-bytes", "total", "233.08 MB", "in MiB"),
        ("2-4-1-weight-bytes", "total", "244,361,984", "biases are missing"),
        ("2-4-2-activation-bytes", "total", "4,437,728", "Containers are counted"),
        ("2-4-2-activation-bytes", "total", "1,098,216", "number of elements"),
        ("2-4-2-activation-bytes", "total", "4.1894 MB", "in MiB"),
        ("2-4-3-macs", "total", "1,428,376,960", "FLOPs"),
        ("2-4-3-macs", "total", "655,566,528", "linear layers are missing"),
        ("2-4-3-macs", "total", "58,621,952", "convolutions are missing"),
    ],
)
def test_published_wrong_values_get_their_own_hint(grader, task_id, check_id, text, words):
    kind = TASKS[task_id].answers[check_of(TASKS[task_id], check_id).answer].type
    verdict = verdict_of(grader, task_id, check_id, read_number(text, kind))
    assert verdict.outcome in (Outcome.PARTIAL, Outcome.INCORRECT)
    assert words in verdict.hint
    assert bool(words) == bool(verdict.hint)


@pytest.mark.parametrize(
    ("task_id", "text", "outcome"),
    [
        ("2-1-1-parameters", "6,624,904", Outcome.CORRECT),
        ("2-1-1-parameters", "6.625 M", Outcome.CORRECT),
        ("2-1-1-parameters", "6.62 M", Outcome.PARTIAL),
        ("2-1-1-parameters", "6,624,905", Outcome.INCORRECT),
        ("2-1-2-weight-bytes", "26499616", Outcome.CORRECT),
        ("2-1-2-weight-bytes", "26.50 MB", Outcome.CORRECT),
        ("2-1-2-weight-bytes", "26.5 MB", Outcome.CORRECT),
        ("2-1-2-weight-bytes", "25.27 MiB", Outcome.CORRECT),
        ("2-1-2-weight-bytes", "26 MB", Outcome.PARTIAL),
        ("2-1-2-weight-bytes", "26.51 MB", Outcome.INCORRECT),
        ("2-1-4-macs", "1,498,376,192", Outcome.CORRECT),
        ("2-1-4-macs", "1.498 GMac", Outcome.CORRECT),
        ("2-1-4-macs", "1.4984 G", Outcome.CORRECT),
        ("2-1-4-macs", "1,498,377,192", Outcome.CORRECT),
        ("2-1-4-macs", "1.50 G", Outcome.PARTIAL),
        ("2-1-4-macs", "1.5e9", Outcome.PARTIAL),
        ("2-1-4-macs", "1 G", Outcome.INCORRECT),
        ("2-1-4-macs", "1e9", Outcome.INCORRECT),
        ("2-1-4-macs", "0 T", Outcome.INCORRECT),
        ("2-1-4-macs", "0.00 T", Outcome.INCORRECT),
        ("2-1-4-macs", "0e10", Outcome.INCORRECT),
        ("2-1-4-macs", "1.499 GMac", Outcome.INCORRECT),
        ("2-1-4-macs", "1,498,376,193", Outcome.INCORRECT),
        ("2-1-4-macs", "1,356,857,601", Outcome.INCORRECT),
        ("2-2-1-operators", "100", Outcome.CORRECT),
        ("2-2-1-operators", "170", Outcome.CORRECT),
        ("2-2-1-operators", "105", Outcome.CORRECT),
        ("2-2-1-operators", "101", Outcome.INCORRECT),
        ("2-2-2-bandwidth", "119,445,696 bytes", Outcome.CORRECT),
        ("2-2-2-bandwidth", "119.4 MB", Outcome.CORRECT),
        ("2-2-2-bandwidth", "113.91 MiB", Outcome.CORRECT),
        ("2-2-2-bandwidth", "66,568,768", Outcome.CORRECT),
        ("2-2-2-bandwidth", "119445700", Outcome.INCORRECT),
        ("2-2-3-activation-memory", "52,015,392", Outcome.CORRECT),
        ("2-2-3-activation-memory", "9,633,792", Outcome.CORRECT),
        ("2-2-3-activation-memory", "52,617,504", Outcome.PARTIAL),
        ("2-2-3-activation-memory", "52,015,396", Outcome.INCORRECT),
        ("2-4-1-weight-bytes", "244403360", Outcome.CORRECT),
        ("2-4-1-weight-bytes", "244.40 MB", Outcome.CORRECT),
        ("2-4-1-weight-bytes", "233.08 MiB", Outcome.CORRECT),
        ("2-4-1-weight-bytes", "2.44403e+08", Outcome.CORRECT),
        ("2-4-1-weight-bytes", "244,403,364", Outcome.INCORRECT),
        ("2-4-1-weight-bytes", "61,100,841", Outcome.INCORRECT),
        ("2-4-1-weight-bytes", "244.41 MB", Outcome.INCORRECT),
        ("2-4-2-activation-bytes", "4,392,864", Outcome.CORRECT),
        ("2-4-2-activation-bytes", "4.39286e+06", Outcome.CORRECT),
        ("2-4-2-activation-bytes", "4.19 MiB", Outcome.CORRECT),
        ("2-4-2-activation-bytes", "4,392,868", Outcome.INCORRECT),
        ("2-4-2-activation-bytes", "1,098,217", Outcome.INCORRECT),
        ("2-4-3-macs", "714,188,480", Outcome.CORRECT),
        ("2-4-3-macs", "0.71419 G", Outcome.CORRECT),
        ("2-4-3-macs", "714,188,481", Outcome.INCORRECT),
        ("2-4-3-macs", "1,428,376,961", Outcome.INCORRECT),
    ],
)
def test_right_values_are_right_and_near_misses_are_not(grader, task_id, text, outcome):
    kind = TASKS[task_id].answers["total"].type
    verdict = verdict_of(grader, task_id, "total", read_number(text, kind))
    assert verdict.outcome is outcome
    if outcome is Outcome.INCORRECT:
        assert verdict.hint in ("", "print more digits: at least 4 significant digits are needed")


def test_a_random_wrong_number_claims_nothing(grader):
    for offset in (3, 1000, 123_456, 10**8):
        answer = Number(value=Fraction(1_498_376_192 + offset + 7))
        assert verdict_of(grader, "2-1-4-macs", "total", answer).hint == ""
