"""One loop is enough for whoever waits for it; a class is graded with whole limits."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest
from helpers import warm

from labgrade.core.results import Execution
from labgrade.core.task import Environment, Limits
from labgrade.sandbox.requests import CallRequest, ProgramRequest, ProgramRun
from labgrade.sandbox.time_limits import NotYetError, Patience

REQUEST = CallRequest(folder=Path(), file="hw.py", function="f", given=(), subject=None, limits=Limits(seconds=60))
OTHER = replace(REQUEST, function="g")


class Calls:
    """Functions of which some never end: what each call was given, and a clock that it moves on."""

    def __init__(self, monkeypatch, endless=("f", "g")):
        self.given, self.now, self.endless, self.seconds = [], 0.0, endless, 1.0
        monkeypatch.setattr("time.monotonic", lambda: self.now)

    def __call__(self, request):
        self.given.append(request.limits.seconds)
        if request.function in self.endless:
            self.now += request.limits.seconds
            return Execution(status="timeout", reason=f"{request.function} used more than {request.limits.seconds:g} s")
        self.now += self.seconds
        return Execution(status="returned", value=1)


def test_only_after_a_function_did_not_end_it_is_given_less(monkeypatch):
    calls = Calls(monkeypatch, endless=("f",))
    patience = Patience()
    first = patience.call(REQUEST, calls, Execution)
    later = [patience.call(REQUEST, calls, Execution) for _ in range(3)]
    assert patience.call(OTHER, calls, Execution).status == "returned"
    assert calls.given == [60, 5, 5, 5, 60]
    assert first.reason == "f used more than 60 s"
    little = "f did not end in the little time that it was given here, because it did not end before"
    assert {each.reason for each in later} == {little}


def test_a_large_limit_leaves_more(monkeypatch):
    calls = Calls(monkeypatch)
    patience, long = Patience(), replace(REQUEST, limits=Limits(seconds=120))
    patience.call(long, calls, Execution)
    patience.call(long, calls, Execution)
    assert calls.given == [120, 10]


def test_what_ends_has_its_whole_limit_each_time(monkeypatch):
    calls, patience = Calls(monkeypatch, endless=()), Patience()
    assert {patience.call(REQUEST, calls, Execution).status for _ in range(200)} == {"returned"}
    assert set(calls.given) == {60}


def test_a_task_takes_at_most_twice_its_limit_after_the_first_that_did_not_end(monkeypatch):
    calls, patience = Calls(monkeypatch, endless=[f"f{n}" for n in range(9)]), Patience()
    done = [patience.call(replace(REQUEST, function=f"f{n}"), calls, Execution) for n in range(9)]
    assert calls.given == [60, 60, 60, 5, 5, 5, 5, 5, 5]
    assert done[-1].reason.endswith("little time that it was given here, because other calls of this task did not end")
    patience.task("another")
    assert patience.call(OTHER, calls, Execution).status == "returned"
    assert calls.given[-1] == 60


def test_calls_that_did_not_end_together_are_made_by_themselves_and_count(monkeypatch):
    calls, patience = Calls(monkeypatch, endless=("f",)), Patience(seconds=100)
    assert [patience.together(REQUEST, calls).status for _ in range(3)] == ["timeout"] * 3
    assert calls.given == [60]
    assert patience.together(OTHER, calls).status == "returned"
    assert [patience.call(REQUEST, calls, Execution).status for _ in range(2)] == ["timeout", "fault"]
    assert calls.given == [60, 60, 60]


def test_an_attempt_that_did_not_end_takes_no_time_from_the_calls_that_count(monkeypatch):
    calls, patience = Calls(monkeypatch, endless=("f",)), Patience()
    assert patience.together(replace(REQUEST, attempt=True), calls).status == "timeout"
    for _ in range(70):
        patience.call(OTHER, calls, Execution)
    assert calls.given == [60] * 71


def test_what_takes_seconds_is_called_by_itself_at_once(monkeypatch):
    calls, patience = Calls(monkeypatch, endless=()), Patience()
    attempt = replace(REQUEST, attempt=True)
    assert patience.together(attempt, calls).status == "returned"
    calls.seconds = 2.5
    patience.call(REQUEST, calls, Execution)
    calls.seconds = 0.1
    assert patience.together(attempt, calls).status == "timeout"
    assert patience.together(REQUEST, calls).status == "returned", "calls that count are made"
    assert patience.together(replace(attempt, function="g"), calls).status == "returned"
    assert len(calls.given) == 4


def test_a_submission_s_own_time_cuts_off_what_is_left_of_it_at_no_cost(monkeypatch):
    calls, patience = Calls(monkeypatch, endless=()), Patience(seconds=3)
    done = [patience.call(REQUEST, calls, Execution) for _ in range(5)]
    assert [each.status for each in done] == ["returned"] * 3 + ["fault"] * 2
    assert done[-1].reason == "the time of this submission was used up: all of it may take 3 s"
    assert patience.cut
    assert len(calls.given) == 3


def test_a_program_that_did_not_end_is_known_by_its_name(monkeypatch):
    calls, patience = Calls(monkeypatch), Patience()
    request = ProgramRequest(command=("./hw", "1"), name="hw", limits=Limits(seconds=60))

    def run(own):
        calls.given.append(own.limits.seconds)
        return ProgramRun(status="waited", reason="it did not end")

    patience.call(request, run, ProgramRun)
    second = patience.call(replace(request, command=("./hw", "2")), run, ProgramRun)
    assert calls.given == [60, 5]
    assert second.reason.startswith("hw did not end in the little time")


def test_a_first_look_is_short_and_takes_no_time_from_the_call_that_counts(monkeypatch):
    calls, patience = Calls(monkeypatch, endless=("f",)), Patience(first_look=5)
    assert patience.call(OTHER, calls, Execution).status == "returned"
    for _ in range(2):
        with pytest.raises(NotYetError, match="f"):
            patience.call(REQUEST, calls, Execution)
    patience.first_look = 0
    assert patience.call(REQUEST, calls, Execution).reason == "f used more than 60 s"
    assert calls.given == [5, 5, 5, 60]


def test_what_runs_of_a_folder_that_is_gone_is_told_to_end(monkeypatch):
    gone = set()
    patience, calls = Patience(gone, first_look=5), Calls(monkeypatch)

    def saved_meanwhile(request):
        before = patience.is_gone()
        gone.add(request.folder)
        assert (before, patience.is_gone()) == (False, True)
        return calls(request)

    assert patience.call(REQUEST, saved_meanwhile, Execution).reason == "the work was saved anew"
    assert not patience.is_gone()


@pytest.mark.slow
def test_a_real_call_of_a_folder_that_is_gone_ends_at_once(tmp_path):
    (tmp_path / "hw.py").write_text("def f():\n    while True:\n        pass\n")
    gone = set()
    with warm.runner() as runner:
        runner.patience = Patience(gone)
        threading.Timer(1, gone.add, [tmp_path]).start()
        done = runner.run(replace(REQUEST, folder=tmp_path))
    assert done.reason == "the work was saved anew"


@pytest.mark.slow
def test_a_loop_in_a_real_process(tmp_path):
    (tmp_path / "hw.py").write_text("def f():\n    while True:\n        pass\n\ndef g():\n    return 1\n")
    with warm.runner() as runner:
        runner.patience = Patience()
        request = replace(REQUEST, folder=tmp_path, limits=Limits(seconds=3))
        first, second = runner.run(request), runner.run(request)
        assert (first.status, second.status) == ("timeout", "timeout")
        assert "little time" in second.reason
        assert runner.run_each(request, []) == []
        assert runner.run(replace(request, function="g")).value == 1


def test_a_file_that_does_not_end_when_it_is_imported_is_imported_once(monkeypatch):
    calls, patience = Calls(monkeypatch), Patience()

    def importing(request):
        return replace(calls(request), loading=True)

    assert patience.together(REQUEST, importing).status == "timeout"
    done = [patience.call(REQUEST, importing, Execution) for _ in range(3)]
    patience.task("another")
    done += [patience.call(OTHER, importing, Execution), patience.together(OTHER, importing)]
    assert {each.status for each in done} == {"timeout"}
    assert done[3].reason == "f used more than 60 s; so none of the file's functions can be called"
    patience = Patience(seconds=50)
    done = [patience.call(each, importing, Execution) for each in (REQUEST, OTHER)]
    assert [each.status for each in done] == ["timeout"] * 2
    assert not patience.cut
    assert calls.given == [60, 60, 60]
    assert patience.call(OTHER, calls, Execution).status == "timeout"
    patience = Patience()
    assert patience.call(replace(OTHER, file="other.py"), calls, Execution).reason == "g used more than 60 s"


@pytest.mark.parametrize(("seconds", "later"), [(0.1, [60, 10, 60]), (200, [240, 25, 240])])
def test_what_only_waits_is_waited_for_at_length_once(monkeypatch, seconds, later):
    calls, patience = Calls(monkeypatch), Patience()
    walls = []

    def waiting(request):
        walls.append(patience.wall(240 if request.limits.seconds == 60 else 25))
        calls.now += walls[-1]
        return Execution(status="waited", reason="it did not end", seconds=seconds)

    patience.call(REQUEST, waiting, Execution)
    assert patience.wall(240) == 240
    patience.call(OTHER, waiting, Execution)
    patience.call(REQUEST, waiting, Execution)
    patience.task("another")
    patience.call(replace(REQUEST, function="h"), waiting, Execution)
    assert walls == [240, *later]


class Imports(Calls):
    """Calls of a file whose import fails, with what its `says` gives for a function."""

    def __init__(self, monkeypatch, says):
        super().__init__(monkeypatch, endless=())
        self.says = says

    def __call__(self, request):
        self.given.append(request.function)
        return Execution(status="crashed", reason=self.says(request), loading=True, seconds=len(self.given))


def of(*functions):
    return [replace(REQUEST, function=each) for each in functions]


def test_a_file_whose_import_fails_for_two_functions_alike_is_not_imported_again(monkeypatch):
    calls, patience = Imports(monkeypatch, lambda _: "no such module"), Patience()
    said = [patience.call(each, calls, Execution) for each in of("f", "f", "g", "h", "f")]
    assert calls.given == ["f", "f", "g"]
    assert {(each.status, each.reason, each.loading) for each in said} == {("crashed", "no such module", True)}
    assert patience.together(replace(OTHER, attempt=True), calls).status == "timeout"
    elsewhere = [replace(OTHER, folder=Path("other")), replace(OTHER, file="other.py")]
    elsewhere += [replace(OTHER, limits=replace(OTHER.limits, environment=Environment(variables={"A": "1"})))]
    elsewhere += [replace(OTHER, model={"m.onnx": Path("m.onnx")})]  # it may be read while the file is imported
    for each in elsewhere:
        patience.call(each, calls, Execution)
    assert calls.given == ["f", "f", "g", *["g"] * 4]


def test_an_import_that_says_something_else_each_time_is_tried_each_time(monkeypatch):
    calls, patience = Imports(monkeypatch, lambda request: f"{request.function} raised"), Patience()
    assert [patience.call(each, calls, Execution).reason for each in of("f", "g", "f", "h")][-1] == "h raised"
    assert calls.given == ["f", "g", "f", "h"]


def test_what_crashes_once_the_file_is_imported_is_called_each_time(monkeypatch):
    calls, patience = Calls(monkeypatch), Patience()
    crashed = lambda request: calls.given.append(request.function) or Execution(status="crashed", reason="x")  # noqa: E731
    for each in of("f", "g", "h", "f"):
        patience.call(each, crashed, Execution)
    assert calls.given == ["f", "g", "h", "f"]
