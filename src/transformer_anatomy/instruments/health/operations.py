"""The operations of PyTorch that tell what a model does, whatever its modules are called."""

import torch

ATEN = torch.ops.aten


def _existing(*names: str) -> frozenset:
    """Those of the operations, written `name.overload`, that this version of PyTorch has."""
    packets = ((getattr(ATEN, name.partition(".")[0], None), name.partition(".")[2]) for name in names)
    return frozenset(getattr(packet, overload) for packet, overload in packets if overload in dir(packet))


SOFTMAX = _existing("_softmax.default", "_safe_softmax.default")
SOFTMAX_BACKWARD = _existing("_softmax_backward_data.default")
RELU = _existing("relu.default", "relu_.default")
_FUSED = (  # what F.scaled_dot_product_attention runs, by device and dtype
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_cudnn_attention",
)
FUSED_ATTENTION = _existing(*(f"{name}.default" for name in _FUSED))
FUSED_BACKWARD = _existing(*(f"{name}_backward.default" for name in _FUSED))

# What makes the features of a layer: the last axis, or in a convolution the second.
PRODUCT = _existing("mm.default", "addmm.default", "bmm.default", "baddbmm.default")
CONVOLUTION = _existing("convolution.default")

NORM = _existing(
    "native_layer_norm.default",
    "native_group_norm.default",
    "native_batch_norm.default",
    "_native_batch_norm_legit.default",
    "_native_batch_norm_legit.no_stats",
    "_batch_norm_with_update.default",
    "_batch_norm_no_update.default",
    "cudnn_batch_norm.default",
    "_fused_rms_norm.default",
)

# What a norm that is written out consists of: a statistic of the features, its root, and a division by that.
STATISTIC = _existing("mean.dim", "sum.dim_IntList", "var.correction", "var.dim", "var_mean.correction")
ROOTED_STATISTIC = _existing("std.correction", "std.dim", "linalg_vector_norm.default", "norm.ScalarOpt_dim")
ROOT = _existing("sqrt.default", "rsqrt.default", "sqrt_.default", "rsqrt_.default", "pow.Tensor_Scalar")
MULTIPLIED = _existing("div.Tensor", "mul.Tensor", "div_.Tensor", "mul_.Tensor")
SHIFTED = _existing(
    *("add.Tensor", "add_.Tensor", "clamp.default", "clamp_min.default", "clamp_min_.default", "reciprocal.default"),
)
WRITTEN_NORM = STATISTIC | ROOTED_STATISTIC | ROOT | MULTIPLIED | SHIFTED

EMBEDDING = _existing("embedding.default")


def arguments(operation: torch._ops.OpOverload, args: tuple, kwargs: dict) -> dict[str, object]:
    """What an operation was given, by the names of its schema."""
    names = (argument.name for argument in operation._schema.arguments)
    return dict(zip(names, args, strict=False)) | kwargs
