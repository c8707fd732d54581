"""Tiled ONNX graphs: is a graph whose linear layers were cut into small products the same function as the original?

Decided for all inputs, by abstract interpretation and value numbering over the weights of both files; what is proved is
also run once, as a second wall.

The claim of `tiling_findings`, when it finds nothing: for every input of the original's shapes, and over the real
numbers, the file computes what the original computes; every product that an output depends on is at most
limit x limit x limit; no other operator touches the data of the tiled layers than moves and sums; no product is dead.

Assumed: arithmetic on real numbers (float32 rounds differently in each order of summation), weights compared as their
float32 values, the original that the grader made, sizes as the original's input has them (an open dimension is bound to
them), initializers that are also inputs at their defaults, ONNX's own meaning of its operators, and that the file does
not change meanwhile. The reasoning: docs/tiling-proof.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ._tiling.prove import LIMIT, Proof, prove
from ._tiling.report import findings_of

if TYPE_CHECKING:
    from pathlib import Path

Weights = Literal["same", "own"]
_NO_LIMIT = 1 << 40


def tiling_findings(
    artifact: Path,
    *,
    original: str = "",
    input_shape: list[int] | None = None,
    limit: int = 64,
    products: list[str] | None = None,
    weights: Weights = "same",
) -> list[dict[str, Any]]:
    """What keeps a tiled file from being proved the same function as the original; nothing where it is proved.

    The findings come in the order in which a student should read them: tiles by (m, n, k), at most five in full, then
    how many more there are. Each says what is wrong (`says`), whether that is `certain`, and where known the `layer`,
    the `tile` (m, k, n in blocks of the limit), the `node`, and a `picture` of the layer's tiles. A finding that is
    not certain names what the proof does not cover: it may be right, and a person has to look.

    `original` is the subject's file, found in the file's own folder. `products` are operators that the course declares
    to mean MatMul, such as `2DMM_64x64x64`. With `weights: own` only the original's sizes count, and it is one linear
    layer.

    A file that is proved is also run: a random input must give the original's outputs within rounding. A run that
    contradicts the proof is a finding of kind `fault`, labgrade's own failure; a file that no runtime takes is not
    valid. Findings that are not certain say in `opinion` what came of the run.

    Raises:
        OriginalError: the original is outside what can be proved.
    """
    proof = _proved(artifact, original, input_shape, limit, products, own=weights == "own")
    return findings_of(proof, artifact, _beside(artifact, original), limit, frozenset(products or ()))


def tile_count(
    artifact: Path,
    *,
    original: str = "",
    input_shape: list[int] | None = None,
    products: list[str] | None = None,
    weights: Weights = "same",
) -> int:
    """How many products of matrices the outputs of a file depend on, outside what it shares with the original.

    A product is a MatMul, a Gemm, or an operator that the course declares in `products`, and is counted once for each
    call of the function that it stands in; one of stacks of matrices is as many as it stacks. Dead products are not
    counted.

    Raises:
        ValueError: the file is no valid model.
        OriginalError: the original is outside what can be proved.
    """
    found = _valid(_proved(artifact, original, input_shape, LIMIT, products, own=weights == "own"))
    return len(found.products) + found.unsized


def largest_product(
    artifact: Path,
    *,
    original: str = "",
    input_shape: list[int] | None = None,
    products: list[str] | None = None,
    weights: Weights = "same",
) -> int:
    """The largest of m, k and n of all products that `tile_count` counts.

    Raises:
        ValueError: the file is no valid model, or the sizes of a product can't be followed.
        OriginalError: the original is outside what can be proved.
    """
    found = _valid(_proved(artifact, original, input_shape, LIMIT, products, own=weights == "own"))
    if found.unsized:
        message = f"the sizes of {found.unsized:,} products can't be followed"
        raise ValueError(message)
    return max((product.largest for product in found.products), default=0)


def tiles_needed(artifact: Path, *, input_shape: list[int] | None = None, limit: int = 64) -> int:
    """The fewest products of at most limit x limit x limit that the linear layers of an ONNX file take.

    The sum over the layers of ceil(M/limit) * ceil(K/limit) * ceil(N/limit).

    Raises:
        OriginalError: the file is no valid model, or a linear layer of it is not a product of two matrices.
    """
    from ._tiling.original import read_original

    return read_original(artifact, tuple(input_shape) if input_shape else None).layers.products(limit)


def onnx_matches(
    artifact: Path,
    *,
    original: str = "",
    input_shape: list[int] | None = None,
    products: list[str] | None = None,
    weights: Weights = "same",
) -> list[dict[str, Any]]:
    """What keeps an ONNX file from being the same function as the original; nothing where it is, for every input.

    As `tiling_findings`, with products of any size.

    Raises:
        OriginalError: the original is outside what can be proved.
    """
    proof = _proved(artifact, original, input_shape, _NO_LIMIT, products, own=weights == "own")
    return findings_of(proof, artifact, _beside(artifact, original), LIMIT, frozenset(products or ()))


def _beside(artifact: Path, original: str) -> Path:
    if not original:
        message = "a tiled file is compared with the subject's own ONNX file, and there is none"
        raise TypeError(message)
    return artifact.parent / original


def _proved(
    artifact: Path, original: str, shape: list[int] | None, limit: int, products: list[str] | None, *, own: bool
) -> Proof:
    reference = _beside(artifact, original)
    bound = tuple(shape) if shape else None
    return prove(artifact, reference, shape=bound, limit=limit, declared=products or (), own_weights=own)


def _valid(proof: Proof) -> Proof:
    broken = next((finding for finding in proof.findings if finding.kind in ("file", "invalid", "signature")), None)
    if broken is not None:
        raise ValueError(broken.says)
    return proof
