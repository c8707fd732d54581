"""Tables of the layers of networks such as VGG-16, and how they go wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Config = dict[str, Any]
Rows = list[dict[str, Any]]
_FLOAT_BYTES = 4


def convolution_table(config: Config) -> list[dict[str, Any]]:
    """By layer of a network such as VGG-16: the numbers that it puts out, its parameters, and its multiply-accumulates.

    `layers` are the widths of 3x3 convolutions with padding 1 (conv1, conv2, ...), `M` is a 2x2 max-pool with stride 2
    that rounds down (pool1, ...); `linear` the widths of the linear layers behind them (fc1, ...); `input` is channels,
    height and width. Parameters with biases, multiply-accumulates without; a pool has neither (Simonyan and Zisserman
    2015, table 1).
    """
    return _table(config)


def convolution_table_without_biases(config: Config) -> list[dict[str, Any]]:
    """Without biases.

    Slip of: convolution_table
    Hint: Biases are missing in the parameters: one for each output channel.
    Credit: 0.6
    """
    return _table(config, bias=0)


def convolution_table_in_flops(config: Config) -> list[dict[str, Any]]:
    """With two operations for each multiply-accumulate.

    Slip of: convolution_table
    Hint: These are FLOPs, two for each multiply-accumulate.
    Credit: 0.6
    """
    return _table(config, per_mac=2)


def convolution_table_in_bytes(config: Config) -> list[dict[str, Any]]:
    """With bytes in place of numbers.

    Slip of: convolution_table
    Hint: The memory is in bytes. How many numbers a layer puts out is asked for.
    Credit: 0.6
    """
    return _table(config, size=_FLOAT_BYTES)


def convolution_table_without_padding(config: Config) -> list[dict[str, Any]]:
    """Without padding.

    Slip of: convolution_table
    Hint: The convolutions shrink their input by two. With padding 1 its height and width stay.
    Credit: 0.4
    """
    return _table(config, padding=0)


def convolution_table_of_inputs(config: Config) -> list[dict[str, Any]]:
    """With what goes in as memory.

    Slip of: convolution_table
    Hint: The memory is that of each layer's input. What it puts out is asked for.
    Credit: 0.5
    """
    return _table(config, of_input=True)


def convolution_table_rounded_up(config: Config) -> list[dict[str, Any]]:
    """With pools that round up.

    Slip of: convolution_table
    Hint: Pools round up here. Without ceil_mode they round down: 7 becomes 3.
    Credit: 0.6
    """
    return _table(config, up=True)


def convolution_table_of_macs_with_biases(config: Config) -> Rows:
    """With the additions of biases.

    Slip of: convolution_table
    Hint: The additions of biases are counted among the multiply-accumulates: one for each number that a layer puts out.
    Without biases is asked for.
    Credit: 0.6
    """
    return _table(config, bias_macs=1)


def convolution_table_of_macs_with_biases_once(config: Config) -> Rows:
    """With a bias for each channel.

    Slip of: convolution_table
    Hint: The biases are counted among the multiply-accumulates. Without biases is asked for.
    Credit: 0.6
    """
    return _table(config, bias_macs=0, weights_macs=1)


def convolution_table_flattened_without_places(config: Config) -> Rows:
    """With channels alone as what the first linear layer is given.

    Slip of: convolution_table
    Hint: The first linear layer is given channels alone: flattening keeps height and width, channels * height * width.
    Credit: 0.6
    """
    return _table(config, places=False)


def convolution_table_of_one_input_channel(config: Config) -> Rows:
    """With kernels of one channel.

    Slip of: convolution_table
    Hint: A kernel reads one input channel here. It reads all of them: 3 * 3 * channels.
    Credit: 0.4
    """
    return _table(config, deep=False)


def convolution_table_of_one_side(config: Config) -> Rows:
    """With kernels of one side.

    Slip of: convolution_table
    Hint: A kernel has three weights for each input channel here. It has 3 * 3.
    Credit: 0.5
    """
    return _table(config, area=3)


def convolution_table_of_one_place(config: Config) -> Rows:
    """With a kernel at one place.

    Slip of: convolution_table
    Hint: The multiply-accumulates are those of one place of the output. Each place takes them.
    Credit: 0.4
    """
    return _table(config, everywhere=False)


def convolution_table_with_pools_of_macs(config: Config) -> Rows:
    """With comparisons of pools.

    Slip of: convolution_table
    Hint: A pool's comparisons are counted. It multiplies nothing, so that it has none.
    Credit: 0.6
    """
    return _table(config, pool_macs=4)


def convolution_table_without_pools(config: Config) -> Rows:
    """With pools that leave the size.

    Slip of: convolution_table
    Hint: Pools leave height and width as they are. Each halves both, rounded down.
    Credit: 0.4
    """
    return _table(config, shrink=1)


@dataclass(frozen=True, kw_only=True)
class _How:
    """What is otherwise about a table: what a kernel and a pool do, and how often something counts."""

    bias: int = 1
    per_mac: int = 1
    size: int = 1
    padding: int = 1
    area: int = 9
    shrink: int = 2
    pool_macs: int = 0
    bias_macs: int = 0
    weights_macs: int = 0
    of_input: bool = False
    up: bool = False
    places: bool = True
    deep: bool = True
    everywhere: bool = True


def _table(config: Config, **otherwise: Any) -> Rows:
    how = _How(**otherwise)
    channels, height, width = config["input"]
    rows: Rows = []

    def add(kind: str, wide: int, parameters: int, macs: int, into: int) -> None:
        number = 1 + sum(row["layer"].startswith(kind) for row in rows)
        memory = how.size * (into if how.of_input else wide)
        rows.append({"layer": f"{kind}{number}", "memory": memory, "parameters": parameters, "macs": macs})

    for each in config["layers"]:
        into = channels * height * width
        if each == "M":
            more = how.shrink - 1 if how.up else 0
            height, width = ((side + more) // how.shrink for side in (height, width))
            wide = channels * height * width
            add("pool", wide, 0, how.pool_macs * wide, into)
            continue
        height, width = (side - 2 + 2 * how.padding for side in (height, width))
        weights, wide = each * how.area * (channels if how.deep else 1), each * height * width
        macs = how.per_mac * weights * (height * width if how.everywhere else 1)
        more = how.bias_macs * wide + how.weights_macs * each
        add("conv", wide, weights + how.bias * each, macs + more, into)
        channels = each
    into = channels * height * width if how.places else channels
    for each in config["linear"]:
        more = (how.bias_macs + how.weights_macs) * each
        add("fc", each, each * into + how.bias * each, how.per_mac * each * into + more, into)
        into = each
    return rows
