"""The operations of PyTorch that tell what a model does, whatever its modules are called."""

import torch

ATEN = torch.ops.aten


def _existing(*names: str) -> frozenset:
    """Those of the operations, written `name.overload`, that this version of PyTorch has."""
    packets = ((getattr(ATEN, name.partition(".")[0], None), name.partition(".")[2]) for name in names)
    return frozenset(getattr(packet, overload) for packet, overload in packets if overload in dir(packet))


SOFTMAX = _existing("_softmax.default", "_safe_softmax.default")
RELU = _existing("relu.default", "relu_.default")
FUSED_ATTENTION = _existing(  # what F.scaled_dot_product_attention runs, by device and dtype
    "_scaled_dot_product_flash_attention_for_cpu.default",
    "_scaled_dot_product_flash_attention.default",
    "_scaled_dot_product_efficient_attention.default",
    "_scaled_dot_product_cudnn_attention.default",
)
NORM = _existing(
    "native_layer_norm.default",
    "native_group_norm.default",
    "native_batch_norm.default",
    "_native_batch_norm_legit.default",
    "_native_batch_norm_legit.no_stats",
    "cudnn_batch_norm.default",
    "_fused_rms_norm.default",
    "rsqrt.default",  # norms that are written out divide by a root
    "sqrt.default",
    "linalg_vector_norm.default",
)


def arguments(operation: torch._ops.OpOverload, args: tuple, kwargs: dict) -> dict[str, object]:
    """What an operation was given, by the names of its schema."""
    names = (argument.name for argument in operation._schema.arguments)
    return dict(zip(names, args, strict=False)) | kwargs
