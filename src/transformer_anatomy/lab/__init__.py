"""How to train and compare small Transformers. This room makes data, trains on it and repeats."""
"""How to train and compare small models. This room repeats what the others do once."""
