"""Telling source code from results, so that `print(f"Total MACs: {n}")` is not read as an answer."""

from __future__ import annotations

import re

_CODE = re.compile(
    r"""
      ^\s*+(?: import\s\w | from\s\S{1,80}\simport\b | def\s\w+\s?\( | class\s\w+\s?[:(] | @\w
          | for\s[\w,\s()]{1,60}\sin\s | while\s.{0,200}[<>=()] | if\s.{0,200}[=<>()\[\]].{0,200}:\s*$ | else\s*:\s*$
          | with\s.{0,200}\sas\s | try\s*: | except\b | return\b | assert\s | raise\s | global\s | lambda\b
          | \#\s?(?:include|define|ifdef|endif|pragma)\b | using\s(?:namespace|std) | std::
          | (?:auto|int|float|double|long|const|void|size_t|u?int(?:32|64)_t)\s[\w&*\s]{1,40}(?:=|\(|;)
          | [$]\s | >>>\s )
    | (?<![\w.])(?:print\s?|printf|println|len|sum|str|format|append|range)\(
    | \w(?<!\bnp)(?<!\bnumpy)\.(?!Size\()\w{1,60}\(
    | (?<!\w)[rbu]?f[rb]?["']
    | (?<![A-Za-z0-9^_\\])\{[^{}"'\n]{0,120}[A-Za-z_:][^{}"'\n]{0,120}\}
    | %[-+#0,]?\d{0,3}(?:\.\d{1,2})?[dfsgeE](?=["'\s%])(?=.{0,200}["'])
    | (?<=\s)[-+*/|&]=\s
    | ^\s*+\w{1,60}\[\w[^\]\n]{0,60}\]\s*[-+*/]?=\s
    | \)\s*;\s*$ | =\s*[A-Za-z_][^;\n]{0,120};\s*$
    | <<\s*["'\w]
    """,
    re.VERBOSE,
)
_STARTS_A_VARIABLE = re.compile(r"\s*(?:[a-z]\w*_\w+|[a-z]+[A-Z]\w*)\s*=\s*[01](?:\.0*)?\s*(?:#.*)?$")


def is_code(line: str) -> bool:
    """Whether a line (its first 400 characters) is source code: a statement, a call, a format string."""
    line = line[:400]
    return bool(_CODE.search(line) or _STARTS_A_VARIABLE.match(line))
