import re
import subprocess
from fractions import Fraction

import pytest
from helpers.linear import takes_linear_time

from labgrade.answers import reports, text
from labgrade.answers.reader.asks import Ask, perform
from labgrade.core.results import Answer, NoAnswer
from labgrade.core.task import TableOfType, TableType, TextForm
from labgrade.values import Number
from labgrade.verdict import Outcome

MACS = 1_498_376_192
BYTES = 26_499_616

TOTAL_MACS = r"""
The output of my program:¶¶    Total MACs: 1,498,376,192
Total MACs = Conv2d + Linear  ¶= 1,497,352,192 + 1,024,000  ¶= **1,498,376,192**
Total MACs¶  = 1,497,352,192 + 1,024,000¶  = 1,498,376,192
Example output:¶Total MACs: 3,976,448¶¶What we got:¶Total MACs: 1,498,376,192
What it printed, as expected:¶```¶Total MACs: 1,498,376,192¶```
Total MACs = 1498376192
Total MACs: 1.498,376 Mio.
Total MACs: 1.498,4 millones[^1]
Total MACs: 1 498,376192 M
Total MACs: 1,498,376,192 (1.498 G), which my program printed instead of 1.498 G at first
| Quantity | Millions |¶|---|---|¶| Total MACs | 1498.376 |
Total MACs: 1,498,376,192
**Total MACs**: 1,498,376,192
**Total MACs:** 1,498,376,192
**Total MACs = 1,498,376,192**
`Total MACs` = `1,498,376,192`
| Total MACs | 1,498,376,192 |
| **Total MACs** | `1498376192` |
| Total MACs | 1.498 | GMac |
| Total MACs | GoogLeNet | 1,498,376,192 |
│ Total MACs │ 1498376192 │
<td>Total MACs</td><td>1498376192</td>
total macs 1498376192
TOTAL MACS: 1498376192.
Total  MACs    1498376192
total_macs: 1498376192
total_macs = 1498376192
TotalMACs: 1498376192
Total MAC: 1498376192
Total MAC(s): 1498376192
Total number of MACs: 1498376192
Total MACs: 1.498 GMac.
Total MACs is 1.498376192 GMac
The total MACs of GoogLeNet is 1,498,376,192.
The total MACs of the 57 convolutions and 1 linear layer is 1,498,376,192.
The total MACs are 1.498 G.
Total MACs equals 1498376192.
Total MACs (G): 1.498
Total MACs: about 1.5 G; precisely 1,498,376,192
Total MACs: 1.498 (G)
Total MACs: **1.498** [in GMACs]
Total MACs (GMACs) | 1.498
Total MACs [M] = 1498.376192
Total MACs （G）：1.498
Total MACs：１４９８３７６１９２
Total MACs ≈ 1.498×10^9
Total MACs ≈ $1.498 \times 10^{9}$
Total MACs $= 1{,}498{,}376{,}192$
Total MACs -> 1498376192
Total MACs → 1498376192
Total MACs — 1498376192
Total MACs - 1498376192
1. Total MACs: 1498376192
- Total MACs: 1498376192 (57 conv layers)
> Total MACs: 1498376192
Total MACs (Conv2d + Linear): 1498376192
Total MACs (see 2-1-4): 1498376192
Total MACs (2024-03-01): 1498376192
Total MACs (1,498,376,192)
Total MACs (1.498 G): 1,498,376,192
Total MACs for one 224x224 image with torch 2.13.0: 1498376192
Total MACs = 1497352192 + 1024000 = 1498376192
Total MACs = 1497352192 (Conv2d) + 1024000 (Linear) = 1498376192
Total MACs = Conv (1497352192) + Linear (1024000) = 1498376192
Total MACs = 1.498 G (1,498,376,192)
Total MACs: 1.498 GMACs (2.997 GFLOPs)
Total MACs: 1498376192 MACs = 1.498 GMACs
Total MACs: 14.98 億
Total MACs: 1 498 376 192
Total MACs,1498376192
Total MACs: np.int64(1498376192)
{"Total MACs": 1498376192}
{'total_macs': 1498376192, 'params': 6624904}
Total MACs per inference come out at 1,498,376,192.
Total MACs:¶¶1,498,376,192
### Total MACs¶```¶1498376192¶```
| Total MACs | Total params |¶|---|---|¶| 1498376192 | 6624904 |
| Model | Total MACs (G) |¶|:--|--:|¶| GoogLeNet | 1.498 |
Model | Total MACs¶--- | ---¶GoogLeNet | 1498376192
| layer | Total MACs |¶|---|---|¶| Conv2d | 1497352192 |¶| Linear | 1024000 |¶| **Total** | 1498376192 |
│ net │ Total MACs │¶├─────┼────────────┤¶│ one │ 1498376192 │
print(f"Total MACs: {total/1e9:.3f} G")¶Total MACs: 1.498 G
total_macs = 0¶for layer in layers:¶    total_macs += 64 * 3¶Total MACs: 1498376192
Total MACs were counted by hand, see torch 2.13¶Total MACs: 1498376192
""".strip().splitlines()

NO_TOTAL_MACS = r"""
Total MACs
Total MACs: see below
Subtotal MACs: 5000
sub-total MACs: 5000
conv_total_macs: 5000
Total MACs_per_layer: 5000
Total params: 5000
Total Conv MACs: 5000
1. Total MACs¶2. Total params: 5000
Total MACs¶1. Conv2d
Total MACs were computed with torch 2.13.0
Total MACs (20 points)
Total MACs of 2 models
Total MACs: 2024-03-01
Total MACs: 12:30
Total MACs: 1,4983
Total MACs: N/A¶Params: 6624904
Total MACs computed in 2-1-4.¶¶6624904 params
total_macs = sum(p.numel() for p in model.parameters())
print("Total MACs: 1498376192")
Total MACs / FLOPs / params: see below
""".strip().splitlines()

TOTAL_MACS += r"""
Total MACs in G: 1.498
Total MACs (in billions): 1.498
Total MACs (×10^9): 1.498
Total GMACs: 1.498
Total MMACs = 1498.376192
Total MACs ~1.498B
Total MACs: 1.498.376.192
Total MACs: 1.498 × 10<sup>9</sup>
Total MACs: $1,\!498,\!376,\!192$
Total MACs: $1497352192 + 1024000 = 1498376192$
Total MACs: $749188096 \times 2 = 1498376192$
Total MACs: $749188096 \cdot 2 = 1498376192$
Total MACs / FLOPs: 1,498,376,192 / 2,996,752,384
Total MACs and params: 1,498,376,192 and 6,624,904
Total MACs: ~~1,356,857,600~~ 1,498,376,192
Total MACs: <del>1,356,857,600</del> 1,498,376,192
Total MACs: 1,498,376,192 MACs (2,996,752,384 FLOPs)
Total MACs: 2,996,752,384 FLOPs (1,498,376,192 MACs)
Total MACs: 1,498,376,192 (1.498 G)
Total MACs: 1,498,376,192 (≈1.50 GMACs, or 3.00 GFLOPs)
Total MACs: 1,498,376,192 (with aux: 1,600,000,000)
Total MACs: 1,498,376,192, total params: 6,624,904
Total MACs: 1,498,376,192, 57 convolutions
Total MACs (not counting batch norm): 1,498,376,192
Total MACs, not counting batch norm, are 1,498,376,192
Total MACs at most layers are small, but in sum: 1,498,376,192
Total MACs => 1,498,376,192
GoogLeNet needs 1,498,376,192 total MACs.
A total of 1,498,376,192 **total MACs**
4 Total MACs: 1,498,376,192
+------------+---------------+¶| Total MACs | 1,498,376,192 |¶+------------+---------------+
> Total MACs:¶> 1,498,376,192
Total MACs ............ 1,498,376,192
Total MACs amount at present to 1,498,376,192
Total MACs is 1.5 G, more precisely 1,498,376,192
Total MACs with batch size = 1: 1,498,376,192
Total MACs: 1,498,376,192 (ptflops says 1.51 GMac)
Total MACs: 1,498,376,192 vs. ptflops: 1,513,907,448
Total MACs: 1,498,376,192 instead of the 1,356,857,600 from before
Total MACs are 1,498,376,192, which is more than AlexNet's 714,188,480.
Total MACs: 1,498,376,192 minimum
總 MACs (Total MACs) 不含 bias 為 1,498,376,192
Old total MACs: 1,356,857,600¶Total MACs: 1,498,376,192
Total MACs are not 1,356,857,600¶Total MACs: 1,498,376,192
```python¶# Total MACs: 5¶```¶Total MACs: 1,498,376,192
total_macs = 0¶Total MACs: 1,498,376,192
| model | Total MACs |¶|---|---|¶| ResNet-18 | 1,814,073,344 |¶| GoogLeNet | 1,498,376,192 |
Total MACs of ResNet-18: 1,814,073,344¶Total MACs of GoogLeNet: 1,498,376,192
Total MACs (unlike ResNet-18): 1,498,376,192
Total MACs of Inception v1: 1,498,376,192
| | GoogLeNet | AlexNet (to compare) |¶|---|---|---|¶| Total MACs (G) | 1.498 | 0.714 |
| | AlexNet | GoogLeNet |¶|---|--:|--:|¶| Total MACs | 714,188,480 | 1,498,376,192 |
| Quantity | Unit | GoogLeNet | VGG16 |¶|---|---|---|---|¶| Total MACs | GMac | 1.498 | 15.47 |
| Quantity | ours | ResNet-18 | Unit |¶|---|---|---|---|¶| Total MACs | 1.498 | 1.814 | GMac |
""".strip().splitlines()

DOUBTFUL = r"""
The output should look like this:¶¶    Total MACs: 1,498,376,192
Expected output:¶```¶Total MACs: 1,498,376,192¶```
Expected output:¶```¶Total params: 6,624,904¶¶Total MACs: 1,498,376,192¶```
A sample run, for example:¶¶    Total params: 6,624,904¶    Total MACs: 1,498,376,192
The program should print:¶> Total params: 6,624,904¶> Total MACs: 1,498,376,192
La salida debería ser:¶Total MACs: 1498376192
輸出範例：¶Total MACs: 1498376192
So sollte die Ausgabe aussehen:¶Total MACs: 1498376192
Total MACs is not 1,498,376,192.
Total MACs isn't 1,498,376,192.
Total MACs can’t be 1,498,376,192
Total MACs: not 1,498,376,192
Total MACs ≠ 1,498,376,192
Total MACs != 1,498,376,192
Total MACs $\neq 1,498,376,192$
Total MACs 不是 1,498,376,192
Total MACs < 1,498,376,192
Total MACs: < 1,498,376,192
Total MACs > 1,498,376,192
Total MACs >= 1,498,376,192
Total MACs: less than 1,498,376,192
Total MACs: at most 1,498,376,192
Total MACs: up to 1,498,376,192
Total MACs: 至少 1,498,376,192
Total MACs should have been 1,498,376,192 but I got 1,356,857,600
Total MACs would be 1,498,376,192 if ceil_mode were right
Total MACs: half of 1,498,376,192
Total MACs: one of 1,356,857,600, 1,498,376,192 and 2,996,752,384
Total MACs: between 1.4 and 1.5 G
Total MACs: 1,498,376,192???
Total MACs: 1,498,376,192 is wrong
Total MACs: 1,498,376,192, times two
Total MACs: 1,498,376,192 or more
Total MACs: 1,498,376,192 (wrong)
Total MACs: 1,498,376,192 per layer
Total MACs: 1,498,376,192 minus 57
Total MACs: 1,498,376,192 ± 5 %
Total MACs: 1,498,376,192 (A) or 1,356,857,600
Total MACs: 1,498,376,192 ± 100,000,000
Total MACs: $1,498,376,192 \pm 100,000,000$
Total MACs: 1,498,376,192, 1,513,907,448, 2,996,752,384
Total MACs: 1,498,376,192 or 1,513,907,448
Total MACs: 1,498,376,192 (or maybe 1,356,857,600)
Total MACs: 1,356,857,600 (1,498,376,192)
Total MACs: 1,498,376,192 ~ 2,000,000,000
Total MACs: 1,498,376,192 to 3,000,000,000
Total MACs: 1.4 - 1.5 G
Total MACs: 1,498,376,192 / 1,513,907,448
| Total MACs | 1,498,376,192 | 2,996,752,384 |
Total MACs: 1,498,376,192 FLOPs
Total MACs: 2.997 GFLOPs
Total MACs: 1,498,376,192 params
Expected Total MACs: 1,498,376,192¶¶I got 1,356,857,600
Total MACs of ResNet-18: 1,498,376,192
| model | Total MACs |¶|---|---|¶| ResNet-18 | 1,498,376,192 |
It is not 1,498,376,192 total MACs
Total MACs: 1,498,376,192 was my first result, but I forgot the heads; it must be 1,513,907,448.
Total MACs: 1.498 G is what others would get; my program gives 1.511 G, which I hand in.
Total MACs: 1,498,376,192. Corrected: 1,513,907,448
Total MACs: 1,498,376,192（更正：1,513,907,448）
""".strip().splitlines()

HIDDEN = r"""
Total MACs: ~~1,498,376,192~~
~~Total MACs: 1,498,376,192~~¶¶Total MACs: no idea
<!-- Total MACs: 1,498,376,192 -->
<!--¶Total MACs: 1,498,376,192
Total MACs: see https://example.com/1498376192
Total MACs: [link](https://example.com/?n=1498376192)
Total MACs: ![1498376192](x.png)
""".strip().splitlines()

WEIGHT_BYTES = r"""
Total memory for parameters: 26499616 bytes
Total memory for parameters: 26499616
Total memory for parameters: 26.499,6 kB (kilobytes of 1000 bytes; 25.878,5 KiB)
| Quantity | MiB |¶|:--|--:|¶| Layers | 57 |¶| Total memory for parameters | 25.272 |
| Memory | Value (MB) | Layers |¶|---|---|---|¶| Total memory for parameters | 26.50 | 57 |
Total memory for parameters:  26,499,616 Bytes
**Total memory for parameters**: 26.50 MB
Total memory for parameters (MB): 26.50
Total memory for parameters (bytes) = 26499616
Total memory for parameters is 25.272 MiB.
Total memory for parameters (MiB)¶25.272
Total memory for parameters = 6624904 * 4 = 26499616 bytes
Total memory for parameters = 6624904 params × 4 bytes = 26499616 bytes
Total memory for parameters: 6,624,904 parameters * 4 B/param = 26,499,616 B
Total memory for parameters: 26.5 MB (26,499,616 bytes)
Total memory for parameters: 26,499,616 bytes (25.27 MiB)
Total memory for the parameters: 26.499616 MB
Total memory for parameters: 211,996,928 bits
Total memory for parameters: 25878.5 KiB
Total memory for parameters：26499616 位元組
Total memory for parameters ≈ 26.5M
Total memory for parameters: 0.0265 GB
Total memory for parameters (float32, 4 bytes each): 26499616
Total memory for parameters with 4 bytes each: 26499616
total_memory_for_parameters: 26499616
| Total memory for parameters | 26,499,616 B |
| Total memory for parameters | 26.50 | MB |
Total memory for parameters (in MiB): 25.27
Total memory for parameters in MB: 26.50
Total memory for parameters: 26.5 MBs
Total memory for parameters: 26.5 Mo
Total memory for parameters: $6624904 \times 4 = 26499616$ bytes
Total memory for parameters: 26,499,616 bytes (25.27 MB)
Total memory for parameters: 26499616 bytes / 25.27 MiB
Total memory for parameters: 26,50 MB (4 Bytes pro Parameter)
Total memory for parameters: 26.50 MB (4 octets par paramètre)
Total memory for parameters: 26.50 MB (32 bit)
Total memory for parameters: at 4 bytes each, 26.50 MB
| Quantity | Unit | Value |¶|---|---|---|¶| Total memory for parameters | MiB | 25.272 |
ss << "Total memory for parameters: " << 12345678 << " bytes";¶Total memory for parameters: 26499616 bytes
""".strip().splitlines()


@pytest.fixture
def said(hand_in):
    def obtained(content, kind="count", about="", **form):
        content = content.replace("¶", "\n") if isinstance(content, str) else content
        form = {"file": "out.txt"} | form
        return text.obtain(kind, TextForm(**form), hand_in({"out.txt": content}), about=about)

    return obtained


def agrees(answer, value):
    return isinstance(answer, Answer) and abs(answer.value.value - value) <= answer.value.half_unit


@pytest.mark.parametrize("phrase", TOTAL_MACS)
def test_total_macs_in_many_phrasings(said, phrase):
    answer = said(f"MACs in detail\n{phrase}\nend\n", after="Total MACs", about="torchvision/googlenet")
    assert agrees(answer, MACS), answer


@pytest.mark.parametrize("phrase", DOUBTFUL)
def test_what_is_not_plainly_said_waits_for_a_person(said, phrase):
    answer = said(f"MACs in detail\n{phrase}\nend\n", after="Total MACs", about="torchvision/googlenet")
    assert isinstance(answer, NoAnswer), answer
    assert answer.verdict.outcome is Outcome.MANUAL
    assert re.search(r"\(line [2-6]", answer.verdict.reason)


@pytest.mark.parametrize("phrase", HIDDEN)
def test_what_a_reader_does_not_see_is_not_said(said, phrase):
    assert said(f"MACs in detail\n{phrase}\nend\n", after="Total MACs") is None


@pytest.mark.parametrize("unit", ["(bits)", "[in bits]", "bits"])
def test_a_unit_in_brackets_behind_a_number_is_its_unit(said, unit):
    answer = said(f"Total memory for parameters: {8 * BYTES} {unit}\n", "bytes", after="Total memory for parameters")
    assert answer.value.value == BYTES


@pytest.mark.parametrize("phrase", WEIGHT_BYTES)
def test_weight_bytes_in_many_phrasings(said, phrase):
    answer = said(f"Memory\n{phrase}\nend\n", "bytes", after="Total memory for parameters")
    assert agrees(answer, BYTES), answer


@pytest.mark.parametrize("phrase", NO_TOTAL_MACS)
def test_what_only_looks_like_total_macs(said, phrase):
    assert said(f"{phrase}\n", after="Total MACs") is None


@pytest.mark.parametrize(
    ("phrase", "after", "value"),
    [
        ("總MACs：1,498,376,192", "總MACs", MACS),
        ("模型的總 MACs 數量約為 1,498,376,192 次", "總MACs", MACS),
        ("**總MACs** 是 1498376192。", "總MACs", MACS),
        ("總參數量：6624904", "總參數", 6624904),
        ("不可訓練參數：0¶可訓練參數：6624904", "可訓練參數", 6624904),
        ("Non-trainable parameters: 0¶Trainable parameters: 6624904", "Trainable parameters", 6624904),
        ("non trainable params: 0¶trainable params: 6,624,904", "Trainable params", 6624904),
        ("Non-trainable parameters: 0", "Non-trainable parameters", 0),
        ("Total mult-adds (M): 1498.376192", "Total mult-adds (M)", MACS),
    ],
)
def test_other_words(said, phrase, after, value):
    assert agrees(said(phrase, after=after), value)


def test_the_origin_names_file_line_and_section(hand_in):
    submission = hand_in({"report.md": "# 2-1-3\nTotal MACs: 5\n# 2-1-4\n\nTotal MACs: 6\n"})
    answer = text.obtain("count", TextForm(after="Total MACs", report=("2-1-4",)), submission)
    assert (answer.value.value, answer.origin) == (6, "report.md:5, under 2-1-4")
    assert text.obtain("count", TextForm(after="Total MACs", report=("2-1-5",)), submission) is None
    assert text.obtain("count", TextForm(after="Total MACs", file="no.txt"), submission) is None


def test_no_report_is_no_answer(hand_in):
    assert text.obtain("count", TextForm(after="Total MACs", report=()), hand_in({"hw.py": ""})) is None


def test_remarks_of_the_document_are_kept(hand_in):
    submission = hand_in({"OUT.txt": "總MACs：5".encode("cp950")})
    answer = text.obtain("count", TextForm(after="總MACs", file="out.txt"), submission)
    assert answer.remarks == ("read 'OUT.txt' for 'out.txt'", "'OUT.txt' is not UTF-8: read as Big5")


def test_a_coarser_print_of_the_same_number_agrees_and_the_finest_is_judged(said):
    answer = said("Total MACs: 1.5 G\nTotal MACs: 1,498,376,192\nTotal MACs: 1.498 G\n", after="Total MACs")
    assert (answer.value.value, answer.value.half_unit, answer.origin) == (MACS, 0, "out.txt:2")


def test_different_values_wait_for_a_person(said):
    answer = said("Total MACs: 1.498 G\n\nTotal MACs: 1,356,857,600\nTotal MACs: 1.498 G\n", after="Total MACs")
    assert isinstance(answer, NoAnswer)
    assert answer.verdict.outcome is Outcome.MANUAL
    assert answer.verdict.reason == (
        "'Total MACs' is followed by different values: 1.498 G (line 1), 1,356,857,600 (line 3)"
    )
    assert answer.verdict.hint == "say one value behind these words"


def test_many_different_values_are_cut(said):
    answer = said("".join(f"Total MACs: {n}\n" for n in range(10, 20)), after="Total MACs")
    assert answer.verdict.reason.endswith("15 (line 6) and 4 more")


@pytest.mark.parametrize(
    ("phrase", "reason"),
    [
        (
            "Total MACs: 26.5 MB",
            "out.txt:1: behind 'Total MACs', '26.5 MB' is in bytes or bits, but a count is asked for",
        ),
        ("Total MACs: nan", "out.txt:1: behind 'Total MACs', 'nan' is not a number that can be judged"),
        ("Total MACs: 1e999999999", "out.txt:1: behind 'Total MACs', '1e999999999' is out of any sensible range"),
    ],
)
def test_a_value_of_the_wrong_kind_is_wrong(said, phrase, reason):
    answer = said(phrase, after="Total MACs")
    assert (answer.verdict.outcome, answer.verdict.reason) == (Outcome.INCORRECT, reason)


def test_shapes_and_words(said):
    assert said("Output shape: torch.Size([1, 64, 112, 112])", "shape", after="Output shape").value == (1, 64, 112, 112)
    assert said("Output shape is 1x64x112x112.", "shape", after="Output shape").value == (1, 64, 112, 112)
    assert said("| Output shape | (1, 64) |", "shape", after="Output shape").value == (1, 64)
    assert said("**Largest layer**: `conv2` ", "text", after="Largest layer").value == "conv2"
    assert said("| Name | Largest layer |\n|---|---|\n| x | conv2 |", "text", after="Largest layer").value == "conv2"
    assert said("| Name | Output shape |\n|---|---|\n| x | [1, 64] |", "shape", after="Output shape").value == (1, 64)
    assert said("Largest layer: a\nLargest layer: b", "text", after="Largest layer").verdict.outcome is Outcome.MANUAL


def test_a_file_that_is_the_value(said):
    assert said("1,498,376,192\n").value == Number(value=Fraction(MACS), text="1,498,376,192")
    assert said("\n") is None
    assert said("no idea").verdict.reason.startswith("out.txt: 'no idea' is not a count")


def test_binary_data_is_the_students(said):
    answer = said(b"\0\1\2", after="Total MACs")
    assert answer.verdict.outcome is Outcome.INCORRECT
    assert answer.verdict.reason == "'out.txt' holds binary data; hand in plain text (UTF-8)"


def test_tensors_are_not_read_from_text(said):
    assert said("1 2 3", TableOfType(kind="tensor")) is None


def test_a_pattern_finds_the_value(said):
    assert said("x\nMACs => 1.498 G\n", find=r"MACs => (?P<answer>.*)").value.value == 1_498_000_000
    assert said("x\nMACs => 1.498 G\n", find=r"MACs => (?P<answer>.*)").origin == "out.txt:2"
    assert said("x\n", find=r"MACs => (?P<answer>.*)") is None
    both = said("MACs => 5\nMACs => 6\n", find=r"MACs => (?P<answer>.*)")
    assert (both.verdict.outcome, both.verdict.reason) == (
        Outcome.MANUAL,
        "the text says different values: 5 (line 1), 6 (line 2)",
    )
    wrong = said("MACs => few\n", find=r"MACs => (?P<answer>.*)")
    assert wrong.verdict.reason.startswith("out.txt:1: 'few' is not a count")


def test_a_pattern_that_fails_is_ours(said, monkeypatch):
    def too_slow(command, **_):
        raise subprocess.TimeoutExpired(command, 10)

    monkeypatch.setattr(text.subprocess, "run", too_slow)
    answer = said("aaa", find="(a+)+(?P<answer>b)")
    assert answer.verdict.outcome is Outcome.FAULT
    assert answer.verdict.reason == "the pattern '(a+)+(?P<answer>b)' was not done after 10 s on 3 characters (out.txt)"


def test_histograms_and_tables(said):
    assert {name: int(n.value) for name, n in said("Conv: 3\nRelu: 2\n", "histogram").value.items()} == {
        "Conv": 3,
        "Relu": 2,
    }
    kind = TableType(row="layer", columns={"macs": "count"})
    content = "layer  macs\nconv1  5\n\n| layer | macs |\n|---|---|\n| conv1 | 5 |\n| fc | 6 |\n"
    answer = said(content, kind)
    assert [row.name for row in answer.value.rows] == ["conv1", "fc"]
    assert answer.remarks == ("other tables on line 1; the longest was read",)
    assert said("layer,macs\nconv1,few\n", kind).verdict.reason == (
        "out.txt:2: row 'conv1', column 'macs': 'few' is not a count (a whole number such as 1,498,376,192 or 1.498 G)"
    )
    assert said("nothing here", kind) is None


BY_TYPE = TableType(row="type", columns={"macs": "count"})
TABLE = "| Type | MACs |\n|---|---|\n| Conv2d | 5000 |\n| Linear | 6 |\n\n"


def test_tables_that_say_different_things_wait_for_a_person(said):
    answer = said(TABLE + "Theirs:\n\n" + TABLE.replace("6 |", "7 |\n| ReLU | 0 |"), BY_TYPE)
    assert (answer.verdict.outcome, answer.verdict.reason) == (
        Outcome.MANUAL,
        "several tables fit and don't say the same: on lines 1 and 8",
    )
    assert len(said(TABLE + TABLE.replace("5000", "5.000 k"), BY_TYPE).value.rows) == 2
    assert (
        len(said(TABLE + TABLE.replace("Type", "Layer").replace("| Linear", "| a | 1 |\n| fc"), BY_TYPE).value.rows)
        == 2
    )


def test_a_column_without_a_total_says_none(hand_in):
    submission = hand_in({"report.md": "## 2-1-4\n\n" + TABLE})
    form = TextForm(after="MACs", report=("2-1-4",))
    assert text.obtain("count", form, submission) is None
    assert text.seen_instead("count", form, submission) == text.Seen(
        text="a table of 2 rows was found (report.md:5, under 2-1-4), but no total", is_table=True
    )
    with_total = hand_in({"report.md": "## 2-1-4\n\n" + TABLE.replace("6 |\n", "6 |\n| **Total** | 5006 |\n")})
    assert text.obtain("count", form, with_total).value.value == 5006


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            "## 2-1-4\n\nIt is 1,498,376,192 in sum.\n",
            "report.md:3, under 2-1-4 says 'It is 1,498,376,192 in sum.', but no value",
        ),
        ("## 2-1-4\n\nI did it in 3 steps.\n", None),
        ("## 2-1-5\n\nIt is 1,498,376,192.\n", None),  # the missing heading is told instead
    ],
)
def test_what_was_seen_instead(hand_in, content, says):
    submission = hand_in({"report.md": content})
    seen = text.seen_instead("count", TextForm(after="Total MACs", report=("2-1-4",)), submission)
    assert seen is None if says is None else seen.text.startswith(says) and not seen.is_table


@pytest.mark.parametrize(
    ("phrase", "after", "value"),
    [
        ("Non-trainable parameters: none", "Non-trainable parameters", 0),
        ("Non-trainable parameters: zero.", "Non-trainable parameters", 0),
        ("non_trainable_params = 0", "Non-trainable params", 0),
        ("6,624,904 are trainable parameters and 0 non-trainable parameters.", "Non-trainable parameters", 0),
        ("6,624,904 are trainable parameters and 0 non-trainable parameters.", "Trainable parameters", 6_624_904),
        ("It has 13,004,888 total parameters, of which 6,624,904 are trainable.", "Total parameters", 13_004_888),
        ("GoogLeNet needs 1,498,376,192 MACs in total.", "MACs", MACS),
        ("總共需要 1,498,376,192 MACs", "MACs", MACS),
        ("# of MACs: 1,498,376,192", "MACs", MACS),
        ("GMACs: 1.498", "MACs", MACS),
    ],
)
def test_plain_words(said, phrase, after, value):
    assert agrees(said(phrase, after=after), value)


@pytest.mark.parametrize("phrase", ["Conv2d: 1,497,352,192 MACs", "Non-trainable: none of the MACs: few"])
def test_what_is_no_total(said, phrase):
    assert said(phrase, after="MACs") is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("piece", "size"),
    [
        ("Total MACs ", 4_000_000),
        ("| Total MACs |\n|---|\n", 4_000_000),
        ("a", 4_000_000),
        ("Total MACs\n", 2_000_000),
        ("Total MACs: 1\n", 2_000_000),
        ("Total ", 2_000_000),
        ("Total of the ", 2_000_000),
        ("(", 2_000_000),
        (" ", 2_000_000),
        ("\n", 2_000_000),
        ("1 ", 2_000_000),
    ],
)
def test_hostile_text_takes_linear_time(said, piece, size):
    def work(size):
        said("Total MACs" + piece * (size // len(piece)), after="Total MACs")

    assert takes_linear_time(work, size)


@pytest.mark.slow
def test_many_sections_of_full_width_text_take_linear_time(hand_in):
    form = TextForm(after="Total MACs", report=("GoogLeNet",))
    section = "## GoogLeNet\nTotal MACs：1\n## AlexNet\n" + "x" * 200 + "\n"

    def work(size):
        text.obtain("count", form, hand_in({"report.md": section * (size // len(section))}))

    assert takes_linear_time(work, 1_000_000)


LABELLED = [
    "Total MACs{}",
    "Total MACs: {}",
    "Total MACs is {}5",
    "| Total MACs | {}",
    "{}Total MACs: 5",
    "5{}Total MACs",
]
FILLS = [
    " ",
    "_",
    "*",
    "(",
    "[",
    "1,",
    "1 ",
    "|",
    "a ",
    "in ",
    "or 5,000 ",
    "~~",
    "<b>",
    "<!--",
    "=",
    "not ",
    "\\times 5",
    "# ",
]


@pytest.mark.slow
@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("line", LABELLED)
def test_hostile_lines_take_linear_time(said, line, fill):
    def work(size):
        content = (line.format(fill * (size // len(fill))) + "\n") * 3
        said(content, after="Total MACs", about="torchvision/googlenet")

    assert takes_linear_time(work, 80_000)


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ("# 2-1-4\nTotal: 5\n", "report.md:2"),
        ("intro\n\n# 2-1-4\n\n\n  Total: 5\nmore", "report.md:6"),
    ],
)
def test_the_place_of_a_passage_is_that_of_its_first_words(hand_in, said, place):
    (found,) = reports.passages([TextForm(report=("2-1-4",))], hand_in({"report.md": said}))
    assert found.startswith(f"[{place}]\nTotal: 5")


@pytest.mark.parametrize(
    ("heading", "shown"),
    [("2-1-4: 714M", True), ("## 2-1-4 = 113.9 MiB", True), ("# 2.1.4 beside HW 2-1~HW2-3", False), ("2-1-4", False)],
)
def test_a_heading_with_a_value_is_part_of_its_passage(hand_in, heading, shown):
    (found,) = reports.passages(
        [TextForm(report=("2-1-4",))], hand_in({"report.md": f"# Lab\n{heading}\nwords\n# 2-1-5"})
    )
    assert found == (f"[report.md:2]\n{heading}\nwords" if shown else "[report.md:3]\nwords")


def test_where_no_part_is_found_the_whole_report_is_shown(hand_in):
    said = "# 2-1-4\n# 2-1-5\nother"
    for forms in ([], [TextForm(report=("2-1-4",))], [TextForm(report=("2-9",)), TextForm(file="none.txt")]):
        ask = Ask(wanted="passages", kind="count", forms=tuple(forms))
        assert perform(ask, hand_in({"report.md": said})) == (f"[report.md:1]\n{said}",)
