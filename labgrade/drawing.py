"""A folded graph as SVG: written in graphviz' language, drawn by its `dot`."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

from labgrade.errors import FaultError, UsageError
from labgrade.report.seen import seen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.folding import Box, Drawing

PRODUCTS = frozenset({"MatMul", "Gemm", "MatMulInteger", "QLinearMatMul"})
_CONVOLUTIONS = frozenset({"Conv", "ConvInteger", "ConvTranspose", "QLinearConv"})
_SECONDS = 60
_LONGEST = 40  # characters of a name
_MOST_ENDS = 12  # inputs and outputs that are drawn; a broken graph may have thousands
_COLOURS = {"product": "#cfe0ff", "convolution": "#d8f0dd", "other": "#f1f3f7"}


def svg(drawing: Drawing, title: str) -> str:
    """The drawing as an SVG document.

    Raises:
        UsageError: there is no `dot` here.
        FaultError: it failed.
    """
    program = shutil.which("dot")
    if program is None:
        message = "graphs are drawn by graphviz, and its 'dot' is not here: apt-get install graphviz"
        raise UsageError(message)
    try:
        done = subprocess.run(
            [program, "-Tsvg"], input=dot(drawing, title).encode(), capture_output=True, check=True, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        message = f"'dot' took more than {_SECONDS} seconds"
        raise FaultError(message) from error
    except subprocess.CalledProcessError as error:
        message = f"'dot' failed: {error.stderr.decode(errors='replace')[:300]}"
        raise FaultError(message) from error
    return done.stdout.decode()


def dot(drawing: Drawing, title: str) -> str:
    """The drawing in graphviz' language. Names are a student's: each is quoted, and acts on nothing."""
    return "\n".join(_lines(drawing, title))


def _lines(drawing: Drawing, title: str) -> Iterator[str]:
    yield "digraph {"
    yield f"  graph [label={_quoted(title)} labelloc=t fontname=sans fontsize=18 nodesep=0.25 ranksep=0.3 pad=0.3]"
    yield '  node [shape=box style="filled,rounded" fontname=sans fontsize=12 margin="0.15,0.08" color="#8a94a6"]'
    yield '  edge [fontname=sans fontsize=10 color="#5b6577" arrowsize=0.7]'
    for place, box in enumerate(drawing.boxes):
        yield f"  b{place} [{_box(box)}]"
    for (source, target), tensors in drawing.arrows.items():
        label = f' [label="{tensors:,}" penwidth=2]' if tensors > 1 else ""
        yield f"  b{source} -> b{target}{label}"
    for number, (name, place) in enumerate(drawing.inputs[:_MOST_ENDS]):
        yield f"  i{number} [label={_quoted(name)} shape=plain style=solid]"
        yield f"  i{number} -> b{place}"
    for number, (place, name) in enumerate(drawing.outputs[:_MOST_ENDS]):
        yield f"  o{number} [label={_quoted(name)} shape=plain style=solid]"
        yield f"  b{place} -> o{number}"
    yield "}"


def _box(box: Box) -> str:
    kind = "product" if box.operator in PRODUCTS else "convolution" if box.operator in _CONVOLUTIONS else "other"
    lines = [box.operator if box.count == 1 else f"{box.operator} × {box.count:,}"]  # noqa: RUF001 - as people write it
    sizes = [("x".join(map(str, shape)) or "1", count) for shape, count in box.shapes]
    if box.count == 1 and sizes:
        lines.append(f"weights {', '.join(size for size, _ in sizes)}")
    elif sizes:
        lines += [f"{count:,} weights {size}" for size, count in sizes]
    tooltip = f" tooltip={_quoted(box.name)}" if box.name else ""
    double = " peripheries=2" if box.count > 1 else ""
    return f'label={_quoted(*lines)} fillcolor="{_COLOURS[kind]}"{double}{tooltip}'


def _quoted(*lines: str) -> str:
    """Lines as a string of graphviz': no backslash, quote or brace means anything."""
    return '"' + r"\n".join(_one(line) for line in lines) + '"'


def _one(line: str) -> str:
    shown = " ".join(seen(line).split())
    shown = shown if len(shown) <= _LONGEST * 3 else f"{shown[: _LONGEST * 3]}..."
    return shown.replace("\\", r"\\").replace('"', r"\"").replace("&", "&amp;")
