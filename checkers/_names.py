"""The names of rows and tensors, where students write more of them than is asked for."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from labgrade.verdict import Verdict, correct, partial

from ._wording import tally

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

_CLASS = re.compile(r"(?:<class ')?(?:torch\.)?nn\.(?:modules\.\w{1,60}\.)?(\w{1,60})(?:'>)?")
_WITH_CLASS = re.compile(r"(\S{1,200})\s?\(\w{1,60}\)")
_TOTAL = re.compile(r"\W*(?:grand\W)?(?:total|sum|overall|合計|總計|總和|总计|合计)(?![a-z0-9.])", re.IGNORECASE)


def without_prefix(names: Sequence[str], expected: Collection[str]) -> list[str]:
    """The names without a first part that all of them share, where more are then expected: `model.conv1` is `conv1`."""
    first = names[0].partition(".")[0] if names else ""
    if not all(name == first or name.startswith(f"{first}.") for name in names):
        return list(names)
    shorter = [name.removeprefix(first).removeprefix(".") for name in names]
    gained = sum(name in expected for name in shorter) - sum(name in expected for name in names)
    return shorter if gained > 0 else list(names)


def folded(name: str) -> str:
    """The name without spaces and case."""
    return "".join(name.split()).casefold()


def bare(name: str) -> str:
    """The folded name of a class or a layer: of `nn.Conv2d`, of `<class '...Conv2d'>`, of `conv1 (Conv2d)`."""
    plain = name.strip()
    match = _CLASS.fullmatch(plain) or _WITH_CLASS.fullmatch(plain)
    return folded(match[1] if match else plain)


def is_total(name: str) -> bool:
    """Whether a row sums up the others: `Total`, `total MACs`, `合計`."""
    return bool(_TOTAL.match(name))


def by_name(
    answer: Mapping[str, object],
    expected: Mapping[str, object],
    one: Callable[[Any, Any], Verdict],
    *,
    others: Literal["wrong", "allowed"] = "wrong",
) -> Verdict:
    """The verdict on one value for each name, judged by `one`; a name that is not expected is wrong, or allowed."""
    answer = dict(zip(without_prefix(list(answer), expected), answer.values(), strict=True))
    verdicts = {name: one(answer[name], expected[name]) for name in expected if name in answer}
    missing = [name for name in expected if name not in answer]
    extra = [name for name in answer if name not in expected] if others == "wrong" else []
    wrong = [(name, verdict) for name, verdict in verdicts.items() if verdict.credit < 1]
    if not (wrong or missing or extra):
        return correct(f"all {len(expected):,} names are right" if expected else "")
    reasons = [(name, verdict.reason) for name, verdict in wrong]
    reason = tally("names", len(expected), wrong=reasons, missing=missing, extra=extra)
    facts = {f"{key} ({name})": fact for name, verdict in wrong[:1] for key, fact in verdict.facts.items()}
    hint = next((verdict.hint for _, verdict in wrong if verdict.hint), "")
    right = len(verdicts) - len(wrong)
    return partial(Fraction(right, len(expected) + len(extra)), reason, hint=hint, agrees=False, **facts)
