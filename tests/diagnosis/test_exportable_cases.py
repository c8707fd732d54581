"""Hidden networks that a function has to be right on can be exported to ONNX, as a function may do."""

import pytest
from helpers.direct import a_subject, task
from torch import nn

from labgrade.subjects.networks import LAYERS


@pytest.mark.filterwarnings("ignore:Using padding")
@pytest.mark.parametrize("name", ["2-1-4-macs", "2-1-5-conv-activations"])
def test_adaptive_pools_divide_their_input(name):
    cases = {repr(each): each for check in task(name).checks if not check.bonus for each in check.cases}
    small = [each for each in cases.values() if each.model.startswith("micro/")]
    seen = []
    for case in small:
        module, x = a_subject(case).on_meta()
        for pool in module.modules():
            if isinstance(pool, nn.AdaptiveAvgPool2d):
                pool.register_forward_pre_hook(lambda m, given, case=case: seen.append((case.model, m, given[0].shape)))
        module(x)
    assert {model for model, _, _ in seen} >= {"micro/same_padding", "micro/uneven_kernel"}
    assert [model for model, pool, shape in seen if any(size % pool.output_size for size in shape[2:])] == []


def test_each_kind_of_layer_that_random_networks_have_stands_in_a_graded_one():
    """Else a function that counts it, too, is shown wrong where no points are, and keeps them all."""
    (check,) = [each for each in task("2-1-4-macs").checks if each.id == "other-models"]
    networks = [a_subject(task("2-1-4-macs").subject), *map(a_subject, check.cases)]
    there = {type(module).__name__ for each in networks for module in each.on_meta()[0].modules()}
    assert LAYERS - {"LayerNorm"} <= there, "a group norm stands for it"
