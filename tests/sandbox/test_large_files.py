"""Large files in the sandbox: what was handed in is the student's to change, what is given is itself and read-only.

Large results, which come back by a file.
"""

import mmap
import sys

import numpy as np
import onnx
import pytest
from helpers import warm
from onnx import TensorProto, helper, numpy_helper

from labgrade.core.task import InputSpec, Limits, SubjectSpec
from labgrade.sandbox.child.main import IN_FILE
from labgrade.sandbox.host import fork_server
from labgrade.sandbox.requests import CallRequest

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="there is a jail on Linux alone")]
SUBJECT = SubjectSpec(model="micro/any.onnx", input=InputSpec(shape=(1, 4)))
LARGE = 6 << 20


@pytest.fixture(scope="module")
def runner():
    with warm.runner() as own:
        yield own


def call(runner, folder, source, **other):
    (folder / "hw.py").write_text(source)
    request = CallRequest(folder=folder, file="hw.py", function="f", limits=Limits(seconds=20), **other)
    return runner.run(request)


def test_a_large_file_that_was_handed_in_can_be_written_again_and_deleted(runner, tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"a" * LARGE)
    source = (
        "import os\ndef f():\n    open('model.onnx', 'wb').write(b'bb')\n    size = os.path.getsize('model.onnx')\n"
        "    os.remove('model.onnx')\n    return [size, os.path.exists('model.onnx')]\n"
    )
    done = call(runner, tmp_path, source, given=(), subject=None)
    assert (done.status, done.value) == ("returned", [2, False]), done.reason
    assert (tmp_path / "model.onnx").stat().st_size == LARGE


@pytest.fixture
def with_data_beside(tmp_path):
    """A model whose weight lies in a large file beside it."""
    folder = tmp_path / "subject"
    folder.mkdir()
    weight = numpy_helper.from_array(np.ones((4, LARGE // 16), np.float32), "w")
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "xy"]
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", infos[:1], infos[1:], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, folder / "m.onnx", save_as_external_data=True, location="m.data")
    assert (folder / "m.data").stat().st_size > LARGE - 1
    return {name: folder / name for name in ("m.onnx", "m.data")}


def test_a_large_model_that_is_given_can_be_loaded_and_not_changed(runner, tmp_path, with_data_beside):
    work = tmp_path / "work"
    work.mkdir()
    source = (
        "import onnx, onnxruntime, numpy\ndef f(model_path):\n"
        "    names = [each.name for each in onnx.load(model_path).graph.initializer]\n"
        "    session = onnxruntime.InferenceSession(model_path, providers=['CPUExecutionProvider'])\n"
        "    y, = session.run(None, {'x': numpy.ones((1, 4), numpy.float32)})\n"
        "    try:\n        open(model_path[:-4] + 'data', 'wb')\n    except OSError as error:\n"
        "        return [names, float(y[0, 0]), error.errno]\n"
    )
    done = call(runner, work, source, given=("model_path",), subject=SUBJECT, model=with_data_beside)
    assert done.status == "returned", done.reason
    assert done.value[:2] == [["w"], 4.0]
    assert with_data_beside["m.data"].stat().st_size > LARGE - 1


NUMBERS = 1 << 18  # of 8 bytes each
KEPT = """
import os, stat

def kept(kind):
    for n in range(3, 50):
        try:
            if kind(os.fstat(n).st_mode):
                return n
        except OSError:
            pass

"""
RETURNS = KEPT + (
    "import numpy\ndef f():\n"
    "    file = kept(stat.S_ISREG)\n"
    "    {}\n"
    f"    return {{{{'x': numpy.arange({NUMBERS}.0), 'y': file is not None}}}}\n"
)


@pytest.fixture
def grouped(runner):
    """A runner whose jobs have a file for large results."""
    with runner._servers.group(1 << 30) as group:
        if not group.entries:
            pytest.skip("no control group can be made here")
    return runner


def lies_in(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return array.obj


@pytest.mark.parametrize(
    "before", ["os.close(file)", "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))"]
)
def test_what_the_file_does_not_take_comes_by_the_pipe(grouped, tmp_path, before):
    done = call(grouped, tmp_path, RETURNS.format(before), given=(), subject=None)
    assert (done.status, done.value["y"]) == ("returned", True), done.reason
    assert done.value["x"].tolist() == list(range(NUMBERS))


def test_a_job_with_little_memory_has_no_file_that_takes_of_it(grouped, tmp_path):
    (tmp_path / "hw.py").write_text(RETURNS.format("pass"))
    limits = Limits(seconds=20, memory=1000 << 20)
    request = CallRequest(folder=tmp_path, file="hw.py", function="f", given=(), subject=None, limits=limits)
    assert grouped.run(request).value["y"] is False


@pytest.mark.parametrize("before", ["pass", "os.write(file, b'nonsense')", "os.ftruncate(file, 1 << 20)"])
def test_a_large_result_is_read_where_its_job_wrote_it(grouped, tmp_path, before):
    done = call(grouped, tmp_path, RETURNS.format(before), given=(), subject=None)
    assert (done.status, done.value["y"]) == ("returned", True), done.reason
    assert done.value["x"].tolist() == list(range(NUMBERS))
    assert isinstance(lies_in(done.value["x"]), mmap.mmap)


def test_where_no_group_holds_a_jobs_memory_it_comes_by_the_pipe(runner, tmp_path, monkeypatch):
    monkeypatch.setattr(fork_server, "_file", lambda: -1)
    done = call(runner, tmp_path, RETURNS.format("pass"), given=(), subject=None)
    assert (done.status, done.value["y"]) == ("returned", False), done.reason
    assert done.value["x"].tolist() == list(range(NUMBERS))


def test_nobody_makes_the_file_of_a_result_shorter(grouped, tmp_path):
    source = KEPT + (
        "def f():\n    file = kept(stat.S_ISREG)\n    os.ftruncate(file, 1000)\n"
        "    try:\n        os.ftruncate(file, 5)\n    except PermissionError:\n        return os.fstat(file).st_size\n"
    )
    assert call(grouped, tmp_path, source, given=(), subject=None).value == 1000


@pytest.mark.parametrize("written", [b"", b"x", bytes(99), (99).to_bytes(8, "little") + bytes(91), b"\xff" * 99])
def test_a_forged_result_in_the_file_is_refused(grouped, tmp_path, written):
    source = KEPT + (
        f"def f():\n    os.write(kept(stat.S_ISREG), {written!r})\n    os.write(kept(stat.S_ISFIFO), {IN_FILE!r})\n"
        "    os._exit(0)\n"
    )
    done = call(grouped, tmp_path, source, given=(), subject=None)
    assert done.status == "refused", done.reason
    assert done.reason.startswith("f left ")
