"""BERT's weights under our names (Devlin et al. 2019; the tensors are called as in Hugging Face's `BertModel`)."""

from torch import Tensor

PLACES = {
    "self_attention.query_projection": "attention.self.query",
    "self_attention.key_projection": "attention.self.key",
    "self_attention.value_projection": "attention.self.value",
    "self_attention.output_projection": "attention.output.dense",
    "self_attention_residual.norm": "attention.output.LayerNorm",
    "feedforward.hidden_projection": "intermediate.dense",
    "feedforward.output_projection": "output.dense",
    "feedforward_residual.norm": "output.LayerNorm",
}


def encoder_weights(bert: dict[str, Tensor], n_layers: int) -> dict[str, Tensor]:
    """The state of an `Encoder` from that of a `BertModel`, whose pooler is left out.

    BERT adds a vector for the type of each token; where there is one sentence all types are 0, so that vector is folded
    into the positions.
    """
    ours = {
        "embedding.tokens.weight": bert["embeddings.word_embeddings.weight"],
        "embedding.positions.table.weight": (
            bert["embeddings.position_embeddings.weight"] + bert["embeddings.token_type_embeddings.weight"][0]
        ),
    }
    modules = {"embedding.norm": "embeddings.LayerNorm"}
    for i in range(n_layers):
        modules |= {f"layers.{i}.{our}": f"encoder.layer.{i}.{their}" for our, their in PLACES.items()}
    for our, their in modules.items():
        for parameter in ("weight", "bias"):
            ours[f"{our}.{parameter}"] = bert[f"{their}.{parameter}"]
    return ours
