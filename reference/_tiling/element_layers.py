"""Which elements of the original's layers are these? Every element compared in full with a column of the weight.

The terms of an element are added up in float64 with the error of each addition known (`Sums`); it is an element of a
layer where all its coefficients are those of one column, the rest of the input has none, and the constant is the bias.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from .elements import Chunk, Constant, Dot, Pool, Root, factors_of
from .exact_sums import Sums, come_to, exactly, with_numbers
from .own_layer import has_all_tiles, meant_by, narrow, sources_of
from .tile_equal import Deviation, Kind
from .values import Array, Bias, OutsideError, Term

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .budget import Budget
    from .layers import Layer
    from .original import Original

_MOST_AT_ONCE = 1 << 22  # coefficients: 32 MiB of float64
_SAMPLED = 7
_BLOCK = 64
_FINE, _LARGE = 1 << 10, 1 << 30  # factors between that are added up without rounding


@dataclass(slots=True)
class _Made:
    """What some elements are made of: their row of the input, the coefficients of that row, and a constant."""

    rows: Array
    weights: Sums
    constants: Sums
    product: Array  # the index of a product of each


@dataclass(slots=True)
class ElementLayers:
    """Finds elements of layers. An element that was found once is looked up."""

    original: Original
    pool: Pool
    budget: Budget
    own: Layer | None = None  # a layer of the file's own weights that was found, and the last one that was not
    nearest: Layer | None = None
    _found: dict[int, int] = field(default_factory=dict)
    _samples: dict[int, tuple[Array, dict[bytes, list[int]]]] = field(default_factory=dict)

    def resolved(self, ids: Array) -> Array | None:
        """The same elements, where sums and products are elements of layers; None where one is not."""
        flat = ids.reshape(-1)
        there, place = np.unique(flat, return_inverse=True)
        named = np.where(self.pool.is_leaf(there), there, -1)
        for at in np.flatnonzero(named < 0):
            named[at] = self._found.get(int(there[at]), -1)
        left = np.flatnonzero(named < 0)
        if left.size:
            position = np.zeros(there.size, np.int64)
            position[place] = np.arange(flat.size)
            left = left[np.argsort(position[left])]
            columns = position[left] % (ids.shape[-1] if ids.ndim else 1)
            named[left] = self._as_layers(there[left], columns, ids.shape)
            if (named < 0).any():
                return None
            self._found.update(zip(there[left].tolist(), named[left].tolist(), strict=True))
        return named[place].reshape(ids.shape)

    def _as_layers(self, targets: Array, hints: Array, shape: tuple[int, ...]) -> Array:
        """The elements of layers that these are, each -1 where it is none."""
        chunks = list(self.pool.leaves(targets))
        found = self._as_leaves(chunks, targets.size)
        if (found >= 0).all():
            return found
        for layer in self.layers_of(chunks):
            known = self._with_weights(layer, chunks, targets.size, shape)
            here = self._of_layer(known, chunks, targets.size, hints)
            if layer.weight is None and known.weight is not None:
                self.nearest = known
                self.own = known if (here >= 0).all() else self.own
            # Where the bias is zero, an element is one of the layer without its bias, too: all of one layer is meant.
            found = here if (here >= 0).all() else np.where(found < 0, here, found)
        return with_numbers(self.pool, chunks, found)

    def _as_leaves(self, chunks: list[Chunk], count: int) -> Array:
        """The one element of a tensor, or zero, that is left where others cancel each other out; -1 where none is."""
        found: Array = np.full(count, -1)
        roots = [chunk for chunk in chunks if isinstance(chunk.block, Root)]
        if not roots:
            return found
        targets = np.concatenate([chunk.targets for chunk in roots])
        taken = [self.pool.start_of(chunk.block.number)[0] + chunk.offsets for chunk in roots]  # type: ignore[union-attr]
        factors = np.concatenate([factors_of(chunk) for chunk in roots])
        if (np.abs(factors) >= _LARGE).any() or (np.mod(factors * _FINE, 1) != 0).any():
            return found
        pairs, place = np.unique(np.stack([targets, np.concatenate(taken)]), axis=1, return_inverse=True)
        total = np.bincount(place.reshape(-1), weights=factors)
        targets, left = pairs[:, total != 0]
        kinds = np.bincount(targets, minlength=count)
        for chunk in chunks:
            if not isinstance(chunk.block, Root):
                kinds[chunk.targets] = -1
        mine = (kinds == 1)[targets] & (total[total != 0] == 1)
        found[targets[mine]] = left[mine]
        found[kinds == 0] = 0
        return found

    def _of_layer(self, layer: Layer, chunks: list[Chunk], count: int, hints: Array) -> Array:
        found = np.full(count, -1)
        start, _ = self.pool.start_of(layer.number)
        for part in self._parts(layer, count):
            made = self._coefficients(chunks, layer, part)
            if made is None:
                break
            columns = self._columns(made, layer, hints[part])
            found[part] = np.where(columns >= 0, start + made.rows * layer.columns + columns, -1)
        return found

    def layers_of(self, chunks: list[Chunk]) -> list[Layer]:
        """The layers that the input of these products feeds."""
        fed: set[int] = set()
        for chunk in chunks:
            if isinstance(chunk.block, Root):
                fed |= {self.original.base(each.root) for each in self._made_by(chunk.block)}
            if isinstance(chunk.block, Dot):
                first = chunk.block.rows[chunk.block.rows != 0]
                block, _ = self.pool.block(int(first[0]))
                fed |= {block.number} if isinstance(block, Root) else set()
        return [layer for layer in self.original.layers if self.original.base(layer.root) in fed]

    def _made_by(self, root: Root) -> list[Layer]:
        """The layer whose result a tensor is, such as one to which its bias is still to be added."""
        made = (each for each in self.original.layers if self.original.base(each.number) == root.number)
        return [each for each in made if each.weight is not None][:1]

    def _parts(self, layer: Layer, count: int) -> Iterator[slice]:
        step = max(1, _MOST_AT_ONCE // layer.depth)
        for start in range(0, count, step):
            self.budget.spend(work=layer.depth * min(step, count - start))
            yield slice(start, min(start + step, count))

    def _coefficients(self, chunks: list[Chunk], layer: Layer, part: slice) -> _Made | None:
        """What the targets of a part are made of; None where something else than the layer's input is in them."""
        count = part.stop - part.start
        made = _Made(np.full(count, -1), Sums(layer.depth, count), Sums(count), np.full(count, -1))
        for chunk in chunks:
            inside = (chunk.targets >= part.start) & (chunk.targets < part.stop)
            if not inside.any():
                continue
            whole = bool(inside.all())
            here = chunk if whole else chunk._replace(
                targets=chunk.targets[inside], offsets=chunk.offsets[inside],
                factors=None if chunk.factors is None else chunk.factors[inside],
            )  # fmt: skip
            here = here._replace(targets=here.targets - part.start)
            if isinstance(here.block, Constant):
                values = here.block.values[here.offsets].astype(np.float64)
                made.constants.add_scaled((here.targets,), values, here)
            elif isinstance(here.block, Root):
                if not self._add_layer(here, here.block, layer, made):
                    return None
            elif not isinstance(here.block, Dot) or not self._add_product(here, here.block, layer, made):
                return None
        return made

    def _add_layer(self, chunk: Chunk, root: Root, layer: Layer, made: _Made) -> bool:
        """Elements of a layer's result, as what they are made of."""
        for before in self._made_by(root):
            rows, columns = np.divmod(chunk.offsets, before.columns)
            fits = self.original.base(before.root) == self.original.base(layer.root)
            if (
                before.weight is None
                or not fits
                or (~np.isin(made.rows[chunk.targets], (-1,)) & (made.rows[chunk.targets] != rows)).any()
            ):
                return False
            made.rows[chunk.targets] = rows
            taken = before.weight[:, _span(columns)]
            made.weights.add_scaled((slice(None), _span(chunk.targets)), taken, chunk)
            if before.bias is not None:
                made.constants.add_scaled((chunk.targets,), before.bias[columns], chunk)
            return True
        return False

    def _add_product(self, chunk: Chunk, dot: Dot, layer: Layer, made: _Made) -> bool:
        start, size = self.pool.start_of(layer.root)
        for row, places in _by_row(chunk.offsets // dot.weight.shape[1]):
            taken = dot.rows[row]
            is_input = (taken >= start) & (taken < start + size)
            targets, columns = chunk.targets[places], chunk.offsets[places] % dot.weight.shape[1]
            here = chunk._replace(targets=targets, factors=None if chunk.factors is None else chunk.factors[places])
            at = taken[is_input] - start
            rows = np.unique(at // layer.depth)
            if not self._add_constants(here, dot, taken, is_input, columns, made) or rows.size > 1:
                return False
            if not rows.size:
                continue
            if (~np.isin(made.rows[targets], (-1, rows[0]))).any():
                return False
            made.rows[targets] = rows[0]
            made.product[targets] = dot.product
            weight = dot.weight if is_input.all() else dot.weight[is_input]
            made.weights.is_computed[targets] |= here.scale != 1 or here.factors is not None
            _add_rows(made.weights, at % layer.depth, targets, exactly(weight[:, _span(columns)], here))
        return True

    def _add_constants(
        self, chunk: Chunk, dot: Dot, taken: Array, is_input: Array, columns: Array, made: _Made
    ) -> bool:
        """Elements of a product's row that are constants, such as a one that is multiplied with the bias."""
        for at in np.flatnonzero(~is_input & (taken != 0)):
            block, start = self.pool.block(int(taken[at]))
            if not isinstance(block, Constant):
                return False
            value = np.float64(block.values[taken[at] - start])
            made.constants.add_scaled((chunk.targets,), dot.weight[at, columns].astype(np.float64) * value, chunk)
            if dot.weight.dtype.itemsize > 4 or block.values.dtype.itemsize > 4:  # noqa: PLR2004 - exact for float32
                return False
        return True

    def _columns(self, made: _Made, layer: Layer, hints: Array) -> Array:
        """The column of the layer that each target is; -1 where it is none."""
        if layer.weight is None:
            return np.full(hints.size, -1)
        bias = np.zeros(layer.columns) if layer.bias is None else layer.bias
        sampled, known = self._sampled(layer)
        sound = (made.rows >= 0) & ~made.weights.is_rounded & ~made.constants.is_rounded
        keys = np.ascontiguousarray(made.weights.values[sampled].T)
        computed = made.weights.is_computed
        beside = [[int(hint)] if computed[i] and hint < layer.columns else [] for i, hint in enumerate(hints)]
        options = [known.get(keys[i].tobytes(), beside[i]) if sound[i] else () for i in range(hints.size)]
        found = np.full(hints.size, -1)
        ordered = [sorted(each, key=lambda n, hint=hint: n != hint) for each, hint in zip(options, hints, strict=True)]
        for turn in range(max(map(len, ordered), default=0)):
            open_ = [i for i, each in enumerate(ordered) if len(each) > turn and found[i] < 0]
            tried = np.asarray([ordered[i][turn] for i in open_], np.int64)
            if not open_:
                break
            self.budget.spend(work=layer.depth * len(open_))
            held = made.weights.values[:, open_]
            same = come_to(held, layer.weight[:, tried], is_computed=computed[open_]).all(axis=0)
            same &= come_to(made.constants.values[open_], bias[tried], is_computed=made.constants.is_computed[open_])
            found[open_] = np.where(same, tried, -1)
        return found

    def _sampled(self, layer: Layer) -> tuple[Array, dict[bytes, list[int]]]:
        """Some rows of the weight, and the columns that have these numbers there."""
        weight = layer.weight
        if weight is None:
            message = "the layer has no weight yet"
            raise OutsideError(message)
        if id(weight) not in self._samples:
            rows = np.unique(np.linspace(0, layer.depth - 1, _SAMPLED).astype(np.int64))
            known: dict[bytes, list[int]] = {}
            keys = np.ascontiguousarray((weight[rows].astype(np.float64) + 0.0).T)
            for column in range(layer.columns):
                known.setdefault(keys[column].tobytes(), []).append(column)
            self._samples[id(weight)] = (rows, known)
        return self._samples[id(weight)]

    def _with_weights(self, layer: Layer, chunks: list[Chunk], count: int, shape: tuple[int, ...]) -> Layer:
        """The layer; one of the file's own with the W and the bias that its first row has."""
        if layer.weight is not None:
            return layer
        if shape != (layer.rows, layer.columns) or count != layer.rows * layer.columns:
            return layer
        made = self._coefficients(chunks, layer, slice(0, layer.columns))
        if made is None or (made.rows != 0).any():
            return layer
        if not np.isfinite(made.weights.values).all() or not np.isfinite(made.constants.values).all():
            return layer
        weight, bias = narrow(made.weights.values), narrow(made.constants.values)
        if not has_all_tiles(weight):
            return layer
        tiles = [chunk.block.weight for chunk in chunks if isinstance(chunk.block, Dot)]
        sources = list(layer.own) if layer.own_only else sources_of(tiles, layer.own)
        if sources:
            meant = sources if layer.own_only else [meant_by(each, weight) for each in sources]
            weight = next((each for each in meant if np.array_equal(each, weight)), meant[0])
        return replace(layer, weight=weight, bias=bias, own=())

    def deviations(self, ids: Array, layer: Layer) -> list[Deviation]:
        """Where a tensor of the layer's shape differs from it, in blocks of 64; empty where nothing can be said."""
        chunks = list(self.pool.leaves(ids.reshape(-1)))
        found: list[Deviation] = []
        if layer.weight is None:
            return []
        for row in range(layer.rows):
            for n0 in range(0, layer.columns, _BLOCK):
                n1 = min(n0 + _BLOCK, layer.columns)
                self.budget.spend(work=layer.depth * _BLOCK)
                made = self._coefficients(chunks, layer, slice(row * layer.columns + n0, row * layer.columns + n1))
                if made is None or not np.isin(made.rows, (-1, row)).all() or np.isnan(made.constants.values).any():
                    return []
                found += _differences(made, layer, row, n0, n1)
            if found:
                break
        return found


def _differences(made: _Made, layer: Layer, row: int, n0: int, n1: int) -> Iterator[Deviation]:
    weight, bias = layer.weight, layer.bias
    if weight is None:
        return
    for k0 in range(0, layer.depth, _BLOCK):
        k1 = min(k0 + _BLOCK, layer.depth)
        held, wanted = made.weights.values[k0:k1], weight[k0:k1, n0:n1]
        if not come_to(held, wanted, is_computed=made.weights.is_computed).all():
            term: Term | None = Term(row, k0, held.astype(np.float32), 1.0, int(made.product.max()))
            missing = not held.any()
            kind: Kind = "missing" if missing else "weights"
            term = None if missing else term
            yield Deviation(kind=kind, m0=row, m1=row + 1, k0=k0, k1=k1, n0=n0, n1=n1, term=term)
    expected = np.zeros(n1 - n0) if bias is None else bias[n0:n1]
    if not come_to(made.constants.values, expected, is_computed=made.constants.is_computed).all():
        values = Bias(made.constants.values.astype(np.float32)[None, :], 1.0)
        yield Deviation(kind="bias", m0=row, m1=row + 1, k0=0, k1=0, n0=n0, n1=n1, biases=(values,))


def _by_row(rows: Array) -> Iterator[tuple[int, Array | slice]]:
    if rows.size and rows[0] == rows[-1] and (rows == rows[0]).all():
        yield int(rows[0]), slice(None)
        return
    for row in np.unique(rows):
        yield int(row), np.flatnonzero(rows == row)


def _span(places: Array) -> Array | slice:
    """Places side by side as a slice, which numpy reads without copying."""
    first = int(places[0])
    if places.size == int(places[-1]) - first + 1 and (np.diff(places) == 1).all():
        return slice(first, first + places.size)
    return places


def _add_rows(sums: Sums, depths: Array, targets: Array, weight: Array) -> None:
    """Add rows of weights at their depths; a depth that occurs again is added in another turn."""
    if np.unique(depths).size == depths.size:
        _add_once(sums, depths, targets, weight)
        return
    for place, depth in enumerate(depths):
        _add_once(sums, np.asarray([depth]), targets, weight[place : place + 1])


def _add_once(sums: Sums, depths: Array, targets: Array, weight: Array) -> None:
    down, across = _span(depths), _span(targets)
    both_listed = not isinstance(down, slice) and not isinstance(across, slice)
    sums.add((down[:, None], across) if both_listed and not isinstance(down, slice) else (down, across), weight)
