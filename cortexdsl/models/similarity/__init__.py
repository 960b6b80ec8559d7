"""Similarity of two replies: n-grams, embeddings, entailment."""
