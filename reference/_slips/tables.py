"""Slips in tables of layers: which rows there are, and what stands in their cells."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from .._counting.engine import inputs
from .._counting.wrong import AsIf
from .compose import SIZE, Library, Names, Slip, WantedProducts
from .operations import places
from .sizes import DILATION, PADDING, PADDING_ONCE, SIZES, STRIDE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .._counting.engine import CountedSubject

Row = dict[str, Any]
Rows = list[Row]
_Window = tuple[int, int, int, int]
NORMS = (nn.modules.batchnorm._BatchNorm, nn.LayerNorm, nn.GroupNorm)  # noqa: SLF001 - has no public name
SHAPE = "output_shape"
_ASIDE = (
    "biases",
    "buffers",
    "tensors",
    "norm",
    "frozen",
    "groups",
    "assumed",
    "weight_shape",
    "window",
    "convolution",
    "input_shape",
    "inside",
    "floats",
    "out",
    "batch",
    "of_input",
    "up",
    "module",
)  # what slips look at, and no table has


def with_held(rows: Callable[[Any], Rows]) -> Callable[[Any], Rows]:
    """The rows with what each module holds, and with the shape that each call was given."""

    def found(subject: CountedSubject) -> Rows:
        module, x = subject.on_meta()
        inside, given = dict(module.named_modules()), _given(module, x)
        return [
            row | _held(inside.get(row["layer"].partition("#")[0], module)) | {"input_shape": given.get(row["layer"])}
            for row in rows(subject)
        ]

    return found


def _given(root: nn.Module, x: Any) -> dict[str, list[int]]:
    """The shape of the first tensor that each call was given, by name, `name#2` when called again.

    Raises:
        ValueError: sizes do not fit each other, as where a property of the layers is forgotten.
    """
    found: dict[str, list[int]] = {}
    runs: Counter[str] = Counter()

    def note(name: str, args: tuple[Any, ...]) -> None:
        runs[name] += 1
        if args and isinstance(args[0], torch.Tensor):
            found[name if runs[name] == 1 else f"{name}#{runs[name]}"] = list(args[0].shape)

    for name, module in root.named_modules():
        module.register_forward_pre_hook(lambda _, args, name=name: note(name, args))
    try:
        with torch.no_grad():
            root(*inputs(x))
    except RuntimeError as error:
        raise ValueError(str(error)) from error
    return found


def _held(module: nn.Module) -> Row:
    parameters = dict(module.named_parameters())
    weight = getattr(module, "weight", None)
    return {
        "biases": sum(each.numel() for name, each in parameters.items() if name.endswith("bias")),
        "buffers": sum(each.numel() for each in module.buffers()),
        "tensors": len(parameters),
        "norm": isinstance(module, NORMS),
        "groups": _grouped(module, weight),
        "assumed": weight.shape[0] if weight is not None and getattr(module, "bias", 0) is None else 0,
        "frozen": sum(each.numel() for each in parameters.values() if not each.requires_grad),
        "module": type(module).__name__,
        "window": _window(module),
        "weight_shape": list(weight.shape) if isinstance(weight, torch.Tensor) else None,
        "convolution": isinstance(module, nn.modules.conv._ConvNd),  # noqa: SLF001
        "inside": any(True for _ in module.children()),
    }


def _window(module: nn.Module) -> list[_Window]:
    """Kernel, pads, stride and dilation of a convolution, by dimension; of others, and of 'same', none."""
    if not isinstance(module, nn.modules.conv._ConvNd) or module.transposed or isinstance(module.padding, str):  # noqa: SLF001
        return []
    pads = [2 * pad for pad in module.padding]
    return list(zip(module.kernel_size, pads, module.stride, module.dilation, strict=True))


def _windows(change: Callable[[int, int, int, int], tuple[int, int, int, int]]) -> Callable[[Rows], Rows]:
    """Change kernel, pads of both sides, stride and dilation in each dimension of convolutions, as `_computed` does."""
    return _computed(lambda windows: [change(*each) for each in windows])


def _computed(change: Callable[[list[_Window]], list[_Window]], *, up: bool = False) -> Callable[[Rows], Rows]:
    """Give each convolution's output the size that is computed from that of its true input and from changed windows.

    What one slip changed another finds changed. `up`: sizes are rounded up.
    """

    def changed(row: Row) -> Row:
        if not (row.get("window") and row.get("input_shape") and row[SHAPE]):
            return row
        windows = change(row["window"])
        more = [each[2] - 1 if up or row.get("up") else 0 for each in windows]
        sizes = [places(n + one, *each) for n, one, each in zip(row["input_shape"][2:], more, windows, strict=True)]
        return row | {SHAPE: [*row[SHAPE][:2], *sizes], "window": windows, "up": up or row.get("up")}

    return lambda rows: [changed(row) for row in rows]


def _grouped(module: nn.Module, weight: Any) -> int:
    """How many weights there are more where groups are ignored; of a container, in none of its layers."""
    groups = getattr(module, "groups", 1)
    return (groups - 1) * weight.numel() if isinstance(groups, int) and isinstance(weight, torch.Tensor) else 0


@dataclass(frozen=True, kw_only=True)
class Tables:
    """What slips of a library make of a table that `rows` gives: sizes are forgotten first, then rows are changed."""

    subject: CountedSubject | None
    rows: Callable[[Any], Rows]
    library: Library
    _rows: dict[Names, Rows] = field(default_factory=dict)

    def of(self, names: Names) -> Rows:
        """The rows of one hypothesis.

        Raises:
            ValueError: the subject gives no occasion for a slip.
        """
        sizes = tuple(name for name in names if self.library[name].of == SIZE)
        if sizes not in self._rows:
            changed: Any = self.subject
            for name in sizes:
                changed = AsIf(changed, self.library[name].change)
            self._rows[sizes] = self.rows(changed)
        rows = self._rows[sizes]
        for name in names:
            if self.library[name].of != SIZE:
                rows = self.library[name].change(rows)
        return [{key: value for key, value in row.items() if key not in _ASIDE} for row in rows]

    def all(self, wanted: WantedProducts) -> Iterator[tuple[Names, Rows]]:
        """Each hypothesis with its rows."""
        for names in wanted.sets(self.library):
            try:
                yield names, self.of(names)
            except ValueError:
                continue


def changed(library: Library, rows: Rows, wanted: WantedProducts) -> Iterator[tuple[Names, Rows]]:
    """What slips make of rows that no size is behind."""
    return Tables(subject=None, rows=lambda _: rows, library=library).all(wanted)


def shaped(change: Callable[[list[int]], list[int]]) -> Callable[[Rows], Rows]:
    """Change the shape in each row that has one."""
    return lambda rows: [row | {SHAPE: change(row[SHAPE])} if row[SHAPE] else row for row in rows]


def depth(row: dict[str, Any]) -> int:
    """How many modules there are around a row's; only the root has none."""
    return 0 if "" in row["also_named"] else row["layer"].count(".") + 1


def to_depth(most: int) -> Callable[[Rows], Rows]:
    """Leave out what lies deeper; a container at the end stands for what is in it."""

    def change(rows: Rows) -> Rows:
        kept = [dict(row) for row in rows if depth(row) <= most]
        for row in kept:
            if depth(row) == most and row[SHAPE] is not None:
                row["optional"], row["also_right"] = False, {}
        return kept

    return change


def once(rows: Rows) -> Rows:
    """Leave out the second and later calls of a module."""
    return [row for row in rows if "#" not in row["layer"]]


def _named(change: Callable[[str], str]) -> Callable[[Rows], Rows]:
    """Give rows another name: of those that get the same one, the last is left, as in a dict by name."""

    def renamed(rows: Rows) -> Rows:
        named = ((change(row["layer"].partition("#")[0]), row) for row in rows)
        return list({name: row | {"layer": name, "also_named": []} for name, row in named}.values())

    return renamed


def _sliced(rows: Rows, kept: slice) -> Rows:
    """A part of the rows that have to be listed."""
    wanted = [row for row in rows if not row.get("optional")][kept]
    return [row for row in rows if row.get("optional") or row in wanted]


def _instead(key: str) -> Callable[[Rows], Rows]:
    """Another shape in place of each, where there is one."""
    return lambda rows: [row | {SHAPE: row[key]} if row[SHAPE] and row.get(key) else row for row in rows]


def _channels_last(shape: list[int]) -> list[int]:
    return [shape[0], *shape[2:], shape[1]] if len(shape) > 3 else shape  # noqa: PLR2004 - sequences have no channels


def _channels_of_input(rows: Rows) -> Rows:
    """The channels of its input in each convolution's row."""
    images = [row["convolution"] and row[SHAPE] and row["input_shape"] for row in rows]
    changed = (
        [row[SHAPE][0], row["input_shape"][1], *row[SHAPE][2:]] if image else row[SHAPE]
        for row, image in zip(rows, images, strict=True)
    )
    return [row | {SHAPE: shape} for row, shape in zip(rows, changed, strict=True)]


def _alone(rows: Rows) -> Rows:
    """Each convolution by itself on a tensor of the image's height and width, which the first one gets."""
    image: list[int] = next(
        iter(row["input_shape"][2:] for row in rows if row["convolution"] and row["input_shape"]), []
    )
    given = [row | {"input_shape": [*row["input_shape"][:2], *image]} if row["window"] else row for row in rows]
    same = {
        row["layer"]: {SHAPE: [*row[SHAPE][:2], *image]} for row in rows if row["convolution"] and not row["window"]
    }
    return [row | same.get(row["layer"], {}) for row in _computed(lambda windows: windows)(given)]


def _swapped(shape: list[int]) -> list[int]:
    return [*shape[:2], *reversed(shape[2:])]


def _batch_one(shape: list[int]) -> list[int]:
    return [1, *shape[1:]]


SHAPES: Library = {
    **SIZES,
    "batch_unknown": Slip(
        of="batch",
        change=shaped(lambda shape: [-1, *shape[1:]]),
        says="The batch is given as -1 or None, as Keras and torchsummary print it. Give its size.",
    ),
    "without_batch": Slip(
        of="batch",
        change=shaped(lambda shape: shape[1:]),
        says="Shapes are given without the batch, which is their first dimension. Give the whole shape.",
    ),
    "spatial": Slip(
        of="batch",
        change=shaped(lambda shape: shape[2:]),
        says="Shapes are given without batch and channels, which are their first two dimensions. Give the whole shape.",
    ),
    "channels_alone": Slip(
        of="batch",
        change=shaped(lambda shape: shape[:2]),
        says="Shapes end with the channels; height and width are missing. Give the whole shape.",
    ),
    "direct": Slip(
        of="rows",
        change=lambda rows: [row for row in rows if "." not in row["layer"]],
        says="Only the model's own children are looked at; layers that lie deeper are missing. Use named_modules(), "
        "not named_children().",
    ),
    "two_levels": Slip(
        of="rows",
        change=lambda rows: [row for row in rows if row["layer"].count(".") < 2],  # noqa: PLR2004
        says="Only the model's children and theirs are looked at; layers that lie deeper are missing. Use "
        "named_modules(), which goes through all levels.",
    ),
    "own_padding": Slip(of="own padding", change=_windows(lambda k, _, s, d: (k, 0, s, d)), says=PADDING),
    "own_padding_once": Slip(
        of="own padding", change=_windows(lambda k, pads, s, d: (k, pads // 2, s, d)), says=PADDING_ONCE
    ),
    "alone": Slip(
        of="own input",
        change=_alone,
        says="Each convolution's output has the size that it has for a tensor of the image's height and width. Into a "
        "layer goes what those before it put out: record shapes in a forward hook while the whole model runs.",
    ),
    "own_stride": Slip(of="own stride", change=_windows(lambda k, pads, _, d: (k, pads, 1, d)), says=STRIDE),
    "own_dilation": Slip(of="own dilation", change=_windows(lambda k, pads, s, _: (k, pads, s, 1)), says=DILATION),
    "own_ceil": Slip(
        of="own rounding",
        change=_computed(lambda windows: windows, up=True),
        says="The size of a convolution's output is rounded up. It is rounded down: a kernel that does not fit is left "
        "out.",
    ),
    "own_square": Slip(
        of="own square", change=_computed(lambda windows: windows[:1] * len(windows)), says=SIZES["square"].says
    ),
    "last_row": Slip(
        of="rows",
        change=lambda rows: _sliced(rows, slice(-1)),
        says="The last layer is missing, all others are there. Look at where your loop or list ends.",
    ),
    "first_row": Slip(
        of="rows",
        change=lambda rows: _sliced(rows, slice(1, None)),
        says="The first layer is missing, all others are there. Look at where your loop or list begins.",
    ),
    "last_row_alone": Slip(
        of="rows",
        change=lambda rows: [row | {"layer": row["layer"].partition("#")[0]} for row in _sliced(rows, slice(-1, None))],
        says="Only the last layer has a row. A function that is made in a loop looks the loop's variable up when it is "
        "called, and finds the last one: give it the name (def hook(module, args, output, name=name)).",
    ),
    "every_other_row": Slip(
        of="rows",
        change=lambda rows: _sliced(rows, slice(None, None, 2)),
        says="Every other layer is missing: the first is there, the second is not, and so on. Look at the step of your "
        "range or slice.",
    ),
    "block_names": Slip(
        of="names",
        change=_named(lambda name: name.rpartition(".")[0] or name),
        says="Rows bear the name of the block around a layer. Take the layer's own, the whole one in named_modules().",
    ),
    "last_names": Slip(
        of="names",
        change=_named(lambda name: name.rpartition(".")[2]),
        says="Rows bear the last part of each layer's name, so that layers of different blocks come under one name. "
        "Take the whole name in named_modules().",
    ),
    "input_shapes": Slip(
        of="shape",
        change=_instead("input_shape"),
        says="These are the shapes of what goes into each layer. In a hook, the second argument is the input, the "
        "third the output.",
    ),
    "weight_shapes": Slip(
        of="shape",
        change=_instead("weight_shape"),
        says="These are the shapes of the weights. The output has the shape (batch, out_channels, height, width): "
        "record it in a forward hook.",
    ),
    "batch_one": Slip(
        of="batch",
        change=shaped(_batch_one),
        says="The batch is 1 whatever the input is. Run the model on an input of the size that is given.",
    ),
    "batch_two": Slip(
        of="batch",
        change=shaped(lambda shape: [2, *shape[1:]]),
        says="The batch is 2 whatever the input is, as where torchsummary runs the model. Run it on an input of the "
        "size that is given.",
    ),
    "in_channels": Slip(
        of="channels",
        change=_channels_of_input,
        says="The channels are those of what goes into each convolution. Its output has as many as out_channels.",
    ),
    "channels_last": Slip(
        of="order",
        change=shaped(_channels_last),
        says="Channels stand last. PyTorch has them second: batch, channels, height, width.",
    ),
    "sizes_swapped": Slip(
        of="order",
        change=shaped(_swapped),
        says="Height and width are swapped. PyTorch has batch, channels, height, width.",
    ),
    "once": Slip(
        of="rows",
        change=once,
        says="A module that is called several times is listed once. List each call: a dict keyed by the module or its "
        "name keeps only one.",
    ),
}
