import pytest

from labgrade.answers.reading.code import is_code, literal, parse


@pytest.mark.parametrize(
    "line",
    [
        "import torch",
        "from torch import nn",
        "def total_macs(model, input_size):",
        "class Net(nn.Module):",
        "for name, layer in model.named_modules():",
        "    if isinstance(layer, nn.Conv2d):",
        "total_macs = sum(p.numel() for p in model.parameters())",
        'print(f"Total MACs: {total}")',
        'print("Total MACs: 5")',
        'f"Total parameters: {total_params}",',
        'printf("Total MACs: %d", macs);',
        'ss << "Total MACs: " << macs << " bytes";',
        'info.append("Total MACs is {}".format(n))',
        "total_macs += 64 * 3 * 7 * 7",
        "total_macs = 0",
        "int64_t total_macs = 5;",
        "#include <torch/script.h>",
        "return 5",
        "self.relu = nn.ReLU(inplace=True)",
        "for m in nn.Sequential(a, b).modules()",
        "$ python hw.py",
        ">>> total_macs",
    ],
)
def test_code(line):
    assert is_code(line)


@pytest.mark.parametrize(
    "line",
    [
        "Total MACs: 1,498,376,192",
        "total_macs = 1498376192",
        "For GoogLeNet, the total MACs are:",
        "if we count the bias:",
        "Total MACs (Conv2d): 5",
        "MAC(s): 5",
        '{"Total MACs": 5}',
        r"$1.498 \times 10^{9}$ \text{GMac}",
        "conv1.conv: torch.Size([1, 64, 112, 112])",
        "Total MACs: np.int64(1498376192)",
        "# Total MACs",
        "Total MACs: 1.498 G;",
        "Total sum (MACs): 5",
        "| Total MACs | 5 |",
        "non-trainable parameters: 0",
        "There are 17 `nn.ReLU(inplace=True)` in it, which are called 49 times",
    ],
)
def test_results(line):
    assert not is_code(line)


def test_escapes_that_python_warns_of_are_read_whatever_is_made_of_warnings():
    assert literal("{'f\\[': 7}") == {"f\\[": 7}
    assert parse("total = '\\['").body
