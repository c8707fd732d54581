"""Functions of students that are about files: what one writes, and what one says of each of several."""

from __future__ import annotations

import contextlib
import functools
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade.core.arguments import GIVEN_FOLDER, MODEL, SAVE_TO, TRANSFORMED
from labgrade.sandbox.child import call
from labgrade.sandbox.child.wire import RawArray, type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import torch

_UNWRITTEN = f"without writing the file that {SAVE_TO} names"


def write(job: Mapping[str, Any], values: Mapping[str, Any], folder: Path) -> bytes:
    """Call a function that writes a file: the value is an array of its bytes, or its size alone where it is too large.

    `given`: the names of what it gets, in order. `subjects`: for each subject further values by name, and the paths of
    its files within the folder; `values` are those that were built of it. With `several`, the value is a list, up to
    the first call that fails.
    """
    built = values.get("each", [values] * len(job["subjects"]))
    contents = [
        functools.partial(_content, job, folder, {**own, **more}, paths)
        for own, (more, paths) in zip(built, job["subjects"], strict=True)
    ]
    if job["several"]:
        return call.use_each(job, folder, contents)
    return call.load_and_use(job, tuple(job["given"]), folder, contents[0])


def _content(
    job: Mapping[str, Any],
    folder: Path,
    values: Mapping[str, Any],
    paths: Mapping[str, str],
    function: Callable[..., object],
) -> RawArray:
    target = Path(tempfile.mkdtemp(), job["name"])
    files = {name: str(folder / path) for name, path in paths.items()}
    known = {MODEL: None, **values, SAVE_TO: str(target), **files}
    network, before = known.get("model"), repr(known.get("model")) if job["module"] else ""
    returned = function(*[known[name] for name in job["given"]])
    if job["module"]:
        # A pass that changes the network that it is given need not return it.
        in_place = returned is None and repr(network) != before
        _save(network if in_place else returned, values.get("input"), target, folder)
    if not target.is_file():
        others = [each for each in target.parent.iterdir() if each.is_file() and each.name.startswith(target.name)]
        if len(others) != 1:  # numpy.save puts an ending behind a name without one
            raise call.UnfitValueError(_UNWRITTEN)
        target = others[0]
    _in_one_file(target)
    size = target.stat().st_size
    if size > job["most"]:
        return RawArray("<i8", (1,), size.to_bytes(8, "little"))
    data = target.read_bytes()
    return RawArray("|u1", (len(data),), data)


def _in_one_file(target: Path) -> None:
    """Move an ONNX file's external data into the file, because only one file is returned."""
    if target.suffix == ".onnx" and any(each != target for each in target.parent.iterdir()):
        import onnx

        with contextlib.suppress(Exception):  # what can't be read is judged as it is
            onnx.save(onnx.load(str(target)), str(target))


def _save(network: object, given: object, target: Path, folder: Path) -> None:
    """Write a network as TorchScript: traced on its input, compiled where it has none."""
    import torch

    if not isinstance(network, torch.nn.Module):
        message = f"{type_name(network)}, not a network (torch.nn.Module)"
        raise call.UnfitValueError(message)
    if kept := _unregistered(network):
        raise call.UnfitValueError(_IN_A_LIST.format(*kept))
    if dotted := next((name for each in network.modules() for name in each._modules if "." in name), ""):  # noqa: SLF001
        raise call.UnfitValueError(_DOTTED.format(dotted[:60]))
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch, about a format that courses still use
        try:
            made = network if isinstance(network, torch.jit.ScriptModule) else _scripted(network, given)
            made.save(str(target))
        except Exception as error:  # noqa: BLE001 - the network's own, or that of writing it down
            raise _why_not_saved(network, given, folder, error) from None


_IN_A_LIST = (
    "a network with layers in a plain {1}, '{0}', that do not belong to it: it has none of their parameters, so that "
    "nothing trains or saves them. Put them into nn.ModuleList or nn.Sequential"
)
_DOTTED = (
    "a network with a layer called '{0}' in _modules: that is a new layer beside the one inside, which stays. Replace "
    "that by setattr(model.get_submodule(parent), name, layer)"
)
_NOT_ITS_OWN = (
    "a network that computes with weights that do not belong to it, so that nothing trains or saves them: put layers "
    "into an attribute of their own, nn.ModuleList or nn.Sequential, tensors into nn.Parameter"
)
_GRADIENT = "requires grad as a constant"  # says torch.jit.trace of a tensor that no module has registered
_DEEPEST = 3  # containers in containers


def _unregistered(network: torch.nn.Module) -> tuple[str, str] | None:
    """Return an attribute with layers that the network does not register, and its type; None if there is none."""
    known = {id(each) for each in network.modules()}
    for module in network.modules():
        for name, value in vars(module).items():
            if not name.startswith("_") and type(value) in (list, tuple, dict, set):
                strange = [each for each in _modules_in(value) if id(each) not in known]
                if any(True for each in strange for _ in each.parameters()):
                    return name[:60], "Python " + type(value).__name__
    return None


def _modules_in(value: object, depth: int = _DEEPEST) -> Iterator[torch.nn.Module]:
    import torch

    if isinstance(value, torch.nn.Module):
        yield value
    elif depth and isinstance(value, dict | list | tuple | set):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _modules_in(each, depth - 1)


def _why_not_saved(network: torch.nn.Module, given: object, folder: Path, error: Exception) -> Exception:
    """Explain why a network could not be saved: its own error, or labgrade's where the network runs."""
    try:
        made = network(*_inputs(given)) if given is not None else None
    except Exception as own:  # noqa: BLE001 - it fails without us, too
        if call.place(own, folder):
            return own
        return call.UnfitValueError(f"a network that can't be run on the task's input ({_said(own)})")
    if given is not None and not _is_of_tensors(made):
        return call.UnfitValueError(f"a network that puts out {type_name(made)}, not a tensor")
    return call.UnfitValueError(_NOT_ITS_OWN) if _GRADIENT in str(error) else call.UnconvertedError(_said(error))


def _said(error: Exception) -> str:
    lines = filter(None, map(str.strip, str(error).splitlines()))  # torch begins some messages with an empty one
    return f"{type(error).__name__}: {next(lines, 'it says no more')[:200]}"


def _inputs(given: object) -> tuple[object, ...]:
    return given if isinstance(given, tuple) else (given,)


def _is_of_tensors(made: object) -> bool:
    import torch

    parts = made.values() if isinstance(made, dict) else made if isinstance(made, list | tuple) else [made]
    return all(isinstance(each, torch.Tensor) or (each is not made and _is_of_tensors(each)) for each in parts)


def _scripted(network: torch.nn.Module, given: object) -> torch.jit.ScriptModule:
    """Trace a network, or compile it without an input; in float32 where it can't be run in its own dtype."""
    import torch

    def made() -> torch.jit.ScriptModule:
        if given is None:
            return torch.jit.script(network)
        if any(map(torch.nn.parameter.is_lazy, network.parameters())):  # their sizes come with the first input
            network(*_inputs(given))
        return torch.jit.trace(network, given, check_trace=False, strict=False)  # type: ignore[no-untyped-call, no-any-return]

    try:
        return made()
    except RuntimeError:
        if {each.dtype for each in network.parameters() if each.is_floating_point()} <= {torch.float32}:
            raise
        network.float()
        return made()


def verify(job: Mapping[str, Any], folder: Path) -> bytes:
    """Call a function for each of several files beside an original, and pack its verdict on each by name.

    `original` and `files` lie in the folder of files.
    """
    return call.load_and_use(job, tuple(job["given"]), folder, functools.partial(_verdicts, job, folder / GIVEN_FOLDER))


def _verdicts(job: Mapping[str, Any], files: Path, function: Callable[..., object]) -> dict[str, str]:
    said = {}
    for name in job["files"]:
        known = {MODEL: str(files / job["original"]), TRANSFORMED: str(files / name)}
        try:
            result: Any = function(*[known[word] for word in job["given"]])
            right, wrong = result == True, result == False  # noqa: E712 - of numpy and torch, too
            said[name] = "accepted" if right else "rejected" if wrong else "neither true nor false"
        except Exception as error:  # noqa: BLE001 - each file is tried
            said[name] = f"failed: {type(error).__name__}"
    return said
