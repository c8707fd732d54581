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


def patterns(package):
    """All that the modules of a package hold, by where they stand; imported by the test, as that takes a second."""
    names = [each.name for each in pkgutil.walk_packages(labgrade.__path__, "labgrade.") if below(each.name, package)]
    for name in names:
        for called, value in vars(importlib.import_module(name)).items():
            if isinstance(value, re.Pattern):
                yield f"{name}.{called}", value


def below(module, package):
    return f"{module}.".startswith(f"{package}.")


PACKAGES = [each.name for each in pkgutil.iter_modules(labgrade.__path__, "labgrade.")]


def test_there_are_patterns_to_look_at():
    assert len([*patterns("labgrade.answers")]) > 100


@pytest.mark.parametrize("package", PACKAGES)
def test_no_group_is_repeated_possessively(package):
    assert [at for at, found in patterns(package) if repeats_a_group(found.pattern, found.flags)] == []


@pytest.mark.parametrize("pattern", [r"(?:ab)*+", r"(?:_\d++)?+", r"x(?:(?!~(?:~a|-))y)++", r"((?>(?:(?:a?b)*+c)*))"])
def test_a_group_that_is_repeated_possessively_is_found(pattern):
    assert repeats_a_group(pattern)


@pytest.mark.parametrize("pattern", [r"a*+b+", r"(?>(?:a++b)*)", r"(?:[ab]c{3})?[^c]++(?:a|b)*"])
def test_what_means_the_same_everywhere_is_let_through(pattern):
    assert not repeats_a_group(pattern)
