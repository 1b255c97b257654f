import pytest
import torch

from transformer_anatomy import Encoder, TransformerConfig, padding_mask, record
from transformer_anatomy.model.bert import encoder_weights

transformers = pytest.importorskip("transformers")

SIZES = {"vocab_size": 23, "hidden_size": 12, "num_hidden_layers": 3, "num_attention_heads": 3}
SIZES |= {"intermediate_size": 20, "max_position_embeddings": 9, "layer_norm_eps": 1e-6}


@pytest.fixture(scope="module")
def bert():
    """A small BERT in which every weight counts: none is left at 0 or 1, where it starts."""
    config = transformers.BertConfig(**SIZES, hidden_act="gelu", attn_implementation="eager")
    bert = transformers.BertModel(config).double().eval()
    with torch.no_grad():
        for parameter in bert.parameters():
            parameter.normal_(std=0.5)
    return bert


@pytest.fixture(scope="module")
def encoder(bert):
    config = TransformerConfig(
        vocab_size=23, d_model=12, n_heads=3, n_layers=3, d_feedforward=20, max_length=9, activation="gelu",
        positions="learned", norm_eps=1e-6, scale_embedding=False, embedding_norm=True,
    )  # fmt: skip
    encoder = Encoder(config).double().eval()
    encoder.load_state_dict(encoder_weights(bert.state_dict(), n_layers=3))
    return encoder


def test_a_bert_of_any_size_is_an_encoder(bert, encoder):
    ids, keep = torch.randint(23, (4, 9)), padding_mask([9, 4, 1, 7], 9)
    with torch.no_grad(), record(encoder) as trace:
        encoder(ids, keep)
        expected = bert(ids, keep[:, 0, 0].long(), output_hidden_states=True).hidden_states
    for state, reference in zip([trace["embedded"], *trace.stack("layers.*.stream")], expected, strict=True):
        torch.testing.assert_close(state, reference, atol=1e-12, rtol=1e-12)


def test_every_weight_of_bert_has_its_place_but_the_pooler(bert, encoder):
    published, ours = bert.state_dict(), encoder_weights(bert.state_dict(), n_layers=3)
    used = {name for name in published if not name.startswith("pooler.") and "position_ids" not in name}
    assert len(ours) == len(used) - 1  # The vector of the token type is folded into the positions.
    assert ours.keys() == encoder.state_dict().keys()
    assert sum(weight.numel() for weight in ours.values()) == sum(published[n].numel() for n in used) - 2 * 12


def test_a_missing_weight_is_named(bert):
    weights = bert.state_dict()
    del weights["encoder.layer.2.output.dense.bias"]
    with pytest.raises(KeyError, match=r"encoder\.layer\.2\.output\.dense\.bias"):
        encoder_weights(weights, n_layers=3)
