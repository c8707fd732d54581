"""Reading in the jail: the same replies as in this process; what runs out of limits is named and costs nothing else."""

import gc
import typing
from dataclasses import replace

import numpy as np
import pytest
from helpers import warm

from labgrade.answers import near_miss
from labgrade.answers.reader import asks, job, reader
from labgrade.answers.reader.asks import Ask, ask_notes, ask_value
from labgrade.answers.reader.reader import LIMITS, Reader, by_name
from labgrade.answers.reader.replies import GarbledReplyError, array, decode, encode
from labgrade.core.errors import FaultError
from labgrade.core.results import Answer, Execution, NoAnswer, Submission
from labgrade.core.task import CallForm, EntryForm, FileForm, TableOfType, TableType, TextForm
from labgrade.sandbox.runner import Runner
from labgrade.verdict import Outcome

pytestmark = pytest.mark.slow

TABLE = TableType(row="layer", columns={"count": "count", "size": "shape"})
FILES = {
    "answers.yaml": "2-1-4: {total: 6,624,904, mean: 1.50e3, words: '\u5831\u544a'}\n",
    "report.md": "# 2-1-4\nTotal MACs: 5,000\n\n|layer|count|size|\n|---|---|---|\n| a | 5 | 1x2 |\n| b | 7 | -- |\n",
    "hw.py": "def totals(): pass\n",
    "rows/a.txt": "5\n",
    "rows/b.txt": "7\n",
    "broken.npy": b"\x93NUMPY\x01\x00\xff\xff",
    "model.onnx": b"x",
}
SECTION = ("2-1-4",)
FIND = "Total MACs: (?P<answer>[0-9,]+)"
ASKS = [
    ask_value("count", EntryForm(path="2-1-4.total")),
    ask_value("number", EntryForm(path="2-1-4.mean")),
    ask_value("text", EntryForm(path="2-1-4.words")),
    ask_value("count", EntryForm(path="2-1-4.none")),
    ask_value("count", TextForm(after="Total MACs", report=SECTION), "torchvision/resnet18"),
    ask_value("count", TextForm(find=FIND, report=())),
    ask_value(TABLE, TextForm(report=SECTION)),
    ask_value("tensor", FileForm(pattern="x.npy")),
    ask_value("tensor", FileForm(pattern="broken.npy")),
    ask_value(TableOfType(kind="tensor"), FileForm(pattern="all.npz")),
    ask_value("histogram", FileForm(pattern="rows/*.txt")),
    ask_value("tensor", FileForm(pattern="missing.npy")),
    ask_notes("count", [CallForm(file="hw.py", function="total", given=()), EntryForm(path="2-1-4.totl")]),
    Ask(wanted="seen", kind="count", forms=(TextForm(after="nothing", report=SECTION),)),
    Ask(wanted="passages", kind="count", forms=(TextForm(report=SECTION),)),
]


@pytest.fixture(autouse=True)
def looking_for_garbage_again():
    yield
    gc.enable()  # the reader's process, which ends with its hand-in, has Python look for none


@pytest.fixture(scope="module")
def runner():
    with warm.runner() as running:
        yield running


@pytest.fixture
def handed(hand_in, tmp_path):
    np.save(tmp_path / "x.npy", np.arange(6, dtype=">f4").reshape(2, 3))
    np.savez(tmp_path / "all.npz", a=np.zeros((2, 0)), b=np.asarray(1 + 2j))
    submission = hand_in(FILES)
    return replace(submission, files=tuple(sorted((*submission.files, "x.npy", "all.npz"))))


def same(one, other):
    return repr(one) == repr(other)  # arrays have no truth


@pytest.mark.parametrize("fresh", [False, True])
def test_the_jail_reads_what_this_process_reads(handed, fresh):
    here = Reader(None)
    with Runner(fresh=fresh) as running:
        there = Reader(running)
        there.expect(handed, by_name(ASKS))
        for ask in ASKS:
            assert same(there.ask(handed, ask), here.ask(handed, ask))


class Counting:
    """A runner that tells how much was read in each job."""

    def __init__(self, runner):
        self.runner, self.jobs = runner, []

    def read(self, request):
        self.jobs.append(len(request.asks))
        return self.runner.read(request)


def test_everything_expected_of_a_hand_in_is_read_in_one_job(handed, runner):
    counting = Counting(runner)
    reader = Reader(counting)
    reader.expect(handed, by_name(ASKS))
    for ask in (*ASKS, *ASKS, ask_value("count", EntryForm(path="b"))):
        reader.ask(handed, ask)
    assert counting.jobs == [len(ASKS) - 1, 1]  # one file is missing


OF_NOTHING = [
    ask_value("count", EntryForm(path="a.b")),
    Ask(wanted="stray", kind="count", forms=(EntryForm(path="a.b"),)),
    ask_value("count", TextForm(after="Total")),
    ask_value(TABLE, TextForm(file="out.txt")),
    Ask(wanted="seen", kind="count", forms=(TextForm(after="Total", report=SECTION),)),
    ask_value("tensor", FileForm(pattern="x.npy")),
]


@pytest.mark.parametrize("ask", OF_NOTHING, ids=repr)
def test_no_job_looks_for_files_that_are_not_handed_in(hand_in, runner, ask):
    for name in ("hw.py", "Answers.yml", "sub/Report.md", "OUT.txt", "deeper/x.npy"):
        counting, submission = Counting(runner), hand_in({name: b"a: {b: 5}\n"})
        assert same(Reader(counting).ask(submission, ask), Reader(None).ask(submission, ask))
        there = {
            EntryForm: name == "Answers.yml",
            TextForm: name in ("sub/Report.md", "OUT.txt"),  # a text is taken for a report where there is no other
            FileForm: name == "deeper/x.npy",
        }
        named = getattr(ask.forms[0], "file", None) == "out.txt"
        assert bool(counting.jobs) == (name == "OUT.txt" if named else there[type(ask.forms[0])])


def test_among_many_files_a_job_looks(hand_in, runner):
    counting, submission = Counting(runner), hand_in({f"{number}.bin": b"" for number in range(101)})
    assert Reader(counting).ask(submission, OF_NOTHING[0]) is None
    assert counting.jobs == [1]


class Ending:
    """A runner whose reader ends early, at the asks for this place."""

    def __init__(self, status, place, times=99):
        self.status, self.place, self.times, self.jobs = status, place, times, 0

    def read(self, request):
        self.jobs += 1
        frames = []
        here = Submission(name="", folder=request.folder, files=request.files)
        for text in request.asks:
            if decode(text.encode()).place == self.place and self.times:
                self.times -= 1
                return Execution(status=self.status, value=frames)
            frames.append(unpacked(b"".join(job.read({"files": here.files, "asks": [text]}, request.folder))))
        return Execution(status="returned", value=frames)


def unpacked(frame):
    from labgrade.sandbox.child.wire import unpack

    return unpack(frame)


@pytest.mark.parametrize(
    ("status", "why", "jobs"),
    [
        ("timeout", "it takes more than 5 s of computing to read", 2),
        ("memory", "it takes more than 512 MiB of memory to read", 2),
        ("crashed", "what reads it broke off", 3),
    ],
)
def test_what_can_t_be_read_costs_nothing_else(handed, status, why, jobs):
    ending = Ending(status, "the report")
    reader, here = Reader(ending), Reader(None)
    reader.expect(handed, by_name(ASKS))
    for ask in ASKS:
        if ask.place != "the report":
            assert same(reader.ask(handed, ask), here.ask(handed, ask))
    found = reader.ask(handed, ASKS[4])
    assert (found.verdict.outcome, found.verdict.reason) == (Outcome.MANUAL, f"the report can't be read: {why}")
    assert reader.ask(handed, ASKS[13]) is None
    with pytest.raises(FaultError, match="Total MACs"):  # the author's pattern may be what takes so long
        reader.ask(handed, ASKS[5])
    assert ending.jobs == jobs  # what an accident may have ended is tried again


@pytest.mark.parametrize(
    ("form", "files", "waits"),
    [
        (TextForm(after="Total"), ("report.html",), True),
        (TextForm(after="Total"), ("report.md", "report.html"), False),  # the same, exported
        (TextForm(after="Total", file="out.PDF"), ("out.PDF", "report.md"), True),
        (FileForm(pattern="table.html"), ("report.md", "table.html"), True),
        (FileForm(pattern="x.npy"), ("report.html", "x.npy"), False),
    ],
)
def test_what_another_program_wrote_and_can_t_be_read_waits_for_a_person(hand_in, form, files, waits):
    """A page of 3.6 MB is a table that an honest student exported, and takes its library longer than there is time."""
    submission = hand_in(dict.fromkeys(files, "x"))
    ask = ask_value("count", form)
    found = Reader(Ending("timeout", ask.place)).ask(submission, ask)
    assert found.lossy is waits


def test_what_ended_once_is_tried_again(handed):
    reader = Reader(Ending("crashed", "the report", times=1))
    assert isinstance(reader.ask(handed, ASKS[4]), Answer)


def test_a_hand_in_of_which_much_can_t_be_read_is_given_up(handed):
    class Slow:
        jobs = 0

        def read(self, _):
            self.jobs += 1
            return Execution(status="timeout", value=[])

    reader = Reader(slow := Slow())
    reader.expect(handed, by_name(ask for ask in ASKS if ask != ASKS[5]))
    found = [reader.ask(handed, ask) for ask in ASKS if ask != ASKS[5]]
    assert {each.verdict.outcome for each in found if isinstance(each, NoAnswer)} == {Outcome.MANUAL}
    assert slow.jobs == 3


@pytest.mark.parametrize("status", ["fault", "waited"])
def test_a_fault_of_the_sandbox_or_a_busy_machine_is_no_student_s(handed, status):
    reader = Reader(Ending(status, "the report"))
    with pytest.raises(FaultError):
        reader.ask(handed, ASKS[4])


def test_a_fault_of_labgrade_s_code_costs_only_its_own_ask(handed, monkeypatch):
    monkeypatch.setattr(near_miss, "notes", lambda *_: 1 / 0)
    reader = Reader(Ending("crashed", ""))
    reader.expect(handed, by_name(ASKS))
    assert isinstance(reader.ask(handed, ASKS[0]), NoAnswer)
    with pytest.raises(FaultError, match="ZeroDivisionError"):
        reader.ask(handed, ASKS[12])


@pytest.mark.parametrize("error", [MemoryError, RecursionError])
def test_what_takes_too_much_within_the_reader_is_named_and_never_no_answer(handed, monkeypatch, error):
    def starves(ask, submission):
        if ask in (ASKS[0], ASKS[12], ASKS[13], ASKS[14]):
            raise error
        return performed(ask, submission)

    performed = job.perform
    monkeypatch.setattr(job, "perform", starves)
    reader = Reader(Ending("crashed", ""))
    reader.expect(handed, by_name(ASKS))
    found = reader.ask(handed, ASKS[0])
    assert found.verdict.outcome is Outcome.MANUAL
    assert found.verdict.reason.endswith("can't be read: it is nested too deeply, or takes more memory than there is")
    (note,), nothing, passages = [reader.ask(handed, ASKS[place]) for place in (12, 13, 14)]
    assert (note.unread, nothing, passages) == (True, None, ())
    assert isinstance(reader.ask(handed, ASKS[1]), Answer)


HOSTILE = {
    "answers.yaml": "a: [" + "{" * 50 + "\n" + "- [" * 100_000,
    "answers.json": "[" * 2_000_000,
    "report.md": ("# 2-1\nTotal MACs: 5\n# 2-2\n" * 300_000),
    "hw.py": "x = " + "(" * 100_000,
    "out.txt": "Total: " + "1" * 5_000_000,
}


def test_documents_that_take_long_hold_up_nothing(hand_in, runner):
    """In the jail, whatever comes of them: no fault, and the right entry of another place is read."""
    submission = hand_in({**HOSTILE, "good.txt": "Total MACs: 5,000\n"})
    reader = Reader(runner)
    asks = [
        ask_value("count", EntryForm(path="a")),
        ask_value("count", TextForm(after="Total MACs", report=("2-1",))),
        ask_value("count", TextForm(after="Total", file="out.txt")),
        ask_notes("count", [CallForm(file="hw.py", function="total", given=())]),
    ]
    good = ask_value("count", TextForm(after="Total MACs", file="good.txt"))
    reader.expect(submission, by_name([*asks, good]))
    assert reader.ask(submission, good).value.value == 5000
    for ask in asks:
        found = reader.ask(submission, ask)
        assert not isinstance(found, NoAnswer) or found.verdict.outcome is not Outcome.FAULT


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b'["os.system", "x"]',
        b'["Number"]',
        b'["/", "1", "0"]',
        b'["#", 3]',
        b'["#", -1]',
        b'["Outcome", "WON"]',
        b'["Artifact", "../../etc/passwd"]',
        b'["Artifact", "model.onnx", 1]',
        b"[" * 100_000,
        b"[]",
        b'[["()"]]',
    ],
)
def test_what_is_no_reply_is_refused(data, handed):
    with pytest.raises(GarbledReplyError):
        decode(data, (), handed.folder, handed.files)


@pytest.mark.parametrize(("dtype", "shape"), [("|O", (1,)), ("<f4", (3,)), ("<f4", (-1,)), ("x", (2,)), ("<U2", (1,))])
def test_an_array_is_of_numbers_and_fits_its_bytes(dtype, shape):
    with pytest.raises(GarbledReplyError):
        array(dtype, shape, np.frombuffer(b"12345678", np.uint8))


def test_asks_travel_as_they_are():
    for ask in ASKS:
        data, arrays = encode(ask)
        assert (decode(data), arrays) == (ask, [])
    assert LIMITS.seconds == 5


def test_whatever_is_asked_has_replies_that_are_taken():
    assert set(typing.get_args(asks.Wanted)) == set(reader._REPLIES)
