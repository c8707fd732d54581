"""Weights that share a few values: codebooks by k-means, and the bytes that compressed weights take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ._kmeans import kmeans
from ._weights import weights_of

if TYPE_CHECKING:
    from ._counting.engine import CountedSubject
    from ._kmeans import Codebook

Kept = Literal["scale", "codebook"]
_FLOAT_BYTES, _BITS = 4, 8


def codebook(config: dict[str, Any], *, data: str, bits: int = 4) -> Codebook:
    """The 2**`bits` values that k-means chooses for the numbers of an .npy file, in rising order.

    It begins with values at equal distances from the smallest number to the largest (Han et al. 2016, section 3.2), and
    takes turns: each number goes to the nearest value, each value becomes the mean of its numbers, until no number
    changes its value. A value without numbers stays where it is.
    """
    del config
    return kmeans(data, 2**bits)


# ---- bytes ----------------------------------------------------------------------------------------------------------


def compressed_weight_bytes(subject: CountedSubject, *, bits: int = 4, kept: Kept = "scale") -> int:
    """The bytes of the weights of convolutions and linear layers with `bits` each, and of what is kept beside them.

    Each layer's weights are packed without gaps, to whole bytes. Beside them a layer keeps, in float32: with `scale`,
    one for each output channel; with `codebook`, its 2**bits values. Biases and norms are left out.
    """
    return sum(_packed(weight.numel(), bits) + _beside(weight, bits, kept) for weight in weights_of(subject).values())


def compressed_weight_bytes_alone(subject: CountedSubject, *, bits: int = 4, kept: Kept = "scale") -> int:
    """The bytes of the packed weights.

    Slip of: compressed_weight_bytes
    Hint: What is kept beside the weights is missing: scales, or the values of the codebook, four bytes each.
    Credit: 0.5
    """
    del kept
    return sum(_packed(weight.numel(), bits) for weight in weights_of(subject).values())


def compressed_weight_bytes_unpacked(subject: CountedSubject, *, bits: int = 4, kept: Kept = "scale") -> int:
    """With a byte for each weight.

    Slip of: compressed_weight_bytes
    Hint: Each weight takes a byte of its own. Packed, several share one: bits * weights / 8.
    Credit: 0.4
    """
    weights = weights_of(subject).values()
    return sum(weight.numel() * -(-bits // _BITS) + _beside(weight, bits, kept) for weight in weights)


def compressed_weight_bytes_in_bits(subject: CountedSubject, *, bits: int = 4, kept: Kept = "scale") -> int:
    """In bits.

    Slip of: compressed_weight_bytes
    Hint: These are bits. A byte has eight.
    Credit: 0.5
    """
    weights = weights_of(subject).values()
    return sum(weight.numel() * bits + _BITS * _beside(weight, bits, kept) for weight in weights)


def compressed_weight_bytes_of_one_scale(subject: CountedSubject, *, bits: int = 4, kept: Kept = "scale") -> int | None:
    """With one scale a layer.

    Slip of: compressed_weight_bytes
    Hint: Each layer has one scale here. There is one for each output channel.
    Credit: 0.6
    """
    if kept == "codebook":
        return None
    return sum(_packed(weight.numel(), bits) + _FLOAT_BYTES for weight in weights_of(subject).values())


def compressed_weight_bytes_of_half_scales(subject: CountedSubject, *, bits: int = 4, kept: Kept = "scale") -> int:
    """With two bytes for each number beside the weights.

    Slip of: compressed_weight_bytes
    Hint: Scales, or values of the codebook, have two bytes each here. In float32 they have four.
    Credit: 0.7
    """
    weights = weights_of(subject).values()
    return sum(_packed(weight.numel(), bits) + _beside(weight, bits, kept) // 2 for weight in weights)


def compressed_weight_bytes_of_one_in_all(subject: CountedSubject, *, bits: int = 4, kept: Kept = "scale") -> int:
    """With what is kept beside one layer alone.

    Slip of: compressed_weight_bytes
    Hint: What is kept beside the weights is counted once for the whole network. Each layer has its own.
    Credit: 0.5
    """
    weights = list(weights_of(subject).values())
    return sum(_packed(weight.numel(), bits) for weight in weights) + _beside(weights[0], bits, kept)


def compressed_weight_bytes_with_bits_for_bytes(subject: CountedSubject, *, bits: int = 4, kept: Kept = "scale") -> int:
    """With 32 for each number beside the weights.

    Slip of: compressed_weight_bytes
    Hint: Scales, or values of the codebook, have 32 bytes each here. In float32 they have four.
    Credit: 0.6
    """
    weights = weights_of(subject).values()
    return sum(_packed(weight.numel(), bits) + _BITS * _beside(weight, bits, kept) for weight in weights)


def compressed_weight_bytes_with_the_rest(subject: CountedSubject, *, bits: int = 4, kept: Kept = "scale") -> int:
    """With all other parameters in float32.

    Slip of: compressed_weight_bytes
    Hint: Biases and parameters of norms are counted, too. Only weights of convolutions and linear layers are asked for.
    Credit: 0.6
    """
    module, _ = subject.with_weights()
    others = sum(each.numel() for each in module.parameters()) - sum(w.numel() for w in weights_of(subject).values())
    return compressed_weight_bytes(subject, bits=bits, kept=kept) + _FLOAT_BYTES * others


def _packed(numbers: int, bits: int) -> int:
    return -(-numbers * bits // _BITS)


def _beside(weight: Any, bits: int, kept: str) -> int:
    return _FLOAT_BYTES * (len(weight) if kept == "scale" else 2**bits)
