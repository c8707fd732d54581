"""Every character there is, and hostile strings, through each function that makes text safe for a place."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from labgrade import cli
from labgrade.core import text
from labgrade.core.text import (
    all_encodable,
    encodable,
    escaped,
    excerpt,
    for_csv_cell,
    for_graphviz,
    for_html,
    for_html_in_markdown,
    for_json,
    for_markdown,
    for_terminal,
    guarded,
    one_line,
    unguarded,
    without_colours,
    without_invisible,
)
from labgrade.verdict import ComparedNumber, Outcome, without_value

HONEST = "Größe 3×3, 模型 ResNet-18: 1,814,073,345 MACs 🙂 (é)\n\tx = 3"
HOSTILE = (
    "\x1b[2J\x1b]0;title\x07\x1b]8;;http://a.example\x07link",
    "\u202eexe.fdp\u202c\u2066x\u2069",
    "\x9b31mred",
    "<script>alert(1)</script>",
    "'\"><img src=x onerror=alert(1)>",
    "</system-out>]]><x/>",
    "&lt;b&gt; &#64; &amp",
    "](javascript:alert(1)) [x](http://a.example) ![y](z)",
    "@everyone #1 http://a.example www.a.example a@b.example",
    "| a | b |\n|---|---|\n# head\n    code\n```\nx",
    "=1+1",
    " \t=cmd|' /C calc'!A0",
    "＝1+1",
    "'=1",
    "a\r\n=1",
    "\ufeff=1",
    'x" tooltip="y\\" ];\\',
    "lab\udcff\ud800\x00\ufffe",
    "\u2028\u2029\x85\x0b\x0c",
    "\U000e0041\U000e007f\ue000",
)
some_text = st.one_of(st.text(), st.sampled_from(HOSTILE), st.text(st.characters(categories=("Cc", "Cf", "Zl", "Zs"))))


class Every(NamedTuple):
    """All characters there are, those that are not seen, those that are, and some of each kind."""

    whole: str
    unseen: str
    seen: str
    of_all_kinds: str


@pytest.fixture(scope="module")
def every() -> Every:
    whole = "".join(map(chr, range(0x110000)))
    unseen = "".join(each for each in whole if unicodedata.category(each) in text.UNSEEN)
    seen = "".join(each for each in whole if unicodedata.category(each) not in text.UNSEEN)
    # Nearly a million are unassigned or private.
    return Every(whole, unseen, seen, unseen[:600] + unseen[600::499] + seen)


def unseen(shown: str) -> set[str]:
    return {each for each in set(shown) if unicodedata.category(each) in text.UNSEEN}


# ---- the table -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ranges", [text.SURROGATES, text.UPPER_CONTROLS, text.LINE_ENDS, text.DIRECTION, text.ZERO_WIDTH, text.NO_INK]
)
def test_named_ranges_are_parts_of_what_is_not_seen(ranges: str, every: Every) -> None:
    found = re.findall(f"[{ranges}]", every.whole)
    assert found
    assert set(found) <= set(every.unseen)


def test_every_character_that_changes_direction_is_in_the_table(every: Every) -> None:
    marks = {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}
    changing = {each for each in every.unseen if unicodedata.bidirectional(each) in marks} | set("\u061c\u200e\u200f")
    assert changing == set(re.findall(f"[{text.DIRECTION}]", every.whole))


# ---- every character -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_nothing_unseen_is_left_but_lines_and_tabs(every: Every) -> None:
    assert unseen(escaped(every.whole)) == {"\n", "\t"}
    assert unseen(one_line(every.of_all_kinds)) == set()
    assert escaped(every.seen) == every.seen


def test_escapes_are_python_escapes_of_the_same_character(every: Every) -> None:
    for each in every.unseen[::499]:
        assert one_line(each).encode("ascii").decode("unicode_escape", "surrogatepass") == each


def test_half_a_pair_is_all_that_is_not_encodable(every: Every) -> None:
    shown = encodable(every.whole)
    assert shown.encode().decode() == shown
    assert encodable(re.sub(f"[{text.SURROGATES}]", "", every.whole)) == re.sub(f"[{text.SURROGATES}]", "", every.whole)
    assert encodable("a\udcff\udc7f") == "a\\xff\\udc7f"


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "cp950", "latin-1"])
def test_a_terminal_of_any_encoding_obeys_none(encoding: str, every: Every) -> None:
    shown = for_terminal(every.of_all_kinds, encoding)
    assert unseen(shown.encode(encoding).decode(encoding)) <= {"\n", "\t"}


def test_xml_takes_every_character(every: Every) -> None:
    shown = escaped(every.of_all_kinds)
    element = ET.Element("a", b=shown)
    element.text = shown
    back = ET.fromstring(ET.tostring(element))
    assert back.text == shown
    assert back.get("b") == shown


def test_json_reads_the_same_and_holds_nothing_that_a_terminal_obeys(every: Every) -> None:
    document = json.dumps({"a": every.whole}, ensure_ascii=False, indent=2)
    shown = for_json(document)
    assert json.loads(shown)["a"] == re.sub(f"[{text.SURROGATES}]", "\ufffd", every.whole)
    assert not re.search(f"[{text.UPPER_CONTROLS}{text.DIRECTION}{text.LINE_ENDS}\\x00-\\x09\\x0b-\\x1f]", shown)


@pytest.mark.slow
def test_no_cell_begins_as_a_formula(every: Every) -> None:
    for each in every.of_all_kinds:
        for cell in (for_csv_cell(each + "1+1"), for_csv_cell(f" {each}1")):
            assert cell[0] not in text.FORMULA
            assert cell.lstrip()[0] not in text.FORMULA


# ---- hostile strings -------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(some_text)
def test_a_cell_comes_back_as_it_was(cell: str) -> None:
    assert unguarded(guarded(cell)) == cell
    assert next(csv.reader(io.StringIO(_row(for_csv_cell(cell)), newline=""))) == [for_csv_cell(cell)]


def _row(cell: str) -> str:
    stream = io.StringIO(newline="")
    csv.writer(stream).writerow([cell])
    return stream.getvalue()


@given(some_text)
def test_making_safe_twice_changes_nothing_more(words: str) -> None:
    for safe in (escaped, one_line, encodable, for_terminal):
        assert safe(safe(words)) == safe(words)
    assert without_invisible(without_invisible(words)) == without_invisible(words)


class _Data(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text, self.tags = "", list[object]()

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, attrs))


@given(some_text)
def test_html_has_it_as_text_and_as_an_attribute(words: str) -> None:
    page = _Data()
    page.feed(f'<p title="{for_html(words)}">{for_html(words)}</p>')
    page.close()
    assert page.tags == [("p", [("title", escaped(words))])]
    assert page.text == escaped(words)


@given(some_text)
def test_markdown_has_it_as_text(words: str) -> None:
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    tokens = parser.parse(f"x {for_markdown(words)} y")
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    kinds = {(each.type, each.content) for each in tokens[1].children or ()}
    assert {kind for kind, _ in kinds} <= {"text", "text_special", "html_inline"}
    assert {content for kind, content in kinds if kind == "html_inline"} <= {"<!-- -->"}
    assert "@" not in for_markdown(words).replace("@<!-- -->", "")


@given(some_text)
def test_an_element_of_markdown_has_it_as_text(words: str) -> None:
    shown = for_html_in_markdown(words)
    page = _Data()
    page.feed(f"<b>{shown}</b>")
    page.close()
    assert page.text == escaped(words)
    assert all(each.isalnum() or each in "&#; " for each in shown)


@given(some_text)
def test_graphviz_has_it_in_one_string(words: str) -> None:
    shown = for_graphviz(words)
    assert not re.search(r'(?<!\\)(?:\\\\)*"', shown)
    assert not re.search(r"(?<!\\)(?:\\\\)*\\$", shown)
    assert not unseen(shown)


@given(some_text, st.integers(20, 60))
def test_an_excerpt_is_short_and_safe(words: str, most: int) -> None:
    shown = excerpt(words * 40, most)
    assert unseen(shown) <= {"\n", "\t"}
    assert len(shown) <= most + 60


# ---- honest text -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("safe", [escaped, encodable, for_terminal, for_csv_cell, for_json, without_colours])
def test_honest_text_stays(safe: object) -> None:
    assert callable(safe)
    assert safe(HONEST) == HONEST
    assert safe("'t Hooft") == "'t Hooft"


def test_colours_are_taken_out_as_a_whole() -> None:
    assert without_colours("a\x1b[31mb\x1b[0mc\x1b[?25l") == "abc"
    assert without_invisible("1\u00ad,8\u200b14\u202c") == "1,814"


def test_a_message_of_a_command_acts_on_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["validate", "no\x1b[2J-such\u202e.yaml"]) == cli.USAGE
    said = capsys.readouterr().err
    assert "no\\x1b[2J-such\\u202e.yaml" in said
    assert unseen(said) == {"\n"}


def test_every_text_of_a_verdict_is_made_encodable_and_nothing_else_changes():
    odd, verdict = "lab\udcff", without_value(Outcome.MANUAL, "clean", hint="h")
    assert all_encodable(verdict) is verdict
    number = ComparedNumber(name=odd, got="1", expected="2")
    made = all_encodable(replace(verdict, reason=odd, looked_for=(odd, "b"), facts={"x": odd}, comparisons=(number,)))
    assert (made.reason, made.looked_for, made.facts) == (r"lab\xff", (r"lab\xff", "b"), {"x": r"lab\xff"})
    assert (made.comparisons[0].name, made.outcome, made.hint) == (r"lab\xff", Outcome.MANUAL, "h")
