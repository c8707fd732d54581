"""What machines hold, send and attain: weights of few bits, rings of workers, the roof over a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._config import known
from .intensities import intensity_by_layer
from .macs import macs

if TYPE_CHECKING:
    from ._counting.engine import CountedSubject

Config = dict[str, Any]
_SCALE_BYTES = 2
_FLOAT_BYTES = 4


def _packed(numbers: int, bits: int) -> int:
    return -(-numbers * bits // 8)


def grouped_weight_bytes(config: Config) -> int:
    """Bytes of a matrix of `rows` x `columns` weights of `bits` each, in groups of `group` along each row.

    A group has a scale in float16 and a zero point of `bits`; the last group of a row may be shorter. Weights and zero
    points are packed row by row, to whole bytes.
    """
    known(config)
    groups = -(-config["columns"] // config["group"])
    row = _packed(config["columns"], config["bits"]) + _packed(groups, config["bits"]) + groups * _SCALE_BYTES
    return int(config["rows"] * row)


def grouped_weight_bytes_without_zero_points(config: Config) -> int:
    """Bytes of grouped weights with their scales.

    Slip of: grouped_weight_bytes
    Hint: The zero points are missing, one for each group, as wide as a weight.
    Credit: 0.5
    """
    groups = -(-config["columns"] // config["group"])
    return grouped_weight_bytes(config) - int(config["rows"] * _packed(groups, config["bits"]))


def grouped_weight_bytes_without_scales(config: Config) -> int:
    """Bytes of the weights alone.

    Slip of: grouped_weight_bytes
    Hint: These are the weights alone. Each group has a scale and a zero point besides.
    Credit: 0.3
    """
    return int(config["rows"] * _packed(config["columns"], config["bits"]))


def grouped_weight_bytes_with_float_scales(config: Config) -> int:
    """Bytes of grouped weights with scales in float32.

    Slip of: grouped_weight_bytes
    Hint: The scales take four bytes here. They are in float16.
    Credit: 0.5
    """
    groups = -(-config["columns"] // config["group"])
    return grouped_weight_bytes(config) + int(config["rows"] * groups * (_FLOAT_BYTES - _SCALE_BYTES))


def grouped_weight_bytes_of_whole_groups(config: Config) -> int:
    """Bytes of grouped weights, where only whole groups have a scale.

    Slip of: grouped_weight_bytes
    Hint: What is left at the end of a row is a group, too: round the number of groups up.
    Credit: 0.5
    """
    groups = config["columns"] // config["group"]
    row = _packed(config["columns"], config["bits"]) + _packed(groups, config["bits"]) + groups * _SCALE_BYTES
    return int(config["rows"] * row)


def ring_all_reduce_bytes(config: Config) -> int:
    """Bytes that each of `workers` sends in a ring all-reduce of `elements` of `bytes` each.

    The elements are cut into as many chunks as there are workers, of one size (the last is padded). In each of the
    workers - 1 steps of the reduce-scatter and of the all-gather a worker sends one chunk.
    """
    known(config)
    chunk = -(-config["elements"] // config["workers"])
    return int(2 * (config["workers"] - 1) * chunk * config["bytes"])


def reduce_scatter_bytes(config: Config) -> int:
    """Bytes that each worker sends in the reduce-scatter.

    Slip of: ring_all_reduce_bytes
    Hint: This is the reduce-scatter alone. The all-gather behind it sends as much again.
    Credit: 0.5
    """
    return ring_all_reduce_bytes(config) // 2


def ring_all_reduce_bytes_together(config: Config) -> int:
    """Bytes that all workers send in a ring all-reduce.

    Slip of: ring_all_reduce_bytes
    Hint: All workers together send this. The task asks for one of them.
    Credit: 0.5
    """
    return int(config["workers"]) * ring_all_reduce_bytes(config)


def broadcast_all_reduce_bytes(config: Config) -> int:
    """Bytes that a worker sends that sends all of its elements to each other worker.

    Slip of: ring_all_reduce_bytes
    Hint: Here a worker sends all of its elements to each other one. In a ring it sends one chunk a step.
    Credit: 0.3
    """
    return int((config["workers"] - 1) * config["elements"] * config["bytes"])


def many_workers_all_reduce_bytes(config: Config) -> int:
    """Twice the bytes of all elements.

    Slip of: ring_all_reduce_bytes
    Hint: Twice all bytes is what comes of many workers. Of p workers each sends (p - 1) / p of that.
    Credit: 0.5
    """
    return int(2 * config["elements"] * config["bytes"])


def _moved(subject: CountedSubject, *, weights: bool = True) -> int:
    """Bytes that the convolutions and linear layers of a network read and write, each by itself, in float32."""
    from torch import nn

    module, given = subject.on_meta()
    numbers = 0

    def count(layer: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
        nonlocal numbers
        numbers += inputs[0].numel() + output.numel()
        numbers += sum(each.numel() for each in layer.parameters()) if weights else 0

    for layer in module.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            layer.register_forward_hook(count)
    module(*given) if isinstance(given, tuple) else module(given)
    return _FLOAT_BYTES * numbers


_COUNTED = ["Conv2d", "Linear"]


def arithmetic_intensity(subject: CountedSubject) -> float:
    """FLOPs for each byte that convolutions and linear layers move, two for each MAC.

    Each layer reads its input and its parameters, and writes its output, in float32; nothing stays on chip.
    """
    return 2 * macs(subject, layers=_COUNTED) / _moved(subject)


def arithmetic_intensity_of_macs(subject: CountedSubject) -> float:
    """MACs for each byte.

    Slip of: arithmetic_intensity
    Hint: Multiply-accumulates are counted as one operation. A product and a sum are two.
    Credit: 0.5
    """
    return arithmetic_intensity(subject) / 2


def arithmetic_intensity_without_weights(subject: CountedSubject) -> float:
    """FLOPs for each byte of inputs and outputs.

    Slip of: arithmetic_intensity
    Hint: The parameters are missing in what is moved. Each layer reads its own.
    Credit: 0.5
    """
    return 2 * macs(subject, layers=_COUNTED) / _moved(subject, weights=False)


def arithmetic_intensity_in_numbers(subject: CountedSubject) -> float:
    """FLOPs for each number that is moved.

    Slip of: arithmetic_intensity
    Hint: This is for each number that is moved. A number in float32 has four bytes.
    Credit: 0.5
    """
    return _FLOAT_BYTES * arithmetic_intensity(subject)


def arithmetic_intensity_averaged(subject: CountedSubject) -> float:
    """The mean of what each layer has.

    Slip of: arithmetic_intensity
    Hint: The layers' intensities are averaged. That of the network is all FLOPs over all bytes: add up both, then
    divide.
    Credit: 0.3
    """
    rows = intensity_by_layer(subject)
    return sum(float(row["intensity"]) for row in rows) / len(rows)


def attainable_flops(subject: CountedSubject, *, peak: float, bandwidth: float) -> float:
    """FLOPs a second that a network attains: `peak`, or the intensity times `bandwidth` where that is less."""
    return min(peak, bandwidth * arithmetic_intensity(subject))


def attainable_flops_unbounded(subject: CountedSubject, *, peak: float, bandwidth: float) -> float:
    """What the bandwidth allows, also above the peak.

    Slip of: attainable_flops
    Hint: This is above the machine's peak. The roof is the smaller of the two.
    Credit: 0.5
    """
    del peak
    return bandwidth * arithmetic_intensity(subject)


def attainable_flops_of_macs(subject: CountedSubject, *, peak: float, bandwidth: float) -> float:
    """What is attained where a MAC is one operation.

    Slip of: attainable_flops
    Hint: Multiply-accumulates are counted as one operation. A product and a sum are two.
    Credit: 0.5
    """
    return min(peak, bandwidth * arithmetic_intensity_of_macs(subject))
