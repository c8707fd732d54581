"""What a teacher who is new writes wrong, and reads what to write."""

import pytest
from helpers import own_course

from labgrade.cli import main

SPEC = """
id: t
title: One
points: 2
statement: Say it.
subject: {config: {name: own}, arguments: {data: ./one.txt}}
answers:
  n: {type: number, from: [{entry: n}]}
  f: {type: number, call: 'hw.py:f(data)'}
checks:
  - {id: n, points: 1, answer: n, checker: {at_most: {limit: 1}}}
  - {id: f, points: 1, answer: f, checker: equal, expected: {quantity: size}, cases: [{arguments: {width: 3}}]}
"""
SIZE = """
def size(config, *, data: str) -> int:
    '''A size.'''
    return 1
"""


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ("data: ./one.txt", "data: one.txt", "'one.txt' is a text here; the file beside the spec is './one.txt'"),
        ("f(data)", "f(data, width)", "'width' is not given by the task's own subject: add it to its `arguments`"),
        ("{limit: 1}", "1", "checker 'at_most' must be a mapping, not 1; write {limit: 1}"),
        ("*, data", "data", "put a * before it, `def size(config, *, data)`"),
    ],
)
def test_the_message_says_what_to_write(tmp_path, capsys, monkeypatch, was, becomes, said):
    files = {"specs/lab/t.yaml": SPEC, "specs/lab/one.txt": "1", "reference/size.py": SIZE}
    right = own_course.write(tmp_path / "right", files)
    monkeypatch.chdir(right)
    assert main(["validate", "specs"]) == 0
    wrong = own_course.write(tmp_path / "wrong", {name: text.replace(was, becomes) for name, text in files.items()})
    capsys.readouterr()
    monkeypatch.chdir(wrong)
    assert main(["validate", "specs"]) != 0
    assert said in " ".join("".join(capsys.readouterr()).split())
