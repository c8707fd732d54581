"""What an ONNX file names for its external data is found without parsing the file."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from labgrade.files.external_data import files_beside

LARGE = 9000


def tensor(name, location=None, size=LARGE):
    made = numpy_helper.from_array(np.zeros(size, np.uint8), name)
    if location is not None:
        made.ClearField("raw_data")
        made.data_location = TensorProto.EXTERNAL
        made.external_data.add(key="location", value=location)
    return made


def model(*weights, nodes=()):
    graph = helper.make_graph([*nodes], "g", [], [], [*weights])
    return helper.make_model(graph).SerializeToString()


def constant(value):
    return helper.make_node("Constant", [], ["c"], value=value)


def nested(value):
    return helper.make_node("If", ["x"], ["y"], then_branch=helper.make_graph([constant(value)], "t", [], []))


def mention(location):
    """The bytes by which a file names a location, within the payload of another tensor."""
    own = TensorProto(name="m", dims=[LARGE], data_type=TensorProto.UINT8)
    named = tensor("x", location).SerializeToString()
    own.raw_data = named + bytes(LARGE - len(named))
    return own


@pytest.fixture
def found(tmp_path):
    for name in ("first", "second", "third"):
        (tmp_path / name).write_bytes(b"")

    def look(content):
        (tmp_path / "m.onnx").write_bytes(content)
        return sorted(files_beside(tmp_path / "m.onnx"))

    return look


@pytest.mark.parametrize(
    ("content", "names"),
    [
        (model(tensor("a", "first")), ["first"]),
        (model(tensor("a"), tensor("b", "first"), tensor("c"), tensor("d", "second")), ["first", "second"]),
        (model(tensor("a", "first"), tensor("b"), nodes=[constant(tensor("c", "second"))]), ["first", "second"]),
        (model(tensor("a"), nodes=[constant(tensor("c")), nested(tensor("d", "third"))]), ["third"]),
        (model(*(tensor(f"t{at}", size=1) for at in range(50)), tensor("b", "first")), ["first"]),
        (model(tensor("a", "../first"), tensor("b", "/second"), tensor("c", "nowhere")), []),
        (model(mention("first"), tensor("b", "second")), ["second"]),  # what a payload holds names nothing
        (model(tensor("a", "first"), tensor("b"))[:-4], ["first"]),
        (model(tensor("a"), tensor("b", "first")) + b"\x07\x07", ["first"]),
        (b"\x0b" + model(tensor("a"), tensor("b", "first")), ["first"]),
        (b"\xff" * 40 + model(tensor("b", "first")), ["first"]),
        (b"", []),
        (b"\x3a", []),
        (b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", []),
    ],
    ids=range(14),
)
def test_locations_are_found_wherever_they_stand(found, content, names):
    assert found(content) == names


def test_a_file_that_is_cut_anywhere_is_looked_at_to_its_end(found):
    content = model(tensor("a"), tensor("b", "first"), nodes=[nested(tensor("d", "second"))])
    onnx.load_from_string(content)
    for end in range(0, len(content), 37):
        assert set(found(content[:end])) <= {"first", "second"}
