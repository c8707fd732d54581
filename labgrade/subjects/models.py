"""Builds what is analysed: a torchvision model with its input, on the meta device or with seeded weights.

Needs nothing of labgrade but what it imports here, as it is also loaded by its path into a student's process; it holds
no expected value.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import inspect
import math
import re
import typing
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade.core.did_you_mean import did_you_mean
from labgrade.subjects import course_networks, networks
from labgrade.subjects import options as own_options
from labgrade.subjects.importing import importing_quickly, without_dynamo
from labgrade.subjects.without_values import without_initialisation, without_memory

if TYPE_CHECKING:
    import types
    from collections.abc import Callable, Mapping, Sequence

    import torch

COLLECTION = "torchvision/"
FILLS = ("normal", "uniform", "ones", "zeros", "tokens")
# An auxiliary head takes part in training only; the published figures of inference leave it out.
DEFAULT_OPTIONS: Mapping[str, Mapping[str, object]] = {
    "googlenet": {"aux_logits": False},
    "inception_v3": {"aux_logits": False},
}
# What decides how a model is built.
SOURCES = tuple(Path(file) for file in (__file__, course_networks.__file__, networks.__file__, own_options.__file__))
# From the decorator to the function: parsing torchvision's source takes ten times as long as searching it.
_REGISTERED = re.compile(r"^@register_model\b(?:(?!^def )[\s\S])*?^def (\w+)\(", re.MULTILINE)
_OPERATORS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)


@functools.cache
def names() -> tuple[str, ...]:
    """The models of the zoo, sorted: `micro/<name>`, and torchvision's classifiers, found by reading its source.

    Neither torch nor torchvision is imported. Detection, segmentation, video and quantized models live in folders of
    their own and are left out.
    """
    folder = _torchvision_folder() / "models"
    classifiers = (COLLECTION + name for file in folder.glob("[!_]*.py") for name in _registered(file))
    return tuple(sorted([*classifiers, *networks.MICRO]))


def import_torchvision() -> types.ModuleType:
    """Import torchvision, also where its compiled operators are missing or do not fit the installed torch.

    torchvision refers to `nms` while it is imported; a definition without an implementation is enough, since no
    classifier calls it. Harmless where the operators exist, and when called again.
    """
    with importing_quickly():
        import torch

    for library in _torchvision_folder().glob("_C.*"):
        with contextlib.suppress(OSError):
            torch.ops.load_library(str(library))  # type: ignore[no-untyped-call]
    for schema in _OPERATORS:
        if not hasattr(torch.ops.torchvision, schema.partition("(")[0]):
            _fragment().define(schema)  # type: ignore[no-untyped-call]
    # Of labgrade's own networks, in which a student can change nothing; it would stand in what their function printed.
    warnings.filterwarnings("ignore", message="Using padding='same' with even kernel lengths")
    with without_dynamo(), importing_quickly():
        return importlib.import_module("torchvision")


@dataclass(frozen=True, kw_only=True, eq=False)
class Subject:
    """A model of the zoo and its input: everything follows from these plain values.

    `options` go to the builder; `weight_seed` draws the weights, `fill` and `input_seed` the input. `code` is the
    source of a network of a folder `models/`, by file. `dtype` and `below` are the input's; `further` inputs have a
    shape, fill, seed, dtype and below each, and all of them together are a tuple then. The same values give the same
    tensors in every process with the same versions of torch and torchvision.
    """

    model: str
    shape: tuple[int, ...]
    fill: str = "normal"
    input_seed: int = 0
    options: Mapping[str, object] = field(default_factory=dict)
    weight_seed: int = 0
    code: Mapping[str, str] = field(default_factory=dict)
    dtype: str = ""
    below: int = 0
    further: Sequence[Mapping[str, Any]] = ()

    def on_meta(self) -> tuple[torch.nn.Module, Any]:
        """The model in eval mode and its input, without memory: shapes are right, values do not exist.

        Built anew at each call, so that a caller may change what it gets. A network that can't be built or moved there
        comes with values, and its input, too: one of which a part is traced while it is built.

        Raises:
            ValueError: for an unknown model or option, or a shape that is none.
        """
        import torch

        self._check_inputs()
        build = self._builder()
        try:
            with without_memory(), without_initialisation():
                module = build().to("meta").eval()
        except (AssertionError, RuntimeError, TypeError):  # torch's, where a constructor computes with its weights
            return self._made()
        return module, self._inputs(lambda shape, dtype, **_: torch.empty(shape, dtype=dtype, device="meta"))

    def with_weights(self) -> tuple[torch.nn.Module, Any]:
        """The model in eval mode with its seeded weights, and its input, on the CPU. Remembered: change neither.

        Convolutions get weights that keep the signal's size, so that every tensor depends on the input: GoogLeNet's own
        ones damp it to 1e-8. Batch norms get seeded statistics and affine parameters, too: with the untouched ones each
        is the identity in eval mode, and the tensors before and behind it could not be told apart.

        The state of torch's random numbers is as it was before.

        Raises:
            ValueError: for an unknown model or option, an unknown fill, or a shape that is none.
        """
        return self._real

    def with_any_weights(self) -> tuple[torch.nn.Module, Any]:
        """As `with_weights`, for those who read no value: of a network of torchvision's none is drawn for them.

        Raises:
            ValueError: as `with_weights`.
        """
        drawn = self.has_weights or not self.is_known_by_weights
        return self.with_weights() if drawn else replace(self).with_weights_put_in(lambda _: None).with_weights()

    def with_weights_of(self, other: Subject, *, for_good: bool = False) -> Subject:
        """Itself, with the module of another subject that has the same weights ready: building one takes longest.

        `for_good`: nobody uses the other any more, so that its module may be frozen where this one is.

        Raises:
            ValueError: for what is to be frozen and is not there.
        """
        frozen = self.options.get(own_options.FROZEN) if for_good else None
        like: Subject = self if not frozen else replace(self, options=_thawed(self.options))
        if other.has_weights and not self.has_weights and like._module_of == other._module_of:
            self._check_inputs()
            if frozen:
                own_options.change(other._real[0], {own_options.FROZEN: frozen}, self.model)
            vars(self)["_real"] = other._real[0], self._inputs(_draw_input)
            vars(self)["_built"] = _state(*self._real)
        return self

    def with_weights_put_in(self, put: Callable[[torch.nn.Module], object]) -> Subject:
        """Itself, with a module whose parameters and buffers get their values by `put`, and are not drawn before.

        To be used where it `is_known_by_weights`.

        Raises:
            ValueError: as `with_weights`.
        """
        import torch

        self._check_inputs()
        build = self._builder()
        with torch.random.fork_rng(devices=[]), without_initialisation():
            module = build().eval()
        put(module)
        vars(self)["_real"] = module, self._inputs(_draw_input)
        vars(self)["_built"] = _state(*self._real)
        return self

    @property
    def is_known_by_weights(self) -> bool:
        """Whether all that is drawn for its module lies in parameters and buffers; of a course's own nobody knows."""
        return self.model.startswith(COLLECTION) and not self.code and not own_options.ALL & self.options.keys()

    @property
    def is_as_built(self) -> bool:
        """Return whether nothing has changed the module or its input."""
        return not self.has_weights or _state(*self._real) == vars(self).get("_built")

    @property
    def has_weights(self) -> bool:
        """Return whether module and input are built already."""
        return "_real" in vars(self)

    @property
    def _module_of(self) -> tuple[object, ...]:
        """Return what the module depends on: all but the inputs."""
        return self.model, dict(self.options), self.weight_seed, dict(self.code)

    @functools.cached_property
    def _real(self) -> tuple[torch.nn.Module, Any]:
        self._check_inputs()
        made = self._made()
        vars(self)["_built"] = _state(*made)
        return made

    def _made(self) -> tuple[torch.nn.Module, Any]:
        """Build the module with its weights, and its input."""
        import torch

        build = self._builder()
        with torch.random.fork_rng(devices=[]):
            # Of the CPU's alone: for other devices torch keeps a traceback of each call, a fifth of a small network.
            torch.default_generator.manual_seed(self.weight_seed)
            module = build()
            _keep_signal(module)
            _draw_norms(module)
        return module.eval(), self._inputs(_draw_input)

    def _described(self) -> list[dict[str, Any]]:
        """Describe each input: shape, fill, seed, dtype and below."""
        first = {"shape": self.shape, "fill": self.fill, "seed": self.input_seed}
        return [{**first, "dtype": self.dtype, "below": self.below}, *map(dict, self.further)]

    def _check_inputs(self) -> None:
        for each in self._described():
            _check_input(tuple(each["shape"]), each["fill"])

    def _inputs(self, make: Callable[..., torch.Tensor]) -> Any:
        """Return the input, or a tuple of several."""
        import torch

        made = []
        for each in self._described():
            dtype = each["dtype"] or ("int64" if each["fill"] == "tokens" else "float32")
            made.append(make(**{**each, "shape": tuple(each["shape"]), "dtype": getattr(torch, dtype)}))
        return tuple(made) if self.further else made[0]

    def _builder(self) -> Callable[[], torch.nn.Module]:
        """Return what builds the model, after checking its name and options."""
        builder, allowed, fixed = self._named()
        chosen = {option: value for option, value in self.options.items() if option not in own_options.ALL}
        for option in chosen:
            if option not in allowed:
                message = f"'{self.model}' has no option '{option}'{did_you_mean(option, allowed)}"
                raise ValueError(message)
        options = {**DEFAULT_OPTIONS.get(self.model.removeprefix(COLLECTION), {}), **chosen, **fixed}

        def build() -> torch.nn.Module:
            with warnings.catch_warnings():
                # About how long torchvision's own initialisation takes, not about the model that is asked for.
                warnings.filterwarnings("ignore", message="The default weight initialization of")
                try:
                    module = builder(**options)
                except TypeError as error:
                    message = f"'{self.model}' cannot be built with {dict(self.options)}: {error}"
                    raise ValueError(message) from error
            return own_options.change(module, self.options, self.model)

        return build

    def _named(self) -> tuple[Callable[..., torch.nn.Module], set[str], dict[str, Any]]:
        """Resolve the model's name to its builder, its options, and those that are fixed."""
        if self.code:
            if any("torchvision" in text for text in self.code.values()):
                import_torchvision()  # which stands in for what it lacks without its compiled operators
            return (*course_networks.builder(self.model, self.code), {})
        if self.model in networks.MICRO:
            return networks.micro, set(), {"name": self.model}
        if self.model == networks.GENERATED:
            return networks.generated, set(networks.OPTIONS), {}
        if self.model not in names():  # reads torchvision's source
            likely = self.model if "/" in self.model else COLLECTION + self.model
            message = f"there is no model '{self.model}'{did_you_mean(likely, names())}"
            raise ValueError(message)
        builder = getattr(import_torchvision().models, self.model.removeprefix(COLLECTION))
        return builder, _options_of(builder), {"weights": None, "progress": False}


def _thawed(options: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in options.items() if name != own_options.FROZEN}


def _draw_input(*, shape: tuple[int, ...], fill: str, seed: int, dtype: torch.dtype, below: int) -> torch.Tensor:
    """Draw an input's values."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    match fill:
        case "normal":
            return torch.randn(shape, generator=generator).to(dtype)
        case "uniform":
            return torch.rand(shape, generator=generator).to(dtype)
        case "tokens":
            return torch.randint(below, shape, generator=generator).to(dtype)
        case "ones":
            return torch.ones(shape, dtype=dtype)
    return torch.zeros(shape, dtype=dtype)


def _keep_signal(module: torch.nn.Module) -> None:
    """Draw the weights of convolutions with variance 2 / fan_in: behind a ReLU as much comes out as goes in.

    Source: He et al., Delving Deep into Rectifiers, 2015, equation 10. A module with `own_weights` keeps what the
    network's own code gave it.
    """
    from torch import nn

    for layer in module.modules():
        kind = nn.modules.conv._ConvNd  # noqa: SLF001 - the common base of all convolutions
        if isinstance(layer, kind) and not getattr(layer, "own_weights", False):
            fan_in = layer.weight[0].numel()
            layer.weight.data.normal_(0.0, math.sqrt(2.0 / fan_in))


def _draw_norms(module: torch.nn.Module) -> None:
    """Draw what a trained batch norm would have learnt: mean, variance, scale and shift."""
    from torch import nn

    for norm in module.modules():
        if isinstance(norm, nn.modules.batchnorm._BatchNorm):  # noqa: SLF001 - the common base of 1d, 2d and 3d
            around_0, around_1 = (norm.running_mean, norm.bias), (norm.running_var, norm.weight)
            for tensor in (*around_0, *around_1):
                if tensor is not None:
                    tensor.data.uniform_(-0.25, 0.25)
            for tensor in around_1:
                if tensor is not None:
                    tensor.data.add_(1)


def _torchvision_folder() -> Path:
    found = importlib.util.find_spec("torchvision")
    if found is None or not found.submodule_search_locations:
        message = "torchvision is not installed"
        raise ModuleNotFoundError(message, name="torchvision")
    return Path(found.submodule_search_locations[0])


def _registered(file: Path) -> list[str]:
    """The functions of a file that are decorated with `@register_model(...)`."""
    return _REGISTERED.findall(file.read_text(encoding="utf-8"))


@functools.cache
def _fragment() -> torch.library.Library:
    """Remembered because a library takes its definitions with it when it goes."""
    import torch

    return torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[no-untyped-call]


def _options_of(builder: Callable[..., torch.nn.Module]) -> set[str]:
    """Return the parameters of a builder and of the class that it builds."""
    built = typing.get_type_hints(builder)["return"]
    taken = {**inspect.signature(builder).parameters, **inspect.signature(built.__init__).parameters}
    named = {name for name, taken_as in taken.items() if taken_as.kind is not inspect.Parameter.VAR_KEYWORD}
    return named - {"self", "weights", "progress"}


def _state(module: Any, given: Any) -> object:
    """Return torch's write counters of all tensors, which change with a module or its input."""
    held = [*module.parameters(), *module.buffers(), *(given if isinstance(given, tuple) else (given,))]
    written = [(each.data_ptr(), each._version) for each in held]  # noqa: SLF001 - as torch's own tools read it
    return [each.training for each in module.modules()], written


def _check_input(shape: tuple[int, ...], fill: str) -> None:
    if not shape or any(isinstance(size, bool) or not isinstance(size, int) or size < 1 for size in shape):
        message = f"an input has a shape of positive whole numbers, such as [1, 3, 224, 224], not {list(shape)}"
        raise ValueError(message)
    if fill not in FILLS:
        message = f"there is no fill '{fill}'{did_you_mean(fill, FILLS)}; it is one of {', '.join(FILLS)}"
        raise ValueError(message)
