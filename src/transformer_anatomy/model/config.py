"""The choices that make one Transformer and not another."""

from dataclasses import dataclass

from transformer_anatomy.model.arguments import check_choice, check_heads, check_positive, check_probability, check_size


@dataclass(frozen=True)
class TransformerConfig:
    """Sizes and structure of an `Encoder`, `Decoder` or `Transformer`; the default sizes are the base model of 2017.

    | field | what it decides |
    |---|---|
    | `vocab_size`, `max_length` | which ids exist, and how many positions a sequence may have |
    | `d_model`, `n_heads`, `n_layers`, `d_feedforward` | width, heads that share it, depth, number of hidden neurons |
    | `dropout` | share of the entries set to 0 in training: of attention weights, updates and embeddings |
    | `norm` | "post": norm(x + branch(x)); "pre": x + branch(norm(x)), one more norm at the end; "none" |
    | `residual` | False takes the identity path away: a branch then replaces the stream |
    | `activation` | of the hidden neurons: "relu" or "gelu" (exact, with erf) |
    | `positions` | "sinusoidal", "learned" or "none" |
    | `norm_eps` | what LayerNorm adds to the variance |
    | `scale_embedding` | multiply token embeddings by √d_model, as in 2017; BERT does not |
    | `embedding_norm` | normalise what enters the first layer, as BERT does |
    | `tie_weights` | a `Transformer`'s embeddings and output projection are one matrix, as in 2017 |

    Raises `ValueError` that names the field, what was given and what is accepted.
    """

    vocab_size: int
    d_model: int = 512
    n_heads: int = 8
    n_layers: int = 6
    d_feedforward: int = 2048
    max_length: int = 512
    dropout: float = 0.0
    norm: str = "post"
    residual: bool = True
    activation: str = "relu"
    positions: str = "sinusoidal"
    norm_eps: float = 1e-5
    scale_embedding: bool = True
    embedding_norm: bool = False
    tie_weights: bool = False

    def __post_init__(self):
        check_heads(self.d_model, self.n_heads)
        for name in ("vocab_size", "n_layers", "d_feedforward", "max_length"):
            check_size(name, getattr(self, name))
        check_probability("dropout", self.dropout)
        check_positive("norm_eps", self.norm_eps)
        check_choice("norm", self.norm, ("post", "pre", "none"))
        check_choice("activation", self.activation, ("relu", "gelu"))
        check_choice("positions", self.positions, ("sinusoidal", "learned", "none"))
        for name in ("residual", "scale_embedding", "embedding_norm", "tie_weights"):
            check_choice(name, getattr(self, name), (True, False))


def check_config(config: object) -> None:
    """Raise `TypeError` unless `config` is a `TransformerConfig`."""
    if not isinstance(config, TransformerConfig):
        raise TypeError(f"config must be a TransformerConfig, got {type(config).__name__}")
