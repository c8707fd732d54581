"""The machinery behind the ONNX quantities: reads a file without its weights, runs its graph on shapes alone."""

from .._later import package_with, unused_of, waiting

# What onnx imports, and most files need nothing of.
_UNUSED = ("checker", "compose", "gen_proto", "helper", "numpy_helper", "parser", "printer", "serialization", "utils",
           "version_converter", "_mapping")  # fmt: skip
waiting("numpy", "ml_dtypes", "uuid")
unused_of("google.protobuf.internal", "python_message")  # messages in Python, where there are none in C
package_with("onnx", *_UNUSED)
