"""Ways to a model: litellm, the short way, the built-in solver."""
