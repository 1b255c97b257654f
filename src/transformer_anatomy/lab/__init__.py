"""How to train and compare small models. This room repeats what the others do once."""
