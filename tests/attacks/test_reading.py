"""Hand-ins that are aimed at what reads them: the process that grades parses nothing, and what is read has limits."""

import ast
import io
import json
import sys
import tarfile
import time
import tracemalloc
import zipfile
import zlib
from datetime import UTC
from pathlib import Path

import numpy as np
import pytest
from helpers.handed_in import read
from helpers.opened import here

from labgrade.answers.reader.asks import ask_value
from labgrade.answers.reader.reader import Reader
from labgrade.answers.reading import arrays, documents, typed_values
from labgrade.answers.reading.tabular import tables
from labgrade.answers.reading.typed_values import WrongTypeError, as_value
from labgrade.core.errors import FaultError
from labgrade.core.results import Answer, NoAnswer
from labgrade.core.task import AnswerSpec, CallForm, EntryForm, FileForm, Limits, TableType, TextForm
from labgrade.cpp import explain
from labgrade.files import yaml
from labgrade.sandbox import outcomes
from labgrade.sandbox.child.call import MOST_NAMES
from labgrade.sandbox.child.wire import NotPlainError, unpack
from labgrade.sandbox.jail.layers import NAMESPACES
from labgrade.sandbox.requests import CallRequest
from labgrade.sandbox.runner import Runner
from labgrade.submissions import archive_reader, archive_records, archives, find, git, git_reader, handed_in_at

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="there is a jail on Linux alone")]
LIGHT = Path(__file__).parents[1] / "sandbox/zoo_light.py"


@pytest.fixture(scope="module")
def runner():
    with Runner(zoo=LIGHT, fresh=False) as one:
        if NAMESPACES not in one.protection.layers:
            pytest.skip("this machine has no namespaces")
        yield one


# ---- nothing is parsed where grading happens -------------------------------------------------------------------


@pytest.fixture
def watched(monkeypatch):
    """Whatever parses a student's bytes breaks in this process; those who try are named."""
    tried = []

    def trap(owner, name):
        def sprung(*_, **__):
            tried.append(f"{getattr(owner, '__name__', owner)}.{name}")
            raise AssertionError(tried[-1])

        monkeypatch.setattr(owner, name, sprung)

    def watch():
        trap(zipfile, "ZipFile")
        trap(tarfile, "open")
        trap(zlib, "decompress")
        trap(ast, "parse")
        trap(ast, "literal_eval")
        trap(np.lib.format, "read_magic")
        trap(yaml, "load_untrusted")
        trap(documents, "read_bytes")
        trap(arrays, "read_bytes")
        trap(tables, "find_tables")
        trap(archive_reader, "write_records")
        trap(git_reader, "write_records")
        trap(explain, "read")
        return tried

    return watch


def an_archive(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def saved(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


TABLE = TableType(row="layer", columns={"macs": "count"})
HW = """
def f(): return '| layer | macs |\\n|---|---|\\n| conv1 | 7 |\\n'
def g(): return '12 MACs'
"""
FILES = {
    "answers.yaml": "a: 1",
    "sub/answers.json": '{"a": 1}',
    "report.md": "Total MACs: 12\n",
    "x.npy": saved(np.arange(4)),
    "hw.py": HW,
}
FORMS = [
    ("count", EntryForm(path="a"), 1),
    ("count", TextForm(after="Total MACs"), 12),
    ("tensor", FileForm(pattern="x.npy"), [0, 1, 2, 3]),
    (TABLE, CallForm(file="hw.py", function="f", given=()), {"conv1": 7}),
    ("count", CallForm(file="hw.py", function="g", given=()), 12),
]


@pytest.mark.promise("no-byte-is-parsed-in-the-grader")
def test_the_process_that_grades_parses_nothing_of_a_student_s(runner, watched, tmp_path):
    from labgrade.answers import call
    from labgrade.answers.question import Question

    (tmp_path / "class").mkdir()
    an_archive(tmp_path / "class/ann.zip", FILES)
    tried = watched()
    (who,) = find.find(tmp_path / "class", ["all"], tmp_path / "store", opening=runner.open).submissions
    moment = handed_in_at.moment(tmp_path / "class/ann.zip", opening=runner.open, zone=UTC)
    assert (moment.by, moment.remarks) == ("the newest file in its archive", ())
    reader = Reader(runner)
    for kind, form, value in FORMS:
        if isinstance(form, CallForm):
            question = Question(wanted=AnswerSpec(name="x", type=kind, forms=(form,)), submission=who)
            running = type("Running", (), {"runner": runner, "reader": reader, "store": tmp_path})
            found = call.obtain(question, form, running)
        else:
            found = reader.ask(who, ask_value(kind, form))
        assert isinstance(found, Answer), found
        plain = found.value
        if kind == "tensor":
            plain = plain.tolist()
        elif kind is TABLE:
            plain = {row.name: int(row.cells["macs"].value) for row in plain.rows}
        else:
            plain = int(plain.value)
        assert plain == value
    thrown = "terminate called after throwing an instance of 'int'\n"
    assert reader.explain("crash", who, thrown) == ("", "int", "", thrown.strip(), "")
    assert tried == []


# ---- limits of the reader --------------------------------------------------------------------------------------


def test_a_hand_in_that_takes_the_reader_s_memory_is_named_and_costs_the_next_nothing(runner, tmp_path):
    """Each is small where it lies: a YAML of many items, a source that is one expression, an array that is none."""
    bad, good = tmp_path / "bad", tmp_path / "good"
    for folder in (bad, good):
        folder.mkdir()
        (folder / "report.md").write_text("Total MACs: 12\n")
    (bad / "answers.yaml").write_text("a: " + "[" * 200_000)
    with zipfile.ZipFile(bad / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        header = saved(np.zeros(0, np.float32))[:128].replace(b"(0,), ", b"(120000000,), ".ljust(6))
        archive.writestr("x.npy", header[:128] + bytes(480_000_000))
    reader = Reader(runner)
    who, other = read(bad, "bad"), read(good, "good")
    nested, huge = ("count", EntryForm(path="a")), ("tensor", FileForm(pattern="x.npz"))
    for (kind, form), outcome in ((nested, "INCORRECT"), (huge, "MANUAL")):  # wrong by itself; what a limit ended
        found = reader.ask(who, ask_value(kind, form))
        assert isinstance(found, NoAnswer), found
        assert found.verdict.outcome == outcome, found
    for each in (who, other):
        assert reader.ask(each, ask_value("count", TextForm(after="Total MACs"))).value.value == 12


def test_an_array_as_large_as_a_task_allows_is_read(runner, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((63_000_000,), np.float32))
    found = Reader(runner).ask(read(tmp_path, "x"), ask_value("tensor", FileForm(pattern="x.npy")))
    assert found.value.shape == (63_000_000,)
    assert found.value.dtype == np.float32


class Says:
    """A reader that was taken over: it sends what it likes."""

    def __init__(self, frames):
        self.frames = frames

    def read(self, request):
        from labgrade.core.results import Execution

        return Execution(status="returned", value=self.frames * len(request.asks))


@pytest.mark.promise("values-not-verdicts")
@pytest.mark.parametrize(
    "data",
    [
        b'["Verdict", ["Outcome", "CORRECT"], "", ["/", "1", "1"]]',
        b'["Answer"]',
        b'["Artifact", "../../answers.yaml"]',
        b"[" * 100_000,
        b'"' + b"x" * (40 << 20) + b'"',
        b'["/", "1", "0"]',
        b'{"event": "read"}',
        b'"a text"',
        b"[]",
    ],
)
def test_a_forged_or_oversized_reply_is_no_answer(data, tmp_path):
    (tmp_path / "report.md").write_text("Total MACs: 12\n")
    frame = {"event": "read", "data": np.frombuffer(data, np.uint8), "arrays": []}
    reader = Reader(Says([frame]))
    ask = ask_value("count", TextForm(after="Total MACs"))
    with pytest.raises(FaultError, match="sent no reply"):
        reader.ask(read(tmp_path, "x"), ask)


# ---- what a function returns -----------------------------------------------------------------------------------


def test_a_list_with_one_long_text_takes_no_memory():
    tracemalloc.start()
    with pytest.raises(WrongTypeError, match="an array of numbers is asked for"):
        as_value(["x" * 1_000_000, *["y"] * 200], "tensor")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 10 << 20  # numpy would make 200 places of 4 MB


def test_many_arrays_beside_one_of_a_wider_type_are_too_many_numbers(monkeypatch):
    monkeypatch.setattr(typed_values, "_MOST_NUMBERS", 1_000)
    with pytest.raises(WrongTypeError, match="1,100 numbers in lists; 1,000 are read"):
        as_value([np.zeros(100, np.uint8)] * 10 + [np.zeros(100, np.float64)], "tensor")


def test_one_array_has_one_place_in_a_frame():
    header = json.dumps({"value": [{"array": 0}] * 1000, "arrays": [["|u1", [8]]]}).encode()
    size = 12 + len(header) + 8
    frame = size.to_bytes(8, "little") + len(header).to_bytes(4, "little") + header + bytes(8)
    with pytest.raises(NotPlainError, match="one array in two places"):
        unpack(frame)


@pytest.mark.parametrize("kind", ["count", "number", "shape"])
def test_a_text_of_megabytes_is_no_number(kind):
    text = "1," * (4 << 20)
    begin = time.process_time()
    with pytest.raises(WrongTypeError):
        as_value(text, kind)
    assert time.process_time() - begin < 1


FORGES = """
import contextlib, os, sys
data = open("frame", "rb").read()
for number in range(3, 512):
    with contextlib.suppress(OSError):
        while data:
            data = data[os.write(number, data):]
os._exit(0)
"""


def test_a_forged_list_of_functions_is_not_searched_by_the_grader(runner, tmp_path, monkeypatch):
    """A child may say that it found a million functions: each was compared with the one that is wanted, for 30 s."""
    names = json.dumps([f"totl{number}" for number in range(400_000)])
    header = f'{{"value":{{"map":{{"event":"missing","names":{names}}}}},"arrays":[]}}'.encode()
    frame = (12 + len(header)).to_bytes(8, "little") + len(header).to_bytes(4, "little") + header
    (tmp_path / "hw.py").write_text(FORGES)
    (tmp_path / "frame").write_bytes(frame)
    searched = []
    monkeypatch.setattr(outcomes, "did_you_mean", lambda _, known: searched.extend(known) or "")
    call = CallRequest(folder=tmp_path, file="hw.py", function="total", given=(), subject=None, limits=Limits())
    assert runner.run(call).status == "missing"
    assert len(searched) == MOST_NAMES


# ---- archives and repositories ---------------------------------------------------------------------------------


@pytest.mark.promise("archives-are-opened-in-the-jail")
def test_what_opens_archives_may_be_taken_over_and_still_writes_nothing_elsewhere(tmp_path):
    """Records as a broken jail could send them: names that lead out, endless names, wrong letters, no end."""
    (tmp_path / "class").mkdir()
    (tmp_path / "class/ann.zip").write_bytes(b"PK")
    good = archive_records.entry_record(archive_records.ArchiveEntry(name="ok.py", parts=("ok.py",), size=2))
    content = b"".join(archive_records.content_records(iter([b"ok"])))
    forged = [
        good.replace(b'["ok.py"]', b'["..", "..", "up.py"]'.ljust(9)),
        good.replace(b'["ok.py"]', b'["/etc/x"]'),
        archive_records._HEAD.pack(b"E", 1 << 30),
        archive_records._record(b"E", b"[" * 60_000),
        archive_records._record(b"D", b"without an entry"),
        archive_records._record(b"?", b""),
        b"",
    ]
    for number, each in enumerate(forged):

        def send(kind, source, take, arguments, each=each):
            take(io.BytesIO(good + content + resized(each)))
            return ""

        store = tmp_path / f"store{number}"
        (who,) = find.find(tmp_path / "class", ["all"], store, opening=send).submissions
        assert who.files == ("ok.py",)
        assert who.refused == (f"'ann.zip', because {archive_records._BROKE_OFF}",)
        assert sorted(path.name for path in tmp_path.rglob("*.py")) == ["ok.py"] * (number + 1)


def resized(record):
    if record[:1] != b"E" or len(record) < 10:
        return record
    return archive_records._record(b"E", record[5:])


@pytest.mark.promise("archives-are-opened-in-the-jail")
def test_an_archive_that_takes_too_long_is_named_and_what_came_before_is_kept(tmp_path, monkeypatch, runner):
    """Some megabytes that are packed in a way that takes long: the limit is made short."""
    monkeypatch.setattr("labgrade.sandbox.runner._OPEN_SECONDS", 0.2)
    monkeypatch.setattr("labgrade.sandbox.runner._OPENED_BYTES_A_SECOND", 1 << 40)  # nothing more for its size
    (tmp_path / "class").mkdir()
    with zipfile.ZipFile(tmp_path / "class/ann.zip", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("ok.py", "x = 1")
        for number in range(3):
            archive.writestr(f"{number}.bin", np.random.default_rng(number).bytes(3 << 20))
    (who,) = find.find(tmp_path / "class", ["all"], tmp_path / "store", opening=runner.open).submissions
    assert "ok.py" in who.files
    assert any("of computing to read" in each for each in who.refused)


def test_both_ways_of_opening_say_the_same(tmp_path, runner):
    (tmp_path / "class").mkdir()
    an_archive(tmp_path / "class/ann.zip", {"a.py": "1", "../up": "2", "/etc/x": "3", "b\n.py": "4"})
    with tarfile.open(tmp_path / "class/bob.tar.gz", "w:gz") as archive:
        kinds = {"ok.py": tarfile.REGTYPE, "l": tarfile.SYMTYPE, "d": tarfile.CHRTYPE, "f": tarfile.FIFOTYPE}
        for name, kind in kinds.items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd" if kind == tarfile.SYMTYPE else ""
            archive.addfile(info, io.BytesIO(b""))
    (tmp_path / "class/eve.zip").write_bytes(b"PK\5\6 and no more")
    taken = [
        find.find(tmp_path / "class", ["all"], tmp_path / name, opening=opening).submissions
        for name, opening in (("jailed", runner.open), ("here", here))
    ]
    jailed, own = ([(who.name, who.files, who.refused) for who in each] for each in taken)
    assert jailed == own
    times = [archives.times(tmp_path / "class/ann.zip", opening) for opening in (runner.open, here)]
    assert times[0] == times[1]
    assert git.commit_of_submission(tmp_path, runner.open) == git.Commit()
