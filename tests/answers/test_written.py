"""Files that a student's function writes for several subjects in one process."""

from types import SimpleNamespace

import numpy as np

from labgrade.answers.call import write_each
from labgrade.answers.question import Question
from labgrade.answers.reader.reader import Reader
from labgrade.core.task import AnswerSpec, CallForm, InputSpec, Limits, SubjectSpec

FORM = CallForm(file="hw.py", function="f", given=("save_to",))
SUBJECT = SubjectSpec(model="light", input=InputSpec(shape=(1, 3)))


class Says:
    """A runner whose job sends this, as a student's code can make it."""

    def __init__(self, *contents):
        self._contents = list(contents)

    def write_each(self, request, each):
        return self._contents


def kept(hand_in, store, *contents):
    submission = hand_in({"hw.py": "def f(path): open(path)"})
    wanted = AnswerSpec(name="file", type="onnx", forms=(FORM,))
    question = Question(wanted=wanted, submission=submission, subject=SUBJECT, limits=Limits(seconds=1.0))
    running = SimpleNamespace(runner=Says(*contents), reader=Reader(None), store=store)
    return write_each([question] * 2, FORM, running)[1]


def data(text):
    return np.frombuffer(text, dtype=np.uint8)


def test_no_more_files_are_kept_than_there_are_subjects(hand_in, tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    found = kept(hand_in, store, *[data(bytes([number])) for number in range(50)])
    assert [artifact.path.read_bytes() for artifact in found] == [b"\0", b"\1"]
    assert len(list(store.iterdir())) == 2


def test_what_comes_after_something_that_is_no_file_is_nobodys(hand_in, tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    assert kept(hand_in, store, "no file", data(b"second")) == []
    assert [artifact.path.read_bytes() for artifact in kept(hand_in, store, data(b"one"), 7)] == [b"one"]
