"""If, Loop, Scan and sequences: graphs inside of nodes are run where what decides about them is constant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .constants import sizes
from .values import OutsideError, Sequence, Value, WrongError, axis_of, shape_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import onnx

    from .budget import Budget

    Run = Callable[[onnx.GraphProto, Mapping[str, Value]], list[Value]]

_MOST_TURNS = 1 << 16
SEQUENCES = frozenset(
    {"SequenceConstruct", "SequenceEmpty", "SequenceInsert", "SequenceAt", "SequenceLength", "SequenceErase",
     "SplitToSequence", "ConcatFromSequence"}
)  # fmt: skip
GRAPHS = frozenset({"If", "Loop", "Scan", "SequenceMap"})


class Machine(Protocol):
    """What control needs of the interpreter."""

    budget: Budget

    def apply(self, op: str, operands: list[Value], attributes: Mapping[str, Any], outputs: int = 1) -> list[Value]: ...
    def same(self, one: Value, other: Value) -> bool: ...


def run_graphs(
    op: str, operands: list[Value], attributes: Mapping[str, Any], machine: Machine, run: Run
) -> list[Value]:
    """The outputs of an If, a Loop, a Scan or a SequenceMap.

    Raises:
        OutsideError: what decides is computed from the input, and the branches differ.
    """
    if op == "If":
        return _if(operands, attributes, machine, run)
    if op == "SequenceMap":
        return _mapped(operands, attributes["body"], run)
    return _loop(operands, attributes, machine, run) if op == "Loop" else _scan(operands, attributes, machine, run)


def _mapped(operands: list[Value], body: onnx.GraphProto, run: Run) -> list[Value]:
    names = [given.name for given in body.input]
    first = operands[0]
    if not isinstance(first, Sequence):
        message = "it takes a sequence"
        raise WrongError(message)
    made = []
    for place in range(len(first.items)):
        items = [each.items[place] if isinstance(each, Sequence) else each for each in operands]
        made.append(run(body, dict(zip(names, items, strict=True))))
    return [Sequence(tuple(each[place] for each in made)) for place in range(len(body.output))]


def _if(operands: list[Value], attributes: Mapping[str, Any], machine: Machine, run: Run) -> list[Value]:
    condition = operands[0]
    if isinstance(condition, np.ndarray) and condition.size == 1:
        return run(attributes["then_branch" if condition.reshape(-1)[0] else "else_branch"], {})
    then, other = run(attributes["then_branch"], {}), run(attributes["else_branch"], {})
    if len(then) == len(other) and all(machine.same(*pair) for pair in zip(then, other, strict=True)):
        return then
    message = "it chooses between two results by what the input is"
    raise OutsideError(message)


def _loop(operands: list[Value], attributes: Mapping[str, Any], machine: Machine, run: Run) -> list[Value]:
    count, condition, *state = [*operands, None, None][: max(2, len(operands))]
    body = attributes["body"]
    most = _MOST_TURNS if count is None else _number(count)
    goes_on = condition is None or bool(_number(condition))
    names = [given.name for given in body.input]
    kept: list[list[Value]] = []
    turn = 0
    while goes_on and turn < most:
        machine.budget.spend(steps=1)
        given = dict(zip(names, [np.asarray(turn, np.int64), np.asarray(True), *state], strict=True))  # noqa: FBT003
        after, *made = run(body, given)
        state, kept = made[: len(state)], [*kept, made[len(state) :]]
        goes_on = bool(_number(after))
        turn += 1
    if goes_on and count is None:
        message = f"it takes more than {_MOST_TURNS:,} turns"
        raise OutsideError(message)
    scanned = [[each[place] for each in kept] for place in range(len(body.output) - 1 - len(state))]
    return [*state, *(_stacked(each, 0, machine) for each in scanned)]


def _scan(operands: list[Value], attributes: Mapping[str, Any], machine: Machine, run: Run) -> list[Value]:
    body, count = attributes["body"], attributes["num_scan_inputs"]
    states = len(operands) - count
    state, taken = list(operands[:states]), operands[states:]
    axes = attributes.get("scan_input_axes", [0] * count)
    backwards = attributes.get("scan_input_directions", [0] * count)
    outputs = len(body.output) - states
    out_axes = attributes.get("scan_output_axes", [0] * outputs)
    out_backwards = attributes.get("scan_output_directions", [0] * outputs)
    lengths = {(shape_of(value) or ())[axis] for value, axis in zip(taken, axes, strict=True)}
    if len(lengths) != 1:
        message = f"it scans lengths {sorted(lengths)}"
        raise WrongError(message)
    names = [given.name for given in body.input]
    kept: list[list[Value]] = []
    (length,) = lengths
    for turn in range(length):
        machine.budget.spend(steps=1)
        items = [
            machine.apply("Gather", [value, np.asarray(length - 1 - turn if back else turn)], {"axis": axis})[0]
            for value, axis, back in zip(taken, axes, backwards, strict=True)
        ]
        made = run(body, dict(zip(names, [*state, *items], strict=True)))
        state, kept = made[:states], [*kept, made[states:]]
    scanned = [[each[place] for each in kept] for place in range(outputs)]
    ordered = [each[::-1] if back else each for each, back in zip(scanned, out_backwards, strict=True)]
    return [*state, *(_stacked(each, axis, machine) for each, axis in zip(ordered, out_axes, strict=True))]


def _number(value: Value) -> Any:
    if not isinstance(value, np.ndarray) or value.size != 1:
        message = "how long it goes on depends on the input"
        raise OutsideError(message)
    return value.reshape(-1)[0]


def _stacked(values: list[Value], axis: int, machine: Machine) -> Value:
    if not values:
        message = "it makes an empty tensor"
        raise OutsideError(message)
    lifted = [machine.apply("Unsqueeze", [value, np.asarray([axis])], {})[0] for value in values]
    return machine.apply("Concat", lifted, {"axis": axis})[0] if len(lifted) > 1 else lifted[0]


def run_sequence(op: str, operands: list[Value], attributes: Mapping[str, Any], machine: Machine) -> list[Value]:
    """The output of an operator that makes, changes or reads a sequence.

    Raises:
        OutsideError: a place is computed from the input.
    """
    if op == "SequenceConstruct":
        return [Sequence(tuple(operands))]
    if op == "SequenceEmpty":
        return [Sequence(())]
    if op == "SplitToSequence":
        return [_split(operands, attributes, machine)]
    first = operands[0]
    if not isinstance(first, Sequence):
        message = "it takes a sequence"
        raise WrongError(message)
    items = first.items
    if op == "SequenceLength":
        return [np.asarray(len(items), np.int64)]
    if op == "ConcatFromSequence":
        if attributes.get("new_axis"):
            return [_stacked(list(items), attributes["axis"], machine)]
        return machine.apply("Concat", list(items), {"axis": attributes["axis"]})
    if op == "SequenceInsert":
        at = int(_number(operands[2])) if len(operands) > 2 else len(items)  # noqa: PLR2004 - sequence, tensor, place
        at = at + len(items) if at < 0 else at
        return [Sequence((*items[:at], operands[1], *items[at:]))]
    place = axis_of(int(_number(operands[1])) if len(operands) > 1 else -1, len(items))
    if op == "SequenceErase":
        return [Sequence((*items[:place], *items[place + 1 :]))]
    return [items[place]]


def _split(operands: list[Value], attributes: Mapping[str, Any], machine: Machine) -> Value:
    shape = shape_of(operands[0])
    if shape is None:
        message = "it splits a tensor of unknown shape"
        raise OutsideError(message)
    axis = axis_of(attributes.get("axis", 0), len(shape))
    given = operands[1] if len(operands) > 1 else None
    cuts = [1] * shape[axis]
    if given is not None:
        cuts = sizes(given, "sizes")
        if isinstance(given, np.ndarray) and given.ndim == 0:
            step = max(1, cuts[0])
            cuts = [min(step, shape[axis] - at) for at in range(0, shape[axis], step)]
    parts = machine.apply("Split", [operands[0], np.asarray(cuts, np.int64)], {"axis": axis}, len(cuts))
    if given is None and not attributes.get("keepdims", 1):
        parts = [machine.apply("Squeeze", [part, np.asarray([axis])], {})[0] for part in parts]
    return Sequence(tuple(parts))
