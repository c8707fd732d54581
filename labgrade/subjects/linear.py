"""Networks of linear layers as ONNX files, written node by node from a seed: what a tool that tiles is tried on.

`linear/layer.onnx` is one Gemm; `linear/mlp.onnx` layers with ReLU between; `linear/classifier.onnx` convolutions,
pooling, Flatten and then such layers. The options `widths` (outputs of each layer), `bias`, `spelled` (`gemm` or
`matmul`) and `opset` say more; the input's shape says the rest. `tiling` names a right or wrong tiling of the network.
"""

from __future__ import annotations

import hashlib
import itertools
from typing import TYPE_CHECKING, Any

from labgrade.subjects import tilings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import onnx

FOLDER = "linear/"
NAMES = ("linear/classifier.onnx", "linear/layer.onnx", "linear/mlp.onnx")
_DEFAULTS: Mapping[str, Any] = {"widths": None, "bias": True, "spelled": "gemm", "opset": 17, "tiling": None}
_WIDTHS = {"classifier": [90, 70, 10], "layer": [128], "mlp": [200, 130]}
_CHANNELS = (8, 12)


def make(name: str, path: Path, subject: Mapping[str, Any]) -> None:
    """Write the file `name` of `NAMES` for a subject, as the zoo takes it.

    Raises:
        ValueError: there is no such option.
    """
    import onnx

    options = subject["options"]
    if unknown := sorted(set(options) - set(_DEFAULTS)):
        message = f"'{name}' has no option '{unknown[0]}'; it has {', '.join(_DEFAULTS)}"
        raise ValueError(message)
    kind = name.removeprefix(FOLDER).removesuffix(".onnx")
    onnx.save(_Network(kind, tuple(subject["shape"]), {**_DEFAULTS, **options}, subject["weight_seed"]).model(), path)
    if options.get("tiling"):
        tilings.make(path, options["tiling"], path)


def outputs(model: str, options: Mapping[str, Any]) -> int | None:
    """How many outputs one of these networks has; None for any other model."""
    if model not in NAMES:
        return None
    widths = options.get("widths") or _WIDTHS[model.removeprefix(FOLDER).removesuffix(".onnx")]
    return int(widths[-1])


def numbered_tilings() -> dict[str, str]:
    """File names that say nothing, and the right and wrong tilings that they stand for, in no order."""
    shuffled = sorted(tilings.NAMES, key=lambda name: hashlib.sha256(name.encode()).digest())
    return {f"transformed_{number:02}.onnx": name for number, name in enumerate(shuffled, start=1)}


class _Network:
    """One network being written."""

    def __init__(self, kind: str, shape: tuple[int, ...], options: Mapping[str, Any], seed: int) -> None:
        import numpy as np

        self._kind, self._shape, self._options = kind, shape, options
        self._widths = [int(width) for width in options["widths"] or _WIDTHS[kind]]
        self._random = np.random.default_rng(seed)
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []
        self._names = (f"t{number}" for number in itertools.count())

    def model(self) -> onnx.ModelProto:
        """The network as a model with the input `input` and the output `output`."""
        from onnx import TensorProto, helper

        features, depth = self._features() if self._kind == "classifier" else ("input", self._shape[-1])
        last = self._layers(features, depth)
        self._nodes.append(helper.make_node("Identity", [last], ["output"], name="/Identity"))
        graph = helper.make_graph(
            self._nodes,
            self._kind,
            [helper.make_tensor_value_info("input", TensorProto.FLOAT, self._shape)],
            [helper.make_tensor_value_info("output", TensorProto.FLOAT, [self._shape[0], self._widths[-1]])],
            self._weights,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self._options["opset"])], ir_version=8)

    def _features(self) -> tuple[str, int]:
        at, channels, side = "input", self._shape[1], self._shape[2]
        for number, width in enumerate(_CHANNELS):
            inputs = [at, self._draw("conv_w", width, channels, 3, 3), self._draw("conv_b", width)]
            name = f"/features/features.{3 * number}"
            at = self._add("Conv", inputs, f"{name}/Conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
            at = self._add("Relu", [at], f"/features/features.{3 * number + 1}/Relu")
            name = f"/features/features.{3 * number + 2}"
            at = self._add("MaxPool", [at], f"{name}/MaxPool", kernel_shape=[2, 2], strides=[2, 2])
            channels, side = width, side // 2
        return self._add("Flatten", [at], "/Flatten", axis=1), channels * side * side

    def _layers(self, at: str, depth: int) -> str:
        for number, width in enumerate(self._widths):
            at = self._layer(at, depth, width, f"/classifier/classifier.{2 * number}")
            depth = width
            if number < len(self._widths) - 1:
                at = self._add("Relu", [at], f"/classifier/classifier.{2 * number + 1}/Relu")
        return at

    def _layer(self, at: str, depth: int, width: int, name: str) -> str:
        bias = [self._draw("b", width)] if self._options["bias"] else []
        if self._options["spelled"] == "gemm":
            return self._add("Gemm", [at, self._draw("w", width, depth), *bias], f"{name}/Gemm", transB=1)
        product = self._add("MatMul", [at, self._draw("w", depth, width)], f"{name}/MatMul")
        return self._add("Add", [product, *bias], f"{name}/Add") if bias else product

    def _add(self, op: str, inputs: list[str], name: str, **attributes: Any) -> str:
        from onnx import helper

        out = next(self._names)
        self._nodes.append(helper.make_node(op, inputs, [out], name=name, **attributes))
        return out

    def _draw(self, word: str, *shape: int) -> str:
        from onnx import numpy_helper

        name = f"{word}_{len(self._weights)}"
        values = self._random.standard_normal(shape, dtype="float32") / max(shape[-1], 1) ** 0.5
        self._weights.append(numpy_helper.from_array(values.astype("float32"), name))
        return name
