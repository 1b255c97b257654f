"""How much each branch of a layer writes into the residual stream."""

import re

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_anatomy.instruments.recording import Trace
from transformer_anatomy.instruments.streams import PerSample, Streams, in_units_of_the_largest, read_stream, size
from transformer_anatomy.model.arguments import check_choice
from transformer_anatomy.shapes import Mask

BRANCHES = ("self_attention", "cross_attention", "feedforward")


def write_ratio(update: Streams, stream: Streams, mask: Mask | None = None) -> PerSample:
    """How much a branch writes, `‖update‖_F / ‖stream‖_F` over a sample's tokens; `stream` is what it is added to.

    Both have shape `(..., batch, position, d_model)`; tokens that the padding mask hides are left out.
    Raises `ValueError` for shapes that differ, a sample without tokens, a stream of zeros and what is not finite.
    """
    written, _ = read_stream(update, mask, n_least=1, name="update")
    before, _ = read_stream(stream, mask, n_least=1)
    if written.shape != before.shape:
        raise ValueError(f"update must have the shape of stream, {tuple(stream.shape)}, got {tuple(update.shape)}")
    (written, most_written), (before, most) = in_units_of_the_largest(written), in_units_of_the_largest(before)
    if (most == 0).any():
        raise ValueError("stream is zero for a whole sample: no update is any multiple of it")
    return size(written) / size(before) * (most_written / most)


def write_ratios(trace: Trace, branch: str, mask: Mask | None = None) -> Float[Tensor, "layer batch"]:
    """`write_ratio` of `branch` in each layer whose update was recorded, wherever in the model the layers are.

    | branch | is added to |
    |---|---|
    | "self_attention" | `embedded`, or the stream of the layer before |
    | "cross_attention" | `stream_after_self_attention` |
    | "feedforward" | `mid_stream`, or in a decoder `stream_after_cross_attention` |

    Raises `ValueError` for another branch and for a trace of several stacks, such as an encoder's and a decoder's;
    `KeyError` where the branch, or what it is added to, was not recorded.
    """
    check_choice("branch", branch, BRANCHES)
    matches = [re.fullmatch(rf"(.*\.)?layers\.(\d+)\.{branch}\.update", name) for name in trace.names()]
    layers = [(match[1] or "", int(match[2])) for match in matches if match]
    stacks = list(dict.fromkeys(prefix for prefix, _ in layers))
    if not stacks:
        raise KeyError(f"trace holds no layers.*.{branch}.update; there is one at: {', '.join(trace.names())}")
    if len(stacks) > 1:
        several = " and ".join(f"{prefix}layers" for prefix in stacks)
        raise ValueError(f'trace holds {several}: record one of them, as in record(model, "{stacks[0] or "layers."}*")')
    updates = [trace[f"{prefix}layers.{i}.{branch}.update"] for prefix, i in layers]
    before = [trace[_place_before(trace, branch, prefix, i)] for prefix, i in layers]
    return write_ratio(torch.stack(updates), torch.stack(before), mask)


def _place_before(trace: Trace, branch: str, prefix: str, i: int) -> str:
    """The tap of the stream that layer `i` adds what `branch` writes to."""
    layer = f"{prefix}layers.{i}"
    if branch == "self_attention":
        return f"{prefix}layers.{i - 1}.stream" if i else f"{prefix}embedded"
    if branch == "cross_attention":
        return f"{layer}.stream_after_self_attention"
    in_decoder = f"{layer}.stream_after_cross_attention"
    return in_decoder if in_decoder in trace else f"{layer}.mid_stream"
