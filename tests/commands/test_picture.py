"""`labgrade picture`: what is folded and what is not, and that a student's names act on nothing."""

from __future__ import annotations

import shutil
from xml.etree import ElementTree as ET

import onnx
import pytest
from onnx import TensorProto, helper

from labgrade.authoring import graph_picture
from labgrade.authoring.graph_picture import Node
from labgrade.cli import main
from labgrade.commands import picture
from labgrade.core.errors import FaultError, UsageError
from tests.reports.gallery import PAYLOADS

pytestmark = pytest.mark.slow

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="no graphviz here; apt-get install graphviz")


def node(operator, reads, writes, *weights):
    return Node(name=writes, operator=operator, inputs=tuple(reads.split()), outputs=(writes,), weights=weights)


def tiled(layers=1, down=10, across=10):
    """Each layer: a split, down x across products, a sum for each column, a concat."""
    nodes = []
    for layer in range(layers):
        x = f"y{layer - 1}" if layer else "x"
        parts = tuple(f"p{layer}.{k}" for k in range(down))
        nodes.append(Node(name="", operator="Split", inputs=(x,), outputs=parts))
        for n in range(across):
            nodes += [node("MatMul", parts[k], f"m{layer}.{k}.{n}", (64, 64)) for k in range(down)]
            nodes.append(node("Sum", " ".join(f"m{layer}.{k}.{n}" for k in range(down)), f"s{layer}.{n}"))
        nodes.append(node("Concat", " ".join(f"s{layer}.{n}" for n in range(across)), f"y{layer}"))
    return nodes


def shown(nodes, **more):
    return [(box.operator, box.count) for box in graph_picture.fold(nodes, **more).boxes]


def test_a_small_graph_is_drawn_node_by_node():
    branches = [
        node("Conv", "x", "a", (64, 3, 7, 7)),
        node("Conv", "a", "b"),
        node("Conv", "a", "c"),
        node("Concat", "b c", "d"),
    ]
    drawn = graph_picture.fold(branches)
    assert [(box.operator, box.name, box.count) for box in drawn.boxes] == [
        ("Conv", "a", 1),
        ("Conv", "b", 1),
        ("Conv", "c", 1),
        ("Concat", "d", 1),
    ]
    assert dict(drawn.arrows) == {(0, 1): 1, (0, 2): 1, (1, 3): 1, (2, 3): 1}
    assert drawn.inputs == [("x", 0)]
    assert drawn.outputs == [(3, "d")]


def test_each_tiled_layer_becomes_a_box_for_each_operator():
    drawn = graph_picture.fold(tiled(layers=2))
    one = [("Split", 1), ("MatMul", 100), ("Sum", 10), ("Concat", 1)]
    assert [(box.operator, box.count) for box in drawn.boxes] == one * 2
    assert drawn.boxes[1].shapes == (((64, 64), 100),)
    assert drawn.arrows[0, 1] == 10
    assert drawn.arrows[1, 2] == 100
    assert drawn.arrows[3, 4] == 1


def test_what_stands_side_by_side_in_large_numbers_is_folded_though_it_is_little():
    assert shown(tiled(down=4, across=3)) == [("Split", 1), ("MatMul", 12), ("Sum", 3), ("Concat", 1)]
    assert len(shown(tiled(down=2, across=2))) == 8


def test_no_node_is_lost_however_long_the_graph():
    chain = [node("Relu", f"t{n}", f"t{n + 1}") for n in range(5000)]
    drawn = graph_picture.fold(chain)
    assert len(drawn.boxes) <= graph_picture.MOST_BOXES
    assert sum(box.count for box in drawn.boxes) == 5000
    blocks = tiled(layers=100, down=3, across=3)
    assert len(shown(blocks)) <= graph_picture.MOST_BOXES
    assert sum(count for _, count in shown(blocks)) == len(blocks)


def test_fourteen_thousand_products_fit_on_a_page_at_once():
    drawn = graph_picture.fold(tiled(layers=3, down=96, across=50))
    assert len(drawn.boxes) == 12
    assert sum(box.count for box in drawn.boxes if box.operator == "MatMul") == 14_400


def test_nodes_out_of_order_and_in_a_circle_are_drawn_all_the_same():
    nodes = [node("B", "a", "b"), node("A", "x", "a"), node("C", "d", "c"), node("D", "c", "d"), node("E", "e", "e")]
    drawn = graph_picture.fold(nodes)
    assert sorted(box.operator for box in drawn.boxes) == ["A", "B", "C", "D", "E"]
    names = [box.operator for box in drawn.boxes]
    assert (names.index("A"), names.index("B")) in drawn.arrows


def test_a_graph_of_nothing():
    assert graph_picture.fold([]).boxes == ()


@needs_dot
@pytest.mark.parametrize("payload", [*PAYLOADS, '"] evil [label="', "\\N\\G\\", "&lt;b&gt;", ""])
def test_names_act_on_nothing(payload):
    nodes = [Node(name=payload, operator=payload, inputs=(payload + "x",), outputs=("y" + payload,))]
    root = ET.fromstring(graph_picture.svg(graph_picture.fold(nodes), payload))
    kinds = {element.tag.partition("}")[2] for element in root.iter()}
    assert kinds <= {"svg", "g", "title", "text", "polygon", "path", "a", "ellipse"}
    assert [child for child in root.iter() if child.get("{http://www.w3.org/1999/xlink}href")] == []
    assert len([each for each in root.iter() if (each.get("class") or "") == "node"]) == 3


def test_without_graphviz_it_says_what_to_do(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(UsageError, match="its 'dot' is not here: apt-get install graphviz"):
        graph_picture.svg(graph_picture.fold([]), "")


def test_a_dot_that_fails_is_a_fault_of_ours(monkeypatch, tmp_path):
    broken = tmp_path / "dot"
    broken.write_text("#!/bin/sh\necho no >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setattr("shutil.which", lambda _: str(broken))
    with pytest.raises(FaultError, match="'dot' failed: no"):
        graph_picture.svg(graph_picture.fold([]), "")


# ---- the command -----------------------------------------------------------------------------------------------


def model(path):
    weight = helper.make_tensor("w", TensorProto.FLOAT, [3, 2], [0.0] * 6)
    inner = helper.make_graph(
        [helper.make_node("Identity", ["outer"], ["inner"])],
        "then",
        [],
        [helper.make_tensor_value_info("inner", TensorProto.FLOAT, None)],
    )
    nodes = [
        helper.make_node("Constant", [], ["yes"], value=helper.make_tensor("c", TensorProto.BOOL, [], [True])),
        helper.make_node("MatMul", ["x", "w"], ["outer"], name="product"),
        helper.make_node("If", ["yes"], ["y"], then_branch=inner, else_branch=inner),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", [x], [y], [weight])), path)


@needs_dot
def test_a_file_is_drawn(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    model(tmp_path / "own.onnx")
    assert main(["picture", "own.onnx"]) == 0
    assert capsys.readouterr().out == "own.svg: 2 nodes in 2 boxes\n"
    text = (tmp_path / "own.svg").read_text(encoding="utf-8")
    words = [element.text for element in ET.fromstring(text).iter() if element.tag.endswith("text")]
    assert sorted(words) == ["If", "MatMul", "own.onnx: 2 nodes, 1 product of matrices", "weights 3x2", "x", "y"]
    assert main(["picture", "own.onnx", "--out", "-"]) == 0
    assert capsys.readouterr().out.startswith("<?xml")


def test_what_a_graph_is_drawn_from(tmp_path):
    model(tmp_path / "own.onnx")
    assert picture._nodes(tmp_path / "own.onnx") == [
        Node(name="product", operator="MatMul", inputs=("x",), outputs=("outer",), weights=((3, 2),)),
        Node(name="y", operator="If", inputs=("outer",), outputs=("y",)),
    ]


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (None, [], "there is no file 'own.onnx'"),
        (b"{}", [], "'own.onnx': this is not an ONNX model: it is JSON, not a model"),
        (b"x", ["--out", "nowhere/x.svg"], "--out nowhere/x.svg: there is no folder 'nowhere'"),
    ],
)
def test_what_cannot_be_drawn_is_a_sentence(tmp_path, monkeypatch, capsys, content, arguments, message):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / "own.onnx").write_bytes(content)
    assert main(["picture", "own.onnx", *arguments]) == 2
    assert message in capsys.readouterr().err
