"""Wrong values of TorchScript models on purpose, so that a wrong answer is recognised. None of these is ever right."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

from ._counting.engine import inputs
from ._torchscript import operators
from ._torchscript.walk import shaped, traced
from .torchscript import (
    torchscript_activation_bytes,
    torchscript_macs,
    torchscript_operator_kinds,
    torchscript_weight_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ._counting.engine import CountedSubject
    from ._torchscript.walk import ModuleCall

_MIB, _MB = 2**20, 10**6


def torchscript_weight_bytes_with_buffers(subject: CountedSubject) -> int:
    """The bytes of parameters and buffers together.

    Comes of adding up `module.attributes()` or a state dict, which hold running statistics, too.

    Slip of: torchscript_weight_bytes
    Hint: Buffers are counted. The running statistics of batch norm are state, not parameters.
    Credit: 0.5
    """
    extra: int = sum(each.numel() * each.element_size() for each in traced(subject).module.buffers())
    return torchscript_weight_bytes(subject) + extra


def torchscript_weight_bytes_without_biases(subject: CountedSubject) -> int:
    """The bytes of the parameters called `weight` alone.

    Comes of reading `attr("weight")` of each layer, and forgetting `attr("bias")`.

    Slip of: torchscript_weight_bytes
    Hint: The biases are missing. They are parameters, too; module.parameters() gives all of them.
    Credit: 0.6
    """
    named = traced(subject).module.named_parameters()
    return sum(each.numel() * each.element_size() for name, each in named if name.endswith("weight"))


def torchscript_weight_bytes_shallow(subject: CountedSubject, *, depth: int = 2) -> int:
    """The bytes of the parameters of modules that lie at most `depth` deep.

    Comes of a walk over children of children that stops there; the tiles of a layer lie deeper.

    Slip of: torchscript_weight_bytes
    Hint: Modules that lie deeper are missing: the tiles of a layer are modules inside of its module. parameters()
    goes through all of them, children() only through the next level.
    Credit: 0.4
    """
    named = traced(subject).module.named_parameters()
    return sum(each.numel() * each.element_size() for name, each in named if name.count(".") <= depth)


def torchscript_activation_bytes_with_containers(
    subject: CountedSubject, *, root: bool = True, dropout: bool = True
) -> int:
    """The bytes of what every module puts out, containers and the model itself (`root`), too.

    Comes of a hook or a walk that does not ask whether a module has modules inside.

    Slip of: torchscript_activation_bytes
    Hint: Containers are counted, too. A container's output is its last child's; count modules that have no modules
    inside.
    Credit: 0.5
    Also with: [{"root": false}]
    """
    calls = [call for call in traced(subject).calls if call.leaf or root or call.module]
    return sum(_put_out(subject, calls, dropout=dropout, elements=False))


def torchscript_activation_elements(subject: CountedSubject, *, dropout: bool = True) -> int:
    """The number of elements of the activations, given as bytes.

    Slip of: torchscript_activation_bytes
    Hint: This is the number of elements. Multiply it by element_size().
    Credit: 0.5
    """
    calls = [call for call in traced(subject).calls if call.leaf]
    return sum(_put_out(subject, calls, dropout=dropout, elements=True))


def torchscript_activation_bytes_without_in_place(subject: CountedSubject, *, dropout: bool = True) -> int:
    """The bytes of the activations without what operators in place put out.

    Comes of keeping one output for each address: `relu_` returns the tensor that it was given.

    Slip of: torchscript_activation_bytes
    Hint: What the in-place ReLUs put out is missing. Each layer's output counts here, even where it is written over
    what was read.
    Credit: 0.6
    """
    overwritten = {each.where for each in traced(subject).operators if operators.in_place(each)}
    calls = [call for call in traced(subject).calls if call.leaf and call.module not in overwritten]
    return sum(_put_out(subject, calls, dropout=dropout, elements=False))


def torchscript_activation_bytes_of_products(subject: CountedSubject) -> int:
    """The bytes of what convolutions and linear layers put out.

    Comes of looking at the layers with weights alone.

    Slip of: torchscript_activation_bytes
    Hint: Only convolutions and linear layers are counted. ReLU, pooling and dropout put out activations, too.
    Credit: 0.4
    """
    wanted = operators.CONVOLUTIONS | operators.PRODUCTS
    return sum(out.bytes for each in traced(subject).operators if each.kind in wanted for out in each.outputs)


def torchscript_activation_bytes_of_one_image(subject: CountedSubject, *, dropout: bool = True) -> int:
    """The bytes of the activations for one image of a batch.

    Comes of an input that is built with a batch of 1, whatever was asked for.

    Slip of: torchscript_activation_bytes
    Hint: Counted for one image of the batch. Build the input with the sizes that the program is called with, not
    with 1 3 224 224.
    Credit: 0.6
    """
    return torchscript_activation_bytes(subject, dropout=dropout) // _batch(subject)


def torchscript_activation_mib_as_mb(subject: CountedSubject, *, dropout: bool = True) -> float:
    """Mebibytes, printed as megabytes: bytes / 2**20, read as millions of bytes.

    Slip of: torchscript_activation_bytes
    Hint: The figure is in MiB (divided by 1,048,576), but MB is written behind it.
    Credit: 0.8
    """
    return torchscript_activation_bytes(subject, dropout=dropout) / _MIB * _MB


def torchscript_flops(subject: CountedSubject) -> int:
    """Two floating-point operations for each MAC, given as MACs.

    Slip of: torchscript_macs
    Hint: These are FLOPs. One multiply-accumulate is two floating-point operations; the task asks for MACs.
    Credit: 0.8
    """
    return 2 * torchscript_macs(subject)


def torchscript_macs_in_int(subject: CountedSubject, *, each: bool = False) -> int | None:
    """The MACs as a C++ `int` of 32 bits holds them, the sum or (`each`) those of every layer; None where they fit.

    Slip of: torchscript_macs
    Hint: A number is larger than an int holds, which ends at 2,147,483,647. Count in int64_t, the number of each layer
    as well as the sum.
    Credit: 0.6
    Also with: [{"each": true}]
    """
    ran = [operators.macs(one) for one in traced(subject).operators]
    made = sum(map(_as_int, ran)) if each else _as_int(sum(ran))
    return made if made != sum(ran) else None


def _as_int(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def torchscript_macs_square_kernels(subject: CountedSubject, *, side: Literal["height", "width"] = "height") -> int:
    """The MACs if every kernel were a square of one of its sides.

    Comes of `weight.size(2)` taken twice (or `weight.size(3)`).

    Slip of: torchscript_macs
    Hint: Kernels are taken to be square. A weight has a height, size(2), and a width, size(3).
    Credit: 0.4
    Also with: [{"side": "width"}]
    """
    at = 2 if side == "height" else 3
    total = 0
    for each in traced(subject).operators:
        weight = list(operators.kernel(each) or ())
        square = len(weight) == 4  # noqa: PLR2004 - of two dimensions
        total += each.outputs[0].elements * weight[1] * weight[at] ** 2 if square else operators.macs(each)
    return total


def torchscript_macs_times_batch(subject: CountedSubject) -> int:
    """The MACs with the batch counted twice.

    Comes of multiplying by the batch what was counted by output elements, which hold the batch already.

    Slip of: torchscript_macs
    Hint: The batch is counted twice. The output's shape already has it.
    Credit: 0.6
    """
    return torchscript_macs(subject) * _batch(subject)


def torchscript_macs_of_one_image(subject: CountedSubject) -> int:
    """The MACs for one image of a batch.

    Comes of an input that is built with a batch of 1, whatever was asked for.

    Slip of: torchscript_macs
    Hint: Counted for one image of the batch. Build the input with the sizes that the program is called with, not
    with 1 3 224 224.
    Credit: 0.6
    """
    return torchscript_macs(subject) // _batch(subject)


def torchscript_macs_ignoring_groups(subject: CountedSubject) -> int:
    """The MACs if every output channel of a convolution read all input channels.

    Comes of the size of the input's channels in place of the weight's, which are those of one group.

    Slip of: torchscript_macs
    Hint: Groups are ignored. In a grouped convolution each output channel reads in_channels / groups inputs, which
    is the weight's size(1).
    Credit: 0.4
    """
    total = 0
    for each in traced(subject).operators:
        weight = operators.kernel(each)
        groups = each.inputs[0].shape[1] // weight[1] if weight else 1
        total += operators.macs(each) * groups
    return total


def torchscript_macs_by_columns(subject: CountedSubject) -> int:
    """The MACs with the columns of a product's second matrix in place of its rows.

    Comes of `args[2].size(1)` for aten::addmm, whose second matrix is K x N.

    Slip of: torchscript_macs
    Hint: In a product of M x K and K x N each of the M x N outputs takes K multiply-accumulates. Here it takes N: the
    second matrix of aten::addmm has its rows first.
    Credit: 0.5
    """
    ran, products = traced(subject).operators, {*operators.PRODUCTS, "aten::linear"}
    whole = sum(operators.macs(each) for each in ran if each.kind not in products)
    return whole + sum(each.outputs[0].elements * each.outputs[0].shape[-1] for each in ran if each.kind in products)


def torchscript_macs_of_convolutions(subject: CountedSubject) -> int:
    """The MACs of convolutions alone.

    Comes of a walk that does not get to the linear layers, as where a layer is cut into tiles that lie deeper.

    Slip of: torchscript_macs
    Hint: The linear layers are missing. In the tiled model they lie deeper: each tile is a module inside of its
    layer's module.
    Credit: 0.6
    """
    return sum(operators.macs(each) for each in traced(subject).operators if each.kind in operators.CONVOLUTIONS)


def torchscript_macs_of_products(subject: CountedSubject) -> int:
    """The MACs of linear layers and matrix products alone.

    Slip of: torchscript_macs
    Hint: The convolutions are missing; these are the linear layers alone.
    Credit: 0.2
    """
    return sum(operators.macs(each) for each in traced(subject).operators if each.kind in operators.PRODUCTS)


def torchscript_operator_kinds_of_calls(subject: CountedSubject) -> list[dict[str, Any]]:
    """The nodes of the model's own graph, which calls its modules in place of what they do.

    Slip of: torchscript_operator_kinds
    Hint: This graph only calls the modules within it. Inline them first: inlined_graph, or torch._C._jit_pass_inline.
    Credit: 0.3
    """
    kinds = Counter(node.kind() for node in traced(subject).module.graph.nodes())
    return [{"kind": kind, "count": count} for kind, count in kinds.items()]


def torchscript_operator_kinds_not_in_place(subject: CountedSubject) -> list[dict[str, Any]] | None:
    """The kinds without those in place, whose names end in `_`; None where there are none.

    Slip of: torchscript_operator_kinds
    Hint: Kinds whose names end in _ are left out (aten::relu_). These are operators that write in place.
    Credit: 0.6
    """
    kinds = torchscript_operator_kinds(subject)
    left = [row for row in kinds if not row["kind"].endswith("_")]
    return left if len(left) < len(kinds) else None


def _put_out(subject: CountedSubject, calls: Iterable[ModuleCall], *, dropout: bool, elements: bool) -> Iterator[int]:
    """The bytes of what these calls put out, or its elements; without those of dropout that passes its input on."""
    idle = set() if dropout else {each.where for each in traced(subject).operators if "dropout" in each.kind}
    for call in calls:
        if call.module not in idle:
            yield from ((tensor.elements if elements else tensor.bytes) for tensor in call.outputs)


def _batch(subject: CountedSubject) -> int:
    return int(inputs(shaped(subject)[1])[0].shape[0])
