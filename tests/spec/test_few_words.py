"""What a spec says in few words is what it would say in many."""

from dataclasses import replace
from pathlib import Path

import pytest

from labgrade.core.errors import SpecError
from labgrade.core.task import CallForm, EntryForm, FileForm, QuantityCall, RunForm, TextForm
from labgrade.spec import course, load, registry
from labgrade.spec.in_full import slips

ROOT = Path(__file__).parents[2]
COURSE = course.find(ROOT)
LAB = """
title: A lab
hand_in: {code: hw.py, entries: <number>, output: hw<number>.txt, report: under <number>,
          program: {command: python a.py}}
"""
TASK = """
id: 1-2-task
title: A task
points: 3
statement: What is it?
subject: {model: torchvision/resnet18, input: [2, 3, 32, 32]}
answers:
  total: {type: count, call: 'total(model, input_size)', words: {all: MACs, report: [MACs, Total MACs]}}
  rows: {type: {table: {row: layer, columns: {macs: count}}}, words: By layer, file: rows.csv, whole: [report]}
  why: {type: text}
  arrays: {type: {table_of: tensor}, call: 'other.py:arrays(model)', file: 'conv/*.npy'}
checks:
  - id: total
    points: 1
    answer: total
    checker: equal
    expected: {quantity: macs, with: {layers: [Conv2d]}, published: 5}
    also_right: [{with: {bias: true}, says: with biases}, {value: 7, says: of another file}]
    misconceptions: [known, {value: macs_thop, credit: 0.25}, {with: {layers: [Linear]}, says: these are linear}]
    again:
      - {id: others, points: 2, hidden: true, cases: [{model: torchvision/alexnet, input: [1, 3, 64, 64]}]}
      - {id: free, points: 0, bonus: true, misconceptions: [flops], cases: [{model: torchvision/vgg11}]}
  - {id: rows, points: 0, answer: rows, checker: same_rows, expected: {quantity: macs_by_layer}}
  - {id: why, points: 0, answer: why, by_hand: [{points: 0, for: a reason}]}
  - {id: all, points: 0, answer: arrays, checker: close, expected: {quantity: module_outputs, with: {layers: [GELU]}}}
"""


def read(folder, text=TASK, lab=LAB):
    (folder / "lab").mkdir(exist_ok=True)
    (folder / "lab/lab.yaml").write_text(lab, encoding="utf-8")
    path = folder / "lab/1-2-task.yaml"
    path.write_text(text, encoding="utf-8")
    return load.read(path, COURSE)


def findings(folder, was, becomes, lab=LAB):
    assert was in TASK or was in LAB
    with pytest.raises(SpecError) as caught:
        read(folder, TASK.replace(was, becomes), lab.replace(was, becomes))
    return [f"{each.mark.line}: {each.message}" for each in caught.value.findings]


def test_how_a_lab_is_handed_in_is_said_once(tmp_path):
    task = read(tmp_path)
    report, output = ("1-2",), "hw1-2.txt"
    assert task.answers["total"].forms == (
        CallForm(file="hw.py", function="total", given=("model", "input_size")),
        EntryForm(path="1-2.total"),
        TextForm(after="MACs", file=output),
        TextForm(after="MACs", report=report),
        TextForm(after="Total MACs", report=report),
        RunForm(file="a.py", reads=TextForm(after="MACs", file=output)),
        RunForm(file="a.py", reads=TextForm(after="MACs")),
    )
    assert task.answers["rows"].forms == (
        EntryForm(path="1-2.rows"),
        FileForm(pattern="rows.csv"),
        TextForm(after="By layer", file=output),
        TextForm(after="By layer", report=report),
        TextForm(report=report),
        RunForm(file="a.py", reads=FileForm(pattern="rows.csv")),
        RunForm(file="a.py", reads=TextForm(after="By layer", file=output)),
        RunForm(file="a.py", reads=TextForm(after="By layer")),
    )
    assert task.answers["why"].forms == (TextForm(report=report),)
    arrays, *others = task.answers["arrays"].forms
    assert arrays == CallForm(file="other.py", function="arrays", given=("model",))
    assert others[0] == FileForm(pattern="conv/*.npy")


def test_a_task_says_key_by_key_what_is_other_than_in_its_lab(tmp_path):
    task = read(tmp_path, TASK.replace("answers:\n", "hand_in: {entries: own}\nanswers:\n", 1))
    assert task.answers["total"].forms[:2] == (
        CallForm(file="hw.py", function="total", given=("model", "input_size")),
        EntryForm(path="own.total"),
    )


def test_a_report_may_have_it_in_one_of_several_places(tmp_path):
    places = "hand_in: {report: [under <number>, 'under [Lab 1, 2]']}\nanswers:\n"
    why = read(tmp_path, TASK.replace("answers:\n", places, 1)).answers["why"]
    assert why.forms == (TextForm(report=("1-2",)), TextForm(report=("Lab 1", "2")))


def test_a_program_that_is_handed_the_subject_stands_where_a_call_would(tmp_path):
    build = "{build: cmake, program: analyze, given: [torchscript_path]}"
    task = read(tmp_path, TASK, LAB.replace("{command: python a.py}", build))
    kinds = [type(form).__name__ for form in task.answers["total"].forms]
    assert kinds[:4] == ["CallForm", "BuildForm", "BuildForm", "EntryForm"]
    assert task.answers["total"].forms[1].reads == EntryForm(path="total")


def test_known_are_the_slips_of_the_expected_quantity_with_its_conventions(tmp_path):
    check = read(tmp_path).checks[0]
    made = {each.source.quantity: each for each in check.misconceptions}
    assert {entry.name for entry in slips.slips_of(COURSE.quantities.entries, "macs")} <= made.keys()
    groups = made["macs_ignoring_groups"]
    assert (groups.source.parameters, groups.known) == ({"layers": ["Conv2d"]}, True)
    assert groups.says.startswith("Groups are ignored.")
    assert float(groups.credit) == 0.4
    assert made["macs_torchinfo"].source.parameters == {}  # it has no such convention
    thop = [each for each in check.misconceptions if each.source.quantity == "macs_thop"]
    assert [(float(each.credit), each.known) for each in thop] == [(0.25, True)]
    assert (made["macs"].source.parameters, made["macs"].known) == ({"layers": ["Linear"]}, True)
    right = QuantityCall(quantity="macs", parameters={"layers": ["Conv2d"], "bias": True})
    assert replace(check.also_right[0].source, mark=None) == right


def test_a_convention_that_is_right_in_any_task_stands_beside_each_that_is_right_here(tmp_path):
    check = read(tmp_path).checks[0]
    asked = [each.source.parameters for each in check.also_right if isinstance(each.source, QuantityCall)]
    own, bias = {"layers": ["Conv2d"]}, {"layers": ["Conv2d"], "bias": True}
    assert asked == [bias, own | {"of_weights": False}, bias | {"of_weights": False}]
    assert [each.implied for each in check.also_right] == [False, False, True, True]
    assert check.also_right[-1].says.startswith("with biases, and without the products")


def test_a_convention_that_the_task_sets_is_not_changed(tmp_path):
    spec = TASK.replace("with: {layers: [Conv2d]}, published: 5", "with: {of_weights: true}, published: 5")
    assert not any(each.implied for each in read(tmp_path, spec).checks[0].also_right)


@pytest.mark.parametrize(
    "said", ["{bias} with biases", "[] with biases", "{} with biases", '{"bias": true}', "", "1 x"]
)
def test_a_convention_that_is_no_json_or_has_no_words_is_a_finding(said):
    with pytest.raises(ValueError, match=r"'Also right: .*' needs an object of JSON"):
        slips.right_notes(f"What.\n\nAlso right: {said}")


def test_a_convention_is_read_over_lines():
    noted = slips.right_notes('What.\n\nAlso right: {"a": {"b": 1}} with\nmore words\n\nNo more.')
    assert noted == (({"a": {"b": 1}}, "with more words"),)


def test_a_convention_that_the_quantity_does_not_take_is_a_finding():
    entry = replace(COURSE.quantities.get("macs"), right=(({"nope": 1}, "with nothing"),))
    assert (
        slips.problem(entry, COURSE.quantities.entries, "quantity")
        == "'macs' takes no 'nope', which 'Also right' names"
    )


def test_what_is_asked_again_inherits_no_value_that_is_written_down(tmp_path):
    task = read(tmp_path)
    total, others, free = task.checks[:3]
    assert (others.answer, others.checker, others.needs) == (total.answer, total.checker, ("total",))
    assert (others.expected.parameters, others.expected.published) == ({"layers": ["Conv2d"]}, None)
    assert [each.says for each in others.also_right if not each.implied] == ["with biases"]
    assert [each.source for each in others.misconceptions] == [each.source for each in total.misconceptions]
    assert free.needs == ()
    assert [each.source.quantity for each in free.misconceptions] == ["flops"]


def test_a_new_expected_value_inherits_no_other_value(tmp_path):
    text = TASK.replace("{id: free, points: 0,", "{id: free, expected: {quantity: flops}, points: 0,")
    text = text.replace("misconceptions: [flops], ", "")
    free = read(tmp_path, text).checks[2]
    assert ([each for each in free.also_right if not each.implied], free.misconceptions) == ([], ())


@pytest.mark.parametrize(
    ("was", "becomes", "message"),
    [
        (
            "call: 'total(model, input_size)'",
            "call: total(model, input_size)",
            "quote the call, 'total(model, input_size)'",
        ),
        ("'total(model, input_size)'", "total(modle)", "8: no argument is called 'modle'; did you mean 'model'"),
        ("{with: {bias: true}, ", "{with: {bias: maybe}, ", "must be true or false"),
        ("{with: {bias: true}, ", "{with: {bais: true}, ", "takes no 'bais'"),
        ("{with: {bias: true}, says: with biases}", "{says: x}", "another value needs 'value', or 'with'"),
        ("{value: 7, says: of another file}", "{value: 7}", "another value needs 'says'"),
        ("[flops]", "[flop]", "no slip is called 'flop'; did you mean 'flops'"),
        ("[flops]", "knwon", "no misconceptions is called 'knwon'"),
        (
            "{quantity: macs_by_layer}",
            "{quantity: operations}, misconceptions: known",
            "no slip of 'operations' is known",
        ),
        ("id: others, ", "", "an 'again' needs 'id'"),
        ("code: hw.py, ", "", "say which file holds the function"),
        ("{type: text}", "{type: tensor}", "say how it is handed in"),
        ("{type: text}", "{type: text, from: [{entry: a}], words: b}", "give it or 'words', not both"),
        (
            "[{points: 0, for: a reason}]",
            "[{points: 0, for: a}], beside: [{check: nowhere.total}]",
            "no task 'nowhere'",
        ),
        ("entries: <number>", "entries: {number}", "put it in quotes"),
    ],
)
def test_what_is_wrong_is_said_at_its_place(tmp_path, was, becomes, message):
    found = findings(tmp_path, was, becomes)
    assert any(message in each for each in found), found


SLIP = '''
def size(subject) -> int:
    """The size."""

def half(subject{more}) -> int:
    """Half of it.

    {said}
    """
'''


@pytest.mark.parametrize(
    ("more", "said", "message"),
    [
        ("", "Slip of: size", "'Hint:' is missing"),
        ("", "Slip of: sise\n    Hint: Twice that.", "called a slip of 'sise', which is no quantity"),
        ("", "Slip of: size\n    Hint: Twice that.\n    Credit: 40 %", "no share of the points"),
        (", *, of: str", "Slip of: size\n    Hint: Twice that.", "'of' needs a default"),
        ("", "Slip of: size\n    Hint: Twice that.\n    Also with: {a: 1}", "no list of conventions as JSON"),
    ],
)
def test_a_slip_that_says_too_little_is_a_finding(tmp_path, more, said, message):
    (tmp_path / "own.py").write_text(SLIP.format(more=more, said=said))
    (found,) = registry.read("quantity", (tmp_path,)).findings
    assert message in found.message


def test_a_slips_sentence_may_go_over_lines():
    found = slips.slip_note("Half of it.\n\nSlip of: size, width\nHint: Twice\nthat.\nCredit: 0.5\n\nMore.")
    assert (found.of, found.hint, found.credit) == (("size", "width"), "Twice that.", 0.5)
