"""`labgrade picture` of tables and arrays that were made to break it: one line that says why, or a picture."""

import io
import struct
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from labgrade.cli import main

pytestmark = pytest.mark.slow


def array(kind, shape, body=bytes(24)):
    head = f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + head.encode() + body


def archive():
    file = io.BytesIO()
    np.savez(file, a=np.ones(3))
    return file.getvalue()


REFUSED = {
    "archive.npy": (archive(), "it is an archive of arrays; save one of them with numpy.save"),
    "promises more.npy": (array("'<f8'", "(10000000000000,)"), "greater than file size"),
    "negative.npy": (array("'<f8'", "(-3,)"), "negative dimensions"),
    "nothing.npy": (array("'<f8'", "(0,)", b""), "can't be drawn"),
    "objects.npy": (array("'|O'", "(3,)"), "Python objects"),
    "complex.npy": (array("'<c16'", "(1,)"), "1 values of type complex128; numbers are drawn"),
    "texts.npy": (array("'<U1'", "(3,)"), "numbers are drawn"),
    "fields.npy": (array("[('a', '<f8')]", "(3,)"), "numbers are drawn"),
    "large.npy": (array("'<f8'", "(2,)", struct.pack("<dd", 1.7e308, -1.7e308)), "or one is too large"),
    "nan.npy": (array("'<f8'", "(1,)", struct.pack("<d", float("nan"))), "not all of its numbers are finite"),
    "empty.npy": (b"", "can't be drawn"),
    "wide field.csv": (b'a,b\n"' + b"x" * 200_000 + b"\n", "field limit"),
    "nan.csv": (b"a,b,c\nx,nan,1\n", "'nan' is not finite, or too large"),
    "large.csv": (b"a,b\nx,1e308\ny,-1e308\n", "'1e308' is not finite, or too large"),
    "digits.csv": (b"a,b\nx," + b"9" * 5000 + b"\n", f"'{'9' * 40}' is not finite"),
    "long.csv": (b"a,b\n" + b"x,1\n" * 10_001, "it has more than 10,000 rows"),
    "more.csv": (b"a,b\nx,1,2\n", "row 1 has more or fewer columns than the head"),
    "less.csv": (b"a,b,c\nx,1,2\ny,1\n", "row 2 has more or fewer columns than the head"),
    "no time.csv": (b"n,flops,bytes,seconds\nk,1,0,1\n", "division by zero"),
    "text.csv": (b"\xff\xfe\0a", "can't decode"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_can_not_be_drawn_is_said_in_a_line(tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    content, why = REFUSED[name]
    (tmp_path / name).write_bytes(content)
    assert main(["picture", name, "--peak", "1e11", "--bandwidth", "1e9"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"labgrade: '{name}' can't be drawn: ")
    assert why in said
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_table_larger_than_a_picture_is_not_read(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with (tmp_path / "t.csv").open("wb") as file:
        file.truncate(1 << 40)
    assert main(["picture", "t.csv"]) == 2
    assert "it is larger than 64 MB" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("truths.npy", array("'|b1'", "(24,)")),
        ("whole.npy", array("'<i8'", "(3,)")),
        ("equal.npy", array("'<f8'", "(2,)", struct.pack("<dd", 1e-320, 1e-320))),
        ("names.csv", b"a,b\n<script>alert(1)</script>,1\n\x1b[2J,2\n"),
        ("zeros.csv", b"a,b,c\nx,0,0\n"),
    ],
)
def test_what_is_odd_and_can_be_drawn_is_a_picture(tmp_path, monkeypatch, name, content):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(content)
    assert main(["picture", name]) == 0
    drawn = ET.fromstring((tmp_path / name).with_suffix(".svg").read_text())
    assert not [each for each in drawn.iter() if each.tag.endswith("script")]
