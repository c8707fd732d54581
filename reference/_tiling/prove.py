"""The proof: reads both files, runs the submitted one on abstract values, and compares every output.

The claim, when nothing is found: for every input of the original's shapes, over the real numbers, the submitted graph
computes what the original computes; each of its live products is at most limit x limit x limit; nothing else touches
the data of the tiled layers than moves and sums; no product is dead. `docs/tiling-proof.md` says why, and what is
assumed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from .._collector import uncollected
from .._onnx.problems import ModelError
from .findings import ProofFinding
from .interpreter import Interpreter
from .original import Original, OriginalError, read_original
from .own_layer import OwnWeights, with_own_weights
from .read import Model, bound, read
from .valid import problem_of
from .values import UNKNOWN, Opaque, Unknown, Value, WrongError, shape_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from .layers import Layer
    from .products import Product
    from .values import Shape

LIMIT = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What came of it: findings in the order in which a student should read them (none: proved), and the products."""

    findings: tuple[ProofFinding, ...]
    products: tuple[Product, ...]
    original: Original
    unsized: int = 0  # further products, whose sizes could not be followed
    inputs: Mapping[str, str] = field(default_factory=dict)  # the submitted graph's inputs -> the original's
    outputs: Mapping[str, str] = field(default_factory=dict)
    own: OwnWeights | None = None  # with weights of the file's own
    own_layer: Layer | None = None  # its W and its bias, where they were found

    @property
    def is_proved(self) -> bool:
        """Whether the claim holds."""
        return not self.findings


def prove(
    submitted: Path,
    original: Path,
    *,
    shape: Shape | None = None,
    limit: int = LIMIT,
    declared: Iterable[str] = (),
    own_weights: bool = False,
) -> Proof:
    """Prove a submitted graph equal to the original, tile by tile.

    Args:
        submitted: the student's file. It must not change while it is read.
        original: the grader's own file.
        shape: binds what the original's first input leaves open.
        limit: how large each product may be in m, k and n.
        declared: operators, with or without their domain, that the course declares to mean MatMul.
        own_weights: of the original only the sizes count; the submitted graph has weights of its own, or takes the
            weight as a second input.

    Raises:
        OriginalError: the original is outside what can be proved.
    """
    reference = read_original(original, shape)
    # A hundred thousand objects and no cycles: looking for those would take a fifth of the time. A damaged weight may
    # hold any bits, and numpy warns of some of them.
    with uncollected(), np.errstate(all="ignore"):
        try:
            return _prove(submitted, reference, limit, frozenset(declared), own_weights=own_weights)
        except UnicodeDecodeError:
            return _stopped(reference, "file", "a name in the file is not UTF-8: it is damaged")
        except OriginalError:
            raise
        except Exception as error:  # noqa: BLE001 - a graph on which the proof fails is not proved: a person looks
            says = f"the proof has no words for this graph ({type(error).__name__}: {str(error)[:200]})"
            finding = ProofFinding(kind="outside", says=says, certain=False)
            return Proof(findings=(finding,), products=(), original=reference)


def _prove(submitted: Path, reference: Original, limit: int, wanted: frozenset[str], *, own_weights: bool) -> Proof:
    try:
        model = read(submitted)
    except ModelError as error:
        return _stopped(reference, "file", str(error))
    broken = problem_of(model, wanted)
    if broken:
        return _stopped(reference, "invalid", broken)
    own: OwnWeights | None = None
    if own_weights:
        reference, own = with_own_weights(reference, model)
    inputs = _inputs(model, reference, own)
    if isinstance(inputs, str):
        return _stopped(reference, "signature", inputs)
    pairs, scope = inputs
    outputs = _output_pairs(model, reference)
    if isinstance(outputs, str):
        return _stopped(reference, "signature", outputs)
    interpreter = Interpreter(model, reference, limit, wanted, has_symbols=own is not None and bool(own.name))
    values = interpreter.run(scope)
    findings = [*_outputs(outputs, reference, interpreter, values), *interpreter.findings]
    findings += interpreter.settlement.findings(limit)
    findings += _oversized(interpreter.products.all, limit)
    findings += _dead(interpreter.dead)
    ordered = tuple(sorted(findings, key=lambda finding: finding.order))
    return Proof(
        findings=ordered,
        products=tuple(interpreter.products.all),
        original=reference,
        unsized=interpreter.unsized,
        inputs=pairs,
        outputs=outputs,
        own=own,
        own_layer=interpreter.settlement.own,
    )


def _stopped(original: Original, kind: str, says: str) -> Proof:
    finding = ProofFinding(
        kind="file" if kind == "file" else "invalid" if kind == "invalid" else "signature", says=says
    )
    return Proof(findings=(finding,), products=(), original=original)


def _inputs(model: Model, original: Original, own: OwnWeights | None) -> tuple[dict[str, str], dict[str, Value]] | str:
    """The submitted graph's inputs, paired with the original's by name or else by position; or what does not fit."""
    wanted = original.inputs
    taken: dict[str, Value] = {own.name: own.symbols} if own is not None and own.name else {}
    free = [given for given in model.inputs if given.name not in taken]
    if len(free) != len(wanted):
        return f"the graph has {len(free)} inputs, the original has {len(wanted)}"
    names = {name: (data_type, value) for name, data_type, value in wanted}
    by_name = {given.name for given in free} == set(names)
    pairs: dict[str, str] = {}
    for given, (position, _, _) in zip(free, wanted, strict=True):
        name = given.name if by_name else position
        data_type, value = names[name]
        if given.data_type != data_type:
            return f"the input '{given.name}' has another element type than the original's '{name}'"
        if value.shape is None or not bound(given, value.shape):
            shapes = f"{_shown(given.shape)}, the original's has {_shown(value.shape or ())}"
            return f"the input '{given.name}' has the shape {shapes}"
        taken[given.name] = value
        pairs[given.name] = name
    return pairs, taken


def _shown(shape: Iterable[int | str]) -> str:
    return "[" + ", ".join(str(size) or "?" for size in shape) + "]"


def _output_pairs(model: Model, original: Original) -> dict[str, str] | str:
    """The submitted graph's outputs, paired with the original's by name or else by position; or what does not fit."""
    outputs = [output.name for output in model.graph.output]
    wanted = [name for name, _ in original.outputs]
    if len(outputs) != len(wanted) or len(set(outputs)) != len(outputs):
        return f"the graph has {len(outputs)} outputs, the original has {len(wanted)}"
    return dict(zip(outputs, outputs if set(outputs) == set(wanted) else wanted, strict=True))


def _outputs(
    pairs: Mapping[str, str], original: Original, interpreter: Interpreter, scope: Mapping[str, Value]
) -> list[ProofFinding]:
    numbers = dict(original.outputs)
    found: list[ProofFinding] = []
    for theirs, ours in pairs.items():
        found += _output(theirs, numbers[ours], original, interpreter, scope)
    return found


def _output(
    name: str, number: int, original: Original, interpreter: Interpreter, scope: Mapping[str, Value]
) -> Iterable[ProofFinding]:
    try:
        value = interpreter.value(name, scope)
    except WrongError:
        value = UNKNOWN
        if not interpreter.findings:
            return [ProofFinding(kind="invalid", says=f"the output '{name}' is not computed")]
    expected = original.numbers.shape(number)
    shape = shape_of(value)
    if shape is not None and expected is not None and shape != expected:
        says = f"the output '{name}' has the shape {_shown(shape)}, the original's has {_shown(expected)}"
        return [ProofFinding(kind="output", says=says)]
    settled, found = interpreter.settlement.demanded(value, f"output {name}")
    if found or isinstance(settled, Unknown):
        return found
    if isinstance(settled, Opaque) and settled.number == number:
        return []
    is_named = isinstance(settled, Opaque)
    what = (
        f"the original's '{original.numbers.name(interpreter.settlement.number(settled))}'"
        if is_named
        else "a constant"
    )
    says = f"the output '{name}' is {what}, not the original's '{original.numbers.name(number)}'"
    return [ProofFinding(kind="output", says=says)]


def _oversized(products: Iterable[Product], limit: int) -> list[ProofFinding]:
    found = []
    for product in dict.fromkeys(products):
        sizes = f"{product.m}x{product.k}x{product.n}"
        if product.largest > limit:
            says = f"node '{product.node}' ({product.op}) is a product of {sizes}: the limit is {limit}x{limit}x{limit}"
            found.append(ProofFinding(kind="too big", says=says, node=product.node))
    return found


def _dead(dead: dict[str, int]) -> list[ProofFinding]:
    if not dead:
        return []
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(dead.items()))
    products = sum(dead.values())
    says = f"{products:,} product{'s are' if products > 1 else ' is'} dead: no output depends on them ({kinds})"
    return [ProofFinding(kind="dead", says=says)]
