from fractions import Fraction

import pytest

from labgrade.answers import entry
from labgrade.answers.entries import parsing
from labgrade.core.results import Answer
from labgrade.core.task import EntryForm, TableType
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


@pytest.mark.parametrize(
    ("content", "alone"),
    [
        ("hw2: {2-1-1: {total: 1}, 2-1-4: 5000}", True),
        ("answers: {hw2: {2-1-4: 5000}}", True),
        ("{a: {2-1-4: 5000}, b: {2-1-4: 6000}}", False),
        ("hw2: {2-1-4: {other: 5000}}", False),
    ],
)
def test_what_stands_for_a_task_alone_may_stand_within_a_mapping_around_the_tasks(handed, content, alone):
    answer = handed(content, name="answers.yaml")
    assert (answer is not None) == alone
    assert not alone or (answer.value.value == 5000 and answer.unsure)


@pytest.mark.parametrize(
    ("said", "doubt"),
    [
        (">5000", ">"),
        ("<5000", "<"),
        ("5000?", "?"),
        ("5000 is wrong", "is wrong"),
        ("5000 (fp16)", "fp16"),
        ("5000", ""),
    ],
)
def test_a_number_that_its_own_entry_doubts_is_not_sure(handed, said, doubt):
    answer = handed(f"2-1-4: {{total: '{said}'}}", name="answers.yaml")
    assert answer.value.value == 5000
    assert answer.unsure == (f"answers.yaml:1 2-1-4.total: '{said}' says '{doubt}' of the number" if doubt else "")


@pytest.mark.parametrize(
    "said", ["~5000", "= 5000", "-> 5000", "about 5000", "5000 MACs", "5.000 K = 5000", "2 * 2500 = 5000"]
)
def test_a_number_that_its_entry_plainly_says_is_sure(handed, said):
    answer = handed(f"2-1-4: {{total: '{said}'}}", name="answers.yaml")
    assert (answer.value.value, answer.unsure) == (5000, "")


def test_digits_of_a_table_and_floats_of_a_tensor(handed):
    assert handed('{"a": [0.10, 2]}', "tensor", "a").value.tolist() == [0.1, 2.0]
    assert handed('{"a": {"x": 2.50}}', "histogram", "a").value["x"].half_unit == Fraction(1, 200)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"2-1-4": {"other": 1', "'answers.json' can't be read: "),
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


TWICE = "2-1-4:\n  total: 5\n  total: 6\n  other: 7\n2-1-5:\n  total: 8\n2-1-5:\n  more: 9.50\n  total: 7\n"


@pytest.mark.parametrize("entry", ["2-1-4.total", "2-1-5.total"])
def test_an_entry_that_is_given_twice_waits_alone(handed, entry):
    answer = handed(TWICE, "count", entry, name="answers.yaml")
    assert answer.verdict.outcome is Outcome.MANUAL
    assert "stands there again on line" in answer.verdict.reason
    assert handed(TWICE, "count", "2-1-4.other", name="answers.yaml").value.value == 7
    more = handed(TWICE, "number", "2-1-5.more", name="answers.yaml")
    assert (more.value.text, more.origin) == ("9.50", "answers.yaml:8 2-1-5.more")


@pytest.mark.parametrize(
    "content", ["a: {b: 5, c: 1}\na: {b: 5, c: 2}\n", "a:\n  b:\na: {b: 5}\n", "a: {}\na: {b: 5}\n"]
)
def test_what_is_given_twice_and_agrees_is_read(handed, content):
    assert handed(content, "count", "a.b", name="answers.yaml").value.value == 5


JSON_TWICE = (
    '{"2-1-4": {"total": 5, "total": 6, "other": 7}, "2-1-5": {"total": 8}, "2-1-5": {"more": 9, "total": 7},'
    ' "2-2-1": [{"node": "a", "node": "b"}], "2-2-2": {"total": 1, "total": 1, "first": 2}}'
)


@pytest.mark.parametrize("entry", ["2-1-4.total", "2-1-5.total", "2-2-1"])
def test_a_key_of_json_that_is_given_twice_waits_alone(handed, entry):
    answer = handed(JSON_TWICE, "count", entry)
    assert answer.verdict.outcome is Outcome.MANUAL
    assert "is given twice, with different values" in answer.verdict.reason
    assert [handed(JSON_TWICE, "count", f"2-1-{name}").value.value for name in ("4.other", "5.more")] == [7, 9]
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
        "a: 52 B - 0",
        "a: 2.5 k * 4",
        "a: 26499616 / 4",
        "a: 6624904 - 5",
        "a: many",
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
    for module, function in ((parsing.yaml, "load_untrusted"), (parsing.json, "loads")):
        original = getattr(module, function)
        monkeypatch.setattr(module, function, lambda *a, _of=original, **k: (parsed.append(_of), _of(*a, **k))[1])
    submission = hand_in({name: f"{content} "})  # as no other test has it
    for path in ("a", "b", "c"):
        entry.obtain("count", EntryForm(path=path), submission)
    assert len(parsed) == len(set(parsed)) > 0


@pytest.mark.parametrize(
    ("content", "meant"),
    [
        ("a: None", 0),
        ("a: 4 * 6624904", 26_499_616),
        ("a: 6,624,904 x 4 bytes", 26_499_616),
        ("a: 2 * 3 + 4 * 5", 26),
        ("a: 2 + 4 = 5", 5),
        ("a: 5 (6)", 5),
        ("a: 5 (2 + 4)", 5),
        ("a: [26499616, 25272]", 26_499_616),
        ("a: {Conv2d: 1497352192, Linear: 1,024,000 bytes}", None),
        ("a: {Conv2d: 1497352192, Linear: '1,024,000'}", 1_498_376_192),
        ("a: {Conv2d: 7, Total: 8, Linear: 2}", 8),
        ("a: {Conv2d: 7, Linear: many}", 7),
    ],
)
def test_what_may_be_meant_is_said_not_to_be_sure(handed, content, meant):
    answer = handed(content, "bytes", "a", name="answers.yaml")
    if meant is None:
        assert answer.verdict.outcome is not Outcome.CORRECT
    else:
        assert (answer.value.value, answer.unsure[:17]) == (meant, "answers.yaml:1 a:")
    assert handed("a: 26499616", "bytes", "a", name="answers.yaml").unsure == ""


@pytest.mark.parametrize(
    ("content", "kind", "value"),
    [
        ("9408 + 4096 + 110592 + ... = 6624904", "count", 6_624_904),
        ("|\n    conv 655,566,528\n    fc    58,621,952\n    = 714,188,480", "count", 714_188_480),
        (">\n    conv 655,566,528\n    fc    58,621,952\n    sum 714,188,480", "count", 714_188_480),
        ("read 53,479,040 B, weights 13,951,264 B, total 67,430,304 B", "bytes", 67_430_304),
        ("'1,498,376,192: conv 1,497,352,192, linear 1,024,000'", "count", 1_498_376_192),
        ("6624904 = 9408 + 4096 + ...", "count", 6_624_904),
        ("100 nodes (52 Conv, 35 Clip, 10 Add, 3 others)", "count", 100),
        ("6,624,904 (13,004,888 with aux)", "count", 6_624_904),
        ("0 of 6624904", "count", 0),
        ("none of the 6624904", "count", 0),
        ("I get 6,624,904 of them", "count", 6_624_904),
        ("total = 6624904", "count", 6_624_904),
        ("none", "count", 0),
        ("keine", "count", 0),
        ("\u7121", "count", 0),
        ("0 %", "count", 0),
        ("[244403360]", "bytes", 244_403_360),
        ("13004888 - 6379984 = 6624904", "count", 6_624_904),
        ("26499616 bytes / 4 bytes = 6624904", "count", 6_624_904),
        ("'torchinfo: 6,624,904; thop: 6,624,904'", "count", 6_624_904),
        ("[{total: 5}]", "count", 5),
        ("{conv: 5, fc: 2, total: 7}", "count", 7),
    ],
)
def test_one_value_among_several_numbers_is_read(handed, content, kind, value):
    answer = handed(f"a: {content}", kind, "a", name="answers.yaml")
    assert (answer.value.value, answer.unsure) == (value, "")


@pytest.mark.parametrize(
    ("content", "values"),
    [
        ("119445696 or 66568768", [119_445_696, 66_568_768]),
        ("52015392 (all) / 9633792 (peak)", [52_015_392, 9_633_792]),
        ("4392864, without dropout 4339616", [4_392_864, 4_339_616]),
        ("'100 nodes, no: 101 with the output'", [100, 101]),
        ("233.08 MB (244403360 bytes)", [233_080_000, 244_403_360]),
        ("not 6624904", [6_624_904]),
        ("6624904 in 57 + 1 layers", [6_624_904]),
        ("{all: many, conv: 52, fc: 1}", [52, 1]),
    ],
)
def test_each_of_several_numbers_may_be_meant(handed, content, values):
    answer = handed(f"a: {content}", "bytes", "a", name="answers.yaml")
    assert [each.value for each in (answer.value, *answer.others)] == values
    assert answer.unsure


@pytest.mark.parametrize(
    "content",
    [
        "'Conv: 52, Clip: 35, Gemm: 1'",
        "52 Conv, 35 Clip and 1 Gemm",
        "Conv 52 / Clip 35 / Gemm 1 / total 88",
        "Conv (52); Clip (35); Gemm (1)",
        ">\n  Conv 52\n  Clip 35\n  Gemm 1",
        "|\n  | op | count |\n  |---|---|\n  | Conv | 52 |\n  | Clip | 35 |\n  | Gemm | 1 |",
        "[Conv: 52, Clip: 35, Gemm: 1]",
        "!!omap\n  - Conv: 52\n  - Clip: 35\n  - Gemm: 1",
        "['Conv: 52', 'Clip: 35', 'Gemm: 1']",
        "[[Conv, Clip, Gemm], [52, 35, 1]]",
        "{operator: [Conv, Clip, Gemm], count: [52, 35, 1]}",
        "{count: {Conv: 52, Clip: 35, Gemm: 1}}",
        "[{what: Conv, count: 52}, {what: Clip, count: 35}, {what: Gemm, count: 1}]",
    ],
)
@pytest.mark.parametrize("kind", ["histogram", TableType(row="operator", columns={"count": "count"})])
def test_counts_in_any_arrangement(handed, content, kind):
    value = handed(f"a: {content}", kind, "a", name="answers.yaml").value
    counts = value if kind == "histogram" else {row.name: row.cells["count"] for row in value.rows}
    assert {name: count.value for name, count in counts.items()} == {"Conv": 52, "Clip": 35, "Gemm": 1}


@pytest.mark.parametrize("content", ["Conv 52, and others", "many", "[52, 35]", "Conv 52, Conv 35, Gemm 1"])
def test_what_is_no_counts(handed, content):
    found = handed(f"a: {content}", "histogram", "a", name="answers.yaml")
    assert not isinstance(found, Answer)


@pytest.mark.parametrize(
    "content",
    [
        "2-1-4-macs:\n  - total: 5\n  - by_type: {Conv2d: 5}\n",
        "2-1-4:\n  - total: 5\n",
        "HW 2-1-4: {Total: 5}\n2-1-41: {total: 6}\n2-1-4-1: {total: 7}\n12-1-4: {total: 8}\n",
        "'2.1.4': {TOTAL: 5}\nlab-2-1-4: {total: 6}\n",
        "2_1_4_total: 5\n",
        "- 2-1-4: {total: 5}\n- 2-1-5: {total: 6}\n",
        "answers:\n  hw2:\n    2-1-4: {total: 5}\n    2-1-5: {total: 6}\n",
        "2-1-4:\n  results: {total: 5}\n2-1-5: {total: 6}\n",
        "- {task: 2-1-4, total: 5}\n- {task: 2-1-5, total: 6}\n",
        "2-1:\n  4: {total: 5}\n  5: {total: 6}\n",
        "2:\n  1:\n    4: {total: 5}\n",
        "2-1-4: {total_macs: 5, by_type: {Conv2d: 6}}\n",
        "2\u20131\u20134: {total: 5}\n",
    ],
)
def test_an_entry_under_a_name_that_says_it_otherwise(handed, content):
    assert handed(content, name="answers.yaml").value.value == 5


@pytest.mark.parametrize(
    "content", ["2-1-4-a: {total: 5}\n2-1-4-b: {total: 6}\n", "2-1-4: {totals: 5}\n", "2-1-4: {non_total: 5}\n"]
)
def test_a_name_that_may_be_another(handed, content):
    assert handed(content, name="answers.yaml") is None


def test_a_shape_of_one_dimension_is_written_as_a_number(handed):
    kind = TableType(row="tensor", columns={"shape": "shape", "elements": "count"})
    table = handed("a:\n- {tensor: b, shape: 8, elements: 8}\n", kind, "a", name="answers.yaml").value
    assert table.rows[0].cells["shape"] == (8,)
    assert handed("a: 8", "shape", "a", name="answers.yaml").value == (8,)


@pytest.mark.parametrize(
    ("encoding", "remarked"),
    [
        ("utf-16", True), ("utf-16-le", True), ("utf-16-be", True), ("utf-8-sig", False), ("utf-32", True),
        ("big5", True), ("gb18030", True), ("cp1252", True),
    ],
)  # fmt: skip
def test_any_encoding_that_an_editor_saves(handed, encoding, remarked):
    word = {"cp1252": "gr\u00f6\u00dfe", "utf-8-sig": "gr\u00f6\u00dfe"}.get(encoding, "\u53c3\u6578")
    word = "\u53c2\u6570" if encoding == "gb18030" else word
    answer = handed(f"# {word}\r\n2-1-4:\r\n  total: 5\r\n".encode(encoding), name="answers.yaml")
    assert (answer.value.value, bool(answer.remarks)) == (5, remarked)


def test_binary_data_is_said(handed):
    answer = handed(b"\x89PNG\0\0\r\n\0\x01\x02" * 9, name="answers.yaml")
    assert "it holds binary data; save it as plain text (UTF-8)" in answer.verdict.reason


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("answers.yaml", "2-1-4:\n\ttotal: 5\n\tother: 6\n"),
        ("answers.json", '{"2-1-4": {"total": 5, "note": "a\tb"}}'),
        ("answers.json", "{'2-1-4': {'total': 5,}, # mine\n}"),
        ("answers.json", '// mine\n{"2-1-4": {"total": 5}} /* all */'),
        ("answers.json", '{"2-1-4": {"total": 5}, "2-1-5": {"total": "[6"}'),
        ("answers.yaml", "2-1-4:\n    total: 5\n  other: 6\n"),
        ("answers.yaml", "```yaml\n2-1-4:\n  total: 5\n```\n"),
        ("answers.yaml", "2-1-4\n  total: 5\n"),
    ],
)
def test_what_a_strict_parser_refuses_and_has_one_meaning(handed, name, content):
    assert handed(content, name=name).value.value == 5


@pytest.mark.parametrize(
    "content",
    [
        "2-1-4:\n\u00a0\u00a0total: 5\n\u00a0\u00a0other: 6\n",
        "2-1-4:\n\u3000total: 5\n\u3000other: 6\n",
        "2-1-4:\n  total:\u00a05\n  other:\u20096\n",
        "- 2-1-4:\n    total: 5\n-\u00a02-1-5: 6\n",
    ],
)
def test_blanks_of_web_pages_set_in_as_others_do(handed, content):
    assert handed(content, name="answers.yaml").value.value == 5


def test_a_file_that_is_no_yaml_waits_with_the_lines_in_which_the_entry_may_stand(handed):
    content = "%yaml\n2-1-4:\n  non_total: 3\n  Total = 5\n{\n"
    waits = handed(content, name="answers.yaml").verdict
    assert (waits.outcome, waits.lines) == (Outcome.MANUAL, ("4: Total = 5",))
    assert waits.reason.startswith("'answers.yaml' can't be read: answers.yaml:2:")
    assert waits.hint.startswith("look at this line and the one above it")
    lost = handed(content, name="answers.yaml", path="2-1-4.by_type").verdict
    assert (lost.outcome, lost.lines) == (Outcome.INCORRECT, ())


def test_tabs_that_may_mean_several_widths_wait(handed):
    content = "2-1-4:\n\tother:\n    total: 6\n"
    assert handed(content, name="answers.yaml").verdict.outcome is Outcome.MANUAL


@pytest.mark.parametrize(
    ("content", "counts"),
    [
        ("other: Conv: 52, Clip: 35", 5),
        ("other: 100 (Conv: 52)  # mine", 5),
        ("other: 'it's", 5),
        ("other: @home\nmore: %5", 5),
        ("other:\n  x: `5`", 5),
        ("other: [1, 2", None),
        ("other: {a: 1", None),
        (" other: 5", 5),
        ("```\n---\nother: 6", 5),
        ("other\n  more: 6", 5),
    ],
)
def test_a_value_that_is_no_yaml_is_text(handed, content, counts):
    answer = handed(f"a: 5\n{content}\n", "count", "a", name="answers.yaml")
    assert (answer.value.value if isinstance(answer, Answer) else None) == counts


def test_a_value_that_is_no_yaml_is_read_as_it_is_written(handed):
    value = handed("a: Conv: 52, Clip: 35  # mine\n", "histogram", "a", name="answers.yaml").value
    assert {name: count.value for name, count in value.items()} == {"Conv": 52, "Clip": 35}
    assert handed("a:5\nb: 6\n", "count", "a", name="answers.yaml").value.value == 5


@pytest.mark.parametrize("content", ["2-1-4: 5\n", "2-1-4: total = 5\n", "2-1-4-macs: [5]\n", "2-1-4:\n  total:5\n"])
def test_what_stands_for_the_task_alone_may_be_meant(handed, content):
    answer = handed(content, name="answers.yaml")
    assert answer.value.value == 5
    assert "this name is not there" in answer.unsure
    assert handed("2-1-4: later\n", name="answers.yaml") is None


@pytest.mark.parametrize("content", ["see 2-1-1", "same as above", "siehe 2-1-1"])
def test_an_entry_that_says_where_the_answer_stands_waits(handed, content):
    assert handed(f"a: {content}", "count", "a", name="answers.yaml").verdict.outcome is Outcome.MANUAL


@pytest.mark.parametrize(
    "content",
    [
        "weniger als 5000",
        "moins de 5000",
        "5000 \ubbf8\ub9cc",
        "5000 or so",
        "sqrt(5000)",
        "5000 floats",
        "5000 per sequence",
        "5000 each for keys and values",
        "5000 B (keys) + 5000 B (values)",
        "5000 for the keys only",
        "5000 (keys only)",
        "5000, too small",
        "50 * 2^2 * 25",
    ],
)
def test_an_entry_that_says_more_than_its_number_waits(handed, content):
    assert handed(f"a: '{content}'", "bytes", "a", name="answers.yaml").unsure


@pytest.mark.parametrize(
    "content",
    [
        "about 5000",
        "ca. 5000 Byte",
        "5000 bytes in total",
        "5,000 B = 5 kB",
        "genau 5000",
        "5000 (all layers)",
        "a: 5000",
        "\u5171 5000",
        "5000 bytes per image",
        "{kB: 5.000}",
        "{kB: 5.000, KiB: 4.883}",
        "5 kB",
    ],
)
def test_an_entry_with_plain_words_is_read(handed, content):
    said = content if content.startswith("{") else f"'{content}'"
    answer = handed(f"a: {said}", "bytes", "a", name="answers.yaml")
    assert (answer.value.value, answer.unsure) == (5000, "")


@pytest.mark.parametrize(
    "content", ["5 * 10^3", "**5000**", "5.000 × 10³", "5·10^3 bytes", "The model takes 5000 bytes."]
)
def test_powers_of_ten_and_plain_sentences_are_no_formulas(handed, content):
    answer = handed(f"a: '{content}'", "bytes", "a", name="answers.yaml")
    assert (answer.value.value, answer.unsure) == (5000, "")


@pytest.mark.parametrize(
    "said", ["TODO", '""', "???", "...", "n/a", "<your answer>", "fill in", "keine Ahnung", "XXXX", "-"]
)
def test_an_entry_that_is_still_to_come_is_not_handed_in(handed, said):
    assert handed(f"2-1-1:\n  total: {said}\n", path="2-1-1.total", name="answers.yaml") is None


def test_an_entry_of_a_mapping_is_still_to_come_where_all_of_it_is(handed):
    assert handed("2-1-1: {counts: {Conv: TODO, Linear: tbd}}", "histogram", "2-1-1.counts", "answers.yaml") is None
    assert handed("2-1-1: {counts: {Conv: 5, Linear: tbd}}", "histogram", "2-1-1.counts", "answers.yaml") is not None


def test_a_number_beside_todo_is_not_sure(handed):
    found = handed("2-1-1: {total: 'TODO 5'}", path="2-1-1.total", name="answers.yaml")
    assert isinstance(found, Answer)
    assert "says 'TODO' of the number" in found.unsure


def strayed(hand_in, content, path, kind="count", name="answers.yaml"):
    return entry.obtain(kind, EntryForm(path=path), hand_in({name: content}), stray=True)


@pytest.mark.parametrize(
    ("content", "path"),
    [
        ("total: 5", "2-1-1.total"),
        ("answers: {total: 5}", "2-1-1.total"),
        ("kv-cach: {cache_byte: 5}", "kv-cache.cache_bytes"),
        ("total 5\nothers = 4", "2-1-1.total"),
        ("2-1-1: {tot: 5}", "2-1-1.total"),
        ("2-1-1: {params: 5, frozen_params: 4}", "2-1-1.total"),
        ("2-1-1: {weights: 5, macs: 4}", "2-1-1.weight_bytes"),
    ],
)
def test_a_name_that_is_likely_to_mean_an_entry_is_never_sure(hand_in, content, path):
    found = strayed(hand_in, content, path)
    assert (found.value.value, bool(found.unsure)) == (5, True)


@pytest.mark.parametrize(
    ("content", "path"),
    [
        ("2-1-2: {total: 5}", "2-1-1.total"),
        ("2-1-1: {total: 5}", "2-1-1.trainable"),
        ("llm-lora: {parameters: 5}", "llm-parameters.parameters"),
        ("parameters: 5", "llm-lora.lora_parameters"),
        ("2-1-1: {total_acts: 5}", "2-1-1.total_macs"),
        ("2-1-1: {conv1: 5}", "2-1-1.conv2"),
    ],
)
def test_what_another_name_says_is_not_taken(hand_in, content, path):
    assert strayed(hand_in, content, path) is None


def test_counts_that_stand_for_the_task_may_be_meant(hand_in):
    found = strayed(hand_in, "2-1: {Conv: 5, Linear: 1}", "2-1.counts", "histogram")
    assert found.value["Conv"].value == 5
    assert found.unsure
    assert strayed(hand_in, "2-1: {total: 5, types: 1}", "2-1.counts", "histogram") is None


def test_a_number_that_stands_for_a_task_without_a_number_may_be_meant(handed):
    found = handed("llm-lora: 5", path="llm-lora.lora_parameters", name="answers.yaml")
    assert (found.value.value, bool(found.unsure)) == (5, True)


@pytest.mark.parametrize(
    ("said", "kind", "value"), [("cache_GB: 2.5", "bytes", 2_500_000_000), ("cache_bytes_MiB: 1.5", "bytes", 1_572_864)]
)
def test_the_unit_of_a_key_is_that_of_its_number(handed, said, kind, value):
    found = handed(f"kv-cache: {{{said}}}", kind, "kv-cache.cache_bytes", "answers.yaml")
    assert (found.value.value, bool(found.unsure)) == (value, True)


@pytest.mark.parametrize(("said", "sure"), [("5000 MACs", True), ("5000 FLOPs", False), ("5000", True)])
def test_an_entry_that_counts_something_else_waits(handed, said, sure):
    assert (handed(f"total_macs: {said}", "count", "total_macs", name="answers.yaml").unsure == "") is sure


def test_a_unit_is_what_the_entry_says_it_is(handed):
    found = handed("total: 49.61 MB (1 MB = 2^20 bytes)", "bytes", "total", name="answers.yaml")
    assert (found.value.text, found.unsure) == ("49.61 MiB", "")


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ("[512, 128, 640]", Outcome.MANUAL),
        ('"512, 128, 640"', Outcome.MANUAL),
        ("512; 128; 640", Outcome.MANUAL),
        ("[fine, good]", Outcome.INCORRECT),
        ("512", Outcome.INCORRECT),
    ],
)
def test_values_without_the_names_of_their_rows_wait(handed, said, outcome):
    table = TableType(row="layer", columns={"operations": "count"})
    found = handed(f"by_layer: {said}", table, "by_layer", name="answers.yaml")
    assert found.verdict.outcome is outcome
