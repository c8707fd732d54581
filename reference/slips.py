"""Wrong values on purpose, so that a wrong answer can be recognised and explained. None of these is ever right.

`<quantity>_slips` gives what each slip of a library makes of a quantity, and what products of slips make of it; the
others are such values under a name of their own, for specs. One that a subject gives no occasion for is None there.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from ._counting.engine import inputs
from ._counting.wrong import AsIf, without_ceil_mode
from ._slips import by_row, counts, held, kinds
from ._slips.compose import WantedProducts, answered, plain
from ._slips.in_operations import LIBRARY_OF_OPERATIONS
from ._slips.kept import kept
from ._slips.likely import further, with_pairs
from .macs import macs, macs_by_layer, macs_by_type
from .state import buffers, parameters
from .tutorial import macs_and_flops_by_layer

if TYPE_CHECKING:
    from ._counting.engine import CountedSubject
    from ._slips.compose import Composition


Names = list[str] | None

# ---- all slips of a quantity, and their products -----------------------------------------------------------------


def parameters_slips(
    subject: CountedSubject,
    *,
    which: Literal["all", "trainable", "frozen"] = "all",
    most: int = 1,
    among: Names = None,
    between: Names = None,
) -> dict[str, Any]:
    """What slips make of `parameters`."""
    wanted = WantedProducts(most=most, among=among, between=between)
    return _totals(kept(wanted, lambda: held.composition(subject, which=which), subject, "parameters", which), wanted)


def weight_bytes_slips(
    subject: CountedSubject, *, buffers: bool = False, most: int = 1, among: Names = None, between: Names = None
) -> dict[str, Any]:
    """What slips make of `weight_bytes`."""
    wanted = WantedProducts(most=most, among=among, between=between)
    make = partial(held.composition, subject, as_bytes=True, buffers=buffers)
    return _totals(kept(wanted, make, subject, "bytes", buffers), wanted)


def macs_slips(
    subject: CountedSubject,
    *,
    layers: Names = None,
    bias: bool = False,
    per: Literal["batch", "sample"] = "batch",
    most: int = 1,
    among: Names = None,
    between: Names = None,
) -> dict[str, Any]:
    """What slips make of `macs`."""
    wanted = WantedProducts(most=most, among=among, between=between)
    make = partial(counts.composition, subject, counts.by_layer, layers=layers, bias=bias, per_sample=per == "sample")
    return _totals(kept(wanted, make, subject, "macs", layers, bias, per), wanted)


def flops_slips(
    subject: CountedSubject,
    *,
    layers: Names = None,
    bias: bool = False,
    per: Literal["batch", "sample"] = "batch",
    most: int = 1,
    among: Names = None,
    between: Names = None,
) -> dict[str, Any]:
    """What slips make of `flops`: those of `macs`, each MAC two operations; and MACs for FLOPs."""
    wanted = WantedProducts(most=most, among=among, between=between)
    make = partial(
        counts.composition,
        subject,
        counts.by_layer,
        layers=layers,
        bias=bias,
        per_sample=per == "sample",
        library=LIBRARY_OF_OPERATIONS,
        each=2,
    )
    return _totals(kept(wanted, make, subject, "flops", layers, bias, per), wanted)


def macs_by_layer_slips(
    subject: CountedSubject, *, layers: Names = None, bias: bool = False, most: int = 1, among: Names = None
) -> dict[str, Any]:
    """What slips make of `macs_by_layer`; `kinds` says what is out of the ordinary about each layer."""
    wanted = WantedProducts(most=most, among=among)
    make = partial(counts.composition, subject, counts.by_layer, layers=layers, bias=bias, library=by_row.BY_LAYER)
    found = kept(wanted, make, subject, "macs by layer", layers, bias)
    values = (
        (names, [{"layer": layer, "macs": count} for layer, count in rows.items()])
        for names, rows in found.tables(wanted)
    )
    answer = answered(found.library, values)
    more = further(found, [name for name, _ in answer["values"]], wanted)
    return {**answer, **more, "kinds": kinds.of_parts(found.found(()).parts)}


def macs_by_type_slips(
    subject: CountedSubject,
    *,
    layers: Names = None,
    bias: bool = False,
    norm: Literal["none", "two_per_input"] = "none",
    pooling: Literal["none", "one_per_input"] = "none",
    most: int = 1,
    among: Names = None,
) -> dict[str, Any]:
    """What slips make of `macs_by_type`.

    Raises:
        ValueError: norms are asked for without pools, or the other way round.
    """
    others = norm != "none"
    if others != (pooling != "none"):
        message = "slips are known of norms and pools together, or of neither"
        raise ValueError(message)
    wanted = WantedProducts(most=most, among=among)
    make = partial(
        counts.composition,
        subject,
        lambda _, operation: operation.call.type,
        layers=layers,
        bias=bias,
        others=others,
        library=by_row.BY_TYPE,
    )
    found = kept(wanted, make, subject, "macs by type", layers, bias, others)
    answer = answered(found.library, found.tables(wanted))
    return answer | further(found, [name for name, _ in answer["values"]], wanted)


def _totals(found: Composition, wanted: WantedProducts) -> dict[str, Any]:
    return with_pairs(found, wanted)


def _one(found: Composition, slip: str) -> int | float:
    """The value that one slip makes.

    Raises:
        ValueError: the subject gives no occasion for it.
    """
    return plain(sum(found.rows((slip,)).values()))


# ---- parameters and bytes ----------------------------------------------------------------------------------------


def parameters_with_auxiliary_heads(subject: CountedSubject) -> int | None:
    """The parameters with those of the auxiliary classifiers, which only training uses; None where there are none.

    Comes of building the model with `aux_logits=True`, torchvision's default for GoogLeNet and Inception v3.

    Slip of: parameters
    Hint: The two auxiliary classifiers are counted. They help training only: build the model with aux_logits=False,
    as inference does.
    Credit: 0.5
    """
    zoo: Any = subject  # only a subject with options can be built another way
    try:
        return parameters(dataclasses.replace(zoo, options={**zoo.options, "aux_logits": True}))
    except (TypeError, ValueError):  # the model takes no such option
        return None


def parameters_and_buffers(
    subject: CountedSubject, *, which: Literal["all", "trainable", "frozen"] = "all"
) -> int | None:
    """Parameters and buffers together; None where there are no buffers.

    Comes of adding up a state_dict, which holds running statistics, too.

    Slip of: parameters
    Hint: Buffers are counted: the running statistics and counters of batch norm are state, not parameters. Sum over
    parameters(), not over state_dict().
    Credit: 0.5
    """
    held = buffers(subject)
    return parameters(subject, which=which) + held if held else None


def parameters_trainable_only(subject: CountedSubject) -> int:
    """The parameters that require a gradient alone.

    Comes of `if p.requires_grad` where all parameters are asked for; right by chance while nothing is frozen.
    """
    return int(_one(held.composition(subject), "frozen"))


def weight_count_as_bytes(subject: CountedSubject) -> int:
    """The number of parameters, given as bytes.

    Comes of leaving out the size of an element.

    Slip of: weight_bytes, torchscript_weight_bytes
    Hint: This is the number of parameters. Multiply each tensor's numel() by its element_size(): four bytes in
    32-bit floating point.
    Credit: 0.5
    """
    return int(_one(held.composition(subject, as_bytes=True), "elements"))


def weight_bits(subject: CountedSubject) -> int:
    """The bits of the parameters, given as bytes.

    Slip of: weight_bytes, torchscript_weight_bytes
    Hint: This is the size in bits. A byte has eight.
    Credit: 0.5
    """
    return int(_one(held.composition(subject, as_bytes=True), "bits"))


def weight_bytes_at_eight(subject: CountedSubject) -> int:
    """The bytes of the parameters at eight an element.

    Comes of taking float32 for Python's float, which has eight bytes.

    Slip of: weight_bytes, torchscript_weight_bytes
    Hint: Each parameter counts eight bytes, as in 64-bit floating point. These are 32-bit floats; element_size()
    says so.
    Credit: 0.5
    """
    return int(_one(held.composition(subject, as_bytes=True), "eight"))


def weight_mib_as_mb(subject: CountedSubject) -> float:
    """Mebibytes, printed as megabytes: bytes / 2**20, read as millions of bytes.

    Slip of: weight_bytes, torchscript_weight_bytes
    Hint: The figure is in MiB (divided by 1,048,576), but MB is written behind it. Write MiB, or divide by
    1,000,000.
    Credit: 0.8
    """
    return _one(held.composition(subject, as_bytes=True), "mib_as_mb")


def weight_mb_as_mib(subject: CountedSubject) -> float:
    """Megabytes, printed as mebibytes: bytes / 10**6, read as units of 2**20 bytes.

    Slip of: weight_bytes, torchscript_weight_bytes
    Hint: The figure is in MB (divided by 1,000,000), but MiB is written behind it. Write MB, or divide by
    1,048,576.
    Credit: 0.8
    """
    return _one(held.composition(subject, as_bytes=True), "mb_as_mib")


# ---- MACs --------------------------------------------------------------------------------------------------------


def macs_without_ceil_mode(subject: CountedSubject, *, layers: Names = None, bias: bool = False) -> int:
    """The MACs of the sizes that come out when every pool rounds down, where `ceil_mode=True` rounds up.

    Comes of computing output sizes by hand as floor((n + 2 p - k) / s) + 1.

    Slip of: macs
    Hint: Your sizes go wrong at the first pool that rounds up (ceil_mode=True) where you round down. The branches
    are not the problem. Take the rounding from each pool's ceil_mode, or read the sizes from a forward hook.
    Credit: 0.6
    """
    return int(_one(counts.composition(subject, counts.by_layer, layers=layers, bias=bias), "ceil_mode"))


def macs_and_flops_with_assumed_biases(subject: CountedSubject, *, layers: Names = None) -> list[dict[str, Any]] | None:
    """With the addition of a bias counted for layers that have none, too.

    Slip of: macs_and_flops_by_layer
    Hint: The addition of a bias is counted for layers that have none (bias=False). Look whether layer.bias is None;
    best count the products only.
    Credit: 0.5
    """
    made = dict(macs_by_layer_slips(subject, layers=layers)["values"]).get("assumed_biases")
    added = {row["layer"]: row["macs"] for row in made or ()}
    rows = macs_and_flops_by_layer(subject, layers=layers)
    wrong = [{**row, "macs": added.get(row["layer"]), "flops": 2 * added.get(row["layer"], 0)} for row in rows]
    return wrong if added and wrong != rows else None


def macs_square_kernels(subject: CountedSubject, *, layers: Names = None, bias: bool = False) -> int:
    """The MACs with the first number of each kernel, stride and padding taken for both.

    Comes of `kernel_size[0] * kernel_size[0]`: 1x7 becomes 1x1.

    Slip of: macs
    Hint: Kernels are taken to be square. kernel_size has a height and a width, and they may differ (1x7, 7x1).
    Credit: 0.4
    """
    return int(_one(counts.composition(subject, counts.by_layer, layers=layers, bias=bias), "square"))


def macs_ignoring_dilation(subject: CountedSubject, *, layers: Names = None, bias: bool = False) -> int:
    """The MACs of the sizes that come out when dilation is forgotten.

    Slip of: macs
    Hint: Dilation is ignored. A dilated kernel covers dilation * (kernel_size - 1) + 1 pixels.
    Credit: 0.4
    """
    return int(_one(counts.composition(subject, counts.by_layer, layers=layers, bias=bias), "dilation"))


def macs_same_padding_as_zero(subject: CountedSubject, *, layers: Names = None, bias: bool = False) -> int:
    """The MACs of the sizes that come out when padding='same' is read as no padding.

    Slip of: macs
    Hint: padding='same' is taken for no padding. It keeps the size of the input.
    Credit: 0.4
    """
    return int(_one(counts.composition(subject, counts.by_layer, layers=layers, bias=bias), "same_padding"))


def macs_ignoring_groups(subject: CountedSubject, *, layers: Names = None, bias: bool = False) -> int:
    """The MACs with in_channels for in_channels / groups.

    Comes of the formula for a dense convolution; a depthwise one is then counted as many times as it has channels.

    Slip of: macs
    Hint: Groups are ignored. In a grouped convolution each output channel reads in_channels / groups inputs.
    Credit: 0.4
    """
    return int(_one(counts.composition(subject, counts.by_layer, layers=layers, bias=bias), "groups"))


def macs_by_layer_without_ceil_mode(
    subject: CountedSubject, *, layers: Names = None, bias: bool = False
) -> list[dict[str, Any]]:
    """The MACs by layer of the sizes that come out when every pool rounds down.

    Slip of: macs_by_layer
    Hint: Your sizes go wrong at the first pool that rounds up (ceil_mode=True) where you round down. The branches
    are not the problem. Take the rounding from each pool's ceil_mode, or read the sizes from a forward hook.
    Credit: 0.6
    """
    return macs_by_layer(AsIf(subject, without_ceil_mode), layers=layers, bias=bias)


def macs_by_type_without_ceil_mode(
    subject: CountedSubject, *, layers: Names = None, bias: bool = False
) -> dict[str, int]:
    """The MACs by type of the sizes that come out when every pool rounds down.

    Slip of: macs_by_type
    Hint: Your sizes go wrong at the first pool that rounds up (ceil_mode=True) where you round down. The branches
    are not the problem. Take the rounding from each pool's ceil_mode, or read the sizes from a forward hook.
    Credit: 0.6
    """
    return macs_by_type(AsIf(subject, without_ceil_mode), layers=layers, bias=bias)


def macs_divided_by_batch(subject: CountedSubject, *, layers: Names = None) -> float:
    """The MACs of the whole batch, divided by the batch size, where the whole batch is asked for.

    Slip of: macs
    Hint: Counted for one image of the batch; the task asks for the whole input.
    Credit: 0.8
    """
    return macs(subject, layers=layers) / _batch(subject)


def macs_times_batch(subject: CountedSubject, *, layers: Names = None) -> int:
    """The MACs of the whole batch, multiplied by the batch size once more.

    Slip of: macs
    Hint: The batch is counted twice. The output's shape already has it.
    Credit: 0.6
    """
    return macs(subject, layers=layers) * _batch(subject)


def _batch(subject: CountedSubject) -> int:
    _, x = subject.on_meta()
    return inputs(x)[0].shape[0]
