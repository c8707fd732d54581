"""Builds what is analysed: a torchvision model with its input, on the meta device or with seeded weights.

Needs nothing of labgrade but `zoo_networks` and `zoo_options`, because it is also loaded by its path into a student's
process; it holds no expected value.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import functools
import importlib
import importlib.util
import inspect
import typing
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from labgrade import zoo_networks, zoo_options

if TYPE_CHECKING:
    import types
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import torch

COLLECTION = "torchvision/"
FILLS = ("normal", "uniform", "ones", "zeros")
# An auxiliary head takes part in training only; the published figures of inference leave it out.
DEFAULT_OPTIONS: Mapping[str, Mapping[str, object]] = {
    "googlenet": {"aux_logits": False},
    "inception_v3": {"aux_logits": False},
}
# What decides how a model is built.
SOURCES = tuple(Path(file) for file in (__file__, zoo_networks.__file__, zoo_options.__file__))
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
    return tuple(sorted([*classifiers, *zoo_networks.MICRO]))


def import_torchvision() -> types.ModuleType:
    """Import torchvision, also where its compiled operators are missing or do not fit the installed torch.

    torchvision refers to `nms` while it is imported; a definition without an implementation is enough, since no
    classifier calls it. Harmless where the operators exist, and when called again.
    """
    import torch

    for library in _torchvision_folder().glob("_C.*"):
        with contextlib.suppress(OSError):
            torch.ops.load_library(str(library))  # type: ignore[no-untyped-call]
    for schema in _OPERATORS:
        if not hasattr(torch.ops.torchvision, schema.partition("(")[0]):
            _fragment().define(schema)  # type: ignore[no-untyped-call]
    return importlib.import_module("torchvision")


@dataclass(frozen=True, kw_only=True, eq=False)
class Subject:
    """A model of the zoo and its input: everything follows from these plain values.

    `options` go to torchvision's builder; `weight_seed` draws the weights, `fill` and `input_seed` the input. The same
    values give the same tensors in every process with the same versions of torch and torchvision.
    """

    model: str
    shape: tuple[int, ...]
    fill: str = "normal"
    input_seed: int = 0
    options: Mapping[str, object] = field(default_factory=dict)
    weight_seed: int = 0

    def on_meta(self) -> tuple[torch.nn.Module, torch.Tensor]:
        """The model in eval mode and its input, both without memory: shapes are right, values do not exist.

        Built anew at each call, so that a caller may change what it gets.

        Raises:
            ValueError: for an unknown model or option, or a shape that is none.
        """
        import torch

        _check_input(self.shape, self.fill)
        build = self._builder()
        with _without_memory(), _without_initialisation():
            module = build()
        return module.to("meta").eval(), torch.empty(self.shape, device="meta")

    def with_weights(self) -> tuple[torch.nn.Module, torch.Tensor]:
        """The model in eval mode with its seeded weights, and its input, on the CPU. Remembered: change neither.

        Batch norms get seeded statistics and affine parameters, too: with the untouched ones each is the identity in
        eval mode, and a tensor before it could not be told from the one behind it.

        The state of torch's random numbers is as it was before.

        Raises:
            ValueError: for an unknown model or option, an unknown fill, or a shape that is none.
        """
        return self._real

    @functools.cached_property
    def _real(self) -> tuple[torch.nn.Module, torch.Tensor]:
        import torch

        _check_input(self.shape, self.fill)
        build = self._builder()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.weight_seed)
            module = build()
            _unsettle_norms(module)
        return module.eval(), self._input()

    def _input(self) -> torch.Tensor:
        import torch

        generator = torch.Generator().manual_seed(self.input_seed)
        match self.fill:
            case "normal":
                return torch.randn(self.shape, generator=generator)
            case "uniform":
                return torch.rand(self.shape, generator=generator)
            case "ones":
                return torch.ones(self.shape)
        return torch.zeros(self.shape)

    def _builder(self) -> Callable[[], torch.nn.Module]:
        """What builds the model, once its name and options are known to be good."""
        if self.model != zoo_networks.GENERATED and self.model not in names():  # names: 50 ms in each new process
            likely = self.model if "/" in self.model else COLLECTION + self.model
            message = f"there is no model '{self.model}'{_close(likely, names())}"
            raise ValueError(message)
        name = self.model.rpartition("/")[2]
        builder: Callable[..., torch.nn.Module]
        fixed: dict[str, Any]
        if self.model in zoo_networks.MICRO:
            builder, allowed, fixed = zoo_networks.micro, set(), {"name": self.model}
        elif self.model == zoo_networks.GENERATED:
            builder, allowed, fixed = zoo_networks.generated, set(zoo_networks.OPTIONS), {}
        else:
            builder = getattr(import_torchvision().models, name)
            allowed, fixed = _options_of(builder), {"weights": None, "progress": False}
        chosen = {option: value for option, value in self.options.items() if option not in zoo_options.ALL}
        for option in chosen:
            if option not in allowed:
                message = f"'{self.model}' has no option '{option}'{_close(option, allowed)}"
                raise ValueError(message)
        options = {**DEFAULT_OPTIONS.get(name, {}), **chosen, **fixed}

        def build() -> torch.nn.Module:
            with warnings.catch_warnings():
                # About how long torchvision's own initialisation takes, not about the model that is asked for.
                warnings.filterwarnings("ignore", message="The default weight initialization of")
                try:
                    module = builder(**options)
                except TypeError as error:
                    message = f"'{self.model}' cannot be built with {dict(self.options)}: {error}"
                    raise ValueError(message) from error
            return zoo_options.change(module, self.options, self.model)

        return build


def _unsettle_norms(module: torch.nn.Module) -> None:
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


def _registered(file: Path) -> Iterator[str]:
    """The functions of a file that are decorated with `@register_model(...)`."""
    source = file.read_text(encoding="utf-8")
    if "@register_model" not in source:
        return
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and any(
            isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "register_model"
            for call in node.decorator_list
        ):
            yield node.name


@functools.cache
def _fragment() -> torch.library.Library:
    """Remembered because a library takes its definitions with it when it goes."""
    import torch

    return torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[no-untyped-call]


def _options_of(builder: Callable[..., torch.nn.Module]) -> set[str]:
    """What a builder takes itself, and what the class that it builds takes."""
    built = typing.get_type_hints(builder)["return"]
    taken = {**inspect.signature(builder).parameters, **inspect.signature(built.__init__).parameters}
    named = {name for name, taken_as in taken.items() if taken_as.kind is not inspect.Parameter.VAR_KEYWORD}
    return named - {"self", "weights", "progress"}


def _check_input(shape: tuple[int, ...], fill: str) -> None:
    if not shape or any(isinstance(size, bool) or not isinstance(size, int) or size < 1 for size in shape):
        message = f"an input has a shape of positive whole numbers, such as [1, 3, 224, 224], not {list(shape)}"
        raise ValueError(message)
    if fill not in FILLS:
        message = f"there is no fill '{fill}'{_close(fill, FILLS)}; it is one of {', '.join(FILLS)}"
        raise ValueError(message)


def _close(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.6)
    return f"; did you mean '{close[0]}'?" if close else ""


@contextlib.contextmanager
def _without_memory() -> Iterator[None]:
    """Move each parameter to the meta device as soon as a module takes it.

    Building under `torch.device("meta")` would be simpler, but constructors that compute with tensors (all RegNets)
    fail there.
    """
    import torch

    register = torch.nn.Module.register_parameter

    def on_meta(self: torch.nn.Module, name: str, param: torch.nn.Parameter | None) -> None:
        if param is not None and not param.is_meta:
            param = torch.nn.Parameter(param.detach().to("meta"), requires_grad=param.requires_grad)
        register(self, name, param)

    with mock.patch.object(torch.nn.Module, "register_parameter", on_meta):
        yield


@contextlib.contextmanager
def _without_initialisation() -> Iterator[None]:
    """Let every function of torch.nn.init return its tensor as it is: values do not exist on the meta device."""
    from torch.nn import init

    def as_it_is(tensor: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        return tensor

    with contextlib.ExitStack() as stack:
        for name in vars(init):
            if name.endswith("_") and not name.startswith("_"):
                stack.enter_context(mock.patch.object(init, name, as_it_is))
        yield
