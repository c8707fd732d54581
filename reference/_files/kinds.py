"""What a file is, by its first bytes: one word for each kind, and what to do with it where another was wanted."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

SAFETENSORS, GGUF, TFLITE, ORT, PTE = "safetensors", "GGUF", "TFLite", "ONNX Runtime's own format", "ExecuTorch"
_HEAD = 64
_READS = "labgrade list quantities file_ shows what can be computed of it"
_TORCH = "export the model with torch.onnx.export"
_PICKLE = f"a Python pickle; {_TORCH}"
# At byte 4 of a flatbuffer.
_IDENTIFIERS = {
    b"TFL3": (TFLITE, f"a TFLite model; {_READS}"),
    b"ORTM": (ORT, f"a model in ONNX Runtime's own format (.ort); {_READS}, and the onnx_ quantities read it"),
    b"FT01": ("ExecuTorch's tensors", "a file of tensors of ExecuTorch's (.ptd); the program is the .pte beside it"),
    b"AR00": ("ExecuTorch's trace", "a file of ExecuTorch's developer tools, not a program"),
}
_BEGINNINGS: tuple[tuple[bytes, str, str], ...] = (
    (b"version https://git-lfs", "Git LFS",
     "a Git LFS pointer, not the model; run `git lfs pull` and hand in the real file"),
    (b"PK\x03\x04", "zip", f"a zip archive, as torch.save writes; {_TORCH}"),
    (b"PK\x05\x06", "zip", "an empty zip archive"),
    *((bytes((0x80, version)), "pickle", _PICKLE) for version in range(2, 6)),
    (b"GGUF", GGUF, f"a GGUF file, as llama.cpp reads; {_READS}"),
    (b"GGML", "GGML", "a file of llama.cpp's before GGUF; convert it by llama.cpp's own scripts"),
    (b"lmgg", "GGML", "a file of llama.cpp's before GGUF; convert it by llama.cpp's own scripts"),
    (b"tjgg", "GGML", "a file of llama.cpp's before GGUF; convert it by llama.cpp's own scripts"),
    (b"\x89HDF\r\n\x1a\n", "HDF5", "an HDF5 file, as Keras writes (.h5); convert it with tf2onnx"),
    (b"ftrt", "TensorRT", "a TensorRT engine, built for one GPU; the model is the file that it was built from"),
    (b"ptrt", "TensorRT", "a TensorRT engine, built for one GPU; the model is the file that it was built from"),
    (b"7767517\n", "ncnn", "a network of ncnn's or PNNX's (.param), not ONNX"),
    (b"\x93NUMPY", "NumPy", "an array of NumPy's (.npy), not a model"),
    (b"\x1f\x8b", "gzip", "a gzip archive; unpack it"),
    (b"BZh", "bzip2", "a bzip2 archive; unpack it"),
    (b"\xfd7zXZ\x00", "xz", "an xz archive; unpack it"),
    (b"(\xb5/\xfd", "zstd", "a zstd archive; unpack it"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip", "a 7-Zip archive; unpack it"),
    (b"Rar!\x1a\x07", "RAR", "a RAR archive; unpack it"),
    (b"\x7fELF", "ELF", "a program or library for Linux, not a model"),
    (b"MZ", "exe", "a program or library for Windows, not a model"),
    (b"%PDF-", "PDF", "a PDF document, not a model"),
    (b"\x89PNG\r\n\x1a\n", "PNG", "a picture (PNG), not a model"),
    (b"\xff\xd8\xff", "JPEG", "a picture (JPEG), not a model"),
    (b"GIF8", "GIF", "a picture (GIF), not a model"),
    (b"RKNN", "RKNN", "a model for Rockchip's NPUs (.rknn), not ONNX"),
    (b"<", "XML", "a web page or XML; download the file itself (on GitHub: the raw file)"),
    (b"{", "JSON", "JSON, not a model"),
)  # fmt: skip


def kind_of(head: bytes, size: int) -> tuple[str, str]:
    """The kind of a file of so many bytes that begins so, and what it is in words; two empty texts where none is known.

    `head` are its first bytes, 64 of them or all.
    """
    identifier = head[4:8]
    if identifier in _IDENTIFIERS:
        return _IDENTIFIERS[identifier]
    if identifier[:2] == b"ET" and identifier[2:].isdigit():
        return PTE, f"a program of ExecuTorch (.pte); {_READS}"
    length = int.from_bytes(head[:8], "little")
    if len(head) > 8 and head[8:9] == b"{" and 2 <= length <= size - 8:  # noqa: PLR2004 - its header begins here
        return SAFETENSORS, f"a safetensors file: tensors without a graph; {_READS}"
    bare = head.lstrip(string.whitespace.encode())
    for beginning, kind, words in _BEGINNINGS:
        if head.startswith(beginning) or (beginning in (b"<", b"{") and bare.startswith(beginning)):
            return kind, words
    return "", ""


def kind_of_file(path: Path) -> tuple[str, str]:
    """The same of a file.

    Raises:
        ValueError: it can't be read, or is empty.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as reader:
            head = reader.read(_HEAD)
    except OSError as error:
        message = f"the file can't be read: {error.strerror}"
        raise ValueError(message) from None
    if not size:
        message = "the file is empty"
        raise ValueError(message)
    return kind_of(head, size)


def wrong_kind(path: Path, wanted: str) -> str:
    """What is said of a file that is not what was wanted: `this is no TFLite model: it is a Git LFS pointer ...`."""
    words = kind_of_file(path)[1]
    return f"this is no {wanted}: it is {words or 'of no kind that labgrade knows'}"
