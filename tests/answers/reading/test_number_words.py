"""Numbers in words of several languages, and words that are none."""

import pytest

from labgrade.answers.reading.numerals.number_words import in_words
from labgrade.answers.reading.numerals.numbers import read_number


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("one hundred and five", 105),
        ("seven hundred fourteen million, one hundred eighty-eight thousand four hundred and eighty", 714_188_480),
        ("sechs", 6),
        ("einhundert", 100),
        ("hundertfünf", 105),
        ("vierundzwanzig Millionen", 24_000_000),
        ("sechs Millionen sechshundertvierundzwanzigtausendneunhundertvier", 6_624_904),
        ("six millions six cent vingt-quatre mille neuf cent quatre", 6_624_904),
        ("quatre-vingt-dix-sept", 97),
        ("soixante et onze", 71),
        ("seis millones seiscientos veinticuatro mil novecientos cuatro", 6_624_904),
        ("mil cuatrocientos noventa y ocho millones", 1_498_000_000),
        ("sei milioni seicentoventiquattromilanovecentoquattro", 6_624_904),
        ("六百六十二萬四千九百零四", 6_624_904),
        ("十四億九千八百三十七萬六千一百九十二", 1_498_376_192),
        ("一百萬", 1_000_000),
        ("一百五十", 150),
        ("一〇五", 105),
        ("육백육십이만 사천구백사", 6_624_904),
    ],
)
def test_a_number_in_words(words, value):
    assert in_words(words, 0) == (len(words), value)
    assert in_words(f": {words} parameters", 2) == (2 + len(words), value)
    assert read_number(words, "count").value == value


@pytest.mark.parametrize(
    "words",
    [
        "one of them",  # nothing else may stand there
        "un modèle",
        "eine",
        "once",
        "million",
        "six, eleven",
        "one two three",
        "six million seven million",
        "six eleven thousand",
        "一百五",  # may be 150
    ],
)
def test_words_that_are_no_number(words):
    assert in_words(words, 0) is None
