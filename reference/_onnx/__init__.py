"""The machinery behind the ONNX quantities: reads a file without its weights, runs its graph on shapes alone.

`wire.py` walks the protobuf wire format and leaves every payload over 8 KiB where it lies: a file of 244 MB is read
in milliseconds. `run.py` goes through the nodes in order. Types and shapes come from ONNX's own inference, node by
node (`nodes.py`). A value is computed only where a later shape depends on it, by ONNX's reference implementation.
If, Loop, Scan and model-local functions run what is inside of them (`control.py`). The result is a list of steps
with the tensors that each reads and writes; every quantity is a sum over it. What can't be known is a ValueError
that names the node.
"""

from .._later import package_with, unused_of, waiting

# What onnx imports, and most files need nothing of.
_UNUSED = ("checker", "compose", "gen_proto", "helper", "numpy_helper", "parser", "printer", "serialization", "utils",
           "version_converter", "_mapping")  # fmt: skip
waiting("numpy", "ml_dtypes", "uuid")
unused_of("google.protobuf.internal", "python_message")  # messages in Python, where there are none in C
package_with("onnx", *_UNUSED)
