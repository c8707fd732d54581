"""A function that is right on all small networks may be wrong on a model that has what none of these has."""

import pytest
from helpers.direct import RIGHT, trials

from labgrade.diagnosis.behaviour import explore
from labgrade.diagnosis.diagnose import Diagnoser
from labgrade.diagnosis.networks.called import called_on
from labgrade.diagnosis.stated import Means, by_itself
from labgrade.judging.items import items

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:Using padding")]

OF_CONVOLUTIONS = RIGHT.replace("(nn.Conv2d, nn.Linear)", "(nn.modules.conv._ConvNd, nn.Linear)")


def said(folder, source, model):
    found = trials(folder, source, check="other-models")
    (item,) = (each for each in items(found.task) if each.check.id == "other-models" and each.subject.model == model)
    try:
        own = found(item.subject)
        means = Means(kind=found.kind, judging=own.judging, expect=own.expect, oracle=found._grader.oracle)
        diagnoser = Diagnoser(found._grader, found.task, found._submission)
        assert diagnoser.right_elsewhere(item)
        return by_itself(own.verdict, own.value, item, lambda: means, found.quantities, diagnoser).hint
    finally:
        found._grader.stop()


def test_a_slip_that_no_small_network_shows_is_told_of_the_model_that_shows_it(tmp_path):
    """That all kernels have the width for their height gives this number, too, and small networks refute it."""
    assert said(tmp_path, OF_CONVOLUTIONS, "micro/unordered").startswith("A transposed convolution is counted at each")


def test_a_slip_that_small_networks_refute_is_not_told(tmp_path):
    """The number is that of linear layers that count twice."""
    more = "491_520 * (len(total) == 3 and total[0] == 552_960)"
    broken = RIGHT.replace("return sum(total)", f"return sum(total) + {more}")
    assert not said(tmp_path, broken, "micro/unordered").startswith("Linear layers")


FIRST_RUN = """
import torch
from torch import nn

def macs_by_layer(model, input_size):
    macs = {}
    for name, m in model.named_modules():
        if isinstance(m, (nn.Conv2d, nn.Linear)):
            def hook(m, i, o, name=name):
                macs.setdefault(name, o.numel() * m.weight[0].numel())
            m.register_forward_hook(hook)
    with torch.no_grad():
        model(torch.zeros(input_size))
    return macs
"""


def test_that_the_first_run_is_kept_is_told_from_that_the_last_one_is(tmp_path):
    found = trials(tmp_path, FIRST_RUN, check="by-layer")
    try:
        behaviour = explore(found, called_on(found))
    finally:
        found._grader.stop()
    assert behaviour.holds.slips == ("repeats",)
    assert not behaviour.alike
