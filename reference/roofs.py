"""Rooflines: what layers compute for each byte they move, what that attains, and what no measurement can be."""

from __future__ import annotations

import csv
import math
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from torch import nn

    from ._counting.engine import CountedSubject

Kept = Literal["nothing", "weights"]
Config = dict[str, Any]
_FLOAT_BYTES = 4
_THOUSAND = 1000.0
_LEAST_OF_ROOF = 1e-4  # of what the roof allows: slower than that is a unit, or another machine
_LIKELY = 0.03  # of the roof, so that nothing else explains it
_AS_PRINTED = 0.05  # by how much a rate may differ from what it is made of, with few digits
_NEAR = 0.1
_MOST_ROWS = 10_000
_MOST_SAID = 4


def intensity_by_layer(subject: CountedSubject, *, kept: Kept = "nothing") -> list[dict[str, Any]]:
    """By convolution and linear layer: FLOPs, bytes moved, and FLOPs for each byte.

    Two FLOPs for each multiply-accumulate, biases aside. A layer reads its input and its parameters once and writes its
    output once, in float32 (Williams et al. 2009); with `kept` weights the parameters stay on chip and are not moved.
    """
    return _layers(subject, weights=kept == "nothing")


def intensity_by_layer_of_macs(subject: CountedSubject, *, kept: Kept = "nothing") -> list[dict[str, Any]]:
    """With one operation for each multiply-accumulate.

    Slip of: intensity_by_layer
    Hint: Multiply-accumulates are counted as one operation. A product and a sum are two.
    Credit: 0.5
    """
    return _layers(subject, weights=kept == "nothing", per_mac=1)


def intensity_by_layer_in_numbers(subject: CountedSubject, *, kept: Kept = "nothing") -> list[dict[str, Any]]:
    """For each number that is moved.

    Slip of: intensity_by_layer
    Hint: These are numbers that are moved, not bytes. A number in float32 has four bytes.
    Credit: 0.5
    """
    return _layers(subject, weights=kept == "nothing", size=1)


def intensity_by_layer_without_outputs(subject: CountedSubject, *, kept: Kept = "nothing") -> list[dict[str, Any]]:
    """Without what is written.

    Slip of: intensity_by_layer
    Hint: The outputs are missing in what is moved: each layer writes its own.
    Credit: 0.5
    """
    return _layers(subject, weights=kept == "nothing", without=("outputs",))


def intensity_by_layer_without_inputs(subject: CountedSubject, *, kept: Kept = "nothing") -> list[dict[str, Any]]:
    """Without what is read.

    Slip of: intensity_by_layer
    Hint: The inputs are missing in what is moved: each layer reads its own.
    Credit: 0.5
    """
    return _layers(subject, weights=kept == "nothing", without=("inputs",))


def intensity_by_layer_with_weights_each_time(
    subject: CountedSubject, *, kept: Kept = "nothing"
) -> list[dict[str, Any]]:
    """With parameters read for each element of the batch.

    Slip of: intensity_by_layer
    Hint: The parameters are counted once for each image. They are read once for the whole batch.
    Credit: 0.6
    """
    return _layers(subject, weights=kept == "nothing", again=True)


def intensity_by_layer_kept_otherwise(subject: CountedSubject, *, kept: Kept = "nothing") -> list[dict[str, Any]]:
    """With parameters moved where they are kept, and the other way round.

    Slip of: intensity_by_layer
    Hint: Parameters are moved where they stay on chip, or stay where they are moved: the task says which.
    Credit: 0.5
    """
    return _layers(subject, weights=kept == "weights")


def intensity_by_layer_turned_round(subject: CountedSubject, *, kept: Kept = "nothing") -> list[dict[str, Any]]:
    """With bytes for each FLOP.

    Slip of: intensity_by_layer
    Hint: The intensity is turned round: these are bytes for each FLOP. FLOPs for each byte are asked for.
    Credit: 0.6
    """
    return [{**row, "intensity": row["bytes"] / row["flops"]} for row in intensity_by_layer(subject, kept=kept)]


def intensity_by_layer_without_biases(
    subject: CountedSubject, *, kept: Kept = "nothing"
) -> list[dict[str, Any]] | None:
    """Without the biases in what is moved.

    Slip of: intensity_by_layer
    Hint: The biases are missing in what is moved: they are parameters, too.
    Credit: 0.7
    """
    return None if kept == "weights" else _layers(subject, weights=True, without=("biases",))


def _layers(
    subject: CountedSubject,
    *,
    weights: bool,
    per_mac: int = 2,
    size: int = _FLOAT_BYTES,
    without: Collection[str] = (),
    again: bool = False,
) -> list[dict[str, Any]]:
    from torch import nn

    module, given = subject.on_meta()
    rows: list[dict[str, Any]] = []

    def count(name: str, layer: nn.Module, x: Any, y: Any) -> None:
        weight: Any = layer.weight
        numbers = (0 if "inputs" in without else x.numel()) + (0 if "outputs" in without else y.numel())
        moved_too = [weight] if "biases" in without else list(layer.parameters())
        held = sum(each.numel() for each in moved_too) * (len(x) if again else 1)
        flops, moved = per_mac * y.numel() * weight[0].numel(), size * (numbers + (held if weights else 0))
        rows.append({"layer": name, "flops": flops, "bytes": moved, "intensity": flops / moved})

    for name, layer in module.named_modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            layer.register_forward_hook(lambda layer, x, y, name=name: count(name, layer, x[0], y))
    module(*given) if isinstance(given, tuple) else module(given)
    return rows


# ---- roofs ----------------------------------------------------------------------------------------------------------


def attainable(config: Config) -> float:
    """FLOPs a second that a kernel attains at most on a machine with several memories.

    The kernel takes `flops` and moves `bytes` by the name of the memory; the machine has a `peak` in FLOPs a second and
    a `bandwidth` in bytes a second for each memory. The least of the peak and bandwidth * flops / bytes of each.
    """
    return float(min(config["peak"], *_roofs(config).values()))


def roof(config: Config) -> str:
    """What bounds that: `compute`, or the name of the memory."""
    roofs = {"compute": config["peak"], **_roofs(config)}
    return min(roofs, key=lambda name: float(roofs[name]))


def _roofs(config: Config) -> dict[str, float]:
    return {name: each * config["flops"] / config["bytes"][name] for name, each in config["bandwidth"].items()}


def attainable_unbounded(config: Config) -> float:
    """What the memories allow, also above the peak.

    Slip of: attainable
    Hint: This is above the machine's peak: no kernel is faster than that. Take the least of the peak and the
    memories.
    Credit: 0.4
    """
    return float(min(_roofs(config).values()))


def attainable_of_the_first_memory(config: Config) -> float:
    """With the first memory alone.

    Slip of: attainable
    Hint: Only the first memory is looked at. Each memory has a roof; the lowest counts.
    Credit: 0.5
    """
    return float(min(config["peak"], next(iter(_roofs(config).values()))))


def attainable_of_the_last_memory(config: Config) -> float:
    """With the last memory alone.

    Slip of: attainable
    Hint: Only the last memory is looked at. Each memory has a roof; the lowest counts.
    Credit: 0.5
    """
    return float(min(config["peak"], list(_roofs(config).values())[-1]))


def attainable_of_the_highest(config: Config) -> float:
    """The highest of the roofs.

    Slip of: attainable
    Hint: This is the highest roof. The lowest bounds the kernel.
    Credit: 0.3
    """
    return float(max(config["peak"], *_roofs(config).values()))


def attainable_one_after_another(config: Config) -> float:
    """With the times one after the other.

    Slip of: attainable
    Hint: The times of computing and moving are added up. In the roofline model they overlap: the longest counts.
    Credit: 0.5
    """
    seconds = [config["flops"] / each for each in (config["peak"], *_roofs(config).values())]
    return float(config["flops"] / sum(seconds))


def attainable_of_all_bytes(config: Config) -> float:
    """With the bytes of all memories over each bandwidth.

    Slip of: attainable
    Hint: The bytes of all memories are added up. Each memory moves its own.
    Credit: 0.5
    """
    return float(
        min(
            config["peak"],
            *(each * config["flops"] / sum(config["bytes"].values()) for each in config["bandwidth"].values()),
        )
    )


def roof_of_the_slowest_memory(config: Config) -> str:
    """The memory with the least bandwidth.

    Slip of: roof
    Hint: This is the memory with the least bandwidth. A memory bounds by bandwidth * flops / bytes: one that moves
    little does not.
    Credit: 0.3
    """
    return str(min(config["bandwidth"], key=lambda name: float(config["bandwidth"][name])))


def roof_of_the_highest(config: Config) -> str:
    """The highest of the roofs.

    Slip of: roof
    Hint: This is the highest roof. The lowest bounds the kernel.
    Credit: 0.3
    """
    return str(max({"compute": config["peak"], **_roofs(config)}.items(), key=lambda each: float(each[1]))[0])


# ---- measurements ---------------------------------------------------------------------------------------------------


def roofline_findings(artifact: Path, *, peak: float, bandwidth: float) -> list[dict[str, Any]]:
    """What physics forbids in a .csv of measured kernels with the columns kernel, flops, bytes and seconds.

    No number is negative or zero, and no kernel is faster than the least of `peak` and `bandwidth` * flops / bytes.
    Where all are far above it, and a thousandth of each is not, a unit is off by a thousand; where each is below a
    ten-thousandth of it, and a thousand times as much is not, a person looks. A column gflops has to be
    flops / seconds / 1e9.

    Raises:
        ValueError: the file is no such table.
    """
    try:
        rows = list(_read(artifact))
    except csv.Error as error:
        message = f"this is no table in .csv: {error}"
        raise ValueError(message) from None
    bad = [
        f"'{name}': {column} is {value:g}, and it has to be above 0"
        for name, own in rows
        for column, value in own.items()
        if value <= 0
    ]
    if bad:
        return [{"says": said} for said in bad[:_MOST_SAID]]
    if against := [said for name, own in rows if (said := _against_its_rate(name, own))]:
        return [{"says": said} for said in against[:_MOST_SAID]]
    shares = {name: _share(own, peak, bandwidth) for name, own in rows}
    above = {name: share for name, share in shares.items() if share > 1}
    if above and all(_LIKELY <= share / _THOUSAND <= 1 for share in shares.values()):
        says = "all rows are above the roof, and a thousandth is not: the unit of flops or seconds is off by a thousand"
        return [{"says": says}]
    if not above and all(share < _LEAST_OF_ROOF <= share * _THOUSAND <= 1 for share in shares.values()):
        says = (
            "each row is below a ten-thousandth of the roof: are the seconds milliseconds, or the FLOPs in thousands?"
        )
        return [{"says": says, "certain": False}]
    return [
        {"says": f"'{name}' is {share:.3g} times as fast as the roof allows: no kernel is above it"}
        for name, share in list(above.items())[:_MOST_SAID]
    ]


def _share(own: dict[str, float], peak: float, bandwidth: float) -> float:
    return own["flops"] / own["seconds"] / min(peak, bandwidth * own["flops"] / own["bytes"])


def _against_its_rate(name: str, own: dict[str, float]) -> str:
    """What is wrong with a rate that stands beside what it is made of."""
    rate = own["flops"] / own["seconds"] / 1e9
    if "gflops" not in own or abs(own["gflops"] / rate - 1) <= _AS_PRINTED:
        return ""
    times = own["gflops"] / rate
    thousands = min(abs(times / _THOUSAND - 1), abs(times * _THOUSAND - 1)) < _NEAR
    unit = ": a unit is off by a thousand" if thousands else ""
    return f"'{name}': gflops is {own['gflops']:g}, and flops / seconds / 1e9 is {rate:.3g}{unit}"


def _read(artifact: Path) -> Iterator[tuple[str, dict[str, float]]]:
    text = artifact.read_text(encoding="utf-8-sig", errors="replace")
    table = csv.DictReader(text.splitlines())
    wanted = ("flops", "bytes", "seconds")
    heads = {str(each).strip().lower(): each for each in table.fieldnames or ()}
    if lacking := [name for name in ("kernel", *wanted) if name not in heads]:
        message = f"the first line names no column '{lacking[0]}': kernel,flops,bytes,seconds"
        raise ValueError(message)
    count = 0
    for row in table:
        count += 1
        name = str(row[heads["kernel"]]).strip()
        there = [*wanted, *(["gflops"] if "gflops" in heads and str(row[heads["gflops"]] or "").strip() else [])]
        yield name, {column: _number(row[heads[column]], name, column) for column in there}
    if not 0 < count <= _MOST_ROWS:
        message = f"the table has {count:,} rows; one for each kernel is asked for"
        raise ValueError(message)


def _number(text: str | None, name: str, column: str) -> float:
    try:
        value = float(str(text).strip())
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        message = f"'{name}': {column} is '{str(text)[:40]}', which is no number"
        raise ValueError(message)
    return value
