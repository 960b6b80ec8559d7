"""How alike two replies are: n-grams, embeddings, entailment."""
