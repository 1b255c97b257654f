"""Anatomy of the Transformer. The public names, each loaded with its module when it is first used."""

from importlib import import_module

_HOMES = {
    "causal_mask": "model.masks",
    "padding_mask": "model.masks",
    "window_mask": "model.masks",
    "blocked_mask": "model.masks",
    "attention_scores": "model.attention",
    "attention_weights": "model.attention",
    "split_heads": "model.heads",
    "merge_heads": "model.heads",
    "MultiHeadAttention": "model.multi_head_attention",
    "Tap": "model.tap",
    "TransformerConfig": "model.config",
    "LayerNorm": "model.layer_norm",
    "normalize": "model.layer_norm",
    "FeedForward": "model.feedforward",
    "Embedding": "model.embedding",
    "sinusoids": "model.positions",
    "Encoder": "model.encoder",
    "EncoderLayer": "model.encoder",
    "Decoder": "model.decoder",
    "DecoderLayer": "model.decoder",
    "Transformer": "model.transformer",
    "KeyValueCache": "model.cache",
    "greedy_decode": "model.generation",
    "next_token_pairs": "model.objective",
    "token_loss": "model.objective",
    "mean_pool": "model.pooling",
    "load_minilm": "model.pretrained",
    "MiniLM": "model.pretrained",
    "pick_device": "model.device",
    "available_devices": "model.device",
    "record": "instruments.recording",
    "Trace": "instruments.recording",
    "attention_entropy": "instruments.attention",
    "attention_distance": "instruments.attention",
    "window_mass": "instruments.attention",
    "softmax_jacobian": "instruments.attention",
    "examine": "instruments.health",
    "HealthReport": "instruments.health.report",
    "update_ratios": "instruments.updates",
    "gradient_norms": "instruments.gradients",
    "total_norm": "instruments.gradients",
    "fit": "lab.training",
    "sweep": "lab.sweep",
    "probe_layers": "lab.probing",
    "linear_probe": "lab.probing",
    "explore": "page.explore",
    "Explorer": "page.explore.explorer",
    "logspace": "page.explore.grids",
    "linspace": "page.explore.grids",
    "choices": "page.explore.grids",
    "plot_heatmap": "page.plotting",
    "plot_lines": "page.plotting",
    "plot_bars": "page.plotting",
    "Picture": "page.plotting.picture",
    "claim": "page.claims",
    "ClaimError": "page.claims",
    "check": "page.exercises",
    "predict": "page.predict",
}

__all__ = list(_HOMES)


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
