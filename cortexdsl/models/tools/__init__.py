"""Speakers without a model: a calculator, a search in a source, a function of one's own."""
