"""Weights out of one block of numbers: as spread as those that are drawn one by one, and no two parts alike."""

import torch

from labgrade.subjects.quick_draws import quick_draws


def drawn(seed=0, size=(2048, 512)):
    with torch.random.fork_rng(devices=[]), quick_draws(), torch.no_grad():
        torch.manual_seed(seed)
        return torch.empty(size).normal_(0, 0.1), torch.nn.init.uniform_(torch.empty(size), 1.0, 3.0)


def test_the_same_state_gives_the_same_and_another_state_others():
    for one, same, other in zip(drawn(), drawn(), drawn(1), strict=True):
        assert torch.equal(one, same)
        assert (one == other).float().mean() < 0.01


def test_they_are_spread_as_they_should_be():
    normal, uniform = drawn()
    assert abs(normal.mean()) < 1e-3
    assert 0.09 < normal.std() < 0.105
    assert 1 <= uniform.min() < 1.01
    assert 2.99 < uniform.max() <= 3
    assert abs(uniform.mean() - 2) < 0.01


def test_no_two_rows_or_columns_or_tiles_are_equal():
    weight, _ = drawn()
    tiles = weight.unfold(0, 64, 64).unfold(1, 64, 64).reshape(-1, 64 * 64)
    for parts in (weight, weight.T, tiles):
        assert len(torch.unique(parts, dim=0)) == len(parts)


def test_small_tensors_and_those_with_a_generator_are_drawn_as_ever():
    def made():
        torch.manual_seed(5)
        generator = torch.Generator().manual_seed(7)
        by_name = torch.empty(1 << 16).uniform_(to=2), torch.empty(1 << 16).normal_(std=0.5)
        return torch.empty(100).normal_(), torch.empty(1 << 16).uniform_(generator=generator), *by_name

    with torch.random.fork_rng(devices=[]):
        usual = made()
        with quick_draws():
            quick = made()
    assert all(map(torch.equal, usual, quick))


def test_torch_is_left_as_it_was():
    before = {name: getattr(torch.Tensor, name) for name in ("uniform_", "normal_")}
    with quick_draws():
        drawn()
    assert all(getattr(torch.Tensor, name) is own for name, own in before.items())
    assert not before.keys() & vars(torch.Tensor).keys()
