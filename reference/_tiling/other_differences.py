"""What differs outside the tiled layers, said by the node of the original that comes nearest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .findings import ProofFinding

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .original import Operation, Original


def of_the_rest(
    original: Original,
    name: str,
    op: str,
    attributes: Mapping[str, Any],
    operands: Sequence[int],
    constants: Sequence[int],
) -> ProofFinding:
    """A node whose result the original never computes.

    It is certain to be wrong where it is a node of the original with one thing changed: its weights, its attributes or
    what feeds it. Otherwise it may be another way of saying the same, and a person has to look.
    """
    same = [each for each in original.operations if each.op == op]
    fed = [number for number in operands if number not in constants]
    for each in same if constants else ():
        activations = [number for number in each.operands if number not in each.constants]
        if activations == fed and dict(each.attributes) == dict(attributes) and len(each.operands) == len(operands):
            return _certain(name, f"node '{name}' ({op}) holds other weights than the original's '{each.name}'")
    for each in same:
        if tuple(operands) == each.operands and dict(each.attributes) != dict(attributes):
            return _certain(name, f"node '{name}' ({op}) {_differing(attributes, each)} ('{each.name}')")
    for each in same:
        if constants and tuple(constants) == each.constants:
            names = original.numbers
            before = next((n for n in each.operands if n not in each.constants), -1)
            now = next(iter(fed), -1)
            says = (
                f"node '{name}' ({op}) is fed by '{names.name(now)}'; the original feeds it with '{names.name(before)}'"
            )
            return _certain(name, says)
    fed_by = ", ".join(f"'{original.numbers.name(number)}'" for number in fed) or "constants"
    says = f"node '{name}' ({op} of {fed_by}) does not occur in the original, and is outside what can be proved"
    return ProofFinding(kind="outside", says=says, certain=False, node=name)


def _certain(name: str, says: str) -> ProofFinding:
    return ProofFinding(kind="rest", says=f"the rest of the network is not the original's: {says}", node=name)


def _differing(attributes: Mapping[str, Any], other: Operation) -> str:
    first = min(name for name in {*attributes, *other.attributes} if attributes.get(name) != other.attributes.get(name))
    return f"has {first} = {_shown(attributes.get(first))}, the original has {_shown(other.attributes.get(first))}"


def _shown(value: object) -> str:
    return "none" if value is None else value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
