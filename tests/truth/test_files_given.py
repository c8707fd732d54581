"""The files of a subject that functions are given: made for a function that is there, and for no other."""

from helpers.direct import task
from helpers.handed_in import read

from labgrade.answers import obtain
from labgrade.answers.question import Question
from labgrade.core.execution import Execution
from labgrade.truth.measure import files_given


class Running:
    """Runs nothing; its reader says whether the function is there."""

    def __init__(self, store, *, there):
        self.store, self.runner, self.reader, self._there = store, self, self, there

    def ask(self, _submission, asked):
        return self._there if asked.wanted == "present" else ()

    def run(self, request):
        assert list(request.model) == ["made.onnx"]
        return Execution(status="crashed", reason="ran")


def made_for(tmp_path, *, there):
    asked, wanted = [], task("2-2-1-operators")
    (tmp_path / "anna").mkdir(parents=True)
    (tmp_path / "anna/hw2_2.py").write_text("")

    class Oracle:
        def file(self, subject):
            asked.append(subject.model)
            return tmp_path / "made.onnx"

    submission = read(tmp_path, "anna")
    answer = next(each for each in wanted.answers.values() if "model_path" in str(each.forms))
    model = files_given(Oracle(), answer, wanted.subject, submission)
    obtain.obtain(
        Question(wanted=answer, submission=submission, subject=wanted.subject, model=model, live_only=True),
        Running(tmp_path, there=there),
    )
    return asked


def test_no_file_is_made_for_a_function_that_was_not_handed_in(tmp_path):
    assert made_for(tmp_path / "without", there=False) == []
    assert made_for(tmp_path / "with", there=True) == ["torchvision/mobilenet_v2.onnx"]
