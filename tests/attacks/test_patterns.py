"""What the grader's process searches of a student's (logs, sources, exceptions): patterns that are linear.

Each pattern of a module that meets such text is tried on texts made of its own letters, at one size and at four times
that: a pattern of quadratic cost takes sixteen times as long, and what takes no time worth counting is quick enough.
Those for names meet at most 255 bytes.
"""

import importlib
import random
import re
import time

import pytest

MODULES = (
    "answers.advice",
    "answers.file",
    "core.text",
    "cpp.log",
    "cpp.explain",
    "run.student_memory",
    "submissions.git_reader",
    "judging.judge",
    "submissions.handed_in_at",
)
FOUND = [
    (f"{name}.{key}", pattern)
    for name in MODULES
    for key, pattern in vars(importlib.import_module(f"labgrade.{name}")).items()
    if isinstance(pattern, re.Pattern)
]
SHORT, LONG = 20_000, 80_000
QUICK = 0.05


def texts(pattern, size):
    """Text that begins to match again and again, and never does: its own words and letters, repeated."""
    source = repr(pattern.pattern)
    words = re.findall(r"[A-Za-z_:/]{2,}", re.sub(r"\\.|\(\?P?<?\w*>?", " ", source))
    letters = random.Random(len(source))  # noqa: S311 - the same texts each time
    yield from (unit * (size // len(unit)) for unit in (" ", "a", "_1", "1,", "a:1:", "\n", " a", '"a', "load ("))
    for word in words[:6]:
        yield (f"{word} " * size)[:size]
        yield word + " " * size
        yield (word + " (" * 3) * (size // (len(word) + 6))
    yield "".join(letters.choices([*words, " ", "_", ":", "1", "(", '"', "a"], k=size // 3))[:size]


def seconds(pattern, text):
    begin = time.process_time()
    for _ in pattern.finditer(text) if isinstance(pattern.pattern, str) else ():
        pass
    pattern.match(text)
    return time.process_time() - begin


@pytest.mark.promise("the-wire-is-bounded")
@pytest.mark.parametrize(("name", "pattern"), FOUND, ids=[name for name, _ in FOUND])
def test_patterns_are_linear(name, pattern):
    for short, long in zip(texts(pattern, SHORT), texts(pattern, LONG), strict=True):
        spent = seconds(pattern, long)
        assert spent < QUICK or spent < 8 * max(seconds(pattern, short), seconds(pattern, short)), (name, long[:60])


@pytest.mark.slow
def test_a_quadratic_pattern_would_be_seen():
    pattern = re.compile(r"a+b")
    with pytest.raises(AssertionError):
        test_patterns_are_linear("bad", pattern)
