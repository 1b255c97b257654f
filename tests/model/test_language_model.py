import torch

from transformer_anatomy import LanguageModel, TransformerConfig, causal_mask, padding_mask, record

SIZES = {"d_model": 16, "n_heads": 2, "n_layers": 2, "d_feedforward": 32}
IDS = torch.tensor([[3, 1, 4, 1, 5], [2, 7, 1, 0, 0]])


def test_there_is_a_logit_for_every_word_at_every_position():
    model = LanguageModel(TransformerConfig(9, **SIZES))
    with record(model, "logits", "encoder.layers.1.stream") as trace:
        logits = model(IDS)
    assert logits.shape == (2, 5, 9)
    stream, projection = trace["encoder.layers.1.stream"], model.output_projection.weight
    torch.testing.assert_close(trace["logits"], stream @ projection.T)


def test_the_mask_decides_whether_it_says_hidden_words_or_the_next_one():
    model = LanguageModel(TransformerConfig(9, **SIZES)).double()
    changed = IDS.clone()
    changed[0, 3] = 8
    mask = causal_mask(5)
    differs = (model(IDS, mask) != model(changed, mask)).any(dim=-1)
    assert differs.tolist() == [[False, False, False, True, True], [False] * 5]
    assert (model(IDS) != model(changed)).any(dim=-1)[0].all()


def test_padding_is_not_read():
    model = LanguageModel(TransformerConfig(9, **SIZES)).double()
    padded = model(IDS, padding_mask([5, 3], 5))[1, :3]
    torch.testing.assert_close(padded, model(IDS[1:, :3])[0])


def test_tied_embedding_and_projection_are_one_matrix():
    tied = LanguageModel(TransformerConfig(9, **SIZES, tie_weights=True))
    assert sum(p.shape == (9, 16) for p in tied.parameters()) == 1
    assert sum(p.shape == (9, 16) for p in LanguageModel(TransformerConfig(9, **SIZES)).parameters()) == 2
