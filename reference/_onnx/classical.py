"""Classical machine learning, the operators of ai.onnx.ml: the shapes for which ONNX has no inference."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import onnx

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .tensors import Tensor

    Found = tuple[int, tuple[int, ...]] | None
DOMAIN = "ai.onnx.ml"
_FLOAT, _INT64, _STRING = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.STRING
_LIKE_FIRST = frozenset({"Scaler", "Normalizer", "Imputer", "Binarizer", "LabelEncoder", "CastMap", "CategoryMapper"})
_CLASSIFIERS = frozenset({"LinearClassifier", "SVMClassifier", "TreeEnsembleClassifier"})
_REGRESSORS = {"TreeEnsembleRegressor": "n_targets", "LinearRegressor": "targets", "SVMRegressor": ""}


def rows(shape: tuple[int, ...]) -> int:
    """How many samples come in: one where there is one dimension."""
    return shape[0] if len(shape) > 1 else 1


def found(at: int, node: onnx.NodeProto, inputs: Sequence[Tensor | None]) -> Found:
    """Type and shape of an output; None where they are not known."""
    first = inputs[0] if inputs else None
    if first is None or first.shape is None:
        return None
    attributes = {each.name: each for each in node.attribute}
    kind = node.op_type
    if kind in _LIKE_FIRST:
        return (_FLOAT if kind in ("Scaler", "Normalizer") else first.data_type), first.shape
    if kind == "ArrayFeatureExtractor":  # of one dimension, ONNX infers nothing
        second = inputs[1].shape if len(inputs) > 1 and inputs[1] is not None else None
        row = first.shape[:-1] or (1,)
        return (first.data_type, (*row, math.prod(second))) if second is not None else None
    count = rows(first.shape)
    if kind in _CLASSIFIERS:
        texts = any(attributes[each].strings for each in attributes if each.startswith("classlabels_s"))
        if at == 0:
            return _STRING if texts else _INT64, (count,)
        classes = _classes(attributes)
        return (_FLOAT, (count, classes)) if classes else None
    if kind in _REGRESSORS:
        targets = attributes.get(_REGRESSORS[kind])
        return _FLOAT, (count, max(targets.i, 1) if targets is not None else 1)
    if kind == "FeatureVectorizer":
        widths = [math.prod(each.shape[1:]) for each in inputs if each is not None and each.shape is not None]
        known = len(widths) == len(inputs)
        return (_FLOAT, (count, sum(widths))) if known else None
    return None


def _classes(attributes: Mapping[str, onnx.AttributeProto]) -> int:
    """How many columns the scores have: one a label."""
    names = [each for each in attributes if each.startswith(("classlabels_", "class_labels"))]
    return max((len(attributes[each].strings) or len(attributes[each].ints) for each in names), default=0)
