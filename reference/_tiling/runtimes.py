"""Two runtimes for a file: onnxruntime with its optimizations off, and ONNX's reference implementation."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import onnx
from onnx import helper

from .graph import STANDARD

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from .values import Array

_GEMM_WORDS = ("transA", "transB", "alpha", "beta")  # attributes of a declared product that change what it computes
_MOST_WORDS = 300
_SECONDS = 60.0  # of CPU
_LOOK = 0.2  # seconds between two looks at the clock
_DEEPEST = 200  # functions that call functions
_DEEPEST_COUNT = 1 << 60
WINDOWED = ("Conv", "MaxPool", "AveragePool")


class RefusedError(Exception):
    """A runtime does not take a file, in its own words. Not certain where it only lacks an implementation."""

    def __init__(self, says: str, *, is_certain: bool) -> None:
        super().__init__(says)
        self.is_certain = is_certain


def by_onnxruntime(
    model: str | bytes, feeds: Mapping[str, Array], seconds: float = _SECONDS, folder: Path | None = None
) -> dict[str, Array]:
    """The outputs of a file or a serialized model; `folder` is where the external data of the latter lies.

    Raises:
        RefusedError: onnxruntime does not take it, or takes more than these seconds of CPU.
    """
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as states

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    if folder is not None:
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(folder))
    run = onnxruntime.RunOptions()
    options.add_session_config_entry("session.disable_prepacking", "1")  # for one run it costs more than it saves
    try:
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"], enable_fallback=0)
        names = [output.name for output in session.get_outputs()]
        with _stopped_after(seconds, run):
            return dict(zip(names, session.run(names, dict(feeds), run), strict=True))
    except Exception as error:  # noqa: BLE001 - it has a type for each kind of refusal, and more to come
        if run.terminate:
            message = f"the run took more than {seconds:g} s and was stopped"
            raise RefusedError(message, is_certain=False) from None
        lacks = isinstance(error, states.NotImplemented)
        message = f"onnxruntime {'has no implementation' if lacks else 'refuses the file'}: {_said(error)}"
        raise RefusedError(message, is_certain=not lacks) from None


@contextlib.contextmanager
def _stopped_after(seconds: float, run: Any) -> Iterator[None]:
    """End a run after so much CPU time: no signal reaches Python while onnxruntime computes."""
    is_done = threading.Event()
    end = time.process_time() + seconds

    def watch() -> None:
        while not is_done.wait(_LOOK):
            if time.process_time() > end:
                run.terminate = True
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        is_done.set()
        watcher.join()


def inlined(model: onnx.ModelProto) -> int:
    """How many nodes a graph has once every call of a function is its nodes, which is how onnxruntime loads it."""
    bodies = {(function.domain, function.name): function.node for function in model.functions}
    known: dict[tuple[str, str], int] = {}

    def count(nodes: Iterable[onnx.NodeProto], depth: int) -> int:
        return sum(1 + of(node, depth) for node in nodes)

    def of(node: onnx.NodeProto, depth: int) -> int:
        key = (node.domain, node.op_type)
        if key in bodies and key not in known:
            known[key] = _DEEPEST_COUNT if depth > _DEEPEST else count(bodies[key], depth + 1)
        inner = [attribute.g for attribute in node.attribute if attribute.HasField("g")]
        return known.get(key, 0) + sum(count(graph.node, depth) for graph in inner)

    return count(model.graph.node, 0)


def _said(error: Exception) -> str:
    words = " ".join(str(error).split())
    if words.startswith("[ONNXRuntimeError]"):
        words = words.split(" : ", 3)[-1]  # behind its name, a number and the number's name
    return words[:_MOST_WORDS]


def by_reference(
    model: onnx.ModelProto, feeds: Mapping[str, Array], declared: frozenset[str], *, quickly: bool = False
) -> dict[str, Array]:
    """Every tensor of a model's graph, by ONNX's reference implementation; a declared product is numpy's matmul.

    `quickly`: operators of `WINDOWED`, which it loops over in Python, are run by onnxruntime.
    """
    from onnx.reference import ReferenceEvaluator

    used = {(node.domain, node.op_type) for node in nodes_of(model) if is_declared(node, declared)}
    known = {(function.domain, function.name) for function in model.functions}
    operators = [_operator(domain, name) for domain, name in sorted(used - known)]
    operators += [_by_onnxruntime(name) for name in WINDOWED] if quickly else []
    evaluator = ReferenceEvaluator(model, new_ops=operators)
    return cast("dict[str, Array]", evaluator.run(None, dict(feeds), intermediate=True))


def is_declared(node: onnx.NodeProto, declared: frozenset[str]) -> bool:
    """Whether the course declares what a node's operator means."""
    return node.op_type in declared or f"{node.domain}::{node.op_type}" in declared


def nodes_of(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """Every node of a model: of its graph, of the graphs inside nodes, of its functions."""
    waiting = [*model.graph.node, *(node for function in model.functions for node in function.node)]
    while waiting:
        node = waiting.pop()
        yield node
        for attribute in node.attribute:
            waiting += attribute.g.node
            waiting += [inner for graph in attribute.graphs for inner in graph.node]


def _operator(domain: str, name: str) -> type:
    from onnx.reference.op_run import OpRun

    def compute(_: Any, left: Array, right: Array, bias: Array | None = None, **words: Any) -> tuple[Array]:
        left = left.T if words.get("transA") else left
        right = right.T if words.get("transB") else right
        made = np.matmul(left, right) * np.float32(words.get("alpha", 1.0))
        return (made if bias is None else made + bias * np.float32(words.get("beta", 1.0)),)

    return type(name, (OpRun,), {"op_domain": domain, "_run": compute})


def _by_onnxruntime(name: str) -> type:
    """An operator of ONNX that the reference implementation leaves to onnxruntime."""
    from onnx.reference.op_run import OpRun

    def compute(self: Any, *operands: Array, **_: Any) -> tuple[Array, ...]:
        node = onnx.NodeProto.FromString(self.onnx_node.SerializeToString())
        feeds = dict(zip(node.input, operands, strict=True))
        given = [helper.make_tensor_value_info(each, onnx.TensorProto.FLOAT, v.shape) for each, v in feeds.items()]
        made = [helper.make_tensor_value_info(each, onnx.TensorProto.FLOAT, None) for each in node.output]
        imports = [helper.make_opsetid("", self.run_params["opsets"].get("", 17))]
        alone = helper.make_model(helper.make_graph([node], name, given, made), opset_imports=imports, ir_version=8)
        return tuple(by_onnxruntime(alone.SerializeToString(), feeds).values())

    return type(name, (OpRun,), {"op_domain": "", "_run": compute})


def with_products_in_words(model: onnx.ModelProto, declared: frozenset[str]) -> onnx.ModelProto:
    """The model with declared products as MatMul, Add or Gemm; the same object where it has none."""
    known = {(function.domain, function.name) for function in model.functions}
    if not any(is_declared(node, declared) and (node.domain, node.op_type) not in known for node in nodes_of(model)):
        return model
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    bodies = [changed.graph.node, *(function.node for function in changed.functions)]
    while bodies:
        body = bodies.pop()
        bodies += [attribute.g.node for node in body for attribute in node.attribute if attribute.HasField("g")]
        for index in reversed(range(len(body))):
            if is_declared(body[index], declared) and (body[index].domain, body[index].op_type) not in known:
                _say(body, index)
    if not any(each.domain in STANDARD for each in changed.opset_import):
        changed.opset_import.append(helper.make_opsetid("", 17))
    return changed


def in_words_of(model: onnx.ModelProto, says: str, declared: frozenset[str]) -> str:
    """What a runtime says of declared products said in other words, with the operator that the student wrote."""
    written = {node.op_type for node in nodes_of(model)}
    (theirs, *_) = sorted(node.op_type for node in nodes_of(model) if is_declared(node, declared))
    for word in ("MatMul", "Gemm"):
        says = says if word in written else says.replace(word, theirs)
    return says


def _say(body: Any, index: int) -> None:
    """One declared product as the operators of ONNX that it means."""
    node = body[index]
    words = [attribute for attribute in node.attribute if attribute.name in _GEMM_WORDS]
    bias = node.input[2] if len(node.input) > 2 else ""  # noqa: PLR2004
    node.domain, node.op_type = "", "Gemm" if words else "MatMul"
    kept = [onnx.AttributeProto.FromString(attribute.SerializeToString()) for attribute in words]
    del node.attribute[:]
    node.attribute.extend(kept)
    if bias and not words:
        out = node.output[0]
        del node.input[2:]
        node.output[0] = f"{out} without its bias"
        body.insert(
            index + 1, helper.make_node("Add", [node.output[0], bias], [out], name=f"{node.name} with its bias")
        )
