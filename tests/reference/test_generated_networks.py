"""Networks made at random against witnesses that nobody here wrote: torch's own counter, and hooks on what really runs.

Ten of each kind; a hundred of each in `make soak`.
"""

import pytest
import torch
from helpers.soak import first
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from reference._counting.engine import analyse
from reference.macs import macs, macs_by_layer
from tests.reference.generated_networks import KINDS, generated

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

FEW, MANY = 10, 100
NUMBERS = first(range(MANY), FEW)


@pytest.fixture(autouse=True)
def products_in_the_open():
    """Attention, and recurrent layers, by kernels that torch's counter knows."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    with torch.backends.mkldnn.flags(enabled=False), sdpa_kernel(SDPBackend.MATH):
        yield
    torch.backends.mha.set_fastpath_enabled(fast)


def hooked(root):
    """The modules that take a hook, by name: not those that TorchScript runs, nor what is in them."""
    waiting = [("", root)]
    while waiting:
        name, module = waiting.pop()
        if not isinstance(module, torch.jit.ScriptModule):
            yield name, module
            waiting += [(f"{name}.{child}".strip("."), each) for child, each in module.named_children()]


def tensors(value):
    """The tensors of what a module puts out."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for each in value or () for tensor in tensors(each)] if isinstance(value, tuple | list) else []


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_products_shapes_and_types(kind, number):
    subject = generated(kind, number)
    module, given = subject.with_weights()
    seen, hooks = [], []
    for name, each in hooked(module):

        def hook(_, __, out, name=name):
            made = tensors(out)
            seen.append((name, tuple(tuple(each.shape) for each in made), sum(each.nbytes for each in made)))

        hooks.append(each.register_forward_hook(hook))
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        module(*given)
    for each in hooks:
        each.remove()
    subject = generated(kind, number)
    assert 2 * macs(subject) == counter.get_total_flops()
    assert sum(row["macs"] for row in macs_by_layer(subject)) == macs(subject)
    names = {name for name, *_ in seen}
    calls = sorted(analyse(subject).calls, key=lambda call: call.finished)
    of_hooked = [(call, each) for call, each in zip([c for c in calls if c.name in names], seen, strict=True)]
    for call, (name, shapes, size) in of_hooked:
        assert (call.name, call.outputs) == (name, shapes)
        assert call.hidden or call.output_bytes == size  # within vmap a tensor stands for many
