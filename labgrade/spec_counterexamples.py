"""Whether a search for a counterexample can find one: a function that is called, on subjects of a family that fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.yamlfile import Path

_LAYER = "linear/layer.onnx"
_EXCLUDES = ("cases", "by_hand")


def findings(data: dict[str, Any], check: dict[str, Any], path: Path) -> Iterator[tuple[Path, str]]:
    """What does not fit, with its place. Tolerant of data that the schema already refused."""
    if "counterexample" not in check:
        return
    here = (*path, "counterexample")
    for word in _EXCLUDES:
        if word in check:
            yield here, f"a check has '{word}' or 'counterexample', not both"
    answer = _dict(_dict(data.get("answers")).get(str(check.get("answer"))))
    forms = [_dict(form) for form in answer.get("from", []) if isinstance(answer.get("from"), list)]
    if not any("call" in form for form in forms):
        yield here, "a counterexample is looked for by calling a function: the answer needs a 'call' form"
    expected = check.get("expected")
    if expected is not None and "quantity" not in _dict(expected):
        yield (*path, "expected"), "what is right differs from network to network: give a 'quantity'"
    among, subject = _dict(check["counterexample"]).get("among"), _dict(data.get("subject"))
    if among == "sizes" and not str(subject.get("model")).endswith(".onnx"):
        yield (
            (*here, "among"),
            "'sizes' are those of linear layers in an ONNX file, and the subject is none of the zoo's",
        )
    other = next((word for word in ("handed_in", "config") if word in subject), "")
    if among != "sizes" and (subject.get("model") == _LAYER or other):
        yield (*here, "among"), f"random networks don't take the place of '{subject.get('model') or other}'"


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
