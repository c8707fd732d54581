"""Slips in counting what the modules of a network put out: which count, how often, and in what unit."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from torch import nn
from torch.nn.modules.dropout import _DropoutNd

from .._counting.calls import seen
from .._counting.engine import analyse, inputs
from .common import BYTE_UNITS, also, first_left_out, last_left_out, times, without
from .compose import Composition, Library, Part, Slip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .._counting.engine import CountedSubject
    from .._counting.trace import Call, Shape, Trace
    from .compose import Factors

OUT, CONTAINER, ROOT, READ, GIVEN, HELD = "", "container", "root", "read", "given", "held"
_IMAGE = 4
_PRODUCTS = (nn.modules.conv._ConvNd, nn.Linear)  # noqa: SLF001 - the base of convolutions
_FUNCTIONS = tuple(
    kind
    for kind in vars(nn.modules.activation).values()
    if isinstance(kind, type) and issubclass(kind, nn.Module) and kind not in (nn.Module, nn.MultiheadAttention)
)


class PutOut:
    """What one call of a module put out, or read: `elements` of it; `batch` says how many samples there are."""

    __slots__ = ("batch", "call", "elements", "module")

    def __init__(self, call: Call, shapes: Sequence[Shape], batch: int) -> None:
        self.call, self.batch = call, batch
        self.module: Any = call.module
        self.elements = sum(map(math.prod, shapes))


def composition(subject: CountedSubject, counts: Callable[[Call], bool], library: Library | None = None) -> Composition:
    """What the modules of a subject put out, of which those count that `counts` says, and what slips make of it."""

    def make(_: object) -> list[Part]:
        return list(_parts(subject, analyse(subject, counting=False), counts))

    return Composition(library=library or OUTPUTS, make=make)


def is_leaf(call: Call) -> bool:
    """Whether it is a call of a module without modules inside."""
    return not any(True for _ in call.module.children())


def drops(call: Call) -> bool:
    """Whether it is one of dropout."""
    return isinstance(call.module, _DropoutNd)


def _parts(subject: CountedSubject, trace: Trace, counts: Callable[[Call], bool]) -> Iterator[Part]:
    for call in trace.calls:
        kind = OUT if is_leaf(call) else CONTAINER if call.name else ROOT
        made = PutOut(call, call.outputs, trace.batch)
        yield Part(row=call.name, count=seen(call).output_bytes, source=made, kind=kind, counted=counts(call))
        if kind == OUT:
            read = PutOut(call, call.inputs, trace.batch)
            yield Part(row=call.name, count=4 * read.elements, source=read, kind=READ, counted=False)
    first = trace.calls[0]
    given = list(inputs(subject.on_meta()[1]))
    whole = PutOut(first, [tuple(each.shape) for each in given], trace.batch)
    yield Part(row="", count=sum(each.nbytes for each in given), source=whole, kind=GIVEN, counted=False)
    held = PutOut(first, (), 1)
    count = sum(each.nbytes for each in trace.root.parameters())
    yield Part(row="", count=count, source=held, kind=HELD, counted=False)


def _instead(kind: str) -> Callable[[Sequence[Part]], Factors]:
    return lambda parts: [int(part.kind == kind) - int(part.counted) for part in parts]


def _once(parts: Sequence[Part]) -> Factors:
    first: dict[int, int] = {}
    return [
        int(part.kind != OUT or first.setdefault(id(part.source.module), at) == at) for at, part in enumerate(parts)
    ]


def _largest(parts: Sequence[Part]) -> Factors:
    most = max((part.count for part in parts if part.counted), default=0)
    at = next((at for at, part in enumerate(parts) if part.counted and part.count == most), -1)
    return [int(place == at) - int(part.counted) for place, part in enumerate(parts)]


def _one_each(key: Callable[[Part], object]) -> Callable[[Sequence[Part]], Factors]:
    """Of what is counted and has the same key, keep the last."""

    def factors(parts: Sequence[Part]) -> Factors:
        last = {key(part): at for at, part in enumerate(parts) if part.counted}
        return [int(not part.counted or last[key(part)] == at) for at, part in enumerate(parts)]

    return factors


def _out(test: Callable[[PutOut], bool]) -> Callable[[Sequence[Part]], Factors]:
    return without(test, (OUT, READ))


_EVERY = (OUT, CONTAINER, ROOT, READ, GIVEN)
_BATCH = "Counted for one sample of the batch; the task asks for the whole input."
OUTPUTS: Library = {
    "containers": Slip(
        of="extra",
        change=also(CONTAINER),
        says="Containers are counted, too. A container's output is its last child's; count modules that have no "
        "modules inside.",
    ),
    "containers_and_root": Slip(
        of="extra",
        change=lambda parts: [int(part.kind in (CONTAINER, ROOT) and not part.counted) for part in parts],
        says="Containers and the model itself are counted, too. Their outputs are their last children's; count modules "
        "that have no modules inside.",
    ),
    "in_place": Slip(
        of="left out",
        change=_out(lambda o: bool(getattr(o.module, "inplace", False))),
        says="What modules in place put out is missing. Each layer's output counts here, even where it is written over "
        "what was read.",
    ),
    "without_parameters": Slip(
        of="left out",
        change=_out(lambda o: not any(True for _ in o.module.parameters())),
        says="Only layers with parameters are counted. ReLU, pooling and dropout put out activations, too.",
    ),
    "others": Slip(
        of="left out",
        change=_out(lambda o: not isinstance(o.module, _PRODUCTS)),
        says="Only convolutions and linear layers are counted. The others put out activations, too.",
    ),
    "all_but_convolutions": Slip(
        of="left out",
        change=_out(lambda o: not isinstance(o.module, _PRODUCTS[0])),
        says="Only convolutions are counted. The others put out activations, too.",
    ),
    "linear": Slip(
        of="left out",
        change=_out(lambda o: isinstance(o.module, nn.Linear)),
        says="Linear layers are left out. They put out activations, too.",
    ),
    "dropout": Slip(
        of="left out",
        change=_out(lambda o: isinstance(o.module, _DropoutNd)),
        says="Dropout is left out. It is a layer, and puts out what it is given.",
    ),
    "functions": Slip(
        of="left out",
        change=_out(lambda o: isinstance(o.module, _FUNCTIONS)),
        says="Activation functions, such as ReLU, are left out. What they put out counts, too.",
    ),
    "flatten": Slip(
        of="left out",
        change=_out(lambda o: isinstance(o.module, nn.Flatten)),
        says="Flatten is left out. It is a layer here, and puts out what it is given in another shape.",
    ),
    "pools": Slip(
        of="left out",
        change=_out(lambda o: "Pool" in type(o.module).__name__),
        says="Pools are left out. They put out activations, too.",
    ),
    "norms": Slip(
        of="left out",
        change=_out(lambda o: "Norm" in type(o.module).__name__),
        says="Normalisation is left out. It puts out activations, too.",
    ),
    "vectors": Slip(
        of="left out",
        change=_out(lambda o: len(next(iter(o.call.outputs), ())) != _IMAGE),
        says="Only outputs of four dimensions are counted. Those of others, behind Flatten or a linear layer, take "
        "bytes, too.",
    ),
    "repeats": Slip(
        of="left out",
        change=_once,
        says="A module that is called several times is counted once. Each call puts something out.",
    ),
    "last_layer": Slip(
        of="left out",
        change=last_left_out,
        says="The last output is left out. Look at where your loop ends.",
    ),
    "first_layer": Slip(
        of="left out",
        change=first_left_out,
        says="The first output is left out. Look at where your loop begins.",
    ),
    "last_of_type": Slip(
        of="left out",
        change=_one_each(lambda part: type(part.source.module)),
        says="Of the modules of one class only the last one's output is counted, as in a map by the class's name. Add "
        "up.",
    ),
    "same_shape": Slip(
        of="left out",
        change=_one_each(lambda part: part.source.call.outputs),
        says="Of outputs of the same shape only one is counted, as in a set or a map. Add up what each call puts out.",
    ),
    "last_of_name": Slip(
        of="left out",
        change=_one_each(lambda part: part.row.rpartition(".")[2]),
        says="Of modules whose names end alike only the last one's output is counted, as in a map by that part. Take "
        "the whole name, or add up.",
    ),
    "inputs": Slip(
        of="extra",
        change=also(READ),
        says="What each layer is given is counted beside what it puts out, so that most tensors count twice. Count "
        "outputs alone.",
    ),
    "inputs_alone": Slip(
        of="which",
        change=_instead(READ),
        says="What layers are given is counted in place of what they put out: the model's input is there, its output "
        "not.",
    ),
    "model_input": Slip(
        of="extra",
        change=also(GIVEN),
        says="The model's input is counted. It is no output of a layer.",
    ),
    "parameters": Slip(
        of="extra",
        change=also(HELD),
        says="Weights are added. They are no activations: they do not depend on the input.",
    ),
    "parameters_alone": Slip(
        of="which",
        change=_instead(HELD),
        says="These are the weights. Activations are what layers put out.",
    ),
    "output_alone": Slip(
        of="which",
        change=_instead(ROOT),
        says="This is what the model puts out in the end, alone. Add up what each layer puts out.",
    ),
    "containers_alone": Slip(
        of="which",
        change=_instead(CONTAINER),
        says="Only containers are counted. Count modules that have no modules inside.",
    ),
    "largest": Slip(
        of="which",
        change=_largest,
        says="This is the largest output alone. Add up what each layer puts out.",
    ),
    "batch": Slip(
        of="batch",
        change=times(lambda o: Fraction(1, o.batch), _EVERY),
        says=_BATCH,
    ),
    "batch_twice": Slip(
        of="batch",
        change=times(lambda o: o.batch, _EVERY),
        says="The batch is counted twice. The outputs' shapes have it already.",
    ),
    "channels": Slip(
        of="dimensions",
        change=times(
            lambda o: Fraction(1, o.call.outputs[0][1]) if len(next(iter(o.call.outputs), ())) == _IMAGE else 1
        ),
        says="The channels of images are left out. Multiply all sizes: batch, channels, height and width.",
    ),
    "elements": Slip(
        of="size of an element",
        change=lambda parts: [Fraction(1, 4)] * len(parts),
        says="This is the number of elements. Multiply it by the bytes of each: four for float32.",
    ),
    "eight": Slip(
        of="size of an element",
        change=lambda parts: [2] * len(parts),
        says="This is twice the bytes: eight an element, as for 64-bit floating point or with a gradient beside each "
        "output. An element of 32 bits takes four.",
    ),
    "two": Slip(
        of="size of an element",
        change=lambda parts: [Fraction(1, 2)] * len(parts),
        says="This is half of the bytes: two an element, as for 16-bit floating point. An element of 32 bits takes "
        "four.",
    ),
    "tensors": Slip(
        of="factor",
        change=lambda parts: [Fraction(1, part.count) if part.count else 1 for part in parts],
        says="Outputs are counted, not their bytes. Multiply the elements of each by four.",
    ),
    **{name: unit for name, unit in BYTE_UNITS.items() if name not in ("twice", "half")},
}
