"""How a small model learns: pieces of text, batches, weights, stages, and the folder that comes of it."""
