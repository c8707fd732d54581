"""Mutated documents of every format: whatever is handed in is read in bounded time, as it is in this process.

200 of them; `LABGRADE_SOAK=200` reads 20,000, and others where `LABGRADE_SEED` is a word.
"""

import io
import os
import random
import shutil
import zipfile
import zlib

import numpy as np
import pytest
from helpers import other_formats, warm
from helpers.hostile import zipped
from PIL import Image

from labgrade.answers.reader.asks import Ask, ask_notes, ask_value
from labgrade.answers.reader.reader import Reader, by_name
from labgrade.core.results import NoAnswer, Submission
from labgrade.core.task import CallForm, EntryForm, FileForm, TableOfType, TableType, TextForm

DOCUMENTS = 100 * int(os.environ.get("LABGRADE_SOAK", "2"))
TABLE = TableType(row="layer", columns={"macs": "count", "shape": "shape"})
REPORT = """# HW 2-1
## 2-1-4 MACs
**Total MACs**: 1,498.38 M (about 1.5 GMac)
| Layer | MACs | Shape |
|---|---:|---|
| conv1.conv | 118,013,952 | [1, 64, 112, 112] |
| fc | 1_024_000 | (1, 1000) |
```
Conv2d-1            [-1, 64, 112, 112]           9,408
├─Linear: 2-1       [1, 1000]        1,025,000   1.02
```
### 5. ~~wrong~~ [link](https://a.b "5") <!-- 7 --> $x$ 作業 2-1-5：總計 = 6.62 M
"""


def _saved(save, *arrays, **named):
    data = io.BytesIO()
    save(data, *arrays, **named)
    return data.getvalue()


def _safetensors():
    head = b'{"__metadata__":{"a":"b"},"w":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},"b":{"dtype":"I64",'
    head += b'"shape":[1],"data_offsets":[12,20]}}'
    return len(head).to_bytes(8, "little") + head + bytes(range(20))


def _pictures():
    """One of each format that is shown; what is left of a file that ends early is shown, too."""
    seen = Image.fromarray(np.arange(40 * 50 * 3, dtype=np.uint8).reshape(40, 50, 3))
    return {f"seen.{kind}": _saved(lambda file, kind=kind: seen.save(file, kind)) for kind in PICTURES}


PICTURES = ("png", "jpeg", "gif", "bmp", "webp", "tiff")
LOG = b"""[ 50%] Building CXX object CMakeFiles/a.dir/src/main.cpp.o
src/main.cpp:7:9: error: 'total' was not declared in this scope; did you mean 'totals'?
/usr/bin/ld: main.o: undefined reference to `f(int, std::vector<float> const&)'
==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602 at pc 0x55 bp 0x7f sp 0x7f
    #0 0x55 in total(float*, int) src/main.cpp:7:9
terminate called after throwing an instance of 'std::out_of_range'
  what():  vector::_M_range_check: __n (which is 5) >= this->size() (which is 5)
"""
CPP = b"""#include <vector>
/* R"x( */ int f(const std::vector<int>& x) { return x.at(0); } // "
int main() { return 0; }
"""
SEEDS = {
    "answers.yaml": b"2-1-4: {total: 6,624,904, mean: 1.5e9}\nrows:\n  - conv1: [1, 64]\n    w: 'x'\n  - |\n   text\n",
    "answers.json": b'{"2-1-4": {"total": 1498376192, "mean": 1.50e9, "rows": {"conv1": [1, 64], "\\u00e9": null}}}',
    "report.md": REPORT.encode(),
    "out.txt": b"Layer: conv1, MACs: 5\nTotal MACs: 5\n{'conv1': 5, 'fc': 7}\nTotal: 12 MB\n" * 3,
    "table.csv": b'layer,macs,shape\nconv1,118013952,1x64\n"fc, last",1024000,"(1, 1000)"\n',
    "x.npy": _saved(np.save, np.arange(12, dtype="<f4").reshape(3, 4)),
    "all.npz": _saved(np.savez_compressed, a=np.zeros((2, 3)), b=np.arange(5)),
    "hw.py": b"import torch\n\nclass A:\n    def total_macs(self, x):\n        return [y for y in (x, {1: 2})]\n",
}
SEEDS |= {"w.safetensors": _safetensors(), "raw.bin": bytes(range(24)), "main.cpp": CPP, "log.txt": LOG}
SEEDS |= _pictures()
SEEDS |= {f"other.{suffix}": made() for suffix, made in other_formats.MADE.items()}
MARKS = b"[ { ( \" ' | # ~~ ` <!-- ]( &a *a !!x , \\ 2-1-4 1e999 \xff\xfe \xe4\xbd \x1b[2J".split(b" ")
PIECES = (*MARKS, b"- ", b": ", b"```\n", b"\n", b"\t", b"\r", b"\0", b"9" * 400, b"Total MACs")
SECTION = ("2-1-4",)
LOOKED_IN_VAIN = [
    CallForm(file="hw.py", function="total", given=()),
    EntryForm(path="q"),
    TextForm(after="q", report=()),
]
ASKS = [
    ask_value("count", EntryForm(path="2-1-4.total")),
    ask_value("number", EntryForm(path="2-1-4.mean")),
    ask_value("histogram", EntryForm(path="2-1-4.rows")),
    ask_value("count", TextForm(after="Total MACs", report=SECTION), "torchvision/resnet18"),
    ask_value(TABLE, TextForm(report=SECTION)),
    ask_value("count", TextForm(after="Total MACs", file="out.txt")),
    ask_value("histogram", TextForm(file="out.txt")),
    ask_value("bytes", TextForm(after="Total", file="out.txt")),
    *(ask_value("count", TextForm(after="Total MACs", file=f"other.{suffix}")) for suffix in other_formats.MADE),
    ask_value(TABLE, FileForm(pattern="table.csv")),
    ask_value("tensor", FileForm(pattern="x.npy")),
    ask_value(TableOfType(kind="tensor"), FileForm(pattern="all.npz")),
    ask_value(TableOfType(kind="tensor"), FileForm(pattern="w.safetensors")),
    ask_value("tensor", FileForm(pattern="raw.bin", dtype="float32", shape=(2, 3))),
    *(Ask(wanted=wanted, about=name) for name in SEEDS if name.startswith("seen.") for wanted in ("picture", "image")),
    Ask(wanted="code"),
    Ask(wanted="sources"),
    ask_notes("count", LOOKED_IN_VAIN),
    Ask(wanted="seen", kind="count", forms=(TextForm(after="nothing", report=SECTION),)),
    Ask(wanted="passages", kind="count", forms=(TextForm(report=SECTION),)),
]


def mutated(data, rng):
    """Changed in a few places; what is packed also within."""
    if data.startswith(b"PK") and rng.random() < 0.7:
        with zipfile.ZipFile(io.BytesIO(data)) as whole:
            entries = {name: whole.read(name) for name in whole.namelist()}
        within = rng.choice(list(entries))
        return zipped(entries | {within: mutated(entries[within], rng)})
    if data.startswith(b"\x89PNG") and rng.random() < 0.7:
        return _resealed(data, rng)
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        at = rng.randrange(len(found) + 1)
        match rng.randrange(6):
            case 0:
                found[at:at] = rng.choice(PIECES) * rng.choice((1, 1, 2, 70, 2_000))
            case 1:
                del found[at : at + rng.randrange(1, 9)]
            case 2:
                found[at : at + 1] = bytes([rng.randrange(256)])
            case 3:
                other = rng.randrange(len(found) + 1)
                found[at:at] = found[min(at, other) : max(at, other)][:2_000] * rng.choice((1, 2, 20))
            case 4:
                del found[at:]
            case _:
                other = SEEDS[rng.choice(list(SEEDS))]
                start = rng.randrange(len(other))
                found[at:at] = other[start : start + rng.randrange(1, 99)]
    return bytes(found[:200_000])


def _resealed(data, rng):
    """A PNG with one part of it changed, and the sums that its reader looks at first."""
    parts, at = [], 8
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        parts.append((data[at + 4 : at + 8], data[at + 8 : at + 8 + size]))
        at += 12 + size
    place = rng.randrange(len(parts))
    kind, held = parts[place]
    packed = kind == b"IDAT" and rng.random() < 0.5
    held = zlib.compress(mutated(zlib.decompress(held), rng)) if packed else mutated(held, rng)
    parts[place] = (kind, held)
    sealed = (
        len(held).to_bytes(4, "big") + kind + held + zlib.crc32(kind + held).to_bytes(4, "big") for kind, held in parts
    )
    return data[:8] + b"".join(sealed)


def said(data):
    """Asks about what functions and programs said, which comes as text."""
    text = data.decode(errors="replace")
    about = {"kind": "text", "forms": (), "about": text}
    return [
        Ask(wanted="markdown", about=text, line=3),
        *(Ask(wanted=wanted, **about) for wanted in ("log", "crash")),
    ] + [Ask(wanted="returned", kind=kind, about=text) for kind in ("count", TABLE)]


@pytest.fixture(scope="module")
def readers():
    spent = []
    with warm.runner() as runner, pytest.MonkeyPatch.context() as patch:
        read = runner.read

        def timed(request):
            done = read(request)
            spent.append(done.seconds)
            return done

        patch.setattr(runner, "read", timed)
        yield Reader(runner), Reader(None)
    print(f"{len(spent):,} hand-ins; {sum(spent):.0f} s of computing, the slowest {max(spent):.2f} s")  # noqa: T201


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(max(1, DOCUMENTS // 200)))
def test_mutated_documents_are_read_in_bounded_time_and_as_in_this_process(batch, readers, tmp_path):
    there, here = readers
    for number in range(200 // len(SEEDS)):
        seed = f"{os.environ.get('LABGRADE_SEED', '')}{batch}-{number}"
        rng = random.Random(seed)  # noqa: S311 - the same documents each time
        folder = tmp_path / seed
        folder.mkdir()
        for name, data in SEEDS.items():
            (folder / name).write_bytes(mutated(data, rng))
        files = sorted(SEEDS) if rng.random() < 0.5 else sorted(set(SEEDS) - {"answers.yaml"})
        submission = Submission(name=seed, folder=folder, files=tuple(files))
        asks = [*ASKS, *said(mutated(SEEDS["log.txt"], rng)), *said(mutated(SEEDS["report.md"], rng))]
        there.expect(submission, by_name(asks))
        for ask in asks:
            found = there.ask(submission, ask)
            reason = found.verdict.reason if isinstance(found, NoAnswer) else ""
            assert "to read" not in reason, (seed, ask)
            assert "broke off" not in reason, (seed, ask)
            try:
                same = here.ask(submission, ask)
            except RecursionError:
                assert not found or "nested too deeply" in reason, (seed, ask)
            else:
                assert repr(found) == repr(same), (seed, ask)
        shutil.rmtree(folder)
