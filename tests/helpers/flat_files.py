"""Small TFLite models and ExecuTorch programs, written by the library of FlatBuffers and the numbers of the schemas."""

import struct
from dataclasses import dataclass, field

import flatbuffers

FLOAT32, INT32, INT8 = 0, 2, 9
CONV, DEPTHWISE, DENSE, LSTM, BATCH_MATMUL, ADD, CUSTOM = 3, 4, 9, 16, 126, 0, 32
_SCALARS = {"b": "Int8", "B": "Uint8", "?": "Bool", "i": "Int32", "I": "Uint32", "q": "Int64", "Q": "Uint64"}


@dataclass
class T:
    """A table: fields by their number. A number is (form, value); a list of numbers (form, values)."""

    fields: dict = field(default_factory=dict)


def flat(root, identifier):
    """A file with this table at its root."""
    builder = flatbuffers.Builder(1024)
    builder.Finish(_table(builder, root), file_identifier=identifier)
    return bytes(builder.Output())


def _table(builder, table):
    made = {place: _pointed(builder, value) for place, value in table.fields.items()}
    builder.StartObject(max(table.fields, default=-1) + 1)
    for place, value in table.fields.items():
        if isinstance(value, tuple) and not isinstance(value[1], list):
            getattr(builder, f"Prepend{_SCALARS[value[0]]}")(value[1])
            builder.Slot(place)
        else:
            builder.PrependUOffsetTRelativeSlot(place, made[place], 0)
    return builder.EndObject()


def _pointed(builder, value):
    if isinstance(value, T):
        return _table(builder, value)
    if isinstance(value, str):
        return builder.CreateString(value)
    if isinstance(value, bytes):
        return builder.CreateByteVector(value)
    if isinstance(value, list):
        parts = [_pointed(builder, each) for each in value]
        builder.StartVector(4, len(parts), 4)
        for part in reversed(parts):
            builder.PrependUOffsetTRelative(part)
        return builder.EndVector()
    if isinstance(value[1], list):
        form, numbers = value
        size = struct.calcsize(f"<{form}")
        builder.StartVector(size, len(numbers), size)
        for number in reversed(numbers):
            if form == "f":
                builder.PrependFloat32(number)
            else:
                getattr(builder, f"Prepend{_SCALARS[form]}")(number)
        return builder.EndVector()
    return None


def tensor(name, shape, buffer=0, type_=FLOAT32, signature=None, scales=None):
    """A tensor of a TFLite model."""
    fields = {0: ("i", list(shape)), 1: ("b", type_), 2: ("I", buffer), 3: name}
    if signature is not None:
        fields[7] = ("i", list(signature))
    if scales is not None:
        fields[4] = T({2: ("f", scales), 3: ("q", [0] * len(scales))})
    return T(fields)


def tflite(operators, tensors, contents=(), custom="", more_graphs=()):
    """A TFLite model. An operator is (number, inputs, outputs) or with a table of options; `contents` are buffers."""
    codes = [
        T({0: ("b", min(each[0], 127)), 3: ("i", each[0]), **({1: custom} if custom else {})}) for each in operators
    ]
    steps = [
        T({0: ("I", at), 1: ("i", list(each[1])), 2: ("i", list(each[2])), **({4: each[3]} if len(each) > 3 else {})})
        for at, each in enumerate(operators)
    ]
    graph = T({0: list(tensors), 1: ("i", [0]), 2: ("i", [len(tensors) - 1]), 3: steps})
    buffers = [T({}), *(T({0: content}) for content in contents)]
    return flat(T({0: ("I", 3), 1: codes, 2: [graph, *more_graphs], 4: buffers}), b"TFL3")


def pte(operators, calls, tensors, planned, delegates=(), name="forward"):
    """A program of ExecuTorch. A tensor is (scalar type, shape, data, planned); `calls` are places of operators."""
    values = []
    for kind, shape, data, plan in tensors:
        about = {0: ("b", kind), 2: ("i", list(shape)), 5: ("I", data), **({6: T({0: ("I", 1)})} if plan else {})}
        values.append(T({0: ("B", 5), 1: T(about)}))
    steps = [T({0: ("B", 1), 1: T({0: ("i", at), 1: ("i", [])})}) for at in calls]
    steps += [T({0: ("B", 2), 1: T({0: ("i", at), 1: ("i", [])})}) for at in range(len(delegates))]
    names = [T({0: each, 1: more}) for each, more in operators]
    plan = T({0: name, 2: values, 3: ("i", []), 4: ("i", []), 5: [T({2: steps})], 6: names,
              7: [T({0: each}) for each in delegates], 8: ("q", [0, *planned])})  # fmt: skip
    return flat(T({0: ("I", 0), 1: [plan]}), b"ET12")
