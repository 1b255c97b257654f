import pytest
import torch

from transformer_anatomy import Transformer, TransformerConfig, greedy_decode, padding_mask

with_and_without_cache = pytest.mark.parametrize("cached", [True, False], ids=["cached", "uncached"])


def make_transformer(**choices):
    """A model with large token vectors, whose choices vary with everything that it reads."""
    sizes = {"vocab_size": 40, "d_model": 16, "n_heads": 2, "n_layers": 2, "d_feedforward": 32, "max_length": 12}
    transformer = Transformer(TransformerConfig(**sizes | {"norm": "pre"} | choices)).eval()
    with torch.no_grad():
        for stack in (transformer.encoder, transformer.decoder):
            stack.embedding.tokens.weight.mul_(3)
    return transformer


def random_ids(batch, n):
    return torch.randint(40, (batch, n))


class TestDecoding:
    @with_and_without_cache
    def test_each_token_is_the_most_probable_one_after_those_before_it(self, cached):
        transformer, source, prompt = make_transformer(), random_ids(3, 6), random_ids(3, 2)
        ids = greedy_decode(transformer, source, prompt, n_new=5, cached=cached)
        assert ids.shape == (3, 7) and torch.equal(ids[:, :2], prompt)
        assert torch.equal(transformer(source, ids).argmax(dim=-1)[:, 1:-1], ids[:, 2:])

    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("positions", ["sinusoidal", "learned", "none"])
    @with_and_without_cache
    def test_prompts_of_unequal_length_go_on_together_as_each_alone(self, seed, positions, cached):
        torch.manual_seed(seed)
        transformer = make_transformer(positions=positions)
        sources, prompts = [random_ids(1, n) for n in (3, 6)], [random_ids(1, n) for n in (5, 2)]
        padding = torch.full((1, 3), 7)
        together = greedy_decode(
            transformer,
            torch.cat([torch.cat([sources[0], padding], dim=1), sources[1]]),
            torch.cat([prompts[0], torch.cat([padding, prompts[1]], dim=1)]),
            n_new=6,
            source_mask=padding_mask([3, 6], 6),
            prompt_mask=padding_mask([5, 2], 5).flip(-1),
            cached=cached,
        )
        for source, prompt, ids in zip(sources, prompts, together, strict=True):
            alone = greedy_decode(transformer, source, prompt, n_new=6, cached=cached)[0]
            assert torch.equal(ids[5 - prompt.shape[1] :], alone)
            assert len(alone.unique()) > 3  # A model that says one thing over and over would show nothing.

    def test_padding_that_is_not_hidden_would_change_what_is_said(self):
        transformer, source, prompt = make_transformer(), random_ids(1, 6), random_ids(1, 2)
        padded = torch.cat([torch.full((1, 3), 7), prompt], dim=1)
        hidden = greedy_decode(transformer, source, padded, n_new=6, prompt_mask=padding_mask([2], 5).flip(-1))
        assert not torch.equal(greedy_decode(transformer, source, padded, n_new=6), hidden)

    @with_and_without_cache
    def test_nothing_of_one_prompt_is_left_for_the_next(self, cached):
        transformer = make_transformer()
        (source_a, prompt_a), (source_b, prompt_b) = [(random_ids(2, 6), random_ids(2, 3)) for _ in "ab"]
        first = greedy_decode(transformer, source_a, prompt_a, n_new=5, cached=cached)
        other = greedy_decode(transformer, source_b, prompt_b, n_new=5, cached=cached)
        again = greedy_decode(transformer, source_a, prompt_a, n_new=5, cached=cached)
        assert torch.equal(first, again) and not torch.equal(first[:, 3:], other[:, 3:])

    def test_the_model_is_left_as_it_was_and_nothing_needs_a_gradient(self):
        transformer = make_transformer()
        before = {name: tensor.clone() for name, tensor in transformer.state_dict().items()}
        ids = greedy_decode(transformer, random_ids(2, 6), random_ids(2, 3), n_new=3)
        assert not ids.requires_grad and torch.is_grad_enabled()
        assert all(torch.equal(before[name], tensor) for name, tensor in transformer.state_dict().items())
        assert not any(module._forward_hooks for module in transformer.modules())

    def test_prompts_keep_their_dtype(self):
        transformer, source, prompt = make_transformer(), random_ids(2, 6), random_ids(2, 3)
        ids = greedy_decode(transformer, source, prompt.int(), n_new=3)
        assert ids.dtype == torch.int32
        assert torch.equal(ids.long(), greedy_decode(transformer, source, prompt, n_new=3))


class TestTheEnd:
    @with_and_without_cache
    def test_a_sequence_that_has_ended_is_filled_up_while_others_go_on(self, cached):
        transformer, source, prompt = make_transformer(), random_ids(2, 6), random_ids(2, 1)
        endless = greedy_decode(transformer, source, prompt, n_new=6, cached=cached)
        end = endless[0, 3].item()
        assert end not in endless[0, 1:3] and end not in endless[1]
        ended = greedy_decode(transformer, source, prompt, n_new=6, end_id=end, cached=cached)
        assert ended[0].tolist() == [*endless[0, :4].tolist(), end, end, end]
        assert torch.equal(ended[1], endless[1])

    @with_and_without_cache
    def test_decoding_stops_when_all_have_ended(self, cached):
        transformer, source, prompt = make_transformer(), random_ids(1, 6), random_ids(1, 1)
        endless = greedy_decode(transformer, source, prompt, n_new=6, cached=cached)
        end = endless[0, 3].item()
        assert end not in endless[0, :3]
        ended = greedy_decode(transformer, source, prompt, n_new=6, end_id=end, cached=cached)
        assert torch.equal(ended, endless[:, :4])

    def test_the_end_may_stand_in_the_prompt(self):
        transformer, source, prompt = make_transformer(), random_ids(1, 6), random_ids(1, 2)
        first = greedy_decode(transformer, source, prompt, n_new=1)
        assert torch.equal(greedy_decode(transformer, source, prompt, n_new=1, end_id=prompt[0, 1].item()), first)

    @with_and_without_cache
    def test_nothing_new_is_the_prompt(self, cached):
        prompt = random_ids(2, 3)
        assert torch.equal(greedy_decode(make_transformer(), random_ids(2, 6), prompt, n_new=0, cached=cached), prompt)

    @with_and_without_cache
    def test_no_prompts_give_no_continuations_of_the_right_length(self, cached):
        for mask in (None, padding_mask([], 3)):
            ids = greedy_decode(
                make_transformer(), random_ids(0, 6), random_ids(0, 3), n_new=4, prompt_mask=mask, cached=cached
            )
            assert ids.shape == (0, 7)

    def test_without_a_source_there_still_is_a_target(self):
        assert greedy_decode(make_transformer(), random_ids(2, 0), random_ids(2, 1), n_new=3).shape == (2, 4)

    @with_and_without_cache
    def test_the_context_can_be_filled_to_the_last_position_and_no_further(self, cached):
        transformer, source, prompt = make_transformer(max_length=6), random_ids(1, 4), random_ids(1, 4)
        assert greedy_decode(transformer, source, prompt, n_new=3, cached=cached).shape == (1, 7)
        entered = []
        transformer.encoder.register_forward_pre_hook(lambda *_: entered.append(True))
        message = "must fit in max_length = 6; 4 tokens and n_new = 4 need 7 positions"
        with pytest.raises(ValueError, match=message):
            greedy_decode(transformer, source, prompt, n_new=4, cached=cached)
        assert not entered


class TestRefusals:
    def test_nothing_is_random_when_decoding(self):
        transformer = make_transformer(dropout=0.5)
        for part in (transformer, transformer.encoder, transformer.decoder.layers[1]):
            part.train()
            with pytest.raises(ValueError, match=r"transformer must be in evaluation mode.*transformer.eval\(\)"):
                greedy_decode(transformer, random_ids(1, 6), random_ids(1, 3), n_new=1)
            transformer.eval()

    @pytest.mark.parametrize(
        ("given", "error", "message"),
        [
            ({"n_new": -1}, ValueError, "n_new must be a whole number of at least 0, got -1"),
            ({"n_new": 1.5}, ValueError, "n_new must be a whole number of at least 0, got 1.5"),
            ({"end_id": 40}, ValueError, "end_id must lie between 0 and 39, got 40"),
            ({"end_id": -1}, ValueError, "end_id must be a whole number of at least 0, got -1"),
            ({"prompt_ids": torch.zeros(3, 4).long()}, ValueError, "prompt_ids .* size of source_ids, 2, got 3"),
            ({"prompt_ids": torch.zeros(2, 0).long()}, ValueError, "prompt_ids must hold at least one token"),
            ({"prompt_ids": torch.zeros(4).long()}, ValueError, r"prompt_ids must have shape .* got \(4,\)"),
            ({"prompt_ids": torch.zeros(2, 13).long(), "n_new": 0}, ValueError, "prompt_ids .* max_length = 12 .* 13"),
            ({"prompt_ids": torch.full((2, 4), 40), "n_new": 0}, ValueError, "prompt_ids must lie between 0 and 39"),
            ({"prompt_ids": torch.zeros(2, 4)}, TypeError, "prompt_ids must be a tensor of whole numbers"),
            ({"source_ids": torch.zeros(2, 13).long()}, ValueError, "source_ids must have at most max_length = 12"),
            ({"prompt_mask": padding_mask([4, 2], 4)}, ValueError, "prompt_mask must hide padding on the left alone"),
            ({"prompt_mask": padding_mask([4, 0], 4)}, ValueError, "prompt_mask must hide padding on the left alone"),
            ({"prompt_mask": torch.tensor([True, False, True, True])[None, None, None]}, ValueError, "left alone"),
            ({"prompt_mask": torch.ones(4, 4).bool()}, ValueError, "does not broadcast"),
            ({"prompt_mask": torch.ones(4).bool()}, ValueError, r"prompt_mask must be \(batch, 1, 1, 4\), got \(4,\)"),
            ({"prompt_mask": torch.ones(2, 1, 1, 1).bool()}, ValueError, r"prompt_mask must be \(batch, 1, 1, 4\)"),
            ({"prompt_mask": torch.ones(2, 1, 1, 4)}, TypeError, "mask must be boolean .* got torch.float32"),
        ],
    )
    def test_what_cannot_be_continued_is_refused(self, unchecked, given, error, message):
        fitting = {"source_ids": torch.zeros(2, 6).long(), "prompt_ids": torch.zeros(2, 4).long(), "n_new": 1}
        with pytest.raises(error, match=message):
            greedy_decode(make_transformer(), **fitting | given)
