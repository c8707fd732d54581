"""The oracle on small quantities of its own, which need no torch."""

import contextlib
import hashlib
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from helpers import warm

from labgrade.core.errors import FaultError
from labgrade.core.task import CONFIG, InputSpec, QuantityCall, SubjectSpec
from labgrade.files.cache import PackedArrays
from labgrade.run import grader as grader_module
from labgrade.sandbox.runner import Runner
from labgrade.spec import course, registry
from labgrade.truth import oracle as oracle_module
from labgrade.truth import worker
from labgrade.truth.lent import Borrowed, Lender
from labgrade.truth.oracle import Oracle

pytestmark = pytest.mark.slow

SOURCE = """
import os, sys
import numpy as np

def size(subject, *, times: int = 1) -> int:
    print("noise on stdout")
    return subject.shape[0] * times

def broken(subject):
    raise ZeroDivisionError("by zero")

def starved(subject):
    raise MemoryError

def dies(subject):
    os.write(2, b"first\\nlast words\\n")
    os._exit(7)

def killed(subject, *, once: str = ""):
    if not (once and os.path.exists(once)):
        open(once or os.devnull, "w").close()
        os.kill(os.getpid(), 9)
    return {"a.b": np.ones(2, np.int64)}

def arrays(subject, *, more: int = 0):
    return {"a.b": np.arange(6, dtype=np.float32).reshape(2, 3), "c": np.zeros(1, np.int64)}

def more_arrays(subject):
    return arrays(subject)

def nothing(subject):
    return 0

def parent(subject, *, again: int = 0):
    return [os.getppid(), "torch" in sys.modules]

def surroundings(subject):
    return [dict(os.environ), sys.path]

def trained(subject):
    model, given = subject.with_weights()
    return float(model.train()(given).abs().sum())

def told(subject):
    model, given = subject.with_weights()
    return [float(model(given).abs().sum()), model.training, float(model.one.bias[0])]

def waits(subject):
    __import__("time").sleep(1)
    return "late"

def breaks_off(subject):
    os.write(max(int(name) for name in os.listdir("/proc/self/fd") if name.isdigit() and pipe(name)), b'{"value": 1')
    os._exit(7)

def pipe(name):
    try:
        return os.readlink("/proc/self/fd/" + name).startswith("pipe:")
    except OSError:
        return False
"""
SUBJECT = SubjectSpec(model="torchvision/alexnet", input=InputSpec(shape=(3, 4)))


@pytest.fixture
def folder(tmp_path):
    source = tmp_path / "reference"
    source.mkdir()
    (source / "own.py").write_text(SOURCE)
    return tmp_path


def oracle(folder):
    return Oracle(registry.read("quantity", (folder / "reference",)), folder / "cache")


def ask(folder, name, subject=SUBJECT, **parameters):
    with oracle(folder) as own:
        return own.value(QuantityCall(quantity=name, parameters=parameters), subject), own.computed


def test_a_value_is_computed_once_and_then_remembered(folder):
    assert ask(folder, "size", times=5) == (15, 1)
    assert ask(folder, "size", times=5) == (15, 0)


def test_several_threads_each_get_their_own_value(folder):
    with oracle(folder) as own, ThreadPoolExecutor(8) as pool:
        calls = [QuantityCall(quantity="size", parameters={"times": times}) for times in range(60)]
        assert list(pool.map(lambda call: own.value(call, SUBJECT), calls)) == [3 * times for times in range(60)]
        assert own.computed == 60


def test_a_value_of_zero_is_remembered_too(folder):
    assert ask(folder, "nothing") == (0, 1)
    assert ask(folder, "nothing") == (0, 0)


def test_parameters_subject_and_source_are_the_key(folder):
    ask(folder, "size")
    assert ask(folder, "size", times=2) == (6, 1)
    assert ask(folder, "size", SubjectSpec(model=SUBJECT.model, input=InputSpec(shape=(7,)))) == (7, 1)
    assert ask(folder, "size", SubjectSpec(model=SUBJECT.model, input=SUBJECT.input, seed=1))[1] == 1
    assert ask(folder, "size", SubjectSpec(model=SUBJECT.model, input=InputSpec(shape=(3, 4), seed=1)))[1] == 1
    path = folder / "reference" / "own.py"
    path.write_text(SOURCE.replace("* times", "* times + 1"))
    assert ask(folder, "size") == (4, 1)


def test_the_library_versions_are_part_of_the_key(folder):
    first, second = oracle(folder), oracle(folder)
    second._versions["torch"] = "0.0"
    call = QuantityCall(quantity="size")
    assert first._key(call, SUBJECT) != second._key(call, SUBJECT)


def test_arrays_come_back_as_they_were(folder):
    for computed in (1, 0):
        value, times = ask(folder, "arrays")
        assert times == computed
        assert sorted(value) == ["a.b", "c"]
        assert value["a.b"].dtype == np.float32
        np.testing.assert_array_equal(value["a.b"], np.arange(6).reshape(2, 3))


def test_a_damaged_memory_is_computed_again(folder):
    ask(folder, "arrays")
    ask(folder, "size")
    for path in (folder / "cache").glob("**/*.*"):
        path.write_bytes(b"{")
    assert ask(folder, "size") == (3, 1)
    assert ask(folder, "arrays")[1] == 1


DAMAGES = [
    b"[]",
    b"7",
    b"",
    b"{}",
    b"\xff",
    b'{"value": "x"}',
    b'{"value": 4, "digest": "x"}',
    b'{"value": 4, "digest": 7}',
    b'{"arrays": true}',
    b'{"arrays": "x"}',
    b"[" * 100_000,
]


@pytest.mark.parametrize("name", ["size", "arrays"])
def test_whatever_is_damaged_is_computed_again(folder, name):
    first, _ = ask(folder, name)
    for damage in DAMAGES:
        for path in (folder / "cache").glob("**/*.json"):
            path.write_bytes(damage)
        again, computed = ask(folder, name)
        assert computed == 1, damage
        assert repr(again) == repr(first), damage
        assert ask(folder, name)[1] == 0, damage


def test_arrays_that_are_cut_or_changed_are_computed_again(folder):
    ask(folder, "arrays")
    (path,) = (folder / "cache").glob("**/*.npz")
    whole = path.read_bytes()
    for damaged in (whole[:-40], whole[:100], b"", whole.replace(b"\x80?", b"\x81?")):
        assert damaged != whole
        path.write_bytes(damaged)
        assert ask(folder, "arrays")[1] == 1
        assert path.read_bytes() == whole


def poison(folder, value):
    """What a student's code without a jail can do: write an entry that looks as ours do."""
    for path in (folder / "cache").glob("**/*.json"):
        path.write_text(json.dumps({"value": value, "digest": hashlib.sha256(json.dumps(value).encode()).hexdigest()}))


SIZE = QuantityCall(quantity="size")


def test_what_is_written_over_an_entry_after_it_was_recalled_has_no_effect(folder):
    ask(folder, "size")
    with oracle(folder) as own:
        own.memory.watch()
        own.recall([(SIZE, SUBJECT), (QuantityCall(quantity="size", parameters={"times": 2}), SUBJECT)])
        poison(folder, 42)
        assert own.value(SIZE, SUBJECT) == 3
        (entry,) = (folder / "cache").glob("**/*.json")
        twice = QuantityCall(quantity="size", parameters={"times": 2})
        assert (own.value(twice, SUBJECT), own.computed) == (6, 1)
        poison(folder, 42)
        assert own.value(twice, SUBJECT) == 6
        assert len(own.memory.discard_changes(own.memory.written)) == 2
        assert not entry.exists()
    assert ask(folder, "size") == (3, 1)


@pytest.mark.parametrize("change", ["written over", "cut", "gone", "endless"])
def test_arrays_are_read_when_they_are_asked_for_and_believed_by_what_was_recalled(folder, change):
    call = QuantityCall(quantity="arrays")
    ask(folder, "arrays")
    (file,) = (folder / "cache").glob("**/*.npz")
    whole = file.read_bytes()
    with oracle(folder) as own:
        own.recall([(call, SUBJECT)])
        if change == "written over":
            file.write_bytes(whole.replace(b"\x80?", b"\x81?"))
            entry = file.with_suffix(".json")
            entry.write_text(json.dumps({"arrays": hashlib.sha256(file.read_bytes()).hexdigest()}))
        elif change == "cut":
            file.write_bytes(whole[:100])
        else:
            file.unlink()
        if change == "endless":
            os.mkfifo(file)
        for _ in range(2):
            np.testing.assert_array_equal(own.value(call, SUBJECT)["a.b"], np.arange(6).reshape(2, 3))
        assert own.computed == 1
        assert isinstance(own.values[own._key(call, SUBJECT)], PackedArrays)


def test_arrays_used_last_stay_and_no_more_than_fit(folder, monkeypatch):
    calls = [QuantityCall(quantity="arrays", parameters={"more": more}) for more in range(3)]
    with oracle(folder) as own:
        for call in calls:
            own.learn(call, SUBJECT)
        assert own._at_hand == {}
        first = own.value(calls[0], SUBJECT)
        monkeypatch.setattr(oracle_module, "_AT_HAND", 2 * oracle_module._bytes(first))
        assert own.value(calls[1], SUBJECT)["c"] is not None
        assert own.value(calls[0], SUBJECT) is first
        own.value(calls[2], SUBJECT)
        assert list(own._at_hand) == [own._key(call, SUBJECT) for call in (calls[0], calls[2])]
        assert own.computed == 3


def test_an_entry_that_was_not_there_in_the_beginning_is_not_believed_later(folder):
    with oracle(folder) as own:
        own.recall([(SIZE, SUBJECT)])
        path = own.memory._path(own._key(SIZE, SUBJECT), ".json")
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"value": 42, "digest": hashlib.sha256(b"42").hexdigest()}))
        assert (own.value(SIZE, SUBJECT), own.computed) == (3, 1)
    assert ask(folder, "size") == (3, 0)


def test_what_is_computed_while_students_code_runs_is_remembered_for_the_next_run(folder):
    calls = [QuantityCall(quantity="size", parameters={"times": times}) for times in range(40)]
    small = SubjectSpec(model=SUBJECT.model, input=SUBJECT.input, passing=True)
    with oracle(folder) as one, oracle(folder) as other:
        one.memory.watch()
        one.recall([])
        other.recall([])
        assert [other.value(call, small) for call in calls] == [3 * times for times in range(40)]
        one.hear(other.new())
        assert not other.new()
        one.keep()
        assert one.memory.discard_changes(one.memory.written) == []
    (file,) = (folder / "cache").glob("**/*.json")
    with oracle(folder) as own:
        own.memory.watch()
        own.recall([])
        file.write_text('{"value": {}, "digest": "forged while students ran"}')
        assert [own.value(call, small) for call in calls] == [3 * times for times in range(40)]
        assert own.computed == 0
        assert own.value(QuantityCall(quantity="size", parameters={"times": 41}), small) == 123
        own.keep()
        assert len(json.loads(file.read_text())["value"]) == 41


def test_what_there_is_no_value_of_is_asked_once_where_nobody_chose_it(folder):
    broken = QuantityCall(quantity="broken")
    for run in range(2):
        with oracle(folder) as one, oracle(folder) as other:
            one.recall([])
            other.recall([])
            for _ in range(3):
                with pytest.raises(FaultError, match=r"'broken' failed on .*by zero"):
                    other.value_if_any(broken, SUBJECT)
            assert other.computed == 1 - run
            one.hear(other.new())
            one.keep()
            with pytest.raises(FaultError, match="by zero"):
                other.value(broken, SUBJECT)
            assert other.computed == 2 - run


@pytest.mark.parametrize(("quantity", "why"), [("dies", "last words"), ("starved", "MemoryError")])
def test_what_failed_for_another_reason_says_nothing_of_what_was_asked(folder, quantity, why):
    with oracle(folder) as own:
        own.recall([])
        for tries in (1, 2):
            with pytest.raises(FaultError, match=why):
                own.value_if_any(QuantityCall(quantity=quantity), SUBJECT)
            assert own.computed == tries
        assert not own.new()


def test_tensors_of_an_input_drawn_anew_are_computed_once_and_the_oldest_let_go_of(folder, monkeypatch):
    calls = [QuantityCall(quantity="arrays", parameters={}), QuantityCall(quantity="more_arrays", parameters={})]
    fresh = SubjectSpec(model=SUBJECT.model, input=SUBJECT.input, passing=True)
    with oracle(folder) as own:
        own.recall([])
        for call in (*calls, *calls):
            assert own.value(call, fresh)["c"].size == 1
        assert own.computed == 2
        monkeypatch.setattr("labgrade.truth.oracle._AT_HAND", 1)
        own.value(calls[0], fresh)
        own.value(calls[1], fresh)
        assert own.computed == 2  # nothing was added
    assert not list((folder / "cache").glob("**/*.npz"))
    with oracle(folder) as own:
        for call in (*calls, calls[0]):
            own.value(call, fresh)
        assert own.computed == 3


@pytest.mark.parametrize("text", ["no JSON", None, 3])
def test_what_is_damaged_among_what_is_remembered_together_is_computed_again(folder, text):
    small = SubjectSpec(model=SUBJECT.model, input=SUBJECT.input, passing=True)
    with oracle(folder) as own:
        own.memory.write("computed-late", {own._key(SIZE, small): text})
        own.recall([])
        assert (own.value(SIZE, small), own.computed) == (3, 1)
        own.keep()


def test_of_what_becomes_too_much_the_newest_is_kept(folder, monkeypatch):
    monkeypatch.setattr("labgrade.truth.oracle._MOST", 30)
    kept = []
    for first in (100, 200):
        with oracle(folder) as own:
            own.recall([])
            own.hear({str(first + number): "1234567" for number in range(3)})
            own.keep()
        (file,) = (folder / "cache").glob("**/*.json")
        kept.append(list(json.loads(file.read_text())["value"]))
    assert kept == [["100", "101", "102"], ["200", "201", "202", "100"]]


def test_in_the_end_only_what_others_changed_is_deleted(folder):
    ask(folder, "size")
    ask(folder, "arrays")
    kept = {path.name for path in (folder / "cache").glob("**/*.*")}
    with oracle(folder) as own:
        own.memory.watch()
        own.recall([])
        own.value(QuantityCall(quantity="nothing"), SUBJECT)
        (folder / "cache/expected/zz").mkdir()
        (folder / "cache/expected/zz/more.json").write_text("{}")
        (folder / "cache/expected/link").symlink_to(folder / "reference")
        assert sorted(own.memory.discard_changes(own.memory.written)) == ["link", "zz/more.json"]
    after = {path.name for path in (folder / "cache").glob("**/*.*")}
    assert kept < after
    assert len(after) == len(kept) + 1
    assert (folder / "reference/own.py").exists()


def test_without_a_watch_nothing_is_deleted(folder):
    ask(folder, "size")
    with oracle(folder) as own:
        poison(folder, 42)
        assert own.memory.discard_changes({}) == []
        assert own.value(SIZE, SUBJECT) == 42  # the very attack, where nothing was recalled before


def test_a_memory_that_cannot_be_written_costs_only_time(folder):
    (folder / "cache").write_text("a file where the folder should be")
    assert ask(folder, "size") == (3, 1)


def test_a_quantity_that_raises_is_a_fault_with_its_place(folder):
    with pytest.raises(FaultError) as caught:
        ask(folder, "broken")
    message = str(caught.value)
    assert "the quantity 'broken' failed on 'torchvision/alexnet': ZeroDivisionError: by zero" in message
    assert f"{folder}/reference/own.py:10" in message


def test_a_worker_that_dies_is_a_fault_and_the_next_value_is_computed(folder):
    with oracle(folder) as own:
        with pytest.raises(FaultError, match="ended with code 7 while computing 'dies': last words"):
            own.value(QuantityCall(quantity="dies"), SUBJECT)
        assert own.value(QuantityCall(quantity="size"), SUBJECT) == 3


def test_a_worker_that_is_killed_while_it_waits_is_started_again(folder):
    with oracle(folder) as own:
        assert own.value(QuantityCall(quantity="size"), SUBJECT) == 3
        own._worker.kill()
        own._worker.wait()
        assert own.value(QuantityCall(quantity="size", parameters={"times": 2}), SUBJECT) == 6


@pytest.mark.promise("a-killed-process-costs-nothing")
def test_a_worker_that_is_killed_is_asked_once_more(folder, tmp_path):
    with oracle(folder) as own:
        once = QuantityCall(quantity="killed", parameters={"once": str(tmp_path / "it was")})
        assert own.value(once, SUBJECT)["a.b"].tolist() == [1, 1]
        assert (tmp_path / "it was").is_file()
        with pytest.raises(FaultError, match="ended with code -9 while computing 'killed'"):
            own.value(QuantityCall(quantity="killed"), SUBJECT)
        assert own.value(QuantityCall(quantity="size"), SUBJECT) == 3


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is forked")
def test_a_borrowed_worker_that_is_killed_is_asked_once_more(folder, tmp_path):
    with contextlib.closing(Lender()) as lender, oracle(folder) as own:
        own.lender = lambda: lender.line if lender.start() else None
        own.begin()
        assert isinstance(own._worker, Borrowed)
        once = QuantityCall(quantity="killed", parameters={"once": str(tmp_path / "it was")})
        assert own.value(once, SUBJECT)["a.b"].tolist() == [1, 1]


def test_a_worker_that_ends_before_it_has_read_is_no_end(folder, monkeypatch):
    with oracle(folder) as own:
        own.begin()
        own._worker.kill()
        own._worker.wait()
        with monkeypatch.context() as patched:
            patched.setattr(own._worker, "poll", lambda: None)  # nobody has noticed
            assert own.value(QuantityCall(quantity="size"), SUBJECT) == 3


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is forked")
@pytest.mark.parametrize("forked", [False, True])
def test_workers_may_be_forks_of_one_that_has_torch_loaded(folder, monkeypatch, forked):
    monkeypatch.setenv("LABGRADE_NAME_OF_THE_TESTS", "own")
    monkeypatch.setenv("PYTHONPATH", f"relative:{folder}")
    with (
        Runner(zoo=Path(__file__).parents[1] / "sandbox/zoo_light.py", fresh=not forked) as runner,
        contextlib.closing(Lender()) as lender,
        oracle(folder) as one,
        oracle(folder) as two,
    ):
        parents = []
        for number, own in enumerate((one, two)):
            own.lender = lambda: lender.line if lender.start(runner.fork) else None
            parents.append(own.value(QuantityCall(quantity="parent", parameters={"again": number}), SUBJECT))
        assert parents == [[lender._process.pid, True]] * 2
        environment, path = one.value(QuantityCall(quantity="surroundings"), SUBJECT)
        assert (environment["LABGRADE_NAME_OF_THE_TESTS"], environment["HOME"]) == ("own", os.environ["HOME"])
        assert str(folder) in path
        assert not any(place in {"", "relative"} for place in path)
        above = Path(f"/proc/{lender._process.pid}/stat").read_text().split()
        if forked:
            loader = Path(f"/proc/{above[3]}")
            assert b"LABGRADE_NAME_OF_THE_TESTS" not in (loader / "environ").read_bytes()
            own_sockets = [each for each in (loader / "fd").iterdir() if "socket" in str(each.readlink())]
            assert len(own_sockets) == 1, "it holds no line to what computes values"
        with pytest.raises(FaultError, match="ended while computing 'dies': last words"):
            one.value(QuantityCall(quantity="dies"), SUBJECT)
        assert one.value(QuantityCall(quantity="size"), SUBJECT) == 3
        lender._process.kill()
        lender._process.wait()
        one.close()
        assert one.value(QuantityCall(quantity="parent", parameters={"again": 2}), SUBJECT)[0] == os.getpid()
        assert two.value(QuantityCall(quantity="size", parameters={"times": 2}), SUBJECT) == 6


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is forked")
def test_graders_of_the_tests_start_no_process_that_loads_torch(folder):
    warm.borrow()
    with grader_module.Grader(course.find(folder)) as one:
        assert one.oracle.lender() is not None
        assert isinstance(one._lender, warm.Line)


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is forked")
def test_torch_is_loaded_for_quantities_alone_that_name_it(folder):
    counting = "import sys\n\ndef loaded(subject):\n    return 'tor' + 'ch' in sys.modules\n"
    (folder / "reference/light.py").write_text(counting)
    with contextlib.closing(Lender()) as lender, oracle(folder) as own:
        own.lender = lambda: lender.line if lender.start() else None
        assert own.value(QuantityCall(quantity="loaded"), SUBJECT) is False
        assert lender._process is None
        assert own.value(QuantityCall(quantity="parent"), SUBJECT) == [lender._process.pid, True]
        (folder / "reference/light.py").write_text(counting + "\n")
    with contextlib.closing(Lender()) as lender, oracle(folder) as own:
        own.lender = lambda: lender.line if lender.start() else None
        own.value(QuantityCall(quantity="parent", parameters={"again": 1}), SUBJECT)
        assert own.value(QuantityCall(quantity="loaded"), SUBJECT) is True  # of what is there, none is started anew


@pytest.mark.skipif(sys.platform != "linux", reason="the quantity finds its pipe in /proc")
def test_half_an_answer_is_a_fault(folder):
    with oracle(folder) as own:
        with pytest.raises(FaultError, match="ended with code 7 while computing 'breaks_off'"):
            own.value(QuantityCall(quantity="breaks_off"), SUBJECT)
        assert own.value(QuantityCall(quantity="size"), SUBJECT) == 3


def test_who_stops_waiting_for_an_answer_leaves_it_to_nobody(folder):
    with oracle(folder) as own:
        own.value(QuantityCall(quantity="size"), SUBJECT)
        own._worker.stdout = Interrupted(own._worker.stdout)
        with pytest.raises(KeyboardInterrupt):
            own.value(QuantityCall(quantity="waits"), SUBJECT)
        assert own.value(QuantityCall(quantity="size", parameters={"times": 2}), SUBJECT) == 6
    assert ask(folder, "size", times=2) == (6, 0)


class Interrupted:
    """A stream at whose first line Ctrl-C comes."""

    def __init__(self, stream):
        self._stream = stream
        self._came = False
        self.close = stream.close

    def readline(self):
        if self._came:
            return self._stream.readline()
        self._came = True
        raise KeyboardInterrupt


def test_what_is_remembered_is_plain_json(folder):
    ask(folder, "size")
    (path,) = (folder / "cache").glob("**/*.json")
    assert json.loads(path.read_text()) == {"value": 3, "digest": hashlib.sha256(b"3").hexdigest()}


ARRAYS = '''
import numpy as np
import torch


def drawn(config):
    """Arrays where data stands."""
    return {"of numpy": np.eye(2), "of torch": [torch.arange(3), np.float64(0.5)], "plain": (1, "two")}


def grid(config):
    """One array."""
    return np.array([[1, 2], [3, 4]])


def no_data(config):
    """What nothing can be compared with."""
    return {1, 2}
'''


def test_arrays_are_data_and_what_is_none_is_named(tmp_path):
    (tmp_path / "own.py").write_text(ARRAYS)
    subject = SubjectSpec(model=CONFIG, options={"name": "small"}, input=InputSpec(shape=()))
    with Oracle(registry.read("quantity", (tmp_path,))) as oracle:
        value = oracle.value(QuantityCall(quantity="drawn"), subject)
        assert value == {"of numpy": [[1.0, 0.0], [0.0, 1.0]], "of torch": [[0, 1, 2], 0.5], "plain": [1, "two"]}
        assert oracle.value(QuantityCall(quantity="grid"), subject) == [[1, 2], [3, 4]]
        with pytest.raises(FaultError, match=r"'no_data' failed on 'config': TypeError: a set is not JSON"):
            oracle.value(QuantityCall(quantity="no_data"), subject)


NET = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one = torch.nn.BatchNorm1d(4)

    def forward(self, x):
        return self.one(x)

def net():
    return Net()
"""


def test_a_quantity_that_changes_a_network_spoils_no_other_value(folder):
    def told(oracle, name, seed):
        code = {"nets.py": NET}
        return oracle.value(
            QuantityCall(quantity=name),
            SubjectSpec(model="nets/net", input=InputSpec(shape=(3, 4), seed=seed), code=code),
        )

    quantities = registry.read("quantity", (folder / "reference",))
    with Oracle(quantities, folder / "one") as oracle:
        before = told(oracle, "told", 1)
        told(oracle, "trained", 2)
        after = told(oracle, "told", 3)
    with Oracle(quantities, folder / "other") as oracle:
        assert told(oracle, "told", 3) == after
    assert before[1:] == after[1:] == [False, before[2]]


def test_a_network_is_asked_about_again_and_again_and_kept_meanwhile():
    """Or it would be built and traced anew for each of a dozen quantities."""
    subjects = {}
    plain = [{"model": "micro/tied", "shape": [2, 3, 32, 40], "weight_seed": seed} for seed in range(40)]
    heavy = worker._subject(plain[0], subjects)
    heavy.with_weights()
    light = worker._subject(plain[1], subjects)
    assert worker._subject(plain[1], subjects) is light
    for each in plain[2:]:
        worker._subject(each, subjects)
    assert len(subjects) < 20
    assert worker._subject(plain[0], subjects) is heavy
    assert worker._subject(plain[1], subjects) is not light


def test_a_file_that_changes_has_another_value_at_once(tmp_path):
    """Its call and its subject are the same objects, of which the key of a value is kept otherwise."""
    (tmp_path / "size.py").write_text("import os\n\ndef length(artifact):\n    return os.path.getsize(artifact)\n")
    file = tmp_path / "own.onnx"
    call, subject = QuantityCall(quantity="length"), SubjectSpec(input=InputSpec(shape=(1,)), file=str(file))
    with Oracle(registry.read("quantity", (tmp_path,)), tmp_path / "cache") as oracle:
        for content in (b"one", b"three"):
            file.write_bytes(content)
            assert oracle.value(call, subject) == len(content)
