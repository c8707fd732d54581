"""What a lab on ExecuTorch leaves behind, layer by layer: recorded inputs and outputs, programs, a comparison.

Every group of files holds one file a layer, by its name: `golden/Conv2d_1_golden.pth`. What is wrong is found from the
student's own files: outputs by their inputs and weights, the comparison by what it compares.
"""

from __future__ import annotations

import functools
import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from . import _programs
from ._leaves import LeafLayer, leaves
from .tensors import tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import torch

_CLOSE = 1e-4  # of the largest value: what other kernels, or sums in another order, make of float32 stays far below it
_PROGRAM_CLOSE = 2e-5  # ExecuTorch's portable kernels stay below 3e-6 on all layers of ResNet-50
_MOST_SAID = 6
_SEED = 20_240_511  # of inputs that nobody who exports a layer knows
_FLOAT = 4  # bytes
_SUM_CLOSE = 0.01  # of a sum that was taken in float32, in any order
_NUMBER = r"[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf)"


def recorded_layer_findings(
    artifact: dict[str, list[Path]], *, layers: list[str], network: str, input_shape: list[int]
) -> list[dict[str, Any]]:
    """What is wrong with recorded inputs and outputs of layers; nothing where each output is the layer's.

    Groups: `input` and `golden` (tensors of torch.save), `raw` (the inputs as bytes of float32), `weight` (the state
    dicts of layers that have weights). `layers` of the `network` on an input of `input_shape` are looked at; the layer
    gets the student's own input and weights, in eval mode.
    """
    return _findings(artifact, layers, network, input_shape, _recorded)


def program_findings(
    artifact: dict[str, list[Path]], *, layers: list[str], network: str, input_shape: list[int]
) -> list[dict[str, Any]]:
    """What is wrong with programs of layers, run on fresh inputs; nothing where each computes what its layer does.

    Groups: `program` (.pte) and `weight` (state dicts). As `recorded_layer_findings`.
    """
    return _findings(artifact, layers, network, input_shape, _program)


def program_output_findings(
    artifact: dict[str, list[Path]], *, layers: list[str], network: str, input_shape: list[int]
) -> list[dict[str, Any]]:
    """What is wrong with recorded outputs of programs; nothing where each is what the program makes of its input.

    Groups: `program` (.pte), `raw` (inputs) and `made` (outputs), both as bytes of float32.
    """
    return _findings(artifact, layers, network, input_shape, _output)


def comparison_findings(artifact: dict[str, list[Path]], *, layers: list[str]) -> list[dict[str, Any]]:
    """What is wrong with a table of differences; nothing where each row is the sum of absolute differences.

    Groups: `table`, a text with lines `layer: sum`, `golden` (tensors of torch.save) and `made` (bytes of float32).

    Raises:
        ValueError: the table has no such line.
    """
    said = _lines(artifact["table"][0])
    if not said:
        message = "no line says `layer: number`, such as `Conv2d_1: 0.0123`"
        raise ValueError(message)
    return _said(_by_layer(layers, lambda layer: _difference(layer, said, artifact)))


# ---- each layer ------------------------------------------------------------------------------------------------------


def _findings(
    artifact: dict[str, list[Path]],
    layers: list[str],
    network: str,
    input_shape: list[int],
    wrong: Callable[[str, LeafLayer, dict[str, list[Path]]], Iterator[str]],
) -> list[dict[str, Any]]:
    known = leaves(network, tuple(input_shape))
    missing = [layer for layer in layers if layer not in known]
    if missing:
        message = f"{network} has no layer '{missing[0]}'"
        raise LookupError(message)
    return _said(_by_layer(layers, lambda layer: wrong(layer, known[layer], artifact)))


def _by_layer(layers: list[str], wrong: Callable[[str], Iterator[str]]) -> dict[str, str]:
    """The first thing that is wrong with each layer."""
    found = {}
    for layer in layers:
        try:
            says = next(wrong(layer), "")
        except ValueError as error:
            says = str(error)
        if says:
            found[layer] = says
    return found


def _said(found: dict[str, str]) -> list[dict[str, Any]]:
    """Findings, one cause once: layers of which the same is said share a line."""
    alike: dict[str, list[str]] = {}
    for layer, says in found.items():
        alike.setdefault(says, []).append(layer)
    lines = [f"{', '.join(names)}: {says}" for says, names in alike.items()]
    return [{"says": line} for line in lines[:_MOST_SAID]]


def _file(artifact: dict[str, list[Path]], group: str, layer: str, what: str) -> Path:
    """The layer's file of a group: `Conv2d_1` is in `Conv2d_1_golden.pth`, and not in `Conv2d_17_golden.pth`."""
    pattern = re.compile(re.escape(layer) + r"(?!\d)", re.IGNORECASE)
    found = [path for path in artifact.get(group, []) if pattern.match(path.name)]
    if len(found) != 1:
        message = f"{'no' if not found else 'more than one'} {what} was handed in"
        raise ValueError(message)
    return found[0]


def _tensor(artifact: dict[str, list[Path]], group: str, layer: str, what: str) -> torch.Tensor:
    held = tensors(_file(artifact, group, layer, what))
    if len(held) != 1:
        message = f"the file of its {what} holds {len(held)} tensors, not one"
        raise ValueError(message)
    return next(iter(held.values()))


def _raw(artifact: dict[str, list[Path]], group: str, layer: str, what: str) -> torch.Tensor:
    import torch

    data = _file(artifact, group, layer, what).read_bytes()
    if not data or len(data) % _FLOAT:
        message = f"the file of its {what} has {len(data):,} bytes, which are no values of float32"
        raise ValueError(message)
    return torch.frombuffer(bytearray(data), dtype=torch.float32)


def _made(layer: str, leaf: LeafLayer, artifact: dict[str, list[Path]]) -> torch.nn.Module:
    """The layer with the student's weights."""
    has = any(True for _ in leaf.module.state_dict())
    return leaf.made(tensors(_file(artifact, "weight", layer, "weight")) if has else {})


def _sized(x: torch.Tensor, leaf: LeafLayer, what: str) -> None:
    if tuple(x.shape) != leaf.input_shape:
        message = f"its {what} has the shape {list(x.shape)}; in the network it gets {list(leaf.input_shape)}"
        raise ValueError(message)


def _recorded(layer: str, leaf: LeafLayer, artifact: dict[str, list[Path]]) -> Iterator[str]:
    import torch

    x = _tensor(artifact, "input", layer, "input")
    _sized(x, leaf, "input")
    if bool((x == x.flatten()[0]).all()):
        yield "its input is one value everywhere, which tells nothing of a layer: draw one"
    raw, flat = _raw(artifact, "raw", layer, "input as bytes (.bin)"), x.float().flatten()
    if not torch.equal(raw, flat):
        yield _raw_differs(raw, flat)
    golden, module = _tensor(artifact, "golden", layer, "golden output"), _made(layer, leaf, artifact)
    with torch.no_grad():
        right = module(x.float())
    if golden.shape != right.shape:
        yield f"its golden output has the shape {list(golden.shape)}, not {list(right.shape)}"
    elif (off := _off(golden, right)) > _CLOSE:
        yield _golden_differs(golden, right, x, module, off)


def _raw_differs(raw: torch.Tensor, flat: torch.Tensor) -> str:
    import torch

    if raw.numel() != flat.numel():
        wide = " (float64?)" if raw.numel() == 2 * flat.numel() else ""
        return f"its .bin has {raw.numel():,} values of float32{wide}, and its input {flat.numel():,}"
    if torch.equal(raw.sort().values, flat.sort().values):
        return "its .bin holds the values of its input in another order: write x.contiguous().numpy() as it is"
    return "its .bin holds other values than its input: save one tensor in both formats"


def _golden_differs(
    golden: torch.Tensor, right: torch.Tensor, x: torch.Tensor, module: torch.nn.Module, off: float
) -> str:
    import torch

    if _off(golden, right.relu()) <= _CLOSE:
        return (
            "its golden output is the ReLU of what it puts out: a ReLU in place has written into the tensor that was "
            "kept. Clone it, or replace the ReLU first"
        )
    with torch.no_grad():
        trained = module.train()(x.float())
    if trained.shape == golden.shape and _off(golden, trained) <= _CLOSE:
        return "its golden output is that of training: call eval() before the layer runs"
    return (
        f"its golden output is off by {off:.2g} of its largest value from what the layer makes of its recorded input "
        "with its recorded weights: run the layer by itself, on that input"
    )


def _program(layer: str, leaf: LeafLayer, artifact: dict[str, list[Path]]) -> Iterator[str]:
    import torch

    program, module = _file(artifact, "program", layer, "program (.pte)"), _made(layer, leaf, artifact)
    generator = torch.Generator().manual_seed(_SEED)
    given = [torch.randn(leaf.input_shape, generator=generator) for _ in range(2)]
    with torch.no_grad():
        right = [module(x) for x in given]
    made = _programs.run(program, given)
    if made[0].shape != right[0].shape:
        yield f"its program puts out {list(made[0].shape)}, the layer {list(right[0].shape)}"
    elif torch.equal(*made):
        yield "its program puts out the same for every input: a recorded answer is no layer"
    elif (off := max(map(_off, made, right))) > _PROGRAM_CLOSE:
        yield (
            f"its program is off by {off:.2g} of the largest value on fresh inputs: is it of this layer, in eval mode, "
            "with the weights that were handed in?"
        )


def _output(layer: str, leaf: LeafLayer, artifact: dict[str, list[Path]]) -> Iterator[str]:
    program = _file(artifact, "program", layer, "program (.pte)")
    raw, made = _raw(artifact, "raw", layer, "input (.bin)"), _raw(artifact, "made", layer, "output (.out)")
    if raw.numel() != math.prod(leaf.input_shape):
        yield f"its .bin has {raw.numel():,} values of float32, and in the network it gets {list(leaf.input_shape)}"
    (right,) = _programs.run(program, [raw.reshape(leaf.input_shape)])
    if made.numel() != right.numel():
        yield f"its .out has {made.numel():,} values of float32, and its program puts out {right.numel():,}"
    elif (off := _off(made, right.flatten())) > _PROGRAM_CLOSE:
        yield f"its .out is off by {off:.2g} of the largest value from what its program makes of its .bin: run it again"


def _off(made: torch.Tensor, right: torch.Tensor) -> float:
    """The largest difference as a share of the largest value, or the difference itself where all of that is 0."""
    made, right = made.double(), right.double()
    off, largest = float((made - right).abs().max()), float(right.abs().max())
    return off / (largest or 1) if math.isfinite(off) else math.inf


# ---- the comparison --------------------------------------------------------------------------------------------------


def _lines(path: Path) -> dict[str, str]:
    """What a table says of each layer: the first number behind a name at the beginning of a line, as it is printed."""
    text = path.read_bytes()[:1_000_000].decode("utf-8", "replace")
    found = re.findall(rf"^[\s|*`-]*([A-Za-z]\w*?_\d+)\b[\s|:=,;*`]+({_NUMBER})", text, re.MULTILINE | re.IGNORECASE)
    return {name.lower(): number.replace("_", "") for name, number in found}


def _difference(layer: str, said: dict[str, str], artifact: dict[str, list[Path]]) -> Iterator[str]:
    if layer.lower() not in said:
        yield "the table has no row of it"
        return
    printed = said[layer.lower()]
    got = float(printed)
    golden = _tensor(artifact, "golden", layer, "golden output").double().flatten()
    made = _raw(artifact, "made", layer, "output (.out)").double()
    if golden.numel() != made.numel():
        yield f"its .out has {made.numel():,} values of float32, and its golden output {golden.numel():,}"
        return
    off = golden - made
    right = float(off.abs().sum())
    if math.isclose(got, right, rel_tol=_SUM_CLOSE) or (got and abs(got - right) <= _half_a_digit(printed)):
        return
    yield f"the table says {printed}, and {_meant(got, off)}the sum of absolute differences is {right:.4g}"


def _half_a_digit(printed: str) -> float:
    """Half of one in the last digit that is printed."""
    exponent = Decimal(printed).as_tuple().exponent
    return 0.5 * 10.0**exponent if isinstance(exponent, int) else 0.0


def _meant(got: float, off: torch.Tensor) -> str:
    """What else of the differences a number is."""
    close = functools.partial(math.isclose, rel_tol=_SUM_CLOSE)
    if close(got, float(off.abs().mean())):
        return "that is their mean (the sum divided by their number); "
    if close(got, float(off.abs().max())):
        return "that is the largest of them; "
    if close(got, float(off.square().sum())) or close(got, float(off.square().mean())):
        return "that is of their squares; "
    if close(got, float(off.sum())) or close(got, -float(off.sum())):
        return "that is their sum without abs(), in which they cancel; "
    return "which a file compared with itself has, or too few digits; " if got == 0 else ""
