import math

import pytest
import torch

from transformer_anatomy import TransformerConfig, causal_mask, padding_mask, sinusoids, window_mask
from transformer_anatomy.model.positions import count_positions, positions_module

KINDS = ["sinusoidal", "learned", "none"]


def module(kind, **sizes):
    return positions_module(TransformerConfig(**{"vocab_size": 5, "d_model": 8, "positions": kind} | sizes))


class TestCounting:
    def test_without_a_mask_they_count_from_zero_and_go_on_after_earlier_ones(self):
        assert count_positions(4).tolist() == [[0, 1, 2, 3]]
        assert count_positions(2, offset=6).tolist() == [[6, 7]]

    def test_padding_on_the_right_changes_nothing(self):
        assert count_positions(4, padding_mask([4, 2], 4)).tolist() == [[0, 1, 2, 3]] * 2

    def test_padding_on_the_left_is_not_counted(self):
        left = padding_mask([4, 2, 1], 4).flip(-1)
        assert count_positions(4, left).tolist() == [[0, 1, 2, 3], [0, 0, 0, 1], [0, 0, 0, 0]]
        assert count_positions(1, left, offset=3).tolist() == [[3], [1], [0]]

    @pytest.mark.parametrize("other", [causal_mask(4), window_mask(4, 1)], ids=["causal", "window"])
    def test_a_mask_that_also_hides_the_future_or_the_distance_counts_the_same(self, other):
        for left in (padding_mask([4, 2, 1], 4).flip(-1), torch.ones(3, 1, 1, 4, dtype=torch.bool)):
            assert torch.equal(count_positions(4, left & other), count_positions(4, left))

    def test_a_token_that_one_head_or_one_query_may_attend_to_counts(self):
        mask = torch.zeros(1, 2, 3, 3, dtype=torch.bool)
        mask[0, 1, 2, 1] = True
        assert count_positions(3, mask).tolist() == [[0, 0, 1]]

    def test_every_kind_of_mask_that_broadcasts_is_understood(self):
        assert count_positions(3, torch.tensor([False, True, True])).tolist() == [[0, 0, 1]]
        assert count_positions(3, torch.tensor(True)).tolist() == [[0, 1, 2]]
        assert count_positions(2, torch.tensor([[[[True], [False]]]])).tolist() == [[0, 1]]

    def test_padding_alone_stands_at_zero(self):
        assert count_positions(3, padding_mask([0], 3)).tolist() == [[0, 0, 0]]

    def test_nothing_has_no_position(self):
        assert count_positions(0, padding_mask([0, 0], 0)).shape == (1, 0)
        assert count_positions(3, padding_mask([], 3)).shape == (1, 3)


class TestSinusoids:
    @pytest.mark.parametrize("default", [torch.float64, torch.bfloat16])
    def test_they_are_float32_whatever_the_default(self, default):
        expected = sinusoids(torch.arange(100), 64)
        torch.set_default_dtype(default)
        try:
            given = sinusoids(torch.arange(100), 64)
        finally:
            torch.set_default_dtype(torch.float32)
        assert given.dtype == torch.float32 and torch.equal(given, expected)

    def test_sine_and_cosine_of_a_pair_share_their_frequency(self):
        pairs = [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]
        assert sinusoids(torch.tensor([[1]]), 4)[0, 0].tolist() == pytest.approx(pairs, abs=1e-6)

    def test_neighbours_are_equally_alike_everywhere(self):
        positions = torch.tensor([[0, 1], [7, 8], [100, 101]])
        first, second = sinusoids(positions, 4).unbind(dim=1)
        alike = math.cos(1) + math.cos(0.01)
        assert (first * second).sum(dim=-1).tolist() == pytest.approx([alike] * 3, abs=1e-5)

    def test_an_odd_width_ends_with_a_sine(self):
        third = math.sin(10_000 ** (-2 / 3))
        assert sinusoids(torch.tensor([1]), 3)[0].tolist() == pytest.approx([math.sin(1), math.cos(1), third], abs=1e-6)
        assert sinusoids(torch.tensor([2]), 1)[0].tolist() == pytest.approx([math.sin(2)])
        assert torch.equal(sinusoids(torch.arange(9), 1), sinusoids(torch.arange(9), 2)[:, :1])

    @pytest.mark.parametrize("d_model", [1, 2, 127, 512])
    def test_they_are_the_formula_for_every_width_and_up_to_far_positions(self, d_model):
        ours = sinusoids(torch.arange(512), d_model)
        for position in (0, 1, 63, 511):
            angles = [position / 10_000 ** (2 * (i // 2) / d_model) for i in range(d_model)]
            expected = [math.cos(angle) if i % 2 else math.sin(angle) for i, angle in enumerate(angles)]
            # A float32 near 511 is exact to 3e-5, and so is the sine of it.
            assert ours[position].tolist() == pytest.approx(expected, abs=1e-4)

    def test_they_are_computed_in_float32_whatever_the_stream_is(self):
        assert sinusoids(torch.tensor([300]), 8).dtype == torch.float32
        for dtype in (torch.float16, torch.bfloat16, torch.float64):
            added = module("sinusoidal")(torch.zeros(1, 1, 8, dtype=dtype), torch.tensor([[300]]))
            # 300 · 10000^(-1/4) itself would be off by 0.06 in bfloat16; only the result is rounded.
            expected = sinusoids(torch.tensor([[300]]), 8).to(dtype)
            assert added.dtype == dtype and torch.equal(added, expected)

    def test_a_width_is_refused_if_there_is_none(self, unchecked):
        with pytest.raises(ValueError, match="d_model must be a whole number of at least 1, got 0"):
            sinusoids(torch.tensor([1]), 0)


class TestAdding:
    def test_sinusoids_are_added(self):
        x, positions = torch.randn(2, 3, 8), torch.tensor([[0, 1, 2], [0, 0, 1]])
        assert torch.equal(module("sinusoidal")(x, positions), x + sinusoids(positions, 8))

    def test_learned_vectors_are_looked_up_and_added(self):
        learned, x, positions = module("learned", max_length=3), torch.randn(2, 3, 8), torch.tensor([[2, 0, 1]])
        assert learned.table.weight.shape == (3, 8)
        assert torch.equal(learned(x, positions), x + learned.table.weight[[2, 0, 1]])

    def test_none_adds_nothing(self):
        x = torch.randn(2, 3, 8)
        assert torch.equal(module("none")(x, torch.arange(3)[None]), x)

    @pytest.mark.parametrize("kind", KINDS)
    def test_the_stream_keeps_its_device_and_dtype(self, kind):
        moved = module(kind).to("meta")
        assert moved(torch.zeros(1, 2, 8, device="meta"), torch.arange(2, device="meta")[None]).device.type == "meta"
        for dtype in (torch.float64, torch.float16):
            x = torch.zeros(1, 2, 8, dtype=dtype)
            assert module(kind).to(dtype)(x, torch.arange(2)[None]).dtype == dtype

    @pytest.mark.parametrize(("kind", "entries"), [("sinusoidal", []), ("learned", ["table.weight"]), ("none", [])])
    def test_only_what_is_learned_is_saved(self, kind, entries):
        assert list(module(kind).state_dict()) == entries
