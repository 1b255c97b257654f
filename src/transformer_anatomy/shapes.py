"""The legend: the tensors of this library, named, with their axes in the order in which they always come.

| axis | counts |
|---|---|
| `batch` | samples that travel together |
| `head` | attention heads |
| `position` | tokens; called `query` where a token asks and `key` where it is asked |
| `d_model`, `d_head` | features of a token, and its features inside one head |

A mask is boolean and **True means: this query may attend to this key**. It broadcasts to `(batch, head, query, key)`.

The aliases are annotations: pytest checks them (jaxtyping and beartype), everywhere else they cost nothing.
"""

from jaxtyping import Bool, Float, Int
from torch import Tensor

TokenIds = Int[Tensor, "batch position"]
Positions = Int[Tensor, "#batch position"]  # where each token stands, from 0
Features = Float[Tensor, "... d_model"]  # tokens in any arrangement
Stream = Float[Tensor, "batch position d_model"]  # what flows from layer to layer
Memory = Float[Tensor, "batch key d_model"]  # what keys and values are read from
Heads = Float[Tensor, "batch head position d_head"]

# `*queries` stands for (batch, head, query), for (query,), or for no axis at all: a single query.
Queries = Float[Tensor, "*queries d_head"]
Keys = Float[Tensor, "... key d_head"]
Values = Float[Tensor, "... key d_value"]
Mixed = Float[Tensor, "*queries d_value"]  # what a query has read: a weighted mean of values
Scores = Float[Tensor, "*queries key"]  # before softmax
Weights = Float[Tensor, "*queries key"]  # after softmax: a row sums to 1, or is 0 where nothing may be attended to
PerQuery = Float[Tensor, "*queries"]  # one number for each query

Logits = Float[Tensor, "batch position vocabulary"]  # before softmax

Mask = Bool[Tensor, "..."]  # True: may attend
