"""What each head of an attention module projects with, whatever the make of the module."""

from jaxtyping import Float
from torch import Tensor, nn

from transformer_anatomy.instruments.precision import at_least_single
from transformer_anatomy.instruments.spectra import product_core
from transformer_anatomy.model.arguments import check_choice
from transformer_anatomy.model.multi_head_attention import MultiHeadAttention

ROLES = ("query", "key", "value")


def head_projections(attention: nn.Module, role: str) -> Float[Tensor, "head d_head d_input"]:
    """The weight matrix of each head for its queries, keys or values: they are `x @ projection.T`, without biases.

    `role` is "query", "key" or "value". `attention` is a `MultiHeadAttention`, an `nn.MultiheadAttention`, or made as
    Hugging Face's `BertSelfAttention` is: linear maps `query`, `key` and `value` beside `num_attention_heads`. The
    matrices are outside the graph; half precision gives float32. Chance for one head is
    `random_baseline(measure, (d_head, d_input))`.

    Raises `TypeError` for another module, `ValueError` for another role.
    """
    check_choice("role", role, ROLES)
    weight, n_heads = _find(attention, role)
    return at_least_single(weight.detach().unflatten(0, (n_heads, -1)))


def head_products(attention: nn.Module) -> Float[Tensor, "head d_query d_key"]:
    """`W_Q·W_Kᵀ` of each head, `(head, d_model, d_model)`: without biases `x @ product @ xᵀ / √d_head` are its scores.

    Only the product is a property of the function: any invertible matrix may pass from `W_Q` to `W_K` unnoticed.
    Takes what `head_projections` takes.
    """
    queries, keys = (head_projections(attention, role) for role in ("query", "key"))
    return queries.transpose(-2, -1) @ keys


def head_cores(attention: nn.Module) -> Float[Tensor, "head core_rows core_columns"]:
    """Matrices of `d_head` rows and columns with the singular values of `head_products`, but for zeros.

    For every measure of a matrix that depends on singular values only. Takes what `head_projections` takes.
    """
    return product_core(*(head_projections(attention, role).transpose(-2, -1) for role in ("query", "key")))


def _find(attention: nn.Module, role: str) -> tuple[Tensor, int]:
    """The weight of all heads together, `(n_heads·d_head, d_input)`, and how many heads there are."""
    if isinstance(attention, MultiHeadAttention):
        return getattr(attention, f"{role}_projection").weight, attention.n_heads
    if isinstance(attention, nn.MultiheadAttention):
        packed = attention.in_proj_weight  # None where keys or values come from another width
        one = getattr(attention, f"{role[0]}_proj_weight") if packed is None else packed.chunk(3)[ROLES.index(role)]
        return one, attention.num_heads
    maps = [getattr(attention, name, None) for name in ROLES]
    if all(isinstance(each, nn.Linear) for each in maps) and hasattr(attention, "num_attention_heads"):
        return maps[ROLES.index(role)].weight, attention.num_attention_heads
    raise TypeError(
        "attention must be a MultiHeadAttention, an nn.MultiheadAttention, or hold linear maps query, key and value "
        f"beside num_attention_heads, as BertSelfAttention does; got {type(attention).__name__}"
    )
