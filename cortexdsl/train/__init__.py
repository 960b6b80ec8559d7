"""Learning from debates: what is said in them and might have been, pairs of that, and models that learn from pairs."""
