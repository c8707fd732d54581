"""The machinery behind the ONNX quantities: reads a file without its weights, runs its graph on shapes alone."""

from .._later import package_with, waiting

# What onnx imports, and most files need nothing of.
_UNUSED = ("checker", "compose", "gen_proto", "helper", "numpy_helper", "parser", "printer", "serialization", "utils",
           "version_converter", "_mapping")  # fmt: skip
waiting("numpy", "ml_dtypes", "uuid")
package_with("onnx", *_UNUSED)
