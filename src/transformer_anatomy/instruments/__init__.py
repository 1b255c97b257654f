"""How to look inside a Transformer. This room reads tensors."""
