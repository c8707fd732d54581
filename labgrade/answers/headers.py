"""Which column of a spec a printed header means: `Param #` is `parameters`, `Mult-Adds` is `macs`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_SAME = (
    ("parameters", "params", "param", "nparams", "numparams", "numparameters", "parametercount", "paramcount", "參數",
     "参数", "參數量", "参数量", "參數數量", "参数数量"),
    ("outputshape", "outputsize", "outshape", "outsize", "output", "shape", "輸出", "输出", "輸出形狀", "输出形状",
     "輸出大小", "输出大小"),
    ("inputshape", "inputsize", "inshape", "input", "輸入", "输入", "輸入形狀", "输入形状"),
    ("kernelshape", "kernelsize", "kernel"),
    ("macs", "mac", "multadds", "multadd", "madds", "madd", "nummacs", "totalmacs", "multiplyaccumulates",
     "乘加次數", "乘加次数"),
    ("bytes", "memory", "size", "weightbytes", "memorybytes", "記憶體", "内存"),
    ("layer", "layers", "name", "layername", "layertype", "layertypedepthidx", "module", "modulename", "type",
     "operator", "optype", "層", "层", "名稱", "名称", "模組", "模块"),
    ("strides", "stride"),
    ("dilations", "dilation", "dialation", "dialations"),
    ("pads", "pad", "padding", "paddings"),
    ("group", "groups"),
    ("channel", "channels", "inchannels", "c"),
    ("height", "h"),
    ("width", "w"),
    ("count", "number", "times", "數量", "数量", "次數", "次数"),
)  # fmt: skip
_GROUP = {word: number for number, words in enumerate(_SAME) for word in words}
_ROW_WORDS = frozenset(_SAME[6])
_PLAIN = re.compile(r"[\W_]+")


def plain_word(header: str) -> str:
    """A header without case, spaces, markup and signs: `Param #` is `param`."""
    return _PLAIN.sub("", header.lower())


def unit_of_header(header: str) -> str:
    """What a header says in brackets at its end: the `M` of `MACs (M)`."""
    match = re.search(r"[(\[]([^()\[\]]{1,12})[)\]]\s*$", header)
    return match[1] if match else ""


def column_meant(header: str, columns: Iterable[str]) -> str | None:
    """The one of `columns` that the header names: literally, then by synonym; None where it is something else."""
    known = {plain_word(column): column for column in columns}
    for form in (plain_word(header), plain_word(re.sub(r"[(\[][^()\[\]]*[)\]]\s*$", "", header))):
        if form in known:
            return known[form]
        group = _GROUP.get(form)
        alike = [column for word, column in known.items() if group is not None and _GROUP.get(word) == group]
        if len(alike) == 1:
            return alike[0]
    return None


def names_rows(header: str, row: str) -> bool:
    """Whether a header is the one over the rows' names: the spec's word for a row, `Layer (type:depth-idx)`, `name`."""
    return bool({plain_word(header), plain_word(header.partition("(")[0])} & {*_ROW_WORDS, plain_word(row)})


def could_head(line: str, columns: Iterable[str]) -> bool:
    """A quick look whether a line may name one of the columns."""
    squeezed = plain_word(line)
    return any(word in squeezed for column in columns for word in _words_for(column))


def _words_for(column: str) -> tuple[str, ...]:
    group = _GROUP.get(plain_word(column))
    return (plain_word(column), *(_SAME[group] if group is not None else ()))
