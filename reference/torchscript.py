"""What a TorchScript model holds, puts out and computes: of the model that torch.jit.trace makes of a subject."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

from ._counting.engine import inputs
from ._torchscript import operators
from ._torchscript.walk import shaped, traced

if TYPE_CHECKING:
    from ._counting.engine import CountedSubject
    from ._torchscript.walk import Operator

Of = Literal["leaf_modules", "layers", "operators"]


def torchscript_weight_bytes(subject: CountedSubject) -> int:
    """How many bytes the parameters of a TorchScript model take, each once; buffers are none."""
    return sum(each.numel() * each.element_size() for each in traced(subject).module.parameters())


def torchscript_activation_bytes(
    subject: CountedSubject, *, of: Of = "leaf_modules", dropout: bool = True, model_input: bool = False
) -> int:
    """How many bytes all that the layers of a TorchScript model put out takes, if each output is kept.

    `of`: what counts as an output. `leaf_modules`: what modules without modules inside of them return, once a call; a
    container's output is its last child's. `layers`: what operators of layers put out (convolution, linear, norm,
    activation, pooling, dropout), wherever they are written, also as functions. `operators`: also sums, products of
    elements and concatenations; views of a tensor (flatten, split) put out nothing. An operator in place counts.
    `dropout: false` leaves dropout out, which passes its input on. `model_input` adds the input of the model.

    Raises:
        ValueError: what an operator puts out is not known.
    """
    trace = traced(subject)
    if of == "leaf_modules":
        idle = set() if dropout else {each.where for each in trace.operators if _drops(each)}
        found = [each.outputs for each in trace.calls if each.leaf and each.module not in idle]
    else:
        counts = operators.is_layer if of == "layers" else operators.computes
        found = [each.outputs for each in trace.operators if counts(each) and (dropout or not _drops(each))]
    given = inputs(shaped(subject)[1])
    extra = sum(x.numel() * x.element_size() for x in given) if model_input else 0
    return extra + sum(tensor.bytes for outputs in found for tensor in outputs)


def torchscript_macs(subject: CountedSubject, *, bias: bool = False) -> int:
    """How many multiply-accumulate operations one forward pass of a TorchScript model takes.

    A convolution takes output elements x the elements of one filter (input channels / groups x kernel; transposed: by
    its input elements), a linear layer or matrix product output elements x the dimension summed over. Nothing else
    counts. `bias` adds one for each element to which a bias is added.

    Raises:
        ValueError: an operator may multiply, and has no rule here.
    """
    ran = traced(subject).operators
    return sum(operators.macs(each) + (operators.biases(each) if bias else 0) for each in ran)


def torchscript_operator_kinds(subject: CountedSubject) -> list[dict[str, Any]]:
    """How many operators of each kind the graph of the traced model has, all modules inlined: rows `kind`, `count`.

    Operators are nodes of aten, such as `aten::batch_norm`; constants, attributes and lists are none.
    """
    kinds = Counter(node.kind() for node in traced(subject).module.inlined_graph.nodes())
    return [{"kind": kind, "count": count} for kind, count in kinds.items() if kind.startswith("aten::")]


def _drops(operator: Operator) -> bool:
    return "dropout" in operator.kind
