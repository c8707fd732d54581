"""Wrong values on purpose of what each layer gives: tables of shapes, and tensors. None of these is ever right.

`<quantity>_slips` gives what each slip of a library makes of a quantity; the others are as in `slips.py`.
"""

from __future__ import annotations

import contextlib
import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import nn

from ._counting.calls import chosen
from ._counting.values import run
from ._slips import kinds, tables
from ._slips.compose import Slip, WantedProducts, answered
from ._slips.kept import kept
from ._slips.layers import LAYERS
from ._slips.operations import MULTIPLYING
from .layers import layer_shapes, module_output_shapes, module_outputs

if TYPE_CHECKING:
    import torch

    from ._counting.engine import CountedSubject

_ACTIVATIONS = ("ReLU", "ReLU6", "GELU", "SiLU", "Hardswish", "LeakyReLU", "ELU", "Sigmoid", "Hardsigmoid")


def layer_shapes_slips(subject: CountedSubject, *, most: int = 1, among: list[str] | None = None) -> dict[str, Any]:
    """What slips make of `layer_shapes`."""
    wanted = WantedProducts(most=most, among=among)

    def make() -> tables.Tables:
        return tables.Tables(subject=subject, rows=tables.with_held(layer_shapes), library=LAYERS)

    return _answered(kept(wanted, make, subject, "layers"), wanted)


def module_output_shapes_slips(
    subject: CountedSubject, *, layers: list[str], most: int = 1, among: list[str] | None = None
) -> dict[str, Any]:
    """What slips make of `module_output_shapes`."""
    wanted = WantedProducts(most=most, among=among)
    return _answered(kept(wanted, lambda: _output_shapes(subject, layers), subject, "shapes", layers), wanted)


def _answered(found: tables.Tables, wanted: WantedProducts) -> dict[str, Any]:
    """With what is out of the ordinary about each row, where no hypotheses are named."""
    about = answered(found.library, found.all(wanted))
    if wanted.among is None and found.subject is not None:
        about["kinds"] = kinds.of_layers(found.subject.on_meta()[0], found.of(()))
    return about


def _output_shapes(subject: CountedSubject, layers: list[str]) -> tables.Tables:
    rows = tables.with_held(lambda of: module_output_shapes(of, layers=layers))
    more = Slip(
        of="rows",
        change=lambda found: _with_other_convolutions(subject, layers, found),
        says=f"Other convolutions have rows, too: the task asks for {' and '.join(layers)}. nn.ConvTranspose2d, "
        "nn.Conv1d and nn.Conv3d are classes of their own, of which _ConvNd is the base.",
    )
    return tables.Tables(subject=subject, rows=rows, library={**tables.SHAPES, "other_convolutions": more})


def _with_other_convolutions(subject: CountedSubject, layers: list[str], found: tables.Rows) -> tables.Rows:
    """With the rows of convolutions of all kinds.

    Raises:
        ValueError: there are no others, or none are asked for.
    """
    convolutions = [each for each in MULTIPLYING if each.startswith("Conv")]
    rows = module_output_shapes(subject, layers=[*dict.fromkeys([*layers, *convolutions])])
    if not set(layers) & set(convolutions) or len(rows) == len(found):
        message = "there are no other convolutions"
        raise ValueError(message)
    known = {row["layer"]: row for row in found}
    return [known.get(row["layer"], row) for row in rows]


# ---- tables of layers --------------------------------------------------------------------------------------------


def layer_shapes_batch_unknown(subject: CountedSubject) -> list[dict[str, Any]]:
    """The layer table with -1 for the batch, as Keras and torchsummary print it."""
    return tables.Tables(subject=subject, rows=layer_shapes, library=tables.SHAPES).of(("batch_unknown",))


def layer_shapes_without_batch(subject: CountedSubject) -> list[dict[str, Any]]:
    """The layer table with shapes that leave out the batch, the first dimension.

    Slip of: layer_shapes
    Hint: The shapes leave out the batch, which is their first dimension; the task asks for the whole shape.
    Credit: 0.8
    """
    return tables.Tables(subject=subject, rows=layer_shapes, library=tables.SHAPES).of(("without_batch",))


def layer_shapes_once(subject: CountedSubject) -> list[dict[str, Any]]:
    """The layer table with a module that is called several times listed once.

    Comes of hooks that keep one row a module, or of walking over `named_modules()`.

    Slip of: layer_shapes
    Hint: A module that runs several times is listed once. A ReLU that is called three times has three outputs:
    record per call, not per module.
    Credit: 0.7
    """
    return tables.Tables(subject=subject, rows=layer_shapes, library=tables.SHAPES).of(("once",))


def layer_shapes_without_ceil_mode(subject: CountedSubject) -> list[dict[str, Any]]:
    """The layer table with every pool's size rounded down, where `ceil_mode=True` rounds up.

    Slip of: layer_shapes
    Hint: Sizes go wrong at the first pool that rounds up (ceil_mode=True) where you round down.
    Credit: 0.6
    """
    return tables.Tables(subject=subject, rows=layer_shapes, library=tables.SHAPES).of(("ceil_mode",))


def module_output_shapes_without_ceil_mode(subject: CountedSubject, *, layers: list[str]) -> list[dict[str, Any]]:
    """The output shapes of the sizes that come out when every pool rounds down.

    Slip of: module_output_shapes
    Hint: Sizes go wrong at the first pool that rounds up (ceil_mode=True) where you round down.
    Credit: 0.6
    """
    return _output_shapes(subject, layers).of(("ceil_mode",))


def module_output_shapes_batch_unknown(subject: CountedSubject, *, layers: list[str]) -> list[dict[str, Any]]:
    """The output shapes with -1 or None for the batch, as Keras and torchsummary print it.

    Slip of: module_output_shapes
    Hint: The batch is -1 or None, as in a Keras-like table. The task gives the batch: hand in the shapes that such
    an input has.
    Credit: 0.9
    """
    return _output_shapes(subject, layers).of(("batch_unknown",))


def module_output_shapes_without_batch(subject: CountedSubject, *, layers: list[str]) -> list[dict[str, Any]]:
    """The output shapes without the batch, the first dimension.

    Slip of: module_output_shapes
    Hint: The shapes leave out the batch, which is their first dimension; the task asks for the whole shape.
    Credit: 0.8
    """
    return _output_shapes(subject, layers).of(("without_batch",))


def layer_shapes_to_depth(subject: CountedSubject, *, depth: int = 3) -> list[dict[str, Any]]:
    """The layer table down to a depth: what lies deeper is missing, and its container stands for it.

    Comes of torchinfo's `depth`, which is 3 unless it is set.

    Slip of: layer_shapes
    Hint: The table stops at depth 3, torchinfo's default, so the layers that lie deeper are missing. Print it
    deeper: summary(..., depth=5).
    Credit: 0.7
    """
    return tables.to_depth(depth)(layer_shapes(subject))


# ---- tensors -----------------------------------------------------------------------------------------------------


def module_outputs_after_norm(subject: CountedSubject, *, layers: list[str]) -> dict[str, torch.Tensor] | None:
    """Each layer's name with the output of the normalisation that follows it; None where none does.

    Comes of hooks on the block around a convolution, or of folding its BatchNorm.

    Slip of: module_outputs
    Hint: These are the tensors after batch norm, not the outputs of the convolutions. Put the hook on the Conv2d
    itself.
    Credit: 0.3
    """
    return _outputs_behind(subject, layers, activated=False)


def module_outputs_after_activation(subject: CountedSubject, *, layers: list[str]) -> dict[str, torch.Tensor] | None:
    """Each layer's name with the output of the normalisation and activation that follow it; None where none do.

    Comes of hooks that keep a tensor without `clone()`: an in-place ReLU overwrites what the normalisation put out.

    Slip of: module_outputs
    Hint: These are the tensors after batch norm and ReLU. An in-place ReLU overwrites what a hook kept: clone the
    output in the hook, and put the hook on the Conv2d itself.
    Credit: 0.3
    """
    return _outputs_behind(subject, layers, activated=True)


def module_outputs_without_batch(subject: CountedSubject, *, layers: list[str]) -> dict[str, torch.Tensor]:
    """Each layer's output for the first sample of the batch, without the batch's dimension.

    Comes of `output[0]` or `output.squeeze(0)`.

    Slip of: module_outputs
    Hint: The values agree, but the dimension of the batch is left out. Keep the output as the hook gets it.
    Credit: 0.8
    """
    return {name: output[0] for name, output in module_outputs(subject, layers=layers).items()}


def module_outputs_rectified(subject: CountedSubject, *, layers: list[str]) -> dict[str, torch.Tensor]:
    """Each layer's output with 0 for what is negative, for layers that no normalisation follows, too.

    Slip of: module_outputs
    Hint: These are the outputs after ReLU: nothing is negative. An in-place ReLU overwrites what a hook kept; clone the
    output in the hook, and keep that of the convolution itself.
    Credit: 0.3
    """
    return {name: output.relu() for name, output in module_outputs(subject, layers=layers).items()}


def module_outputs_in_train_mode(subject: CountedSubject, *, layers: list[str]) -> dict[str, torch.Tensor] | None:
    """Each layer's output where batch norm uses the statistics of the batch; None where there is no batch norm.

    Comes of `model.train()`, or of a model of one's own that nobody put into eval mode.

    Slip of: module_outputs
    Hint: The model runs in train mode: batch norm uses the statistics of this batch, so that all outputs behind the
    first one differ. Leave the model in eval mode.
    Credit: 0.3
    """
    module, x = subject.with_weights()
    return module_outputs(_Given(copy.deepcopy(module).train(), x), layers=layers) if _has_norm(module) else None


def module_outputs_of_zeros(subject: CountedSubject, *, layers: list[str]) -> dict[str, torch.Tensor]:
    """Each layer's output for an input of zeros.

    Slip of: module_outputs
    Hint: These are the outputs for an input of zeros. Run the model on the input that your function is given.
    Credit: 0.3
    """
    module, x = subject.with_weights()
    zeros = tuple(each.new_zeros(each.shape) for each in x) if isinstance(x, tuple) else x.new_zeros(x.shape)
    return module_outputs(_Given(module, zeros), layers=layers)


def module_outputs_first_sample(subject: CountedSubject, *, layers: list[str]) -> dict[str, torch.Tensor] | None:
    """Each layer's output for the first sample of the batch alone; None where there is no other.

    Slip of: module_outputs
    Hint: Only the first sample of the batch is kept. Keep the output as the hook gets it.
    Credit: 0.5
    """
    found = module_outputs(subject, layers=layers)
    several = any(output.shape[0] > 1 for output in found.values())
    return {name: output[:1] for name, output in found.items()} if several else None


def module_outputs_inputs(subject: CountedSubject, *, layers: list[str]) -> dict[str, torch.Tensor]:
    """What goes into each layer, in place of what comes out.

    Comes of keeping a hook's second argument.

    Slip of: module_outputs
    Hint: These are the tensors that go into the convolutions. In a forward hook the second argument is the input, the
    third the output: keep the third.
    """
    module, _ = subject.with_weights()
    wanted, given = chosen(module, layers), {}
    with contextlib.ExitStack() as stack:
        for each in filter(wanted, module.modules()):
            stack.callback(each.register_forward_hook(lambda of, x, _: given.update({id(of): x[0].clone()})).remove)
        kept: dict[str, torch.Tensor] = {}
        run(subject, lambda name, of, _: kept.update({name: given[id(of)]}) if wanted(of) else None)
    return kept


def module_outputs_without_bias(subject: CountedSubject, *, layers: list[str]) -> dict[str, torch.Tensor] | None:
    """Each layer's output less its bias; None where no layer has one.

    Slip of: module_outputs
    Hint: The bias of the convolutions is missing: the values are the outputs less it. Keep the output as the hook gets
    it, and compute nothing again.
    """
    module, _ = subject.with_weights()
    inside, outputs = dict(module.named_modules()), module_outputs(subject, layers=layers)
    biases = {name: inside[name.partition("#")[0]].bias for name in outputs}
    if all(bias is None for bias in biases.values()):
        return None
    shapes = {name: (-1, *(1,) * (output.dim() - 2)) for name, output in outputs.items()}
    return {
        name: output if biases[name] is None else output - biases[name].detach().reshape(shapes[name])
        for name, output in outputs.items()
    }


def module_outputs_written_over(subject: CountedSubject, *, layers: list[str]) -> dict[str, torch.Tensor]:
    """Each layer's output as it is when the forward pass has ended, where layers behind it may have written into it.

    Slip of: module_outputs
    Hint: Layers that work in place, such as ReLU(inplace=True), have written into the tensors that you keep. Keep a
    copy of the output in the hook: output.clone().
    """
    module, _ = subject.with_weights()
    wanted, kept = chosen(module, layers), {}
    run(subject, lambda name, of, output: kept.update({name: output}) if wanted(of) else None)
    return kept


def module_outputs_flattened(subject: CountedSubject, *, layers: list[str]) -> dict[str, torch.Tensor]:
    """Each layer's output as one row a sample.

    Slip of: module_outputs
    Hint: The values agree, but each sample is flattened to one row: channels, height and width are lost. Keep the
    output as the hook gets it.
    """
    return {name: output.flatten(1) for name, output in module_outputs(subject, layers=layers).items()}


def module_outputs_averaged(subject: CountedSubject, *, layers: list[str]) -> dict[str, torch.Tensor]:
    """The mean of each channel of each layer's output.

    Slip of: module_outputs
    Hint: These are means over height and width, one number a channel. Keep the output as the hook gets it.
    """
    return {name: output.flatten(2).mean(2) for name, output in module_outputs(subject, layers=layers).items()}


def module_outputs_without_last(subject: CountedSubject, *, layers: list[str]) -> dict[str, torch.Tensor]:
    """Each layer's output but the last one's.

    Slip of: module_outputs
    Hint: The last layer is missing, all others are right. Look at where your loop or list ends.
    """
    found = module_outputs(subject, layers=layers)
    return {name: found[name] for name in list(found)[:-1]}


def _has_norm(module: nn.Module) -> bool:
    return any(isinstance(each, nn.modules.batchnorm._BatchNorm) for each in module.modules())  # noqa: SLF001


@dataclass(frozen=True)
class _Given:
    """A module with what it is called on, as a subject."""

    module: nn.Module
    x: Any

    def on_meta(self) -> tuple[nn.Module, Any]:
        """The two as they are."""
        return self.module, self.x

    def with_weights(self) -> tuple[nn.Module, Any]:
        """The two as they are."""
        return self.on_meta()


def _outputs_behind(subject: CountedSubject, layers: list[str], *, activated: bool) -> dict[str, torch.Tensor] | None:
    module, _ = subject.with_weights()
    wanted = chosen(module, layers)
    outputs: dict[str, torch.Tensor] = {}
    before = after_norm = ""

    def keep(name: str, module: nn.Module, output: torch.Tensor) -> None:
        nonlocal before, after_norm
        if any(module.children()):
            return
        if before and isinstance(module, tables.NORMS):
            # Kept as it is, so that what writes into it later shows; a copy keeps what the normalisation put out.
            outputs[before] = output if activated else output.clone()
            after_norm = before
        elif after_norm and activated and type(module).__name__ in _ACTIVATIONS:
            outputs[after_norm] = output
            after_norm = ""
        else:
            after_norm = ""
        before = name if wanted(module) else ""

    run(subject, keep)
    return {name: output.clone() for name, output in outputs.items()} or None
