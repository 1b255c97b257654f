"""Anatomy of the Transformer. The public names, each loaded with its module when it is first used."""

from importlib import import_module

_HOMES = {
    "causal_mask": "model.masks",
    "padding_mask": "model.masks",
    "window_mask": "model.masks",
    "blocked_mask": "model.masks",
    "attention_scores": "model.attention",
    "attention_weights": "model.attention",
    "split_heads": "model.attention",
    "merge_heads": "model.attention",
    "MultiHeadAttention": "model.attention",
    "Tap": "model.tap",
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
    "attention_statistics": "instruments.statistics",
    "AttentionStatistics": "instruments.statistics",
    "singular_values": "instruments.spectra",
    "effective_rank": "instruments.spectra",
    "stable_rank": "instruments.spectra",
    "top_share": "instruments.spectra",
    "head_products": "instruments.spectra",
    "head_cores": "instruments.spectra",
    "random_baseline": "instruments.baselines",
    "token_similarity": "instruments.collapse",
    "distance_to_collapse": "instruments.collapse",
    "stream_rank": "instruments.collapse",
    "write_ratio": "instruments.collapse",
    "write_ratios": "instruments.collapse",
    "pointer_chasing": "lab.pointers",
    "copying": "lab.sequences",
    "reversing": "lab.sequences",
    "repetition": "lab.sequences",
    "next_token": "lab.sequences",
    "make_discourses": "lab.grammar",
    "batch_discourses": "lab.labels",
    "LABEL_CLASSES": "lab.labels",
    "VOCABULARY": "lab.lexicon",
    "mask_tokens": "lab.masking",
    "QUESTIONS": "lab.questions",
    "hidden_words": "lab.posterior",
    "majority_share": "lab.baselines",
    "unigram_entropy": "lab.baselines",
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
