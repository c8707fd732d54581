import random
import re
import time
from pathlib import Path

import pytest

from labgrade.core.errors import Mark, SpecError
from labgrade.files import yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("no", "no"),
        ("2:4", "2:4"),
        ("010", 10),
        ("0x1F", 31),
        ("0o17", 15),
        ("true", True),
        ("True", True),
        ("yes", "yes"),
        ("~", None),
        ("null", None),
        ("1_000", "1_000"),
        ("'12'", "12"),
        (".5", 0.5),
        ("1.", 1.0),
        ("+3", 3),
        ("1.498e9", 1.498e9),
        ("2026-11-21", "2026-11-21"),
        ("=", "="),
        ("9" * 500, "9" * 500),
    ],
)
def test_scalars_follow_the_core_schema_of_yaml_1_2(text, value):
    data = yaml.load(f"a: {text}\n", "x.yaml").data
    assert data == {"a": value}
    assert type(data["a"]) is type(value)


def test_each_key_and_value_has_its_place():
    loaded = yaml.load("a:\n  - b: 1\n    c: [x, y]\n", "x.yaml")
    assert loaded.mark(("a", 0, "c", 1)) == Mark("x.yaml", 3, 12)
    assert loaded.key_mark(("a", 0, "c")) == Mark("x.yaml", 3, 5)
    assert loaded.sources["a", 0, "b"] == "1"


def test_a_path_that_is_not_there_gets_the_place_of_what_is_around_it():
    loaded = yaml.load("a:\n  b: 1\n", "x.yaml")
    assert loaded.mark(("a", "missing", 3)) == Mark("x.yaml", 2, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id: 1\nb: 2\nid: 3\n", "x.yaml:3:1: 'id' is already given on line 1"),
        ("a: &q 1\nb: *q\n", "x.yaml:2:4: this repeats an anchor (`*name`); write the value out"),
        ("a: &m 1\n", "x.yaml:1:4: the language has no anchors (`&m`); take it out"),
        ('a: 1\nb: "two\nc: 3\n', "x.yaml:2:4: this quote is never closed"),
        ('a: 1\nb: "two\nc: "3"\n', "x.yaml:2:4: this quote is closed only on line 3"),
        ("a: 'don't'\n", "x.yaml:1:9: the text ends with the quote before this; inside of single quotes"),
        ('a: "\\d"\n', "x.yaml:1:6: in double quotes a backslash begins an escape; use single quotes"),
        ("a:\n\tb: 1\n", "x.yaml:2:1: a tab stands here; use spaces"),
        ("says: Buffers: are counted\n", "x.yaml:1:14: a colon with a blank behind it begins a value; if this is text"),
        ("a: 1\npoints:5\nb: 2\n", "x.yaml:2:1: write 'points: 5', with a blank behind the colon"),
        ("a:\n  - b: 1\n    points:5\n", "x.yaml:3:5: write 'points: 5', with a blank behind the colon"),
        ("points:5\nb: 2\n", "x.yaml:1:1: write 'points: 5', with a blank behind the colon"),
        ("hello\nb: 2\n", "x.yaml:1:1: this line is no 'key: value'"),
        ("a: 1\nhello\n", "x.yaml:2:1: this line is no 'key: value'"),
        ("a: 1\nb:\u00a05\nc: 2\n", "x.yaml:2:3: this blank is U+00A0, which YAML takes for text; write a plain blank"),
        ("a:\n  -\u00a0b: 1\n    c: 2\n", "x.yaml:2:4: this blank is U+00A0, which YAML takes for text"),
        (
            "a: 1\nb\uff1a5\nc: 2\n",
            "x.yaml:2:2: this colon is U+FF1A, which YAML takes for text; write ':' and a blank",
        ),
        ("a: 1\nb: two\u2028words\nc: 2\n", "x.yaml:2:7: a line separator (U+2028) ends the line here; write a blank"),
        ("a: b\u00a0c\nhello\n", "x.yaml:2:1: this line is no 'key: value'"),
        ("a: 1\n  b: 2\n", "x.yaml:2:4: this line is indented more than its neighbours"),
        ("a: %x\n", "x.yaml:1:4: a text can't begin with '%'; put it in quotes"),
        ("a: @x\n", "x.yaml:1:4: a text can't begin with '@'; put it in quotes"),
        ("a: `x`\n", "x.yaml:1:4: a text can't begin with '`'; put it in quotes"),
        ("a: **x**\n", "x.yaml:1:4: a text can't begin with '*'; put it in quotes"),
        ("a: *x\n", "x.yaml:1:4: `*` repeats an anchor, which the language has not; if this is text, put it in"),
        ("a: [1\nb: 2\n", "x.yaml:2:2: this is not YAML: a list needs ',' or ']' here, not ':'"),
        ("a: {b: 1\nc: 2\n", "x.yaml:2:2: this is not YAML: a mapping needs ',' or '}' here, not ':'"),
        ("a:\n  b: 1\n c: 2\n", "x.yaml:3:2: this is not YAML: a key stands here that does not fit what is above"),
        ("a: 1\n---\nb: 2\n", "x.yaml:2:1: a second document begins here (`---`); a file holds one"),
        ("a: - b\n", "x.yaml:1:4: this is not YAML: sequence entries are not allowed here"),
        ("a: !!python/object:os.system x\n", "x.yaml:1:4: tags such as 'tag:yaml.org,2002:python/object:os.system'"),
        ("a: !include b\n", "x.yaml:1:4: tags such as '!include'"),
        ("a: !foo [1]\n", "x.yaml:1:4: tags such as '!foo'"),
        ("a: [1\n", "x.yaml:2:1: this is not YAML: a list needs ',' or ']' here, not the end"),
        ("\ta: 1", "x.yaml:1:1: a tab stands here; use spaces"),
        ("a: 1\nb: \x01", "x.yaml:2:4: a control character stands here; remove it"),
        ("[" * 3000, "x.yaml:1:62: this is nested too deeply"),
        ("? [a]\n: 1\n", "x.yaml:1:3: a key must be a word, not a list or a mapping"),
        ("[" * 70 + "]" * 70, "this is nested too deeply"),
    ],
)
def test_what_is_not_in_the_language_is_named_with_its_place(text, message):
    with pytest.raises(SpecError) as caught:
        yaml.load(text, "x.yaml")
    assert message in str(caught.value)


def test_all_findings_come_at_once_in_order():
    with pytest.raises(SpecError) as caught:
        yaml.load("b: !x 1\na: 1\na: 2\nc: !y 2\n", "x.yaml")
    assert [finding.mark.line for finding in caught.value.findings] == [1, 3, 4]


@pytest.mark.parametrize("text", ["[" * 5000 + "]" * 5000, "".join(" " * i + "a:\n" for i in range(2000)), "- " * 5000])
def test_deep_nesting_is_refused_before_it_costs_time(text):
    start = time.process_time()
    with pytest.raises(SpecError, match="this is nested too deeply"):
        yaml.load(text, "x.yaml")
    assert time.process_time() - start < 20  # seconds; minutes without


@pytest.mark.parametrize(
    ("text", "data", "cut"),
    [
        ("{total: 6,624,904, b: 1}", {"total": 6, "b": 1}, {("total",): "6,624,904"}),
        ("{a: {b: 1,498.38 M}}", {"a": {"b": 1}}, {("a", "b"): "1,498.38 M"}),
        ("{total: 6,624,624}", {"total": 6}, {("total",): "6,624,624"}),
        ("{total: 244,4 MB}", {"total": 244}, {("total",): "244,4 MB"}),
        ("{total: 1.498.376,25}", {"total": "1.498.376"}, {("total",): "1.498.376,25"}),
        ("{shape: (1, 64, 112), b: 1}", {"shape": "(1", "b": 1}, {("shape",): "(1,64,112)"}),
        ("{a: 5, b, c}", {"a": 5, "b": None, "c": None}, {}),
        ("{total: 6, 624: 1}", {"total": 6, "624": 1}, {}),
        ("{total: 6, '624': }", {"total": 6, "624": None}, {}),
        ("total: 6,624,904", {"total": "6,624,904"}, {}),
        ("{total: '6', 62: }", {"total": "6", "62": None}, {}),
    ],
)
def test_a_number_that_commas_cut_up_is_kept_as_it_was_written(text, data, cut):
    loaded = yaml.load(text, "x.yaml")
    assert (loaded.data, loaded.cut) == (data, cut)


ANSWERS = (
    "2-1-4: {total: 6,624,904, rows: [1, 2.50]}\nb:\n  - c: 1e5\n    d: 'x'\n  - |\n    a text\n'2': \"\\u00e9\"\n"
)


def test_what_students_write_is_read_as_specs_are_with_each_place():
    assert yaml.load_untrusted(ANSWERS, "x.yaml") == yaml.load(ANSWERS, "x.yaml")


@pytest.mark.parametrize("text", ["a: [1\nb: 2\n", "a:\n  b: 1\n c: 2\n", "a: 1\n---\nb: 2\n", "a: *x\n"])
def test_what_students_write_wrongly_is_said_in_the_same_words(text):
    messages = []
    for load in (yaml.load, yaml.load_untrusted):
        with pytest.raises(SpecError) as caught:
            load(text, "x.yaml")
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("a: &ops {Conv: 52}\nb: *ops\n", {"a": {"Conv": 52}, "b": {"Conv": 52}}),
        ("a: &n 1.50\nb: [*n, {c: *n}]\n", {"a": 1.5, "b": [1.5, {"c": 1.5}]}),
        ("a: !!python/tuple [1, 64]\nb: &id001 [7]\nc: *id001\n", {"a": [1, 64], "b": [7], "c": [7]}),
    ],
)
def test_what_a_student_s_program_dumps_is_read_with_its_anchors_and_tags(text, data):
    loaded = yaml.load_untrusted(text, "x.yaml")
    assert loaded.data == data
    assert loaded.sources.get(("b", 1, "c"), "1.50") == "1.50"


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("<<: *b\nlayers: 3", {"layers": 3, "total": 1.5, "name": "x"}),
        ("total: 2\n<<: *b", {"total": 2, "name": "x"}),
        ("<<: [{total: 4, other: 5}, *b]", {"total": 4, "other": 5, "name": "x"}),
        ("<<: {inner: {a: 1}}", {"inner": {"a": 1}}),
        ("'<<': 3\ntotal: 1", {"<<": 3, "total": 1}),  # a text, as PyYAML has it
        ("<<: 5", {"<<": 5}),
        ("<<: [5]", {"<<": 5}),
    ],
)
def test_a_merge_of_a_students_adds_what_is_not_there(text, data):
    given = "base: &b {total: 1.50, name: x}\ntask:\n"
    loaded = yaml.load_untrusted(given + "".join(f"  {line}\n" for line in text.splitlines()), "x.yaml")
    assert loaded.data["task"] == data
    if data.get("total") == 1.5:
        assert loaded.sources["task", "total"] == "1.50"
        assert loaded.key_mark(("task", "total")).line == 3
    assert yaml.load("a: {<<: {b: 1}}", "x.yaml").data == {"a": {"<<": {"b": 1}}}  # of an author: an unknown word


def test_merges_count_as_what_they_add():
    keys = ", ".join(f"k{at}: 1" for at in range(1000))
    with pytest.raises(SpecError, match="this holds more values than any answers do"):
        yaml.load_untrusted(f"a: &a {{{keys}}}\n" + "".join(f"m{at}: {{<<: *a}}\n" for at in range(60)), "x.yaml")


@pytest.mark.parametrize(
    ("item", "message"), [("[*l, *l]", "this holds more values than any answers do"), ("[*l]", "nested too deeply")]
)
def test_what_repeats_itself_without_end_is_refused(item, message):
    levels = "".join(f"b{at}: &b{at} {item.replace('*l', f'*b{at - 1}')}\n" for at in range(1, 300))
    with pytest.raises(SpecError, match=message):
        yaml.load_untrusted(f"b0: &b0 [1, 1]\n{levels}", "x.yaml")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [" + "1, " * 500_000 + "1]\n", "x.yaml:1:299999: this holds more values than any answers do"),
        ("[" * 2_000_000, r"x.yaml:1:(62|1001): this is nested too deeply"),
        ("\n".join(f"k{number}: 1" for number in range(60_000)) + "\nbad: [", "x.yaml:60002:1: this is not YAML"),
    ],
)
def test_large_text_of_a_student_s_is_refused_in_bounded_time(text, message):
    start = time.process_time()
    with pytest.raises(SpecError) as caught:
        yaml.load_untrusted(text, "x.yaml")
    assert re.match(message, str(caught.value))
    assert time.process_time() - start < 4


ROOT = Path(__file__).parents[2]
SPECS = [*(ROOT / "specs").rglob("*.yaml"), *(ROOT / "tests/galleries/specs_bad").glob("*.yaml")]
PIECES = [*"\t\n:,-?[]{}'\"#&*!|>%@`\ufeff\x85 ", "- ", "\n  ", ": ", "? a\n", "a:b", "---\n", "!!int ", "\\n"]


def outcome(text):
    try:
        return repr(yaml.load(text, "x.yaml"))  # in which nan is nan
    except SpecError as error:
        return str(error)


def by_pythons_parser(text):
    try:
        return repr(yaml._load(text, "x.yaml", yaml.yaml.SafeLoader, None))
    except SpecError as error:
        return str(error)


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_libyaml_reads_a_spec_as_pythons_parser_does(path):
    text = path.read_text(encoding="utf-8")
    assert outcome(text) == by_pythons_parser(text)


@pytest.mark.slow
def test_libyaml_reads_what_is_changed_at_random_as_pythons_parser_does():
    chance, right = random.Random(11), 0  # noqa: S311
    lines = [path.read_text(encoding="utf-8").split("\n") for path in SPECS]
    for _ in range(400):
        chosen = chance.choice(lines)
        start = chance.randrange(len(chosen))
        text = "\n".join(chosen[start : start + chance.randrange(1, 9)])
        for _ in range(chance.randrange(3)):
            at = chance.randrange(len(text) + 1)
            text = text[:at] + chance.choice(PIECES) + text[at + chance.randrange(2) :]
        found = outcome(text)
        assert found == by_pythons_parser(text), text
        right += found.startswith("Loaded")
    assert right > 100


@pytest.mark.parametrize(
    "text", ["a\t: 1", "a:\n", "?", "po\ufeffints: 1", "{a: tr?ue}", "a: >#b\n  c\n", "a: &x 1\nb: *x", "[" * 70]
)
def test_where_the_two_parsers_differ_pythons_has_the_word(text):
    assert outcome(text) == by_pythons_parser(text)


def test_a_right_spec_is_left_to_libyaml(monkeypatch):
    if yaml._QUICK is yaml.yaml.SafeLoader:
        pytest.skip("PyYAML was built without libyaml")
    monkeypatch.setattr(yaml.yaml, "SafeLoader", None)
    assert yaml.load("a: {b: [1, 'x?']}\n", "x.yaml").data == {"a": {"b": [1, "x?"]}}
