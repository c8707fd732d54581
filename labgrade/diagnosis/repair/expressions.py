"""Small changes of expressions: other names and numbers, an operand or a call less, the default that was left open."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from labgrade.diagnosis.repair.places import Places, apart, closed, short

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WIDE = ("int64", "float64")
KEPT_EACH = (("set", "list"), ("add", "append"))  # which alone are of no use
_PADS = re.compile(r"(?i)p|ph|pw|pads?|padding|p_?[hw]|pad_?[hw]")
_ATTRIBUTE = "onnx.helper.get_attribute_value({})"
_DECODED = "(lambda x: x.decode() if isinstance(x, bytes) else x)({})"
_NAMES: Mapping[str, Sequence[str]] = {
    "children": ("modules",),
    "named_children": ("named_modules",),
    "modules": ("children",),
    "named_modules": ("named_children",),
    "buffers": ("parameters",),
    "named_buffers": ("named_parameters",),
    "in_channels": ("out_channels",),
    "out_channels": ("in_channels",),
    "in_features": ("out_features",),
    "out_features": ("in_features",),
    "train": ("eval",),
    "ceil": ("floor",),
    "floor": ("ceil",),
    "max": ("sum", "len"),
    "min": ("sum",),
    "len": ("sum",),
    "sum": ("len",),
    "set": ("list",),
    "add": ("append",),
    "dict": ("list",),
    "any": ("all",),
    "all": ("any",),
    "input": ("output",),
    "output": ("input",),
    "initializer": ("input",),
    "stride": ("dilation",),
    "dilation": ("stride",),
    "height": ("width",),
    "width": ("height",),
    "H": ("W",),
    "W": ("H",),
    "strides": ("dilations",),
    "dilations": ("strides",),
    "randn": ("zeros",),
    "numel": ("nelement",),
    "bfloat16": ("float32",),
    "float16": ("float32",),
    "half": ("float",),
    "double": ("float",),
    **dict.fromkeys(("int8", "uint8", "int16", "uint16", "int32", "uint32", "short"), WIDE),
}
_OPERATORS: Mapping[type[ast.operator], tuple[str, Sequence[str]]] = {
    ast.Add: (r"\+", ("-", "*")),
    ast.Sub: ("-", ("+",)),
    ast.Mult: (r"\*", ("//", "+")),
    ast.Div: ("/", ("//", "*")),
    ast.FloorDiv: ("//", ("*", "/")),
    ast.Mod: ("%", ("//",)),
    ast.Pow: (r"\*\*", ("*",)),
}
_COMPARISONS: Mapping[type[ast.cmpop], tuple[str, Sequence[str]]] = {
    ast.Eq: ("==", ("!=", ">=", "<=")),
    ast.NotEq: ("!=", ("==",)),
    ast.Lt: ("<", ("<=", ">=")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<=")),
    ast.GtE: (">=", (">", "<")),
    ast.In: ("in", ("not in",)),
    ast.NotIn: (r"not\s+in", ("in",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: (r"is\s+not", ("is",)),
}
_NUMBERS: Mapping[int, Sequence[int]] = {
    0: (1, 2, -1),
    1: (0, 2, 3),
    2: (1, 3, 4, 0),
    3: (2, 1, 4),
    4: (2, 8, 1),
    8: (4, 1),
    16: (32, 8),
    32: (8, 16, 4),
    1000: (1024, 1),
    1024: (1000, 1),
}
_OWN_MODULES = frozenset({"torch", "np", "numpy", "math", "nn", "F", "onnx", "helper", "functools", "itertools"})
_LAYERS = ("Conv2d", "Linear")
# Without them two names are one object: what is right then is so by chance.
_COPIES = frozenset({"dict", "list", "copy", "deepcopy", "clone"})
_WAYS: Mapping[type[ast.AST], str] = {
    ast.Name: "_name",
    ast.Attribute: "_name",
    ast.Constant: "_constant",
    ast.BinOp: "_operation",
    ast.BoolOp: "_condition",
    ast.UnaryOp: "_negation",
    ast.Compare: "_comparison",
    ast.Call: "_call",
    ast.comprehension: "_conditions",
    ast.Subscript: "_subscript",
    ast.SetComp: "_brackets",
    ast.ListComp: "_element",
    ast.GeneratorExp: "_element",
    ast.IfExp: "_choice",
    ast.Tuple: "_collection",
    ast.List: "_collection",
}
_SIDES = {
    one: other
    for both in (
        "h w",
        "H W",
        "height width",
        "in out",
        "cin cout",
        "rows cols",
        "row col",
        "rows columns",
        "first last",
    )
    for one, other in (both.split(), both.split()[::-1])
}
_SHORT = 3  # letters of a name that are what it says
_FEWEST = 3  # sizes from which a tuple of numbers is an input's
_PAIR = 2


class Expressions(Places):
    """Collects the edits of expressions; `_arguments` are the names of the function's arguments.

    `_hook`: the parameters of the function around it, if they are as many as a forward hook has.
    """

    _arguments: Sequence[str] = ()
    _hook: Sequence[str] = ()
    _unused: Sequence[ast.expr] = ()

    def _expression(self, node: ast.AST) -> None:
        """Add the edits of one node, whatever its kind, but not those of nodes below it."""
        way = _WAYS.get(type(node))
        if way:
            getattr(self, way)(node)

    def _condition(self, node: ast.BoolOp) -> None:
        word = " and " if isinstance(node.op, ast.And) else " or "
        for each in node.values:
            self._put(node, word.join(self._text(other) for other in node.values if other is not each), 2)

    def _negation(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self._put(node, self._text(node.operand), 4)

    def _choice(self, node: ast.IfExp) -> None:
        self._put(node, self._text(node.body), 3)
        self._put(node, self._text(node.orelse), 3)

    def _element(self, node: ast.ListComp | ast.GeneratorExp) -> None:
        """Add an edit that takes the element of a loop itself, in place of what is made of it."""
        target = node.generators[0].target
        if isinstance(target, ast.Name) and not isinstance(node.elt, ast.Name):
            self._put(node.elt, target.id, 2)
        if isinstance(node.elt, ast.Compare | ast.BoolOp):
            self._put(node.elt, "True", 2)

    def _name(self, node: ast.Name | ast.Attribute) -> None:
        if not isinstance(node.ctx, ast.Load):
            return
        name = node.id if isinstance(node, ast.Name) else node.attr
        _, end = self._span(node)
        for other in dict.fromkeys([*_NAMES.get(name, ()), *self._counterparts(node)]):
            self._add(
                (end - len(name), end),
                other,
                1,
                apart(self._text(node), self._text(node)[: -len(name)] + other),
            )
        if self._hook and isinstance(node, ast.Name) and name == self._hook[2]:
            self._put(node, f"{self._hook[1]}[0]", 2)
        if name == "dim_value":
            self._put(node, f"({self._text(node)} or 1)", 1)
        if name == "value_info":
            graph = self._text(node).removesuffix(".value_info")
            self._put(node, f"[*{graph}.input, *{graph}.value_info, *{graph}.output]", 1)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr == "bias":
            bias = self._text(node.value)
            said = f"(0 if {bias} is None else {bias}.{name})"
            self._put(node, f"getattr({bias}, {name!r}, lambda: 0)", 2, said)
        if isinstance(node, ast.Attribute) and name in ("ints", "i", "f", "s", "floats"):
            said = _ATTRIBUTE.format(self._text(node.value))
            self._put(node, _DECODED.format(said), 3, said)
        if name in _LAYERS and self._text(node).endswith(f"nn.{name}"):
            whole = self._text(node)
            base = whole.removesuffix(name)
            self._put(node, f"({', '.join(base + each for each in _LAYERS)})", 3)

    def _counterparts(self, node: ast.Name | ast.Attribute) -> list[str]:
        """Return names of the source that say height for this one's width, or output for its input."""
        if not isinstance(node, ast.Name):
            return []
        words = re.split(r"(_|\d+)", node.id)
        others = [
            "".join([*words[:at], _SIDES[word], *words[at + 1 :]]) for at, word in enumerate(words) if word in _SIDES
        ]
        if len(node.id) <= _SHORT:
            others += [node.id.replace(one, other) for one, other in ("hw", "wh", "HW", "WH") if one in node.id]
        return [each for each in others if re.search(rf"\b{each}\b", self._source)]

    def _constant(self, node: ast.Constant) -> None:
        value = node.value
        match value:
            case bool():
                self._put(node, repr(not value), 2)
            case int():
                for each in _NUMBERS.get(value, (value - 1, value + 1)):
                    self._put(node, repr(each), 4)
            case str() if value in _NAMES:
                for other in _NAMES[value]:
                    self._put(node, repr(other), 2)
            case _:
                pass

    def _operation(self, node: ast.BinOp) -> None:
        left, right = self._text(node.left), self._text(node.right)
        kept = closed(node.left, left), closed(node.right, right)
        self._put(node, kept[0], 3, short(left))
        self._put(node, kept[1], 5, short(right))
        inner = node.left
        while isinstance(inner, ast.BinOp):
            inner = inner.left
            self._put(node, closed(inner, self._text(inner)), 4)
        for pad in (node.left, node.right) if isinstance(node.op, ast.Add) else ():
            if _PADS.fullmatch(self._text(pad).partition("[")[0].rpartition(".")[2]):
                self._put(pad, f"2 * {self._text(pad)}", 1)
        match node:
            case ast.BinOp(
                left=ast.Call(args=[ast.BinOp(left=exact, op=ast.Mult(), right=many), *_]), op=ast.Div(), right=by
            ) if self._text(many) == self._text(by):
                self._put(node, closed(exact, self._text(exact)), 1)
        sign, others = _OPERATORS.get(type(node.op), ("", ()))
        start, end = self._span(node.left)[1], self._span(node.right)[0]
        between = re.search(sign, self._source[start:end]) if sign else None
        if between:
            for other in others:
                span = (start + between.start(), start + between.end())
                said = apart(self._text(node), f"{kept[0]} {other} {kept[1]}")
                self._add(span, other, 3, said, node)
        if isinstance(node.op, ast.FloorDiv):
            self._put(node, f"-(-{kept[0]} // {kept[1]})", 5)

    def _comparison(self, node: ast.Compare) -> None:
        sign, others = _COMPARISONS.get(type(node.ops[0]), ("", ()))
        others = others if len(node.ops) == 1 else ()
        start, end = self._span(node.left)[1], self._span(node.comparators[0])[0]
        between = re.search(sign, self._source[start:end]) if sign else None
        if between:
            for other in others:
                span = (start + between.start(), start + between.end())
                whole = (
                    self._source[self._span(node)[0] : span[0]] + other + self._source[span[1] : self._span(node)[1]]
                )
                self._add(span, other, 3, apart(self._text(node), whole), node)

    def _call(self, node: ast.Call) -> None:
        function, arguments = node.func, node.args
        # Of what nobody takes the value of, another value is none: it is the same as without it.
        copies = self._text(function).rpartition(".")[2] in _COPIES or node in self._unused
        if isinstance(function, ast.Attribute) and not _is_module(function.value) and not copies:
            self._put(node, self._text(function.value), 2)
        if len(arguments) >= 1 and not isinstance(arguments[0], ast.Starred) and not copies:
            self._put(
                node,
                self._text(arguments[0])
                if not isinstance(arguments[0], ast.GeneratorExp)
                else f"[{self._text(arguments[0])}]",
                2,
            )
        for at, each in enumerate(arguments) if len(arguments) > 1 else ():
            span = (
                (self._span(each)[0], self._span(arguments[at + 1])[0])
                if at + 1 < len(arguments)
                else (self._span(arguments[at - 1])[1], self._span(each)[1])
            )
            self._add(span, "", 4, (short(self._text(each)), ""))
        self._function(node)
        self._keywords(node)
        if arguments and isinstance(arguments[0], ast.Attribute) and arguments[0].attr in ("ints", "floats"):
            said = _ATTRIBUTE.format(self._text(arguments[0].value))
            self._put(node, _DECODED.format(said), 1, said)
        for word in node.keywords:
            start, end = self._span(word)
            before = self._source.rfind(",", self._span(function)[1], start)
            start = before if before >= 0 else start
            self._add((start, end), "", 1, (short(self._text(word)), ""))

    def _function(self, node: ast.Call) -> None:
        """Add edits that call another function, or one more around a value."""
        function, arguments = node.func, node.args
        match function:
            case ast.Name(id="round"):
                self._put(function, "int", 1)
            case ast.Name(id="groupby") | ast.Attribute(attr="groupby") if len(arguments) == 1:
                self._put(arguments[0], f"sorted({self._text(arguments[0])})", 1)
            case ast.Name(id="int"):
                self._put(function, "round", 3)
            case ast.Attribute(attr="detach"):
                self._put(node, f"{self._text(node)}.clone()", 1)
            case ast.Attribute(attr="load", value=ast.Name(id="onnx")):
                self._put(node, f"onnx.shape_inference.infer_shapes({self._text(node)})", 2)
            case _:
                pass

    def _keywords(self, node: ast.Call) -> None:
        """Add arguments of a functional convolution that are left at their defaults."""
        there = {each.arg for each in node.keywords}
        layers = [
            self._text(each.value)
            for each in ast.walk(node)
            if isinstance(each, ast.Attribute) and each.attr == "weight"
        ]
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name.startswith("conv") and layers:
            end = self._span(node)[1] - 1
            for each in ("stride", "padding", "dilation", "groups"):
                if each not in there:
                    more = f"{each}={layers[0]}.{each}"
                    self._add((end, end), f", {more}", 1, (f"{name}(...)", f"{name}(..., {more})"))

    def _whole(self, node: ast.expr) -> None:
        """Add an edit that takes a module in place of its children."""
        match node:
            case ast.Call(func=ast.Attribute(value=whole, attr="children"), args=[]):
                self._put(node, f"[{self._text(whole)}]", 2)
            case _:
                pass

    def _conditions(self, node: ast.comprehension) -> None:
        self._whole(node.iter)
        for each in node.ifs:
            self._put(each, "True", 2)
            self._put(each, f"not ({self._text(each)})", 4)

    def _subscript(self, node: ast.Subscript) -> None:
        if self._hook and self._text(node) == f"{self._hook[1]}[0]":
            self._put(node, self._hook[2], 1)
        if isinstance(node.slice, ast.Slice):
            self._put(node, self._text(node.value), 1)
        elif isinstance(node.ctx, ast.Load):
            self._put(node, f"{self._text(node.value)}.get({self._text(node.slice)}, 0)", 4)
            self._put(node, self._text(node.value), 3)
        if isinstance(node.slice, ast.UnaryOp) and isinstance(node.slice.operand, ast.Constant):
            self._put(node.slice, "0", 2)

    def _brackets(self, node: ast.SetComp) -> None:
        self._put(node, f"[{self._text(node)[1:-1]}]", 1)

    def _collection(self, node: ast.Tuple | ast.List) -> None:
        texts = [self._text(each) for each in node.elts]
        if not isinstance(node.ctx, ast.Load):
            return
        if (
            len(texts) >= _FEWEST
            and all(isinstance(each, ast.Constant) for each in node.elts)
            and len(self._arguments) > 1
        ):
            self._put(node, self._arguments[1], 1)
        for at in range(len(texts)) if len(texts) > 1 else ():
            left = ", ".join(text for place, text in enumerate(texts) if place != at)
            self._put(node, f"({left},)" if isinstance(node, ast.Tuple) else f"[{left}]", 4)
        if len(texts) == _PAIR:  # which may be the wrong way round
            self._put(node, f"({texts[1]}, {texts[0]})", 3)


def _is_module(node: ast.expr) -> bool:
    return (isinstance(node, ast.Name) and node.id in _OWN_MODULES) or (
        isinstance(node, ast.Attribute) and _is_module(node.value)
    )
