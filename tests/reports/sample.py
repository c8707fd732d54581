"""A report in which everything occurs, for the tests of all renderers."""

from __future__ import annotations

from fractions import Fraction

from labgrade.core.points import earned
from labgrade.core.results import Graded, Report, SubmissionReport, TaskReport
from labgrade.verdict import Outcome, Verdict, correct, incorrect, partial, without_value


def graded(name: str, points: int | str, verdict: Verdict, answer_from: str = "", **more: bool) -> Graded:
    worth = Fraction(points)
    return Graded(
        id=name,
        points=worth,
        earned=earned(worth, verdict.credit),
        verdict=verdict,
        answer_from=answer_from,
        **more,
    )


def task(name: str, title: str, *checks: Graded) -> TaskReport:
    points = sum((check.points for check in checks if not check.bonus), Fraction(0))
    return TaskReport(lab="acal-lab2", id=name, title=title, points=points, checks=checks)


PARAMETERS = task(
    "2-1-1-parameters",
    "Number of model parameters",
    graded("total", 10, correct(got="6,624,904", expected="6,624,904"), "hw2_1.py:total_parameters"),
    graded("trainable", 5, correct("right: counted without the frozen part"), "answers.yaml, 2-1-1.trainable"),
    graded(
        "non-trainable",
        5,
        correct(got="0", remarks="report.md says 57"),
        "hw2-1-1-output.txt, line 3",
    ),
)
MACS = task(
    "2-1-4-macs",
    "Computation of GoogLeNet",
    graded(
        "total",
        10,
        partial(
            Fraction(3, 5),
            "got 1,356,857,600, which is off by less than a factor of 2",
            hint="Your sizes go wrong at the first max-pool, which rounds up (ceil_mode=True) where you round down.",
            got="1,356,857,600",
            expected="1,498,376,192",
            off="-141,518,592",
        ),
        "hw2_1.py:total_macs",
    ),
    graded(
        "each-layer",
        6,
        partial(
            Fraction(54, 57),
            "54 of 57 rows are right; the first wrong one is 'inception4e.branch3.1.conv': macs: got 9,633,792, which "
            "is 4.1 % less than expected; 2 also wrong: 'inception5a.branch1.conv', 'fc'",
        ),
        "report.md, section 2-1-4, line 118",
    ),
    graded("by-type", 2, without_value(Outcome.MISSING, "no answer was found in hw2_1.py, answers.yaml or report.md")),
    graded(
        "other-models[resnet18]",
        "1.33",
        without_value(Outcome.SKIPPED, "needs full credit for 'total' first"),
        hidden=True,
    ),
    graded(
        "pooling",
        2,
        without_value(Outcome.MISSING, "no answer was found"),
        bonus=True,
    ),
)
ACTIVATIONS = task(
    "2-1-5-conv-activations",
    "Activations of the 57 convolutions",
    graded(
        "names",
        4,
        without_value(
            Outcome.CRASHED,
            "hw2_1.py, line 31, in conv_activations: KeyError: 'conv1'",
            hint="run it yourself: python -c 'import hw2_1; hw2_1.conv_activations(...)'",
        ),
        "hw2_1.py:conv_activations",
    ),
    graded("values", 6, without_value(Outcome.TIMEOUT, "it did not end within 60 seconds"), "hw2_1.py:activations"),
    graded(
        "words",
        4,
        without_value(Outcome.MANUAL, "waits to be marked by a person: 4 for compares all four numbers"),
        "report.md, section 2-1-5",
    ),
    graded("shapes", 2, incorrect("got 1x64x55x55, which is not what is expected"), "answers.yaml, 2-1-5.shape"),
    graded(
        "peak",
        4,
        without_value(
            Outcome.FAULT,
            "labgrade failed here, not you: no points are lost, and a person will look",
            fault="KeyError: 'conv1' (checkers/close.py:31)",
        ),
    ),
)
STUDENT42 = SubmissionReport(
    name="student42", tasks=(PARAMETERS, MACS, ACTIVATIONS), remarks=("'data' is a link that leads out of the folder",)
)
PERFECT = SubmissionReport(name="王小明 (perfect)", tasks=(PARAMETERS,))
EMPTY = SubmissionReport(
    name="empty",
    tasks=(
        task(
            "2-1-1-parameters",
            "Number of model parameters",
            graded("total", 10, without_value(Outcome.MISSING, "the folder is empty")),
            graded("trainable", 10, without_value(Outcome.MISSING, "the folder is empty")),
        ),
    ),
)
NOTES = ("students' code ran in a process of its own, without a jail: no namespaces on this machine",)
ONE = Report(submissions=(STUDENT42,), notes=NOTES)
CLASS = Report(submissions=(STUDENT42, PERFECT, EMPTY), notes=NOTES)
