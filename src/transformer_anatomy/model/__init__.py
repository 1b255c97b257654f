"""What a Transformer is. This room makes tensors."""
