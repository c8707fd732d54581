"""Damages files of one format many times, and asks all that is computed of them: run in a process of its own.

    python tests/helpers/fuzz_files.py FORMAT COUNT SEED FOLDER

Each answer is a value or a ValueError, within 2 s of CPU, and the process never holds 300 MB more than when it began.
"""

from __future__ import annotations

import json
import os
import random
import resource
import struct
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECONDS, BYTES = 2.0, 300 << 20
EXTREMES = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFF0, 64, 1 << 20)


def damaged(content: bytes, chance: random.Random) -> bytes:
    """The content with one to four changes: bytes, numbers, a part cut out, doubled or exchanged, or its end."""
    data = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        at = chance.randrange(max(1, min(len(data), chance.choice((64, 512, len(data))))))
        match chance.randrange(7):
            case 0:
                data[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                data[at : at + 4] = struct.pack("<I", chance.choice(EXTREMES))
            case 2:
                data[at : at + 8] = struct.pack("<Q", chance.choice((1 << 63, 1 << 40, 1 << 62, 1 << 33, 3)))
            case 3:
                del data[at:]
            case 4:
                del data[at : at + chance.randrange(1, 64)]
            case 5:
                other = chance.randrange(len(data) or 1)
                data[at:at] = data[other : other + chance.randrange(1, 256)]
            case 6:
                data[at : at + 2] = struct.pack("<h", chance.randrange(-300, 300))
    return bytes(data)


def main(kind: str, count: int, seed: int, folder: Path) -> dict[str, float]:
    """How many were read and refused, and the longest that one took."""
    sys.path.insert(0, str(ROOT))
    from reference import files, onnx_macs, onnx_memory, programs

    asked = [files.file_operator_counts, files.file_tensors, files.file_parameters_by_type, files.file_macs,
             files.file_activation_bytes, files.file_format]  # fmt: skip
    more = {"ort": [onnx_macs.onnx_macs, onnx_memory.onnx_parameters], "tflite": [files.file_quantisation],
            "pte": [files.file_memory_plan, programs.pte_operators], "gguf": [], "safetensors": []}  # fmt: skip
    seeds = sorted(folder.glob(f"seed*.{kind}"))
    for path in seeds:
        _answers([*asked, *more[kind]], path)
    held = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (held + BYTES, held + BYTES))
    chance = random.Random(seed)  # noqa: S311 - to damage files
    contents = [path.read_bytes() for path in seeds]
    path = folder / f"damaged.{kind}"
    found = {"read": 0, "refused": 0, "longest": 0.0}
    for number in range(count):
        path.write_bytes(damaged(chance.choice(contents), chance))
        start = time.process_time()
        for each in _answers([*asked, *more[kind]], path):
            found[each] += 1
        took = time.process_time() - start
        found["longest"] = max(found["longest"], took)
        if took > SECONDS:
            message = f"number {number} of seed {seed} took {took:.1f} s"
            raise TimeoutError(message)
    return found


def _answers(asked: list, path: Path) -> list[str]:
    said = []
    for quantity in asked:
        try:
            quantity(path)
            said.append("read")
        except ValueError as refused:
            if not str(refused).strip():
                raise
            said.append("refused")
    return said


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))))
