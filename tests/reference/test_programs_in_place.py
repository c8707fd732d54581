"""Programs of layers that write into their input, however these were wrapped, and the copies that they make of it."""

import pytest

from reference import _programs, programs

torch = pytest.importorskip("torch")
COPIES = (
    "dim_order_ops::_clone_dim_order.out",
    "dim_order_ops::_to_dim_order_copy.out",
    "aten::clone.out",
    "aten::copy_",
    "aten::copy.out",
    "aten::alias_copy.out",
    "aten::lift_fresh_copy.out",
)
OTHERS = (
    "aten::convolution.out",
    "aten::relu.out",
    "aten::view_copy.out",
    "aten::permute_copy.out",
    "aten::_to_copy.out",
)


def test_copies_count_unless_they_are_not_asked_for(monkeypatch):
    called = dict.fromkeys((*COPIES, *OTHERS), 1)
    monkeypatch.setattr(_programs, "plan", lambda _: _programs.Plan(called, ()))
    assert programs.pte_operators(None) == called
    assert list(programs.pte_operators(None, copies=False)) == [*OTHERS]


def test_of_what_is_handed_back_the_last_is_the_layer_s():
    x, y = torch.zeros(2, 3), torch.ones(2, 3)
    assert _programs._its_own([y], x) is y
    assert _programs._its_own([x, y], x) is y
    for made in ([], [5], [torch.zeros(7), y], [x, x, y], [y, 5]):
        with pytest.raises(ValueError, match=f"it puts out {len(made)} values, not one tensor"):
            _programs._its_own(made, x)


class Wrapped(torch.nn.Module):
    def __init__(self, layer, clone):
        super().__init__()
        self.layer, self.clone = layer, clone

    def forward(self, x):
        return self.layer(x.clone() if self.clone else x)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of torch.export and ExecuTorch, many
@pytest.mark.parametrize("clone", [False, True])
@pytest.mark.parametrize("name", ["ReLU", "Hardtanh", "LeakyReLU", "ReLU6"])
def test_a_program_of_a_wrapped_layer_is_what_the_layer_computes(tmp_path, name, clone):
    exir = pytest.importorskip("executorch.exir")
    layer = getattr(torch.nn, name)(inplace=True)
    given = torch.tensor([[-1.0, 2.0, -3.0, 8.0]])
    exported = torch.export.export(Wrapped(layer, clone).eval(), (given.clone(),))
    path = tmp_path / "layer.pte"
    path.write_bytes(exir.to_edge(exported).to_executorch().buffer)
    (made,) = _programs.run(path, [given.clone()])
    assert made.tolist() == layer(given.clone()).tolist()
    called = programs.pte_operators(path, copies=False)
    assert len(called) == 1
    assert "copy" not in str(called)
    assert "clone" not in str(called)
