"""`labgrade compute --file`: what is typed of a file's inputs, and a 0 that a convention explains."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper, parser

from labgrade.cli import main

pytestmark = pytest.mark.slow

RATE = """<ir_version: 8, opset_import: ["": 17]> g (float[N,4] x, int64 sr, float[4,2] w, float[4,7] v) => (float y) {
    s = Constant<value = int64 {16000}>() q = Equal(sr, s)
    y = If(q) <then_branch = t () => (float a) { a = MatMul(x, w) },
               else_branch = e () => (float b) { b = MatMul(x, v) }>
}"""


@pytest.fixture
def rate(tmp_path):
    path = tmp_path / "rate.onnx"
    onnx.save(parser.parse_model(RATE), path)
    return ["compute", "onnx_macs", "--file", str(path)]


def test_inputs_are_typed_by_place_by_name_and_by_value(rate, capsys):
    assert main([*rate, "--input", "3,4", "--input", "sr=16000"]) == 0
    assert capsys.readouterr().out == "24\n"
    assert main([*rate, "--input", "sr=8000", "--input", "x=3x4:ones"]) == 0  # how it is filled matters to no size
    assert capsys.readouterr().out == "84\n"


def test_what_does_not_fit_is_an_error_in_words(rate, capsys):
    assert main([*rate, "--input", "7,7,7"]) == 2
    assert "'rate.onnx': the input 7,7,7 fits none of the file's: it has 'x' [N, 4], 'sr' []" in capsys.readouterr().err
    assert main([*rate, "--input", "3,4", "--input", "rate=16000"]) == 2
    assert "the file has no input 'rate'" in capsys.readouterr().err
    assert main([*rate, "--input", "3,4"]) == 2
    assert "depends on data (no value is said for the input 'sr')" in capsys.readouterr().err


def test_a_zero_that_another_convention_would_not_give_says_so(tmp_path, capsys):
    weight = numpy_helper.from_array(np.zeros((4, 3), np.float32), "w")
    nodes = [helper.make_node("Constant", [], ["w"], value=weight), helper.make_node("MatMul", ["x", "w"], ["y"])]
    infos = [helper.make_tensor_value_info(name, 1, shape) for name, shape in (("x", [2, 4]), ("y", [2, 3]))]
    path = tmp_path / "held.onnx"
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", infos[:1], infos[1:])), path)
    asked = ["compute", "onnx_parameters", "--file", str(path)]
    assert main(asked) == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == ("0\n", "with --set constants=true it is 12\n")
    assert main([*asked, "--set", "constants=true"]) == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == ("12\n", "")
