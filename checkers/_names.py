"""The names of rows and tensors, where students write more of them than is asked for."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from labgrade.verdict import Verdict, correct, partial

from ._wording import all_right, of_all, tally

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

_CLASS = re.compile(r"(?:<class ')?(?:torch\.)?nn\.(?:modules\.\w{1,60}\.)?(\w{1,60})(?:'>)?")
_WITH_CLASS = re.compile(r"(\S{1,200})\s?\(\w{1,60}\)|([\w.]{1,200}):?\s[A-Z][a-z]\w{1,60}")
NAMESPACE = "::"
_MARK = re.compile(r"[._]")
_TOTAL = re.compile(
    r"\W*(?:grand\W)?(?:total|sum|overall|\u03a3|\u2211|合計|總計|總和|总计|合计)(?![a-z0-9.])", re.IGNORECASE
)


def without_prefix(names: Sequence[str], expected: Collection[str]) -> list[str]:
    """The names without a first part that all of them share, where more are then expected: `model.conv1` is `conv1`.

    So are names that torch.fx gives to nodes: `model_layer1_0_conv1` is `layer1.0.conv1`.
    """
    first = names[0].partition(".")[0] if names else ""
    whole = all(name == first or name.startswith(f"{first}.") for name in names)
    shorter = [name.removeprefix(first).removeprefix(".") for name in names] if whole else list(names)
    best = max((list(names), shorter), key=lambda each: sum(name in expected for name in each))
    if all(name in expected for name in best):
        return best
    nodes = _of_nodes(names, expected)
    known = [sum(name in expected for name in each) for each in (nodes, best)]
    return nodes if known[0] > known[1] and len(set(nodes)) == len(nodes) else best


def in_namespace(names: Sequence[str], expected: Collection[str]) -> list[str]:
    """The names, with the namespace of the expected ones where they have none: `conv2d`, `aten.conv2d`.

    A `_` before a name may be lost in Markdown.
    """
    spaces = {name.partition(NAMESPACE)[0] for name in expected if NAMESPACE in name}
    if not spaces:
        return list(names)
    whole = {name.partition(NAMESPACE)[2]: name for name in expected if NAMESPACE in name}
    whole = {name.lstrip("_"): own for name, own in whole.items()} | whole
    before = re.compile(rf"^(?:{'|'.join(map(re.escape, spaces))})[.:_]+")
    meant = [whole.get(name, whole.get(before.sub("", name, count=1), name)) for name in names]
    taken = {*names}
    return [name if name in expected or own in taken else own for name, own in zip(names, meant, strict=True)]


def _of_nodes(names: Sequence[str], expected: Collection[str]) -> list[str]:
    """The names of layers where nodes are named after them: with `_` for each `.`, behind what most begin with."""
    layers = {name.replace(".", "_"): name for name in expected}
    found: dict[str, dict[str, str]] = {}
    for name in names:
        for at in (0, *(mark.end() for mark in _MARK.finditer(name))):
            if (layer := layers.get(name[at:].replace(".", "_"))) is not None:
                found.setdefault(name[:at].replace(".", "_"), {})[name] = layer
    known = max(found.values(), key=len, default={})
    others = [name for name in names if name not in known]
    return list(names) if any(name in expected for name in others) else [known.get(name, name) for name in names]


def folded(name: str) -> str:
    """The name without spaces and case."""
    return "".join(name.split()).casefold()


def bare(name: str) -> str:
    """The folded name of a class or a layer: of `nn.Conv2d`, `<class '...Conv2d'>`, `conv1 (Conv2d)`, `0 Conv2d`."""
    plain = name.strip()
    match = _CLASS.fullmatch(plain) or _WITH_CLASS.fullmatch(plain)
    return folded(match[match.lastindex or 0] if match else plain)


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
    wrong = [(name, verdict) for name, verdict in verdicts.items() if verdict.credit != 1]
    if not (wrong or missing or extra):
        return correct(all_right("names", len(expected), ""))
    reasons = [(name, verdict.reason) for name, verdict in wrong]
    reason = tally("names", len(expected), wrong=reasons, missing=missing, extra=extra)
    facts = {f"{key} ({name})": fact for name, verdict in wrong[:1] for key, fact in verdict.facts.items()}
    hint = of_all(verdict.hint for _, verdict in wrong)
    right = len(verdicts) - len(wrong)
    return partial(Fraction(right, len(expected) + len(extra)), reason, hint=hint, agrees=False, **facts)
