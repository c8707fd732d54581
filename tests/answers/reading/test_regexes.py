"""Regular expressions that mean the same in every Python 3.11."""

import importlib
import pkgutil
import re
from re import _constants as words  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]

import pytest

import labgrade


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


def repeats_a_group(pattern, flags=0):
    """Whether a group is repeated possessively. Before 3.11.5, Python goes on behind a turn that failed (gh-106052).

    An atomic group around a plain repeat means the same, and is right in each.
    """
    groups = [told[2] for word, told in parts(parser.parse(pattern, flags)) if word is words.POSSESSIVE_REPEAT]
    return any(len(group) != 1 or group.getwidth() != (1, 1) or group[0][0] is words.SUBPATTERN for group in groups)


def patterns():
    for module in pkgutil.walk_packages(labgrade.__path__, "labgrade."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, re.Pattern):
                yield pytest.param(value, id=f"{module.name}.{name}")


@pytest.mark.parametrize("pattern", list(patterns()))
def test_no_group_is_repeated_possessively(pattern):
    assert not repeats_a_group(pattern.pattern, pattern.flags)


@pytest.mark.parametrize("pattern", [r"(?:ab)*+", r"(?:_\d++)?+", r"x(?:(?!~(?:~a|-))y)++", r"((?>(?:(?:a?b)*+c)*))"])
def test_a_group_that_is_repeated_possessively_is_found(pattern):
    assert repeats_a_group(pattern)


@pytest.mark.parametrize("pattern", [r"a*+b+", r"(?>(?:a++b)*)", r"(?:[ab]c{3})?[^c]++(?:a|b)*"])
def test_what_means_the_same_everywhere_is_let_through(pattern):
    assert not repeats_a_group(pattern)
