from dataclasses import FrozenInstanceError, replace

import pytest

from transformer_anatomy import TransformerConfig


def test_the_defaults_are_the_base_model_of_2017():
    config = TransformerConfig(vocab_size=37000)
    assert (config.d_model, config.n_heads, config.n_layers, config.d_feedforward) == (512, 8, 6, 2048)
    assert (config.norm, config.residual, config.activation) == ("post", True, "relu")
    assert (config.positions, config.scale_embedding, config.embedding_norm) == ("sinusoidal", True, False)


def test_it_cannot_be_changed_but_a_changed_copy_is_checked_again():
    config = TransformerConfig(vocab_size=10)
    with pytest.raises(FrozenInstanceError):
        config.d_model = 64
    assert replace(config, d_model=64).d_model == 64
    with pytest.raises(ValueError, match="n_heads must divide d_model, got n_heads = 8 and d_model = 60"):
        replace(config, d_model=60)


@pytest.mark.parametrize(
    ("field", "value", "accepted"),
    [
        *(
            (field, size, "must be a whole number of at least 1")
            for field in ("vocab_size", "d_model", "n_heads", "n_layers", "d_feedforward", "max_length")
            for size in (0, -1, 2.0, True, "8", None)
        ),
        *(("dropout", p, "must be at least 0 and below 1") for p in (1.0, 1.5, -0.1, float("nan"), True, "0.1", None)),
        *(("norm_eps", eps, "must be a finite number above 0") for eps in (0.0, -1e-5, float("inf"), "1e-5", None)),
        *(("norm", kind, "must be one of 'post', 'pre', 'none'") for kind in ("Post", "rms", None, True)),
        *(("activation", kind, "must be one of 'relu', 'gelu'") for kind in ("swish", None)),
        *(("positions", kind, "must be one of 'sinusoidal', 'learned', 'none'") for kind in ("rotary", None, [])),
        *(
            (field, value, "must be one of True, False")
            for field in ("residual", "scale_embedding", "embedding_norm", "tie_weights")
            for value in (1, "yes", None)
        ),
    ],
)
def test_a_choice_that_does_not_exist_is_refused_with_those_that_do(unchecked, field, value, accepted):
    with pytest.raises(ValueError) as raised:
        TransformerConfig(**{"vocab_size": 10, field: value})
    assert str(raised.value) == f"{field} {accepted}, got {value!r}"
