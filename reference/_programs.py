"""Programs of ExecuTorch that students hand in: what they hold, and what they compute, in a process that may die.

What they hold is read before anything of them runs. The runtime is native code, and a damaged file can end it: it runs
in a fork, whose death is the file's fault and nobody else's.
"""

from __future__ import annotations

import json
import math
import os
import signal
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from ._files import pte

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import torch

_ALLOWED = ("XnnpackBackend",)  # part of the runtime; others load libraries of their own


@dataclass(frozen=True, slots=True)
class Plan:
    """What the method `forward` of a program calls: operators, a count for each, and its delegates' names."""

    operators: dict[str, int]
    delegates: tuple[str, ...]


def plan(artifact: Path) -> Plan:
    """What a program's method `forward` is made of; nothing of it runs.

    Raises:
        ValueError: it is no program, or has no such method.
    """
    forward = [each for each in pte.read(artifact) if each.name == "forward"]
    if len(forward) != 1:
        message = "this program of ExecuTorch has no method 'forward': write to_executorch().buffer to the file"
        raise ValueError(message)
    return Plan(dict(Counter(forward[0].kernels)), forward[0].delegates)


def run(artifact: Path, given: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """What a program puts out for each of several inputs, in order; each run begins afresh.

    Raises:
        ValueError: it is no program, has a delegate that is not run here, takes other inputs, or ends the runtime.
    """
    foreign = [name for name in plan(artifact).delegates if name not in _ALLOWED]
    if foreign:
        message = f"it hands work to '{foreign[0]}', which is not run here: lower it for the portable kernels"
        raise ValueError(message)
    return _in_a_fork(artifact, given)


def _outputs(artifact: Path, given: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """What comes of a program, in a process of its own."""
    try:
        from executorch.runtime import Runtime, Verification
    except ImportError:
        message = "running it takes the package 'executorch', which is not installed here: pip install executorch"
        raise ValueError(message) from None
    try:
        program = Runtime.get().load_program(str(artifact), verification=Verification.InternalConsistency)
    except RuntimeError as error:
        message = f"ExecuTorch does not load this program: {_last_line(error)}"
        raise ValueError(message) from None
    made = []
    for x in given:
        try:
            method = program.load_method("forward")
            output = [] if method is None else method.execute([x.contiguous()])
        except RuntimeError as error:
            message = f"it does not run on an input of {list(x.shape)}: {_last_line(error)}"
            raise ValueError(message) from None
        made.append(_its_own(output, x).detach().float().contiguous().clone())
    return made


def _its_own(output: Sequence[Any], x: torch.Tensor) -> torch.Tensor:
    """What a layer puts out: where the layer writes into its input, the program hands that back as well, before it.

    Raises:
        ValueError: it is something else than one tensor.
    """
    own: Any = output[-1] if output else None
    handed_back = [getattr(each, "shape", None) for each in output[:-1]]
    if not hasattr(own, "numpy") or handed_back not in ([], [x.shape]):
        message = f"it puts out {len(output)} values, not one tensor"
        raise ValueError(message)
    return own  # type: ignore[no-any-return]


def _last_line(error: Exception) -> str:
    return str(error).strip().splitlines()[-1]


def _in_a_fork(artifact: Path, given: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """What `_outputs` makes, in a fork: one line of JSON, then the values as float32.

    Raises:
        ValueError: the program is refused, or the fork died of it.
        MemoryError: the fork was ended for what it took.
    """
    import torch

    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _do(artifact, given, reading, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        head, _, data = pipe.read().partition(b"\n")
    _, status = os.waitpid(child, 0)
    said = json.loads(head) if head and os.WIFEXITED(status) else {}
    if "shapes" in said:
        values = torch.frombuffer(bytearray(data), dtype=torch.float32)
        parts = torch.split(values, [math.prod(shape) for shape in said["shapes"]])
        return [part.reshape(shape) for part, shape in zip(parts, said["shapes"], strict=True)]
    if "problem" in said:
        raise ValueError(said["problem"])
    ended = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    if "starved" in said or ended in (signal.SIGKILL, signal.SIGXCPU):
        raise MemoryError
    how = signal.Signals(ended).name if ended else f"exit code {os.WEXITSTATUS(status)}"
    message = f"it ends ExecuTorch's runtime ({how}): the file is damaged, or to_executorch() did not make it"
    raise ValueError(message)


def _do(artifact: Path, given: Sequence[torch.Tensor], reading: int, writing: int) -> NoReturn:
    """Run the program in the fork, and send what comes of it."""
    os.close(reading)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    head: dict[str, Any] = {}
    made: list[torch.Tensor] = []
    try:
        made = _outputs(artifact, given)
        head = {"shapes": [list(each.shape) for each in made]}
    except MemoryError:
        head = {"starved": True}
    except ValueError as error:
        head = {"problem": str(error)}
    except BaseException as error:  # noqa: BLE001 - whatever the runtime raises of a file
        head = {"problem": f"ExecuTorch can't run it: {type(error).__name__}: {str(error)[:200]}"}
    finally:
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(json.dumps(head).encode() + b"\n" + b"".join(each.numpy().tobytes() for each in made))
        os._exit(0)
