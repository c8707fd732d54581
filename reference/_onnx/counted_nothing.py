"""The operators that take no multiply-accumulate operations, each with the reason; and those that nobody has counted.

With the rules of `multiplications.py` these are all operators that ONNX defines: a test holds the three against
onnx.defs. An operator that stands nowhere, of a later release or of another domain, is refused by its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_ML, _TRAINING, _MICROSOFT = "ai.onnx.ml", "ai.onnx.preview.training", "com.microsoft"
# By domain and reason.
REASONS: Mapping[tuple[str, str], str] = {
    ("", "element by element, or compared with one another: no sum of products"): (
        "Abs Acos Acosh Add And Asin Asinh Atan Atanh BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast "
        "CastLike Ceil Celu Clip Cos Cosh DequantizeLinear Div Dropout DynamicQuantizeLinear Elu Equal Erf Exp Floor "
        "Gelu Greater GreaterOrEqual HardSigmoid HardSwish IsInf IsNaN LeakyRelu Less LessOrEqual Log Max Mean Min "
        "Mish Mod Mul Neg Not Or PRelu Pow QuantizeLinear Reciprocal Relu RotaryEmbedding Round Selu Shrink Sigmoid "
        "Sign Sin Sinh Softplus Softsign Sqrt Sub Sum SwiGLU Swish Tan Tanh ThresholdedRelu Where Xor"
    ),
    ("", "normalisation and softmax: by convention nothing, as in the published counts"): (
        "BatchNormalization GroupNormalization Hardmax InstanceNormalization LRN LayerNormalization LogSoftmax "
        "LpNormalization MeanVarianceNormalization RMSNormalization Softmax"
    ),
    ("", "pooling, sums and other reductions: by convention nothing"): (
        "ArgMax ArgMin AveragePool CumProd CumSum GlobalAveragePool GlobalLpPool GlobalMaxPool LpPool MaxPool "
        "MaxRoiPool NegativeLogLikelihoodLoss ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean "
        "ReduceMin ReduceProd ReduceSum ReduceSumSquare SoftmaxCrossEntropyLoss TopK"
    ),
    ("", "resampling, with a few weights a point: by convention nothing"): "GridSample Resize RoiAlign Upsample",
    ("", "moves, selects or repeats what is there"): (
        "CenterCropPad Col2Im Compress Concat DepthToSpace Expand Flatten Gather GatherElements GatherND Identity "
        "MaxUnpool NonMaxSuppression NonZero OneHot Pad Reshape ReverseSequence Scatter ScatterElements ScatterND "
        "Shape Size Slice SpaceToDepth Split Squeeze TensorScatter Tile Transpose Trilu Unique Unsqueeze"
    ),
    ("", "makes a tensor out of sizes or at random"): (
        "Bernoulli BlackmanWindow Constant ConstantOfShape EyeLike HammingWindow HannWindow MelWeightMatrix "
        "Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike Range"
    ),
    ("", "handles sequences and optionals"): (
        "ConcatFromSequence Optional OptionalGetElement OptionalHasElement SequenceAt SequenceConstruct SequenceEmpty "
        "SequenceErase SequenceInsert SequenceLength SplitToSequence"
    ),
    ("", "is text or a compressed picture"): (
        "ImageDecoder RegexFullMatch StringConcat StringNormalizer StringSplit TfIdfVectorizer"
    ),
    ("", "runs other nodes, which are counted themselves"): "If Loop Scan SequenceMap",
    (_ML, "looks up, scales or compares elements"): (
        "ArrayFeatureExtractor Binarizer CastMap CategoryMapper DictVectorizer FeatureVectorizer Imputer LabelEncoder "
        "Normalizer OneHotEncoder Scaler ZipMap"
    ),
    (_ML, "trees compare a feature at each step, and add up leaves"): (
        "TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor"
    ),
    (_TRAINING, "updates weights element by element"): "Adagrad Adam Momentum",
    (_MICROSOFT, "element by element"): (
        "BiasAdd BiasDropout BiasGelu BiasSplitGelu ComplexMul ComplexMulConj DequantizeLinear FastGelu Gelu "
        "MulInteger QLinearAdd QLinearLeakyRelu QLinearMul QLinearSigmoid QLinearWhere QuantizeLinear QuickGelu "
        "RotaryEmbedding"
    ),
    (_MICROSOFT, "normalisation, softmax, pooling and reductions: by convention nothing"): (
        "BiasSoftmax EmbedLayerNormalization GroupNorm MaxpoolWithMask NhwcMaxPool QEmbedLayerNormalization "
        "QLinearAveragePool QLinearGlobalAveragePool QLinearReduceMean QLinearSoftmax ReduceSumInteger SkipGroupNorm "
        "SkipLayerNormalization SkipSimplifiedLayerNormalization"
    ),
    (_MICROSOFT, "moves, selects or repeats what is there"): (
        "ExpandDims GatherBlockQuantized GatherND GridSample Pad QLinearConcat Range TorchEmbedding Trilu Unique"
    ),
}
NOTHING = frozenset((domain, name) for (domain, _), names in REASONS.items() for name in names.split())
# It multiplies, and how often is not agreed upon or depends on the algorithm: better named than counted as nothing.
WITHOUT_RULE: Mapping[tuple[str, str], str] = {
    ("", "DeformConv"): "each product reads a place that data decide, with four weights of its own",
    ("", "DFT"): "it depends on the algorithm of the Fourier transform",
    ("", "STFT"): "it depends on the algorithm of the Fourier transform",
    ("", "Det"): "it depends on the algorithm",
    ("", "LinearAttention"): "its update rules multiply differently, and no count of them is agreed upon",
    ("ai.onnx.preview", "FlexAttention"): "graphs of its own change the scores",
    (_TRAINING, "Gradient"): "it runs other nodes backwards",
    (_ML, "SVMClassifier"): "its kernels multiply differently",
    (_ML, "SVMRegressor"): "its kernels multiply differently",
    (_MICROSOFT, "Inverse"): "it depends on the algorithm",
    (_MICROSOFT, "Rfft"): "it depends on the algorithm of the Fourier transform",
    (_MICROSOFT, "Irfft"): "it depends on the algorithm of the Fourier transform",
}
