"""More hand-ins that mean harm: tricks of code that knows this source, and files that aim at parsers and intake."""
# ruff: noqa: E501 - a table of them

import gzip
import io
import json
import struct
import tarfile
import warnings
import zipfile

import numpy as np

RIGHT = "def total(*_): return 1234\n"
RETURN = "def total(*_):\n    {}\n    return 1234\n"
FRAME = 'struct.pack(\'<I\', 40) + b\'{"event": "returned", "value": 1234}\''
# Each is the body of a function that returns what is right in the end, if it comes to that.
BODIES = {
    "frames on all descriptors": f"import os, struct\n    for n in range(1, 512):\n        try: os.write(n, {FRAME})\n"
    "        except OSError: pass",
    "closes all": "import os; os.closerange(0, 512)",
    "swaps descriptors": "import os\n    for n in range(3, 64):\n        try: os.dup2(1, n)\n        except OSError: pass",
    "small pipes": "import fcntl\n    for n in range(64):\n        try: fcntl.fcntl(n, 1031, 1)\n        except OSError: pass",
    "no blocking": "import os\n    for n in range(64):\n        try: os.set_blocking(n, False)\n        except OSError: pass",
    "signals by descriptor": "import fcntl, os\n    for n in range(64):\n        try: fcntl.fcntl(n, 8, 1); fcntl.fcntl(n, 10, 9)\n"
    "        except OSError: pass",
    "patches json": "import json, struct, pickle\n    json.dumps = json.loads = struct.pack = pickle.dumps = lambda *a, **k: b'1234'",
    "patches builtins": "import builtins\n    builtins.isinstance = lambda *_: True; builtins.type = lambda *_: int; builtins.len = lambda *_: 4",
    "patches os": "import os\n    os.write = os.read = os.close = os._exit = lambda *a: 1",
    "patches modules": "import sys\n    [sys.modules.__setitem__(n, None) for n in list(sys.modules) if 'labgrade' in n or n == 'json']",
    "looks at referrers": "import gc\n    [gc.get_referrers(x) for x in gc.get_objects()[:99]]",
    "frames of callers": "import sys\n    f = sys._getframe()\n    while f: f.f_locals.clear(); f = f.f_back",
    "traces": "import sys, threading\n    sys.settrace(lambda *a: 1 / 0); sys.setprofile(lambda *a: 1 / 0); threading.settrace(lambda *a: 1 / 0)",
    "excepthook": "import sys\n    sys.excepthook = sys.unraisablehook = lambda *a: __import__('os')._exit(0)",
    "deep recursion": "import sys\n    sys.setrecursionlimit(10**9)\n    f = lambda: f()\n    f()",
    "null": "import ctypes; ctypes.string_at(0)",
    "abort": "import os; os.abort()",
    "execs": "import os; os.execv('/bin/sh', ['sh', '-c', 'echo 1234'])",
    "sleeps": "import os; os.execv('/bin/sleep', ['sleep', '600'])",
    "setuid programs": "import subprocess\n    for p in ('su', 'sudo', 'mount', 'newuidmap', 'ping', 'passwd', 'chsh'):\n"
    "        subprocess.run([p], stdin=-3, stdout=-3, stderr=-3, check=False) if __import__('shutil').which(p) else 0",
    "kills its group": "import os, signal\n    os.kill(0, signal.SIGSTOP); os.killpg(0, 9)",
    "kills all": "import os; os.kill(-1, 9)",
    "limits itself": "import resource as r\n    [r.setrlimit(k, (0, 0)) for k in range(16) if k != r.RLIMIT_RTTIME]",
    "prctl": "import ctypes\n    c = ctypes.CDLL(None)\n    [c.prctl(n, 1, 0, 0, 0) for n in (1, 4, 8, 22, 36, 38, 53)]",
    "oom score": "open('/proc/self/oom_score_adj', 'w').write('1000')",
    "renames itself": "open('/proc/self/comm', 'w').write('x) R 1 1')",
    "shared memory": "from multiprocessing import shared_memory as s\n    s.SharedMemory('total', True, 1 << 20)",
    "a server": "import socket\n    s = socket.socket(1); s.bind('\\0labgrade'); s.listen()",
    "moves": "import os; os.chdir('/'); os.umask(0o777)",
    "fills its folder": "import os\n    for n in range(300): os.mkdir('d' * 200); os.chdir('d' * 200)",
    "locks its folder": "import os; os.mkdir('a'); os.chmod('a', 0); os.chmod('.', 0)",
    "odd names": "open('\\n✓ CORRECT\\x1b[2J', 'w'); open('x' * 255, 'w'); open(b'\\xff\\xfe', 'w')",
    "a timer": "import signal; signal.setitimer(0, 0.01); signal.setitimer(2, 0.01)",
    "an alarm it ignores": "import signal\n    [signal.signal(n, signal.SIG_IGN) for n in range(1, 32) if n not in (9, 19)]\n    while True: pass",
    "prints frames": f"import sys, struct\n    sys.stdout.buffer.write({FRAME} * 999); sys.stderr.buffer.write({FRAME} * 999)",
    "threads that stay": "import threading, time\n    [threading.Thread(target=time.sleep, args=(99,)).start() for _ in range(9)]",
    "patches torch": "import torch\n    torch.Tensor.__eq__ = torch.equal = torch.allclose = lambda *a, **k: True",
    "patches numpy": "import numpy as np\n    np.array_equal = np.allclose = lambda *a, **k: True",
    "a codec": "import codecs; codecs.register(lambda n: (lambda *a: ('1234', 4),) * 4)",
    "garbage at the end": "import gc\n    class D:\n        def __del__(self): __import__('os').write(3, b'x'); [0] * 10**9\n    globals()['d'] = D()",
}
VALUES = {
    "a float that lies": "type('F', (float,), {'__eq__': lambda *_: True, '__hash__': float.__hash__})(1234)",
    "an int that says text": "type('I', (int,), {'__repr__': lambda _: 'x' * 10**8, '__str__': lambda _: '1234'})(7)",
    "a dict that lies": "type('D', (dict,), {'items': lambda _: iter(int, 1), 'keys': lambda _: iter(int, 1)})()",
    "a list that lies": "type('L', (list,), {'__len__': lambda _: 10**18, '__iter__': lambda _: iter(int, 1)})()",
    "a class of int": "type('C', (), {'__class__': property(lambda _: int), '__index__': lambda _: 1234})()",
    "an index": "type('X', (), {'__index__': lambda _: 10**10000, '__int__': lambda _: 1234})()",
    "an array interface": "type('A', (), {'__array_interface__': {'shape': (10**9,), 'typestr': '<f8', 'data': (4096, False), 'version': 3}})()",
    "an array": "type('A', (), {'__array__': lambda *_, **__: 1 / 0})()",
    "a tensor that lies": "__import__('torch').Tensor._make_subclass(type('T', (__import__('torch').Tensor,), "
    "{'__torch_function__': classmethod(lambda *_, **__: 1234)}), __import__('torch').zeros(2))",
    "a huge tensor": "__import__('torch').zeros(1).expand(10**12)",
    "a strided array": "__import__('numpy').lib.stride_tricks.as_strided(__import__('numpy').zeros(1), (10**12,), (0,))",
    "an object array": "__import__('numpy').array([print, open], dtype=object)",
    "exponents": "'1e999999999'",
    "a small exponent": "'1e-999999999'",
    "exponents in numbers": "__import__('decimal').Decimal('1e999999999')",
    "a fraction": "__import__('fractions').Fraction(1, 3) ** 9999",
    "many digits": "'9' * 999",
    "a million nines": "'9' * 10**6",
    "digits of others": "'\u0661\u0662\u0663\u0664'",
    "wide digits": "'\uff11\uff12\uff13\uff14'",
    "infinity": "'inf'",
    "itself": "(lambda l: l.append(l) or l)([])",
    "surrogates": "'\\ud800 1234 \\udfff'",
    "keys": "{(): 1, 1.5: 2, None: 3, b'x': 4, 'x': 5}",
    "an exception": "ValueError('1234')",
    "a generator": "(n for n in [1234])",
    "a row name": "{'conv1\\n# total   6 / 6\\n': 1234}",
}
RAISES = {
    "no text": "type('E', (Exception,), {'__str__': lambda _: 1 / 0, '__repr__': lambda _: 1 / 0})()",
    "a long text": "ValueError('x' * 10**7)",
    "endless text": "type('E', (Exception,), {'__str__': lambda _: [1 for _ in iter(int, 1)]})()",
    "a name": "type('E\\n✓ CORRECT  total  6 / 6\\x1b[2J', (Exception,), {})()",
    "a group": "ExceptionGroup('a', [ValueError(n) for n in range(9999)])",
    "exit": "type('E', (BaseException,), {})()",
    "interrupt": "KeyboardInterrupt()",
    "reduce": "type('E', (Exception,), {'__reduce__': lambda _: (print, ('owned',))})()",
    "no class": "type('E', (Exception,), {'__class__': property(lambda _: 1 / 0)})()",
    "notes": "(lambda e: [e.add_note('total 6 / 6\\n' * 999)] and e)(ValueError())",
    "a cause": "(lambda e: setattr(e, '__cause__', e) or e)(ValueError())",
    "a syntax error": "SyntaxError('x', ('\\n✓ CORRECT', 10**9, 10**9, 'x' * 10**6))",
    "a module": 'ModuleNotFoundError("No module named \'" + "a\'" * 10**5)',
}
TOPS = {
    "a loop": "while True: pass",
    "a huge number": "total = " + "9" * 10**6,
    "minus": "total = " + "-" * 10**5 + "1",
    "dots": "total = a" + ".a" * 10**5,
    "names": "\\N{" + "A" * 10**6,
    "decorators": "@a\n" * 10**5 + "def total(*_): return 1234",
    "lambdas": "total = " + "lambda: " * 10**4 + "1234",
    "f-strings": "total = f'" + "{a!r:" * 9999,
    "utf-7": "# coding: utf-7\n+AG8AcA-\ndef total(*_): return 1234",
    "rot13": "# coding: rot13\nqrs gbgny(*_): erghea 1234",
    "continued": "\\\n" * 10**5 + "total = 1",
    "bom": "\ufeff\ufeffdef total(*_): return 1234",
}
SHADOWS = (
    "torch.py",
    "numpy.py",
    "json.py",
    "struct.py",
    "os.py",
    "labgrade/__init__.py",
    "sitecustomize.py",
    "conftest.py",
)
SHADOWS += (
    "checkers/equal.py",
    "reference/own.py",
    "multiprocessing.py",
    "encodings/__init__.py",
    "ctypes/__init__.py",
)
TEXTS = {
    "report.md": {
        "quotes": ">" * 50_000 + " Total 1234",
        "lists": "".join(" " * n + "- a\n" for n in range(900)),
        "emphasis": "*_" * 200_000,
        "stars": "a**b" * 150_000,
        "ticks": "".join("`" * n + "a" for n in range(1000)),
        "cdata": "<![CDATA[" * 90_000,
        "declarations": "<!A " * 200_000 + "<?" * 90_000,
        "entities": "&#x110000;&amp;&#0;&lt" * 40_000,
        "columns": "|" * 300_000 + "\n" + "|-" * 300_000 + "\n",
        "fences": "```\n~~~\n" * 90_000,
        "references": "".join(f"[{n}]: x\n" for n in range(70_000)),
        "images": "![" * 300_000,
        "html": "<details><table>" * 60_000,
        "ends": "\r\x0b\x0c\x85\u2028" * 90_000,
        "digits": "Total: " + "9" * 900_000,
        "commas": "Total: " + "1," * 400_000,
        "exponent": "Total: 1e999999999\n",
        "blanks": "Total" + " " * 900_000 + "1234",
        "units": "Total: 1 " + "G" * 900_000,
        "products": "Total: " + "1 x " * 200_000,
        "sums": "Total: " + "1 + " * 200_000,
        "brackets": "Total: " + "(" * 400_000,
    },
    "answers.yaml": {
        "merge": "a: &a {b: 1}\n" + "".join(f"c{n}: {{<<: *a}}\n" for n in range(9_000)),
        "merges": "a: &a {<<: *a}\ntask: *a",
        "tags": "task: !!python/object/apply:os.system [id]",
        "binary": "task: {total: !!binary " + "A" * 900_000 + "}",
        "dates": "task: {total: 2020-01-01T00:00:00.0Z}",
        "sixty": "task: {total: " + "1:" * 9_000 + "1}",
        "exponent": "task: {total: 1e999999999}",
        "hex": "task: {total: 0x" + "f" * 900_000 + "}",
        "decimals": "task: {total: 1." + "9" * 900_000 + "}",
        "documents": "---\n" * 200_000,
        "complex keys": "? [a, b]\n: 1\n" * 20_000,
        "doubles": "task: {total: 1}\n" * 20_000,
        "folded": "task: {total: >\n" + " a\n" * 200_000,
        "directives": "%YAML 9.9\n" * 50_000,
        "tabs": "task:\t" * 100_000,
        "controls": 'task: {total: "\\x1b[2J\\0"}',
        "bools": "task: {total: yes}",
    },
    "answers.json": {
        "nan": '{"task": {"total": NaN}}',
        "infinity": '{"task": {"total": -Infinity}}',
        "exponent": '{"task": {"total": 1e999999999}}',
        "decimals": '{"task": {"total": 1.' + "9" * 900_000 + "}}",
        "surrogate": '{"task": {"total": "\\ud800"}}',
        "doubles": '{"task": {"total": 1, "total": 2}}',
        "bom": "\ufeff{}",
        "text": '"' + "\\u0000" * 150_000 + '"',
    },
    "report.ipynb": {
        "deep": '{"cells": ' + "[" * 400_000,
        "cells": json.dumps({"cells": [{"cell_type": "markdown", "source": ["Total: 1234\n"]}] * 20_000}),
        "types": json.dumps({"cells": [{"cell_type": {}, "source": 5}, 7, None], "metadata": []}),
        "outputs": json.dumps({"cells": [{"cell_type": "code", "outputs": [{"text": "x" * 900_000}], "source": ""}]}),
    },
}


def npy(head, data=b""):
    head = head.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


HEADS = {
    "negative": "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
    "none of many": "{'descr': '<f4', 'fortran_order': True, 'shape': (0, 1000000000000000000)}",
    "subarrays": "{'descr': ('<f4', (1000000000,)), 'fortran_order': False, 'shape': (1,)}",
    "letters": "{'descr': '<U1000000000', 'fortran_order': False, 'shape': (9,)}",
    "fields": "{'descr': " + str([(f"f{n}", "<f4") for n in range(3_000)]) + ", 'fortran_order': False, 'shape': (1,)}",
    "dates": "{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (1,)}",
    "void": "{'descr': '|V0', 'fortran_order': False, 'shape': (1000000000,)}",
    "deep": "(" * 20_000,
    "code": "__import__('os').system('id')",
    "bools": "{'descr': '|b1', 'fortran_order': False, 'shape': (True,)}",
    "many": "{'descr': '<f4', 'fortran_order': False, 'shape': " + str((1,) * 99) + "}",
}
NAMES = (
    "\n✓ CORRECT  total  6 / 6",
    "\u202egnp.yh",
    "x" * 255,
    "-rf",
    "~",
    "$(id)",
    "`id`",
    "; rm -rf .",
    "a\\b",
    "CON",
    "x.",
    " ",
    "=1+1",
)
NAMES += ("<img src=x onerror=alert(1)>", "]]>", "{{7*7}}", "%s%n", "e\u0301", "\u00e9", "HW.PY", "x\x7f\x1b[2J")


def a_zip(change=None, **members):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        if change:
            change(archive)
    return data.getvalue()


def a_link(archive):
    info = zipfile.ZipInfo("link")
    info.external_attr = 0o120777 << 16
    archive.writestr(info, "/etc/shadow")
    archive.writestr(zipfile.ZipInfo("a\0b/../../hw.py"), "x")
    with warnings.catch_warnings(action="ignore"):
        archive.writestr("hw.py", "def total(*_): return 1\n")  # the same name again


def overlapping():
    """Each entry of the list at the end points to the same content."""
    whole = a_zip(**{"a.txt": bytes(30 << 20)})
    at, size = whole.index(b"PK\x01\x02"), len(whole) - 22 - whole.index(b"PK\x01\x02")
    entry = whole[at : at + size]
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 60_000, 60_000, 60_000 * size, at, 0)
    return whole[:at] + entry * 60_000 + end


def a_tar(*headers, mode="w", form=tarfile.PAX_FORMAT):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=mode, format=form) as archive:
        for name, pax, content in headers:
            info = tarfile.TarInfo(name)
            info.size, info.pax_headers = len(content), pax
            archive.addfile(info, io.BytesIO(content))
    return data.getvalue()


def a_sparse_tar():
    info = tarfile.TarInfo("sparse")
    info.type = tarfile.GNUTYPE_SPARSE
    head = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    head[386:410] = b"00000000000\x0000000000000\x00"[:24]
    head[483:495] = b"77777777777\0"
    head[148:156] = b"%06o\0 " % (sum(head[:148]) + 256 + sum(head[156:512]))
    return bytes(head) + bytes(1024)


# What takes long to pack is packed where it is written.
ARCHIVES = {
    "zip.links": ("hw.zip", a_zip(a_link, **{"hw.py": RIGHT})),
    "zip.overlap": ("hw.zip", overlapping),
    "zip.names": ("hw.zip", a_zip(**dict.fromkeys(NAMES, "x"), **{"hw.py": RIGHT})),
    "zip.deep": ("hw.zip", a_zip(**{"d/" * 3_000 + "hw.py": RIGHT})),
    "zip.sizes": ("hw.zip", a_zip(**{"hw.py": RIGHT}).replace(struct.pack("<I", len(RIGHT)), struct.pack("<I", 5))),
    "zip.locked": (
        "hw.zip",
        a_zip(**{"hw.py": RIGHT}).replace(b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01"),
    ),
    "zip.comment": ("hw.zip", a_zip(lambda z: setattr(z, "comment", b"\x1b[2J" * 16_000), **{"hw.py": RIGHT})),
    "tar.pax": ("hw.tar", a_tar(("hw.py", {"path": "../../hw.py", "size": "99999999999"}, b"x"))),
    "tar.long": ("hw.tar", a_tar(("x", {"path": "a/" * 200_000}, b""))),
    "tar.sparse": ("hw.tar", a_sparse_tar()),
    "tar.realsize": (
        "hw.tar",
        a_tar(("x", {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "9" * 18}, b"1\n0\n")),
    ),
    "tar.times": ("hw.tar", a_tar(("hw.py", {"mtime": "1e300"}, RIGHT.encode()), ("x", {"mtime": "nan"}, b""))),
    "tar.bz2": ("hw.tar.bz2", lambda: a_tar(("x", {}, bytes(60 << 20)), mode="w:bz2")),
    "tar.xz": ("hw.tar.xz", lambda: a_tar(("x", {}, bytes(60 << 20)), mode="w:xz")),
    "gz.many": ("hw.tar.gz", gzip.compress(b"") * 40_000),
    "gz.name": ("hw.tar.gz", b"\x1f\x8b\x08\x08\0\0\0\0\0\x03" + b"x" * 900_000),
}
GIT = {
    "config": {
        ".git/config": "[core]\n\tfsmonitor = touch /tmp/owned\n\thooksPath = .\n[include]\n\tpath = /etc/shadow\n"
    },
    "head": {".git/HEAD": "ref: refs/heads/../../../../etc/passwd"},
    "refs": {".git/HEAD": "ref: refs/heads/a", ".git/packed-refs": "x y z\n" * 160_000},
    "shallow": {".git/HEAD": "a" * 40, ".git/shallow": ("b" * 40 + "\n") * 20_000},
    "alternates": {".git/HEAD": "a" * 40, ".git/objects/info/alternates": "/etc\n../objects\n" * 5_000},
    "packs": {
        ".git/HEAD": "a" * 40,
        ".git/objects/pack/pack-a.idx": "\xfftOc" * 999,
        ".git/objects/pack/pack-a.pack": "PACK" * 999,
    },
    "a file": {".git": "gitdir: /root/.ssh"},
    "attributes": {
        ".gitattributes": "* filter=x diff=x",
        ".gitmodules": '[submodule "x"]\npath = ../..\nurl = ext::id',
    },
}


def by_files(files):
    """Each with what writes it; `files` makes that from contents by name."""
    for kind, some, code in (
        ("does", BODIES, RETURN),
        ("hands back", VALUES, "def total(*_): return {}\n"),
        ("throws", RAISES, "def total(*_): raise {}\n"),
    ):
        for name, said in some.items():
            yield f"{kind} {name}", files({"hw.py": code.format(said).encode("utf-8", "surrogatepass")})
    for name, text in TOPS.items():
        yield f"begins with {name}", files({"hw.py": text})
    for name in SHADOWS:
        yield f"shadows {name}", files({name: "raise SystemExit('1234')", "hw.py": RIGHT})
    for file, some in TEXTS.items():
        for name, text in some.items():
            yield f"{file}: {name}", files({file: text, "hw.py": "def totl(*_): return 1234\n"})
    for name, head in HEADS.items():
        yield f"x.npy: {name}", files({"x.npy": npy(head, np.zeros(9).tobytes()), "hw.py": RIGHT})
    for name, (file, data) in ARCHIVES.items():
        yield name, files({file: data})
    for name, contents in GIT.items():
        yield (
            f"git: {name}",
            files({".git/objects/x": "", **contents, "hw.py": RIGHT} if name != "a file" else contents),
        )
    plain = [name for name in NAMES if "/" not in name]
    yield "names", files({**dict.fromkeys(plain, "x"), "hw.py": RIGHT})
