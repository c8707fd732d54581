"""Frames: what goes through unchanged, what is refused by the packer, and what a forger can send in vain."""

import json
import struct
from collections import deque, namedtuple
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction

import numpy as np
import pytest

from labgrade.core.arguments import GIVEN
from labgrade.sandbox.child import wire
from labgrade.sandbox.child.main import LOADED, UP
from labgrade.sandbox.child.plain_data import convert
from labgrade.sandbox.child.wire import NotPlainError, pack, unpack

BEFORE = UP + LOADED


def crossed(value):
    return unpack(pack(value, convert))


def frame(header, data=b""):
    header = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<QI", 12 + len(header) + len(data), len(header)) + header + data


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -1,
        10**399,
        0.1,
        1e-320,
        -0.0,
        float("inf"),
        "",
        'quotes " and \\ and \n and 多 and \U0001f600',
        [],
        [[]],
        {},
        {"map": {"array": 0}, "": [1, "a", None]},
        {"array": 0},
    ],
)
def test_plain_data_crosses_unchanged(value):
    got = crossed(value)
    assert repr(got) == repr(value)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int16", "int32", "uint64", "float16", "float32", "float64"]
)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (2, 3, 4)])
def test_arrays_cross_with_dtype_and_shape(dtype, shape):
    array = np.arange(24).astype(dtype)[: int(np.prod(shape))].reshape(shape)
    got = crossed(["before", array, {"again": array}])
    for back in (got[1], got[2]["again"]):
        assert (back.dtype, back.shape) == (array.dtype, array.shape)
        assert np.array_equal(back, array)
        assert back.flags.writeable


def test_a_transposed_array_keeps_its_order():
    array = np.arange(6).reshape(2, 3).T
    assert np.array_equal(crossed(array), array)


@pytest.mark.parametrize("more", range(8))
def test_arrays_of_a_frame_as_it_was_received_are_parts_of_it(more):
    """All but those that lie behind an odd number of bytes, which are copies."""
    numbers = [np.arange(size, dtype=kind) for size, kind in ((3, "<f8"), (more, "|u1"), (2, "<f4"))]
    said = BEFORE + pack({"é" * more: numbers}, convert)
    received = bytearray(said)
    ((first, _, last),) = unpack(memoryview(received)[len(BEFORE) :]).values()
    assert all(found.flags.behaved for found in (first, last))
    received[:] = bytes(len(received))
    assert not first.any()
    assert last.any() == (more % 4 > 0)


def test_a_lone_surrogate_becomes_a_character_that_can_be_printed():
    assert crossed("a\ud800b") == "a\ufffdb"
    assert crossed({"\ud800": 1}) == {"\ufffd": 1}


class Liar(int):
    def __eq__(self, other):
        return True

    __hash__ = None


class Nameless(type):
    @property
    def __module__(cls):
        raise RuntimeError


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (10**400, "an integer of about 401 digits; 400 are the most"),
        (-(10**400), "an integer of about 401 digits; 400 are the most"),
        ({None: 2}, "a dict with a key of type NoneType; keys must be text (str)"),
        ({(1, 2): 2}, "a dict with a key of type tuple; keys must be text (str)"),
        ([0, {"a b": {1, 2}}], "a set, which has no order; return a list, or its length (at [1]['a b'])"),
        (b"\xff", "a bytes, which is not plain data; return numbers, text, lists, dicts or tensors"),
        (1j, "a complex, which is not plain data; return numbers, text, lists, dicts or tensors"),
        (deque(), "a collections.deque, which is not plain data; return numbers, text, lists, dicts or tensors"),
        (np.array([1, None]), "a numpy array of dtype object; return one of numbers, such as float32"),
        (np.array(["a"]), "a numpy array of dtype <U1; return one of numbers, such as float32"),
        (np.ones(2, complex), "a numpy array of dtype complex128; return one of numbers, such as float32"),
        (
            np.ma.masked_array([1]),
            "a numpy.ma.MaskedArray, which is not plain data; return numbers, text, lists, dicts or tensors",
        ),
        (
            Nameless("Any", (), {})(),
            "an object, which is not plain data; return numbers, text, lists, dicts or tensors",
        ),
    ],
)
def test_what_is_not_plain_data_is_refused_by_name(value, message):
    with pytest.raises(NotPlainError) as caught:
        pack(value, convert)
    assert str(caught.value) == message


def test_a_type_made_of_a_builtin_one_is_what_it_holds_whatever_it_says_of_itself():
    held = [Liar(3), type("Row", (dict,), {"items": lambda self: [("b", 2)]})(a=1), type("Rows", (list,), {})([1])]
    assert crossed(held) == [3, {"a": 1}, [1]]
    own = type("Named", (namedtuple("Base", "layer macs"),), {})("fc", type("Whole", (int,), {})(5))  # noqa: PYI024 - as students write it
    assert crossed([own, type("Name", (str,), {})("fc")]) == [{"layer": "fc", "macs": 5}, "fc"]
    assert [type(value) for value in crossed([Liar(3), type("Half", (float,), {})(0.5)])] == [int, float]


def test_bytes_that_are_a_text_cross_as_one():
    assert crossed({"auto_pad": b"SAME_UPPER", "axes": [b"\xc3\xa9"]}) == {"auto_pad": "SAME_UPPER", "axes": ["\u00e9"]}


def test_numbers_with_a_type_of_their_own_cross_as_plain_ones():
    values = [Decimal("1E+3"), Decimal("0.5"), Decimal(-7), Fraction(6, 2), Fraction(1, 4), Decimal("1e999999")]
    assert crossed(values) == [1000, 0.5, -7, 3, 0.25, float("inf")]
    assert [type(value) for value in crossed(values[:4])] == [int, float, int, int]


def test_a_member_of_an_enumeration_is_its_value():
    assert crossed(IntEnum("Size", {"SMALL": 3}).SMALL) == 3
    assert crossed([Enum("Kind", {"CONV": "Conv2d"}).CONV]) == ["Conv2d"]


def test_keys_are_text_also_where_they_were_numbers_members_or_classes():
    kind = Enum("Kind", {"CONV": "Conv2d"})
    assert crossed({0: 1, np.int64(1): 2, kind.CONV: 3, dict: 4}) == {"0": 1, "1": 2, "Conv2d": 3, "dict": 4}


def test_what_is_lazy_is_listed():
    assert crossed([{"a": 1}.items(), map(str, [1]), zip("ab", "cd", strict=True)]) == [
        [["a", 1]],
        ["1"],
        [["a", "c"], ["b", "d"]],
    ]
    with pytest.raises(NotPlainError, match="of values; a tensor may hold"):
        pack(for_ever(), convert)


def for_ever():
    while True:
        yield "many" * 100


def test_64_levels_pass_and_one_more_does_not():
    def nested(levels):
        return [nested(levels - 1)] if levels else 0

    assert crossed(nested(wire.DEPTH)) == nested(wire.DEPTH)
    with pytest.raises(NotPlainError, match="nested more than 64 levels deep"):
        pack(nested(wire.DEPTH + 1), convert)


@pytest.mark.promise("the-wire-is-bounded")
def test_too_much_is_refused_before_it_is_built(monkeypatch):
    monkeypatch.setattr(wire, "HEADER_BYTES", 4096)
    monkeypatch.setattr(wire, "FRAME_BYTES", 8192)
    assert len(crossed([1] * 1000)) == 1000
    with pytest.raises(NotPlainError, match="of values; a tensor may hold"):
        pack([1] * 3000, convert)
    with pytest.raises(NotPlainError, match="of values"):
        pack("x" * 5000, convert)
    assert crossed(np.zeros(4000, np.uint8)).size == 4000
    with pytest.raises(NotPlainError, match="of tensors"):
        pack([np.zeros(4000, np.uint8)] * 2, convert)


GARBLED = "a garbled result"


@pytest.mark.promise("nothing-sent-is-executed")
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "a truncated result"),
        (b"\xff" * 11, "a truncated result"),
        (b"\xff" * 100, GARBLED),
        (pack([1, 2], convert)[:-1], "a truncated result"),
        (pack(1, convert) + b"x", "more than one result"),
        (pack(1, convert) * 2, "more than one result"),
        (struct.pack("<QI", 12, 100), GARBLED),
        (struct.pack("<QI", 1 << 40, 4) + b"null", GARBLED),
        (frame(b"\xff\xfe"), GARBLED),
        (frame(b"{"), GARBLED),
        (frame([]), GARBLED),
        (frame({"value": 1}), GARBLED),
        (frame({"value": 1, "arrays": [], "more": 1}), GARBLED),
        (frame({"value": 1, "arrays": {}}), GARBLED),
        (frame({"value": {}, "arrays": []}), GARBLED),
        (frame({"value": {"map": []}, "arrays": []}), GARBLED),
        (frame({"value": {"map": {}, "array": 0}, "arrays": []}), GARBLED),
        (frame({"value": {"array": 0}, "arrays": []}), GARBLED),
        (frame({"value": {"array": -1}, "arrays": [["|u1", [1]]]}, b"x"), GARBLED),
        (frame({"value": {"array": False}, "arrays": [["|u1", [1]]]}, b"x"), GARBLED),
        (frame({"value": 1, "arrays": []}, b"x"), "data that belongs to no array"),
        (frame({"value": 1, "arrays": [["|O", [1]]]}, b"12345678"), "a garbled array"),
        (frame({"value": 1, "arrays": [["|u1", [-1]]]}), "a garbled array"),
        (frame({"value": 1, "arrays": [["|u1", [True]]]}, b"x"), "a garbled array"),
        (frame({"value": 1, "arrays": [["|u1", [1.0]]]}, b"x"), "a garbled array"),
        (frame({"value": 1, "arrays": [["|u1", [1] * 33]]}, b"x"), "a garbled array"),
        (frame({"value": 1, "arrays": [[[], [1]]]}, b"x"), "a garbled array"),
        (
            frame({"value": 1, "arrays": [["<f8", [1 << 27, 1 << 27]]]}, b"x"),
            "an array whose shape does not fit its data",
        ),
        (frame({"value": 1, "arrays": [["|u1", [2]]]}, b"x"), "an array whose shape does not fit its data"),
        (frame(b'{"value":' + b"9" * 402 + b',"arrays":[]}'), GARBLED),
        (frame(b'{"value":' + b"[" * 900_000 + b"]" * 900_000 + b',"arrays":[]}'), GARBLED),
        (frame(b'{"value":' + b"[" * 70 + b"]" * 70 + b',"arrays":[]}'), "a value nested too deep"),
    ],
)
def test_a_forged_frame_is_refused(data, message):
    with pytest.raises(NotPlainError) as caught:
        unpack(data)
    assert str(caught.value) == message


def test_a_long_float_is_infinite_and_a_long_zero_dimension_holds_nothing():
    assert unpack(frame(b'{"value":1e999999,"arrays":[]}')) == float("inf")
    with pytest.raises(NotPlainError):
        unpack(frame({"value": 1, "arrays": [["|u1", [0, 1 << 60]]]}))
    with pytest.raises(NotPlainError):
        unpack(frame({"value": 1, "arrays": [["|u1", [0] + [1 << 28] * 31]]}))
    assert unpack(frame({"value": {"array": 0}, "arrays": [["|u1", [0, 1 << 28]]]})).size == 0


def test_every_given_name_is_described():
    assert set(GIVEN) == {"model", "input", "input_size", "model_path", "config"}
    assert all(GIVEN.values())
