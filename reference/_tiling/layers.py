"""The linear layers of the original: what each group of tiles has to come to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .values import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """`X @ weight + bias`, X the opaque matrix numbered `root`, of [rows, depth]; the result is numbered `number`.

    `weight` is [depth, columns] and `bias` [columns]. A weight of None is the file's own, as is then the bias; `own`
    are the matrices of the file that it may be. `counted` is False for a second reading of the same products: an
    original that adds its bias in a node of its own has the layer once without it and once with it.
    """

    name: str
    number: int
    root: int
    rows: int
    depth: int
    columns: int
    weight: Array | None
    bias: Array | None = None
    counted: bool = True
    own: tuple[Array, ...] = ()
    own_only: bool = False  # W is an input, and nothing else can be the weight

    def products(self, limit: int) -> int:
        """The fewest products of at most limit x limit x limit that it takes."""
        return -(-self.rows // limit) * -(-self.depth // limit) * -(-self.columns // limit)


@dataclass(slots=True)
class Layers:
    """All linear layers, in order; found by what they are made of."""

    all: list[Layer] = field(default_factory=list)
    _by_size: dict[tuple[int, int, int], list[Layer]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Layer]:
        return iter(self.all)

    def of(self, root: int, rows: int, columns: int) -> list[Layer]:
        """The layers of this input and this size of output."""
        return self._by_size.get((root, rows, columns), [])

    def add(self, layer: Layer) -> None:
        """One more layer."""
        self.all.append(layer)
        self._by_size.setdefault((layer.root, layer.rows, layer.columns), []).append(layer)

    def without_bias(self, number: int) -> Layer | None:
        """The layer of this number, where it has no bias yet."""
        return next((each for each in self.all if each.number == number and each.bias is None), None)

    def named_once(self) -> list[Layer]:
        """Each layer once."""
        return [each for each in self.all if each.counted]

    def products(self, limit: int) -> int:
        """The fewest products that all layers take."""
        return sum(each.products(limit) for each in self.named_once())
