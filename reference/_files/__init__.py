"""Files of the field that are no ONNX models: known by their first bytes, and read without their weights.

TFLite, ExecuTorch and ONNX Runtime's own format are FlatBuffers, whose every offset is checked; GGUF and
safetensors have readers of their own. An `.ort` file becomes an ONNX model in memory. `labgrade compute` on a file
imports no torch and, for most files, no numpy (`reference/_later.py`); its server is a fork of the command itself
(`labgrade/sandbox/host/own_fork.py`), in the same jail. `benchmarks/compute.py` measures it beside onnx-tool and
onnxruntime.
"""
