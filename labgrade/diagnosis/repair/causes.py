"""What was wrong, in a sentence, where a small change of the source makes a function right.

Each sentence describes the code that stands there. That it is the cause follows from the change: with it the function
is right on every network on which it was called, without it not.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from labgrade.answers.reading import code
from labgrade.diagnosis.repair.places import Places, short

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from labgrade.diagnosis.repair.places import Edit

_PLACES = {0: "first", 1: "second", 2: "third", -1: "last"}
_LAST_PART = ("split", "rsplit", "partition", "rpartition")
_COPY = "What is kept is not a copy: it changes when the tensor is written to later."
_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_CHILDREN = "`{was}()` gives what lies directly below alone: what is deeper in the model is left out."
_MODULES = "`{was}()` gives the model itself and everything at any depth, not only what lies directly below."
_KEPT_ONCE = "A set keeps what is equal once: the second of two equal ones is lost."
_SMALL = "`{was}` is too small a type for these numbers."
_NAMES = {
    ("children", "modules"): _CHILDREN,
    ("named_children", "named_modules"): _CHILDREN,
    ("modules", "children"): _MODULES,
    ("named_modules", "named_children"): _MODULES,
    ("len", "sum"): "It counts how many there are, where they have to be added up.",
    ("max", "sum"): "Only the largest is taken, where all have to be added up.",
    ("min", "sum"): "Only the smallest is taken, where all have to be added up.",
    ("set", "list"): _KEPT_ONCE,
    ("add", "append"): _KEPT_ONCE,
    ("train", "eval"): "The model is in train mode, in which dropout and batch norm do something else.",
    ("input", "output"): "Inputs are read where outputs belong.",
    ("output", "input"): "Outputs are read where inputs belong.",
    ("in_channels", "out_channels"): "The channels that go in stand where those that come out belong.",
    ("out_channels", "in_channels"): "The channels that come out stand where those that go in belong.",
    ("in_features", "out_features"): "The features that go in stand where those that come out belong.",
    ("out_features", "in_features"): "The features that come out stand where those that go in belong.",
    ("ceil", "floor"): "It rounds up, where rounding down is right.",
    ("floor", "ceil"): "It rounds down: what is left over behind the last whole one is dropped.",
    **{(small, wide): _SMALL for small in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "short", "float16",
                                           "bfloat16", "half") for wide in ("int64", "float64", "float32", "float")},
}  # fmt: skip
_INSERTED = {
    "if hasattr(": "A module with modules inside is counted, and what is inside of it once more.",
}


def cause(source: str, some: Sequence[Edit]) -> str:
    """Return the mistake that these edits have in common; an empty text if the change itself says as much."""
    try:
        reader = _Reader(source)
    except (SyntaxError, ValueError, RecursionError):
        return ""
    said = list(dict.fromkeys(reader.says(each) for each in some))
    return said[0] if len(said) == 1 else ""


class _Reader(Places):
    """Describes the place of an edit."""

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self._tree = code.parse(source)
        self._above = {id(child): node for node in ast.walk(self._tree) for child in ast.iter_child_nodes(node)}

    def says(self, edit: Edit) -> str:
        if edit.text.startswith("pass") and self._source[edit.start : edit.end].startswith("return"):
            return "The function returns within the loop, before that has gone through everything."
        if edit.text.endswith(".clone()") and not self._source[: edit.end].endswith(".clone()"):
            return _COPY
        node = self._at_span(edit.start, edit.end)
        if node is None:
            return self._inserted(edit)
        if isinstance(node, ast.stmt):
            return self._of_statement(node, edit)
        return self._of_what_it_is_in(node, edit) or self._of_expression(node, edit)

    def _at_span(self, start: int, end: int) -> ast.expr | ast.stmt | None:
        """Return the outermost node that an edit replaces; for an attribute, the one whose name it replaces."""
        for node in ast.walk(self._tree):
            if isinstance(node, ast.expr | ast.stmt):
                first, last = self._span(node)
                named = isinstance(node, ast.Attribute) and (start, end) == (last - len(node.attr), last)
                if (first, last) == (start, end) or named:
                    return node
        return None

    def _inserted(self, edit: Edit) -> str:
        old = self._source[edit.start : edit.end]
        if not old and edit.text.startswith(", ") and "=" in edit.text and edit.was:
            names = edit.text.split("=")[0][2:]
            if edit.text == f", {names}={names}":
                return f"`{names}` is read when the function is called: by then it has the last value of the loop."
        return next((says for text, says in _INSERTED.items() if not old and edit.text.startswith(text)), "")

    def _of_statement(self, node: ast.stmt, edit: Edit) -> str:
        match node:
            case ast.Assign(targets=[ast.Subscript() as target]) if edit.kind:
                return f"`{short(self._text(target))} = ...` throws away what stood there before.{self._of_key(target)}"
            case ast.Assign(targets=[target]) if edit.text.startswith(f"{self._text(target)} += "):
                return f"`{short(self._text(target))} = ...` throws away what it held before."
            case ast.Expr(value=ast.Call() as call) if edit.text == "pass":
                return self._dropped(call)
            case ast.AugAssign(op=ast.Add()) if edit.text == "pass":
                return f"`{short(self._text(node))}` counts what does not belong there."
            case _:
                return ""

    def _of_key(self, target: ast.Subscript) -> str:
        """Return why a subscript's key may be the same for several items."""
        shown = short(self._text(target.slice))
        if self._from_children(shown):
            return f" `{shown}` is a name within the module around it: several may have the same."
        key = self._bound(target.slice)
        match key:
            case ast.Call(func=ast.Name(id="str" | "repr"), args=[_]):
                return f" `{shown}` is the same for all that are printed alike."
            case ast.JoinedStr(values=[ast.FormattedValue()]):
                return f" `{shown}` is the same for all that are printed alike."
            case ast.Subscript(value=ast.Call(func=ast.Attribute(attr=way))) if way in _LAST_PART:
                return f" `{shown}` is a part of a name: it is the same for modules in several places."
            case ast.Attribute(attr="__name__", value=ast.Call(func=ast.Name(id="type")) | ast.Attribute()):
                return f" `{shown}` is the same for all of one class."
            case _:
                return f" `{shown}` is the same for several of them."

    def _from_children(self, name: str) -> bool:
        """Return whether a name is the one that named_children() gives in a loop."""
        return any(
            isinstance(each, ast.For)
            and isinstance(each.target, ast.Tuple)
            and self._text(each.target.elts[0]) == name
            and self._text(each.iter).endswith(".named_children()")
            for each in ast.walk(self._tree)
        )

    def _bound(self, node: ast.expr) -> ast.expr:
        """Return the value that a name is bound to, if that is done once; else the node itself."""
        if not isinstance(node, ast.Name):
            return node
        values = [
            each.value
            for each in ast.walk(self._tree)
            if isinstance(each, ast.Assign) and [self._text(target) for target in each.targets] == [node.id]
        ]
        return values[0] if len(values) == 1 else node

    def _dropped(self, call: ast.Call) -> str:
        name = self._text(call.func)
        recursive = any(isinstance(each, ast.FunctionDef) and each.name == name for each in self._around(call))
        applied = any(
            isinstance(each, ast.Call)
            and isinstance(each.func, ast.Attribute)
            and each.func.attr == "apply"
            and [self._text(one) for one in each.args] == [name]
            for each in ast.walk(self._tree)
        )
        if recursive and applied:
            return (
                f"`apply` calls `{name}` for every module already, and `{name}` goes down to the children itself: "
                "what lies deep is reached several times."
            )
        return ""

    def _around(self, node: ast.AST) -> Iterator[ast.AST]:
        while id(node) in self._above:
            node = self._above[id(node)]
            yield node

    def _of_expression(self, node: ast.expr, edit: Edit) -> str:
        text = edit.text
        match node:
            case ast.Name() | ast.Attribute():
                return self._of_name(node, text)
            case ast.Subscript(value=ast.Name(id=given)) if self._of_hook(node)[1:] == (given, text):
                return "What the layer is given is taken where what it puts out belongs."
            case ast.BinOp() | ast.BoolOp() | ast.IfExp():
                return self._of_operation(node, edit)
            case ast.Subscript(slice=ast.Slice()) if text == self._text(node.value):
                return f"`{short(self._text(node))}` leaves out a part."
            case ast.Subscript(slice=ast.Constant(value=int(at))) if text == self._text(node.value) and at in _PLACES:
                return f"`{short(self._text(node))}` is the {_PLACES[at]} one alone, where all of them belong."
            case ast.SetComp():
                return _KEPT_ONCE
            case ast.Call():
                return self._of_call(node, text)
            case ast.Constant(value=bool()):
                return ""
            case ast.Constant(value=int(at)):
                return self._of_index(node, at, text)
            case _:
                return ""

    def _of_call(self, node: ast.Call, text: str) -> str:
        """Return what a call did that the edit leaves out."""
        name, given = self._text(node.func).rpartition(".")[2], [self._text(each) for each in node.args]
        match name, given:
            case (("round" | "int" | "floor" | "trunc" | "ceil" | "rint"), [value, *_]) if text == value:
                return f"`{short(self._text(node))}` rounds, and should not."
            case "most_common", [count] if text == self._text(node.func).removesuffix(".most_common"):
                return f"`most_common({count})` keeps the {count} most frequent alone."
            case (("min" | "max"), [one, other]) if text in (one, other):
                gone = other if text == one else one
                how = "smaller" if name == "min" else "larger"
                return f"`{short(gone)}` stands in place of `{short(text)}` where it is {how}."
            case _:
                return ""

    def _of_name(self, node: ast.Name | ast.Attribute, text: str) -> str:
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) if (name, text) in _NAMES:
                return _NAMES[name, text].format(was=name)
            case ast.Name(id=name) if self._of_hook(node)[2:] == (name,) and text == f"{self._of_hook(node)[1]}[0]":
                return "What the layer puts out is taken where what it is given belongs."
            case ast.Name(id=name) if self._factors(node).count(name) > 1 and text not in self._factors(node):
                return f"`{name}` is taken twice: `{text}` is missing in the product."
            case _:
                return ""

    def _of_operation(self, node: ast.expr, edit: Edit) -> str:
        text = edit.text
        match node:
            case ast.BinOp(op=ast.FloorDiv()) if text.startswith("-(-"):
                return "`//` rounds down: what is left over behind the last whole one is dropped."
            case ast.BinOp(op=ast.Mult() | ast.Add() | ast.Sub() | ast.Div() | ast.FloorDiv()):
                return self._of_operand(node, edit)
            case ast.BoolOp(op=ast.And()) if gone := self._gone(node, edit):
                return f"`{gone}` lets too little through."
            case ast.BoolOp(op=ast.Or()) if gone := self._gone(node, edit):
                return f"`{gone}` lets too much through."
            case ast.IfExp() if text in (self._text(node.body), self._text(node.orelse)):
                kept, other, holds = (
                    (node.body, node.orelse, "does not hold")
                    if text == self._text(node.body)
                    else (node.orelse, node.body, "holds")
                )
                where = f"Where `{short(self._text(node.test))}` {holds},"
                return f"{where} `{short(self._text(other))}` stands in place of `{short(self._text(kept))}`."
            case _:
                return ""

    def _of_what_it_is_in(self, node: ast.expr, edit: Edit) -> str:
        """Return the cause that follows from where an expression stands: as a condition, as a factor."""
        above, text, shown = self._above.get(id(node)), edit.text, short(self._text(node))
        match above:
            case ast.comprehension() if any(each is node for each in above.ifs) and text == "True":
                return f"`if {shown}` leaves out some that belong there."
            case ast.If(test=test, body=[ast.Continue()]) if test is node and text == "False":
                return f"`if {shown}: continue` leaves out some that belong there."
            case ast.If(test=test, body=[first, *_], orelse=[]) if (
                test is node and text == "True" and not isinstance(first, _LEAVING)
            ):
                return f"`if {shown}` leaves out some that belong there."
            case ast.Call(args=[only]) if only is node and text == f"sorted({self._text(node)})":
                return "`groupby` joins what stands side by side alone."
            case ast.BinOp(op=ast.Mult()) if text == "1":
                return f"It is counted `{shown}` times, and belongs there once."
            case ast.BinOp(op=ast.Add()) if text == f"2 * {self._text(node)}":
                padding = " The padding is on both sides." if "pad" in shown.lower() else ""
                return f"`{shown}` is added once, and belongs there twice.{padding}"
            case _:
                return ""

    def _of_operand(self, node: ast.BinOp, edit: Edit) -> str:
        """Return the operand that is too many, if the edit leaves one out."""
        left, right = self._text(node.left), self._text(node.right)
        kept = edit.text.removeprefix("(").removesuffix(")")
        gone = right if kept in (left, edit.text) and edit.text in (left, f"({left})") else ""
        gone = gone or (left if edit.text in (right, f"({right})") and isinstance(node.op, ast.Mult | ast.Add) else "")
        if not gone:
            return ""
        shown = short(gone)
        match node.op:
            case ast.Mult():
                return f"The factor `{shown}` is too much."
            case ast.Add():
                return f"`{shown}` is added, and does not belong there."
            case ast.Sub():
                return f"`{shown}` is subtracted, and should not be."
            case _:
                return f"It is divided by `{shown}`, and should not be."

    def _of_hook(self, node: ast.AST) -> tuple[str, ...]:
        """Return the last three parameters of the function around a node."""
        scope = next((each for each in self._around(node) if isinstance(each, ast.FunctionDef | ast.Lambda)), None)
        given = scope.args.args[: len(scope.args.args) - len(scope.args.defaults)] if scope else []
        return tuple(each.arg for each in given[-3:]) if len(given) >= 3 else ()  # noqa: PLR2004

    def _factors(self, node: ast.expr) -> list[str]:
        """Return the factors of the product that an expression belongs to."""
        product: ast.AST = node
        while isinstance(above := self._above.get(id(product)), ast.BinOp) and isinstance(above.op, ast.Mult):
            product = above
        found: list[str] = []
        waiting = [product]
        while waiting:
            each = waiting.pop()
            if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Mult):
                waiting += [each.left, each.right]
            elif isinstance(each, ast.expr):
                found.append(self._text(each))
        return found

    def _gone(self, node: ast.BoolOp, edit: Edit) -> str:
        word = " and " if isinstance(node.op, ast.And) else " or "
        for each in node.values:
            if edit.text == word.join(self._text(other) for other in node.values if other is not each):
                return short(self._text(each))
        return ""

    def _of_index(self, node: ast.Constant, at: int, text: str) -> str:
        """Return the cause if the edit takes another one of the first elements."""
        held = self._above.get(id(node))
        try:
            other = int(text)
        except ValueError:
            return ""
        if not (isinstance(held, ast.Subscript) and held.slice is node and at in _PLACES and other in _PLACES):
            return ""
        whole, base = self._text(held), short(self._text(held.value))
        if self._factors(held).count(whole) > 1 and f"{self._text(held.value)}[{text}]" not in self._factors(held):
            return f"`{short(whole)}` is taken twice: that is right only where both of `{base}` are the same."
        return f"The {_PLACES[at]} of `{base}` stands where the {_PLACES[other]} belongs."
