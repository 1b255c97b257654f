from copy import deepcopy

import pytest
import torch

from transformer_anatomy import (
    KeyValueCache,
    Transformer,
    TransformerConfig,
    causal_mask,
    padding_mask,
    record,
    window_mask,
)

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}
PASSES = [[5], [3, 5], [1, 2, 3, 4, 5]]  # where each pass ends: all at once, in two chunks, token by token
LEFT = padding_mask([5, 3], 5).flip(-1)  # the second sequence has two pads on its left
SOURCE = padding_mask([2, 4], 4)


def make_transformer(**choices):
    sizes = {"vocab_size": 11, "d_model": 16, "n_heads": 2, "n_layers": 2, "d_feedforward": 32, "max_length": 16}
    return Transformer(TransformerConfig(**sizes | choices)).eval()


@pytest.fixture
def transformer():
    return make_transformer()


@pytest.fixture
def decoder(transformer):
    return transformer.decoder


@pytest.fixture
def ids():
    return torch.randint(11, (2, 5))


@pytest.fixture
def memory(ids):
    return torch.randn(2, 4, 16)


def decode_in_passes(transformer, ids, memory, ends, mask=None, source_mask=None):
    """The logits at all positions, from one pass after the other over the same cache."""
    cache = KeyValueCache()
    logits = []
    with torch.no_grad():
        for end in ends:
            seen = None if mask is None else mask[..., :end, :end] if mask.shape[-2] > 1 else mask[..., :end]
            logits.append(
                transformer.decode(ids[:, :end], memory, target_mask=seen, source_mask=source_mask, cache=cache)
            )
            assert cache.length == end
    return torch.cat(logits, dim=1)


class TestSameNumbers:
    @pytest.mark.parametrize("norm", ["post", "pre", "none"])
    @pytest.mark.parametrize("positions", ["sinusoidal", "learned", "none"])
    @pytest.mark.parametrize("dtype", TOLERANCE, ids=["float32", "float64"])
    def test_cached_chunked_and_full_decoding_give_the_same_logits(self, ids, memory, norm, positions, dtype):
        transformer = make_transformer(norm=norm, positions=positions).to(dtype)
        memory = memory.to(dtype)
        for mask, source_mask in ((None, None), (LEFT, SOURCE)):
            full = transformer.decode(ids, memory, target_mask=mask, source_mask=source_mask)
            real = slice(None) if mask is None else mask[:, 0, 0]
            for ends in PASSES:
                logits = decode_in_passes(transformer, ids, memory, ends, mask, source_mask)
                torch.testing.assert_close(logits[real], full[real], atol=TOLERANCE[dtype], rtol=0)

    @pytest.mark.parametrize(
        "mask",
        [window_mask(5, 1), LEFT & window_mask(5, 2), LEFT.expand(2, 2, 5, 5), causal_mask(5).tril(-1)],
        ids=["window", "padded window", "padding for each head and query", "the past alone"],
    )
    def test_masks_with_a_row_for_each_query_are_read_for_the_new_ones(self, transformer, ids, memory, mask):
        full = transformer.decode(ids, memory, target_mask=mask)
        real = slice(None) if mask.dim() == 2 else LEFT[:, 0, 0]
        for ends in PASSES:
            logits = decode_in_passes(transformer, ids, memory, ends, mask)
            torch.testing.assert_close(logits[real], full[real], atol=1e-5, rtol=0)

    def test_so_are_masks_of_the_memory(self, decoder, ids, memory):
        memory_mask = torch.rand(2, 1, 5, 4) < 0.5
        cache = KeyValueCache()
        with torch.no_grad():
            decoder(ids[:, :3], memory, None, memory_mask[:, :, :3], cache)
            rest = decoder(ids, memory, None, memory_mask, cache)
        torch.testing.assert_close(rest, decoder(ids, memory, None, memory_mask)[:, 3:], atol=1e-5, rtol=0)

    @pytest.mark.parametrize(
        ("mask", "expected"),
        [
            (None, [[0, 1, 2, 3, 4, 5], [6], [7], [8]]),
            (padding_mask([7], 9).flip(-1), [[0, 0, 0, 1, 2, 3], [4], [5], [6]]),
        ],
    )
    def test_positions_go_on_where_the_last_pass_stopped(self, decoder, mask, expected):
        ids, memory, used, cache = torch.randint(11, (1, 9)), torch.randn(1, 4, 16), [], KeyValueCache()
        decoder.embedding.positions.register_forward_pre_hook(lambda module, given: used.append(given[1][0].tolist()))
        with torch.no_grad():
            for end in (6, 7, 8, 9):
                decoder(ids[:, :end], memory, None if mask is None else mask[..., :end], cache=cache)
        assert used == expected

    def test_only_what_is_new_is_computed_and_the_memory_is_read_once(self, decoder, ids, memory):
        queries, memories, cache = [], [], KeyValueCache()
        layer = decoder.layers[0]
        layer.self_attention.query_projection.register_forward_hook(lambda *a: queries.append(a[2].shape[1]))
        layer.cross_attention.key_projection.register_forward_hook(lambda *a: memories.append(a[2].shape[1]))
        with torch.no_grad():
            for end in (3, 4, 5):
                decoder(ids[:, :end], memory, cache=cache)
        assert queries == [3, 1, 1] and memories == [4]

    def test_a_step_can_be_recorded(self, decoder, ids, memory):
        cache = KeyValueCache()
        with torch.no_grad():
            with record(decoder) as full:
                decoder(ids, memory)
            decoder(ids[:, :4], memory, cache=cache)
            with record(decoder) as step:
                decoder(ids, memory, cache=cache)
        for kind in ("self", "cross"):
            weights = f"*.{kind}_attention.weights"
            torch.testing.assert_close(step.stack(weights), full.stack(weights)[..., -1:, :])

    def test_inference_mode_will_do(self, decoder, ids, memory):
        cache, full = KeyValueCache(), decoder(ids, memory)
        with torch.inference_mode():
            decoder(ids[:, :4], memory, cache=cache)
            torch.testing.assert_close(decoder(ids, memory, cache=cache), full[:, 4:], atol=1e-5, rtol=0)

    def test_without_samples_there_is_nothing_to_keep(self, decoder):
        cache = KeyValueCache()
        with torch.no_grad():
            for end in (2, 3):
                out = decoder(torch.zeros(0, end, dtype=torch.long), torch.zeros(0, 4, 16), cache=cache)
        assert out.shape == (0, 1, 16) and cache.length == 3


class TestMisuse:
    """Each of these would give other numbers than a pass over the whole sequence, without a word."""

    @pytest.fixture
    def cache(self, decoder, ids, memory):
        cache = KeyValueCache()
        with torch.no_grad():
            decoder(ids[:, :3], memory, cache=cache)
        return cache

    @pytest.mark.parametrize("end", [0, 2, 3])
    def test_the_same_tokens_cannot_be_fed_twice(self, cache, decoder, ids, memory, end):
        message = f"token_ids .*must be the whole sequence so far, longer than the 3 positions in the cache, got {end}"
        with torch.no_grad(), pytest.raises(ValueError, match=message):
            decoder(ids[:, :end], memory, cache=cache)

    def test_nor_the_new_token_alone_nor_another_prompt(self, cache, decoder, ids, memory):
        for others in (ids.roll(1, dims=1), ids.flip(0), ids[:1], ids.repeat(2, 1)):
            with torch.no_grad(), pytest.raises(ValueError, match="token_ids must begin with those in the cache"):
                decoder(others, memory[:1].expand(len(others), 4, 16), cache=cache)

    def test_nor_can_the_memory_change(self, cache, decoder, ids, memory):
        for other in (memory + 1e-3, memory[:, :3], memory[:1].expand(2, 4, 16)):
            with torch.no_grad(), pytest.raises(ValueError, match="memory must be the one that the cache was filled"):
                decoder(ids, other, cache=cache)

    def test_nor_what_the_past_could_see(self, cache, decoder, ids, memory):
        with torch.no_grad(), pytest.raises(ValueError, match=r"^mask must hide from the 3 positions"):
            decoder(ids, memory, LEFT, cache=cache)
        with torch.no_grad(), pytest.raises(ValueError, match="memory_mask must hide from the 3 positions"):
            decoder(ids, memory, None, SOURCE, cache=cache)
        everything = torch.ones(2, 1, 1, 5, dtype=torch.bool), torch.ones(4, dtype=torch.bool)
        with torch.no_grad():
            decoder(ids, memory, *everything, cache=cache)  # says the same as no mask

    def test_nor_from_where_positions_count(self, decoder, ids, memory):
        late = torch.ones(5, 5, dtype=torch.bool)
        late[:4, 0] = False  # Only the last query sees the first token, which was no token to the others.
        cache = KeyValueCache()
        with torch.no_grad():
            decoder(ids[:, :4], memory, late[:4, :4], cache=cache)
            with pytest.raises(
                ValueError, match="mask must let the 4 positions in the cache count from where they did"
            ):
                decoder(ids, memory, late, cache=cache)

    def test_nor_can_another_decoder_go_on(self, cache, decoder, ids, memory):
        for other in (deepcopy(decoder), make_transformer().decoder):
            with torch.no_grad(), pytest.raises(ValueError, match="cache was filled by another decoder"):
                other(ids, memory, cache=cache)

    def test_it_carries_no_gradient(self, cache, decoder, ids, memory):
        message = "cache must be used in evaluation mode and inside torch.no_grad"
        with pytest.raises(ValueError, match=message):
            decoder(ids, memory, cache=cache)
        decoder.layers[0].train()  # one part of it is enough to draw dropout
        with torch.no_grad(), pytest.raises(ValueError, match=message):
            decoder(ids, memory, cache=cache)

    @pytest.mark.parametrize("place", ["layers.0.feedforward", "layers.1.cross_attention", "final_norm"])
    def test_a_pass_that_fails_leaves_no_trace(self, cache, decoder, ids, memory, place):
        def fail(module, given):
            raise KeyboardInterrupt

        broken = decoder.get_submodule(place).register_forward_pre_hook(fail)
        with torch.no_grad():
            with pytest.raises(KeyboardInterrupt):
                decoder(ids, memory, cache=cache)
            broken.remove()
            assert cache.length == 3
            again = decoder(ids, memory, cache=cache)
        torch.testing.assert_close(again, decoder(ids, memory)[:, 3:], atol=1e-5, rtol=0)

    def test_writing_into_what_was_given_is_noticed(self, decoder, ids, memory):
        mask = LEFT.clone()
        for tensor, name in ((ids, "token_ids"), (memory, "memory"), (mask, "mask")):
            cache = KeyValueCache()
            with torch.no_grad():
                decoder(ids[:, :3], memory, mask[..., :3], cache=cache)
                tensor[0, ..., 0] = 1 - tensor[0, ..., 0] if tensor.dtype != torch.bool else ~tensor[0, ..., 0]
                with pytest.raises(ValueError, match=rf"^{name} must"):
                    decoder(ids, memory, mask, cache=cache)

    def test_a_memory_with_nan_is_still_the_same_memory(self, decoder, ids, memory):
        memory[0, 0, 0] = torch.nan
        cache = KeyValueCache()
        with torch.no_grad():
            decoder(ids[:, :3], memory, cache=cache)
            assert decoder(ids, memory, cache=cache)[0].isnan().all()


def test_training_goes_on_before_and_after_decoding_with_a_cache(transformer, ids):
    optimizer = torch.optim.SGD(transformer.parameters(), lr=0.1)
    for _ in range(2):
        transformer.train()
        transformer(ids, ids).square().mean().backward()  # needs no retain_graph: no cache holds the last graph
        optimizer.step()
        transformer.eval()
        memory, cache = transformer.encode(ids), KeyValueCache()
        with torch.no_grad():
            transformer.decode(ids[:, :3], memory, cache=cache)
        kept = [tensor for layer in cache.layers for keys in layer for tensor in keys.held]
        assert not any(tensor.requires_grad for tensor in [*kept, cache.inputs.memory])


def test_two_caches_of_one_decoder_do_not_meet(decoder, ids, memory):
    first, second = KeyValueCache(), KeyValueCache()
    with torch.no_grad():
        for end in (2, 5):
            ours = decoder(ids[:, :end], memory, cache=first)
            others = decoder(ids[:, :end].flip(0), memory, cache=second)
    torch.testing.assert_close(ours, decoder(ids, memory)[:, 2:], atol=1e-5, rtol=0)
    torch.testing.assert_close(others, decoder(ids.flip(0), memory)[:, 2:], atol=1e-5, rtol=0)


def test_the_first_pass_over_several_tokens_hides_the_future_too(decoder, ids, memory):
    changed = ids.clone()
    changed[:, 2:] = (changed[:, 2:] + 1) % 11
    with torch.no_grad():
        ours, others = (decoder(each, memory, cache=KeyValueCache()) for each in (ids, changed))
    assert torch.equal(ours[:, :2], others[:, :2]) and not torch.equal(ours[:, 2:], others[:, 2:])
    with record(decoder, "*.self_attention.weights") as trace, torch.no_grad():
        decoder(ids, memory, cache=KeyValueCache())
    assert not trace.stack("*").masked_select(~causal_mask(5)).any()
