"""How to train and compare small Transformers. This room makes data, trains on it and repeats."""
