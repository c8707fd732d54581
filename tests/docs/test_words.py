"""The list of words is looked for in prose alone: comments, docstrings, messages, documentation."""

from __future__ import annotations

import re

from helpers import words

PROGRAM = '''"""What a child is told."""
told = 1  # a folder of ours
message = f"nobody's: {told}"
these = "told apart"
'''


def test_prose_is_looked_at_and_names_are_not(tmp_path):
    program = tmp_path / "one.py"
    program.write_text(PROGRAM, encoding="utf-8")
    found = [re.search(r":(\d+): '(.+?)': ", line).groups() for line in words.warnings(program)]
    assert found == [("1", "told"), ("2", "of ours"), ("3", "told"), ("3", "nobody's")]
    page = tmp_path / "one.md"
    page.write_text("# Title\n\nAsk whoever marks.\n", encoding="utf-8")
    assert [line.partition(": ")[0] for line in words.warnings(page)] == [f"{page}:3"]


def test_warnings_fail_nothing(tmp_path, capsys):
    (tmp_path / "one.md").write_text("One that counts.\n", encoding="utf-8")
    assert words.main([str(tmp_path)]) == 0
    assert "repeat the noun" in capsys.readouterr().out
