"""What a spec may say of a counterexample, and what it hears when it can find none."""

import shutil

import pytest
from helpers.direct import COURSE, ROOT

from labgrade.core.errors import SpecError
from labgrade.spec import load

MACS = (ROOT / "specs/acal-lab2/2-1-4-macs.yaml").read_text(encoding="utf-8")
ASKED = "counterexample: {among: cnn, tries: 100}"
WORDS = "    words: {all: Total MACs, report: [Total MACs, Total multiply-accumulates, 總MACs, 总MACs, MACs]}\n"


def findings(folder, text):
    path = folder / "2-1-4-macs.yaml"
    path.write_text(text, encoding="utf-8")
    shutil.copy(ROOT / "specs/acal-lab2/lab.yaml", folder)
    try:
        load.read(path, COURSE)
    except SpecError as error:
        return [str(finding) for finding in error.findings]
    return []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace(ASKED, "counterexample: {among: rnn}"), "'rnn'"),
        (lambda text: text.replace(ASKED, "counterexample: {tries: 3}"), "among"),
        (lambda text: text.replace(ASKED, "counterexample: {among: cnn, tries: 0}"), "tries"),
        (lambda text: text.replace(ASKED, "counterexample: {among: sizes}"), "'sizes' are those of linear layers"),
        (
            lambda text: text.replace(ASKED, ASKED + ", cases: [{model: torchvision/vgg11}]"),
            "a check has 'cases' or 'counterexample', not both",
        ),
        (
            lambda text: text.replace(
                "    call: total_macs(model, input_size)\n", "    from: [{entry: 2-1-4.total}]\n"
            ).replace(WORDS, ""),
            "the answer needs a 'call' form",
        ),
        (
            lambda text: text.replace(ASKED, ASKED + ", expected: 3"),
            "what is right differs from network to network: give a 'quantity'",
        ),
    ],
)
def test_a_finding_says_what_does_not_fit(change, said, tmp_path):
    assert findings(tmp_path, MACS) == []
    changed = change(MACS)
    assert changed != MACS
    assert any(said in finding for finding in findings(tmp_path, changed)), findings(tmp_path, changed)
