"""The tools themselves, called as their documentation says: what each prints for a network and its input.

Two pairs of them share a name (`thop`, `torchsummary`), so that an environment has one of each pair. `LABGRADE_TOOLS`
is a folder of those that are installed apart.
"""

from __future__ import annotations

import contextlib
import copy
import importlib.metadata
import importlib.util
import io
import os
import sys
import warnings
from typing import TYPE_CHECKING, Any
from unittest import mock

import torch

from labgrade.subjects import models

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

models.import_torchvision()  # which some of them import, and which needs help where it was built for another torch
APART = os.environ.get("LABGRADE_TOOLS", "")
MACS, FLOPS, PARAMETERS = "macs", "flops", "parameters"
Printed = dict[str, "int | float"]

# What each is called here, by the distribution that brings it and the version whose rules are known.
VERSIONS = {
    "thop": ("thop", "0.1.1"),
    "ultralytics-thop": ("ultralytics-thop", "2.2.3"),
    "ptflops": ("ptflops", "0.7.5"),
    "fvcore": ("fvcore", "0.1.5"),
    "mmengine": ("mmengine-lite", "0.10.7"),
    "torchinfo": ("torchinfo", "1.8.0"),
    "torch-summary": ("torch-summary", "1.4.5"),
    "torch-pruning": ("torch-pruning", "1.6.1"),
    "torchprofile": ("torchprofile", "0.1.0"),
    "torchscan": ("torchscan", "0.2.0"),
    "torchlens": ("torchlens", "2.36.1"),
    "calflops": ("calflops", "0.3.2"),
    "flops-profiler": ("flops-profiler", "0.1.2"),
    "flopco": ("flopco-pytorch", "0.1.4"),
    "flopth": ("flopth", "0.1.6"),
    "flopsmeter": ("flopsmeter", "0.1.0"),
    "pthflops": ("pthflops", "0.4.2"),
    "torch_flops": ("torch-flops", "0.4.1"),
    "deepspeed": ("deepspeed", "0.19"),
    "onnx_tool": ("onnx_tool", "1.0.1"),
    "torch": ("torch", "2."),
}


def installed(name: str) -> bool:
    """Whether a tool is there in the version whose rules are known."""
    distribution, version = VERSIONS[name]
    apart = [APART] if APART else []
    found = next(iter(importlib.metadata.distributions(name=distribution, path=[*apart, *sys.path])), None)
    return found is not None and found.version.startswith(version)


@contextlib.contextmanager
def _quiet(*packages: str) -> Iterator[None]:
    """Nothing printed, and packages of one name imported anew, from where they are installed apart."""
    gone = [name for name in sys.modules if packages and name.partition(".")[0] in packages]
    for name in gone:
        del sys.modules[name]
    place = [APART] if packages and APART else []
    sys.path[:0] = place
    before = [(each, dict(vars(each))) for each in (torch, torch.nn.functional, torch.Tensor)]
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        for each in place:
            sys.path.remove(each)
        for each, own in before:  # some replace functions of torch's, and leave them so where they fail
            for name, value in vars(each).copy().items():
                if value is not own.get(name, value):
                    setattr(each, name, own[name])
        for name in [name for name in sys.modules if packages and name.partition(".")[0] in packages]:
            del sys.modules[name]


def printed(tool: str, network: Any, x: torch.Tensor) -> Printed:
    """What a tool prints; `tool` is a name of TOOLS.

    Raises:
        Exception: the tool fails on the network.
    """
    package, run = TOOLS[tool]
    apart = {"ultralytics-thop": ("thop",), "torch-summary": ("torchsummary",)}.get(package, ())
    with _quiet(*apart):
        return run(copy.deepcopy(network), x.clone())


def _thop(network: Any, x: torch.Tensor) -> Printed:
    from thop import profile

    macs, parameters = profile(network, inputs=(x,), verbose=False)
    return {MACS: macs, PARAMETERS: parameters}


def _ptflops(x: torch.Tensor, network: Any, **options: Any) -> Printed:
    from ptflops import get_model_complexity_info

    macs, parameters = get_model_complexity_info(
        network, tuple(x.shape[1:]), as_strings=False, print_per_layer_stat=False, **options
    )
    if macs is None:
        raise RuntimeError("ptflops")  # noqa: EM101 - it says so where nobody reads it
    return {MACS: macs, PARAMETERS: parameters}


def _ptflops_of(**options: Any) -> Callable[[Any, torch.Tensor], Printed]:
    class Named(torch.nn.Module):
        """ptflops calls a network by names where it is not to make an input of its own."""

    def run(network: Any, x: torch.Tensor) -> Printed:
        plain = network.forward
        network.forward = lambda x: plain(x)
        return _ptflops(x, network, input_constructor=lambda _: x, **options)

    return run


def _fvcore(network: Any, x: torch.Tensor) -> Printed:
    from fvcore.nn import FlopCountAnalysis

    found = FlopCountAnalysis(network, x).unsupported_ops_warnings(False).uncalled_modules_warnings(False)
    return {MACS: found.total()}


def _mmengine(network: Any, x: torch.Tensor) -> Printed:
    from mmengine.analysis import FlopAnalyzer

    return {MACS: FlopAnalyzer(network, x).unsupported_ops_warnings(False).uncalled_modules_warnings(False).total()}


def _torchinfo(network: Any, x: torch.Tensor) -> Printed:
    from torchinfo import summary

    found = summary(network, input_data=x, verbose=0, device="cpu", depth=20)
    return {MACS: found.total_mult_adds, PARAMETERS: found.total_params}


def _torch_summary(network: Any, x: torch.Tensor) -> Printed:
    from torchsummary import summary

    found = summary(network, x, verbose=0, device=torch.device("cpu"))
    return {MACS: found.total_mult_adds, PARAMETERS: found.total_params}


def _torch_pruning(network: Any, x: torch.Tensor) -> Printed:
    from torch_pruning.utils.op_counter import count_ops_and_params

    macs, parameters = count_ops_and_params(network, x)
    return {MACS: macs, PARAMETERS: parameters}


def _torchprofile(network: Any, x: torch.Tensor) -> Printed:
    from torchprofile import profile_macs

    return {MACS: profile_macs(network, x)}


def _torchscan(network: Any, x: torch.Tensor) -> Printed:
    from torchscan import crawl_module

    found = crawl_module(network, args=(x,))["totals"]
    return {MACS: found["macs"]["known_value"], FLOPS: found["module_flops"]["known_value"]}


def _torchlens(network: Any, x: torch.Tensor) -> Printed:
    import torchlens

    with torch.no_grad():
        found = torchlens.trace(network, x)
    return {MACS: int(found.total_macs_forward), FLOPS: int(found.total_flops_forward)}


def _calflops(network: Any, x: torch.Tensor) -> Printed:
    from calflops import calculate_flops

    flops, macs, parameters = calculate_flops(
        network, args=[x], print_results=False, print_detailed=False, output_as_string=False
    )
    return {FLOPS: flops, MACS: macs, PARAMETERS: parameters}


def _flops_profiler(network: Any, x: torch.Tensor) -> Printed:
    from flops_profiler.profiler import FlopsProfiler

    profiler = FlopsProfiler(network)
    profiler.start_profile()
    try:
        network(x)
        return {FLOPS: profiler.get_total_flops(), MACS: profiler.get_total_macs()}
    finally:
        profiler.end_profile()


def _get_model_profile(network: Any, x: torch.Tensor) -> Printed:
    from flops_profiler.profiler import get_model_profile

    flops, macs, _ = get_model_profile(network, args=[x], print_profile=False, as_string=False)
    return {FLOPS: flops, MACS: macs}


def _flopco(network: Any, x: torch.Tensor) -> Printed:
    from flopco import FlopCo

    found = FlopCo(network, custom_tensor=[x], device="cpu")
    return {FLOPS: found.total_flops, MACS: found.total_macs, PARAMETERS: found.total_params}


def _flopth(network: Any, x: torch.Tensor) -> Printed:
    from flopth import flopth

    kinds = {type(each) for each in network.modules()}
    try:
        return {MACS: flopth(network, inputs=(x,), bare_number=True)[0]}
    finally:  # it gives classes a call of their own, and leaves it there
        for kind in kinds:
            if "__call__" in vars(kind):
                del kind.__call__


def _flopsmeter(network: Any, x: torch.Tensor) -> Printed:
    from flopsmeter.flopsmeter import Complexity_Calculator

    found = Complexity_Calculator(model=network, dummy=tuple(x.shape[1:]), device=torch.device("cpu"))
    with torch.no_grad():
        network(x[:1])
    return {FLOPS: found.flops}


def _pthflops(network: Any, x: torch.Tensor) -> Printed:
    from pthflops.ops_fx import count_ops_fx

    return {MACS: count_ops_fx(network, x, print_readable=False, verbose=False)[0]}


def _torch_flops(network: Any, x: torch.Tensor) -> Printed:
    from torch_flops import TorchFLOPsByFX

    memory = mock.patch.multiple(torch.cuda, reset_peak_memory_stats=mock.DEFAULT, max_memory_allocated=lambda _: 0)
    with torch.no_grad(), memory:  # it asks for a GPU's memory, also where there is none
        counter = TorchFLOPsByFX(network)
        counter.propagate(x)
    return {FLOPS: counter.print_total_flops(show=False)}


def _flop_counter(network: Any, x: torch.Tensor) -> Printed:
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter, torch.no_grad():
        network(x)
    return {FLOPS: counter.get_total_flops()}


def _flop_counter_with_gradients(network: Any, x: torch.Tensor) -> Printed:
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        network(x)
    return {FLOPS: counter.get_total_flops()}


def _flop_counter_with_backward(network: Any, x: torch.Tensor) -> Printed:
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        network(x).sum().backward()
    return {FLOPS: counter.get_total_flops()}


def _deepspeed(network: Any, x: torch.Tensor) -> Printed:
    from deepspeed.profiling.flops_profiler import FlopsProfiler

    profiler = FlopsProfiler(network)
    profiler.start_profile()
    try:
        with torch.no_grad():
            network(x)
        return {FLOPS: profiler.get_total_flops(), MACS: profiler.get_total_macs()}
    finally:
        profiler.end_profile()


def _onnx_tool(network: Any, x: torch.Tensor) -> Printed:
    import tempfile

    import onnx_tool

    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        torch.onnx.export(network, (x,), file.name, opset_version=17, dynamo=False)
        graph = onnx_tool.Model(file.name).graph
    graph.shape_infer()
    graph.profile()
    return {MACS: sum(each.macs[0] for each in graph.nodemap.values())}


def _profiler(network: Any, x: torch.Tensor) -> Printed:
    from torch.profiler import ProfilerActivity, profile

    with torch.no_grad(), profile(activities=[ProfilerActivity.CPU], with_flops=True) as found:
        network(x)
    return {FLOPS: sum(each.flops for each in found.key_averages())}


TOOLS: dict[str, tuple[str, Callable[[Any, torch.Tensor], Printed]]] = {
    "thop": ("thop", _thop),
    "ultralytics-thop": ("ultralytics-thop", _thop),
    "ptflops": ("ptflops", _ptflops_of()),
    "ptflops with count_functional=False": (
        "ptflops",
        _ptflops_of(backend_specific_config={"count_functional": False}),
    ),
    "ptflops with backend='aten'": ("ptflops", _ptflops_of(backend="aten")),
    "fvcore": ("fvcore", _fvcore),
    "mmengine": ("mmengine", _mmengine),
    "torchinfo": ("torchinfo", _torchinfo),
    "torch-summary": ("torch-summary", _torch_summary),
    "torch-pruning": ("torch-pruning", _torch_pruning),
    "torchprofile": ("torchprofile", _torchprofile),
    "torchscan": ("torchscan", _torchscan),
    "torchlens": ("torchlens", _torchlens),
    "calflops": ("calflops", _calflops),
    "flops-profiler": ("flops-profiler", _flops_profiler),
    "flops-profiler's get_model_profile": ("flops-profiler", _get_model_profile),
    "flopco": ("flopco", _flopco),
    "flopth": ("flopth", _flopth),
    "flopsmeter": ("flopsmeter", _flopsmeter),
    "pthflops": ("pthflops", _pthflops),
    "torch_flops": ("torch_flops", _torch_flops),
    "torch.profiler with with_flops=True": ("torch", _profiler),
    "torch.utils.flop_counter": ("torch", _flop_counter),
    "torch.utils.flop_counter with gradients": ("torch", _flop_counter_with_gradients),
    "torch.utils.flop_counter with the backward pass": ("torch", _flop_counter_with_backward),
    "deepspeed's flops profiler": ("deepspeed", _deepspeed),
    "onnx_tool": ("onnx_tool", _onnx_tool),
}
