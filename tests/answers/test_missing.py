"""What is said where no form is present: never "nothing was handed in" where something was."""

from types import SimpleNamespace

import pytest

from labgrade.answers import obtain
from labgrade.answers.question import Question
from labgrade.answers.reader.reader import Reader
from labgrade.core.results import Answer
from labgrade.core.task import AnswerSpec, CallForm, EntryForm, RunForm, TableType, TextForm
from labgrade.reports import summary
from labgrade.verdict import Outcome

FORMS = (
    CallForm(file="hw.py", function="total_params", given=("model",)),
    EntryForm(path="2-1-1.total"),
    TextForm(after="Total", file="out.txt"),
    TextForm(after="Total", report=("2-1-1",)),
)


@pytest.fixture
def found(hand_in):
    def obtained(files, forms=FORMS, kind="count"):
        wanted = AnswerSpec(name="total", type=kind, forms=forms)
        nothing_runs = SimpleNamespace(reader=Reader(None), runner=None)
        return obtain.obtain(Question(wanted=wanted, submission=hand_in(files)), nothing_runs)

    return obtained


@pytest.mark.parametrize(
    ("beside", "reason"),
    [
        ({"out.txt": "Total: 7,000"}, None),
        ({}, "'answers.yaml' can't be read"),
        ({"report.md": "Nothing"}, "'answers.yaml' can't be read"),
    ],
)
def test_a_file_of_entries_that_is_broken_hides_no_other_form(found, beside, reason):
    answer = found({"answers.yaml": "2-1-1:\n  total: [5\n bad: 6\n", **beside})
    assert answer.value.value == 7000 if reason is None else answer.verdict.reason.startswith(reason)


@pytest.mark.parametrize(
    ("files", "hint"),
    [
        ({"hw2.odt": b"PK"}, "a report must be .md, .txt, .html, .ipynb, .docx or .pdf; there is 'hw2.odt'"),
        ({"a.odt": "x", "\u5831\u544a.rtf": "x"}, "there is 'a.odt', '\u5831\u544a.rtf'"),
        ({"a.html": "x"}, "no heading of a.html begins with '2-1-1'"),
        ({"answers.yaml": ""}, "'answers.yaml' is empty"),
        ({"Answers.yaml": "# nothing"}, "'Answers.yaml' is empty"),
        ({"answers.yaml": "- 1"}, "'answers.yaml' holds a list; write `2-1-1: {total: ...}`"),
        ({"answers.yaml": "5"}, "'answers.yaml' holds a single value; write `2-1-1: {total: ...}`"),
        ({"answers.yaml": "2-1-1: {toatl: 5}"}, "'answers.yaml' has no '2-1-1.total'; did you mean '2-1-1.toatl'?"),
        (
            {"hw.py": "def totalParams(m): ..."},
            "hw.py has no 'total_params'; did you mean 'totalParams'? rename it to 'total_params'",
        ),
        ({"hw.py": "def total_parms(m): ..."}, "did you mean 'total_parms'?"),
        (
            {"hw.py": "def f(m): ...\nclass A: ...\ndef g(): ..."},
            "hw.py has no function 'total_params'; it has 'f', 'g'",
        ),
        ({"hw.py": "def _run(): ...\ndef f(m): ..."}, "hw.py has no function 'total_params'; it has 'f'"),
        ({"hw.py": "def trainable_params(m): ..."}, "hw.py has no function 'total_params'; it has 'trainable_params'"),
        ({"hw.py": "x = 1"}, "hw.py has no function 'total_params'; it has none"),
        (
            {"hw.py": "class A:\n  def total_params(self): ..."},
            "'total_params' stands in the class 'A' of hw.py; define it outside of any class",
        ),
        (
            {"report.md": "# 2-1-2\n\nTotal: 5000"},
            "no heading of report.md begins with '2-1-1'; the words 'Total' stand on line 3",
        ),
        ({"out.log": "Total: 5000"}, "'out.log' was handed in; name it 'out.txt'"),
        ({"report.md": "# 2-1-2\n\nIt is 5000."}, "no heading of report.md begins with '2-1-1'"),
    ],
)
def test_what_lies_there_is_named(found, files, hint):
    verdict = found(files).verdict
    assert verdict.outcome is Outcome.MISSING
    assert summary.reason(verdict).startswith("no answer was found; looked for 'total_params' in hw.py")
    assert hint in summary.hint(verdict)


@pytest.mark.parametrize("text", ["# HW\n\nTotal: 5000", "Total: 5000", "| Model | Total |\n|---|---|\n| A | 5000 |"])
def test_the_words_where_no_heading_names_a_task_wait_for_a_person(found, text):
    verdict = found({"report.md": text}).verdict
    assert verdict.outcome is Outcome.MANUAL
    assert summary.hint(verdict).startswith("the words 'Total' stand on line ")
    assert "no heading of report.md begins with '2-1-1'" in summary.hint(verdict)


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        (
            "Total: 26,50",
            "line 3 of report.md, behind 'Total', stands '26,50', which can't be read: write decimals with a point",
        ),
        ("Total: 1,4983", "stands '1,4983', which can't be read: write decimals with a point"),
    ],
)
def test_a_number_that_cannot_be_read_waits_for_a_person(found, line, hint):
    verdict = found({"report.md": f"# 2-1-1\n\n{line}\n"}).verdict
    assert verdict.outcome is Outcome.MANUAL
    assert hint in summary.hint(verdict)


@pytest.mark.parametrize(
    "text", ["# 2-1-1\n\n## 2-1-1 b\n", "# 2-1-1\n\n<!-- Total: 5 -->\n", "# 2-1-1\n\nTotal: many\n", "# 2-1-2\n\n5\n"]
)
def test_words_are_not_said_to_be_missing_where_nothing_or_something_else_is(found, text):
    assert "are missing" not in summary.hint(found({"report.md": text}).verdict)


@pytest.mark.parametrize("kind", ["count", TableType(row="kind", columns={"number": "count"})])
def test_words_that_a_section_lacks_are_named(found, kind):
    forms = (TextForm(after="Number of each", report=("2-1-1",)),)
    verdict = found({"report.md": "# 2-1-1\n\n| kind | number |\n|---|---|\n| conv | 5000 |\n"}, forms, kind).verdict
    hint = "in report.md under '2-1-1' the words 'Number of each' are missing: write them before the answer"
    assert (verdict.outcome, summary.hint(verdict)) == (Outcome.MISSING, hint)


def test_of_several_words_the_first_is_named(found):
    forms = (TextForm(after="Total", report=("2-1-1",)), TextForm(after="Sum", report=("2-1-1",)))
    assert summary.hint(found({"report.md": "# 2-1-1\n\nIt is 5.\n"}, forms).verdict) == (
        "in report.md under '2-1-1' the words 'Total' are missing: write them before the answer"
    )
    assert "are missing" not in summary.hint(
        found({"report.md": "# 2-1-1\n\nSum: many, or 5 of them\n"}, forms).verdict
    )


def test_a_template_as_it_was_is_said_in_one_line(found):
    blank = {"hw.py": "def total_params(model):\n    raise NotImplementedError\n", "answers.yaml": "2-1-1: {total: }"}
    verdict = found(blank).verdict
    assert verdict.outcome is Outcome.MISSING
    assert verdict.reason == (
        "not handed in yet: 'total_params' in hw.py is as in the template, and 3 other places hold nothing"
    )
    assert summary.hint(verdict) == ""
    begun = found({**blank, "report.md": "# 2-1-2\n\nIt is 5000."}).verdict
    assert "no heading of report.md begins with '2-1-1'" in summary.hint(begun)


def test_places_are_named_once():
    forms = (
        RunForm(file="hw.py", reads=TextForm(after="Total")),
        RunForm(file="hw.py", reads=TextForm(after="All")),
        TextForm(after="Total", file="out.txt"),
        TextForm(after="All", file="out.txt"),
        TextForm(report=("2-1",)),
        TextForm(after="Total", report=("2-1",)),
    )
    assert obtain.places(forms) == [
        "'python hw.py'",
        "'Total' or 'All' in out.txt",
        "the report under 2-1",
        "'Total' in the report under 2-1",
    ]


@pytest.mark.parametrize("line", ["Total: see below", "Total: 2024-03-01", "Total: 12:30", "nothing here"])
def test_words_without_a_number_are_missing(found, line):
    verdict = found({"report.md": f"# 2-1-1\n\n{line}\n"}).verdict
    assert verdict.outcome is Outcome.MISSING
    assert summary.reason(verdict).startswith("nothing was handed in; looked for")


def test_answers_yaml_is_found_in_any_case(found):
    answer = found({"Answers.YAML": "2-1-1: {total: 5}"})
    assert isinstance(answer, Answer)
    assert answer.value.value == 5


@pytest.mark.parametrize("number", ["\u202a42\u202c", "\u200b42", "4\u20662"])
def test_invisible_characters_hide_no_number(found, number):
    assert found({"report.md": f"# 2-1-1\n\nTotal: {number}\n"}).value.value == 42
    assert found({"answers.yaml": f"2-1-1: {{total: {number}}}"}).value.value == 42


def test_a_number_cut_by_its_commas_waits_for_a_person(found):
    verdict = found({"answers.yaml": "2-1-1: {total: 6,624,904}"}).verdict
    assert verdict.outcome is Outcome.MANUAL
    assert verdict.reason == "answers.yaml:1 2-1-1.total: got '6,624,904'"
    assert summary.hint(verdict) == "a comma ends a value inside { }: quote the number or write it without commas"


def test_an_empty_folder_and_one_without_files(found, tmp_path, hand_in):
    assert found({}).verdict.reason == "the folder is empty"
    nothing = obtain._empty(SimpleNamespace(folder=tmp_path, refused=("'a.7z', because why",)))
    assert nothing == "nothing in the folder can be read: 'a.7z', because why"
    submission = hand_in({})
    (submission.folder / "report.md").mkdir()
    assert found({}).verdict.reason == "there is no file in the folder, only folders: 'report.md'"


@pytest.mark.parametrize("heading", ["2-1-1", "Homework 1"])
def test_of_several_headings_the_absent_are_not_missed_where_one_is_there(found, heading):
    forms = tuple(TextForm(after="Total", report=(each,)) for each in ("2-1-1", "Homework 1"))
    assert summary.hint(found({"report.md": f"# {heading}\n\nIt is 5.\n"}, forms).verdict) == (
        f"in report.md under '{heading}' the words 'Total' are missing: write them before the answer"
    )
    neither = summary.hint(found({"report.md": "# Something\n\nIt is 5.\n"}, forms).verdict)
    assert "begins with '2-1-1'" in neither
