"""Slips in counting what a model holds: parameters, buffers, and their bytes."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from torch import nn

from .._counting.wrong import AsIf
from .common import BYTE_UNITS, UNITS, also, first_left_out, last_left_out, ratio, times, without
from .compose import Composition, Library, Part, Slip
from .held_parts import (
    BUFFER,
    COUNTER,
    NO_BIAS,
    PARAMETERS,
    SHARED,
    all_of_state,
    buffers_alone,
    counted_if,
    is_bias,
    is_conv,
    is_layer,
    last_of_type,
    of_kernel,
    one_each,
    parts_of,
    weights_alone,
    with_buffers,
    without_tensor,
)
from .tables import NORMS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .._counting.engine import CountedSubject
    from .held_parts import HeldTensor


def composition(
    subject: CountedSubject,
    *,
    which: str = "all",
    as_bytes: bool = False,
    buffers: bool = False,
    library: Library | None = None,
) -> Composition:
    """The tensors of a subject, and what slips make of them; a row a module. `which` parameters count: `none`."""

    def make(changes: Sequence[Callable[[nn.Module], None]]) -> list[Part]:
        changed: Any = subject
        for change in changes:
            changed = AsIf(changed, change)
        module, _ = changed.on_meta()
        return list(parts_of(module, which, as_bytes=as_bytes, buffers=buffers))

    known = library or (BYTES if as_bytes else _LIBRARIES[which])
    return Composition(library=known, make=make)


_ASSUMED = "A bias is counted for {} that have none (bias=False). Look whether layer.bias is None."
LIBRARY: Library = {
    "biases": Slip(
        of="left out",
        change=without(is_bias, PARAMETERS),
        says="Biases are left out. They are parameters, too: sum over parameters(), not over weights.",
    ),
    "named_biases": Slip(
        of="left out",
        change=without(lambda held: "bias" in held.name, PARAMETERS),
        says="Biases are left out. They are parameters, too: sum over parameters(), not over weights.",
    ),
    "weights_alone": Slip(
        of="left out",
        change=weights_alone,
        says="Only parameters that are called weight are counted. Biases are parameters, too, and so is what has "
        "another name: sum over parameters().",
    ),
    "embeddings": Slip(
        of="left out",
        change=without(lambda held: isinstance(held.module, nn.Embedding | nn.EmbeddingBag), PARAMETERS),
        says="Embeddings are left out. Their tables are parameters, too.",
    ),
    "other_layers": Slip(
        of="left out",
        change=without(lambda held: not is_layer(held), PARAMETERS),
        says="Only nn.Conv2d and nn.Linear layers are counted. Modules of other classes have parameters, too: sum over "
        "model.parameters().",
    ),
    "last_of_type": Slip(
        of="left out",
        change=last_of_type,
        says="Of the modules of one class only the last is counted, as in a dict by the class's name. Add up: += in "
        "place of =.",
    ),
    "vectors": Slip(
        of="left out",
        change=without(lambda held: held.tensor.dim() < 2, PARAMETERS),  # noqa: PLR2004 - a vector has one dimension
        says="Parameters of one dimension are left out: biases, and the weights of batch and layer norm. They are "
        "parameters, too: sum over parameters().",
    ),
    "matrices": Slip(
        of="left out",
        change=without(lambda held: held.tensor.dim() == 2, PARAMETERS),  # noqa: PLR2004 - of a linear layer
        says="Parameters of two dimensions are left out: the weights of linear layers. They are parameters, too.",
    ),
    "kernels_alone": Slip(
        of="left out",
        change=without(lambda held: held.tensor.dim() < 3, PARAMETERS),  # noqa: PLR2004 - a kernel has more
        says="Only the kernels of convolutions are counted. Biases and the weights of other layers are parameters, "
        "too.",
    ),
    "norms": Slip(
        of="left out",
        change=without(lambda held: isinstance(held.module, NORMS), PARAMETERS),
        says="Batch and layer norm are left out. Their weights and biases are parameters, too.",
    ),
    "batch_norms": Slip(
        of="left out",
        change=without(lambda held: isinstance(held.module, nn.modules.batchnorm._BatchNorm), PARAMETERS),  # noqa: SLF001
        says="Batch norm is left out. Its weights and biases are parameters, too.",
    ),
    "named_otherwise": Slip(
        of="left out",
        change=without(lambda held: held.name not in ("weight", "bias"), PARAMETERS),
        says="Parameters that are called neither weight nor bias are left out, such as in_proj_weight of an attention. "
        "Sum over parameters().",
    ),
    "not_in_leaves": Slip(
        of="left out",
        change=without(lambda held: any(True for _ in held.module.children()), PARAMETERS),
        says="Parameters that a module with children holds itself are left out. Sum over model.parameters().",
    ),
    "linear": Slip(
        of="left out",
        change=without(lambda held: isinstance(held.module, nn.Linear), PARAMETERS),
        says="Linear layers are left out. Their weights and biases are parameters, too.",
    ),
    "convolutions": Slip(
        of="left out",
        change=without(is_conv, PARAMETERS),
        says="Convolutions are left out. Their weights and biases are parameters, too.",
    ),
    "last_layer": Slip(
        of="left out",
        change=last_left_out,
        says="The last layer with parameters is left out. Look at where your loop ends.",
    ),
    "first_layer": Slip(
        of="left out",
        change=first_left_out,
        says="The first layer with parameters is left out. Look at where your loop begins.",
    ),
    "last_tensor": Slip(
        of="left out",
        change=lambda parts: without_tensor(parts, -1),
        says="The last parameter tensor is left out. Look at where your loop ends.",
    ),
    "first_tensor": Slip(
        of="left out",
        change=lambda parts: without_tensor(parts, 0),
        says="The first parameter tensor is left out. Look at where your loop begins.",
    ),
    "same_shape": Slip(
        of="left out",
        change=one_each(lambda held: held.tensor.shape, -1),
        says="Of parameters of the same shape only the first is counted. They are different ones all the same: "
        "model.parameters() gives each once.",
    ),
    "last_of_name": Slip(
        of="left out",
        change=one_each(lambda held: held.name, 1),
        says="Of parameters whose names end alike (weight, bias) only the last is counted, as in a dict by that part. "
        "Take the whole name, or add up.",
    ),
    "frozen": Slip(
        of="which",
        change=counted_if(lambda held, counted: counted and held.tensor.requires_grad),
        says="Only parameters that require a gradient are counted, where the task asks for all.",
    ),
    "all": Slip(
        of="which",
        change=counted_if(lambda _held, _counted: True),
        says="All parameters are counted. Trainable are those with requires_grad, non-trainable the others.",
    ),
    "swapped": Slip(
        of="which",
        change=counted_if(lambda _, counted: not counted),
        says="Trainable and non-trainable are swapped. Trainable are the parameters with requires_grad.",
    ),
    "state": Slip(
        of="which",
        change=all_of_state,
        says="All that state_dict() holds is counted: buffers, frozen tensors, and a weight of two modules under each "
        "name. Sum over parameters(), by requires_grad where that is asked for.",
    ),
    "shared": Slip(
        of="extra",
        change=also(SHARED),
        says="A parameter that two modules share is counted twice. model.parameters() gives it once.",
    ),
    "buffers": Slip(
        of="extra",
        change=with_buffers,
        says="Buffers are counted: the running statistics and counters of batch norm are state, not parameters. Sum "
        "over parameters(), not over state_dict().",
    ),
    "running_statistics": Slip(
        of="extra",
        change=also(BUFFER),
        says="Two numbers too many are counted for each channel of batch norm: its running statistics, which are "
        "buffers and no parameters, or its weight and bias a second time.",
    ),
    "counters": Slip(
        of="extra",
        change=also(COUNTER),
        says="The counters of batch norm (num_batches_tracked) are counted, one each. They are buffers, no parameters: "
        "sum over parameters(), not over state_dict().",
    ),
    "assumed_biases": Slip(of="extra", change=also(NO_BIAS), says=_ASSUMED.format("layers")),
    "assumed_conv_biases": Slip(
        of="extra",
        change=lambda parts: [int(part.kind == NO_BIAS and is_conv(part.source)) for part in parts],
        says=_ASSUMED.format("convolutions"),
    ),
    "buffers_alone": Slip(
        of="which",
        change=buffers_alone,
        says="These are buffers, the running statistics and counters of batch norm. A non-trainable parameter is a "
        "parameter with requires_grad=False.",
    ),
    "containers": Slip(
        of="walk",
        change=times(lambda held: held.holders, PARAMETERS),
        says="What lies in a container is counted again for each container around it. Sum over model.parameters(), or "
        "over modules with parameters(recurse=False).",
    ),
    "containers_and_root": Slip(
        of="walk",
        change=times(lambda held: held.holders + 1, PARAMETERS),
        says="What lies in a container is counted again for each container around it, the model itself among them. Sum "
        "over model.parameters(), or over modules with parameters(recurse=False).",
    ),
    "direct": Slip(
        of="left out",
        change=without(lambda held: held.depth > 1, PARAMETERS),
        says="Only the model's own children are looked at; what lies deeper is left out. Use modules(), not "
        "children().",
    ),
    "tensors": Slip(
        of="factor",
        change=lambda parts: [Fraction(1, part.count) if part.count else 1 for part in parts],
        says="Tensors are counted, not their elements. Add up numel().",
    ),
    "lengths": Slip(
        of="factor",
        change=lambda parts: [Fraction(1, math.prod(part.source.tensor.shape[1:]) or 1) for part in parts],
        says="len() of each tensor is added up, which is its first size. Add up numel().",
    ),
    "groups": Slip(
        of="channels",
        change=of_kernel(lambda held: int(held.module.groups)),
        says="Groups are ignored. A grouped convolution has in_channels / groups x out_channels kernels.",
    ),
    "square": Slip(
        of="kernel",
        change=of_kernel(lambda held: ratio([held.tensor.shape[2]] * 2, held.tensor.shape[2:4])),
        says="Kernels are taken to be square. kernel_size has a height and a width, and they may differ.",
    ),
    "kernel_side": Slip(
        of="kernel",
        change=of_kernel(lambda held: ratio([1], held.tensor.shape[3:])),
        says="Only one side of the kernel is counted. Multiply by its height and by its width.",
    ),
    "kernel": Slip(
        of="kernel",
        change=of_kernel(lambda held: ratio([1], held.tensor.shape[2:])),
        says="The kernel's height and width are left out of a convolution's weights.",
    ),
    "in_channels": Slip(
        of="channels",
        change=of_kernel(lambda held: Fraction(1, held.tensor.shape[1])),
        says="The input channels are left out of a convolution's weights.",
    ),
    "negative": Slip(
        of="unit",
        change=lambda parts: [-1] * len(parts),
        says="The number is negative: a difference is taken the wrong way round.",
    ),
    **UNITS,
    "float32": Slip(
        of="size of an element",
        change=lambda parts: [4] * len(parts),
        says="These are bytes. The task asks for the number of parameters.",
    ),
}


def _but(library: Library, *names: str) -> Library:
    return {name: slip for name, slip in library.items() if name not in names}


_NOT_FROZEN = "A non-trainable parameter is a parameter with requires_grad=False."
_OF_NORMS = "weight and bias, or its running mean and variance, which are as many"
_BY_FIRST = (
    "A layer counts as a whole by its first parameter, the weight, as torchsummary does. Ask each parameter for "
    "requires_grad: a bias may differ."
)


def _by_first(*, trainable: bool) -> Slip:
    def counts(held: HeldTensor, _: bool) -> bool:  # noqa: FBT001
        return next(held.module.parameters(recurse=False)).requires_grad is trainable

    return Slip(of="which", change=counted_if(counts), says=_BY_FIRST)


_OF_ALL = _but(LIBRARY, "all", "swapped", "buffers_alone")
_LIBRARIES: dict[str, Library] = {
    "all": _OF_ALL,
    "trainable": {**_but(LIBRARY, "frozen", "buffers_alone"), "by_first": _by_first(trainable=True)},
    "frozen": {
        **_but(LIBRARY, "frozen"),
        "by_first": _by_first(trainable=False),
        "running_statistics": Slip(
            of="extra", change=also(BUFFER), says=f"What batch norm has is counted: its {_OF_NORMS}. {_NOT_FROZEN}"
        ),
        "norms_instead": Slip(
            of="which",
            change=counted_if(lambda held, _: isinstance(held.module, nn.modules.batchnorm._BatchNorm)),  # noqa: SLF001
            says=f"What batch norm has is taken for non-trainable: its {_OF_NORMS}. {_NOT_FROZEN}",
        ),
    },
}


_EIGHT = (
    "This is twice the bytes: eight an element, as for 64-bit floating point or with a gradient beside each weight. A "
    "weight of 32 bits takes four."
)


def per_element(size: int) -> Any:
    return times(lambda held: Fraction(size, held.tensor.element_size()), ("", SHARED, BUFFER, COUNTER, NO_BIAS))


BYTES: Library = {
    **_but(_OF_ALL, "tensors", "lengths", "float32", *UNITS),
    "objects": Slip(
        of="size of an element",
        change=lambda parts: [Fraction(sys.getsizeof(part.source.tensor), part.count or 1) for part in parts],
        says="sys.getsizeof() of a tensor is the size of the Python object, without its elements. Multiply numel() by "
        "element_size().",
    ),
    "storages": Slip(
        of="size of an element",
        change=times(lambda held: Fraction(sys.getsizeof(held.tensor.untyped_storage()), held.tensor.nbytes or 1)),
        says="sys.getsizeof() of a storage adds a Python object to its bytes. Multiply numel() by element_size().",
    ),
    **{
        name: Slip(of="size of an element", change=per_element(size), says=says)
        for name, size, says in (
            ("elements", 1, "This is the number of parameters. Each takes four bytes in 32-bit floating point."),
            ("four", 4, "Every element counts four bytes, batch norm's 64-bit counters, too: take element_size()."),
            ("thirty_two", 32, "Every element counts 32: this is the size in bits. A byte has eight."),
            ("eight", 8, _EIGHT),
            ("two", 2, "This is two bytes an element, as for 16-bit floating point; these weights are 32-bit."),
        )
    },
    **{name: unit for name, unit in BYTE_UNITS.items() if name not in ("twice", "half")},
}
