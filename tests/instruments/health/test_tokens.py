"""A mask of the opposite polarity is found though every sample has padding, and no right one is taken for it."""

import pytest
import torch
import torch.nn.functional as F

from tests.instruments.health.models import VOCAB_SIZE, LanguageModel, TorchModel
from transformer_anatomy import causal_mask, examine, padding_mask

pytestmark = pytest.mark.usefixtures("unchecked")
PAD, N = 0, 24
LENGTHS = [20, 18, 12, 8, 5, 23, 3, 9]  # none is N: each sample has padding


def padded(lengths=LENGTHS, side="right"):
    ids = torch.randint(1, VOCAB_SIZE, (len(lengths), N))
    real = padding_mask(lengths, N)[:, 0, 0]
    real = real.flip(1) if side == "left" else real
    return ids.masked_fill(~real, PAD), real


def loss_of(ids, *masks, **named):
    return lambda model: F.cross_entropy(model(ids, *masks, **named).flatten(0, 1), ids.flatten())


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("causal", [True, False])
def test_an_inverted_mask_is_found_in_ours(side, causal):
    ids, real = padded(side=side)
    future = causal_mask(N) if causal else torch.ones(1, N, dtype=torch.bool)
    first = examine(LanguageModel(), loss_of(ids, ~real[:, None, None, :] & future)).findings[0]
    assert (first.fault, first.where) == ("masked-out", "encoder.layers.0.self_attention")
    if not (causal and side == "left"):
        assert examine(LanguageModel(), loss_of(ids, real[:, None, None, :] & future)).healthy


@pytest.mark.parametrize("training", [True, False])
def test_an_inverted_mask_is_found_in_pytorch(training):
    ids, real = padded()
    model = TorchModel().train(training)  # with dropout
    first = examine(model, loss_of(ids, src_key_padding_mask=real)).findings[0]
    assert (first.fault, first.where) == ("masked-out", "encoder.layers.0.self_attn")
    assert first.evidence == "the 94 keys that the mask shows all have the id 0, the 98 that it hides have several"
    assert examine(model, loss_of(ids, src_key_padding_mask=~real)).healthy


def test_an_inverted_mask_is_found_where_weights_are_formed():
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    config = transformers.BertConfig(vocab_size=VOCAB_SIZE, attn_implementation="eager", **sizes)
    model = transformers.BertForMaskedLM(config)
    ids, real = padded()

    def loss(shown):
        return lambda model: model(ids, attention_mask=shown.long(), labels=ids).loss

    assert examine(model, loss(~real)).findings[0].fault == "masked-out"
    assert examine(model, loss(real)).healthy


@pytest.mark.parametrize("lengths", [[1] * 8, [N] * 8, [1, N] * 4])
def test_short_and_whole_samples_raise_no_alarm(lengths):
    ids, real = padded(lengths)
    assert examine(LanguageModel(), loss_of(ids, real[:, None, None, :])).healthy


def test_a_token_that_all_look_at_is_no_inverted_mask():
    ids, _ = padded([N] * 8)
    ids[:, 0] = 1
    only_first = (torch.arange(N) == 0)[None, None, None, :]
    assert examine(LanguageModel(), loss_of(ids, only_first)).healthy
