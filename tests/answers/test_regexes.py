"""Regular expressions that mean the same in every Python 3.11."""

import importlib
import pkgutil
import re
from re import _constants as words  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]

import pytest

import labgrade

# Python before 3.11.5 may match something else where what is repeated possessively can go back itself (gh-106052).
ALTERNATIVES = (words.BRANCH, words.GROUPREF_EXISTS)
REPEATS = (words.MAX_REPEAT, words.MIN_REPEAT)


def parts(pattern):
    """All that a parsed pattern consists of, with what lies inside."""
    for word, told in pattern:
        yield word, told
        inside = told if isinstance(told, tuple | list) else (told,)
        for each in inside:
            if isinstance(each, parser.SubPattern):
                yield from parts(each)
            elif isinstance(each, list):
                for one in each:
                    if isinstance(one, parser.SubPattern):
                        yield from parts(one)


def goes_back(pattern, flags=0):
    """Whether something that can go back is repeated possessively in it."""
    return any(
        word in ALTERNATIVES or (word in REPEATS and told[0] != told[1])
        for outer, repeated in parts(parser.parse(pattern, flags))
        if outer is words.POSSESSIVE_REPEAT
        for word, told in parts(repeated[2])
    )


def patterns():
    for module in pkgutil.walk_packages(labgrade.__path__, "labgrade."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, re.Pattern):
                yield pytest.param(value, id=f"{module.name}.{name}")


@pytest.mark.parametrize("pattern", list(patterns()))
def test_nothing_that_can_go_back_is_repeated_possessively(pattern):
    assert not goes_back(pattern.pattern, pattern.flags)


@pytest.mark.parametrize("pattern", [r"(?:a|bc)*+", r"(?:a+b)++", r"x(?:(?!~(?:~a|-))y)*+", r"(?:(?:a?b)c)?+"])
def test_what_goes_back_is_found(pattern):
    assert goes_back(pattern)


@pytest.mark.parametrize("pattern", [r"a*+b+", r"(?:a++b)*+", r"(?:[ab]c{3})?+(?:a|b)*"])
def test_what_does_not_go_back_is_let_through(pattern):
    assert not goes_back(pattern)
