from fractions import Fraction

import pytest

from labgrade.answers import entry
from labgrade.core.results import Answer
from labgrade.core.task import EntryForm
from labgrade.verdict import Outcome


@pytest.fixture
def handed(hand_in):
    def obtained(content, kind="count", path="2-1-4.total", name="answers.json"):
        return entry.obtain(kind, EntryForm(path=path), hand_in({name: content}))

    return obtained


@pytest.mark.parametrize(
    "content",
    [
        '{"2-1-4": {"total": 1498376192}}',
        '{\n\t"2-1-4": {\n\t\t"total": 1498376192\n\t}\n}',
        '{"2-1-4.total": 1498376192, "note": "a\\/b \\u00e9"}',
        '\ufeff{"2-1-4": {"total": "1,498,376,192"}}',
    ],
)
def test_json_is_read_as_json(handed, content):
    answer = handed(content)
    assert (answer.value.value, answer.origin) == (1_498_376_192, "answers.json 2-1-4.total")


@pytest.mark.parametrize(
    ("name", "content"),
    [("answers.json", '{"2-1-4": {"total": 1.498e9}}'), ("answers.yaml", "2-1-4: {total: 1.498e9}")],
)
def test_the_digits_that_were_written_are_kept(handed, name, content):
    number = handed(content, name=name).value
    assert (number.value, number.half_unit, number.digits) == (1_498_000_000, 500_000, 4)


def test_digits_of_a_table_and_floats_of_a_tensor(handed):
    assert handed('{"a": [0.10, 2]}', "tensor", "a").value.tolist() == [0.1, 2.0]
    assert handed('{"a": {"x": 2.50}}', "histogram", "a").value["x"].half_unit == Fraction(1, 200)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"2-1-4": {"total": 1,}}', "'answers.json' can't be read: "),
        ("[" * 100_000, "'answers.json' can't be read: it is nested too deeply"),
        ('{"2-1-4": {"total": NaN}}', "answers.json 2-1-4.total: nan, but a count is asked for"),
        ('{"2-1-4": {"total": 1e999}}', "answers.json 2-1-4.total: inf, but a count is asked for"),
        ('{"2-1-4": {"total": ' + "9" * 6000 + "}}", "answers.json 2-1-4.total: a text of 6,000 characters"),
        ('{"2-1-4": {"total": "\\ud800"}}', "answers.json 2-1-4.total: '"),
    ],
)
def test_what_is_wrong_is_said(handed, content, reason):
    answer = handed(content)
    assert answer.verdict.outcome is Outcome.INCORRECT
    assert answer.verdict.reason.startswith(reason)


TWICE = "2-1-4:\n  total: 5\n  total: 6\n  other: 7\n2-1-5:\n  total: 8\n2-1-5:\n  more: 9\n"


@pytest.mark.parametrize("entry", ["2-1-4.total", "2-1-5.total", "2-1-5.more"])
def test_an_entry_that_is_given_twice_waits_alone(handed, entry):
    answer = handed(TWICE, "count", entry, name="answers.yaml")
    assert answer.verdict.outcome is Outcome.MANUAL
    assert "stands there again on line" in answer.verdict.reason
    assert handed(TWICE, "count", "2-1-4.other", name="answers.yaml").value.value == 7


JSON_TWICE = (
    '{"2-1-4": {"total": 5, "total": 6, "other": 7}, "2-1-5": {"total": 8}, "2-1-5": {"more": 9},'
    ' "2-2-1": [{"node": "a", "node": "b"}], "2-2-2": {"total": 1, "total": 1, "first": 2}}'
)


@pytest.mark.parametrize("entry", ["2-1-4.total", "2-1-5.total", "2-1-5.more", "2-2-1"])
def test_a_key_of_json_that_is_given_twice_waits_alone(handed, entry):
    answer = handed(JSON_TWICE, "count", entry)
    assert answer.verdict.outcome is Outcome.MANUAL
    assert "is given twice, with different values" in answer.verdict.reason
    assert handed(JSON_TWICE, "count", "2-1-4.other").value.value == 7
    assert [handed(JSON_TWICE, "count", f"2-2-2.{name}").value.value for name in ("total", "first")] == [1, 2]


def test_an_entry_that_says_the_same_twice_is_read(handed):
    assert handed("a: 5\na: 5\n", "count", "a", name="answers.yaml").value.value == 5


@pytest.mark.parametrize(
    ("content", "kind", "value"),
    [
        ("a: {value: 26.5, unit: MB}", "bytes", 26_500_000),
        ("a: {Value: 6624904, Unit: parameters}", "count", 6_624_904),
        ("a: [26499616, bytes]", "bytes", 26_499_616),
        ("a: 1,498,376,192 (Conv 1,497,352,192 + FC 1,024,000)", "count", 1_498_376_192),
        ("a: 52+35+10+3 = 100", "count", 100),
        ("a: one hundred and five", "count", 105),
        ("a: 6624904 * 4 = 26499616 bytes", "bytes", 26_499_616),
        ("a: 6,624,904 params x 4 B = 26,499,616 B = 26.50 MB", "bytes", 26_499_616),
        ("a: 1498376192 (2.997 GFLOPs)", "count", 1_498_376_192),
    ],
)
def test_a_number_with_what_says_more_of_it(handed, content, kind, value):
    assert handed(content, kind, "a", name="answers.yaml").value.value == value


@pytest.mark.parametrize(
    "content",
    [
        "a: [26499616, 25272]",
        "a: {value: 5}",
        "a: 5 (2 + 4)",
        "a: 2 + 4 = 5",
        "a: 52 B - 0",
        "a: 2.5 k * 4",
        "a: 2 * 3 = 7",
        "a: 5 (6)",
    ],
)
def test_numbers_of_which_none_is_meant(handed, content):
    assert handed(content, "bytes", "a", name="answers.yaml").verdict.outcome is Outcome.INCORRECT


def test_what_is_not_there_is_none(handed):
    assert handed('{"2-1-4": {}}') is None
    assert handed('{"2-1-4": {"total": null}}') is None
    assert isinstance(handed("2-1-4:\n  total: 5\n", name="answers.yaml"), Answer)


@pytest.mark.parametrize(
    ("name", "content"),
    [("answers.yaml", "a: 1\nb: 2\n"), ("answers.yaml", "a: [\n"), ("answers.json", '{"a": 1}'), ("answers.json", "{")],
)
def test_a_file_is_parsed_once_for_all_its_entries(hand_in, monkeypatch, name, content):
    parsed = []
    for module, function in ((entry.yaml, "load_untrusted"), (entry.json, "loads")):
        original = getattr(module, function)
        monkeypatch.setattr(module, function, lambda *a, _of=original, **k: (parsed.append(1), _of(*a, **k))[1])
    submission = hand_in({name: f"{content} "})  # as no other test has it
    for path in ("a", "b", "c"):
        entry.obtain("count", EntryForm(path=path), submission)
    assert len(parsed) == 1


@pytest.mark.parametrize(
    ("content", "meant"),
    [
        ("a: none", 0),
        ("a: keine", 0),
        ("a: 4 * 6624904", 26_499_616),
        ("a: 6,624,904 x 4 bytes", 26_499_616),
        ("a: 2 * 3 + 4 * 5", 26),
        ("a: 0 %", 0),
        ("a: 0,0 % of all", 0),
        ("a: {Conv2d: 1497352192, Linear: 1,024,000 bytes}", None),
        ("a: {Conv2d: 1497352192, Linear: '1,024,000'}", 1_498_376_192),
        ("a: {Conv2d: 7, Total: 8, Linear: 2}", 8),
        ("a: {Conv2d: 7, Linear: none}", None),
    ],
)
def test_what_may_be_meant_is_said_not_to_be_sure(handed, content, meant):
    answer = handed(content, "bytes", "a", name="answers.yaml")
    if meant is None:
        assert answer.verdict.outcome is not Outcome.CORRECT
    else:
        assert (answer.value.value, answer.unsure[:17]) == (meant, "answers.yaml:1 a:")
    assert handed("a: 26499616", "bytes", "a", name="answers.yaml").unsure == ""
