"""`labgrade picture`: an ONNX graph, folded to a readable size; a table as a chart; the pictures of a graded task."""

from __future__ import annotations

import csv
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from labgrade.authoring import graph_picture
from labgrade.core.errors import UsageError
from labgrade.core.task import Limits, QuantityCall
from labgrade.files import output
from labgrade.ledger.database import NAME
from labgrade.sandbox.runner import Runner
from labgrade.spec import course
from labgrade.truth.measure import Measurer, UnfitError
from labgrade.values import Artifact

if TYPE_CHECKING:
    import argparse

QUANTITY = "onnx_graph"
_BINS = 64
_MOST_ROWS, _MOST_BYTES = 10_000, 64 << 20  # of a table that somebody looks at
# What a file that was made to break something comes to: labgrade's own reader has a jail, this has a person who waits.
_UNFIT = (ValueError, OSError, EOFError, LookupError, TypeError, ArithmeticError, MemoryError, csv.Error)
_LARGEST = 1e150  # of a number: its square still is one


def add_picture(parser: argparse.ArgumentParser) -> None:
    """The arguments of `picture`."""
    parser.add_argument(
        "file", type=Path, metavar="FILE", help="an ONNX file; a .csv; an .npy; or a task that was graded: 1-4-roofline"
    )
    parser.add_argument("--out", metavar="FILE", help="where it goes; `-` is stdout (default: MODEL.svg, TASK.html)")
    parser.add_argument(
        "--results", type=Path, default=Path("results"), metavar="DIR", help="of a task: what grade wrote"
    )
    parser.add_argument("--submission", metavar="NAME", help="of a task: one hand-in (default: the class)")
    parser.add_argument("--peak", type=float, metavar="FLOPS", help="of a .csv of kernels: FLOPs a second at most")
    parser.add_argument("--bandwidth", type=float, metavar="BYTES", help="of a .csv of kernels: bytes a second at most")
    parser.add_argument("--step", type=float, default=0.0, metavar="STEP", help="of an .npy: the step of a grid")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Draw a graph, a table, or the answers to a task."""
    path: Path = options.file
    if not path.is_file() and (options.results / NAME).is_file():
        return _task(str(path), options)
    if not path.is_file():
        message = f"there is no file '{path}', and no results in '{options.results}' that have such a task"
        raise UsageError(message)
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


def _task(name: str, options: argparse.Namespace) -> int:
    """The pictures of a task that was graded, as a page: those of a hand-in, or of the class."""
    from labgrade.core.did_you_mean import look_up
    from labgrade.reports import html
    from labgrade.reports.html import class_pictures
    from labgrade.review import results

    html.refuse_without()
    report = results.read(options.results).shown
    if options.submission is not None:
        own = {each.name: each for each in report.submissions}
        report = replace(report, submissions=(look_up(options.submission, own, "submission"),))
    tasks = {task.id: None for each in report.submissions for task in each.tasks}
    look_up(name, tasks, "task")
    target = options.out or f"{name}.html"
    output.refuse_unwritable(target, "--out")
    _write(target, class_pictures.page_of(report, name))
    return 0


def _chart(path: Path, target: str, options: argparse.Namespace) -> int:
    """A chart of numbers, of kernels under a roof, of columns of numbers."""
    from labgrade.reports import html

    html.refuse_without()
    try:
        text = (
            _chart_of_table(path, options.peak, options.bandwidth)
            if path.suffix.lower() == ".csv"
            else _histogram(path, options.step)
        )
    except _UNFIT as error:
        message = f"'{path}' can't be drawn: {error}"
        raise UsageError(message) from error
    _write(target, text)
    return 0


def _write(target: str, text: str) -> None:
    if target == "-":
        sys.stdout.write(text)
        return
    output.write(target, text.rstrip("\n"))
    print(f"{target}: {len(text):,} characters")  # noqa: T201


def _histogram(path: Path, step: float) -> str:
    """Draw a histogram of an array, with lines at the multiples of a step."""
    import numpy as np

    from labgrade.reports.html.planes import histogram, standalone_svg

    found = np.load(path, mmap_mode="r", allow_pickle=False)  # no memory for what its head promises and it has not
    if not isinstance(found, np.ndarray):
        message = "it is an archive of arrays; save one of them with numpy.save"
        raise ValueError(message)  # noqa: TRY004 - of a file, as the others
    numbers = found.ravel(order="K")
    if numbers.dtype.kind not in "biuf" or not numbers.size:
        message = f"it holds {numbers.size:,} values of type {numbers.dtype}; numbers are drawn"
        raise ValueError(message)
    if not max(abs(float(numbers.min())), abs(float(numbers.max()))) < _LARGEST:  # nor NaN
        message = "not all of its numbers are finite, or one is too large"
        raise ValueError(message)
    counts, edges = np.histogram(numbers.view(np.uint8) if numbers.dtype.kind == "b" else numbers, _BINS)
    return standalone_svg(
        histogram(((edges[1:] + edges[:-1]) / 2).tolist(), counts.tolist(), step=step, salt=path.name)
    )


def _chart_of_table(path: Path, peak: float | None, bandwidth: float | None) -> str:
    """Draw a table: kernels under a roof, points of two columns, or bars of one."""
    from labgrade.reports.html import charts
    from labgrade.reports.html.planes import Point, frontier, roofline, standalone_svg

    rows = _rows(path)
    if not rows:
        message = "it has no rows below its head"
        raise ValueError(message)
    first, *columns = rows[0]
    told = [[f"{name} {value}" for name, value in row.items()] for row in rows]
    if {"flops", "bytes", "seconds"} <= rows[0].keys():
        if not peak or not bandwidth:
            message = "say what the machine can do: --peak FLOPS --bandwidth BYTES"
            raise ValueError(message)
        points = [
            Point(
                name=row[first],
                x=_number(row["flops"]) / _number(row["bytes"]),
                y=_number(row["flops"]) / _number(row["seconds"]),
            )
            for row in rows
        ]
        return standalone_svg(roofline(points, peak=peak, bandwidths={"memory": bandwidth}, salt=path.name), told)
    if not columns:
        message = "it needs a name and a column of numbers, or two"
        raise ValueError(message)
    if len(columns) == 1:
        bars = [charts.Bar(name=row[first], got=_number(row[columns[0]]), expected=None, right=True) for row in rows]
        title = f"{columns[0]} of {len(bars):,} rows"
        return standalone_svg(charts.compared(bars, title=title, unit=columns[0], salt=path.name), told)
    points = [Point(name=row[first], x=_number(row[columns[0]]), y=_number(row[columns[1]])) for row in rows]
    return standalone_svg(frontier(points, x=columns[0], y=columns[1], salt=path.name), told)


def _rows(path: Path) -> list[dict[str, str]]:
    """Read a CSV table as rows by column name.

    Raises:
        ValueError, OSError, csv.Error: it is none, or more than a picture shows.
    """
    if path.stat().st_size > _MOST_BYTES:
        message = f"it is larger than {_MOST_BYTES >> 20} MB"
        raise ValueError(message)
    rows: list[dict[str, str]] = []
    with path.open(encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file):
            if None in row or None in row.values():
                message = f"row {len(rows) + 1} has more or fewer columns than the head"
                raise ValueError(message)
            rows.append(row)
            if len(rows) > _MOST_ROWS:
                message = f"it has more than {_MOST_ROWS:,} rows"
                raise ValueError(message)
    return rows


def _number(text: str) -> float:
    found = float(text)
    if not abs(found) < _LARGEST:
        message = f"'{text[:40]}' is not finite, or too large"
        raise ValueError(message)
    return found


def title(name: str, nodes: list[graph_picture.Node]) -> str:
    """What stands above the picture: `tiled.onnx: 43,210 nodes, 14,336 products of matrices`."""
    products = sum(node.operator in graph_picture.PRODUCTS or node.operator.startswith("2DMM") for node in nodes)
    said = f"{name}: {len(nodes):,} {'node' if len(nodes) == 1 else 'nodes'}"
    return f"{said}, {products:,} {'product' if products == 1 else 'products'} of matrices" if products else said


def _nodes(path: Path) -> list[graph_picture.Node]:
    """Read a file's nodes in the reader's process, since the file may be a student's.

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
