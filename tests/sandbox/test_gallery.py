"""Every misbehaving student of the gallery gets the outcome that fits, and the next one is served as usual."""

import math
import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.soak import soak

from labgrade.core.task import InputSpec, Limits, SubjectSpec
from labgrade.sandbox.jail.usage import family
from labgrade.sandbox.outcomes import NOT_IMPORTED
from labgrade.sandbox.requests import CallRequest
from labgrade.sandbox.runner import Runner

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
GALLERY = HERE.parent / "galleries/submissions"
SUBJECT = SubjectSpec(model="small", input=InputSpec(shape=(1, 3, 8, 8)))
LIMITS = Limits(seconds=1.0, memory=300 << 20, output=1 << 20)
# Where the host backs memory page by page, touching 300 MB takes more than a second of computing.
PATIENT = replace(LIMITS, seconds=20.0)
WEIGHTS = 3 * 4 * 9 + 4 + 6 * 2 + 2 + (1 + 3 + 8 + 8)

NOT_PLAIN = ", which is not plain data; return numbers, text, lists, dicts or tensors"
TUPLE_INDEX = "tuple indices must be integers or slices, not str"
CONV_KEY = "torch.nn.modules.conv.Conv2d; keys must be text (str)"
RELATIVE = (
    "attempted relative import with no known parent package; the file is imported by itself: "
    "write `import name`, not `from . import name`"
)
TOO_DEEP = "maximum recursion depth exceeded"


def request(name, function="total_macs", *, given=("model", "input_size"), limits=LIMITS, folder=None, subject=SUBJECT):
    return CallRequest(
        folder=folder or GALLERY / name,
        file="hw2_1.py",
        function=function,
        given=given,
        subject=subject,
        limits=limits,
    )


@pytest.fixture(scope="module")
def runner():
    with Runner(zoo=HERE / "zoo_small.py", fresh=False, spare_seconds=10.0) as shared:
        yield shared


@pytest.fixture
def call(runner):
    """Calls one of the gallery, and an honest one after it."""

    def both(name, **other):
        execution = runner.run(request(name, **other))
        after = runner.run(request("counts"))
        assert (after.status, after.value, after.printed) == ("returned", WEIGHTS, "")
        return execution

    return both


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("counts", WEIGHTS),
        ("prints_900_kb", 1),
        ("prints_passed", 1),
        ("prints_escapes", 1),
        ("patches_json", 11),
        ("warns", 1),
        ("decorated", 4),
        ("more_with_defaults", 4),
        ("changes_everything", 1),
        ("star_import", 3),
        ("runs_when_imported", 499500),
        ("leaves_a_mess", 1),
        ("forges_result", 42),
        ("kills_its_parent", 7),
    ],
)
def test_returns(call, name, value):
    execution = call(name)
    assert (execution.status, execution.reason) == ("returned", "")
    assert type(execution.value) is int
    assert execution.value == value


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("exits_process", "crashed", "the process ended with os._exit(0) before total_macs returned"),
        (
            "exits_at_import",
            "crashed",
            'hw2_1.py:6: `sys.exit("done")` ended the program (SystemExit: done) while the file was imported',
        ),
        (
            "exits_in_function",
            "crashed",
            "hw2_1.py:7 in total_macs: `sys.exit(0)` ended the program (SystemExit: 0) before total_macs returned",
        ),
        ("prints_10_mb", "output", "total_macs printed more than 1.05 MB; print less, such as totals alone"),
        ("loops_for_ever", "timeout", "total_macs used more than 1 s of computing time"),
        ("ignores_signals", "timeout", "total_macs used more than 1 s of computing time"),
        ("huge_integer", "refused", "total_macs returned an integer of about 401 digits; 400 are the most"),
        ("meta_tensor", "refused", "total_macs returned a tensor on the meta device, which has no values"),
        (
            "unprintable_exception",
            "crashed",
            "hw2_1.py:12 in total_macs: `raise Shy` raised Shy: (its message cannot be shown)",
        ),
        (
            "divides_by_zero",
            "crashed",
            "hw2_1.py:5 in _share: `return part / whole` raised ZeroDivisionError: division by zero",
        ),
        (
            "deletes_and_fails",
            "crashed",
            'hw2_1.py:8 in total_macs: `return input_size["height"]` raised TypeError: ' + TUPLE_INDEX,
        ),
        (
            "yields_and_fails",
            "crashed",
            "hw2_1.py:6 in total_macs: `yield 1 // 0` raised ZeroDivisionError: integer division or modulo by zero",
        ),
        (
            "imports_relatively",
            "crashed",
            "hw2_1.py:3: `from .parts import total_macs` raised ImportError: " + RELATIVE + NOT_IMPORTED,
        ),
        (
            "returns_model",
            "refused",
            "total_macs returned in ['model'][0], a torch.nn.modules.container.Sequential" + NOT_PLAIN,
        ),
        ("keys_are_modules", "refused", "total_macs returned a dict with a key of type " + CONV_KEY),
        (
            "yields_without_end",
            "refused",
            "total_macs returned in [2095], more than 8 MB of values; a tensor may hold 256 MB",
        ),
        ("allocates_without_end", "memory", "total_macs used more than 315 MB of memory"),
        ("starts_many_processes", "crashed", "total_macs started more than 64 processes"),
        (
            "syntax_error",
            "crashed",
            "hw2_1.py:4: `def total_macs(model, input_size:` raised SyntaxError: '(' was never closed" + NOT_IMPORTED,
        ),
        (
            "reads_stdin",
            "crashed",
            'hw2_1.py:5 in total_macs: `return int(input("Total MACs? "))` raised EOFError: EOF when reading a line',
        ),
        (
            "keyword_only",
            "crashed",
            "total_macs takes 'model' by name only, the task gives it by position: take out the *",
        ),
        (
            "too_few_parameters",
            "crashed",
            "total_macs takes 1 argument (model), the task gives 2: model, input_size",
        ),
        ("kills_itself", "crashed", "the process was killed by signal 11 (SIGSEGV) before total_macs returned"),
        ("closes_descriptors", "crashed", "the process ended with os._exit(1) before total_macs returned"),
        (
            "recurses_for_ever",
            "crashed",
            "hw2_1.py:5 in total_macs: `return total_macs(model, input_size)` raised RecursionError: " + TOO_DEEP,
        ),
        (
            "misspelt",
            "missing",
            "the file defines no 'total_macs' once it is imported; did you mean 'total_mac'?",
        ),
        ("not_a_function", "crashed", "total_macs is of type int, not a function"),
        (
            "two_results",
            "refused",
            "total_macs left more than one result on the channel that carries its answer",
        ),
        ("garbles_result", "refused", "total_macs left a garbled result on the channel that carries its answer"),
        ("truncates_result", "refused", "total_macs left a truncated result on the channel that carries its answer"),
        (
            "forges_fault",
            "refused",
            "total_macs left something that no result looks like on the channel that carries its answer",
        ),
    ],
)
def test_is_stopped_or_fails(call, name, status, reason):
    execution = call(name, limits=PATIENT if status == "memory" else LIMITS)
    assert (execution.status, execution.value) == (status, None)
    assert execution.reason == reason


@soak
def test_a_call_that_waits_for_workers_that_cannot_start_says_so(call):
    execution = call("spawns_workers")
    assert execution.status == "waited"
    assert "a process that it started can't import the file" in execution.reason
    assert "a process that it started" not in call("sleeps").reason


def test_a_number_that_lies_about_itself_is_what_it_holds(call):
    assert call("lying_int").value == {"total": [1, 2]}


def test_infinite_nesting_is_refused(call):
    execution = call("returns_itself")
    assert execution.status == "refused"
    assert execution.reason.endswith("something nested more than 64 levels deep, or containing itself")


def test_an_error_within_torch_is_told_with_the_students_own_line(call):
    execution = call("fails_in_torch")
    assert execution.status == "crashed"
    assert execution.reason.startswith("hw2_1.py:8 in total_macs: `return model(wrong)` raised RuntimeError: ")
    assert "conv.py" not in execution.reason


def test_a_terabyte_at_once_is_a_matter_of_memory(call):
    execution = call("allocates_at_once")
    assert execution.status == "memory"
    assert "hw2_1.py:7 in total_macs" in execution.reason
    assert execution.reason.endswith("(it may use 315 MB)")


def test_not_a_number_crosses_and_is_for_the_type_to_reject(call):
    assert math.isnan(call("not_a_number").value)


def test_a_tensor_that_requires_grad_is_its_values(call):
    value = call("tensor_with_grad").value
    assert value.dtype == np.float32
    assert np.array_equal(value, np.full((3, 2), 2.0, np.float32))


def test_types_of_libraries_are_converted(call):
    value = call("wrapped_types").value
    arrays = {name: value.pop(name) for name in ("half", "big_endian", "scalar", "weight")}
    assert value == {
        "size": [1, 2, 3],
        "count": {"h": 1, "e": 1, "l": 2, "o": 1},
        "lists": {"a": [0.5]},
        "integer": 2**40,
        "flag": True,
        "range": [0, 1, 2],
        "tuple": [1, None, "text"],
        "text": "numpy",
        "infinite": -math.inf,
        "decimal": 1498376192,
        "share": 0.25,
        "fraction": 7,
        "named": [{"layer": "conv1", "macs": 5}, {"layer": "conv2", "macs": 6}],
        "items": [["conv1", 5]],
        "ordered": [[["conv1", 5]], ["conv1"], [5]],
        "yielded": [0, 1],
        "by_class": {"Conv2d": "Linear"},
    }
    assert value["flag"] is True
    assert {name: (array.tolist(), str(array.dtype)) for name, array in arrays.items()} == {
        "half": ([1.5], "float32"),
        "big_endian": ([1, 2], "int32"),
        "scalar": (5, "int64"),
        "weight": ([0.0, 0.0], "float32"),
    }


def test_what_is_printed_comes_back_cut_and_harmless(call):
    execution = call("prints_escapes")
    assert execution.printed == "\\x1b[2Jgone\\x07 \\u202eright to left \\ud800\n\\xff\\xfe café\n"
    printed = call("prints_900_kb").printed
    assert len(printed) < 5000
    assert printed.endswith("the end\n")
    assert " characters left out " in printed


def test_warnings_and_what_is_printed_before_a_crash_are_kept(call):
    assert "UserWarning: the output size is rounded down" in call("warns").printed
    assert call("exits_process").printed == "layer 1\n"
    assert call("exits_at_import").printed == "Total MACs: 1.5 G\n"
    assert "PASSED 20/20 points" in call("prints_passed").printed


def test_deleting_its_own_files_harms_a_copy(call, tmp_path):
    folder = tmp_path / "student"
    shutil.copytree(GALLERY / "deletes_its_files", folder)
    execution = call("", folder=folder)
    assert (execution.status, execution.value) == ("returned", 0)
    assert sorted(path.name for path in folder.iterdir()) == ["hw2_1.py", "notes.txt"]


def test_files_of_a_library_s_name_shadow_nothing(call):
    value = call("shadows_torch").value
    assert value["shadowed"] == []
    assert value["twenty"] == 20
    assert value["ones"].tolist() == [1.0, 1.0]


def test_what_one_call_changes_the_next_does_not_see(call):
    before = call("shows_state").value
    assert call("changes_everything").status == "returned"
    after = call("shows_state").value
    for state in (before, after):
        state["path"].pop(), state["argv"].pop()  # the folder, which is another one each time
    assert before == after
    assert (before["folder"], before["dtype"], before["grad"]) == ("handin", "torch.float32", True)
    assert before["weights"] > 0
    assert before["temporary"] == "../tmp"


@pytest.mark.promise("no-answers-in-a-child")
def test_a_child_holds_nothing_of_the_graders(runner, monkeypatch):
    monkeypatch.setenv("GRADER_SECRET", "1498376192")
    state = runner.run(request("shows_state")).value
    assert {"reference", "checkers", "pytest", "labgrade", "tests"}.isdisjoint(state["modules"])
    assert "torch" in state["modules"]
    own = {"PATH", "HOME", "LANG", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"}
    own |= {"PIP_NO_INDEX", "PIP_DISABLE_PIP_VERSION_CHECK", "HF_HUB_OFFLINE"}
    own |= {"ORT_DISABLE_TELEMETRY", "PYTHONHASHSEED", "TMPDIR", "TEMP", "TMP", "TORCHINDUCTOR_CACHE_DIR"}
    assert set(state["variables"]) == own
    assert str(HERE.parents[1]) not in state["path"]
    assert state["name"] != "__main__"
    assert state["descriptors"] == 4, "stdin, stdout, stderr and the result's"


@pytest.mark.promise("nothing-survives-its-job")
def test_a_daemon_does_not_outlive_its_call(runner):
    runner.run(request("counts"))
    before = _settled()
    execution = runner.run(request("forks_daemon"))
    assert execution.status == "returned"
    assert execution.value > 1
    assert _settled(before) == before


def _settled(wanted=None):
    """All processes below this one, once keepers that have told the end of their job are gone themselves."""
    deadline = time.monotonic() + (60 if wanted else 1)
    while time.monotonic() < deadline:
        found = set(family(os.getpid()))
        if found == wanted:
            break
        time.sleep(0.05)
    return found


def test_nothing_is_left_on_the_disk(runner):
    asked = request("leaves_a_mess")
    assert runner.run(asked).status == "returned"
    jobs = runner._servers._folder("jobs")
    left = {path.relative_to(jobs).as_posix().partition("/")[2] for path in jobs.rglob("*") if path.is_file()}
    handed_in = {f"handin/{path.relative_to(asked.folder).as_posix()}" for path in asked.folder.rglob("*.py")}
    assert left <= handed_in  # what the next job of the same files will do with
    runner._folders.forget()
    assert not list(jobs.iterdir())


def test_cpu_time_is_told(call):
    assert 0.9 < call("loops_for_ever").seconds < 5
    assert call("counts").seconds < 0.9


def test_a_second_call_costs_a_fraction_of_a_fresh_process(runner):
    runner.run(request("counts"))
    warm = min(_seconds(runner) for _ in range(5))
    with Runner(zoo=HERE / "zoo_small.py", fresh=True) as fresh:
        cold = _seconds(fresh)
    assert cold > 3 * warm, f"{cold:.2f} s fresh, {warm:.3f} s warm"


def _seconds(runner):
    start = time.perf_counter()
    assert runner.run(request("counts")).value == WEIGHTS
    return time.perf_counter() - start
