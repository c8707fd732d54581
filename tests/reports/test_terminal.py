"""The terminal report: what it says, how it wraps, and what it does with text that students chose."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from fractions import Fraction

import pytest
from rich.cells import cell_len
from rich.console import Console

from labgrade.answers.reading.typed_values import as_value
from labgrade.commands import counterexample
from labgrade.core.results import Deduction, Graded, Report, SubmissionReport
from labgrade.core.task import TableType
from labgrade.core.text import for_markdown
from labgrade.diagnosis import as_code
from labgrade.reports import markdown
from labgrade.reports.terminal import render
from labgrade.verdict import Outcome, correct, incorrect, without_value
from tests.reports.sample import CLASS, ONE, PERFECT, graded, task


class Encoded(io.StringIO):
    """A text file that has an encoding, as a terminal or a pipe has."""

    def __init__(self, encoding: str) -> None:
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self) -> str:
        return self._encoding


def text_of(report: Report, *, staff: bool = False, width: int = 80, encoding: str = "utf-8", **options) -> str:
    file = Encoded(encoding)
    render(report, console=Console(file=file, width=width, highlight=False, **options), staff=staff)
    return file.getvalue()


def one_check(*checks, name: str = "student42", title: str = "Title") -> Report:
    return Report(submissions=(SubmissionReport(name=name, tasks=(task("2-1", title, *checks),)),))


def test_a_task_and_its_checks():
    shown = text_of(ONE)
    expected = """\
2-1-4-macs  Computation of GoogLeNet                               11.68 / 19.33
  ~ PARTIAL    total  from: │ hw2_1.py:total_macs                         6 / 10
      got 1,356,857,600, which is off by less than a factor of 2
      hint: │ Your sizes go wrong at the first max-pool, which rounds up
            │ (ceil_mode=True) where you round down.
"""
    assert expected in shown
    assert "  ✓ CORRECT    total  from: hw2_1.py:total_parameters                    10 / 10\n" in shown
    assert "  . SKIPPED    other-models[resnet18] (hidden)                          0 / 1.33\n" in shown
    assert "  - MISSING    pooling (bonus)                                             0 / 2\n" in shown


def test_notes_come_first_and_the_end_says_what_is_left():
    shown = text_of(ONE)
    assert shown.startswith(
        "note: │ students' code ran in a process of its own, without a jail: no\n      │ namespaces on"
    )
    assert "  left out: │ 'data' is a link that leads out of the folder\n" in shown
    assert shown.endswith("""\
missing: 2-1-4-macs (by-type)
waits to be marked by a person: 2-1-5-conv-activations (words)
failed on our side, waits for a person: 2-1-5-conv-activations (peak)
total                                              31.68 to 39.68 / 59.33 points
""")
    assert "\ndo first: 2-1-5-conv-activations values, worth 6 more points\n\n2-1-1" in shown


def test_staff_sees_facts():
    staff, student = text_of(ONE, staff=True), text_of(ONE)
    assert "facts: expected 1,498,376,192; off -141,518,592 " in " ".join(staff.replace("│", " ").split())
    assert "fault: │ KeyError: 'conv1' (checkers/close.py:31)\n" in staff
    assert "remarks: │ report.md says 57\n" in staff
    assert "6,624,904" not in staff, "the facts of a right answer are no news"
    assert "1,498,376,192" not in student
    assert "checkers/close.py" not in student


@pytest.mark.parametrize(
    ("checks", "advice"),
    [
        ([graded("a", 5, correct())], "do first: nothing, you are done"),
        (
            [graded("a", 5, correct()), graded("b", 5, without_value(Outcome.MANUAL, "wait"))],
            "do first: nothing, the rest waits for a person",
        ),
        (
            [
                graded("a", 1, incorrect("got 5", hint="count again")),
                graded("b", 9, without_value(Outcome.SKIPPED, "a")),
            ],
            "do first: 2-1 a, worth 1 more point",
        ),
        ([graded("a", 5, without_value(Outcome.MISSING, "no"), bonus=True)], "do first: nothing, you are done"),
        (
            [graded("a", 2, without_value(Outcome.MISSING, "no")), graded("b", 1, incorrect("one"))],
            "do first: 2-1 b, worth 1 more point",
        ),
        (
            [
                graded("a", 2, without_value(Outcome.MISSING, "no")),
                graded("b", 9, without_value(Outcome.MISSING, "no")),
            ],
            "do first: 2-1 a, b, worth 11 more points",  # one thing to do: to hand it in
        ),
        (
            [graded("a", 2, incorrect("one")), graded("b", 2, incorrect("two"))],
            "do first: 2-1 a, worth 2 more points",
        ),
    ],
)
def test_what_to_do_first(checks, advice):
    assert f"\n{advice}\n" in text_of(one_check(*checks))


def test_a_bonus_that_nobody_handed_in_is_not_missed():
    bonus = graded("pooling", 2, without_value(Outcome.MISSING, "no"), bonus=True)
    assert "missing:" not in text_of(one_check(bonus))


def missing(name, points, reason, hint="", looked_for=(), **more):
    verdict = replace(without_value(Outcome.MISSING, reason, hint=hint), looked_for=looked_for)
    return graded(name, points, verdict, **more)


def test_a_task_of_which_nothing_was_handed_in_is_told_once():
    nothing, places = "nothing was handed in", ("'f' in a.py", "a.txt", "b.txt", "in the report")
    tasks = (
        task("1-1", "First", graded("a", 1, correct())),
        task(
            "1-2",
            "Second",
            missing("a", 5, nothing, "no heading begins with '1-2'", places),
            graded("b", 2, without_value(Outcome.SKIPPED, "needs full credit for 'a' first")),
            missing("c", 0, nothing, "no heading begins with '1-2'", places, bonus=True),
        ),
        task("1-3", "Third", missing("a", 1, "the folder is empty", bonus=True)),
        task("1-4", "Fourth", missing("a", 1, nothing, looked_for=places), graded("b", 1, incorrect("got 5"))),
    )
    shown = text_of(Report(submissions=(SubmissionReport(name="ann", tasks=tasks),)))
    assert (
        """
1-2  Second                                                                0 / 7
  - MISSING    nothing was handed in; looked for 'f' in a.py, a.txt or 2 other
               │ places; no heading begins with '1-2'
1-3  Third (bonus)                                                         0 / 0
  - MISSING    the folder is empty

1-4  Fourth                                                                0 / 2
  - MISSING    a                                                           0 / 1
      nothing was handed in; looked for 'f' in a.py; a.txt; b.txt; in the report
"""
        in shown
    )
    assert "\nmissing: 1-2; 1-4 (a)\n" in shown


def test_of_a_single_task_all_is_told():
    shown = text_of(one_check(missing("a", 1, "nothing", looked_for=("a", "b", "c", "d")), missing("b", 1, "x")))
    assert "looked for a; b; c; d" in shown


def test_what_is_wrong_is_mended_before_what_is_missing_is_handed_in():
    shown = text_of(
        one_check(missing("a", 9, "no"), graded("b", 2, incorrect("got 5")), graded("c", 1, incorrect("x")))
    )
    assert "do first: 2-1 b, worth 2 more points\n" in shown
    shown = text_of(one_check(missing("a", 9, "no"), graded("b", 2, correct())))
    assert "do first: 2-1 a, worth 9 more points\n" in shown


def test_several_submissions_end_with_a_table():
    shown = text_of(CLASS)
    assert shown.endswith("""\
3 submissions
────────────────────────────────────────────────────────────────────────────────
                points  right  partly  wrong  missing  waiting  submission
31.68 to 39.68 / 59.33      3       2      3        1        2  student42
               20 / 20      3       .      .        .        .  王小明 (perfect)
                0 / 20      .       .      .        2        .  empty
────────────────────────────────────────────────────────────────────────────────
median 20, from 0 to 31.68 points; 1 of 3 submissions still wait for a person
""")
    assert "submissions" not in text_of(ONE)


def test_a_table_counts_a_check_once_and_misses_no_bonus():
    """As the report of one submission does: its cases on one line, and no bonus among what is missing."""
    nothing = without_value(Outcome.MISSING, "no")
    checks = (
        graded("a", 5, nothing),
        graded("more[x]", 2, nothing),
        graded("more[y]", 2, nothing),
        graded("extra", 1, nothing, bonus=True),
        graded("b[x]", 1, correct()),
        graded("b[y]", 1, incorrect("no")),
    )
    ann = SubmissionReport(name="ann", tasks=(task("1", "T", *checks),))
    lines = text_of(Report(submissions=(ann, replace(ann, name="bob")))).splitlines()
    assert "missing: 1 (a, more[x, y])" in lines
    assert lines[-4].split() == ["1", "1", ".", "1", "2", ".", "ann"]


def test_late_points_have_a_column_and_points_of_one_lab_are_said_once():
    late = Deduction(lab="acal-lab2", points=Fraction(3, 2), why="one day late")
    tasks = (task("1", "T", graded("a", 5, correct()), graded("b", 5, incorrect("no"))),)
    ann, bob = SubmissionReport(name="ann", tasks=tasks, deductions=(late,)), SubmissionReport(name="bob", tasks=tasks)
    assert text_of(Report(submissions=(ann, bob))).endswith("""\
2 submissions
────────────────────────────────────────────────────────────────────────────────
of 10  late  right  partly  wrong  missing  waiting  submission
  3.5  -1.5      1       .      1        .        .  ann
    5     .      1       .      1        .        .  bob
────────────────────────────────────────────────────────────────────────────────
median 4.25, from 3.5 to 5 points
""")


def test_a_report_without_submissions_or_checks():
    assert text_of(Report(submissions=())) == ""
    assert "0 / 0 points" in text_of(Report(submissions=(SubmissionReport(name="a", tasks=()),)))


@pytest.mark.parametrize("width", [1, 24, 40, 80, 100, 300])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "cp1252"])
def test_no_line_is_too_long_or_ends_in_spaces(width, encoding):
    lines = text_of(CLASS, width=width, encoding=encoding, staff=True).splitlines()
    assert max(map(cell_len, lines)) <= max(40, min(width, 100))
    assert not [line for line in lines if line != line.rstrip()]


def test_nothing_is_lost_when_lines_wrap():
    words = " ".join(f"word{number}" for number in range(60)) + " " + "x" * 200
    shown = text_of(one_check(graded("a", 5, incorrect(words))), width=40).replace("│", "")
    assert "".join(words.split()) in "".join(shown.split())


def test_chinese_names_are_as_wide_as_they_look():
    shown = text_of(Report(submissions=(PERFECT,)))
    (heading,) = [line for line in shown.splitlines() if line.startswith("submission 王小明 (perfect)")]
    assert cell_len(heading) == 80
    long = text_of(one_check(graded("a", 5, incorrect("卷積" * 60))))
    assert "卷積" * 60 in "".join(long.replace("│", "").split())
    assert all(cell_len(line) <= 80 for line in long.splitlines())


def test_an_encoding_without_the_characters():
    shown = text_of(CLASS, encoding="ascii")
    assert shown.isascii()
    assert "  + CORRECT    total" in shown
    assert "  x INCORRECT  shapes" in shown
    assert "\n" + "-" * 80 + "\n" in shown
    assert "\\u738b\\u5c0f\\u660e (perfect)" in shown


def test_no_colour_in_a_pipe_and_colour_in_a_terminal():
    assert "\x1b" not in text_of(ONE)
    colourful = text_of(ONE, force_terminal=True, color_system="standard")
    assert "\x1b[32m  ✓ CORRECT" in colourful
    assert "\x1b[31m  ✗ INCORRECT" in colourful
    assert "\x1b[3" not in text_of(ONE, force_terminal=True, color_system="standard", no_color=True)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[bold red]PASSED[/]", "[bold red]PASSED[/]"),
        ("\x1b[2J\x1b[32mPASSED", "\\x1b[2J\\x1b[32mPASSED"),
        ("\x9b2J", "\\x9b2J"),
        ("a\rb\x08c\x00", "a\nb\\x08c\\x00"),
        ("right \u202etfel", "right \\u202etfel"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("name\udcff", "name\\udcff"),
        (":warning: :smile:", ":warning: :smile:"),
        ("https://example.org", "https://example.org"),
        ("two\nlines", "two\nlines"),
    ],
)
def test_text_of_a_student_is_shown_as_it_is(text, shown):
    body = text_of(one_check(graded("a", 5, incorrect(text))), force_terminal=True, color_system=None)
    assert shown in body.replace("\n" + " " * 6, "\n").replace("│ ", "")
    assert "\x1b" not in body


@pytest.mark.parametrize("text", ["\x1b[2J\nPASSED [bold]", "\u202e"])
def test_names_and_origins_are_safe_too(text):
    check = graded(text, 5, incorrect(text, hint=text, fact=text), answer_from=text)
    report = Report(submissions=one_check(check, name=text, title=text).submissions * 2, notes=(text,))
    shown = text_of(report, staff=True, force_terminal=True, color_system=None)
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert not [line for line in shown.splitlines() if line.startswith("PASSED")]


def test_a_flood_is_cut():
    shown = text_of(one_check(graded("a", 5, incorrect("x" * 100_000)), graded("b", 5, incorrect("x\n" * 1000))))
    together = "".join(shown.replace("│", "").split())
    assert "...(98,600morecharacters;apageortheJSONhasallofit)" in together
    assert "...(960morelines;apageortheJSONhasallofit)" in together
    assert shown.count("\n") < 80


def test_points_are_shown_to_hundredths():
    shown = text_of(one_check(graded("a", Fraction(4, 3), correct())))
    assert "1.33 / 1.33\n" in shown


def test_cases_that_say_the_same_stand_on_one_line():
    missing = without_value(Outcome.MISSING, "nothing was handed in")
    other = without_value(Outcome.MISSING, "nothing else was handed in")
    checks = [
        Graded(id=f"others[{name}]", points=Fraction(1), earned=Fraction(0), verdict=verdict)
        for name, verdict in (("a", missing), ("b", missing), ("c", other), ("d", missing))
    ]
    text = text_of(one_check(*checks, replace(checks[0], id="total")), staff=True)
    assert "others[a, b]" in text
    assert "0 / 2" in text
    assert text.count("nothing was handed in") == 3
    assert "others[c]" in text
    assert "others[d]" in text


def test_a_file_that_breaks_every_check_is_told_once():
    broken = without_value(
        Outcome.CRASHED, "hw.py:1: ModuleNotFoundError: there is no 'thop' for students to import", hint="do"
    )
    checks = [
        graded("total", 5, broken),
        graded("layers", 5, broken),
        graded("short", 5, incorrect("no")),
        graded("more", 1, incorrect("no")),
    ]
    text = text_of(one_check(*checks))
    assert text.count("ModuleNotFoundError") == 1
    assert "the same as for 2-1 total" in text
    assert text.count("      no\n") == 2


def test_a_short_syntax_error_is_told_once_too():
    broken = without_value(Outcome.CRASHED, "hw.py:3: SyntaxError: invalid syntax")
    text = text_of(one_check(graded("total", 5, broken), graded("layers", 5, broken)))
    assert text.count("      │ hw.py:3") == 1
    assert "the same as for 2-1 total" in text


def test_what_was_left_out_is_cut_after_five():
    report = one_check(graded("total", 5, correct()))
    many = replace(
        report, submissions=(replace(report.submissions[0], remarks=tuple(f"link {n}" for n in range(122))),)
    )
    text = text_of(many)
    assert text.count("left out: │ link") == 5
    assert "left out: and 117 more" in text


def test_a_note_stands_beside_the_verdict_once_a_task():
    noted = replace(correct(), notes=("seeded weights stood in",))
    tasks = (
        task("a", "A", graded("one", 1, noted, "x"), graded("two", 1, noted, "x")),
        task("b", "B", graded("one", 1, noted)),
    )
    report = Report(submissions=(SubmissionReport(name="anna", tasks=tasks),))
    assert text_of(report).count("      note: │ seeded weights stood in") == 2


ROW = "✓ CORRECT    total                            6 / 6"


@pytest.mark.promise("nothing-passes-for-a-report")
@pytest.mark.parametrize(
    "said",
    [
        f"total_macs raised ValueError: \n{ROW}",
        f"total_macs raised ValueError: {'x' * 20} {ROW}",
        f"total_macs raised ValueError: {'x ' * 11}{' ' * 40}{ROW}",
        "total_macs raised ValueError: " + "x " * 17 + "+ CORRECT total 6 / 6",
        "total_macs raised ValueError: a\ntotal   100 / 100 points",
        "✓ total",
    ],
)
@pytest.mark.parametrize(("encoding", "gutter"), [("utf-8", "│ "), ("ascii", "| ")])
def test_nothing_that_code_says_passes_for_a_part_of_the_report(said, encoding, gutter):
    crashed = replace(graded("total", 6, incorrect("")), verdict=without_value(Outcome.CRASHED, said, hint=said))
    shown = text_of(one_check(crashed), encoding=encoding).splitlines()
    at = next(number for number, line in enumerate(shown) if "CRASHED" in line)
    below = shown[at + 1 : shown.index("", at)]
    below = [line.removeprefix(" " * 6).removeprefix("hint: ").removeprefix("      ") for line in below]
    assert len(below) >= 2
    assert all(line.startswith(gutter) for line in below)


FORGED = ["✓ CORRECT    total   6 / 6", "│ fine\ntotal      100 / 100 points", "x" * 300, "ｔotal 6 / 6", "┃ ✓ CORRECT"]


@pytest.mark.parametrize("said", FORGED)
def test_only_labgrade_s_own_lines_have_no_gutter(said):
    """Whatever a student names or says, and in whatever letters: each of its lines stands behind the gutter."""
    check = graded("total", 6, incorrect(said, hint=said, fact=said), answer_from=said)
    check = replace(check, verdict=replace(check.verdict, notes=(said,), lines=(said,), picture=(said,)))
    submission = replace(one_check(check).submissions[0], remarks=(said,), members=(said, "b"), handed_in_by=said)
    submission = replace(submission, handed_in="2026-11-20T12:00:00+00:00")
    own = ("submission student42", "─", "2-1  Title", "  ✗ INCORRECT  total", "total      ", "do first: ")
    for staff in (False, True):
        shown = text_of(Report(submissions=(submission,), notes=(said,)), staff=staff).splitlines()
        others = [line for line in shown if line and not line.startswith(own)]
        assert others
        assert all(re.match(r"(?: *[a-z ]+: | +)│( |$)", line) for line in others), others


def test_what_labgrade_says_by_itself_has_no_gutter():
    said = "got 5, which is off by less than a factor of 2"
    own = [graded("a", 1, incorrect(said)), graded("b", 1, incorrect("got 'x'"))]
    shown = text_of(one_check(*own))
    assert f"\n      {said}\n" in shown
    assert "\n      │ got 'x'\n" in shown
    named = replace(graded("a", 1, incorrect("got 5")), answer_from="all rows are right")
    assert "from: │ all rows are right" in text_of(one_check(named))


def test_a_long_name_can_t_begin_a_line_of_its_own():
    name = "a" * 70 + " total" + " " * 30 + "100 / 100 points"
    shown = text_of(Report(submissions=(replace(one_check(graded("a", 5, correct())).submissions[0], name=name),) * 2))
    begun = [line for line in shown.splitlines() if "100 / 100" in line]
    assert len(begun) == 4  # two headings, two rows of the table
    assert all(line.lstrip().startswith("│ ") for line in begun)


def test_a_program_to_paste_has_no_line_of_a_student_s(capsys):
    table = as_value({"conv1\nimport os": 5}, TableType(row="layer", columns={"macs": "count"}))
    assert as_code._numbers(table, "macs") == {"conv1\\nimport os": "5"}
    crashed = without_value(Outcome.CRASHED, f"f raised E: \n{ROW}", hint=ROW)
    counterexample._show("task check: ", replace(crashed, lines=("model = 1", "# conv1\nimport os")))
    shown = capsys.readouterr().out.splitlines()
    assert "model = 1" in shown
    assert r"# conv1\nimport os" in shown
    assert all(re.match(r"(task check:| +|hint:) ?│|model|#", line) for line in shown), shown


@pytest.mark.promise("nothing-passes-for-a-report")
def test_a_cell_of_markdown_has_a_gutter_before_what_a_student_may_have_said():
    own, theirs = (markdown.row(graded("total", 6, incorrect(said))) for said in ("got 5", ROW))
    assert "INCORRECT: got 5 |" in own
    assert f"INCORRECT: │ {for_markdown(ROW)} |" in theirs
