"""`labgrade picture`: an ONNX graph as a picture, folded to a readable size; measurements or weights as a chart."""

from __future__ import annotations

import csv
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from labgrade.authoring import graph_picture
from labgrade.core.errors import UsageError
from labgrade.core.task import Limits, QuantityCall
from labgrade.files import output
from labgrade.sandbox.runner import Runner
from labgrade.spec import course
from labgrade.truth.measure import Measurer, UnfitError
from labgrade.values import Artifact

if TYPE_CHECKING:
    import argparse

    from markupsafe import Markup

QUANTITY = "onnx_graph"


def add_picture(parser: argparse.ArgumentParser) -> None:
    """The arguments of `picture`."""
    parser.add_argument("file", type=Path, metavar="FILE", help="an ONNX file; a .csv; an .npy")
    parser.add_argument("--out", metavar="FILE", help="where the SVG goes; `-` is stdout (default: MODEL.svg)")
    parser.add_argument("--peak", type=float, metavar="FLOPS", help="of a .csv of kernels: FLOPs a second at most")
    parser.add_argument("--bandwidth", type=float, metavar="BYTES", help="of a .csv of kernels: bytes a second at most")
    parser.add_argument("--step", type=float, default=0.0, metavar="STEP", help="of an .npy: the step of a grid")
    parser.add_argument("--netron", action="store_true", help="open it in Netron instead, node by node")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Draw the graph, or open Netron on it."""
    path: Path = options.file
    if not path.is_file():
        message = f"there is no file '{path}'"
        raise UsageError(message)
    if options.netron:
        return _netron(path)
    target = options.out or f"{path.stem}.svg"
    output.refuse_unwritable(target, "--out")
    if path.suffix.lower() in (".csv", ".npy"):
        return _chart(path, target, options)
    nodes = _nodes(path)
    folded = graph_picture.fold(nodes)
    text = graph_picture.svg(folded, title(path.name, nodes))
    if target == "-":
        sys.stdout.write(text)
        return 0
    output.write(target, text.rstrip("\n"))
    print(f"{target}: {len(nodes):,} nodes in {len(folded.boxes):,} boxes")  # noqa: T201
    return 0


def _chart(path: Path, target: str, options: argparse.Namespace) -> int:
    """A chart of numbers, of kernels under a roof, or of the first two columns of numbers."""
    from labgrade.reports.html import planes

    try:
        if path.suffix.lower() == ".npy":
            import numpy as np

            drawn = planes.histogram(np.load(path).ravel().tolist(), step=options.step, salt=path.name)
        else:
            drawn = _of_table(path, options.peak, options.bandwidth)
    except (ValueError, OSError, KeyError, TypeError) as error:
        message = f"'{path}' can't be drawn: {error}"
        raise UsageError(message) from error
    text = planes.by_itself(drawn)
    if target == "-":
        sys.stdout.write(text)
        return 0
    output.write(target, text.rstrip("\n"))
    print(f"{target}: {len(text):,} characters")  # noqa: T201
    return 0


def _of_table(path: Path, peak: float | None, bandwidth: float | None) -> Markup:
    from labgrade.reports.html.planes import Point, frontier, roofline

    rows = list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines()))
    if not rows:
        message = "it has no rows below its head"
        raise ValueError(message)
    first, *columns = rows[0]
    if {"flops", "bytes", "seconds"} <= rows[0].keys():
        if not peak or not bandwidth:
            message = "say what the machine can do: --peak FLOPS --bandwidth BYTES"
            raise ValueError(message)
        points = [
            Point(
                name=row[first],
                x=float(row["flops"]) / float(row["bytes"]),
                y=float(row["flops"]) / float(row["seconds"]),
            )
            for row in rows
        ]
        return roofline(points, peak=peak, bandwidths={"memory": bandwidth}, salt=path.name)
    if len(columns) < 2:  # noqa: PLR2004 - a plane
        message = "it needs a name and two columns of numbers"
        raise ValueError(message)
    points = [Point(name=row[first], x=float(row[columns[0]]), y=float(row[columns[1]])) for row in rows]
    return frontier(points, x=columns[0], y=columns[1], salt=path.name)


def title(name: str, nodes: list[graph_picture.Node]) -> str:
    """What stands above the picture: `tiled.onnx: 43,210 nodes, 14,336 products of matrices`."""
    products = sum(node.operator in graph_picture.PRODUCTS or node.operator.startswith("2DMM") for node in nodes)
    said = f"{name}: {len(nodes):,} {'node' if len(nodes) == 1 else 'nodes'}"
    return f"{said}, {products:,} {'product' if products == 1 else 'products'} of matrices" if products else said


def _nodes(path: Path) -> list[graph_picture.Node]:
    """The nodes of the file, which may be a student's: it is read where our code runs alone.

    Raises:
        UsageError: it is no ONNX model.
    """
    found = course.find(Path.cwd())
    try:
        with Runner() as runner:
            measurer = Measurer(found.quantities, runner)
            rows = measurer.value(
                QuantityCall(quantity=QUANTITY), Artifact(path=path.absolute(), name=path.name), None, Limits()
            )
    except UnfitError as error:
        raise UsageError(str(error)) from error
    return [
        graph_picture.Node(
            name=row["node"],
            operator=row["operator"],
            inputs=tuple(row["inputs"]),
            outputs=tuple(row["outputs"]),
            weights=tuple(map(tuple, row["weights"])),
        )
        for row in cast("list[dict[str, Any]]", rows)
    ]


def _netron(path: Path) -> int:
    if find_spec("netron") is None:
        message = "Netron is not installed: python -m pip install 'labgrade[netron]'"
        raise UsageError(message)
    import netron

    netron.start(str(path))
    netron.wait()
    return 0
