import io
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

from labgrade.answers import file
from labgrade.answers.file import notebook_instead
from labgrade.answers.reading import arrays
from labgrade.core.results import Answer, Submission
from labgrade.core.task import FileForm, TableOfType, TableType
from labgrade.verdict import Outcome

MACS = TableType(row="layer", columns={"macs": "count"})
CONVERT = "is a notebook, but 'hw2_1.py' is asked for; run `jupyter nbconvert --to script --output hw2_1"
TENSORS = TableOfType(kind="tensor")


def npy(array, **options):
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def npz(**named):
    buffer = io.BytesIO()
    np.savez(buffer, **named)
    return buffer.getvalue()


def header(shape, descr="'<f4'", version=b"\x01\x00"):
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text


@pytest.fixture
def handed(hand_in):
    return lambda files, kind, pattern: file.obtain(kind, FileForm(pattern=pattern), hand_in(files))


def reason(answer):
    assert answer.verdict.outcome is Outcome.INCORRECT
    return answer.verdict.reason


def test_tables(handed):
    for name, content in (
        ("t.csv", "layer,macs\nfc,5\n"),
        ("t.tsv", "layer\tmacs\nfc\t5\n"),
        ("t.txt", "fc: 5\nb: 6\n"),
    ):
        answer = handed({name: content}, MACS, name)
        assert (answer.value.rows[0].name, answer.value.rows[0].cells["macs"].value) == ("fc", 5)
        assert answer.origin == f"{name}:1"


@pytest.mark.parametrize("there", ["batch_size.csv", "BatchSize.csv", "runs/batch size.csv"])
def test_a_file_is_found_whatever_parts_its_words(handed, there):
    answer = handed({there: "layer,macs\nfc,5\n"}, MACS, "batch-size.csv")
    assert answer.origin == f"{there}:1"
    assert answer.remarks == (f"read '{there}' for 'batch-size.csv'",)
    assert handed({there: "", "batch__size.csv": ""}, MACS, "batch-size.csv") is None


@pytest.mark.parametrize(("there", "wanted"), [("hw2-11.csv", "hw2-1-1.csv"), ("hw21.txt", "hw2_1.txt")])
def test_marks_between_digits_tell_files_apart(handed, there, wanted):
    assert handed({there: "layer,macs\nfc,5\n"}, MACS, wanted) is None


def test_a_line_ends_once_however_often_it_is_said(handed):
    answer = handed({"t.csv": b"layer,macs\r\r\nfc,5\r\r\nfd,6\r\r\n"}, MACS, "t.csv")
    assert [row.name for row in answer.value.rows] == ["fc", "fd"]


def test_numbers_without_a_header_wait(handed):
    runs = TableType(row="size", sparse=True, columns={"size": "count", "seed": "count", "accuracy": "number"})
    answer = handed({"t.csv": "16,0,0.95\n16,1,9.4e-1\n16,2,.9\n"}, runs, "t.csv")
    assert answer.verdict.outcome is Outcome.MANUAL
    assert "no header" in answer.verdict.reason
    assert handed({"t.csv": "a,b\nc,d\n1,2\n"}, runs, "t.csv").verdict.outcome is Outcome.INCORRECT


def test_a_value_alone_in_a_file(handed):
    assert handed({"macs.txt": "1.498 G\n"}, "count", "macs.txt").value.value == 1_498_000_000


def test_what_is_not_there_is_none(handed):
    assert handed({"a.txt": ""}, MACS, "t.csv") is None
    assert handed({"a.txt": ""}, MACS, "t-*.csv") is None


def test_a_file_without_the_table_is_wrong(handed):
    assert reason(handed({"t.csv": "hello\n"}, MACS, "t.csv")) == "'t.csv' holds no value of the kind asked for"


def test_arrays(handed):
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    answer = handed({"a.npy": npy(array)}, "tensor", "a.npy")
    assert answer.value.tolist() == array.tolist()
    assert (answer.value.dtype, answer.origin) == (np.float32, "a.npy")
    assert handed({"a.npz": npz(x=array)}, "tensor", "a.npz").value.tolist() == array.tolist()
    several = handed({"a.npz": npz(**{"inception3a.conv": array, "y": array})}, TENSORS, "a.npz")
    assert list(several.value) == ["inception3a.conv", "y"]


def test_another_spelling_is_said(handed):
    assert handed({"A.npy": npy(np.ones(2))}, "tensor", "a.npy").remarks == ("read 'A.npy' for 'a.npy'",)


def test_files_by_a_pattern_are_rows_named_by_the_star(handed):
    files = {f"out/{name}.npy": npy(np.ones(2)) for name in ("conv1", "inception3a.conv")}
    answer = handed(files | {"out/deep/x.npy": npy(np.ones(2))}, TENSORS, "out/*.npy")
    assert list(answer.value) == ["conv1", "inception3a.conv"]
    assert answer.origin == "out/*.npy (2 files)"
    rows = handed({"m-fc.txt": "5\n", "m-a[1].txt": "6\n"}, MACS, "m-*.txt").value.rows
    assert [(row.name, row.cells["macs"].value) for row in rows] == [("a[1]", 6), ("fc", 5)]


def test_a_wrong_file_of_many_is_named(handed):
    assert reason(handed({"m-fc.txt": "few\n"}, MACS, "m-*.txt")) == (
        "'m-*.txt': row 'fc', column 'macs': 'few' is not a count (a whole number such as 1,498,376,192 or 1.498 G)"
    )
    assert reason(handed({"a.npy": npy(np.ones(2)), "b.npy": b"no"}, TENSORS, "*.npy")).startswith(
        "'b.npy' is no .npy file"
    )


def test_too_many_files_are_refused(tmp_path):
    submission = Submission(name="x", folder=tmp_path, files=tuple(f"{n}.npy" for n in range(2_001)))
    answer = file.obtain(TENSORS, FileForm(pattern="*.npy"), submission)
    assert reason(answer) == "2,001 files match '*.npy'; at most 2,000 are read"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"hello", "'a.npy' is no .npy file that can be read"),
        (b"", "'a.npy' is no .npy file that can be read"),
        (
            npy(np.array([{}]), allow_pickle=True),
            "'a.npy' holds object values; save an array of numbers (nothing is unpickled)",
        ),
        (npy(np.array(["a"])), "'a.npy' holds <U1 values; save an array of numbers (nothing is unpickled)"),
        (header((10**12,)), "'a.npy' promises an array of shape [1000000000000], but is too short for it"),
        (header((-1, 4)) + b"\0" * 64, "'a.npy' promises an array of shape [-1, 4], but is too short for it"),
        (header((True,)) + b"\0" * 64, "'a.npy' promises an array that there can't be: an integer is required"),
        (header((1,) * 65) + b"\0" * 64, "'a.npy' promises an array that there can't be: maximum supported dimension"),
        (header((2,)) + b"\0" * 4, "'a.npy' promises an array of shape [2], but is too short for it"),
        (header((2,), version=b"\x09\x00"), "'a.npy' is written in version 9.0 of the .npy format; numpy.save it anew"),
        (header("(" * 500), "'a.npy' is no .npy file that can be read"),
        (header((2,), descr="'nonsense'"), "'a.npy' is no .npy file that can be read"),
    ],
)
def test_an_array_that_is_none_is_refused(handed, data, says):
    assert says in reason(handed({"a.npy": data}, "tensor", "a.npy"))


def test_nothing_is_allocated_for_a_promise(handed):
    data = header((10**9,))
    tracemalloc.start()
    handed({"a.npy": data}, "tensor", "a.npy")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


def test_archives_are_checked_before_they_are_unpacked(handed, monkeypatch):
    assert reason(handed({"a.npz": b"PK"}, TENSORS, "a.npz")).startswith("'a.npz' is no .npz file that can be read")
    assert reason(handed({"a.npz": npz(x=np.array(["a"]))}, TENSORS, "a.npz")) == (
        "'a.npz' holds 'x.npy', which holds <U1 values; save an array of numbers (nothing is unpickled)"
    )
    monkeypatch.setattr(arrays, "_UNPACKED", 1_000_000)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", b"\0" * 2_000_000)
    assert reason(handed({"a.npz": buffer.getvalue()}, TENSORS, "a.npz")) == "'a.npz' unpacks to more than 1 MB"
    monkeypatch.setattr(arrays, "_MOST_ARRAYS", 1)
    assert reason(handed({"a.npz": npz(x=np.ones(1), y=np.ones(1))}, TENSORS, "a.npz")) == (
        "'a.npz' holds 2 files; at most 1 are read"
    )


def test_an_archive_that_lies_about_a_size_is_refused(handed):
    data = bytearray(npz(x=np.zeros(1_000)))
    directory = data.rindex(b"PK\x01\x02")
    data[directory + 24 : directory + 28] = struct.pack("<I", 100)
    assert "'a.npz'" in reason(handed({"a.npz": bytes(data)}, TENSORS, "a.npz"))


def test_too_large_a_file_is_refused(handed, monkeypatch):
    monkeypatch.setattr(arrays, "LARGEST", 1_000_000)
    answer = handed({"a.npy": npy(np.zeros(200_000))}, "tensor", "a.npy")
    assert reason(answer) == "'a.npy' is larger than 1 MB; hand in less"


@pytest.mark.parametrize(
    ("files", "says"),
    [
        (
            ("hw2_1.ipynb",),
            f"'hw2_1.ipynb' {CONVERT} hw2_1.ipynb` and hand in the .py file",
        ),
        (
            ("nb/My Lab.ipynb",),
            f"'nb/My Lab.ipynb' {CONVERT} 'nb/My Lab.ipynb'` and hand in the .py file",
        ),
        (("HW2_1.py",), None),
        (("src/hw2_1.py",), None),
        (("src/hw2-1.py",), "'src/hw2-1.py' was handed in; name it 'hw2_1.py'"),
        (("hw2_1 (1).py",), "'hw2_1 (1).py' was handed in; name it 'hw2_1.py'"),
        (("hw21.py",), "there is no 'hw2_1.py'; did you mean 'hw21.py'? rename it to 'hw2_1.py'"),
        (("report.md",), None),
        (("hw2_1.py", "hw2_1.ipynb"), None),
        ((), None),
    ],
)
def test_what_was_handed_in_instead(tmp_path, files, says):
    assert notebook_instead(Submission(name="x", folder=tmp_path, files=files), "hw2_1.py") == says


@pytest.mark.parametrize(("there", "offered"), [("alexnet-output.txt", False), ("linaer-output.txt", True)])
def test_a_file_of_another_answer_is_no_misspelling(tmp_path, there, offered):
    submission = Submission(name="x", folder=tmp_path, files=(there,))
    assert ("rename it" in (notebook_instead(submission, "linear-output.txt") or "")) is offered


def test_an_answer_is_never_raised(handed):
    for name, data in (("a.npy", b"\x93NUMPY"), ("a.npz", b"\0"), ("a.csv", b"\0"), ("a.txt", b"\xff\xfe\0")):
        for kind in ("count", "tensor", MACS, TENSORS):
            answer = handed({name: data}, kind, name)
            assert answer is None or not isinstance(answer, Answer)


def test_a_reason_holds_no_address_of_memory(hand_in):
    header = b"{'descr': f(), 'fortran_order': False, 'shape': (1,)}\n"
    submission = hand_in({"x.npy": b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header})
    reason = file.obtain("tensor", FileForm(pattern="x.npy"), submission).verdict.reason
    assert "is no .npy file that can be read" in reason
    assert " at 0x" not in reason
