"""Accelerators: energy by a table of costs, cycles of a systolic array."""

from __future__ import annotations

from typing import Any

Config = dict[str, Any]


def layer_energy(config: Config) -> float:
    """The picojoules that a convolution takes, by a table of costs (Horowitz 2014; Chen et al. 2016, figure 1).

    A layer of `filters` kernels of `kernel` x `kernel` on `channels`, with `batch` outputs of `size` x `size`, stride 1
    and padding that keeps the size. Each multiply-accumulate costs `mac` and four accesses to `register` (two operands,
    the sum read and written); each number of input, weights and output crosses `dram` once and `buffer` twice.
    `costs` are for each operation and each number.
    """
    return _energy(config)


def layer_energy_without_registers(config: Config) -> float:
    """Without registers.

    Slip of: layer_energy
    Hint: The registers are missing: each multiply-accumulate reads three numbers and writes one.
    Credit: 0.5
    """
    return _energy(config, registers=0)


def layer_energy_with_three_registers(config: Config) -> float:
    """With three accesses to registers.

    Slip of: layer_energy
    Hint: Each multiply-accumulate accesses registers four times here: two operands, and the sum that is read and
    written.
    Credit: 0.7
    """
    return _energy(config, registers=3)


def layer_energy_without_outputs(config: Config) -> float:
    """Without outputs.

    Slip of: layer_energy
    Hint: The outputs are missing in what is moved.
    Credit: 0.6
    """
    return _energy(config, outputs=0)


def layer_energy_with_the_buffer_once(config: Config) -> float:
    """With one access to the buffer.

    Slip of: layer_energy
    Hint: Each number crosses the buffer twice: into it and out of it.
    Credit: 0.6
    """
    return _energy(config, buffers=1)


def layer_energy_with_weights_each_time(config: Config) -> float:
    """With weights moved for each image.

    Slip of: layer_energy
    Hint: The weights are moved once for each image. They are moved once for the batch.
    Credit: 0.6
    """
    return _energy(config, again=True)


def layer_energy_computing_once(config: Config) -> float:
    """With what one image computes.

    Slip of: layer_energy
    Hint: The multiply-accumulates are those of one image. Each image of the batch takes as many.
    Credit: 0.5
    """
    return _energy(config, images=1)


def layer_energy_with_padding_moved(config: Config) -> float:
    """With the zeros of the padding moved.

    Slip of: layer_energy
    Hint: The padding is counted as moved input. Its zeros are in no memory.
    Credit: 0.7
    """
    return _energy(config, halo=config["kernel"] - 1)


def layer_energy_of_computing(config: Config) -> float:
    """Of computing alone.

    Slip of: layer_energy
    Hint: This is what computing takes. Moving numbers from DRAM costs more than that.
    Credit: 0.3
    """
    return _energy({**config, "costs": {**config["costs"], "buffer": 0, "dram": 0}})


def _energy(
    config: Config,
    *,
    registers: int = 4,
    outputs: int = 1,
    buffers: int = 2,
    again: bool = False,
    images: int | None = None,
    halo: int = 0,
) -> float:
    costs, pixels, batch = config["costs"], config["size"] ** 2, config["batch"]
    weights = config["filters"] * config["channels"] * config["kernel"] ** 2
    macs = (batch if images is None else images) * pixels * weights
    moved = batch * ((config["size"] + halo) ** 2 * config["channels"] + pixels * outputs * config["filters"])
    moved += weights * (batch if again else 1)
    return float(
        macs * (costs["mac"] + registers * costs["register"]) + moved * (costs["dram"] + buffers * costs["buffer"])
    )


# ---- systolic arrays ------------------------------------------------------------------------------------------------


def systolic_cycles(config: Config) -> int:
    """The cycles of a product of m x k and k x n on a systolic array of `rows` x `columns`.

    `dataflow` os (output-stationary): m lie along the rows and n along the columns, k go through; ws
    (weight-stationary): k along the rows, n along the columns, m go through. Each fold of the array takes 2 * rows +
    columns + through - 2 cycles: rows to load weights or to drain outputs, the others with a skew at both edges
    (Samajdar et al. 2018, SCALE-Sim, section 3). Folds follow one another; one that is not full takes as long.
    """
    return _cycles(config)


def systolic_cycles_without_loading(config: Config) -> int:
    """Without loading weights or draining outputs.

    Slip of: systolic_cycles
    Hint: Loading the weights, or draining the outputs, is missing: as many cycles as the array has rows, each fold.
    Credit: 0.6
    """
    return _cycles(config, edges=1)


def systolic_cycles_without_skew(config: Config) -> int:
    """Without filling and draining.

    Slip of: systolic_cycles
    Hint: Only what goes through is counted. The array has to fill and to drain, as its inputs are skewed.
    Credit: 0.4
    """
    return _cycles(config, edges=0)


def systolic_cycles_of_one_fold(config: Config) -> int:
    """Of one fold.

    Slip of: systolic_cycles
    Hint: This is one fold. What does not fit into the array is computed in several, one after the other.
    Credit: 0.4
    """
    return _cycles(config, folds=1)


def systolic_cycles_of_whole_folds(config: Config) -> int:
    """Of the folds that are full.

    Slip of: systolic_cycles
    Hint: The number of folds is rounded down. What is left over takes a fold of its own: round up, along each side.
    Credit: 0.5
    """
    along, across, _ = _mapping(config)
    return _cycles(config, folds=(along // config["rows"]) * (across // config["columns"]))


def systolic_cycles_of_the_other_dataflow(config: Config) -> int:
    """Of the other dataflow.

    Slip of: systolic_cycles
    Hint: Weight- and output-stationary are mixed up: what lies still in the array is what the name says.
    Credit: 0.4
    """
    return _cycles({**config, "dataflow": "ws" if config["dataflow"] == "os" else "os"})


def systolic_cycles_if_always_full(config: Config) -> int:
    """If the array were always full.

    Slip of: systolic_cycles
    Hint: These are all multiply-accumulates over the number of cells. The array is neither always full nor without a
    skew.
    Credit: 0.2
    """
    return int(-(-config["m"] * config["k"] * config["n"] // (config["rows"] * config["columns"])))


def systolic_utilisation(config: Config) -> float:
    """The share of cells and cycles in which something is multiplied: m * k * n over cycles * rows * columns."""
    return _used(config, systolic_cycles(config))


def systolic_utilisation_of_the_mapping(config: Config) -> float:
    """The share of cells that hold something.

    Slip of: systolic_utilisation
    Hint: This is the share of cells that the folds fill. Cycles in which the array fills and drains count, too.
    Credit: 0.5
    """
    return _mapped(config)


def systolic_utilisation_without_loading(config: Config) -> float:
    """Without loading weights or draining outputs.

    Slip of: systolic_utilisation
    Hint: Cycles in which weights are loaded, or outputs drained, are left out.
    Credit: 0.6
    """
    return _used(config, systolic_cycles_without_loading(config))


def systolic_utilisation_of_the_other_dataflow(config: Config) -> float:
    """Of the other dataflow.

    Slip of: systolic_utilisation
    Hint: Weight- and output-stationary are mixed up: what lies still in the array is what the name says.
    Credit: 0.4
    """
    return _used(config, systolic_cycles_of_the_other_dataflow(config))


def systolic_utilisation_of_whole_folds(config: Config) -> float | None:
    """Of the folds that are full.

    Slip of: systolic_utilisation
    Hint: The number of folds is rounded down. What is left over takes a fold of its own: round up, along each side.
    Credit: 0.5
    """
    cycles = systolic_cycles_of_whole_folds(config)
    return _used(config, cycles) if cycles else None


def systolic_utilisation_in_percent(config: Config) -> float:
    """In percent.

    Slip of: systolic_utilisation
    Hint: This is in percent. A share is asked for, from 0 to 1.
    Credit: 0.7
    """
    return 100 * systolic_utilisation(config)


def _used(config: Config, cycles: int) -> float:
    return float(config["m"] * config["k"] * config["n"] / (cycles * config["rows"] * config["columns"]))


def _mapped(config: Config) -> float:
    along, across, _ = _mapping(config)
    return float(along * across / (_folds(config) * config["rows"] * config["columns"]))


def _mapping(config: Config) -> tuple[int, int, int]:
    """What lies along the rows, along the columns, and goes through."""
    m, k, n = (config[name] for name in ("m", "k", "n"))
    return (m, n, k) if config["dataflow"] == "os" else (k, n, m)


def _folds(config: Config) -> int:
    along, across, _ = _mapping(config)
    return int(-(-along // config["rows"]) * -(-across // config["columns"]))


def _cycles(config: Config, *, edges: int = 2, folds: int | None = None) -> int:
    """`edges`: how often the rows count: for loading and for the skew, for the skew alone, or not at all."""
    through = _mapping(config)[2]
    skew = config["columns"] - 2 if edges else 0
    return int((_folds(config) if folds is None else folds) * (edges * config["rows"] + skew + through))
