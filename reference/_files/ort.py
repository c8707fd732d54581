"""Models in ONNX Runtime's own format as ONNX models, by the published schema (ort.fbs): nodes in an order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from .flat import DamagedError, Table, opened

if TYPE_CHECKING:
    from pathlib import Path

_KEPT_BYTES = 8192  # of values that shapes may depend on, as of an ONNX file
_KINDS = 10  # of attributes: from a number to graphs
_MOST_DEPTH = 32  # of graphs within graphs
_TENSOR_TYPE, _SIZE, _NAME = 1, 1, 2  # kinds of types and of dimensions


def model(path: Path) -> onnx.ModelProto:
    """The model of an `.ort` file, without payloads over 8 KiB.

    Raises:
        ValueError: it is damaged.
    """
    with opened(path, "model in ONNX Runtime's own format") as buffer:
        table = buffer.root().table(1)
        graph = table.table(7) if table is not None else None
        if table is None or graph is None:
            message = "it has no graph"
            raise DamagedError(message)
        made = onnx.ModelProto(ir_version=max(1, int(table.number(0, "q"))))
        for each in table.tables(1):
            made.opset_import.add(domain=each.text(0), version=each.number(1, "q"))
        _graph(graph, made.graph, 0)
    return made


def _graph(table: Table, made: onnx.GraphProto, depth: int) -> None:
    if depth > _MOST_DEPTH:
        message = f"its graphs are nested more than {_MOST_DEPTH} deep"
        raise DamagedError(message)
    made.name = "graph"
    for each in table.tables(0):
        _tensor(each, made.initializer.add())
    infos = {each.text(0): each for each in table.tables(1)}
    for field, values in ((5, made.input), (6, made.output)):
        for name in table.texts(field):
            _info(name, infos.get(name), values.add())
    steps = [(each.texts(8) + each.texts(12), each.texts(9), each) for each in table.tables(2)]
    for _, outputs, each in _in_order(steps):
        _node(each, outputs, made.node.add(), depth)


def _in_order(steps: list[tuple[list[str], list[str], Table]]) -> list[tuple[list[str], list[str], Table]]:
    """The nodes, each behind those whose outputs it takes: the file has them as they were made."""
    maker = {name: at for at, (_, outputs, _) in enumerate(steps) for name in outputs if name}
    waits = [{maker[name] for name in inputs if name in maker} - {at} for at, (inputs, _, _) in enumerate(steps)]
    users: dict[int, list[int]] = {}
    for at, before in enumerate(waits):
        for each in before:
            users.setdefault(each, []).append(at)
    ready, ordered = [at for at, before in enumerate(waits) if not before], []
    ready.reverse()
    while ready:
        at = ready.pop()
        ordered.append(steps[at])
        for user in users.get(at, ()):
            waits[user].discard(at)
            if not waits[user]:
                ready.append(user)
    if len(ordered) < len(steps):
        message = "its nodes wait for each other"
        raise DamagedError(message)
    return ordered


def _node(table: Table, outputs: list[str], made: onnx.NodeProto, depth: int) -> None:
    made.name, made.domain, made.op_type = table.text(0), table.text(2), table.text(5)
    made.input.extend(table.texts(8))
    made.output.extend(outputs)
    for each in table.tables(10):
        _attribute(each, made.attribute.add(), depth)


def _attribute(table: Table, made: onnx.AttributeProto, depth: int) -> None:
    kind = int(table.number(2, "i"))
    if kind not in range(1, _KINDS + 1):
        message = f"an attribute has the type {kind}"
        raise DamagedError(message)
    made.name, made.type = table.text(0), kind  # type: ignore[assignment]
    made.f, made.i = table.number(3, "f", 0.0), table.number(4, "q")
    made.s = table.text(5).encode()
    made.floats.extend(table.numbers(8, "f"))
    made.ints.extend(table.numbers(9, "q"))
    made.strings.extend(each.encode() for each in table.texts(10))
    tensor, graph = table.table(6), table.table(7)
    if tensor is not None:
        _tensor(tensor, made.t)
    if graph is not None:
        _graph(graph, made.g, depth + 1)
    for each in table.tables(11):
        _tensor(each, made.tensors.add())
    for each in table.tables(12):
        _graph(each, made.graphs.add(), depth + 1)


def _tensor(table: Table, made: onnx.TensorProto) -> None:
    made.name, made.data_type = table.text(0), int(table.number(3, "i"))
    made.dims.extend(table.numbers(2, "q"))
    if made.data_type == onnx.TensorProto.STRING:
        made.string_data.extend(each.encode() for each in table.texts(5))
    elif (content := table.content(4, _KEPT_BYTES)) is not None and not table.number(6, "q", -1) >= 0:
        made.raw_data = content
    else:
        made.data_location = onnx.TensorProto.EXTERNAL


def _info(name: str, table: Table | None, made: onnx.ValueInfoProto) -> None:
    made.name = name
    about = table.table(2) if table is not None else None
    if about is None or about.number(1, "B") != _TENSOR_TYPE or (value := about.table(2)) is None:
        return
    made.type.tensor_type.elem_type = int(value.number(0, "i"))
    shape = value.table(1)
    if shape is None:
        return
    made.type.tensor_type.shape.SetInParent()
    for each in shape.tables(0):
        dimension, size = made.type.tensor_type.shape.dim.add(), each.table(0)
        kind = size.number(0, "b") if size is not None else 0
        if size is not None and kind == _SIZE:
            dimension.dim_value = size.number(1, "q")
        elif size is not None and kind == _NAME:
            dimension.dim_param = size.text(2)
