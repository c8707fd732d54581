"""Weights that a server has ready: a fork copies nothing of them, and no job changes another's."""

import json
import mmap
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from labgrade.core.task import InputSpec, Limits, SubjectSpec
from labgrade.sandbox.child.subject import Shelf
from labgrade.sandbox.host.branch import BlankWeights, _seems_to_run, _text_of, can_be_blank
from labgrade.sandbox.requests import CallRequest, Ready
from labgrade.sandbox.runner import Runner
from labgrade.subjects import models

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="servers are warm on Linux alone")]
SHAPE = (1, 3, 64, 64)


class Tied(torch.nn.Module):
    """4 MiB of weights by themselves, and two tensors that share theirs."""

    def __init__(self):
        super().__init__()
        self.alone = torch.nn.Parameter(torch.arange(1 << 20, dtype=torch.float32))
        self.one = torch.nn.Parameter(torch.ones(1 << 20))
        self.other = torch.nn.Parameter(self.one.detach())
        self.register_buffer("count", torch.tensor(3))


def prepared(module):
    """A module, as a server has it ready."""
    zoo = SimpleNamespace(Subject=lambda **_: SimpleNamespace(with_weights=lambda: (module, None)))
    shelf = Shelf(lambda: zoo)
    shelf.prepare({"shape": [1]})
    return module


def is_in_a_file(tensor):
    """Whether a tensor's memory is that of a file without a name, of which this process has pages of its own."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        place, rights, *_ = line.split()
        first, last = (int(end, 16) for end in place.split("-"))
        if first <= tensor.data_ptr() < last:
            return "/memfd:weights" in line and rights == "rw-p"
    return False


def test_a_module_is_as_it_was_with_its_weights_elsewhere():
    module = prepared(Tied())
    assert is_in_a_file(module.alone)
    assert not is_in_a_file(module.one)
    assert torch.equal(module.alone, torch.arange(1 << 20, dtype=torch.float32))
    assert module.alone.untyped_storage().nbytes() == 4 << 20
    assert (module.count, module.count.shape) == (3, ())
    module.one.data[5] = 7
    assert module.other[5] == 7


def test_the_file_can_be_changed_by_nobody():
    module = prepared(Tied())
    for line in Path("/proc/self/maps").read_text().splitlines():
        if "/memfd:weights" in line and int(line.partition("-")[0], 16) <= module.alone.data_ptr():
            place = Path("/proc/self/map_files", line.split()[0])
    try:
        file = os.open(place, os.O_RDWR)
    except PermissionError:
        pytest.skip("only root may open a file by where it is mapped")
    try:
        for change in (lambda: os.pwrite(file, b"x", 0), lambda: os.truncate(file, 0), lambda: mmap.mmap(file, 4096)):
            with pytest.raises(PermissionError):
                change()
    finally:
        os.close(file)


def test_few_weights_stay_where_they_are():
    assert not is_in_a_file(prepared(torch.nn.Linear(64, 64)).weight)


@pytest.mark.parametrize("given", [("model",), ("model", "input")])
def test_weights_may_be_given_a_larger_storage(tmp_path, given):
    """Which torch refuses of memory that is mapped: then the child builds them itself."""
    (tmp_path / "hw.py").write_text(
        "def f(model, *_):\n"
        "    weight = next(model.parameters()).data\n"
        "    weight.resize_(2 * weight.numel())\n"
        "    return list(weight.shape)\n"
    )
    subject = SubjectSpec(model="torchvision/squeezenet1_1", input=InputSpec(shape=SHAPE))
    ask = {"folder": tmp_path, "file": "hw.py", "function": "f", "given": given, "limits": Limits()}
    with Runner() as runner:
        done = runner.run(CallRequest(subject=subject, **ask))
    assert (done.status, done.value, done.reason) == ("returned", [2 * 64 * 3 * 3 * 3], "")


def test_what_a_call_writes_into_its_weights_no_other_call_sees(tmp_path):
    (tmp_path / "hw.py").write_text(
        "def f(model):\n"
        "    found = [float(each.sum()) for each in model.parameters()]\n"
        "    for each in model.parameters():\n"
        "        each.data.zero_()\n"
        "    return found\n"
    )
    subject = SubjectSpec(model="torchvision/squeezenet1_1", input=InputSpec(shape=SHAPE))
    ask = {"folder": tmp_path, "file": "hw.py", "function": "f", "given": ("model",), "limits": Limits()}
    with Runner() as runner:
        first, second = [runner.run(CallRequest(subject=subject, **ask)).value for _ in range(2)]
    own, _ = models.Subject(model=subject.model, shape=SHAPE).with_weights()
    assert first == second == pytest.approx([float(each.detach().sum()) for each in own.parameters()], rel=1e-3)


READS = """
import os, time, torch
from labgrade.sandbox.child.subject import _move_to_file
from labgrade.sandbox.jail.usage import Meter, end_descendants

model = torch.nn.Linear(1 << 24, 1, bias=False)
_move_to_file(model)
(go, begin), (ours, theirs) = os.pipe(), os.pipe()
pid = os.fork()
if not pid:
    os.read(go, 1)
    os.fork()
    held = float(model.weight.data.sum()), b"x" * (12 << 20)
    os.write(theirs, b"!")
    time.sleep(60)
meter = Meter(pid, shared_with=os.getpid())
os.write(begin, b"!")
os.read(ours, 1), os.read(ours, 1)
print([bool(meter.excess(60, size << 20)) for size in (16, 48)])
end_descendants(os.getpid())
"""


def test_weights_that_a_job_reads_are_not_memory_that_it_takes():
    """Two processes of it make 24 MiB of their own, beside 64 MiB that both are given."""
    done = subprocess.run([sys.executable, "-c", READS], check=True, capture_output=True, text=True)
    assert done.stdout == "[True, False]\n"


def test_weights_that_one_server_has_drawn_another_takes_from_their_file():
    """The module is the same to the last bit, and nothing can be written into the file."""
    wanted = {"model": "torchvision/squeezenet1_1", "shape": [1], "options": {}, "weight_seed": 3}
    first, second, third = (Shelf(lambda: models) for _ in range(3))
    (file,) = first.prepare(wanted)
    with pytest.raises(OSError, match="not permitted"):
        os.pwrite(file, b"\xff" * 8, 0)
    before = torch.get_rng_state()
    assert second.prepare(wanted, [file]) == []
    assert torch.equal(torch.get_rng_state(), before)
    modules = [shelf._ready[0][1].with_weights()[0] for shelf in (first, second)]
    drawn, taken = (module.state_dict() for module in modules)
    assert list(drawn) == list(taken)
    assert all(torch.equal(each, taken[name]) and is_in_a_file(taken[name]) for name, each in drawn.items())
    assert repr(modules[0]) == repr(modules[1])
    assert [each.requires_grad for each in modules[0].parameters()] == [
        each.requires_grad for each in modules[1].parameters()
    ]
    assert third.prepare({**wanted, "model": "torchvision/resnet18"}, [file]) == [], "of another network they are drawn"
    own, _ = models.Subject(model="torchvision/resnet18", shape=(1,), weight_seed=3).with_weights()
    assert torch.equal(third._ready[0][1].with_weights()[0].fc.weight, own.fc.weight)
    os.close(file)


def test_of_a_network_of_a_courses_own_no_file_is_handed_on():
    """What its code draws may lie elsewhere than in its weights."""
    code = {
        "net": "import torch\nclass Net(torch.nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.fc = torch.nn.Linear(2048, 1024)\n"
        "    def forward(self, x):\n        return self.fc(x)\n"
        "def net():\n    return Net()\n"
    }
    shelf = Shelf(lambda: models)
    assert shelf.prepare({"model": "net/net", "shape": [1, 2048], "code": code}) == []
    assert is_in_a_file(shelf._ready[0][1].with_weights()[0].fc.weight)


def test_a_server_draws_the_weights_of_a_network_once_for_all_of_its_branches(tmp_path, monkeypatch):
    (tmp_path / "hw.py").write_text("def f(model):\n    return float(model.classifier[1].weight.detach().sum())\n")
    subject = SubjectSpec(model="torchvision/squeezenet1_1", input=InputSpec(shape=SHAPE))
    ask = {"folder": tmp_path, "file": "hw.py", "function": "f", "given": ("model",), "limits": Limits()}
    own, _ = models.Subject(model=subject.model, shape=SHAPE).with_weights()
    expected = pytest.approx(float(own.classifier[1].weight.detach().sum()), rel=1e-3)
    with Runner() as runner:
        assert runner.run(CallRequest(subject=subject, **ask)).value == expected
        server = runner._servers.get("students")
        (file,) = server._weights._files.values()
        assert runner.run_each(CallRequest(subject=None, attempt=True, **ask), [(subject, {})]) == [expected]
        assert len(server._branches) == 2
        assert list(server._weights._files.values()) == [file], "the second branch has made none"
        monkeypatch.setattr("labgrade.sandbox.host.branch._MOST_BYTES", 1 << 20)
        server._weights._keep("large", os.dup(file))
        assert not server._weights._files, "beyond the bound none is kept"
    assert not server._weights._files


COUNTS = "def f(model):\n    return sum(each.numel() for each in model.parameters())\n"
TELLS = {
    "a sum": "float(model.classifier[1].weight.detach().double().sum())",
    "one value, whatever comes": "f_or_none(model)",
    "a copy": "float(__import__('copy').deepcopy(model).features[0].weight.detach()[0, 0, 0, 0])",
    "what a call gives": "float(model(__import__('torch').ones(1, 3, 64, 64)).detach().abs().sum())",
    "a file's size, and what is in it": "saved(model)",
    "a child's": "in_a_child(model)",
}
HELPS = """
import io, os, torch
def f_or_none(model):
    try:
        return float(model.features[0].weight.detach().flatten()[-1])
    except BaseException:
        return None
def saved(model):
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    return sum(file.getvalue())
def in_a_child(model):
    ours, theirs = os.pipe()
    if not os.fork():
        os.write(theirs, model.features[0].weight.detach().numpy().tobytes()[:64])
        os._exit(0)
    os.wait()
    return list(os.read(ours, 64))
"""


def squeezenet(runner, folder, text, **changes):
    (folder / "hw.py").write_text(text)
    subject = SubjectSpec(model="torchvision/squeezenet1_1", input=InputSpec(shape=SHAPE))
    ask = {"folder": folder, "file": "hw.py", "function": "f", "given": ("model",), "limits": Limits()}
    return runner.run(CallRequest(**{"subject": subject, **ask, **changes}))


def test_no_weights_are_drawn_for_functions_that_read_none(tmp_path):
    with Runner() as runner:
        assert squeezenet(runner, tmp_path, COUNTS).value == 1_235_496
        server = runner._servers.get("students")
        ((_, branch),) = server._branches.items()
        assert branch.serves(blank=True)
        assert not branch.serves(blank=False)
        assert (len(branch.blank), branch.bytes, list(server._weights._files)) == (1, 0, [])
        named = "def f(model):\n    return [name for name, _ in model.named_parameters()][0]\n"
        assert squeezenet(runner, tmp_path, named).value == "features.0.weight"
        assert list(server._branches.values()) == [branch], "one serves them all"
        # Whoever asks for a branch of its own, as another grader does, gets weights.
        server.lend(Ready([json.loads(text) for text in branch.ready], blank=True), lambda _: None)
        (lent,) = server._branches.values()
        assert (lent.blank, len(server._weights._files)) == ([], 1)


@pytest.mark.parametrize("expression", TELLS.values(), ids=TELLS)
def test_a_function_that_reads_weights_gets_them_though_others_do_not(tmp_path, monkeypatch, expression):
    monkeypatch.setattr("labgrade.sandbox.host.branch._seems_to_run", lambda *_: False)
    text = f"{HELPS}\ndef f(model):\n    return {expression}\n"
    own, _ = models.Subject(model="torchvision/squeezenet1_1", shape=SHAPE).with_weights()
    names = {"model": own, "SHAPE": SHAPE}
    exec(HELPS, names)  # noqa: S102 - lines of ours
    expected = eval(expression, names)  # noqa: S307
    with Runner() as runner:
        squeezenet(runner, tmp_path, COUNTS)
        for _ in range(2):
            done = squeezenet(runner, tmp_path, text)
            assert (done.status, done.value) == ("returned", pytest.approx(expected, rel=1e-5))
        server = runner._servers.get("students")
        assert len(server._weights._files) == 1


def test_what_another_job_reads_meanwhile_is_no_reason_to_end_it(tmp_path):
    """Both run on weights that are not drawn; the one that reads is begun anew elsewhere, and so may be the other."""
    waits = "import time\ndef f(model):\n    time.sleep(2)\n    return sum(p.numel() for p in model.parameters())\n"
    reads = "def g(model):\n    return float(model.features[0].weight.detach()[0, 0, 0, 0])\n"
    with Runner() as runner, ThreadPoolExecutor(2) as pool:
        squeezenet(runner, tmp_path, waits + reads)
        slow = pool.submit(squeezenet, runner, tmp_path, waits + reads)
        time.sleep(0.7)
        quick = squeezenet(runner, tmp_path, waits + reads, function="g")
        own, _ = models.Subject(model="torchvision/squeezenet1_1", shape=SHAPE).with_weights()
        assert quick.value == pytest.approx(float(own.features[0].weight[0, 0, 0, 0].detach()))
        assert slow.result().value == 1_235_496
        squeezenet(runner, tmp_path, COUNTS)
        assert not runner._servers.get("students")._replaced


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        (COUNTS, False),
        ("def f(model):\n    return g(model)\n\n\ndef g(model):\n    return len(list(model.modules()))\n", False),
        ("def f(model):\n    return 1\n\n\ndef g(model):\n    return model(1)\n", False),
        ("def f(model):\n    return g(model)\n\n\ndef g(\n    model,\n):\n\n    return model(1)\n", True),
        (
            "def f(model):\n    return g(model)\ndef g(x):\n    return h(x)\ndef h(net):\n    return f(net) + net(1)\n",
            True,
        ),
        (
            "class H:\n    def on(self, m):\n        m.register_forward_hook(1)\ndef f(model):\n    H().on(model)\n",
            True,
        ),
        ("f = lambda model: model(1)\n", True),
        ("f = lambda model: 1\n", False),
    ],
)
def test_a_function_that_looks_as_if_it_ran_a_network_gets_weights_at_once(text, runs):
    """It would get them in any case, later."""
    assert _seems_to_run(text.encode(), b"f") is runs


def test_where_nothing_tells_what_is_read_weights_are_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr("labgrade.sandbox.host.fork_server.can_be_blank", lambda: False)
    with Runner() as runner:
        assert squeezenet(runner, tmp_path, COUNTS).value == 1_235_496
        assert len(runner._servers.get("students")._weights._files) == 1


def test_the_kernel_tells_of_a_file_whether_it_was_read(tmp_path):
    assert can_be_blank()
    blank = BlankWeights(os.memfd_create("blank"))
    os.truncate(blank.file, 1 << 20)
    with mmap.mmap(blank.file, 1 << 20, flags=mmap.MAP_PRIVATE) as area:
        assert not blank.are_read
        assert area[1 << 19] == 0
        assert blank.are_read


def test_a_pipe_in_place_of_a_file_holds_nobody_up(tmp_path):
    os.mkfifo(tmp_path / "hw.py")
    (tmp_path / "link.py").symlink_to("/etc/hostname")
    for name in ("hw.py", "link.py"):
        with pytest.raises(OSError, match=r"not a file|symbolic links"):
            _text_of(tmp_path / name)
