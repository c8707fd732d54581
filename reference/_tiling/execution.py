"""The second wall: the very file as handed in, executed by a runtime that shares nothing with the proof.

Both files run on one input drawn anew. onnxruntime with its optimizations off runs the submitted file where that is
cheap; its sessions take time that grows with the square of the number of nodes, so that beyond some thousand nodes
ONNX's reference implementation runs it, and onnxruntime one node of each kind that occurs (`node_kinds.py`).
"""

from __future__ import annotations

import contextlib
import secrets
import signal
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import onnx

from .._onnx.weights import give_pages_back
from .node_kinds import disagreement
from .pieces import Pieces, in_pieces, mapped
from .rounding import CLOSE, sizes_of_terms
from .runtimes import RefusedError, by_onnxruntime, by_reference, in_words_of, inlined, with_products_in_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from .prove import Proof
    from .values import Array

_MOST_NODES = 3_000  # onnxruntime takes 0.2 s for them, and 5 s for three times as many
_MOST_INLINED = 100_000  # of functions; onnxruntime takes time that grows with their square
_SECONDS = 60.0
_MOST_BYTES = 3 << 30
_CLOSE = 2e-4  # of the largest output; float32 in another order of summation stays a hundred times below
_FAR = 1e-2  # of the largest output; no rounding comes near, and float16 stays below
_FAR_TERMS = 1e-3  # of the sum of the terms' absolute values, where these cancel; float16 stays below, too


@dataclass(frozen=True, slots=True, kw_only=True)
class TiledExecution:
    """What came of it. `refused`: the runtime does not take the file; `unsure`: nothing can be said.

    `is_counterexample`: it differs by far more than any rounding, and two runtimes say so.
    """

    outcome: Literal["agrees", "differs", "refused", "unsure"]
    says: str
    is_counterexample: bool = False


def execute(
    submitted: Path, original: Path, proof: Proof, declared: frozenset[str], seconds: float = _SECONDS
) -> TiledExecution:
    """Run a submitted file and the original on one random input, and compare their outputs within rounding.

    With weights of the file's own the outputs are compared with the one W and b that the proof found in it.
    """
    import onnxruntime  # noqa: F401 - here, as an import that the clock interrupts fails as if the file were at fault

    seed = secrets.randbits(64)
    try:
        with _limited(seconds):
            give_pages_back()
            generator = np.random.default_rng(seed)
            feeds = {name: _drawn(generator, proof, name) for name, _, _ in proof.original.inputs}
            given = {theirs: feeds[ours] for theirs, ours in proof.inputs.items()}
            given |= proof.own.draw(generator) if proof.own is not None else {}
            wanted = _of_original(original, feeds) if proof.own is None else _own_outputs(proof, feeds, given)
            whole = in_pieces(submitted)  # after the session of the original is gone: each holds all weights
            got = _run(submitted, whole, given, declared, seconds)
            done = _compared(got, wanted, proof.outputs, seed, lambda name: _terms(name, original, proof, feeds, given))
            if not done.is_counterexample or proof.own is not None:
                return replace(done, is_counterexample=False)
            return replace(done, is_counterexample=_is_confirmed(whole, given, declared, got))
    except RefusedError as error:
        return TiledExecution(outcome="refused" if error.is_certain else "unsure", says=str(error))
    except _TooLongError:
        return TiledExecution(outcome="unsure", says=f"the run took more than {seconds:g} s and was stopped")
    except Exception as error:  # noqa: BLE001 - whatever a runtime makes of a file is the file's
        return TiledExecution(outcome="refused", says=_shortened(f"{type(error).__name__}: {error}"))


def _drawn(generator: np.random.Generator, proof: Proof, name: str) -> Array:
    value = next(value for known, _, value in proof.original.inputs if known == name)
    return generator.standard_normal(value.shape or ()).astype(np.float32)


def _terms(name: str, original: Path, proof: Proof, feeds: Mapping[str, Array], given: Mapping[str, Array]) -> float:
    """How large the terms are of which an output of the original is the sum."""
    if proof.own is not None:
        return float(np.max(np.abs(_own_outputs(proof, feeds, given, absolute=True)[name]), initial=0.0))
    return sizes_of_terms(onnx.load(str(original)), feeds)[name]


def _of_original(path: Path, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """The original's outputs. Of what it holds twice while it loads a file, onnxruntime has nothing where it maps it.

    Raises:
        RefusedError: as `by_onnxruntime`.
    """
    real = path.resolve()  # no runtime follows a link to external data
    try:
        return by_onnxruntime(mapped(real), feeds, folder=real.parent)
    except (ValueError, RefusedError) as error:
        if isinstance(error, RefusedError) and not error.is_certain:
            raise
    return by_onnxruntime(str(path), feeds)


def _own_outputs(
    proof: Proof, feeds: Mapping[str, Array], given: Mapping[str, Array], *, absolute: bool = False
) -> dict[str, Array]:
    """What the one linear layer that the proof found makes of the input; with `absolute`, the sums of what it adds."""
    layer, own = proof.own_layer, proof.own
    if layer is None or layer.weight is None or layer.bias is None or own is None:
        message = "the proof found no layer to run beside the file"
        raise RefusedError(message, is_certain=False)
    weight = layer.weight
    if own.symbols is not None:
        drawn = given[own.name]
        weight = drawn if np.array_equal(layer.weight, own.symbols) else drawn.T
    (data,) = feeds.values()
    ((name, _),) = proof.original.outputs
    parts = [data.astype(np.float64), weight, layer.bias]
    left, right, bias = [np.abs(each) for each in parts] if absolute else parts
    return {name: (left @ right + bias).astype(np.float32)}


def _run(
    path: Path, whole: Pieces, feeds: Mapping[str, Array], declared: frozenset[str], seconds: float
) -> dict[str, Array]:
    model = whole.model
    if model.functions and inlined(model) > _MOST_INLINED:
        message = "its functions are too many nodes to be run"
        raise RefusedError(message, is_certain=False)
    if len(model.graph.node) <= _MOST_NODES:
        plain = with_products_in_words(model, declared)
        if plain is model:
            return by_onnxruntime(str(path), feeds, seconds)
        try:
            plain = with_products_in_words(onnx.load(str(path)), declared)
            return by_onnxruntime(plain.SerializeToString(), feeds, seconds)
        except RefusedError as error:
            raise RefusedError(in_words_of(model, str(error), declared), is_certain=error.is_certain) from None
    values = by_reference(model, {**whole.initializers, **feeds}, declared, quickly=True)
    wrong = disagreement(model, values, declared, whole.initializers)
    if wrong:
        raise RefusedError(wrong, is_certain=False)
    return {output.name: values[output.name] for output in model.graph.output}


def _is_confirmed(
    whole: Pieces, feeds: Mapping[str, Array], declared: frozenset[str], got: Mapping[str, Array]
) -> bool:
    """Whether a second runtime gives these outputs, too. A file of many nodes was run by two already."""
    if len(whole.model.graph.node) > _MOST_NODES:
        return True
    try:
        again = by_reference(whole.model, {**whole.initializers, **feeds}, declared)
    except _TooLongError:
        raise
    except Exception:  # noqa: BLE001 - whatever it lacks, it confirms nothing
        return False
    return all(_off(again[name], value) <= _CLOSE for name, value in got.items())


def _off(one: Array, other: Array) -> float:
    """How far two tensors are apart, as a share of the largest element; infinity where they can't be compared."""
    if one.shape != other.shape or not np.isfinite(one).all() or not np.isfinite(other).all():
        return np.inf
    apart = np.max(np.abs(one.astype(np.float64) - other), initial=0.0)
    return float(apart / max(np.max(np.abs(other), initial=0.0), np.finfo(np.float32).tiny))


def _compared(
    got: Mapping[str, Array],
    wanted: Mapping[str, Array],
    pairs: Mapping[str, str],
    seed: int,
    terms: Callable[[str], float],
) -> TiledExecution:
    """What came of a run. `terms` says how large those are of which an output is the sum, where that is asked."""
    for theirs, ours in pairs.items():
        one, other = got[theirs], wanted[ours]
        if one.shape != other.shape or one.dtype != other.dtype:
            says = f"the output '{theirs}' is {one.dtype} of shape {list(one.shape)}, the original's is {other.dtype} "
            return TiledExecution(outcome="differs", says=says + f"of shape {list(other.shape)}")
        largest = float(np.max(np.abs(other), initial=0.0))
        with np.errstate(invalid="ignore"):  # infinity less infinity is NaN, which is off, too
            off = float(np.max(np.abs(one.astype(np.float64) - other), initial=0.0))
        if off <= _CLOSE * largest:
            continue
        size = terms(ours)
        if not off <= CLOSE * size:
            says = f"run on a random input, the output '{theirs}' is off by up to {off:.3g} (its largest value is "
            says += f"{largest:.3g}; seed {seed})"
            is_far = bool(np.isfinite(one).all()) and off > max(_FAR * largest, _FAR_TERMS * size)
            return TiledExecution(outcome="differs", says=says, is_counterexample=is_far)
    return TiledExecution(
        outcome="agrees", says="run on a random input, the outputs are the original's within rounding"
    )


class _TooLongError(BaseException):
    """Not an Exception: where one is taken for a refusal, the clock is none."""


@contextlib.contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Stop after this much CPU time, where this is the thread that can be interrupted."""

    def stop(*_: Any) -> None:
        raise _TooLongError

    try:
        before = signal.signal(signal.SIGVTALRM, stop)
    except ValueError:  # another thread than the first
        yield
        return
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        with _within(_MOST_BYTES):
            yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@contextlib.contextmanager
def _within(size: int) -> Iterator[None]:
    """Refuse this process more memory than so much beyond what it has, where the system can."""
    try:
        import resource

        held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = held + size if soft == resource.RLIM_INFINITY else min(soft, held + size)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    except (ImportError, OSError, ValueError):
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _shortened(words: str) -> str:
    return " ".join(words.split())[:400]
