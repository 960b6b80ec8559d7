"""What is wrong in a text, and what of it can still be judged."""
