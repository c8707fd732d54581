"""What layers compute for each byte they move, and how that goes wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn

    from ._counting.engine import CountedSubject

    Rows = list[dict[str, Any]]

Kept = Literal["nothing", "weights"]


def intensity_by_layer(subject: CountedSubject, *, kept: Kept = "nothing") -> Rows:
    """By convolution and linear layer: FLOPs, bytes moved, and FLOPs for each byte.

    Two FLOPs for each multiply-accumulate, biases aside. A layer reads its input and its parameters once and writes its
    output once, in float32 (Williams et al. 2009); with `kept` weights the parameters stay on chip and are not moved.
    """
    return _rows(subject, kept)


def intensity_by_layer_of_macs(subject: CountedSubject, *, kept: Kept = "nothing") -> Rows:
    """With one operation for each multiply-accumulate.

    Slip of: intensity_by_layer
    Hint: Multiply-accumulates are counted as one operation. A product and a sum are two.
    Credit: 0.5
    """
    return _rows(subject, kept, flops=lambda each: each.macs)


def intensity_by_layer_with_biases_added(subject: CountedSubject, *, kept: Kept = "nothing") -> Rows:
    """With the additions of biases.

    Slip of: intensity_by_layer
    Hint: The additions of biases are counted, too. FLOPs are two for each multiply-accumulate here.
    Credit: 0.7
    """
    return _rows(subject, kept, flops=lambda each: 2 * each.macs + (each.outputs if each.biases else 0))


def intensity_by_layer_in_numbers(subject: CountedSubject, *, kept: Kept = "nothing") -> Rows:
    """For each number that is moved.

    Slip of: intensity_by_layer
    Hint: These are numbers that are moved, not bytes. A number in float32 has four bytes.
    Credit: 0.5
    """
    return _rows(subject, kept, moved=lambda each: each.inputs + each.outputs + each.held)


def intensity_by_layer_in_halves(subject: CountedSubject, *, kept: Kept = "nothing") -> Rows:
    """With two bytes for each number.

    Slip of: intensity_by_layer
    Hint: A number has two bytes here. In float32 it has four.
    Credit: 0.6
    """
    return _rows(subject, kept, moved=lambda each: 2 * (each.inputs + each.outputs + each.held))


def intensity_by_layer_in_doubles(subject: CountedSubject, *, kept: Kept = "nothing") -> Rows:
    """With eight bytes for each number.

    Slip of: intensity_by_layer
    Hint: A number has eight bytes here. In float32 it has four.
    Credit: 0.6
    """
    return _rows(subject, kept, moved=lambda each: 8 * (each.inputs + each.outputs + each.held))


def intensity_by_layer_without_outputs(subject: CountedSubject, *, kept: Kept = "nothing") -> Rows:
    """Without what is written.

    Slip of: intensity_by_layer
    Hint: The outputs are missing in what is moved: each layer writes its own.
    Credit: 0.5
    """
    return _rows(subject, kept, moved=lambda each: 4 * (each.inputs + each.held))


def intensity_by_layer_without_inputs(subject: CountedSubject, *, kept: Kept = "nothing") -> Rows:
    """Without what is read.

    Slip of: intensity_by_layer
    Hint: The inputs are missing in what is moved: each layer reads its own.
    Credit: 0.5
    """
    return _rows(subject, kept, moved=lambda each: 4 * (each.outputs + each.held))


def intensity_by_layer_with_outputs_read(subject: CountedSubject, *, kept: Kept = "nothing") -> Rows:
    """With what is written read before.

    Slip of: intensity_by_layer
    Hint: The outputs are counted twice, as if they were read, too. A layer writes them once.
    Credit: 0.6
    """
    return _rows(subject, kept, moved=lambda each: 4 * (each.inputs + 2 * each.outputs + each.held))


def intensity_by_layer_with_weights_each_time(subject: CountedSubject, *, kept: Kept = "nothing") -> Rows:
    """With parameters read for each element of the batch.

    Slip of: intensity_by_layer
    Hint: The parameters are counted once for each image. They are read once for the whole batch.
    Credit: 0.6
    """
    return _rows(subject, kept, moved=lambda each: 4 * (each.inputs + each.outputs + each.batch * each.held))


def intensity_by_layer_of_one_image(subject: CountedSubject, *, kept: Kept = "nothing") -> Rows:
    """For one image of the batch.

    Slip of: intensity_by_layer
    Hint: These are the numbers of one image. The whole batch is asked for, and the parameters once for all of it.
    Credit: 0.6
    """
    return _rows(
        subject,
        kept,
        flops=lambda each: 2 * each.macs // each.batch,
        moved=lambda each: 4 * ((each.inputs + each.outputs) // each.batch + each.held),
    )


def intensity_by_layer_kept_otherwise(subject: CountedSubject, *, kept: Kept = "nothing") -> Rows:
    """With parameters moved where they are kept, and the other way round.

    Slip of: intensity_by_layer
    Hint: Parameters are moved where they stay on chip, or stay where they are moved: the task says which.
    Credit: 0.5
    """
    return intensity_by_layer(subject, kept="nothing" if kept == "weights" else "weights")


def intensity_by_layer_with_biases_moved(subject: CountedSubject, *, kept: Kept = "nothing") -> Rows | None:
    """With biases moved where parameters are kept.

    Slip of: intensity_by_layer
    Hint: The biases are moved, and only the weights stay on chip. Biases are parameters, too.
    Credit: 0.7
    """
    return (
        None
        if kept == "nothing"
        else _rows(subject, "nothing", moved=lambda each: 4 * (each.inputs + each.outputs + each.biases))
    )


def intensity_by_layer_without_biases(subject: CountedSubject, *, kept: Kept = "nothing") -> Rows | None:
    """Without the biases in what is moved.

    Slip of: intensity_by_layer
    Hint: The biases are missing in what is moved: they are parameters, too.
    Credit: 0.7
    """
    return (
        None
        if kept == "weights"
        else _rows(subject, kept, moved=lambda each: 4 * (each.inputs + each.outputs + each.held - each.biases))
    )


def intensity_by_layer_turned_round(subject: CountedSubject, *, kept: Kept = "nothing") -> Rows:
    """With bytes for each FLOP.

    Slip of: intensity_by_layer
    Hint: The intensity is turned round: these are bytes for each FLOP. FLOPs for each byte are asked for.
    Credit: 0.6
    """
    return [{**row, "intensity": row["bytes"] / row["flops"]} for row in intensity_by_layer(subject, kept=kept)]


def intensity_by_layer_of_macs_alone(subject: CountedSubject, *, kept: Kept = "nothing") -> Rows:
    """With multiply-accumulates for each byte.

    Slip of: intensity_by_layer
    Hint: The intensity is that of multiply-accumulates. FLOPs for each byte are twice as many.
    Credit: 0.7
    """
    return [{**row, "intensity": row["intensity"] / 2} for row in intensity_by_layer(subject, kept=kept)]


def intensity_by_layer_for_each_number(subject: CountedSubject, *, kept: Kept = "nothing") -> Rows:
    """With FLOPs for each number.

    Slip of: intensity_by_layer
    Hint: The intensity is that of numbers. A number has four bytes.
    Credit: 0.7
    """
    return [{**row, "intensity": 4 * row["intensity"]} for row in intensity_by_layer(subject, kept=kept)]


# ---- how ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Layer:
    """How many numbers a layer computes with; `held`: its parameters as far as they are moved."""

    batch: int
    macs: int
    inputs: int
    outputs: int
    biases: int
    held: int


def _flops(layer: _Layer) -> int:
    return 2 * layer.macs


def _bytes(layer: _Layer) -> int:
    return 4 * (layer.inputs + layer.outputs + layer.held)


def _rows(
    subject: CountedSubject,
    kept: Kept,
    *,
    flops: Callable[[_Layer], int] = _flops,
    moved: Callable[[_Layer], int] = _bytes,
) -> Rows:
    from torch import nn

    module, given = subject.on_meta()
    rows: Rows = []

    def count(name: str, layer: nn.Module, x: Any, y: Any) -> None:
        weight: Any = layer.weight
        parameters = sum(each.numel() for each in layer.parameters())
        own = _Layer(
            batch=len(x),
            macs=y.numel() * weight[0].numel(),
            inputs=x.numel(),
            outputs=y.numel(),
            biases=parameters - weight.numel(),
            held=parameters if kept == "nothing" else 0,
        )
        done, bytes_moved = flops(own), moved(own)
        rows.append({"layer": name, "flops": done, "bytes": bytes_moved, "intensity": done / bytes_moved})

    for name, layer in module.named_modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            layer.register_forward_hook(lambda layer, x, y, name=name: count(name, layer, x[0], y))
    module(*given) if isinstance(given, tuple) else module(given)
    return rows
