"""What a chapter shows: figures, tables, claims and exercises. This room knows tensors and `Trace`, never modules."""
