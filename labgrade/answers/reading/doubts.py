"""What makes one doubt that a number is the answer: negations, bounds, others' words, other models around it."""

from __future__ import annotations

import re

REMARK = re.compile(r"[(\[]([^()\[\]\n]{0,80})[)\]]")
_TAG = re.compile(r"</?\w[^<>\n]{0,80}>")
_CLAUSE = re.compile(r"[,;:|\uff0c\uff1a\uff1b\u3001\u3002]")
_WORDS = re.compile(
    r"""\b(?:not|never|(?:is|are|was|were|does|did|ca|wo|should|would|could)n['\u2019]?t|don['\u2019]t|cannot|no\ longer
         |less|fewer|more(?!\ precisely|\ exactly)|greater|smaller|larger|most|least|exceeds?|between|should|would|could
         |might|maybe|perhaps|possibly|probably|guess|doubt
         |unsure|expected|supposed|either|one\ of|half|twice|double|wrong
         |incorrect|(?<!=)(?<!=\ )false|instead|unlike|other\ than
         |(?:friends?|classmates?|roommate|chatgpt|copilot|claude|gemini|literature|paper|slides|docs|documentation)
         \ (?:also\ )?(?:got|gets|has|have|had|says?|said|gives?|gave|claims?|reports?|found|finds?))\b
      | \b(?:under|over|below|above|up\ to)\W*$
      | \b(?:weniger|kleiner|geringer|mehr|größer|höher|höchstens|mindestens|maximal|minimal|nicht|niemals|vielleicht
          |vermutlich|möglicherweise|moins|pas|jamais|peut-être|menos|más|nunca|quizás?|tal\ vez|meno|più|mai|forse|não
          |mais|niet|minder|meer|hoogstens|minstens|inte|ikke|mindre|mer|høyst|mniej|więcej|nie|değil|az|fazla|không|kurang|lebih
          |bukan|tidak|не|менее|меньше|более|больше|максимум|минимум)\b
      | \b(?:unter|über|bis\ zu|plus\ de|au\ plus|jusqu['\u2019](?:à|au)|hasta|fino\ a|até|tot|max(?:im[aeo]|imum|imal)?
          |m[aá]ximo|mínimo|min(?:imum)?|keine?[mnrs]?|non?|до)\b[^\w=(]*$
      | 不(?![含包計计考算])|非(?!常)
      | 小於|小于|少於|少于|低於|低于|大於|大于|多於|多于|高於|高于|超過|超过|至少|至多|最多|最少|應該|应该
      | 應為|应为|可能|也許|也许|介於|介于""",
    re.VERBOSE | re.IGNORECASE,
)
_UNFINISHED = re.compile(
    r"\b(?:so far|until (?:now|here)|up to (?:now|here)|bis (?:hier(?:her)?|jetzt)|bisher|zwischensumme|sub-?total"
    r"|(?:running|partial) (?:total|sum)|(?:sum|total) (?:per|of (?:each|one|a)) (?:layer|block|head|token|sequence)"
    r"|hasta (?:ahora|aqu\u00ed)|jusqu['\u2019]ici|sous-total)\b|目前為止|目前为止|到目前|小計|小计",
    re.IGNORECASE,
)
_PART_OF = re.compile(  # only 1,025,000 of the 6,624,904 parameters are trainable
    r"""(?:[\d%]|\b(?:none|few|some|many|half|part|most|not\ all|aucune?|ningun[oa]|einige|wenige
        |keine[rsn]?|einzige[rs]?))
        [\s*_`]+(?:of(?:\s+(?:the|all|its|these|those))?|der|von(?:\s+den)?|des|de(?:\s+l[oa]s)?)[\s*_`]+$""",
    re.VERBOSE | re.IGNORECASE,
)
_SOURCE = (
    r"(?:docs|documentation|paper|literature|handout|slides|forum|chatgpt|gpt-?\d\w{0,3}|copilot|claude|gemini|deepseek"
    r"|neighbou?r|friend|classmate|roommate|(?:sample|model|official)[ ](?:solution|answer)|wikipedia|internet)"
)
_OTHERS = re.compile(  # Total MACs are asked for: the handout says total MACs: 5
    rf"""\b(?:{_SOURCE}|known\ value|doku|dokumentation|one\ would|you\ would)\b
        [^.;:!?\n]{{0,24}}:?[\s*_`"'(]*$
      | \bI\ doubt\b[^.;:\n]{{0,30}}$""",
    re.VERBOSE | re.IGNORECASE,
)
_RANGE = re.compile(  # between 700 M and 714.19 M
    r"\b(?:between|zwischen|entre)\s[^\w,;:|\n]{0,6}\d[\d.,]{0,20}[^\d,;:|\n]{0,16}\s(?:and|und|et|y)[\s*_`~$]*$",
    re.IGNORECASE,
)
_SPEAKER = re.compile(  # ChatGPT: total MACs: 5
    rf"(?:^|[.;|(\n])[\s*_`#>-]*(?:(?:according\sto|from|by)\s)?(?:(?:the|my|a)\s)?{_SOURCE}\b"
    r"[^:.;|\n]{0,16}:[^.;|\n]*$",
    re.IGNORECASE,
)
_FROM = re.compile(  # 5 MACs (paper)
    rf"[\s*_`$]*(?:[A-Za-z]{{1,10}}\s)?[(\[]\s*(?:(?:from|in|by|per)\s)?(?:the\s)?"
    rf"(?:{_SOURCE}|reference|published|official)\s*[)\]]",
    re.IGNORECASE,
)
_TO_BE_SCALED = re.compile(  # 5 bytes / 8, and what that is comes nowhere
    r"""[\s*_`$)]*(?:[kMGT]?i?(?:B|bytes)|MACs?|parameters)?[\s*_`]*(?:[/\u00f7\u00d7\u00b7]|\\(?:div|times)|(?<=\s)\*)
        \s*(?!0\b)\d{1,4}(?![.,]?\d)(?![^;|\n]*(?:=|≈|→|->|\b(?:is|gives?|makes?)\b))""",
    re.VERBOSE | re.IGNORECASE,
)
_TWO = re.compile(r"[/&+]|\b(?:and|or)\b", re.IGNORECASE)  # trainable / frozen: 5 / 2
_PRECISION = r"(?:\b(?:fp|float|bf|bfloat)-?(?:16|64)\b|\b(?:half|double)[- ]precision\b)"  # than a task's
_PRECISION_BEFORE = re.compile(rf"{_PRECISION}[^,;.|]{{0,40}}$", re.IGNORECASE)
_PRECISION_BEHIND = re.compile(rf"[^,;.|/\n]{{0,20}}?{_PRECISION}", re.IGNORECASE)
_SIGN = re.compile(
    r"""(?:≠|!=|≤|≥|<=(?!>)|(?<![-=<])>=?|<|±|&[lg][te];|\\(?:neq?|leq?|geq?|lt|gt|pm)(?![a-z]))[\s*_`$~"'(\\]*$"""
)
_LABEL = re.compile(
    r"\b(?:(?:expected|published|reference|official|wrong|incorrect|old|previous|earlier|former|not|never|isn't|without"
    r"|running|partial|intermediate)"
    r"(?:\s+the)?|(?:first|initially|originally|zuerst|anfangs),?\s+(?:I|we|ich|wir)\s+\w{1,12}(?:\s+the)?)[\s*_`\"'(]*$",
    re.IGNORECASE,
)
_BEHIND = re.compile(
    r"""\.\s+(?:that|this|it|which)(?:\ (?:is|was)|['\u2019]s)\ (?:wrong|incorrect|false)\b
      | [^.;|\n]{0,40}?(?:[(]|[-,(\u2013]\s*(?:but\ )?(?:which|that|this|it)(?:\ is|\ was|['\u2019]s)\ )
        not\ (?:what|the\ one)\b
      | (?:[ (]{1,2}without\ [\w\ ]{1,30})?[-\s*_`$)(,;.\u2013]*(?:(?:which|that|this|it)\ )?
        (?:(?:is\ |was\ )?not\ (?:asked|wanted|what)\b|(?:does\ not|doesn['\u2019]t)\ count(?=\W*$|\s*[.,;)]))
      | [\s*_`$)(,]*in\ (?:the|my|our)\ (?:first|old|previous|earlier)\b
      | [\s*_`$)(,]*is\ (?:the\ (?:number|value|figure)\ )?(?:in|from|on)\ the\ (?:slides|paper|lecture|handout)\b
      | [\ \w]{0,20}[,;]\ (?:which|that|this)\ (?:I|we)\ (?:think|believe|guess)\ (?:is|are)\ (?:wrong|not|too|false|in)
      | [\ \w]{0,20}[,;.]\ (?:but\ )?(?:I|we)\ (?:could|did|can|do)(?:\ not|n['\u2019]t)\ (?:run|get|reproduce|verify)\b
      | \ additions\ and\b
      | [\s*_`$)(,]*(?:\? | ± | \+/-\s*\d | \\pm\b
        | (?:which\ |that\ |this\ |it\ )?(?:is|was|looks|seems)\ (?:wrong|incorrect|not|too|false)\b
        | times(?![ ]*(?:[.,;:)(|]|$|(?:and|in|per|during|for|by|when|while|over|at)\b))
        | (?:wrong|incorrect|plus|minus|divided\ by|multiplied\ by|or\ (?:more|less|higher|lower)|at\ most
            |at\ least|each
            |per\ (?:layer|module|block|channel|pixel|weight|parameter|second|sequence|token|head|step|row))\b
        | (?:for|of|in)\ (?:(?:one|a\ single|each|every)\ (?:layer|sequence|token|head|block|step|row)
            |(?:the\ )?\w+\ (?:only|alone))\b
        | (?:(?:was|is)\ )?expected\b
        | (?:according\ to|per)\ (?:the\ )?(?:docs|documentation|paper|slides|handout|forum|literature)\b
        | (?:in|from)\ (?:the\ )?(?:docs|documentation|forum)\b
        | if\ [^.;\n]{1,30}\ were\b | too\ (?:small|large|big|few|many|high|low|much)\b
        | (?:or|oder|ou|o|of|eller)\ (?:so|fewer|weniger|mehr|moins|plus|menos|más|meno|più)\b
        | (?:mindestens|höchstens|max(?:imum|imal)?(?![\s-]*pool)|at\ (?:the\ )?most
            |au\ (?:plus|moins)|como\ (?:máximo|mínimo))\b
        | 以上|以下|以内|以內|未満|未滿|미만|이하|이상|이내|不對|不对|錯|错)""",
    re.VERBOSE | re.IGNORECASE,
)
_MODEL = re.compile(
    r"(?<![A-Za-z])(?:(wide[ _-]?)?resnet|resnext|vgg|alexnet|mobilenet|densenet|squeezenet|shufflenet|efficientnet"
    r"|mnasnet|regnet|convnext|inception[ _-]?v[234]|googlenet|lenet|maxvit|vit|swin)"
    r"(?:[ _-]?v?\d{1,3}(?![\d.,]))?",
    re.IGNORECASE,
)
_REDEFINED = re.compile(  # 35.01 MB, with 1 MB = 2^20 B
    r"\b1\s?(?:[kKMGT]B|[kmgt]ilobytes?)\s?(?:=|is|are|means?)\s?(?:2\s?(?:\^|\*\*)|1[, ]?024|1[, ]?048)"
    r"|^\s?\((?:[kKMG]iB|2\s?(?:\^|\*\*)\s?[1-4]0|1024)"
    r"|^\s?(?:[(\[]\s?(?:(?:in|i\.e\.,?|that is,?|=|meaning|as)\s?)?"
    r"(?:[kKMGT]iB|(?:ki|me|gi|te)bibytes?|(?:base[ -]2|binary|bin\u00e4r|IEC)(?:\s\w+)?)\s?[)\]]|/\s?[kKMGT]iB\b)"
)
_NEAR = 40  # characters
_PLAIN = re.compile(r"[\W_]+")
_OF_MODEL = re.compile(
    r"[\s*_`]*(?:(?:for|of|in|on|für|bei|von|pour|para|per)\s+(?:the\s+)?|\(\s*(?=[\w -]{0,30}\)))"
    rf"{_MODEL.pattern}(?!\s+(?:has|needs|is|was)\b)"
    r"|[\s*_`]*(?:(?:is|was|are|were)\s(?:(?:the\s)?(?:\w{1,12}\s){0,2}(?:for|of|in|from)|what)|belongs?\sto)\s"
    rf"(?:the\s)?{_MODEL.pattern}",
    re.IGNORECASE,
)


def doubt_about(label: str, before: str, after: str, about: str = "") -> str:
    """What makes one doubt that a number is the answer, as written; "" where nothing does.

    `label` leads to the words that are looked for, `before` from there to the number, `after` on from it. `about` is
    the model in question: a number said of another one is none.
    """
    leads = _TAG.sub(" ", REMARK.sub(" ", before))
    clause = _CLAUSE.split(leads)[-1]
    found = (
        _SIGN.search(leads)
        or _UNFINISHED.search(before)
        or _WORDS.search(clause)
        or _LABEL.search(label)
        or _OTHERS.search(label)
        or _SPEAKER.search(label + before)
        or _FROM.match(after)
        or _PART_OF.search(label + before)
        or _RANGE.search(label + before)
        or _BEHIND.match(after)
        or _REDEFINED.search(after)
    )
    doubt = found[0].strip() if found else left_to_do(label + before, after)
    doubt = doubt or (other_precision(before, after) if about else "")
    return doubt or other_model(label + leads, about) or said_of_other(after, about)


def other_precision(before: str, after: str) -> str:
    """What says of a number that it is of another precision than float32; "" where nothing does."""
    found = _PRECISION_BEFORE.search(before) or _PRECISION_BEHIND.match(after)
    return found[0].strip() if found else ""


def left_to_do(before: str, after: str) -> str:
    """The factor that a number is still to be multiplied with or divided by: `5 bytes / 2`; "" where there is none."""
    found = None if _TWO.search(before[-_NEAR:]) else _TO_BE_SCALED.match(after)
    return found[0].strip() if found else ""


def is_model(text: str) -> bool:
    """Whether a text is the name of a model, and nothing else."""
    return bool(_MODEL.fullmatch(text))


def other_model(text: str, about: str) -> str:
    """The name of a model that the text speaks of, where it is another one than `about`; else ""."""
    names = [match[0].strip(" _-") for match in _MODEL.finditer(text)] if about else []
    own = _PLAIN.sub("", about.lower())
    others = [name for name in names if _PLAIN.sub("", name.lower()) not in own]
    return others[0] if others and len(others) == len(names) else ""


def names_model(text: str) -> bool:
    """Whether a text speaks of a known model."""
    return _MODEL.search(text) is not None


def said_of_other(after: str, about: str) -> str:
    """The name of another model of which a number is said right behind it: `5 for ResNet-18`; else ""."""
    found = _OF_MODEL.match(after)
    return other_model(found[0], about) if found else ""
