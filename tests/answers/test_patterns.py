import time

import pytest

from labgrade.answers.text import Match, PatternError, search


def test_matches_with_their_places():
    assert search(r"^MACs: (?P<answer>\d+)$", "x\nMACs: 5\nMACs: 6\n") == [
        Match(position=8, text="5"),
        Match(position=16, text="6"),
    ]


def test_text_of_any_script_and_patterns_of_several_lines():
    assert search("\u7e3d\uff1a\n(?P<answer>.)", "\u7e3d\uff1a\n\u4e94") == [Match(position=3, text="\u4e94")]


def test_a_group_that_took_no_part_is_no_match():
    assert search("a|(?P<answer>b)", "ab") == [Match(position=1, text="b")]


@pytest.mark.slow
def test_a_pattern_that_backtracks_for_ever_is_cut_off():
    start = time.perf_counter()
    with pytest.raises(
        PatternError, match=r"the pattern '\(a\+\)\+b\(\?P<answer>c\)' was not done after 0.5 s on 5,000"
    ):
        search("(a+)+b(?P<answer>c)", "a" * 5_000, seconds=0.5)
    assert time.perf_counter() - start < 120  # it would take years


def test_a_pattern_that_is_not_valid_is_named():
    with pytest.raises(PatternError, match=r"the pattern '\(' failed: .*missing \)"):
        search("(", "a")
