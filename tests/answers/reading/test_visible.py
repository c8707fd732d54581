import pytest
from helpers.linear import takes_linear_time

from labgrade.answers.reading import documents
from labgrade.answers.reading.documents import read_document, visible


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("Total MACs: ~~1,356~~ 1,498", "Total MACs: 1,498"),
        ("~~Total MACs: 5~~ none", "none"),
        ("~~two\nlines~~ end", "end"),
        ("<!-- Total MACs: 5 --> end", "end"),
        ("a <!-- one\ntwo --> b", "a b"),
        ("| a |\n<!--\n| b |\n-->\n| c |", "| a | | c |"),
        ("a\n<!-- never closed\nb", "a"),
        ("<del>5</del> 6 <S class='x'>7</S> 8 <strike>9\n9</strike>", "6 8"),
        ("![1498376192](x.png) ![5][6] end", "end"),
        ("[Total MACs](x \"410592\") [a](b '5' ) end", "[Total MACs] [a] end"),
        ("[link](https://example.com/?n=5) [part](#s5) [file](a/b5.txt 'five')", "[link] [part] [file]"),
        ("see https://example.com/5, www.example.com/6.", "see"),
        ("> ```\n> ~~5~~\n> ```\n~~6~~ end", "> ``` > ~~5~~ > ``` end"),
        ("`````\n```\n<!-- 5 -->\n`````\n<!-- 6 --> end", "````` ``` <!-- 5 --> ````` end"),
        ("five~~~ ~~6~~ end", "five~~~ end"),
        ("2\u200b-1-4", "2 -1-4"),
    ],
)
def test_what_a_reader_does_not_see(text, seen):
    shown = visible(text)
    assert " ".join(shown.split()) == seen
    assert (len(shown), shown.count("\n")) == (len(text), text.count("\n"))


@pytest.mark.parametrize(
    "text",
    [
        "~~~~~~~~ Total ~~~~~~~~",
        "~~ 5 ~~",
        "~5~",
        "a ~~b\n\nc~~ d",
        "a <!-- b",
        "a --> b",
        "<s> hello",
        "<strong>5</strong> <span>6</span>",
        "conv[1, 64](9408) conv[1, 64](Conv2d)",
        "[text] (see 5/6)",
        "!important: 5",
        "http: 5",
        "```\n<!-- 5 -->\n~~6~~\n```",
        "~~~\n<del>5</del> https://example.com\n~~~",
        "```\nnever closed <!-- 5 -->",
    ],
)
def test_what_a_reader_does_see(text):
    assert visible(text) == text


def test_tables_of_values_are_taken_as_they_are(hand_in):
    submission = hand_in({"a.csv": "a,~~5~~\n", "a.txt": "a,~~5~~\n"})
    assert read_document(submission, "a.csv").text == "a,~~5~~\n"
    assert read_document(submission, "a.txt").text == "a,     \n"


def test_a_file_is_decoded_once_until_it_changes(hand_in, monkeypatch):
    read = []
    monkeypatch.setattr(documents, "visible", lambda text: read.append(text) or text)
    documents._document.cache_clear()
    for content in ("one", "one", "two", "two"):
        assert read_document(hand_in({"a.txt": content}), "a.txt").text == content
    assert read == ["one", "two"]


PIECES = ["~", "~~a", "~~a\n\n", "x <!-- y", "<!--\n", "<s>", "<s></del>", "![", "](//", "[a](x/", "```\n", "www.", "`"]


@pytest.mark.slow
@pytest.mark.parametrize("piece", PIECES)
def test_hostile_text_takes_linear_time(piece):
    assert takes_linear_time(lambda size: visible(piece * (size // len(piece)) + "<!-- "), 800_000)
