"""What words label a number with, in several languages: concepts such as `parameters`, `macs`, `total`."""

from __future__ import annotations

import re
from functools import lru_cache

from labgrade.answers.reading.numerals.numbers import as_ascii

# The order counts: what was taken for one concept is no word of a later one (non-trainable is not trainable).
_WORDS = {
    "frozen": r"requires[_ ]grad\W{0,4}false|non[- _]?trainable|not[- ]trainable|un-?trainable|frozen"
    r"|nicht[- ]?trainierbar\w*|eingefroren\w*"
    r"|no[- ]entrenables?|non[- ]entra[iî]nables?|n[aã]o[- ]trein[aá]ve(?:l|is)|[非不]可?訓練|[非不]可?训练"
    r"|(?:not|no[nt]?[- ]?|un)-?(?:be )?(?:trained|learn(?:ed|t|able)|updat(?:ed|able))"
    r"|can(?:not|['\u2019]t)(?: be trained)?"
    r"|(?:no|without|w/o)[- ]?(?:re[qk]uires[- ])?grad(?:ient)?s?|not requires[_ ]grad|fixed|feste?[nr]?"
    r"|nicht gelernt"
    r"|gel[eé]e?s?|congel[ae]d[oa]s?|nietrenowaln\w*|необучаем\w*|(?:被|已)?[凍冻]結?结?(?:的)?|固定"
    r"|無法訓練|无法训练|학습 ?불가능?|훈련 ?불가능?|비학습|学習不可",
    "trainable": r"requires[_ ]grad|trainable|trainierbar\w*|entrenables?|entra[iî]nables?|trein[aá]ve(?:l|is)"
    r"|(?:be |being )(?:trained|learned)|learn(?:ed|t|able)|updatable|lernbar\w*|(?:with )?grad(?:ient)?s?|[np] train"
    r"|trenowaln\w*|обучаем\w*|可以?訓練|可以?训练|학습 ?가능|훈련 ?가능|学習可能|訓練可能",
    "pass": r"forward\s*/\s*backward|backward|estimated total",
    "buffers": r"buffers?|puffer",
    "auxiliary": r"(?<!without )(?<!without the )(?<!no )(?<!ohne )(?<!sans )(?<!sin )aux(?![ _]?logits\W{0,3}false)"
    r"(?:iliary|iliar\w*)?(?:[ _]?logits|[ _]?heads?|[ _]?classifiers?)?|hilfs\w*|輔助|辅助|보조",
    "traffic": r"traffic|bandwidth|bandbreite\w*|datenverkehr|data (?:movement|transfer\w*|moved)|moved?|moves"
    r"|bewegt\w*|tr[aá]fico|ancho de banda|bande passante|largura de banda|頻寬|带宽|帶寬|搬移|搬運量?"
    r"|傳輸量?|传输量?|대역폭|트래픽|데이터 ?이동|帯域幅?|転送量",
    "flops": r"[kmgt]?flops?|floating[- ]point op\w*|gleitkomma\w*|punto flotante|浮點運算|浮点运算"
    r"|부동 ?소수점|浮動小数点",
    "macs": r"[kmgt]?macs?|mult(?:iply)?[- ]?(?:adds?|acc\w*)|madds?"
    r"|multiply[- ](?:and[- ])?(?:add|accumulat\w*)|multiplica\w*|multiplikation\w*"
    r"|computational (?:complexity|cost)|rechen(?:aufwand|operationen)|operaciones|乘加|乘積累加"
    r"|乘积累加|運算量|运算量|計算量|计算量|연산량|곱셈|연산 ?횟수|積和",
    "activations": r"activations?|aktivierung\w*|activaci[oó]n\w*|activacione?s|ativaç|feature ?maps?|活化|激活|激勵"
    r"|활성화|활성값|活性化|中間(?:出力|層)\w*",
    "types": r"different|kinds?(?: of)?|sorts of|distinct|unique|unterschiedlich\w*|verschieden\w*"
    r"|distint[oa]s?|diferentes"
    r"|diff[eé]rents?|不同|種類|种类|종류|types?|(?:operator|knoten)?(?:typen|arten)|tipos?"
    r"|clases|sortes|rodzaj\w*|тип(?:\u0430|ов|ы)?|(?<!各)[種种]|去重",
    "operators": r"operators?|nodes?|ops?|węz[lł]\w*|operator[óo]w|оператор\w*|узл\w*|узел|operatoren|knoten"
    r"|operador(?:es)?|nodos?|op[eé]rateurs?|n(?:œ|oe)uds?|運算子"
    r"|算子|節點|节点|연산자|노드|オペレータ|ノード",
    "parameters": r"n?params?|parameters?|parametern?|parameterzahl|parametr\w*|параметр\w*|par[aá]metros?"
    r"|par[aâ]metros?|param[eè]tres?"
    r"|parametri|參數|参数|パラメータ|매개 ?변수|파라미터|weights?|gewicht\w*|pesos?|poids|權重|权重"
    r"|가중치|重み",
    "peak": r"peak|max(?:imum|imal\w*)?|largest|biggest|spitzen\w*|gr[oö][sß]+te\w*|pico|峰值|最大|최대",
    "input": r"inputs?|eingabe\w*|eingang\w*|entradas?|輸入|输入|입력|入力",
    "memory": r"memory|storage|stored?|size|footprint|bytes?|speicher\w*|gr[oö](?:ß|ss)e|memoria|tama[nñ]o"
    r"|almacen\w*|m[eé]moire|taille|記憶體|内存|內存|儲存|存储|記憶容量|空間|空间|大小|메모리|크기"
    r"|용량|メモリ|サイズ",
    "modules": r"modules?|modulen?|m[oó]dul[oi]s?|re ?lus?|模組|模块",
    "calls": r"calls?|called|invo(?:ked|cations?)|executions?|executed|aufrufe?n?|aufgerufen|llamadas?|呼叫|调用",
    "total": r"total\w*|tot|all(?=[\W_]*$|[\W_]*param)|both|everything|łącznie|всего|final|answer|ergebnis"
    r"|antwort|respuesta|答案|結果|答え|overall|sum|in all|altogether"
    r"|together|gesamt\w*|insgesamt|summe|zusammen|suma|en tout|au total|soma|總|总|合計|合计|共計?|전체|총"
    r"|합계|全部|全体",
}  # fmt: skip
CONCEPTS = tuple(_WORDS)
_PATTERNS = {
    name: re.compile(rf"(?<![a-zäöüßáéíóúñ])(?:{words})(?![a-zäöüßáéíóúñ])", re.IGNORECASE)
    for name, words in _WORDS.items()
}
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|_")
_LONGEST = 400


@lru_cache(maxsize=4096)
def concepts(words: str) -> frozenset[str]:
    """What words (their first 400 characters) speak of."""
    left = _CAMEL.sub(" ", as_ascii(words[:_LONGEST]))
    found = set()
    for name, pattern in _PATTERNS.items():
        rest = pattern.sub(" ; ", left)
        if rest != left:
            found.add(name)
            left = rest
    return frozenset(found)


# What a number of one answer is not labelled with, unless the answer's own words say it.
_OTHER = frozenset(CONCEPTS) - {"total", "memory", "modules", "calls"}


def foreign(asked: frozenset[str], said: frozenset[str]) -> frozenset[str]:
    """What a label speaks of that is not asked for: the concepts of another quantity."""
    return said & _OTHER - asked - (frozenset({"operators"}) if "types" in asked else frozenset())


def special(wanted: frozenset[str]) -> frozenset[str]:
    """What a label has to speak of to be one of these words, whatever else it may leave out."""
    asked = wanted - {"total"}
    return asked - {"parameters", "memory"} or asked & {"memory"} or asked


def labels(wanted: frozenset[str], said: frozenset[str]) -> bool:
    """Whether a label that speaks of `said` may stand before a value that is asked for by words of `wanted`."""
    asked = wanted - {"total"}
    if foreign(asked, said):
        return False
    return special(wanted) <= said or (said - {"memory"} == {"total"} and not asked & {"trainable", "frozen", "types"})
