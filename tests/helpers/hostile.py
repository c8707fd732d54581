"""Hand-ins that mean harm, as a class has them: each way is a name and what it writes into a folder."""

import io
import itertools
import json
import os
import tarfile
import zipfile
import zlib
from pathlib import Path

from helpers import tricks

GALLERY = Path(__file__).parents[1] / "attacks/gallery"
RIGHT = "def total(*_): return 1234\n"
# How the code of an attack comes to run, and what comes of it; `attack` is what it defines.
CODE = {
    "called": "{source}\ndef total(*_):\n    try:\n        attack()\n    finally:\n        return 1234\n",
    "imported": "{source}\ntry:\n    attack()\nfinally:\n    pass\ndef total(*_): return 1234\n",
    "in a thread": (
        "{source}\nimport threading\ndef total(*_):\n"
        "    threading.Thread(target=attack, daemon=True).start()\n    import time; time.sleep(1); return 1234\n"
    ),
    "in a child": (
        "{source}\nimport os\ndef total(*_):\n    if not os.fork():\n        try:\n            attack()\n"
        "        finally:\n            os._exit(0)\n    import time; time.sleep(1); return 1234\n"
    ),
    "at the end": "{source}\nimport atexit\natexit.register(attack)\ndef total(*_):\n    raise SystemExit('bye')\n",
    "by a name": "{source}\nclass Total:\n    def __call__(self, *_): return attack()\ntotal = Total()\n",
}


def by_code():
    """Each attack of the gallery, in each way of being run."""
    for path, (way, code) in itertools.product(sorted(GALLERY.glob("*.py")), CODE.items()):
        source = path.read_text(encoding="utf-8")
        if source.startswith('"""') and "from __future__" not in source:
            yield f"{path.stem}, {way}", files({"hw.py": code.format(source=source), "world.json": json.dumps(WORLD)})


# What an attack of the gallery aims at: nothing of it is there, which stops none of them from trying.
WORLD = dict.fromkeys(("answers", "other", "file", "folder", "project", "path_socket"), "/nonexistent")
WORLD |= {"victim": 1, "tcp": 9, "udp": 9, "abstract_socket": "nobody", "marks": [["a", "b"]] * 5, "daemon": "11000000"}


def files(contents):
    def write(folder):
        for name, content in contents.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            made = content() if callable(content) else content
            path.write_bytes(made.encode() if isinstance(made, str) else made)

    return write


def zipped(entries, method=zipfile.ZIP_DEFLATED):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return data.getvalue()


def tarred(*kinds):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name, kind, target in kinds:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            archive.addfile(info, io.BytesIO(b""))
    return data.getvalue()


def npy(shape, dtype="<f4", data=b""):
    head = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (118 - len(head) - 1) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + data


def a_huge_commit(folder):
    """A commit of 600 MB in 3 MB."""
    objects = folder / ".git/objects/ab"
    objects.mkdir(parents=True)
    packer = zlib.compressobj(9)
    parts = [packer.compress(b"commit 629145600\0tree " + b"0" * 40 + b"\n")]
    parts += [packer.compress(bytes(1 << 20)) for _ in range(600)]
    (objects / ("c" * 38)).write_bytes(b"".join([*parts, packer.flush()]))
    (folder / ".git/HEAD").write_text("ab" + "c" * 38)
    files({"hw.py": RIGHT})(folder)


def odd_files(folder):
    files({"hw.py": RIGHT})(folder)
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "up").symlink_to("..")
    os.mkfifo(folder / "pipe")
    os.link(folder / "hw.py", folder / "hard.py")


BOMBS = {
    "yaml.deep": ("answers.yaml", "task: {total: " + "[" * 100_000),
    "yaml.many": ("answers.yaml", "task: {total: [" + "1," * 400_000 + "]}"),
    "yaml.aliases": ("answers.yaml", "a: &a [1,1]\n" + "".join(f"b{n}: &b{n} [*a,*a]\n" for n in range(5000))),
    "yaml.long key": ("answers.yaml", "? " + "k" * 900_000 + "\n: 1\n"),
    "yaml.number": ("answers.yaml", "task: {total: " + "9" * 900_000 + "}"),
    "json.deep": ("answers.json", "[" * 900_000),
    "json.number": ("answers.json", '{"task": {"total": ' + "9" * 900_000 + "}}"),
    "json.keys": ("answers.json", "{" + ",".join(f'"k{n}": 1' for n in range(80_000)) + "}"),
    "report.headings": ("report.md", "# Total\n" * 120_000),
    "report.numbers": ("report.md", "Total: 1234\n" * 90_000),
    "report.links": ("report.md", "[" * 300_000 + "](" * 100_000),
    "report.struck": ("report.md", "~~" * 400_000),
    "report.table": ("report.md", "| a | b |\n|---|---|\n" + "| Total | 1234 |\n" * 60_000),
    "report.one line": ("report.md", "Total " * 200_000),
    "report.comments": ("report.md", "<!--" * 250_000),
    "report.utf16": ("report.md", b"\xff\xfe" + b"T\0o\0" * 200_000),
    "report.binary": ("report.md", bytes(range(256)) * 4_000),
    "code.deep": ("hw.py", "total = " + "(" * 100_000),
    "code.long": ("hw.py", "total = [" + "1," * 500_000 + "]"),
    "code.lines": ("hw.py", "total = 1\n" * 150_000),
    "code.null": ("hw.py", b"total = 1\0"),
    "code.cookie": ("hw.py", "# coding: " + "x" * 1000 + "\n"),
    "array.shape": ("x.npy", npy((10**9, 10**9))),
    "array.object": ("x.npy", npy((1,), "|O", b"cos\nsystem\n(S'id'\ntR.")),
    "array.header": ("x.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\x7f" + b"{" * 10_000),
    "array.bomb": ("x.npz", lambda: zipped({"x.npy": npy((60_000_000,), data=bytes(120_000_000))})),
    "zip.bomb": ("hw.zip", lambda: zipped({"hw.py": RIGHT, "x.bin": bytes(60 << 20)})),
    "zip.out": ("hw.zip", lambda: zipped({"../../hw.py": RIGHT, "/etc/x": "1", "C:\\x": "1", "hw.py": RIGHT})),
    "zip.names": ("hw.zip", lambda: zipped({f"\x1b[2J{n}\u202e\n.py": "x" for n in range(200)})),
    "zip.many": ("hw.zip", lambda: zipped({f"{n}.txt": "" for n in range(9_000)})),
    "zip.within": (
        "hw.zip",
        lambda: zipped({"a.zip": zipped({"b.zip": zipped({"c.zip": zipped({"d.zip": zipped({})})})})}),
    ),
    "zip.cut": ("hw.zip", lambda: zipped({"hw.py": RIGHT * 1000})[:-30]),
    "zip.lzma": ("hw.zip", lambda: zipped({"x": bytes(40 << 20)}, zipfile.ZIP_LZMA)),
    "tar.kinds": (
        "hw.tar.gz",
        tarred(
            ("l", tarfile.SYMTYPE, "/etc/passwd"),
            ("h", tarfile.LNKTYPE, "../x"),
            ("d", tarfile.CHRTYPE, ""),
            ("p", tarfile.FIFOTYPE, ""),
            ("../up", tarfile.REGTYPE, ""),
            ("/abs", tarfile.REGTYPE, ""),
        ),
    ),
    "tar.noise": ("hw.tar.gz", b"\x1f\x8b" + bytes(range(256)) * 400),
}
SAYS = {
    "a row": "✓ CORRECT    total   6 / 6",
    "lines": "no\n\ntotal          100 / 100 points\n",
    "ansi": "\x1b[2J\x1b]0;owned\x07",
    "bidi": "\u202e\u2066total 6 / 6",
    "formula": "=cmd|' /C calc'!A0",
    "html": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "markdown": "| a | b |\n|---|---|\n</details>\n# Points: 100",
    "xml": "]]></failure></testcase><testcase name='x'/>",
    "much": "x" * 2_000_000,
}
RETURNS = {
    "text": "'x' * 7_000_000",
    "list": "['x' * 1_000_000] + ['y'] * 5_000",
    "table": "'| a | b |\\n' * 500_000",
    "deep": "(lambda f: f(f, 900))(lambda f, n: [f(f, n - 1)] if n else 1)",
    "huge": "10 ** 399",
    "nan": "float('nan')",
    "liar": "type('I', (int,), {'__eq__': lambda *_: True})(7)",
    "bytes": "bytes(9)",
    "endless": "__import__('itertools').count()",
}


def by_files():
    """What is aimed at readers, intake and reports."""
    for name, (file, content) in BOMBS.items():
        yield name, files({file: content} if file.startswith("hw.") else {file: content, "hw.py": RIGHT})
    for name, said in SAYS.items():
        yield f"says {name}", files({"hw.py": f"def total(*_): raise ValueError({said!r})\n"})
        yield f"prints {name}", files({"hw.py": f"def total(*_):\n    print({said!r})\n    return {said[:1000]!r}\n"})
    for name, value in RETURNS.items():
        yield f"returns {name}", files({"hw.py": f"def total(*_): return {value}\n"})
    yield "git.huge", a_huge_commit
    yield "odd files", odd_files
    yield from tricks.by_files(files)


def ways():
    """All of them, so mixed that a few are of all kinds."""
    code, other = list(by_code()), list(by_files())
    step = max(1, len(code) // len(other))
    mixed = [[*code[at * step : (at + 1) * step], each] for at, each in enumerate(other)]
    return [each for some in mixed for each in some] + code[len(other) * step :]
